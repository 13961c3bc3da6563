//! Sentences: clauses joined by "and" and "then", conditions, offers and what follows them.

use super::clause::{
    note_result, parse_clause, parse_more, parse_stronger, print_clause, print_more, print_stronger,
};
use super::condition::ConditionPhrase;
use super::core::{Context, Input, ParseResult, Phrase, Printer, attempt, has_word, word};
use super::cost::CostPhrase;
use super::named_action::DyingShield;
use super::player::Player;
use crate::ability::{
    Body, Condition, Cost, CostPart, Duration, Effect, EventPattern, Filter, Instruction, Selector,
    TriggeredAbility, TurnStep, Zone,
};
use winnow::error::EmptyError;

/// Marks between clauses of one sentence.
const JOINTS: [&str; 5] = [", then ", " and then ", ", and ", " and ", ", "];
const IF_YOU_DO: &str = ". if you do, ";
const ABOUT_IT: &str = "it's ";
const NEXT_END_STEP: &str = " at the beginning of the next end step";
const END_OF_COMBAT: &str = " at end of combat";

/// Instructions of a whole paragraph, with the full stop at its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instructions;

impl Phrase for Instructions {
    type Value = Vec<Instruction>;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Vec<Instruction>> {
        let mut all = Vec::new();
        loop {
            parse_sentence(input, &mut all)?;
            end_sentence(input)?;
            let more = attempt(input, |input| {
                word(input, " ")?;
                let mut trial = input.clone();
                let mut following = all.clone();
                parse_sentence(&mut trial, &mut following)?;
                end_sentence(&mut trial)
            });
            if more.is_err() {
                return Ok(all);
            }
        }
    }

    fn print(&self, value: &Vec<Instruction>, out: &mut Printer<'_>) -> bool {
        !value.is_empty() && print_sequence(value, out) && end_printed(out)
    }
}

fn end_sentence(input: &mut Input<'_>) -> ParseResult<()> {
    if input.state.after_quote && !input.input.starts_with('.') {
        return Ok(());
    }
    word(input, ".")
}

fn end_printed(out: &mut Printer<'_>) -> bool {
    if out.context.after_quote && !out.has_next(".") { true } else { out.word(".") }
}

/// A new sentence: its subject is the ability's controller, and X is not yet explained.
fn begin_sentence(context: &mut Context) {
    context.subject = Some(Selector::You);
    context.third = false;
    context.after_quote = false;
    context.is_timed = false;
    context.x = None;
}

/// A part of a sentence after a condition or an offer: X keeps its meaning.
fn begin_part(context: &mut Context) {
    let x = context.x.take();
    begin_sentence(context);
    context.x = x;
}

/// Reads a sentence without its full stop and adds its instructions.
fn parse_sentence(input: &mut Input<'_>, all: &mut Vec<Instruction>) -> ParseResult<()> {
    begin_sentence(&mut input.state);
    let start = input.clone();
    let before = all.clone();
    parse_forms(input, all)?;
    if !has_word(input, ", where X is ") {
        return Ok(());
    }
    // The sentence is read again with the meaning of X.
    input.state.recall();
    let amount = super::amount::AmountPhrase.parse(input)?;
    let end = input.input;
    let used_binds = std::mem::take(&mut input.state.used_binds);
    *all = before;
    *input = start;
    (input.state.x, input.state.used_binds) = (Some(amount), used_binds);
    parse_forms(input, all)?;
    word(input, ", where X is ")?;
    input.input = end;
    Ok(())
}

fn parse_forms(input: &mut Input<'_>, all: &mut Vec<Instruction>) -> ParseResult<()> {
    has_word(input, "then ");
    if let Ok(effect) = attempt(input, |input| DyingShield.parse(input)) {
        all.push(effect.into());
        return Ok(());
    }
    if has_word(input, "if ") {
        let is_about_it = input.input.starts_with(ABOUT_IT);
        let before_branch = input.state.begin_branch(is_about_it);
        parse_conditional(input, all)?;
        input.state.before_branch = before_branch;
        return Ok(());
    }
    input.state.before_branch = None;
    let instructions = parse_part(input)?;
    let instructions = parse_suffixes(input, instructions)?;
    all.extend(instructions);
    Ok(())
}

/// "If you control a Forest, draw a card", "if ~ was kicked, it deals 4 damage instead".
fn parse_conditional(input: &mut Input<'_>, all: &mut Vec<Instruction>) -> ParseResult<()> {
    let earlier = input.state.earlier.clone();
    let condition = ConditionPhrase.parse(input)?;
    word(input, ", ")?;
    if let Some(before) = all.last().cloned()
        && let Ok(stronger) = attempt(input, |input| parse_stronger(input, &before.effect))
    {
        all.pop();
        let then = vec![Instruction { effect: stronger, bind: before.bind }];
        all.push(Effect::If { condition, then, otherwise: vec![before] }.into());
        return Ok(());
    }
    let replacing = attempt(input, |input| {
        // What is replaced has no result: the words mean what they mean in it.
        input.state.earlier = earlier;
        input.state.recall();
        let then = parse_part(input)?;
        word(input, " instead")?;
        Ok(then)
    });
    if let Ok(then) = replacing {
        let otherwise = vec![all.pop().ok_or(EmptyError)?];
        all.push(Effect::If { condition, then, otherwise }.into());
        return Ok(());
    }
    let then = parse_part(input)?;
    let otherwise = if has_word(input, ". otherwise, ") {
        begin_part(&mut input.state);
        parse_clauses(input)?
    } else {
        Vec::new()
    };
    all.push(Effect::If { condition, then, otherwise }.into());
    Ok(())
}

/// An offer, or clauses.
fn parse_part(input: &mut Input<'_>) -> ParseResult<Vec<Instruction>> {
    match attempt(input, parse_offer) {
        Ok(offer) => Ok(vec![offer]),
        Err(_) => parse_clauses(input),
    }
}

/// "You may draw a card. If you do, discard a card", "you may pay {1}. If you do, ...".
fn parse_offer(input: &mut Input<'_>) -> ParseResult<Instruction> {
    let who = if has_word(input, "you may ") {
        Selector::You
    } else {
        let who = Player.parse(input)?;
        word(input, " may ")?;
        input.state.subject = Some(offered_player(&who));
        who
    };
    if let Ok(cost) = attempt(input, parse_price) {
        let then = if has_word(input, IF_YOU_DO) {
            begin_part(&mut input.state);
            parse_clauses(input)?
        } else {
            word(input, ". when you do, ")?;
            begin_part(&mut input.state);
            let outer = std::mem::take(&mut input.state.targets);
            input.state.mentioned = 0;
            let effects = parse_clauses(input)?;
            let targets = std::mem::replace(&mut input.state.targets, outer);
            vec![Effect::ReflexiveTrigger { body: Box::new(Body { targets, effects, modes: None }) }.into()]
        };
        return Ok(Effect::MayPay { who, cost, then, otherwise: Vec::new() }.into());
    }
    let mut then = parse_clauses(input)?;
    if has_word(input, IF_YOU_DO) {
        begin_part(&mut input.state);
        then.extend(parse_clauses(input)?);
    }
    Ok(Effect::May { who, then, otherwise: Vec::new() }.into())
}

/// Who does what was offered: of several players, each who accepted.
fn offered_player(who: &Selector) -> Selector {
    match who {
        Selector::EachPlayer | Selector::EachOpponent => Selector::Iterated,
        other => other.clone(),
    }
}

/// "Pay {1}", "pay 2 life".
fn parse_price(input: &mut Input<'_>) -> ParseResult<Cost> {
    if input.input.starts_with("pay {") {
        word(input, "pay ")?;
        return super::words::Mana.parse(input).map(Cost::mana);
    }
    if input.input.starts_with("pay ") { CostPhrase.parse(input) } else { Err(EmptyError) }
}

fn print_price(cost: &Cost, out: &mut Printer<'_>) -> bool {
    if cost.parts.is_empty() {
        return out.word("pay ") && super::words::Mana.print(&cost.mana, out);
    }
    cost.mana.is_empty() && out.has_next("pay ") && CostPhrase.print(cost, out)
}

/// What can follow the clauses: "unless its controller pays {2}", "if you control a Wizard".
fn parse_suffixes(input: &mut Input<'_>, instructions: Vec<Instruction>) -> ParseResult<Vec<Instruction>> {
    let outer = input.state.begin_suffix();
    let instructions = parse_suffix(input, instructions)?;
    input.state.end_suffix(outer);
    Ok(instructions)
}

fn parse_suffix(input: &mut Input<'_>, instructions: Vec<Instruction>) -> ParseResult<Vec<Instruction>> {
    if has_word(input, " unless ") {
        if let Ok((who, cost)) = attempt(input, parse_payer) {
            return Ok(vec![Effect::MayPay { who, cost, then: Vec::new(), otherwise: instructions }.into()]);
        }
        let condition = ConditionPhrase.parse(input)?;
        let then = instructions;
        return Ok(vec![
            Effect::If { condition: Condition::Not(Box::new(condition)), then, otherwise: Vec::new() }.into(),
        ]);
    }
    if has_word(input, " if ") {
        let condition = ConditionPhrase.parse(input)?;
        return Ok(vec![Effect::If { condition, then: instructions, otherwise: Vec::new() }.into()]);
    }
    if has_word(input, NEXT_END_STEP) {
        return Ok(vec![delay(instructions, TurnStep::End).into()]);
    }
    if has_word(input, END_OF_COMBAT) {
        return Ok(vec![delay(instructions, TurnStep::EndCombat).into()]);
    }
    Ok(instructions)
}

fn delay(effects: Vec<Instruction>, step: TurnStep) -> Effect {
    let trigger = TriggeredAbility {
        events: vec![EventPattern::Step { step, whose: Filter::Player }],
        batch: false,
        condition: None,
        body: Body { targets: Vec::new(), effects, modes: None },
        per_turn: None,
        zone: None,
        text: String::new(),
    };
    Effect::DelayedTrigger { trigger: Box::new(trigger), once: true, until: Duration::Forever }
}

fn parse_payer(input: &mut Input<'_>) -> ParseResult<(Selector, Cost)> {
    if has_word(input, "you pay ") {
        return super::words::Mana.parse(input).map(|mana| (Selector::You, Cost::mana(mana)));
    }
    let who = Player.parse(input)?;
    if has_word(input, " sacrifices ") {
        let (filter, count) = super::cost::parse_some(input, Zone::Battlefield)?;
        return Ok((who, Cost { parts: vec![CostPart::Sacrifice { filter, count }], ..Cost::default() }));
    }
    word(input, " pays ")?;
    super::words::Mana.parse(input).map(|mana| (who, Cost::mana(mana)))
}

/// Clauses of one sentence.
fn parse_clauses(input: &mut Input<'_>) -> ParseResult<Vec<Instruction>> {
    let mut all = vec![parse_clause(input)?];
    loop {
        let next = JOINTS.iter().find_map(|mark| {
            attempt(input, |input| {
                word(input, mark)?;
                parse_next_clause(input, &all)
            })
            .ok()
        });
        match next {
            Some(instruction) => all.push(instruction),
            None => return Ok(all),
        }
    }
}

fn parse_next_clause(input: &mut Input<'_>, before: &[Instruction]) -> ParseResult<Instruction> {
    if let Ok(more) = attempt(input, |input| parse_more(input, before.last())) {
        return Ok(more);
    }
    parse_clause(input)
}

/// Prints instructions, with the marks between them as the guide has them.
fn print_sequence(value: &[Instruction], out: &mut Printer<'_>) -> bool {
    begin_sentence(&mut out.context);
    let mut before: Option<&Effect> = None;
    for instruction in value {
        let effect = &instruction.effect;
        let is_printed = match before {
            None => {
                if out.has_next("then ") && !out.word("then ") {
                    return false;
                }
                print_instruction(effect, out)
            }
            Some(before) => print_next(before, effect, out),
        };
        if !is_printed {
            return false;
        }
        before = Some(effect);
    }
    print_where(out)
}

/// Explains X at the end of a sentence.
fn print_where(out: &mut Printer<'_>) -> bool {
    let Some(amount) = out.context.x.take() else { return true };
    // What the explanation mentions is not what "it" means afterwards.
    let (it, that, moved) = (out.context.it.clone(), out.context.that.clone(), out.context.moved.clone());
    let earlier = out.context.earlier.clone();
    out.context.recall();
    let is_printed = out.word(", where X is ") && super::amount::AmountPhrase.print(&amount, out);
    (out.context.it, out.context.that, out.context.moved) = (it, that, moved);
    out.context.earlier = earlier;
    is_printed
}

fn print_next(before: &Effect, effect: &Effect, out: &mut Printer<'_>) -> bool {
    for mark in JOINTS {
        let is_printed = out.attempt(|out| {
            out.word(mark)
                && (out.attempt(|out| {
                    print_more(before, effect, out) && {
                        note_result(effect, &mut out.context);
                        true
                    }
                }) || print_instruction(effect, out))
        });
        if is_printed {
            return true;
        }
    }
    let offered = out.context.in_offer;
    out.attempt(|out| {
        let is_ended = if offered && out.has_next(IF_YOU_DO) {
            begin_part(&mut out.context);
            out.word(IF_YOU_DO)
        } else {
            let is_ended = print_where(out) && end_printed(out) && out.word(" ");
            begin_sentence(&mut out.context);
            is_ended
        };
        is_ended && (!out.has_next("then ") || out.word("then ")) && print_instruction(effect, out)
    })
}

fn print_instruction(effect: &Effect, out: &mut Printer<'_>) -> bool {
    if !matches!(effect, Effect::If { .. }) {
        out.context.before_branch = None;
    }
    match effect {
        Effect::If { condition, then, otherwise } => print_conditional(condition, then, otherwise, out),
        Effect::May { who, then, otherwise } if otherwise.is_empty() => {
            print_offerer(who, out) && {
                let outer = std::mem::replace(&mut out.context.in_offer, true);
                let subject = out.context.subject.clone();
                let is_printed = print_offered(then, subject, out);
                out.context.in_offer = outer;
                is_printed
            }
        }
        Effect::MayPay { who, cost, then, otherwise } if otherwise.is_empty() => {
            print_offerer(who, out) && print_price(cost, out) && print_bought(then, out)
        }
        Effect::MayPay { who, cost, then, otherwise } if then.is_empty() => {
            print_inner(otherwise, out)
                && print_suffix(out, |out| out.word(" unless ") && print_payer(who, cost, out))
        }
        Effect::DelayedTrigger { trigger, once: true, until: Duration::Forever } => {
            let text = match trigger.events.as_slice() {
                [EventPattern::Step { step: TurnStep::End, whose: Filter::Player }] => NEXT_END_STEP,
                [EventPattern::Step { step: TurnStep::EndCombat, whose: Filter::Player }] => END_OF_COMBAT,
                _ => return false,
            };
            print_inner(&trigger.body.effects, out) && out.word(text)
        }
        other if out.attempt(|out| DyingShield.print(other, out)) => true,
        other => {
            let is_printed = print_clause(other, out);
            note_result(other, &mut out.context);
            is_printed
        }
    }
}

fn print_suffix(out: &mut Printer<'_>, print: impl FnOnce(&mut Printer<'_>) -> bool) -> bool {
    let outer = out.context.begin_suffix();
    let is_printed = print(out);
    out.context.end_suffix(outer);
    is_printed
}

/// Clauses of a part of a sentence.
fn print_inner(value: &[Instruction], out: &mut Printer<'_>) -> bool {
    let mut before: Option<&Effect> = None;
    for instruction in value {
        let is_printed = match before {
            None => print_instruction(&instruction.effect, out),
            Some(before) => print_next(before, &instruction.effect, out),
        };
        if !is_printed {
            return false;
        }
        before = Some(&instruction.effect);
    }
    before.is_some()
}

fn print_offered(then: &[Instruction], subject: Option<Selector>, out: &mut Printer<'_>) -> bool {
    out.context.subject = subject;
    print_inner(then, out)
}

fn print_offerer(who: &Selector, out: &mut Printer<'_>) -> bool {
    if *who == Selector::You {
        return out.word("you may ");
    }
    let is_printed = Player.print(who, out) && out.word(" may ");
    out.context.subject = Some(offered_player(who));
    is_printed
}

fn print_bought(then: &[Instruction], out: &mut Printer<'_>) -> bool {
    if let [Instruction { effect: Effect::ReflexiveTrigger { body }, .. }] = then {
        if !out.word(". when you do, ") {
            return false;
        }
        begin_part(&mut out.context);
        let outer = std::mem::replace(&mut out.context.targets, body.targets.clone());
        let mentioned = std::mem::replace(&mut out.context.mentioned, 0);
        let is_printed = print_inner(&body.effects, out);
        (out.context.targets, out.context.mentioned) = (outer, mentioned);
        return is_printed;
    }
    if !out.word(IF_YOU_DO) {
        return false;
    }
    begin_part(&mut out.context);
    print_inner(then, out)
}

fn print_payer(who: &Selector, cost: &Cost, out: &mut Printer<'_>) -> bool {
    if let [CostPart::Sacrifice { filter, count }] = cost.parts.as_slice() {
        return cost.mana.is_empty()
            && Player.print(who, out)
            && out.word(" sacrifices ")
            && super::cost::print_some(filter, count, Zone::Battlefield, out);
    }
    if !cost.parts.is_empty() {
        return false;
    }
    let is_named = if *who == Selector::You {
        out.word("you pay ")
    } else {
        Player.print(who, out) && out.word(" pays ")
    };
    is_named && super::words::Mana.print(&cost.mana, out)
}

fn print_conditional(
    condition: &Condition,
    then: &[Instruction],
    otherwise: &[Instruction],
    out: &mut Printer<'_>,
) -> bool {
    let leading = |out: &mut Printer<'_>| {
        let is_about_it = out.has_next("if it's ");
        let before_branch = out.context.begin_branch(is_about_it);
        let is_printed = out.word("if ")
            && ConditionPhrase.print(condition, out)
            && out.word(", ")
            && print_inner(then, out);
        out.context.before_branch = before_branch;
        is_printed
    };
    if otherwise.is_empty() {
        if out.attempt(leading) {
            return true;
        }
        if let Condition::Not(inner) = condition
            && out.attempt(|out| {
                print_inner(then, out)
                    && print_suffix(out, |out| out.word(" unless ") && ConditionPhrase.print(inner, out))
            })
        {
            return true;
        }
        return print_inner(then, out)
            && print_suffix(out, |out| out.word(" if ") && ConditionPhrase.print(condition, out));
    }
    // "Do this. If so, do that instead."
    if out.attempt(|out| {
        let is_begun = print_inner(otherwise, out) && print_where(out) && end_printed(out) && out.word(" ");
        begin_part(&mut out.context);
        let earlier = out.context.earlier.clone();
        let is_begun = is_begun && out.word("if ") && ConditionPhrase.print(condition, out) && out.word(", ");
        let saved = out.clone();
        out.context.earlier = earlier;
        out.context.recall();
        if is_begun && print_inner(then, out) && out.word(" instead") {
            return true;
        }
        *out = saved;
        is_begun && print_stronger(otherwise, then, out)
    }) {
        return true;
    }
    leading(out) && out.word(". otherwise, ") && {
        begin_part(&mut out.context);
        print_inner(otherwise, out)
    }
}
