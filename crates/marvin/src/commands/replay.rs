//! `marvin replay RUN`: a recorded run again, from its recording, up to the first point at which it differs.

use crate::commands::{cancel_on_signal, directory, runtime};
use crate::failure::Failure;
use crate::output;
use marvin_agent::session::{Manner, Replay};
use marvin_agent::{ProjectContext, Session, SessionOptions};
use marvin_base::environment::Environment;
use marvin_base::run_record::{RunKind, RunRecord, TurnRecord};
use marvin_base::{Exit, layout, run, settings, signature};
use marvin_model::record::{self, ReplayClient};
use marvin_model::script;
use marvin_tools::turbotime::Selection;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a run says of itself in `run.json`.
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
pub(super) fn run(name: &str, as_json: bool) -> Result<Exit, Failure> {
    let recorded = find(name)?;
    let Some(tape) = recorded.turn.record.clone().filter(|path| !path.is_empty()) else {
        return Err(Failure::usage(format!(
            "the run {} was not recorded\n  hint: record a run with --record DIR, then replay it",
            recorded.path.display()
        )));
    };
    let file = record::file(Path::new(&tape));
    let text = std::fs::read_to_string(&file).map_err(|error| {
        Failure::usage(format!("the recording {} cannot be read: {error}", file.display()))
    })?;
    let entries = script::parse(&file.display().to_string(), &text)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let entries = record::of_run(entries, &recorded.record.run_id);
    let working_dir = recorded.turn.working_dir.as_ref().map(PathBuf::from);
    let attended = recorded.record.manner == RunKind::Inline;
    runtime()?.block_on(async {
        let ground = ProjectContext::find(
            Environment::of_process(),
            directory()?,
            working_dir.as_deref().filter(|_| !attended),
            !attended,
            recorded.flags(),
        )?;
        let replaying = Arc::new(ReplayClient::new(
            &recorded.turn.provider,
            &recorded.turn.model,
            recorded.turn.native_tools,
            entries,
            ground.redactor.clone(),
        ));
        let mut session = Session::open(SessionOptions {
            project: ground,
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
        report(&recorded, &replaying, &result, outcome.error.as_deref(), as_json)
    })
}

fn find(name: &str) -> Result<RecordedRun, Failure> {
    let environment = Environment::of_process();
    let directory = directory()?;
    let bare = layout::Layout::new(&environment, None);
    let project = bare.find_project(&directory).unwrap_or(directory);
    let places = [layout::Layout::new(&environment, Some(&project)).runs(), bare.runs()];
    let path = places.iter().find_map(|runs| run::find(name, runs)).ok_or_else(|| {
        let tried: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        Failure::usage(format!("there is no run `{name}` (looked here and in {})", tried.join(" and ")))
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
    let difference = replaying.difference().map(|difference| {
        json!({
            "call": difference.call, "at": difference.at,
            "recorded": difference.recorded, "now": difference.now,
        })
    });
    // A run that broke off has no result to compare; its exchanges were compared.
    let difference = difference.or_else(|| {
        let before = recorded.turn.result_signature.as_deref()?;
        let differs = before != signature::hash_bytes(result.as_bytes());
        differs
            .then(|| json!({"call": played, "at": "result", "recorded": recorded.turn.result, "now": result}))
    });
    let difference = difference.or_else(|| {
        (played < total).then(|| json!({"call": played, "at": "end", "recorded": format!("{total} exchanges"), "now": format!("{played} exchanges: {}", error.unwrap_or("ended"))}))
    });
    let same = difference.is_none();
    if as_json {
        output::json(&json!({
            "run": recorded.path.display().to_string(), "same": same, "exchanges": played,
            "recorded_exchanges": total, "difference": difference,
        }))?;
    } else if let Some(difference) = &difference {
        output::line(&format!(
            "differs at exchange {} of {total}, at {}\n  recorded: {}\n  now:      {}",
            difference["call"],
            difference["at"].as_str().unwrap_or_default(),
            difference["recorded"],
            difference["now"]
        ))?;
    } else {
        output::line(&format!("same: {played} of {total} exchanges and the result"))?;
    }
    Ok(if same { Exit::Success } else { Exit::Failed })
}
