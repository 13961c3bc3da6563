//! A body that is flushed piece by piece and can end badly.

use axum::body::Bytes;
use futures_util::Stream;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio_util::sync::WaitForCancellationFutureOwned;

/// How a body ends.
pub(super) enum End {
    /// As it should.
    Whole,
    /// The connection breaks.
    Break,
    /// Nothing more comes, until the server stops.
    Hang(Pin<Box<WaitForCancellationFutureOwned>>),
}

impl fmt::Debug for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            End::Whole => "Whole",
            End::Break => "Break",
            End::Hang(_) => "Hang",
        })
    }
}

/// The pieces of a body. Between two pieces it says once that it has nothing, which makes the server flush the first.
#[derive(Debug)]
pub(super) struct PacedBody {
    pieces: std::vec::IntoIter<Bytes>,
    end: End,
    flush: bool,
}

impl PacedBody {
    pub(super) fn new(pieces: Vec<Bytes>, end: End) -> Self {
        // A bad end may come at once; the headers are sent before it.
        let flush = !matches!(end, End::Whole);
        PacedBody { pieces: pieces.into_iter(), end, flush }
    }
}

impl Stream for PacedBody {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let ends_well = matches!(self.end, End::Whole);
        if self.flush && !(ends_well && self.pieces.as_slice().is_empty()) {
            self.flush = false;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(piece) = self.pieces.next() {
            self.flush = true;
            return Poll::Ready(Some(Ok(piece)));
        }
        match &mut self.end {
            End::Whole => Poll::Ready(None),
            End::Break => Poll::Ready(Some(Err(io::Error::other("the script breaks the connection")))),
            End::Hang(stopped) => stopped.as_mut().poll(context).map(|()| None),
        }
    }
}
