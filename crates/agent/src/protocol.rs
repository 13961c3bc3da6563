//! Reply protocols: how a reply becomes a message, calls and perhaps an end, and how results go back.
//!
//! Four implementations. [`Native`] for models with tool calls of their own; [`JsonText`] for models (and programs) that
//! write one JSON object: a worker's `{"tool_calls": …}` or `{"status": …}`; [`JsonAction`] for a coordinator that writes
//! `{"message", "spawn"}` and can do nothing but talk and summon; [`Worker`] for the steps of a workflow. A reply that is not an
//! object of that shape is shown as it is. A status is read only from its field, or in native replies from a last line of its own
//! (`STATUS: DONE`), never from prose.

mod worker;

pub use worker::{Worker, outputs};

use marvin_model::{Arguments, Message, Reply, Request, ToolCall};
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Status that a worker reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerStatus {
    /// The work is done, as far as the worker knows.
    Success,
    Failure,
    /// A person is needed.
    Blocked,
    /// Some of it is done.
    Partial,
}

impl WorkerStatus {
    /// Status of a word; an unknown one is partial.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word {
            "SUCCESS" | "DONE" | "COMPLETED" => WorkerStatus::Success,
            "FAILURE" | "FAILED" => WorkerStatus::Failure,
            "BLOCKED" | "WAITING" | "NEED INPUT" | "NEED_INPUT" => WorkerStatus::Blocked,
            _ => WorkerStatus::Partial,
        }
    }

    /// Status on the last line of a text, alone on its line: `STATUS: DONE`.
    #[must_use]
    pub fn of_last_line(text: &str) -> Option<Self> {
        let last = text.trim_end().lines().next_back()?;
        let word = last.trim().strip_prefix("STATUS: ")?;
        let plain = |char: char| char.is_ascii_uppercase() || char == ' ' || char == '_';
        (!word.is_empty() && word.chars().all(plain)).then(|| WorkerStatus::from_word(word))
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedReply {
    /// Text for the person.
    pub message: String,
    pub calls: Vec<ToolCall>,
    pub status: Option<WorkerStatus>,
    /// The worker's failure signature, where it gives one.
    pub failure_signature: Option<String>,
    /// Everything else the worker's object held.
    pub data: Map<String, Value>,
    /// Why the reply cannot be used, if it cannot: (failure signature, sentence for the model).
    pub invalid: Option<(&'static str, String)>,
}

impl ParsedReply {
    fn message(text: &str) -> Self {
        ParsedReply { message: text.to_string(), ..ParsedReply::default() }
    }
}

/// The result of a call, to be fed back.
#[derive(Debug, Clone)]
pub struct Feedback {
    pub call: ToolCall,
    pub ok: bool,
    pub text: String,
}

/// How requests are written for a model, and its replies read.
pub trait ReplyProtocol: Send + Sync + std::fmt::Debug {
    /// Its name in records.
    fn name(&self) -> &'static str;

    /// Whether text may be shown while it arrives.
    fn streams(&self) -> bool;

    /// Adds what this protocol needs to a request.
    fn prepare(&self, request: Request) -> Request;

    /// Parses a reply.
    fn understand(&self, reply: &Reply) -> ParsedReply;

    /// The messages that carry a reply and the results of its calls back to the model.
    fn feed_back(&self, reply: &Reply, results: &[Feedback]) -> Vec<Message>;
}

/// Protocol of a setting (`json`, `action`, or any other word for native calls), for a model with or without native calls.
#[must_use]
pub fn choose(setting: &str, native_tools: bool) -> Arc<dyn ReplyProtocol> {
    match (setting, native_tools) {
        (_, false) => Arc::new(JsonText { render_tools: false }),
        ("json", true) => Arc::new(JsonText { render_tools: true }),
        ("action", true) => Arc::new(JsonAction),
        (_, true) => Arc::new(Native),
    }
}

/// Protocol of an agent that works for another one. `action` is a coordinator's: it can only talk and summon.
#[must_use]
pub fn choose_for_worker(setting: &str, native_tools: bool) -> Arc<dyn ReplyProtocol> {
    choose(if setting == "action" { "auto" } else { setting }, native_tools)
}

/// Appends a text to the system message of a request.
pub(crate) fn append_to_system(request: &mut Request, text: &str) {
    match request.messages.first_mut() {
        Some(Message::System { content }) => content.push_str(text),
        _ => request.messages.insert(0, Message::system(text)),
    }
}

/// Tool calls as the vendor's wire carries them.
#[derive(Debug, Clone, Copy)]
pub struct Native;

impl ReplyProtocol for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn streams(&self) -> bool {
        true
    }

    fn prepare(&self, request: Request) -> Request {
        request
    }

    fn understand(&self, reply: &Reply) -> ParsedReply {
        let status = WorkerStatus::of_last_line(&reply.text).filter(|_| reply.calls.is_empty());
        ParsedReply { calls: reply.calls.clone(), status, ..ParsedReply::message(&reply.text) }
    }

    fn feed_back(&self, reply: &Reply, results: &[Feedback]) -> Vec<Message> {
        let reply = Message::Assistant {
            content: reply.text.clone(),
            tool_calls: results.iter().map(|result| result.call.clone()).collect(),
            opaque: reply.opaque.clone(),
        };
        let results = results.iter().map(|result| Message::Tool {
            tool_call_id: result.call.id.clone(),
            name: result.call.name.clone(),
            content: result.text.clone(),
            ok: result.ok,
        });
        std::iter::once(reply).chain(results).collect()
    }
}

/// One JSON object as text.
#[derive(Debug, Clone, Copy)]
pub struct JsonText {
    /// Whether the contract and the tools must be written into the system message. Programs render them themselves.
    pub render_tools: bool,
}

/// Values of the template `json_contract.md`.
#[derive(Serialize)]
struct ToolList<'a> {
    tools: Vec<ListedTool<'a>>,
}

#[derive(Serialize)]
struct ListedTool<'a> {
    name: &'a str,
    description: &'a str,
    parameters: String,
}

/// Results of calls, as the model reads them.
#[derive(Serialize)]
struct TextResults<'a> {
    tool_results: Vec<TextResult<'a>>,
}

#[derive(Serialize)]
struct TextResult<'a> {
    call_id: &'a str,
    name: &'a str,
    ok: bool,
    result: &'a str,
}

impl ReplyProtocol for JsonText {
    fn name(&self) -> &'static str {
        "json"
    }

    fn streams(&self) -> bool {
        false
    }

    fn prepare(&self, mut request: Request) -> Request {
        if !self.render_tools {
            return request;
        }
        let offered = if request.answer_only { [].as_slice() } else { &request.tools };
        let tools = offered
            .iter()
            .map(|tool| ListedTool {
                name: &tool.name,
                description: &tool.description,
                parameters: tool.parameters.to_string(),
            })
            .collect();
        let contract = crate::compose::render(
            "json_contract.md",
            include_str!("../prompts/json_contract.md"),
            &ToolList { tools },
        );
        append_to_system(&mut request, &contract);
        request.tools.clear();
        request
    }

    fn understand(&self, reply: &Reply) -> ParsedReply {
        match object_in(&reply.text) {
            Some(object) => understand_object(&object, &reply.text),
            // Not an object: shown as it is, nothing to do.
            None => ParsedReply::message(&reply.text),
        }
    }

    fn feed_back(&self, reply: &Reply, results: &[Feedback]) -> Vec<Message> {
        let tool_results = results
            .iter()
            .map(|result| TextResult {
                call_id: &result.call.id,
                name: &result.call.name,
                ok: result.ok,
                result: &result.text,
            })
            .collect();
        let results = serde_json::to_value(TextResults { tool_results }).unwrap_or_default();
        vec![Message::assistant(reply.text.clone()), Message::user(results.to_string())]
    }
}

/// One JSON object as text: `{"message", "spawn"?: {"assignment", "name"?}}`.
#[derive(Debug, Clone, Copy)]
pub struct JsonAction;

impl ReplyProtocol for JsonAction {
    fn name(&self) -> &'static str {
        "action"
    }

    fn streams(&self) -> bool {
        false
    }

    fn prepare(&self, mut request: Request) -> Request {
        append_to_system(&mut request, include_str!("../prompts/action_contract.md"));
        request.tools.clear();
        request
    }

    fn understand(&self, reply: &Reply) -> ParsedReply {
        object_in(&reply.text)
            .and_then(|object| action(&object))
            .unwrap_or_else(|| ParsedReply::message(&reply.text))
    }

    fn feed_back(&self, reply: &Reply, results: &[Feedback]) -> Vec<Message> {
        JsonText { render_tools: true }.feed_back(reply, results)
    }
}

/// A coordinator's object, if it has that shape: a message, and perhaps one agent to summon.
fn action(object: &Map<String, Value>) -> Option<ParsedReply> {
    let message = object.get("message")?.as_str()?;
    let calls = match object.get("spawn") {
        None | Some(Value::Null) => Vec::new(),
        Some(spawn) => vec![spawn_call(spawn)?],
    };
    Some(ParsedReply { calls, ..ParsedReply::message(message) })
}

/// `{"assignment", "name"?}` as a call of the tool that summons.
fn spawn_call(spawn: &Value) -> Option<ToolCall> {
    let spawn = spawn.as_object()?;
    let is_text = |key: &str| spawn.get(key).is_none_or(|value| value.is_string() || value.is_null());
    if !spawn.get("assignment")?.is_string() || !is_text("name") {
        return None;
    }
    let mut arguments = spawn.clone();
    arguments.retain(|_, value| !value.is_null());
    Some(ToolCall {
        id: "spawn_1".into(),
        name: "summon_servitor".into(),
        arguments: Arguments::Object(arguments),
        opaque: None,
    })
}

/// A text without the one code fence around it, if there is one.
pub(crate) fn unfenced(text: &str) -> &str {
    let trimmed = text.trim();
    trimmed
        .strip_prefix("```json")
        .or_else(|| trimmed.strip_prefix("```"))
        .and_then(|rest| rest.trim_end().strip_suffix("```"))
        .unwrap_or(trimmed)
        .trim()
}

/// The JSON object that a text is, bare or in one code fence.
#[must_use]
pub fn object_in(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(unfenced(text)) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

fn understand_object(object: &Map<String, Value>, text: &str) -> ParsedReply {
    let field = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_string);
    let message = field("summary").or_else(|| field("message")).unwrap_or_default();
    let mut data = object.clone();
    for key in ["status", "summary", "message", "tool_calls", "spawn", "failure_signature"] {
        data.remove(key);
    }
    let mut understood = ParsedReply {
        failure_signature: field("failure_signature").filter(|signature| !signature.is_empty()),
        data,
        ..ParsedReply::message(&message)
    };
    if let Some(status) = object.get("status") {
        // A status makes the reply final, whatever else it holds.
        understood.status = Some(WorkerStatus::from_word(status.as_str().unwrap_or_default()));
        return understood;
    }
    match (object.get("tool_calls"), object.get("spawn")) {
        (Some(Value::Array(calls)), _) => {
            understood.calls = calls.iter().enumerate().map(|(index, call)| json_call(index, call)).collect();
        }
        (Some(_), _) => {
            let sentence =
                "`tool_calls` must be a list: {\"tool_calls\": [{\"name\": \"TOOL\", \"arguments\": {…}}]}";
            understood.invalid = Some(("worker-invalid-tool-calls", sentence.to_string()));
        }
        // A coordinator's object is accepted too; one of another shape is shown as it is.
        (None, Some(spawn)) if !spawn.is_null() => match spawn_call(spawn) {
            Some(call) => understood.calls = vec![call],
            None => return ParsedReply::message(text),
        },
        (None, _) if understood.message.is_empty() => understood.message = text.to_string(),
        (None, _) => {}
    }
    understood
}

/// `{"name", "arguments"}`, or `{"tool", "action", "args"}`.
fn json_call(index: usize, call: &Value) -> ToolCall {
    let text = |key: &str| call.get(key).and_then(Value::as_str);
    let name = match (text("name"), text("tool"), text("action")) {
        (Some(name), ..) => name.to_string(),
        (None, Some(tool), Some(action)) => format!("{tool}.{action}"),
        (None, Some(tool), None) => tool.to_string(),
        (None, None, _) => String::new(),
    };
    let arguments = call.get("arguments").or_else(|| call.get("args")).cloned().unwrap_or(Value::Null);
    ToolCall {
        id: text("call_id").map_or_else(|| format!("call_{}", index + 1), str::to_string),
        name,
        arguments: Arguments::from_value(arguments),
        opaque: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn understand(text: &str) -> ParsedReply {
        JsonText { render_tools: true }.understand(&Reply { text: text.into(), ..Reply::default() })
    }

    #[test]
    fn a_workers_object_is_understood() {
        let calls = understand(
            r#"{"tool_calls":[{"tool":"grep","action":"search","args":{"pattern":"x"},"call_id":"c7"},
                              {"name":"tree","arguments":"{\"path\":\".\"}"}]}"#,
        )
        .calls;
        assert_eq!((calls[0].name.as_str(), calls[0].id.as_str()), ("grep.search", "c7"));
        assert_eq!(calls[1].arguments.object().unwrap()["path"], ".");
        let end = understand(
            r#"{"status":"SUCCESS","summary":"done","tool_calls":[{"name":"tree"}],"metrics":{"n":1}}"#,
        );
        assert_eq!((end.status, end.calls.len()), (Some(WorkerStatus::Success), 0));
        assert_eq!(end.data["metrics"]["n"], 1);
        assert_eq!(understand(r#"{"status":"GREAT"}"#).status, Some(WorkerStatus::Partial));
        assert!(understand(r#"{"tool_calls":"tree"}"#).invalid.is_some());
    }

    #[test]
    fn a_coordinators_object_is_understood() {
        let spawn = understand(r#"{"message":"On it","spawn":{"assignment":"test","name":"Ann"}}"#);
        assert_eq!((spawn.message.as_str(), spawn.calls[0].name.as_str()), ("On it", "summon_servitor"));
        let reply = understand(r#"{"message":"Hello"}"#);
        assert_eq!((reply.message.as_str(), reply.calls.len(), reply.status), ("Hello", 0, None));
    }

    #[test]
    fn other_json_is_plain_text() {
        let action = |text: &str| JsonAction.understand(&Reply { text: text.into(), ..Reply::default() });
        let whole = action(r#"{"message":"On it","spawn":{"assignment":"test","name":null}}"#);
        assert_eq!((whole.message.as_str(), whole.calls[0].name.as_str()), ("On it", "summon_servitor"));
        assert_eq!(whole.calls[0].arguments.to_text(), r#"{"assignment":"test"}"#);
        for text in [
            "plain",
            "",
            "[1]",
            "{\"message\":",
            r#"{"message":7}"#,
            r#"{"spawn":{"assignment":"x"}}"#,
            r#"{"message":"x","spawn":"y"}"#,
            r#"{"message":"x","spawn":{"name":"y"}}"#,
            r#"{"message":"x","spawn":{"assignment":["y"]}}"#,
            r#"{"message":"x","spawn":{"assignment":"y","name":3}}"#,
        ] {
            assert_eq!(action(text), ParsedReply::message(text), "{text}");
        }
        for text in [r#"{"message":"x","spawn":"y"}"#, r#"{"message":"x","spawn":{"name":"y"}}"#] {
            assert_eq!(understand(text), ParsedReply::message(text), "{text}");
        }
    }

    #[test]
    fn prose_is_prose_even_when_it_says_done() {
        let prose = understand("I am not DONE, status: SUCCESS");
        assert_eq!((prose.status, prose.message.as_str()), (None, "I am not DONE, status: SUCCESS"));
        assert_eq!(understand("```json\n{\"status\":\"FAILURE\"}\n```").status, Some(WorkerStatus::Failure));
        for (word, status) in [
            ("DONE", WorkerStatus::Success),
            ("COMPLETED", WorkerStatus::Success),
            ("WAITING", WorkerStatus::Blocked),
            ("NEED INPUT", WorkerStatus::Blocked),
            ("NOT DONE", WorkerStatus::Partial),
        ] {
            assert_eq!(understand(&json!({ "status": word }).to_string()).status, Some(status), "{word}");
            let line = format!("I did it.\nSTATUS: {word}\n");
            assert_eq!(WorkerStatus::of_last_line(&line), Some(status), "{word}");
        }
        for prose in [
            "DONE",
            "It is DONE.",
            "STATUS: DONE, but for the tests",
            "STATUS: DONE\nNo, it is not.",
            "status: DONE",
        ] {
            assert_eq!(WorkerStatus::of_last_line(prose), None, "{prose}");
        }
    }
}
