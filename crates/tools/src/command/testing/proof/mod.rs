//! Verifying tests so that the agent whose work is verified cannot steer them.
//!
//! [`TestSeal`] is taken before the agent works; [`verify_tests`] compares the workspace with it, copies the workspace
//! ([`FreshCopy`]), and runs the sealed runner there with runner, interpreter and environment from outside ([`clean`]). Where
//! tests were skipped or are gone, the same runner runs in the original tree ([`BaselineTree`]), and the names of the tests
//! of both runs are compared.

mod clean;
mod forged;
mod fresh;
mod judged_by;
mod process_control;
mod rust_doubles;
mod seal;
mod source;
mod table;
mod tree;

use super::counts::Counts;
use super::detect::{Plan, TestsInput, plan};
use super::run_tests::{MAX_STREAM_BYTES, TestsData, count, describe, report_words};
use crate::command::contained::{PrivateTempDir, contained, seconds};
use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use marvin_gate::Workspace;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use fresh::FreshCopy;
use judged_by::{CompiledTests, JudgingFiles};
pub use seal::TestSeal;
pub use source::is_test_file;
pub use tree::is_left_out_of_copies;

/// Findings that are listed in a reason.
const MAX_LISTED: usize = 5;

/// The tree as it was before the agent worked.
#[derive(Debug)]
pub struct BaselineTree {
    copy: FreshCopy,
}

impl BaselineTree {
    /// Copies the workspace as it is now.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn take(context: &ToolContext) -> Result<BaselineTree, ToolError> {
        Ok(BaselineTree { copy: FreshCopy::make(context.workspace()?.root(), None)? })
    }
}

/// The seals and the baseline of a verification.
#[derive(Debug, Default)]
pub struct TestsCheck<'a> {
    /// All of them must hold.
    pub seals: Vec<&'a TestSeal>,
    /// Paths of steering files that the task lets the agent change.
    pub may_change: &'a [String],
    /// Files and directories that the caller sealed too, so that the work can be judged by these.
    pub oracles: Vec<&'a str>,
    /// The tree before the work.
    pub baseline: Option<&'a BaselineTree>,
}

/// The outcome of a verification of tests.
#[derive(Debug)]
pub struct TestsVerdict {
    /// Output of the run; none where nothing was run.
    pub output: Option<Output<TestsData>>,
    /// Why the run does not count, whatever the runner reports.
    pub finding: Option<String>,
    /// Notes for the report: changes of steering files that the task allows.
    pub notes: Vec<String>,
}

/// The line that a verification would run, for the gate.
#[must_use]
pub fn verified_line(input: &TestsInput, check: &TestsCheck<'_>, context: &ToolContext) -> Option<String> {
    planned(input, check, context).ok().map(|plan| plan.line)
}

/// The plan of the first seal that has one, else a new one.
fn planned(input: &TestsInput, check: &TestsCheck<'_>, context: &ToolContext) -> Result<Plan, ToolError> {
    match check.seals.iter().find_map(|seal| seal.plan.clone()) {
        Some(plan) => Ok(plan),
        None => plan(input, context),
    }
}

/// Runs the tests in a fresh copy of the workspace, and compares their steering files and names with the seal and baseline.
///
/// # Errors
/// When there is nothing to run, or it cannot be copied, started or sandboxed.
pub async fn verify_tests(
    input: &TestsInput,
    check: &TestsCheck<'_>,
    context: &ToolContext,
) -> Result<TestsVerdict, ToolError> {
    let plan = planned(input, check, context)?;
    let workspace = context.workspace()?.root().to_path_buf();
    let seals: Vec<TestSeal> = check.seals.iter().map(|seal| (*seal).clone()).collect();
    let sealed = seals.iter().find(|seal| seal.dependencies.is_some()).or(seals.first()).cloned();
    let (plan_then, sealed_then, root) = (plan.clone(), sealed.clone(), workspace.clone());
    // The copy is made first and compared itself, so that nothing can change in between.
    let (copy, now) = blocking(move || {
        let copy = FreshCopy::make(&root, sealed_then.as_ref())?;
        let mut all = Vec::new();
        for seal in &seals {
            // Fingerprints of dependencies are those of the workspace, from which they were copied.
            let retaken = seal.retake(&root, &plan_then)?;
            let copied = seal.clone().lasting().retake(copy.root(), &plan_then)?;
            all.push((seal.clone(), TestSeal { dependencies: retaken.dependencies, ..copied }));
        }
        Ok((copy, all))
    })
    .await?;
    let mut notes = Vec::new();
    let mut taken_away = Vec::new();
    for (seal, now) in &now {
        let changes = seal.changes(now, check.may_change);
        let is_free = seal.is_greenfield() && check.oracles.is_empty();
        if !changes.refused.is_empty() && !is_free {
            return Ok(TestsVerdict { output: None, finding: Some(steered(&changes.refused)), notes });
        }
        notes.extend(changes.allowed.iter().map(|change| format!("{change}, which the task allows")));
        taken_away.extend(changes.taken_away);
    }
    let is_free = check.oracles.is_empty() && sealed.as_ref().is_none_or(TestSeal::is_greenfield);
    let is_judged = |path: &Path| !is_free && !seal::is_allowed(path, check.may_change);
    let changed =
        check.baseline.map(|tree| forged::changed_sources(copy.root(), tree.copy.root(), is_judged));
    let (seal, workspace) = (sealed.as_ref(), workspace.as_path());
    let trial = Trial { plan: &plan, input, seal, workspace, changed: changed.as_deref(), context };
    let mark = || JudgingFiles::mark(copy.root(), now.iter().map(|(_, now)| now), &check.oracles);
    let (output, after, change) = trial.run(copy.root(), mark).await?;
    if let Some(finding) = change.filter(|_| output.error.is_none()) {
        return Ok(TestsVerdict { output: Some(output), finding: Some(finding), notes });
    }
    if let Some(baseline) = check.baseline
        && output.error.is_none()
        && let Some(finding) = forged::find(copy.root(), baseline.copy.root(), is_judged)
    {
        return Ok(TestsVerdict { output: Some(output), finding: Some(finding), notes });
    }
    let mut verdict = TestsVerdict { output: Some(output), finding: None, notes };
    let Some(after) = after.filter(|_| verdict.output.as_ref().is_some_and(|output| output.error.is_none()))
    else {
        return Ok(verdict);
    };
    let is_suspicious = !taken_away.is_empty()
        || after.skipped > 0
        || !verdict.notes.is_empty()
        || sealed.as_ref().is_some_and(|seal| seal.has_unseen(&after));
    if is_suspicious && !sealed.as_ref().is_none_or(TestSeal::is_greenfield) {
        verdict.finding = match check.baseline {
            Some(baseline) => {
                let root = baseline.copy.root();
                // A copy of its own: the baseline is used again in the next round.
                let before = blocking({
                    let (root, sealed) = (root.to_path_buf(), sealed.clone());
                    move || FreshCopy::make(&root, sealed.as_ref())
                })
                .await?;
                let nothing = || JudgingFiles::mark(before.root(), [], &[]);
                let (_, before, _) = trial.run(before.root(), nothing).await?;
                before.and_then(|before| fewer(&before, &after))
            }
            None => {
                (!taken_away.is_empty()).then(|| format!("fewer tests than before: {}", listed(&taken_away)))
            }
        };
    }
    Ok(verdict)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done =
        tokio::task::spawn_blocking(work).await.map_err(|error| ToolError::Failed(error.to_string()))?;
    done.map_err(|why| ToolError::Failed(format!("cannot verify in a copy of the project: {why}")))
}

fn steered(changes: &[String]) -> String {
    format!(
        "files that steer the tests were changed: {}\n  hint: undo the change; a task that needs it allows it with `--may-change PATH`",
        listed(changes)
    )
}

fn listed(sentences: &[String]) -> String {
    let mut text = sentences.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join("; ");
    if sentences.len() > MAX_LISTED {
        text.push_str(&format!("; and {} more", sentences.len() - MAX_LISTED));
    }
    text
}

/// A plan that is run in copies.
struct Trial<'a> {
    plan: &'a Plan,
    input: &'a TestsInput,
    seal: Option<&'a TestSeal>,
    workspace: &'a Path,
    /// The sources that the work changed; none where that is not known.
    changed: Option<&'a [PathBuf]>,
    context: &'a ToolContext,
}

impl Trial<'_> {
    /// Runs the plan in a copy. Returns the tool's output, the counts with the names of tests, and a sentence about a file by
    /// which it is judged that changed meanwhile. `mark` is called when nothing was executed but a build.
    async fn run(
        &self,
        root: &Path,
        mark: impl FnOnce() -> JudgingFiles,
    ) -> Result<(Output<TestsData>, Option<Counts>, Option<String>), ToolError> {
        let copy = Workspace::open(root, self.context.layout.home()).map_err(|refusal| {
            ToolError::Failed(format!("cannot open the copy of the project: {refusal}"))
        })?;
        let context = ToolContext { workspace: Some(Arc::new(copy)), ..self.context.clone() };
        let private = PrivateTempDir::new()?;
        // A directory of its own, since the other one is writable.
        let guard = PrivateTempDir::new()?;
        let deadline = Instant::now() + seconds(self.input.timeout, &context);
        let start = async |words: &[String]| {
            let mut child = context.judged(&self.plan.line)?.with_words(words);
            clean::environment(&mut child, private.path(), self.workspace, root, self.seal)?;
            clean::guard_runners(&mut child, guard.path(), [self.workspace, root], self.changed)
                .map_err(|error| ToolError::Failed(format!("cannot write the guards of runners: {error}")))?;
            child.deadline = deadline.saturating_duration_since(Instant::now());
            child.keep = MAX_STREAM_BYTES;
            let mut policy = private.policy(&context)?;
            policy.readable.push(guard.path().to_path_buf());
            contained(child, policy, &context).await
        };
        let target = private.path().join(clean::CARGO_TARGET);
        let mut compiled = None;
        if let Some(build) = self.plan.runner.build_words(&self.plan.words) {
            // What a build changes every time says nothing. A build that fails fails again below.
            if start(&build).await?.code() == Some(0) {
                let once = CompiledTests::mark(&target);
                start(&build).await?;
                compiled = Some(once).filter(|once| once.change(&target).is_none());
            }
        }
        let files = mark();
        let mut words = self.plan.words.clone();
        report_words(self.plan.runner, &mut words, private.path());
        let done = start(&words).await?;
        let change = files.change(root).or_else(|| compiled.and_then(|built| built.change(&target)));
        let (counts, report) = count(self.plan, &done, private.path(), &context)?;
        Ok((describe(self.plan.clone(), &done, counts.as_ref(), report, &context), counts, change))
    }
}

/// A sentence with the tests of the first run that the second did not execute.
fn fewer(before: &Counts, after: &Counts) -> Option<String> {
    if before.executed.is_empty() || after.executed.is_empty() {
        // Runners that name no tests are compared by their counts; an interrupted run proves nothing.
        let is_fewer = before.errors == 0 && after.ran() < before.ran();
        return is_fewer.then(|| format!("{} tests ran, {} before the work", after.ran(), before.ran()));
    }
    let times = |names: &BTreeMap<String, u64>, name: &str| names.get(name).copied().unwrap_or(0);
    let mut lost = Vec::new();
    // Paths of files differ between two copies.
    for (name, count) in before.executed.iter().filter(|(name, _)| !name.starts_with('/')) {
        if times(&after.executed, name) < *count {
            let how = if times(&after.left_out, name) > 0 { "is skipped now" } else { "is no longer run" };
            lost.push(format!("`{name}` {how}"));
        }
    }
    (!lost.is_empty()).then(|| format!("fewer tests than before the work: {}", listed(&lost)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(executed: &[&str], left_out: &[&str]) -> Counts {
        let mut counts = Counts::default();
        executed.iter().for_each(|name| counts.note(name, true));
        left_out.iter().for_each(|name| counts.note(name, false));
        counts.passed = executed.len() as u64;
        counts.skipped = left_out.len() as u64;
        counts
    }

    #[test]
    fn s8_names_of_two_runs_are_compared() {
        let before = counts(&["a", "b", "b"], &["s"]);
        assert_eq!(fewer(&before, &counts(&["a", "b", "b", "c"], &["s", "t"])), None);
        assert!(fewer(&before, &counts(&["a", "b", "b2"], &[])).unwrap().contains("`b` is no longer run"));
        assert!(fewer(&before, &counts(&["b", "b"], &["a"])).unwrap().contains("`a` is skipped now"));
        let unnamed = |passed| Counts { passed, ..Counts::default() };
        assert!(fewer(&unnamed(3), &unnamed(2)).unwrap().contains("2 tests ran, 3 before"));
        assert_eq!(fewer(&unnamed(3), &unnamed(4)), None);
    }
}
