//! Changes of a conversation that a tool asks for.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A change that the conversation makes after the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    /// Another profile is active.
    Profile(String),
    /// The chat log changed on disk.
    ChatLog,
    /// Turns work in this directory.
    WorkingDir(PathBuf),
    /// The conversation ends, with these words.
    Exit(String),
}

/// The changes that the tools of a session asked for.
#[derive(Debug, Default)]
pub struct SessionChanges(Mutex<Vec<SessionChange>>);

impl SessionChanges {
    pub(super) fn push(&self, change: SessionChange) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(change);
    }

    /// Takes the changes, in their order.
    pub fn take(&self) -> Vec<SessionChange> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
