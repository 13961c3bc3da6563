//! Items of a turn: requests to the model, tool calls, messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request to the model, a tool call or a message. Its id is the same in all events on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// A request to the model.
    ModelCall(Box<ModelCallItem>),
    /// A tool call.
    ToolCall(Box<ToolCallItem>),
    /// A message of the model for the person.
    Message {
        /// The item's id.
        id: String,
        /// The whole text.
        text: String,
    },
}

/// A request to the model: `round` to `request_signature` when it begins, the rest when it is complete.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelCallItem {
    /// The item's id.
    pub id: String,
    /// The number of the request in its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<usize>,
    /// The provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The reply protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The agent's role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The workflow step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The number of messages that were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<usize>,
    /// The number of tools that were offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
    /// Names of the tools that it offers and the requests before did not, where not all of them are offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_tools: Vec<String>,
    /// The hash of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_signature: Option<String>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
    /// US dollars, if the price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The text of the reply, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The names of the tools that the reply calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<String>>,
    /// Error instead of a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The key of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_signature: Option<String>,
}

/// A tool call: `tool_call_id` to `call_signature` when it begins, the rest when it is complete.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ToolCallItem {
    /// The item's id.
    pub id: String,
    /// The name that the model used.
    pub name: String,
    /// The model's id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The arguments, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The hash of name and arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_signature: Option<String>,
    /// The tool that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The gate's verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Value>,
    /// The result, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// How often the same call had the same result before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated: Option<usize>,
    /// What the model was told of a failure, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
