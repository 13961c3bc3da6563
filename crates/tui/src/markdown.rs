//! Markdown in colours: marked text is coloured, and the marks stay. So every byte of an answer can be seen, and a link says
//! where it leads.
//!
//! Limits: one line at a time. Emphasis that goes over a line break, tables and nested lists are shown as they are written.

use crate::highlight;
use crate::theme::Theme;
use marvin_base::printable::is_hidden;
use ratatui::style::{Modifier, Style};

/// State of the lines before that matters for the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MarkdownState {
    /// Within a block of code: how its fence is written, and its language.
    fence: Option<(char, usize)>,
    code: highlight::HighlightState,
}

/// One line, as pieces with a style.
pub(crate) fn line<'a>(text: &'a str, state: &mut MarkdownState, theme: &Theme) -> Vec<(&'a str, Style)> {
    let trimmed = text.trim_start();
    let fence = fence_of(trimmed);
    if let Some((mark, count)) = state.fence {
        let closes =
            fence.is_some_and(|(other, more, rest)| other == mark && more >= count && rest.trim().is_empty());
        if closes {
            state.fence = None;
            return vec![(text, theme.mark)];
        }
        if is_diff(state) {
            return vec![(text, theme.diff(text))];
        }
        return highlight::line(text, &mut state.code, theme);
    }
    if let Some((mark, count, rest)) = fence {
        state.fence = Some((mark, count));
        state.code = highlight::HighlightState::for_language(rest.trim());
        return vec![(text, theme.mark)];
    }
    if is_heading(trimmed) {
        return vec![(text, theme.heading)];
    }
    if trimmed.starts_with('>') {
        return vec![(text, theme.quote)];
    }
    if trimmed.len() >= 3 && ['-', '*', '_'].iter().any(|rule| trimmed.chars().all(|char| char == *rule)) {
        return vec![(text, theme.mark)];
    }
    let lead = text.len() - trimmed.len();
    let bullet = bullet_of(trimmed);
    let mut pieces = Vec::new();
    push(&mut pieces, text, 0, lead, Style::default());
    push(&mut pieces, text, lead, lead + bullet, theme.bullet);
    inline(text, lead + bullet, &mut pieces, theme);
    if pieces.is_empty() {
        pieces.push((text, Style::default()));
    }
    pieces
}

fn is_diff(state: &MarkdownState) -> bool {
    state.code.is_diff()
}

fn fence_of(text: &str) -> Option<(char, usize, &str)> {
    let mark = text.chars().next().filter(|char| matches!(char, '`' | '~'))?;
    let count = text.chars().take_while(|char| *char == mark).count();
    let rest = text.get(count..)?;
    (count >= 3 && !(mark == '`' && rest.contains('`'))).then_some((mark, count, rest))
}

fn is_heading(text: &str) -> bool {
    let marks = text.chars().take_while(|char| *char == '#').count();
    (1..=6).contains(&marks) && text.chars().nth(marks).is_none_or(|char| char == ' ')
}

/// How many bytes of a line are the mark of a list.
fn bullet_of(text: &str) -> usize {
    if ["- ", "* ", "+ "].iter().any(|mark| text.starts_with(mark)) {
        return 2;
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let after = text.get(digits..).unwrap_or_default();
    if (1..=9).contains(&digits) && matches!(after.as_bytes(), [b'.' | b')', b' ', ..]) {
        digits + 2
    } else {
        0
    }
}

fn push<'a>(pieces: &mut Vec<(&'a str, Style)>, text: &'a str, from: usize, to: usize, style: Style) {
    if let Some(piece) = text.get(from..to).filter(|piece| !piece.is_empty()) {
        pieces.push((piece, style));
    }
}

/// Code, emphasis and addresses within a line.
fn inline<'a>(text: &'a str, from: usize, pieces: &mut Vec<(&'a str, Style)>, theme: &Theme) {
    let (mut plain, mut at) = (from, from);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let found = span(rest, theme, text.get(..at).and_then(|before| before.chars().next_back()));
        match found {
            Some((length, style)) => {
                push(pieces, text, plain, at, Style::default());
                push(pieces, text, at, at + length, style);
                at += length;
                plain = at;
            }
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    push(pieces, text, plain, text.len(), Style::default());
}

/// Length in bytes and style of the markup that begins here.
fn span(rest: &str, theme: &Theme, before: Option<char>) -> Option<(usize, Style)> {
    let first = rest.chars().next()?;
    let word_before = before.is_some_and(char::is_alphanumeric);
    match first {
        '`' => {
            let count = rest.chars().take_while(|char| *char == '`').count();
            let mark = rest.get(..count)?;
            let end = rest.get(count..)?.find(mark)?;
            Some((count + end + count, theme.code))
        }
        '*' | '_' if !(first == '_' && word_before) => {
            let double = if first == '*' { "**" } else { "__" };
            let (mark, style) = if rest.starts_with(double) {
                (double, Style::default().add_modifier(Modifier::BOLD))
            } else {
                (if first == '*' { "*" } else { "_" }, Style::default().add_modifier(Modifier::ITALIC))
            };
            let inner = rest.get(mark.len()..)?;
            let end = inner.find(mark).filter(|end| *end > 0)?;
            let tight = !inner.starts_with(' ') && !inner.get(..end)?.ends_with(' ');
            tight.then_some((mark.len() + end + mark.len(), style))
        }
        'h' if !word_before && (rest.starts_with("https://") || rest.starts_with("http://")) => {
            let ends = |char: char| {
                char.is_whitespace() || is_hidden(char) || matches!(char, ')' | '>' | '"' | ']' | '`')
            };
            let end = rest.find(ends).unwrap_or(rest.len());
            Some((end, theme.address))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let (theme, mut state) = (Theme::dark(), MarkdownState::default());
        let mut all = String::new();
        for one in text.lines() {
            for (piece, style) in line(one, &mut state, &theme) {
                let mark = match style {
                    style if style == theme.code => "code",
                    style if style == theme.heading => "head",
                    style if style == theme.mark => "mark",
                    style if style == theme.address => "link",
                    style if style == theme.bullet => "bullet",
                    style if style.add_modifier.contains(Modifier::BOLD) => "bold",
                    style if style.add_modifier.contains(Modifier::ITALIC) => "italic",
                    style if style == Style::default() => "",
                    _ => "other",
                };
                all.push_str(&format!("[{mark}:{piece}]"));
            }
            all.push('\n');
        }
        all
    }

    #[test]
    fn marks_are_coloured_and_stay() {
        assert_eq!(shown("# Title"), "[head:# Title]\n");
        assert_eq!(shown("a **b** *c* `d` e"), "[:a ][bold:**b**][: ][italic:*c*][: ][code:`d`][: e]\n");
        assert_eq!(
            shown("- see [x](https://a.b/c) now"),
            "[bullet:- ][:see [x](][link:https://a.b/c][:) now]\n"
        );
        assert_eq!(shown("snake_case_name 2 * 3 * 4 **"), "[:snake_case_name 2 * 3 * 4 **]\n");
        assert_eq!(shown("````\n```\n````\nx"), "[mark:````]\n[:```]\n[mark:````]\n[:x]\n");
        assert_eq!(shown("12. twelve"), "[bullet:12. ][:twelve]\n");
    }
}
