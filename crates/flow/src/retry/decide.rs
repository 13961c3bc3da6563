//! Whether another attempt may follow.

use super::Attempt;
use super::ladder::{self, Strategy};
use super::lesson;
use super::progress::Progress;
use super::seen::AttemptLog;
use super::signatures::{call_signature, failure_key, subtree_signature};
use marvin_memory::lessons::Lesson;
use serde_json::{Map, Value};

/// Failures that no other strategy mends: nothing more may be spent, or somebody stopped it.
const ENDS: [&str; 6] =
    ["max-cost", "unpriced", "interrupted", "deadline", "record-failed", "commitment-refused"];

/// The step that is tried.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The run.
    pub run_id: &'a str,
    /// The goal of the workflow.
    pub goal: &'a str,
    /// The step.
    pub step_id: &'a str,
    /// Its own worker.
    pub worker: &'a str,
    /// Its inputs, with references resolved.
    pub inputs: &'a Map<String, Value>,
    /// Its own ladder; empty: the usual one.
    pub ladder: &'a [Strategy],
}

impl Task<'_> {
    /// The strategy of an attempt, 1 for the first; none when the ladder is used up.
    #[must_use]
    pub fn strategy(&self, attempt: usize) -> Option<Strategy> {
        ladder::rung(self.worker, self.ladder, attempt)
    }

    /// The signature of this step tried that way.
    #[must_use]
    pub fn signature(&self, strategy: &Strategy) -> String {
        let Strategy { strategy_id, worker, retrieval_stage } = strategy;
        call_signature(self.goal, self.step_id, worker, self.inputs, strategy_id, *retrieval_stage)
    }
}

/// What follows a failed attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Another attempt.
    Retry {
        /// Who tries, and how.
        strategy: Strategy,
        /// What the failure taught; it is written down before the attempt begins.
        lesson: Box<Lesson>,
        /// Why it may.
        reason: String,
    },
    /// None.
    Refuse {
        /// Why not.
        reason: String,
        /// `no_strategies`, `same_call`, `same_failure`, `no_progress`, `cycle`, `repeated_subtree`, or `final` for what no
        /// strategy mends.
        code: &'static str,
    },
}

/// Whether another attempt may follow the last of these, which failed.
///
/// A call that was not made before is a change. One that was made before is none, unless something measurable changed
/// since it was made.
#[must_use]
pub fn decide(task: &Task<'_>, attempts: &[Attempt], seen: &AttemptLog) -> Decision {
    let refuse = |code: &'static str, reason: String| Decision::Refuse { reason, code };
    let number = attempts.len() + 1;
    let Some(last) = attempts.last() else {
        return refuse("same_call", "there was no attempt yet, so there is nothing to try again".into());
    };
    let failure = last.failure_signature.as_deref().unwrap_or_default();
    if ENDS.contains(&failure) {
        return refuse("final", format!("`{failure}` is nothing that another strategy mends"));
    }
    let Some(strategy) = task.strategy(number) else {
        let tried = attempts.iter().map(|one| one.strategy_id.as_str()).collect::<Vec<_>>().join(", ");
        return refuse("no_strategies", format!("no strategy is left after {} ({tried})", attempts.len()));
    };
    let candidate = task.signature(&strategy);
    let made = attempts.iter().rposition(|one| one.call_signature == candidate);
    let before = History::from_attempts(task, attempts, seen, &candidate, failure);
    if before.calls == 0 {
        let evidence =
            format!("a call that was not made before: {strategy} (signature {})", short(&candidate));
        let change = format!(
            "from {}, strategy `{}`, stage {} to {strategy}",
            last.worker_type, last.strategy_id, last.retrieval_stage
        );
        return retry(task, attempts, strategy, change, evidence);
    }
    if let Some(news) = made.and_then(|made| news_since(attempts, made)) {
        let change = format!("the same call ({strategy}) on changed ground");
        return retry(task, attempts, strategy, change, news);
    }
    let what = format!("attempt {number} would be the same call as before ({strategy}, the same inputs)");
    let since = "and nothing measurable changed since";
    if candidate != last.call_signature
        && let Some(path) = seen.graph(attempts).path(&candidate, &last.call_signature)
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

/// How often a call was made in the run, failed as the last attempt did, and left what the last attempt left.
struct History {
    calls: usize,
    failures: usize,
    subtrees: usize,
}

impl History {
    fn from_attempts(
        task: &Task<'_>,
        attempts: &[Attempt],
        seen: &AttemptLog,
        call: &str,
        failure: &str,
    ) -> Self {
        let hash = attempts.last().map(|last| last.progress.artifact_delta_hash.as_str()).unwrap_or_default();
        let (key, subtree) = (failure_key(task.run_id, call, failure), subtree_signature(call, hash));
        let mut history = History { calls: 0, failures: 0, subtrees: 0 };
        let mut count = |failed: Option<&str>, left: &str| {
            history.calls += 1;
            // A failure without a name is not known to be the same; what left nothing is no subtree.
            if failed
                .is_some_and(|failed| !failed.is_empty() && failure_key(task.run_id, call, failed) == key)
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
        for mark in seen.elsewhere(call, task.step_id, attempts) {
            count(mark.failure.as_deref(), &mark.hash);
        }
        history
    }
}

/// What is new since the attempt at `made` began.
fn news_since(attempts: &[Attempt], made: usize) -> Option<String> {
    let all: Vec<&Progress> = attempts.iter().map(|one| &one.progress).collect();
    (made..attempts.len()).rev().find_map(|at| {
        let (earlier, from) = all.split_at_checked(at)?;
        let news = from.first()?.evidence(earlier)?;
        Some(format!("since that call began: {news} (attempt {})", at + 1))
    })
}

fn retry(
    task: &Task<'_>,
    attempts: &[Attempt],
    strategy: Strategy,
    change: String,
    evidence: String,
) -> Decision {
    let reason = format!("{change}; {evidence}");
    let lesson = Box::new(lesson::build_lesson(task, attempts, &strategy, change, evidence));
    Decision::Retry { strategy, lesson, reason }
}

/// The beginning of a signature, for people.
fn short(signature: &str) -> &str {
    signature.get(..8).unwrap_or(signature)
}
