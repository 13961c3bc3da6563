//! Server-sent events. A reader that lost its connection resumes with `Last-Event-ID` or `?after=`.

use super::{PageHandler, Query};
use crate::answer::{Refusal, typed};
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use marvin_agent::chat::{Event, Events};
use serde::Serialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// How often a stream in which nothing happens shows that it lives; a reader that is gone is noticed by it.
const ALIVE: Duration = Duration::from_secs(10);
/// Events that are sent in one piece.
const TOGETHER: usize = 256;

struct Stream {
    events: Events,
    cancel: CancellationToken,
    begun: bool,
    _place: OwnedSemaphorePermit,
}

impl PageHandler {
    /// A stream of everything after an event; without a number, of what happens from now on.
    pub(super) fn events(&self, query: &Query, headers: &HeaderMap) -> Result<Response, Refusal> {
        let resumed = headers
            .get("last-event-id")
            .and_then(|value| value.to_str().ok())
            .and_then(|text| text.parse().ok());
        let after = match query.text("after") {
            Some(_) => Some(query.number("after", 0, 0, super::MAX_SAFE_INTEGER)?),
            None => resumed,
        };
        let place = take_place(&self.streams)?;
        let stream = Stream {
            events: self.chat.events(after),
            cancel: self.cancel.clone(),
            begun: false,
            _place: place,
        };
        let body = futures_util::stream::unfold(stream, |mut stream| async move {
            let text = stream.next().await?;
            Some((Ok::<Bytes, Infallible>(text), stream))
        });
        Ok(typed(StatusCode::OK, "text/event-stream", Body::from_stream(body)))
    }
}

impl Stream {
    async fn next(&mut self) -> Option<Bytes> {
        if !self.begun {
            // The reader knows at once that it is connected.
            self.begun = true;
            return Some(Bytes::from_static(b"retry: 1000\n\n"));
        }
        let found = tokio::select! {
            () = self.cancel.cancelled() => return None,
            found = self.events.some(TOGETHER) => found,
            () = tokio::time::sleep(ALIVE) => return Some(Bytes::from_static(b": alive\n\n")),
        };
        (!found.is_empty()).then(|| found.iter().map(frame).collect::<String>().into())
    }
}

fn take_place(streams: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Refusal> {
    let place = streams.clone().try_acquire_owned();
    place.map_err(|_| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too many streams are open"))
}

/// Stream of the numbers of changes of something that is read elsewhere; only the newest number counts.
struct ChangeStream {
    changes: watch::Receiver<u64>,
    cancel: CancellationToken,
    begun: bool,
    _place: OwnedSemaphorePermit,
}

/// A stream of changes, as long as there are any.
pub(super) fn changes(
    changes: watch::Receiver<u64>,
    streams: &Arc<Semaphore>,
    cancel: &CancellationToken,
) -> Result<Response, Refusal> {
    let place = take_place(streams)?;
    let stream = ChangeStream { changes, cancel: cancel.clone(), begun: false, _place: place };
    let body = futures_util::stream::unfold(stream, |mut stream| async move {
        let text = stream.next().await?;
        Some((Ok::<Bytes, Infallible>(text), stream))
    });
    Ok(typed(StatusCode::OK, "text/event-stream", Body::from_stream(body)))
}

/// Payload of a change.
#[derive(Serialize)]
struct Change {
    seq: u64,
    kind: &'static str,
}

impl ChangeStream {
    async fn next(&mut self) -> Option<Bytes> {
        if self.begun {
            tokio::select! {
                () = self.cancel.cancelled() => return None,
                changed = self.changes.changed() => changed.ok()?,
                () = tokio::time::sleep(ALIVE) => return Some(Bytes::from_static(b": alive\n\n")),
            }
        }
        // The first event tells the present number, in case the reader missed one while it connected.
        self.begun = true;
        let seq = *self.changes.borrow_and_update();
        let text = serde_json::to_string(&Change { seq, kind: "change" }).ok()?;
        Some(Bytes::from(format!("id: {seq}\ndata: {text}\n\n")))
    }
}

/// One event. JSON has no line breaks of its own, so that it is one line.
fn frame(event: &Arc<Event>) -> String {
    format!("id: {}\ndata: {}\n\n", event.seq, serde_json::to_string(&**event).unwrap_or_default())
}
