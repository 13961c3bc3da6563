//! Phases 3 and 4a: writing the code, and fixing it until the tests pass by the pipeline's own count.

use super::review::{CODE_ROUNDS, Reviewer, Subject};
use super::{MAX_ATTEMPTS, MAX_TEST_OUTPUT_BYTES, before, code_scope, facts, fill};
use crate::finding::{Finding, Severity};
use crate::phase::Phase;
use crate::pipeline::{AgentReport, Pipeline, Task, TaskAccess};
use crate::stop::Halt;
use crate::test_run::TestReport;
use crate::{failing_tests, files};
use marvin_agent::launch::ModelChoice;
use marvin_agent::roles::Role;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_flow::retry::Snapshot;
use serde::Serialize;
use serde_json::{Map, Value};

/// Rounds without a change after which the phase fails.
const MAX_UNCHANGED_ROUNDS: usize = 3;

#[derive(Serialize)]
struct ImplementationFacts<'a> {
    attempts: usize,
    claimed: bool,
    /// Problems of the last attempt.
    left: &'a [String],
    rounds: usize,
    minor: usize,
}

#[derive(Serialize)]
struct DebugFacts<'a> {
    rounds: usize,
    command: &'a str,
    counted: String,
}

impl Pipeline {
    pub(super) async fn implement(&self) -> Result<Map<String, Value>, Halt> {
        let phase = Phase::Implementation;
        let mut problems: Vec<String> = Vec::new();
        let mut made = 0;
        for attempt in 1..=MAX_ATTEMPTS {
            made = attempt;
            let text = fill(
                include_str!("../../prompts/implement.md"),
                &[("before", &before(&problems)), ("goal", self.goal())],
            );
            let task = Task {
                phase,
                step: format!("{phase}.implement.{attempt}"),
                role: Role::Implementer,
                model: ModelChoice::Codex,
                text,
                may: TaskAccess::Work(code_scope()),
                schema: None,
                commitments: vec![self.tests_pass()],
            };
            problems = attempt_problems(&self.work(&task).await?);
            if problems.is_empty() {
                break;
            }
        }
        if !self.has_code() {
            return Err(Halt::failed(
                "nothing_implemented",
                format!("nothing was implemented in {MAX_ATTEMPTS} attempts: {}", problems.join("; ")),
            ));
        }
        let (rounds, left) = self.review_code().await?;
        Ok(facts(&ImplementationFacts {
            attempts: made,
            claimed: problems.is_empty(),
            left: &problems,
            rounds,
            minor: left.len(),
        }))
    }

    /// Is there code besides tests and manifests?
    fn has_code(&self) -> bool {
        let manifests = files::patterns(&[&files::TESTS, &files::MANIFESTS]);
        let all = files::all(self.root());
        let bare =
            |path: &str| path.ends_with(".rs") && failing_tests::is_bare(&files::text(self.root(), path));
        let entry = |path: &str| matches!(path, "src/lib.rs" | "src/main.rs");
        all.iter().any(|path| {
            let counts = entry(path) || !marvin_gate::Scope::covers(&manifests, path);
            counts
                && path.contains('.')
                && !bare(path)
                && !path.ends_with(".md")
                && !path.starts_with('.')
                && path != "Cargo.lock"
        })
    }

    async fn review_code(&self) -> Result<(usize, Vec<Finding>), Halt> {
        let subject = Subject {
            phase: Phase::Implementation,
            name: "code",
            what: "the code of this project".into(),
            rounds: CODE_ROUNDS,
            reviewers: vec![
                Reviewer {
                    name: "conformance",
                    model: ModelChoice::Opus,
                    focus: "Go through the specification, the user's side and the design: is each requirement built as they say? What is built that was not asked for?",
                },
                Reviewer {
                    name: "quality",
                    model: ModelChoice::AuxReviewer,
                    focus: "Look for mistakes: stubs, fabricated results, code that only satisfies the tests, swallowed errors, trusted input.",
                },
            ],
            fixer: Role::Implementer,
            may: TaskAccess::Work(code_scope()),
            how: "Fix the code. The tests are closed, and no further test may fail.",
            tdd: false,
        };
        let own = async |_| {
            let changed = self.oracle()?.changes(self.root());
            let finding = |path: String| Finding {
                severity: Severity::Critical,
                place: path,
                text: "it was changed after the tests were sealed".into(),
                repro: None,
            };
            Ok(changed.into_iter().map(finding).collect())
        };
        self.review(&subject, &own).await
    }

    pub(super) async fn debug(&self) -> Result<Map<String, Value>, Halt> {
        let phase = Phase::Debug;
        let rounds = self.project.settings.count(&table::DEBUG_ROUNDS);
        let (mut unchanged_rounds, mut last) = (0, TestReport::default());
        for round in 1..=rounds {
            let tested = self.tested(phase, &format!("{phase}.tests.{round}")).await?;
            if tested.green {
                return self.green(phase, round, &tested).await;
            }
            let state = self
                .once(phase, &format!("{phase}.state.{round}"), async || Ok(Snapshot::take(self.root())))
                .await?;
            let what = format!("The tests fail: `{}`, {}.", tested.command, tested.words());
            let again = if round > 1 && tested.failing == last.failing {
                "The previous round failed in the same way: find another cause."
            } else {
                ""
            };
            self.debugger(phase, &format!("{phase}.debug.{round}"), &what, &failures(&tested), again).await?;
            let unchanged = async || Ok(state.touched(&Snapshot::take(self.root())).is_empty());
            let unchanged = self.once(phase, &format!("{phase}.after.{round}"), unchanged).await?;
            unchanged_rounds = if unchanged { unchanged_rounds + 1 } else { 0 };
            last = tested;
            if unchanged_rounds >= MAX_UNCHANGED_ROUNDS {
                return Err(tests_failed(
                    &last,
                    &format!("no file was changed in {MAX_UNCHANGED_ROUNDS} rounds"),
                ));
            }
        }
        let tested = self.tested(phase, &format!("{phase}.tests.last")).await?;
        match tested.green {
            true => self.green(phase, rounds, &tested).await,
            false => Err(tests_failed(
                &tested,
                &format!("{rounds} rounds of debugging are used up (MARVIN_DEBUG_ROUNDS)"),
            )),
        }
    }

    async fn green(
        &self,
        phase: Phase,
        round: usize,
        tested: &TestReport,
    ) -> Result<Map<String, Value>, Halt> {
        let changed = self.oracle()?.changes(self.root());
        if !changed.is_empty() {
            return Err(Halt::not_verified(
                "oracle_changed",
                format!("{phase}: the tests pass, but they were changed: {}", changed.join(", ")),
            ));
        }
        Ok(facts(&DebugFacts { rounds: round, command: &tested.command, counted: tested.words() }))
    }

    /// Lets an agent fix the code, in any phase after it was written.
    pub(super) async fn debugger(
        &self,
        phase: Phase,
        step: &str,
        what: &str,
        failures: &str,
        again: &str,
    ) -> Result<AgentReport, Halt> {
        let text = fill(
            include_str!("../../prompts/debug.md"),
            &[("what", what), ("failures", failures), ("before", again), ("goal", self.goal())],
        );
        let task = Task {
            phase,
            step: step.to_string(),
            role: Role::Debugger,
            model: ModelChoice::Plan,
            text,
            may: TaskAccess::Work(code_scope()),
            schema: None,
            commitments: Vec::new(),
        };
        self.work(&task).await
    }
}

/// The problems of an attempt at the code.
fn attempt_problems(report: &AgentReport) -> Vec<String> {
    let mut problems = Vec::new();
    if !report.tampered.is_empty() {
        problems.push(format!("it changed the oracle, which was restored: {}", report.tampered.join(", ")));
    }
    if !report.succeeded() {
        problems.push(format!("it ended with {}: {}", report.status, report.summary));
    }
    problems
}

fn failures(tested: &TestReport) -> String {
    let names: String = tested.failing.iter().take(30).map(|name| format!("- {name}\n")).collect();
    format!(
        "{names}\nThe output of the runner:\n{}",
        truncate::middle(tested.text.trim(), MAX_TEST_OUTPUT_BYTES)
    )
}

fn tests_failed(tested: &TestReport, why: &str) -> Halt {
    let names: String = tested.failing.iter().take(20).map(|name| format!("\n- {name}")).collect();
    Halt::not_verified(
        "tests_red",
        format!(
            "the tests fail: {}; {why}{names}\n  hint: `marvin pipeline resume` tries again",
            tested.words()
        ),
    )
}
