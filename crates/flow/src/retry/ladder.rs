//! The ladder of strategies: who tries next, and how.
//!
//! A step may bring its own. Otherwise it depends on who does the step. A worker that writes is followed by a Debugger and
//! then by a Reviewer that may change what it finds (`refactor`). One that only looks is not followed by one that writes: it is asked again in
//! another way. One that is no model (`Command`, `Echo`) is only ever repeated, and [`super::decide`] allows that when
//! something changed.

use serde::{Deserialize, Serialize};

/// Who tries, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strategy {
    /// `draft`, `patch`, `refactor` …
    pub strategy_id: String,
    /// Who is asked.
    pub worker: String,
    /// How widely lessons are looked for: 1 to 3.
    #[serde(default = "first_stage")]
    pub retrieval_stage: u8,
}

/// Attempts of a ladder that nobody wrote.
const RUNGS: u8 = 3;

fn first_stage() -> u8 {
    1
}

impl Strategy {
    /// A strategy.
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

/// The ladder of a step that brings none.
#[must_use]
pub fn usual(worker: &str) -> Vec<Strategy> {
    match worker {
        "Command" | "Echo" => (0..RUNGS).map(|_| Strategy::new(worker, "draft", 1)).collect(),
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

/// The strategy of an attempt: of the step's own ladder, or of the usual one where it brings none. The first rung of a ladder
/// without a worker's name is the step's own worker.
#[must_use]
pub fn rung(worker: &str, own: &[Strategy], attempt: usize) -> Option<Strategy> {
    let at = attempt.checked_sub(1)?;
    let mut strategy = if own.is_empty() { usual(worker).into_iter().nth(at) } else { own.get(at).cloned() }?;
    if strategy.worker.is_empty() {
        strategy.worker = worker.to_string();
    }
    strategy.retrieval_stage = strategy.retrieval_stage.clamp(1, 3);
    Some(strategy)
}

/// What a strategy means, for whoever follows it.
#[must_use]
pub fn meaning(strategy_id: &str) -> &'static str {
    match strategy_id {
        "draft" => "Do it from the beginning.",
        "patch" => {
            "An earlier attempt failed. Find the cause first: reproduce the failure and read what it left. Then make the \
             smallest change that mends it. Do not begin anew."
        }
        "refactor" => {
            "Earlier attempts failed, also one that patched. Question the approach: read everything that was made against what \
             is asked, and replace the part whose shape is the cause. You may change files."
        }
        "reconsider" => {
            "An earlier attempt failed. Say what was wrong with it, look at what it missed, and do it again."
        }
        "start_over" => "Earlier attempts failed. Set them aside and come to it from another side.",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_ladder_begins_with_the_steps_own_worker() {
        let names = |worker: &str| {
            usual(worker)
                .iter()
                .map(|rung| format!("{}/{}", rung.worker, rung.strategy_id))
                .collect::<Vec<_>>()
        };
        assert_eq!(names("Implementer"), ["Implementer/draft", "Debugger/patch", "Reviewer/refactor"]);
        assert_eq!(names("Reviewer"), ["Reviewer/draft", "Reviewer/reconsider", "Reviewer/start_over"]);
        assert_eq!(names("Command"), ["Command/draft"; 3]);
        let stages: Vec<u8> = usual("SkillBuilder").iter().map(|rung| rung.retrieval_stage).collect();
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
