//! Costs: "{1}{W}, {T}, sacrifice a creature", "+1", "pay 2 life".

use super::core::{Input, ParseResult, Phrase, Printer, attempt, has_word, rules, word};
use super::noun::{Article, ArticleNoun, Noun, PLURAL, with_other, without_other};
use super::words::{CARDS, CounterName, Mana, Number, NumberWord};
use crate::ability::{Amount, Cost, CostPart, Filter, Zone};
use winnow::error::EmptyError;

/// The parts of a cost, separated by commas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CostPhrase;

impl Phrase for CostPhrase {
    type Value = Cost;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Cost> {
        let mut cost = Cost::default();
        match attempt(input, |input| Mana.parse(input)) {
            Ok(mana) => cost.mana = mana,
            Err(_) => cost.parts.push(CostItem.parse(input)?),
        }
        while let Ok(part) = attempt(input, |input| {
            word(input, ", ")?;
            CostItem.parse(input)
        }) {
            cost.parts.push(part);
        }
        Ok(cost)
    }

    fn print(&self, value: &Cost, out: &mut Printer<'_>) -> bool {
        let has_mana = !value.mana.is_empty();
        (!has_mana || Mana.print(&value.mana, out))
            && (has_mana || !value.parts.is_empty())
            && value
                .parts
                .iter()
                .enumerate()
                .all(|(index, part)| (index == 0 && !has_mana || out.word(", ")) && CostItem.print(part, out))
    }
}

rules! {
    /// One part of a cost other than mana.
    CostItem: CostPart {
        ["{T}"] => { CostPart::Tap };
        ["{Q}"] => { CostPart::Untap };
        ["pay " (amount: Number) " life"] => { CostPart::PayLife(amount) };
        ["sacrifice ~"] => { CostPart::SacrificeThis };
        ["discard ~"] => { CostPart::DiscardThis };
        ["discard your hand"] => { CostPart::DiscardHand };
        ["exile ~"] => { CostPart::ExileThis };
        ["exile ~ from your graveyard"] => { CostPart::ExileThis };
        ["return ~ to its owner's hand"] => { CostPart::ReturnThisToHand };
        ["-X"] => { CostPart::LoyaltyX };
        [(part: NounCost)] => { part };
    }
}

/// Costs with a number and a noun: sacrifice, discard, tap, exile, return, remove and put counters, loyalty.
#[derive(Debug, Clone, Copy)]
struct NounCost;

impl Phrase for NounCost {
    type Value = CostPart;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<CostPart> {
        if let Ok(loyalty) = attempt(input, parse_loyalty) {
            return Ok(CostPart::Loyalty(loyalty));
        }
        if has_word(input, "sacrifice ") {
            let (filter, count) = parse_some(input, Zone::Battlefield)?;
            return Ok(CostPart::Sacrifice { filter, count });
        }
        if has_word(input, "discard ") {
            return parse_discard(input);
        }
        if has_word(input, "tap ") {
            let (filter, count) = parse_some(input, Zone::Battlefield)?;
            return Ok(CostPart::TapPermanents { filter, count });
        }
        if has_word(input, "exile ") {
            return parse_exile(input);
        }
        if has_word(input, "reveal ") {
            let (filter, count) = parse_some(input, Zone::Hand)?;
            return Ok(CostPart::Reveal { filter, count });
        }
        if has_word(input, "return ") {
            let (filter, count) = parse_some(input, Zone::Battlefield)?;
            if !has_word(input, " to its owner's hand") {
                word(input, " to their owner's hand")?;
            }
            return Ok(CostPart::ReturnToHand { filter, count });
        }
        let is_removal = has_word(input, "remove ");
        if !is_removal {
            word(input, "put ")?;
        }
        let (kind, count) = Counters.parse(input)?;
        if !is_removal {
            word(input, " on ~")?;
            return Ok(CostPart::PutCounters { kind, count });
        }
        word(input, " from ")?;
        if has_word(input, "~") {
            return Ok(CostPart::RemoveCounters { kind, count });
        }
        let filter = Article.parse(input)?;
        Ok(CostPart::RemoveCountersFrom { filter, kind, count })
    }

    fn print(&self, value: &CostPart, out: &mut Printer<'_>) -> bool {
        match value {
            CostPart::Loyalty(number) => print_loyalty(*number, out),
            CostPart::Sacrifice { filter, count } => {
                out.word("sacrifice ") && print_some(filter, count, Zone::Battlefield, out)
            }
            CostPart::Discard { filter, count, random } => {
                let is_printed = match filter {
                    Filter::Any => out.word("discard ") && CARDS.print(count, out),
                    other => out.word("discard ") && print_some(other, count, Zone::Battlefield, out),
                };
                is_printed && (!random || out.word(" at random"))
            }
            CostPart::TapPermanents { filter, count } => {
                out.word("tap ") && print_some(filter, count, Zone::Battlefield, out)
            }
            CostPart::ExileFromGraveyard { filter, count } => {
                out.word("exile ") && print_some(filter, count, Zone::Graveyard, out)
            }
            CostPart::ExileFromHand { filter, count } => {
                out.word("exile ") && print_some(filter, count, Zone::Hand, out)
            }
            CostPart::ExilePermanent { filter, count } => {
                out.word("exile ") && print_some(filter, count, Zone::Battlefield, out)
            }
            CostPart::Reveal { filter, count } => {
                out.word("reveal ") && print_some(filter, count, Zone::Hand, out)
            }
            CostPart::ReturnToHand { filter, count } => {
                out.word("return ")
                    && print_some(filter, count, Zone::Battlefield, out)
                    && out.one_of(&[" to its owner's hand", " to their owner's hand"])
            }
            CostPart::RemoveCounters { kind, count } => {
                out.word("remove ") && Counters.print(&(*kind, count.clone()), out) && out.word(" from ~")
            }
            CostPart::RemoveCountersFrom { filter, kind, count } => {
                out.word("remove ")
                    && Counters.print(&(*kind, count.clone()), out)
                    && out.word(" from ")
                    && Article.print(filter, out)
            }
            CostPart::PutCounters { kind, count } => {
                out.word("put ") && Counters.print(&(*kind, count.clone()), out) && out.word(" on ~")
            }
            _ => false,
        }
    }
}

fn parse_loyalty(input: &mut Input<'_>) -> ParseResult<i8> {
    let sign = if has_word(input, "+") {
        1
    } else if has_word(input, "-") {
        -1
    } else {
        0
    };
    match Number.parse(input)? {
        Amount::Fixed(number) if sign != 0 || number == 0 => {
            i8::try_from(number * sign).map_err(|_| EmptyError)
        }
        _ => Err(EmptyError),
    }
}

fn print_loyalty(number: i8, out: &mut Printer<'_>) -> bool {
    out.word(&if number > 0 { format!("+{number}") } else { number.to_string() })
}

fn parse_discard(input: &mut Input<'_>) -> ParseResult<CostPart> {
    let (filter, count) = match attempt(input, |input| CARDS.parse(input)) {
        Ok(count) => (Filter::Any, count),
        Err(_) => parse_some(input, Zone::Battlefield)?,
    };
    let random = has_word(input, " at random");
    Ok(CostPart::Discard { filter, count, random })
}

fn parse_exile(input: &mut Input<'_>) -> ParseResult<CostPart> {
    if let Ok((filter, count)) = attempt(input, |input| parse_some(input, Zone::Graveyard)) {
        return Ok(CostPart::ExileFromGraveyard { filter, count });
    }
    if let Ok((filter, count)) = attempt(input, |input| parse_some(input, Zone::Hand)) {
        return Ok(CostPart::ExileFromHand { filter, count });
    }
    let (filter, count) = parse_some(input, Zone::Battlefield)?;
    Ok(CostPart::ExilePermanent { filter, count })
}

/// "A creature", "two Goblins", "X cards from your graveyard", "three other creature cards".
pub(crate) fn parse_some(input: &mut Input<'_>, zone: Zone) -> ParseResult<(Filter, Amount)> {
    let (noun, count) = match attempt(input, |input| ArticleNoun.parse(input)) {
        Ok(noun) => (noun, Amount::Fixed(1)),
        Err(_) => {
            let count = NumberWord.parse(input)?;
            word(input, " ")?;
            if has_word(input, "other ") {
                (with_other(&PLURAL.parse(input)?), count)
            } else {
                (PLURAL.parse(input)?, count)
            }
        }
    };
    if noun.zone.unwrap_or(Zone::Battlefield) == zone { Ok((noun.filter, count)) } else { Err(EmptyError) }
}

pub(crate) fn print_some(filter: &Filter, count: &Amount, zone: Zone, out: &mut Printer<'_>) -> bool {
    let noun = Noun { filter: filter.clone(), zone: (zone != Zone::Battlefield).then_some(zone) };
    if *count == Amount::Fixed(1) {
        return ArticleNoun.print(&noun, out);
    }
    if !NumberWord.print(count, out) || !out.word(" ") {
        return false;
    }
    match without_other(&noun) {
        Some(rest) => out.word("other ") && PLURAL.print(&rest, out),
        None => PLURAL.print(&noun, out),
    }
}

/// A number of counters: "a +1/+1 counter", "two charge counters".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counters;

impl Phrase for Counters {
    type Value = (crate::ability::CounterKind, Amount);

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Self::Value> {
        if has_word(input, "a ") || has_word(input, "an ") {
            let kind = CounterName.parse(input)?;
            word(input, " counter")?;
            return if input.input.starts_with('s') { Err(EmptyError) } else { Ok((kind, Amount::Fixed(1))) };
        }
        let amount = if has_word(input, "that many ") {
            input.state.amount.clone().ok_or(EmptyError)?
        } else {
            let amount = NumberWord.parse(input)?;
            word(input, " ")?;
            amount
        };
        let kind = CounterName.parse(input)?;
        word(input, " counters")?;
        Ok((kind, amount))
    }

    fn print(&self, (kind, amount): &Self::Value, out: &mut Printer<'_>) -> bool {
        if *amount == Amount::Fixed(1) {
            return out.one_of(&["a ", "an "]) && CounterName.print(kind, out) && out.word(" counter");
        }
        let is_that_many =
            out.context.amount.as_ref() == Some(amount) && out.attempt(|out| out.word("that many "));
        (is_that_many || (NumberWord.print(amount, out) && out.word(" ")))
            && CounterName.print(kind, out)
            && out.word(" counters")
    }
}
