//! `marvin mcp servers`: the servers that the settings name, whether they answer, and which of a project's are trusted.

use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::project::project_context;
use crate::runtime::{cancel_on_signal, runtime};
use crate::{deciding, output};
use clap::Subcommand;
use marvin_agent::ProjectContext;
use marvin_base::{Exit, truncate};
use marvin_mcp::client;
use marvin_tools::servers::{self, Definition, Server, ServerOwner, ServerState};
use serde::Serialize;
use std::io::IsTerminal;

/// Manage MCP servers whose tools Marvin's agents get: [mcp.servers.NAME] in config.toml
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin mcp servers list\n  marvin mcp servers check github\n  marvin mcp servers trust docs"
)]
pub(crate) enum ServersCommand {
    /// List the servers that the settings name, and whether they may start
    #[command(
        after_help = "Nothing is started.\n\nExamples:\n  marvin mcp servers list\n  marvin mcp servers list --json | jq -r '.[].name'"
    )]
    List(ProjectArguments),
    /// Start servers, list their tools, and end them again
    #[command(
        after_help = "Exit code 0 when all of them answer, 1 otherwise.\n\nExamples:\n  marvin mcp servers check\n  marvin mcp servers check github --json | jq '.[].tools'"
    )]
    Check {
        /// Only this one
        #[arg(value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        place: ProjectArguments,
    },
    /// Trust a server of this project's config.toml in its current version (a person's decision)
    #[command(
        after_help = "Its command is shown first. After a change of its definition, or of a project file that it runs, it must be trusted again.\n\nExamples:\n  marvin mcp servers trust docs\n  marvin mcp servers trust docs --yes\n  marvin mcp servers trust docs --remove"
    )]
    Trust {
        /// The server
        #[arg(value_name = "NAME")]
        name: String,
        /// Remove the trust
        #[arg(long)]
        remove: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        place: ProjectArguments,
    },
}

#[derive(Serialize)]
struct ServerRow<'a> {
    name: &'a str,
    whose: ServerOwner,
    state: ServerState,
    definition: &'a Definition,
    notes: &'a [String],
}

#[derive(Serialize)]
struct TrustedServer<'a> {
    name: &'a str,
    trusted: bool,
}

pub(super) fn run(command: &ServersCommand) -> Result<Exit, Failure> {
    match command {
        ServersCommand::List(place) => list(place),
        ServersCommand::Check { name, place } => check(name.as_deref(), place),
        ServersCommand::Trust { name, remove, yes, place } => trust(name, *remove, *yes, place),
    }
}

fn read(place: &ProjectArguments) -> Result<(ProjectContext, Vec<Server>, Vec<String>), Failure> {
    let context = project_context(place.working_dir.as_deref(), true, Vec::new())?;
    let (servers, problems) = servers::read(&context.settings, &context.layout, &context.environment);
    Ok((context, servers, problems))
}

fn find(servers: Vec<Server>, name: &str) -> Result<Server, Failure> {
    let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    servers.into_iter().find(|server| server.name == name).ok_or_else(|| {
        let there = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        Failure::usage(format!(
            "the settings name no server `{}` (there are: {there})",
            truncate::line(name, 40)
        ))
        .hint(format!("add [mcp.servers.{name}] to config.toml"))
    })
}

fn word(state: ServerState) -> &'static str {
    match state {
        ServerState::Ready => "ready",
        ServerState::Untrusted => "not trusted",
        ServerState::Changed => "changed",
        ServerState::Off => "off",
    }
}

/// Writes rows as JSON, without secrets.
fn print_redacted(rows: &impl Serialize, context: &ProjectContext) -> Result<Exit, Failure> {
    let mut rows = serde_json::to_value(rows).map_err(Failure::failed)?;
    context.redactor.value(&mut rows);
    output::json(&rows)
}

fn list(place: &ProjectArguments) -> Result<Exit, Failure> {
    let (context, servers, problems) = read(place)?;
    let exit = if problems.is_empty() { Exit::Success } else { Exit::Failed };
    for problem in &problems {
        output::error(&context.redactor.text(problem));
    }
    if place.json {
        let rows = servers.iter().map(|server| ServerRow {
            name: &server.name,
            whose: server.owner,
            state: server.state,
            definition: &server.definition,
            notes: &server.notes,
        });
        print_redacted(&rows.collect::<Vec<_>>(), &context)?;
        return Ok(exit);
    }
    let mut text = String::new();
    for server in &servers {
        let whose = if server.owner == ServerOwner::Project { "project" } else { "person" };
        let shown = output::visible(&truncate::line(&server.definition.shown(), 100));
        text.push_str(&format!("{:24}  {:11}  {whose:7}  {shown}\n", server.name, word(server.state)));
        for note in &server.notes {
            text.push_str(&format!("{:24}  note: {}\n", "", output::visible(note)));
        }
    }
    if servers.is_empty() {
        text.push_str(
            "The settings name no servers; see docs/mcp.md for [mcp.servers.NAME] in config.toml.\n",
        );
    }
    output::line(&context.redactor.text(&text))?;
    Ok(exit)
}

fn check(name: Option<&str>, place: &ProjectArguments) -> Result<Exit, Failure> {
    let (context, servers, _) = read(place)?;
    if let Some(name) = name {
        let server = find(servers, name)?;
        if server.state == ServerState::Untrusted {
            return Err(Failure::blocked(client::untrusted(&server)));
        }
        if server.state == ServerState::Changed {
            return Err(Failure::blocked(client::changed(&server)));
        }
    }
    let started = runtime()?.block_on(async {
        let cancel = cancel_on_signal();
        let servers = client::start(&context, name, &cancel).await;
        for notice in &servers.external.notices {
            output::talk(&format!("note: {}", output::visible(&context.redactor.text(notice))));
        }
        let started = servers.started.clone();
        servers.end().await;
        started
    });
    let exit = if started.iter().all(|one| one.problem.is_none()) { Exit::Success } else { Exit::Failed };
    if place.json {
        print_redacted(&started, &context)?;
        return Ok(exit);
    }
    let mut text = String::new();
    for one in &started {
        match &one.problem {
            Some(problem) => {
                let problem = output::visible(&problem.replace('\n', "\n  "));
                text.push_str(&format!("PROBLEM  {}: {problem}\n", one.name));
            }
            None => {
                text.push_str(&format!(
                    "ok       {}: {} {}, {} ms\n",
                    one.name,
                    one.tools.len(),
                    if one.tools.len() == 1 { "tool" } else { "tools" },
                    one.took_ms
                ));
                for tool in &one.tools {
                    text.push_str(&format!("         {tool}\n"));
                }
            }
        }
    }
    if started.is_empty() {
        text.push_str("The settings name no server to check.\n");
    }
    output::line(&text)?;
    Ok(exit)
}

fn trust(name: &str, remove: bool, yes: bool, place: &ProjectArguments) -> Result<Exit, Failure> {
    let (context, servers, _) = read(place)?;
    let server = find(servers, name)?;
    let shown = output::visible(&server.definition.shown());
    let person = deciding::person(None)?;
    if !remove && !yes && (server.owner == ServerOwner::Project || server.state == ServerState::Changed) {
        if !std::io::stdin().is_terminal() {
            return Err(Failure::blocked(format!("a person decides on this: `{name}` would run {shown}"))
                .hint("run it at a terminal, or with --yes"));
        }
        output::talk(&format!(
            "{name} would run, outside of the sandbox, whenever an agent works here:\n  {shown}"
        ));
        output::talk(&format!("  with the variables: {}", server.definition.env.join(", ")));
        output::talk("Trust it? [y/N]");
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).ok();
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Err(Failure::blocked(format!("`{name}` stays untrusted")));
        }
    }
    let word = if remove { "mcp servers trust --remove" } else { "mcp servers trust" };
    person.record(word, &context.redactor.text(&format!("{name}: {shown}")))?;
    server.trust(&context.layout, remove).map_err(Failure::failed)?;
    if place.json {
        return output::json(&TrustedServer { name, trusted: !remove });
    }
    output::line(&format!("{name}: {}", if remove { "no longer trusted" } else { "trusted" }))
}
