//! Text laid out for a width: every character of it is shown, wrapped between words where that is possible.
//!
//! A [`Layout`] is made piece by piece: text that arrives is appended, and only the last line is laid out again. Lines that are
//! done stay as they are. What a terminal would obey is written out (see `marvin_base::visible`).

use crate::markdown::{self, MarkdownState};
use crate::theme::Theme;
use marvin_base::printable::is_hidden;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A line longer than this is laid out in parts, so that text without line breaks costs no more than other text.
const LONG: usize = 4 * 1024;
/// Characters that one cell may hold; more marks on one letter are written out.
const MAX_CELL_CHARS: usize = 12;
const TAB: usize = 4;

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// As Markdown: what it marks is coloured, and all of it is shown.
    Markdown,
    /// As it is.
    Plain(Style),
    /// As a change of a file: what goes and what comes.
    Diff,
}

/// A text as lines of cells.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    width: usize,
    kind: Kind,
    indent: usize,
    lines: Vec<Line<'static>>,
    /// Bytes of the text that are done.
    done: usize,
    /// Lines that are done.
    settled: usize,
    state: MarkdownState,
}

impl Layout {
    pub(crate) fn new(width: usize, indent: usize, kind: Kind) -> Self {
        let width = width.saturating_sub(indent).max(4);
        Layout {
            width,
            kind,
            indent,
            lines: Vec::new(),
            done: 0,
            settled: 0,
            state: MarkdownState::default(),
        }
    }

    pub(crate) fn lines(&self) -> &[Line<'static>] {
        &self.lines
    }

    /// Lays out what is new in a text; what was done of it before must be unchanged.
    pub(crate) fn extend(&mut self, text: &str, theme: &Theme) {
        self.lines.truncate(self.settled);
        let mut state = self.state;
        while let Some(rest) = text.get(self.done..).filter(|rest| !rest.is_empty()) {
            let (line, whole) = match rest.find('\n') {
                Some(end) => (rest.get(..end).unwrap_or(rest), true),
                None => (rest, false),
            };
            let long = line.len() > LONG;
            let part = if long { part_of(line) } else { line };
            let styled = match self.kind {
                Kind::Markdown => markdown::line(part, &mut state, theme),
                Kind::Plain(style) => vec![(part, style)],
                Kind::Diff => vec![(part, theme.diff(part))],
            };
            wrap(&styled, self.width, self.indent, &mut self.lines, theme);
            if !whole && !long {
                // It may continue: it is laid out again when it does.
                return;
            }
            self.done += part.len() + usize::from(!long || part.len() == line.len() && whole);
            self.settled = self.lines.len();
            self.state = state;
        }
    }
}

/// The beginning of a long line, cut where a word ends if one does.
fn part_of(line: &str) -> &str {
    let at = marvin_base::truncate::floor(line, LONG);
    let head = line.get(..at).unwrap_or(line);
    match head.rfind(' ') {
        Some(space) if space > LONG / 2 => head.get(..=space).unwrap_or(head),
        _ => {
            // Not within what belongs together.
            let last = head.grapheme_indices(true).next_back().map_or(at, |(at, _)| at);
            head.get(..last).filter(|head| !head.is_empty()).unwrap_or(head)
        }
    }
}

/// A piece of a line that stands together.
struct Cell<'a> {
    text: std::borrow::Cow<'a, str>,
    width: usize,
    style: Style,
    space: bool,
}

fn cells<'a>(styled: &[(&'a str, Style)], theme: &Theme) -> Vec<Cell<'a>> {
    let mut cells = Vec::new();
    for (text, style) in styled {
        for grapheme in text.graphemes(true) {
            if grapheme == "\t" {
                cells.push(Cell { text: " ".repeat(TAB).into(), width: TAB, style: *style, space: true });
            } else if grapheme.chars().any(is_hidden) || grapheme.chars().count() > MAX_CELL_CHARS {
                for char in grapheme.chars() {
                    let odd = is_hidden(char) || grapheme.chars().count() > MAX_CELL_CHARS;
                    let text = if odd { char.escape_unicode().to_string() } else { char.to_string() };
                    let style = if odd { theme.escaped } else { *style };
                    // Each of its characters is a cell, so that it can be wrapped anywhere.
                    for char in text.chars() {
                        let text = char.to_string();
                        cells.push(Cell { width: text.width(), text: text.into(), style, space: false });
                    }
                }
            } else {
                let space = grapheme.chars().all(char::is_whitespace);
                cells.push(Cell { text: grapheme.into(), width: grapheme.width(), style: *style, space });
            }
        }
    }
    cells
}

/// Breaks one line of text into lines of at most `width` cells.
fn wrap(
    styled: &[(&str, Style)],
    width: usize,
    indent: usize,
    lines: &mut Vec<Line<'static>>,
    theme: &Theme,
) {
    let cells = cells(styled, theme);
    let (mut start, mut used, mut after_space) = (0, 0, None);
    let mut at = 0;
    while let Some(cell) = cells.get(at) {
        if used + cell.width > width && at > start {
            // A blank that does not fit is where the line ends; it is not shown.
            let (end, next) = match after_space {
                _ if cell.space => (at, at + 1),
                Some(end) if end > start => (end, end),
                _ => (at, at),
            };
            lines.push(line_of(cells.get(start..end).unwrap_or_default(), indent));
            (start, at, used, after_space) = (next, next, 0, None);
            continue;
        }
        used += cell.width;
        at += 1;
        if cell.space {
            after_space = Some(at);
        }
    }
    lines.push(line_of(cells.get(start..).unwrap_or_default(), indent));
}

/// Cells of one style next to each other become one span.
fn line_of(cells: &[Cell<'_>], indent: usize) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    if indent > 0 {
        spans.push(Span::raw(" ".repeat(indent)));
    }
    let mut text = String::new();
    let mut style = cells.first().map(|cell| cell.style).unwrap_or_default();
    for cell in cells {
        if cell.style != style {
            spans.push(Span::styled(std::mem::take(&mut text), style));
            style = cell.style;
        }
        text.push_str(&cell.text);
    }
    if !text.is_empty() {
        spans.push(Span::styled(text, style));
    }
    Line::from(spans)
}

/// A short text on one line of at most `width` cells; what does not fit is cut, and that is shown.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = marvin_base::printable::visible(&flat);
    if shown.width() <= width {
        return shown.into_owned();
    }
    let mut cut = String::new();
    let mut used = 0;
    for grapheme in shown.graphemes(true) {
        used += grapheme.width();
        if used + 1 > width {
            break;
        }
        cut.push_str(grapheme);
    }
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, width: usize) -> Vec<String> {
        let mut layout = Layout::new(width, 0, Kind::Plain(Style::default()));
        layout.extend(text, &Theme::plain());
        layout.lines().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn words_are_kept_together_where_they_fit() {
        assert_eq!(plain("one two three", 8), ["one two ", "three"]);
        assert_eq!(plain("abcdefghij kl", 4), ["abcd", "efgh", "ij ", "kl"]);
        assert_eq!(plain("a\n\nb\n", 9), ["a", "", "b"]);
        assert_eq!(plain("日本語です", 5), ["日本", "語で", "す"]);
        assert_eq!(plain("👩‍👩‍👧👩‍👩‍👧 x", 4), ["👩‍👩‍👧👩‍👩‍👧", "x"]);
        assert_eq!(plain("a\tb", 20), ["a    b"]);
        assert_eq!(plain("\u{1b}[2J\u{202e}", 40), ["\\u{1b}[2J\\u{202e}"]);
    }

    #[test]
    fn a_text_that_arrives_in_pieces_is_laid_out_as_a_whole_one() {
        let long = "word ".repeat(3_000);
        let text = format!(
            "# head\n\nsome **bold** text\n```rust\nfn x() {{}}\n```\n{long}\nend\u{1b} {}",
            "x".repeat(9_000)
        );
        for width in [10, 40, 80] {
            let mut whole = Layout::new(width, 2, Kind::Markdown);
            whole.extend(&text, &Theme::dark());
            let mut pieces = Layout::new(width, 2, Kind::Markdown);
            let mut end = 0;
            while end < text.len() {
                end = text.floor_char_boundary((end + 377).min(text.len()));
                pieces.extend(text.get(..end).unwrap(), &Theme::dark());
            }
            assert_eq!(whole.lines(), pieces.lines(), "{width}");
            let shown: String =
                whole.lines().iter().map(|line| line.to_string().trim_start().to_string()).collect();
            let wanted = marvin_base::printable::visible(&text).replace(['\n', ' '], "");
            assert_eq!(shown.replace(' ', ""), wanted, "every character is shown");
            assert!(whole.lines().iter().all(|line| line.width() <= width), "none is too wide");
        }
    }

    #[test]
    fn one_line_is_one() {
        assert_eq!(one_line("a\n b\u{1b}", 20), "a b\\u{1b}");
        assert_eq!(one_line("日本語です", 5), "日本…");
    }
}
