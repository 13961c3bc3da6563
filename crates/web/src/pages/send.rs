//! `POST /api/send`: a message, and the whole answer when it is there.
//!
//! Without `history` the message belongs to the conversation that the page shows. With `history` (also an empty one) the
//! conversation is the caller's: it is answered in a run of its own, nothing of it is kept in the chat log, and nobody can be
//! asked, so that a question of the gate is a no.

use super::{MAX_TEXT_CHARS, PageHandler, within};
use crate::answer::{Answer, Refusal};
use marvin_agent::chat::Submission;
use marvin_agent::session::Manner;
use marvin_agent::{Session, SessionError, SessionOptions};
use serde::Deserialize;
use serde_json::{Value, json};

/// Things said before that are told to the model, and characters of each.
const MAX_HISTORY_MESSAGES: usize = 20;
const MAX_HISTORY_MESSAGE_CHARS: usize = 20_000;

/// A message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendRequest {
    message: String,
    #[serde(default)]
    history: Option<Vec<HistoryMessage>>,
}

/// Something that was said before.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryMessage {
    role: String,
    content: String,
}

impl PageHandler {
    /// Answers a message.
    pub(super) async fn send(&self, asked: SendRequest) -> Answer {
        within(&asked.message, MAX_TEXT_CHARS)?;
        if asked.message.trim().is_empty() {
            return Err(Refusal::bad("the message is empty"));
        }
        match asked.history {
            None => self.in_conversation(&asked.message).await,
            Some(history) => self.beside(&asked.message, &history).await,
        }
    }

    /// Sends it to the conversation and waits for the end of its turn.
    async fn in_conversation(&self, message: &str) -> Answer {
        let mut events = self.chat.events(None);
        let sent = self.chat.send(message).map_err(|refusal| Refusal::conflict(refusal.to_string()))?;
        // A prompt that waits is answered after the one before it.
        let mut before = usize::from(matches!(sent, Submission::Queued));
        let mut notice = String::new();
        loop {
            let next = tokio::select! {
                () = self.cancel.cancelled() => None,
                next = events.next() => next,
            };
            let event = next.ok_or_else(|| Refusal::conflict("the server ends"))?;
            let data = &event.data;
            match event.kind.as_str() {
                "result" if before == 0 => return Ok(reply(data)),
                "result" => before -= 1,
                "turn.failed" => {
                    notice = data.get("error").and_then(Value::as_str).unwrap_or_default().to_string();
                }
                "notice" => notice = data.get("text").and_then(Value::as_str).unwrap_or_default().to_string(),
                // Over without a result: it could not begin, or was taken back.
                "status" if data.get("busy") == Some(&Value::Bool(false)) => {
                    let why = if notice.is_empty() { "it was broken off".to_string() } else { notice };
                    return Ok(failed(&why, "not-started"));
                }
                _ => {}
            }
        }
    }

    /// Answers it in a run of its own.
    async fn beside(&self, message: &str, history: &[HistoryMessage]) -> Answer {
        let _turn = self.alone.lock().await;
        let (sender, mut told) = tokio::sync::mpsc::unbounded_channel::<Value>();
        let listener = move |notice: marvin_agent::Notice<'_>| {
            if let marvin_agent::Notice::Event(event) = notice
                && event.get("type").is_some_and(|kind| kind == "result")
            {
                sender.send(event.clone()).ok();
            }
        };
        let options = SessionOptions {
            project: (*self.ground).clone(),
            manner: Manner::Unattended,
            record: None,
            response_schema: None,
            listener: Box::new(listener),
            cancel: self.cancel.child_token(),
            replay: None,
            commitments: Vec::new(),
            servitors: None,
            approver: None,
            turbotime: None,
        };
        let refused = |error: SessionError| {
            Refusal::conflict(self.ground.redactor.text(&error.to_string()).into_owned())
        };
        let mut session = Session::open(options).map_err(refused)?;
        session.arm_deadline();
        session.turn(&prompt(message, history)).await.map_err(refused)?;
        Ok(told
            .try_recv()
            .map_or_else(|_| failed("there is no result", "no-result"), |result| reply(&result)))
    }
}

/// The message with what was said before it.
fn prompt(message: &str, history: &[HistoryMessage]) -> String {
    let skip = history.len().saturating_sub(MAX_HISTORY_MESSAGES);
    let said = history.iter().skip(skip).map(|before| {
        let who = if before.role == "user" || before.role == "you" { "User" } else { "Marvin" };
        format!("{who}: {}\n\n", marvin_base::truncate::head(&before.content, MAX_HISTORY_MESSAGE_CHARS))
    });
    let said: String = said.collect();
    if said.is_empty() { message.to_string() } else { format!("{said}User: {message}") }
}

/// A result in the shape that is promised.
fn reply(result: &Value) -> Value {
    let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
    let status = match text("status") {
        "success" => "SUCCESS",
        "partial" => "PARTIAL",
        "blocked" => "BLOCKED",
        _ => "FAILURE",
    };
    let data = result.get("data").cloned().unwrap_or_default();
    let extra =
        |key: &str| data.get(key).filter(|value| value.is_array()).cloned().unwrap_or_else(|| json!([]));
    let answer = if text("text").is_empty() { text("error") } else { text("text") };
    json!({
        "ok": status == "SUCCESS", "status": status, "reply": answer,
        "summary": marvin_base::truncate::line(answer, 200), "artifacts": extra("artifacts"),
        "metrics": {
            "cost": result.get("cost"), "rounds": result.get("rounds"), "tool_calls": result.get("tool_calls"),
            "duration_ms": result.get("duration_ms"), "run_id": result.get("run_id"), "reason": result.get("reason"),
        },
        "next_actions": extra("next_actions"), "failure_signature": result.get("failure_signature"),
    })
}

fn failed(why: &str, signature: &str) -> Value {
    let result = json!({ "status": "failed", "text": "", "error": why, "failure_signature": signature, "reason": "not_started" });
    reply(&result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_before_goes_before() {
        let before =
            |role: &str, content: &str| HistoryMessage { role: role.into(), content: content.into() };
        assert_eq!(prompt("hi", &[]), "hi");
        let history = [before("user", "a"), before("assistant", "b")];
        assert_eq!(prompt("c", &history), "User: a\n\nMarvin: b\n\nUser: c");
        let long: Vec<HistoryMessage> = (0..50).map(|n| before("user", &n.to_string())).collect();
        assert!(prompt("x", &long).starts_with("User: 30\n"));
    }

    #[test]
    fn results_keep_their_meaning() {
        let value = reply(&json!({ "status": "not_verified", "text": "done", "failure_signature": "x" }));
        assert_eq!(
            (&value["ok"], &value["status"], &value["reply"]),
            (&json!(false), &json!("FAILURE"), &json!("done"))
        );
        assert_eq!(failed("no key", "s")["reply"], "no key");
    }
}
