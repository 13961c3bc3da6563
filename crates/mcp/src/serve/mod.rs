//! Marvin as a server.

mod handler;
mod http;
mod spec;
mod stdio;
mod toolbox;

pub use handler::Handler;
pub use http::{HttpServer, serve_http};
pub use stdio::serve_stdio;
pub use toolbox::{ALL, Offer, SERVED, toolbox};

use std::time::Duration;

/// Bytes of one message of a client.
const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// How long calls may take to end once their client is gone.
const GRACE: Duration = Duration::from_secs(16);
