//! Compaction: keeping a long conversation within the model's context window.
//!
//! Tokens are estimated as a quarter of the bytes. From the first threshold on, tool results carry a warning; at the second
//! the conversation is compacted by code, from durable state: the system message is composed again, the person's words stay
//! verbatim, the shell's own account ([`crate::account`]) replaces what lies between, and the last messages stay whole. The full
//! conversation is written to the run's directory first, so that an auditor still has it. The third is never exceeded by a
//! single result.

use marvin_base::truncate;
use marvin_model::Message;

/// Messages at the end that stay whole.
const TAIL_MESSAGES: usize = 8;
/// Bytes of one message of an earlier conversation.
const MAX_EARLIER_BYTES: usize = 2_000;

/// The thresholds, in estimated tokens.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// From here on results carry a warning.
    pub warn: usize,
    /// Here the conversation is compacted.
    pub compact: usize,
    /// This is never passed.
    pub hard: usize,
}

/// Estimated tokens of one message.
#[must_use]
pub fn tokens(message: &Message) -> usize {
    let calls = match message {
        Message::Assistant { tool_calls, .. } => {
            tool_calls.iter().map(|call| call.name.len() + call.arguments.to_text().len()).sum()
        }
        Message::System { .. } | Message::User { .. } | Message::Tool { .. } => 0,
    };
    (message.content().len() + calls) / 4 + 4
}

/// Estimated tokens of a conversation.
#[must_use]
pub fn total(messages: &[Message]) -> usize {
    messages.iter().map(tokens).sum()
}

/// Compacts a conversation. `opening` is how many messages it began with: the system message, earlier messages, and last the
/// task. `system` and `task` are these two as they are now. Also gives the new `opening`.
#[must_use]
pub fn compact(
    messages: &[Message],
    opening: usize,
    system: &str,
    task: &str,
    window: Window,
) -> (Vec<Message>, usize) {
    let (opened, rest) = messages.split_at(opening.min(messages.len()));
    // A result without the call it answers is refused by every vendor: begin the kept end at a reply of the model.
    let mut start = rest.len().saturating_sub(TAIL_MESSAGES);
    while rest.get(start).is_some_and(|message| !matches!(message, Message::Assistant { .. })) {
        start += 1;
    }
    let last = rest.get(start..).unwrap_or_default();
    let mut compacted = Vec::new();
    if !system.is_empty() {
        compacted.push(Message::system(system));
    }
    let before = opened.iter().take(opened.len().saturating_sub(1));
    let before = before.filter(|message| !matches!(message, Message::System { .. }));
    compacted.extend(before.map(|message| shorten(message, MAX_EARLIER_BYTES)));
    compacted.push(Message::user(task));
    let opening = compacted.len();
    let room = window.compact.saturating_sub(total(&compacted)) / last.len().max(1);
    compacted.extend(last.iter().map(|message| shorten(message, room.max(500) * 4)));
    (compacted, opening)
}

fn shorten(message: &Message, bytes: usize) -> Message {
    let mut message = message.clone();
    match &mut message {
        Message::Tool { content, .. } | Message::User { content } => {
            *content = truncate::middle(content, bytes);
        }
        Message::Assistant { content, tool_calls, .. } if tool_calls.is_empty() => {
            *content = truncate::middle(content, bytes);
        }
        Message::Assistant { .. } | Message::System { .. } => {}
    }
    message
}

/// A tool result that fits into what is left of the window, with a warning when little is left.
#[must_use]
pub fn fit(result: String, used: usize, window: Window) -> String {
    let after = used + result.len() / 4;
    if after < window.warn {
        return result;
    }
    let room = window.hard.saturating_sub(used).max(500) * 4;
    let mut text = truncate::middle(&result, room);
    text.push_str(&format!(
        "\n[context: about {after} of {} tokens are used; read only what you need, in small ranges]",
        window.hard
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_model::{Arguments, ToolCall};
    use serde_json::json;

    const WINDOW: Window = Window { warn: 1_000, compact: 2_000, hard: 3_000 };

    fn conversation(rounds: usize) -> Vec<Message> {
        let mut messages = vec![Message::system("the rules"), Message::user("build the thing")];
        for n in 0..rounds {
            let call = ToolCall {
                id: format!("c{n}"),
                name: "read_file".into(),
                arguments: Arguments::from_value(json!({"path": format!("f{n}")})),
                opaque: None,
            };
            messages.push(Message::Assistant {
                content: String::new(),
                tool_calls: vec![call],
                opaque: None,
            });
            messages.push(Message::Tool {
                tool_call_id: format!("c{n}"),
                name: "read_file".into(),
                content: format!("content {n} {}", "x".repeat(400)),
                ok: true,
            });
        }
        messages
    }

    #[test]
    fn state_and_task_come_first_and_every_result_keeps_its_call() {
        for rounds in 1..60 {
            let task = "build the thing, and how it stands";
            let (rebuilt, opening) = compact(&conversation(rounds), 2, "the rules now", task, WINDOW);
            assert_eq!(opening, 2);
            assert_eq!(rebuilt[0], Message::system("the rules now"));
            assert_eq!(rebuilt[1], Message::user("build the thing, and how it stands"));
            assert!(rebuilt.len() <= 2 + TAIL_MESSAGES);
            let mut open = std::collections::BTreeSet::new();
            for message in &rebuilt {
                match message {
                    Message::Assistant { tool_calls, .. } => {
                        open.extend(tool_calls.iter().map(|call| call.id.clone()));
                    }
                    Message::Tool { tool_call_id, .. } => assert!(open.remove(tool_call_id), "orphan"),
                    _ => {}
                }
            }
            assert!(open.is_empty(), "a call without its result");
        }
        let mut again = compact(&conversation(100), 2, "s", "t", WINDOW).0;
        assert!(total(&again) < total(&conversation(100)) / 3);
        for _ in 0..5 {
            again.extend(conversation(40).into_iter().skip(2));
            again = compact(&again, 2, "s", "t", WINDOW).0;
        }
        assert_eq!(again.iter().filter(|message| matches!(message, Message::User { .. })).count(), 1);
    }

    #[test]
    fn earlier_messages_stay_and_json_results_do_not_pile_up() {
        let mut messages = vec![
            Message::system("old"),
            Message::user("hello"),
            Message::assistant("x".repeat(50_000)),
            Message::user("the task"),
        ];
        for n in 0..40 {
            messages.push(Message::assistant(format!("{{\"tool_calls\":[{n}]}}")));
            messages.push(Message::user(format!("{{\"tool_results\":[{n}]}}")));
        }
        let (rebuilt, opening) = compact(&messages, 4, "new", "the task, and how it stands", WINDOW);
        assert_eq!(rebuilt[0], Message::system("new"));
        assert_eq!((opening, &rebuilt[1]), (4, &Message::user("hello")));
        assert!(rebuilt[2].content().len() < 2_100);
        assert_eq!(rebuilt[3], Message::user("the task, and how it stands"));
        assert_eq!(rebuilt.len(), 4 + TAIL_MESSAGES);
        assert!(matches!(rebuilt[4], Message::Assistant { .. }));
    }

    #[test]
    fn results_are_fitted() {
        assert_eq!(fit("short".into(), 10, WINDOW), "short");
        let cut = fit("y".repeat(100_000), 2_900, WINDOW);
        assert!(
            cut.len() < 2_500 && cut.contains("bytes cut here") && cut.contains("[context:"),
            "{}",
            cut.len()
        );
    }
}
