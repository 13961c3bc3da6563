//! `marvin servitors`: agents that outlive a process.

use crate::arguments::{
    Deadline, InvalidValue, ModelArguments, ProjectArguments, parse_deadline, parse_rounds,
};
use crate::commands::doc;
use crate::failure::Failure;
use crate::project::{Flags, context, current_directory, find_project};
use crate::runtime::{cancel_on_signal, runtime, start_mcp_servers};
use crate::{deciding, output};
use clap::{Args, Subcommand};
use marvin_agent::commitments::{Commitment, Draft, Store};
use marvin_agent::servitors::{self, Budget, Registry, RegistryError, Requester, Servitor, Summons};
use marvin_agent::session::Manner;
use marvin_agent::trace::{Listener, Notice};
use marvin_agent::{ProjectContext, Session, SessionError, SessionOptions};
use marvin_base::run_record::CostReport;
use marvin_base::settings::table;
use marvin_base::{Exit, truncate};
use marvin_gate::Access;
use marvin_model::{choose, price};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// Summon a servitor; it works when servitors are run
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  marvin servitors summon 'Write the parser' --commitment 'shell:pytest -q' --oracle tests\n  marvin servitors summon 'Look for dead code' --name Vega --access readonly --rounds 20"
)]
pub(crate) struct SummonArguments {
    /// Its task; without one it waits for a message
    #[arg(value_name = "ASSIGNMENT", default_value = "")]
    assignment: String,
    /// Its name (default: a free one)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// An assertion that must hold before it is done, for example 'shell:pytest -q'; may be given several times
    #[arg(long, value_name = "KIND:ASSERTION")]
    commitment: Vec<String>,
    /// A file or directory that the commitments are judged by and that must not change; may be given several times
    #[arg(long, value_name = "PATH", requires = "commitment")]
    oracle: Vec<String>,
    /// A file that steers the tests and that it may change; may be given several times
    #[arg(long, value_name = "PATH", requires = "commitment")]
    may_change: Vec<String>,
    /// The tier of its model
    #[arg(long, value_name = "TIER")]
    tier: Option<String>,
    /// US dollars that it may spend, its own servitors included
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Tool rounds that it may have, its own servitors included
    #[arg(long, value_name = "N", value_parser = parse_rounds)]
    rounds: Option<u64>,
    /// Its write access: full, readonly, or 'files: a.txt, b.txt'
    #[arg(long, value_name = "ACCESS", value_parser = parse_access)]
    access: Option<Access>,
    #[command(flatten)]
    place: ProjectArguments,
}

/// Run all servitors that have work, to their end
#[derive(Debug, Args)]
#[command(
    after_help = "Work that was interrupted by a crash resumes where its record ends; no call is made twice.\nExit code 0 when all are done, 3 when a claim does not hold, 1 when one failed, 4 when one waits for an answer.\n\nExamples:\n  marvin servitors run\n  marvin servitors run --max-cost 5 --json"
)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    model: ModelArguments,
    /// Stop after this many seconds; 0: no limit
    #[arg(long, value_name = "SECONDS", value_parser = parse_deadline)]
    deadline: Option<Deadline>,
    #[command(flatten)]
    place: ProjectArguments,
}

/// Summon agents that outlive a process, and run them to their end
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin servitors summon 'Write the parser' --commitment 'shell:pytest -q' --oracle tests\n  marvin servitors run\n  marvin servitors list"
)]
pub(crate) enum ServitorsCommand {
    /// Show the servitors of this project
    #[command(
        after_help = "Examples:\n  marvin servitors list\n  marvin servitors list --all --json | jq -r '.[].id'"
    )]
    List {
        /// Include dismissed ones
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        place: ProjectArguments,
    },
    /// Show one servitor: its document, as it is stored
    #[command(after_help = "Examples:\n  marvin servitors show vega")]
    Show {
        /// Its id or name
        id: String,
        #[command(flatten)]
        place: ProjectArguments,
    },
    Summon(SummonArguments),
    /// Send a message to a servitor; one that waits, is idle or failed works again when servitors are run
    #[command(after_help = "Examples:\n  marvin servitors message vega 'Yes, use the second format.'")]
    Message {
        /// Its id or name
        id: String,
        /// The message
        text: String,
        #[command(flatten)]
        place: ProjectArguments,
    },
    /// Dismiss a servitor and its own servitors; the documents stay, the names become free
    #[command(after_help = "Examples:\n  marvin servitors dismiss vega")]
    Dismiss {
        /// Its id or name
        id: String,
        #[command(flatten)]
        place: ProjectArguments,
    },
    #[command(visible_alias = "resume")]
    Run(RunArguments),
}

#[derive(Serialize)]
struct ServitorDetails<'a> {
    #[serde(flatten)]
    facts: Value,
    commitments: &'a [Commitment],
}

#[derive(Serialize)]
struct RunReport<'a> {
    status: &'a str,
    reason: &'a str,
    servitors: Vec<Value>,
    cost: CostReport,
    run_path: &'a str,
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        SessionError::from(error).into()
    }
}

fn parse_access(text: &str) -> Result<Access, InvalidValue> {
    servitors::access_named(text)
        .ok_or_else(|| InvalidValue("write full, readonly, or 'files: a.txt, b.txt'".into()))
}

pub(crate) fn run(command: ServitorsCommand) -> Result<Exit, Failure> {
    match command {
        ServitorsCommand::List { all, place } => list(all, &place),
        ServitorsCommand::Show { id, place } => show(&id, &place),
        ServitorsCommand::Summon(arguments) => summon(&arguments),
        ServitorsCommand::Message { id, text, place } => {
            deciding::refuse_agents()?;
            let servitor = registry(&place, "marvin servitors message")?.message(&id, "the person", &text)?;
            show_change(&servitor, &format!("told {}", servitor.id), place.json)
        }
        ServitorsCommand::Dismiss { id, place } => {
            deciding::refuse_agents()?;
            let gone = registry(&place, "marvin servitors dismiss")?.dismiss(&Requester::Person, &id)?;
            if place.json {
                return output::json_entry("dismissed", &gone);
            }
            output::line(&format!("dismissed {}", gone.join(", ")))
        }
        ServitorsCommand::Run(arguments) => run_servitors(&arguments),
    }
}

/// The project around the directory; else the directory itself.
fn servitor_context(place: &ProjectArguments, flags: Flags) -> Result<ProjectContext, Failure> {
    let project = find_project(place.working_dir.as_deref())?.map_or_else(current_directory, Ok)?;
    context(Some(&project), true, flags)
}

fn registry(place: &ProjectArguments, holder: &str) -> Result<Registry, Failure> {
    Ok(Registry::open(Arc::new(servitor_context(place, Vec::new())?), holder)?)
}

fn row(servitor: &Servitor, held: bool) -> String {
    let what = if servitor.reason.is_empty() { &servitor.assignment } else { &servitor.reason };
    let state = if servitor.dismissed { "dismissed" } else { servitor.state.word() };
    let alone = servitor.state.is_active() && !servitor.dismissed && !held;
    let note = if alone { "  (no process runs it: `marvin servitors run` resumes it)" } else { "" };
    format!("{state:10}  {:16}  {}", servitor.id, truncate::line(what, 100)).trim_end().to_string() + note
}

fn list(all: bool, place: &ProjectArguments) -> Result<Exit, Failure> {
    let context = servitor_context(place, Vec::new())?;
    let (found, errors) = servitors::list(&context)?;
    let held = servitors::is_held(&context);
    let shown: Vec<&Servitor> = found.iter().filter(|servitor| all || !servitor.dismissed).collect();
    for error in &errors {
        output::error(&error.to_string());
    }
    let exit = if errors.is_empty() { Exit::Success } else { Exit::Failed };
    if place.json {
        output::json(&shown.iter().map(|servitor| servitor.facts()).collect::<Vec<_>>())?;
    } else if shown.is_empty() {
        output::line("This project has no servitors.")?;
    } else {
        output::line(&shown.iter().map(|servitor| row(servitor, held)).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(exit)
}

fn show(id: &str, place: &ProjectArguments) -> Result<Exit, Failure> {
    let context = servitor_context(place, Vec::new())?;
    let (found, _) = servitors::list(&context)?;
    let same = |servitor: &&Servitor| servitor.id == id || servitor.name.eq_ignore_ascii_case(id);
    let servitor = found.iter().find(same).ok_or_else(|| {
        Failure::usage(format!("no servitor is called `{id}`"))
            .hint("`marvin servitors list --all` shows them")
    })?;
    let store = Store::from_layout(&context.layout)
        .ok_or_else(|| Failure::usage("this directory is not in a project"))?;
    let document = store.read(&servitor.id).map_err(Failure::failed)?;
    if place.json {
        return output::json(&ServitorDetails {
            facts: servitor.facts(),
            commitments: &document.commitments,
        });
    }
    doc::print(&store, &servitor.id)
}

fn summon(arguments: &SummonArguments) -> Result<Exit, Failure> {
    // An agent has the tool of the same name, which gives no more rights than the agent has itself.
    deciding::refuse_agents()?;
    let summons = Summons {
        assignment: arguments.assignment.clone(),
        name: arguments.name.clone(),
        tier: arguments.tier.clone(),
        budget: Budget { nanos: arguments.budget.map(price::nanos), rounds: arguments.rounds },
        access: arguments.access.clone(),
        tools: None,
        commitments: Draft::all(&arguments.commitment, &arguments.oracle)
            .map_err(|error| Failure::usage(format!("--commitment: {error}")))?
            .into_iter()
            .map(|draft| draft.with_may_change(&arguments.may_change))
            .collect(),
    };
    let registry = registry(&arguments.place, "marvin servitors summon")?;
    let servitor = registry.summon(&Requester::Person, &summons)?;
    let text = format!("Summoned {} (id: {})", servitor.name, servitor.id);
    show_change(&servitor, &text, arguments.place.json)
}

fn show_change(servitor: &Servitor, text: &str, as_json: bool) -> Result<Exit, Failure> {
    if as_json { output::json(&servitor.facts()) } else { output::line(text) }
}

/// A listener that writes one line for every change.
fn listener(as_json: bool) -> Listener {
    Box::new(move |notice| {
        let Notice::Event(event) = notice else { return };
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let line = match text("type") {
            "servitor.summoned" => format!("{}: summoned", text("name")),
            "servitor.state" if text("reason").is_empty() => format!("{}: {}", text("name"), text("to")),
            "servitor.state" => {
                format!("{}: {} ({})", text("name"), text("to"), truncate::line(text("reason"), 120))
            }
            "servitor.prompted" => format!("{}: told to continue", text("name")),
            "notice" => format!("note: {}", text("text")),
            _ => return,
        };
        if as_json || text("type") == "notice" {
            output::talk(&line);
        } else {
            // A closed pipe does not stop the work; the record has it.
            output::line(&line).ok();
        }
    })
}

fn run_servitors(arguments: &RunArguments) -> Result<Exit, Failure> {
    let mut flags = arguments.model.flags();
    flags.extend(arguments.deadline.map(|deadline| (table::DEADLINE.key, deadline.to_string())));
    let mut context = servitor_context(&arguments.place, flags)?;
    let (waiting, _) = servitors::list(&context)?;
    if !waiting.is_empty() && choose::is_builtin(&context.settings, &context.layout) {
        return Err(Failure::usage(
            "cannot run servitors: no provider has a key, and the built-in model cannot do their work",
        )
        .hint("set a key or choose a provider; `marvin doctor` shows how"));
    }
    let as_json = arguments.place.json;
    let work = async move {
        let cancel = cancel_on_signal();
        let servers = start_mcp_servers(&mut context, &cancel).await;
        let mut session = Session::open(SessionOptions {
            project: context,
            manner: Manner::Unattended,
            record: None,
            response_schema: None,
            listener: listener(as_json),
            cancel,
            replay: None,
            commitments: Vec::new(),
            servitors: None,
            turbotime: None,
            approver: None,
        })?;
        session.arm_deadline();
        let result = session.run_servitors().await;
        servers.end().await;
        let (outcome, servitors) = result?;
        let run = session.run().path().display().to_string();
        if as_json {
            output::json(&RunReport {
                status: outcome.status.name(),
                reason: outcome.reason,
                servitors: servitors.iter().map(Servitor::facts).collect(),
                cost: session.cost().totals().map(|totals| totals.report()).unwrap_or_default(),
                run_path: &run,
            })?;
        } else {
            output::line(&outcome.text)?;
        }
        if let Some(error) = &outcome.error {
            output::error(&format!("{error}\n  the record: {run}"));
        }
        Ok::<Exit, Failure>(outcome.status.exit())
    };
    runtime()?
        .block_on(async { tokio::spawn(work).await })
        .map_err(|error| Failure::failed(format!("the run crashed: {error}")))?
}
