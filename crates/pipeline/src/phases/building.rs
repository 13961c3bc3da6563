//! Phases 3 and 4a: the code is written, and mended until the tests are green by the pipeline's own count.

use super::review::{CODE_ROUNDS, Reviewer, Subject};
use super::{ATTEMPTS, MAX_TEST_OUTPUT_BYTES, before, code_scope, fill};
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
use serde_json::{Map, Value, json};

/// Rounds without any change after which nobody is asked again.
const STILL: usize = 3;

impl Pipeline {
    pub(super) async fn implement(&self) -> Result<Map<String, Value>, Halt> {
        let phase = Phase::Implementation;
        let mut problems: Vec<String> = Vec::new();
        let mut made = 0;
        for attempt in 1..=ATTEMPTS {
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
            let said = self.work(&task).await?;
            problems = wrong(&said);
            if problems.is_empty() {
                break;
            }
        }
        if !self.has_code() {
            return Err(Halt::failed(
                "nothing_implemented",
                format!("nothing was implemented in {ATTEMPTS} attempts: {}", problems.join("; ")),
            ));
        }
        let (rounds, left) = self.review_code().await?;
        let facts = json!({"attempts": made, "claimed": problems.is_empty(), "left": problems, "rounds": rounds, "minor": left.len()});
        Ok(facts.as_object().cloned().unwrap_or_default())
    }

    /// Is there any code beside tests and manifests?
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
                    focus: "Go through the specification, the user's side and the design: is each requirement built as they say? What is built that nobody asked for?",
                },
                Reviewer {
                    name: "quality",
                    model: ModelChoice::AuxReviewer,
                    focus: "Look for mistakes: stubs, pretended results, code that is made for the tests only, errors that are swallowed, input that is trusted.",
                },
            ],
            fixer: Role::Implementer,
            may: TaskAccess::Work(code_scope()),
            how: "Mend the code. The tests are closed, and must not become redder than they are.",
            tdd: false,
        };
        let own = async |_| {
            let changed = self.oracle()?.changes(self.root());
            let finding = |path: String| Finding {
                severity: Severity::Critical,
                place: path,
                text: "it was changed since the tests were agreed on".into(),
                repro: None,
            };
            Ok(changed.into_iter().map(finding).collect())
        };
        self.review(&subject, &own).await
    }

    pub(super) async fn debug(&self) -> Result<Map<String, Value>, Halt> {
        let phase = Phase::Debug;
        let rounds = self.ground.settings.count(&table::DEBUG_ROUNDS);
        let (mut still, mut last) = (0, TestReport::default());
        for round in 1..=rounds {
            let tested = self.tested(phase, &format!("{phase}.tests.{round}")).await?;
            if tested.green {
                return self.green(phase, round, &tested).await;
            }
            let state = self
                .once(phase, &format!("{phase}.state.{round}"), async || {
                    Ok(json!(Snapshot::take(self.root())))
                })
                .await?;
            let what = format!("The tests are red: `{}`, {}.", tested.command, tested.words());
            let again = if round > 1 && tested.failing == last.failing {
                "The round before this one failed in the same way: find another cause."
            } else {
                ""
            };
            self.debugger(phase, &format!("{phase}.debug.{round}"), &what, &failures(&tested), again).await?;
            let unchanged = async || {
                let before: Snapshot = serde_json::from_value(state.clone()).unwrap_or_default();
                Ok(json!(before.touched(&Snapshot::take(self.root())).is_empty()))
            };
            let unchanged = self.once(phase, &format!("{phase}.after.{round}"), unchanged).await?;
            still = if unchanged == json!(true) { still + 1 } else { 0 };
            last = tested;
            if still >= STILL {
                return Err(red(&last, &format!("nothing was changed in {STILL} rounds")));
            }
        }
        let tested = self.tested(phase, &format!("{phase}.tests.last")).await?;
        match tested.green {
            true => self.green(phase, rounds, &tested).await,
            false => {
                Err(red(&tested, &format!("{rounds} rounds of debugging are used up (MARVIN_DEBUG_ROUNDS)")))
            }
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
                format!("{phase}: the tests are green, but they were changed: {}", changed.join(", ")),
            ));
        }
        let facts = json!({"rounds": round, "command": tested.command, "counted": tested.words()});
        Ok(facts.as_object().cloned().unwrap_or_default())
    }

    /// Somebody who mends the code, in any phase after it was written.
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

/// What is wrong with an attempt at the code.
fn wrong(said: &AgentReport) -> Vec<String> {
    let mut problems = Vec::new();
    if !said.tampered.is_empty() {
        problems.push(format!(
            "it changed what it is judged by, which was put back: {}",
            said.tampered.join(", ")
        ));
    }
    if !said.succeeded() {
        problems.push(format!("it ended with {}: {}", said.status, said.summary));
    }
    problems
}

fn failures(tested: &TestReport) -> String {
    let names: String = tested.failing.iter().take(30).map(|name| format!("- {name}\n")).collect();
    format!("{names}\nWhat the runner said:\n{}", truncate::middle(tested.text.trim(), MAX_TEST_OUTPUT_BYTES))
}

fn red(tested: &TestReport, why: &str) -> Halt {
    let names: String = tested.failing.iter().take(20).map(|name| format!("\n- {name}")).collect();
    Halt::not_verified(
        "tests_red",
        format!(
            "the tests are not green: {}; {why}{names}\n  hint: `marvin pipeline resume` tries again",
            tested.words()
        ),
    )
}
