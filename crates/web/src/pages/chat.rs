//! The conversation: what was said, what waits for the person, and what they say.

use super::{MAX_SAFE_INTEGER, MAX_TEXT_CHARS, PageHandler, Query, within};
use crate::answer::{Answer, Refusal};
use axum::http::StatusCode;
use marvin_agent::chat::{self, ChatError, Submission};
use marvin_tools::turbotime::TOOLS;
use serde::Deserialize;
use serde_json::{Value, json};

/// Bytes of messages that are given at once; at least one is.
const MAX_MESSAGES_BYTES: usize = 2 * 1024 * 1024;

/// A body that says nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmptyBody {}

/// The code of a link.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Code {
    pub(super) code: String,
}

/// A prompt.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prompt {
    text: String,
}

/// A command of the person.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    line: String,
}

/// What the person says to something that waits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Word {
    answer: ApprovalDecision,
    #[serde(default)]
    text: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ApprovalDecision {
    Yes,
    No,
    Edit,
}

impl PageHandler {
    /// How the conversation stands, and which tools TURBOTIME has.
    pub(super) fn status(&self) -> Value {
        let mut status = json!(self.chat.status());
        if let Value::Object(status) = &mut status {
            status.insert("turbotime_tools".into(), json!(TOOLS.map(|(name, _)| name)));
        }
        status
    }

    /// The last messages before a number, oldest first.
    pub(super) fn messages(&self, query: &Query) -> Answer {
        let most = query.number("limit", 200, 1, 1_000)?;
        let before = query.number("before", MAX_SAFE_INTEGER, 0, MAX_SAFE_INTEGER)?;
        let all = self.chat.messages();
        let total = all.len();
        let mut bytes = 0;
        let mut chosen = Vec::new();
        for message in all.into_iter().rev().filter(|message| message.number < before) {
            bytes += message.text.len();
            if chosen.len() as u64 == most || (bytes > MAX_MESSAGES_BYTES && !chosen.is_empty()) {
                break;
            }
            chosen.push(message);
        }
        chosen.reverse();
        Ok(json!({ "messages": chosen, "total": total }))
    }

    /// Hands a prompt over; what comes of it is told as events.
    pub(super) fn prompt(&self, prompt: &Prompt) -> Answer {
        within(&prompt.text, MAX_TEXT_CHARS)?;
        if prompt.text.trim().is_empty() {
            return Err(Refusal::bad("there is nothing to answer"));
        }
        match self.chat.send(&prompt.text) {
            Ok(Submission::Started(turn)) => Ok(json!({ "started": true, "turn": turn })),
            Ok(Submission::Queued) => Ok(json!({ "started": false, "turn": null })),
            Err(refusal) => Err(Refusal::conflict(refusal.to_string())),
        }
    }

    /// Does what a command says, as in the terminal; of a line that is none it says so.
    pub(super) async fn command(&self, line: &Line) -> Answer {
        within(&line.line, MAX_TEXT_CHARS)?;
        match self.chat.command(&line.line).await {
            Some(reply) => Ok(json!(reply)),
            None => Ok(json!({ "reply": "none" })),
        }
    }

    /// Everything that waits, besides candidates for memory, which have a page of their own.
    pub(super) fn approvals(&self) -> Value {
        let waiting: Vec<chat::Approval> =
            self.chat.approvals().into_iter().filter(|one| one.kind != chat::Kind::Memory).collect();
        json!({ "approvals": waiting })
    }

    /// Hands the person's word over.
    pub(super) fn approve(&self, id: &str, word: Word) -> Answer {
        let answer = match (word.answer, word.text) {
            (ApprovalDecision::Yes, None) => chat::Answer::Yes,
            (ApprovalDecision::No, None) => chat::Answer::No,
            (ApprovalDecision::Edit, Some(text)) => chat::Answer::Edit(text),
            (ApprovalDecision::Edit, None) => return Err(Refusal::bad("an edit needs a text")),
            (_, Some(_)) => return Err(Refusal::bad("only an edit has a text")),
        };
        self.chat.answer(id, &answer).map_err(|error| match error {
            ChatError::NotWaiting(_) => Refusal::absent(error.to_string()),
            ChatError::Refused(_) => Refusal::new(StatusCode::FORBIDDEN, error.to_string()),
            ChatError::Failed(_) => Refusal::conflict(error.to_string()),
        })?;
        Ok(json!({ "answered": id }))
    }
}
