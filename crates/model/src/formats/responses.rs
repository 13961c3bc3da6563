//! OpenAI responses, which only the model server speaks: `codex` is its client.

use super::list;
use crate::client::Usage;
use crate::parameters::Parameters;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResponsesRequest {
    pub(crate) stream: Option<bool>,
    pub(crate) instructions: Option<String>,
    pub(crate) input: Input,
    #[serde(deserialize_with = "list")]
    pub(crate) tools: Vec<Tool>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Input {
    Text(String),
    Items(#[serde(deserialize_with = "list")] Vec<Item>),
}

impl Default for Input {
    fn default() -> Self {
        Input::Items(Vec::new())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Tool {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) parameters: Parameters,
}

/// An item of a conversation: a message, a call, or the result of one. Which fields it has depends
/// on its type.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Item {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) execution: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<Value>,
}

/// A text of an answer.
#[derive(Debug, Serialize)]
pub(crate) struct OutputText<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    annotations: [(); 0],
}

impl<'a> OutputText<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        OutputText { kind: "output_text", text, annotations: [] }
    }
}

/// A whole answer, and the first and last event of a streamed one.
#[derive(Debug, Serialize)]
pub(crate) struct Response<'a> {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) created_at: i64,
    pub(crate) model: &'a str,
    pub(crate) status: &'static str,
    pub(crate) error: (),
    pub(crate) incomplete_details: (),
    pub(crate) output: Vec<Item>,
    pub(crate) parallel_tool_calls: bool,
    pub(crate) usage: Option<TokenUsage>,
}

#[derive(Debug, Serialize)]
pub(crate) struct TokenUsage {
    input_tokens: u64,
    input_tokens_details: InputDetails,
    output_tokens: u64,
    output_tokens_details: OutputDetails,
    total_tokens: u64,
}

#[derive(Debug, Serialize)]
struct InputDetails {
    cached_tokens: u64,
}

#[derive(Debug, Serialize)]
struct OutputDetails {
    reasoning_tokens: u64,
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        TokenUsage {
            input_tokens: usage.input,
            input_tokens_details: InputDetails { cached_tokens: usage.cached },
            output_tokens: usage.output,
            output_tokens_details: OutputDetails { reasoning_tokens: 0 },
            total_tokens: usage.input.saturating_add(usage.output),
        }
    }
}

/// An event of a streamed answer. Which fields it has depends on its type.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Event<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) item_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) part: Option<OutputText<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delta: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) response: Option<Response<'a>>,
    pub(crate) sequence_number: u64,
}
