//! Standard output for data, standard error for messages. The only module that writes to either.
//!
//! A closed pipe is an ordinary event, not a crash: it becomes a [`Failure`] with a message.
//!
//! Text of models, files, repositories and programs must not control the terminal, and this is the one place that ensures
//! it. Lines for people and everything on standard error are printable wherever they go, since people read pipes too
//! (`| less -R`). Text that is data (an answer, a document, an export) is unchanged in a pipe and printable on a terminal.
//! JSON is valid either way.

use crate::failure::Failure;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::redact::Redactor;
use marvin_tui::picture::PictureProtocol;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

const PICTURE_COLUMNS: u16 = 60;

/// Characters of a line of an error.
const MAX_ERROR_LINE_CHARS: usize = 8_000;

/// Writes lines for people, printable wherever they go.
pub(crate) fn line(text: &str) -> Result<Exit, Failure> {
    let mut text = visible(text);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    write(text.as_bytes())?;
    Ok(Exit::Success)
}

/// Writes a value as JSON: indented on a terminal, on one line elsewhere.
pub(crate) fn json(value: &impl Serialize) -> Result<Exit, Failure> {
    let text = if is_terminal() { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    json_text(text)
}

fn json_text(text: serde_json::Result<String>) -> Result<Exit, Failure> {
    let text = text.map_err(|error| Failure::failed(format!("cannot write the result as JSON: {error}")))?;
    json_line(&format!("{text}\n"))?;
    Ok(Exit::Success)
}

/// Writes a value as one line of JSON, also on a terminal.
pub(crate) fn json_object(value: &impl Serialize) -> Result<Exit, Failure> {
    json_text(serde_json::to_string(value))
}

/// Writes a JSON object with one entry.
pub(crate) fn json_entry(key: &str, value: &impl Serialize) -> Result<Exit, Failure> {
    json(&BTreeMap::from([(key, value)]))
}

/// Writes lines of JSON that are complete already.
pub(crate) fn json_line(text: &str) -> Result<(), Failure> {
    if is_terminal() { write(escape_json(text).as_bytes()) } else { write(text.as_bytes()) }
}

/// Writes text that is data, unchanged in a pipe and printable on a terminal, and flushes it.
pub(crate) fn raw(text: &str) -> Result<(), Failure> {
    if is_terminal() { write(visible(text).as_bytes()) } else { write(text.as_bytes()) }
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    static TERMINAL: OnceLock<bool> = OnceLock::new();
    *TERMINAL.get_or_init(|| std::io::stdout().is_terminal())
}

/// Escapes control characters in JSON the way JSON does.
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

/// Writes bytes that are data, unchanged in a pipe and printable on a terminal.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    if is_terminal() { raw(&String::from_utf8_lossy(bytes)) } else { write(bytes) }
}

/// Writes bytes and flushes them.
fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| {
        let reason = match error.kind() {
            std::io::ErrorKind::BrokenPipe => "its reader went away".to_string(),
            _ => format!("{error}{}", marvin_base::atomic::hint(&error)),
        };
        Failure::failed(format!("cannot write to standard output: {reason}"))
    })
}

/// Shows a picture on a terminal that can show pictures; elsewhere it is not read.
pub(crate) fn picture(read: impl FnOnce() -> Option<Vec<u8>>) {
    if !is_terminal() {
        return;
    }
    let protocol = PictureProtocol::detect(&Environment::of_process());
    if let Some((protocol, png)) = protocol.and_then(|protocol| Some((protocol, read()?))) {
        // The path of the picture was shown, so a failure loses nothing.
        write(format!("{}\n", protocol.encode(&png, PICTURE_COLUMNS)).as_bytes()).ok();
    }
}

/// Text without control characters that would move the cursor or hide something; lines stay lines.
pub(crate) fn visible(text: &str) -> String {
    marvin_base::printable::visible(text).into_owned()
}

/// Writes a message for a person to standard error.
pub(crate) fn talk(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // A failure here cannot be reported anywhere.
    writeln!(stderr, "{}", visible(text)).ok();
}

/// Writes a question whose answer follows on the same line.
pub(crate) fn ask(text: &str) {
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{}", visible(text)).and_then(|()| stderr.flush()).ok();
}

/// Writes an error. Errors quote what was typed and what files hold, so secrets of the environment are redacted.
pub(crate) fn error(message: &str) {
    talk(&format!("marvin: {}", cut_lines(&environment_redactor().text(message))));
}

/// Cuts lines that no person reads: a name may be as long as a command line.
fn cut_lines(message: &str) -> String {
    let cut = |line: &str| match line.char_indices().nth(MAX_ERROR_LINE_CHARS) {
        Some((end, _)) => {
            let (head, rest) = line.split_at(end);
            format!("{head}… [{} more characters]", rest.chars().count())
        }
        None => line.to_string(),
    };
    message.lines().map(cut).collect::<Vec<_>>().join("\n")
}

/// A redactor of the secrets of the environment, for messages from before a run.
pub(crate) fn environment_redactor() -> Redactor {
    Redactor::new(&Environment::of_process(), [])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_line_of_an_error_is_bounded() {
        let short = "cannot read a: it is not there\n  hint: name another";
        assert_eq!(cut_lines(short), short);
        let long = format!("unknown `{}`\n  hint: b", "é".repeat(10_000));
        let cut = cut_lines(&long);
        assert!(cut.ends_with("é… [2010 more characters]\n  hint: b"), "{cut}");
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({"a": "x\u{1b}[31m\u{9b}2J\u{202e}\u{e0041}\r\n\u{7f}é"});
        let text = escape_json(&format!("{value:#}"));
        assert!(!text.chars().any(marvin_base::printable::is_hidden), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
