//! Marvin as a server.

mod handler;
mod http;
mod prompts;
mod spec;
mod stdio;
mod toolbox;

pub use handler::Handler;
pub use http::{HttpServer, serve_http};
pub use stdio::serve_stdio;
pub use toolbox::{ALL, Offer, SERVED, UnknownTool, toolbox};

use std::time::Duration;

const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Time for calls to end after their client has disconnected.
const GRACE: Duration = Duration::from_secs(16);
