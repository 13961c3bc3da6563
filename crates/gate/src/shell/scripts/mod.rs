//! Scripts of tools: `sed`, `awk`, `dc`, `jq`, `gdb` and others take a program of their own among their words.
//!
//! Such a script is read by the rules of its language, far enough to be sure that it starts nothing and touches no file. What
//! it starts is walked and doubted, the files that it names are noted as read or written, and what cannot be read is doubted.
//!
//! Limit: only the words, and files that the line itself wrote, are read. A script in another file is doubted.

mod awk;
mod debugger;
mod flags;
mod sed;
mod small;

use super::run::InheritedIo;
use super::state::{Redirect, RedirectKind, Shell};
use super::value::{Piece, Word};

/// An effect of a script beside transforming text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// Starts this, or something that cannot be named.
    Run(String),
    /// Reads a file.
    Read(String),
    /// Writes a file.
    Write(String),
    /// Something that is not certain to be harmless.
    Doubt(&'static str),
}

/// The words of a tool, sorted: scripts, files with scripts, and what else is to be said of them.
#[derive(Debug, Default)]
struct Invocation {
    scripts: Vec<Word>,
    files: Vec<Word>,
    operands: Vec<Word>,
    doubts: Vec<&'static str>,
}

/// Options of a tool, as far as they matter here.
struct Options {
    /// Those without a value; single letters may stand together.
    flags: &'static str,
    /// Those with a value that does not matter.
    values: &'static str,
    /// Those whose value is a script.
    scripts: &'static str,
    /// Those whose value is a file with a script.
    files: &'static str,
    /// Those that load code or write files.
    doubted: &'static str,
    /// Letters that take the rest of their word, if there is any.
    suffixed: &'static str,
}

impl Options {
    fn lists(list: &str, name: &str) -> bool {
        list.split_whitespace().any(|own| own == name)
    }

    /// The whole name of a long option that was abbreviated.
    fn whole<'a>(&'a self, name: &'a str) -> &'a str {
        let all = [self.flags, self.values, self.scripts, self.files, self.doubted, self.suffixed];
        let known = || all.iter().flat_map(|list| list.split_whitespace());
        known().find(|own| *own == name).or_else(|| known().find(|own| own.starts_with(name))).unwrap_or(name)
    }

    fn read(&self, words: &[Word]) -> Invocation {
        let mut found = Invocation::default();
        let mut rest = words.iter();
        let mut plain = false;
        while let Some(word) = rest.next() {
            let text = word.beginning();
            if plain || !text.starts_with('-') || text == "-" {
                if text.is_empty() && word.splits() && found.scripts.is_empty() && found.operands.is_empty() {
                    found.doubts.push("options of a tool that are not known");
                }
                found.operands.push(word.clone());
                continue;
            }
            if word.is("--") {
                plain = true;
                continue;
            }
            if text.starts_with("--") {
                let (name, attached) = match text.split_once('=') {
                    Some((name, _)) => (name.to_string(), Some(word.without_start(name.len() + 1))),
                    None => (text.to_string(), None),
                };
                let name = self.whole(&name);
                self.sort(name, attached.as_ref(), &mut rest, &mut found);
                continue;
            }
            // A cluster of letters, of which the first that takes a value takes the rest of the word.
            let mut at = 1;
            while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
                at += letter.len_utf8();
                let name = format!("-{letter}");
                if Options::lists(self.flags, &name) {
                    continue;
                }
                let attached = word.without_start(at);
                let attached = attached.text().is_none_or(|text| !text.is_empty()).then_some(attached);
                self.sort(&name, attached.as_ref(), &mut rest, &mut found);
                break;
            }
        }
        found
    }

    fn sort<'w>(
        &self,
        name: &str,
        attached: Option<&Word>,
        rest: &mut impl Iterator<Item = &'w Word>,
        found: &mut Invocation,
    ) {
        if Options::lists(self.suffixed, name) {
            // GNU sed takes a suffix with a slash as the path of the backup: `-i/root/*`.
            if attached.is_some_and(|suffix| suffix.text().is_none_or(|text| text.contains('/'))) {
                found.doubts.push("a suffix of backups that names another directory");
            }
            return;
        }
        if Options::lists(self.flags, name) {
            return;
        }
        let mut value = || attached.or_else(|| rest.next()).cloned().unwrap_or_default();
        if Options::lists(self.scripts, name) {
            found.scripts.push(value());
        } else if Options::lists(self.files, name) {
            found.files.push(value());
        } else if Options::lists(self.values, name) {
            value();
        } else if Options::lists(self.doubted, name) {
            found.doubts.push("an option that loads code or writes a file");
        } else {
            found.doubts.push("an option of a tool with a script that is not known");
        }
    }
}

impl Shell<'_> {
    /// Reads the script of a tool that has one.
    pub(super) fn tool_script(&mut self, base: &str, words: &[Word], around: &InheritedIo) {
        let rest = words.get(1..).unwrap_or_default();
        let looks = |word: &Word| matches!(word.text().as_deref(), Some("--version" | "--help"));
        if rest.first().is_some_and(looks) && rest.iter().all(looks) {
            return;
        }
        match base {
            "sed" | "gsed" | "ssed" => self.sed(base, rest, around),
            "awk" | "gawk" | "mawk" | "nawk" | "goawk" | "frawk" | "original-awk" => {
                self.awk(base, rest, around);
            }
            "jq" | "gojq" | "jaq" => self.jq(base, rest),
            "dc" => self.dc(base, rest, around),
            "m4" | "gm4" => self.doubt("a script of m4, which can run commands"),
            "gdb" | "gdb-multiarch" => self.gdb(base, rest),
            "lldb" => self.lldb(base, rest),
            "emacs" | "tclsh" | "wish" | "expect" | "gnuplot" => self.program_file(base, rest, around),
            _ => self.doubted_words(base, rest, around),
        }
    }

    /// Notes what a script does.
    fn effects(&mut self, base: &str, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Doubt(what) => self.doubt(what),
                Effect::Run(command) => {
                    self.doubt("a script of a tool that runs commands");
                    if !command.trim().is_empty() {
                        self.through.push(base.to_string());
                        self.apart(|shell| shell.script(&command, &InheritedIo::default()));
                        self.through.pop();
                    }
                }
                Effect::Read(file) => self.touch(RedirectKind::Read, Word::known(file)),
                Effect::Write(file) => self.touch(RedirectKind::Write, Word::known(file)),
            }
        }
    }

    /// Notes a file that a command reads or writes by a word of its own.
    pub(super) fn touch(&mut self, kind: RedirectKind, target: Word) {
        let alone = InheritedIo { input: None, redirects: vec![Redirect { kind, target }] };
        self.emit(Vec::new(), Vec::new(), &alone);
    }

    /// The text of a script among the words. A number that is not known stands as `1`.
    fn script_text(&mut self, word: &Word) -> Option<String> {
        let mut text = String::new();
        for piece in &word.pieces {
            match piece {
                Piece::Known { text: part, .. } => text.push_str(part),
                Piece::Unknown { why, taint, .. } if super::evaluated::is_number(*why, *taint) => {
                    text.push('1');
                }
                Piece::Unknown { .. } => {
                    self.doubt("a script of a tool that is not known");
                    return None;
                }
            }
        }
        Some(text)
    }

    /// The text of a file with a script, if this line wrote it.
    fn script_in(&mut self, file: &Word, around: &InheritedIo) -> Option<String> {
        let content = self.script_file(file, around).and_then(|stream| stream.text);
        if content.is_none() {
            self.doubt("a script of a tool in a file");
        }
        content
    }
}
