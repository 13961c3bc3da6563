//! `marvin model-server`: a script as a model over HTTP, on this machine only.

use crate::commands::{cancel_on_signal, runtime};
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_model::script::Script;
use marvin_model::server::ModelServer;
use serde_json::json;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

/// Serves until it is interrupted.
pub(super) fn run(script: &Path, listen: &str) -> Result<Exit, Failure> {
    let script = Script::load(script, None).map_err(|error| Failure::usage(error.to_string()))?;
    let address = address(listen)?;
    runtime()?.block_on(async {
        let cancel = cancel_on_signal();
        let server = ModelServer::start(script, address)
            .map_err(|error| Failure::failed(format!("cannot listen on {address}: {error}")))?;
        output::line(&json!({"address": format!("http://{}", server.address())}).to_string())?;
        cancel.cancelled().await;
        server.stop().await;
        Ok(Exit::Success)
    })
}

fn address(listen: &str) -> Result<SocketAddr, Failure> {
    let address =
        listen.to_socket_addrs().ok().and_then(|mut addresses| addresses.next()).ok_or_else(|| {
            Failure::usage(format!(
                "--listen {listen} is not an address\n  hint: write 127.0.0.1:0 or [::1]:8080"
            ))
        })?;
    if !address.ip().is_loopback() {
        return Err(Failure::refused(format!(
            "--listen {listen}: a scripted model answers anybody, so it listens only on this machine\n  hint: use 127.0.0.1:{}",
            address.port()
        )));
    }
    Ok(address)
}
