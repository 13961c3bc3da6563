//! Clauses: one verb with its subject and objects, and what later words can refer to.

use super::action::{ObjectAction, ObjectVerb, PlayerAction, subject_of};
use super::continuous::ContinuousClause;
use super::core::{Context, Input, ParseResult, Phrase, Printer, longest, word};
use super::object::AnyObjects;
use super::player::Player;
use crate::ability::{Amount, Effect, Instruction, Selector, Zone};
use winnow::error::EmptyError;

/// "... and 2 damage to you": the verb of the clause before.
pub(crate) fn parse_more(input: &mut Input<'_>, before: Option<&Instruction>) -> ParseResult<Instruction> {
    match before.map(|instruction| &instruction.effect) {
        Some(Effect::DealDamage { source, .. }) => {
            let amount = super::words::Number.parse(input)?;
            word(input, " damage to ")?;
            let to = super::action::Damaged.parse(input)?;
            Ok(finish(Effect::DealDamage { source: source.clone(), amount, to }, &mut input.state))
        }
        Some(Effect::CreateToken { who, .. }) => {
            let (amount, token) = super::token::Tokens.parse(input)?;
            Ok(finish(Effect::CreateToken { who: who.clone(), token, amount }, &mut input.state))
        }
        Some(Effect::PutCounters { .. }) => {
            let (kind, amount) = super::cost::Counters.parse(input)?;
            word(input, " on ")?;
            let what = AnyObjects.parse(input)?;
            Ok(finish(Effect::PutCounters { what, kind, amount }, &mut input.state))
        }
        _ => Err(EmptyError),
    }
}

pub(crate) fn print_more(before: &Effect, value: &Effect, out: &mut Printer<'_>) -> bool {
    match (before, value) {
        (Effect::DealDamage { source: first, .. }, Effect::DealDamage { source, amount, to }) => {
            first == source
                && super::words::Number.print(amount, out)
                && out.word(" damage to ")
                && super::action::Damaged.print(to, out)
        }
        (Effect::CreateToken { who, .. }, Effect::CreateToken { who: second, token, amount }) => {
            who == second && super::token::Tokens.print(&(amount.clone(), token.clone()), out)
        }
        (Effect::PutCounters { .. }, Effect::PutCounters { what, kind, amount }) => {
            super::cost::Counters.print(&(*kind, amount.clone()), out)
                && out.word(" on ")
                && AnyObjects.print(what, out)
        }
        _ => false,
    }
}

/// Gives the instruction its slot and notes what later words can refer to.
fn finish(effect: Effect, context: &mut Context) -> Instruction {
    let bind = note_result(&effect, context);
    Instruction { effect, bind }
}

/// Notes what an effect leaves for "it", "that card" and "that much"; the slot of its result.
pub(crate) fn note_result(effect: &Effect, context: &mut Context) -> Option<u8> {
    let slot = context.next_bind;
    let bound = Selector::Binding(slot);
    context.earlier = None;
    match effect {
        Effect::Exile { what } | Effect::Move { what, .. } => {
            if is_evaluated_again(what) || enters_battlefield(effect) {
                context.mention_result(&bound);
            }
            context.moved = Some(bound);
        }
        Effect::Continuous { affected: what, .. }
        | Effect::Tap { what }
        | Effect::Untap { what }
        | Effect::PutCounters { what, .. }
            if is_evaluated_again(what) && context.it.as_ref() == Some(what) =>
        {
            context.mention_result(&bound);
        }
        Effect::CreateToken { .. } | Effect::CopyToken { .. } => context.mention_result(&bound),
        Effect::Search { .. } | Effect::Reveal { .. } | Effect::Mill { .. } | Effect::Discard { .. } => {
            context.mention(&bound);
        }
        Effect::Sacrifice { .. } => {
            context.mention(&bound);
            context.sacrificed = Some(bound);
        }
        Effect::DealDamage { .. }
        | Effect::LoseLife { .. }
        | Effect::GainLife { .. }
        | Effect::Draw { .. } => {
            context.amount = Some(Amount::Binding(slot));
        }
        _ => return None,
    }
    context.next_bind = slot.saturating_add(1);
    Some(slot)
}

/// Whether a selector can find other objects after the instruction than before it (608.2c).
fn is_evaluated_again(selector: &Selector) -> bool {
    matches!(selector, Selector::All { .. } | Selector::Choice { .. })
}

fn enters_battlefield(effect: &Effect) -> bool {
    matches!(effect, Effect::Move { to, .. } if to.zone == Zone::Battlefield)
}

pub(crate) fn parse_clause(input: &mut Input<'_>) -> ParseResult<Instruction> {
    let effect = longest(
        input,
        &[
            |input| ObjectAction.parse(input),
            |input| PlayerAction.parse(input),
            |input| {
                word(input, "you ")?;
                (input.state.subject, input.state.third) = (Some(Selector::You), false);
                PlayerAction.parse(input)
            },
            |input| {
                let who = Player.parse(input)?;
                word(input, " ")?;
                (input.state.subject, input.state.third) = (Some(who), true);
                PlayerAction.parse(input)
            },
            |input| {
                word(input, "have ")?;
                let who = Player.parse(input)?;
                word(input, " ")?;
                (input.state.subject, input.state.third) = (Some(who), false);
                PlayerAction.parse(input)
            },
            |input| ObjectVerb.parse(input),
            |input| ContinuousClause.parse(input),
        ],
    )?;
    if subject_of(&effect).is_none() {
        (input.state.subject, input.state.third) = (Some(Selector::You), false);
    }
    Ok(finish(effect, &mut input.state))
}

pub(crate) fn print_clause(value: &Effect, out: &mut Printer<'_>) -> bool {
    let is_printed = out.longest(
        value,
        &[
            |value, out| ObjectAction.print(value, out),
            |value, out| PlayerAction.print(value, out),
            |value, out| {
                (out.context.subject, out.context.third) = (Some(Selector::You), false);
                subject_of(value) == Some(&Selector::You)
                    && out.word("you ")
                    && PlayerAction.print(value, out)
            },
            |value, out| {
                let Some(who) = subject_of(value) else { return false };
                if !Player.print(who, out) || !out.word(" ") {
                    return false;
                }
                (out.context.subject, out.context.third) = (Some(who.clone()), true);
                PlayerAction.print(value, out)
            },
            |value, out| {
                let Some(who) = subject_of(value) else { return false };
                if !out.word("have ") || !Player.print(who, out) || !out.word(" ") {
                    return false;
                }
                (out.context.subject, out.context.third) = (Some(who.clone()), false);
                PlayerAction.print(value, out)
            },
            |value, out| ObjectVerb.print(value, out),
            |value, out| ContinuousClause.print(value, out),
        ],
    );
    if subject_of(value).is_none() {
        (out.context.subject, out.context.third) = (Some(Selector::You), false);
    }
    is_printed
}

/// "It deals 4 damage instead", "create four of those tokens instead": the effect before with another amount.
pub(crate) fn parse_stronger(input: &mut Input<'_>, before: &Effect) -> ParseResult<Effect> {
    match before {
        Effect::DealDamage { source, to, .. } => {
            let named = super::object::Object.parse(input)?;
            word(input, " deals ")?;
            let amount = super::words::Number.parse(input)?;
            word(input, " damage instead")?;
            let is_same = named == *source || input.state.it.as_ref() == Some(&named);
            if is_same {
                Ok(Effect::DealDamage { source: source.clone(), amount, to: to.clone() })
            } else {
                Err(EmptyError)
            }
        }
        Effect::CreateToken { who, token, .. } => {
            word(input, "create ")?;
            let amount = super::words::NumberWord.parse(input)?;
            word(input, " of those tokens instead")?;
            Ok(Effect::CreateToken { who: who.clone(), token: token.clone(), amount })
        }
        _ => Err(EmptyError),
    }
}

pub(crate) fn print_stronger(before: &[Instruction], then: &[Instruction], out: &mut Printer<'_>) -> bool {
    let ([before], [then]) = (before, then) else { return false };
    match (&before.effect, &then.effect) {
        (Effect::DealDamage { source, to, .. }, Effect::DealDamage { source: second, amount, to: other }) => {
            source == second
                && to == other
                && out.one_of(&["it", "~"])
                && out.word(" deals ")
                && super::words::Number.print(amount, out)
                && out.word(" damage instead")
        }
        (Effect::CreateToken { token, .. }, Effect::CreateToken { token: other, amount, .. }) => {
            token == other
                && out.word("create ")
                && super::words::NumberWord.print(amount, out)
                && out.word(" of those tokens instead")
        }
        _ => false,
    }
}
