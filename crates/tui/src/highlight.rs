//! Code in colours, without knowing any language well: comments, texts, numbers, words that most languages reserve.
//!
//! Limits: one line at a time, with block comments remembered. A text over several lines is coloured line by line.

use crate::theme::Theme;
use ratatui::style::Style;

/// State of the lines before that matters for the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HighlightState {
    family: Family,
    in_comment: bool,
}

/// How comments are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Family {
    /// Unknown.
    #[default]
    Text,
    /// `//` and `/* */`.
    Slashes,
    /// `#`.
    Hash,
    /// `--`.
    Dashes,
    /// Lines with a sign in front.
    Diff,
}

const WORDS: &str = " abstract and as async await bool break case catch char class const continue crate def default \
    defer del do double elif else end enum except export extends extern false final finally float fn for from func function \
    global go if impl import in int interface is lambda let local long loop match mod module move mut namespace new nil none \
    not null None nonlocal or package pass private protected pub public raise ref return self Self short signed static str \
    string struct super switch then this throw trait true True False try type typeof undefined unless unsafe unsigned until \
    use using var virtual void where while with yield SELECT FROM WHERE INSERT UPDATE DELETE CREATE TABLE JOIN ON AND OR NOT \
    echo exit fi done esac set sudo cd ";

impl HighlightState {
    /// The state at the beginning of a block in this language.
    pub(crate) fn for_language(language: &str) -> Self {
        let name = language.split([' ', ',', '{']).next().unwrap_or_default().to_lowercase();
        let family = match name.as_str() {
            "" | "text" | "txt" | "plain" | "markdown" | "md" | "html" | "xml" | "csv" | "console" => {
                Family::Text
            }
            "diff" | "patch" => Family::Diff,
            "python" | "py" | "bash" | "sh" | "shell" | "zsh" | "ruby" | "rb" | "yaml" | "yml" | "toml"
            | "ini" | "make" | "makefile" | "dockerfile" | "perl" | "r" | "elixir" | "nix" | "conf" => {
                Family::Hash
            }
            "sql" | "lua" | "haskell" | "hs" | "ada" | "elm" => Family::Dashes,
            _ => Family::Slashes,
        };
        HighlightState { family, in_comment: false }
    }

    pub(crate) fn is_diff(self) -> bool {
        self.family == Family::Diff
    }
}

/// One line, as pieces with a style.
pub(crate) fn line<'a>(text: &'a str, state: &mut HighlightState, theme: &Theme) -> Vec<(&'a str, Style)> {
    if state.family == Family::Text {
        return vec![(text, Style::default())];
    }
    let mut pieces: Vec<(&'a str, Style)> = Vec::new();
    let (mut plain, mut at) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        match token(rest, before, state, theme) {
            Some((length, style)) => {
                pieces.extend(
                    text.get(plain..at)
                        .filter(|piece| !piece.is_empty())
                        .map(|piece| (piece, Style::default())),
                );
                pieces.extend(text.get(at..at + length).map(|piece| (piece, style)));
                at += length;
                plain = at;
            }
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    pieces.extend(text.get(plain..).filter(|piece| !piece.is_empty()).map(|piece| (piece, Style::default())));
    if pieces.is_empty() {
        pieces.push((text, Style::default()));
    }
    pieces
}

fn token(
    rest: &str,
    before: Option<char>,
    state: &mut HighlightState,
    theme: &Theme,
) -> Option<(usize, Style)> {
    let comment = |length: usize| Some((length, theme.comment));
    if state.in_comment || (state.family == Family::Slashes && rest.starts_with("/*")) {
        let from = if state.in_comment { 0 } else { 2 };
        let end = rest.get(from..).and_then(|rest| rest.find("*/"));
        state.in_comment = end.is_none();
        return comment(end.map_or(rest.len(), |end| from + end + 2));
    }
    let begins = match state.family {
        Family::Slashes => {
            rest.starts_with("//")
                || (rest.starts_with('#')
                    && before.is_none()
                    && !rest.starts_with("#[")
                    && !rest.starts_with("#include"))
        }
        Family::Hash => rest.starts_with('#') && before.is_none_or(char::is_whitespace),
        Family::Dashes => rest.starts_with("--"),
        Family::Text | Family::Diff => false,
    };
    if begins {
        return comment(rest.len());
    }
    let first = rest.chars().next()?;
    let in_word = before.is_some_and(|char| char.is_alphanumeric() || char == '_');
    match first {
        '"' | '`' => Some((text_length(rest, first).unwrap_or(rest.len()), theme.string)),
        // A quote of one kind may be a lifetime or an apostrophe: only what is closed on this line is a text.
        '\'' if !in_word => text_length(rest, first).map(|length| (length, theme.string)),
        char if char.is_ascii_digit() && !in_word => {
            let end = rest.find(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '.' | '_')));
            Some((end.unwrap_or(rest.len()), theme.number))
        }
        char if (char.is_alphabetic() || char == '_') && !in_word => {
            let end = rest.find(|char: char| !(char.is_alphanumeric() || char == '_')).unwrap_or(rest.len());
            let word = rest.get(..end)?;
            if WORDS.contains(&format!(" {word} ")) {
                return Some((end, theme.keyword));
            }
            let called = rest.get(end..).is_some_and(|after| after.starts_with('('));
            Some((end, if called { theme.function } else { Style::default() }))
        }
        _ => None,
    }
}

/// How long a text in quotes is, if it ends on this line.
fn text_length(rest: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, char) in rest.char_indices().skip(1) {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            char if char == quote => return Some(at + char.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_things_are_found() {
        let theme = Theme::dark();
        fn find(language: &str, text: &'static str) -> Vec<(&'static str, Style)> {
            let mut state = HighlightState::for_language(language);
            let pieces = line(text, &mut state, &Theme::dark());
            assert_eq!(pieces.iter().map(|(piece, _)| *piece).collect::<String>(), text);
            pieces
        }
        assert!(find("rust", "let x = 1; // one").contains(&("// one", theme.comment)));
        assert!(find("rust", "fn f<'a>(x: &'a str) {}").contains(&("fn", theme.keyword)));
        assert!(find("python", "print('it', \"x\\\"y\")  # say").contains(&("\"x\\\"y\"", theme.string)));
        assert!(find("sql", "SELECT 1 -- one").contains(&("SELECT", theme.keyword)));
        assert_eq!(find("text", "let x").len(), 1);
        let mut state = HighlightState::for_language("c");
        line("a /* b", &mut state, &theme);
        assert_eq!(line("c */ d", &mut state, &theme)[0], ("c */", theme.comment));
        for odd in ["\"", "'", "\\", "/*", "日本'語", "é1", "0x_é"] {
            find("rust", odd);
        }
    }
}
