//! Shells that a line starts: their options, and where their script comes from.

use crate::shell::builtin::{ASSIGNMENTS_ANYWHERE, is_flag_with};
use crate::shell::run::InheritedIo;
use crate::shell::state::Shell;
use crate::shell::value::{Piece, Stream, Taint, UnknownReason, Word};

/// The options of a shell: the index of the first operand, and whether it takes a text (`-c`) or its input (`-s`).
#[derive(Debug, Default)]
struct Options {
    index: usize,
    text: bool,
    input: bool,
}

/// Long options that no shell takes code, a file or a command from.
const LONG_OPTIONS: [&str; 14] = [
    "--command",
    "--help",
    "--version",
    "--norc",
    "--noprofile",
    "--posix",
    "--login",
    "--verbose",
    "--restricted",
    "--noediting",
    "--no-config",
    "--no-execute",
    "--private",
    "--interactive",
];

/// The letters of options that are known of a shell; `pwsh` has words instead.
fn known_letters(base: &str) -> Option<&'static str> {
    match base {
        "pwsh" => None,
        "fish" => Some("cilnNPhv-"),
        "csh" | "tcsh" => Some("bcefilnqstvxVX-"),
        _ => Some("abcefghiklmnoprstuvxBCDEHOPTl-+"),
    }
}

impl Shell<'_> {
    /// A shell with variables in front of it: `x=1 bash -c TEXT`.
    pub(super) fn shell_with(
        &mut self,
        environment: &[(String, Word)],
        base: &str,
        words: &[Word],
        around: &InheritedIo,
    ) -> Stream {
        for (name, value) in environment {
            self.assign(name, vec![value.clone()], false);
        }
        self.shell(base, words, around)
    }

    /// The options of a shell. Every `o` and `O` of a group takes a word behind the group.
    fn shell_options(&mut self, base: &str, rest: &[Word]) -> Options {
        // The letters of these mean something else, or are words.
        let bundles = !matches!(base, "pwsh" | "fish" | "csh" | "tcsh");
        let mut options = Options::default();
        while let Some(word) = rest.get(options.index) {
            let flag = word.beginning();
            if word.is("--") || word.is("-") {
                options.index += 1;
                break;
            }
            if !flag.starts_with(['-', '+']) {
                break;
            }
            options.index += 1;
            if matches!(&*flag, "--rcfile" | "--init-file") {
                self.doubt("a file that a shell runs before its script");
                options.index += 1;
            } else if flag.starts_with("--") {
                options.text |= flag == "--command";
                if !LONG_OPTIONS.contains(&&*flag) {
                    self.doubt("an option of a shell that is not known");
                }
            } else {
                if word.text().is_none() {
                    self.doubt("options of a shell that are not known");
                }
                if flag.contains('i') && self.state.variables.contains_key("ENV") {
                    self.doubt("a file that a shell runs before its script");
                }
                if bundles && flag.contains('k') {
                    self.doubt(ASSIGNMENTS_ANYWHERE);
                }
                options.text |= flag.contains('c');
                options.input |= flag.contains('s');
                if known_letters(base).is_some_and(|known| !flag.chars().all(|letter| known.contains(letter)))
                {
                    self.doubt("an option of a shell that is not known");
                }
                for letter in flag.chars().filter(|letter| bundles && matches!(letter, 'o' | 'O')) {
                    let value = rest.get(options.index).cloned().unwrap_or_default();
                    self.shell_option(&value, letter == 'o', flag.starts_with('-'));
                    options.index += 1;
                }
            }
        }
        options
    }

    /// `bash -c TEXT`, `bash FILE`, `… | bash`.
    pub(super) fn shell(&mut self, base: &str, words: &[Word], around: &InheritedIo) -> Stream {
        let rest = words.get(1..).unwrap_or_default();
        let Options { index, text, input } = self.shell_options(base, rest);
        let operands = rest.get(index..).unwrap_or_default();
        self.state.is_traced |= rest.iter().take(index).any(|word| is_flag_with(word, 'x'));
        let scripted = |word: &Word| is_flag_with(word, 'c') || is_flag_with(word, 's');
        if !text && operands.get(1).is_some_and(scripted) {
            self.doubt("an option of a shell behind its script");
        }
        // The word behind a script of `-c`, or the file.
        self.state.script_name = operands.get(usize::from(text)).cloned();
        self.through.push(base.to_string());
        let output = match operands {
            [script, arguments @ ..] if text => {
                self.emit(words.to_vec(), Vec::new(), around);
                let content =
                    Stream { text: Some(self.source(std::slice::from_ref(script))), taint: script.taint() };
                if script.is_unknown() {
                    self.hidden(script.taint(), "a script that is not known");
                }
                self.spliced(std::slice::from_ref(script));
                self.run_text(&content, arguments.get(1..).unwrap_or_default().to_vec(), around, true)
            }
            [] => {
                self.emit(words.to_vec(), Vec::new(), around);
                self.run_input(around)
            }
            _ if input => {
                self.emit(words.to_vec(), Vec::new(), around);
                self.run_input(around)
            }
            [path, arguments @ ..] => {
                let content = self.script_file(path, around);
                self.emit(words.to_vec(), Vec::new(), around);
                match content {
                    Some(content) => self.run_text(&content, arguments.to_vec(), around, true),
                    None => Stream::unknown(Taint::NONE),
                }
            }
        };
        self.through.pop();
        output
    }

    /// A shell that reads its script from standard input.
    pub(in crate::shell) fn run_input(&mut self, around: &InheritedIo) -> Stream {
        match around.input.clone() {
            Some(content) => self.run_text(&content, Vec::new(), &InheritedIo::default(), true),
            None => Stream::unknown(Taint::NONE),
        }
    }

    /// The content of a script file, if this line wrote it or feeds it.
    pub(in crate::shell) fn script_file(&mut self, path: &Word, around: &InheritedIo) -> Option<Stream> {
        let own = path
            .text()
            .is_some_and(|text| matches!(&*text, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "-"));
        if own {
            return Some(around.input.clone().unwrap_or_else(|| Stream::unknown(Taint::NONE)));
        }
        let known = self.file(path);
        let descriptor =
            ["/dev/fd/", "/proc/self/fd/"].iter().any(|start| path.beginning().starts_with(start));
        if known.is_none() && descriptor {
            return Some(Stream::unknown(Taint::NONE));
        }
        known
    }

    /// Walks a script with arguments of its own.
    pub(in crate::shell) fn run_text(
        &mut self,
        content: &Stream,
        arguments: Vec<Word>,
        around: &InheritedIo,
        apart: bool,
    ) -> Stream {
        let Some(text) = &content.text else {
            self.hidden(content.taint, "a script that is not known");
            return Stream::unknown(content.taint);
        };
        if content.taint.has(Taint::DECODED) || self.was_encoded(text) {
            self.doubt(crate::shell::Doubt::EncodedScript);
        }
        let text = text.clone();
        let run = |shell: &mut Self| {
            let positional = std::mem::replace(&mut shell.state.positional, arguments);
            let output = shell.script(&text, around);
            shell.state.positional = positional;
            output
        };
        if apart { self.apart(run) } else { run(self) }
    }

    /// Words that become a script: what came from outside stands in it as code, not as a value.
    pub(in crate::shell) fn spliced(&mut self, words: &[Word]) {
        let outside = |piece: &Piece| match piece {
            Piece::Known { .. } => false,
            Piece::Unknown { why, taint, .. } => {
                why.is_output()
                    || *why == UnknownReason::Input && !crate::shell::evaluated::is_number(*why, *taint)
            }
        };
        if words.iter().flat_map(|word| &word.pieces).any(outside) {
            self.doubt("a script into which a value from outside is put");
        }
    }

    /// A script that cannot be seen runs; where it came from decides how bad that is.
    pub(in crate::shell) fn hidden(&mut self, taint: Taint, what: &'static str) {
        let word = Word { pieces: vec![Piece::Unknown { why: UnknownReason::Output, taint, splits: true }] };
        self.emit(vec![word], Vec::new(), &InheritedIo::default());
        self.doubt(what);
    }
}
