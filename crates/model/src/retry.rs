//! Repeating a request that failed for a passing reason.
//!
//! The wait doubles from half a second to half a minute, without chance in it: two runs of the same script take the
//! same time. A server that says how long to wait is obeyed within bounds. What may have had effects is never repeated
//! ([`ModelClient::repeatable`]).

use crate::client::{Event, Failure, ModelClient, ModelError, Reply, Request, Sink, Usage};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const FIRST_RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);
/// A server may ask for hours; a person would rather get the error.
const MAX_REQUESTED_RETRY_DELAY: Duration = Duration::from_secs(60);

/// A model whose passing failures are not seen, up to a number of repetitions.
pub struct RetryClient {
    pub inner: Arc<dyn ModelClient>,
    /// How often a request is repeated at most.
    pub retries: u32,
}

impl fmt::Debug for RetryClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Retrying")
            .field("provider", &self.inner.provider())
            .field("model", &self.inner.model())
            .field("retries", &self.retries)
            .finish()
    }
}

/// The same sink, which logs when the first piece of the reply arrives.
fn timed<'a>(sink: &'a mut Sink<'_>, started: Instant) -> impl FnMut(Event<'_>) + Send + 'a {
    let mut waits = true;
    move |event| {
        if waits && matches!(event, Event::Text(_) | Event::Reasoning(_)) {
            waits = false;
            tracing::debug!(ms = started.elapsed().as_millis(), "first piece of the reply");
        }
        sink(event);
    }
}

/// How long to wait before repetition `attempt`, counted from 1.
fn wait(attempt: u32, asked: Option<Duration>) -> Duration {
    match asked {
        Some(asked) => asked.min(MAX_REQUESTED_RETRY_DELAY),
        None => FIRST_RETRY_DELAY.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(MAX_RETRY_DELAY),
    }
}

#[async_trait]
impl ModelClient for RetryClient {
    fn provider(&self) -> &str {
        self.inner.provider()
    }

    fn model(&self) -> &str {
        self.inner.model()
    }

    fn native_tools(&self) -> bool {
        self.inner.native_tools()
    }

    fn repeatable(&self) -> bool {
        self.inner.repeatable()
    }

    async fn send(
        &self,
        request: &Request,
        sink: &mut Sink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let (provider, model) = (self.provider(), self.model());
        let mut attempt = 0;
        loop {
            let started = Instant::now();
            tracing::info!(
                provider,
                model,
                messages = request.messages.len(),
                attempt,
                "model request begins"
            );
            let mut error = match self.inner.send(request, &mut timed(sink, started), cancel).await {
                Ok(reply) => {
                    let (Usage { input, output, cached }, ms) = (reply.usage, started.elapsed().as_millis());
                    tracing::info!(provider, model, input, output, cached, ms, attempt, "model replied");
                    return Ok(reply);
                }
                Err(error) => error,
            };
            let ms = started.elapsed().as_millis();
            tracing::warn!(provider, model, ms, attempt, signature = error.signature, %error, "model request failed");
            if !error.is_transient() || !self.inner.repeatable() {
                return Err(error);
            }
            if attempt >= self.retries {
                if attempt > 0 {
                    error.message = format!("{} (after {} attempts)", error.message, attempt + 1);
                }
                return Err(error);
            }
            attempt += 1;
            // Sent before the wait, so that the screen is not silent for a minute.
            sink(Event::Restart { reason: &error.message, attempt, spent: error.spent() });
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    // What the failed attempt cost was told above.
                    let message = format!("stopped while waiting to repeat the request: {}", error.message);
                    return Err(ModelError::new(self.provider(), Failure::Cancelled, message));
                }
                () = tokio::time::sleep(wait(attempt, error.retry_after)) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_within_bounds() {
        let waits: Vec<u128> = (1..=9).map(|attempt| wait(attempt, None).as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]);
        assert_eq!(wait(4_000_000_000, None), MAX_RETRY_DELAY);
        assert_eq!(wait(1, Some(Duration::ZERO)), Duration::ZERO);
        assert_eq!(wait(1, Some(Duration::from_secs(7200))), MAX_REQUESTED_RETRY_DELAY);
    }
}
