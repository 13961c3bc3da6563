//! Phases 2a and 2b: the tests are written before the code, and the plan for the running application.

use super::review::{CODE_ROUNDS, Reviewer, Subject};
use super::{ATTEMPTS, before, fill, test_scope, texts};
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
use serde_json::{Map, Value, json};

const FUNCTIONAL: &str = "Write the functional tests: one for every requirement and every edge that the plan names, each of one function or command.";
const INTEGRATION: &str = "Write the integration tests: the parts together, through the outermost way in, with real files and real data. The functional tests are there already; add to them, and change none of them.";

/// The name under which the last count of red tests is kept.
const RED: &str = "red";

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
        facts.insert("oracle".into(), json!({"files": oracle.len(), "signature": oracle.signature()}));
        Ok(facts)
    }

    async fn red_facts(&self, phase: Phase, rounds: usize, minor: usize) -> Result<Map<String, Value>, Halt> {
        // As it was counted last.
        let tested: TestReport = self
            .crew
            .kept(&self.key(phase, &format!("{phase}.{RED}")))?
            .and_then(|kept| serde_json::from_value(kept).ok())
            .unwrap_or_default();
        let facts = json!({"tests": failing_tests::written(self.root()), "red": tested.words(), "command": tested.command, "rounds": rounds, "minor": minor});
        Ok(facts.as_object().cloned().unwrap_or_default())
    }

    async fn write_tests(&self, phase: Phase, kind: &str, what: &str) -> Result<(), Halt> {
        let there = self
            .once(phase, &format!("{phase}.written"), async || Ok(json!(failing_tests::written(self.root()))))
            .await?;
        let there = usize::try_from(there.as_u64().unwrap_or(0)).unwrap_or(0);
        let mut problems: Vec<String> = Vec::new();
        for attempt in 1..=ATTEMPTS {
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
            let said = self.work(&task).await?;
            let found = self
                .once(phase, &format!("{step}.check"), async || {
                    Ok(json!(self.wrong_with_tests(phase, there, &said).await?))
                })
                .await?;
            problems = texts(&found);
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
                "the {kind} tests do not hold after {ATTEMPTS} attempts:\n- {}\n  hint: mend them and go on with `marvin pipeline resume`",
                problems.join("\n- ")
            ),
        ))
    }

    /// Everything that is wrong with the tests as they are now.
    async fn wrong_with_tests(
        &self,
        phase: Phase,
        there: usize,
        said: &AgentReport,
    ) -> Result<Vec<String>, Halt> {
        let mut problems: Vec<String> =
            self.own_findings(phase).await?.into_iter().map(|finding| finding.to_string()).collect();
        if failing_tests::written(self.root()) <= there
            && !problems.iter().any(|problem| problem.contains("no test was written"))
        {
            problems.push("no test was added".into());
        }
        let outside = said.outside.iter().map(|path| {
            format!("`{path}` is no test and no manifest; the code is written later, by somebody else")
        });
        problems.extend(outside);
        if !problems.is_empty() && !said.succeeded() {
            problems.push(format!("it ended with {}: {}", said.status, said.summary));
        }
        Ok(problems)
    }

    /// What the shell itself finds in the tests: stand-ins, a wrong reason to be red, code that is none of theirs.
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
                    "there is code in it already; before the code is written it holds nothing but remarks"
                        .into(),
                ));
            }
        }
        let tested = self.run_tests(true).await?;
        self.crew.keep(&self.key(phase, &format!("{phase}.{RED}")), &json!(tested))?;
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
                    focus: "Go through the requirements and the test plan: is each of them tested, with the values that the documents give? Would a wrong program pass?",
                },
                Reviewer {
                    name: "quality",
                    model: ModelChoice::AuxReviewer,
                    focus: "Do the tests use real parts? Do they depend on each other, on the time, on the machine? Can each of them fail?",
                },
            ],
            fixer: Role::TestWriter,
            may: TaskAccess::Work(test_scope()),
            how: "You may write tests and manifests only. The tests stay red, since there is no code yet.",
            tdd: true,
        };
        // What was written was looked at a moment ago; what was mended since is looked at again.
        let own = async |round| if round == 1 { Ok(Vec::new()) } else { self.own_findings(phase).await };
        self.review(&subject, &own).await
    }

    /// `.marvin/e2e.json`.
    async fn write_plan(&self) -> Result<(), Halt> {
        let phase = Phase::IntegrationTests;
        let path = self.root().join(PLAN);
        let mut problems: Vec<String> = Vec::new();
        for attempt in 1..=ATTEMPTS {
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
            let found = self
                .once(phase, &format!("{step}.check"), async || {
                    let problems = Plan::read(&path).err().unwrap_or_default();
                    if !problems.is_empty() {
                        std::fs::remove_file(&path).ok();
                    }
                    Ok(json!(problems))
                })
                .await?;
            problems = texts(&found);
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
                "{PLAN} was not written after {ATTEMPTS} attempts: {}\n  hint: write it yourself and go on with `marvin pipeline resume`",
                problems.join("; ")
            ),
        ))
    }
}
