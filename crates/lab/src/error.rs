//! Errors of running and grading tasks.

use marvin_agent::SessionError;
use marvin_agent::skills::SkillError;
use marvin_base::Exit;
use marvin_base::atomic::WriteError;
use marvin_flow::drive::DriveError;
use marvin_flow::engine::EngineError;
use marvin_flow::manager::PlanError;

/// Why a task could not be run or graded.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("unknown task `{name}`{near}\n  hint: `marvin list-tasks` shows all of them")]
    NoTask {
        name: String,
        /// The nearest name, as the end of a sentence.
        near: String,
    },
    /// A task in the binary is damaged.
    #[error("the task `{0}` is damaged: {1}")]
    Damaged(String, String),
    /// Python is missing, or has no pytest.
    #[error(
        "`{program}` {problem}\n  hint: tasks are graded with pytest; install it (`python3 -m venv ~/lab && ~/lab/bin/pip install pytest`) and name it with --python ~/lab, or the setting lab.python"
    )]
    Python { program: String, problem: String },
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Workflow(#[from] EngineError),
    /// A plan that was accepted cannot be read.
    #[error("the plan cannot be read: {0}")]
    Plan(#[source] PlanError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("{0}: {1}")]
    File(String, std::io::Error),
    /// A skill cannot be built.
    #[error("cannot build the skill: {reason}\n  hint: {hint}")]
    Skill { reason: String, hint: &'static str },
    #[error(transparent)]
    Memory(#[from] marvin_memory::MemoryError),
    #[error("interrupted")]
    Interrupted,
}

impl From<SkillError> for LabError {
    fn from(error: SkillError) -> Self {
        LabError::Skill { reason: error.to_string(), hint: error.hint().unwrap_or_default() }
    }
}

impl From<DriveError> for LabError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Engine(error) => error.into(),
            DriveError::Session(error) => error.into(),
        }
    }
}

impl LabError {
    /// An error of a file, with its path.
    pub(crate) fn file(path: &std::path::Path, error: std::io::Error) -> Self {
        LabError::File(path.display().to_string(), error)
    }

    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            LabError::NoTask { .. } | LabError::Skill { .. } => Exit::Usage,
            LabError::Python { .. } => Exit::Blocked,
            LabError::Session(error) => error.exit(),
            LabError::Interrupted => Exit::Interrupted,
            LabError::Plan(_)
            | LabError::Damaged(..)
            | LabError::Workflow(_)
            | LabError::Write(_)
            | LabError::Memory(_)
            | LabError::File(..) => Exit::Failed,
        }
    }
}
