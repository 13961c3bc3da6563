//! Gemini's own format.

use super::list;
use crate::client::{ToolSpec, Usage};
use crate::parameters::Parameters;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of a request. The model is in the URL.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct GenerateRequest {
    #[serde(deserialize_with = "list")]
    pub(crate) contents: Vec<Content>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "system_instruction")]
    pub(crate) system_instruction: Option<Content>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub(crate) tools: Vec<Tools>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) tool_config: Option<ToolConfig>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) generation_config: Option<GenerationConfig>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolConfig {
    pub(crate) function_calling_config: CallingConfig,
}

#[derive(Debug, Serialize)]
pub(crate) struct CallingConfig {
    pub(crate) mode: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GenerationConfig {
    pub(crate) response_mime_type: &'static str,
    pub(crate) response_json_schema: Value,
}

/// The parts of one role.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Content {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    #[serde(deserialize_with = "list")]
    pub(crate) parts: Vec<Part>,
}

impl Content {
    /// The texts, one per line.
    pub(crate) fn text(&self) -> String {
        self.parts.iter().filter_map(|part| part.text.as_deref()).collect::<Vec<_>>().join("\n")
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Part {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) function_call: Option<FunctionCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) function_response: Option<FunctionResponse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thought_signature: Option<Value>,
}

impl Part {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Part { text: Some(text.into()), ..Part::default() }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FunctionCall {
    pub(crate) name: String,
    pub(crate) args: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<Value>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FunctionResponse {
    pub(crate) name: String,
    pub(crate) response: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<Value>,
}

/// The result of a call, under a key that says how it went.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CallResult<'a> {
    Output(&'a str),
    Error(&'a str),
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Tools {
    #[serde(deserialize_with = "list")]
    pub(crate) function_declarations: Vec<Declaration>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Declaration {
    name: String,
    description: Option<String>,
    parameters_json_schema: Parameters,
}

impl Declaration {
    pub(crate) fn new(tool: &ToolSpec) -> Self {
        let (name, description) = (tool.name.clone(), Some(tool.description.clone()));
        Declaration { name, description, parameters_json_schema: tool.parameters.clone() }
    }

    pub(crate) fn spec(self) -> ToolSpec {
        super::spec(&self.name, self.description, self.parameters_json_schema)
    }
}

/// An answer, or one chunk of a streamed answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Chunk<'a> {
    pub(crate) candidates: [Candidate; 1],
    pub(crate) model_version: &'a str,
    pub(crate) response_id: String,
    pub(crate) usage_metadata: TokenUsage,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Candidate {
    pub(crate) content: Content,
    pub(crate) index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finish_reason: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenUsage {
    prompt_token_count: u64,
    candidates_token_count: u64,
    cached_content_token_count: u64,
    total_token_count: u64,
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        TokenUsage {
            prompt_token_count: usage.input,
            candidates_token_count: usage.output,
            cached_content_token_count: usage.cached,
            total_token_count: usage.input.saturating_add(usage.output),
        }
    }
}
