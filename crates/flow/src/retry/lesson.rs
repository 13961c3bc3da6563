//! What a failed attempt taught, from facts: what was tried, how it ended, what was measured, what changes. What a worker said
//! of it is quoted as its claim. The same attempts give the same lesson, under the same id, so that it is one file
//! also when it is written twice.

use super::Attempt;
use super::decide::Task;
use super::ladder::{self, Strategy};
use marvin_base::{signature, truncate};
use marvin_memory::lessons::{Header, Lesson};
use serde_json::Value;
use std::collections::BTreeSet;

/// Characters of what was reported of an attempt.
const CLAIM: usize = 800;

/// Characters of it in the hypothesis of the cause.
const CAUSE: usize = 300;

/// The lesson of the last of these attempts. Its timestamp is whoever writes it down's.
pub(super) fn build_lesson(
    task: &Task<'_>,
    attempts: &[Attempt],
    next: &Strategy,
    change: String,
    evidence: String,
) -> Lesson {
    let Some(last) = attempts.last() else { return Lesson::default() };
    let failure = last.failure_signature.clone().unwrap_or_else(|| "unnamed".into());
    let component = match task.inputs.get("component") {
        Some(Value::String(component)) if !component.trim().is_empty() => truncate::line(component, 80),
        _ => task.worker.to_string(),
    };
    let kind = failure.split(':').next().unwrap_or_default().to_string();
    let tags: BTreeSet<String> = [
        task.step_id.to_string(),
        component.clone(),
        last.worker_type.clone(),
        last.strategy_id.clone(),
        kind,
        "retry".to_string(),
    ]
    .into_iter()
    .filter(|tag| !tag.is_empty())
    .collect();
    let mut cause = format!(
        "{} with strategy `{}` ended in `{failure}`: {}",
        last.worker_type,
        last.strategy_id,
        last.progress.words()
    );
    if !last.summary.trim().is_empty() {
        cause.push_str(&format!("; reported: {}", truncate::line(&last.summary, CAUSE)));
    }
    let body = body(task, attempts, next, &change, &evidence);
    Lesson {
        header: Header {
            id: id(task, last),
            timestamp: String::new(),
            task_id: task.run_id.to_string(),
            step_id: task.step_id.to_string(),
            failure_signature: failure,
            strategy_id: next.strategy_id.clone(),
            tags: tags.into_iter().collect(),
            component,
            root_cause_hypothesis: cause,
            strategy_change: change,
            evidence_of_novelty: evidence,
        },
        body,
    }
}

/// `lesson-<uuid>`, out of what the lesson is about.
fn id(task: &Task<'_>, last: &Attempt) -> String {
    let digits = signature::hash(&(task.run_id, task.step_id, last.attempt_id, &last.call_signature));
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    // The form of a UUID of version 8: digits of one's own.
    format!("lesson-{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}

fn body(task: &Task<'_>, attempts: &[Attempt], next: &Strategy, change: &str, evidence: &str) -> String {
    let mut text = format!(
        "# Step `{}` failed at attempt {}\n\nGoal: {}\n\n## What was tried\n",
        task.step_id,
        attempts.len(),
        truncate::line(task.goal, 300)
    );
    for attempt in attempts {
        text.push_str(&format!(
            "{}. {}, strategy `{}`, stage {}: `{}`; {}\n",
            attempt.attempt_id,
            attempt.worker_type,
            attempt.strategy_id,
            attempt.retrieval_stage,
            attempt.failure_signature.as_deref().unwrap_or("unnamed"),
            attempt.progress.words(),
        ));
        let claim = truncate::line(&attempt.summary, CLAIM);
        if !claim.trim().is_empty() {
            text.push_str(&format!("   Reported: {claim}\n"));
        }
    }
    text.push_str(&format!(
        "\n## What changes\n{change}.\n{}\n\n## What is new\n{evidence}.\n",
        ladder::meaning(&next.strategy_id)
    ));
    text
}
