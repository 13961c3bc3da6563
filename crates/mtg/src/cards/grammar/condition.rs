//! Conditions: what follows "if", "unless", "as long as" and "only if".

use super::core::{BoxPhrase, Input, ParseResult, Phrase, Printer, attempt, has_word, rules, word};
use super::noun::{Article, ArticleNoun, Noun, PLURAL, conjunction, parts};
use super::object::Object;
use super::player::Player;
use super::suffix::{Measure, Threshold};
use super::words::{Number, NumberWord};
use crate::ability::{Amount, Comparison, Condition, Filter, Selector, TurnStatistic, TurnStep, Zone};
use winnow::error::EmptyError;

rules! {
    /// A condition without its conjunction.
    ConditionPhrase: Condition {
        [(condition: Controls)] => { condition };
        [(condition: TwoControls)] => { condition };
        ["it's your turn"] => { Condition::TurnOf(Selector::You) };
        ["it's not your turn"] => { Condition::Not(Box::new(Condition::TurnOf(Selector::You))) }
            <= { Condition::Not(inner) if **inner == Condition::TurnOf(Selector::You) };
        ["you attacked this turn"] => { this_turn(TurnStatistic::Attackers, Selector::You, 1) } <= { condition if *condition == this_turn(TurnStatistic::Attackers, Selector::You, 1) };
        ["you attacked with a creature this turn"] => { this_turn(TurnStatistic::Attackers, Selector::You, 1) } <= { condition if *condition == this_turn(TurnStatistic::Attackers, Selector::You, 1) };
        ["a creature died this turn"] => { this_turn(TurnStatistic::CreaturesDied, Selector::EachPlayer, 1) } <= { condition if *condition == this_turn(TurnStatistic::CreaturesDied, Selector::EachPlayer, 1) };
        ["you gained life this turn"] => { this_turn(TurnStatistic::LifeGained, Selector::You, 1) } <= { condition if *condition == this_turn(TurnStatistic::LifeGained, Selector::You, 1) };
        ["an opponent lost life this turn"] => { this_turn(TurnStatistic::LifeLost, Selector::EachOpponent, 1) } <= { condition if *condition == this_turn(TurnStatistic::LifeLost, Selector::EachOpponent, 1) };
        ["an opponent was dealt damage this turn"] => { this_turn(TurnStatistic::DamageTaken, Selector::EachOpponent, 1) } <= { condition if *condition == this_turn(TurnStatistic::DamageTaken, Selector::EachOpponent, 1) };
        ["you gained " (number: Number) " or more life this turn"] => { Condition::Compare(Amount::ThisTurn(TurnStatistic::LifeGained, Box::new(Selector::You)), Comparison::AtLeast, number) }
            <= { Condition::Compare(Amount::ThisTurn(TurnStatistic::LifeGained, who), Comparison::AtLeast, number) if **who == Selector::You };
        ["you've drawn " (number: NumberWord) " or more cards this turn"] => { Condition::Compare(Amount::ThisTurn(TurnStatistic::CardsDrawn, Box::new(Selector::You)), Comparison::AtLeast, number) }
            <= { Condition::Compare(Amount::ThisTurn(TurnStatistic::CardsDrawn, who), Comparison::AtLeast, number) if **who == Selector::You };
        ["you've cast another spell this turn"] => { this_turn(TurnStatistic::SpellsCast, Selector::You, 2) } <= { condition if *condition == this_turn(TurnStatistic::SpellsCast, Selector::You, 2) };
        ["you have " (number: Number) " or more life"] => { Condition::Compare(Amount::Life(Box::new(Selector::You)), Comparison::AtLeast, number) }
            <= { Condition::Compare(Amount::Life(who), Comparison::AtLeast, number) if **who == Selector::You };
        ["you have " (number: Number) " or less life"] => { Condition::Compare(Amount::Life(Box::new(Selector::You)), Comparison::AtMost, number) }
            <= { Condition::Compare(Amount::Life(who), Comparison::AtMost, number) if **who == Selector::You };
        ["an opponent has " (number: Number) " or less life"] => { Condition::Compare(Amount::Life(Box::new(Selector::EachOpponent)), Comparison::AtMost, number) }
            <= { Condition::Compare(Amount::Life(who), Comparison::AtMost, number) if **who == Selector::EachOpponent };
        ["you have no cards in hand"] => { Condition::Compare(Amount::HandSize(Box::new(Selector::You)), Comparison::Equal, Amount::Fixed(0)) }
            <= { Condition::Compare(Amount::HandSize(who), Comparison::Equal, Amount::Fixed(0)) if **who == Selector::You };
        ["an opponent has no cards in hand"] => { Condition::Compare(Amount::HandSize(Box::new(Selector::EachOpponent)), Comparison::Equal, Amount::Fixed(0)) }
            <= { Condition::Compare(Amount::HandSize(who), Comparison::Equal, Amount::Fixed(0)) if **who == Selector::EachOpponent };
        ["you have " (number: NumberWord) " or more cards in hand"] => { Condition::Compare(Amount::HandSize(Box::new(Selector::You)), Comparison::AtLeast, number) }
            <= { Condition::Compare(Amount::HandSize(who), Comparison::AtLeast, number) if **who == Selector::You };
        ["you have " (number: NumberWord) " or fewer cards in hand"] => { Condition::Compare(Amount::HandSize(Box::new(Selector::You)), Comparison::AtMost, number) }
            <= { Condition::Compare(Amount::HandSize(who), Comparison::AtMost, number) if **who == Selector::You };
        ["you lost life last turn"] => { last_turn(TurnStatistic::LifeLost) } <= { condition if *condition == last_turn(TurnStatistic::LifeLost) };
        ["you have the city's blessing"] => { Condition::CityBlessing(Selector::You) };
        ["a creature is attacking you"] => { under_attack() } <= { condition if *condition == under_attack() };
        ["~ was kicked"] => { Condition::Kicked };
        ["it was kicked"] => { Condition::Kicked };
        ["~ wasn't kicked"] => { Condition::Not(Box::new(Condition::Kicked)) } <= { Condition::Not(inner) if **inner == Condition::Kicked };
        ["X is " (number: Number) " or more"] => { Condition::Compare(Amount::X, Comparison::AtLeast, number) };
        [(what: Is) "attacking"] => { Condition::Matches(what, Filter::Attacking) };
        [(what: Is) "untapped"] => { Condition::Matches(what, Filter::Untapped) };
        [(what: Is) "tapped"] => { Condition::Matches(what, Filter::Tapped) };
        [(what: Is) "enchanted"] => { Condition::Matches(what, Filter::Enchanted) };
        [(what: Is) "equipped"] => { Condition::Matches(what, Filter::Equipped) };
        [(what: Is) "enchanted or equipped"] => { Condition::Matches(what, Filter::AnyOf(vec![Filter::Enchanted, Filter::Equipped])) }
            <= { Condition::Matches(what, Filter::AnyOf(parts)) if matches!(parts.as_slice(), [Filter::Enchanted, Filter::Equipped]) };
        [(what: Is) (filter: Article)] => { Condition::Matches(what, filter) };
        [(what: Object) " has a +1/+1 counter on it"] => { Condition::Matches(what, plus_one_counter()) } <= { Condition::Matches(what, filter) if *filter == plus_one_counter() };
        [(condition: MeasureCondition)] => { condition };
        [(condition: ThereAre)] => { condition };
        [(who: BoxPhrase(Player)) " has no cards in hand"] => { Condition::Compare(Amount::HandSize(who), Comparison::Equal, Amount::Fixed(0)) };
    }
}

fn this_turn(statistic: TurnStatistic, who: Selector, least: i32) -> Condition {
    Condition::Compare(Amount::ThisTurn(statistic, Box::new(who)), Comparison::AtLeast, Amount::Fixed(least))
}

fn last_turn(statistic: TurnStatistic) -> Condition {
    let amount = Amount::LastTurn(statistic, Box::new(Selector::You));
    Condition::Compare(amount, Comparison::AtLeast, Amount::Fixed(1))
}

fn under_attack() -> Condition {
    let attackers = Filter::creature().and(Filter::AttackingPlayer(Box::new(Selector::You)));
    Condition::Exists(Selector::permanents(attackers))
}

fn plus_one_counter() -> Filter {
    Filter::Counters(
        Some(crate::ability::CounterKind::PlusOne),
        Comparison::AtLeast,
        Box::new(Amount::Fixed(1)),
    )
}

/// "~ is ", "it's ", "that creature is ".
#[derive(Debug, Clone, Copy)]
struct Is;

impl Phrase for Is {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        if has_word(input, "it's ") {
            return input.state.it.clone().ok_or(EmptyError);
        }
        let selector = Object.parse(input)?;
        word(input, " is ")?;
        Ok(selector)
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        if out.context.it.as_ref() == Some(value) && out.attempt(|out| out.word("it's ")) {
            return true;
        }
        Object.print(value, out) && out.word(" is ")
    }
}

/// "Its power is less than ~'s power", "that creature's power is 3 or greater".
#[derive(Debug, Clone, Copy)]
struct MeasureCondition;

impl Phrase for MeasureCondition {
    type Value = Condition;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Condition> {
        let left = Measure.parse(input)?;
        word(input, " is ")?;
        let (comparison, right) = Threshold.parse(input)?;
        Ok(Condition::Compare(left, comparison, *right))
    }

    fn print(&self, value: &Condition, out: &mut Printer<'_>) -> bool {
        let Condition::Compare(left, comparison, right) = value else { return false };
        Measure.print(left, out)
            && out.word(" is ")
            && Threshold.print(&(*comparison, Box::new(right.clone())), out)
    }
}

/// Who controls what a condition asks for.
const CONTROLLERS: [(&str, Selector); 3] = [
    ("you control ", Selector::You),
    ("an opponent controls ", Selector::EachOpponent),
    ("any player controls ", Selector::EachPlayer),
];

/// "You control a Forest", "you control three or more artifacts", "you control no other creatures".
#[derive(Debug, Clone, Copy)]
struct Controls;

impl Phrase for Controls {
    type Value = Condition;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Condition> {
        for (text, who) in CONTROLLERS {
            if has_word(input, text) {
                return parse_controlled(input, &who);
            }
        }
        Err(EmptyError)
    }

    fn print(&self, value: &Condition, out: &mut Printer<'_>) -> bool {
        CONTROLLERS
            .iter()
            .any(|(text, who)| out.attempt(|out| out.word(text) && print_controlled(value, who, out)))
    }
}

fn controlled_by(noun: &Noun, who: &Selector) -> Selector {
    let mut all: Vec<Filter> = parts(&noun.filter).to_vec();
    all.push(Filter::Controller(Box::new(who.clone())));
    Selector::All { zone: Zone::Battlefield, filter: conjunction(all) }
}

/// The noun of objects that a player controls.
fn controlled_noun(selector: &Selector, who: &Selector) -> Option<Noun> {
    let Selector::All { zone: Zone::Battlefield, filter } = selector else { return None };
    match parts(filter) {
        [rest @ .., Filter::Controller(controller)] if **controller == *who && !rest.is_empty() => {
            Some(Noun { filter: conjunction(rest.to_vec()), zone: None })
        }
        _ => None,
    }
}

fn parse_controlled(input: &mut Input<'_>, who: &Selector) -> ParseResult<Condition> {
    if has_word(input, "no ") {
        let noun = PLURAL.parse(input)?;
        return Ok(Condition::Not(Box::new(Condition::Exists(controlled_by(&noun, who)))));
    }
    if let Ok(noun) = attempt(input, |input| ArticleNoun.parse(input)) {
        return Ok(Condition::Exists(controlled_by(&noun, who)));
    }
    let number = NumberWord.parse(input)?;
    let comparison = if has_word(input, " or more ") {
        Comparison::AtLeast
    } else {
        word(input, " or fewer ")?;
        Comparison::AtMost
    };
    let noun = PLURAL.parse(input)?;
    Ok(Condition::Compare(Amount::Count(Box::new(controlled_by(&noun, who))), comparison, number))
}

fn print_controlled(value: &Condition, who: &Selector, out: &mut Printer<'_>) -> bool {
    match value {
        Condition::Exists(selector) => {
            controlled_noun(selector, who).is_some_and(|noun| ArticleNoun.print(&noun, out))
        }
        Condition::Not(inner) => match inner.as_ref() {
            Condition::Exists(selector) => {
                controlled_noun(selector, who).is_some_and(|noun| out.word("no ") && PLURAL.print(&noun, out))
            }
            _ => false,
        },
        Condition::Compare(Amount::Count(selector), comparison, number) => {
            let text = match comparison {
                Comparison::AtLeast => " or more ",
                Comparison::AtMost => " or fewer ",
                _ => return false,
            };
            controlled_noun(selector, who).is_some_and(|noun| {
                NumberWord.print(number, out) && out.word(text) && PLURAL.print(&noun, out)
            })
        }
        _ => false,
    }
}

/// "You control a Mountain or a Plains".
#[derive(Debug, Clone, Copy)]
struct TwoControls;

impl Phrase for TwoControls {
    type Value = Condition;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Condition> {
        word(input, "you control ")?;
        let first = ArticleNoun.parse(input)?;
        word(input, " or ")?;
        let second = ArticleNoun.parse(input)?;
        let exists = |noun: &Noun| Condition::Exists(controlled_by(noun, &Selector::You));
        Ok(Condition::Any(vec![exists(&first), exists(&second)]))
    }

    fn print(&self, value: &Condition, out: &mut Printer<'_>) -> bool {
        let Condition::Any(choices) = value else { return false };
        let [Condition::Exists(first), Condition::Exists(second)] = choices.as_slice() else { return false };
        let (Some(first), Some(second)) =
            (controlled_noun(first, &Selector::You), controlled_noun(second, &Selector::You))
        else {
            return false;
        };
        out.word("you control ")
            && ArticleNoun.print(&first, out)
            && out.word(" or ")
            && ArticleNoun.print(&second, out)
    }
}

/// "There are seven or more cards in your graveyard", "an artifact card is in your graveyard".
#[derive(Debug, Clone, Copy)]
struct ThereAre;

impl Phrase for ThereAre {
    type Value = Condition;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Condition> {
        if has_word(input, "there are no ") {
            let noun = PLURAL.parse(input)?;
            return Ok(Condition::Not(Box::new(Condition::Exists(noun.everything()))));
        }
        if has_word(input, "there are ") {
            let number = NumberWord.parse(input)?;
            word(input, " or more ")?;
            let noun = PLURAL.parse(input)?;
            return Ok(Condition::Compare(
                Amount::Count(Box::new(noun.everything())),
                Comparison::AtLeast,
                number,
            ));
        }
        let noun = ArticleNoun.parse(input)?;
        word(input, " is in your graveyard")?;
        let mut all = parts(&noun.filter).to_vec();
        all.push(Filter::yours());
        Ok(Condition::Exists(Selector::All { zone: Zone::Graveyard, filter: conjunction(all) }))
    }

    fn print(&self, value: &Condition, out: &mut Printer<'_>) -> bool {
        match value {
            Condition::Not(inner) => match inner.as_ref() {
                Condition::Exists(Selector::All { zone, filter }) => {
                    out.word("there are no ") && PLURAL.print(&Noun::in_zone(filter, *zone), out)
                }
                _ => false,
            },
            Condition::Compare(Amount::Count(selector), Comparison::AtLeast, number) => {
                match selector.as_ref() {
                    Selector::All { zone, filter } => {
                        out.word("there are ")
                            && NumberWord.print(number, out)
                            && out.word(" or more ")
                            && PLURAL.print(&Noun::in_zone(filter, *zone), out)
                    }
                    _ => false,
                }
            }
            Condition::Exists(Selector::All { zone: Zone::Graveyard, filter }) => match parts(filter) {
                [rest @ .., last] if *last == Filter::yours() && !rest.is_empty() => {
                    let noun = Noun { filter: conjunction(rest.to_vec()), zone: None };
                    ArticleNoun.print(&noun, out) && out.word(" is in your graveyard")
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// When an ability may be activated, after "activate only ".
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActivationTime;

const TIMES: [&str; 5] = [
    "during your turn",
    "during your upkeep",
    "during combat",
    "during your turn, before attackers are declared",
    "before attackers are declared",
];

fn time(text: &str) -> Option<Condition> {
    let yours = Condition::TurnOf(Selector::You);
    let before = Condition::BeforeStep(TurnStep::DeclareAttackers);
    let index = TIMES.iter().position(|known| *known == text)?;
    Some(match index {
        0 => yours,
        1 => Condition::All(vec![yours, Condition::During(TurnStep::Upkeep)]),
        2 => Condition::DuringCombat,
        3 => Condition::All(vec![yours, before]),
        _ => before,
    })
}

impl Phrase for ActivationTime {
    type Value = Condition;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Condition> {
        if has_word(input, "if ") {
            return ConditionPhrase.parse(input);
        }
        let fitting = TIMES.iter().filter(|text| input.input.starts_with(**text));
        let text = fitting.max_by_key(|text| text.len()).ok_or(EmptyError)?;
        super::words::skip(input, text);
        time(text).ok_or(EmptyError)
    }

    fn print(&self, value: &Condition, out: &mut Printer<'_>) -> bool {
        match TIMES.iter().find(|text| time(text).as_ref() == Some(value)) {
            Some(text) => out.word(text),
            None => out.word("if ") && ConditionPhrase.print(value, out),
        }
    }
}

/// The condition of a state trigger: "you control no other creatures".
#[derive(Debug, Clone, Copy)]
pub(crate) struct ControlsNothing;

impl Phrase for ControlsNothing {
    type Value = Condition;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Condition> {
        if !input.input.starts_with("you control no ") {
            return Err(EmptyError);
        }
        Controls.parse(input)
    }

    fn print(&self, value: &Condition, out: &mut Printer<'_>) -> bool {
        Controls.print(value, out)
    }
}
