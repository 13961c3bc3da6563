//! The decision whether another attempt may follow a failed one.

use super::attempt::Attempt;
use super::graph::CallGraph;
use super::ladder::{self, Strategy};
use super::lesson;
use super::progress::Progress;
use super::seen::AttemptLog;
use super::signatures::{call_signature, failure_key, subtree_signature};
use marvin_base::truncate;
use marvin_memory::lessons::Lesson;
use serde_json::{Map, Value};

/// The failure signature of a step that was polled as often as it allows.
pub const POLLS_EXHAUSTED: &str = "polls-exhausted";

/// Signatures of failures that no other strategy can fix: a spent budget, a cancelled run, a refused commitment.
const FINAL_FAILURES: [&str; 7] = [
    "max-cost",
    "unpriced",
    "interrupted",
    "deadline",
    "record-failed",
    "commitment-refused",
    POLLS_EXHAUSTED,
];

/// A step and the context of its attempts.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    pub run_id: &'a str,
    /// The goal of the workflow.
    pub goal: &'a str,
    pub step_id: &'a str,
    /// The worker that the step names.
    pub worker: &'a str,
    /// Resolved inputs.
    pub inputs: &'a Map<String, Value>,
    /// The ladder of the step; empty: the default one.
    pub ladder: &'a [Strategy],
}

impl Task<'_> {
    /// The strategy of an attempt, counted from 1; none at the end of the ladder.
    #[must_use]
    pub fn strategy(&self, attempt: usize) -> Option<Strategy> {
        ladder::rung(self.worker, self.ladder, attempt)
    }

    /// The component of the step in lessons.
    #[must_use]
    pub fn component(&self) -> String {
        match self.inputs.get("component") {
            Some(Value::String(component)) if !component.trim().is_empty() => truncate::line(component, 80),
            _ => self.worker.to_string(),
        }
    }

    /// The call of an attempt, counted from 1; none at the end of the ladder.
    #[must_use]
    pub fn candidate(&self, attempt: usize) -> Option<Candidate> {
        let strategy = self.strategy(attempt)?;
        Some(Candidate { signature: self.signature(&strategy), strategy })
    }

    /// The call signature of this step with a strategy.
    #[must_use]
    pub fn signature(&self, strategy: &Strategy) -> String {
        let Strategy { strategy_id, worker, retrieval_stage } = strategy;
        // A command that does not read the name of its strategy is the same command under another one.
        let command = self.inputs.get("command").and_then(Value::as_str).unwrap_or_default();
        if ladder::is_deterministic(worker) && !command.contains(ladder::STRATEGY_VARIABLE) {
            return call_signature(self.goal, self.step_id, worker, self.inputs, ladder::DRAFT, 1);
        }
        call_signature(self.goal, self.step_id, worker, self.inputs, strategy_id, *retrieval_stage)
    }
}

/// The call that another attempt would make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub strategy: Strategy,
    /// See [`call_signature`].
    pub signature: String,
}

/// A step as the decision sees it, without its inputs.
#[derive(Debug, Clone, Copy)]
pub struct StepFacts<'a> {
    pub run_id: &'a str,
    /// The goal of the workflow.
    pub goal: &'a str,
    pub step_id: &'a str,
    /// See [`Task::component`].
    pub component: &'a str,
}

/// The decision after a failed attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Another attempt is allowed.
    Retry {
        strategy: Strategy,
        /// The lesson of the failure; it is written before the attempt begins.
        lesson: Box<Lesson>,
        reason: String,
    },
    /// No further attempt.
    Refuse {
        reason: String,
        /// `no_strategies`, `same_call`, `same_failure`, `no_progress`, `cycle`, `repeated_subtree`, or `final` for a failure
        /// that no strategy can fix.
        code: &'static str,
    },
}

/// Decides whether another attempt may follow the last of these, which failed.
#[must_use]
pub fn decide(task: &Task<'_>, attempts: &[Attempt], seen: &AttemptLog) -> Decision {
    let component = task.component();
    let facts =
        StepFacts { run_id: task.run_id, goal: task.goal, step_id: task.step_id, component: &component };
    decide_candidate(facts, task.candidate(attempts.len() + 1), attempts, seen)
}

/// Decides whether this call may follow the last of these attempts, which failed.
///
/// A call that was not made before is a change. A repeated call is allowed only if something measurable changed since it was
/// made.
#[must_use]
pub fn decide_candidate(
    facts: StepFacts<'_>,
    candidate: Option<Candidate>,
    attempts: &[Attempt],
    seen: &AttemptLog,
) -> Decision {
    let refuse = |code: &'static str, reason: String| Decision::Refuse { reason, code };
    let number = attempts.len() + 1;
    let Some(last) = attempts.last() else {
        return refuse("same_call", "no attempt was made yet".into());
    };
    let failure = last.failure_signature.as_deref().unwrap_or_default();
    if FINAL_FAILURES.contains(&failure) {
        return refuse("final", format!("`{failure}` cannot be fixed by another strategy"));
    }
    let Some(Candidate { strategy, signature: candidate }) = candidate else {
        let strategies = attempts.iter().map(|one| one.strategy_id.as_str()).collect::<Vec<_>>().join(", ");
        return refuse(
            "no_strategies",
            format!("no strategy is left after {} ({strategies})", attempts.len()),
        );
    };
    let made = attempts.iter().rposition(|one| one.call_signature == candidate);
    let before = History::from_attempts(facts, attempts, seen, &candidate, failure);
    if before.calls == 0 {
        let evidence =
            format!("a call that was not made before: {strategy} (signature {})", short(&candidate));
        let change = format!(
            "from {}, strategy `{}`, stage {} to {strategy}",
            last.worker_type, last.strategy_id, last.retrieval_stage
        );
        return retry(facts, attempts, strategy, change, evidence);
    }
    if let Some(news) = made.and_then(|made| news_since(attempts, made)) {
        let change = format!("the same call ({strategy}) in a changed state");
        return retry(facts, attempts, strategy, change, news);
    }
    let what = format!("attempt {number} would be the same call as before ({strategy}, the same inputs)");
    let since = "and nothing measurable changed since";
    if candidate != last.call_signature
        && let Some(path) = CallGraph::from_attempts(attempts).path(&candidate, &last.call_signature)
    {
        let path: Vec<&str> = path.iter().chain([&candidate]).map(|call| short(call)).collect();
        return refuse("cycle", format!("{what}, {since}: the calls go in a circle ({})", path.join(" → ")));
    }
    if before.failures > 1 {
        let times = before.failures;
        return refuse("same_failure", format!("{what}; it failed with `{failure}` {times} times, {since}"));
    }
    if before.subtrees > 1 {
        let reason = format!("{what}, {since}: it left exactly what it had left before");
        return refuse("repeated_subtree", reason);
    }
    match before.calls {
        1 => refuse("same_call", format!("{what}, {since}")),
        times => refuse("no_progress", format!("{what}; it was made {times} times, {since}")),
    }
}

/// How often a call was made in the run, with the failure and with the artifacts of the last attempt.
struct History {
    calls: usize,
    failures: usize,
    subtrees: usize,
}

impl History {
    fn from_attempts(
        facts: StepFacts<'_>,
        attempts: &[Attempt],
        seen: &AttemptLog,
        call: &str,
        failure: &str,
    ) -> Self {
        let hash = attempts.last().map(|last| last.progress.artifact_delta_hash.as_str()).unwrap_or_default();
        let (key, subtree) = (failure_key(facts.run_id, call, failure), subtree_signature(call, hash));
        let mut history = History { calls: 0, failures: 0, subtrees: 0 };
        let mut count = |failed: Option<&str>, left: &str| {
            history.calls += 1;
            // Unnamed failures cannot be compared, and an attempt without artifacts has no subtree.
            if failed
                .is_some_and(|failed| !failed.is_empty() && failure_key(facts.run_id, call, failed) == key)
            {
                history.failures += 1;
            }
            if !left.is_empty() && subtree_signature(call, left) == subtree {
                history.subtrees += 1;
            }
        };
        for one in attempts.iter().filter(|one| one.call_signature == call) {
            count(one.failure_signature.as_deref(), &one.progress.artifact_delta_hash);
        }
        for mark in seen.elsewhere(call, facts.step_id, attempts) {
            count(mark.failure.as_deref(), &mark.hash);
        }
        history
    }
}

/// Evidence of change since the attempt at `made` began.
fn news_since(attempts: &[Attempt], made: usize) -> Option<String> {
    let all: Vec<&Progress> = attempts.iter().map(|one| &one.progress).collect();
    (made..attempts.len()).rev().find_map(|at| {
        let (earlier, from) = all.split_at_checked(at)?;
        let news = from.first()?.evidence(earlier)?;
        Some(format!("since that call began: {news} (attempt {})", at + 1))
    })
}

fn retry(
    facts: StepFacts<'_>,
    attempts: &[Attempt],
    strategy: Strategy,
    change: String,
    evidence: String,
) -> Decision {
    let reason = format!("{change}; {evidence}");
    let lesson = Box::new(lesson::build_lesson(facts, attempts, &strategy, change, evidence));
    Decision::Retry { strategy, lesson, reason }
}

/// The first digits of a signature, for people.
fn short(signature: &str) -> &str {
    signature.get(..8).unwrap_or(signature)
}
