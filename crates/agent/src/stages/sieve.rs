//! Filter of streamed text: a heading of the shell and everything after it is never shown.
//!
//! From a line that could begin a section, everything is held back until the reply is complete.

use super::sections::{is_begun_by, is_fence, may_become};

/// Holds back text that may not be for a person.
#[derive(Debug, Default)]
pub struct Sieve {
    text: String,
    /// Where the last line begins.
    line: usize,
    /// Bytes that were passed on.
    shown_bytes: usize,
    /// Text other than a fence stands before the last line.
    begun: bool,
    closed: bool,
}

impl Sieve {
    /// Takes a piece; gives the text that may be shown now.
    pub fn take(&mut self, piece: &str) -> &str {
        self.text.push_str(piece);
        if self.closed {
            return "";
        }
        // Whole lines first.
        while let Some(length) = self.text.get(self.line..).and_then(|rest| rest.find('\n')) {
            let line = self.text.get(self.line..self.line + length).unwrap_or_default();
            if is_begun_by(line) {
                self.closed = true;
                return if self.begun { self.upto(self.line) } else { "" };
            }
            self.begun |= !line.trim().is_empty() && !is_fence(line);
            self.line += length + 1;
        }
        let last = self.text.get(self.line..).unwrap_or_default();
        let fence = !self.begun && (is_fence(last) || "```".starts_with(last.trim()));
        if fence || may_become(last) {
            return if self.begun { self.upto(self.line) } else { "" };
        }
        self.upto(self.text.len())
    }

    /// Text that may be shown up to here, without space at its end.
    fn upto(&mut self, end: usize) -> &str {
        let end = self.text.get(..end).unwrap_or_default().trim_end().len();
        let from = self.shown_bytes.min(end);
        self.shown_bytes = self.shown_bytes.max(end);
        self.text.get(from..end).unwrap_or_default()
    }

    /// Bytes that were passed on.
    #[must_use]
    pub fn shown_bytes(&self) -> usize {
        self.shown_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::sections::Notes;

    fn shown(text: &str, size: usize) -> String {
        let mut sieve = Sieve::default();
        let characters: Vec<char> = text.chars().collect();
        let mut shown = String::new();
        for piece in characters.chunks(size.max(1)) {
            shown.push_str(sieve.take(&piece.iter().collect::<String>()));
        }
        assert_eq!(shown.len(), sieve.shown_bytes());
        shown
    }

    #[test]
    fn only_speech_comes_through() {
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(shown("SITUATION\n- secret\n", size), "");
            assert_eq!(shown("```\nSITUATION\n- secret\n", size), "");
            assert_eq!(shown("SITUATION", size), "");
            assert_eq!(shown("Yes.\n\nMEMORY CANDIDATES\n- {}", size), "Yes.");
            assert_eq!(
                shown("The plan is good.\nTo be sure: PLAN.", size),
                "The plan is good.\nTo be sure: PLAN."
            );
            assert_eq!(shown("One.\n\n**MEM", size), "One.");
        }
        assert_eq!(shown("Hello there", 3), "Hello there");
    }

    proptest::proptest! {
        #[test]
        fn what_is_shown_is_the_beginning_of_the_speech(
            lines in proptest::collection::vec("(SITUATION|PLAN|TOOL REQUESTS|\\*\\*MEMORY CANDIDATES\\*\\*|=== TOOL REQUEST ===|```|- x|Tools|é ü|)", 0..12),
            size in 1usize..9,
        ) {
            let text = lines.join("\n");
            let speech = Notes::read(&text, false).map_or(text.clone(), |notes| notes.speech);
            let shown = shown(&text, size);
            proptest::prop_assert!(speech.starts_with(&shown), "{shown:?} {speech:?}");
        }
    }
}
