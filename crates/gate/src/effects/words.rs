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
}

impl WordList {
    pub(super) fn text(self) -> &'static str {
        TEXT.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The value of a word; empty where it has none.
    pub(super) fn find(self, key: &str) -> Option<&'static str> {
        let mut rest = self.text();
        while !rest.is_empty() {
            let middle = rest.as_bytes().get(..rest.len() / 2)?.iter().rposition(|byte| *byte == b'\n');
            let (before, from) = rest.split_at_checked(middle.map_or(0, |at| at + 1))?;
            let (line, after) = from.split_once('\n')?;
            let (own, value) = line.split_once('\t').unwrap_or((line, ""));
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

    /// Does the text match one of the words, in the list's own way?
    pub(crate) fn matches(self, text: &str) -> bool {
        let any = |fits: &dyn Fn(&str) -> bool| self.text().lines().any(fits);
        match self.by {
            WordMatch::Word => self.find(text).is_some(),
            WordMatch::Start => any(&|word| text.starts_with(word)),
            WordMatch::End => any(&|word| text.ends_with(word)),
            WordMatch::Part => any(&|word| text.contains(word)),
            WordMatch::Pattern => any(&|word| match word.split_once('*') {
                // Most patterns are a name or a beginning, which need no walk.
                None if !word.contains(['?', '[', '\\']) => word == text,
                Some((start, "")) if !start.contains(['?', '[', '\\']) => text.starts_with(start),
                _ => pattern::matches(word, text),
            }),
            WordMatch::Verb => any(&|word| {
                text == word
                    || text.strip_prefix(word).is_some_and(|rest| rest.starts_with(['-', ':']))
                    || text.strip_suffix(word).is_some_and(|rest| rest.ends_with(['-', ':']))
            }),
        }
    }
}

static TEXT: &str = include_str!(concat!(env!("OUT_DIR"), "/tables.txt"));
include!(concat!(env!("OUT_DIR"), "/words.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    include!(concat!(env!("OUT_DIR"), "/word_examples.rs"));

    #[test]
    fn the_examples_of_every_list_hold() {
        for (name, list, text, expected) in EXAMPLES {
            assert_eq!(list.matches(text), *expected, "{name}: {text:?}");
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
