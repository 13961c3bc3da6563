//! Amounts: "the number of creatures you control", "its power", "for each Forest you control".

use super::core::{BoxPhrase, Input, ParseResult, Phrase, Printer, attempt, has_word, rules, word};
use super::noun::{Noun, PLURAL, SINGULAR};
use super::object::{Object, Objects};
use super::player::PlayerPossessive;
use super::suffix::Measure;
use super::words::{CounterName, Number};
use crate::ability::{Amount, Selector, TurnStatistic};
use winnow::error::EmptyError;

rules! {
    /// An amount in words, as after "equal to" and "where X is".
    AmountPhrase: Amount {
        [(amount: Measure)] => { amount };
        ["the number of " (what: BoxPhrase(CountedObjects))] => { Amount::Count(what) };
        ["the number of " (kind: CounterName) " counters on " (what: BoxPhrase(Object))] => { Amount::Counters(what, Some(kind)) };
        ["the greatest power among " (what: BoxPhrase(Objects))] => { Amount::GreatestPower(what) };
        ["the greatest toughness among " (what: BoxPhrase(Objects))] => { Amount::GreatestToughness(what) };
        ["the greatest mana value among " (what: BoxPhrase(Objects))] => { Amount::GreatestManaValue(what) };
        ["the total power of " (what: BoxPhrase(Objects))] => { Amount::Power(what) };
        [(who: BoxPhrase(PlayerPossessive)) "life total"] => { Amount::Life(who) };
        ["the amount of life you gained this turn"] => { Amount::ThisTurn(TurnStatistic::LifeGained, Box::new(Selector::You)) }
            <= { Amount::ThisTurn(TurnStatistic::LifeGained, who) if **who == Selector::You };
        ["the amount of life you've gained this turn"] => { Amount::ThisTurn(TurnStatistic::LifeGained, Box::new(Selector::You)) }
            <= { Amount::ThisTurn(TurnStatistic::LifeGained, who) if **who == Selector::You };
        ["the number of creatures that died this turn"] => { Amount::ThisTurn(TurnStatistic::CreaturesDied, Box::new(Selector::EachPlayer)) }
            <= { Amount::ThisTurn(TurnStatistic::CreaturesDied, who) if **who == Selector::EachPlayer };
        [(amount: ThatMuch)] => { amount };
        ["twice " (amount: DoubleAmount)] => { amount };
        [(amount: AmountSum)] => { amount };
        ["half " (of: BoxPhrase(AmountPhrase)) ", rounded up"] => { Amount::Half { of, round_up: true } };
        ["half " (of: BoxPhrase(AmountPhrase)) ", rounded down"] => { Amount::Half { of, round_up: false } };
    }
}

/// Objects that are counted: a noun in the plural.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedObjects;

impl Phrase for CountedObjects {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        PLURAL.parse(input).map(Noun::everything)
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        print_counted(value, true, out)
    }
}

fn print_counted(value: &Selector, is_plural: bool, out: &mut Printer<'_>) -> bool {
    let Selector::All { zone, filter } = value else { return false };
    let phrase = if is_plural { PLURAL } else { SINGULAR };
    out.attempt(|out| {
        let is_printed = phrase.print(&Noun::in_zone(filter, *zone), out);
        is_printed && !out.has_next(" on the battlefield")
    }) || phrase.print(&Noun { filter: filter.clone(), zone: Some(*zone) }, out)
}

/// "That much", "that many": the amount that the text mentioned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThatMuch;

impl Phrase for ThatMuch {
    type Value = Amount;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Amount> {
        if !has_word(input, "the damage dealt this way") && !has_word(input, "the life lost this way") {
            word(input, "that much")?;
        }
        let amount = input.state.amount.clone().ok_or(EmptyError)?;
        if let Amount::Binding(slot) = amount {
            input.state.used_binds.push(slot);
        }
        Ok(amount)
    }

    fn print(&self, value: &Amount, out: &mut Printer<'_>) -> bool {
        out.context.amount.as_ref() == Some(value)
            && out.one_of(&["that much", "the damage dealt this way", "the life lost this way"])
    }
}

/// What follows "twice".
#[derive(Debug, Clone, Copy)]
struct DoubleAmount;

impl Phrase for DoubleAmount {
    type Value = Amount;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Amount> {
        Ok(Amount::Times(Box::new(AmountPhrase.parse(input)?), 2))
    }

    fn print(&self, value: &Amount, out: &mut Printer<'_>) -> bool {
        matches!(value, Amount::Times(inner, 2) if AmountPhrase.print(inner, out))
    }
}

/// "3 plus the number of artifacts you control", "1 plus X".
#[derive(Debug, Clone, Copy)]
struct AmountSum;

impl Phrase for AmountSum {
    type Value = Amount;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Amount> {
        let first = Number.parse(input)?;
        word(input, " plus ")?;
        let second = AmountPhrase.parse(input)?;
        Ok(Amount::Sum(vec![first, second]))
    }

    fn print(&self, value: &Amount, out: &mut Printer<'_>) -> bool {
        let Amount::Sum(terms) = value else { return false };
        let [first, second] = terms.as_slice() else { return false };
        Number.print(first, out) && out.word(" plus ") && AmountPhrase.print(second, out)
    }
}

rules! {
    /// What follows "for each".
    EachPhrase: Amount {
        [(what: BoxPhrase(EachObject))] => { Amount::Count(what) };
        [(kind: CounterName) " counter on " (what: BoxPhrase(Object))] => { Amount::Counters(what, Some(kind)) };
        [(amount: PointLost)] => { amount };
        ["time it was kicked"] => { Amount::KickerCount };
        ["time ~ was kicked"] => { Amount::KickerCount };
    }
}

/// Objects that are counted one by one: a noun in the singular.
#[derive(Debug, Clone, Copy)]
struct EachObject;

impl Phrase for EachObject {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        SINGULAR.parse(input).map(Noun::everything)
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        print_counted(value, false, out)
    }
}

/// "1 life lost this way": the amount of the instruction before.
#[derive(Debug, Clone, Copy)]
struct PointLost;

impl Phrase for PointLost {
    type Value = Amount;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Amount> {
        word(input, "1 life lost this way")?;
        let amount = input.state.amount.clone().ok_or(EmptyError)?;
        if let Amount::Binding(slot) = amount {
            input.state.used_binds.push(slot);
        }
        Ok(amount)
    }

    fn print(&self, value: &Amount, out: &mut Printer<'_>) -> bool {
        out.context.amount.as_ref() == Some(value) && out.word("1 life lost this way")
    }
}

/// A fixed number of something, or so many for each of something else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForEach<P>(pub(crate) P);

impl<P: Phrase<Value = Amount>> Phrase for ForEach<P> {
    type Value = Amount;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Amount> {
        let base = self.0.parse(input)?;
        let Amount::Fixed(number) = base else { return Ok(base) };
        let each = attempt(input, |input| {
            word(input, " for each ")?;
            EachPhrase.parse(input)
        });
        Ok(each.map_or(Amount::Fixed(number), |each| multiply(each, number)))
    }

    fn print(&self, value: &Amount, out: &mut Printer<'_>) -> bool {
        if out.attempt(|out| self.0.print(value, out) && !out.has_next(" for each ")) {
            return true;
        }
        let (each, number) = divide(value);
        self.0.print(&Amount::Fixed(number), out) && out.word(" for each ") && EachPhrase.print(each, out)
    }
}

/// So many for each.
pub(crate) fn multiply(each: Amount, number: i32) -> Amount {
    if number == 1 { each } else { Amount::Times(Box::new(each), number) }
}

/// The amount and its factor.
pub(crate) fn divide(amount: &Amount) -> (&Amount, i32) {
    match amount {
        Amount::Times(each, number) => (each, *number),
        other => (other, 1),
    }
}
