//! Messages in one neutral shape. It is also the shape in which exchanges are recorded.

use crate::arguments::Arguments;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// Rules and context, written by the shell.
    System { content: String },
    /// A message of the person, or of the shell on their behalf.
    User { content: String },
    /// A message of the model.
    Assistant {
        /// The text; may be empty when there are calls.
        content: String,
        /// The calls it asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        /// Data that the vendor wants back unchanged (thinking blocks, signatures).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Value>,
    },
    /// The result of a call.
    Tool {
        tool_call_id: String,
        /// Which tool.
        name: String,
        /// The result as the model reads it.
        content: String,
        /// Whether it succeeded.
        ok: bool,
    },
}

impl Message {
    /// A system message.
    pub fn system(content: impl Into<String>) -> Self {
        Message::System { content: content.into() }
    }

    /// A user message.
    pub fn user(content: impl Into<String>) -> Self {
        Message::User { content: content.into() }
    }

    /// An assistant message without calls.
    pub fn assistant(content: impl Into<String>) -> Self {
        Message::Assistant { content: content.into(), tool_calls: Vec::new(), opaque: None }
    }

    /// The text of any message.
    #[must_use]
    pub fn content(&self) -> &str {
        match self {
            Message::System { content }
            | Message::User { content }
            | Message::Assistant { content, .. }
            | Message::Tool { content, .. } => content,
        }
    }

    /// The role's name.
    #[must_use]
    pub fn role(&self) -> &'static str {
        match self {
            Message::System { .. } => "system",
            Message::User { .. } => "user",
            Message::Assistant { .. } => "assistant",
            Message::Tool { .. } => "tool",
        }
    }
}

/// A call that a model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The vendor's id, or one of ours where the vendor gives none; unique within a conversation.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    pub arguments: Arguments,
    /// Data that the vendor wants back unchanged with this call (Gemini's thought signature).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Value>,
}
