//! Becoming something else: "becomes a 3/3 black and red Wolf artifact creature".

use super::change::Gift;
use super::core::{Input, ParseResult, Phrase, Printer, attempt, has_word, word};
use super::token::{parse_colors, parse_types, print_colors, print_types};
use super::words::{Number, parse_list, print_list};
use crate::ability::{Amount, Change};
use winnow::error::EmptyError;

/// The predicate "becomes" or, of a static ability, "is".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Becoming {
    pub(crate) is_plural: bool,
    pub(crate) is_static: bool,
}

impl Becoming {
    fn verb(self) -> &'static str {
        match (self.is_static, self.is_plural) {
            (false, false) => "becomes a",
            (false, true) => "become ",
            (true, false) => "is a",
            (true, true) => "are ",
        }
    }
}

const IN_ADDITION: &str = " in addition to its other colors and types";
const IN_ADDITION_TYPES: &str = " in addition to its other types";

impl Phrase for Becoming {
    type Value = Vec<Change>;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Vec<Change>> {
        word(input, self.verb())?;
        if !self.is_plural && !has_word(input, "n ") {
            word(input, " ")?;
        }
        let mut changes = Vec::new();
        let size = attempt(input, |input| {
            let power = Number.parse(input)?;
            word(input, "/")?;
            let toughness = Number.parse(input)?;
            word(input, " ")?;
            Ok((power, toughness))
        });
        if let Ok((power, toughness)) = &size {
            changes.push(Change::SetPower(power.clone()));
            changes.push(Change::SetToughness(toughness.clone()));
        }
        let colors = parse_colors(input);
        let (subtypes, types) = parse_types(input, self.is_plural)?;
        if has_word(input, IN_ADDITION) {
            changes.extend(colors.map(Change::AddColors));
            changes.push(Change::AddSubtypes(subtypes));
            return if types.is_empty() { Ok(changes) } else { Err(EmptyError) };
        }
        if has_word(input, IN_ADDITION_TYPES) {
            if colors.is_some() || size.is_ok() {
                return Err(EmptyError);
            }
            if !types.is_empty() {
                changes.push(Change::AddTypes(types));
            }
            if !subtypes.is_empty() {
                changes.push(Change::AddSubtypes(subtypes));
            }
            return Ok(changes);
        }
        changes.extend(colors.map(Change::SetColors));
        if !subtypes.is_empty() {
            changes.push(Change::SetSubtypes(subtypes));
        }
        if !types.is_empty() {
            changes.push(Change::AddTypes(types));
        }
        if size.is_err()
            && let Ok((power, toughness)) = attempt(input, |input| {
                word(input, " with base power and toughness ")?;
                let power = Number.parse(input)?;
                word(input, "/")?;
                Ok((power, Number.parse(input)?))
            })
        {
            changes.push(Change::SetPower(power));
            changes.push(Change::SetToughness(toughness));
            return Ok(changes);
        }
        if let Ok(gifts) = attempt(input, |input| {
            word(input, " with ")?;
            parse_list(&Gift, "and", input)
        }) {
            changes.extend(gifts);
        }
        Ok(changes)
    }

    fn print(&self, value: &Vec<Change>, out: &mut Printer<'_>) -> bool {
        if !out.word(self.verb()) || (!self.is_plural && !out.one_of(&[" ", "n "])) {
            return false;
        }
        let mut rest = value.as_slice();
        let mut has_size = false;
        if let [Change::SetPower(power), Change::SetToughness(toughness), tail @ ..] = rest {
            if !print_size(power, toughness, out) || !out.word(" ") {
                return false;
            }
            has_size = true;
            rest = tail;
        }
        if let [Change::AddTypes(types), tail @ ..] = rest
            && let (subtypes, []) = split_added(tail)
            && !has_size
            && out.attempt(|out| {
                print_types(subtypes, types, self.is_plural, out) && out.word(IN_ADDITION_TYPES)
            })
        {
            return true;
        }
        if let (subtypes, []) = split_added(rest)
            && !has_size
            && out
                .attempt(|out| print_types(subtypes, &[], self.is_plural, out) && out.word(IN_ADDITION_TYPES))
        {
            return true;
        }
        if let [Change::AddColors(colors), Change::AddSubtypes(subtypes)] = rest {
            return print_colors(*colors, out)
                && print_types(subtypes, &[], self.is_plural, out)
                && out.word(IN_ADDITION);
        }
        if let [Change::SetColors(colors), tail @ ..] = rest {
            if !print_colors(*colors, out) {
                return false;
            }
            rest = tail;
        }
        let mut subtypes: &[crate::card::Subtype] = &[];
        if let [Change::SetSubtypes(found), tail @ ..] = rest {
            (subtypes, rest) = (found, tail);
        }
        let mut types: &[crate::card::CardType] = &[];
        if let [Change::AddTypes(found), tail @ ..] = rest {
            (types, rest) = (found, tail);
        }
        if !print_types(subtypes, types, self.is_plural, out) {
            return false;
        }
        match rest {
            [] => true,
            [Change::SetPower(power), Change::SetToughness(toughness)] if !has_size => {
                out.word(" with base power and toughness ") && print_size(power, toughness, out)
            }
            gifts => out.word(" with ") && print_list(&Gift, "and", gifts, out),
        }
    }
}

fn split_added(changes: &[Change]) -> (&[crate::card::Subtype], &[Change]) {
    match changes {
        [Change::AddSubtypes(subtypes), rest @ ..] => (subtypes, rest),
        rest => (&[], rest),
    }
}

fn print_size(power: &Amount, toughness: &Amount, out: &mut Printer<'_>) -> bool {
    Number.print(power, out) && out.word("/") && Number.print(toughness, out)
}
