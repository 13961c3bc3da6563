//! `marvin commitments` and `marvin verify`: what must hold before work is done, and whether it does.

use super::{cancel_on_signal, deciding, directory, project, runtime};
use crate::cli::{CommitmentChoice, CommitmentsCommand, CommitmentsPlace};
use crate::failure::Failure;
use crate::output;
use marvin_agent::ProjectContext;
use marvin_agent::commitments::{
    self, AddedCommitment, ChangeError, Commitment, CommitmentResult, Draft, Report, Source,
};
use marvin_base::environment::Environment;
use marvin_base::{Exit, truncate};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::Path;

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        let message = error.to_string();
        match error {
            ChangeError::Usage(_) => Failure::usage(message),
            ChangeError::Refused(_) => Failure::refused(message),
            ChangeError::Store(_) => Failure::failed(message),
        }
    }
}

/// Runs one of the commands about commitments.
pub(super) fn run(command: CommitmentsCommand) -> Result<Exit, Failure> {
    match command {
        CommitmentsCommand::Add { assertion, description, timeout, oracle, may_change, agent, place } => {
            let (kind, text) = commitments::assertion::split(&assertion)
                .map_err(|error| Failure::usage(error.to_string()))?;
            let draft = Draft {
                document: agent,
                kind,
                assertion: text.to_string(),
                description,
                timeout_s: timeout,
                oracles: oracle,
                may_change,
                source: Source::Parent,
            };
            added(&commitments::add(&ground(&place, true)?, draft)?, place.json)
        }
        CommitmentsCommand::List { agent, place } => list(agent.as_deref(), &place),
        CommitmentsCommand::Verify { ids, place } => verify(&ids, &place),
        CommitmentsCommand::Drop(choice) => {
            let ground = ground(&choice.place, false)?;
            agreed(&choice, "commitments drop", "Take it back?")?;
            commitments::drop_one(&ground, choice.agent.as_deref(), &choice.id)?;
            done(&choice, "dropped")
        }
        CommitmentsCommand::Rehash(choice) => {
            let ground = ground(&choice.place, false)?;
            commitments::find(&ground, choice.agent.as_deref(), &choice.id)?;
            agreed(&choice, "commitments rehash", "Take its files as they are now?")?;
            commitments::rehash(&ground, choice.agent.as_deref(), &choice.id)?;
            done(&choice, "rehashed")
        }
    }
}

/// The project around the directory; where there is none and one may be made, the directory itself.
fn ground(place: &CommitmentsPlace, make: bool) -> Result<ProjectContext, Failure> {
    let directory = directory()?;
    let project = project(place.working_dir.as_deref())?.or_else(|| make.then(|| directory.clone()));
    Ok(ProjectContext::find(Environment::of_process(), directory, project.as_deref(), false, Vec::new())?)
}

/// A person says yes: by an answer, or by the flag.
fn agreed(choice: &CommitmentChoice, command: &str, question: &str) -> Result<(), Failure> {
    let person = deciding::person(None)?;
    if choice.yes {
        return Ok(person.record(command, &choice.id)?);
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure {
            exit: Exit::Blocked,
            ..Failure::failed(format!(
                "a person decides on this: {}\n  hint: run it at a terminal, or with --yes",
                choice.id
            ))
        });
    }
    output::talk(&format!("{}: {question} [y/N]", choice.id));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).ok();
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(person.record(command, &choice.id)?);
    }
    Err(Failure { exit: Exit::Blocked, ..Failure::failed(format!("{} stays as it is", choice.id)) })
}

fn done(choice: &CommitmentChoice, what: &str) -> Result<Exit, Failure> {
    if choice.place.json {
        return output::json(&json!({ what: choice.id }));
    }
    output::line(&format!("{what} {}", choice.id))
}

fn added(added: &AddedCommitment, as_json: bool) -> Result<Exit, Failure> {
    if let Some(verdict) = &added.doubt {
        output::talk(&format!(
            "note: the gate asks about this command ({}), so it cannot be verified until a person allows it\n  hint: marvin gate learned add {:?}",
            verdict.reason, added.commitment.assertion
        ));
    }
    if as_json {
        let mut value = shown(&added.document, &added.commitment);
        if let Value::Object(value) = &mut value {
            value.insert("known".into(), added.known.into());
        }
        return output::json(&value);
    }
    let what = if added.known { "known already" } else { "added" };
    output::line(&format!(
        "{what}: {}  {}",
        added.commitment.id,
        truncate::line(&added.commitment.title(), 120)
    ))
}

fn shown(document: &str, commitment: &Commitment) -> Value {
    let mut value = json!(commitment);
    if let Value::Object(value) = &mut value {
        value.insert("document".into(), document.into());
    }
    value
}

fn list(agent: Option<&str>, place: &CommitmentsPlace) -> Result<Exit, Failure> {
    let ground = ground(place, false)?;
    let (pairs, errors) = match commitments::all(&ground) {
        Ok(all) => all,
        Err(ChangeError::Usage(_)) if place.working_dir.is_none() => (Vec::new(), Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let pairs: Vec<_> = pairs.into_iter().filter(|(of, _)| agent.is_none_or(|agent| agent == of)).collect();
    let problems: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let exit = if problems.is_empty() { Exit::Success } else { Exit::Failed };
    if place.json {
        let all: Vec<Value> = pairs.iter().map(|(of, one)| shown(of, one)).collect();
        output::json(&json!({ "commitments": all, "problems": problems }))?;
        return Ok(exit);
    }
    for problem in &problems {
        output::error(problem);
    }
    if pairs.is_empty() {
        output::line("There are no commitments here.")?;
        return Ok(exit);
    }
    let row = |(of, one): &(String, Commitment)| {
        let place = if of == commitments::PROJECT { String::new() } else { format!("  ({of})") };
        let mut row =
            format!("{:13}  {}  {}{place}", one.status.words(), one.id, truncate::line(&one.title(), 100));
        if !one.description.is_empty() {
            row.push_str(&format!("\n{:13}  {:8}  {}", "", "", truncate::line(&one.whole(), 100)));
        }
        row
    };
    output::line(&pairs.iter().map(row).collect::<Vec<_>>().join("\n"))?;
    Ok(exit)
}

/// `marvin verify`: everything in this project.
pub(super) fn verify_project(place: &CommitmentsPlace) -> Result<Exit, Failure> {
    verify(&[], place)
}

fn verify(ids: &[String], place: &CommitmentsPlace) -> Result<Exit, Failure> {
    let ground = ground(place, false)?;
    for id in ids {
        commitments::find(&ground, None, id)?;
    }
    let as_json = place.json;
    let mut lost = None;
    let report = runtime()?.block_on(async {
        let cancel = cancel_on_signal();
        let mut notice = |checked: &CommitmentResult| {
            if !as_json && lost.is_none() {
                lost = output::line(&row(checked)).err();
            }
        };
        commitments::verify(&ground, ids, &cancel, &mut notice).await
    });
    if let Some(failure) = lost {
        return Err(failure);
    }
    let exit = match &report {
        report if report.interrupted => Exit::Interrupted,
        report if report.verified() => Exit::Success,
        _ => Exit::NotVerified,
    };
    if as_json {
        output::json(&report.json())?;
    } else {
        show(&report, ground.layout.project())?;
    }
    Ok(exit)
}

/// One calm line for one commitment.
fn row(checked: &CommitmentResult) -> String {
    let took = std::time::Duration::from_millis(checked.duration_ms).as_secs_f64();
    let why = checked.reason.as_deref().and_then(|reason| reason.lines().next());
    let why = why.map(|why| format!(": {}", truncate::line(why, 120))).unwrap_or_default();
    let title = truncate::line(&checked.title(), 100);
    format!("{:13}  {}  {title}{why}  ({took:.1} s)", checked.status.words(), checked.id)
}

fn show(report: &Report, project: Option<&Path>) -> Result<(), Failure> {
    if report.is_empty() && !report.interrupted {
        let project = project.map(|project| format!(" in {}", project.display())).unwrap_or_default();
        return output::raw(&format!("nothing to verify{project}\n"));
    }
    output::raw(&report.text())
}
