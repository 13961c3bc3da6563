//! `marvin mcp servers`: which servers the settings name, whether they answer, and which of a project's are trusted.

use crate::cli::{ServersCommand, ServersPlace};
use crate::commands::{cancel_on_signal, deciding, runtime};
use crate::failure::Failure;
use crate::output;
use marvin_agent::ProjectContext;
use marvin_base::{Exit, truncate};
use marvin_mcp::client;
use marvin_tools::servers::{self, Server, ServerOwner, ServerState};
use serde_json::{Value, json};
use std::io::IsTerminal;

/// Runs one of the commands about servers.
pub(super) fn run(command: &ServersCommand) -> Result<Exit, Failure> {
    match command {
        ServersCommand::List { place } => list(place),
        ServersCommand::Check { name, place } => check(name.as_deref(), place),
        ServersCommand::Trust { name, remove, yes, place } => trust(name, *remove, *yes, place),
    }
}

fn read(place: &ServersPlace) -> Result<(ProjectContext, Vec<Server>, Vec<String>), Failure> {
    let ground = super::ground(place.working_dir.as_deref())?;
    let (servers, problems) = servers::read(&ground.settings, &ground.layout, &ground.environment);
    Ok((ground, servers, problems))
}

fn find(servers: Vec<Server>, name: &str) -> Result<Server, Failure> {
    let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    servers.into_iter().find(|server| server.name == name).ok_or_else(|| {
        let there = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        Failure::usage(format!(
            "the settings name no server `{}` (there are: {there})\n  hint: add [mcp.servers.{name}] to config.toml",
            truncate::line(name, 40)
        ))
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

fn value(server: &Server) -> Value {
    json!({
        "name": server.name, "whose": server.owner, "state": server.state, "definition": server.definition, "notes": server.notes,
    })
}

fn list(place: &ServersPlace) -> Result<Exit, Failure> {
    let (ground, servers, problems) = read(place)?;
    let exit = if problems.is_empty() { Exit::Success } else { Exit::Failed };
    for problem in &problems {
        output::error(&ground.redactor.text(problem));
    }
    if place.json {
        let mut rows = Value::Array(servers.iter().map(value).collect());
        ground.redactor.value(&mut rows);
        output::json(&rows)?;
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
    output::line(&ground.redactor.text(&text))?;
    Ok(exit)
}

fn check(name: Option<&str>, place: &ServersPlace) -> Result<Exit, Failure> {
    let (ground, servers, _) = read(place)?;
    if let Some(name) = name {
        let server = find(servers, name)?;
        if server.state == ServerState::Untrusted {
            return Err(Failure { exit: Exit::Blocked, ..Failure::failed(client::untrusted(&server)) });
        }
        if server.state == ServerState::Changed {
            return Err(Failure { exit: Exit::Blocked, ..Failure::failed(client::changed(&server)) });
        }
    }
    let started = runtime()?.block_on(async {
        let cancel = cancel_on_signal();
        let servers = client::start(&ground, name, &cancel).await;
        for notice in &servers.external.notices {
            output::talk(&format!("note: {}", output::visible(&ground.redactor.text(notice))));
        }
        let started = servers.started.clone();
        servers.end().await;
        started
    });
    let exit = if started.iter().all(|one| one.problem.is_none()) { Exit::Success } else { Exit::Failed };
    if place.json {
        let mut rows = json!(started);
        ground.redactor.value(&mut rows);
        output::json(&rows)?;
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
                    "ok       {}: {} tools, {} ms\n",
                    one.name,
                    one.tools.len(),
                    one.took_ms
                ));
                for tool in &one.tools {
                    text.push_str(&format!("         {tool}\n"));
                }
            }
        }
    }
    if started.is_empty() {
        text.push_str("There is no server to check.\n");
    }
    output::line(&text)?;
    Ok(exit)
}

fn trust(name: &str, remove: bool, yes: bool, place: &ServersPlace) -> Result<Exit, Failure> {
    let (ground, servers, _) = read(place)?;
    let server = find(servers, name)?;
    let shown = output::visible(&server.definition.shown());
    let person = deciding::person(None)?;
    if !remove && !yes && (server.owner == ServerOwner::Project || server.state == ServerState::Changed) {
        if !std::io::stdin().is_terminal() {
            return Err(Failure {
                exit: Exit::Blocked,
                ..Failure::failed(format!(
                    "a person decides on this: `{name}` would run {shown}\n  hint: run it at a terminal, or with --yes"
                ))
            });
        }
        output::talk(&format!(
            "{name} would run, outside of the box, whenever an agent works here:\n  {shown}"
        ));
        output::talk(&format!("  with the variables: {}", server.definition.env.join(", ")));
        output::talk("Trust it? [y/N]");
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).ok();
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Err(Failure {
                exit: Exit::Blocked,
                ..Failure::failed(format!("`{name}` stays untrusted"))
            });
        }
    }
    let word = if remove { "mcp servers trust --remove" } else { "mcp servers trust" };
    person.record(word, &ground.redactor.text(&format!("{name}: {shown}")))?;
    server.trust(&ground.layout, remove).map_err(|error| Failure::failed(error.to_string()))?;
    if place.json {
        return output::json(&json!({"name": name, "trusted": !remove}));
    }
    output::line(&format!("{name}: {}", if remove { "no longer trusted" } else { "trusted" }))
}
