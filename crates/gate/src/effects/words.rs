//! Lists of words from `data`, in one text that is searched where it lies.
//!
//! A list is two positions in the text, so it costs no relocation when the program starts and nothing is
//! parsed before the first command is judged. The lists of `data/words` are constants of this module; each
//! row there carries words that match and words that do not, and a test checks them.

use crate::shell::pattern;
use std::cmp::Ordering;

/// How a text is compared with the words of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordMatch {
    /// It is one of the words.
    Word,
    /// It begins with one of them.
    Start,
    /// It ends with one of them.
    End,
    /// It contains one of them.
    Part,
    /// It matches one of them as a shell pattern.
    Pattern,
    /// It is one of the words, or begins or ends with one that `-` or `:` separates from the rest.
    Verb,
}

/// A sorted list of words, each perhaps with a value behind a tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WordList {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) by: WordMatch,
    /// A bit for the first byte (modulo 64), the last byte (modulo 64) and the length (at most 63) of every word.
    pub(super) firsts: u64,
    pub(super) lasts: u64,
    pub(super) lengths: u64,
}

impl WordList {
    pub(super) fn text(self) -> &'static str {
        TEXT.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Whether a word has a length, a beginning and an end that a word of the list has.
    fn may_hold(self, key: &[u8]) -> bool {
        let has = |bits: u64, byte: Option<&u8>| byte.is_none_or(|byte| bits >> (byte & 63) & 1 == 1);
        self.lengths >> key.len().min(63) & 1 == 1
            && has(self.firsts, key.first())
            && has(self.lasts, key.last())
    }

    /// The value of a word; empty where it has none.
    pub(super) fn find(self, key: &str) -> Option<&'static str> {
        if !self.may_hold(key.as_bytes()) {
            return None;
        }
        let mut rest = self.text();
        while !rest.is_empty() {
            let middle = rest.as_bytes().get(..rest.len() / 2)?.iter().rposition(|byte| *byte == b'\n');
            let (before, from) = rest.split_at_checked(middle.map_or(0, |at| at + 1))?;
            // Lines are short: a plain loop is faster than a search for a character.
            let end = from.bytes().position(|byte| byte == b'\n')?;
            let (line, after) = (from.get(..end)?, from.get(end + 1..)?);
            let own = line.get(..line.bytes().position(|byte| byte == b'\t').unwrap_or(end))?;
            let value = line.get(own.len() + 1..).unwrap_or_default();
            match key.cmp(own) {
                Ordering::Equal => return Some(value),
                Ordering::Less => rest = before,
                Ordering::Greater => rest = after,
            }
        }
        None
    }

    /// The words with their values.
    pub(super) fn iter(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.text().lines().map(|line| line.split_once('\t').unwrap_or((line, "")))
    }

    /// The words without values.
    pub(super) fn words(self) -> impl Iterator<Item = &'static str> {
        self.iter().map(|(word, _)| word)
    }

    /// Is the path, or a directory above it, one of the words?
    pub(super) fn has_path(self, path: &str) -> bool {
        let above = path.match_indices('/').filter(|(at, _)| at + 1 < path.len());
        self.find(path).is_some()
            || above.filter_map(|(at, _)| path.get(..at)).any(|path| self.find(path).is_some())
    }

    /// The lines that begin with this byte.
    fn block(self, byte: u8) -> &'static str {
        let text = self.text();
        let start = first_line_from(text, byte);
        let rest = text.get(start..).unwrap_or_default();
        let length = byte.checked_add(1).map_or(rest.len(), |next| first_line_from(rest, next));
        rest.get(..length).unwrap_or_default()
    }

    /// The lines that can match a text in the list's own way. Few of a list whose words stand for beginnings: those that
    /// begin with the same byte as the text, with a wildcard, or not at all.
    fn candidates(self, text: &str) -> impl Iterator<Item = &'static str> {
        let same = text.bytes().next().map_or("", |byte| self.block(byte));
        let blocks = match self.by {
            WordMatch::Word | WordMatch::Start => [same, self.block(b'\n'), "", "", "", ""],
            WordMatch::Pattern => {
                let [star, any, class, escape] = WILDCARDS.map(|byte| self.block(byte));
                [same, self.block(b'\n'), star, any, class, escape]
            }
            WordMatch::End | WordMatch::Part | WordMatch::Verb => [self.text(), "", "", "", "", ""],
        };
        blocks.into_iter().flat_map(str::lines)
    }

    /// The words that match a text in the list's own way, with their values.
    pub(super) fn matching(self, text: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
        let split = |line: &'static str| line.split_once('\t').unwrap_or((line, ""));
        self.candidates(text).map(split).filter(move |(word, _)| self.by.fits(word, text))
    }

    /// Does the text match one of the words, in the list's own way?
    pub(crate) fn matches(self, text: &str) -> bool {
        match self.by {
            WordMatch::Word => self.find(text).is_some(),
            _ => self.matching(text).next().is_some(),
        }
    }
}

impl WordMatch {
    /// Does a text match this word?
    fn fits(self, word: &str, text: &str) -> bool {
        match self {
            WordMatch::Word => text == word,
            WordMatch::Start => text.starts_with(word),
            WordMatch::End => text.ends_with(word),
            WordMatch::Part => text.contains(word),
            // Most patterns are a name or a beginning, which need no walk.
            WordMatch::Pattern => match word.split_once('*') {
                None if !word.contains(['?', '[', '\\']) => word == text,
                Some((start, "")) if !start.contains(['?', '[', '\\']) => text.starts_with(start),
                _ => pattern::matches(word, text),
            },
            WordMatch::Verb => {
                text == word
                    || text.strip_prefix(word).is_some_and(|rest| rest.starts_with(['-', ':']))
                    || text.strip_suffix(word).is_some_and(|rest| rest.ends_with(['-', ':']))
            }
        }
    }
}

/// Bytes with which a pattern begins that can match more than its own first byte.
const WILDCARDS: [u8; 4] = [b'*', b'?', b'[', b'\\'];

/// Where the first of sorted lines stands whose first byte is at least this one.
fn first_line_from(text: &str, byte: u8) -> usize {
    let bytes = text.as_bytes();
    let (mut low, mut high) = (0, bytes.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let before = bytes.get(low..middle).and_then(|part| part.iter().rposition(|byte| *byte == b'\n'));
        let line = before.map_or(low, |at| low + at + 1);
        if bytes.get(line).is_some_and(|first| *first < byte) {
            let rest = bytes.get(line..high).unwrap_or_default();
            low = rest.iter().position(|byte| *byte == b'\n').map_or(high, |at| line + at + 1);
        } else {
            high = line;
        }
    }
    low
}

static TEXT: &str = include_str!(concat!(env!("OUT_DIR"), "/tables.txt"));
include!(concat!(env!("OUT_DIR"), "/words.rs"));

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    include!(concat!(env!("OUT_DIR"), "/word_examples.rs"));

    #[test]
    fn the_examples_of_every_list_hold() {
        for (name, list, text, expected) in EXAMPLES {
            assert_eq!(list.matches(text), *expected, "{name}: {text:?}");
        }
    }

    /// Every list once, by its name.
    fn lists() -> BTreeMap<&'static str, WordList> {
        EXAMPLES.iter().map(|(name, list, ..)| (*name, *list)).collect()
    }

    #[test]
    fn the_narrowed_search_finds_what_a_full_scan_finds() {
        let texts: Vec<&str> = lists().into_values().flat_map(WordList::words).step_by(5).collect();
        for (name, list) in lists() {
            for by in [WordMatch::Start, WordMatch::Pattern] {
                let list = WordList { by, ..list };
                let odd = ["", "*", "?x", "[a]", "\\a", "é"];
                for text in texts.iter().copied().chain(list.words()).chain(odd) {
                    let scan = list.words().any(|word| by.fits(word, text));
                    assert_eq!(list.matches(text), scan, "{name}: {text:?}");
                }
            }
        }
    }

    #[test]
    fn a_block_holds_the_lines_that_begin_with_a_byte() {
        for (name, list) in lists() {
            for byte in 0..=u8::MAX {
                let lines = list.text().split_inclusive('\n');
                let scan: String = lines.filter(|line| line.as_bytes().first() == Some(&byte)).collect();
                assert_eq!(list.block(byte), scan, "{name}: {byte}");
            }
        }
    }

    #[test]
    fn a_word_is_found_wherever_it_stands_in_its_list() {
        for (name, list, ..) in EXAMPLES {
            for (word, _) in list.iter() {
                assert!(list.find(word).is_some(), "{name}: {word}");
            }
            assert!(list.find("zzz-not-a-word").is_none(), "{name}");
        }
    }
}
