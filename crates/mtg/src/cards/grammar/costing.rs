//! Costs of casting and rules for players.

use super::condition::{ActivationTime, ConditionPhrase};
use super::core::{Input, ParseResult, Phrase, Printer, attempt, has_word, longest, rules, word};
use super::cost::CostPhrase;
use super::noun::{Noun, PLURAL};
use super::words::{ColorName, Mana};
use crate::ability::{
    Ability, Amount, Condition, Cost, CostChange, CostChangeAmount, Filter, PlayerRule, Selector, Zone,
};
use crate::card::{ManaCost, ManaSymbol};
use winnow::error::EmptyError;

/// Abilities that change what casting costs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Costing;

impl Phrase for Costing {
    type Value = Ability;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Ability> {
        longest(input, &[parse_additional, parse_alternative, parse_own, parse_others])
    }

    fn print(&self, value: &Ability, out: &mut Printer<'_>) -> bool {
        match value {
            Ability::AdditionalCost(costs) => print_additional(costs, out),
            Ability::AlternativeCost { cost, condition } => print_alternative(cost, condition.as_ref(), out),
            Ability::CostChange(change) if change.spells == Filter::This => print_own(change, out),
            Ability::CostChange(change) => print_others(change, out),
            _ => false,
        }
    }
}

const ADDITIONALLY: &str = "as an additional cost to cast ~, ";

fn parse_additional(input: &mut Input<'_>) -> ParseResult<Ability> {
    word(input, ADDITIONALLY)?;
    let mut costs = vec![parse_price(input)?];
    if has_word(input, " or ") {
        costs.push(parse_price(input)?);
    }
    Ok(Ability::AdditionalCost(costs))
}

fn parse_price(input: &mut Input<'_>) -> ParseResult<Cost> {
    if input.input.starts_with("pay {") {
        word(input, "pay ")?;
        return Mana.parse(input).map(Cost::mana);
    }
    CostPhrase.parse(input)
}

fn print_price(cost: &Cost, out: &mut Printer<'_>) -> bool {
    if cost.parts.is_empty() {
        return out.word("pay ") && Mana.print(&cost.mana, out);
    }
    CostPhrase.print(cost, out)
}

fn print_additional(costs: &[Cost], out: &mut Printer<'_>) -> bool {
    out.word(ADDITIONALLY)
        && match costs {
            [cost] => print_price(cost, out),
            [first, second] => print_price(first, out) && out.word(" or ") && print_price(second, out),
            _ => false,
        }
}

const RATHER: &str = " rather than pay ~'s mana cost";

fn parse_alternative(input: &mut Input<'_>) -> ParseResult<Ability> {
    let condition = attempt(input, |input| {
        word(input, "if ")?;
        let condition = ConditionPhrase.parse(input)?;
        word(input, ", ")?;
        Ok(condition)
    });
    word(input, "you may ")?;
    let cost = if input.input.starts_with("pay {") {
        word(input, "pay ")?;
        let mana = Mana.parse(input)?;
        let mut cost = Cost::mana(mana);
        if has_word(input, " and ") {
            cost.parts = CostPhrase.parse(input)?.parts;
        }
        cost
    } else {
        CostPhrase.parse(input)?
    };
    word(input, RATHER)?;
    Ok(Ability::AlternativeCost { cost, condition: condition.ok() })
}

fn print_alternative(cost: &Cost, condition: Option<&Condition>, out: &mut Printer<'_>) -> bool {
    let is_begun = condition
        .is_none_or(|condition| out.word("if ") && ConditionPhrase.print(condition, out) && out.word(", "))
        && out.word("you may ");
    let is_priced = if cost.mana.is_empty() {
        is_begun && CostPhrase.print(cost, out)
    } else {
        let rest = Cost { parts: cost.parts.clone(), ..Cost::default() };
        is_begun
            && out.word("pay ")
            && Mana.print(&cost.mana, out)
            && (rest.parts.is_empty() || (out.word(" and ") && CostPhrase.print(&rest, out)))
    };
    is_priced && out.word(RATHER)
}

/// The generic amount of a cost like `{2}`; `{X}` stands for an amount that is explained.
fn generic(mana: &ManaCost) -> ParseResult<Amount> {
    match mana.symbols.as_slice() {
        [ManaSymbol::Generic(number)] => Ok(Amount::Fixed(i32::from(*number))),
        [ManaSymbol::X] => Ok(Amount::X),
        _ => Err(EmptyError),
    }
}

fn parse_change(input: &mut Input<'_>) -> ParseResult<(bool, Amount)> {
    let amount = generic(&Mana.parse(input)?)?;
    if has_word(input, " less to cast") {
        return Ok((true, amount));
    }
    word(input, " more to cast")?;
    Ok((false, amount))
}

fn change_amount(is_less: bool, amount: Amount) -> CostChangeAmount {
    if is_less { CostChangeAmount::Less(amount) } else { CostChangeAmount::More(amount) }
}

fn split_change(change: &CostChangeAmount) -> Option<(&'static str, &Amount)> {
    match change {
        CostChangeAmount::Less(amount) => Some((" less to cast", amount)),
        CostChangeAmount::More(amount) => Some((" more to cast", amount)),
        _ => None,
    }
}

fn parse_own(input: &mut Input<'_>) -> ParseResult<Ability> {
    word(input, "~ costs ")?;
    input.state.mention(&Selector::This);
    let (is_less, amount) = parse_change(input)?;
    let mut condition = None;
    let amount = if has_word(input, " for each ") {
        let Amount::Fixed(number) = amount else { return Err(EmptyError) };
        super::amount::multiply(super::amount::EachPhrase.parse(input)?, number)
    } else if has_word(input, ", where X is ") {
        if amount != Amount::X {
            return Err(EmptyError);
        }
        super::amount::AmountPhrase.parse(input)?
    } else {
        if has_word(input, " if ") {
            condition = Some(ConditionPhrase.parse(input)?);
        }
        amount
    };
    Ok(Ability::CostChange(Box::new(CostChange {
        spells: Filter::This,
        who: Filter::Player,
        change: change_amount(is_less, amount),
        condition,
        abilities: false,
    })))
}

fn print_own(change: &CostChange, out: &mut Printer<'_>) -> bool {
    let Some((text, amount)) = split_change(&change.change) else { return false };
    out.context.mention(&Selector::This);
    let symbol = |number: i32| format!("{{{number}}}");
    let begin =
        |out: &mut Printer<'_>, symbol: &str| out.word("~ costs ") && out.word(symbol) && out.word(text);
    match amount {
        Amount::Fixed(number) => {
            begin(out, &symbol(*number))
                && change
                    .condition
                    .as_ref()
                    .is_none_or(|condition| out.word(" if ") && ConditionPhrase.print(condition, out))
        }
        amount => {
            out.attempt(|out| {
                begin(out, "{X}")
                    && out.word(", where X is ")
                    && super::amount::AmountPhrase.print(amount, out)
            }) || {
                let (each, number) = super::amount::divide(amount);
                begin(out, &symbol(number))
                    && out.word(" for each ")
                    && super::amount::EachPhrase.print(each, out)
            }
        }
    }
}

/// Who casts the spells of a cost change.
fn casters() -> [(&'static str, Filter); 3] {
    [
        (" you cast", Filter::Is(Box::new(Selector::You))),
        (" your opponents cast", Filter::Opponent),
        ("", Filter::Player),
    ]
}

fn parse_others(input: &mut Input<'_>) -> ParseResult<Ability> {
    let noun = PLURAL.parse(input)?;
    let rows = casters();
    let (text, who) = rows.iter().find(|(text, _)| input.input.starts_with(text)).ok_or(EmptyError)?;
    super::words::skip(input, text);
    let suffix = attempt(input, |input| {
        word(input, " ")?;
        super::suffix::Suffix.parse(input)
    });
    word(input, " cost ")?;
    let (is_less, amount) = parse_change(input)?;
    if !matches!(amount, Amount::Fixed(_)) {
        return Err(EmptyError);
    }
    let mut parts = super::noun::parts(&noun.filter).to_vec();
    parts.extend(suffix);
    Ok(Ability::CostChange(Box::new(CostChange {
        spells: super::noun::conjunction(parts),
        who: who.clone(),
        change: change_amount(is_less, amount),
        condition: None,
        abilities: false,
    })))
}

fn print_others(change: &CostChange, out: &mut Printer<'_>) -> bool {
    let Some((text, Amount::Fixed(number))) = split_change(&change.change) else { return false };
    let rows = casters();
    let Some((caster, _)) = rows.iter().find(|(_, who)| *who == change.who) else { return false };
    let end =
        |out: &mut Printer<'_>| out.word(" cost ") && out.word(&format!("{{{number}}}")) && out.word(text);
    let noun = |filter: Filter| Noun { filter, zone: None };
    if out.attempt(|out| PLURAL.print(&noun(change.spells.clone()), out) && out.word(caster) && end(out)) {
        return true;
    }
    match super::noun::parts(&change.spells) {
        [rest @ .., last] if !rest.is_empty() => {
            let rest = super::noun::conjunction(rest.to_vec());
            PLURAL.print(&noun(rest), out)
                && out.word(caster)
                && out.word(" ")
                && super::suffix::Suffix.print(last, out)
                && end(out)
        }
        _ => false,
    }
}

fn rule(who: Selector, rule: PlayerRule) -> Ability {
    Ability::PlayerRule { who, rule, condition: None }
}

/// Creatures of the players cannot use activated abilities.
fn idle_creatures(who: Selector) -> Ability {
    rule(who, PlayerRule::CantActivate(Filter::creature()))
}

rules! {
    /// Rules for players and for casting the card.
    Rule: Ability {
        ["~ can't be countered"] => { Ability::CantBeCountered };
        ["if ~ is in your opening hand, you may begin the game with it on the battlefield"] => { Ability::BeginsInPlay };
        ["you may play two additional lands on each of your turns"] => { rule(Selector::You, PlayerRule::AdditionalLands(2)) } <= { ability if *ability == rule(Selector::You, PlayerRule::AdditionalLands(2)) };
        ["spend only " (color: ColorName) " mana on X"] => { Ability::XColor(color) };
        ["cast ~ only " (condition: ActivationTime)] => { Ability::CastRestriction(condition) };
        ["you have no maximum hand size"] => { rule(Selector::You, PlayerRule::NoMaximumHandSize) } <= { ability if *ability == rule(Selector::You, PlayerRule::NoMaximumHandSize) };
        ["you may play an additional land on each of your turns"] => { rule(Selector::You, PlayerRule::AdditionalLands(1)) } <= { ability if *ability == rule(Selector::You, PlayerRule::AdditionalLands(1)) };
        ["you have hexproof"] => { rule(Selector::You, PlayerRule::Hexproof) } <= { ability if *ability == rule(Selector::You, PlayerRule::Hexproof) };
        ["you have shroud"] => { rule(Selector::You, PlayerRule::Shroud) } <= { ability if *ability == rule(Selector::You, PlayerRule::Shroud) };
        ["damage can't be prevented"] => { rule(Selector::EachPlayer, PlayerRule::DamageCantBePrevented) } <= { ability if *ability == rule(Selector::EachPlayer, PlayerRule::DamageCantBePrevented) };
        ["activated abilities of creatures can't be activated"] => { idle_creatures(Selector::EachPlayer) } <= { ability if *ability == idle_creatures(Selector::EachPlayer) };
        ["activated abilities of creatures your opponents control can't be activated"] => { idle_creatures(Selector::EachOpponent) } <= { ability if *ability == idle_creatures(Selector::EachOpponent) };
        ["players can't gain life"] => { rule(Selector::EachPlayer, PlayerRule::CantGainLife) } <= { ability if *ability == rule(Selector::EachPlayer, PlayerRule::CantGainLife) };
        ["your opponents can't gain life"] => { rule(Selector::EachOpponent, PlayerRule::CantGainLife) } <= { ability if *ability == rule(Selector::EachOpponent, PlayerRule::CantGainLife) };
        ["play with the top card of your library revealed"] => { rule(Selector::You, PlayerRule::SeeTopCard { revealed: true }) } <= { ability if *ability == rule(Selector::You, PlayerRule::SeeTopCard { revealed: true }) };
        ["you may look at the top card of your library any time"] => { rule(Selector::You, PlayerRule::SeeTopCard { revealed: false }) } <= { ability if *ability == rule(Selector::You, PlayerRule::SeeTopCard { revealed: false }) };
        ["you may cast " (filter: Spells) " as though they had flash"] => { Ability::PlayerRule { who: Selector::You, rule: PlayerRule::Flash(filter), condition: None } };
    }
}

/// Spells in the plural.
#[derive(Debug, Clone, Copy)]
struct Spells;

impl Phrase for Spells {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        let noun = PLURAL.parse(input)?;
        if noun.place() == Zone::Stack { Ok(noun.filter) } else { Err(EmptyError) }
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        PLURAL.print(&Noun { filter: value.clone(), zone: None }, out)
    }
}
