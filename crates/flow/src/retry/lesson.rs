//! Lessons of failed attempts, from facts: the strategy, the failure, the measurements and the next change. The worker's own
//! report is quoted as its claim. The same attempts give the same lesson under the same id, so that writing it twice makes one
//! file.

use super::attempt::Attempt;
use super::decide::StepFacts;
use super::ladder::{self, Strategy};
use marvin_base::{signature, truncate};
use marvin_memory::lessons::{Header, Lesson};
use std::collections::BTreeSet;

/// Characters of a worker's report in the body.
const MAX_CLAIM_CHARS: usize = 800;

/// Characters of a worker's report in the hypothesis of the cause.
const MAX_CAUSE_CHARS: usize = 300;

/// The lesson of the last of these attempts; its timestamp is set when it is written.
pub(super) fn build_lesson(
    facts: StepFacts<'_>,
    attempts: &[Attempt],
    next: &Strategy,
    change: String,
    evidence: String,
) -> Lesson {
    let Some(last) = attempts.last() else { return Lesson::default() };
    let failure = last.failure_signature.clone().unwrap_or_else(|| "unnamed".into());
    let component = facts.component.to_string();
    let kind = failure.split(':').next().unwrap_or_default().to_string();
    let tags: BTreeSet<String> = [
        facts.step_id.to_string(),
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
        last.progress.describe()
    );
    if !last.summary.trim().is_empty() {
        cause.push_str(&format!("; reported: {}", truncate::line(&last.summary, MAX_CAUSE_CHARS)));
    }
    let body = body(facts, attempts, next, &change, &evidence);
    Lesson {
        header: Header {
            id: id(facts, last),
            timestamp: String::new(),
            task_id: facts.run_id.to_string(),
            step_id: facts.step_id.to_string(),
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

/// `lesson-<uuid>`, derived from the attempt.
fn id(facts: StepFacts<'_>, last: &Attempt) -> String {
    let digits = signature::hash(&(facts.run_id, facts.step_id, last.attempt_id, &last.call_signature));
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    // UUID version 8: custom digits.
    format!("lesson-{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}

fn body(facts: StepFacts<'_>, attempts: &[Attempt], next: &Strategy, change: &str, evidence: &str) -> String {
    let mut text = format!(
        "# Step `{}` failed at attempt {}\n\nGoal: {}\n\n## What was tried\n",
        facts.step_id,
        attempts.len(),
        truncate::line(facts.goal, 300)
    );
    for attempt in attempts {
        text.push_str(&format!(
            "{}. {}, strategy `{}`, stage {}: `{}`; {}\n",
            attempt.attempt_id,
            attempt.worker_type,
            attempt.strategy_id,
            attempt.retrieval_stage,
            attempt.failure_signature.as_deref().unwrap_or("unnamed"),
            attempt.progress.describe(),
        ));
        let claim = truncate::line(&attempt.summary, MAX_CLAIM_CHARS);
        if !claim.trim().is_empty() {
            text.push_str(&format!("   Reported: {claim}\n"));
        }
    }
    text.push_str(&format!(
        "\n## What changes\n{change}.\n{}\n\n## What is new\n{evidence}.\n",
        ladder::instruction(&next.strategy_id)
    ));
    text
}
