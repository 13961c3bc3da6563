//! The two streams: data to standard output, talk to standard error. The only module that writes to either.
//!
//! A reader that went away is an ordinary event, not a crash: it becomes a [`Failure`] with a message.

use crate::failure::Failure;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::redact::Redactor;
use serde_json::Value;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the program was started without a standard output (`>&-`): every write would seem to succeed.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Says that there is no standard output.
pub(crate) fn is_closed() {
    CLOSED.store(true, Ordering::Relaxed);
}

/// Writes a line of data.
pub(crate) fn line(text: &str) -> Result<Exit, Failure> {
    let mut text = text.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    raw(&text)?;
    Ok(Exit::Success)
}

/// Writes a JSON value, readable where a person looks, on one line where a program does.
pub(crate) fn json(value: &Value) -> Result<Exit, Failure> {
    if std::io::stdout().is_terminal() { line(&format!("{value:#}")) } else { line(&value.to_string()) }
}

/// Writes text as it is, and pushes it out.
pub(crate) fn raw(text: &str) -> Result<(), Failure> {
    bytes(text.as_bytes())
}

/// Writes bytes as they are, text or not, and pushes them out.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
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
    marvin_base::visible::visible(text).into_owned()
}

/// Says something to a person.
pub(crate) fn talk(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // Where even this fails there is nobody left to tell.
    writeln!(stderr, "{text}").ok();
}

/// Says what went wrong. Messages quote what was typed and what stands in files: secrets of the environment are left out.
pub(crate) fn error(message: &str) {
    talk(&format!("marvin: {}", environment_redactor().text(message)));
}

/// Knows the secrets of the environment: for messages from before there is a run.
pub(crate) fn environment_redactor() -> Redactor {
    Redactor::new(&Environment::of_process(), [])
}
