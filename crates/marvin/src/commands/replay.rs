//! `marvin replay RUN`: a recorded run again, from its recording, up to the first point at which it differs.

use crate::commands::{cancel_on_signal, directory, runtime};
use crate::failure::Failure;
use crate::output;
use marvin_agent::session::{self, Manner, Replay};
use marvin_agent::{ProjectContext, Session, SessionOptions};
use marvin_base::environment::Environment;
use marvin_base::{Exit, layout, run, settings, signature};
use marvin_model::record::{self, ReplayClient};
use marvin_model::script;
use marvin_tools::turbotime::Selection;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a run says of itself in `run.json`.
struct RecordedRun {
    facts: Value,
    path: PathBuf,
}

impl RecordedRun {
    fn text(&self, key: &str) -> &str {
        self.facts.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The tools that were switched on for it.
    fn turbotime(&self) -> Option<Selection> {
        let names = self.facts.get("turbotime")?.as_array()?.iter().filter_map(Value::as_str);
        Selection::read(&names.collect::<Vec<_>>().join(",")).ok()
    }

    /// The settings that shaped it, as flags: they hold whatever is set today.
    fn flags(&self) -> Vec<(&'static str, String)> {
        let kept = self.facts.get("settings").and_then(Value::as_object).into_iter().flatten();
        kept.filter_map(|(key, value)| Some((settings::find(key)?.key, value.as_str()?.to_string())))
            .collect()
    }
}

/// Replays a run.
pub(super) fn run(name: &str, as_json: bool) -> Result<Exit, Failure> {
    let recorded = find(name)?;
    let tape = recorded.text("record");
    if tape.is_empty() {
        return Err(Failure::usage(format!(
            "the run {} was not recorded\n  hint: record a run with --record DIR, then replay it",
            recorded.path.display()
        )));
    }
    let file = record::file(Path::new(tape));
    let text = std::fs::read_to_string(&file).map_err(|error| {
        Failure::usage(format!("the recording {} cannot be read: {error}", file.display()))
    })?;
    let entries = script::parse(&file.display().to_string(), &text)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let entries = record::of_run(entries, recorded.text("runId"));
    let working_dir = recorded.facts.get("workingDir").and_then(Value::as_str).map(PathBuf::from);
    let attended = recorded.text("manner") == "inline";
    runtime()?.block_on(async {
        let ground = ProjectContext::find(
            Environment::of_process(),
            directory()?,
            working_dir.as_deref().filter(|_| !attended),
            !attended,
            recorded.flags(),
        )?;
        let native = recorded.facts.get("nativeTools").and_then(Value::as_bool).unwrap_or(true);
        let replaying = Arc::new(ReplayClient::new(
            recorded.text("provider"),
            recorded.text("model"),
            native,
            entries,
            ground.redactor.clone(),
        ));
        let schema = recorded.facts.get("responseSchema").filter(|schema| !schema.is_null()).cloned();
        let kept = recorded.facts.get("verifications").and_then(Value::as_array);
        let verifications = kept.cloned().unwrap_or_default();
        let kept = recorded.facts.get("promised").and_then(Value::as_array).into_iter().flatten();
        let promised = kept.filter_map(Value::as_str).map(str::to_string).collect();
        let mut session = Session::open(SessionOptions {
            ground,
            manner: Manner::Unattended,
            record: None,
            response_schema: schema,
            listener: Box::new(|_| {}),
            cancel: cancel_on_signal(),
            replay: Some(Replay {
                tape: replaying.clone(),
                date: recorded.text("date").to_string(),
                attended,
                verifications,
                promised,
            }),
            commitments: Vec::new(),
            servitors: None,
            turbotime: recorded.turbotime(),
            approver: None,
        })?;
        for extra in recorded.facts.get("extras").map(session::brought).unwrap_or_default() {
            session.bring(extra);
        }
        let outcome = session.turn(recorded.text("prompt")).await?;
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
    let file = path.join("run.json");
    let facts = std::fs::read_to_string(&file)
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
        .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", file.display())))?;
    Ok(RecordedRun { facts, path })
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
        let before = recorded.facts.get("resultSignature").and_then(Value::as_str)?;
        let differs = before != signature::hash_bytes(result.as_bytes());
        differs.then(
            || json!({"call": played, "at": "result", "recorded": recorded.text("result"), "now": result}),
        )
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
