//! Redaction of text that arrives in pieces.
//!
//! A secret may be cut in two by the network. So the end of what has arrived is held back until it can no longer be
//! the beginning of a secret: up to the last white space, further back when the words before it announce one
//! (`Bearer`, `--token`, `password:`), to the end of the line behind a program that takes passwords among its words
//! (`mysql`, `curl`), and to its end when a private key has begun. Ordinary prose therefore flows word by word.

use super::{Redactor, commands};
use std::sync::Arc;

/// A word longer than this is let go (redacted as far as it came): it is a blob, and holding it would hold the stream.
const LONGEST_WORD: usize = 16 * 1024;

/// Redacts a stream of text.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Arc<Redactor>,
    pending: String,
}

impl StreamRedactor {
    /// A stream that begins here.
    #[must_use]
    pub fn new(redactor: Arc<Redactor>) -> Self {
        StreamRedactor { redactor, pending: String::new() }
    }

    /// Takes a piece. It costs a copy; the looking is done when somebody wants to show something.
    pub fn push(&mut self, piece: &str) {
        self.pending.push_str(piece);
    }

    /// How much is held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.pending.len()
    }

    /// Appends to `out` what may be shown by now.
    pub fn drain(&mut self, out: &mut String) {
        let cut = self.safe_length();
        if let Some(safe) = self.pending.get(..cut).filter(|safe| !safe.is_empty()) {
            out.push_str(&self.redactor.text(safe));
            self.pending.drain(..cut);
        }
    }

    /// Appends to `out` what was held back; the stream is over.
    pub fn finish(&mut self, out: &mut String) {
        out.push_str(&self.redactor.text(&self.pending));
        self.pending.clear();
    }

    /// How many bytes at the beginning cannot be part of a secret that is still arriving.
    fn safe_length(&self) -> usize {
        let text = self.pending.as_str();
        let mut cut = text.rfind(is_break).map_or(0, |at| at + text.get(at..).map_or(1, first_length));
        if let Some(begin) = text.rfind("-----BEGIN")
            && end_of_key(text, begin).is_none_or(|end| cut < end)
        {
            cut = cut.min(begin);
        }
        let line = text.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        if let Some(start) = text.get(line..).and_then(commands::start) {
            cut = cut.min(line + start);
        }
        cut = cut.min(before_announcement(text.get(..cut).unwrap_or_default()));
        for value in self.redactor.awkward_values() {
            cut = cut.min(before_prefix_of(value, text));
            let inside = |(start, _): &(usize, &str)| *start < cut && cut < *start + value.len();
            if let Some((start, _)) = text.match_indices(value).find(inside) {
                cut = start;
            }
        }
        if text.len() - cut > LONGEST_WORD {
            return text.len();
        }
        cut
    }
}

/// Where the private key that begins at `begin` ends, if it has come that far.
fn end_of_key(text: &str, begin: usize) -> Option<usize> {
    let (key, after) = text.get(begin..)?.split_once("-----END")?;
    let last = after.find("-----")?;
    Some(begin + key.len() + "-----END".len() + last + "-----".len())
}

/// White space, and anything beyond ASCII: scripts without spaces must flow too.
pub(super) fn is_break(c: char) -> bool {
    c.is_whitespace() || !c.is_ascii()
}

fn first_length(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

/// Where the words at the end of `text` begin, if they announce a secret; else its length.
fn before_announcement(text: &str) -> usize {
    let trimmed = text.trim_end();
    let Some(last) = trimmed.split(is_break).next_back() else { return text.len() };
    let start = trimmed.len() - last.len();
    let word = last.trim_start_matches(['"', '\'', '(', '{', '`']).to_ascii_lowercase();
    // `password` `:` with a space between: the sign alone is the last word.
    if matches!(word.as_str(), ":" | "=" | "=>") {
        return trimmed.get(..start).unwrap_or_default().trim_end().rfind(is_break).unwrap_or(0);
    }
    let announces = word == "bearer"
        || word == "basic"
        || (word.starts_with('-') && !word.contains('='))
        || word.ends_with([':', '='])
        || word.ends_with("=>");
    if announces {
        return start;
    }
    // A word that a sign may still follow.
    const NAMES: [&str; 9] =
        ["password", "passwd", "pwd", "secret", "key", "token", "credential", "authorization", "basic"];
    let bare = word.trim_end_matches(['"', '\'']);
    if NAMES.iter().any(|name| bare.ends_with(name)) { start } else { text.len() }
}

/// Where the longest end of `text` that is a beginning of `value` starts; else its length.
fn before_prefix_of(value: &str, text: &str) -> usize {
    let longest = value.len().min(text.len());
    (1..=longest)
        .rev()
        .map(|length| text.len() - length)
        .find(|start| text.get(*start..).is_some_and(|end| end.len() < value.len() && value.starts_with(end)))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use proptest::prelude::*;

    fn redactor() -> Arc<Redactor> {
        let environment =
            Environment::from_iter([("A_KEY", "correct-horse-battery"), ("B_SECRET", "two öd words")]);
        Arc::new(Redactor::new(&environment, []))
    }

    const SECRETS: [&str; 13] = [
        "correct-horse-battery",
        "two öd words",
        "AKIAIOSFODNN7EXAMPLE",
        "password: \"hunter2!\"",
        "password : \"hunter2!\"",
        "Bearer abc.def-123",
        "tool --token abc123",
        "-----BEGIN PRIVATE KEY-----\nabc def\n-----END PRIVATE KEY-----",
        "sk-proj-abc123def456",
        "docker login -u bob -p hunter2",
        "mysql -h db -phunter2 shop",
        "echo hunter2 | sudo -S ls",
        "PGPASSWORD=x psql",
    ];

    #[test]
    fn prose_flows_word_by_word() {
        let mut stream = StreamRedactor::new(redactor());
        let mut out = String::new();
        stream.push("Hello wor");
        stream.drain(&mut out);
        assert_eq!(out, "Hello ");
        stream.push("ld, ");
        stream.drain(&mut out);
        assert_eq!(out, "Hello world, ");
        stream.push("日本語");
        stream.drain(&mut out);
        assert_eq!(out, "Hello world, 日本語");
    }

    proptest! {
        #[test]
        fn pieces_are_as_clean_as_the_whole(
            parts in proptest::collection::vec((0usize..13, "[a-z ,.\n]{0,12}"), 1..5),
            sizes in proptest::collection::vec(1usize..9, 1..200),
        ) {
            let text: String =
                parts.iter().map(|(n, prose)| format!("{} {prose} ", SECRETS[*n])).collect();
            let whole = redactor().text(&text).into_owned();
            let mut stream = StreamRedactor::new(redactor());
            let mut out = String::new();
            let characters: Vec<char> = text.chars().collect();
            let mut rest = characters.as_slice();
            let mut drains = true;
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break; }
                let (piece, after) = rest.split_at((*size).min(rest.len()));
                stream.push(&piece.iter().collect::<String>());
                if drains { stream.drain(&mut out); }
                drains = !drains;
                rest = after;
            }
            stream.finish(&mut out);
            prop_assert_eq!(out, whole);
        }
    }
}
