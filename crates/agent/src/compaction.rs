//! Keeping a long conversation within the model's window.
//!
//! Tokens are estimated as a quarter of the bytes. From the first threshold on, tool results carry a warning; at the
//! second the conversation is rebuilt by code: the system message and the person's words stay verbatim, what lies between
//! becomes one line each, the last messages stay whole. The full conversation is written to the run's folder first, so
//! nothing is lost to the auditor. At the third no single result may pass.

use marvin_base::truncate;
use marvin_model::Message;

/// How many one-line summaries of the middle are kept.
const SUMMARIES: usize = 30;
/// How many messages at the end stay whole.
const LAST: usize = 8;

/// Begins what the shell wrote in place of a middle.
const MARK: &str = "[The conversation was shortened by the shell. What happened so far, oldest first";

/// The thresholds, in estimated tokens.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// From here on results carry a warning.
    pub warn: usize,
    /// Here the conversation is rebuilt.
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

/// The conversation rebuilt: system, the person's words, one line for each message of the middle, the last messages.
#[must_use]
pub fn compact(messages: &[Message], window: Window) -> Vec<Message> {
    let (system, rest): (Vec<&Message>, Vec<&Message>) =
        messages.iter().partition(|message| matches!(message, Message::System { .. }));
    // A result without the call it answers is refused by every vendor: begin the kept end at a message that is no result.
    let mut start = rest.len().saturating_sub(LAST);
    while start < rest.len() && matches!(rest.get(start), Some(Message::Tool { .. })) {
        start += 1;
    }
    let (middle, last) = rest.split_at(start);
    let mut said: Vec<&str> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for message in middle {
        match message {
            // What was shortened before is the person's words and lines like those made here.
            Message::User { content } => {
                let (words, earlier) = content.split_once(MARK).unwrap_or((content, ""));
                said.push(words.trim_end());
                lines.extend(earlier.lines().skip(1).map(str::to_string));
            }
            other => lines.push(summary(other)),
        }
    }
    let dropped = lines.len().saturating_sub(SUMMARIES);
    lines.drain(..dropped);
    let mut rebuilt: Vec<Message> = system.into_iter().cloned().collect();
    let mut text = said.join("\n\n");
    text.push_str("\n\n");
    text.push_str(MARK);
    if dropped > 0 {
        text.push_str(&format!("; {dropped} earlier steps are not shown"));
    }
    text.push_str(":]\n");
    text.push_str(&lines.join("\n"));
    rebuilt.push(Message::user(text));
    let room = window.compact.saturating_sub(total(&rebuilt)) / last.len().max(1);
    rebuilt.extend(last.iter().map(|message| shorten(message, room.max(500) * 4)));
    rebuilt
}

fn summary(message: &Message) -> String {
    match message {
        Message::Assistant { content, tool_calls, .. } if !tool_calls.is_empty() => {
            let calls: Vec<String> = tool_calls
                .iter()
                .map(|call| format!("{}({})", call.name, truncate::line(&call.arguments.to_text(), 80)))
                .collect();
            format!("- you called {} {}", calls.join(", "), truncate::line(content, 80))
        }
        Message::Tool { name, content, ok, .. } => {
            let how = if *ok { "answered" } else { "refused or failed" };
            format!("- {name} {how}: {}", truncate::line(content, 160))
        }
        other => format!("- {} said: {}", other.role(), truncate::line(other.content(), 160)),
    }
}

fn shorten(message: &Message, bytes: usize) -> Message {
    let mut message = message.clone();
    if let Message::Tool { content, .. } | Message::User { content } = &mut message {
        *content = truncate::middle(content, bytes);
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
    fn rules_and_task_survive_and_every_result_keeps_its_call() {
        for rounds in 1..60 {
            let rebuilt = compact(&conversation(rounds), WINDOW);
            assert_eq!(rebuilt[0], Message::system("the rules"));
            assert!(rebuilt.iter().any(|message| message.content().contains("build the thing")), "{rounds}");
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
        let mut again = compact(&conversation(100), WINDOW);
        for _ in 0..5 {
            again.extend(conversation(40).into_iter().skip(2));
            again = compact(&again, WINDOW);
        }
        assert_eq!(again[1].content().matches("build the thing").count(), 1);
        assert_eq!(again[1].content().matches(MARK).count(), 1);
        assert!(again[1].content().lines().count() < SUMMARIES + 6, "{}", again[1].content());
        let rebuilt = compact(&conversation(100), WINDOW);
        assert!(total(&rebuilt) < total(&conversation(100)) / 3);
        assert!(rebuilt[1].content().contains("earlier steps are not shown"));
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
