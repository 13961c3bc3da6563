//! `marvin commitments` and `marvin verify`: what must hold before work is done, and whether it does.

use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::project::{context, current_directory, find_project};
use crate::runtime::{cancel_on_signal, runtime};
use crate::{deciding, output};
use clap::{Args, Subcommand};
use marvin_agent::ProjectContext;
use marvin_agent::commitments::{
    self, AddedCommitment, ChangeError, Commitment, CommitmentResult, Draft, Report, Source,
};
use marvin_base::{Exit, truncate};
use marvin_tools::command::Runner;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::Path;

/// The end of `marvin verify --help`.
pub(crate) const VERIFY_HELP: &str = "\
Every commitment is verified again from scratch, outside any agent, sandboxed and without network.
Exit code 0 when all of them pass, or there is none; 3 when one failed or could not run; 130 when interrupted.

Examples:
  marvin verify
  marvin verify --working-dir ~/src/app --json | jq .verified";

/// The end of `marvin commitments add --help`.
fn add_help() -> String {
    format!(
        r#"Kinds:
  shell:LINE                          ends with exit code 0 (bash, pipefail, sandboxed, no network)
  file_exists:PATH                    is there; PATH/ must be a directory
  file_contains:PATH: TEXT            holds the text
  json_equals:PATH: /POINTER = VALUE  has this value there
  tests_pass:RUNNER WORDS             at least one test runs and none fails; auto, {}, command LINE

Examples:
  marvin commitments add 'shell:pytest -q' --description 'all tests pass' --oracle tests
  marvin commitments add 'tests_pass:cargo --workspace' --timeout 600
  marvin commitments add 'json_equals:package.json: /version = "1.2.0"'"#,
        Runner::NAMES
    )
}

/// One commitment, and the consent to change it.
#[derive(Debug, Args)]
pub(crate) struct CommitmentChoice {
    /// Its id
    #[arg(value_name = "ID")]
    id: String,
    /// The document that it is in, where several have that id
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    place: ProjectArguments,
}

/// Add and verify commitments, which must hold before work is done
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin commitments add 'shell:pytest -q' --description 'all tests pass' --oracle tests\n  marvin commitments list\n  marvin commitments verify"
)]
pub(crate) enum CommitmentsCommand {
    /// Add a commitment; an assertion that cannot fail is refused
    #[command(
        after_help = add_help()
    )]
    Add {
        /// The assertion
        #[arg(value_name = "KIND:ASSERTION")]
        assertion: String,
        /// Its meaning, for people
        #[arg(long, value_name = "TEXT", default_value = "")]
        description: String,
        /// Timeout in seconds (default: 120)
        #[arg(long, value_name = "SECONDS")]
        timeout: Option<u64>,
        /// A file or directory that must not change; may be given several times
        #[arg(long, value_name = "PATH")]
        oracle: Vec<String>,
        /// A file that steers the tests and that agents may change; may be given several times
        #[arg(long, value_name = "PATH")]
        may_change: Vec<String>,
        /// The document of an agent (default: the project's own)
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        #[command(flatten)]
        place: ProjectArguments,
    },
    /// List commitments with their status at the last verification
    #[command(
        after_help = "Nothing is run.\n\nExamples:\n  marvin commitments list\n  marvin commitments list --json | jq -r '.commitments[].id'"
    )]
    List {
        /// Only those of this document
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        #[command(flatten)]
        place: ProjectArguments,
    },
    /// Verify commitments again from scratch; without ids, all of them
    #[command(
        after_help = "Exit code 0 when all of them pass, 3 otherwise.\n\nExamples:\n  marvin commitments verify\n  marvin commitments verify c-1a2b3c"
    )]
    Verify {
        /// Their ids
        #[arg(value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        place: ProjectArguments,
    },
    /// Drop a commitment (a person's decision)
    #[command(
        after_help = "Examples:\n  marvin commitments drop c-1a2b3c\n  marvin commitments drop c-1a2b3c --yes"
    )]
    Drop(CommitmentChoice),
    /// Accept the current files that a commitment is judged by (a person's decision)
    #[command(
        after_help = "Examples:\n  marvin commitments rehash c-1a2b3c\n  marvin commitments rehash c-1a2b3c --yes"
    )]
    Rehash(CommitmentChoice),
}

#[derive(Serialize)]
struct CommitmentRow<'a> {
    #[serde(flatten)]
    commitment: &'a Commitment,
    document: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<bool>,
}

#[derive(Serialize)]
struct CommitmentList<'a> {
    commitments: Vec<CommitmentRow<'a>>,
    problems: &'a [String],
}

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

pub(crate) fn run(command: CommitmentsCommand) -> Result<Exit, Failure> {
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
            show_added(&commitments::add(&commitments_context(&place, true)?, draft)?, place.json)
        }
        CommitmentsCommand::List { agent, place } => list(agent.as_deref(), &place),
        CommitmentsCommand::Verify { ids, place } => verify(&ids, &place),
        CommitmentsCommand::Drop(choice) => {
            let context = commitments_context(&choice.place, false)?;
            confirm(&choice, "commitments drop", "Take it back?")?;
            commitments::drop_one(&context, choice.agent.as_deref(), &choice.id)?;
            done(&choice, "dropped")
        }
        CommitmentsCommand::Rehash(choice) => {
            let context = commitments_context(&choice.place, false)?;
            commitments::find(&context, choice.agent.as_deref(), &choice.id)?;
            confirm(&choice, "commitments rehash", "Take its files as they are now?")?;
            commitments::rehash(&context, choice.agent.as_deref(), &choice.id)?;
            done(&choice, "rehashed")
        }
    }
}

/// The project around the directory; else the directory itself where a project may be made.
fn commitments_context(place: &ProjectArguments, make: bool) -> Result<ProjectContext, Failure> {
    let mut project = find_project(place.working_dir.as_deref())?;
    if project.is_none() && make {
        project = Some(current_directory()?);
    }
    context(project.as_deref(), false, Vec::new())
}

/// Gets the consent of a person, by an answer or by the flag, and records it.
fn confirm(choice: &CommitmentChoice, command: &str, question: &str) -> Result<(), Failure> {
    let person = deciding::person(None)?;
    if choice.yes {
        return Ok(person.record(command, &choice.id)?);
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::blocked(format!("a person decides on this: {}", choice.id))
            .hint("run it at a terminal, or with --yes"));
    }
    output::talk(&format!("{}: {question} [y/N]", choice.id));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).ok();
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(person.record(command, &choice.id)?);
    }
    Err(Failure::blocked(format!("{} stays as it is", choice.id)))
}

fn done(choice: &CommitmentChoice, what: &str) -> Result<Exit, Failure> {
    if choice.place.json {
        return output::json_entry(what, &choice.id);
    }
    output::line(&format!("{what} {}", choice.id))
}

fn show_added(added: &AddedCommitment, as_json: bool) -> Result<Exit, Failure> {
    if let Some(verdict) = &added.doubt {
        output::talk(&format!(
            "note: the gate asks about this command ({}), so it cannot be verified until a person allows it\n  hint: {}",
            verdict.reason, verdict.how_to_fix
        ));
    }
    if as_json {
        return output::json(&CommitmentRow {
            commitment: &added.commitment,
            document: &added.document,
            known: Some(added.known),
        });
    }
    let what = if added.known { "known already" } else { "added" };
    output::line(&format!(
        "{what}: {}  {}",
        added.commitment.id,
        truncate::line(&added.commitment.title(), 120)
    ))
}

fn list(agent: Option<&str>, place: &ProjectArguments) -> Result<Exit, Failure> {
    let context = commitments_context(place, false)?;
    let (pairs, errors) = match commitments::all(&context) {
        Ok(all) => all,
        Err(ChangeError::Usage(_)) if place.working_dir.is_none() => (Vec::new(), Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let owners: BTreeSet<String> = pairs.iter().map(|(of, _)| of.clone()).collect();
    let pairs: Vec<_> = pairs.into_iter().filter(|(of, _)| agent.is_none_or(|agent| agent == of)).collect();
    let problems: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let exit = if problems.is_empty() { Exit::Success } else { Exit::Failed };
    if place.json {
        let rows =
            pairs.iter().map(|(document, commitment)| CommitmentRow { commitment, document, known: None });
        output::json(&CommitmentList { commitments: rows.collect(), problems: &problems })?;
        return Ok(exit);
    }
    for problem in &problems {
        output::error(problem);
    }
    if pairs.is_empty() {
        let owners = owners.into_iter().collect::<Vec<_>>().join(", ");
        output::line(&match agent {
            Some(agent) if !owners.is_empty() => {
                format!("`{agent}` has no commitments; these documents have some: {owners}")
            }
            _ => "This project has no commitments.".to_string(),
        })?;
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

/// Verifies commitments; without ids, all of the project.
pub(crate) fn verify(ids: &[String], place: &ProjectArguments) -> Result<Exit, Failure> {
    let context = commitments_context(place, false)?;
    for id in ids {
        commitments::find(&context, None, id)?;
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
        commitments::verify(&context, ids, &cancel, &mut notice).await
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
        show(&report, context.layout.project())?;
    }
    Ok(exit)
}

/// One line for one commitment.
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
