//! `marvin mcp`: Marvin's tools for other programs, and the servers whose tools Marvin's agents get.

mod servers;

use crate::arguments::parse_address;
use crate::failure::Failure;
use crate::output;
use crate::project::project_context;
use crate::runtime::{cancel_on_signal, runtime};
use clap::{Args, Subcommand};
use marvin_base::settings::table;
use marvin_base::{Exit, ids};
use marvin_mcp::serve::{Handler, serve_http, serve_stdio, toolbox};
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;

const HELP: &str = "\
Without --http it speaks on standard input and output, and ends when standard input closes. With --http it listens on this \
machine only, and every request must carry a token: $MARVIN_MCP_TOKEN, or one that is made and printed on standard error.
Every call is judged by the gate and recorded as a run.

Examples:
  claude mcp add marvin -- marvin mcp                   for Claude Code, in this project
  codex mcp add marvin -- marvin mcp                    for Codex
  marvin mcp --http 127.0.0.1:8931                      for clients that want an address
  marvin mcp --tools gate_explain,verify                only these tools
  marvin mcp --tools mtg                                games of Magic
  marvin mcp servers list                               servers whose tools Marvin's own agents get";

/// Serve Marvin's tools over the Model Context Protocol, and manage other servers
#[derive(Debug, Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct McpArguments {
    #[command(subcommand)]
    command: Option<McpCommand>,
    /// Serve over HTTP at this address of this machine. Port 0: any free port
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", value_parser = parse_address)]
    http: Option<SocketAddr>,
    /// The tools, separated by commas; `all` for every one, `mtg` for games of Magic (default: gate, commitments, servitors, memory, workflows)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tools: Vec<String>,
    /// The project's directory (default: the project around this directory, else the directory itself)
    #[arg(long, value_name = "PATH")]
    working_dir: Option<PathBuf>,
    /// Accepted for symmetry: what is served is always JSON, and with --http the address is printed as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    #[command(subcommand)]
    Servers(servers::ServersCommand),
}

#[derive(Serialize)]
struct Ready<'a> {
    url: &'a str,
}

pub(crate) fn run(arguments: &McpArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        Some(McpCommand::Servers(command)) => servers::run(command),
        None => serve(arguments),
    }
}

fn serve(arguments: &McpArguments) -> Result<Exit, Failure> {
    let context = project_context(arguments.working_dir.as_deref(), true, Vec::new())?;
    let served = toolbox(&context, &arguments.tools).map_err(Failure::usage)?;
    if let Some(address) = arguments.http.filter(|address| !address.ip().is_loopback()) {
        return Err(Failure::refused(format!(
            "--http {address}: tools that run commands are served on this machine only"
        ))
        .hint(format!("use 127.0.0.1:{}", address.port())));
    }
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let cancel = cancel_on_signal();
        let handler = Handler::new(&context, served, cancel.child_token());
        let Some(address) = arguments.http else {
            return Ok(serve_stdio(handler, cancel).await?);
        };
        let given = context.settings.given(&table::MCP_TOKEN).map(str::to_string);
        let token = given.clone().unwrap_or_else(|| ids::short(32));
        let count = handler.names().len();
        let server = serve_http(handler, address, &token, &cancel)
            .await
            .map_err(|error| Failure::failed(format!("cannot listen on {address}: {error}")))?;
        let url = server.url();
        output::json_object(&Ready { url: &url })?;
        output::talk(&ready(&url, given.is_none().then_some(&token), count));
        cancel.cancelled().await;
        Ok(server.stop().await?)
    });
    // The thread that reads standard input cannot be interrupted.
    runtime.shutdown_background();
    ended.map(|()| Exit::Success)
}

/// The instructions for a person; a token of their own is not shown.
fn ready(url: &str, made: Option<&String>, count: usize) -> String {
    let token = made.map_or("$MARVIN_MCP_TOKEN", String::as_str);
    format!(
        "serving {count} tools; end with Ctrl-C\n  address with token: {url}/{token}\n  Claude Code: claude mcp add --transport http marvin {url} --header \"Authorization: Bearer {token}\""
    )
}
