//! Changes of objects: "gets +2/+2 and gains flying", "can't block", "has base power and toughness 1/1".

use super::amount::{EachPhrase, divide, multiply};
use super::core::{Input, ParseResult, Phrase, Printer, attempt, has_word, rules, word};
use super::noun::Quality;
use super::words::{KeywordName, find_word, parse_list, print_list, print_x, skip};
use crate::ability::{Ability, Amount, Change, Filter, KeywordAbility, Restriction};
use crate::card::{ColorSet, Supertype};
use winnow::error::EmptyError;

/// A signed number: `+2`, `-X`; zero has either sign.
fn parse_signed(input: &mut Input<'_>) -> ParseResult<Amount> {
    let sign = if has_word(input, "+") {
        1
    } else {
        word(input, "-")?;
        -1
    };
    match super::words::Number.parse(input)? {
        Amount::Fixed(number) => Ok(Amount::Fixed(number * sign)),
        amount => Ok(multiply(amount, sign)),
    }
}

fn print_signed(value: &Amount, out: &mut Printer<'_>) -> bool {
    match value {
        Amount::Fixed(0) => out.one_of(&["+0", "-0"]),
        Amount::Fixed(number) if *number > 0 => out.word(&format!("+{number}")),
        Amount::Fixed(number) => out.word(&number.to_string()),
        Amount::Times(inner, -1) => out.word("-") && print_x(inner, out),
        other => out.word("+") && print_x(other, out),
    }
}

/// A change of power and toughness: `+1/+1`, `+1/+0 for each artifact you control`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size;

impl Phrase for Size {
    type Value = Change;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Change> {
        let power = parse_signed(input)?;
        word(input, "/")?;
        let toughness = parse_signed(input)?;
        let each = attempt(input, |input| {
            word(input, " for each ")?;
            EachPhrase.parse(input)
        });
        let Ok(each) = each else { return Ok(Change::Modify { power, toughness }) };
        let scale = |amount: Amount| match amount {
            Amount::Fixed(0) => Ok(Amount::Fixed(0)),
            Amount::Fixed(number) => Ok(multiply(each.clone(), number)),
            _ => Err(EmptyError),
        };
        Ok(Change::Modify { power: scale(power)?, toughness: scale(toughness)? })
    }

    fn print(&self, value: &Change, out: &mut Printer<'_>) -> bool {
        let Change::Modify { power, toughness } = value else { return false };
        let plain = |out: &mut Printer<'_>| {
            print_signed(power, out)
                && out.word("/")
                && print_signed(toughness, out)
                && !out.has_next(" for each ")
        };
        if out.attempt(plain) {
            return true;
        }
        let ((left, power), (right, toughness)) = (factor(power), factor(toughness));
        let Some(each) = left.or(right) else { return false };
        print_signed(&Amount::Fixed(power), out)
            && out.word("/")
            && print_signed(&Amount::Fixed(toughness), out)
            && out.word(" for each ")
            && EachPhrase.print(each, out)
    }
}

fn factor(amount: &Amount) -> (Option<&Amount>, i32) {
    match amount {
        Amount::Fixed(number) => (None, *number),
        other => {
            let (each, number) = divide(other);
            (Some(each), number)
        }
    }
}

/// Protection from a colour that is chosen on resolution, or was chosen before.
const CHOSEN_PROTECTION: &str = "protection from the color of your choice";
const KNOWN_PROTECTION: &str = "protection from the chosen color";

/// An ability that an object gets: a keyword, one with a parameter, or one in quotation marks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gift;

impl Phrase for Gift {
    type Value = Change;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Change> {
        if let Ok(keyword) = attempt(input, super::keyword::parse_plain) {
            return Ok(Change::AddKeyword(keyword));
        }
        if has_word(input, CHOSEN_PROTECTION) || has_word(input, KNOWN_PROTECTION) {
            return Ok(Change::ProtectionFromChosenColor);
        }
        if let Ok(ability) = attempt(input, |input| KeywordGift.parse(input)) {
            return Ok(Change::AddAbility(Box::new(Ability::KeywordAbility(Box::new(ability)))));
        }
        super::ability::Quotation.parse(input).map(|ability| Change::AddAbility(Box::new(ability)))
    }

    fn print(&self, value: &Change, out: &mut Printer<'_>) -> bool {
        match value {
            Change::AddKeyword(keyword) => KeywordName.print(keyword, out),
            Change::ProtectionFromChosenColor => out.one_of(&[CHOSEN_PROTECTION, KNOWN_PROTECTION]),
            Change::AddAbility(ability) => match ability.as_ref() {
                Ability::KeywordAbility(keyword) => KeywordGift.print(keyword, out),
                other => super::ability::Quotation.print(other, out),
            },
            _ => false,
        }
    }
}

rules! {
    /// Keywords with a parameter that can be given to an object.
    KeywordGift: KeywordAbility {
        ["protection from " (filter: Quality)] => { KeywordAbility::Protection(filter) };
        ["hexproof from " (filter: Quality)] => { KeywordAbility::HexproofFrom(filter) };
        [(filter: Landwalk)] => { KeywordAbility::Landwalk(filter) };
        ["ward " (cost: super::cost::CostPhrase)] => { KeywordAbility::Ward(cost) };
        ["toxic " (number: super::words::SmallNumber)] => { KeywordAbility::Toxic(number) };
        ["bushido " (number: super::words::SmallNumber)] => { KeywordAbility::Bushido(number) };
        ["cycling " (cost: super::cost::CostPhrase)] => { KeywordAbility::Cycling { cost, search: None } };
        ["flashback " (cost: super::cost::CostPhrase)] => { KeywordAbility::Flashback(cost) };
    }
}

const LANDWALKS: [(&str, &str); 5] = [
    ("plainswalk", "Plains"),
    ("islandwalk", "Island"),
    ("swampwalk", "Swamp"),
    ("mountainwalk", "Mountain"),
    ("forestwalk", "Forest"),
];

/// `islandwalk` and its like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Landwalk;

impl Phrase for Landwalk {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        let (text, land) = find_word(input, &LANDWALKS, |row| row.0).ok_or(EmptyError)?;
        skip(input, text);
        crate::card::Subtype::find(land).map(Filter::Subtype).ok_or(EmptyError)
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        let Filter::Subtype(subtype) = value else { return false };
        LANDWALKS.iter().find(|(_, land)| *land == subtype.name()).is_some_and(|(text, _)| out.word(text))
    }
}

/// The verb forms of a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Predicates {
    pub(crate) is_plural: bool,
    /// "Has" instead of "gains": the effect of a static ability.
    pub(crate) is_static: bool,
}

impl Predicates {
    const fn pick(self, one: &'static str, many: &'static str) -> &'static str {
        if self.is_plural { many } else { one }
    }

    fn gain(self) -> &'static str {
        match (self.is_static, self.is_plural) {
            (true, false) => "has ",
            (true, true) => "have ",
            (false, false) => "gains ",
            (false, true) => "gain ",
        }
    }

    fn parse_one(self, input: &mut Input<'_>) -> ParseResult<Vec<Change>> {
        if has_word(input, self.pick("gets ", "get ")) {
            return Size.parse(input).map(|change| vec![change]);
        }
        if let Ok(changes) = attempt(input, |input| {
            word(input, self.gain())?;
            let mut gifts = parse_list(&Gift, "and", input)?;
            while has_word(input, " and from ") {
                gifts.push(protection(Quality.parse(input)?));
            }
            Ok(gifts)
        }) {
            return Ok(changes);
        }
        if let Ok(changes) = attempt(input, |input| self.parse_base(input)) {
            return Ok(changes);
        }
        if let Ok(changes) = attempt(input, |input| Rare.parse(input)) {
            return Ok(changes);
        }
        super::become_phrase::Becoming { is_plural: self.is_plural, is_static: self.is_static }.parse(input)
    }

    /// "Has base power and toughness 1/1".
    fn parse_base(self, input: &mut Input<'_>) -> ParseResult<Vec<Change>> {
        word(input, self.pick("has ", "have "))?;
        word(input, "base power and toughness ")?;
        let power = super::words::Number.parse(input)?;
        word(input, "/")?;
        let toughness = super::words::Number.parse(input)?;
        Ok(vec![Change::SetPower(power), Change::SetToughness(toughness)])
    }

    /// Prints a predicate for some of the first changes; how many.
    fn print_one(self, changes: &[Change], out: &mut Printer<'_>) -> Option<usize> {
        if let [change @ Change::Modify { .. }, ..] = changes {
            let is_printed = out.word(self.pick("gets ", "get ")) && Size.print(change, out);
            return is_printed.then_some(1);
        }
        if let [Change::SetPower(power), Change::SetToughness(toughness), ..] = changes
            && out.attempt(|out| {
                out.word(self.pick("has ", "have "))
                    && out.word("base power and toughness ")
                    && super::words::Number.print(power, out)
                    && out.word("/")
                    && super::words::Number.print(toughness, out)
            })
        {
            return Some(2);
        }
        let gifts = changes.iter().take_while(|change| is_gift(change)).count();
        // As many as the text lists together.
        for count in (1..=gifts).rev() {
            let listed = changes.get(..count).unwrap_or_default();
            if out.attempt(|out| out.word(self.gain()) && print_gifts(listed, out)) {
                return Some(count);
            }
        }
        for count in (1..=changes.len()).rev() {
            let some = changes.get(..count).unwrap_or_default().to_vec();
            if out.attempt(|out| Rare.print(&some, out)) {
                return Some(count);
            }
            let becoming =
                super::become_phrase::Becoming { is_plural: self.is_plural, is_static: self.is_static };
            if out.attempt(|out| becoming.print(&some, out)) {
                return Some(count);
            }
        }
        None
    }
}

fn is_gift(change: &Change) -> bool {
    matches!(change, Change::AddKeyword(_) | Change::AddAbility(_) | Change::ProtectionFromChosenColor)
}

fn protection(filter: Filter) -> Change {
    let keyword = KeywordAbility::Protection(filter);
    Change::AddAbility(Box::new(Ability::KeywordAbility(Box::new(keyword))))
}

/// A list of gifts; protections at its end may be joined by "and from".
fn print_gifts(gifts: &[Change], out: &mut Printer<'_>) -> bool {
    let is_protection = |gift: &Change| matches!(gift, Change::AddAbility(ability) if matches!(ability.as_ref(), Ability::KeywordAbility(keyword) if matches!(keyword.as_ref(), KeywordAbility::Protection(_))));
    let protections = gifts.iter().rev().take_while(|gift| is_protection(gift)).count();
    (0..protections.max(1)).any(|joined| {
        let (listed, rest) = gifts.split_at_checked(gifts.len() - joined).unwrap_or((gifts, &[]));
        out.attempt(|out| {
            print_list(&Gift, "and", listed, out)
                && rest.iter().all(|gift| out.word(" and from ") && print_quality(gift, out))
        })
    })
}

fn print_quality(gift: &Change, out: &mut Printer<'_>) -> bool {
    let Change::AddAbility(ability) = gift else { return false };
    let Ability::KeywordAbility(keyword) = ability.as_ref() else { return false };
    matches!(keyword.as_ref(), KeywordAbility::Protection(filter) if Quality.print(filter, out))
}

impl Phrase for Predicates {
    type Value = Vec<Change>;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Vec<Change>> {
        input.state.third = !self.is_plural;
        let mut changes = self.parse_one(input)?;
        loop {
            let next = [", and ", " and ", ", "].iter().find_map(|mark| {
                attempt(input, |input| {
                    word(input, mark)?;
                    self.parse_one(input)
                })
                .ok()
            });
            match next {
                Some(more) => changes.extend(more),
                None => return Ok(changes),
            }
        }
    }

    fn print(&self, value: &Vec<Change>, out: &mut Printer<'_>) -> bool {
        out.context.third = !self.is_plural;
        let mut rest = value.as_slice();
        let mut is_first = true;
        while !rest.is_empty() {
            if !is_first && !out.one_of(&[" and ", ", and ", ", "]) {
                return false;
            }
            let Some(count) = self.print_one(rest, out) else { return false };
            rest = rest.get(count..).unwrap_or_default();
            is_first = false;
        }
        !is_first
    }
}

/// Restrictions and rarer changes.
#[derive(Debug, Clone, Copy)]
struct Rare;

impl Phrase for Rare {
    type Value = Vec<Change>;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Vec<Change>> {
        if has_word(input, "can't attack or block alone") {
            return Ok(vec![
                Change::Restriction(Restriction::CantAttackAlone),
                Change::Restriction(Restriction::CantBlockAlone),
            ]);
        }
        if has_word(input, "can't attack or block") {
            return Ok(vec![
                Change::Restriction(Restriction::CantAttack),
                Change::Restriction(Restriction::CantBlock),
            ]);
        }
        if let Ok(change) = attempt(input, |input| RareChange.parse(input)) {
            return Ok(vec![change]);
        }
        Restricted.parse(input).map(|restriction| vec![Change::Restriction(restriction)])
    }

    fn print(&self, value: &Vec<Change>, out: &mut Printer<'_>) -> bool {
        match value.as_slice() {
            [Change::Restriction(Restriction::CantAttack), Change::Restriction(Restriction::CantBlock)] => {
                out.word("can't attack or block")
            }
            [
                Change::Restriction(Restriction::CantAttackAlone),
                Change::Restriction(Restriction::CantBlockAlone),
            ] => out.word("can't attack or block alone"),
            [Change::Restriction(restriction)] => Restricted.print(restriction, out),
            [change] => RareChange.print(change, out),
            _ => false,
        }
    }
}

rules! {
    /// Changes of characteristics without a form of their own.
    RareChange: Change {
        [{"lose", "loses"} " all abilities"] => { Change::LoseAllAbilities };
        [{"lose ", "loses "} (keyword: KeywordName)] => { Change::RemoveKeyword(keyword) };
        [{"are", "is"} " legendary"] => { Change::AddSupertype(Supertype::Legendary) };
        [{"are", "is"} " every creature type"] => { Change::AllCreatureTypes };
        [{"are", "is"} " colorless"] => { Change::SetColors(ColorSet::EMPTY) };
    }
}

rules! {
    /// What an object cannot or must do.
    Restricted: Restriction {
        ["can't attack"] => { Restriction::CantAttack };
        [{"assign", "assigns"} " combat damage equal to " {"their", "its"} " toughness rather than " {"their", "its"} " power"] => { Restriction::DamageByToughness };
        ["can't block"] => { Restriction::CantBlock };
        ["can't be blocked"] => { Restriction::CantBeBlocked };
        ["can't attack alone"] => { Restriction::CantAttackAlone };
        ["can't block alone"] => { Restriction::CantBlockAlone };
        ["can't be blocked by more than one creature"] => { Restriction::MaxBlockers(1) };
        ["can't be blocked except by two or more creatures"] => { Restriction::MinBlockers(2) };
        ["can't be blocked except by three or more creatures"] => { Restriction::MinBlockers(3) };
        ["can't be blocked by " (filter: Quality)] => { Restriction::CantBeBlockedBy(filter) };
        ["can't be blocked except by " (filter: Quality)] => { Restriction::CantBeBlockedExceptBy(filter) };
        ["can't block " (filter: Quality)] => { Restriction::CantBlockThat(filter) };
        ["can block only " (filter: Quality)] => { Restriction::CanBlockOnly(filter) };
        ["can block an additional creature each combat"] => { Restriction::BlocksAdditional(1) };
        ["can block an additional creature this turn"] => { Restriction::BlocksAdditional(1) };
        ["can block any number of creatures"] => { Restriction::BlocksAdditional(255) };
        [{"attack", "attacks"} " each combat if able"] => { Restriction::MustAttack };
        [{"attack", "attacks"} " this turn if able"] => { Restriction::MustAttack };
        [{"attack", "attacks"} " this combat if able"] => { Restriction::MustAttack };
        [{"block", "blocks"} " this turn if able"] => { Restriction::MustBlock };
        [{"block", "blocks"} " each combat if able"] => { Restriction::MustBlock };
        ["must be blocked if able"] => { Restriction::MustBeBlocked };
        ["can attack as though it didn't have defender"] => { Restriction::AttacksDespiteDefender };
        ["can attack as though they didn't have defender"] => { Restriction::AttacksDespiteDefender };
        ["can attack this turn as though it didn't have defender"] => { Restriction::AttacksDespiteDefender };
        ["can block creatures with flying as though it had flying"] => { Restriction::BlocksAsFlying };
        ["doesn't untap during its controller's untap step"] => { Restriction::DoesntUntap };
        ["doesn't untap during your untap step"] => { Restriction::DoesntUntap };
        ["don't untap during their controllers' untap steps"] => { Restriction::DoesntUntap };
        ["can't be countered"] => { Restriction::CantBeCountered };
        ["can't be regenerated"] => { Restriction::CantBeRegenerated };
        ["can't be the target of " (filter: Quality)] => { Restriction::CantBeTargeted(filter) };
        ["can't be enchanted"] => { Restriction::CantBeEnchanted };
        ["its activated abilities can't be activated"] => { Restriction::CantActivate };
    }
}
