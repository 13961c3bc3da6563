//! Words after a noun: "you control", "with flying", "with power 2 or less".

use super::core::{BoxPhrase, Input, ParseResult, Phrase, Printer, has_word, rules, word};
use super::noun::Article;
use super::object::{Object, Possessive};
use super::player::Player;
use super::words::{CounterName, KeywordName, Number};
use crate::ability::{Amount, Comparison, Filter, Selector};
use winnow::error::EmptyError;

rules! {
    /// Words after the noun, without the space.
    Suffix: Filter {
        ["you control"] => { Filter::yours() } <= { Filter::Controller(who) if **who == Selector::You };
        ["an opponent controls"] => { Filter::opponents() } <= { Filter::Controller(who) if **who == Selector::EachOpponent };
        ["your opponents control"] => { Filter::opponents() } <= { Filter::Controller(who) if **who == Selector::EachOpponent };
        ["you don't control"] => { Filter::yours().negate() } <= { Filter::Not(inner) if **inner == Filter::yours() };
        ["you own"] => { Filter::Owner(Box::new(Selector::You)) } <= { Filter::Owner(who) if **who == Selector::You };
        [(who: BoxPhrase(Player)) " controls"] => { Filter::Controller(who) };
        ["they control"] => { Filter::Controller(Box::new(Selector::Iterated)) } <= { Filter::Controller(who) if **who == Selector::Iterated };
        ["with " (keyword: KeywordName)] => { Filter::Keyword(keyword) };
        ["without " (keyword: BoxPhrase(KeywordFilter))] => { Filter::Not(keyword) };
        [(filter: MeasureFilter)] => { filter };
        ["with a " (kind: CounterName) " counter on it"] => { Filter::Counters(Some(kind), Comparison::AtLeast, Box::new(Amount::Fixed(1))) } <= { Filter::Counters(Some(kind), Comparison::AtLeast, _) };
        ["with a " (kind: CounterName) " counter on them"] => { Filter::Counters(Some(kind), Comparison::AtLeast, Box::new(Amount::Fixed(1))) } <= { Filter::Counters(Some(kind), Comparison::AtLeast, _) };
        ["with " (kind: CounterName) " counters on them"] => { Filter::Counters(Some(kind), Comparison::AtLeast, Box::new(Amount::Fixed(1))) } <= { Filter::Counters(Some(kind), Comparison::AtLeast, _) };
        ["of the chosen color"] => { Filter::ChosenColor };
        ["of the chosen type"] => { Filter::ChosenType };
        ["attacking you"] => { Filter::AttackingPlayer(Box::new(Selector::You)) } <= { Filter::AttackingPlayer(who) if **who == Selector::You };
        ["blocking " (what: BoxPhrase(Object))] => { Filter::BlockingAny(what) };
        ["that was dealt damage this turn"] => { Filter::DealtDamageThisTurn };
        ["that dealt damage to you this turn"] => { Filter::DealtDamageThisTurnTo(Box::new(Selector::You)) } <= { Filter::DealtDamageThisTurnTo(who) if **who == Selector::You };
        ["that attacked this turn"] => { Filter::AttackedThisTurn };
        ["that's attacking"] => { Filter::Attacking };
        ["that's tapped"] => { Filter::Tapped };
        ["that targets " (what: BoxPhrase(Article))] => { Filter::HasTarget(what) };
        ["that targets ~"] => { Filter::HasTarget(Box::new(Filter::This)) } <= { Filter::HasTarget(what) if **what == Filter::This };
        ["attached to " (what: BoxPhrase(Object))] => { Filter::AttachedTo(what) };
    }
}

/// A keyword as a filter.
#[derive(Debug, Clone, Copy)]
struct KeywordFilter;

impl Phrase for KeywordFilter {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        KeywordName.parse(input).map(Filter::Keyword)
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        matches!(value, Filter::Keyword(keyword) if KeywordName.print(keyword, out))
    }
}

/// "With power 2 or less" and the like.
#[derive(Debug, Clone, Copy)]
struct MeasureFilter;

impl Phrase for MeasureFilter {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        word(input, "with ")?;
        for (text, build) in MEASURES {
            if has_word(input, text) {
                let (comparison, amount) = Threshold.parse(input)?;
                return Ok(build(comparison, amount));
            }
        }
        Err(EmptyError)
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        let (text, comparison, amount) = match value {
            Filter::Power(comparison, amount) => ("power ", comparison, amount),
            Filter::Toughness(comparison, amount) => ("toughness ", comparison, amount),
            Filter::ManaValue(comparison, amount) => ("mana value ", comparison, amount),
            _ => return false,
        };
        out.word("with ") && out.word(text) && Threshold.print(&(*comparison, amount.clone()), out)
    }
}

type BuildMeasure = fn(Comparison, Box<Amount>) -> Filter;
const MEASURES: [(&str, BuildMeasure); 3] =
    [("power ", Filter::Power), ("toughness ", Filter::Toughness), ("mana value ", Filter::ManaValue)];

/// A bound of a number: `2 or less`, `X`, `less than ~'s power`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threshold;

impl Phrase for Threshold {
    type Value = (Comparison, Box<Amount>);

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Self::Value> {
        for (text, comparison) in RELATIONS {
            if has_word(input, text) {
                return Ok((comparison, Box::new(Measure.parse(input)?)));
            }
        }
        let amount = Number.parse(input)?;
        let comparison = if has_word(input, " or less") {
            Comparison::AtMost
        } else if has_word(input, " or greater") {
            Comparison::AtLeast
        } else {
            Comparison::Equal
        };
        Ok((comparison, Box::new(amount)))
    }

    fn print(&self, (comparison, amount): &Self::Value, out: &mut Printer<'_>) -> bool {
        let words = RELATIONS.iter().find(|(_, known)| known == comparison);
        if let Some((text, _)) = words
            && out.attempt(|out| out.word(text) && Measure.print(amount, out))
        {
            return true;
        }
        let suffix = match comparison {
            Comparison::AtMost => " or less",
            Comparison::AtLeast => " or greater",
            Comparison::Equal => "",
            _ => return false,
        };
        Number.print(amount, out) && out.word(suffix)
    }
}

const RELATIONS: [(&str, Comparison); 4] = [
    ("less than or equal to ", Comparison::AtMost),
    ("greater than or equal to ", Comparison::AtLeast),
    ("less than ", Comparison::Less),
    ("greater than ", Comparison::More),
];

rules! {
    /// The power, toughness or mana value of an object.
    Measure: Amount {
        [(what: BoxPhrase(Possessive)) "power"] => { Amount::Power(what) };
        [(what: BoxPhrase(Possessive)) "toughness"] => { Amount::Toughness(what) };
        [(what: BoxPhrase(Possessive)) "mana value"] => { Amount::ManaValue(what) };
    }
}
