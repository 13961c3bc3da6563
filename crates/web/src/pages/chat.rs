//! The conversation: messages, prompts, commands, and approvals.

use super::{MAX_SAFE_INTEGER, MAX_TEXT_CHARS, PageHandler, Query};
use crate::answer::{Answer, Refusal, json, within};
use axum::http::StatusCode;
use marvin_agent::chat::{self, AnswerWord, ChatError, Submission};
use marvin_tools::turbotime::TOOLS;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes of messages that are given at once; at least one is.
const MAX_MESSAGES_BYTES: usize = 2 * 1024 * 1024;

/// A body that says nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmptyBody {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Code {
    pub(crate) code: String,
}

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

/// The person's answer to an open question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Word {
    answer: AnswerWord,
    text: Option<String>,
}

#[derive(Serialize)]
struct ChatStatus {
    #[serde(flatten)]
    status: chat::Status,
    turbotime_tools: Vec<&'static str>,
}

#[derive(Serialize)]
struct MessagePage {
    messages: Vec<Arc<chat::Message>>,
    total: usize,
}

#[derive(Serialize)]
struct PromptReceipt {
    started: bool,
    turn: Option<String>,
}

/// The answer to a line that is not a command.
#[derive(Serialize)]
struct NoReply {
    reply: &'static str,
}

#[derive(Serialize)]
struct CommandList {
    commands: &'static [chat::Command],
}

#[derive(Serialize)]
struct ApprovalList {
    approvals: Vec<chat::Approval>,
}

#[derive(Serialize)]
struct Answered<'a> {
    answered: &'a str,
}

/// Every command that the input takes.
pub(super) fn commands() -> Answer {
    json(&CommandList { commands: &chat::COMMANDS })
}

impl PageHandler {
    /// How the conversation stands, and which tools TURBOTIME has.
    pub(super) fn status(&self) -> Answer {
        let turbotime_tools = TOOLS.iter().map(|(name, _)| *name).collect();
        json(&ChatStatus { status: self.chat.status(), turbotime_tools })
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
        json(&MessagePage { messages: chosen, total })
    }

    /// Hands a prompt over; its turn is reported as events.
    pub(super) fn prompt(&self, prompt: &Prompt) -> Answer {
        within(&prompt.text, MAX_TEXT_CHARS)?;
        if prompt.text.trim().is_empty() {
            return Err(Refusal::bad("there is nothing to answer"));
        }
        match self.chat.send(&prompt.text) {
            Ok(Submission::Started(turn)) => json(&PromptReceipt { started: true, turn: Some(turn) }),
            Ok(Submission::Queued) => json(&PromptReceipt { started: false, turn: None }),
            Err(refusal) => Err(Refusal::conflict(refusal.to_string())),
        }
    }

    /// Executes a command as the terminal does; a line that is not a command is answered with `none`.
    pub(super) async fn command(&self, line: &Line) -> Answer {
        within(&line.line, MAX_TEXT_CHARS)?;
        match self.chat.command(&line.line).await {
            Some(reply) => json(&reply),
            None => json(&NoReply { reply: "none" }),
        }
    }

    /// Everything that waits for the person.
    pub(super) fn approvals(&self) -> Answer {
        json(&ApprovalList { approvals: self.chat.approvals() })
    }

    /// Hands the person's word over.
    pub(super) fn approve(&self, id: &str, word: Word) -> Answer {
        let answer = match (word.answer, word.text) {
            (AnswerWord::Yes, None) => chat::Answer::Yes,
            (AnswerWord::No, None) => chat::Answer::No,
            (AnswerWord::Again, None) => chat::Answer::Again,
            (AnswerWord::Edit, Some(text)) => chat::Answer::Edit(text),
            (AnswerWord::Edit, None) => return Err(Refusal::bad("an edit needs a text")),
            (_, Some(_)) => return Err(Refusal::bad("only an edit has a text")),
        };
        self.chat.answer(id, &answer).map_err(|error| match error {
            ChatError::NotWaiting(_) => Refusal::absent(error.to_string()),
            ChatError::Refused(_) => Refusal::new(StatusCode::FORBIDDEN, error.to_string()),
            ChatError::Failed(_) => Refusal::conflict(error.to_string()),
        })?;
        json(&Answered { answered: id })
    }
}
