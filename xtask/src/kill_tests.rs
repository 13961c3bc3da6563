//! Tests that kill a process at random moments, repeated as often as the user asks.

use crate::{python, tools};

/// Name of the chore, default count, environment variable that the test reads the count from,
/// filter that selects the test.
pub(crate) struct KillTest(&'static str, &'static str, &'static str, &'static str);

const KILL_TESTS: [KillTest; 6] = [
    KillTest("kills", "100", "MARVIN_TEST_KILLS", "servitors::killed_anywhere"),
    KillTest("crash-matrix", "1000", "MARVIN_TEST_CRASHES", "a_workflow_that_is_killed_anywhere"),
    KillTest("turns", "200", "MARVIN_TEST_KILLS", "a_turn_that_is_killed_leaves_a_record"),
    KillTest("approvals", "200", "MARVIN_TEST_KILLS", "kept_words_survive_a_kill_at_any_moment"),
    KillTest("pipeline-kills", "30", "MARVIN_PIPELINE_KILLS", "a_pipeline_that_is_killed_anywhere"),
    KillTest("self-improve-kills", "40", "MARVIN_TEST_KILLS", "a_batch_that_is_killed_anywhere"),
];

/// The test that a command line `NAME [COUNT]` names, and its count.
pub(crate) fn find<'a>(words: &[&'a str]) -> Option<(&'static KillTest, &'a str)> {
    let (name, count) = match words {
        [name] => (name, None),
        [name, count] => (name, Some(*count)),
        _ => return None,
    };
    let test = KILL_TESTS.iter().find(|test| test.0 == *name)?;
    Some((test, count.unwrap_or(test.1)))
}

impl KillTest {
    pub(crate) fn run(&self, count: &str) -> anyhow::Result<()> {
        let KillTest(name, _, variable, filter) = self;
        let mut test = tools::cargo();
        test.args(["test", "--package", "marvin", "--test", "it", filter]).env(variable, count);
        if *name == "pipeline-kills" {
            test.env("MARVIN_TEST_PYTHON", python::install()?);
        }
        tools::run(&mut test)
    }
}
