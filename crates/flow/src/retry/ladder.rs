//! The ladder of strategies: worker and approach of each attempt.
//!
//! A step may define its own ladder. Otherwise the ladder depends on the worker. A worker that writes is followed by a Debugger
//! and then by a Reviewer that may change files (`refactor`). A read-only worker is asked again in another way, since a worker
//! that writes must not follow it. A deterministic worker (`Command`, `Echo`) is only repeated, and [`super::decide`] allows
//! that when something changed.

use serde::{Deserialize, Serialize};

/// Worker and approach of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strategy {
    /// `draft`, `patch`, `refactor` …
    pub strategy_id: String,
    pub worker: String,
    /// How broadly lessons are searched: 1 to 3.
    #[serde(default = "first_stage")]
    pub retrieval_stage: u8,
}

/// Attempts of a deterministic worker.
const DETERMINISTIC_RUNGS: u8 = 3;

/// The strategy of a first attempt.
pub(crate) const DRAFT: &str = "draft";

/// The environment variable by which a command knows its strategy.
pub const STRATEGY_VARIABLE: &str = "MARVIN_STEP_STRATEGY";

/// Whether a worker does the same each time that it gets the same inputs.
pub(super) fn is_deterministic(worker: &str) -> bool {
    matches!(worker, "Command" | "Echo")
}

fn first_stage() -> u8 {
    1
}

impl Strategy {
    #[must_use]
    pub fn new(worker: &str, strategy_id: &str, retrieval_stage: u8) -> Self {
        Strategy { strategy_id: strategy_id.into(), worker: worker.into(), retrieval_stage }
    }
}

impl std::fmt::Display for Strategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, strategy `{}`, stage {}", self.worker, self.strategy_id, self.retrieval_stage)
    }
}

/// The ladder of a step that defines none.
#[must_use]
pub fn default_ladder(worker: &str) -> Vec<Strategy> {
    match worker {
        "Command" | "Echo" => (0..DETERMINISTIC_RUNGS).map(|_| Strategy::new(worker, "draft", 1)).collect(),
        "Planner" | "Reviewer" | "TestTriager" => vec![
            Strategy::new(worker, "draft", 1),
            Strategy::new(worker, "reconsider", 2),
            Strategy::new(worker, "start_over", 3),
        ],
        _ => vec![
            Strategy::new(worker, "draft", 1),
            Strategy::new("Debugger", "patch", 2),
            Strategy::new("Reviewer", "refactor", 3),
        ],
    }
}

/// The strategy of an attempt, from the ladder of the step or the default one. A rung without a worker uses that of the step.
#[must_use]
pub fn rung(worker: &str, own: &[Strategy], attempt: usize) -> Option<Strategy> {
    let at = attempt.checked_sub(1)?;
    let mut strategy =
        if own.is_empty() { default_ladder(worker).into_iter().nth(at) } else { own.get(at).cloned() }?;
    if strategy.worker.is_empty() {
        strategy.worker = worker.to_string();
    }
    strategy.retrieval_stage = strategy.retrieval_stage.clamp(1, 3);
    Some(strategy)
}

/// The instruction of a strategy for the worker that follows it.
#[must_use]
pub fn instruction(strategy_id: &str) -> &'static str {
    match strategy_id {
        "draft" => "Do it from the beginning.",
        "patch" => {
            "An earlier attempt failed. Find the cause first: reproduce the failure and read what it left. Then make the \
             smallest change that fixes it. Do not start over."
        }
        "refactor" => {
            "Earlier attempts failed, also one that patched. Question the approach: compare everything that was made with what \
             is required, and replace the part whose design is the cause. You may change files."
        }
        "reconsider" => {
            "An earlier attempt failed. Say what was wrong with it, look at what it missed, and do the step again."
        }
        "start_over" => "Earlier attempts failed. Set them aside and take another approach.",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_ladder_begins_with_the_worker_of_the_step() {
        let names = |worker: &str| {
            default_ladder(worker)
                .iter()
                .map(|rung| format!("{}/{}", rung.worker, rung.strategy_id))
                .collect::<Vec<_>>()
        };
        assert_eq!(names("Implementer"), ["Implementer/draft", "Debugger/patch", "Reviewer/refactor"]);
        assert_eq!(names("Reviewer"), ["Reviewer/draft", "Reviewer/reconsider", "Reviewer/start_over"]);
        assert_eq!(names("Command"), ["Command/draft"; 3]);
        let stages: Vec<u8> =
            default_ladder("SkillBuilder").iter().map(|rung| rung.retrieval_stage).collect();
        assert_eq!(stages, [1, 2, 3]);
    }

    #[test]
    fn a_steps_own_ladder_is_followed_to_its_end() {
        let own = [Strategy::new("", "sketch", 0), Strategy::new("Debugger", "bisect", 9)];
        assert_eq!(rung("Implementer", &own, 1), Some(Strategy::new("Implementer", "sketch", 1)));
        assert_eq!(rung("Implementer", &own, 2), Some(Strategy::new("Debugger", "bisect", 3)));
        assert_eq!(rung("Implementer", &own, 3), None);
        assert_eq!(rung("Implementer", &own, 0), None);
        assert_eq!(rung("Implementer", &[], 4), None);
    }
}
