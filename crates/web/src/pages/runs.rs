//! Runs: the list, one run, its timeline, its trace.

use super::files;
use crate::answer::{Answer, Refusal};
use marvin_agent::ProjectContext;
use marvin_base::files::Links;
use marvin_base::ids;
use marvin_base::run_record::{self, RunRecord};
use marvin_flow::view::{self, View};
use marvin_hooks::inspect;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Bytes of one line of a trace that is shown, and of one page of lines.
const MAX_TRACE_LINE_BYTES: usize = 256 * 1024;
const MAX_TRACE_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// Steps, retries and refusals of one run that are shown.
const MAX_LISTED_ROWS: usize = 2_000;

/// The directory of a run: of this project, or of no project.
pub(super) fn directory(ground: &ProjectContext, run: &str) -> Result<PathBuf, Refusal> {
    let absent = || Refusal::absent(format!("unknown run `{}`", marvin_base::truncate::line(run, 80)));
    if ids::run_started(run).is_none() {
        return Err(absent());
    }
    let places = [ground.layout.runs(), ground.layout.user_runs()];
    let found = places.iter().map(|place| place.join(run)).find(|path| path.is_dir() && !path.is_symlink());
    found.ok_or_else(absent)
}

/// Runs, newest first, at most so many, those before one.
pub(super) fn list(ground: &ProjectContext, most: u64, before: Option<&str>) -> Value {
    let mut all: Vec<PathBuf> = run_record::list(&ground.layout.runs());
    if ground.layout.user_runs() != ground.layout.runs() {
        all.extend(run_record::list(&ground.layout.user_runs()));
    }
    let name =
        |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    all.sort_by_key(|path| std::cmp::Reverse(name(path)));
    let total = all.len();
    let chosen = all.into_iter().filter(|path| before.is_none_or(|before| name(path).as_str() < before));
    let rows: Vec<Value> = chosen
        .take(usize::try_from(most).unwrap_or(usize::MAX))
        .map(|path| {
            let mut row = view::row(&path);
            let record = RunRecord::read(&path).unwrap_or_default();
            if let Value::Object(row) = &mut row {
                row.insert("model".into(), json!(record.turn.map(|turn| turn.model)));
                row.insert("tool_calls".into(), json!(record.tool_call_count));
                row.insert("cost_usd".into(), json!(record.cost.map(|cost| cost.total.session_cost)));
                row.remove("run_path");
            }
            row
        })
        .collect();
    let mut value = json!({ "runs": rows, "total": total });
    ground.redactor.value(&mut value);
    value
}

/// One run.
pub(super) fn show(ground: &ProjectContext, run: &str) -> Answer {
    let path = directory(ground, run)?;
    let inspection = inspect::read(&path);
    let workflow = match view::is_workflow(&path) {
        true => {
            let view =
                View::read(&path, &ground.redactor).map_err(|error| Refusal::broken(error.to_string()))?;
            Some(workflow(&view))
        }
        false => None,
    };
    let held = marvin_flow::engine::holder(&path).is_some();
    let kind = match (&workflow, inspection.is_of_hooks()) {
        (Some(_), _) => "workflow",
        (None, true) => "hooks",
        (None, false) => "session",
    };
    let mut refused = inspection.refused.clone();
    refused.truncate(MAX_LISTED_ROWS);
    let mut value = json!({
        "run_id": inspection.run, "run_path": path.display().to_string(), "kind": kind,
        "status": view::status(&inspection.record, held), "facts": inspection.facts, "seconds": inspection.seconds,
        "tools": inspection.tools, "events": inspection.events, "verdicts": inspection.verdicts, "refused": refused,
        "cost": inspection.cost, "costs": costs(&inspection.trace), "verification": inspection.verification,
        "lessons_told": inspection.lessons_told, "problems": inspection.problems, "workflow": workflow, "files": files::list(&path),
    });
    ground.redactor.value(&mut value);
    Ok(value)
}

/// What the calls of models cost, one after the other: when, and how much.
fn costs(trace: &[Value]) -> Vec<Value> {
    let costs = trace.iter().filter_map(|event| {
        let item = event.get("item").filter(|item| item.get("type").is_some_and(|kind| kind == "model_call"))?;
        let usd = item.get("cost_usd").and_then(Value::as_f64)?;
        let usage = item.get("usage").cloned().unwrap_or(Value::Null);
        Some(json!({ "timestamp": event.get("timestamp"), "model": item.get("model"), "usd": usd, "usage": usage }))
    });
    costs.take(MAX_LISTED_ROWS).collect()
}

fn workflow(view: &View) -> Value {
    let steps: Vec<Value> = view
        .steps
        .iter()
        .take(MAX_LISTED_ROWS)
        .map(|step| {
            let mut value = json!(step);
            if let (Value::Object(map), word) = (&mut value, step.status.word()) {
                map.insert("status".into(), word.into());
            }
            value
        })
        .collect();
    let retries: Vec<Value> = view.retries.iter().take(MAX_LISTED_ROWS).map(|retry| json!(retry)).collect();
    json!({
        "workflow_id": view.workflow_id, "goal": view.goal, "counts": view.counts, "steps": steps, "retries": retries,
        "artifacts": view.artifacts, "picture": view.picture, "transitions": view.timeline.len(),
    })
}

/// The transitions of a workflow after one of them.
pub(super) fn timeline(ground: &ProjectContext, run: &str, after: u64, most: u64) -> Answer {
    let path = directory(ground, run)?;
    if !view::is_workflow(&path) {
        return Ok(json!({ "moments": [] }));
    }
    let view = View::read(&path, &ground.redactor).map_err(|error| Refusal::broken(error.to_string()))?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let moments: Vec<Value> = view
        .timeline
        .iter()
        .filter(|moment| moment.seq > after)
        .take(usize::try_from(most).unwrap_or(usize::MAX))
        .map(|moment| {
            json!({
                "seq": moment.seq, "at": marvin_base::clock::stamp_of(moment.at_ms), "step_id": moment.step_id,
                "status": moment.status.word(), "attempt": moment.attempt, "detail": moment.detail,
            })
        })
        .collect();
    let mut value = json!({ "moments": moments });
    ground.redactor.value(&mut value);
    Ok(value)
}

/// Lines of the trace from a place in the file on, and the place after them.
pub(super) fn trace(ground: &ProjectContext, run: &str, from: u64, most: u64) -> Answer {
    let path = directory(ground, run)?.join("trace.jsonl");
    let broken = |error: std::io::Error| Refusal::broken(format!("the trace cannot be read: {error}"));
    let mut file = match marvin_base::files::open(&path, Links::Refuse) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(json!({ "events": [], "next": from, "more": false }));
        }
        opened => opened.map_err(broken)?,
    };
    let length = file.metadata().map_err(broken)?.len();
    file.seek(SeekFrom::Start(from.min(length))).map_err(broken)?;
    let mut reader = BufReader::new(file.take(MAX_TRACE_PAGE_BYTES as u64));
    let (mut events, mut next, mut line) = (Vec::new(), from.min(length), Vec::new());
    while (events.len() as u64) < most {
        line.clear();
        let read = reader.read_until(b'\n', &mut line).map_err(broken)? as u64;
        if line.pop() != Some(b'\n') {
            // Not whole: still being written, or the page is full. A line that no page can hold is passed over.
            if read == MAX_TRACE_PAGE_BYTES as u64 {
                events.push(json!({ "type": "unreadable", "why": "this line is too long to be shown" }));
                next += read;
            }
            break;
        }
        next += read;
        events.push(match line.len() > MAX_TRACE_LINE_BYTES {
            true => json!({ "type": "unreadable", "why": format!("a line of {} bytes", line.len()) }),
            false => serde_json::from_slice(&line)
                .unwrap_or_else(|_| json!({ "type": "unreadable", "why": "this line is damaged" })),
        });
    }
    let mut value = json!({ "events": events, "next": next, "more": next < length && !events.is_empty() });
    ground.redactor.value(&mut value);
    Ok(value)
}
