//! What can keep a task from being run or graded.

use marvin_agent::SessionError;
use marvin_base::Exit;
use marvin_base::atomic::WriteError;
use marvin_flow::engine::EngineError;

/// Why a task could not be run or graded.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// There is no such task.
    #[error("there is no task `{name}`{near}\n  hint: `marvin list-tasks` shows all of them")]
    NoTask {
        /// What was asked for.
        name: String,
        /// The nearest name, as the end of a sentence.
        near: String,
    },
    /// A task in the binary is damaged.
    #[error("the task `{0}` is damaged: {1}")]
    Damaged(String, String),
    /// There is no Python, or it has no pytest.
    #[error(
        "`{program}` {problem}\n  hint: tasks are graded with pytest; install it (`python3 -m venv ~/lab && ~/lab/bin/pip install pytest`) and name it with --python ~/lab, or the setting lab.python"
    )]
    Python {
        /// The program.
        program: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A session could not be opened or its record broke.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A workflow could not be run.
    #[error(transparent)]
    Workflow(#[from] EngineError),
    /// A plan that was accepted cannot be read.
    #[error("the plan cannot be read: {0}")]
    Plan(String),
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A directory or file cannot be used.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
    /// It was interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// An error of a file, with its path.
    pub(crate) fn file(path: &std::path::Path, error: std::io::Error) -> Self {
        LabError::File(path.display().to_string(), error)
    }

    /// Its exit code.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            LabError::NoTask { .. } => Exit::Usage,
            LabError::Python { .. } => Exit::Blocked,
            LabError::Session(error) => error.exit(),
            LabError::Interrupted => Exit::Interrupted,
            LabError::Plan(_)
            | LabError::Damaged(..)
            | LabError::Workflow(_)
            | LabError::Write(_)
            | LabError::File(..) => Exit::Failed,
        }
    }
}
