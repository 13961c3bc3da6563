//! The asynchronous runtime, signals, and the MCP servers that run beside an agent.

use crate::failure::Failure;
use marvin_agent::ProjectContext;
use marvin_base::Exit;
use marvin_mcp::client::{self, Servers};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A runtime on this thread. Children are tied to the thread that started them, so it must outlive them.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))
}

/// Starts the MCP servers that the settings name and adds their tools to the context.
///
/// No server is waited for longer than its own timeout.
pub(crate) async fn start_mcp_servers(context: &mut ProjectContext, cancel: &CancellationToken) -> Servers {
    let mut servers = client::start(context, None, cancel).await;
    context.external_tools = std::mem::take(&mut servers.external);
    servers
}

/// A token that SIGINT, SIGTERM and SIGHUP cancel; a second signal ends the process at once.
pub(crate) fn cancel_on_signal() -> CancellationToken {
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    // The handlers are installed now, not when the task first runs.
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hang_up)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), signal(SignalKind::hangup()))
    else {
        return cancel;
    };
    tokio::spawn(async move {
        let mut signalled = async || {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
        };
        signalled().await;
        token.cancel();
        // A second signal does not wait until the record is closed: it is written in whole lines anyway.
        signalled().await;
        #[expect(clippy::disallowed_methods, reason = "the second interrupt means: now")]
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
    cancel
}
