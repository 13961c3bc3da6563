//! The body of a spell or ability: its instructions with their targets, or its modes.

use super::core::{Context, Input, ParseResult, Phrase, Printer, has_word};
use super::effect::Instructions;
use crate::ability::{Body, Effect, Instruction, Mode, Modes, Slot};
use winnow::error::EmptyError;

/// Instructions or modes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyPhrase;

/// Headings of modes with the least and the largest number to choose; 99 is all of them.
const HEADINGS: [(&str, u8, u8); 7] = [
    ("choose one — ", 1, 1),
    ("choose two — ", 2, 2),
    ("choose one or both — ", 1, 2),
    ("choose one or more — ", 1, 99),
    ("choose any number — ", 0, 99),
    ("choose up to one — ", 0, 1),
    ("choose three — ", 3, 3),
];

impl Phrase for BodyPhrase {
    type Value = Body;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Body> {
        for (heading, min, max) in HEADINGS {
            if has_word(input, heading) {
                return parse_modes(input, min, max);
            }
        }
        let effects = Instructions.parse(input)?;
        let targets = input.state.targets.clone();
        Ok(Body { targets, effects: drop_unused(effects, &input.state.used_binds), modes: None })
    }

    fn print(&self, value: &Body, out: &mut Printer<'_>) -> bool {
        if let Some(modes) = &value.modes {
            return value.effects.is_empty() && print_modes(modes, out);
        }
        out.context.targets.clone_from(&value.targets);
        Instructions.print(&value.effects, out) && out.context.mentioned == value.targets.len()
    }
}

fn parse_modes(input: &mut Input<'_>, min: u8, max: u8) -> ParseResult<Body> {
    let mut choices = Vec::new();
    let outer = input.state.clone();
    while has_word(input, if choices.is_empty() { "• " } else { " • " }) {
        input.state = Context { is_ambiguous: input.state.is_ambiguous, ..outer.clone() };
        let effects = Instructions.parse(input)?;
        let targets = std::mem::take(&mut input.state.targets);
        choices.push(Mode { targets, effects: drop_unused(effects, &input.state.used_binds) });
    }
    if choices.len() < 2 {
        return Err(EmptyError);
    }
    let count = u8::try_from(choices.len()).map_err(|_| EmptyError)?;
    let modes = Modes { min, max: max.min(count), repeat: false, choices };
    Ok(Body { targets: Vec::new(), effects: Vec::new(), modes: Some(modes) })
}

fn print_modes(modes: &Modes, out: &mut Printer<'_>) -> bool {
    let count = u8::try_from(modes.choices.len()).unwrap_or(u8::MAX);
    let fitting = HEADINGS.iter().filter(|(_, min, max)| *min == modes.min && (*max).min(count) == modes.max);
    let headings: Vec<&str> = fitting.map(|row| row.0).collect();
    if !out.one_of(&headings) {
        return false;
    }
    let outer = out.context.clone();
    modes.choices.iter().enumerate().all(|(index, mode)| {
        out.context = Context { targets: mode.targets.clone(), ..outer.clone() };
        out.word(if index == 0 { "• " } else { " • " })
            && Instructions.print(&mode.effects, out)
            && out.context.mentioned == mode.targets.len()
    })
}

/// Drops slots to which no word refers.
fn drop_unused(instructions: Vec<Instruction>, used: &[Slot]) -> Vec<Instruction> {
    instructions
        .into_iter()
        .map(|Instruction { effect, bind }| Instruction {
            effect: drop_inner(effect, used),
            bind: bind.filter(|slot| used.contains(slot)),
        })
        .collect()
}

fn drop_inner(effect: Effect, used: &[Slot]) -> Effect {
    match effect {
        Effect::If { condition, then, otherwise } => {
            Effect::If { condition, then: drop_unused(then, used), otherwise: drop_unused(otherwise, used) }
        }
        Effect::May { who, then, otherwise } => {
            Effect::May { who, then: drop_unused(then, used), otherwise: drop_unused(otherwise, used) }
        }
        Effect::MayPay { who, cost, then, otherwise } => Effect::MayPay {
            who,
            cost,
            then: drop_unused(then, used),
            otherwise: drop_unused(otherwise, used),
        },
        Effect::DelayedTrigger { mut trigger, once, until } => {
            trigger.body.effects = drop_unused(std::mem::take(&mut trigger.body.effects), used);
            Effect::DelayedTrigger { trigger, once, until }
        }
        Effect::ReflexiveTrigger { mut body } => {
            body.effects = drop_unused(std::mem::take(&mut body.effects), used);
            Effect::ReflexiveTrigger { body }
        }
        other => other,
    }
}
