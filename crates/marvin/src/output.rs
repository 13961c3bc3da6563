//! The two streams: data to standard output, talk to standard error. The only module that writes to either.
//!
//! A reader that went away is an ordinary event, not a crash: it becomes a [`Failure`] with a message.
//!
//! Nothing that others wrote (models, files, repositories, programs) may command the terminal. This module is the one place that
//! sees to it: lines for people and everything on standard error are printable wherever they go, since people read pipes too
//! (`| less -R`); text that is data (an answer, a document, an export) stays as it is in a pipe and is printable on a terminal; JSON
//! is valid either way.

use crate::failure::Failure;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::redact::Redactor;
use serde_json::Value;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the program was started without a standard output (`>&-`): every write would seem to succeed.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Says that there is no standard output.
pub(crate) fn is_closed() {
    CLOSED.store(true, Ordering::Relaxed);
}

/// Writes lines for people, printable wherever they go.
pub(crate) fn line(text: &str) -> Result<Exit, Failure> {
    let mut text = visible(text);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    write(text.as_bytes())?;
    Ok(Exit::Success)
}

/// Writes a JSON value, readable where a person looks, on one line where a program does.
pub(crate) fn json(value: &Value) -> Result<Exit, Failure> {
    let text = if is_terminal() { escape_json(&format!("{value:#}")) } else { value.to_string() };
    write(format!("{text}\n").as_bytes())?;
    Ok(Exit::Success)
}

/// Writes a line of JSON that is complete already.
pub(crate) fn json_line(text: &str) -> Result<(), Failure> {
    if is_terminal() { write(escape_json(text).as_bytes()) } else { write(text.as_bytes()) }
}

/// Writes text that is data, as it is in a pipe and printable on a terminal, and pushes it out.
pub(crate) fn raw(text: &str) -> Result<(), Failure> {
    if is_terminal() { write(visible(text).as_bytes()) } else { write(text.as_bytes()) }
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    static TERMINAL: OnceLock<bool> = OnceLock::new();
    *TERMINAL.get_or_init(|| std::io::stdout().is_terminal())
}

/// JSON in which what a terminal would obey is escaped as JSON does it.
fn escape_json(text: &str) -> String {
    if !text.chars().any(marvin_base::printable::is_hidden) {
        return text.to_string();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut units = [0; 2];
    for char in text.chars() {
        if marvin_base::printable::is_hidden(char) {
            for unit in char.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(char);
        }
    }
    escaped
}

/// Writes bytes of a file that is data: as they are in a pipe, printable on a terminal.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    if is_terminal() { raw(&String::from_utf8_lossy(bytes)) } else { write(bytes) }
}

/// Writes bytes and pushes them out.
fn write(bytes: &[u8]) -> Result<(), Failure> {
    if CLOSED.load(Ordering::Relaxed) {
        return Err(Failure::failed("cannot write to standard output: it is closed"));
    }
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| {
        let reason = match error.kind() {
            std::io::ErrorKind::BrokenPipe => "its reader went away".to_string(),
            _ => format!("{error}{}", marvin_base::atomic::hint(&error)),
        };
        Failure::failed(format!("cannot write to standard output: {reason}"))
    })
}

/// Text without what would move a person's cursor or hide something; lines stay lines.
pub(crate) fn visible(text: &str) -> String {
    marvin_base::printable::visible(text).into_owned()
}

/// Says something to a person.
pub(crate) fn talk(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // Where even this fails there is nobody left to tell.
    writeln!(stderr, "{}", visible(text)).ok();
}

/// Asks a person, on the same line.
pub(crate) fn ask(text: &str) {
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{}", visible(text)).and_then(|()| stderr.flush()).ok();
}

/// Says what went wrong. Messages quote what was typed and what stands in files: secrets of the environment are left out.
pub(crate) fn error(message: &str) {
    talk(&format!("marvin: {}", environment_redactor().text(message)));
}

/// Knows the secrets of the environment: for messages from before there is a run.
pub(crate) fn environment_redactor() -> Redactor {
    Redactor::new(&Environment::of_process(), [])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({"a": "x\u{1b}[31m\u{9b}2J\u{202e}\u{e0041}\r\n\u{7f}é"});
        let text = escape_json(&format!("{value:#}"));
        assert!(!text.chars().any(marvin_base::printable::is_hidden), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
