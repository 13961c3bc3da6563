//! A command's words, sorted into flags and operands.

use super::words::WordList;
use crate::shell::Word;

/// A set of names of flags.
pub(crate) trait FlagNames {
    /// The names.
    fn names(&self) -> impl Iterator<Item = &str>;

    /// Is this one of them?
    fn has_name(&self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }
}

impl FlagNames for [&str] {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().copied()
    }
}

impl<const N: usize> FlagNames for [&str; N] {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().copied()
    }
}

impl FlagNames for WordList {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(word, _)| word)
    }

    fn has_name(&self, name: &str) -> bool {
        self.matches(name)
    }
}

/// A flag, with its value where it has one.
#[derive(Debug, Clone)]
pub(crate) struct Flag {
    /// `-x` or `--long`, without a value.
    pub(crate) name: String,
    /// The value, attached or following.
    pub(crate) value: Option<Word>,
}

/// The words of a command after its name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arguments {
    pub(crate) flags: Vec<Flag>,
    pub(crate) operands: Vec<Word>,
}

impl Arguments {
    /// Sorts words. `values` names the flags that take the next word (or the rest of theirs).
    pub(crate) fn new(words: &[Word], values: &(impl FlagNames + ?Sized)) -> Self {
        Arguments::sort(words, values, false)
    }

    /// Sorts words up to the first operand: those behind it belong to the script that it names.
    pub(crate) fn leading(words: &[Word], values: &(impl FlagNames + ?Sized)) -> Self {
        Arguments::sort(words, values, true)
    }

    fn sort(words: &[Word], values: &(impl FlagNames + ?Sized), is_leading: bool) -> Self {
        let mut sorted = Arguments::default();
        let mut index = 0;
        let mut plain = false;
        while let Some(word) = words.get(index) {
            index += 1;
            let text = word.beginning();
            if plain || !text.starts_with('-') || text.len() == 1 {
                sorted.operands.push(word.clone());
                if is_leading {
                    break;
                }
                continue;
            }
            if word.is("--") {
                plain = true;
                continue;
            }
            if let Some((name, _)) = text.split_once('=').filter(|_| text.starts_with("--")) {
                let value = tail(word, name.len() + 1);
                sorted.flags.push(Flag { name: name.to_string(), value: Some(value) });
                continue;
            }
            if values.has_name(&text) {
                sorted.flags.push(Flag { name: text.into_owned(), value: words.get(index).cloned() });
                index += 1;
                continue;
            }
            if text.starts_with("--") {
                sorted.flags.push(Flag { name: text.into_owned(), value: None });
                continue;
            }
            // A cluster: each letter is a flag, until one takes the rest.
            let mut at = 1;
            let single_dash_word = values
                .names()
                .any(|value| value.len() > 2 && !value.starts_with("--") && text.starts_with(value));
            if single_dash_word || text.chars().nth(2).is_some_and(|_| is_word_flag(&text)) {
                sorted.flags.push(Flag { name: text.to_string(), value: None });
            }
            while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
                let name = format!("-{letter}");
                at += letter.len_utf8();
                if values.has_name(&name) {
                    let rest = tail(word, at);
                    let attached = rest.text().is_none_or(|text| !text.is_empty());
                    let value = if attached {
                        Some(rest)
                    } else {
                        index += 1;
                        words.get(index - 1).cloned()
                    };
                    sorted.flags.push(Flag { name, value });
                    break;
                }
                sorted.flags.push(Flag { name, value: None });
            }
        }
        sorted
    }

    /// Is one of these flags there? Long ones also when abbreviated.
    pub(crate) fn has(&self, names: &(impl FlagNames + ?Sized)) -> bool {
        self.flags.iter().any(|flag| names.names().any(|name| fits(&flag.name, name)))
    }

    /// The values of these flags.
    pub(crate) fn values<'a>(
        &'a self,
        names: &'a (impl FlagNames + ?Sized),
    ) -> impl Iterator<Item = &'a Word> {
        self.flags
            .iter()
            .filter(|flag| names.names().any(|name| fits(&flag.name, name)))
            .filter_map(|flag| flag.value.as_ref())
    }
}

/// `-exec`, `-name`: one dash and a whole word.
fn is_word_flag(text: &str) -> bool {
    text.len() > 3 && text.chars().skip(1).all(|char| char.is_ascii_lowercase() || char == '-' || char == '_')
}

/// Is it this flag, or the beginning of it that programs also take?
fn fits(flag: &str, name: &str) -> bool {
    flag == name
        || (name.starts_with("--") && flag.len() > 2 && flag.starts_with("--") && name.starts_with(flag))
}

/// The word without its first bytes, which are certain.
pub(crate) fn tail(word: &Word, from: usize) -> Word {
    word.without_start(from)
}
