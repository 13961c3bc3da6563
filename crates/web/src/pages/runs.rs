//! Runs: the list, one run, its timeline, its trace.

use super::files::{self, RunFile};
use super::self_improve::{self, ImproveDetails};
use crate::answer::{Answer, Refusal, json, redacted};
use marvin_agent::ProjectContext;
use marvin_base::files::Links;
use marvin_base::ids;
use marvin_base::run_record::{self, RunKind, RunRecord};
use marvin_flow::draw::Picture;
use marvin_flow::view::{self, Retry, RunRow, View};
use marvin_hooks::inspect::{self, Cost, GateRefusal, Problem, Tool};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of one line of a trace that is shown, and of one page of lines.
const MAX_TRACE_LINE_BYTES: usize = 256 * 1024;
const MAX_TRACE_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// Steps, retries and refusals of one run that are shown.
const MAX_LISTED_ROWS: usize = 2_000;
/// Tool calls of one answer that are shown.
const MAX_LISTED_CALLS: usize = 200;

#[derive(Serialize)]
struct RunList {
    runs: Vec<ListedRun>,
    total: usize,
}

/// A run in the list.
#[derive(Serialize)]
struct ListedRun {
    #[serde(flatten)]
    row: RunRow,
    model: Option<String>,
    tool_calls: Option<u64>,
    cost_usd: Option<f64>,
}

#[derive(Serialize)]
struct RunDetails<'a> {
    run_id: &'a str,
    run_path: String,
    kind: &'static str,
    status: String,
    facts: &'a Value,
    seconds: Option<f64>,
    tools: &'a BTreeMap<String, Tool>,
    events: &'a BTreeMap<String, u64>,
    verdicts: &'a BTreeMap<String, u64>,
    refused: Vec<&'a GateRefusal>,
    cost: &'a BTreeMap<String, Cost>,
    costs: Vec<CallCost<'a>>,
    verification: &'a Option<Value>,
    lessons_told: &'a BTreeMap<String, u64>,
    problems: &'a [Problem],
    workflow: Option<WorkflowDetails<'a>>,
    self_improve: Option<ImproveDetails>,
    files: Vec<RunFile>,
}

/// The cost of one call of a model.
#[derive(Serialize)]
struct CallCost<'a> {
    timestamp: Option<&'a Value>,
    model: Option<&'a Value>,
    usd: f64,
    usage: Option<&'a Value>,
}

#[derive(Serialize)]
struct WorkflowDetails<'a> {
    workflow_id: &'a str,
    goal: &'a str,
    counts: &'a BTreeMap<&'static str, usize>,
    steps: Vec<Value>,
    retries: Vec<&'a Retry>,
    artifacts: &'a [view::StepArtifact],
    picture: &'a Option<Picture>,
    transitions: usize,
}

#[derive(Serialize)]
struct Timeline<'a> {
    moments: Vec<Transition<'a>>,
}

#[derive(Serialize)]
struct Transition<'a> {
    seq: i64,
    at: String,
    step_id: &'a str,
    status: &'static str,
    attempt: u32,
    detail: &'a str,
}

#[derive(Serialize)]
struct CallList {
    calls: Vec<Value>,
    total: usize,
}

#[derive(Serialize)]
struct TracePage {
    events: Vec<TraceLine>,
    /// The place in the file after these lines.
    next: u64,
    more: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum TraceLine {
    Event(Value),
    Unreadable {
        #[serde(rename = "type")]
        kind: &'static str,
        why: String,
    },
}

impl TraceLine {
    fn unreadable(why: impl Into<String>) -> Self {
        TraceLine::Unreadable { kind: "unreadable", why: why.into() }
    }
}

/// The directory of a run: of this project, or of no project.
pub(super) fn directory(context: &ProjectContext, run: &str) -> Result<PathBuf, Refusal> {
    let absent = || Refusal::absent(format!("unknown run `{}`", marvin_base::truncate::line(run, 80)));
    if ids::run_started(run).is_none() {
        return Err(absent());
    }
    let places = context.layout.run_directories();
    let found = places.iter().map(|place| place.join(run)).find(|path| path.is_dir() && !path.is_symlink());
    found.ok_or_else(absent)
}

/// Lists at most `most` runs before one, newest first.
pub(super) fn list(context: &ProjectContext, most: u64, before: Option<&str>) -> Answer {
    let places = context.layout.run_directories();
    let mut all: Vec<PathBuf> = places.iter().flat_map(|place| run_record::list(place)).collect();
    let name =
        |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    all.sort_by_key(|path| std::cmp::Reverse(name(path)));
    let total = all.len();
    let chosen = all.into_iter().filter(|path| before.is_none_or(|before| name(path).as_str() < before));
    let runs: Vec<ListedRun> = chosen
        .take(usize::try_from(most).unwrap_or(usize::MAX))
        .map(|path| {
            let record = RunRecord::read(&path).unwrap_or_default();
            ListedRun {
                row: RunRow { run_path: None, ..RunRow::new(&path, &record) },
                model: record.turn.map(|turn| turn.model),
                tool_calls: record.tool_call_count,
                cost_usd: record.cost.map(|cost| cost.total.session_cost),
            }
        })
        .collect();
    redacted(context, &RunList { runs, total })
}

pub(super) fn show(context: &ProjectContext, run: &str) -> Answer {
    let path = directory(context, run)?;
    let inspection = inspect::read(&path);
    let view = match view::is_workflow(&path) {
        true => Some(read_workflow(context, &path)?),
        false => None,
    };
    let improve = match inspection.record.manner {
        RunKind::SelfImprove => self_improve::read(&path)?,
        _ => None,
    };
    let held = marvin_flow::engine::holder(&path).is_some();
    let kind = match (&view, inspection.is_of_hooks()) {
        (Some(_), _) => "workflow",
        (None, true) => "hooks",
        (None, false) if improve.is_some() => "self-improve",
        (None, false) => "session",
    };
    let details = RunDetails {
        run_id: &inspection.run,
        run_path: path.display().to_string(),
        kind,
        status: view::status(&inspection.record, held),
        facts: &inspection.facts,
        seconds: inspection.seconds,
        tools: &inspection.tools,
        events: &inspection.events,
        verdicts: &inspection.verdicts,
        refused: inspection.refused.iter().take(MAX_LISTED_ROWS).collect(),
        cost: &inspection.cost,
        costs: costs(&inspection.trace),
        verification: &inspection.verification,
        lessons_told: &inspection.lessons_told,
        problems: &inspection.problems,
        workflow: view.as_ref().map(workflow),
        self_improve: improve,
        files: files::list(&path),
    };
    redacted(context, &details)
}

fn read_workflow(context: &ProjectContext, path: &Path) -> Result<View, Refusal> {
    View::read(path, &context.redactor).map_err(|error| Refusal::broken(error.to_string()))
}

/// The costs of the calls of models, in their order.
fn costs(trace: &[Value]) -> Vec<CallCost<'_>> {
    let costs = trace.iter().filter_map(|event| {
        let item =
            event.get("item").filter(|item| item.get("type").is_some_and(|kind| kind == "model_call"))?;
        let usd = item.get("cost_usd").and_then(Value::as_f64)?;
        let (timestamp, model, usage) = (event.get("timestamp"), item.get("model"), item.get("usage"));
        Some(CallCost { timestamp, model, usd, usage })
    });
    costs.take(MAX_LISTED_ROWS).collect()
}

fn workflow(view: &View) -> WorkflowDetails<'_> {
    let steps: Vec<Value> = view
        .steps
        .iter()
        .take(MAX_LISTED_ROWS)
        .map(|step| {
            let mut value = serde_json::to_value(step).unwrap_or_default();
            if let (Value::Object(map), word) = (&mut value, step.status.word()) {
                map.insert("status".into(), word.into());
            }
            value
        })
        .collect();
    WorkflowDetails {
        workflow_id: &view.workflow_id,
        goal: &view.goal,
        counts: &view.counts,
        steps,
        retries: view.retries.iter().take(MAX_LISTED_ROWS).collect(),
        artifacts: &view.artifacts,
        picture: &view.picture,
        transitions: view.timeline.len(),
    }
}

/// The transitions of a workflow after one of them.
pub(super) fn timeline(context: &ProjectContext, run: &str, after: u64, most: u64) -> Answer {
    let path = directory(context, run)?;
    if !view::is_workflow(&path) {
        return json(&Timeline { moments: Vec::new() });
    }
    let view = read_workflow(context, &path)?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let moments = view
        .timeline
        .iter()
        .filter(|moment| moment.seq > after)
        .take(usize::try_from(most).unwrap_or(usize::MAX))
        .map(|moment| Transition {
            seq: moment.seq,
            at: marvin_base::clock::stamp_of(moment.at_ms),
            step_id: &moment.step_id,
            status: moment.status.word(),
            attempt: moment.attempt,
            detail: &moment.detail,
        });
    redacted(context, &Timeline { moments: moments.collect() })
}

/// The tool calls of a run, each as its last event says, with the arguments of its first.
pub(super) fn calls(context: &ProjectContext, run: &str) -> Answer {
    let path = directory(context, run)?;
    let inspection = inspect::read(&path);
    let mut calls: Vec<Value> = Vec::new();
    for item in inspection.trace.iter().filter_map(|event| event.get("item")) {
        if item.get("type").is_none_or(|kind| kind != "tool_call") {
            continue;
        }
        let same = |call: &&mut Value| call.get("id") == item.get("id");
        match (calls.iter_mut().rev().find(same).and_then(Value::as_object_mut), item.as_object()) {
            (Some(known), Some(item)) => known.extend(item.clone()),
            _ => calls.push(item.clone()),
        }
    }
    let total = calls.len();
    calls.truncate(MAX_LISTED_CALLS);
    redacted(context, &CallList { calls, total })
}

/// Lines of the trace from a place in the file on, and the place after them.
pub(super) fn trace(context: &ProjectContext, run: &str, from: u64, most: u64) -> Answer {
    let path = directory(context, run)?.join("trace.jsonl");
    let broken = |error: std::io::Error| Refusal::broken(format!("cannot read the trace: {error}"));
    let mut file = match marvin_base::files::open(&path, Links::Refuse) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return json(&TracePage { events: Vec::new(), next: from, more: false });
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
                events.push(TraceLine::unreadable("this line is too long to be shown"));
                next += read;
            }
            break;
        }
        next += read;
        events.push(match line.len() > MAX_TRACE_LINE_BYTES {
            true => TraceLine::unreadable(format!("a line of {} bytes", line.len())),
            false => serde_json::from_slice(&line)
                .map_or_else(|_| TraceLine::unreadable("this line is damaged"), TraceLine::Event),
        });
    }
    let more = next < length && !events.is_empty();
    redacted(context, &TracePage { events, next, more })
}
