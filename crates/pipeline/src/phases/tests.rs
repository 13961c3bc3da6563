//! Phases 2a and 2b: writing the tests before the code, and the checks of the running application.

use super::review::{CODE_ROUNDS, Reviewer, Subject};
use super::{MAX_ATTEMPTS, before, fill, test_scope};
use crate::finding::{Finding, Severity};
use crate::http_checks::Plan;
use crate::oracle::PLAN;
use crate::phase::Phase;
use crate::pipeline::{AgentReport, Pipeline, Task, TaskAccess};
use crate::stop::Halt;
use crate::test_run::TestReport;
use crate::{failing_tests, files, mock_detection};
use marvin_agent::launch::ModelChoice;
use marvin_agent::roles::Role;
use marvin_base::trace_event::TraceEvent;
use serde::Serialize;
use serde_json::{Map, Value};

const FUNCTIONAL: &str = "Write the functional tests: one for every requirement and every edge case that the plan names, each of one function or command.";
const INTEGRATION: &str = "Write the integration tests: the components together, through the outermost interface, with real files and real data. The functional tests exist already; add to them, and change none of them.";

/// The record key of the last count of failing tests.
const RED: &str = "red";

#[derive(Serialize)]
struct TestFacts {
    tests: usize,
    /// The counts of the failing tests.
    red: String,
    command: String,
    rounds: usize,
    minor: usize,
}

#[derive(Serialize)]
struct OracleFacts {
    files: usize,
    signature: String,
}

impl Pipeline {
    pub(super) async fn functional_tests(&self) -> Result<Map<String, Value>, Halt> {
        let phase = Phase::FunctionalTests;
        self.write_tests(phase, "functional", FUNCTIONAL).await?;
        let (rounds, left) = self.review_tests(phase).await?;
        self.red_facts(phase, rounds, left.len()).await
    }

    pub(super) async fn integration_tests(&self) -> Result<Map<String, Value>, Halt> {
        let phase = Phase::IntegrationTests;
        self.write_tests(phase, "integration", INTEGRATION).await?;
        self.write_plan().await?;
        let (rounds, left) = self.review_tests(phase).await?;
        let mut facts = self.red_facts(phase, rounds, left.len()).await?;
        let oracle = self.seal()?;
        let sealed = OracleFacts { files: oracle.len(), signature: oracle.signature() };
        facts.insert("oracle".into(), super::facts(&sealed).into());
        Ok(facts)
    }

    async fn red_facts(&self, phase: Phase, rounds: usize, minor: usize) -> Result<Map<String, Value>, Halt> {
        let tested: TestReport = self
            .agents
            .kept(&self.key(phase, &format!("{phase}.{RED}")))?
            .and_then(|kept| serde_json::from_value(kept).ok())
            .unwrap_or_default();
        Ok(super::facts(&TestFacts {
            tests: failing_tests::written(self.root()),
            red: tested.words(),
            command: tested.command,
            rounds,
            minor,
        }))
    }

    async fn write_tests(&self, phase: Phase, kind: &str, what: &str) -> Result<(), Halt> {
        let there = self
            .once(phase, &format!("{phase}.written"), async || Ok(failing_tests::written(self.root())))
            .await?;
        let mut problems: Vec<String> = Vec::new();
        for attempt in 1..=MAX_ATTEMPTS {
            let step = format!("{phase}.tests.{attempt}");
            let text = fill(
                include_str!("../../prompts/tests.md"),
                &[("kind", kind), ("what", what), ("before", &before(&problems)), ("goal", self.goal())],
            );
            let task = Task {
                phase,
                step: step.clone(),
                role: Role::TestWriter,
                model: ModelChoice::TestWriter,
                text,
                may: TaskAccess::Work(test_scope()),
                schema: None,
                commitments: Vec::new(),
            };
            let report = self.work(&task).await?;
            problems = self
                .once(phase, &format!("{step}.check"), async || {
                    self.test_problems(phase, there, &report).await
                })
                .await?;
            self.trace.event(TraceEvent::TestsChecked {
                phase: phase.name().into(),
                step_id: step.clone(),
                problems: problems.clone(),
            })?;
            if problems.is_empty() {
                return Ok(());
            }
        }
        Err(Halt::failed(
            "tests",
            format!(
                "the {kind} tests are not acceptable after {MAX_ATTEMPTS} attempts:\n- {}\n  hint: fix them and continue with `marvin pipeline resume`",
                problems.join("\n- ")
            ),
        ))
    }

    /// All problems of the current tests.
    async fn test_problems(
        &self,
        phase: Phase,
        there: usize,
        report: &AgentReport,
    ) -> Result<Vec<String>, Halt> {
        let mut problems: Vec<String> =
            self.own_findings(phase).await?.into_iter().map(|finding| finding.to_string()).collect();
        let written = failing_tests::written(self.root());
        // Without any test the findings say so already.
        if written > 0 && written <= there {
            problems.push("no test was added".into());
        }
        let outside = report.outside.iter().map(|path| {
            format!("`{path}` is neither a test nor a manifest; the code is written later, by another agent")
        });
        problems.extend(outside);
        if !problems.is_empty() && !report.succeeded() {
            problems.push(format!("it ended with {}: {}", report.status, report.summary));
        }
        Ok(problems)
    }

    /// The shell's own findings: mocks, failures for a wrong reason, code outside of the tests.
    async fn own_findings(&self, phase: Phase) -> Result<Vec<Finding>, Halt> {
        let critical = |place: &str, text: String| Finding {
            severity: Severity::Critical,
            place: place.into(),
            text,
            repro: None,
        };
        let root = self.root();
        let mut findings = mock_detection::find(root);
        for path in ["src/lib.rs", "src/main.rs"] {
            let text = files::text(root, path);
            if !failing_tests::is_bare(&text) {
                findings.push(critical(
                    path,
                    "it has code already; before phase 3 it may have only comments".into(),
                ));
            }
        }
        let tested = self.run_tests(true).await?;
        self.keep(&self.key(phase, &format!("{phase}.{RED}")), &tested)?;
        let design = files::text(root, ".marvin/design.md");
        findings.extend(
            failing_tests::problems(root, &tested.counts, &tested.text, &design)
                .into_iter()
                .map(|text| critical("", text)),
        );
        Ok(findings)
    }

    async fn review_tests(&self, phase: Phase) -> Result<(usize, Vec<Finding>), Halt> {
        let subject = Subject {
            phase,
            name: "tests",
            what: "the tests of this project".into(),
            rounds: CODE_ROUNDS,
            reviewers: vec![
                Reviewer {
                    name: "conformance",
                    model: ModelChoice::Opus,
                    focus: "Go through the requirements and the test plan: is each of them tested, with the values in the documents? Would a wrong program pass?",
                },
                Reviewer {
                    name: "quality",
                    model: ModelChoice::AuxReviewer,
                    focus: "Do the tests use real components? Do they depend on each other, on the time, on the machine? Can each of them fail?",
                },
            ],
            fixer: Role::TestWriter,
            may: TaskAccess::Work(test_scope()),
            how: "You may write tests and manifests only. The tests keep failing until the code is written.",
            tdd: true,
        };
        // New tests were just checked; only fixed ones are checked again.
        let own = async |round| if round == 1 { Ok(Vec::new()) } else { self.own_findings(phase).await };
        self.review(&subject, &own).await
    }

    /// `.marvin/e2e.json`.
    async fn write_plan(&self) -> Result<(), Halt> {
        let phase = Phase::IntegrationTests;
        let path = self.root().join(PLAN);
        let mut problems: Vec<String> = Vec::new();
        for attempt in 1..=MAX_ATTEMPTS {
            let step = format!("{phase}.e2e.{attempt}");
            let text = fill(
                include_str!("../../prompts/asked.md"),
                &[("before", &before(&problems)), ("goal", self.goal())],
            );
            let task = Task {
                phase,
                step: step.clone(),
                role: Role::TestWriter,
                model: ModelChoice::TestWriter,
                text,
                may: TaskAccess::Write(vec![PLAN.into()], &["create_file"]),
                schema: None,
                commitments: Vec::new(),
            };
            self.work(&task).await?;
            problems = self
                .once(phase, &format!("{step}.check"), async || {
                    let problems = Plan::read(&path).err().unwrap_or_default();
                    if !problems.is_empty() {
                        std::fs::remove_file(&path).ok();
                    }
                    Ok(problems)
                })
                .await?;
            self.trace.event(TraceEvent::DocumentChecked {
                phase: phase.name().into(),
                step_id: step.clone(),
                path: PLAN.into(),
                problems: problems.clone(),
            })?;
            if problems.is_empty() {
                return Ok(());
            }
        }
        Err(Halt::failed(
            "document",
            format!(
                "{PLAN} was not written after {MAX_ATTEMPTS} attempts: {}\n  hint: write it yourself and continue with `marvin pipeline resume`",
                problems.join("; ")
            ),
        ))
    }
}
