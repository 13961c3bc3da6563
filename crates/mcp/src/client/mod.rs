//! Marvin as a client: servers from the settings offer their tools to agents.
//!
//! Servers start in parallel, each with its own timeout; one that does not start, does not respond or violates the protocol is reported
//! and left out, and the turn continues without it. Descriptions of tools are untrusted input: names, texts, schemas and
//! their number are bounded and cleaned ([`remote_tool`], [`schema`]).
//!
//! Limits: a server runs outside of the sandbox of commands, since most need the network and files of their own; starting
//! it is the person's decision. A server that dies is not started again in the same turn.

mod connection;
mod error;
mod remote_tool;
mod schema;

use connection::Connection;
use error::ClientError;
use futures_util::future::join_all;
use marvin_agent::ProjectContext;
use marvin_agent::project_context::ExternalTools;
use marvin_base::truncate;
use marvin_gate::effects::Grounds;
use marvin_gate::layers::Place;
use marvin_gate::{Access, Decision};
use marvin_tools::DynTool;
use marvin_tools::servers::{self, Server, ServerState};
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Report on the start of one server.
#[derive(Debug, Clone, Serialize)]
pub struct ServerStartReport {
    pub name: String,
    /// Its tools, under the names that agents know.
    pub tools: Vec<String>,
    /// Number of its tools above the limit.
    pub left_out: usize,
    /// Why it is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub took_ms: u64,
}

/// Running servers, and their tools.
#[derive(Debug, Default)]
pub struct Servers {
    connections: Vec<Arc<Connection>>,
    pub started: Vec<ServerStartReport>,
    /// Tools for agents, and notices for the person.
    pub external: ExternalTools,
}

impl Servers {
    /// Ends all of them, with everything that they started.
    pub async fn end(self) {
        let Servers { connections, external, .. } = self;
        drop(external);
        join_all(connections.iter().map(|connection| connection.end())).await;
    }
}

/// Starts the servers that the settings name and that may be used; with a name, only that one.
pub async fn start(context: &ProjectContext, only: Option<&str>, cancel: &CancellationToken) -> Servers {
    let (found, problems) = servers::read(&context.settings, &context.layout, &context.environment);
    let mut all = Servers::default();
    let mut notices = problems;
    let mut chosen = Vec::new();
    // A process that may not run programs gets no tools of servers.
    let usable = Access::from_settings(&context.settings) == Access::Full;
    let named = |server: &Server| only.is_none_or(|only| only == server.name);
    for server in found.into_iter().filter(|server| usable && named(server)) {
        match server.state {
            ServerState::Ready => {
                if let Err(why) = server.pin_first(&context.layout) {
                    notices.push(format!("the MCP server `{}` cannot be pinned: {why}", server.name));
                }
                chosen.push(server);
            }
            ServerState::Changed => notices.push(changed(&server)),
            ServerState::Untrusted => notices.push(untrusted(&server)),
            ServerState::Off => {}
        }
    }
    let outcomes = join_all(chosen.into_iter().map(|server| start_one(context, server, cancel))).await;
    for (started, connection, tools) in outcomes {
        if let Some(problem) = &started.problem {
            notices.push(format!("the MCP server `{}` is not used: {problem}", started.name));
        }
        if started.left_out > 0 {
            notices.push(format!(
                "the MCP server `{}` has {} tools more than are taken\n  hint: name the ones that are needed with allow = [\"…\"]",
                started.name, started.left_out
            ));
        }
        all.started.push(started);
        all.external.tools.extend(tools);
        all.connections.extend(connection);
    }
    all.external.notices = notices;
    all
}

/// The notice for a server that waits for trust.
#[must_use]
pub fn untrusted(server: &Server) -> String {
    format!(
        "the MCP server `{}` is named by this project and not trusted, so it is not used: {}\n  hint: `marvin mcp servers trust {}`",
        server.name,
        truncate::line(&server.definition.shown(), 120),
        server.name
    )
}

/// The notice for a person's server whose files changed.
#[must_use]
pub fn changed(server: &Server) -> String {
    format!(
        "the MCP server `{}` is not used: its program or a script of it changed since it was pinned: {}\n  hint: look at it, then `marvin mcp servers trust {}`",
        server.name,
        truncate::line(&server.definition.shown(), 120),
        server.name
    )
}

type Outcome = (ServerStartReport, Option<Arc<Connection>>, Vec<Arc<dyn DynTool>>);

async fn start_one(context: &ProjectContext, server: Server, cancel: &CancellationToken) -> Outcome {
    let begun = Instant::now();
    let startup = server.definition.startup();
    let name = server.name.clone();
    let reached = async {
        judge_command(context, &server)?;
        let connection = Arc::new(Connection::open(context, &server).await?);
        match connection.list().await {
            Ok(listed) => Ok((connection, listed)),
            Err(error) => Err(connection.with_stderr(error, &context.redactor).await),
        }
    };
    let reached = tokio::select! {
        reached = tokio::time::timeout(startup, reached) => {
            reached.unwrap_or(Err(ClientError::StartupTimeout(startup)))
        }
        () = cancel.cancelled() => Err(ClientError::Interrupted),
    };
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    match reached {
        Err(problem) => {
            tracing::warn!(server = name, %problem, took_ms, "MCP server is not available");
            let problem = Some(truncate::head_whole(&context.redactor.text(&problem.to_string()), 600));
            (ServerStartReport { name, tools: Vec::new(), left_out: 0, problem, took_ms }, None, Vec::new())
        }
        Ok((connection, listed)) => {
            let (tools, left_out) = remote_tool::tools(&server, &connection, listed);
            tracing::info!(server = name, tools = tools.len(), left_out, took_ms, "MCP server connected");
            let names = tools.iter().map(|tool| tool.name().to_string()).collect();
            (
                ServerStartReport { name, tools: names, left_out, problem: None, took_ms },
                Some(connection),
                tools,
            )
        }
    }
}

/// Refuses a command line that the gate denies; a verdict of ask is answered by the settings that name the server.
fn judge_command(context: &ProjectContext, server: &Server) -> Result<(), ClientError> {
    if server.definition.command.is_none() {
        return Ok(());
    }
    let line = server.definition.shown();
    let directory =
        context.workspace.as_ref().map_or(context.directory.as_path(), |workspace| workspace.root());
    let (directory, home) = (directory.display().to_string(), context.layout.home().display().to_string());
    let layers = context.layers();
    let place = Place { directory: &directory, grounds: Grounds { workspace: &directory, home: &home } };
    let ruling = layers.judge(&line, place);
    layers.record(&line, &ruling);
    match ruling.verdict.decision {
        Decision::Deny => Err(ClientError::Denied(ruling.verdict.for_model())),
        Decision::Allow | Decision::Ask => Ok(()),
    }
}
