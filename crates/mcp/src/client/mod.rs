//! Marvin as a client: servers from the settings give their tools to agents.
//!
//! Servers start side by side, each within its own time; one that does not start, hangs or talks nonsense is reported and
//! left out, and the turn goes on without it. What a server says of its tools is input of a stranger: names, texts, schemas
//! and their number are bounded and cleaned ([`remote_tool`], [`schema`]).
//!
//! Limits: a server runs outside of the sandbox of commands, since most need the network and files of their own;
//! that it runs at all is the person's decision. A server that dies is not started again in the same turn.

mod connection;
mod remote_tool;
mod schema;

use connection::Connection;
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

/// What came of starting one server.
#[derive(Debug, Clone, Serialize)]
pub struct ServerStartReport {
    /// Its name.
    pub name: String,
    /// Its tools, under the names that agents know.
    pub tools: Vec<String>,
    /// How many of its tools are left out because they are too many.
    pub left_out: usize,
    /// Why it is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// How long it took.
    pub took_ms: u64,
}

/// Servers that run, and their tools.
#[derive(Debug, Default)]
pub struct Servers {
    connections: Vec<Arc<Connection>>,
    /// What came of each.
    pub started: Vec<ServerStartReport>,
    /// What agents get, and what a person should know.
    pub lent: ExternalTools,
}

impl Servers {
    /// Ends all of them, with everything that they started.
    pub async fn end(self) {
        let Servers { connections, lent, .. } = self;
        drop(lent);
        join_all(connections.iter().map(|connection| connection.end())).await;
    }
}

async fn join_all<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    futures_util::future::join_all(futures).await
}

/// Starts the servers that the settings name and that may be used; with a name, only that one.
pub async fn start(ground: &ProjectContext, only: Option<&str>, cancel: &CancellationToken) -> Servers {
    let (found, problems) = servers::read(&ground.settings, &ground.layout, &ground.environment);
    let mut all = Servers::default();
    all.lent.notices = problems;
    // Whoever may not run programs gets none of their tools.
    if Access::from_settings(&ground.settings) != Access::Full {
        return all;
    }
    let mut chosen = Vec::new();
    for server in found.into_iter().filter(|server| only.is_none_or(|only| only == server.name)) {
        match server.state {
            ServerState::Ready => {
                if let Err(why) = server.pin_first(&ground.layout) {
                    all.lent
                        .notices
                        .push(format!("the MCP server `{}` cannot be pinned: {why}", server.name));
                }
                chosen.push(server);
            }
            ServerState::Changed => all.lent.notices.push(changed(&server)),
            ServerState::Untrusted => all.lent.notices.push(untrusted(&server)),
            ServerState::Off => {}
        }
    }
    let outcomes = join_all(chosen.into_iter().map(|server| one(ground, server, cancel))).await;
    for (started, connection, tools) in outcomes {
        if let Some(problem) = &started.problem {
            all.lent.notices.push(format!("the MCP server `{}` is not used: {problem}", started.name));
        }
        if started.left_out > 0 {
            all.lent.notices.push(format!(
                "the MCP server `{}` has {} tools more than are taken\n  hint: name the ones that are needed with allow = [\"…\"]",
                started.name, started.left_out
            ));
        }
        all.started.push(started);
        all.lent.tools.extend(tools);
        all.connections.extend(connection);
    }
    all
}

/// What is said of a server that waits for trust.
#[must_use]
pub fn untrusted(server: &Server) -> String {
    format!(
        "the MCP server `{}` is named by this project and not trusted, so it is not used: {}\n  hint: `marvin mcp servers trust {}`",
        server.name,
        truncate::line(&server.definition.shown(), 120),
        server.name
    )
}

/// What is said of a person's server whose files changed.
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

async fn one(ground: &ProjectContext, server: Server, cancel: &CancellationToken) -> Outcome {
    let begun = Instant::now();
    let startup = server.definition.startup();
    let name = server.name.clone();
    let reached = async {
        judged(ground, &server)?;
        let connection = Arc::new(Connection::open(ground, &server).await?);
        let listed = connection.list().await;
        // What it said on its standard error is the best that is known of why.
        match listed {
            Ok(listed) => Ok((connection, listed)),
            Err(why) => Err(connection.with_last_words(&why, &ground.redactor).await),
        }
    };
    let reached = tokio::select! {
        reached = tokio::time::timeout(startup, reached) => reached.unwrap_or_else(|_| {
            Err(format!("it did not answer within {} s\n  hint: raise startup_s, or see whether it waits for something", startup.as_secs()))
        }),
        () = cancel.cancelled() => Err("interrupted".to_string()),
    };
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    match reached {
        Err(problem) => {
            let problem = Some(truncate::head_whole(&ground.redactor.text(&problem), 600));
            (ServerStartReport { name, tools: Vec::new(), left_out: 0, problem, took_ms }, None, Vec::new())
        }
        Ok((connection, listed)) => {
            let (tools, left_out) = remote_tool::tools(&server, &connection, listed);
            let names = tools.iter().map(|tool| tool.name().to_string()).collect();
            (
                ServerStartReport { name, tools: names, left_out, problem: None, took_ms },
                Some(connection),
                tools,
            )
        }
    }
}

/// The gate's word on the command line; what is a question is answered by the settings that name it.
fn judged(ground: &ProjectContext, server: &Server) -> Result<(), String> {
    if server.definition.command.is_none() {
        return Ok(());
    }
    let line = server.definition.shown();
    let directory =
        ground.workspace.as_ref().map_or(ground.directory.as_path(), |workspace| workspace.root());
    let (directory, home) = (directory.display().to_string(), ground.layout.home().display().to_string());
    let layers = ground.layers();
    let place = Place { directory: &directory, grounds: Grounds { workspace: &directory, home: &home } };
    let ruling = layers.judge(&line, place);
    layers.record(&line, &ruling);
    match ruling.verdict.decision {
        Decision::Deny => Err(format!("its command is refused: {}", ruling.verdict.for_model())),
        Decision::Allow | Decision::Ask => Ok(()),
    }
}
