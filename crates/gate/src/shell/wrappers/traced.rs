//! Tracers: `strace` and `ltrace` show what a program reads and writes, which may be its credentials.
//!
//! They shorten texts unless they are told otherwise, so that only the options that show whole texts matter.

use super::table::Wrapper;
use crate::effects;
use crate::shell::base_name;
use crate::shell::state::Shell;
use crate::shell::value::Word;

/// The length to which tracers shorten texts when they are not told otherwise.
const DEFAULT_STRING_LIMIT: u32 = 32;

impl Shell<'_> {
    /// Doubts a tracer that shows whole texts of a program with credentials; `own` are the words before the command.
    pub(super) fn traced(&mut self, wrapper: &Wrapper, own: &[Word], command: &[Word]) {
        if shows_data(wrapper, own) && command.iter().any(uses_credentials) {
            self.doubt("a tracer that shows the credentials which its command reads");
        }
    }
}

/// Whether a word of a command is, or names in a script, a program that reads credentials by itself.
fn uses_credentials(word: &Word) -> bool {
    word.text().is_none_or(|text| {
        text.split(|char: char| char.is_whitespace() || ";|&()".contains(char))
            .any(|name| effects::uses_credentials(base_name(name)))
    })
}

/// Whether one of these options makes a tracer show whole texts that are read or written.
fn shows_data(wrapper: &Wrapper, own: &[Word]) -> bool {
    let mut words = own.iter();
    while let Some(word) = words.next() {
        let text = word.beginning();
        let next = word.text().is_some_and(|text| wrapper.takes_next(&text));
        let (name, from) = if text.starts_with("--") {
            let name = text.split('=').next().unwrap_or(&text);
            (name.to_string(), name.len() + 1)
        } else {
            let takes = |letter: char| wrapper.takes_next(&format!("-{letter}"));
            match text.char_indices().skip(1).find(|(_, letter)| takes(*letter)) {
                Some((at, letter)) => (format!("-{letter}"), at + letter.len_utf8()),
                None => continue,
            }
        };
        let attached = word.without_start(from.min(text.len()));
        let value = if next { words.next().cloned() } else { Some(attached) };
        let matters = matches!(name.as_str(), "-s" | "--string-limit" | "-e" | "--trace");
        if matters && value.is_some_and(|value| value.text().is_none_or(|text| shows_texts(&name, &text))) {
            return true;
        }
    }
    false
}

fn shows_texts(name: &str, value: &str) -> bool {
    match name {
        "-s" | "--string-limit" => !value.parse::<u32>().is_ok_and(|limit| limit <= DEFAULT_STRING_LIMIT),
        "-e" | "--trace" => {
            let calls = value.strip_prefix("trace=").unwrap_or(value);
            ["read=", "write="].iter().any(|start| value.starts_with(start))
                || calls.split([',', '!']).any(|call| matches!(call, "read" | "write" | "%desc" | "all"))
        }
        _ => false,
    }
}
