//! OpenAI chat completions, and Ollama's `/api/chat`, whose messages and tools look the same.

use super::list;
use crate::client::{ToolSpec, Usage};
use crate::parameters::Parameters;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of a request.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ChatRequest {
    #[serde(skip_deserializing)]
    pub(crate) model: String,
    #[serde(deserialize_with = "list")]
    pub(crate) messages: Vec<ChatMessage>,
    pub(crate) stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub(crate) tools: Vec<Tool>,
    /// Asks for the progress of reading the prompt (llama.cpp).
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) return_progress: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) response_format: Option<ResponseFormat>,
    /// The schema of the answer (Ollama).
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) format: Option<Value>,
    /// Options of the model (Ollama).
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) options: Option<ModelOptions>,
}

#[derive(Debug, Serialize)]
pub(crate) struct StreamOptions {
    pub(crate) include_usage: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct ResponseFormat {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) json_schema: NamedSchema,
}

#[derive(Debug, Serialize)]
pub(crate) struct NamedSchema {
    pub(crate) name: &'static str,
    pub(crate) schema: Value,
}

#[derive(Debug, Serialize)]
pub(crate) struct ModelOptions {
    pub(crate) num_ctx: u64,
}

/// A message of a conversation, or the piece of one that a stream carries.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ChatMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    /// A text, a list of parts, or null beside calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<String>,
    /// The tool of a result (Ollama).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_name: Option<String>,
    /// Reasoning (Ollama).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thinking: Option<Value>,
    /// Reasoning that its vendor wants back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_content: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub(crate) tool_calls: Vec<Call>,
}

impl ChatMessage {
    pub(crate) fn new(role: &str, content: impl Into<Value>) -> Self {
        ChatMessage { role: Some(role.into()), content: Some(content.into()), ..ChatMessage::default() }
    }
}

/// A call, or the piece of one that a stream carries.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Call {
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) kind: Option<&'static str>,
    pub(crate) function: Function,
    /// Data that Google's endpoint in this format wants back with the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) extra_content: Option<Value>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Function {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// JSON as text; Ollama takes an object.
    pub(crate) arguments: Value,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Tool {
    #[serde(rename = "type")]
    kind: String,
    function: Option<ToolFunction>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct ToolFunction {
    name: String,
    description: Option<String>,
    parameters: Parameters,
}

impl Tool {
    pub(crate) fn new(tool: &ToolSpec) -> Self {
        let (name, description) = (tool.name.clone(), Some(tool.description.clone()));
        let function = ToolFunction { name, description, parameters: tool.parameters.clone() };
        Tool { kind: "function".into(), function: Some(function) }
    }

    pub(crate) fn spec(self) -> Option<ToolSpec> {
        let function = self.function?;
        Some(super::spec(&function.name, function.description, function.parameters))
    }
}

/// The answer of a server: a whole message, or one event of a stream.
#[derive(Debug, Serialize)]
pub(crate) struct Completion<'a> {
    pub(crate) id: &'a str,
    pub(crate) object: &'static str,
    pub(crate) created: i64,
    pub(crate) model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<TokenUsage>,
    pub(crate) choices: Vec<Choice>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Choice {
    pub(crate) index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<ChatMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delta: Option<ChatMessage>,
    pub(crate) finish_reason: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct TokenUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: TokenDetails,
}

#[derive(Debug, Serialize)]
struct TokenDetails {
    cached_tokens: u64,
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        TokenUsage {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.input.saturating_add(usage.output),
            prompt_tokens_details: TokenDetails { cached_tokens: usage.cached },
        }
    }
}

/// A line of Ollama's answer.
#[derive(Debug, Serialize)]
pub(crate) struct OllamaLine<'a> {
    pub(crate) model: &'a str,
    pub(crate) created_at: &'static str,
    pub(crate) message: ChatMessage,
    pub(crate) done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) done_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_eval_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) eval_count: Option<u64>,
}
