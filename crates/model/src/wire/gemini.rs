//! Gemini's own wire, `models/{model}:streamGenerateContent?alt=sse`.
//!
//! Calls come whole and mostly without ids; results go back by name. Signatures of thoughts belong to single parts: on a
//! call they are kept with the call, on text with the message, and both go back where they were. The wire has no
//! terminal marker but the `finishReason` of the last chunk.

use super::errors::Fault;
use super::lines::data;
use super::reader::{Draft, Progress, Reader, keep, kept};
use super::text::{First, Text};
use crate::client::{Reply, Request, Sink, Stop, Usage};
use crate::formats::gemini::{
    CallResult, CallingConfig, Content, Declaration, FunctionCall, FunctionResponse, GenerateRequest,
    GenerationConfig, Part, ToolConfig, Tools,
};
use crate::message::{Message, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

const OWN: &str = "gemini";

/// Data that a message or a call must carry back.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CarriedData {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<Value>,
}

/// The body of a request. The model is in the URL.
pub(super) fn body(request: &Request) -> GenerateRequest {
    let mut system: Vec<&str> = Vec::new();
    let mut contents: Vec<Content> = Vec::new();
    // The vendor's own ids, where it gave any, by the ids that the conversation knows.
    let mut ids: BTreeMap<&str, Value> = BTreeMap::new();
    for message in &request.messages {
        match message {
            Message::System { content } => system.push(content),
            Message::User { content } => append(&mut contents, "user", [Part::text(content)]),
            Message::Assistant { content, tool_calls, opaque } => {
                let thought_signature = kept::<CarriedData>(opaque.as_ref(), OWN).thought_signature;
                let text = (!content.is_empty() || thought_signature.is_some())
                    .then(|| Part { thought_signature, ..Part::text(content) });
                for call in tool_calls {
                    if let Some(id) = kept::<CarriedData>(call.opaque.as_ref(), OWN).id {
                        ids.insert(&call.id, id);
                    }
                }
                append(&mut contents, "model", text.into_iter().chain(tool_calls.iter().map(call)));
            }
            Message::Tool { tool_call_id, name, content, ok } => {
                let result = if *ok { CallResult::Output(content) } else { CallResult::Error(content) };
                let function_response = Some(FunctionResponse {
                    name: name.clone(),
                    response: serde_json::to_value(result).unwrap_or_default(),
                    id: ids.get(tool_call_id.as_str()).cloned(),
                });
                append(&mut contents, "user", [Part { function_response, ..Part::default() }]);
            }
        }
    }
    let has_tools = !request.tools.is_empty();
    let declare = || Tools { function_declarations: request.tools.iter().map(Declaration::new).collect() };
    GenerateRequest {
        contents,
        system_instruction: (!system.is_empty())
            .then(|| Content { role: None, parts: vec![Part::text(system.join("\n\n"))] }),
        tools: has_tools.then(declare).into_iter().collect(),
        tool_config: (has_tools && request.answer_only)
            .then_some(ToolConfig { function_calling_config: CallingConfig { mode: "NONE" } }),
        // The vendor refuses a schema for the answer beside tools.
        generation_config: request.response_schema.as_ref().filter(|_| !has_tools).map(|schema| {
            GenerationConfig { response_mime_type: "application/json", response_json_schema: schema.clone() }
        }),
    }
}

fn call(call: &ToolCall) -> Part {
    let CarriedData { id, thought_signature } = kept(call.opaque.as_ref(), OWN);
    let function = FunctionCall { name: call.name.clone(), args: call.arguments.to_object(), id };
    Part { function_call: Some(function), thought_signature, ..Part::default() }
}

/// Adds parts to the last content where the role is the same: results of parallel calls must come together.
fn append(contents: &mut Vec<Content>, role: &str, parts: impl IntoIterator<Item = Part>) {
    let parts: Vec<Part> = parts.into_iter().collect();
    match contents.last_mut() {
        _ if parts.is_empty() => {}
        Some(last) if last.role.as_deref() == Some(role) => last.parts.extend(parts),
        _ => contents.push(Content { role: Some(role.to_string()), parts }),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(default, borrow)]
    candidates: First<Candidate<'a>>,
    usage_metadata: Option<WireUsage>,
    #[serde(default, borrow)]
    model_version: Option<Text<'a>>,
    #[serde(default, borrow)]
    prompt_feedback: Option<Feedback<'a>>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default, borrow)]
    content: Option<ContentPiece<'a>>,
    #[serde(default, borrow)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct ContentPiece<'a> {
    #[serde(default, borrow)]
    parts: Option<Vec<PartPiece<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartPiece<'a> {
    #[serde(default, borrow)]
    text: Option<Text<'a>>,
    thought: Option<bool>,
    #[serde(default, borrow)]
    thought_signature: Option<Text<'a>>,
    #[serde(default, borrow)]
    function_call: Option<CallPiece<'a>>,
}

#[derive(Deserialize)]
struct CallPiece<'a> {
    #[serde(default, borrow)]
    name: Option<Text<'a>>,
    #[serde(default, borrow)]
    id: Option<Text<'a>>,
    #[serde(default, borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback<'a> {
    #[serde(default, borrow)]
    block_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
}

/// A content stream while it arrives.
#[derive(Debug, Default)]
pub(super) struct Stream {
    draft: Draft,
    complete: bool,
    signature: Option<String>,
}

impl Reader for Stream {
    fn line(&mut self, line: &[u8], sink: &mut Sink<'_>) -> Result<Progress, Fault> {
        let Some(data) = data(line)? else { return Ok(Progress::Nothing) };
        let chunk: Chunk<'_> = serde_json::from_slice(data).map_err(|_| Fault::garbage(data))?;
        if let Some(error) = chunk.error {
            return Err(Fault::from_vendor(&serde_json::from_str(error.get()).unwrap_or_default()));
        }
        if let Some(model) = &chunk.model_version {
            self.draft.model(model);
        }
        if let Some(usage) = chunk.usage_metadata {
            let output = usage.candidates_token_count.unwrap_or_default();
            self.draft.reply.usage = Usage {
                input: usage.prompt_token_count.unwrap_or_default(),
                output: output.saturating_add(usage.thoughts_token_count.unwrap_or_default()),
                cached: usage.cached_content_token_count.unwrap_or_default(),
            };
        }
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.complete = true;
            self.draft.reply.stop = Stop::Filtered;
        }
        if let Some(candidate) = chunk.candidates.0 {
            self.candidate(&candidate, sink);
        }
        Ok(Progress::More)
    }

    fn draft(&self) -> &Draft {
        &self.draft
    }

    fn finish(&mut self) -> Result<Reply, Fault> {
        if !self.complete {
            return Err(Fault::Cut);
        }
        let mut draft = std::mem::take(&mut self.draft);
        draft.reply.opaque = self.signature.take().and_then(|signature| {
            keep(OWN, &CarriedData { id: None, thought_signature: Some(signature.into()) })
        });
        Ok(draft.finish())
    }
}

impl Stream {
    fn candidate(&mut self, candidate: &Candidate<'_>, sink: &mut Sink<'_>) {
        for part in candidate.content.iter().flat_map(|content| content.parts.iter().flatten()) {
            if let Some(function) = &part.function_call {
                self.call(function, part.thought_signature.as_deref());
                continue;
            }
            if let Some(text) = &part.text {
                if part.thought == Some(true) {
                    self.draft.reasoning(text, sink);
                    continue;
                }
                self.draft.text(text, sink);
            }
            if let Some(signature) = &part.thought_signature {
                self.signature = Some(signature.to_string());
            }
        }
        if let Some(reason) = candidate.finish_reason.as_deref().filter(|reason| !reason.is_empty()) {
            self.complete = true;
            self.draft.reply.stop = match reason {
                "MAX_TOKENS" => Stop::Length,
                "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
                    Stop::Filtered
                }
                _ => Stop::End,
            };
        }
    }

    fn call(&mut self, function: &CallPiece<'_>, signature: Option<&str>) {
        let id = function.id.as_deref().filter(|id| !id.is_empty());
        let name = function.name.as_deref().unwrap_or_default();
        self.draft.calls.open(None, id.unwrap_or_default(), name, String::new());
        let Some(call) = self.draft.calls.last() else { return };
        if let Some(args) = function.args {
            call.arguments(args);
        }
        if id.is_some() || signature.is_some() {
            let (id, thought_signature) = (id.map(Value::from), signature.map(Value::from));
            call.opaque = keep(OWN, &CarriedData { id, thought_signature });
        }
    }
}
