//! The WordPiece tokenizer of BERT: lower case, no accents, punctuation apart, then the longest tokens of the vocabulary.
//!
//! Limits: accents are removed from Latin letters only.

use super::error::ModelError;
use marvin_base::files::{self, Links};
use std::collections::BTreeMap;
use std::path::Path;

/// Longer words are unknown.
const MAX_WORD_CHARS: usize = 100;
const MAX_VOCABULARY_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct WordPiece {
    pieces: BTreeMap<String, u32>,
    unknown: u32,
    begin: u32,
    end: u32,
}

impl WordPiece {
    /// Reads `vocab.txt`, one token per line, or else the vocabulary in `tokenizer.json`.
    pub(super) fn read(directory: &Path) -> Result<Self, ModelError> {
        let read = |name: &str| files::read_text(&directory.join(name), MAX_VOCABULARY_BYTES, Links::Follow);
        let pieces: BTreeMap<String, u32> = match read("vocab.txt") {
            Ok(text) => text.lines().zip(0..).map(|(piece, number)| (piece.to_string(), number)).collect(),
            Err(_) => {
                let text = read("tokenizer.json").map_err(|error| {
                    let directory = directory.display();
                    ModelError::Unsupported(format!(
                        "{directory} has neither vocab.txt nor tokenizer.json: {error}"
                    ))
                })?;
                let wrong = |error| ModelError::json(Path::new("tokenizer.json"), error);
                let value: serde_json::Value = serde_json::from_str(&text).map_err(wrong)?;
                let pieces = value.pointer("/model/vocab").cloned().unwrap_or_default();
                serde_json::from_value(pieces).map_err(wrong)?
            }
        };
        let find = |piece: &str| {
            let missing = || ModelError::Unsupported(format!("the vocabulary has no {piece}"));
            pieces.get(piece).copied().ok_or_else(missing)
        };
        Ok(WordPiece { unknown: find("[UNK]")?, begin: find("[CLS]")?, end: find("[SEP]")?, pieces })
    }

    /// The tokens of a text, between those for its start and its end.
    pub(super) fn pieces(&self, text: &str, most: usize) -> Vec<u32> {
        let mut found = vec![self.begin];
        for word in words(text) {
            if found.len() + 1 >= most {
                break;
            }
            self.word(&word, &mut found);
        }
        found.truncate(most.saturating_sub(1));
        found.push(self.end);
        found
    }

    fn word(&self, word: &str, found: &mut Vec<u32>) {
        let letters: Vec<char> = word.chars().collect();
        if letters.len() > MAX_WORD_CHARS {
            return found.push(self.unknown);
        }
        let before = found.len();
        let mut start = 0;
        while start < letters.len() {
            let longest = (start + 1..=letters.len()).rev().find_map(|end| {
                let mut piece: String = letters.get(start..end)?.iter().collect();
                if start > 0 {
                    piece.insert_str(0, "##");
                }
                Some((self.pieces.get(&piece).copied()?, end))
            });
            let Some((number, end)) = longest else {
                found.truncate(before);
                return found.push(self.unknown);
            };
            found.push(number);
            start = end;
        }
    }
}

/// The words of a text, separated by spaces; every punctuation mark is a word.
fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    for char in text.chars().flat_map(char::to_lowercase).filter_map(plain) {
        let alone = !char.is_alphanumeric() || is_ideograph(char);
        if char.is_whitespace() || alone {
            if !word.is_empty() {
                found.push(std::mem::take(&mut word));
            }
            if alone && !char.is_whitespace() {
                found.push(char.to_string());
            }
        } else {
            word.push(char);
        }
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

fn is_ideograph(char: char) -> bool {
    matches!(char, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

/// A letter without its accent; `None` for combining accents and control characters.
fn plain(char: char) -> Option<char> {
    Some(match char {
        '\u{300}'..='\u{36f}' | '\0' | '\u{fffd}' => return None,
        char if char.is_control() && !char.is_whitespace() => return None,
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => 'c',
        'ď' => 'd',
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => 'e',
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => 'g',
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' => 'i',
        'ñ' | 'ń' | 'ņ' | 'ň' => 'n',
        'ò'..='ö' | 'ō' | 'ŏ' | 'ő' => 'o',
        'ŕ' | 'ř' => 'r',
        'ś' | 'ŝ' | 'ş' | 'š' => 's',
        'ţ' | 'ť' => 't',
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_pieces_are_taken() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(
            directory.path().join("vocab.txt"),
            "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\n.\ncafe\n##s",
        )
        .unwrap();
        let pieces = WordPiece::read(directory.path()).unwrap();
        assert_eq!(pieces.pieces("Unaffable. Cafés xyz", 20), [2, 4, 5, 6, 7, 8, 9, 1, 3]);
        assert_eq!(pieces.pieces("unaffable unaffable", 4), [2, 4, 5, 3]);
        assert_eq!(pieces.pieces("", 4), [2, 3]);
        assert_eq!(pieces.pieces(&"x".repeat(1000), 4), [2, 1, 3]);
    }
}
