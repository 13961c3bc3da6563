//! The line that is being typed; it may have several.

use marvin_base::printable::is_hidden;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Bytes that can be typed or pasted into one prompt.
const MAX_PROMPT_BYTES: usize = 1024 * 1024;

/// The typed text and the cursor.
#[derive(Debug, Clone, Default)]
pub(crate) struct Editor {
    text: String,
    /// A place between characters, in bytes.
    cursor: usize,
}

impl Editor {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the text; the cursor is behind it.
    pub(crate) fn set(&mut self, text: &str) {
        self.text = text.to_string();
        self.cursor = self.text.len();
    }

    pub(crate) fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    pub(crate) fn insert(&mut self, text: &str) {
        let clean = text.replace("\r\n", "\n").replace('\r', "\n");
        if self.text.len() + clean.len() <= MAX_PROMPT_BYTES {
            self.text.insert_str(self.cursor, &clean);
            self.cursor += clean.len();
        }
    }

    /// Puts a text in place of what stands between `start` and the cursor.
    pub(crate) fn replace(&mut self, start: usize, text: &str) {
        if start <= self.cursor && self.text.is_char_boundary(start) {
            self.text.replace_range(start..self.cursor, text);
            self.cursor = start + text.len();
        }
    }

    fn before(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn after(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    fn left_of(&self) -> usize {
        self.before().grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn right_of(&self) -> usize {
        self.cursor + self.after().graphemes(true).next().map_or(0, str::len)
    }

    pub(crate) fn left(&mut self) {
        self.cursor = self.left_of();
    }

    pub(crate) fn right(&mut self) {
        self.cursor = self.right_of();
    }

    pub(crate) fn word_left(&mut self) {
        self.cursor = self.before().unicode_word_indices().next_back().map_or(0, |(at, _)| at);
    }

    pub(crate) fn word_right(&mut self) {
        let next = self.after().unicode_word_indices().next().map(|(at, word)| at + word.len());
        self.cursor += next.unwrap_or(self.after().len());
    }

    pub(crate) fn backspace(&mut self) {
        let from = self.left_of();
        self.text.replace_range(from..self.cursor, "");
        self.cursor = from;
    }

    pub(crate) fn delete(&mut self) {
        let to = self.right_of();
        self.text.replace_range(self.cursor..to, "");
    }

    pub(crate) fn delete_word(&mut self) {
        let end = self.cursor;
        self.word_left();
        self.text.replace_range(self.cursor..end, "");
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.after().find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    pub(crate) fn home(&mut self) {
        self.cursor = self.line_start();
    }

    pub(crate) fn end(&mut self) {
        self.cursor = self.line_end();
    }

    pub(crate) fn kill_to_end(&mut self) {
        let end = self.line_end();
        // At the end of a line, the line break goes.
        let end = if end == self.cursor { self.right_of() } else { end };
        self.text.replace_range(self.cursor..end, "");
    }

    /// One line up; false where there is none.
    pub(crate) fn up(&mut self) -> bool {
        let start = self.line_start();
        if start == 0 {
            return false;
        }
        let column = self.text.get(start..self.cursor).unwrap_or_default().graphemes(true).count();
        let above = self.text.get(..start - 1).unwrap_or_default();
        let above_start = above.rfind('\n').map_or(0, |at| at + 1);
        self.cursor = above_start + reach(above.get(above_start..).unwrap_or_default(), column);
        true
    }

    /// One line down; false where there is none.
    pub(crate) fn down(&mut self) -> bool {
        let (start, end) = (self.line_start(), self.line_end());
        if end == self.text.len() {
            return false;
        }
        let column = self.text.get(start..self.cursor).unwrap_or_default().graphemes(true).count();
        let below = self.text.get(end + 1..).unwrap_or_default();
        let below = below.split('\n').next().unwrap_or_default();
        self.cursor = end + 1 + reach(below, column);
        true
    }

    /// The rows as they are shown in this width, and the cursor's position in them (column, row).
    pub(crate) fn rows(&self, width: usize) -> (Vec<String>, (usize, usize)) {
        let width = width.max(2);
        let mut rows = vec![String::new()];
        let (mut used, mut at, mut place) = (0, 0, (0, 0));
        for grapheme in self.text.graphemes(true) {
            if at == self.cursor {
                place = (used, rows.len() - 1);
            }
            at += grapheme.len();
            if grapheme == "\n" {
                rows.push(String::new());
                used = 0;
                continue;
            }
            let shown: String = if grapheme == "\t" {
                "    ".into()
            } else if grapheme.chars().any(is_hidden) {
                grapheme.chars().map(|char| char.escape_unicode().to_string()).collect()
            } else {
                grapheme.into()
            };
            let wide = shown.width();
            if used + wide > width && used > 0 {
                rows.push(String::new());
                used = 0;
                if at - grapheme.len() == self.cursor {
                    place = (0, rows.len() - 1);
                }
            }
            used += wide;
            if let Some(row) = rows.last_mut() {
                row.push_str(&shown);
            }
        }
        if self.cursor >= at {
            place = (used, rows.len() - 1);
        }
        if place.0 >= width {
            rows.insert(place.1 + 1, String::new());
            place = (0, place.1 + 1);
        }
        (rows, place)
    }
}

/// How many bytes the first `column` characters of a line take.
fn reach(line: &str, column: usize) -> usize {
    line.grapheme_indices(true).nth(column).map_or(line.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_characters_are_moved_over_and_removed() {
        let mut editor = Editor::default();
        editor.insert("a👩‍👩‍👧日\r\nb");
        assert_eq!(editor.text(), "a👩‍👩‍👧日\nb");
        editor.left();
        editor.left();
        editor.backspace();
        editor.backspace();
        assert_eq!(editor.text(), "a\nb");
        editor.delete();
        assert_eq!((editor.text(), editor.cursor()), ("ab", 1));
        editor.home();
        editor.kill_to_end();
        assert!(editor.is_empty());
        editor.backspace();
        editor.delete();
        editor.left();
        editor.right();
        editor.word_left();
        editor.word_right();
        editor.delete_word();
        assert!(!editor.up() && !editor.down());
    }

    #[test]
    fn lines_are_walked() {
        let mut editor = Editor::default();
        editor.set("first line\nx\nthird one");
        assert!(editor.up());
        assert_eq!(editor.cursor(), 12);
        assert!(editor.up() && !editor.up());
        assert_eq!(editor.cursor(), 1);
        assert!(editor.down() && editor.down() && !editor.down());
        editor.end();
        editor.word_left();
        editor.delete_word();
        assert_eq!(editor.text(), "first line\nx\none");
        editor.replace(13, "two");
        assert_eq!(editor.text(), "first line\nx\ntwoone");
    }

    #[test]
    fn rows_wrap_and_the_cursor_is_found() {
        let mut editor = Editor::default();
        editor.set("日本語x");
        assert_eq!(editor.rows(4), (vec!["日本".into(), "語x".into()], (3, 1)));
        editor.set("abcd");
        assert_eq!(editor.rows(4), (vec!["abcd".into(), String::new()], (0, 1)));
        editor.home();
        assert_eq!(editor.rows(4).1, (0, 0));
        editor.set("a\u{1b}");
        assert_eq!(editor.rows(40).0, ["a\\u{1b}"]);
    }
}
