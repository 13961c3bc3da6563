//! The report on a run: a session of Claude Code or Codex that the hooks recorded, or a run of Marvin's own.
//!
//! Everything is read from the run's directory and nothing is written. A run may have been interrupted, or may still be
//! active: damaged lines are counted and reported, an incomplete last line was never acknowledged and is reported apart,
//! and missing parts are left out. Reading is bounded; parts beyond the limits are reported too.

mod find;
mod lines;
#[cfg(test)]
mod tests;

pub use find::{NotFound, find};
pub use lines::Problem;

use jiff::Timestamp;
use lines::RunReader;
use marvin_base::ledger::{self, LedgerError, chain};
use marvin_base::run_record::{RunKind, RunRecord};
use marvin_base::truncate;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The content of a run's directory, with counts.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    /// The run's id.
    pub run: String,
    pub path: PathBuf,
    /// From the start to the end, or to the last event.
    pub seconds: Option<f64>,
    pub ended: bool,
    pub tools: BTreeMap<String, Tool>,
    pub events: BTreeMap<String, u64>,
    /// The gate's verdicts by decision.
    pub verdicts: BTreeMap<String, u64>,
    /// Questions and denials.
    pub refused: Vec<GateRefusal>,
    pub guidance_kinds: BTreeMap<String, u64>,
    /// Injections per pack.
    pub packs_told: BTreeMap<String, u64>,
    /// Injections per lesson, as `pack: title`.
    pub lessons_told: BTreeMap<String, u64>,
    /// The result of the last verification.
    pub verification: Option<Value>,
    /// Per model.
    pub cost: BTreeMap<String, Cost>,
    /// Snapshots before compactions.
    pub snapshots: Vec<String>,
    pub problems: Vec<Problem>,
    /// `run.json` as it is.
    pub facts: Value,
    /// The known fields of `run.json`.
    #[serde(skip)]
    pub record: RunRecord,
    /// `security-metrics.json`.
    pub security: Option<Value>,
    /// Protected paths that programs changed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub tampered: BTreeSet<String>,
    pub guidance: Vec<Value>,
    pub injections: Vec<Value>,
    pub lesson_outcomes: Vec<Value>,
    pub trace: Vec<Value>,
}

/// Counts of one tool's calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    pub calls: u64,
    pub failures: u64,
    pub refused: u64,
}

/// A question or a denial of the gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateRefusal {
    pub timestamp: String,
    /// `ask` or `deny`.
    pub decision: String,
    pub tool: String,
    /// A summary of the call.
    pub what: String,
    pub reason: String,
    pub rule: String,
}

/// Replies, tokens and US dollars of one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    pub replies: u64,
    pub input: u64,
    pub output: u64,
    pub usd: f64,
}

const MAX_TRACE_BYTES: u64 = 256 * 1024 * 1024;
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Reads the directory of a run.
#[must_use]
pub fn read(directory: &Path) -> Inspection {
    let run = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut inspection = Inspection { run, path: directory.to_path_buf(), ..Inspection::default() };
    let mut read = RunReader { directory, problems: Vec::new() };
    inspection.facts = read.object("run.json", MAX_FILE_BYTES).unwrap_or(Value::Null);
    inspection.record = RunRecord::deserialize(&inspection.facts).unwrap_or_default();
    inspection.security = read.object("security-metrics.json", MAX_FILE_BYTES);
    inspection.trace = read.lines("trace.jsonl", MAX_TRACE_BYTES);
    inspection.guidance = read.lines("guidance.jsonl", MAX_FILE_BYTES);
    inspection.injections = read.lines("injections.jsonl", MAX_FILE_BYTES);
    inspection.lesson_outcomes = read.lines("lesson-outcomes.jsonl", MAX_FILE_BYTES);
    let costs = read.lines("cost.jsonl", MAX_FILE_BYTES);
    inspection.snapshots = read.names("snapshot-", ".json");
    if inspection.facts.is_null() && !read.problems.iter().any(|problem| problem.file == "run.json") {
        read.problem("run.json", None, "it is not there");
    }
    // A run that was brought by a repository or an older version has no chain to hold it against.
    for file in ["trace.jsonl", "cost.jsonl", "guidance.jsonl", "injections.jsonl"] {
        let path = directory.join(file);
        if chain::head_path(&path).is_file()
            && let Err(LedgerError::Broken { found, .. }) = ledger::read_chained(&path)
        {
            read.problem(file, None, format!("its hash chain is broken: {found}"));
        }
    }
    inspection.problems = read.problems;
    inspection.count_trace();
    inspection.count_rest(&costs);
    inspection
}

impl Inspection {
    /// Is it a session of another program, which hooks recorded?
    #[must_use]
    pub fn is_of_hooks(&self) -> bool {
        self.record.manner == RunKind::Hooks
    }

    fn count_trace(&mut self) {
        let trace = std::mem::take(&mut self.trace);
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for event in &trace {
            let kind = text(event, "type");
            count(&mut self.events, kind);
            match kind {
                "item.completed" => self.count_item(event),
                "notice" if text(event, "kind") == "tampering" => {
                    let paths = list(event, "paths").filter_map(Value::as_str).map(str::to_string);
                    self.tampered.extend(paths);
                }
                kind if kind.starts_with("hook.") => self.count_hook(kind, event, &mut seen),
                _ => {}
            }
            let proof = event.get("verification").filter(|value| value.is_object());
            if let Some(proof) = proof {
                self.verification = Some(proof.clone());
            }
        }
        self.trace = trace;
    }

    /// A call of a tool in a run of our own.
    fn count_item(&mut self, event: &Value) {
        let item = event.get("item").unwrap_or(&Value::Null);
        if text(item, "type") != "tool_call" {
            return;
        }
        let tool = self.tools.entry(text(item, "name").to_string()).or_default();
        tool.calls += 1;
        let refused = item.get("verdict").is_some_and(|verdict| text(verdict, "decision") != "allow");
        tool.failures += u64::from(!refused && item.get("ok") == Some(&Value::Bool(false)));
        let what = item.get("arguments").map(Value::to_string).unwrap_or_default();
        self.count_verdict(item, text(event, "timestamp"), text(item, "name"), &what);
    }

    /// An event of a client's session. A call has an event before and after it; its id joins the two.
    fn count_hook(&mut self, kind: &str, event: &Value, seen: &mut BTreeSet<String>) {
        let name = text(event, "tool");
        let failed =
            kind == "hook.post-tool-use-failure" || event.get("success") == Some(&Value::Bool(false));
        if !name.is_empty()
            && matches!(kind, "hook.pre-tool-use" | "hook.post-tool-use" | "hook.post-tool-use-failure")
        {
            let id = text(event, "tool_use_id");
            let first = if id.is_empty() { kind == "hook.pre-tool-use" } else { seen.insert(id.to_string()) };
            let tool = self.tools.entry(name.to_string()).or_default();
            tool.calls += u64::from(first);
            tool.failures += u64::from(failed && kind != "hook.pre-tool-use");
        }
        let what = text(event, "input_summary").to_string();
        self.count_verdict(event, text(event, "timestamp"), name, &what);
    }

    fn count_verdict(&mut self, holder: &Value, timestamp: &str, tool: &str, what: &str) {
        let Some(verdict) = holder.get("verdict").filter(|verdict| verdict.is_object()) else { return };
        let decision = text(verdict, "decision");
        count(&mut self.verdicts, decision);
        if decision == "deny" {
            self.tools.entry(tool.to_string()).or_default().refused += 1;
        }
        if decision != "allow" {
            self.refused.push(GateRefusal {
                timestamp: timestamp.to_string(),
                decision: decision.to_string(),
                tool: tool.to_string(),
                what: truncate::line(what, 200),
                reason: text(verdict, "reason").to_string(),
                rule: text(verdict, "rule").to_string(),
            });
        }
    }

    fn count_rest(&mut self, costs: &[Value]) {
        for entry in &self.guidance {
            count(&mut self.guidance_kinds, text(entry, "type"));
        }
        for entry in &self.injections {
            for pack in list(entry, "packs_injected").filter_map(Value::as_str) {
                count(&mut self.packs_told, pack);
            }
            for lesson in list(entry, "lessons") {
                count(
                    &mut self.lessons_told,
                    &format!("{}: {}", text(lesson, "pack"), text(lesson, "title")),
                );
            }
        }
        for line in costs {
            let cost = self.cost.entry(text(line, "model").to_string()).or_default();
            let number = |key: &str| line.get(key).and_then(Value::as_u64).unwrap_or_default();
            cost.replies += 1;
            cost.input = cost.input.saturating_add(number("input"));
            cost.output = cost.output.saturating_add(number("output"));
            cost.usd += line.get("cost_nanos").and_then(Value::as_f64).unwrap_or_default() / 1e9;
        }
        let proof = self.facts.get("verification").filter(|value| value.is_object());
        self.verification = proof.cloned().or(self.verification.take());
        self.ended = self.record.ended_at.is_some();
        let last = self.trace.last().map(|event| text(event, "timestamp")).filter(|stamp| !stamp.is_empty());
        let moment = |stamp: Option<&str>| stamp.and_then(|stamp| stamp.parse::<Timestamp>().ok());
        let begin = moment(Some(&self.record.started_at));
        let end = moment(self.record.ended_at.as_deref().or(last));
        self.seconds = begin.zip(end).map(|(begin, end)| end.duration_since(begin).as_secs_f64());
    }

    /// The packs that were active, with their versions where they are known.
    #[must_use]
    pub fn packs(&self) -> Vec<(String, Option<String>)> {
        let Some(hooks) = &self.record.hooks else { return Vec::new() };
        let version = |name: &String| hooks.pack_versions.get(name).cloned();
        hooks.active_packs.iter().map(|name| (name.clone(), version(name))).collect()
    }
}

fn count(counts: &mut BTreeMap<String, u64>, key: &str) {
    *counts.entry(key.to_string()).or_default() += 1;
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}
