//! The tables of options, as the build made them from `data/programs`.

use crate::effects::words::{WordList, WordMatch};

/// What an option does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
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
    /// Its value is a list `KIND=FILE,…`, and it writes the files.
    WriteEach,
    /// It empties or deletes the directory that its value names.
    Delete,
    /// It empties the directory that its value names, unless that matches one of these patterns, separated by blanks.
    Empty(&'static str),
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
    /// Its value holds options of this program.
    Inner(&'static str),
}

impl Effect {
    /// The effect that a line of the table stands for.
    pub(super) fn parse(text: &'static str) -> Option<Effect> {
        Some(match text {
            "flag" => Effect::Flag,
            "value" => Effect::Value,
            "optional" => Effect::Optional,
            "read" => Effect::Read,
            "write" => Effect::Write,
            "write-each" => Effect::WriteEach,
            "delete" => Effect::Delete,
            "load" => Effect::Load,
            "run" => Effect::Run,
            "send" => Effect::Send,
            "ask" => Effect::Ask,
            "ask-value" => Effect::AskValue,
            other => match other.split_at_checked(1)? {
                ("@", program) => Effect::Inner(program),
                ("=", patterns) => Effect::Only(patterns),
                ("!", patterns) => Effect::Empty(patterns),
                _ => return None,
            },
        })
    }

    /// Whether the option takes the next word where nothing is attached.
    pub(super) fn takes_next(self) -> bool {
        !matches!(self, Effect::Flag | Effect::Optional | Effect::Ask)
    }
}

/// How a program reads options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grammar {
    /// `-abc`, `-oVALUE`, `--long`, `--long=VALUE`, unique beginnings of long options.
    Gnu,
    /// `-word`, `--word`, `-word=VALUE`: no clusters.
    Single,
    /// All words are text.
    Text,
}

/// What operands mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// What the class of the program says.
    Class,
    /// There are none; one that is there changes something.
    None,
    /// Only `+FORMAT`.
    Plus,
}

/// The options of one program or subcommand.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) grammar: Grammar,
    pub(super) rest: Rest,
    pub(super) numeric: bool,
    pub(super) response: bool,
    pub(super) bundled: bool,
    pub(super) negates: bool,
    pub(super) leading: bool,
    pub(super) loose: bool,
    pub(super) unabbreviated: bool,
    pub(super) passes: Option<u8>,
    /// The program whose options stand behind `--`; empty where they are operands.
    pub(super) behind: &'static str,
    pub(super) options: WordList,
    pub(super) prefixes: WordList,
    pub(super) subs: WordList,
}

include!(concat!(env!("OUT_DIR"), "/options.rs"));

impl Signature {
    /// The effect of an option of exactly this name.
    pub(super) fn exact(&self, name: &str) -> Option<Effect> {
        self.options.find(name).and_then(Effect::parse)
    }

    /// The subcommand of this phrase.
    pub(super) fn sub(&self, phrase: &str) -> Option<&'static Signature> {
        self.subs.find(phrase).and_then(numbered)
    }
}

pub(super) fn numbered(number: &str) -> Option<&'static Signature> {
    SIGNATURES.get(number.parse::<usize>().ok()?)
}

/// The options of a program, where they are listed.
pub(super) fn find_signature(name: &str) -> Option<&'static Signature> {
    let named = |name: &str| NAMES.find(name).and_then(numbered);
    named(name).or_else(|| {
        // `gcc-13`, `pip3.12`.
        let plain = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.' || char == '-');
        (plain.len() > 1 && plain.len() < name.len()).then(|| named(plain))?
    })
}
