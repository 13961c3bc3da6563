//! Anthropic messages.

use super::list;
use crate::client::{ToolSpec, Usage};
use crate::parameters::Parameters;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of a request.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MessagesRequest {
    #[serde(skip_deserializing)]
    pub(crate) model: String,
    #[serde(skip_deserializing)]
    pub(crate) max_tokens: u32,
    pub(crate) stream: Option<bool>,
    #[serde(deserialize_with = "list")]
    pub(crate) messages: Vec<RoleMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) system: Option<Content>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub(crate) tools: Vec<Tool>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) tool_choice: Option<Kind>,
}

/// An object that is nothing but its type.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Kind {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RoleMessage {
    #[serde(default)]
    pub(crate) role: String,
    #[serde(default)]
    pub(crate) content: Content,
}

/// Content of a message, of a result, or of the system prompt.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Text(String),
    Blocks(Vec<Block>),
    Other(Value),
}

impl Default for Content {
    fn default() -> Self {
        Content::Blocks(Vec::new())
    }
}

impl Content {
    pub(crate) fn blocks(&self) -> &[Block] {
        if let Content::Blocks(blocks) = self { blocks } else { &[] }
    }

    /// The texts, one per line.
    pub(crate) fn text(&self) -> String {
        match self {
            Content::Text(text) => text.clone(),
            Content::Blocks(blocks) => {
                let texts = blocks.iter().filter_map(|block| match block {
                    Block::Text { text, .. } => Some(text.as_str()),
                    Block::Other(value) => value.as_str().or_else(|| value.get("text")?.as_str()),
                    _ => None,
                });
                texts.collect::<Vec<_>>().join("\n")
            }
            Content::Other(_) => String::new(),
        }
    }
}

/// A part of a message. Kinds that Marvin only hands back, such as thinking, are kept as they are.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Block {
    Text {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
        cache_control: Option<Kind>,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        input: Value,
        #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
        cache_control: Option<Kind>,
    },
    ToolResult {
        #[serde(default)]
        tool_use_id: String,
        #[serde(default)]
        content: Content,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
        cache_control: Option<Kind>,
    },
    Thinking {
        thinking: String,
        signature: String,
    },
    #[serde(untagged)]
    Other(Value),
}

impl Block {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Block::Text { text: text.into(), cache_control: None }
    }

    pub(crate) fn tool_use(id: impl Into<String>, name: &str, input: Value) -> Self {
        Block::ToolUse { id: id.into(), name: name.into(), input, cache_control: None }
    }

    /// Marks the end of what is to be cached. Thinking blocks refuse the mark.
    pub(crate) fn mark_for_cache(&mut self) {
        match self {
            Block::Text { cache_control, .. }
            | Block::ToolUse { cache_control, .. }
            | Block::ToolResult { cache_control, .. } => *cache_control = Some(Kind { kind: "ephemeral" }),
            Block::Thinking { .. } | Block::Other(_) => {}
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Tool {
    name: String,
    description: Option<String>,
    input_schema: Parameters,
}

impl Tool {
    pub(crate) fn new(tool: &ToolSpec) -> Self {
        let (name, description) = (tool.name.clone(), Some(tool.description.clone()));
        Tool { name, description, input_schema: tool.parameters.clone() }
    }

    pub(crate) fn spec(self) -> ToolSpec {
        super::spec(&self.name, self.description, self.input_schema)
    }
}

/// A whole answer, and the beginning of a streamed one.
#[derive(Debug, Serialize)]
pub(crate) struct Answer<'a> {
    pub(crate) id: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) role: &'static str,
    pub(crate) model: &'a str,
    pub(crate) content: Vec<Block>,
    #[serde(flatten)]
    pub(crate) stop: Stop,
    pub(crate) usage: TokenUsage,
}

/// Reason for the end of an answer.
#[derive(Debug, Serialize)]
pub(crate) struct Stop {
    pub(crate) stop_reason: Option<&'static str>,
    pub(crate) stop_sequence: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct TokenUsage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        TokenUsage {
            input_tokens: usage.input.saturating_sub(usage.cached),
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: usage.cached,
            output_tokens: usage.output,
        }
    }
}

/// An event of a streamed answer.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Event<'a> {
    MessageStart { message: Answer<'a> },
    Ping,
    ContentBlockStart { index: usize, content_block: Block },
    ContentBlockDelta { index: usize, delta: Delta<'a> },
    ContentBlockStop { index: usize },
    MessageDelta { delta: Stop, usage: TokenUsage },
    MessageStop,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type")]
pub(crate) enum Delta<'a> {
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    #[serde(rename = "signature_delta")]
    Signature { signature: &'a str },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: &'a str },
}
