//! Errors of self-improve runs.

use super::plan::PlanError;
use marvin_agent::SessionError;
use marvin_base::Exit;
use marvin_base::atomic::WriteError;
use marvin_base::hint::HintLine;
use marvin_base::ledger::LedgerError;
use marvin_base::settings::SettingsError;
use marvin_flow::engine::EngineError;
use marvin_memory::MemoryError;
use marvin_tools::ToolError;
use std::borrow::Cow;
use std::path::Path;

/// Errors that keep a run from beginning or continuing.
#[derive(Debug, thiserror::Error)]
pub enum ImproveError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("cannot read the input {0}: {1}")]
    Input(String, String),
    #[error("cannot read the input {url}: {reason}{hints}", hints = self.hint_line())]
    RefusedInput { url: String, reason: String },
    #[error(
        "cannot use {0} as the input: it is a file of credentials, and every session's model would read it{hints}",
        hints = self.hint_line()
    )]
    SecretInput(String),
    #[error("cannot use {reference} as the input: {reason}{hints}", hints = self.hint_line())]
    UnusableInput { reference: String, reason: &'static str },
    #[error("cannot read the input {0}: it does not exist{hints}", hints = self.hint_line())]
    MissingInput(String),
    #[error("cannot begin: the checkout has uncommitted changes: {0}{hints}", hints = self.hint_line())]
    NotClean(String),
    #[error("cannot begin: {0} is not the root of a git checkout{hints}", hints = self.hint_line())]
    NoRepository(String),
    #[error(
        "cannot begin: {path} cannot be used as a git checkout: {reason}{hints}",
        hints = self.hint_line()
    )]
    BrokenRepository { path: String, reason: String },
    #[error("cannot begin: the provider {name} cannot be used: {reason}")]
    Provider { name: String, reason: String },
    #[error("cannot begin: the repository has no commit{hints}", hints = self.hint_line())]
    NoCommit,
    #[error("cannot evaluate the checkout: {0}{hints}", hints = self.hint_line())]
    Evaluation(String),
    #[error(
        "cannot complete an interrupted merge: files that it does not touch have changed: {0}{hints}",
        hints = self.hint_line()
    )]
    Recovery(String),
    #[error(
        "cannot take the merge lock: another run holds it for more than an hour{hints}",
        hints = self.hint_line()
    )]
    Locked,
    #[error("cannot run the suite: this process solves a task of it (MARVIN_LAB is set)")]
    InsideTask,
    #[error("cannot run the suite: `{program}` {problem}{hints}", hints = self.hint_line())]
    Python { program: String, problem: String },
    #[error("{0} is not a self-improve run")]
    NotARun(String),
    #[error(transparent)]
    Session(SessionError),
    #[error(transparent)]
    Workflow(EngineError),
    #[error(transparent)]
    Git(#[from] ToolError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Lab(#[from] crate::LabError),
    #[error("{0}")]
    Internal(String),
}

impl ImproveError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            ImproveError::Plan(error) => return error.hint(),
            ImproveError::RefusedInput { .. } => {
                "name its host in web.org_allowlist of your config.toml, or give the text as a file".into()
            }
            ImproveError::SecretInput(_) => "give the part that matters as a text".into(),
            ImproveError::UnusableInput { .. } => "give the path of a text file, a URL or a text".into(),
            ImproveError::MissingInput(text) => {
                format!("check the path; a text has several words: --input 'see {text}'").into()
            }
            ImproveError::NotClean(_) => {
                "commit or stash them; sessions begin with the last commit, and merges need a clean checkout"
                    .into()
            }
            ImproveError::NoRepository(_) => {
                "start in its root, or make one with `git init` and a first commit".into()
            }
            ImproveError::BrokenRepository { .. } => "start in the root of a repository".into(),
            ImproveError::NoCommit => "commit the project first; sessions begin with the last commit".into(),
            ImproveError::Evaluation(_) => "name a command that can be run here, with --evaluate".into(),
            ImproveError::Recovery(_) => "commit or stash them, and resume".into(),
            ImproveError::Locked => "`marvin runs list` shows it".into(),
            ImproveError::Python { .. } => "tasks are graded with pytest; install it (`python3 -m venv ~/lab && ~/lab/bin/pip install pytest`) and name ~/lab in the setting lab.python".into(),
            _ => return None,
        })
    }

    fn hint_line(&self) -> HintLine<Cow<'static, str>> {
        HintLine(self.hint())
    }

    pub(super) fn file(path: &Path, error: std::io::Error) -> Self {
        ImproveError::Write(WriteError { path: path.display().to_string(), source: error })
    }

    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            ImproveError::Plan(_)
            | ImproveError::NotARun(_)
            | ImproveError::UnusableInput { .. }
            | ImproveError::MissingInput(_)
            | ImproveError::Provider { .. } => Exit::Usage,
            ImproveError::NotClean(_)
            | ImproveError::NoRepository(_)
            | ImproveError::BrokenRepository { .. }
            | ImproveError::NoCommit
            | ImproveError::Recovery(_)
            | ImproveError::Python { .. }
            | ImproveError::Evaluation(_) => Exit::Blocked,
            ImproveError::InsideTask | ImproveError::SecretInput(_) => Exit::Refused,
            ImproveError::Lab(error) => error.exit(),
            ImproveError::Session(error) => error.exit(),
            ImproveError::Workflow(error) => error.exit(),
            _ => Exit::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_a_field_and_ends_the_message() {
        let error = ImproveError::NotClean("a.txt".into());
        let hint = error.hint().unwrap();
        assert!(hint.starts_with("commit or stash them;"));
        assert_eq!(
            error.to_string(),
            format!("cannot begin: the checkout has uncommitted changes: a.txt\n  hint: {hint}")
        );
        assert_eq!(ImproveError::from(PlanError::Mix(6)).hint().as_deref(), Some("--sessions 10"));
        assert_eq!(ImproveError::InsideTask.hint(), None);
    }
}
