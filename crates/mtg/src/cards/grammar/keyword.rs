//! Lines of keywords: "flying, vigilance", "cycling {2}", "enchant creature you control".

use super::change::{KeywordGift, Landwalk};
use super::core::{Input, ParseResult, Phrase, Printer, attempt, has_word, rules, word};
use super::cost::CostPhrase;
use super::noun::{Noun, PLURAL, Quality, SINGULAR};
use super::words::{KeywordName, Number, SmallNumber};
use crate::ability::{Ability, Filter, KeywordAbility, Zone};
use crate::card::{CardType, Subtype, Supertype};
use winnow::error::EmptyError;

/// A line of one or more keywords.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeywordLine;

impl Phrase for KeywordLine {
    type Value = Vec<Ability>;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Vec<Ability>> {
        let mut abilities = parse_item(input)?;
        while has_word(input, ", ") || has_word(input, "; ") {
            abilities.extend(parse_item(input)?);
        }
        has_word(input, ".");
        if input.input.is_empty() || input.input.starts_with('"') { Ok(abilities) } else { Err(EmptyError) }
    }

    fn print(&self, value: &Vec<Ability>, out: &mut Printer<'_>) -> bool {
        let mut is_first = true;
        for ability in value {
            // "Protection from red and from white" is two abilities.
            let is_printed = (!is_first && out.attempt(|out| print_second_protection(ability, out)))
                || ((is_first || out.one_of(&[", ", "; "])) && print_item(ability, out));
            if !is_printed {
                return false;
            }
            is_first = false;
        }
        !value.is_empty() && (!out.has_next(".") || out.word("."))
    }
}

fn parse_item(input: &mut Input<'_>) -> ParseResult<Vec<Ability>> {
    if let Ok(keyword) = attempt(input, parse_plain) {
        return Ok(vec![Ability::Keyword(keyword)]);
    }
    let first = attempt(input, |input| LongKeyword.parse(input)).or_else(|_| KeywordGift.parse(input))?;
    let mut abilities = vec![Ability::KeywordAbility(Box::new(first))];
    while has_word(input, " and from ") {
        let filter = Quality.parse(input)?;
        abilities.push(Ability::KeywordAbility(Box::new(KeywordAbility::Protection(filter))));
    }
    Ok(abilities)
}

/// A keyword without a parameter; "hexproof from black" has one.
pub(crate) fn parse_plain(input: &mut Input<'_>) -> ParseResult<crate::ability::Keyword> {
    let keyword = KeywordName.parse(input)?;
    if input.input.starts_with(" from ") { Err(EmptyError) } else { Ok(keyword) }
}

fn print_item(ability: &Ability, out: &mut Printer<'_>) -> bool {
    match ability {
        Ability::Keyword(keyword) => KeywordName.print(keyword, out),
        Ability::KeywordAbility(keyword) => {
            out.attempt(|out| LongKeyword.print(keyword, out)) || KeywordGift.print(keyword, out)
        }
        _ => false,
    }
}

fn print_second_protection(ability: &Ability, out: &mut Printer<'_>) -> bool {
    let Ability::KeywordAbility(keyword) = ability else { return false };
    let KeywordAbility::Protection(filter) = keyword.as_ref() else { return false };
    out.word(" and from ") && Quality.print(filter, out)
}

/// The cost of a keyword: in symbols after a space, or in words after a dash.
#[derive(Debug, Clone, Copy)]
struct KeywordCost;

impl Phrase for KeywordCost {
    type Value = crate::ability::Cost;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Self::Value> {
        if !has_word(input, "—") {
            word(input, " ")?;
        }
        CostPhrase.parse(input)
    }

    fn print(&self, value: &Self::Value, out: &mut Printer<'_>) -> bool {
        out.one_of(if value.parts.is_empty() { &[" ", "—"] } else { &["—", " "] })
            && CostPhrase.print(value, out)
    }
}

/// What an Aura can enchant, as one of the nouns in the singular.
#[derive(Debug, Clone, Copy)]
struct EnchantTarget;

impl Phrase for EnchantTarget {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        let noun = SINGULAR.parse(input)?;
        if noun.zone.is_some() { Err(EmptyError) } else { Ok(noun.filter) }
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        SINGULAR.print(&Noun { filter: value.clone(), zone: None }, out)
    }
}

/// What affinity counts.
#[derive(Debug, Clone, Copy)]
struct AffinityNoun;

impl Phrase for AffinityNoun {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        PLURAL.parse(input).map(|noun| noun.filter)
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        PLURAL.print(&Noun::in_zone(value, Zone::Battlefield), out)
    }
}

/// The kinds of typecycling.
fn cyclings() -> [(&'static str, Filter); 7] {
    let land = |name: &str| Subtype::find(name).map_or(Filter::Any, Filter::Subtype);
    [
        (
            "basic landcycling",
            Filter::All(vec![Filter::Supertype(Supertype::Basic), Filter::Type(CardType::Land)]),
        ),
        ("landcycling", Filter::Type(CardType::Land)),
        ("plainscycling", land("Plains")),
        ("islandcycling", land("Island")),
        ("swampcycling", land("Swamp")),
        ("mountaincycling", land("Mountain")),
        ("forestcycling", land("Forest")),
    ]
}

/// The name of a typecycling ability.
#[derive(Debug, Clone, Copy)]
struct Typecycling;

impl Phrase for Typecycling {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        let rows = cyclings();
        let (text, filter) = super::words::find_word(input, &rows, |row| row.0).ok_or(EmptyError)?;
        super::words::skip(input, text);
        Ok(filter.clone())
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        cyclings().iter().find(|(_, filter)| filter == value).is_some_and(|(text, _)| out.word(text))
    }
}

rules! {
    /// Keywords with a parameter that stand on a line of their own.
    LongKeyword: KeywordAbility {
        ["enchant " (filter: EnchantTarget)] => { KeywordAbility::Enchant(filter) };
        ["equip" (cost: KeywordCost)] => { KeywordAbility::Equip { cost, filter: None } };
        ["crew " (number: SmallNumber)] => { KeywordAbility::Crew(number) };
        ["cycling" (cost: KeywordCost)] => { KeywordAbility::Cycling { cost, search: None } };
        [(search: Typecycling) (cost: KeywordCost)] => { KeywordAbility::Cycling { cost, search: Some(search) } };
        ["kicker" (cost: KeywordCost)] => { KeywordAbility::Kicker { cost, multi: false } };
        ["multikicker" (cost: KeywordCost)] => { KeywordAbility::Kicker { cost, multi: true } };
        ["buyback" (cost: KeywordCost)] => { KeywordAbility::Buyback(cost) };
        ["flashback" (cost: KeywordCost)] => { KeywordAbility::Flashback(cost) };
        ["madness" (cost: KeywordCost)] => { KeywordAbility::Madness(cost) };
        ["unearth" (cost: KeywordCost)] => { KeywordAbility::Unearth(cost) };
        ["evoke" (cost: KeywordCost)] => { KeywordAbility::Evoke(cost) };
        ["echo" (cost: KeywordCost)] => { KeywordAbility::Echo(cost) };
        ["dash" (cost: KeywordCost)] => { KeywordAbility::Dash(cost) };
        ["embalm" (cost: KeywordCost)] => { KeywordAbility::Embalm(cost) };
        ["eternalize" (cost: KeywordCost)] => { KeywordAbility::Eternalize(cost) };
        ["scavenge" (cost: KeywordCost)] => { KeywordAbility::Scavenge(cost) };
        ["ninjutsu" (cost: KeywordCost)] => { KeywordAbility::Ninjutsu(cost) };
        ["outlast" (cost: KeywordCost)] => { KeywordAbility::Outlast(cost) };
        ["spectacle" (cost: KeywordCost)] => { KeywordAbility::Spectacle(cost) };
        ["ward" (cost: KeywordCost)] => { KeywordAbility::Ward(cost) };
        ["affinity for " (filter: AffinityNoun)] => { KeywordAbility::Affinity(filter) };
        ["annihilator " (number: SmallNumber)] => { KeywordAbility::Annihilator(number) };
        ["afflict " (number: SmallNumber)] => { KeywordAbility::Afflict(number) };
        ["rampage " (number: SmallNumber)] => { KeywordAbility::Rampage(number) };
        ["bloodthirst " (amount: Number)] => { KeywordAbility::Bloodthirst(amount) };
        ["modular " (number: SmallNumber)] => { KeywordAbility::Modular(number) };
        ["fading " (number: SmallNumber)] => { KeywordAbility::Fading(number) };
        ["vanishing " (number: SmallNumber)] => { KeywordAbility::Vanishing(number) };
        ["devour " (number: SmallNumber)] => { KeywordAbility::Devour(number) };
        ["renown " (number: SmallNumber)] => { KeywordAbility::Renown(number) };
        ["fabricate " (number: SmallNumber)] => { KeywordAbility::Fabricate(number) };
        ["afterlife " (number: SmallNumber)] => { KeywordAbility::Afterlife(number) };
        ["graft " (number: SmallNumber)] => { KeywordAbility::Graft(number) };
        ["soulshift " (number: SmallNumber)] => { KeywordAbility::Soulshift(number) };
        [(filter: Landwalk)] => { KeywordAbility::Landwalk(filter) };
    }
}
