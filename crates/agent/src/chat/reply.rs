//! What comes of a line that is no prompt.

use super::Submission;
use serde::Serialize;
use std::path::PathBuf;

/// What comes of a command; a face shows it in its own way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "reply", content = "data")]
pub enum Reply {
    /// Something to read.
    Text(String),
    /// What a command of the shell said; it stands among the messages too.
    Ran(String),
    /// Something is different from now on; this says what.
    Changed(String),
    /// It could not be done; this says why, and the mend.
    Wrong(String),
    /// A prompt was sent.
    Sent(Submission),
    /// A file for the person's editor. What it is, and where.
    Edit {
        /// What it is.
        what: String,
        /// The file.
        path: PathBuf,
    },
    /// The messages are others than before: show them anew. This says why.
    Again(String),
    /// A list that a face with panels shows as one: `memory`, `servitors`, `runs`, `help`; and its text for the others.
    Panel(&'static str, String),
    /// This is to be put back into the input, to be changed and sent again.
    Input(String),
    /// Speech: record this many seconds.
    Voice(u64),
    /// The person wants to leave.
    Quit,
}
