//! `marvin runs show` and `marvin inspect-run`: a summary of a run.

use super::show_workflow;
use super::which::RunName;
use crate::commands::fleet;
use crate::failure::Failure;
use crate::output;
use crate::project::run_directories;
use clap::Args;
use marvin_base::printable::count;
use marvin_base::run_record::{RunKind, RunStatus};
use marvin_base::trace_event::HookVerification;
use marvin_base::{Exit, truncate};
use marvin_hooks::inspect::{self, Inspection};
use marvin_lab::self_improve::{self, BatchReport, Report, SessionReport};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Items of a kind that are shown one by one; the rest is counted.
const MAX_LISTED_ITEMS: usize = 12;

/// Show what happened in a run
#[derive(Debug, Args)]
#[command(
    after_help = "Without a run: the newest of this project. A run is named by its id, the beginning of its id, or its directory.\n\nExamples:\n  marvin runs show\n  marvin runs show run_20260203_040506_1a2b\n  marvin runs show --run-path .marvin/runs/run_20260203_040506_1a2b --timeline\n  marvin runs show --json | jq .tools"
)]
pub(crate) struct ShowRunArguments {
    #[command(flatten)]
    name: RunName,
    /// Every event in order; of a workflow, every transition
    #[arg(long)]
    timeline: bool,
    /// The project's directory (default: the project around this directory)
    #[arg(long, value_name = "PATH")]
    working_dir: Option<PathBuf>,
    /// As JSON, with everything
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &ShowRunArguments) -> Result<Exit, Failure> {
    let places = run_directories(arguments.working_dir.as_deref())?;
    let path = inspect::find(arguments.name.given(), &places).map_err(Failure::usage)?;
    if marvin_flow::view::is_workflow(&path) {
        if let Some(record) = fleet::record_of(&path)
            && let Err(failure) = fleet::refresh(&path, &record)
        {
            output::talk(&format!("shown as it was last seen here: {failure}"));
        }
        return show_workflow::show(&path, arguments.timeline, arguments.json);
    }
    let inspection = inspect::read(&path);
    let improvement = match inspection.record.manner {
        RunKind::SelfImprove => self_improve::read_report(&path)?,
        _ => None,
    };
    if arguments.json {
        return output::json(&ShownRun { inspection: &inspection, self_improve: improvement.as_ref() });
    }
    let text = match arguments.timeline {
        true => timeline(&inspection),
        false => summary(&inspection, improvement.as_ref()),
    };
    output::line(&output::visible(&text))
}

#[derive(Serialize)]
struct ShownRun<'a> {
    #[serde(flatten)]
    inspection: &'a Inspection,
    #[serde(skip_serializing_if = "Option::is_none")]
    self_improve: Option<&'a Report>,
}

/// The events of a run, one per line.
fn timeline(run: &Inspection) -> String {
    let mut shown = format!("run          {}\nwhen         {}\n\n", run.path.display(), when(run));
    for event in &run.trace {
        let detail = truncate::line(&detail(event), 160);
        let line = format!("{}  {:24}  {detail}", text(event, "timestamp"), text(event, "type"));
        shown.push_str(line.trim_end());
        shown.push('\n');
    }
    shown
}

/// What an event is about: a call with its outcome, a text, or a reason.
fn detail(event: &Value) -> String {
    let holder = event.get("item").unwrap_or(event);
    let called = [text(holder, "name"), text(holder, "tool")].into_iter().find(|name| !name.is_empty());
    let Some(name) = called else {
        let keys = ["text", "summary", "reason", "message", "status", "prompt", "model"];
        return keys
            .iter()
            .map(|key| text(holder, key))
            .find(|found| !found.is_empty())
            .unwrap_or_default()
            .to_string();
    };
    let arguments = match holder.get("arguments") {
        Some(arguments) => arguments.to_string(),
        None => text(holder, "input_summary").to_string(),
    };
    let outcome = match (holder.get("verdict").map(|verdict| text(verdict, "decision")), holder.get("ok")) {
        (Some(decision @ ("ask" | "deny")), _) => format!(" ({decision})"),
        (_, Some(Value::Bool(false))) => " (failed)".to_string(),
        _ => String::new(),
    };
    format!("{name}{outcome} {arguments}")
}

fn summary(run: &Inspection, improvement: Option<&Report>) -> String {
    let mut rows: Vec<(&str, Vec<String>)> = vec![("run", vec![run.path.display().to_string()])];
    rows.push(("what", vec![what(run)]));
    rows.push(("when", vec![when(run)]));
    rows.extend(improvement.into_iter().flat_map(improvement_rows));
    let packs = run.packs().into_iter().map(|(name, version)| match version {
        Some(version) => format!("{name} {version}"),
        None => name,
    });
    rows.push(("packs", joined(packs.collect())));
    let calls: u64 = run.tools.values().map(|tool| tool.calls).sum();
    let mut tools = vec![format!("{calls} in all")];
    tools.extend(run.tools.iter().map(|(name, tool)| {
        let mut words = format!("{:6}  {name}", tool.calls);
        for (count, word) in [(tool.failures, "failed"), (tool.refused, "refused")] {
            if count > 0 {
                words.push_str(&format!(", {count} {word}"));
            }
        }
        words
    }));
    rows.push(("tool calls", if run.tools.is_empty() { Vec::new() } else { tools }));
    rows.push(("verdicts", joined(counts(&run.verdicts))));
    rows.push((
        "not allowed",
        some(run.refused.iter().map(|refused| {
            let rule = if refused.rule.is_empty() { String::new() } else { format!(" [{}]", refused.rule) };
            let what = match refused.what.as_str() {
                "" => String::new(),
                what => format!(" `{}`", truncate::line(what, 80)),
            };
            let reason = truncate::line(&refused.reason, 120);
            format!("{} {}{what}: {reason}{rule}", refused.decision, refused.tool)
        })),
    ));
    rows.push(("tampered", some(run.tampered.iter().map(|path| truncate::line(path, 200)))));
    rows.push(("guidance", joined(counts(&run.guidance_kinds))));
    let corrections = run.guidance.iter().filter(|entry| text(entry, "type") == "correction");
    rows.push(("corrections", some(corrections.map(|entry| truncate::line(text(entry, "content"), 120)))));
    rows.push((
        "told",
        match run.injections.len() {
            0 => Vec::new(),
            count => joined([vec![format!("{count} times")], counts(&run.packs_told)].concat()),
        },
    ));
    rows.push((
        "lessons",
        some(run.lessons_told.iter().map(|(lesson, count)| format!("{count:6}  {lesson}"))),
    ));
    rows.push(("snapshots", joined(run.snapshots.clone())));
    rows.push(("verification", verification(run)));
    rows.push(("cost", costs(run)));
    rows.push((
        "damaged",
        some(run.problems.iter().map(|problem| {
            let line = problem.line.map(|line| format!(" line {line}")).unwrap_or_default();
            format!("{}{line}: {}", problem.file, truncate::line(&problem.reason, 120))
        })),
    ));
    let mut shown = String::new();
    for (title, lines) in rows {
        for (index, line) in lines.iter().enumerate() {
            shown.push_str(format!("{:13}{line}", if index == 0 { title } else { "" }).trim_end());
            shown.push('\n');
        }
    }
    shown
}

/// Batches, sessions and energy of a self-improve run, and where its reports are.
fn improvement_rows(report: &Report) -> [(&'static str, Vec<String>); 4] {
    let batch = |batch: &BatchReport| format!("{}: {}", batch.batch_index, batch.summary());
    let session = |session: &SessionReport| {
        let (changes, energy) = (count(session.changed_files.len(), "file"), session.energy());
        format!(
            "{}: {}; {} criteria met, {} passed, energy {energy}, {changes} changed",
            session.session_id,
            truncate::line(&session.verification_reason, 120),
            session.criteria_met(),
            count(session.passed_tests(), "test"),
        )
    };
    let energy = format!("{} planned, {} used", report.energy.planned, report.energy.actual);
    let reports = Path::new(&report.run_root).join("reports");
    [
        ("batches", report.batches.iter().map(batch).collect()),
        ("sessions", some(report.batches.iter().flat_map(|batch| &batch.sessions).map(session))),
        ("energy", vec![energy]),
        ("reports", vec![reports.display().to_string()]),
    ]
}

/// The cost of each model, and of all.
fn costs(run: &Inspection) -> Vec<String> {
    let line = |name: &str, cost: &inspect::Cost| {
        let replies = if cost.replies == 1 { "1 reply".into() } else { format!("{} replies", cost.replies) };
        format!("{name}: {replies}, {} tokens in, {} out, ${:.4}", cost.input, cost.output, cost.usd)
    };
    let mut lines: Vec<String> = run.cost.iter().map(|(model, cost)| line(model, cost)).collect();
    if run.cost.len() > 1 {
        let mut total = inspect::Cost::default();
        for cost in run.cost.values() {
            total.replies += cost.replies;
            total.input = total.input.saturating_add(cost.input);
            total.output = total.output.saturating_add(cost.output);
            total.usd += cost.usd;
        }
        lines.push(line("total", &total));
    }
    lines
}

fn what(run: &Inspection) -> String {
    if run.is_of_hooks() {
        let Some(hooks) = &run.record.hooks else { return "a session of an unknown client".into() };
        let client = match hooks.client.as_str() {
            "claude" => "Claude Code",
            "codex" => "Codex",
            "" => "an unknown client",
            other => other,
        };
        return format!("a session of {client} (session {})", hooks.session_id);
    }
    let goal =
        run.record.goal.as_ref().map(|goal| format!(": {}", truncate::line(goal, 120))).unwrap_or_default();
    let model = run.record.turn.as_ref().map(|turn| format!(" with {}", turn.model)).unwrap_or_default();
    let kind = match run.record.manner {
        RunKind::SelfImprove => "self-improve",
        _ => "a run of Marvin's own",
    };
    format!("{kind}{model}{goal}")
}

fn when(run: &Inspection) -> String {
    let begin = Some(run.record.started_at.as_str()).filter(|stamp| !stamp.is_empty()).unwrap_or("?");
    let until = run.record.ended_at.as_ref().map(|stamp| format!(" to {stamp}")).unwrap_or_default();
    let lasted = run.seconds.map(|seconds| format!(", {}", duration(seconds))).unwrap_or_default();
    let end = match (run.ended, &run.record.end_reason, run.record.status.map(RunStatus::word)) {
        (true, Some(reason), _) => format!(", ended: {reason}"),
        (true, None, status) => {
            let status = status.map(|status| format!(": {}", RunStatus::shown_word(status)));
            format!(", ended{}", status.unwrap_or_default())
        }
        (false, _, _) => ", not ended (it is running, or was interrupted)".to_string(),
    };
    format!("{begin}{until}{lasted}{end}")
}

fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, _) => format!("{seconds:.1} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn verification(run: &Inspection) -> Vec<String> {
    let Some(verification) = &run.verification else { return Vec::new() };
    // What a client's session records.
    let recorded =
        verification.get("verified").and_then(|_| HookVerification::deserialize(verification).ok());
    if let Some(checked) = recorded {
        let outcome = if checked.verified { "verified" } else { "not verified" };
        let sent_back = match checked.sent_back {
            0 => String::new(),
            1 => ", sent back once".to_string(),
            times => format!(", sent back {times} times"),
        };
        let summary = checked.summary.lines().take(MAX_LISTED_ITEMS).map(|line| truncate::line(line, 160));
        return std::iter::once(format!("{outcome}{sent_back}")).chain(summary).collect();
    }
    let commitments = verification.get("commitments").and_then(Value::as_array);
    let mut lines = vec![text(verification, "status").to_string()];
    lines.extend(commitments.into_iter().flatten().take(MAX_LISTED_ITEMS).map(|one| {
        let name =
            if text(one, "description").is_empty() { text(one, "id") } else { text(one, "description") };
        format!("{:14} {}", text(one, "status"), truncate::line(name, 100))
    }));
    lines
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn counts(counts: &BTreeMap<String, u64>) -> Vec<String> {
    counts.iter().map(|(name, count)| format!("{count} {name}")).collect()
}

/// All on one line, or no line.
fn joined(words: Vec<String>) -> Vec<String> {
    if words.is_empty() { words } else { vec![words.join(", ")] }
}

/// The first few, and how many more there are.
fn some(lines: impl Iterator<Item = String>) -> Vec<String> {
    let lines: Vec<String> = lines.collect();
    let more = lines.len().saturating_sub(MAX_LISTED_ITEMS);
    let mut shown: Vec<String> = lines.into_iter().take(MAX_LISTED_ITEMS).collect();
    if more > 0 {
        shown.push(format!("… and {more} more (--json shows all)"));
    }
    shown
}
