//! Clauses with a duration: "target creature gets +2/+2 until end of turn".

use super::amount::{EachPhrase, divide, multiply};
use super::become_phrase::Becoming;
use super::change::Predicates;
use super::core::{Input, ParseResult, Phrase, Printer, attempt, has_word, longest, word};
use super::object::{AnyObjects, MovedObject, Object, Objects};
use crate::ability::{Amount, Change, Duration, Effect, Restriction, Selector};
use winnow::error::EmptyError;

/// A continuous effect of a spell or ability.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContinuousClause;

impl Phrase for ContinuousClause {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        longest(input, &[parse_change, parse_permanent, parse_control, parse_frozen, parse_lure])
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        out.longest(value, &[print_change, print_permanent, print_control, print_frozen, print_lure])
    }
}

/// Durations with the words for them, after the change.
const DURATIONS: [(&str, Duration); 7] = [
    (" until end of turn", Duration::EndOfTurn),
    (" this turn", Duration::EndOfTurn),
    (" this combat", Duration::EndOfCombat),
    (" until your next turn", Duration::YourNextTurn),
    (" until the end of your next turn", Duration::EndOfYourNextTurn),
    (" for as long as you control ~", Duration::WhileYouControlSource),
    (" for as long as ~ remains on the battlefield", Duration::WhileSource),
];

fn parse_duration(input: &mut Input<'_>) -> ParseResult<Duration> {
    let fitting = DURATIONS.iter().filter(|(text, _)| super::words::is_next_word(input.input, text));
    let (text, duration) = fitting.max_by_key(|(text, _)| text.len()).ok_or(EmptyError)?;
    super::words::skip(input, text);
    Ok(*duration)
}

fn print_duration(value: Duration, out: &mut Printer<'_>) -> bool {
    let texts: Vec<&str> =
        DURATIONS.iter().filter(|(_, known)| *known == value).map(|(text, _)| *text).collect();
    out.one_of(&texts)
}

const ONE: Predicates = Predicates { is_plural: false, is_static: false };
const MANY: Predicates = Predicates { is_plural: true, is_static: false };
const UNTIL_FIRST: &str = "until end of turn, ";
const STILL_LAND: &str = ". it's still a land";

fn parse_change(input: &mut Input<'_>) -> ParseResult<Effect> {
    if has_word(input, UNTIL_FIRST) {
        input.state.is_timed = true;
    }
    let (affected, mut changes) = longest(
        input,
        &[
            |input| {
                let affected = Object.parse(input)?;
                word(input, " ")?;
                Ok((affected, ONE.parse(input)?))
            },
            |input| {
                let affected = Objects.parse(input)?;
                has_word(input, " each");
                word(input, " ")?;
                Ok((affected, MANY.parse(input)?))
            },
        ],
    )?;
    let until = if input.state.is_timed { Duration::EndOfTurn } else { parse_duration(input)? };
    if let Ok(each) = attempt(input, |input| {
        word(input, " for each ")?;
        EachPhrase.parse(input)
    }) {
        let [Change::Modify { power: Amount::Fixed(power), toughness: Amount::Fixed(toughness) }] =
            changes.as_slice()
        else {
            return Err(EmptyError);
        };
        let scale = |number: i32| if number == 0 { Amount::Fixed(0) } else { multiply(each.clone(), number) };
        changes = vec![Change::Modify { power: scale(*power), toughness: scale(*toughness) }];
    }
    // Added types leave a land a land, which the text repeats.
    has_word(input, STILL_LAND);
    Ok(Effect::Continuous { affected, changes, until })
}

fn print_change(value: &Effect, out: &mut Printer<'_>) -> bool {
    let Effect::Continuous { affected, changes, until } = value else { return false };
    if *until == Duration::EndOfTurn && out.has_next(UNTIL_FIRST) {
        if !out.word(UNTIL_FIRST) {
            return false;
        }
        out.context.is_timed = true;
    }
    let is_early = out.context.is_timed;
    let plain = |changes: &Vec<Change>, out: &mut Printer<'_>| {
        let is_printed = out
            .attempt(|out| Object.print(affected, out) && out.word(" ") && ONE.print(changes, out))
            || (Objects.print(affected, out)
                && (!out.has_next(" each ") || out.word(" each"))
                && out.word(" ")
                && MANY.print(changes, out));
        is_printed && (is_early || print_duration(*until, out))
    };
    let is_printed = out.attempt(|out| plain(changes, out) && !out.has_next(" for each "))
        || match unscaled(changes) {
            Some((base, each)) => {
                plain(&vec![base], out) && out.word(" for each ") && EachPhrase.print(&each, out)
            }
            None => false,
        };
    is_printed && (!out.has_next(STILL_LAND) || out.word(STILL_LAND))
}

/// A change for each of something: the change for one, and what is counted.
fn unscaled(changes: &[Change]) -> Option<(Change, Amount)> {
    let [Change::Modify { power, toughness }] = changes else { return None };
    let split = |amount: &Amount| match amount {
        Amount::Fixed(number) => (None, *number),
        other => {
            let (each, number) = divide(other);
            (Some(each.clone()), number)
        }
    };
    let ((left, power), (right, toughness)) = (split(power), split(toughness));
    let base = Change::Modify { power: Amount::Fixed(power), toughness: Amount::Fixed(toughness) };
    Some((base, left.or(right)?))
}

const BEING: Becoming = Becoming { is_plural: false, is_static: true };

/// "That creature is a black Zombie in addition to its other colors and types".
fn parse_permanent(input: &mut Input<'_>) -> ParseResult<Effect> {
    let affected = MovedObject.parse(input)?;
    word(input, " ")?;
    let changes = BEING.parse(input)?;
    Ok(Effect::Continuous { affected, changes, until: Duration::Forever })
}

fn print_permanent(value: &Effect, out: &mut Printer<'_>) -> bool {
    let Effect::Continuous { affected, changes, until: Duration::Forever } = value else { return false };
    MovedObject.print(affected, out) && out.word(" ") && BEING.print(changes, out)
}

/// "Gain control of target creature until end of turn".
fn parse_control(input: &mut Input<'_>) -> ParseResult<Effect> {
    word(input, "gain control of ")?;
    let affected = AnyObjects.parse(input)?;
    let until = attempt(input, parse_duration).unwrap_or(Duration::Forever);
    Ok(Effect::Continuous { affected, changes: vec![Change::Control(Selector::You)], until })
}

fn print_control(value: &Effect, out: &mut Printer<'_>) -> bool {
    let Effect::Continuous { affected, changes, until } = value else { return false };
    matches!(changes.as_slice(), [Change::Control(Selector::You)])
        && out.word("gain control of ")
        && AnyObjects.print(affected, out)
        && (*until == Duration::Forever || print_duration(*until, out))
}

const FROZEN: [&str; 7] = [
    " doesn't untap during its controller's next untap step",
    " doesn't untap during your next untap step",
    " don't untap during their controller's next untap step",
    " don't untap during their controllers' next untap steps",
    " don't untap during that player's next untap step",
    " don't untap during their next untap step",
    " don't untap during your next untap step",
];

fn parse_frozen(input: &mut Input<'_>) -> ParseResult<Effect> {
    let affected = AnyObjects.parse(input)?;
    let text = FROZEN.iter().find(|text| input.input.starts_with(**text)).ok_or(EmptyError)?;
    super::words::skip(input, text);
    let changes = vec![Change::Restriction(Restriction::DoesntUntap)];
    Ok(Effect::Continuous { affected, changes, until: Duration::NextUntap })
}

fn print_frozen(value: &Effect, out: &mut Printer<'_>) -> bool {
    let Effect::Continuous { affected, changes, until: Duration::NextUntap } = value else { return false };
    matches!(changes.as_slice(), [Change::Restriction(Restriction::DoesntUntap)])
        && AnyObjects.print(affected, out)
        && out.one_of(&FROZEN)
}

/// "All creatures able to block target creature this turn do so".
fn parse_lure(input: &mut Input<'_>) -> ParseResult<Effect> {
    word(input, "all creatures able to block ")?;
    let affected = Object.parse(input)?;
    word(input, " this turn do so")?;
    let changes = vec![Change::Restriction(Restriction::MustBeBlockedByAll)];
    Ok(Effect::Continuous { affected, changes, until: Duration::EndOfTurn })
}

fn print_lure(value: &Effect, out: &mut Printer<'_>) -> bool {
    let Effect::Continuous { affected, changes, until: Duration::EndOfTurn } = value else { return false };
    matches!(changes.as_slice(), [Change::Restriction(Restriction::MustBeBlockedByAll)])
        && out.word("all creatures able to block ")
        && Object.print(affected, out)
        && out.word(" this turn do so")
}
