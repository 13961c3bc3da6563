//! Text as it is shown to a person: nothing in it moves a cursor, hides something, or turns the direction of reading.
//!
//! Characters that a terminal or a reader would obey are written out (`\u{1b}`); everything else stays as it is, so that what is seen is
//! what is stored.

use std::borrow::Cow;
use std::fmt::Display;

/// A number of things: `1 rule`, `2 rules`.
#[must_use]
pub fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let ending = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// Whether a terminal would interpret this character. Line breaks and tabs are allowed.
#[must_use]
pub fn is_hidden(char: char) -> bool {
    matches!(char,
        // Direction of reading, line and paragraph separators, invisible operators.
        '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        // Marks of byte order and of annotations, soft hyphen, fillers, shorthand controls.
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{00ad}' | '\u{034f}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Invisible tag letters, and selectors that only carry data.
        | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
        || (char.is_control() && !matches!(char, '\n' | '\t'))
}

/// Text in which everything can be seen; lines stay lines, also those that end with a carriage return and a line feed.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let ends_line = char == '\r' && chars.peek() == Some(&'\n');
        if is_hidden(char) && !ends_line {
            shown.extend(char.escape_unicode());
        } else {
            shown.push(char);
        }
    }
    Cow::Owned(shown)
}

/// Text as one line in which everything can be seen: line breaks and tabs are written out, too.
#[must_use]
pub fn visible_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' | '\r' | '\t' => shown.extend(char.escape_default()),
            char if is_hidden(char) => shown.extend(char.escape_unicode()),
            char => shown.push(char),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(visible("a\u{1b}[31mb\r\u{7f}\u{9b}2J"), "a\\u{1b}[31mb\\u{d}\\u{7f}\\u{9b}2J");
        assert_eq!(visible("x\u{202e}gpj.exe\u{2066}\u{200b}"), "x\\u{202e}gpj.exe\\u{2066}\\u{200b}");
        assert_eq!(visible("\u{e0041}\u{feff}"), "\\u{e0041}\\u{feff}");
        assert_eq!(visible("a\r\nb\rc\r"), "a\r\nb\\u{d}c\\u{d}");
        let plain = "naïve 日本 👩‍👩‍👧 \u{fe0f}\n\tعربي";
        assert!(matches!(visible(plain), Cow::Borrowed(_)));
        assert_eq!(visible_line("naïve\r\n\tb\u{1b}"), "naïve\\r\\n\\tb\\u{1b}");
    }
}
