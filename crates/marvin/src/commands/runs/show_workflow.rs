//! The steps of a workflow run, and how they got there.

use crate::failure::Failure;
use crate::output;
use marvin_base::{Exit, clock, truncate};
use marvin_flow::record::StepStatus;
use marvin_flow::view::{StepView, View};
use std::path::Path;

/// Rows that are shown; the rest is counted.
const MAX_LISTED_ROWS: usize = 200;

/// Shows a run of a workflow.
pub(super) fn show(path: &Path, timeline: bool, as_json: bool) -> Result<Exit, Failure> {
    let view = View::read(path, &output::environment_redactor())?;
    if as_json {
        return output::json(&view.json(timeline));
    }
    let text = if timeline { transitions(&view) } else { table(&view) };
    output::line(&output::visible(&text))
}

fn head(view: &View) -> String {
    let counts: Vec<String> =
        view.counts.iter().map(|(status, count)| format!("{count} {}", status.to_lowercase())).collect();
    let goal =
        if view.goal.is_empty() { String::new() } else { format!(": {}", truncate::line(&view.goal, 100)) };
    let holder = view.holder.as_ref().map(|holder| format!(", held by {holder}")).unwrap_or_default();
    format!(
        "run          {}\nworkflow     {}{goal}\nstatus       {}{holder}\nsteps        {}\nsync         {}\n",
        view.path.display(),
        view.workflow_id,
        view.status(),
        counts.join(", "),
        view.sync
    )
}

fn took(step: &StepView) -> String {
    match (step.begun_ms, step.at_ms) {
        (Some(begun), Some(at)) if at > begun => format!("{:.1} s", (at - begun) as f64 / 1000.0),
        _ => String::new(),
    }
}

fn table(view: &View) -> String {
    let mut text = head(view);
    let wide = view
        .steps
        .iter()
        .take(MAX_LISTED_ROWS)
        .map(|step| step.step_id.chars().count())
        .max()
        .unwrap_or(4)
        .clamp(4, 32);
    let workers = view
        .steps
        .iter()
        .take(MAX_LISTED_ROWS)
        .map(|step| step.worker.chars().count())
        .max()
        .unwrap_or(6)
        .clamp(6, 20);
    text.push_str(&format!(
        "\n{:13}  {:wide$}  {:workers$}  {:>5}  {:>8}  detail\n",
        "status", "step", "worker", "tries", "took"
    ));
    // A person looks first for the steps that are not complete.
    let mut steps: Vec<&StepView> = view.steps.iter().collect();
    if steps.len() > MAX_LISTED_ROWS {
        steps.sort_by_key(|step| step.status.is_complete());
    }
    for step in steps.iter().take(MAX_LISTED_ROWS) {
        let line = format!(
            "{:13}  {:wide$}  {:workers$}  {:>5}  {:>8}  {}",
            step.status.word(),
            truncate::line(&step.step_id, 32),
            truncate::line(&step.worker, 20),
            step.attempts,
            took(step),
            truncate::line(&step.detail, 100)
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if view.steps.len() > MAX_LISTED_ROWS {
        text.push_str(&format!("… and {} more (--json shows all)\n", view.steps.len() - MAX_LISTED_ROWS));
    }
    if !view.retries.is_empty() {
        text.push_str("\nretries\n");
    }
    for retry in view.retries.iter().take(MAX_LISTED_ROWS) {
        let verdict = if retry.allowed { "allowed" } else { "refused" };
        let how = retry.strategy.as_ref().map(|strategy| format!(" → {strategy}")).unwrap_or_default();
        let code = retry.code.as_ref().map(|code| format!(" [{code}]")).unwrap_or_default();
        let lesson = retry.lesson.as_ref().map(|lesson| format!("; lesson {lesson}")).unwrap_or_default();
        text.push_str(&format!(
            "{verdict:13}  {} after attempt {}{how}: {}{code}{lesson}\n",
            retry.step_id,
            retry.attempt,
            truncate::line(&retry.reason, 200)
        ));
    }
    let waiting: Vec<&StepView> =
        view.steps.iter().filter(|step| step.status == StepStatus::Blocked).collect();
    if !waiting.is_empty() {
        text.push_str("\nwaiting for a person\n");
    }
    for step in waiting.iter().take(MAX_LISTED_ROWS) {
        let kind = step.blocked.as_deref().unwrap_or_default();
        text.push_str(&format!("{kind:13}  {}: {}\n", step.step_id, truncate::line(&step.detail, 200)));
    }
    if !view.artifacts.is_empty() {
        text.push_str("\nartifacts\n");
    }
    for artifact in view.artifacts.iter().take(MAX_LISTED_ROWS) {
        let step = truncate::line(&artifact.step_id, 13);
        text.push_str(&format!("{step:13}  {}  {}\n", artifact.artifact.path, artifact.artifact.sha256));
    }
    text
}

fn transitions(view: &View) -> String {
    let mut text = head(view);
    text.push('\n');
    for moment in &view.timeline {
        let when = clock::stamp_of(moment.at_ms);
        let attempt =
            if moment.attempt > 0 { format!(" (attempt {})", moment.attempt) } else { String::new() };
        let detail = if moment.detail.is_empty() {
            String::new()
        } else {
            format!(": {}", truncate::line(&moment.detail, 160))
        };
        text.push_str(&format!("{when}  {:13}  {}{attempt}{detail}\n", moment.status.word(), moment.step_id));
    }
    text
}
