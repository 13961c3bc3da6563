//! Noun phrases: "nonblack creature you control with flying", "creature cards in your graveyard".
//!
//! The parts of a [`Filter::All`] stand in the order of the words: adjectives, head, suffixes. That
//! order is all the printer needs.

use super::core::{BoxPhrase, Input, ParseResult, Phrase, Printer, attempt, has_word, rules, word};
use super::suffix::Suffix;
use super::words::{
    COLOR_WORDS, ColorName, SUPERTYPE_WORDS, TYPE_WORDS, find_word, is_next_word, peek_word, skip,
};
use crate::ability::{Filter, Selector, Zone};
use crate::card::{Subtype, Supertype};
use crate::cards::normalise::{find_subtype, plural_name};
use winnow::error::EmptyError;

/// What a noun phrase says: which objects, and in which zone if it names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Noun {
    pub(crate) filter: Filter,
    pub(crate) zone: Option<Zone>,
}

impl Noun {
    /// The zone in which the objects are looked for.
    pub(crate) fn place(&self) -> Zone {
        self.zone.unwrap_or(if mentions_spell(&self.filter) { Zone::Stack } else { Zone::Battlefield })
    }

    /// The noun for a filter in a zone, as the printer needs it.
    pub(crate) fn in_zone(filter: &Filter, zone: Zone) -> Self {
        let is_default = match zone {
            Zone::Battlefield => true,
            Zone::Stack => mentions_spell(filter),
            _ => false,
        };
        Self { filter: filter.clone(), zone: (!is_default).then_some(zone) }
    }

    pub(crate) fn everything(self) -> Selector {
        Selector::All { zone: self.place(), filter: self.filter }
    }
}

fn mentions_spell(filter: &Filter) -> bool {
    match filter {
        Filter::Spell | Filter::AbilityOnStack => true,
        Filter::All(parts) | Filter::AnyOf(parts) => parts.iter().any(mentions_spell),
        _ => false,
    }
}

/// A noun phrase in the singular or plural, without article.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NounPhrase {
    pub(crate) is_plural: bool,
}

pub(crate) const SINGULAR: NounPhrase = NounPhrase { is_plural: false };
pub(crate) const PLURAL: NounPhrase = NounPhrase { is_plural: true };

/// The parts of a conjunction; one filter is a conjunction of itself.
pub(crate) fn parts(filter: &Filter) -> &[Filter] {
    match filter {
        Filter::All(parts) => parts,
        other => std::slice::from_ref(other),
    }
}

pub(crate) fn conjunction(mut parts: Vec<Filter>) -> Filter {
    if parts.len() == 1 { parts.remove(0) } else { Filter::All(parts) }
}

impl Phrase for NounPhrase {
    type Value = Noun;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Noun> {
        let mut parts = Vec::new();
        while let Ok(adjective) = attempt(input, parse_adjective) {
            parts.push(adjective);
        }
        parts.extend(parse_head(input, self.is_plural)?);
        let mut zone = None;
        loop {
            if let Ok(suffix) = attempt(input, |input| {
                word(input, " ")?;
                Suffix.parse(input)
            }) {
                parts.push(suffix);
                continue;
            }
            if zone.is_none()
                && let Ok((place, owner)) = attempt(input, parse_place)
            {
                zone = Some(place);
                parts.extend(owner.map(|owner| Filter::Controller(Box::new(owner))));
                continue;
            }
            break;
        }
        Ok(Noun { filter: conjunction(parts), zone })
    }

    fn print(&self, value: &Noun, out: &mut Printer<'_>) -> bool {
        let mut rest = parts(&value.filter);
        while let [first, tail @ ..] = rest {
            let is_adjective = !tail.is_empty()
                && out.attempt(|out| Adjective.print(first, out) && out.one_of(&[" ", ", "]));
            if !is_adjective {
                break;
            }
            rest = tail;
        }
        let head_length = rest.iter().take_while(|part| is_head(part)).count();
        let (head, mut suffixes) = rest.split_at_checked(head_length).unwrap_or((rest, &[]));
        if !print_head(head, self.is_plural, out) {
            return false;
        }
        let mut place_owner = None;
        if value.zone.is_some_and(|zone| zone != Zone::Battlefield)
            && let [before @ .., Filter::Controller(owner)] = suffixes
        {
            place_owner = Some(owner.as_ref());
            suffixes = before;
        }
        suffixes.iter().all(|suffix| out.word(" ") && Suffix.print(suffix, out))
            && value.zone.is_none_or(|zone| print_place(zone, place_owner, out))
    }
}

fn parse_adjective(input: &mut Input<'_>) -> ParseResult<Filter> {
    let adjective = Adjective.parse(input)?;
    if !has_word(input, ", ") {
        word(input, " ")?;
    }
    Ok(adjective)
}

rules! {
    /// A word before the noun.
    Adjective: Filter {
        ["other"] => { Filter::Other };
        ["tapped"] => { Filter::Tapped };
        ["untapped"] => { Filter::Untapped };
        ["attacking"] => { Filter::Attacking };
        ["blocking"] => { Filter::Blocking };
        ["blocked"] => { Filter::Blocked };
        ["unblocked"] => { Filter::Unblocked };
        ["colorless"] => { Filter::Colorless };
        ["multicolored"] => { Filter::Multicolored };
        ["monocolored"] => { Filter::Monocolored };
        ["historic"] => { Filter::Historic };
        ["kicked"] => { Filter::Kicked };
        ["renowned"] => { Filter::Marked(crate::ability::ObjectMark::Renowned) };
        ["nontoken"] => { Filter::Token.negate() } <= { Filter::Not(inner) if **inner == Filter::Token };
        ["attacking or blocking"] => { Filter::AnyOf(vec![Filter::Attacking, Filter::Blocking]) }
            <= { Filter::AnyOf(parts) if matches!(parts.as_slice(), [Filter::Attacking, Filter::Blocking]) };
        ["blocking or blocked"] => { Filter::AnyOf(vec![Filter::Blocking, Filter::Blocked]) }
            <= { Filter::AnyOf(parts) if matches!(parts.as_slice(), [Filter::Blocking, Filter::Blocked]) };
        [(color: ColorName)] => { Filter::Color(color) };
        [(colors: Colors)] => { Filter::AnyOf(colors) };
        [(supertype: SupertypeName)] => { Filter::Supertype(supertype) };
        ["non" (negated: BoxPhrase(NegatedWord))] => { Filter::Not(negated) };
    }
}

/// A supertype.
#[derive(Debug, Clone, Copy)]
struct SupertypeName;

impl Phrase for SupertypeName {
    type Value = Supertype;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Supertype> {
        let (text, supertype) = find_word(input, &SUPERTYPE_WORDS, |row| row.0).ok_or(EmptyError)?;
        skip(input, text);
        Ok(*supertype)
    }

    fn print(&self, value: &Supertype, out: &mut Printer<'_>) -> bool {
        SUPERTYPE_WORDS.iter().find(|(_, known)| known == value).is_some_and(|(text, _)| out.word(text))
    }
}

/// `white or blue`: one of two colours.
#[derive(Debug, Clone, Copy)]
struct Colors;

impl Phrase for Colors {
    type Value = Vec<Filter>;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Vec<Filter>> {
        let first = ColorName.parse(input)?;
        if !has_word(input, " or ") {
            word(input, " and/or ")?;
        }
        let second = ColorName.parse(input)?;
        Ok(vec![Filter::Color(first), Filter::Color(second)])
    }

    fn print(&self, value: &Vec<Filter>, out: &mut Printer<'_>) -> bool {
        let [Filter::Color(first), Filter::Color(second)] = value.as_slice() else { return false };
        ColorName.print(first, out) && out.one_of(&[" or ", " and/or "]) && ColorName.print(second, out)
    }
}

/// What follows `non`: a colour, type, supertype, or a subtype after a hyphen.
#[derive(Debug, Clone, Copy)]
struct NegatedWord;

impl Phrase for NegatedWord {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        if has_word(input, "-") {
            let text = peek_word(input);
            let subtype = Subtype::find(text).ok_or(EmptyError)?;
            skip(input, text);
            return Ok(Filter::Subtype(subtype));
        }
        if let Some((text, color)) = find_word(input, &COLOR_WORDS, |row| row.0) {
            skip(input, text);
            return Ok(Filter::Color(*color));
        }
        if let Some((text, supertype)) = find_word(input, &SUPERTYPE_WORDS, |row| row.0) {
            skip(input, text);
            return Ok(Filter::Supertype(*supertype));
        }
        let (text, _, card_type) = find_word(input, &TYPE_WORDS, |row| row.0).ok_or(EmptyError)?;
        skip(input, text);
        Ok(Filter::Type(*card_type))
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        match value {
            Filter::Subtype(subtype) => out.word("-") && out.word(subtype.name()),
            Filter::Color(color) => ColorName.print(color, out),
            Filter::Supertype(supertype) => SupertypeName.print(supertype, out),
            Filter::Type(card_type) => {
                TYPE_WORDS.iter().find(|row| row.2 == *card_type).is_some_and(|row| out.word(row.0))
            }
            _ => false,
        }
    }
}

/// Nouns that are neither types nor subtypes.
const OTHER_NOUNS: [(&str, &str, Filter); 6] = [
    ("permanent", "permanents", Filter::Permanent),
    ("card", "cards", Filter::Card),
    ("spell", "spells", Filter::Spell),
    ("token", "tokens", Filter::Token),
    ("player", "players", Filter::Player),
    ("opponent", "opponents", Filter::Opponent),
];

/// A word of a head: its filter, and whether it can be singular and plural.
fn find_noun(text: &str) -> Option<(Filter, bool, bool)> {
    for (one, many, card_type) in &TYPE_WORDS {
        if text == *one || text == *many {
            return Some((Filter::Type(*card_type), text == *one, text == *many));
        }
    }
    for (one, many, filter) in &OTHER_NOUNS {
        if text == *one || text == *many {
            return Some((filter.clone(), text == *one, text == *many));
        }
    }
    let (subtype, is_plural) = find_subtype(text)?;
    let is_both = plural_name(subtype) == subtype.name();
    Some((Filter::Subtype(subtype), !is_plural || is_both, is_plural || is_both))
}

fn noun_text(filter: &Filter, is_plural: bool) -> Option<String> {
    let pick = |one: &str, many: &str| if is_plural { many.to_owned() } else { one.to_owned() };
    match filter {
        Filter::Type(card_type) => {
            TYPE_WORDS.iter().find(|row| row.2 == *card_type).map(|(one, many, _)| pick(one, many))
        }
        Filter::Subtype(subtype) => Some(pick(subtype.name(), &plural_name(*subtype))),
        other => OTHER_NOUNS.iter().find(|row| row.2 == *other).map(|(one, many, _)| pick(one, many)),
    }
}

/// A noun to which the alternatives before it belong: "instant or sorcery card".
fn is_trailing(filter: &Filter) -> bool {
    matches!(filter, Filter::Card | Filter::Spell | Filter::Token | Filter::Permanent)
}

fn is_head(filter: &Filter) -> bool {
    match filter {
        Filter::AnyOf(alternatives) => alternatives.iter().all(|filter| parts(filter).iter().all(is_head)),
        Filter::Supertype(_) => false,
        other => noun_text(other, false).is_some(),
    }
}

/// One alternative of a head: type words, the last of which may be plural.
fn parse_alternative(input: &mut Input<'_>) -> ParseResult<(Vec<Filter>, bool, bool)> {
    let mut words: Vec<Filter> = Vec::new();
    let (mut is_singular, mut is_plural) = (true, false);
    loop {
        let mut trial = input.clone();
        if !words.is_empty() && word(&mut trial, " ").is_err() {
            break;
        }
        let text = peek_word(&trial);
        // A possessive ends the noun: "target creature's power".
        let text = text.strip_suffix("'s").filter(|stem| find_noun(stem).is_some()).unwrap_or(text);
        let Some((filter, one, many)) = find_noun(text).filter(|_| is_singular) else { break };
        skip(&mut trial, text);
        *input = trial;
        let ends = is_trailing(&filter) && !(filter == Filter::Permanent && input.input.starts_with(" card"));
        words.push(filter);
        (is_singular, is_plural) = (one, many);
        if ends {
            break;
        }
    }
    if words.is_empty() { Err(EmptyError) } else { Ok((words, is_singular, is_plural)) }
}

const CONJUNCTIONS: [&str; 7] = [", and/or ", " and/or ", ", or ", " or ", ", and ", " and ", ", "];

fn parse_head(input: &mut Input<'_>, is_plural: bool) -> ParseResult<Vec<Filter>> {
    let mut alternatives = vec![parse_alternative(input)?];
    loop {
        let mut trial = input.clone();
        let Some(mark) = CONJUNCTIONS.iter().find(|mark| trial.input.starts_with(**mark)) else { break };
        skip(&mut trial, mark);
        let Ok(next) = parse_alternative(&mut trial) else { break };
        *input = trial;
        alternatives.push(next);
        if *mark != ", " {
            break;
        }
    }
    let fits = |singular: bool, plural: bool| if is_plural { plural } else { singular };
    let Some((last, singular, plural)) = alternatives.pop() else { return Err(EmptyError) };
    if !fits(singular, plural) {
        return Err(EmptyError);
    }
    if alternatives.is_empty() {
        return Ok(last);
    }
    // "Instant or sorcery card": the last noun belongs to every alternative.
    let mut last = last;
    let trailing = if last.len() > 1 { last.pop_if(|filter| is_trailing(filter)) } else { None };
    let all_fit = alternatives.iter().all(|(_, singular, plural)| match trailing {
        Some(_) => *singular,
        None => fits(*singular, *plural),
    });
    if !all_fit {
        return Err(EmptyError);
    }
    let mut choices: Vec<Filter> = alternatives.into_iter().map(|(words, _, _)| conjunction(words)).collect();
    choices.push(conjunction(last));
    let mut head = vec![Filter::AnyOf(choices)];
    head.extend(trailing);
    Ok(head)
}

fn print_head(head: &[Filter], is_plural: bool, out: &mut Printer<'_>) -> bool {
    let count = head.len();
    count > 0
        && head.iter().enumerate().all(|(index, part)| {
            let is_last = index + 1 == count;
            let is_plural = is_plural && is_last;
            (index == 0 || out.word(" "))
                && match part {
                    Filter::AnyOf(choices) => print_choices(choices, is_plural, out),
                    other => noun_text(other, is_plural).is_some_and(|text| out.word(&text)),
                }
        })
}

fn print_choices(choices: &[Filter], is_plural: bool, out: &mut Printer<'_>) -> bool {
    let count = choices.len();
    choices.iter().enumerate().all(|(index, choice)| {
        let is_last = index + 1 == count;
        let mark: &[&str] = match (index, is_last) {
            (0, _) => &[""],
            (1, true) => &[" or ", " and ", " and/or "],
            (_, true) => &[", or ", ", and ", ", and/or "],
            _ => &[", "],
        };
        out.one_of(mark) && print_head(parts(choice), is_plural, out)
    })
}

/// Zones with their owners, as suffixes of a noun.
const PLACES: [(&str, Zone, Option<Selector>); 13] = [
    (" from your graveyard", Zone::Graveyard, Some(Selector::You)),
    (" in your graveyard", Zone::Graveyard, Some(Selector::You)),
    (" from a graveyard", Zone::Graveyard, None),
    (" in all graveyards", Zone::Graveyard, None),
    (" from all graveyards", Zone::Graveyard, None),
    (" from an opponent's graveyard", Zone::Graveyard, Some(Selector::EachOpponent)),
    (" in your opponents' graveyards", Zone::Graveyard, Some(Selector::EachOpponent)),
    (" in an opponent's graveyard", Zone::Graveyard, Some(Selector::EachOpponent)),
    (" from your hand", Zone::Hand, Some(Selector::You)),
    (" in your hand", Zone::Hand, Some(Selector::You)),
    (" you own in exile", Zone::Exile, Some(Selector::You)),
    (" on the battlefield", Zone::Battlefield, None),
    (" from your library", Zone::Library, Some(Selector::You)),
];

fn parse_place(input: &mut Input<'_>) -> ParseResult<(Zone, Option<Selector>)> {
    if let Some((text, zone, owner)) = PLACES.iter().find(|row| is_next_word(input.input, row.0)) {
        skip(input, text);
        return Ok((*zone, owner.clone()));
    }
    if !has_word(input, " from ") {
        word(input, " in ")?;
    }
    let owner = super::player::PlayerPossessive.parse(input)?;
    let zone = if has_word(input, "graveyard") {
        Zone::Graveyard
    } else {
        word(input, "hand")?;
        Zone::Hand
    };
    Ok((zone, Some(owner)))
}

fn print_place(zone: Zone, owner: Option<&Selector>, out: &mut Printer<'_>) -> bool {
    let rows = PLACES.iter().filter(|row| row.1 == zone && row.2.as_ref() == owner);
    let texts: Vec<&str> = rows.map(|row| row.0).collect();
    if out.one_of(&texts) {
        return true;
    }
    let Some(owner) = owner else { return false };
    let noun = match zone {
        Zone::Graveyard => "graveyard",
        Zone::Hand => "hand",
        _ => return false,
    };
    out.one_of(&[" from ", " in "]) && super::player::PlayerPossessive.print(owner, out) && out.word(noun)
}

/// A noun with its article: "a creature", "an artifact", "another creature".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Article;

impl Phrase for Article {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        ArticleNoun.parse(input).map(|noun| noun.filter)
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        ArticleNoun.print(&Noun::in_zone(value, Zone::Battlefield), out)
    }
}

/// The same with the zone that it names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArticleNoun;

impl Phrase for ArticleNoun {
    type Value = Noun;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Noun> {
        if has_word(input, "another ") {
            let noun = SINGULAR.parse(input)?;
            return Ok(with_other(&noun));
        }
        if !has_word(input, "an ") {
            word(input, "a ")?;
        }
        SINGULAR.parse(input)
    }

    fn print(&self, value: &Noun, out: &mut Printer<'_>) -> bool {
        if let Some(rest) = without_other(value) {
            return out.word("another ") && SINGULAR.print(&rest, out);
        }
        let mut vowel = out.clone();
        if vowel.word("an ") && SINGULAR.print(value, &mut vowel) && starts_with_vowel(&vowel, out) {
            *out = vowel;
            return true;
        }
        out.word("a ") && SINGULAR.print(value, out)
    }
}

/// Whether the noun after the article `an ` begins with a vowel.
fn starts_with_vowel(printed: &Printer<'_>, before: &Printer<'_>) -> bool {
    let noun = printed.text_after(before).get("an ".len()..).unwrap_or_default();
    noun.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U'])
}

/// The same noun, but another one.
pub(crate) fn with_other(noun: &Noun) -> Noun {
    let mut all = vec![Filter::Other];
    all.extend(parts(&noun.filter).iter().cloned());
    Noun { filter: conjunction(all), zone: noun.zone }
}

/// The noun behind "another"; `None` if it may be the object itself.
pub(crate) fn without_other(noun: &Noun) -> Option<Noun> {
    match parts(&noun.filter) {
        [Filter::Other, rest @ ..] if !rest.is_empty() => {
            Some(Noun { filter: conjunction(rest.to_vec()), zone: noun.zone })
        }
        _ => None,
    }
}

/// What protection and restrictions of blocking name: "red", "artifacts", "creatures with flying".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quality;

impl Phrase for Quality {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        if has_word(input, "everything") {
            return Ok(Filter::Any);
        }
        if let Ok(noun) = attempt(input, |input| PLURAL.parse(input)) {
            return Ok(noun.filter);
        }
        ColorName.parse(input).map(Filter::Color)
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        match value {
            Filter::Any => out.word("everything"),
            Filter::Color(color) => ColorName.print(color, out),
            other => PLURAL.print(&Noun::in_zone(other, Zone::Battlefield), out),
        }
    }
}
