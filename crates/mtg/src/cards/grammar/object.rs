//! Objects: "~", "it", "target creature", "each creature you control", "up to two target lands".

use super::core::{Context, Input, ParseResult, Phrase, Printer, attempt, has_word, word};
use super::noun::{ArticleNoun, Noun, PLURAL, SINGULAR, with_other, without_other};
use super::player::{add_target, next_target};
use super::words::{NumberWord, is_next_word, skip};
use crate::ability::{Amount, Filter, Selector, TargetSpec, Zone};
use winnow::error::EmptyError;

/// The largest number of targets of "any number of targets".
pub(crate) const ANY_NUMBER: i32 = 99;

/// Wordings of a single object that was mentioned before, the usual one first.
const PRONOUNS: [&str; 16] = [
    "it",
    "that creature",
    "that permanent",
    "that card",
    "that artifact",
    "that land",
    "that spell",
    "that token",
    "that planeswalker",
    "the token",
    "the creature",
    "that enchantment",
    "the card",
    "him",
    "that Vehicle",
    "that Equipment",
];
/// Wordings of several objects that were mentioned before.
const PLURAL_PRONOUNS: [&str; 9] = [
    "they",
    "them",
    "those creatures",
    "those permanents",
    "those cards",
    "those tokens",
    "those lands",
    "those artifacts",
    "the tokens",
];
const PRONOUN_POSSESSIVES: [&str; 12] = [
    "its ",
    "that creature's ",
    "that permanent's ",
    "that card's ",
    "that spell's ",
    "the card's ",
    "that land's ",
    "the creature's ",
    "that token's ",
    "that artifact's ",
    "the exiled card's ",
    "their ",
];
const ATTACHED: [&str; 6] = [
    "enchanted creature",
    "equipped creature",
    "enchanted permanent",
    "enchanted land",
    "enchanted artifact",
    "enchanted enchantment",
];

/// The longest of the wordings that comes next as whole words.
fn find_wording<'r>(input: &Input<'_>, wordings: &[&'r str]) -> Option<&'r str> {
    let fitting = wordings.iter().filter(|wording| is_next_word(input.input, wording));
    fitting.max_by_key(|wording| wording.len()).copied().filter(|wording| {
        // "It's" and "that creature's" are other words.
        !input.input.strip_prefix(wording).is_some_and(|rest| rest.starts_with('\''))
    })
}

fn use_reference(input: &mut Input<'_>, selector: Option<Selector>) -> ParseResult<Selector> {
    let selector = selector.ok_or(EmptyError)?;
    if let Selector::Binding(slot) = selector {
        input.state.used_binds.push(slot);
    }
    Ok(selector)
}

/// Writes one of the pronouns that mean the selector.
fn print_pronoun(wordings: &[&'static str], value: &Selector, out: &mut Printer<'_>) -> bool {
    let meant = |wording: &&&str| out.context.referent(wording) == Some(value);
    let fitting: Vec<&str> = wordings.iter().filter(meant).copied().collect();
    let is_printed = out.one_of(&fitting);
    if is_printed {
        out.context.it = Some(value.clone());
    }
    is_printed
}

/// One object, or each of several, as the subject of a verb in the singular or as an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object;

impl Phrase for Object {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        if let Some(wording) = find_wording(input, &PRONOUNS) {
            skip(input, wording);
            let meant = input.state.use_pronoun(wording);
            return use_reference(input, meant);
        }
        let selector = parse_mention(input)?;
        input.state.mention(&selector);
        Ok(selector)
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        if print_pronoun(&PRONOUNS, value, out) {
            return true;
        }
        if !print_mention(value, out) {
            return false;
        }
        out.context.mention(value);
        true
    }
}

/// An object that changes its zone again: after "exile it", "that card" is the card in exile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MovedObject;

impl Phrase for MovedObject {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        if let Some(moved) = input.state.moved.clone()
            && let Some(wording) =
                find_wording(input, &PRONOUNS).or_else(|| find_wording(input, &PLURAL_PRONOUNS))
        {
            skip(input, wording);
            return use_reference(input, Some(moved));
        }
        if let Ok(selector) = attempt(input, |input| Object.parse(input)) {
            return Ok(selector);
        }
        Objects.parse(input)
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        if out.context.moved.is_some() {
            if out.context.moved.as_ref() == Some(value)
                && (out.one_of(&PRONOUNS) || out.one_of(&PLURAL_PRONOUNS))
            {
                return true;
            }
            if out.context.it.as_ref() == Some(value) && *value != Selector::This {
                return false;
            }
        }
        out.attempt(|out| Object.print(value, out)) || Objects.print(value, out)
    }
}

/// Several objects, as the subject of a verb in the plural or as an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Objects;

impl Phrase for Objects {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        if let Some(wording) = find_wording(input, &PLURAL_PRONOUNS) {
            skip(input, wording);
            let meant = input.state.use_pronoun(wording);
            return use_reference(input, meant);
        }
        let selector = attempt(input, parse_several_targets)
            .or_else(|_| attempt(input, parse_several_chosen))
            .or_else(|_| {
                has_word(input, "all ");
                PLURAL.parse(input).map(Noun::everything)
            })?;
        input.state.mention(&selector);
        Ok(selector)
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        if print_pronoun(&PLURAL_PRONOUNS, value, out) {
            return true;
        }
        let is_printed = match value {
            Selector::Target(_) => print_several_targets(value, out),
            Selector::Choice { from, min: Amount::Fixed(0), max, chooser } if **chooser == Selector::You => {
                match from.as_ref() {
                    Selector::All { zone, filter } => {
                        out.word("up to ")
                            && NumberWord.print(max, out)
                            && out.word(" ")
                            && PLURAL.print(&Noun::in_zone(filter, *zone), out)
                    }
                    _ => false,
                }
            }
            Selector::All { zone, filter } => {
                let noun = Noun::in_zone(filter, *zone);
                out.attempt(|out| PLURAL.print(&noun, out))
                    || out.attempt(|out| out.word("all ") && PLURAL.print(&noun, out))
                    || print_on_battlefield(filter, *zone, out)
            }
            _ => false,
        };
        if is_printed {
            out.context.mention(value);
        }
        is_printed
    }
}

/// "Creatures on the battlefield": the zone that need not be named.
fn print_on_battlefield(filter: &Filter, zone: Zone, out: &mut Printer<'_>) -> bool {
    zone == Zone::Battlefield
        && out.attempt(|out| PLURAL.print(&Noun { filter: filter.clone(), zone: Some(zone) }, out))
}

/// One object or several, as the object of a verb.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnyObjects;

impl Phrase for AnyObjects {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        super::core::longest(input, &[|input| Object.parse(input), |input| Objects.parse(input)])
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        out.longest(value, &[|value, out| Object.print(value, out), |value, out| Objects.print(value, out)])
    }
}

fn parse_mention(input: &mut Input<'_>) -> ParseResult<Selector> {
    if is_next_word(input.input, "~") && !input.input.starts_with("~'") {
        skip(input, "~");
        return Ok(Selector::This);
    }
    if let Some(wording) = find_wording(input, &ATTACHED) {
        skip(input, wording);
        return Ok(Selector::Attached);
    }
    if has_word(input, "the sacrificed creature") {
        return parse_sacrificed(input);
    }
    if let Ok(selector) = attempt(input, parse_one_target) {
        return Ok(selector);
    }
    if has_word(input, "each ") {
        let noun = SINGULAR.parse(input)?;
        return if names_player(&noun.filter) { Err(EmptyError) } else { Ok(noun.everything()) };
    }
    let noun = ArticleNoun.parse(input)?;
    if names_player(&noun.filter) {
        return Err(EmptyError);
    }
    Ok(Selector::Choice {
        from: Box::new(noun.everything()),
        min: Amount::Fixed(1),
        max: Amount::Fixed(1),
        chooser: Box::new(Selector::You),
    })
}

/// What "the sacrificed creature" means.
fn sacrificed(context: &Context) -> Selector {
    context.sacrificed.clone().unwrap_or(Selector::Paid)
}

fn parse_sacrificed(input: &mut Input<'_>) -> ParseResult<Selector> {
    let meant = sacrificed(&input.state);
    use_reference(input, Some(meant))
}

/// Whether players are among what a noun names; they are not objects.
fn names_player(filter: &Filter) -> bool {
    super::noun::parts(filter).iter().any(|part| matches!(part, Filter::Player | Filter::Opponent))
}

fn print_mention(value: &Selector, out: &mut Printer<'_>) -> bool {
    match value {
        Selector::This => out.word("~"),
        Selector::Attached => out.one_of(&ATTACHED),
        value if *value == sacrificed(&out.context) => out.word("the sacrificed creature"),
        Selector::Target(_) => print_one_target(value, out),
        Selector::All { zone, filter } => {
            out.word("each ") && SINGULAR.print(&Noun::in_zone(filter, *zone), out)
        }
        Selector::Choice { from, min: Amount::Fixed(1), max: Amount::Fixed(1), chooser }
            if **chooser == Selector::You =>
        {
            match from.as_ref() {
                Selector::All { zone, filter } => ArticleNoun.print(&Noun::in_zone(filter, *zone), out),
                _ => false,
            }
        }
        _ => false,
    }
}

fn parse_one_target(input: &mut Input<'_>) -> ParseResult<Selector> {
    let is_optional = has_word(input, "up to one ");
    if has_word(input, "any target") {
        let spec = TargetSpec::single(Filter::any_target());
        let selector = add_target(input, spec)?;
        input.state.player = Some(selector.clone());
        return Ok(selector);
    }
    let is_other = has_word(input, if is_optional { "other " } else { "another " });
    word(input, "target ")?;
    let noun = SINGULAR.parse(input)?;
    let spec = target_spec(input, noun, is_other, u8::from(!is_optional), Amount::Fixed(1));
    let is_player = matches!(&spec.filter, Filter::AnyOf(_) | Filter::Player | Filter::Opponent);
    let selector = add_target(input, spec)?;
    if is_player {
        input.state.player = Some(selector.clone());
    }
    Ok(selector)
}

/// A target; "another" is one that differs from the targets before, or from the source.
fn target_spec(input: &Input<'_>, noun: Noun, is_other: bool, min: u8, max: Amount) -> TargetSpec {
    let earlier: Vec<u8> = (0..u8::try_from(input.state.targets.len()).unwrap_or(0)).collect();
    let (noun, distinct_from) = match (is_other, earlier.is_empty()) {
        (true, true) => (with_other(&noun), Vec::new()),
        (true, false) => (noun, earlier),
        (false, _) => (noun, Vec::new()),
    };
    let zone = noun.place();
    TargetSpec { filter: noun.filter, zone, min, max, exact: false, divided: None, distinct_from }
}

fn print_one_target(value: &Selector, out: &mut Printer<'_>) -> bool {
    let Some(spec) = next_target(value, out) else { return false };
    if spec.max != Amount::Fixed(1) || spec.exact {
        return false;
    }
    out.context.mentioned += 1;
    if spec.min == 0 && !out.word("up to one ") {
        return false;
    }
    if spec.filter == Filter::any_target() {
        out.context.player = Some(value.clone());
        return out.word("any target");
    }
    if matches!(&spec.filter, Filter::AnyOf(_) | Filter::Player | Filter::Opponent) {
        out.context.player = Some(value.clone());
    }
    let noun = Noun::in_zone(&spec.filter, spec.zone);
    let other = if spec.min == 0 { "other " } else { "another " };
    match without_other(&noun) {
        Some(rest) => out.word(other) && out.word("target ") && SINGULAR.print(&rest, out),
        None if !spec.distinct_from.is_empty() => {
            out.word(other) && out.word("target ") && SINGULAR.print(&noun, out)
        }
        None => out.word("target ") && SINGULAR.print(&noun, out),
    }
}

fn parse_several_targets(input: &mut Input<'_>) -> ParseResult<Selector> {
    let (min, max, exact) = if has_word(input, "up to ") {
        (0, NumberWord.parse(input)?, false)
    } else if has_word(input, "any number of") {
        (0, Amount::Fixed(ANY_NUMBER), false)
    } else if has_word(input, "one or two") {
        (1, Amount::Fixed(2), false)
    } else if has_word(input, "one, two, or three") {
        (1, Amount::Fixed(3), false)
    } else {
        match NumberWord.parse(input)? {
            Amount::Fixed(number) => {
                (u8::try_from(number).map_err(|_| EmptyError)?, Amount::Fixed(number), false)
            }
            amount => (0, amount, true),
        }
    };
    word(input, " ")?;
    let is_other = has_word(input, "other ");
    word(input, "target")?;
    if has_word(input, "s") {
        let spec = TargetSpec { min, max, exact, ..TargetSpec::single(Filter::any_target()) };
        return add_target(input, spec);
    }
    word(input, " ")?;
    let noun = PLURAL.parse(input)?;
    let mut spec = target_spec(input, noun, is_other, min, max);
    spec.exact = exact;
    add_target(input, spec)
}

/// "Up to two lands": chosen on resolution.
fn parse_several_chosen(input: &mut Input<'_>) -> ParseResult<Selector> {
    word(input, "up to ")?;
    let max = NumberWord.parse(input)?;
    word(input, " ")?;
    let noun = PLURAL.parse(input)?;
    Ok(Selector::Choice {
        from: Box::new(noun.everything()),
        min: Amount::Fixed(0),
        max,
        chooser: Box::new(Selector::You),
    })
}

pub(crate) fn print_several_targets(value: &Selector, out: &mut Printer<'_>) -> bool {
    let Some(spec) = next_target(value, out) else { return false };
    out.context.mentioned += 1;
    let is_counted = match (spec.min, &spec.max, spec.exact) {
        (0, Amount::Fixed(ANY_NUMBER), false) => out.word("any number of"),
        (1, Amount::Fixed(2), false) => out.word("one or two"),
        (1, Amount::Fixed(3), false) => out.word("one, two, or three"),
        (0, max, false) => out.word("up to ") && NumberWord.print(max, out),
        (min, Amount::Fixed(max), false) if i32::from(min) == *max && min > 1 => {
            NumberWord.print(&Amount::Fixed(*max), out)
        }
        (0, max, true) => NumberWord.print(max, out),
        _ => false,
    };
    if !is_counted || !out.word(" ") {
        return false;
    }
    if spec.filter == Filter::any_target() {
        return out.word("targets");
    }
    let noun = Noun::in_zone(&spec.filter, spec.zone);
    match without_other(&noun) {
        Some(rest) => out.word("other target ") && PLURAL.print(&rest, out),
        None => {
            (spec.distinct_from.is_empty() || out.word("other "))
                && out.word("target ")
                && PLURAL.print(&noun, out)
        }
    }
}

/// The possessive of an object: "its ", "~'s ", "target creature's ".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Possessive;

impl Phrase for Possessive {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        if let Some(wording) = PRONOUN_POSSESSIVES.iter().find(|wording| input.input.starts_with(**wording)) {
            skip(input, wording);
            let meant = input.state.use_pronoun(wording);
            return use_reference(input, meant);
        }
        if has_word(input, "~'s ") {
            return Ok(Selector::This);
        }
        if has_word(input, "the sacrificed creature's ") {
            return parse_sacrificed(input);
        }
        let selector = parse_mention(input)?;
        input.state.mention(&selector);
        word(input, "'s ")?;
        Ok(selector)
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        if print_pronoun(&PRONOUN_POSSESSIVES, value, out) {
            return true;
        }
        match value {
            Selector::This => out.word("~'s "),
            value if *value == sacrificed(&out.context) => out.word("the sacrificed creature's "),
            _ => {
                let is_printed = print_mention(value, out);
                out.context.mention(value);
                is_printed && out.word("'s ")
            }
        }
    }
}
