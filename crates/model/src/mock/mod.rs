//! `mock`, the embedded model: deterministic, and useful without a key.
//!
//! With a script it plays the script ([`crate::script`]). Without one it reads the last message by a small grammar
//! ([`intent`]) and calls real tools, so that a newcomer sees the shell work before they have a key.

mod intent;

use crate::client::{Event, Failure, ModelClient, ModelError, Reply, Request, Sink, Usage};
use crate::message::ToolCall;
use crate::script::{Entry, FailureKind, Script, ScriptReply, pieces};
use async_trait::async_trait;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const PROVIDER: &str = "mock";

/// The signature of the failure to understand a request that no person made; its message is the help.
pub const NOT_UNDERSTOOD: &str = "mock-not-understood";

/// How long a scripted timeout lasts before it is reported; the real bound is the caller's deadline.
const TIMEOUT: Duration = Duration::from_millis(50);

/// The embedded model.
#[derive(Debug)]
pub struct Mock {
    script: Option<Script>,
    calls: AtomicU64,
}

impl Mock {
    /// A model that plays a script, or reads intents when there is none.
    #[must_use]
    pub fn new(script: Option<Script>) -> Self {
        Mock { script, calls: AtomicU64::new(0) }
    }

    async fn play(
        &self,
        script: &Script,
        request: &Request,
        sink: &mut Sink<'_>,
    ) -> Result<Reply, ModelError> {
        let entry = script
            .take(request)
            .map_err(|error| ModelError::new(PROVIDER, Failure::Missing, error.to_string()))?;
        let Some(entry) = entry else {
            let message = "the script has no entry left for this request (PARTIAL)";
            return Err(ModelError::new(PROVIDER, Failure::Missing, message).signed("mock-empty"));
        };
        if entry.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(entry.delay_ms)).await;
        }
        let Some(reply) = &entry.reply else { return Err(failure(&entry).await) };
        let text = reply.spoken();
        let spoken = if entry.fail.is_some() { half(&text) } else { text.as_str() };
        for piece in pieces(spoken, entry.chunks.unwrap_or(1)) {
            sink(Event::Text(piece));
            if entry.chunks.is_some() {
                sink(Event::Idle);
                tokio::task::yield_now().await;
            }
        }
        if entry.fail.is_some() {
            let spent = reply.usage.unwrap_or_else(|| Usage::estimate(request, spoken.chars().count()));
            return Err(failure(&entry).await.costing(spent));
        }
        Ok(self.reply(request, reply, text))
    }

    fn reply(&self, request: &Request, reply: &ScriptReply, text: String) -> Reply {
        let calls = reply
            .tool_calls
            .iter()
            .map(|call| ToolCall {
                id: call.id.clone().unwrap_or_else(|| self.next_id()),
                name: call.name.clone(),
                arguments: call.understood(),
                opaque: call.opaque.clone(),
            })
            .collect();
        let usage = reply.usage.unwrap_or_else(|| estimate(request, &text));
        let opaque = reply.opaque.clone();
        Reply { text, calls, usage, opaque, model: PROVIDER.into(), ..Reply::default() }
    }

    /// Ids that no other call of the conversation has: they count on from the calls made so far.
    fn next_id(&self) -> String {
        format!("call_{}", self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// About four characters per token.
fn estimate(request: &Request, text: &str) -> Usage {
    let read: usize = request.messages.iter().map(|message| message.content().len()).sum();
    Usage { input: (read / 4) as u64, output: (text.len() / 4) as u64, cached: 0 }
}

fn half(text: &str) -> &str {
    text.get(..marvin_base::truncate::floor(text, text.len() / 2)).unwrap_or_default()
}

async fn failure(entry: &Entry) -> ModelError {
    let Some(fail) = &entry.fail else {
        return ModelError::new(PROVIDER, Failure::Missing, "the script entry is empty");
    };
    match fail.kind {
        FailureKind::Http => {
            let status = fail.status.unwrap_or(500);
            let kind = if status == 429 || status >= 500 { Failure::Unavailable } else { Failure::Rejected };
            let mut error = ModelError::new(PROVIDER, kind, format!("HTTP {status} (scripted)"));
            error.retry_after = fail.retry_after_s.map(Duration::from_secs);
            error
        }
        FailureKind::Timeout => {
            tokio::time::sleep(TIMEOUT).await;
            ModelError::new(PROVIDER, Failure::Timeout, "no answer in time (scripted)")
        }
        FailureKind::Disconnect => {
            ModelError::new(PROVIDER, Failure::Disconnected, "the connection broke (scripted)")
        }
        FailureKind::Garbage => {
            ModelError::new(PROVIDER, Failure::Garbage, "the answer is not the protocol (scripted)")
        }
    }
}

#[async_trait]
impl ModelClient for Mock {
    fn provider(&self) -> &str {
        PROVIDER
    }

    fn model(&self) -> &str {
        PROVIDER
    }

    async fn send(
        &self,
        request: &Request,
        sink: &mut Sink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let answer = async {
            match &self.script {
                Some(script) => self.play(script, request, sink).await,
                None => {
                    let reply = intent::answer(request).map_err(|error| {
                        ModelError::new(PROVIDER, Failure::Missing, error.to_string()).signed(NOT_UNDERSTOOD)
                    })?;
                    if !reply.text.is_empty() {
                        sink(Event::Text(&reply.text));
                    }
                    let text = reply.spoken();
                    Ok(self.reply(request, &reply, text))
                }
            }
        };
        tokio::select! {
            reply = answer => reply,
            () = cancel.cancelled() => Err(ModelError::new(PROVIDER, Failure::Cancelled, "interrupted")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::script::parse;

    async fn say(mock: &Mock, text: &str) -> (String, Result<Reply, ModelError>) {
        let mut streamed = String::new();
        let request = Request { messages: vec![Message::user(text)], ..Request::default() };
        let mut sink = |event: Event<'_>| {
            if let Event::Text(piece) = event {
                streamed.push_str(piece);
            }
        };
        let reply = mock.send(&request, &mut sink, &CancellationToken::new()).await;
        (streamed, reply)
    }

    #[tokio::test]
    async fn plays_replies_failures_and_runs_out() {
        let script = r#"
{"reply":{"text":"hello there","usage":{"input":120,"output":30}},"chunks":4}
{"fail":{"kind":"http","status":429,"retry_after_s":7}}
{"reply":{"text":"half of this"},"fail":{"kind":"disconnect"}}
{"reply":{"tool_calls":[{"name":"tree","arguments":"{\"path\":\".\"}"}]}}
"#;
        let mock = Mock::new(Some(Script::new(parse("s", script).unwrap())));
        let (streamed, reply) = say(&mock, "x").await;
        assert_eq!((streamed.as_str(), reply.unwrap().usage.input), ("hello there", 120));
        let error = say(&mock, "x").await.1.unwrap_err();
        assert_eq!((error.failure, error.retry_after), (Failure::Unavailable, Some(Duration::from_secs(7))));
        assert_eq!(error.spent(), None);
        let (streamed, reply) = say(&mock, "x").await;
        let error = reply.unwrap_err();
        assert_eq!((streamed.as_str(), error.failure), ("half o", Failure::Disconnected));
        assert_eq!(error.spent(), Some(Usage { input: 1, output: 2, cached: 0 }));
        let calls = say(&mock, "x").await.1.unwrap().calls;
        assert_eq!(calls[0].arguments.object().unwrap()["path"], ".");
        assert_eq!(say(&mock, "x").await.1.unwrap_err().signature, "mock-empty");
    }

    #[tokio::test]
    async fn without_a_script_it_fails_in_unattended_roles() {
        let (streamed, reply) = say(&Mock::new(None), "sing a song").await;
        let error = reply.unwrap_err();
        assert_eq!((error.failure, error.signature.as_str()), (Failure::Missing, NOT_UNDERSTOOD));
        assert!(streamed.is_empty() && error.message.contains("did not understand"), "{error}");
    }
}
