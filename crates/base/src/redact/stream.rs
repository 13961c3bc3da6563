//! Redaction of text that arrives in pieces.
//!
//! A secret may be cut in two by the network. So the end of what has arrived is held back until it can no longer be
//! part of a secret: up to the last white space; further back when the text ends inside an assignment or a header (the
//! same reading as for whole texts says so, [`names::find`]); to the end of the line behind a program that takes
//! passwords among its words, or a shape that spans words; and as far as a private key goes. Ordinary prose
//! therefore flows word by word. What was already shown of the current line stays known, so that a piece is read as
//! it would be inside the whole.

use super::scan::Hits;
use super::span::{self, Span};
use super::view::{self, View};
use super::{Redactor, Scope, armor, commands, jwk, names, shapes};
use std::sync::Arc;

/// A word longer than this is let go (redacted as far as it came): it is a blob, and holding it would hold the stream.
const MAX_HELD_BYTES: usize = 16 * 1024;
/// How much of the current line is remembered after it was shown.
const MAX_CONTEXT_BYTES: usize = 1024;

/// Bytes of a private key that are kept to recognise its next line or its end.
const MAX_KEY_LINE_BYTES: usize = 256;
/// Keyword of `.netrc` before a password.
const NETRC_PASSWORD: &str = "password ";

#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Arc<Redactor>,
    scope: Scope,
    /// The shown part of the current line, then the held part.
    text: String,
    /// Start of the held part.
    shown: usize,
    /// Whether a private key was let go before its end arrived.
    in_key: bool,
}

impl StreamRedactor {
    /// A stream that begins here, for a record or a screen.
    #[must_use]
    pub fn new(redactor: Arc<Redactor>) -> Self {
        StreamRedactor::with_scope(redactor, Scope::Record)
    }

    /// A stream that goes where `scope` says.
    #[must_use]
    pub fn with_scope(redactor: Arc<Redactor>, scope: Scope) -> Self {
        StreamRedactor { redactor, scope, text: String::new(), shown: 0, in_key: false }
    }

    /// Takes a piece. It costs a copy; the looking is done by [`StreamRedactor::drain`].
    pub fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// How many bytes are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.text.len() - self.shown
    }

    /// Appends to `out` what may be shown by now.
    pub fn drain(&mut self, out: &mut String) {
        if self.in_key && !self.skip_key() {
            return;
        }
        let cut = self.safe_length();
        if cut > self.shown {
            self.show(cut, out);
        }
    }

    /// Appends to `out` what was held back; the stream is over.
    pub fn finish(&mut self, out: &mut String) {
        if self.in_key && !self.skip_key() {
            self.text.clear();
        } else {
            self.show(self.text.len(), out);
            self.text.clear();
        }
        self.shown = 0;
    }

    /// Redacts and shows the held text up to `cut`; keeps the beginning of the line for what follows.
    fn show(&mut self, cut: usize, out: &mut String) {
        let Some(whole) = self.text.get(..cut) else { return };
        let spans = self.redactor.spans(whole, self.scope);
        let shown = self.shown;
        let rest = spans
            .into_iter()
            .filter(|span| span.range.end > shown)
            .map(|span| Span { range: span.range.start.max(shown) - shown..span.range.end - shown, ..span });
        let held = whole.get(shown..).unwrap_or_default();
        match span::replace(held, rest.collect()) {
            Some(clean) => out.push_str(&clean),
            None => out.push_str(held),
        }
        let line = whole.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let context = line.max(whole.ceil_char_boundary(cut.saturating_sub(MAX_CONTEXT_BYTES)));
        self.text.drain(..context);
        self.shown = cut - context;
    }

    /// Drops the rest of a private key whose beginning was let go; returns whether its end has arrived.
    fn skip_key(&mut self) -> bool {
        let rest = self.text.get(self.shown..).unwrap_or_default();
        let body = armor::resume(rest);
        // A line or a marker may be half here, so the last bytes are read once more.
        let skipped = if body.is_open {
            rest.ceil_char_boundary(rest.len().saturating_sub(MAX_KEY_LINE_BYTES))
        } else {
            self.in_key = false;
            body.end
        };
        self.text.drain(..self.shown + skipped);
        self.shown = 0;
        !self.in_key
    }

    /// How many bytes at the beginning cannot be part of a secret that is still arriving.
    fn safe_length(&mut self) -> usize {
        let text = self.text.as_str();
        let (mut cut, mut key) = self.safe_cut(text);
        for view in View::all(text) {
            let (in_view, has_key) = self.safe_cut(&view.text);
            if in_view < view.text.len() {
                cut = cut.min(view.to_text(in_view));
            }
            key |= has_key;
        }
        if let Some(start) = view::open_escape(text) {
            cut = cut.min(start);
        }
        if text.len() - cut > MAX_HELD_BYTES {
            self.in_key = key;
            return text.len();
        }
        cut
    }

    /// The same for a text as it stands, and whether the rest has begun a private key.
    fn safe_cut(&self, text: &str) -> (usize, bool) {
        let mut cut = text.rfind(is_break).map_or(0, |at| at + text.get(at..).map_or(1, first_length));
        let mut key = false;
        if let Some((begin, has_material)) = armor::find_open(text, cut) {
            key = has_material;
            cut = cut.min(begin);
        }
        if let Some(begin) = text.rfind("machine ")
            && text.len() - begin < 512
            && !text.get(begin..).is_some_and(|rest| rest.contains(NETRC_PASSWORD) && rest.ends_with('\n'))
        {
            cut = cut.min(begin);
        }
        for start in [jwk::open(text), shapes::open_block(text)].into_iter().flatten() {
            cut = cut.min(start);
        }
        let line = text.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let last = text.get(line..).unwrap_or_default();
        for start in [commands::start(last), shapes::open_line(last)].into_iter().flatten() {
            cut = cut.min(line + start);
        }
        if let Some(start) = names::find(text, &Hits::find(text), &mut Vec::new()) {
            cut = cut.min(start);
        }
        for value in self.redactor.known.with_breaks() {
            cut = cut.min(before_prefix_of(value, text));
            let inside = |(start, _): &(usize, &str)| *start < cut && cut < *start + value.len();
            if let Some((start, _)) = text.match_indices(value).find(inside) {
                cut = start;
            }
        }
        (cut, key)
    }
}

/// White space, and anything visible beyond ASCII: scripts without spaces must flow too.
pub(super) fn is_break(c: char) -> bool {
    c.is_whitespace() || !c.is_ascii() && !view::is_invisible(c)
}

fn first_length(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

/// Start of the longest suffix of `text` that is a prefix of `value`; else its length.
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
    use crate::redact::samples;
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
        "-----BEGIN PRIVATE KEY-----\nc2VjcmV0c2VjcmV0 c2VjcmV0\n-----END PRIVATE KEY-----",
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

    /// Streams a text in pieces of this many characters.
    fn streamed(text: &str, size: usize) -> String {
        let mut stream = StreamRedactor::new(redactor());
        let mut out = String::new();
        for piece in text.chars().collect::<Vec<_>>().chunks(size) {
            stream.push(&piece.iter().collect::<String>());
            stream.drain(&mut out);
        }
        stream.finish(&mut out);
        out
    }

    #[test]
    fn s11_every_secret_is_caught_in_pieces_of_any_size() {
        for (seed, (kind, template)) in samples::list(samples::SECRETS).enumerate() {
            let (text, _) = samples::secret(template, seed as u64);
            let text = format!("Look at this:\n{text}\nand then at the rest of it.");
            let whole = redactor().text(&text).into_owned();
            for size in [1, 2, 3, 5, 8, 13, 40] {
                assert_eq!(streamed(&text, size), whole, "{kind} in pieces of {size}: {text}");
            }
        }
    }

    #[test]
    fn harmless_lines_stay_in_pieces() {
        for (seed, (kind, template)) in samples::list(samples::HARMLESS).enumerate() {
            let text = format!("{}\n", samples::expand(template, seed as u64));
            for size in [1, 4, 11] {
                assert_eq!(streamed(&text, size), text, "{kind}");
            }
        }
    }

    #[test]
    fn an_endless_private_key_never_shows() {
        let mut stream = StreamRedactor::new(redactor());
        let mut out = String::new();
        stream.push("-----BEGIN RSA PRIVATE KEY-----\n");
        for _ in 0..600 {
            stream.push("c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\n");
            stream.drain(&mut out);
        }
        stream.push("-----END RSA PRIVATE KEY-----\nafter it\n");
        stream.finish(&mut out);
        assert!(!out.contains("c2Vjcm") && out.ends_with("after it\n"), "{}", out.len());
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
