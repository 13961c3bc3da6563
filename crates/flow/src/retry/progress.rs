//! What an attempt changed, as the shell measured it.

use super::Attempt;
use crate::worker::Status;
use serde::{Deserialize, Serialize};

/// What the shell measured of one attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Tests that failed after it; none where no tests were run.
    pub failing_tests: Option<u64>,
    /// Tests that passed after it.
    pub passed_tests: Option<u64>,
    /// Files that were not there before.
    pub new_artifacts: u64,
    /// A hash over what it touched; empty where it touched nothing.
    pub artifact_delta_hash: String,
    /// Requests to a model.
    pub model_calls: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Rounds.
    pub iteration_count: u64,
}

impl Progress {
    /// What is new after this attempt, in words, beside everything that earlier attempts had reached; none when nothing is.
    ///
    /// It is held against the best of all earlier ones and not against the last: work that goes to and fro between two
    /// states gets nowhere. How much was asked or called does not count, nor does a claim.
    #[must_use]
    pub fn evidence(&self, earlier: &[&Progress]) -> Option<String> {
        let fewest = earlier.iter().filter_map(|one| one.failing_tests).min();
        if let (Some(now), Some(before)) = (self.failing_tests, fewest)
            && now < before
        {
            return Some(format!("{now} failing test(s) instead of {before}"));
        }
        let most = earlier.iter().filter_map(|one| one.passed_tests).max();
        if let (Some(now), Some(before)) = (self.passed_tests, most)
            && now > before
        {
            return Some(format!("{now} passed test(s) instead of {before}"));
        }
        let hash = &self.artifact_delta_hash;
        if hash.is_empty() || earlier.iter().any(|one| one.artifact_delta_hash == *hash) {
            return None;
        }
        Some(match self.new_artifacts {
            0 => "what it touched is as no attempt had left it before".to_string(),
            files => format!("{files} new file(s), as no attempt had left them before"),
        })
    }

    /// The figures in words.
    #[must_use]
    pub fn words(&self) -> String {
        let tests = match (self.failing_tests, self.passed_tests) {
            (None, None) => "no tests were counted".to_string(),
            (failing, passed) => {
                format!("{} test(s) failed and {} passed", failing.unwrap_or(0), passed.unwrap_or(0))
            }
        };
        let touched = match (self.artifact_delta_hash.is_empty(), self.new_artifacts) {
            (true, _) => "it changed nothing".to_string(),
            (false, 0) => "it changed files".to_string(),
            (false, files) => format!("it left {files} new file(s)"),
        };
        format!(
            "{tests}; {touched}; {} request(s) to a model, {} call(s) of tools",
            self.model_calls, self.tool_calls
        )
    }
}

/// The attempt that got furthest: fewest failing tests, most passed ones, then one that says it has a part, that left
/// something, and the latest. None when no attempt left anything or said that it had a part.
#[must_use]
pub fn best(attempts: &[Attempt]) -> Option<&Attempt> {
    attempts
        .iter()
        .filter(|attempt| {
            attempt.status == Status::Partial
                || !attempt.artifacts.is_empty()
                || attempt.progress.new_artifacts > 0
        })
        .max_by_key(|attempt| {
            let progress = &attempt.progress;
            (
                std::cmp::Reverse(progress.failing_tests.unwrap_or(u64::MAX)),
                progress.passed_tests.unwrap_or(0),
                attempt.status == Status::Partial,
                attempt.artifacts.len(),
                attempt.attempt_id,
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(failing: Option<u64>, passed: Option<u64>, hash: &str) -> Progress {
        Progress {
            failing_tests: failing,
            passed_tests: passed,
            artifact_delta_hash: hash.into(),
            ..Progress::default()
        }
    }

    #[test]
    fn only_what_no_attempt_had_reached_counts() {
        let one = progress(Some(3), Some(5), "x");
        let two = progress(Some(2), Some(5), "y");
        assert!(two.evidence(&[&one]).unwrap().contains("2 failing test(s) instead of 3"));
        assert!(progress(Some(3), Some(6), "x").evidence(&[&one]).unwrap().contains("6 passed"));
        assert!(progress(Some(9), Some(0), "z").evidence(&[&one, &two]).is_some(), "a new state is news");
        // To and fro.
        assert_eq!(one.evidence(&[&one, &two]), None);
        assert_eq!(two.evidence(&[&one, &two, &one]), None);
        // Nothing touched, nothing counted.
        assert_eq!(Progress { model_calls: 9, new_artifacts: 4, ..Progress::default() }.evidence(&[]), None);
        assert!(progress(None, None, "x").evidence(&[]).is_some());
    }
}
