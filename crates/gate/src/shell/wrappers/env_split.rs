//! `env -S`: a string that `env` splits into words by rules of its own.

use crate::shell::state::Shell;
use crate::shell::value::{Piece, Taint, UnknownReason, Word};

impl Shell<'_> {
    /// The words of a string, as `env -S` makes them. Variables are those of the environment.
    pub(in crate::shell) fn split_string(&mut self, source: &Word) -> Vec<Word> {
        let mut words: Vec<Word> = Vec::new();
        let mut current: Option<Word> = None;
        let mut quote: Option<char> = None;
        for piece in &source.pieces {
            let Piece::Known { text, .. } = piece else {
                // What is not known may hold blanks, quotes and options.
                self.doubt("words that are split from a text which is not known");
                current.get_or_insert_default().pieces.push(piece.clone());
                continue;
            };
            let mut chars = text.chars().peekable();
            while let Some(char) = chars.next() {
                let begins = current.is_none();
                let mut push =
                    |text: char| current.get_or_insert_default().push(text.encode_utf8(&mut [0; 4]), true);
                match (char, quote) {
                    ('\'' | '"', None) => {
                        quote = Some(char);
                        current.get_or_insert_default();
                    }
                    (char, Some(open)) if char == open => quote = None,
                    ('\\', Some('\'')) => match chars.next() {
                        Some(escaped @ ('\\' | '\'')) => push(escaped),
                        Some(other) => {
                            push('\\');
                            push(other);
                        }
                        None => push('\\'),
                    },
                    ('\\', _) => match chars.next() {
                        Some('_') if quote.is_none() => words.extend(current.take()),
                        Some('_') => push(' '),
                        // The rest is left out.
                        Some('c') if quote.is_none() => {
                            words.extend(current.take());
                            return words;
                        }
                        Some('n') => push('\n'),
                        Some('t') => push('\t'),
                        Some('r') => push('\r'),
                        Some('f') => push('\u{c}'),
                        Some('v') => push('\u{b}'),
                        Some(escaped @ ('#' | '$' | '"' | '\'' | '\\')) => push(escaped),
                        _ => {
                            self.doubt("an escape that env does not know");
                            push('\\');
                        }
                    },
                    ('$', None | Some('"')) => {
                        let braces = chars.next_if_eq(&'{').is_some();
                        let mut name = String::new();
                        while let Some(letter) = chars.next_if(|letter| *letter != '}' && braces) {
                            name.push(letter);
                        }
                        let closed = chars.next_if_eq(&'}').is_some();
                        if !braces || !closed {
                            self.doubt("a variable that env does not read");
                        }
                        let value = self.named(&name).and_then(|variable| variable.first().cloned());
                        let value =
                            value.unwrap_or_else(|| Word::unknown(UnknownReason::Variable, Taint::NONE));
                        current.get_or_insert_default().pieces.extend(value.pieces);
                    }
                    ('#', None) if begins => return words,
                    (blank, None) if blank.is_whitespace() => words.extend(current.take()),
                    (char, _) => push(char),
                }
            }
        }
        if quote.is_some() {
            self.doubt("a quote that env does not close");
        }
        words.extend(current);
        words.into_iter().map(crate::shell::expand::merged).collect()
    }

    /// The words that a word of `env` stands for, if it is `-S`, and how many words of the line that took.
    pub(in crate::shell) fn env_split(
        &mut self,
        word: &Word,
        next: Option<&Word>,
    ) -> Option<(Vec<Word>, usize)> {
        let text = word.beginning();
        let from = match text.strip_prefix("--") {
            Some(long) => {
                let name = long.split('=').next().unwrap_or_default();
                if name.is_empty() || !"split-string".starts_with(name) {
                    return None;
                }
                match text.find('=') {
                    Some(at) => at + 1,
                    None => text.len(),
                }
            }
            None => {
                // Letters before it that take no value: `-iS`, `-vS`.
                let letters = text.strip_prefix('-')?;
                let before =
                    letters.find(|letter| !matches!(letter, 'i' | '0' | 'v')).unwrap_or(letters.len());
                letters.get(before..)?.strip_prefix('S')?;
                before + 2
            }
        };
        let attached = word.without_start(from);
        if attached.text().is_some_and(|text| text.is_empty()) {
            let words = next.map(|next| self.split_string(next)).unwrap_or_default();
            return Some((words, 2));
        }
        Some((self.split_string(&attached), 1))
    }
}
