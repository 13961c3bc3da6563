//! Words become what a program would get: quotes removed, variables filled in, substitutions run in the mind.
//!
//! Every form of expansion that can hold a command is walked, whatever its value: a command hidden in a default, a
//! pattern or an index still runs.

use super::bounds::guarded;
use super::braces::combine;
use super::limits::MAX_EXPANDED_WORDS;
use super::state::Shell;
use super::text;
use super::value::{Piece, Taint, UnknownReason, Word};
use brush_parser::ParserOptions;
use brush_parser::word::{self, Parameter, ParameterExpr, TildeExpr, WordPiece, WordPieceWithSource};

/// Characters that make a word more than its text.
const SPECIAL: [char; 10] = ['$', '`', '"', '\'', '\\', '{', '~', '*', '?', '['];

/// Braces of one word that are followed.
const MAX_BRACES_PER_WORD: usize = 24;

/// The word that a source is as it stands, or between one pair of quotes; most are.
fn plain(source: &str) -> Option<Word> {
    let between = |quote: char| source.strip_prefix(quote)?.strip_suffix(quote);
    let (text, quoted) = if !source.contains(SPECIAL) {
        (source, false)
    } else if let Some(text) = between('\'').filter(|text| !text.contains('\'')) {
        (text, true)
    } else {
        (between('"').filter(|text| !text.contains(['"', '$', '`', '\\']))?, true)
    };
    let mut word = Word::default();
    word.push(text, quoted);
    Some(word)
}

impl Shell<'_> {
    /// The words that one word of the source becomes: split, braces expanded, patterns left as they are.
    pub(super) fn fields(&mut self, source: &str) -> Vec<Word> {
        if let Some(word) = plain(source) {
            return vec![word];
        }
        let mut words = Vec::new();
        for alternative in self.braces(source) {
            let pieces = self.pieces(&alternative, false);
            words.extend(self.split(pieces));
            if words.len() > MAX_EXPANDED_WORDS {
                self.doubt("a word that becomes very many");
                break;
            }
        }
        words
    }

    /// The one word that a word of the source becomes where nothing is split: assignments, redirections, `case`.
    pub(super) fn single(&mut self, source: &str) -> Word {
        if let Some(word) = plain(source) {
            return word;
        }
        merged(Word { pieces: self.pieces(source, false).into_iter().map(|(piece, _)| piece).collect() })
    }

    /// The text of a here-document in which variables are filled in.
    pub(super) fn document(&mut self, source: &str) -> Word {
        if !self.charge(source.len()) {
            return Word::unknown(UnknownReason::Unreadable, Taint::NONE);
        }
        let Some(pieces) = guarded(|| word::parse_heredoc(source, &ParserOptions::default()).ok()) else {
            self.doubt("a here-document that cannot be read");
            return Word::unknown(UnknownReason::Unreadable, Taint::NONE);
        };
        let mut found = Vec::new();
        self.walk(&pieces, true, &mut found);
        merged(Word { pieces: found.into_iter().map(|(piece, _)| piece).collect() })
    }

    /// Pieces, each with whether it is split into words.
    fn pieces(&mut self, source: &str, quoted: bool) -> Vec<(Piece, bool)> {
        let mut found = Vec::new();
        if !self.charge(source.len()) {
            return vec![(
                Piece::Unknown { why: UnknownReason::Unreadable, taint: Taint::NONE, splits: true },
                false,
            )];
        }
        match guarded(|| word::parse(source, &ParserOptions::default()).ok()) {
            Some(pieces) => self.walk(&pieces, quoted, &mut found),
            None => {
                self.doubt("a word that cannot be read");
                found.push((
                    Piece::Unknown { why: UnknownReason::Unreadable, taint: Taint::NONE, splits: true },
                    false,
                ));
            }
        }
        found
    }

    fn walk(&mut self, pieces: &[WordPieceWithSource], quoted: bool, found: &mut Vec<(Piece, bool)>) {
        let known = |text: String, quoted: bool| (Piece::Known { text, quoted }, false);
        for pair in pieces.windows(2) {
            if let [first, second] = pair {
                self.indexed(&first.piece, &second.piece);
            }
        }
        for piece in pieces {
            match &piece.piece {
                WordPiece::Text(text) if !quoted && is_assignment_with_tilde(text) => {
                    self.assignment_tildes(text, found);
                }
                WordPiece::Text(text) => found.push(known(text.clone(), quoted)),
                WordPiece::SingleQuotedText(text) => found.push(known(text.clone(), true)),
                WordPiece::AnsiCQuotedText(text) => found.push(known(text::ansi_c(text), true)),
                WordPiece::EscapeSequence(text) => {
                    let plain = text.strip_prefix('\\').unwrap_or(text);
                    let kept = quoted && !plain.starts_with(['$', '`', '"', '\\', '\n']);
                    let text = if plain == "\n" {
                        ""
                    } else if kept {
                        text
                    } else {
                        plain
                    };
                    found.push(known(text.to_string(), true));
                }
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    // Empty quotes are a word too.
                    found.push(known(String::new(), true));
                    self.walk(inner, true, found);
                }
                WordPiece::TildeExpansion(tilde) => found.push(self.tilde(tilde)),
                WordPiece::ParameterExpansion(expression) => {
                    let values = self.parameter(expression, quoted);
                    self.push_values(values, quoted, found);
                }
                WordPiece::CommandSubstitution(script) => {
                    let value = self.substitution(script);
                    self.push_values(vec![value], quoted, found);
                }
                WordPiece::BackquotedCommandSubstitution(script) => {
                    let value = self.substitution(&text::without_backquote_escapes(script));
                    self.push_values(vec![value], quoted, found);
                }
                WordPiece::ArithmeticExpression(expression) => {
                    let value = self.arithmetic(&expression.value);
                    self.perhaps_script(&expression.value);
                    self.push_values(vec![value], quoted, found);
                }
            }
        }
    }

    /// `$a[1]`: bash takes the value and then a text or a pattern, zsh takes one element or letter of it.
    fn indexed(&mut self, first: &WordPiece, second: &WordPiece) {
        let (WordPiece::ParameterExpansion(expression), WordPiece::Text(text)) = (first, second) else {
            return;
        };
        let (ParameterExpr::Parameter { parameter: Parameter::Named(name), .. }, Some(index)) =
            (expression, text.strip_prefix('['))
        else {
            return;
        };
        let number =
            index.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-') || index.is_empty();
        if number && self.state.variables.contains_key(name) {
            self.doubt("an element that only some shells take");
        }
    }

    /// Adds values: in quotes as they are, else to be split. `"$@"` keeps its words apart, which is marked by a split
    /// of an otherwise quoted piece.
    fn push_values(&mut self, values: Vec<Word>, quoted: bool, found: &mut Vec<(Piece, bool)>) {
        if !self.charge(values.iter().map(Word::size).sum()) {
            found.push((
                Piece::Unknown { why: UnknownReason::Unreadable, taint: Taint::NONE, splits: !quoted },
                !quoted,
            ));
            return;
        }
        let several = values.len() > 1;
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                found.push((Piece::Known { text: " ".into(), quoted: false }, true));
            }
            for piece in value.pieces {
                found.push(match piece {
                    // A pattern was filled in when a list or a loop took it: what it found is still what it may find.
                    Piece::Known { text, quoted: was_quoted } => {
                        let filled = !was_quoted && text.contains(['*', '?', '[']);
                        (Piece::Known { text, quoted: (quoted || several) && !filled }, !quoted && !several)
                    }
                    Piece::Unknown { why, taint, .. } => {
                        (Piece::Unknown { why, taint, splits: !quoted }, !quoted)
                    }
                });
            }
        }
    }

    /// Splits pieces into words at the blanks of pieces that are split.
    fn split(&self, pieces: Vec<(Piece, bool)>) -> Vec<Word> {
        let blanks = self.separators();
        let mut words: Vec<Word> = Vec::new();
        let mut current: Option<Word> = None;
        for (piece, splits) in pieces {
            match piece {
                Piece::Known { text, quoted } if splits => {
                    for (index, part) in text.split(|char| blanks.contains(char)).enumerate() {
                        if index > 0 {
                            words.extend(current.take());
                        }
                        if !part.is_empty() {
                            current.get_or_insert_default().push(part, quoted);
                        }
                    }
                }
                Piece::Known { text, quoted } => {
                    if quoted || !text.is_empty() {
                        current.get_or_insert_default().push(&text, quoted);
                    }
                }
                unknown @ Piece::Unknown { .. } => current.get_or_insert_default().pieces.push(unknown),
            }
        }
        words.extend(current);
        words
    }

    /// The characters at which unquoted values are split.
    pub(super) fn separators(&self) -> String {
        match self.state.variables.get("IFS").and_then(|variable| variable.first()) {
            Some(word) => word.text().map_or_else(|| " \t\n".to_string(), std::borrow::Cow::into_owned),
            None => " \t\n".to_string(),
        }
    }

    /// The words that braces make of a word.
    fn braces(&mut self, source: &str) -> Vec<String> {
        if !source.contains('{') || !source.contains([',', '.']) {
            return vec![source.to_string()];
        }
        if source.matches('{').count() > MAX_BRACES_PER_WORD {
            self.doubt("braces that become very many words");
            return vec![source.to_string()];
        }
        match guarded(|| word::parse_brace_expansions(source, &ParserOptions::default()).ok()) {
            Some(Some(parts)) => {
                let mut all = vec![String::new()];
                combine(&parts, &mut all);
                if all.len() > MAX_EXPANDED_WORDS {
                    self.doubt("braces that become very many words");
                    all.truncate(MAX_EXPANDED_WORDS);
                }
                all
            }
            Some(None) => vec![source.to_string()],
            None => {
                self.doubt("braces that cannot be read");
                vec![source.to_string()]
            }
        }
    }

    /// An argument that looks like an assignment (`of=~/x`): bash expands a tilde behind its `=` and each `:`.
    fn assignment_tildes(&self, text: &str, found: &mut Vec<(Piece, bool)>) {
        let mut rest = text;
        while let Some(at) = rest.match_indices('~').map(|(at, _)| at).find(|at| {
            let before = rest.get(..*at).unwrap_or_default();
            let after = rest.get(at + 1..).unwrap_or_default();
            before.ends_with(['=', ':']) && (after.is_empty() || after.starts_with(['/', ':']))
        }) {
            let (before, after) =
                (rest.get(..at).unwrap_or_default(), rest.get(at + 1..).unwrap_or_default());
            found.push((Piece::Known { text: before.to_string(), quoted: false }, false));
            found.push(self.tilde(&TildeExpr::Home));
            rest = after;
        }
        found.push((Piece::Known { text: rest.to_string(), quoted: false }, false));
    }

    fn tilde(&self, tilde: &TildeExpr) -> (Piece, bool) {
        let known = |text: String| (Piece::Known { text, quoted: true }, false);
        match tilde {
            TildeExpr::Home => match self.state.variables.get("HOME").and_then(|home| home.first()) {
                Some(home) => match home.text() {
                    Some(home) => known(home.into_owned()),
                    None => (
                        Piece::Unknown { why: UnknownReason::Variable, taint: Taint::NONE, splits: false },
                        false,
                    ),
                },
                None => known(self.home.to_string()),
            },
            TildeExpr::UserHome(user) if user == "root" => known("/root".into()),
            TildeExpr::UserHome(user) => known(format!("/home/{user}")),
            TildeExpr::WorkingDir => match self.directory().text() {
                Some(directory) => known(directory.into_owned()),
                None => (
                    Piece::Unknown { why: UnknownReason::Variable, taint: Taint::NONE, splits: false },
                    false,
                ),
            },
            _ => (Piece::Unknown { why: UnknownReason::Variable, taint: Taint::NONE, splits: false }, false),
        }
    }

    /// Walks what is written as arithmetic and is a command in brackets: `$((rm -rf x) )`.
    pub(super) fn perhaps_script(&mut self, source: &str) {
        let plain = |text: &str| {
            text.chars()
                .all(|char| char.is_ascii_alphanumeric() || " \t\n_+-*/%<>=!&|^~?:,()#[]".contains(char))
        };
        let shown: String = if source.contains(['$', '`']) {
            let Some(word) = guarded(|| word::parse(source, &ParserOptions::default()).ok()) else {
                return self.doubt("something that is either arithmetic or a command");
            };
            let text = |piece: &WordPieceWithSource| match &piece.piece {
                WordPiece::Text(text) => text.clone(),
                _ => "1".to_string(),
            };
            word.iter().map(text).collect()
        } else {
            source.to_string()
        };
        let sum = plain(&shown)
            && (shown.len() > 200
                || shown.trim().is_empty()
                || brush_parser::arithmetic::parse(shown.trim()).is_ok());
        if !sum {
            self.doubt("something that is either arithmetic or a command");
            self.apart(|shell| shell.script(source, &super::run::InheritedIo::default()));
        }
    }

    /// A number, if the expression can be computed. Commands hidden in it are walked in any case.
    pub(super) fn arithmetic(&mut self, source: &str) -> Word {
        let expanded = if source.contains(['$', '`']) {
            self.check_references(source);
            self.single(source)
        } else {
            Word::known(source)
        };
        if !is_constant(source) {
            self.evaluate(&expanded);
        }
        let Some(text) = expanded.text() else {
            return Word::unknown(UnknownReason::Arithmetic, expanded.taint());
        };
        let text = text.into_owned();
        if text.len() > 200 || !text::is_plain_arithmetic(&text) {
            return Word::unknown(UnknownReason::Arithmetic, Taint::NONE);
        }
        match brush_parser::arithmetic::parse(&text).ok().and_then(|tree| self.compute(&tree, 0)) {
            Some(number) => Word::known(number.to_string()),
            None => Word::unknown(UnknownReason::Arithmetic, Taint::NONE),
        }
    }
}

/// Does the expression hold neither names nor values?
fn is_constant(source: &str) -> bool {
    source.chars().all(|char| char.is_ascii_digit() || " \t\n+-*/%<>=!&|^~?:,()".contains(char))
}

/// Neighbours that are known and quoted alike become one piece.
pub(super) fn merged(word: Word) -> Word {
    let mut merged = Word::default();
    for piece in word.pieces {
        match piece {
            Piece::Known { text, quoted } => merged.push(&text, quoted),
            unknown @ Piece::Unknown { .. } => merged.pieces.push(unknown),
        }
    }
    merged
}

/// Does a text begin like an assignment, and hold a tilde?
fn is_assignment_with_tilde(text: &str) -> bool {
    let Some((name, value)) = text.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_name = name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    is_name && value.contains('~')
}
