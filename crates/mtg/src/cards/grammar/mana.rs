//! Mana that is added: "{G}", "{W} or {U}", "one mana of any color".

use super::amount::{EachPhrase, divide, multiply};
use super::core::{Input, ParseResult, Phrase, Printer, attempt, has_word, rules, word};
use super::noun::{ArticleNoun, Noun, PLURAL};
use super::words::{Mana, NumberWord};
use crate::ability::{Amount, Filter, ManaOutput, ManaUse, Zone};
use crate::card::{ManaKind, ManaSymbol};
use winnow::error::EmptyError;

/// What follows "add".
#[derive(Debug, Clone, Copy)]
pub(crate) struct ManaPhrase;

impl Phrase for ManaPhrase {
    type Value = ManaOutput;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<ManaOutput> {
        if let Ok(output) = attempt(input, |input| Colors.parse(input)) {
            return Ok(output);
        }
        has_word(input, "an additional ");
        let kinds = parse_symbols(input)?;
        if let Ok(each) = attempt(input, |input| {
            word(input, " for each ")?;
            EachPhrase.parse(input)
        }) {
            let count = i32::try_from(kinds.len()).map_err(|_| EmptyError)?;
            return Ok(ManaOutput::OneOf { kinds: unique(&kinds)?, amount: multiply(each, count) });
        }
        let mut choices = vec![kinds];
        while let Ok(more) = attempt(input, parse_choice) {
            choices.push(more);
        }
        if choices.len() == 1 {
            return choices.pop().map(ManaOutput::Fixed).ok_or(EmptyError);
        }
        let count = choices.first().map_or(0, Vec::len);
        let kinds: ParseResult<Vec<Vec<ManaKind>>> = choices.iter().map(|kinds| unique(kinds)).collect();
        if choices.iter().any(|kinds| kinds.len() != count) {
            return Err(EmptyError);
        }
        let amount = Amount::Fixed(i32::try_from(count).map_err(|_| EmptyError)?);
        Ok(ManaOutput::OneOf { kinds: kinds?.concat(), amount })
    }

    fn print(&self, value: &ManaOutput, out: &mut Printer<'_>) -> bool {
        if out.attempt(|out| Colors.print(value, out)) {
            return true;
        }
        if out.has_next("an additional ") && !out.word("an additional ") {
            return false;
        }
        match value {
            ManaOutput::Fixed(kinds) => out.word(&symbols(kinds)),
            ManaOutput::OneOf { kinds, amount: Amount::Fixed(count) } => {
                let Ok(count) = usize::try_from(*count) else { return false };
                let texts: Vec<String> =
                    kinds.iter().map(|kind| symbols(&vec![*kind; count.min(9)])).collect();
                let last = texts.len().saturating_sub(1);
                texts.iter().enumerate().all(|(index, text)| {
                    let mark = match (index, index == last) {
                        (0, _) => "",
                        (1, true) => " or ",
                        (_, true) => ", or ",
                        _ => ", ",
                    };
                    out.word(mark) && out.word(text)
                })
            }
            ManaOutput::OneOf { kinds, amount } => {
                let (each, count) = divide(amount);
                let [kind] = kinds.as_slice() else { return false };
                let Ok(count) = usize::try_from(count) else { return false };
                out.word(&symbols(&vec![*kind; count.min(9)]))
                    && out.word(" for each ")
                    && EachPhrase.print(each, out)
            }
            _ => false,
        }
    }
}

/// ". Spend this mana only to cast creature spells": what the mana before it is for; no words for any use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spending;

const SPENDING: &str = ". spend this mana only to ";
const ACTIVATING: &str = "activate abilities of ";

impl Phrase for Spending {
    type Value = Option<ManaUse>;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Option<ManaUse>> {
        if !has_word(input, SPENDING) {
            return Ok(None);
        }
        let mut only = ManaUse::default();
        if has_word(input, "cast ") {
            only.spells = Some(parse_used(input, Zone::Stack)?);
        }
        if only.spells.is_none() || has_word(input, " or ") {
            word(input, ACTIVATING)?;
            only.abilities = Some(parse_used(input, Zone::Battlefield)?);
        }
        Ok(Some(only))
    }

    fn print(&self, value: &Option<ManaUse>, out: &mut Printer<'_>) -> bool {
        let Some(only) = value else { return true };
        let cast = |out: &mut Printer<'_>| match &only.spells {
            Some(spells) => out.word("cast ") && print_used(spells, out),
            None => true,
        };
        let activate = |out: &mut Printer<'_>| match &only.abilities {
            Some(sources) => {
                (only.spells.is_none() || out.word(" or "))
                    && out.word(ACTIVATING)
                    && print_used(sources, out)
            }
            None => true,
        };
        out.word(SPENDING) && cast(out) && activate(out)
    }
}

/// "Creature spells", "an instant or sorcery spell".
fn parse_used(input: &mut Input<'_>, zone: Zone) -> ParseResult<Filter> {
    let noun = attempt(input, |input| ArticleNoun.parse(input)).or_else(|_| PLURAL.parse(input))?;
    if noun.place() == zone { Ok(noun.filter) } else { Err(EmptyError) }
}

fn print_used(filter: &Filter, out: &mut Printer<'_>) -> bool {
    let noun = Noun { filter: filter.clone(), zone: None };
    out.attempt(|out| ArticleNoun.print(&noun, out)) || PLURAL.print(&noun, out)
}

fn unique(kinds: &[ManaKind]) -> ParseResult<Vec<ManaKind>> {
    match kinds {
        [first, rest @ ..] if rest.iter().all(|kind| kind == first) => Ok(vec![*first]),
        _ => Err(EmptyError),
    }
}

fn symbols(kinds: &[ManaKind]) -> String {
    kinds.iter().map(|kind| format!("{{{}}}", kind.letter())).collect()
}

fn parse_symbols(input: &mut Input<'_>) -> ParseResult<Vec<ManaKind>> {
    let cost = Mana.parse(input)?;
    let kinds = cost.symbols.iter().map(|symbol| match symbol {
        ManaSymbol::Colored(color) => Ok(ManaKind::from(*color)),
        ManaSymbol::Colorless => Ok(ManaKind::Colorless),
        _ => Err(EmptyError),
    });
    kinds.collect()
}

fn parse_choice(input: &mut Input<'_>) -> ParseResult<Vec<ManaKind>> {
    if !has_word(input, ", or ") && !has_word(input, " or ") {
        word(input, ", ")?;
    }
    parse_symbols(input)
}

rules! {
    /// Mana of a colour that is chosen.
    Colors: ManaOutput {
        [(amount: NumberWord) " mana of any color"] => { ManaOutput::AnyColor { amount, same: false } };
        [(amount: NumberWord) " mana of any one color"] => { ManaOutput::AnyColor { amount, same: true } };
        [(amount: NumberWord) " mana in any combination of colors"] => { ManaOutput::AnyColor { amount, same: false } };
        [(amount: NumberWord) " mana of the chosen color"] => { ManaOutput::ChosenColor(amount) };
    }
}
