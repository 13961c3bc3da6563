//! Allowed lines that run only code known to the gate, so that they are safe without a sandbox.
//!
//! Inside Marvin an allowed command still runs in a sandbox; in a client it does not. There a hook may say "allow" only for a
//! line of a closed class (`data/harmless.toml`): commands that print or read inside the project, with known options, and start
//! nothing else: no script, interpreter, build, test runner or project binary, and no git command that the repository's own
//! configuration turns into one ([`git_config`]).
//!
//! The class is decided twice: by a scanner that accepts only the plainest lines, and on the commands that the shell parser
//! found. Both must agree word for word. Everything else is not harmless, which never means more than "no opinion".

mod git_config;
mod scan;

use crate::command::reach;
use crate::effects::{Grounds, Judgement, Place};
use crate::secrets;
use crate::shell::{self, RedirectKind, Segment, Taint, Word};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Files that one pattern of the shell may stand for.
const MAX_EXPANDED_PATHS: usize = 1_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    command: Vec<Row>,
}

/// Commands of the class.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    names: String,
    #[serde(default)]
    flags: String,
    #[serde(default)]
    values: String,
    operands: Operands,
    most: Option<usize>,
    #[serde(default)]
    style: Style,
    #[cfg_attr(not(test), expect(dead_code, reason = "checked by a test"))]
    example: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "checked by a test"))]
    not: Vec<String>,
}

/// The meaning of words that are not options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Operands {
    None,
    Text,
    Paths,
    /// A text, then paths.
    Pattern,
    /// Revisions of git and paths inside the repository.
    Revisions,
}

/// The syntax of options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Style {
    /// Short options may be joined, long ones take `=`.
    #[default]
    Unix,
    /// Every option is one word.
    Find,
}

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    // A table that cannot be read holds nothing, so that nothing is harmless; a test reads it.
    toml::from_str::<Table>(include_str!("../../data/harmless.toml"))
        .map(|table| table.command)
        .unwrap_or_default()
});

/// Is every effect of a judged line known and harmless, without a sandbox?
#[must_use]
pub fn is_harmless(line: &str, directory: &str, grounds: Grounds<'_>, judgement: &Judgement) -> bool {
    judgement.verdict.is_allowed()
        && judgement.doubts.is_empty()
        && harmless_commands(line, directory, grounds)
            .is_some_and(|commands| commands.iter().all(|harmless| *harmless))
}

/// Whether each command of a line is of the class; `None` for a line that is not plain.
pub(crate) fn harmless_commands(line: &str, directory: &str, grounds: Grounds<'_>) -> Option<Vec<bool>> {
    let firsts = scan::commands(line).filter(|firsts| !firsts.is_empty())?;
    let untainted = |_: &str, _: &[Word], _: &[Word]| Taint::NONE;
    let reading = shell::read(line, directory, grounds.home, &untainted);
    if !reading.doubts.is_empty() || reading.recursion || reading.segments.len() != firsts.len() {
        return None;
    }
    let judged = reading.segments.iter().zip(&firsts).map(|(segment, first)| {
        segment.words.first().is_some_and(|word| word.is(first)) && is_harmless_command(segment, grounds)
    });
    Some(judged.collect())
}

fn is_harmless_command(segment: &Segment, grounds: Grounds<'_>) -> bool {
    let [directory] = segment.directories.as_slice() else { return false };
    let Some(directory) = directory.text() else { return false };
    let words: Option<Vec<String>> =
        segment.words.iter().map(|word| word.text().map(std::borrow::Cow::into_owned)).collect();
    let Some(words) = words else { return false };
    let has_variables = !segment.environment.is_empty() || !segment.inherited.is_empty();
    if has_variables || !segment.through.is_empty() || segment.elsewhere {
        return false;
    }
    let directory = Path::new(&*directory);
    if !is_inside(&Word::known("."), directory, grounds) {
        return false;
    }
    let is_open_redirect =
        segment.redirects.iter().all(|redirect| match (redirect.kind, redirect.target.text()) {
            (_, Some(target)) if target == "/dev/null" => true,
            (RedirectKind::Read, Some(_)) => is_inside(&redirect.target, directory, grounds),
            _ => false,
        });
    let Some((row, skip)) = row_of(&words) else { return false };
    if !is_open_redirect || skip > 1 && !git_config::runs_nothing(directory, Path::new(grounds.workspace)) {
        return false;
    }
    let Some(operands) = row.operands_of(words.get(skip..).unwrap_or_default()) else { return false };
    let operand = |at: &usize| segment.words.get(skip + at);
    let are_paths = |at: &[usize]| {
        at.iter().all(|at| operand(at).is_some_and(|word| is_inside(word, directory, grounds)))
    };
    if row.most.is_some_and(|most| operands.len() > most) {
        return false;
    }
    match row.operands {
        Operands::None => operands.is_empty(),
        Operands::Text => words.first().is_some_and(|name| is_text(name, &words)),
        Operands::Paths => are_paths(&operands),
        Operands::Pattern => operands.split_first().is_none_or(|(_, paths)| are_paths(paths)),
        Operands::Revisions => operands.iter().all(|at| operand(at).is_some_and(is_revision)),
    }
}

/// Words of a program that takes text: `date` sets the clock by one, `printf -v` evaluates another.
fn is_text(name: &str, words: &[String]) -> bool {
    let mut rest = words.iter().skip(1);
    match name {
        "date" => rest.all(|word| word.starts_with(['+', '-'])),
        "printf" => !rest.next().is_some_and(|first| first.starts_with('-')),
        _ => true,
    }
}

/// The row of a command, and how many words name it.
fn row_of(words: &[String]) -> Option<(&'static Row, usize)> {
    let has = |row: &Row, name: &str| row.names.split_whitespace().any(|own| own == name);
    let (name, skip) = match words {
        [git, pager, verb, ..] if git == "git" && pager == "--no-pager" => (format!("git_{verb}"), 3),
        [git, verb, ..] if git == "git" => (format!("git_{verb}"), 2),
        [name, ..] => (name.clone(), 1),
        [] => return None,
    };
    TABLE.iter().find(|row| has(row, &name)).map(|row| (row, skip))
}

impl Row {
    /// The positions of operands; `None` when an option is not known.
    fn operands_of(&self, words: &[String]) -> Option<Vec<usize>> {
        let is_flag = |word: &str| self.flags.split_whitespace().any(|flag| flag == word);
        let is_value = |word: &str| self.values.split_whitespace().any(|value| value == word);
        // Programs that print take everything that is not an option as it stands.
        let is_plain = self.flags.is_empty() && self.values.is_empty() && self.operands == Operands::Text;
        let mut operands = Vec::new();
        let mut has_pattern = false;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            at += 1;
            if is_plain || !word.starts_with('-') || word == "-" {
                if self.style == Style::Find && matches!(word.as_str(), "(" | ")" | "!" | ",") {
                    continue;
                }
                operands.push(at - 1);
                continue;
            }
            if word == "--" && self.style == Style::Unix {
                operands.extend(at..words.len());
                break;
            }
            has_pattern |= matches!(word.as_str(), "-e" | "--regexp" | "--files");
            if is_flag(word) {
                continue;
            }
            if is_value(word) {
                words.get(at)?;
                at += 1;
                continue;
            }
            if self.style == Style::Find {
                return None;
            }
            if let Some((name, _)) = word.split_once('=').filter(|_| word.starts_with("--")) {
                has_pattern |= name == "--regexp";
                if is_value(name) {
                    continue;
                }
                return None;
            }
            if word.starts_with("--") {
                return None;
            }
            let letters = word.get(1..)?;
            if is_flag("-#") && letters.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            for (offset, letter) in letters.char_indices() {
                let short = format!("-{letter}");
                if is_value(&short) {
                    has_pattern |= letter == 'e';
                    // What follows is its value; without that the next word is.
                    if offset + letter.len_utf8() == letters.len() {
                        words.get(at)?;
                        at += 1;
                    }
                    break;
                }
                if !is_flag(&short) {
                    return None;
                }
            }
        }
        // With the pattern in an option, every operand is a path: the first is checked with the others.
        if self.operands == Operands::Pattern && has_pattern {
            operands.insert(0, usize::MAX);
        }
        Some(operands)
    }
}

/// Does a word, or everything that it stands for as a pattern, lie in the workspace and hold no credentials?
fn is_inside(word: &Word, directory: &Path, grounds: Grounds<'_>) -> bool {
    let Some(text) = word.text() else { return false };
    if text == "-" {
        return true;
    }
    let path = directory.join(&*text);
    let paths: Vec<PathBuf> = if word.globs() {
        match reach::expand(&path) {
            Some(paths) if paths.len() <= MAX_EXPANDED_PATHS => paths,
            _ => return false,
        }
    } else {
        vec![path]
    };
    let workspace = reach::real(Path::new(grounds.workspace));
    let home = reach::real(Path::new(grounds.home));
    let (workspace, home) = (workspace.to_string_lossy(), home.to_string_lossy());
    let real = Grounds { workspace: &workspace, home: &home };
    paths.iter().all(|path| {
        let path = reach::real(path);
        let place = Place::of_path(&path.to_string_lossy(), true, false, real);
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        matches!(place, Place::Inside | Place::Regenerable | Place::Workspace | Place::Instructions)
            && path.starts_with(&*workspace)
            && !secrets::is_project_secret(&name)
    })
}

/// A revision, or a path inside the repository that holds no credentials.
fn is_revision(word: &Word) -> bool {
    let Some(text) = word.text() else { return false };
    let path = text.rsplit(':').next().unwrap_or(&text);
    let name = path.rsplit('/').next().unwrap_or(path);
    !word.globs()
        && !text.starts_with(['/', '~', '-'])
        && !path.split('/').any(|part| part == "..")
        && !secrets::is_project_secret(name)
        && !text.contains(":(")
}

#[cfg(test)]
mod tests;
