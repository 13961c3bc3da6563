//! What the clients are answered, in exactly the shapes that each of them accepts.
//!
//! Claude Code ignores keys that it does not know; Codex then ignores the whole answer, and a refusal with it. So every answer is
//! made for one client and one event, and what a client would not understand is not said to it.

use crate::event::{Client, Event};
use marvin_base::truncate;
use marvin_gate::Decision;
use serde_json::{Value, json};

/// Characters of text for a model: the clients cut at 10,000.
pub const MAX_CONTEXT_CHARS: usize = 9_800;
/// Characters of a reason.
const MAX_REASON_CHARS: usize = 4_000;

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Answer {
    /// Nothing to say.
    #[default]
    Nothing,
    /// Something that the model should know.
    Context(String),
    /// A decision about a call.
    Verdict {
        /// Allow, ask or deny.
        decision: Decision,
        /// Why, and the mend.
        reason: String,
        /// Something that the model should know besides.
        context: Option<String>,
    },
    /// The agent is not done: it goes on with this.
    GoOn(String),
    /// Something for the person.
    Note(String),
}

impl Answer {
    /// The bytes for standard output; none is an answer too.
    #[must_use]
    pub fn print(&self, client: Client, event: Event) -> String {
        match self.shape(client, event) {
            HookOutput::Object(value) => value.to_string(),
            HookOutput::Text(text) => text,
        }
    }

    fn shape(&self, client: Client, event: Event) -> HookOutput {
        let nothing = HookOutput::Object(json!({}));
        match self {
            Answer::Nothing => nothing,
            Answer::Context(text) => context(text, client, event),
            Answer::Verdict { decision, reason, context: more } => {
                let reason = truncate::head_whole(reason, MAX_REASON_CHARS);
                match event {
                    Event::PreToolUse => before_tool(*decision, &reason, more.as_deref(), client),
                    Event::PermissionRequest => permission(*decision, &reason, client),
                    _ => nothing,
                }
            }
            Answer::GoOn(reason) if matches!(event, Event::Stop | Event::SubagentStop) => HookOutput::Object(
                json!({"decision": "block", "reason": truncate::head_whole(reason, MAX_CONTEXT_CHARS)}),
            ),
            Answer::Note(text) if client == Client::Claude => {
                HookOutput::Object(json!({"systemMessage": truncate::head_whole(text, MAX_REASON_CHARS)}))
            }
            Answer::GoOn(_) | Answer::Note(_) => nothing,
        }
    }
}

enum HookOutput {
    Object(Value),
    Text(String),
}

fn context(text: &str, client: Client, event: Event) -> HookOutput {
    let text = truncate::head_whole(text, MAX_CONTEXT_CHARS);
    let takes = match client {
        Client::Claude => matches!(
            event,
            Event::SessionStart
                | Event::UserPromptSubmit
                | Event::PreToolUse
                | Event::PostToolUse
                | Event::PostToolUseFailure
                | Event::PostToolBatch
                | Event::SubagentStart
        ),
        Client::Codex => matches!(
            event,
            Event::SessionStart | Event::UserPromptSubmit | Event::PreToolUse | Event::PostToolUse
        ),
    };
    match event {
        // The prompt of the compaction takes plain text and no JSON.
        Event::PreCompact if client == Client::Claude => HookOutput::Text(text),
        _ if takes => HookOutput::Object(json!({
            "hookSpecificOutput": {"hookEventName": event.name(), "additionalContext": text}
        })),
        _ => HookOutput::Object(json!({})),
    }
}

fn before_tool(decision: Decision, reason: &str, more: Option<&str>, client: Client) -> HookOutput {
    let mut own = json!({"hookEventName": "PreToolUse"});
    let Some(map) = own.as_object_mut() else { return HookOutput::Object(json!({})) };
    let mut decided = |word: &str, reason: &str| {
        map.insert("permissionDecision".into(), word.into());
        map.insert("permissionDecisionReason".into(), reason.into());
    };
    let mut more = more;
    match (decision, client) {
        // Codex has its own way to permission; an allow is told where it asks for one.
        (Decision::Allow, Client::Codex) => {}
        (Decision::Allow, Client::Claude) => decided("allow", reason),
        (Decision::Ask, Client::Claude) => decided("ask", reason),
        // Codex knows no question before a call; what is in doubt does not run.
        (Decision::Ask, Client::Codex) => {
            decided("deny", &format!("A person has to decide this, and nobody can be asked here. {reason}"));
            more = None;
        }
        (Decision::Deny, Client::Codex) => {
            decided("deny", reason);
            more = None;
        }
        (Decision::Deny, Client::Claude) => decided("deny", reason),
    }
    if let Some(text) = more {
        map.insert("additionalContext".into(), truncate::head_whole(text, MAX_CONTEXT_CHARS).into());
    }
    if map.len() == 1 {
        return HookOutput::Object(json!({}));
    }
    HookOutput::Object(json!({ "hookSpecificOutput": own }))
}

fn permission(decision: Decision, reason: &str, client: Client) -> HookOutput {
    let behaviour = match (decision, client) {
        (Decision::Allow, Client::Claude) => json!({"behavior": "allow"}),
        // Codex asks for leave to go outside of its own box, and does not say in which directory.
        (Decision::Allow, Client::Codex) => return HookOutput::Object(json!({})),
        // The person is being asked already.
        (Decision::Ask, _) => return HookOutput::Object(json!({})),
        (Decision::Deny, _) => json!({"behavior": "deny", "message": reason}),
    };
    HookOutput::Object(
        json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": behaviour}}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(answer: &Answer, client: Client, event: Event) -> Value {
        serde_json::from_str(&answer.print(client, event)).unwrap()
    }

    fn verdict(decision: Decision) -> Answer {
        Answer::Verdict { decision, reason: "R".into(), context: Some("C".into()) }
    }

    #[test]
    fn verdicts_have_the_shape_that_each_client_takes() {
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
    fn nothing_is_said_where_it_would_not_be_heard() {
        let text = Answer::Context("C".into());
        assert_eq!(print(&text, Client::Claude, Event::Notification), json!({}));
        assert_eq!(print(&text, Client::Codex, Event::PreModelRequest), json!({}));
        assert_eq!(text.print(Client::Claude, Event::PreCompact), "C");
        assert_eq!(print(&Answer::Note("N".into()), Client::Codex, Event::Stop), json!({}));
        assert_eq!(
            print(&Answer::GoOn("R".into()), Client::Codex, Event::Stop),
            json!({"decision": "block", "reason": "R"})
        );
        assert_eq!(print(&Answer::GoOn("R".into()), Client::Claude, Event::PreToolUse), json!({}));
    }

    #[test]
    fn text_stays_below_the_limit_of_the_clients() {
        let long = Answer::Context("é".repeat(20_000));
        let own = print(&long, Client::Claude, Event::SessionStart);
        let length = own["hookSpecificOutput"]["additionalContext"].as_str().unwrap().chars().count();
        assert!(length <= 10_000, "{length}");
    }
}
