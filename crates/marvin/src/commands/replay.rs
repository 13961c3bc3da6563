//! `marvin replay RUN`: runs a recorded run again from its recording, up to the first difference.

use crate::failure::Failure;
use crate::runtime::{cancel_on_signal, runtime};
use crate::{output, project};
use clap::Args;
use marvin_agent::session::{Manner, Replay};
use marvin_agent::{Session, SessionOptions};
use marvin_base::run_record::{RunKind, RunRecord, TurnRecord};
use marvin_base::{Exit, run, settings, signature};
use marvin_model::record::{self, ReplayClient};
use marvin_model::script;
use marvin_tools::turbotime::Selection;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Run a recorded run again and show the first point at which it differs
#[derive(Debug, Args)]
#[command(
    after_help = "The run must have been made with --record. Models and tools answer from the recording; nothing is changed.\n\nExamples:\n  marvin --non-interactive --prompt 'list files' --record tape\n  marvin replay run_20260203_040506_1a2b"
)]
pub(crate) struct ReplayArguments {
    /// The run's directory or id
    #[arg(value_name = "RUN")]
    run: String,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The first point at which a replay differs from its recording.
#[derive(Serialize)]
struct DifferenceReport {
    call: usize,
    at: String,
    recorded: Value,
    now: Value,
}

#[derive(Serialize)]
struct ReplayReport<'a> {
    run: String,
    same: bool,
    exchanges: usize,
    recorded_exchanges: usize,
    difference: Option<&'a DifferenceReport>,
}

/// The facts that a run keeps in `run.json`.
struct RecordedRun {
    record: RunRecord,
    /// The part of it that turns have.
    turn: Box<TurnRecord>,
    path: PathBuf,
}

impl RecordedRun {
    /// The tools that were switched on for it.
    fn turbotime(&self) -> Option<Selection> {
        Selection::read(&self.turn.turbotime.as_ref()?.join(",")).ok()
    }

    /// The settings that shaped it, as flags: they hold whatever is set today.
    fn flags(&self) -> Vec<(&'static str, String)> {
        let kept = self.turn.settings.iter();
        kept.filter_map(|(key, value)| Some((settings::find(key)?.key, value.clone()))).collect()
    }
}

/// Replays a run.
pub(crate) fn run(arguments: &ReplayArguments) -> Result<Exit, Failure> {
    let recorded = find(&arguments.run)?;
    let Some(tape) = recorded.turn.record.clone().filter(|path| !path.is_empty()) else {
        return Err(Failure::usage(format!("the run {} was not recorded", recorded.path.display()))
            .hint("record a run with --record DIR, then replay it"));
    };
    let file = record::file(Path::new(&tape));
    let text = std::fs::read_to_string(&file).map_err(|error| {
        Failure::usage(format!("the recording {} cannot be read: {error}", file.display()))
    })?;
    let entries = script::parse(&file.display().to_string(), &text).map_err(Failure::usage)?;
    let entries = record::of_run(entries, &recorded.record.run_id);
    let working_dir = recorded.turn.working_dir.as_ref().map(PathBuf::from);
    let attended = recorded.record.manner == RunKind::Inline;
    runtime()?.block_on(async {
        let working_dir = working_dir.as_deref().filter(|_| !attended);
        let context = project::context(working_dir, !attended, recorded.flags())?;
        let replaying = Arc::new(ReplayClient::new(
            &recorded.turn.provider,
            &recorded.turn.model,
            recorded.turn.native_tools,
            entries,
            context.redactor.clone(),
        ));
        let mut session = Session::open(SessionOptions {
            project: context,
            manner: Manner::Unattended,
            record: None,
            response_schema: recorded.turn.response_schema.clone(),
            listener: Box::new(|_| {}),
            cancel: cancel_on_signal(),
            replay: Some(Replay {
                tape: replaying.clone(),
                date: recorded.turn.date.clone(),
                attended,
                verifications: recorded.turn.verifications.clone(),
                promised: recorded.turn.promised.clone(),
                skills: recorded.turn.skills.clone(),
            }),
            commitments: Vec::new(),
            servitors: None,
            turbotime: recorded.turbotime(),
            approver: None,
        })?;
        for extra in &recorded.turn.extras {
            session.bring(extra.clone());
        }
        let outcome = session.turn(recorded.turn.prompt.as_deref().unwrap_or_default()).await?;
        let result = session.redacted(&outcome.text);
        report(&recorded, &replaying, &result, outcome.error.as_deref(), arguments.json)
    })
}

fn find(name: &str) -> Result<RecordedRun, Failure> {
    let places = project::run_directories(None)?;
    let path = places.iter().find_map(|runs| run::find(name, runs)).ok_or_else(|| {
        let tried: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        Failure::usage(format!("cannot find the run `{name}` here or in {}", tried.join(" and ")))
            .hint("`marvin runs list` shows the runs; one can be replayed if it was recorded with --record")
    })?;
    let mut record = RunRecord::read(&path)
        .map_err(|error| Failure::usage(format!("cannot replay the run {}: {error}", path.display())))?;
    Ok(RecordedRun { turn: record.turn.take().unwrap_or_default(), record, path })
}

fn report(
    recorded: &RecordedRun,
    replaying: &ReplayClient,
    result: &str,
    error: Option<&str>,
    as_json: bool,
) -> Result<Exit, Failure> {
    let (played, total) = replaying.progress();
    let at_end = |at: &str, recorded: &str, now: String| DifferenceReport {
        call: played,
        at: at.to_string(),
        recorded: recorded.into(),
        now: now.into(),
    };
    let difference = replaying.difference().map(|difference| DifferenceReport {
        call: difference.call,
        at: difference.at,
        recorded: difference.recorded,
        now: difference.now,
    });
    // An interrupted run has no result to compare; its exchanges were compared.
    let difference = difference.or_else(|| {
        let before = recorded.turn.result_signature.as_deref()?;
        let differs = before != signature::hash_bytes(result.as_bytes());
        differs.then(|| {
            at_end("result", recorded.turn.result.as_deref().unwrap_or_default(), result.to_string())
        })
    });
    let difference = difference.or_else(|| {
        let ending = error.unwrap_or("ended");
        let now = format!("{played} exchanges: {ending}");
        (played < total).then(|| at_end("end", &format!("{total} exchanges"), now))
    });
    let same = difference.is_none();
    if as_json {
        output::json(&ReplayReport {
            run: recorded.path.display().to_string(),
            same,
            exchanges: played,
            recorded_exchanges: total,
            difference: difference.as_ref(),
        })?;
    } else if let Some(difference) = &difference {
        output::line(&format!(
            "differs at exchange {} of {total}, at {}\n  recorded: {}\n  now:      {}",
            difference.call, difference.at, difference.recorded, difference.now
        ))?;
    } else {
        output::line(&format!("same: {played} of {total} exchanges and the result"))?;
    }
    Ok(if same { Exit::Success } else { Exit::Failed })
}
