//! A second provider that answers when the first one fails.
//!
//! The first failure that repetition did not cure is announced ([`Event::Fallback`]) and the request goes to the second
//! provider, as does every later one: a provider that is out of order is not asked again before each reply. What may have had
//! effects is not sent twice, and an interruption is not a failure.

use crate::client::{Event, Failure, ModelClient, ModelError, Reply, Request, Sink};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// A model, and the one that takes its place.
pub struct FallbackClient {
    first: Arc<dyn ModelClient>,
    second: Arc<dyn ModelClient>,
    has_failed: AtomicBool,
}

impl fmt::Debug for FallbackClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = (self.first.provider(), self.second.provider());
        formatter.debug_tuple("FallbackClient").field(&names).finish()
    }
}

impl FallbackClient {
    /// # Errors
    /// When the two understand different requests: one takes tools, the other takes text.
    pub fn new(first: Arc<dyn ModelClient>, second: Arc<dyn ModelClient>) -> Result<Self, ModelError> {
        if first.native_tools() != second.native_tools() {
            let message = format!(
                "it cannot stand in for {}: one is a program and the other a service",
                first.provider()
            );
            return Err(ModelError::new(second.provider(), Failure::Missing, message));
        }
        Ok(FallbackClient { first, second, has_failed: AtomicBool::new(false) })
    }

    async fn by_second(
        &self,
        request: &Request,
        sink: &mut Sink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let mut reply = self.second.send(request, sink, cancel).await?;
        reply.provider = self.second.provider().to_string();
        if reply.model.is_empty() {
            reply.model = self.second.model().to_string();
        }
        Ok(reply)
    }
}

#[async_trait]
impl ModelClient for FallbackClient {
    fn provider(&self) -> &str {
        self.first.provider()
    }

    fn model(&self) -> &str {
        self.first.model()
    }

    fn native_tools(&self) -> bool {
        self.first.native_tools()
    }

    fn repeatable(&self) -> bool {
        self.first.repeatable()
    }

    async fn send(
        &self,
        request: &Request,
        sink: &mut Sink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        if self.has_failed.load(Ordering::Relaxed) {
            return self.by_second(request, sink, cancel).await;
        }
        let error = match self.first.send(request, sink, cancel).await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        if error.failure == Failure::Cancelled || !self.first.repeatable() || cancel.is_cancelled() {
            return Err(error);
        }
        self.has_failed.store(true, Ordering::Relaxed);
        let to = format!("{}/{}", self.second.provider(), self.second.model());
        tracing::warn!(from = self.first.provider(), to, "another model answers for the rest of the turn");
        sink(Event::Fallback { reason: &error.to_string(), to: &to, spent: error.spent() });
        self.by_second(request, sink, cancel).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::Mock;
    use crate::script::{Entry, Script};
    use serde_json::{Value, json};

    fn mock(script: &[Value]) -> Arc<dyn ModelClient> {
        let entries: Vec<Entry> =
            script.iter().map(|entry| serde_json::from_value(entry.clone()).unwrap()).collect();
        Arc::new(Mock::new(Some(Script::new(entries))))
    }

    #[tokio::test]
    async fn c4_the_second_answers_after_the_first_failed_and_from_then_on() {
        let first = mock(&[
            json!({"reply": {"text": "one"}}),
            json!({"fail": {"kind": "http", "status": 503}}),
            json!({"reply": {"text": "never"}}),
        ]);
        let second = mock(&[json!({"reply": {"text": "two"}}), json!({"reply": {"text": "three"}})]);
        let client = FallbackClient::new(first, second).unwrap();
        let (mut texts, mut told) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let mut sink = |event: Event<'_>| {
                if let Event::Fallback { reason, to, .. } = event {
                    told.push(format!("{reason} -> {to}"));
                }
            };
            let reply = client.send(&Request::default(), &mut sink, &CancellationToken::new()).await.unwrap();
            texts.push((reply.text, reply.provider));
        }
        let named = |text: &str, provider: &str| (text.to_string(), provider.to_string());
        assert_eq!(texts, [named("one", ""), named("two", "mock"), named("three", "mock")]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("503") && told[0].ends_with("-> mock/mock"), "{told:?}");
    }
}
