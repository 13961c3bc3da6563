//! The words of a wrapper before its command: flags, their values, variables.

use super::is_assignment;
use super::table::{FlagEffect, Wrapper};
use crate::shell::run::InheritedIo;
use crate::shell::state::Shell;
use crate::shell::value::Word;
use std::borrow::Cow;

/// Texts that one `env` splits, in texts that it split.
const MAX_ENV_SPLITS: usize = 8;

impl Shell<'_> {
    /// The command behind a wrapper's own words; `None` when there is none.
    pub(in crate::shell) fn peel(
        &mut self,
        wrapper: &Wrapper,
        rest: &[Word],
        environment: &mut Vec<(String, Word)>,
    ) -> Option<Vec<Word>> {
        let mut words = Cow::Borrowed(rest);
        let mut splits = 0;
        let mut index = 0;
        let mut before = wrapper.before;
        while let Some(word) = words.get(index).cloned() {
            let text = word.beginning();
            if word.is("--") {
                index += 1;
                if before == 0 {
                    break;
                }
            } else if wrapper.splits
                && let Some((split, used)) = self.env_split(&word, words.get(index + 1))
            {
                // What it splits are words of its own again: options, variables, and perhaps another `-S`.
                splits += 1;
                if splits > MAX_ENV_SPLITS {
                    self.doubt("words that are split again and again");
                    return None;
                }
                let behind = words.get(index + used..).unwrap_or_default();
                let all = split.into_iter().chain(behind.iter().cloned()).collect();
                words = Cow::Owned(all);
                index = 0;
            } else if text.starts_with('-') && (text.len() > 1 || wrapper.splits) {
                let takes = word.text().is_some_and(|text| wrapper.takes_next(&text));
                self.wrapper_flag(wrapper, &word, words.get(index + 1).filter(|_| takes));
                index += if takes { 2 } else { 1 };
            } else if wrapper.assigns && is_assignment(&text) {
                let (name, _) = text.split_once('=').unwrap_or((&text, ""));
                let whole = word.without_start(name.len() + 1);
                self.notable(name, std::slice::from_ref(&whole));
                self.check_value(&whole);
                environment.push((name.to_string(), whole));
                index += 1;
            } else if before > 0 {
                before -= 1;
                index += 1;
            } else {
                break;
            }
        }
        let inner = words.get(index..).unwrap_or_default();
        let inner = inner
            .get(usize::from(wrapper.is_machine() && names_machine(inner.first()))..)
            .unwrap_or_default();
        if wrapper.is_tracer() {
            self.traced(wrapper, words.get(..index).unwrap_or_default(), inner);
        }
        (!inner.is_empty()).then(|| inner.to_vec())
    }

    /// The flags of a wrapper behind the first of its lines.
    pub(in crate::shell) fn peel_behind(&mut self, wrapper: &Wrapper, words: &[Word]) {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word.beginning().starts_with('-') {
                let takes = word.text().is_some_and(|text| wrapper.takes_next(&text));
                let next = if takes { words.next() } else { None };
                self.wrapper_flag(wrapper, word, next);
            }
        }
    }

    /// A flag of a wrapper: the file that it writes, the directory that it enters, the command that it runs.
    fn wrapper_flag(&mut self, wrapper: &Wrapper, word: &Word, next: Option<&Word>) {
        let text = word.beginning();
        if !wrapper.knows(&text) {
            return self.doubt("an option of a launcher that is not known");
        }
        let Some((effect, from)) = wrapper.effect(&text) else { return };
        let attached = word.without_start(from);
        let value = match next {
            Some(next) => next.clone(),
            None => attached,
        };
        match effect {
            FlagEffect::Runs => {
                self.spliced(std::slice::from_ref(&value));
                let text = self.source(&[value]);
                self.apart(|shell| shell.script(&text, &InheritedIo::default()));
            }
            FlagEffect::Enters => self.enter(&[value]),
            FlagEffect::Sets => {
                let text = value.beginning().into_owned();
                if let Some((name, _)) = text.split_once('=') {
                    let whole = value.without_start(name.len() + 1);
                    self.notable(name, &[whole]);
                }
            }
            FlagEffect::Writes => {
                // `strace -o '|command'` and `-o '!command'` write into a command.
                let start = value.beginning().into_owned();
                if let Some(command) = start.strip_prefix(['|', '!']) {
                    self.doubt("output that goes into a command");
                    let command = command.to_string();
                    self.apart(|shell| shell.script(&command, &InheritedIo::default()));
                } else {
                    self.touch(crate::shell::RedirectKind::Write, value);
                }
            }
            FlagEffect::Doubts => self.doubt("an option of a launcher that changes what it starts"),
        }
    }
}

/// The lines that a wrapper hands to a shell: its operands, and the values of options that are commands.
pub(super) fn lines(wrapper: &Wrapper, words: &[Word]) -> Vec<Word> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let flag = word.beginning();
        if !flag.starts_with('-') {
            found.push(word.clone());
            continue;
        }
        let next = if wrapper.takes_next(&flag) { words.next().cloned() } else { None };
        if let Some((FlagEffect::Runs, from)) = wrapper.effect(&flag) {
            found.push(next.unwrap_or_else(|| word.without_start(from)));
        }
    }
    found
}

/// `setarch` may name a machine before its command.
fn names_machine(word: Option<&Word>) -> bool {
    const MACHINES: [&str; 14] = [
        "linux", "x86", "i386", "i486", "i586", "i686", "aarch64", "arm", "ppc", "uname", "sparc", "mips",
        "s390", "ia64",
    ];
    word.and_then(Word::text).is_some_and(|name| MACHINES.iter().any(|start| name.starts_with(start)))
}
