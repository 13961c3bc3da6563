//! Facts of a card: name, cost, types, numbers and rules text, as a facts file or the pool holds them.

use serde::{Deserialize, Serialize};

/// One card as printed, without a representation of its abilities.
///
/// A facts file has one JSON object per line; unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardFacts {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mana_cost: String,
    pub type_line: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub oracle_text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toughness: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loyalty: Option<String>,
    /// Colours of a card whose cost does not show them (a colour indicator); letters of WUBRG.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub colors: Vec<char>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printings: Vec<String>,
    #[serde(default = "normal_layout", skip_serializing_if = "is_normal_layout")]
    pub layout: String,
}

const NORMAL_LAYOUT: &str = "normal";

fn normal_layout() -> String {
    NORMAL_LAYOUT.to_owned()
}

fn is_normal_layout(layout: &String) -> bool {
    layout == NORMAL_LAYOUT
}

impl CardFacts {
    /// Whether the card has one face, the only layout that the engine plays.
    #[must_use]
    pub fn has_one_face(&self) -> bool {
        is_normal_layout(&self.layout)
    }

    /// The codes of the sets that print the card; a printing is `SET:RARITY`.
    pub fn set_codes(&self) -> impl Iterator<Item = &str> {
        self.printings.iter().map(|printing| printing.split(':').next().unwrap_or(printing))
    }

    /// The same facts without reminder text and rarities, as a pool holds them.
    #[must_use]
    pub fn without_reminders(&self) -> Self {
        let oracle_text = super::normalise::remove_reminders(&self.oracle_text);
        let lines = oracle_text.lines().map(str::trim).filter(|line| !line.is_empty());
        let printings = self.set_codes().map(str::to_owned).collect();
        Self { oracle_text: lines.collect::<Vec<_>>().join("\n"), printings, ..self.clone() }
    }

    /// The words before the dash of the type line: supertypes and card types.
    pub fn type_words(&self) -> impl Iterator<Item = &str> {
        self.type_line.split('—').next().unwrap_or_default().split_whitespace()
    }

    /// The words after the dash of the type line.
    pub fn subtype_words(&self) -> impl Iterator<Item = &str> {
        self.type_line.split('—').nth(1).unwrap_or_default().split_whitespace()
    }
}

/// The key under which names are compared: case, accents, quotation marks and spaces do not count.
#[must_use]
pub fn fold_name(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            'Æ' | 'æ' => folded.push_str("ae"),
            '\'' | '’' | '‘' | '`' | '"' | '“' | '”' | ',' | '.' | '!' | '?' | ':' => {}
            // Nearly all letters of all names are these: a pool folds every name as it is read.
            'a'..='z' | 'A'..='Z' | '0'..='9' => folded.push(character.to_ascii_lowercase()),
            _ => match FOLDED_LETTERS.iter().find(|(letters, _)| letters.contains(character)) {
                Some((_, plain)) => folded.push(*plain),
                None if character.is_whitespace() || character == '-' || character == '/' => {
                    if !folded.ends_with(' ') {
                        folded.push(' ');
                    }
                }
                None => folded.extend(character.to_lowercase()),
            },
        }
    }
    folded.truncate(folded.trim_end().len());
    match folded.len() - folded.trim_start().len() {
        0 => folded,
        spaces => folded.split_off(spaces),
    }
}

const FOLDED_LETTERS: [(&str, char); 8] = [
    ("áàâäãåāÁÀÂÄÃÅĀ", 'a'),
    ("éèêëēÉÈÊËĒ", 'e'),
    ("íìîïīÍÌÎÏĪ", 'i'),
    ("óòôöõøōÓÒÔÖÕØŌ", 'o'),
    ("úùûüūÚÙÛÜŪ", 'u'),
    ("ñÑ", 'n'),
    ("çÇ", 'c'),
    ("ýÿÝ", 'y'),
];
