//! Answers to the clients, in exactly the form that each of them accepts.
//!
//! Claude Code ignores unknown keys; Codex ignores an answer with unknown keys as a whole, also a refusal. So every answer
//! is made for one client and one event, and leaves out the parts that the client does not support.

use crate::event::{Client, Event};
use marvin_base::truncate;
use marvin_gate::Decision;
use serde::Serialize;

/// The clients cut text for a model at 10,000 characters.
pub const MAX_CONTEXT_CHARS: usize = 9_800;
const MAX_REASON_CHARS: usize = 4_000;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Answer {
    #[default]
    Nothing,
    /// Text for the model.
    Context(String),
    /// A decision about a call, with its reason and further text for the model.
    Verdict { decision: Decision, reason: String, context: Option<String> },
    /// The agent is not done and continues with this text.
    Continue(String),
    /// Text for the person.
    Note(String),
    /// Text for the model, and text for the person.
    ContextAndNote { context: String, note: String },
}

impl Answer {
    /// The text for standard output.
    #[must_use]
    pub fn print(&self, client: Client, event: Event) -> String {
        // Compaction in Claude Code takes plain text instead of JSON.
        if let (Answer::Context(text), Client::Claude, Event::PreCompact) = (self, client, event) {
            return truncate::head_whole(text, MAX_CONTEXT_CHARS);
        }
        serde_json::to_string(&self.output(client, event)).unwrap_or_else(|_| "{}".into())
    }

    fn output(&self, client: Client, event: Event) -> HookOutput {
        let specific = match (self, event) {
            (Answer::Context(text) | Answer::ContextAndNote { context: text, .. }, _)
                if has_context(client, event) =>
            {
                Some(HookSpecificOutput::Context {
                    hook_event_name: event.name(),
                    additional_context: truncate::head_whole(text, MAX_CONTEXT_CHARS),
                })
            }
            (Answer::Verdict { decision, reason, context }, Event::PreToolUse) => {
                before_tool(*decision, reason, context.as_deref(), client)
            }
            (Answer::Verdict { decision, reason, .. }, Event::PermissionRequest) => {
                permission(*decision, reason, client)
            }
            _ => None,
        };
        match (self, event) {
            (Answer::Continue(reason), Event::Stop | Event::SubagentStop) => HookOutput {
                decision: Some("block"),
                reason: Some(truncate::head_whole(reason, MAX_CONTEXT_CHARS)),
                ..HookOutput::default()
            },
            (Answer::Note(text) | Answer::ContextAndNote { note: text, .. }, _)
                if has_note(client, event) =>
            {
                HookOutput {
                    system_message: Some(truncate::head_whole(text, MAX_REASON_CHARS)),
                    hook_specific_output: specific,
                    ..HookOutput::default()
                }
            }
            _ => HookOutput { hook_specific_output: specific, ..HookOutput::default() },
        }
    }
}

/// The JSON object that both clients read.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct HookOutput {
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<HookSpecificOutput>,
}

/// The part of the answer that depends on the event.
#[derive(Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum HookSpecificOutput {
    PreToolUse {
        hook_event_name: &'static str,
        #[serde(flatten)]
        permission: Option<ToolPermission>,
        #[serde(skip_serializing_if = "Option::is_none")]
        additional_context: Option<String>,
    },
    PermissionRequest {
        hook_event_name: &'static str,
        decision: PermissionDecision,
    },
    Context {
        hook_event_name: &'static str,
        additional_context: String,
    },
}

/// The decision about a call in `PreToolUse`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolPermission {
    permission_decision: &'static str,
    permission_decision_reason: String,
}

/// The decision about a call in `PermissionRequest`.
#[derive(Debug, Serialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
enum PermissionDecision {
    Allow,
    Deny { message: String },
}

/// Whether a client passes context of this event to the model.
fn has_context(client: Client, event: Event) -> bool {
    match event {
        Event::SessionStart | Event::UserPromptSubmit | Event::PreToolUse | Event::PostToolUse => true,
        Event::PostToolUseFailure | Event::PostToolBatch | Event::SubagentStart => client == Client::Claude,
        _ => false,
    }
}

/// Whether a client shows a message of this event to the person.
fn has_note(client: Client, event: Event) -> bool {
    client == Client::Claude || matches!(event, Event::SessionStart | Event::UserPromptSubmit | Event::Stop)
}

fn before_tool(
    decision: Decision,
    reason: &str,
    context: Option<&str>,
    client: Client,
) -> Option<HookSpecificOutput> {
    let reason = truncate::head_whole(reason, MAX_REASON_CHARS);
    let (word, reason) = match (decision, client) {
        // Codex asks for permission in another event, which is answered there.
        (Decision::Allow, Client::Codex) => (None, reason),
        // Codex cannot ask before a call, so a question is a refusal.
        (Decision::Ask, Client::Codex) => (
            Some(Decision::Deny),
            format!("A person has to decide this, and no person can be asked here. {reason}"),
        ),
        (decision, _) => (Some(decision), reason),
    };
    let context = context.filter(|_| client == Client::Claude || decision == Decision::Allow);
    (word.is_some() || context.is_some()).then(|| HookSpecificOutput::PreToolUse {
        hook_event_name: Event::PreToolUse.name(),
        permission: word.map(|decision| ToolPermission {
            permission_decision: decision.word(),
            permission_decision_reason: reason,
        }),
        additional_context: context.map(|text| truncate::head_whole(text, MAX_CONTEXT_CHARS)),
    })
}

fn permission(decision: Decision, reason: &str, client: Client) -> Option<HookSpecificOutput> {
    let decision = match (decision, client) {
        (Decision::Allow, Client::Claude) => PermissionDecision::Allow,
        // Codex asks for permission to leave its own sandbox, and does not name the directory.
        (Decision::Allow, Client::Codex) => return None,
        // The client is asking the person already.
        (Decision::Ask, _) => return None,
        (Decision::Deny, _) => {
            PermissionDecision::Deny { message: truncate::head_whole(reason, MAX_REASON_CHARS) }
        }
    };
    Some(HookSpecificOutput::PermissionRequest { hook_event_name: Event::PermissionRequest.name(), decision })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn print(answer: &Answer, client: Client, event: Event) -> Value {
        serde_json::from_str(&answer.print(client, event)).unwrap()
    }

    fn verdict(decision: Decision) -> Answer {
        Answer::Verdict { decision, reason: "R".into(), context: Some("C".into()) }
    }

    #[test]
    fn verdicts_have_the_form_that_each_client_accepts() {
        let claude = |decision| print(&verdict(decision), Client::Claude, Event::PreToolUse);
        assert_eq!(
            claude(Decision::Deny),
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                "permissionDecisionReason": "R", "additionalContext": "C"}})
        );
        assert_eq!(claude(Decision::Ask)["hookSpecificOutput"]["permissionDecision"], "ask");
        let codex = |decision| print(&verdict(decision), Client::Codex, Event::PreToolUse);
        for stopped in [Decision::Ask, Decision::Deny] {
            let own = &codex(stopped)["hookSpecificOutput"];
            assert_eq!(own["permissionDecision"], "deny");
            assert_eq!(own.as_object().unwrap().len(), 3, "{own}");
        }
        assert_eq!(
            codex(Decision::Allow),
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "C"}})
        );
        let alone = Answer::Verdict { decision: Decision::Allow, reason: String::new(), context: None };
        assert_eq!(print(&alone, Client::Codex, Event::PreToolUse), json!({}));
        for client in [Client::Claude, Client::Codex] {
            let asked = |decision| print(&verdict(decision), client, Event::PermissionRequest);
            assert_eq!(
                asked(Decision::Deny),
                json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
                    "decision": {"behavior": "deny", "message": "R"}}})
            );
            assert_eq!(asked(Decision::Ask), json!({}));
            let allowed = asked(Decision::Allow)["hookSpecificOutput"]["decision"].clone();
            let expected = if client == Client::Claude { json!({"behavior": "allow"}) } else { Value::Null };
            assert_eq!(allowed, expected);
        }
    }

    #[test]
    fn parts_that_a_client_does_not_support_are_left_out() {
        let text = Answer::Context("C".into());
        assert_eq!(print(&text, Client::Claude, Event::Notification), json!({}));
        assert_eq!(print(&text, Client::Codex, Event::PreModelRequest), json!({}));
        assert_eq!(text.print(Client::Claude, Event::PreCompact), "C");
        assert_eq!(print(&Answer::Note("N".into()), Client::Codex, Event::Interrupt), json!({}));
        for client in [Client::Claude, Client::Codex] {
            assert_eq!(print(&Answer::Note("N".into()), client, Event::Stop), json!({"systemMessage": "N"}));
        }
        assert_eq!(
            print(&Answer::Continue("R".into()), Client::Codex, Event::Stop),
            json!({"decision": "block", "reason": "R"})
        );
        assert_eq!(print(&Answer::Continue("R".into()), Client::Claude, Event::PreToolUse), json!({}));
    }

    #[test]
    fn text_stays_below_the_limit_of_the_clients() {
        let long = Answer::Context("é".repeat(20_000));
        let own = print(&long, Client::Claude, Event::SessionStart);
        let length = own["hookSpecificOutput"]["additionalContext"].as_str().unwrap().chars().count();
        assert!(length <= 10_000, "{length}");
    }
}
