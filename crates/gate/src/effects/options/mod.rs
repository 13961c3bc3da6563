//! Options of programs: which are known, and what each does with its value.
//!
//! Every program that the judge knows has a list of its options by effect, in `data/programs/*.toml`. An option that is not in
//! the list is doubt: whether it writes, runs or sends something is not known, so a person is asked. Programs of `facts.toml`
//! without a list of their own know only the options of their row and a few that mean the same everywhere.
//!
//! Limits: the lists are facts about usual versions. An option that a newer version adds is asked about until it is added here.

mod judge;
mod parse;

pub(super) use judge::{judge, judge_text};

/// What an option does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing that matters; it has no value.
    Flag,
    /// Nothing that matters; it has a value.
    Value,
    /// Nothing that matters; it has a value only when that is attached.
    Optional,
    /// It reads its value.
    Read,
    /// It writes its value.
    Write,
    /// It empties or deletes the directory that its value names.
    Delete,
    /// It takes code or configuration from its value.
    Load,
    /// It runs its value.
    Run,
    /// It talks to its value.
    Send,
    /// A person is asked.
    Ask,
    /// A person is asked; the next word is its value.
    AskValue,
    /// Harmless where the value matches one of these patterns, separated by blanks; otherwise a person is asked.
    Only(&'static str),
}

impl Effect {
    /// The effect that a line of the table stands for.
    fn parse(text: &'static str) -> Option<Effect> {
        Some(match text {
            "flag" => Effect::Flag,
            "value" => Effect::Value,
            "optional" => Effect::Optional,
            "read" => Effect::Read,
            "write" => Effect::Write,
            "delete" => Effect::Delete,
            "load" => Effect::Load,
            "run" => Effect::Run,
            "send" => Effect::Send,
            "ask" => Effect::Ask,
            "ask-value" => Effect::AskValue,
            patterns => Effect::Only(patterns.strip_prefix('=')?),
        })
    }

    /// Whether the option takes the next word where nothing is attached.
    fn takes_next(self) -> bool {
        !matches!(self, Effect::Flag | Effect::Optional | Effect::Ask)
    }
}

/// How a program reads options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grammar {
    /// `-abc`, `-oVALUE`, `--long`, `--long=VALUE`, unique beginnings of long options.
    Gnu,
    /// `-word`, `--word`, `-word=VALUE`: no clusters.
    Single,
    /// All words are text.
    Text,
}

/// What operands mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// What the class of the program says.
    Class,
    /// There are none; one that is there changes something.
    None,
    /// Only `+FORMAT`.
    Plus,
}

/// A sorted list of `KEY\tVALUE` lines in [`TEXT`]. Plain numbers need no relocation, so tables of any size cost no start-up time.
#[derive(Debug, Clone, Copy)]
struct Lines {
    start: u32,
    end: u32,
}

impl Lines {
    fn text(self) -> &'static str {
        TEXT.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The value of a key.
    fn find(self, key: &str) -> Option<&'static str> {
        let mut rest = self.text();
        while !rest.is_empty() {
            let middle = rest.as_bytes().get(..rest.len() / 2)?.iter().rposition(|byte| *byte == b'\n');
            let (before, from) = rest.split_at_checked(middle.map_or(0, |at| at + 1))?;
            let (line, after) = from.split_once('\n')?;
            let (own, value) = line.split_once('\t')?;
            match key.cmp(own) {
                std::cmp::Ordering::Equal => return Some(value),
                std::cmp::Ordering::Less => rest = before,
                std::cmp::Ordering::Greater => rest = after,
            }
        }
        None
    }

    fn iter(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.text().lines().filter_map(|line| line.split_once('\t'))
    }
}

/// The options of one program or subcommand.
#[derive(Debug)]
struct Signature {
    grammar: Grammar,
    rest: Rest,
    numeric: bool,
    response: bool,
    bundled: bool,
    negates: bool,
    leading: bool,
    loose: bool,
    passes: Option<u8>,
    options: Lines,
    prefixes: Lines,
    subs: Lines,
}

static TEXT: &str = include_str!(concat!(env!("OUT_DIR"), "/options.txt"));
include!(concat!(env!("OUT_DIR"), "/options.rs"));

impl Signature {
    /// The effect of an option of exactly this name.
    fn exact(&self, name: &str) -> Option<Effect> {
        self.options.find(name).and_then(Effect::parse)
    }

    /// The subcommand of this phrase.
    fn sub(&self, phrase: &str) -> Option<&'static Signature> {
        self.subs.find(phrase).and_then(numbered)
    }
}

fn numbered(number: &str) -> Option<&'static Signature> {
    SIGNATURES.get(number.parse::<usize>().ok()?)
}

/// The options of a program, where they are listed.
fn find_signature(name: &str) -> Option<&'static Signature> {
    let named = |name: &str| NAMES.find(name).and_then(numbered);
    named(name).or_else(|| {
        // `gcc-13`, `pip3.12`.
        let plain = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.' || char == '-');
        named(plain).filter(|_| plain.len() > 1)
    })
}

#[cfg(test)]
mod tests;
