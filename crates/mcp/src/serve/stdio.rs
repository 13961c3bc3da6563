//! Serving over standard input and output: one client, the parent process.

use super::{Handler, MAX_MESSAGE_BYTES};
use marvin_agent::SessionError;
use rmcp::service::serve_server_with_ct;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio_util::sync::CancellationToken;

/// Serves until standard input closes or `cancel`, then ends every running call.
///
/// # Errors
/// When the record cannot be closed. A client that disconnects before the handshake is not an error.
pub async fn serve_stdio(handler: Handler, cancel: CancellationToken) -> Result<(), SessionError> {
    let transport = AsyncRwTransport::new_server(tokio::io::stdin(), tokio::io::stdout())
        .with_max_line_length(MAX_MESSAGE_BYTES);
    let stop = cancel.child_token();
    if let Ok(running) = serve_server_with_ct(handler.clone(), transport, stop).await {
        running.waiting().await.ok();
    }
    handler.end().await
}
