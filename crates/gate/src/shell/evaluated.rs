//! Values that bash evaluates again: arithmetic, subscripts, and words that name variables.
//!
//! Arithmetic takes the value of every name in it as an expression, and the subscript of such a value is expanded:
//! `a='x[$(id)]'; echo $((a))` runs `id`. The same holds for `let`, `[[ -eq ]]`, `${x:a}`, integer variables, `unset`,
//! `read`, `printf -v`, `test -v`, `${!x}` and namerefs. What is known is followed to its end. What comes from outside (a
//! file, a command, the environment) is doubted, unless its source prints nothing but numbers.
//!
//! Limit: a variable in lower case that the line only counts up (`((n++))`) is taken for a counter that starts at zero.

use super::state::{Shell, Variable};
use super::value::{Piece, Taint, UnknownReason, Word};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Names that one evaluation looks up.
const MAX_EVALUATED_NAMES: usize = 64;
/// Nesting of values of values that is followed.
const MAX_EVALUATION_DEPTH: usize = 16;

/// Variables that bash itself keeps as numbers.
const NUMERIC_VARIABLES: [&str; 18] = [
    "BASHPID",
    "BASH_SUBSHELL",
    "COLUMNS",
    "EPOCHSECONDS",
    "EUID",
    "GID",
    "HISTCMD",
    "LINENO",
    "LINES",
    "OPTERR",
    "OPTIND",
    "PIPESTATUS",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SHLVL",
    "SRANDOM",
    "UID",
];

/// Said where a value holds a command that evaluating it would run.
const RUNS: &str = "a value that runs a command when it is evaluated";

impl Shell<'_> {
    /// Follows an expression as arithmetic, after its expansion.
    pub(super) fn evaluate(&mut self, expression: &Word) {
        let mut seen = BTreeSet::new();
        self.evaluate_at(expression, &mut seen, 0);
    }

    fn evaluate_at(&mut self, expression: &Word, seen: &mut BTreeSet<String>, depth: usize) {
        if depth > MAX_EVALUATION_DEPTH || seen.len() > MAX_EVALUATED_NAMES {
            return self.doubt("arithmetic over more values than can be followed");
        }
        let mut text = String::new();
        for piece in &expression.pieces {
            match piece {
                Piece::Known { text: part, .. } => text.push_str(part),
                Piece::Unknown { why, taint, .. } => {
                    if !is_number(*why, *taint) {
                        self.doubt("arithmetic over a value that is not known");
                    }
                    text.push('1');
                }
            }
        }
        if text.contains(['$', '`']) {
            return self.run_value(&text);
        }
        for name in names(&text) {
            if name.in_subscript_of.is_some_and(|outer| self.is_associative(outer)) {
                continue;
            }
            self.evaluate_name(&name, seen, depth);
        }
    }

    fn evaluate_name(&mut self, name: &Name<'_>, seen: &mut BTreeSet<String>, depth: usize) {
        if !seen.insert(name.text.to_string()) {
            return;
        }
        if let Some(variable) = self.state.variables.get(name.text).cloned() {
            for value in variable.choices.iter().flatten() {
                if value.globs() {
                    self.doubt("arithmetic over the names of files");
                }
                if variable.reference {
                    self.check_name(value);
                }
                self.evaluate_at(value, seen, depth + 1);
            }
            return;
        }
        if NUMERIC_VARIABLES.contains(&name.text) {
            return;
        }
        let counter = name.assigned || self.counter.as_deref() == Some(name.text);
        if counter && !name.text.contains(|letter: char| letter.is_ascii_uppercase()) {
            let zero = Variable::one(Word::unknown(UnknownReason::Arithmetic, Taint::NUMBER));
            Rc::make_mut(&mut self.state.variables).insert(name.text.to_string(), zero);
        } else {
            self.doubt("arithmetic over a variable that the line does not set");
        }
    }

    /// Walks the commands of a text that is expanded when it is evaluated.
    fn run_value(&mut self, text: &str) {
        self.doubt(RUNS);
        match super::bounds::obstacle(text) {
            Some(obstacle) => self.doubt(obstacle),
            None => drop(self.deeper(|shell| shell.apart(|shell| shell.single(text)))),
        }
    }

    /// A word that names a variable: `NAME` or `NAME[SUBSCRIPT]`, whose subscript is evaluated.
    pub(super) fn check_name(&mut self, word: &Word) {
        let Some(text) = word.text() else {
            let numbered = |piece: &Piece| match piece {
                Piece::Known { text, .. } => !text.contains('['),
                Piece::Unknown { why, taint, .. } => is_number(*why, *taint),
            };
            if !word.pieces.iter().all(numbered) {
                self.doubt("a variable whose name is not known");
            }
            return;
        };
        if word.globs() && !text.contains(['[', ']']) {
            return self.doubt("a variable whose name is a pattern");
        }
        let Some((name, index)) = text.split_once('[') else { return };
        let index = index.rsplit_once(']').map_or(index, |(index, _)| index);
        if index.contains(['$', '`']) {
            self.run_value(index);
        } else if !matches!(index, "@" | "*") && !self.is_associative(name) {
            let index = Word::known(index);
            self.evaluate(&index);
        }
    }

    /// The subscript of a variable in an expansion or an assignment.
    pub(super) fn subscript(&mut self, name: &str, index: &str) -> Word {
        if self.is_associative(name) { self.single(index) } else { self.arithmetic(index) }
    }

    fn is_associative(&self, name: &str) -> bool {
        self.state.variables.get(name).is_some_and(|variable| variable.associative)
    }

    /// A literal of the shape `x[$(command)]` runs the command wherever it is evaluated, so it is never only text.
    pub(super) fn check_value(&mut self, value: &Word) {
        if value.text().is_some_and(|text| hides_command(&text)) {
            self.doubt(RUNS);
        }
    }

    /// Words of a command that some shell evaluates as a number: `exit`, `shift`, `[ … -eq … ]`.
    pub(super) fn check_numbers(&mut self, words: &[Word]) {
        words.iter().for_each(|word| self.check_value(word));
    }

    /// `$name` in arithmetic: a loop over files gives names that any process may have chosen.
    pub(super) fn check_references(&mut self, source: &str) {
        for behind in source.split('$').skip(1) {
            let behind = behind.strip_prefix('{').unwrap_or(behind);
            let end = behind.find(|letter: char| !is_name_letter(letter)).unwrap_or(behind.len());
            let name = behind.get(..end).unwrap_or_default();
            let pattern = self
                .state
                .variables
                .get(name)
                .is_some_and(|variable| variable.choices.iter().flatten().any(Word::globs));
            if pattern {
                self.doubt("arithmetic over the names of files");
            }
        }
    }

    /// A text that bash expands: `PS4`, `${x@P}`, `compgen -W`. Octal escapes can write a substitution, too.
    pub(super) fn prompt(&mut self, value: &Word) {
        let Some(text) = value.text() else {
            return self.doubt("a text that is not known, in which commands are run");
        };
        let octal =
            text.split('\\').skip(1).any(|part| part.starts_with(|digit: char| digit.is_ascii_digit()));
        if octal || text.contains("$(") || text.contains('`') {
            let text = super::text::ansi_c(&text);
            self.doubt("a text in which commands are run");
            match super::bounds::obstacle(&text) {
                Some(obstacle) => self.doubt(obstacle),
                None => drop(self.deeper(|shell| shell.apart(|shell| shell.single(&text)))),
            }
        }
    }
}

/// Does an unknown piece stand for a number?
pub(super) fn is_number(why: UnknownReason, taint: Taint) -> bool {
    why == UnknownReason::Arithmetic || taint.has(Taint::NUMBER)
}

/// Is every piece of the word a number, or text of which numbers are made?
pub(super) fn is_numeric(word: &Word) -> bool {
    word.pieces.iter().all(|piece| match piece {
        Piece::Known { text, .. } => {
            text.chars().all(|char| char.is_ascii_digit() || " \t\n-".contains(char))
        }
        Piece::Unknown { why, taint, .. } => is_number(*why, *taint),
    })
}

/// Is this variable one that evaluates what it is set to?
pub(super) fn is_integer_variable(name: &str) -> bool {
    NUMERIC_VARIABLES.contains(&name) && name != "PIPESTATUS"
}

/// Has the text the shape `name[… $(…) …]`?
fn hides_command(text: &str) -> bool {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('[')).map(|at| from + at) {
        let named = text.get(..at).is_some_and(|before| before.ends_with(is_name_letter));
        let behind = text.get(at..).unwrap_or_default();
        if named && (behind.contains("$(") || behind.contains('`')) {
            return true;
        }
        from = at + 1;
    }
    false
}

fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// A name in an expression.
struct Name<'t> {
    text: &'t str,
    /// Whether the expression sets it.
    assigned: bool,
    /// The array in whose subscript it stands.
    in_subscript_of: Option<&'t str>,
}

/// The names of variables in an expression. Numbers with letters (`0x1f`, `16#ff`) are not names.
fn names(text: &str) -> Vec<Name<'_>> {
    let mut found = Vec::new();
    let mut arrays: Vec<&str> = Vec::new();
    let mut at = 0;
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        if letter == ']' {
            arrays.pop();
        }
        if !is_name_letter(letter) {
            at += letter.len_utf8();
            continue;
        }
        let number = letter.is_ascii_digit();
        let belongs = |char: char| is_name_letter(char) || number && matches!(char, '#' | '@');
        let length = rest.find(|char: char| !belongs(char)).unwrap_or(rest.len());
        let name = rest.get(..length).unwrap_or_default();
        let before = text.get(..at).unwrap_or_default().trim_end();
        let behind = rest.get(length..).unwrap_or_default();
        at += length;
        if number {
            continue;
        }
        let assigned = before.ends_with("++") || before.ends_with("--") || is_assigned(behind);
        found.push(Name { text: name, assigned, in_subscript_of: arrays.last().copied() });
        if behind.starts_with('[') {
            arrays.push(name);
            at += 1;
        }
    }
    found
}

/// Does an assignment operator follow a name?
fn is_assigned(behind: &str) -> bool {
    let behind = match behind.strip_prefix('[') {
        Some(subscript) => subscript.split_once(']').map_or("", |(_, rest)| rest),
        None => behind,
    };
    let behind = behind.trim_start();
    if behind.starts_with("++") || behind.starts_with("--") {
        return true;
    }
    let operator = behind.trim_start_matches(['+', '-', '*', '/', '%', '&', '|', '^', '<', '>']);
    let length = behind.len() - operator.len();
    operator.starts_with('=')
        && !operator.starts_with("==")
        && (length <= 1 && !behind.starts_with(['<', '>'])
            || length == 2 && (behind.starts_with("<<") || behind.starts_with(">>")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_numbers_and_keys() {
        let text =
            |source| names(source).into_iter().map(|name| (name.text, name.assigned)).collect::<Vec<_>>();
        assert_eq!(text("a + 0x1f * b_1 - 16#ff"), [("a", false), ("b_1", false)]);
        assert_eq!(text("i++ + --j"), [("i", true), ("j", true)]);
        assert_eq!(text("a == 1 && b <= 2 || c >= 3"), [("a", false), ("b", false), ("c", false)]);
        assert_eq!(
            text("a = 1, b += 2, c <<= 3, d[e] = 4"),
            [("a", true), ("b", true), ("c", true), ("d", true), ("e", false)]
        );
        let inner = names("m[key] + n");
        assert_eq!(
            inner.iter().map(|name| name.in_subscript_of).collect::<Vec<_>>(),
            [None, Some("m"), None]
        );
    }

    #[test]
    fn a_subscript_with_a_command_is_seen() {
        for text in ["x[$(id)]", "a+b[`id`]", "1,y[0$(id)]"] {
            assert!(hides_command(text), "{text}");
        }
        for text in ["[a-z]$(id)", "x[1]", "$(id)", "see [1] and `code`"] {
            assert!(!hides_command(text), "{text}");
        }
    }
}
