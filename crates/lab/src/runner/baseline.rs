//! The baseline runner: one agent, one session, no commitments. Its final answer is its claim.

use super::{AttemptDirectory, Bench, Runner, RunnerReport, Watcher, open_project, prompt};
use crate::error::LabError;
use crate::task::Task;
use marvin_agent::session::Manner;
use marvin_agent::{Notice, Session, SessionOptions, Status};
use marvin_model::price::dollars;
use serde_json::Value;

pub(super) async fn solve(
    task: &Task,
    attempt: &AttemptDirectory,
    bench: &Bench,
) -> Result<RunnerReport, LabError> {
    let project = open_project(Runner::Baseline, task, attempt, bench)?;
    let watcher = Watcher::new(task, attempt.workspace());
    let watching = watcher.clone();
    let mut session = Session::open(SessionOptions {
        project,
        manner: Manner::Unattended,
        record: None,
        response_schema: None,
        listener: Box::new(move |notice| {
            let Notice::Event(event) = notice else { return };
            let is = |key: &str, wanted: &str| event.pointer(key).and_then(Value::as_str) == Some(wanted);
            if is("/type", "item.completed") && is("/item/type", "tool_call") {
                watching.capture();
            }
        }),
        cancel: bench.cancel.child_token(),
        replay: None,
        commitments: Vec::new(),
        servitors: None,
        turbotime: None,
        approver: None,
    })?;
    session.arm_deadline();
    let outcome = session.turn(&prompt(task)).await?;
    if bench.cancel.is_cancelled() {
        return Err(LabError::Interrupted);
    }
    let totals = session.cost().totals().unwrap_or_default();
    let tokens = totals.tokens.values().fold((0, 0), |sum, (input, output)| (sum.0 + input, sum.1 + output));
    Ok(RunnerReport {
        status: outcome.status.name().to_string(),
        claimed: outcome.status == Status::Success,
        model_calls: totals.turns,
        tool_calls: outcome.calls as u64,
        attempts: 1,
        lessons: 0,
        cost_usd: totals.unpriced.is_empty().then(|| dollars(totals.cost)),
        tokens,
        error: outcome.error,
        states: watcher.states(),
    })
}
