//! Facts about programs: which of their words they read, write, delete or run.
//!
//! The table of `data/facts.toml` becomes constants when this crate is built. A project may add programs in the same format
//! ([`MoreFacts`]); what the table knows already stays as it is.

use super::arguments::FlagNames;
use super::facts_row::Row;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a program is to the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Class {
    /// Its words are text: nothing outside is touched.
    Print,
    /// It looks at names and dates only.
    List,
    /// It reads its operands.
    Read,
    /// It reads its first operands and writes the last.
    Convert,
    /// It changes its operands where they are.
    Change,
    /// It writes its operands.
    Write,
    /// It makes empty directories.
    Directory,
    /// It runs the project's own code: builds, tests, linters.
    Build,
    /// It asks what the verbs say; others are asked about.
    Verbs,
    /// A person is asked.
    Ask,
    /// It is never run.
    Deny,
}

/// A list of words: of the table, or of a project.
#[derive(Debug, Clone)]
pub(crate) enum Words {
    Fixed(&'static [&'static str]),
    Own(Vec<String>),
}

impl Words {
    fn get(&self, at: usize) -> Option<&str> {
        match self {
            Words::Fixed(words) => words.get(at).copied(),
            Words::Own(words) => words.get(at).map(String::as_str),
        }
    }
}

impl FlagNames for Words {
    fn names(&self) -> impl Iterator<Item = &str> {
        (0..).map_while(|at| self.get(at))
    }
}

/// The facts of one program.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) class: Class,
    pub(crate) why: Cow<'static, str>,
    pub(crate) flags: Words,
    pub(crate) values: Words,
    pub(crate) reads: Words,
    pub(crate) writes: Words,
    pub(crate) runs: Words,
    pub(crate) asks: Words,
    pub(crate) denies: Words,
    pub(crate) skip: usize,
    /// Flags that give the pattern, so that every operand is a file.
    pub(crate) patterns: Words,
    /// Whether it destroys what is on a device, which is a catastrophe.
    pub(crate) device: bool,
    pub(crate) allow: Words,
    pub(crate) ask: Words,
    pub(crate) deny: Words,
}

include!(concat!(env!("OUT_DIR"), "/facts.rs"));

fn named(name: &str) -> Option<&'static Facts> {
    let at = NAMES.binary_search_by(|entry| own_name(*entry).cmp(name)).ok()?;
    ROWS.get(usize::from(NAMES.get(at)?.2))
}

fn own_name((start, length, _): (u32, u8, u16)) -> &'static str {
    let start = start as usize;
    NAME_TEXT.get(start..start + usize::from(length)).unwrap_or_default()
}

/// The facts of a program, if there are any.
pub(crate) fn find(name: &str) -> Option<&'static Facts> {
    named(name).or_else(|| {
        // `python3.12`, `gcc-13`, `mkfs.ext4`.
        let plain = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.' || char == '-');
        let family =
            name.split('.').next().filter(|_| name.starts_with("mkfs.") || name.starts_with("fsck."));
        let is_other = plain.len() > 1 && plain.len() < name.len();
        is_other.then(|| named(plain)).flatten().or_else(|| family.and_then(named))
    })
}

/// Whether a table knows a program.
pub(crate) fn is_known(name: &str) -> bool {
    find(name).is_some()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    program: Vec<Row<Class>>,
}

/// A file of facts that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, key `{key}`: {message}")]
pub struct FactsError {
    /// The line, from one.
    pub line: usize,
    /// The key that stands there.
    pub key: String,
    /// What is wrong with it.
    pub message: String,
}

/// Programs that a project knows beside those of the table.
#[derive(Debug, Clone, Default)]
pub struct MoreFacts {
    programs: BTreeMap<String, Facts>,
}

impl MoreFacts {
    /// Reads facts in the format of the table: `[[program]]` with `names`, `class`, and flags.
    ///
    /// They only make programs known. A program of the table keeps its facts, and no fact lifts a finding about places,
    /// hosts or words.
    pub fn read(text: &str) -> Result<Self, FactsError> {
        let table: Table = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            error_at(text, at, error.message().to_string())
        })?;
        let mut programs = BTreeMap::new();
        for row in table.program {
            let words = |text: &str| Words::Own(text.split_whitespace().map(str::to_string).collect());
            let phrases = |text: &str| {
                let phrases = text.split(',').map(str::trim).filter(|phrase| !phrase.is_empty());
                Words::Own(phrases.map(str::to_string).collect())
            };
            let values = [&row.values, &row.reads, &row.writes, &row.runs].map(String::as_str).join(" ");
            let facts = Facts {
                class: row.class,
                why: Cow::Owned(row.why.clone()),
                flags: words(&row.flags),
                values: words(&values),
                reads: words(&row.reads),
                writes: words(&row.writes),
                runs: words(&row.runs),
                asks: words(&row.asks),
                denies: words(&row.denies),
                skip: row.skip,
                patterns: words(&row.patterns),
                device: row.device,
                allow: phrases(&row.allow),
                ask: phrases(&row.ask),
                deny: phrases(&row.deny),
            };
            if row.names.split_whitespace().next().is_none() {
                let at = text.find(&row.names).unwrap_or(0);
                return Err(error_at(text, at, "a program needs a name".into()));
            }
            for name in row.names.split_whitespace() {
                let at = text.find(name).unwrap_or(0);
                if name.contains('/') {
                    return Err(error_at(text, at, format!("`{name}` is a path; write the program's name")));
                }
                if programs.insert(name.to_string(), facts.clone()).is_some() {
                    return Err(error_at(text, at, format!("`{name}` stands twice")));
                }
            }
        }
        Ok(MoreFacts { programs })
    }

    /// Adds what another file knows; of two that know a program the first stands.
    pub(crate) fn join(&mut self, other: &MoreFacts) {
        for (name, facts) in &other.programs {
            self.programs.entry(name.clone()).or_insert_with(|| facts.clone());
        }
    }

    /// The programs that it makes known.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.programs.keys().cloned().collect()
    }

    /// How many programs it makes known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.programs.len()
    }

    /// Is there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// The facts of a program that the table does not know.
    pub(crate) fn get(&self, name: &str) -> Option<&Facts> {
        self.programs.get(name)
    }
}

fn error_at(text: &str, at: usize, message: String) -> FactsError {
    let before = text.get(..at).unwrap_or_default();
    let number = before.matches('\n').count();
    let line = text.lines().nth(number).unwrap_or_default();
    let key = line.split('=').next().unwrap_or_default().trim().to_string();
    FactsError { line: number + 1, key, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_whole() {
        assert!(NAMES.len() > 2_000, "{}", NAMES.len());
        assert!(NAMES.windows(2).all(|pair| own_name(pair[0]) < own_name(pair[1])));
        assert_eq!(find("cat").map(|facts| facts.class), Some(Class::Read));
        assert_eq!(find("python3.12").is_some(), find("python3").is_some());
        assert!(find("mkfs.minix").is_some_and(|facts| facts.class == Class::Deny));
        assert!(find("an-unknown-program").is_none());
    }

    #[test]
    fn a_project_adds_programs_and_errors_name_line_and_key() {
        let more =
            MoreFacts::read("[[program]]\nnames = \"frob frobnicate\"\nclass = \"read\"\nwrites = \"-o\"\n")
                .unwrap();
        assert_eq!(more.len(), 2);
        assert!(!more.is_empty());
        assert!(more.get("frob").is_some());
        let error = MoreFacts::read("[[program]]\nnames = \"x\"\nclass = \"kill\"\n").unwrap_err();
        assert_eq!((error.line, error.key.as_str()), (3, "class"), "{error}");
        let error =
            MoreFacts::read("[[program]]\nnames = \"x\"\nclass = \"read\"\nwrite = \"-o\"\n").unwrap_err();
        assert_eq!((error.line, error.key.as_str()), (4, "write"), "{error}");
        let error = MoreFacts::read("[[program]]\nnames = \"a /bin/a\"\nclass = \"read\"\n").unwrap_err();
        assert_eq!((error.line, error.key.as_str()), (2, "names"), "{error}");
        assert!(MoreFacts::read("[[program]]\nnames = \"\"\nclass = \"read\"\n").is_err());
    }
}
