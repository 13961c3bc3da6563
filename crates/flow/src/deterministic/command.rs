//! `Command`: a command line of the workflow, judged by the gate and run in the sandbox like every other.
//!
//! Inputs: `command` (a line for bash) and optionally `artifacts` (files that it must create). Outputs: `exit_code`,
//! `stdout`, `stderr`. The environment holds the key of the attempt in `MARVIN_STEP_KEY`, and `MARVIN_STEP`,
//! `MARVIN_STEP_ATTEMPT` and `MARVIN_STEP_STRATEGY`; every other input is a variable too, `MARVIN_INPUT_<name>`, so that the
//! output of another step never becomes part of the line.
//!
//! With `poll` the command runs again after a pause, until it succeeds and what `until` asks for holds, or the number of
//! polls is reached. That is one attempt: a retry would have to change something.
//!
//! After a crash: when Marvin dies, the keeper ends the command at once. A command that had ended before left its exit code
//! and output in the run directory, and these are used. One that had not ended may have done nothing, a part, or all of its
//! work, so a person is asked, unless the step says `repeatable: true`. A command can make itself repeatable by checking
//! whether its work was done under its key.
//!
//! Limits: a command can write where its exit code and output are kept. One that forges them deceives a run that crashes,
//! and no other.

use crate::retry::POLLS_EXHAUSTED;
use crate::retry::ladder::STRATEGY_VARIABLE;
use crate::worker::{Order, Report, Status, Worker};
use crate::workers::verify;
use async_trait::async_trait;
use marvin_agent::ProjectContext;
use marvin_base::child::Ending;
use marvin_base::truncate;
use marvin_gate::{Decision, Verdict, Workspace, decide_approved_command, decide_command};
use marvin_tools::ToolContext;
use marvin_tools::command::{LineOutcome, OutputFiles, run_kept};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Bytes of stdout and of stderr that become outputs.
const MAX_STREAM_BYTES: usize = 64 * 1024;
/// The longest input that becomes an environment variable.
const MAX_VARIABLE_BYTES: usize = 100_000;
/// How long a command may take unless its step says otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3_600);
/// Exit codes that a shell reports of a process that SIGKILL or SIGTERM ended.
const SIGNAL_EXIT_CODES: [i32; 2] = [128 + 9, 128 + 15];
/// How long to wait for the processes of a dead run.
const ORPHAN_EXIT_TIMEOUT: Duration = Duration::from_secs(20);

/// The worker that runs command lines.
#[derive(Debug)]
pub struct Command {
    project: Arc<ProjectContext>,
}

impl Command {
    #[must_use]
    pub fn new(project: Arc<ProjectContext>) -> Self {
        Command { project }
    }

    /// Verifies the commitments of the step: exit code 0 alone is only a claim.
    async fn verified(&self, order: &Order, report: Report, cancel: &CancellationToken) -> Report {
        if report.status != Status::Success || order.commitments.is_empty() {
            return report;
        }
        let verdict = match verify(&self.project, order, cancel).await {
            Ok(verdict) => verdict,
            Err(error) => return Report::failed(order, "not-verified:refused", error.to_string()),
        };
        let mut report = report;
        if let Some((passed, failed)) = verdict.tests {
            report.metrics.insert("passed_tests".into(), passed.into());
            report.metrics.insert("failing_tests".into(), failed.into());
        }
        if !verdict.verified {
            report.status = Status::Failure;
            report.summary = verdict.summary;
            report.failure_signature = verdict.failure_signature.or_else(|| Some("not-verified".into()));
        }
        report
    }

    fn output_files(order: &Order) -> OutputFiles {
        let variables = [
            ("MARVIN_STEP_KEY", order.key.clone()),
            ("MARVIN_STEP", order.step_id.clone()),
            ("MARVIN_STEP_ATTEMPT", order.attempt.to_string()),
            (STRATEGY_VARIABLE, order.strategy_id.clone()),
        ];
        let mut variables: BTreeMap<String, String> =
            variables.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        variables.extend(order.inputs.iter().filter_map(|(name, value)| variable(name, value)));
        OutputFiles { place: output_directory(&order.run_directory).join(&order.key), variables }
    }
}

/// The directory with the exit codes and outputs of commands.
fn output_directory(run_directory: &Path) -> PathBuf {
    run_directory.join("logs").join("commands")
}

/// An input as an environment variable.
fn variable(name: &str, value: &Value) -> Option<(String, String)> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !plain || matches!(name, "command" | "artifacts" | "timeout_s") {
        return None;
    }
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => return None,
        other => other.to_string(),
    };
    (text.len() <= MAX_VARIABLE_BYTES && !text.contains('\0')).then(|| (format!("MARVIN_INPUT_{name}"), text))
}

fn line(order: &Order) -> Option<&str> {
    order.inputs.get("command").and_then(Value::as_str).filter(|line| !line.trim().is_empty())
}

fn artifacts(order: &Order) -> Vec<String> {
    let listed = order.inputs.get("artifacts").and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_string).collect()
}

/// The report of a command that exited with this code.
fn exited(order: &Order, code: i32, out: &str, err: &str) -> Report {
    let mut outputs = Map::new();
    outputs.insert("exit_code".into(), code.into());
    outputs.insert("stdout".into(), truncate::middle(out, MAX_STREAM_BYTES).into());
    outputs.insert("stderr".into(), truncate::middle(err, MAX_STREAM_BYTES).into());
    let summary = match code {
        0 => "exit code 0".to_string(),
        code => {
            let last = |stream: &str| {
                let line = stream.lines().rfind(|line| !line.trim().is_empty());
                line.map(|line| truncate::line(line, 200))
            };
            match (last(err), last(out)) {
                (Some(error), _) => format!("exit code {code}: {error}"),
                (None, Some(output)) => format!("exit code {code}, no message; stdout ends with: {output}"),
                (None, None) => format!("exit code {code}, no output"),
            }
        }
    };
    let status = if code == 0 { Status::Success } else { Status::Failure };
    Report {
        outputs,
        artifacts: artifacts(order),
        failure_signature: (code != 0).then(|| format!("exit-{code}")),
        ..Report::new(order, status, summary)
    }
}

/// The report of a command that the gate does not allow.
fn refused(order: &Order, line: &str, verdict: &Verdict, context: &ToolContext) -> Report {
    let asks = verdict.decision == Decision::Ask;
    let allow = match context.learnable(line).is_ok() {
        true if asks => format!("; `marvin gate learned add {line:?}` allows it always"),
        _ => String::new(),
    };
    let why = format!(
        "the gate does not allow it: {} [{}]\n  hint: `marvin gate explain {line:?}` says more{allow}",
        verdict.reason, verdict.rule,
    );
    // What a person could allow waits for one; the rest has failed.
    let status = if asks { Status::Blocked } else { Status::Failure };
    Report { status, ..Report::failed(order, "refused", why) }
}

fn not_exited(order: &Order, ran: &LineOutcome, out: &str, err: &str) -> Report {
    let signature = match ran.ending {
        Ending::Late => "timeout",
        Ending::Cancelled => "interrupted",
        Ending::Crowded => "too-many-processes",
        Ending::Exited(_) | Ending::Signalled(_) => "signal",
    };
    let why = ran.error.clone().unwrap_or_default();
    let mut report = exited(order, -1, out, err);
    report.outputs.insert("exit_code".into(), Value::Null);
    Report { status: Status::Failure, summary: why, failure_signature: Some(signature.into()), ..report }
}

#[async_trait]
impl Worker for Command {
    fn writes(&self, _: &Order) -> bool {
        true
    }

    fn repeatable(&self, order: &Order) -> bool {
        order.poll.is_some()
    }

    fn gives_facts(&self) -> bool {
        true
    }

    fn recall(&self, order: &Order) -> Option<Report> {
        // Its child processes end with the process that died, but not at the same moment.
        let until = Instant::now() + ORPHAN_EXIT_TIMEOUT;
        while is_running(&order.key) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let kept = Command::output_files(order);
        // A recorded exit code does not say whether the commitments hold: they must be verified again.
        let code = kept.code().filter(|code| *code != 0 || order.commitments.is_empty())?;
        // A poll that failed says nothing about the next one, and a command that was ended by a signal did an unknown part.
        if order.poll.is_some() && code != 0 || SIGNAL_EXIT_CODES.contains(&code) {
            return None;
        }
        let clean = |ending: &str| self.project.redactor.text(&kept.output(ending)).into_owned();
        Some(exited(order, code, &clean(".out"), &clean(".err")))
    }

    async fn work(&self, order: &Order, cancel: &CancellationToken) -> Report {
        let Some(poll) = &order.poll else { return self.run_once(order, cancel).await };
        let mut polls = 0;
        loop {
            let mut report = self.run_once(order, cancel).await;
            polls += 1;
            report.metrics.insert("polls".into(), polls.into());
            if polls >= poll.max_attempts && is_pending(&report) {
                report.summary = format!("not yet after {polls} polls: {}", report.summary);
                report.failure_signature = Some(POLLS_EXHAUSTED.into());
                return report;
            }
            if !is_pending(&report) || cancel.is_cancelled() {
                return report;
            }
            tokio::select! {
                () = cancel.cancelled() => return report,
                () = tokio::time::sleep(poll.every.0) => {}
            }
        }
    }
}

/// Whether a poll brought neither success nor a failure that stays: the command failed, or a commitment does not hold.
fn is_pending(report: &Report) -> bool {
    let signature = report.failure_signature.as_deref().unwrap_or_default();
    signature.starts_with("exit-") || signature.starts_with("not-verified")
}

impl Command {
    async fn run_once(&self, order: &Order, cancel: &CancellationToken) -> Report {
        let Some(line) = line(order) else {
            return Report::failed(
                order,
                "no-command",
                "the step has no input `command`, the command line to run",
            );
        };
        let mut context = self.project.tool_context(cancel.clone(), None);
        let own = context.workspace.as_deref().map(Workspace::root);
        if own != Some(order.workspace.as_path()) {
            match Workspace::open(&order.workspace, context.layout.home()) {
                Ok(workspace) => context.workspace = Some(Arc::new(workspace)),
                Err(refusal) => return Report::failed(order, "workspace", refusal.to_string()),
            }
        }
        // No person is asked now: a step that needs one is parked.
        context.attended = true;
        let judged = match order.is_approved {
            true => decide_approved_command(line, &context.gate()).await,
            false => decide_command(line, &context.gate()).await,
        };
        let command = match judged {
            Ok(command) => command,
            Err(verdict) => return refused(order, line, &verdict, &context),
        };
        let kept = Command::output_files(order);
        let directory = output_directory(&order.run_directory);
        if let Err(error) = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory) {
            return Report::failed(
                order,
                "record",
                format!("cannot create the directory for its output: {error}"),
            );
        }
        let seconds = order.inputs.get("timeout_s").and_then(Value::as_u64);
        let deadline = match seconds {
            Some(seconds) => Duration::from_secs(seconds.clamp(1, 86_400)),
            None => DEFAULT_TIMEOUT,
        };
        let (ran, out, err) = match run_kept(command, deadline, &kept, &context).await {
            Ok(ran) => ran,
            Err(error) => return Report::failed(order, "could-not-run", error.to_string()),
        };
        for (ending, text) in [(".out", &out), (".err", &err)] {
            let clean = self.project.redactor.text(text);
            if *clean != **text
                && let Err(error) = kept.put(ending, &clean)
            {
                return Report::failed(order, "record", error.to_string());
            }
        }
        let ours: Vec<&str> =
            ran.tampered.iter().map(String::as_str).filter(|path| path.starts_with(".marvin")).collect();
        if !ours.is_empty() {
            let why = format!("the record was changed while it ran: {}", ours.join(", "));
            return Report::failed(order, "record-changed", why);
        }
        match ran.ending {
            Ending::Exited(code) => {
                let mut report = self.verified(order, exited(order, code, &out, &err), cancel).await;
                if !ran.tampered.is_empty() {
                    let paths = ran.tampered.join(", ");
                    report.summary = format!("{}; it changed protected files: {paths}", report.summary);
                }
                report
            }
            Ending::Signalled(_) | Ending::Late | Ending::Cancelled | Ending::Crowded => {
                not_exited(order, &ran, &out, &err)
            }
        }
    }
}

/// Does a process of this attempt still run? Child processes carry the key in their environment. Where processes cannot be listed, it
/// may run.
fn is_running(key: &str) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    let mark = format!("MARVIN_STEP_KEY={key}");
    let own = std::process::id().to_string();
    processes.flatten().any(|entry| {
        let name = entry.file_name();
        let is_process =
            name.to_str().is_some_and(|name| name != own && name.bytes().all(|byte| byte.is_ascii_digit()));
        is_process
            && std::fs::read(entry.path().join("environ")).is_ok_and(|environment| {
                environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
            })
    })
}
