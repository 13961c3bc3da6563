//! Counts of a test run.

use std::collections::BTreeMap;

/// Counts and names of a run, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    /// Tests that could not be run: a file that cannot be loaded, a fixture that fails.
    pub(super) errors: u64,
    pub(super) failing: Vec<String>,
    /// Names of executed and of skipped tests, with how often each occurs; empty where the runner does not name them.
    pub(super) executed: BTreeMap<String, u64>,
    pub(super) left_out: BTreeMap<String, u64>,
}

impl Counts {
    pub(super) fn collected(&self) -> u64 {
        self.passed + self.failed + self.skipped + self.errors
    }

    /// Counts a test by its name.
    pub(super) fn note(&mut self, name: &str, is_executed: bool) {
        let names = if is_executed { &mut self.executed } else { &mut self.left_out };
        *names.entry(name.to_string()).or_default() += 1;
    }

    pub(super) fn ran(&self) -> u64 {
        self.passed + self.failed + self.errors
    }

    pub(super) fn words(&self) -> String {
        let mut words = vec![format!("{} passed", self.passed), format!("{} failed", self.failed)];
        if self.errors > 0 {
            words.push(format!("{} errors", self.errors));
        }
        if self.skipped > 0 {
            words.push(format!("{} skipped", self.skipped));
        }
        words.join(", ")
    }
}
