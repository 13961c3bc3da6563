//! Prevention of damage for a turn.

use super::core::{Input, ParseResult, Phrase, Printer, attempt, has_word, word};
use super::object::AnyObjects;
use super::words::Number;
use crate::ability::{
    Duration, Effect, Filter, Replacement, ReplacementAction, ReplacementPattern, Selector,
};

/// "Prevent the next 2 damage that would be dealt to any target this turn" and the like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Preventing;

/// Every object and every player.
pub(crate) fn anything() -> Filter {
    Filter::AnyOf(vec![Filter::Any, Filter::Player])
}

fn shield(source: Filter, to: Filter, combat: Option<bool>, action: ReplacementAction) -> Effect {
    let pattern = ReplacementPattern::Damage { source, to, combat };
    let replacement = Replacement { pattern, condition: None, action, optional: false, uses: None };
    Effect::AddReplacement { replacement: Box::new(replacement), until: Duration::EndOfTurn }
}

fn only(selector: Selector) -> Filter {
    Filter::Is(Box::new(selector))
}

fn parse_protected(input: &mut Input<'_>) -> ParseResult<Selector> {
    if has_word(input, "you") {
        return Ok(Selector::You);
    }
    attempt(input, |input| AnyObjects.parse(input)).or_else(|_| super::player::Player.parse(input))
}

fn print_protected(value: &Selector, out: &mut Printer<'_>) -> bool {
    if *value == Selector::You {
        return out.word("you");
    }
    out.attempt(|out| AnyObjects.print(value, out)) || super::player::Player.print(value, out)
}

impl Phrase for Preventing {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        if has_word(input, "prevent the next ") {
            let amount = Number.parse(input)?;
            word(input, " damage that would be dealt to ")?;
            let to = parse_protected(input)?;
            word(input, " this turn")?;
            return Ok(shield(Filter::Any, only(to), None, ReplacementAction::PreventNext(amount)));
        }
        word(input, "prevent all ")?;
        let combat = has_word(input, "combat ").then_some(true);
        word(input, "damage that would be dealt")?;
        let all = ReplacementAction::Prevent(None);
        if has_word(input, " this turn by ") {
            let source = AnyObjects.parse(input)?;
            return match source {
                Selector::All { filter, .. } => Ok(shield(filter, anything(), combat, all)),
                other => Ok(shield(only(other), anything(), combat, all)),
            };
        }
        if has_word(input, " to ") {
            let to = parse_protected(input)?;
            word(input, " this turn")?;
            return Ok(shield(Filter::Any, only(to), combat, all));
        }
        if !has_word(input, " this turn to ") {
            word(input, " this turn")?;
            return Ok(shield(Filter::Any, anything(), combat, all));
        }
        let to = parse_protected(input)?;
        Ok(shield(Filter::Any, only(to), combat, all))
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        let Effect::AddReplacement { replacement, until: Duration::EndOfTurn } = value else { return false };
        let Replacement { pattern, condition: None, action, optional: false, uses: None } =
            replacement.as_ref()
        else {
            return false;
        };
        let ReplacementPattern::Damage { source, to, combat } = pattern else { return false };
        match (action, to) {
            (ReplacementAction::PreventNext(amount), Filter::Is(who))
                if *source == Filter::Any && combat.is_none() =>
            {
                out.word("prevent the next ")
                    && Number.print(amount, out)
                    && out.word(" damage that would be dealt to ")
                    && print_protected(who, out)
                    && out.word(" this turn")
            }
            (ReplacementAction::Prevent(None), to) => {
                let is_begun = out.word("prevent all ")
                    && (combat.is_none() || out.word("combat "))
                    && out.word("damage that would be dealt");
                is_begun && print_prevented(source, to, out)
            }
            _ => false,
        }
    }
}

fn print_prevented(source: &Filter, to: &Filter, out: &mut Printer<'_>) -> bool {
    match (source, to) {
        (Filter::Any, to) if *to == anything() => out.word(" this turn"),
        (Filter::Any, Filter::Is(who)) => {
            out.attempt(|out| out.word(" to ") && print_protected(who, out) && out.word(" this turn"))
                || (out.word(" this turn to ") && print_protected(who, out))
        }
        (Filter::Is(who), to) if *to == anything() => {
            out.word(" this turn by ") && AnyObjects.print(who, out)
        }
        (filter, to) if *to == anything() => {
            out.word(" this turn by ") && AnyObjects.print(&Selector::permanents(filter.clone()), out)
        }
        _ => false,
    }
}
