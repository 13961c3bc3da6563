//! Events of a run as a whole: its beginning, notices, prompts.

use crate::run_record::RunKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The beginning of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunOpened {
    /// The run's id.
    pub run_id: String,
    /// The run's directory.
    pub run_path: String,
    /// How it was started, if not as a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manner: Option<RunKind>,
    /// What is to be done, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The last phase that is complete, of a pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The provider of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// The number of tools that the model is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
}

/// Something that a person should know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// The kind, for programs; none for plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<NoticeKind>,
    /// The text.
    pub text: String,
    /// The tool that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The item that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The paths that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// The kind of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A program changed what it should not.
    Tampering,
}

/// What a prompt was composed of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromptComposed {
    /// Why: `turn`, `resume`, `step`, `compaction`.
    pub reason: String,
    /// The hash of system message and task.
    pub signature: String,
    /// The SHA-256 of the system message.
    pub sha256: String,
    /// Bytes of the system message.
    pub system_bytes: usize,
    /// Bytes of the task.
    pub task_bytes: usize,
    /// Its pieces, with their sizes.
    pub pieces: Value,
}

impl NoticeKind {
    /// The word for it in the trace.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            NoticeKind::Tampering => "tampering",
        }
    }
}
