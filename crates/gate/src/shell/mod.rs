//! A parser of command lines that reads them as bash would, without running any of it.
//!
//! The line is parsed by two independent parsers; where they see different commands, neither is believed.
//! Then it is walked: variables are filled in, substitutions and scripts are entered, wrappers are peeled, and every
//! command that could run comes out as a [`Segment`] with what is known of its words. What is not certain is marked so.

mod assertion;
mod bounds;
mod braces;
mod builtin;
mod choice;
mod choices;
mod const_eval;
mod cross_check;
mod disguise;
mod doubt;
mod evaluated;
mod expand;
mod join;
mod limits;
mod numbers;
mod parameter;
mod parse_cache;
pub(crate) mod pattern;
mod read;
mod redirect;
mod run;
mod salvage;
mod scripts;
mod search_path;
mod simple_line;
mod state;
mod text;
mod value;
mod variables;
mod wrappers;

pub use assertion::{AssertionRefusal, check_assertion, check_test_command};
pub use doubt::Doubt;
pub(crate) use search_path::is_tool_path;
pub use state::{Redirect, RedirectKind, Segment};
pub use text::base_name;
pub(crate) use text::normal;
pub use value::{Piece, Stream, Taint, Taints, UnknownReason, Word};
pub use variables::{is_command_variable, is_notable};
pub(crate) use wrappers::{finds_project_secrets, search_starts};

use state::Shell;

/// A line as it was understood.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Every command that could run.
    pub segments: Vec<Segment>,
    /// The reasons why the line is not certain, if it is not.
    pub doubts: Vec<Doubt>,
    /// Whether a function of the line calls itself.
    pub recursion: bool,
    unread: cross_check::CrossCheckQueue,
}

impl Reading {
    /// Runs the second parser on what it has not seen yet; it can only add doubts.
    pub(crate) fn confirm(&mut self) {
        self.unread.read(&mut self.doubts);
    }
}

/// Begins a judgement: nothing is known of any text.
pub(crate) fn begin() {
    bounds::forget();
    cross_check::forget();
}

/// Reads a line for `bash -c` in a directory.
#[must_use]
pub fn read(line: &str, directory: &str, home: &str, taints: &Taints<'_>) -> Reading {
    let mut reading = read_once(line, directory, home, taints);
    reading.confirm();
    reading
}

/// As [`read`], by the first parser only: nothing may be allowed before [`Reading::confirm`].
pub(crate) fn read_once(line: &str, directory: &str, home: &str, taints: &Taints<'_>) -> Reading {
    let mut shell = Shell::new(home, directory, taints);
    // Without one of these nothing on the line can read what a command prints.
    shell.keeps_output = line.contains(['|', '`', '$', '<', '>', '(', '\\']);
    if let Some(obstacle) = bounds::obstacle(line) {
        shell.doubt(obstacle);
    } else {
        if line.contains('\r') {
            shell.doubt("a carriage return");
        }
        if !line.is_ascii() && is_disguised(line) {
            shell.doubt("characters that look like others or are not seen");
        }
        match bounds::parse(line) {
            Some(program) => {
                shell.unread.keep(line, &program);
                shell.program(&program, &run::InheritedIo::default());
                shell.run_traps(0);
            }
            None => {
                shell.doubt("something that cannot be read as shell");
                shell.salvage(line);
            }
        }
    }
    let Shell { segments, doubts, recursion, unread, .. } = shell;
    Reading { segments, doubts, recursion, unread }
}

/// Is this a shell?
#[must_use]
pub fn is_shell(name: &str) -> bool {
    wrappers::SHELLS.contains(&name)
}

/// The words of every command of a line, as far as they are known: without quotes, and behind whatever starts it.
#[must_use]
pub fn commands(line: &str) -> Vec<Vec<String>> {
    begin();
    let reading = read_once(line, "/", "/root", &|_, _, _| Taint::NONE);
    reading.segments.iter().map(|segment| segment.words.iter().map(Word::shown).collect()).collect()
}

/// Whether a wrapper changes nothing that a rule could want to know.
pub(crate) fn is_transparent(name: &str) -> bool {
    wrappers::is_transparent(name)
}

/// Is this a program whose only work is to start another?
#[must_use]
pub fn is_launcher(name: &str) -> bool {
    wrappers::is_launcher(name)
}

/// Whether a program starts another for what it reads: `xargs`, `parallel`.
pub(crate) fn starts_per_item(name: &str) -> bool {
    wrappers::starts_per_item(name)
}

/// Whether a program takes another user's rights even without a command behind it.
pub(crate) fn switches_user(name: &str) -> bool {
    wrappers::switches_user(name)
}

/// Whether a program gives the command behind it another user's rights, usually root's.
pub(crate) fn grants_privileges(name: &str) -> bool {
    wrappers::grants_privileges(name)
}

/// The words of a command behind assignments, wrappers and runners (`A=1 timeout 60 uv run pytest`), of a line without quotes.
#[must_use]
pub fn command_words<'w, 'l>(words: &'w [&'l str]) -> &'w [&'l str] {
    wrappers::command_words(words)
}

/// Could a pattern of files find credentials? They lie at the same places on most machines.
#[must_use]
pub fn finds_secrets(pattern: &str, home: &str) -> bool {
    crate::secrets::pattern_finds(pattern, home)
}

/// The text behind base64.
#[must_use]
pub fn base64(text: &str) -> Option<String> {
    const_eval::base(text, 6)
}

/// Text with its escapes filled in.
#[must_use]
pub fn unescaped(text: &str) -> String {
    text::ansi_c(text)
}

/// The origin of a file's content, by its name.
fn taint_of(path: &Word) -> Taint {
    if path.beginning().starts_with("/dev/tcp") || path.beginning().starts_with("/dev/udp") {
        Taint::NETWORK
    } else if path.beginning().starts_with("/dev/") {
        Taint::NONE
    } else {
        Taint::CONTENT
    }
}

/// Are there letters of other scripts that look like ours, or characters without a shape?
fn is_disguised(line: &str) -> bool {
    line.chars().any(is_disguise) || line.split_whitespace().filter(|word| !word.is_ascii()).any(is_mixed)
}

/// Letters of other scripts that look like ours, and characters without a shape, where programs and paths stand.
fn is_disguise(char: char) -> bool {
    matches!(char,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{00ad}'
        | '\u{ff01}'..='\u{ff5e}' | '\u{2044}' | '\u{2215}' | '\u{2024}' | '\u{29f8}' | '\u{00a0}' | '\u{2000}'..='\u{200a}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Letters of two alphabets in one word, of which the foreign ones look like ours.
fn is_mixed(word: &str) -> bool {
    const TWINS: &str = "авеёкмнорстухіјѕԁԛԝһɡАВЕКМНОРСТУХІЈЅοανρυικΑΒΕΖΗΙΚΜΝΟΡΤΥΧ";
    word.contains(|char: char| char.is_ascii_alphabetic()) && word.contains(|char: char| TWINS.contains(char))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_lines;
