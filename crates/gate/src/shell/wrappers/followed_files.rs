//! Files that a line itself writes, copies or fetches, and names of places that programs print.

use crate::shell::state::Shell;
use crate::shell::value::{Stream, Taint, Word};

/// Words of a program's input that are looked at as names of places.
const MAX_NAMED_PLACES: usize = 64;

impl Shell<'_> {
    /// Whether a text that a program is fed names places of secrets, as its output then may: `sort <<< /etc/shadow`.
    pub(super) fn named_places(&self, text: &str) -> Taint {
        let words: Vec<Word> = std::iter::once("realpath")
            .chain(text.split_whitespace().take(MAX_NAMED_PLACES))
            .map(Word::known)
            .collect();
        (self.taints)("realpath", &words, &self.state.directories)
    }

    /// Copies and moves of files that this line wrote are followed.
    pub(super) fn copied(&mut self, name: &str, words: &[Word]) {
        if name == "dd" {
            let part =
                |start: &str| words.iter().find_map(|word| word.text()?.strip_prefix(start).map(Word::known));
            if let (Some(from), Some(to)) = (part("if="), part("of="))
                && let (Some(content), Some(place)) = (self.file(&from), self.place(&to))
            {
                self.files.insert(place, content);
            }
        }
        if !matches!(name, "cp" | "mv" | "ln" | "install") {
            return;
        }
        let operands: Vec<&Word> =
            words.iter().skip(1).filter(|word| !word.beginning().starts_with('-')).collect();
        if let [from, to] = operands.as_slice()
            && let (Some(content), Some(place)) = (self.file(from), self.place(to))
        {
            self.files.insert(place, content);
        }
    }

    /// The program that the line itself wrote and now runs.
    pub(super) fn written(&self, program: Option<&Word>) -> Option<Stream> {
        let place = self.place(program?)?;
        let below = |(path, content): (&String, &Stream)| {
            (place == *path || place.starts_with(&format!("{path}/"))).then(|| content.clone())
        };
        self.files.iter().find_map(below)
    }

    /// Marks files into which something is fetched as coming from the network.
    pub(super) fn downloaded(&mut self, name: &str, words: &[Word]) {
        let value = |flags: &[&str]| {
            let at = words.iter().position(|word| word.text().is_some_and(|text| flags.contains(&&*text)))?;
            words.get(at + 1).cloned()
        };
        let last = |word: &Word| {
            word.text().and_then(|text| text.trim_end_matches('/').rsplit('/').next().map(str::to_string))
        };
        let address = words.iter().skip(1).rev().find(|word| !word.beginning().starts_with('-'));
        let target = match name {
            "curl" => value(&["-o", "--output", "-sSLo", "-Lo", "-sLo", "-so", "-fsSLo"]).or_else(|| {
                let remote = words.iter().any(|word| {
                    word.beginning().starts_with('-')
                        && !word.beginning().starts_with("--")
                        && word.beginning().contains('O')
                        || word.is("--remote-name")
                });
                remote.then(|| address.and_then(last).map(Word::known)).flatten()
            }),
            "wget" => {
                value(&["-O", "--output-document", "-qO"]).or_else(|| address.and_then(last).map(Word::known))
            }
            "git" if words.get(1).is_some_and(|word| word.is("clone")) => {
                let operands: Vec<&Word> =
                    words.iter().skip(2).filter(|word| !word.beginning().starts_with('-')).collect();
                match operands.as_slice() {
                    [_, directory, ..] => Some((*directory).clone()),
                    [address] => last(address).map(|name| Word::known(name.trim_end_matches(".git"))),
                    [] => None,
                }
            }
            "scp" | "rsync" | "sftp" => address.cloned(),
            _ => None,
        };
        if let Some(path) = target.and_then(|target| self.place(&target)) {
            self.files.insert(path, Stream::unknown(Taint::NETWORK));
        }
    }
}
