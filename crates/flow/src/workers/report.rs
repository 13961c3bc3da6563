//! Builds the report of a worker from the outcome of a turn.

use crate::retry::Progress;
use crate::worker::{Order, Report, Status};
use marvin_agent::outcome::{self, Outcome};
use marvin_agent::step_agents::JobResult;
use marvin_agent::{SessionError, protocol};
use marvin_base::truncate;
use serde_json::{Map, Value};
use std::path::{Component, Path};

/// Artifacts that a report lists.
const MAX_REPORTED_ARTIFACTS: usize = 200;

pub(super) fn build_report(order: &Order, done: &JobResult, progress: &Progress, may_end: bool) -> Report {
    let outcome = &done.outcome;
    let (artifacts, missing) = artifacts(&outcome.data, &order.workspace);
    let (status, missing) = match (status(outcome), missing) {
        (Status::Success, Some(missing)) => (Status::Failure, Some(missing)),
        (status, _) => (status, None),
    };
    let signature = |missing: &Option<String>| match missing {
        Some(_) => "artifact-missing".to_string(),
        None => failure(done),
    };
    Report {
        call_id: order.call_id.clone(),
        status,
        failure_signature: (status != Status::Success).then(|| signature(&missing)),
        summary: match missing {
            Some(missing) => format!("it reported the artifact {missing}, which does not exist"),
            None => summary(outcome),
        },
        outputs: protocol::outputs(&outcome.data),
        artifacts,
        metrics: metrics(done, status, progress, may_end),
        next_actions: texts(outcome.data.get("next_actions")),
    }
}

/// The report of an attempt that could not start or be recorded.
pub(super) fn broken(order: &Order, error: &SessionError) -> Report {
    let signature = match error {
        SessionError::Commitment(_) => "commitment-refused",
        SessionError::Record(_) | SessionError::Write(_) => "record-failed",
        SessionError::Model(_) => "model-unavailable",
        _ => "worker-broken",
    };
    Report {
        call_id: order.call_id.clone(),
        status: Status::Failure,
        summary: error.to_string(),
        outputs: Map::new(),
        artifacts: Vec::new(),
        metrics: Map::new(),
        next_actions: Vec::new(),
        failure_signature: Some(signature.into()),
    }
}

fn status(outcome: &Outcome) -> Status {
    match outcome.status {
        outcome::Status::Success => Status::Success,
        outcome::Status::Partial => Status::Partial,
        outcome::Status::Blocked => Status::Blocked,
        outcome::Status::Failed
        | outcome::Status::Budget
        | outcome::Status::Interrupted
        | outcome::Status::NotVerified => Status::Failure,
    }
}

/// The worker's own summary, preceded by the failed commitments if verification failed.
fn summary(outcome: &Outcome) -> String {
    let text = outcome.text.trim();
    if outcome.status != outcome::Status::NotVerified {
        let text = if text.is_empty() { outcome.error.as_deref().unwrap_or_default() } else { text };
        return truncate::head(text, 4_000);
    }
    let none = Vec::new();
    let verification = outcome.verification.last();
    let all = verification
        .and_then(|verification| verification.report.get("commitments")?.as_array())
        .unwrap_or(&none);
    let field = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    let open = all.iter().filter(|one| field(one, "status") != "passed").take(5).map(|one| {
        let (assertion, reason) = (field(one, "assertion"), field(one, "reason"));
        format!(
            "{} {}: {}",
            field(one, "kind"),
            truncate::line(&assertion, 160),
            truncate::line(&reason, 200)
        )
    });
    let open = open.collect::<Vec<_>>().join("; ");
    let counts = verification.map(|verification| verification.summary.as_str()).unwrap_or_default();
    truncate::head(
        &format!("not verified, {counts} ({open}). The worker had said: {}", truncate::line(text, 600)),
        4_000,
    )
}

/// The failure signature; what the shell found takes precedence over the worker's own name for it.
fn failure(done: &JobResult) -> String {
    let outcome = &done.outcome;
    let named = outcome.failure_signature.as_deref().map(|name| truncate::line(name.trim(), 120));
    match outcome.status {
        outcome::Status::NotVerified => format!("not-verified:{}", done.open.join(",")),
        outcome::Status::Budget => outcome.reason.replace('_', "-"),
        outcome::Status::Interrupted => "interrupted".into(),
        _ if outcome.reason == "max_rounds" => "worker-max-iterations".into(),
        _ => named.filter(|name| !name.is_empty()).unwrap_or_else(|| outcome.reason.replace('_', "-")),
    }
}

/// The shell's figures, and the worker's wish to end the workflow if verification supports it.
fn metrics(done: &JobResult, status: Status, progress: &Progress, may_end: bool) -> Map<String, Value> {
    let mut metrics = Map::new();
    for (key, count) in [
        ("model_calls", done.model_calls),
        ("tool_calls", done.tool_calls),
        ("elapsed_ms", done.elapsed_ms),
        ("iteration_count", done.model_calls),
    ] {
        metrics.insert(key.into(), count.into());
    }
    metrics.insert("progress".into(), serde_json::to_value(progress).unwrap_or_default());
    if let Some((passed, failed)) = done.tests {
        metrics.insert("passed_tests".into(), passed.into());
        metrics.insert("failing_tests".into(), failed.into());
    }
    let reported = done.outcome.data.get("metrics");
    let control = reported.and_then(|metrics| metrics.get("workflow_control"));
    let wish = [reported, control]
        .into_iter()
        .flatten()
        .find(|metrics| metrics.get("terminate_workflow") == Some(&Value::Bool(true)));
    if let Some(wish) = wish {
        let verified = done.outcome.verification.last().is_some_and(|last| last.verified && !last.empty);
        let green = done.tests.is_none_or(|(_, failed)| failed == 0);
        if may_end && status == Status::Success && verified && green {
            let reason =
                wish.get("terminate_reason").and_then(Value::as_str).unwrap_or("the goal is reached");
            metrics.insert("terminate_workflow".into(), true.into());
            metrics.insert("terminate_reason".into(), truncate::line(reason, 300).into());
        } else {
            let why = match may_end {
                true => "no verification shows that the goal is reached",
                false => "what must hold at the end of the workflow is verified by its last step",
            };
            metrics.insert("terminate_refused".into(), why.into());
        }
    }
    metrics
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .filter_map(Value::as_str)
        .take(MAX_REPORTED_ARTIFACTS)
        .map(|text| truncate::line(text, 500))
        .collect()
}

/// The reported files that exist in the workspace, as relative paths, and the first that does not.
fn artifacts(data: &Map<String, Value>, workspace: &Path) -> (Vec<String>, Option<String>) {
    let inside = |path: &String| {
        let path = Path::new(path);
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
            && workspace.join(path).symlink_metadata().is_ok_and(|facts| facts.is_file())
    };
    let (mut found, missing): (Vec<String>, Vec<String>) =
        texts(data.get("artifacts")).into_iter().partition(inside);
    found.sort();
    found.dedup();
    (found, missing.into_iter().next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn artifacts_are_files_that_exist_in_the_workspace() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.txt"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", directory.path().join("link")).unwrap();
        let said =
            json!({"artifacts": ["a.txt", "./a.txt", "b.txt", "../x", "/etc/passwd", "link", 7, "a.txt"]});
        let (found, missing) = artifacts(said.as_object().unwrap(), directory.path());
        assert_eq!((found, missing.as_deref()), (vec!["./a.txt".into(), "a.txt".into()], Some("b.txt")));
        assert_eq!(artifacts(&Map::new(), directory.path()), (Vec::new(), None));
    }
}
