//! `POST /api/send`: a message, answered when the turn is over.
//!
//! Without `history` the message belongs to the conversation that the page shows. With `history` (also an empty one) the
//! conversation is the caller's: it is answered in a run of its own, nothing of it is kept in the chat log, and no person can
//! be asked, so that a question of the gate is a no.

use super::{MAX_TEXT_CHARS, PageHandler};
use crate::answer::{Answer, Refusal, json, within};
use marvin_agent::chat::Submission;
use marvin_agent::session::Manner;
use marvin_agent::{Session, SessionError, SessionOptions};
use marvin_model::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Earlier messages that the model gets, and characters of each.
const MAX_HISTORY_MESSAGES: usize = 20;
const MAX_HISTORY_MESSAGE_CHARS: usize = 20_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendRequest {
    message: String,
    history: Option<Vec<HistoryMessage>>,
}

/// An earlier message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryMessage {
    role: String,
    content: String,
}

impl PageHandler {
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
                "result" if before == 0 => return json(&Reply::from_result(data)),
                "result" => before -= 1,
                "turn.failed" => {
                    notice = data.get("error").and_then(Value::as_str).unwrap_or_default().to_string();
                }
                "notice" if data.get("source").is_none() => {
                    notice = data.get("text").and_then(Value::as_str).unwrap_or_default().to_string();
                }
                // Over without a result: it could not begin, or was taken back.
                "status" if data.get("busy") == Some(&Value::Bool(false)) => {
                    let why = if notice.is_empty() { "it was interrupted".to_string() } else { notice };
                    return json(&Reply::failed(&why, "not-started"));
                }
                _ => {}
            }
        }
    }

    /// Answers it in a run of its own.
    async fn beside(&self, message: &str, history: &[HistoryMessage]) -> Answer {
        let _turn = self.alone.lock().await;
        let (sender, mut events) = tokio::sync::mpsc::unbounded_channel::<Value>();
        let listener = move |notice: marvin_agent::Notice<'_>| {
            if let marvin_agent::Notice::Event(event) = notice
                && event.get("type").is_some_and(|kind| kind == "result")
            {
                sender.send(event.clone()).ok();
            }
        };
        let options = SessionOptions {
            project: (*self.context).clone(),
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
            Refusal::conflict(self.context.redactor.text(&error.to_string()).into_owned())
        };
        let mut session = Session::open(options).map_err(refused)?;
        session.arm_deadline();
        session.continue_from(earlier(history));
        session.turn(message).await.map_err(refused)?;
        match events.try_recv() {
            Ok(result) => json(&Reply::from_result(&result)),
            Err(_) => json(&Reply::failed("the turn has no result", "no-result")),
        }
    }
}

/// The last messages of the caller's conversation, each in its role.
fn earlier(history: &[HistoryMessage]) -> Vec<Message> {
    let skip = history.len().saturating_sub(MAX_HISTORY_MESSAGES);
    let message = |before: &HistoryMessage| {
        let text = marvin_base::truncate::head(&before.content, MAX_HISTORY_MESSAGE_CHARS);
        match before.role.as_str() {
            "user" | "you" => Message::user(text),
            _ => Message::assistant(text),
        }
    };
    history.iter().skip(skip).map(message).collect()
}

/// The answer, whose keys the description promises.
#[derive(Debug, Default, Serialize)]
struct Reply {
    ok: bool,
    status: &'static str,
    reply: String,
    summary: String,
    artifacts: Vec<Value>,
    metrics: Metrics,
    next_actions: Vec<Value>,
    failure_signature: Option<Value>,
}

#[derive(Debug, Default, Serialize)]
struct Metrics {
    cost: Option<Value>,
    rounds: Option<Value>,
    tool_calls: Option<Value>,
    duration_ms: Option<Value>,
    run_id: Option<Value>,
    reason: Option<Value>,
}

impl Reply {
    /// The answer that a `result` event of a trace means.
    fn from_result(result: &Value) -> Self {
        let value = |key: &str| result.get(key).cloned();
        let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
        let status = match text("status") {
            "success" => "SUCCESS",
            "partial" => "PARTIAL",
            "blocked" => "BLOCKED",
            _ => "FAILURE",
        };
        let list = |key: &str| result.get("data").and_then(|data| data.get(key)?.as_array()).cloned();
        let answer = if text("text").is_empty() { text("error") } else { text("text") };
        Reply {
            ok: status == "SUCCESS",
            status,
            reply: answer.to_string(),
            summary: marvin_base::truncate::line(answer, 200),
            artifacts: list("artifacts").unwrap_or_default(),
            metrics: Metrics {
                cost: value("cost"),
                rounds: value("rounds"),
                tool_calls: value("tool_calls"),
                duration_ms: value("duration_ms"),
                run_id: value("run_id"),
                reason: value("reason"),
            },
            next_actions: list("next_actions").unwrap_or_default(),
            failure_signature: value("failure_signature"),
        }
    }

    fn failed(why: &str, signature: &str) -> Self {
        Reply {
            status: "FAILURE",
            reply: why.to_string(),
            summary: marvin_base::truncate::line(why, 200),
            metrics: Metrics { reason: Some("not_started".into()), ..Metrics::default() },
            failure_signature: Some(signature.into()),
            ..Reply::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e12_earlier_messages_keep_their_roles() {
        let before =
            |role: &str, content: &str| HistoryMessage { role: role.into(), content: content.into() };
        let history = [before("user", "a"), before("assistant", "b")];
        assert_eq!(earlier(&history), [Message::user("a"), Message::assistant("b")]);
        let long: Vec<HistoryMessage> = (0..50).map(|n| before("user", &n.to_string())).collect();
        assert_eq!(earlier(&long).first(), Some(&Message::user("30")));
    }

    #[test]
    fn results_keep_their_meaning() {
        let result =
            serde_json::json!({ "status": "not_verified", "text": "done", "failure_signature": "x" });
        let reply = Reply::from_result(&result);
        assert_eq!((reply.ok, reply.status, reply.reply.as_str()), (false, "FAILURE", "done"));
        assert_eq!(Reply::failed("no key", "s").reply, "no key");
    }
}
