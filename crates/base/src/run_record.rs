//! `run.json`: the one type that every kind of run writes and every reader reads.
//!
//! A run writes it when it begins, when it learns something that a reader needs, and when it ends. The trace comes first:
//! whatever a crash kept from `run.json` is still in `trace.jsonl`. Keys that only one kind of run has are in a struct of
//! their own, which is absent in other runs. Readers accept files of other versions: unknown keys are ignored, missing ones
//! are empty.

use crate::files::{self, Links};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of the file in a run's directory.
pub const FILE: &str = "run.json";
/// The version of the file.
pub const VERSION: u32 = 1;
/// Bytes of a `run.json` that is read; a larger file is refused.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// How a run was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// One prompt of a program or a script.
    NonInteractive,
    /// A turn of a conversation.
    Inline,
    /// Servitors without a turn of their own.
    Servitors,
    /// A command that a person typed in a front end.
    Shell,
    /// Tool calls from the command line.
    Tool,
    /// Tool calls of an MCP client.
    Mcp,
    /// A session of another program that hooks record.
    Hooks,
    /// A workflow.
    Workflow,
    /// The TDD pipeline.
    Pipeline,
    /// The benchmark suite.
    Suite,
    /// The building of a skill.
    Skill,
    /// Self-improve sessions.
    SelfImprove,
    /// A kind that this version does not know.
    #[default]
    #[serde(other)]
    Unknown,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It has not ended, or was interrupted without a word.
    Running,
    /// Its workflow is being planned.
    Planning,
    /// It ended well.
    Success,
    /// A workflow whose steps all succeeded.
    Succeeded,
    /// Something is missing.
    Partial,
    /// It failed.
    Failed,
    /// A person is needed.
    Blocked,
    /// The budget was spent.
    BudgetSpent,
    /// A signal or a crash ended it.
    Interrupted,
    /// A claim did not hold.
    NotVerified,
    /// A person or a limit stopped it.
    Stopped,
    /// Its record could not be written.
    Broken,
    /// A status that this version does not know.
    #[serde(other)]
    Unknown,
}

impl RunKind {
    /// The word for it in `run.json`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RunKind::NonInteractive => "non-interactive",
            RunKind::Inline => "inline",
            RunKind::Servitors => "servitors",
            RunKind::Shell => "shell",
            RunKind::Tool => "tool",
            RunKind::Mcp => "mcp",
            RunKind::Hooks => "hooks",
            RunKind::Workflow => "workflow",
            RunKind::Pipeline => "pipeline",
            RunKind::Suite => "suite",
            RunKind::Skill => "skill",
            RunKind::SelfImprove => "self-improve",
            RunKind::Unknown => "unknown",
        }
    }
}

impl RunStatus {
    /// The word for it in `run.json`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Planning => "planning",
            RunStatus::Success => "success",
            RunStatus::Succeeded => "succeeded",
            RunStatus::Partial => "partial",
            RunStatus::Failed => "failed",
            RunStatus::Blocked => "blocked",
            RunStatus::BudgetSpent => "budget_spent",
            RunStatus::Interrupted => "interrupted",
            RunStatus::NotVerified => "not_verified",
            RunStatus::Stopped => "stopped",
            RunStatus::Broken => "broken",
            RunStatus::Unknown => "unknown",
        }
    }

    /// The word that people read, given the word of a record: both words for success read the same.
    ///
    /// Records and JSON keep theirs, since scripts compare them.
    #[must_use]
    pub fn shown_word(word: &str) -> &str {
        match word {
            "success" => "succeeded",
            "SUCCESS" => "SUCCEEDED",
            other => other,
        }
    }

    /// Whether a run with this status has no end yet.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, RunStatus::Running | RunStatus::Planning)
    }
}

/// `run.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunRecord {
    /// The version of this file.
    pub version: u32,
    /// The name of the run's directory.
    pub run_id: String,
    /// When the run began.
    pub started_at: String,
    /// How it was started.
    pub manner: RunKind,
    /// Where it stands; a session of hooks has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// What was asked for, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// When the run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The key of the reason why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<String>,
    /// The exit code of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The number of tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_count: Option<u64>,
    /// What it cost, with its sub-agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostReport>,
    /// The last verification: a report of commitments, or what a session of hooks knows of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Value>,
    /// Paths that programs changed and should not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tampered: Vec<String>,
    /// The settings that it was started with, which a resume uses: model, tiers, script and bounds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub start: BTreeMap<String, String>,
    /// The last phase of a pipeline that is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What only turns have.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Box<TurnRecord>>,
    /// What only sessions of hooks have.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HookSessionRecord>,
    /// What only workflows have.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowRecord>,
}

/// What a turn's `run.json` has: everything that a resume or a replay needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    /// The provider of the model.
    pub provider: String,
    /// The model.
    #[serde(default)]
    pub model: String,
    /// The reply protocol.
    #[serde(default)]
    pub protocol: String,
    /// Whether the model makes native tool calls.
    #[serde(default)]
    pub native_tools: bool,
    /// The working directory.
    #[serde(default)]
    pub working_dir: Option<String>,
    /// The person's profile.
    #[serde(default)]
    pub profile: String,
    /// The day that the prompt names.
    #[serde(default)]
    pub date: String,
    /// When lines are forced to the disk.
    #[serde(default)]
    pub durability: String,
    /// What contains its commands.
    #[serde(default)]
    pub sandbox: String,
    /// Where exchanges with the model are recorded.
    #[serde(default)]
    pub record: Option<String>,
    /// The JSON schema of its answer.
    #[serde(default)]
    pub response_schema: Option<Value>,
    /// The settings that shape the conversation.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The agent's role.
    #[serde(default)]
    pub role: String,
    /// How many agents are above it.
    #[serde(default)]
    pub depth: i64,
    /// What was asked, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Its commitments, as the prompt says them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promised: Vec<String>,
    /// The skills that the prompt lists, one per line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Texts that callers added to its prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extras: Vec<PromptExtra>,
    /// Tools that were selected for the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turbotime: Option<Vec<String>>,
    /// Its answer, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The hash of its whole answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_signature: Option<String>,
    /// Every verification, for a replay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verifications: Vec<VerificationRecord>,
}

/// A text that a caller adds to the prompt: what packs tell, what memory holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptExtra {
    /// Its name, which is also its heading.
    pub name: String,
    /// The text. Text from untrusted sources must say so itself.
    pub text: String,
    /// From 0, the first to be left out, to 99.
    pub priority: u8,
}

/// One verification of a turn, as a replay needs it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VerificationRecord {
    /// Whether everything held.
    pub verified: bool,
    /// Whether there was nothing to verify.
    pub empty: bool,
    /// The result in a line.
    pub summary: String,
    /// What the model was told.
    pub feedback: String,
    /// The report.
    pub report: Value,
}

/// What a session of hooks has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookSessionRecord {
    /// The client: `claude` or `codex`.
    #[serde(default)]
    pub client: String,
    /// The client's name for the session.
    pub session_id: String,
    /// Packs that were loaded.
    #[serde(default)]
    pub active_packs: Vec<String>,
    /// Their versions.
    #[serde(default)]
    pub pack_versions: BTreeMap<String, String>,
    /// Corrections by the user.
    #[serde(default)]
    pub correction_count: u64,
    /// The last events.
    #[serde(default)]
    pub recent_activity: Vec<Activity>,
    /// How often each pack was injected.
    #[serde(default)]
    pub pack_injection_counts: BTreeMap<String, u64>,
    /// The last injection, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_injection: Option<LastInjection>,
}

/// Knowledge of packs that an agent was given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LastInjection {
    /// The file that it is about; empty for a digest.
    pub file: String,
    /// The packs.
    pub packs: Vec<String>,
    /// The scores of all packs.
    pub relevance_scores: Vec<PackScore>,
    /// Titles of the lessons.
    pub lessons: Vec<String>,
}

/// The score of a pack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PackScore {
    /// The pack.
    pub pack: String,
    /// Its score.
    pub score: u32,
    /// What it is made of.
    pub signals: Vec<String>,
}

/// An event of a session of hooks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// When.
    pub timestamp: String,
    /// Its facts.
    pub data: Value,
}

/// What a workflow has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowRecord {
    /// The workflow's id.
    pub workflow_id: String,
    /// The number of its steps.
    #[serde(default)]
    pub steps: u64,
    /// How commits are forced to the disk.
    #[serde(default)]
    pub sync: String,
    /// How many steps have which status.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, usize>,
    /// Where it runs, if other machines carry it out; this directory is then a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetRecord>,
}

/// Where a workflow runs that other machines carry out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetRecord {
    /// `HOST:PORT` of the server.
    pub address: String,
    /// The namespace of the server.
    pub namespace: String,
    /// The id of the run on the server.
    pub id: String,
    /// The id of its first history.
    pub first_history: String,
}

/// The object behind `MARVIN_COST:`: exactly four keys.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MarvinCost {
    /// US dollars.
    pub session_cost: f64,
    /// Replies of models.
    pub llm_turns: u64,
    /// Replies by model.
    pub model_turns: BTreeMap<String, u64>,
    /// US dollars by model.
    pub model_cost: BTreeMap<String, f64>,
}

impl std::fmt::Display for MarvinCost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
    }
}

/// The cost of a run with its sub-agents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CostReport {
    /// The whole.
    #[serde(flatten)]
    pub total: MarvinCost,
    /// Tokens by provider.
    pub tokens: BTreeMap<String, TokenCount>,
    /// Models without a known price.
    pub unpriced_models: Vec<String>,
}

/// Tokens of one provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TokenCount {
    /// Sent.
    pub input: u64,
    /// Received.
    pub output: u64,
}

/// Why a `run.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be read.
    #[error("its run.json cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// It is not what Marvin writes.
    #[error("its run.json is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
}

impl RunRecord {
    /// A record of this kind, for [`crate::run::RunDirectory::save`].
    #[must_use]
    pub fn new(manner: RunKind) -> Self {
        RunRecord { manner, ..RunRecord::default() }
    }

    /// Reads `run.json` of a run's directory.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn read(run: &Path) -> Result<Self, RecordError> {
        let text = files::read_text(&run.join(FILE), MAX_FILE_BYTES, Links::Refuse)?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Whether the run has no end yet.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.status.is_some_and(RunStatus::is_open)
    }
}

/// The directories of runs below a directory, newest first. Links, and names that are not a run's id, are left out.
#[must_use]
pub fn list(runs: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(runs).into_iter().flatten().flatten();
    let is_run = |entry: &std::fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir())
            && entry.file_name().to_str().is_some_and(|name| crate::ids::run_started(name).is_some())
    };
    let mut found: Vec<PathBuf> = entries.filter(is_run).map(|entry| entry.path()).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_of_one_kind_are_absent_in_other_kinds() {
        let plain: RunRecord =
            serde_json::from_value(json!({"version": 1, "runId": "r", "manner": "mcp"})).unwrap();
        assert_eq!((&plain.turn, &plain.hooks, &plain.workflow), (&None, &None, &None));
        let turn: RunRecord = serde_json::from_value(json!({"provider": "mock", "prompt": "go"})).unwrap();
        assert_eq!(turn.turn.unwrap().prompt.as_deref(), Some("go"));
        let hooks: RunRecord = serde_json::from_value(json!({"sessionId": "s", "toolCallCount": 3})).unwrap();
        assert_eq!((hooks.hooks.unwrap().session_id.as_str(), hooks.tool_call_count), ("s", Some(3)));
        let workflow: RunRecord = serde_json::from_value(json!({"workflow_id": "w", "steps": 2})).unwrap();
        assert_eq!(workflow.workflow.unwrap().steps, 2);
    }

    #[test]
    fn words_of_other_versions_are_accepted() {
        let record: RunRecord =
            serde_json::from_value(json!({"manner": "later", "status": "later", "more": [1]})).unwrap();
        assert_eq!((record.manner, record.status), (RunKind::Unknown, Some(RunStatus::Unknown)));
        assert!(!record.is_open());
    }

    #[test]
    fn words_are_those_that_serde_writes() {
        for status in [RunStatus::Running, RunStatus::BudgetSpent, RunStatus::NotVerified, RunStatus::Unknown]
        {
            assert_eq!(json!(status), status.word());
        }
        for kind in
            [RunKind::NonInteractive, RunKind::Inline, RunKind::Suite, RunKind::SelfImprove, RunKind::Unknown]
        {
            assert_eq!(json!(kind), kind.word());
        }
    }

    #[test]
    fn runs_are_listed_newest_first_without_links() {
        let runs = tempfile::tempdir().unwrap();
        for name in ["run_20260101_000000_aaaa", "run_20260201_000000_aaaa", "sessions", "run_x"] {
            std::fs::create_dir(runs.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink("/", runs.path().join("run_20260301_000000_aaaa")).unwrap();
        let names: Vec<_> = list(runs.path()).iter().map(|run| run.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["run_20260201_000000_aaaa", "run_20260101_000000_aaaa"]);
    }
}
