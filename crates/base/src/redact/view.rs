//! A text as it looks on a screen: without terminal escapes and characters that take no space.
//!
//! Colors, zero-width characters and backspaces between or before the letters of a secret hide it from every pattern, and
//! a reader still sees it. So a text that holds such bytes is searched a second time in a view without them. The view maps
//! what is found back to the text, and knows where something was removed, because a word may begin there. Escapes of
//! other languages (`\n`, `%3D`, `=3D`, `\u0022`) stay in the text; [`ends_with_escape`] and [`escape_tail`] say where one ends.
//!
//! Limits: movements of the cursor are removed like colors, not carried out.

use std::ops::Range;

/// Longest string inside an operating system command (OSC) or another control string.
const MAX_CONTROL_BYTES: usize = 2048;
/// Longest parameter list of a color (CSI).
const MAX_PARAMETER_BYTES: usize = 64;

/// Escape characters as programs and logs write them, before `[`.
const WRITTEN_ESCAPES: [&str; 9] =
    ["\\033", "\\x1b", "\\x1B", "\\e", "\\E", "\\u001b", "\\u001B", "\\u{1b}", "^["];

pub(super) struct View {
    pub(super) text: String,
    /// Where each part of the view begins, in the view and in the text.
    parts: Vec<(usize, usize)>,
}

/// Treatment of backspaces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backspace {
    /// It is removed.
    Removed,
    /// It is removed with the character before it, as terminals do.
    Erases,
}

impl View {
    /// The views of a text: none for most texts.
    pub(super) fn all(text: &str) -> impl Iterator<Item = View> {
        let first = may_differ(text).then(|| View::new(text, Backspace::Removed)).flatten();
        let has_backspace = first.is_some() && memchr::memchr(0x08, text.as_bytes()).is_some();
        let second = has_backspace.then(|| View::new(text, Backspace::Erases)).flatten();
        first.into_iter().chain(second)
    }

    /// None if nothing is removed.
    fn new(text: &str, backspace: Backspace) -> Option<View> {
        let bytes = text.as_bytes();
        let mut view = View { text: String::new(), parts: Vec::new() };
        let (mut at, mut kept) = (0, 0);
        while let Some(skipped) = bytes.get(at..)?.iter().position(|byte| is_candidate(*byte)) {
            at += skipped;
            let Some(end) = removed_at(text, at) else {
                at += 1;
                continue;
            };
            if view.parts.is_empty() {
                view.text.reserve(text.len());
            }
            view.push(text, kept..at);
            if bytes.get(at) == Some(&0x08) && backspace == Backspace::Erases && !view.text.ends_with('\n') {
                view.text.pop();
            }
            (at, kept) = (end, end);
        }
        if kept == 0 {
            return None;
        }
        view.push(text, kept..bytes.len());
        Some(view)
    }

    fn push(&mut self, text: &str, range: Range<usize>) {
        while self.parts.last().is_some_and(|(start, _)| *start >= self.text.len()) {
            self.parts.pop();
        }
        self.parts.push((self.text.len(), range.start));
        self.text.push_str(text.get(range).unwrap_or_default());
    }

    fn part(&self, at: usize) -> (usize, usize) {
        let number = self.parts.partition_point(|(start, _)| *start <= at);
        number.checked_sub(1).and_then(|number| self.parts.get(number)).copied().unwrap_or((0, 0))
    }

    /// The place in the text of a byte of the view.
    pub(super) fn to_text(&self, at: usize) -> usize {
        let (start, in_text) = self.part(at);
        in_text + (at - start)
    }

    /// The range in the text of a range of the view, with what was removed inside it.
    pub(super) fn range_in_text(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.to_text(range.start);
        let end = range.end.checked_sub(1).map_or(start, |last| self.to_text(last) + 1);
        start..end.max(start)
    }

    /// Whether something was removed before this byte of the view.
    pub(super) fn is_joint(&self, at: usize) -> bool {
        at > 0 && self.part(at).0 == at
    }
}

/// Whether a view may differ from its text. Most texts are ASCII without control characters, which one pass shows.
fn may_differ(text: &str) -> bool {
    let odd = |byte: u8| (byte < b' ') & !matches!(byte, b'\n' | b'\r' | b'\t') | (byte >= 0x7F);
    text.bytes().fold(false, |found, byte| found | odd(byte))
        || memchr::memchr_iter(b'[', text.as_bytes()).any(|at| {
            let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
            before.is_some_and(|byte| matches!(byte, b'b' | b'B' | b'3' | b'e' | b'E' | b'}' | b'['))
        })
}

/// Whether something that is removed may begin with this byte.
fn is_candidate(byte: u8) -> bool {
    byte < b' ' && !byte.is_ascii_whitespace()
        || matches!(byte, b'\\' | b'^' | 0x7F | 0xC2 | 0xCD | 0xD8 | 0xE1 | 0xE2 | 0xEF | 0xF3)
}

/// End of what is removed at this place, if anything is.
fn removed_at(text: &str, at: usize) -> Option<usize> {
    let rest = text.as_bytes().get(at..)?;
    let length = match rest {
        [0x1B, b'[', parameters @ ..] => 2 + csi_length(parameters).unwrap_or(0),
        [0x1B, b']' | b'P' | b'X' | b'^' | b'_', control @ ..] => 2 + control_length(control).unwrap_or(0),
        [0x1B, b' '..=b'/', ..] => {
            let marks = rest.iter().skip(1).take_while(|byte| matches!(byte, b' '..=b'/')).count();
            let ends = rest.get(1 + marks).is_some_and(|byte| matches!(byte, b'0'..=b'~'));
            if ends { marks + 2 } else { 1 }
        }
        [0x1B, b'0'..=b'~', ..] => 2,
        [0x0B | 0x0C, ..] => return None,
        [0..0x20 | 0x7F, ..] => 1,
        [b'\\' | b'^', ..] => {
            let written = WRITTEN_ESCAPES.iter().find(|escape| rest.starts_with(escape.as_bytes()))?.len();
            match rest.get(written..)? {
                [b'[', parameters @ ..] => written + 1 + csi_length(parameters)?,
                _ => return None,
            }
        }
        [0xC2, 0x9B, parameters @ ..] => 2 + csi_length(parameters).unwrap_or(0),
        [0xC2, byte, ..] if *byte == 0xAD || *byte < 0xA0 && *byte != 0x85 => 2,
        // Combining grapheme joiner, Arabic letter mark.
        [0xCD, 0x8F, ..] | [0xD8, 0x9C, ..] => 2,
        [0xE1, 0xA0, 0x8B..=0x8E, ..]
        // Zero-width characters, marks of direction, word joiners, variation selectors, byte order marks.
        | [0xE2, 0x80, 0x8B..=0x8F | 0xAA..=0xAE, ..]
        | [0xE2, 0x81, 0xA0..=0xAF, ..]
        | [0xEF, 0xB8, 0x80..=0x8F, ..]
        | [0xEF, 0xBB, 0xBF, ..] => 3,
        [0xF3, 0xA0, 0x80..=0x87, _, ..] => 4,
        _ => return None,
    };
    Some(at + length)
}

/// Length of the parameters and the final letter of a control sequence; none if it has no end.
fn csi_length(parameters: &[u8]) -> Option<usize> {
    let length =
        parameters.iter().take(MAX_PARAMETER_BYTES).take_while(|byte| matches!(byte, b' '..=b'?')).count();
    matches!(parameters.get(length), Some(b'@'..=b'~')).then_some(length + 1)
}

/// Length of a control string with its terminator; none if it has none on its line.
fn control_length(control: &[u8]) -> Option<usize> {
    let control = control.get(..MAX_CONTROL_BYTES).unwrap_or(control);
    let end = control.iter().position(|byte| matches!(byte, 0x07 | 0x1B | b'\n'))?;
    match control.get(end..)? {
        [0x07, ..] => Some(end + 1),
        [0x1B, b'\\', ..] => Some(end + 2),
        _ => None,
    }
}

/// Start of an escape at the end of a text that still arrives, if more text could belong to it.
pub(super) fn open_escape(text: &str) -> Option<usize> {
    let at = memchr::memrchr(0x1B, text.as_bytes())?;
    let is_open = |at: usize| match text.as_bytes().get(at + 1..)? {
        [] => Some(()),
        [b'[', parameters @ ..] => {
            (csi_length(parameters).is_none() && parameters.len() < MAX_PARAMETER_BYTES).then_some(())
        }
        [b']' | b'P' | b'X' | b'^' | b'_', control @ ..] => {
            let has_end =
                control.iter().any(|byte| matches!(byte, 0x07 | b'\n')) || control_length(control).is_some();
            (!has_end && control.len() < MAX_CONTROL_BYTES).then_some(())
        }
        marks => marks.iter().all(|byte| matches!(byte, b' '..=b'/')).then_some(()),
    };
    // The terminator of a control string begins with an escape character of its own.
    let before = || text.get(..at).and_then(|head| memchr::memrchr(0x1B, head.as_bytes()));
    if text.as_bytes().get(at + 1..) == Some(b"") {
        return Some(before().filter(|before| is_open(*before).is_some()).unwrap_or(at));
    }
    is_open(at).map(|()| at)
}

/// Whether a character takes no space or belongs to an escape, so that a word does not end at it.
pub(super) fn is_invisible(c: char) -> bool {
    let mut buffer = [0; 4];
    c != '\u{1b}' && removed_at(c.encode_utf8(&mut buffer), 0).is_some()
}

/// Whether a text ends with an escape that a letter or a digit closes, so that a word may begin behind it: `\n`, `%3D`,
/// `=3D`, `\u0022`, or a color.
pub(super) fn ends_with_escape(text: &[u8]) -> bool {
    let is_hex = |byte: &u8| byte.is_ascii_hexdigit();
    let hex = |count: usize| -> Option<&[u8]> {
        let (head, digits) = text.split_at_checked(text.len().checked_sub(count)?)?;
        digits.iter().all(is_hex).then_some(head)
    };
    let is_hex_escape = hex(2)
        .is_some_and(|head| head.ends_with(b"%") || head.ends_with(b"%25") || head.ends_with(b"\\x"))
        || hex(4).is_some_and(|head| head.ends_with(b"\\u"))
        || hex(8).is_some_and(|head| head.ends_with(b"\\U"));
    let is_quoted_printable = matches!(text, [.., b'=', b'0'..=b'3', b'0'..=b'9' | b'A'..=b'F']);
    let is_octal = matches!(text, [.., b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7']);
    let is_letter = matches!(text, [.., b'\\', b'n' | b't' | b'r' | b'b' | b'f' | b'v' | b'0' | b'a' | b'e']);
    is_letter || is_hex_escape || is_quoted_printable || is_octal || ends_with_color(text)
}

/// Whether a text ends with a terminal escape, real or written out.
fn ends_with_color(text: &[u8]) -> bool {
    let Some((last, head)) = text.split_last() else { return false };
    if !last.is_ascii_alphanumeric() {
        return false;
    }
    if matches!(head, [.., 0x1B] | [.., 0x1B, b' '..=b'/']) {
        return true;
    }
    let parameters =
        head.iter().rev().take(MAX_PARAMETER_BYTES).take_while(|byte| matches!(byte, b' '..=b'?')).count();
    let head = head.get(..head.len() - parameters).unwrap_or_default();
    let bracket = head.strip_suffix(b"[");
    head.ends_with(&[0xC2, 0x9B])
        || bracket.is_some_and(|head| {
            head.ends_with(&[0x1B]) || WRITTEN_ESCAPES.iter().any(|escape| head.ends_with(escape.as_bytes()))
        })
}

/// Length of the end of an escape that begins before `start`, such as `3D` of `%3D` or `n` of `\n`.
pub(super) fn escape_tail(text: &[u8], start: usize) -> usize {
    let Some((before, rest)) = start.checked_sub(1).and_then(|at| Some((text.get(at)?, text.get(start..)?)))
    else {
        return 0;
    };
    let hex = |from: usize, count: usize| {
        rest.get(from..from + count).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    match (before, rest) {
        (b'%', [b'2', b'5', ..]) if hex(2, 2) => 4,
        (b'%', _) if hex(0, 2) => 2,
        (b'=', [b'0'..=b'3', b'0'..=b'9' | b'A'..=b'F', ..]) => 2,
        (b'\\', [b'x', ..]) if hex(1, 2) => 3,
        (b'\\', [b'u', ..]) if hex(1, 4) => 5,
        (b'\\', [b'0'..=b'3', b'0'..=b'7', b'0'..=b'7', ..]) => 3,
        (b'\\', [b'n' | b't' | b'r' | b'b' | b'f' | b'v' | b'0' | b'a' | b'e', ..]) => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
