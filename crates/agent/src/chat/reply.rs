//! Results of lines that are commands.

use super::Submission;
use serde::Serialize;
use std::path::PathBuf;

/// Result of a command; each front end shows it in its own way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "reply", content = "data")]
pub enum Reply {
    Text(String),
    /// Output of a shell command; it is stored among the messages too.
    Ran(String),
    /// Something is different from now on; this says what.
    Changed(String),
    /// It failed; this says why, with a hint.
    Wrong(String),
    Sent(Submission),
    /// A file for the person's editor. What it is, and where.
    Edit {
        what: String,
        path: PathBuf,
    },
    /// The messages changed: show them again. This says why.
    Again(String),
    /// A list that a front end with panels shows as one: `memory`, `servitors`, `runs`, `help`; and its text for the others.
    Panel(&'static str, String),
    /// Text for the input, to be edited and sent again.
    Input(String),
    /// The text of a recording, for the input.
    Speech(String),
    /// The answer was interrupted; this prompt waited and is for the input.
    Returned(String),
    /// Speech: record this many seconds.
    Voice(u64),
    Quit,
}
