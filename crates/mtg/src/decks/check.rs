//! What a deck list amounts to: cards that the engine plays, cards that it does not, and legality.

use super::list::{DeckEntry, DeckList};
use crate::cards::{CardFacts, Decline, Pool, compile};
use serde::Serialize;
use std::collections::BTreeMap;

/// The least number of cards in a constructed deck (100.2a).
const MIN_CONSTRUCTED_CARDS: u32 = 60;
/// The least number of cards in a limited deck (100.2b).
const MIN_LIMITED_CARDS: u32 = 40;
/// The largest number of cards of one name in a constructed deck (100.2a).
const MAX_COPIES: u32 = 4;
/// The largest sideboard of a constructed deck (100.4a).
const MAX_SIDEBOARD_CARDS: u32 = 15;
/// How many cards are proposed in place of one.
const MAX_SUBSTITUTES: usize = 3;

/// A name that no card of the pool has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnknownCard {
    pub name: String,
    pub suggestions: Vec<String>,
}

/// A card that the engine does not play.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnsupportedCard {
    pub name: String,
    pub reason: Decline,
    pub substitutes: Vec<String>,
}

/// A rule of deck construction that a deck breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum Violation {
    TooFewCards { count: u32, minimum: u32 },
    TooManyCopies { name: String, count: u32 },
    SideboardTooLarge { count: u32 },
}

/// Rules of deck construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Construction {
    Constructed,
    Limited,
}

/// The violations of a deck under one set of rules; none means that it is legal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Legality {
    pub construction: Construction,
    pub violations: Vec<Violation>,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeckReport {
    pub cards: u32,
    pub sideboard: u32,
    pub unknown: Vec<UnknownCard>,
    pub unsupported: Vec<UnsupportedCard>,
    pub legality: Vec<Legality>,
}

impl DeckReport {
    /// Whether every card of the deck can be played.
    #[must_use]
    pub fn is_playable(&self) -> bool {
        self.unknown.is_empty() && self.unsupported.is_empty() && self.cards > 0
    }
}

/// Looks up every card of a deck and checks the rules of construction.
#[must_use]
pub fn check(deck: &DeckList, pool: &Pool) -> DeckReport {
    let mut report = DeckReport {
        cards: deck.main_count(),
        sideboard: deck.sideboard_count(),
        unknown: Vec::new(),
        unsupported: Vec::new(),
        legality: Vec::new(),
    };
    let mut names: Vec<&str> = Vec::new();
    for entry in deck.main.iter().chain(&deck.sideboard) {
        if names.contains(&entry.name.as_str()) {
            continue;
        }
        names.push(&entry.name);
        match pool.find(&entry.name) {
            None => {
                let suggestions = pool.suggest(&entry.name).into_iter().map(str::to_owned).collect();
                report.unknown.push(UnknownCard { name: entry.name.clone(), suggestions });
            }
            Some(facts) => {
                if let Err(reason) = compile(facts) {
                    let substitutes = find_substitutes(facts, pool);
                    report.unsupported.push(UnsupportedCard {
                        name: facts.name.clone(),
                        reason,
                        substitutes,
                    });
                }
            }
        }
    }
    report.legality = vec![check_constructed(deck, pool), check_limited(deck)];
    report
}

fn check_constructed(deck: &DeckList, pool: &Pool) -> Legality {
    let mut violations = Vec::new();
    let count = deck.main_count();
    if count < MIN_CONSTRUCTED_CARDS {
        violations.push(Violation::TooFewCards { count, minimum: MIN_CONSTRUCTED_CARDS });
    }
    let mut copies: BTreeMap<&str, u32> = BTreeMap::new();
    for DeckEntry { count, name, .. } in deck.main.iter().chain(&deck.sideboard) {
        let facts = pool.find(name);
        if !facts.is_some_and(allows_any_number) {
            let known = facts.map_or(name.as_str(), |facts| facts.name.as_str());
            let sum = copies.entry(known).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
    for (name, count) in copies {
        if count > MAX_COPIES {
            violations.push(Violation::TooManyCopies { name: name.to_owned(), count });
        }
    }
    if deck.sideboard_count() > MAX_SIDEBOARD_CARDS {
        violations.push(Violation::SideboardTooLarge { count: deck.sideboard_count() });
    }
    Legality { construction: Construction::Constructed, violations }
}

fn check_limited(deck: &DeckList) -> Legality {
    let count = deck.main_count();
    let violations = if count < MIN_LIMITED_CARDS {
        vec![Violation::TooFewCards { count, minimum: MIN_LIMITED_CARDS }]
    } else {
        Vec::new()
    };
    Legality { construction: Construction::Limited, violations }
}

/// Whether a deck may have more than four: basic lands, and cards that say so.
fn allows_any_number(facts: &CardFacts) -> bool {
    const ANY_NUMBER: &str = "a deck can have any number of cards named";
    facts.type_words().any(|word| word == "Basic") || facts.oracle_text.to_lowercase().contains(ANY_NUMBER)
}

/// Cards that the engine plays and that are most like the given one: type, colours, cost, size.
#[must_use]
pub fn find_substitutes(facts: &CardFacts, pool: &Pool) -> Vec<String> {
    let mut ranked: Vec<(u32, &CardFacts)> = pool
        .iter()
        .filter(|other| other.name != facts.name && main_type(other) == main_type(facts))
        .map(|other| (distance(facts, other), other))
        .collect();
    ranked.sort_by(|left, right| left.0.cmp(&right.0).then_with(|| left.1.name.cmp(&right.1.name)));
    let playable = ranked.into_iter().filter(|(_, other)| compile(other).is_ok());
    playable.take(MAX_SUBSTITUTES).map(|(_, other)| other.name.clone()).collect()
}

fn main_type(facts: &CardFacts) -> Option<&str> {
    facts.type_words().last()
}

/// How unlike two cards are: a colour weighs more than a mana, a mana more than a point of power.
fn distance(left: &CardFacts, right: &CardFacts) -> u32 {
    let colors =
        "WUBRG".chars().filter(|color| left.mana_cost.contains(*color) != right.mana_cost.contains(*color));
    let colors = u32::try_from(colors.count()).unwrap_or(u32::MAX);
    let size = |facts: &CardFacts| {
        let number =
            |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<i32>().ok()).unwrap_or(0);
        (number(&facts.power), number(&facts.toughness))
    };
    let (left_size, right_size) = (size(left), size(right));
    let sizes = left_size.0.abs_diff(right_size.0) + left_size.1.abs_diff(right_size.1);
    let costs = mana_value(left).abs_diff(mana_value(right));
    let words =
        |facts: &CardFacts| facts.oracle_text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (left_words, right_words) = (words(left), words(right));
    let shared = left_words.iter().filter(|word| right_words.contains(word)).count();
    let unlike = left_words.len().max(right_words.len()) - shared.min(left_words.len());
    let unlike = u32::try_from(unlike).unwrap_or(u32::MAX);
    colors
        .saturating_mul(40)
        .saturating_add(costs.saturating_mul(8))
        .saturating_add(sizes)
        .saturating_add(unlike / 4)
}

fn mana_value(facts: &CardFacts) -> u32 {
    facts.mana_cost.parse::<crate::card::ManaCost>().map_or(0, |cost| cost.mana_value())
}
