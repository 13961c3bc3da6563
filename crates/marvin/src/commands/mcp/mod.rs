//! `marvin mcp`: tools of Marvin for other programs, and what Marvin knows of other servers.

mod servers;

use crate::cli::{McpArguments, McpCommand};
use crate::commands::{cancel_on_signal, directory, project, runtime};
use crate::failure::Failure;
use crate::output;
use marvin_agent::ProjectContext;
use marvin_base::environment::Environment;
use marvin_base::settings::table;
use marvin_base::{Exit, ids};
use marvin_mcp::serve::{Handler, serve_http, serve_stdio, toolbox};
use serde_json::json;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

/// Runs one of the commands about the protocol.
pub(super) fn run(arguments: &McpArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        Some(McpCommand::Servers(command)) => servers::run(command),
        None => serve(arguments),
    }
}

/// The project around the directory, else the directory itself.
fn ground(working_dir: Option<&Path>) -> Result<ProjectContext, Failure> {
    let project = project(working_dir)?;
    Ok(ProjectContext::find(Environment::of_process(), directory()?, project.as_deref(), true, Vec::new())?)
}

fn serve(arguments: &McpArguments) -> Result<Exit, Failure> {
    let ground = ground(arguments.working_dir.as_deref())?;
    let served = toolbox(&ground, &arguments.tools).map_err(|error| Failure::usage(error.to_string()))?;
    let address = arguments.http.as_deref().map(address).transpose()?;
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let cancel = cancel_on_signal();
        let handler = Handler::new(&ground, served, cancel.child_token());
        let Some(address) = address else {
            return Ok(serve_stdio(handler, cancel).await?);
        };
        let given = ground.settings.given(&table::MCP_TOKEN).map(str::to_string);
        let token = given.clone().unwrap_or_else(|| ids::short(32));
        let count = handler.names().len();
        let server = serve_http(handler, address, &token, &cancel)
            .await
            .map_err(|error| Failure::failed(format!("cannot listen on {address}: {error}")))?;
        let url = server.url();
        output::line(&json!({ "url": url }).to_string())?;
        output::talk(&ready(&url, given.is_none().then_some(&token), count));
        cancel.cancelled().await;
        Ok(server.stop().await?)
    });
    // Standard input is read by a thread that cannot be called back.
    runtime.shutdown_background();
    ended.map(|()| Exit::Success)
}

/// What a person needs to know; a token of their own is not shown.
fn ready(url: &str, made: Option<&String>, count: usize) -> String {
    let token = made.map_or("$MARVIN_MCP_TOKEN", String::as_str);
    format!(
        "serving {count} tools; end with Ctrl-C\n  address with token: {url}/{token}\n  Claude Code: claude mcp add --transport http marvin {url} --header \"Authorization: Bearer {token}\""
    )
}

fn address(listen: &str) -> Result<SocketAddr, Failure> {
    let address =
        listen.to_socket_addrs().ok().and_then(|mut addresses| addresses.next()).ok_or_else(|| {
            Failure::usage(format!(
                "--http {listen} is not an address\n  hint: write 127.0.0.1:8931 or [::1]:8931"
            ))
        })?;
    if !address.ip().is_loopback() {
        return Err(Failure::refused(format!(
            "--http {listen}: tools that run commands are served on this machine only\n  hint: use 127.0.0.1:{}",
            address.port()
        )));
    }
    Ok(address)
}
