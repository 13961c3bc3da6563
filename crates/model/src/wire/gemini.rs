//! Gemini's own wire, `models/{model}:streamGenerateContent?alt=sse`.
//!
//! Calls come whole and mostly without ids; results go back by name. Signatures of thoughts hang on single parts: on a
//! call they are kept with the call, on text with the message, and both go back where they were. The wire has no
//! terminal marker but the `finishReason` of the last chunk.

use super::errors::Fault;
use super::lines::data;
use super::text::{First, Text};
use super::{Draft, Progress, Reader, own};
use crate::client::{Reply, Request, Sink, Stop, Usage};
use crate::json::set;
use crate::message::{Message, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const OWN: &str = "gemini";

/// The body of a request. The model stands in the address.
pub(super) fn body(request: &Request) -> Value {
    let mut system: Vec<&str> = Vec::new();
    let mut contents: Vec<Value> = Vec::new();
    // The vendor's own ids, where it gave any, by the ids that the conversation knows.
    let mut ids: BTreeMap<&str, &Value> = BTreeMap::new();
    for message in &request.messages {
        match message {
            Message::System { content } => system.push(content),
            Message::User { content } => append(&mut contents, "user", [json!({ "text": content })]),
            Message::Assistant { content, tool_calls, opaque } => {
                let signature = own(opaque.as_ref(), OWN).and_then(|own| own.get("thoughtSignature"));
                let text = (!content.is_empty() || signature.is_some()).then(|| {
                    let mut part = json!({ "text": content });
                    if let Some(signature) = signature {
                        set(&mut part, "thoughtSignature", signature.clone());
                    }
                    part
                });
                for call in tool_calls {
                    if let Some(id) = own(call.opaque.as_ref(), OWN).and_then(|own| own.get("id")) {
                        ids.insert(&call.id, id);
                    }
                }
                append(&mut contents, "model", text.into_iter().chain(tool_calls.iter().map(call)));
            }
            Message::Tool { tool_call_id, name, content, ok } => {
                let key = if *ok { "output" } else { "error" };
                let mut response = json!({ "name": name, "response": { key: content } });
                if let Some(id) = ids.get(tool_call_id.as_str()) {
                    set(&mut response, "id", (*id).clone());
                }
                append(&mut contents, "user", [json!({ "functionResponse": response })]);
            }
        }
    }
    let mut body = json!({ "contents": contents });
    if !system.is_empty() {
        set(&mut body, "systemInstruction", json!({ "parts": [{ "text": system.join("\n\n") }] }));
    }
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request.tools.iter().map(|tool| {
            json!({ "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters })
        }).collect();
        set(&mut body, "tools", json!([{ "functionDeclarations": declarations }]));
        if request.answer_only {
            set(&mut body, "toolConfig", json!({ "functionCallingConfig": { "mode": "NONE" } }));
        }
    } else if let Some(schema) = &request.response_schema {
        // The vendor refuses a schema for the answer beside tools.
        set(
            &mut body,
            "generationConfig",
            json!({ "responseMimeType": "application/json", "responseJsonSchema": schema }),
        );
    }
    body
}

fn call(call: &ToolCall) -> Value {
    let mut function = json!({ "name": call.name, "args": call.arguments.to_object() });
    let own = own(call.opaque.as_ref(), OWN);
    if let Some(id) = own.and_then(|own| own.get("id")) {
        set(&mut function, "id", id.clone());
    }
    let mut part = json!({ "functionCall": function });
    if let Some(signature) = own.and_then(|own| own.get("thoughtSignature")) {
        set(&mut part, "thoughtSignature", signature.clone());
    }
    part
}

/// Adds parts to the last content where the role is the same: results of parallel calls must come together.
fn append(contents: &mut Vec<Value>, role: &str, parts: impl IntoIterator<Item = Value>) {
    let mut parts: Vec<Value> = parts.into_iter().collect();
    if parts.is_empty() {
        return;
    }
    match contents.last_mut().filter(|last| last.get("role").and_then(Value::as_str) == Some(role)) {
        Some(last) => {
            if let Some(list) = last.get_mut("parts").and_then(Value::as_array_mut) {
                list.append(&mut parts);
            }
        }
        None => contents.push(json!({ "role": role, "parts": parts })),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(default, borrow)]
    candidates: First<Candidate<'a>>,
    #[serde(default)]
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
    content: Option<Content<'a>>,
    #[serde(default, borrow)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(default, borrow)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(default, borrow)]
    text: Option<Text<'a>>,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(default, borrow)]
    thought_signature: Option<Text<'a>>,
    #[serde(default, borrow)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
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
    #[serde(default)]
    prompt_token_count: Option<u64>,
    #[serde(default)]
    candidates_token_count: Option<u64>,
    #[serde(default)]
    thoughts_token_count: Option<u64>,
    #[serde(default)]
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
        draft.reply.opaque =
            self.signature.take().map(|signature| json!({ OWN: { "thoughtSignature": signature } }));
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

    fn call(&mut self, function: &FunctionCall<'_>, signature: Option<&str>) {
        let id = function.id.as_deref().filter(|id| !id.is_empty());
        let name = function.name.as_deref().unwrap_or_default();
        self.draft.calls.open(None, id.unwrap_or_default(), name, String::new());
        let Some(call) = self.draft.calls.last() else { return };
        if let Some(args) = function.args {
            call.arguments(args);
        }
        if id.is_some() || signature.is_some() {
            let mut kept = json!({});
            if let Some(id) = id {
                set(&mut kept, "id", id);
            }
            if let Some(signature) = signature {
                set(&mut kept, "thoughtSignature", signature);
            }
            call.opaque = Some(json!({ OWN: kept }));
        }
    }
}
