//! Events of sessions of other programs that hooks record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A submitted prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HookPrompt {
    /// The sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Whether a person wrote it.
    pub person: bool,
    /// The prompt, shortened.
    pub prompt: String,
    /// What kind of guidance it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// What the guidance is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
}

/// A tool call before it is made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HookCall {
    /// The tool.
    pub tool: String,
    /// The client's id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The kind of the sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// The file that it changes, relative to the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its input, shortened.
    pub input_summary: String,
    /// The command that a person is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The verdict; none where the client decides alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<HookVerdict>,
}

/// The verdict on a tool call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HookVerdict {
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    /// Why.
    pub reason: String,
    /// The rule that decided.
    pub rule: String,
    /// The layer of the gate.
    pub layer: String,
    /// What the client was told: the decision, or `none`.
    pub told: String,
}

/// A tool call that is over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HookCallResult {
    /// The tool.
    pub tool: String,
    /// The client's id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The file that it is about, relative to the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whether it succeeded.
    pub success: bool,
    /// Its number in the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// Its input, shortened.
    pub input_summary: String,
    /// Its output or its error, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_summary: Option<String>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// Whether tests passed since the last edit, where the call changes that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tested: Option<bool>,
    /// Whether it may have changed something; absent where it only read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
}

/// A sub-agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HookAgent {
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
}

/// A claim to be done, verified.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HookVerification {
    /// Whether every commitment holds.
    pub verified: bool,
    /// How often in a row the agent was sent back to work.
    pub sent_back: u32,
    /// The result in a line.
    pub summary: String,
}

/// An event that needs no answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HookObservation {
    /// The sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The kind of the sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// Its text, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its error, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its reason, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The tools of a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tasks in the background, when an agent stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_tasks: Option<usize>,
}
