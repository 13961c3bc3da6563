//! `marvin servitors`: agents that outlive a process.

use super::{cancel_on_signal, deciding, directory, doc, lend, project, runtime};
use crate::cli::{CommitmentsPlace, RunArguments, ServitorsCommand, SummonArguments};
use crate::failure::Failure;
use crate::output;
use marvin_agent::commitments::{Draft, Store};
use marvin_agent::servitors::{self, Budget, Registry, RegistryError, Requester, Servitor, Summons};
use marvin_agent::session::Manner;
use marvin_agent::trace::{Listener, Notice};
use marvin_agent::{ProjectContext, Session, SessionError, SessionOptions};
use marvin_base::environment::Environment;
use marvin_base::{Exit, truncate};
use marvin_model::price;
use serde_json::{Value, json};
use std::sync::Arc;

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        SessionError::from(error).into()
    }
}

/// Runs one of the commands about servitors.
pub(super) fn run(command: ServitorsCommand) -> Result<Exit, Failure> {
    match command {
        ServitorsCommand::List { all, place } => list(all, &place),
        ServitorsCommand::Show { id, place } => show(&id, &place),
        ServitorsCommand::Summon(arguments) => summon(&arguments),
        ServitorsCommand::Message { id, text, place } => {
            deciding::refuse_agents()?;
            let body = registry(&place, "marvin servitors message")?.message(&id, "the person", &text)?;
            told(&body, &format!("told {}", body.id), place.json)
        }
        ServitorsCommand::Dismiss { id, place } => {
            deciding::refuse_agents()?;
            let gone = registry(&place, "marvin servitors dismiss")?.dismiss(&Requester::Person, &id)?;
            if place.json {
                return output::json(&json!({ "dismissed": gone }));
            }
            output::line(&format!("dismissed {}", gone.join(", ")))
        }
        ServitorsCommand::Run(arguments) => work(&arguments),
    }
}

/// The project around the directory; else the directory itself.
fn ground(place: &CommitmentsPlace, flags: Vec<(&'static str, String)>) -> Result<ProjectContext, Failure> {
    let directory = directory()?;
    let project = project(place.working_dir.as_deref())?.unwrap_or_else(|| directory.clone());
    Ok(ProjectContext::find(Environment::of_process(), directory, Some(&project), true, flags)?)
}

fn registry(place: &CommitmentsPlace, who: &str) -> Result<Registry, Failure> {
    Ok(Registry::open(Arc::new(ground(place, Vec::new())?), who)?)
}

fn row(body: &Servitor, held: bool) -> String {
    let what = if body.reason.is_empty() { &body.assignment } else { &body.reason };
    let state = if body.dismissed { "dismissed" } else { body.state.word() };
    let alone = body.state.is_active() && !body.dismissed && !held;
    let note = if alone { "  (nobody runs it: `marvin servitors run` goes on)" } else { "" };
    format!("{state:10}  {:16}  {}", body.id, truncate::line(what, 100)).trim_end().to_string() + note
}

fn list(all: bool, place: &CommitmentsPlace) -> Result<Exit, Failure> {
    let ground = ground(place, Vec::new())?;
    let (bodies, errors) = servitors::list(&ground)?;
    let held = servitors::is_held(&ground);
    let bodies: Vec<&Servitor> = bodies.iter().filter(|body| all || !body.dismissed).collect();
    for error in &errors {
        output::error(&error.to_string());
    }
    let exit = if errors.is_empty() { Exit::Success } else { Exit::Failed };
    if place.json {
        output::json(&bodies.iter().map(|body| body.facts()).collect())?;
    } else if bodies.is_empty() {
        output::line("There are no servitors here.")?;
    } else {
        output::line(&bodies.iter().map(|body| row(body, held)).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(exit)
}

fn show(id: &str, place: &CommitmentsPlace) -> Result<Exit, Failure> {
    let ground = ground(place, Vec::new())?;
    let (bodies, _) = servitors::list(&ground)?;
    let same = |body: &&Servitor| body.id == id || body.name.eq_ignore_ascii_case(id);
    let body = bodies.iter().find(same).ok_or_else(|| {
        Failure::usage(format!(
            "there is no servitor `{id}`\n  hint: `marvin servitors list --all` shows who there is"
        ))
    })?;
    let store =
        Store::from_layout(&ground.layout).ok_or_else(|| Failure::usage("there is no project here"))?;
    let document = store.read(&body.id).map_err(|error| Failure::failed(error.to_string()))?;
    if place.json {
        let mut value = body.facts();
        if let Value::Object(map) = &mut value {
            map.insert("commitments".into(), json!(document.commitments));
        }
        return output::json(&value);
    }
    doc::print(&store, &body.id)
}

fn summon(arguments: &SummonArguments) -> Result<Exit, Failure> {
    // An agent has the tool of the same name, which gives no more rights than the agent has itself.
    deciding::refuse_agents()?;
    let access = arguments.access.as_deref().map(|word| {
        servitors::access_named(word).ok_or_else(|| {
            Failure::usage(format!("--access {word}: write full, readonly, or 'files: a.txt, b.txt'"))
        })
    });
    let summons = Summons {
        assignment: arguments.assignment.clone(),
        name: arguments.name.clone(),
        tier: arguments.tier.clone(),
        budget: Budget { nanos: arguments.budget.map(price::nanos), rounds: arguments.rounds },
        access: access.transpose()?,
        tools: None,
        commitments: Draft::all(&arguments.commitment, &arguments.oracle)
            .map_err(|why| Failure::usage(format!("--commitment: {why}")))?
            .into_iter()
            .map(|draft| draft.with_may_change(&arguments.may_change))
            .collect(),
    };
    let registry = registry(&arguments.place, "marvin servitors summon")?;
    let body = registry.summon(&Requester::Person, &summons)?;
    told(&body, &format!("Summoned {} (id: {})", body.name, body.id), arguments.place.json)
}

fn told(body: &Servitor, text: &str, as_json: bool) -> Result<Exit, Failure> {
    if as_json { output::json(&body.facts()) } else { output::line(text) }
}

/// One calm line for every change.
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
            "servitor.prompted" => format!("{}: told to go on", text("name")),
            "notice" => format!("note: {}", text("text")),
            _ => return,
        };
        if as_json || text("type") == "notice" {
            output::talk(&line);
        } else {
            // A reader that went away does not stop the work; the record has it.
            output::line(&line).ok();
        }
    })
}

fn work(arguments: &RunArguments) -> Result<Exit, Failure> {
    let mut flags = arguments.model.flags();
    flags.extend(arguments.deadline.clone().map(|seconds| ("limits.deadline_s", seconds)));
    let mut ground = ground(&arguments.place, flags)?;
    let as_json = arguments.place.json;
    let driven = async move {
        let cancel = cancel_on_signal();
        let servers = lend(&mut ground, &cancel).await;
        let mut session = Session::open(SessionOptions {
            project: ground,
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
        let ended = session.run_servitors().await;
        servers.end().await;
        let (outcome, bodies) = ended?;
        let run = session.run().path().display().to_string();
        if as_json {
            let all: Vec<Value> = bodies.iter().map(Servitor::facts).collect();
            let cost = session.cost().totals().map(|totals| totals.report()).unwrap_or_default();
            output::json(&json!({
                "status": outcome.status.name(), "reason": outcome.reason, "servitors": all, "cost": cost, "run_path": run,
            }))?;
        } else {
            output::line(&outcome.text)?;
        }
        if let Some(error) = &outcome.error {
            output::error(&format!("{error}\n  the record: {run}"));
        }
        Ok::<Exit, Failure>(outcome.status.exit())
    };
    runtime()?
        .block_on(async { tokio::spawn(driven).await })
        .map_err(|error| Failure::failed(format!("the run broke: {error}")))?
}
