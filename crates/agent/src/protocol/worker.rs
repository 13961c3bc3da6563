//! Protocol of a worker of a workflow: calls as its model makes them, natively or as JSON in text, and at the end one JSON object
//! with a status. A reply that neither calls nor ends is sent back, and so is a success whose outputs do not fit.

use super::{
    Feedback, JsonText, Native, ParsedReply, ReplyProtocol, WorkerStatus, append_to_system, object_in,
    understand_object,
};
use crate::launch;
use marvin_model::{Message, Reply, Request};
use serde_json::{Map, Value};

/// Keys of a final object beside the outputs.
const RESERVED: [&str; 4] = ["outputs", "artifacts", "metrics", "next_actions"];

/// How a worker talks.
#[derive(Debug, Clone)]
pub struct Worker {
    /// Whether its model makes calls of its own; else they are JSON in text.
    pub native: bool,
    /// Whether the tools must be written into the system message, where calls are text.
    pub render_tools: bool,
    /// JSON schema of the outputs of a success.
    pub outputs: Option<Value>,
}

impl Worker {
    fn text(&self) -> JsonText {
        JsonText { render_tools: self.render_tools }
    }

    /// Error of the outputs against their schema.
    fn misfit(&self, data: &Map<String, Value>) -> Option<String> {
        let schema = self.outputs.as_ref()?;
        // Whether it is a schema at all is found out when the workflow is read.
        let validator = jsonschema::validator_for(schema).ok()?;
        let outputs = Value::Object(outputs(data));
        let error = validator.iter_errors(&outputs).next()?;
        Some(format!("{error} at `outputs{}`", error.instance_path()))
    }
}

/// The outputs in a worker's final object: `outputs`, or whatever stands beside the keys that every object has.
#[must_use]
pub fn outputs(data: &Map<String, Value>) -> Map<String, Value> {
    match data.get("outputs") {
        Some(Value::Object(outputs)) => outputs.clone(),
        _ => data
            .iter()
            .filter(|(key, _)| !RESERVED.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    }
}

/// Does this text ask for calls?
fn calls_in_text(text: &str) -> bool {
    object_in(text).is_some_and(|object| object.contains_key("tool_calls"))
}

impl ReplyProtocol for Worker {
    fn name(&self) -> &'static str {
        "worker"
    }

    fn streams(&self) -> bool {
        false
    }

    fn prepare(&self, request: Request) -> Request {
        let mut request = if self.native { request } else { self.text().prepare(request) };
        append_to_system(&mut request, include_str!("../../prompts/worker_contract.md"));
        request
    }

    fn understand(&self, reply: &Reply) -> ParsedReply {
        let object = object_in(&reply.text);
        let ends = object.as_ref().is_some_and(|object| object.contains_key("status"));
        if !reply.calls.is_empty() && !ends {
            return Native.understand(reply);
        }
        let mut understood = match &object {
            Some(object) => understand_object(object, &reply.text),
            None => ParsedReply::message(&reply.text),
        };
        if understood.invalid.is_some() {
            return understood;
        }
        if understood.status.is_none() && !launch::questions(&reply.text).is_empty() {
            // The form in which sub-agents ask; a step asks a person in the same words.
            understood.status = Some(WorkerStatus::Blocked);
        } else if understood.status.is_none() && understood.calls.is_empty() {
            let sentence = "This neither calls a tool nor ends the work. End it with one JSON object and nothing else: \
                            {\"status\": \"SUCCESS\" | \"FAILURE\" | \"BLOCKED\" | \"PARTIAL\", \"summary\": \"…\", \"outputs\": {…}}";
            understood.invalid = Some(("worker-no-status", sentence.to_string()));
        } else if understood.status == Some(WorkerStatus::Success)
            && let Some(problem) = self.misfit(&understood.data)
        {
            let sentence = format!(
                "The outputs do not fit what this step must give: {problem}. Answer with the whole object again, with corrected outputs."
            );
            understood.invalid = Some(("worker-invalid-outputs", sentence));
        }
        understood
    }

    fn feed_back(&self, reply: &Reply, results: &[Feedback]) -> Vec<Message> {
        if calls_in_text(&reply.text) {
            self.text().feed_back(reply, results)
        } else {
            Native.feed_back(reply, results)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_model::{Arguments, ToolCall};
    use serde_json::json;

    fn worker(outputs: Value) -> Worker {
        Worker { native: true, render_tools: false, outputs: Some(outputs) }
    }

    fn understand(text: &str) -> ParsedReply {
        worker(json!({})).understand(&Reply { text: text.into(), ..Reply::default() })
    }

    #[test]
    fn a_status_ends_and_calls_go_on() {
        let end = understand(
            r#"{"status":"SUCCESS","tool_calls":[{"name":"x"}],"metrics":{"terminate_workflow":true}}"#,
        );
        assert_eq!((end.status, end.calls.len(), end.invalid), (Some(WorkerStatus::Success), 0, None));
        assert_eq!(end.data["metrics"]["terminate_workflow"], true);
        assert_eq!(understand(r#"{"status":"SPLENDID"}"#).status, Some(WorkerStatus::Partial));
        let calls =
            understand(r#"{"tool_calls":[{"tool":"grep","action":"search","args":{},"call_id":"c9"}]}"#)
                .calls;
        assert_eq!((calls[0].name.as_str(), calls[0].id.as_str()), ("grep.search", "c9"));
        let call = ToolCall {
            id: "n1".into(),
            name: "tree".into(),
            arguments: Arguments::from_text("{}"),
            opaque: None,
        };
        let native = Reply { text: "I look".into(), calls: vec![call.clone()], ..Reply::default() };
        assert_eq!(worker(json!({})).understand(&native).calls, [call]);
    }

    #[test]
    fn a_reply_that_is_neither_call_nor_end_is_sent_back() {
        let names: Vec<&str> = [r#"{"tool_calls":"tree"}"#, "All done. STATUS: SUCCESS", "{}", ""]
            .into_iter()
            .filter_map(|text| understand(text).invalid.map(|(name, _)| name))
            .collect();
        assert_eq!(
            names,
            ["worker-invalid-tool-calls", "worker-no-status", "worker-no-status", "worker-no-status"]
        );
    }

    #[test]
    fn c2_questions_block_the_step_and_are_kept() {
        let asks = understand("QUESTIONS_FOR_PARENT:\n1. Which port?");
        assert_eq!((asks.status, asks.invalid), (Some(WorkerStatus::Blocked), None));
        assert!(asks.message.contains("Which port?"), "{}", asks.message);
        assert!(understand("I have no QUESTIONS_FOR_PARENT: today").invalid.is_some());
    }

    #[test]
    fn outputs_of_a_success_fit_their_schema() {
        let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        let invalid = |text: &str| {
            let reply = Reply { text: text.into(), ..Reply::default() };
            worker(schema.clone()).understand(&reply).invalid.map(|(name, _)| name)
        };
        assert_eq!(invalid(r#"{"status":"SUCCESS","outputs":{"n":1}}"#), None);
        assert_eq!(invalid(r#"{"status":"SUCCESS","n":1,"artifacts":["a"]}"#), None);
        assert_eq!(invalid(r#"{"status":"SUCCESS","outputs":{"n":"one"}}"#), Some("worker-invalid-outputs"));
        assert_eq!(invalid(r#"{"status":"FAILURE"}"#), None, "a failure owes nothing");
    }

    #[test]
    fn results_go_back_as_the_calls_came() {
        let call = ToolCall {
            id: "c9".into(),
            name: "tree".into(),
            arguments: Arguments::from_text("{}"),
            opaque: None,
        };
        let result = [Feedback { call, ok: true, text: "fine".into() }];
        let back = |text: &str| {
            worker(json!({})).feed_back(&Reply { text: text.into(), ..Reply::default() }, &result)
        };
        assert!(
            back(r#"{"tool_calls":[{"name":"tree","call_id":"c9"}]}"#)[1]
                .content()
                .contains(r#""call_id":"c9""#)
        );
        assert!(matches!(&back("I look")[1], Message::Tool { tool_call_id, .. } if tool_call_id == "c9"));
    }
}
