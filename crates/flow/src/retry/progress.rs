//! Progress of an attempt, as the shell measured it.

use serde::{Deserialize, Serialize};

/// The measurements of one attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Tests that fail after it; none if no tests were run.
    pub failing_tests: Option<u64>,
    /// Tests that pass after it.
    pub passed_tests: Option<u64>,
    /// Files that did not exist before.
    pub new_artifacts: u64,
    /// A hash over the touched files; empty if there are none.
    pub artifact_delta_hash: String,
    /// Whether the hash is over the outputs, because no file was touched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub outputs_only: bool,
    pub model_calls: u64,
    pub tool_calls: u64,
    pub iteration_count: u64,
}

impl Progress {
    /// What this attempt reached that no earlier one had, in words; none if there is nothing.
    ///
    /// It is compared with the best of all earlier attempts and not with the last one, since work that alternates between two
    /// states makes no progress. Numbers of requests and calls do not count, nor does a claim.
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
        // The outputs of a first attempt change nothing for a second one.
        if self.outputs_only && earlier.is_empty() {
            return None;
        }
        if hash.is_empty() || earlier.iter().any(|one| one.artifact_delta_hash == *hash) {
            return None;
        }
        Some(match self.new_artifacts {
            0 if self.outputs_only => "outputs that no earlier attempt had".to_string(),
            0 => "the touched files have a content that no earlier attempt left".to_string(),
            files => format!("{files} new file(s) with a content that no earlier attempt left"),
        })
    }

    /// The measurements in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let tests = match (self.failing_tests, self.passed_tests) {
            (None, None) => "no tests were counted".to_string(),
            (failing, passed) => {
                format!("{} test(s) failed and {} passed", failing.unwrap_or(0), passed.unwrap_or(0))
            }
        };
        let untouched = self.artifact_delta_hash.is_empty() || self.outputs_only;
        let touched = match (untouched, self.new_artifacts) {
            (true, _) => "it changed no files".to_string(),
            (false, 0) => "it changed files".to_string(),
            (false, files) => format!("it left {files} new file(s)"),
        };
        format!(
            "{tests}; {touched}; {} request(s) to a model, {} call(s) of tools",
            self.model_calls, self.tool_calls
        )
    }
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
    fn only_a_new_best_counts_as_evidence() {
        let one = progress(Some(3), Some(5), "x");
        let two = progress(Some(2), Some(5), "y");
        assert!(two.evidence(&[&one]).unwrap().contains("2 failing test(s) instead of 3"));
        assert!(progress(Some(3), Some(6), "x").evidence(&[&one]).unwrap().contains("6 passed"));
        assert!(progress(Some(9), Some(0), "z").evidence(&[&one, &two]).is_some(), "a new state is evidence");
        // Alternating between two states.
        assert_eq!(one.evidence(&[&one, &two]), None);
        assert_eq!(two.evidence(&[&one, &two, &one]), None);
        // Nothing touched, nothing counted.
        assert_eq!(Progress { model_calls: 9, new_artifacts: 4, ..Progress::default() }.evidence(&[]), None);
        assert!(progress(None, None, "x").evidence(&[]).is_some());
    }
}
