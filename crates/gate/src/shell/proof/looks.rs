//! `test`, `[`, `[[` and `((`: do they look at anything, and can they fail when what they look at does not hold?
//!
//! They are tried out: with every exit code for `$?` and for variables that hold one, and with nothing for what programs
//! print that could fail without a word. What holds for success and for failure alike is no check.

use super::words::{self, Sample};
use super::{Code, Mask, Proof, join, names};
use brush_parser::ast::ExtendedTestExpr as Expr;

/// A word: its text where that is certain, and its source.
pub(super) type Given<'a> = (Option<String>, &'a str);

impl Proof {
    /// `test …`, `[ … ]`
    pub(super) fn tested(&mut self, rest: &[Given<'_>], text: &str) -> Code {
        let sources: Vec<&str> = rest.iter().map(|(_, source)| *source).collect();
        let sources: Vec<&str> = match sources.split_last() {
            Some((&"]", before)) => before.to_vec(),
            _ => sources,
        };
        if rest.iter().any(|(text, _)| text.as_deref() == Some("-o")) && self.is_loud(&sources) {
            return Code::masked(enough(text));
        }
        self.judged(text, &sources, |proof, sample| proof.holds(&sources, sample, 0))
    }

    /// `[[ … ]]`
    pub(super) fn tested_further(&mut self, expression: &Expr, text: &str) -> Code {
        let mut sources = Vec::new();
        sources_of(expression, &mut sources);
        // Two texts that stand there are the same at every run.
        let is_unary = text.split_whitespace().any(|word| word.len() == 2 && word.starts_with('-'));
        if !is_unary && !text.contains(['$', '`']) {
            return Code::masked(constant(text));
        }
        if has_or(expression) && self.is_loud(&sources) {
            return Code::masked(enough(text));
        }
        self.judged(text, &sources, |proof, sample| proof.holds_further(expression, sample))
    }

    /// `(( … ))`, `let …`
    pub(super) fn counted(&mut self, sums: &[&str], text: &str) -> Code {
        for sum in sums {
            self.hear_names(&words::identifiers(sum));
        }
        let assigns = sums.iter().any(|sum| {
            let plain = sum.replace("==", "").replace("!=", "").replace("<=", "").replace(">=", "");
            plain.contains('=') || plain.contains("++") || plain.contains("--")
        });
        let code = self.judged(text, sums, |proof, sample| {
            let last = sums.last()?;
            Some(proof.sum(last.trim_matches(['"', '\'']), sample)? != 0)
        });
        if assigns {
            sums.iter().for_each(|sum| self.touched(sum));
        }
        code
    }

    /// The code of a test, from trying it out.
    fn judged(
        &mut self,
        text: &str,
        sources: &[&str],
        holds: impl Fn(&Proof, Sample) -> Option<bool>,
    ) -> Code {
        for source in sources {
            self.hear(source);
            for script in Proof::substitutions(source) {
                self.overheard(&script);
            }
        }
        match holds(self, Sample::default()) {
            Some(true) => return Code::masked(constant(text)),
            Some(false) => return Code::fails(),
            None => {}
        }
        let at = |proof: &Proof, status: i64| holds(proof, Sample { status: Some(status), silent: false });
        let codes = self.codes_in(sources);
        let outcomes: Option<Vec<bool>> = (0..256).map(|status| at(self, status)).collect();
        if let (Some(code), Some(outcomes)) = (codes, outcomes) {
            return of_status(text, code, &outcomes);
        }
        if self.is_of_shell(sources) {
            return Code::masked(constant(text));
        }
        if holds(self, Sample { status: None, silent: true }) == Some(true) {
            let why = "holds also when the program whose output it looks at fails without a word";
            let mend = "listen to the exit code too: `out=$(…) && …`";
            return Code::masked(Mask::new(text, why, mend));
        }
        self.check()
    }

    /// Do they look at what a program prints that could fail?
    pub(super) fn is_loud(&self, sources: &[&str]) -> bool {
        let mut scripts = sources.iter().flat_map(|source| Proof::substitutions(source));
        scripts.any(|script| self.silence(&script).is_some())
    }

    /// Do they look at nothing but the shell itself?
    fn is_of_shell(&self, sources: &[&str]) -> bool {
        let is_file = |source: &&str| matches!(source.as_bytes(), [b'-', letter] if b"abcdefghkprstuwxGLNOS".contains(letter));
        let own = |source: &&str| {
            let plain = source.trim_matches('"');
            matches!(plain, "$#" | "$$" | "$-" | "$0" | "$!")
                || plain
                    .strip_prefix('$')
                    .is_some_and(|name| names::is_of_shell(name.trim_matches(['{', '}'])))
        };
        let unknown = || sources.iter().filter(|source| self.text(source).is_none());
        !sources.iter().any(is_file) && unknown().count() > 0 && unknown().all(own)
    }

    /// What the exit codes in words can be; none when there are none in them.
    pub(super) fn codes_in(&self, sources: &[&str]) -> Option<Code> {
        let mut code = None;
        for source in sources {
            if source.contains("$?") || source.contains("${?}") {
                code = join(code, Some(self.last.clone()));
            }
            let names = words::variables(source).into_iter().chain(words::identifiers(source));
            for value in names.filter_map(|name| self.values.get(&name)).filter(|value| value.is_status) {
                code = join(code, Some(value.code.clone()));
            }
        }
        code
    }

    fn holds(&self, sources: &[&str], sample: Sample, depth: usize) -> Option<bool> {
        let operator = |source: &&str| self.text(source);
        let deeper = |sources: &[&str]| self.holds(sources, sample, depth + 1);
        if depth > 20 {
            return None;
        }
        let texts: Vec<Option<String>> = sources.iter().map(operator).collect();
        let is = |at: usize, wanted: &str| texts.get(at).is_some_and(|text| text.as_deref() == Some(wanted));
        match sources {
            [] => return Some(false),
            [one] => return self.filled(one, sample),
            [_, word] => {
                return match texts.first()?.as_deref()? {
                    "!" => self.filled(word, sample).map(|holds| !holds),
                    "-n" if !word.starts_with(['"', '\'']) && self.sampled(word, sample).is_none() => {
                        // Empty and without quotes it vanishes, and `-n` alone is a text.
                        Some(true)
                    }
                    "-e" | "-f" | "-d" | "-r" | "-s" | "-w" | "-x" | "-L" | "-h"
                        if words::bare_variable(word)
                            .is_some_and(|name| !self.values.contains_key(&name)) =>
                    {
                        Some(true)
                    }
                    operator => self.unary(operator, word, sample),
                };
            }
            [left, _, right] => {
                if let Some(operator) = texts.get(1)?.as_deref()
                    && !matches!(operator, "-a" | "-o")
                    && (operator.starts_with('-') || matches!(operator, "=" | "==" | "!=" | "<" | ">"))
                {
                    return self.binary(left, operator, right, sample);
                }
            }
            _ => {}
        }
        let inside = 1..sources.len().saturating_sub(1);
        for (word, either) in [("-o", true), ("-a", false)] {
            if let Some(at) = inside.clone().find(|at| is(*at, word)) {
                let (left, right) = (sources.get(..at)?, sources.get(at + 1..)?);
                return both(deeper(left), deeper(right), either);
            }
        }
        match sources {
            [_, rest @ ..] if is(0, "!") => deeper(rest).map(|holds| !holds),
            [_, inner @ .., _] if is(0, "(") && is(sources.len() - 1, ")") => deeper(inner),
            _ => None,
        }
    }

    fn holds_further(&self, expression: &Expr, sample: Sample) -> Option<bool> {
        match expression {
            Expr::And(left, right) => {
                both(self.holds_further(left, sample), self.holds_further(right, sample), false)
            }
            Expr::Or(left, right) => {
                both(self.holds_further(left, sample), self.holds_further(right, sample), true)
            }
            Expr::Not(inner) => self.holds_further(inner, sample).map(|holds| !holds),
            Expr::Parenthesized(inner) => self.holds_further(inner, sample),
            Expr::UnaryTest(kind, word) => self.unary(&kind.to_string(), &word.value, sample),
            Expr::BinaryTest(kind, left, right) => {
                let operator = kind.to_string();
                let pattern = right.value.trim_matches('"');
                if operator == "=~" {
                    // What fits everything.
                    let loose = matches!(pattern, "" | ".*" | "^" | "$" | "^.*$" | "^.*" | ".*$");
                    return loose.then_some(true);
                }
                if matches!(operator.as_str(), "==" | "!=")
                    && right.value.contains(['*', '?', '['])
                    && !right.value.starts_with(['"', '\''])
                {
                    let fits = if right.value.chars().all(|char| char == '*') {
                        true
                    } else {
                        let text = self.sampled(&left.value, sample)?;
                        fits(&right.value, &text)?
                    };
                    return Some(fits == (operator == "=="));
                }
                self.binary(&left.value, &operator, &right.value, sample)
            }
        }
    }

    /// Is a text there?
    fn filled(&self, word: &str, sample: Sample) -> Option<bool> {
        match self.sampled(word, sample) {
            Some(text) => Some(!text.is_empty()),
            None => words::is_never_empty(word).then_some(true),
        }
    }

    fn unary(&self, operator: &str, word: &str, sample: Sample) -> Option<bool> {
        match operator {
            "-n" => self.filled(word, sample),
            "-z" => self.filled(word, sample).map(|filled| !filled),
            "-e" | "-f" | "-a" | "-r" | "-s" | "-w" | "-x" | "-d" | "-O" | "-G" if is_always_there(word) => {
                Some(true)
            }
            _ => None,
        }
    }

    fn binary(&self, left: &str, operator: &str, right: &str, sample: Sample) -> Option<bool> {
        if left == right && matches!(operator, "=" | "==" | "-eq" | "-le" | "-ge" | "-ef") {
            return Some(true);
        }
        let (one, two) = (self.sampled(left, sample), self.sampled(right, sample));
        let plain = |source: &str| source.trim_matches(['"', '\'']).to_string();
        let apart = |filled: &str, text: &Option<String>| {
            words::is_never_empty(filled) && text.as_deref() == Some("")
        };
        match operator {
            // `x$out` is not the empty text.
            "!=" if apart(left, &two) || apart(right, &one) => Some(true),
            "=" | "==" => Some(one? == two?),
            "!=" => Some(one? != two?),
            "<" => Some(one? < two?),
            ">" => Some(one? > two?),
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                let number = |text: Option<String>, source: &str| match text {
                    Some(text) => text.trim().parse::<i64>().ok(),
                    None => self.sum(&plain(source), sample),
                };
                let (one, two) = (number(one, left)?, number(two, right)?);
                Some(match operator {
                    "-eq" => one == two,
                    "-ne" => one != two,
                    "-lt" => one < two,
                    "-le" => one <= two,
                    "-gt" => one > two,
                    _ => one >= two,
                })
            }
            _ => None,
        }
    }
}

/// The code of a test of exit codes, from its outcome for each.
fn of_status(text: &str, code: Code, outcomes: &[bool]) -> Code {
    let good = outcomes.first().copied().unwrap_or_default();
    let usual = outcomes.get(1).copied().unwrap_or_default();
    let bad = outcomes.get(1..).unwrap_or_default();
    let pass = code.pass && good || code.fail && bad.contains(&true);
    let fail = code.pass && !good || code.fail && bad.contains(&false);
    if code.fail && usual && (good || !code.pass) {
        let why = "holds for the exit codes of success and of failure alike";
        return Code::masked(Mask::new(text, why, "compare with 0: `[ $? -eq 0 ]`"));
    }
    if !fail {
        return Code::masked(constant(text));
    }
    Code { pass, fail, ..code }
}

/// One or both of two that may not be known.
fn both(left: Option<bool>, right: Option<bool>, either: bool) -> Option<bool> {
    match (left, right) {
        (Some(one), _) | (_, Some(one)) if one == either => Some(either),
        (Some(_), Some(_)) => Some(!either),
        _ => None,
    }
}

fn sources_of<'a>(expression: &'a Expr, found: &mut Vec<&'a str>) {
    match expression {
        Expr::And(left, right) | Expr::Or(left, right) => {
            sources_of(left, found);
            sources_of(right, found);
        }
        Expr::Not(inner) | Expr::Parenthesized(inner) => sources_of(inner, found),
        Expr::UnaryTest(_, word) => found.push(&word.value),
        Expr::BinaryTest(_, left, right) => found.extend([left.value.as_str(), right.value.as_str()]),
    }
}

fn has_or(expression: &Expr) -> bool {
    match expression {
        Expr::Or(..) => true,
        Expr::And(left, right) => has_or(left) || has_or(right),
        Expr::Not(inner) | Expr::Parenthesized(inner) => has_or(inner),
        Expr::UnaryTest(..) | Expr::BinaryTest(..) => false,
    }
}

fn enough(text: &str) -> Mask {
    Mask::new(
        text,
        "is content with something else than what the program in it says",
        "let only what the program says decide",
    )
}

/// Does a text fit a pattern with `*` and `?`? None when there is more in the pattern.
pub(super) fn fits(pattern: &str, text: &str) -> Option<bool> {
    let pattern: String = pattern.chars().filter(|char| !matches!(char, '"' | '\'')).collect();
    if pattern.contains(['[', '(', '\\', '$', '`']) {
        return None;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().take(300).collect();
    // Which beginnings of the text the pattern so far fits.
    let mut reached = vec![false; text.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    for sign in pattern {
        let mut next = vec![false; text.len() + 1];
        let mut any = false;
        for (at, place) in next.iter_mut().enumerate() {
            any |= reached.get(at).copied().unwrap_or_default();
            let before = at.checked_sub(1);
            let one = before.is_some_and(|at| {
                reached.get(at).copied().unwrap_or_default()
                    && (sign == '?' || text.get(at).is_some_and(|char| *char == sign))
            });
            *place = if sign == '*' { any } else { one };
        }
        reached = next;
    }
    reached.last().copied()
}

/// A place that is there in every project, or on every machine.
pub(super) fn is_always_there(source: &str) -> bool {
    const VARIABLES: [&str; 4] = ["$PWD", "${PWD}", "$HOME", "${HOME}"];
    let plain: String = source.chars().filter(|char| !matches!(char, '"' | '\'')).collect();
    if VARIABLES.contains(&plain.trim_end_matches('/')) || plain == "~" || plain == "$0" {
        return true;
    }
    if plain.contains(['$', '`', '*', '?']) || plain.is_empty() {
        return false;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in plain.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    if plain.starts_with('/') {
        return matches!(parts.as_slice(), [] | [_] | ["dev" | "proc" | "sys", ..])
            || names::is_of_every_machine(&parts.join("/"));
    }
    matches!(parts.as_slice(), [] | [".git" | ".marvin", ..]) || parts.iter().all(|part| *part == "..")
}

pub(super) fn constant(text: &str) -> Mask {
    Mask::new(
        text,
        "compares only what is written in it, or what is always there, so its outcome is fixed",
        "let it look at the project",
    )
}
