//! Patterns that match whatever they are given.

use regex::{Regex, RegexBuilder};

/// Lines that have nothing in common. A pattern that matches most of them asks for nothing in particular.
const PROBES: [&str; 5] = ["quiet fox", "WORD UP", "8 }", "~ ~ ;", "let x = y;"];
/// Probes that a pattern may match.
const MAX_PROBES: usize = 2;
/// Bytes of a compiled pattern.
const MAX_REGEX_BYTES: usize = 1 << 20;

/// The syntax of a program's patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    Basic,
    Extended,
    Fixed,
}

/// The demand of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// A certain text.
    Text,
    /// Any text that is not empty.
    Anything,
    /// Nothing: it matches the empty text, too.
    Nothing,
    /// It cannot be read.
    Unclear,
}

/// Classifies a pattern; `whole` when it must match whole lines.
pub(super) fn demand(pattern: &str, syntax: Syntax, whole: bool) -> Demand {
    let mut found = Demand::Unclear;
    for line in pattern.split('\n') {
        let one = demand_of_line(line, syntax, whole);
        if one != Demand::Text {
            return one;
        }
        found = one;
    }
    found
}

fn demand_of_line(pattern: &str, syntax: Syntax, whole: bool) -> Demand {
    let source = match syntax {
        Syntax::Fixed => regex::escape(pattern),
        Syntax::Extended => pattern.to_string(),
        Syntax::Basic => extended(pattern),
    };
    let source = if whole { format!("^(?:{source})$") } else { source };
    let Some(regex) = compile(&source) else { return Demand::Unclear };
    // The regex of an empty line asks for nothing in a text of many lines.
    if regex.is_match("") {
        return Demand::Nothing;
    }
    let matched = PROBES.iter().filter(|probe| regex.is_match(probe)).count();
    if matched > MAX_PROBES { Demand::Anything } else { Demand::Text }
}

/// Compiles a pattern of bounded size.
pub(super) fn compile(source: &str) -> Option<Regex> {
    RegexBuilder::new(source).size_limit(MAX_REGEX_BYTES).build().ok()
}

/// A basic regular expression, written as an extended one.
fn extended(basic: &str) -> String {
    let mut written = String::new();
    let mut chars = basic.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(next @ ('(' | ')' | '{' | '}' | '|' | '+' | '?')) => written.push(next),
                Some(next) => written.extend(['\\', next]),
                None => written.push('\\'),
            },
            '(' | ')' | '{' | '}' | '|' | '+' | '?' => written.extend(['\\', char]),
            '*' if written.is_empty() || written == "^" => written.push_str("\\*"),
            char => written.push(char),
        }
    }
    written
}

/// Whether a glob of bash asks for a certain text: a letter or digit outside of brackets.
pub(super) fn is_demanding_glob(pattern: &str) -> bool {
    let mut in_brackets = false;
    pattern.chars().any(|char| {
        match char {
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            char if !in_brackets && char.is_alphanumeric() => return true,
            _ => {}
        }
        false
    })
}
