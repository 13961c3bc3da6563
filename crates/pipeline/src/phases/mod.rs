//! The work of each phase.

mod building;
mod documents;
mod quality;
mod review;
mod running;
mod tests;

use crate::files;
use crate::finding::{self, Finding, Review, ReviewError};
use crate::phase::Phase;
use crate::pipeline::{Pipeline, Task, TaskAccess};
use crate::stop::Halt;
use crate::test_run::{self, TestReport};
use marvin_agent::launch::ModelChoice;
use marvin_agent::roles::Role;
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use marvin_gate::Scope;
use serde::Serialize;
use serde_json::{Map, Value};

/// Attempts at a document, at tests or at a review.
const MAX_ATTEMPTS: usize = 3;
/// Characters of test output in a prompt.
const MAX_TEST_OUTPUT_BYTES: usize = 6_000;

impl Pipeline {
    /// Executes a phase and returns the facts for the journal.
    pub(crate) async fn body(&self, phase: Phase) -> Result<Map<String, Value>, Halt> {
        match phase {
            Phase::Specification | Phase::Design => self.write_documents(phase).await,
            Phase::SpecificationReview | Phase::DesignReview => self.review_documents(phase).await,
            Phase::FunctionalTests => self.functional_tests().await,
            Phase::IntegrationTests => self.integration_tests().await,
            Phase::Implementation => self.implement().await,
            Phase::Debug => self.debug().await,
            Phase::EndToEnd => self.end_to_end().await,
            Phase::Frontend => self.frontend().await,
            Phase::Quality => self.quality().await,
        }
    }

    /// Asks a read-only agent for findings; the inner error is why its review is invalid. `repro`: every finding needs one.
    async fn findings(
        &self,
        phase: Phase,
        step: String,
        model: ModelChoice,
        text: String,
        repro: bool,
    ) -> Result<Result<Review, ReviewError>, Halt> {
        let task = Task {
            phase,
            step,
            role: Role::Reviewer,
            model,
            text,
            may: TaskAccess::Read,
            schema: Some(finding::schema(repro)),
            commitments: Vec::new(),
        };
        let report = self.work(&task).await?;
        let review = finding::parse_review(&report.outputs, &report.summary);
        if review.is_ok() && !report.succeeded() {
            return Ok(Err(ReviewError::Unsuccessful { status: report.status, summary: report.summary }));
        }
        Ok(review)
    }

    /// Runs the project's tests; see [`test_run::run`].
    pub(crate) async fn run_tests(&self, all: bool) -> Result<TestReport, Halt> {
        test_run::run(&self.context(None), all).await
    }

    /// Runs the tests once under a name in the record.
    pub(crate) async fn tested(&self, phase: Phase, name: &str) -> Result<TestReport, Halt> {
        let tested = self.once(phase, name, async || self.run_tests(false).await).await?;
        self.trace.event(TraceEvent::TestsCounted {
            phase: phase.name().into(),
            step_id: name.into(),
            green: tested.green,
            command: tested.command.clone(),
            counted: tested.words(),
            failing: tested.failing.iter().take(20).cloned().collect(),
        })?;
        Ok(tested)
    }

    /// The commitment that the project's tests pass.
    pub(crate) fn tests_pass(&self) -> String {
        match self.project.settings.text(&table::TEST_COMMAND).trim() {
            "" => "tests_pass:auto".into(),
            line => format!("tests_pass:command {line}"),
        }
    }
}

/// Fills the placeholders of a template.
pub(crate) fn fill(template: &str, places: &[(&str, &str)]) -> String {
    let mut text = template.to_string();
    for (name, value) in places {
        text = text.replace(&format!("{{{name}}}"), value);
    }
    let mut text = text.trim_end().to_string();
    text.push('\n');
    text
}

/// Findings as lines.
pub(crate) fn listed(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "none\n".to_string();
    }
    findings.iter().map(|finding| format!("- {finding}\n")).collect()
}

/// The problems of the previous attempt; empty at the first.
pub(crate) fn before(problems: &[String]) -> String {
    match problems {
        [] => String::new(),
        problems => {
            let lines: String = problems.iter().map(|problem| format!("- {problem}\n")).collect();
            format!("\n# The previous attempt was not accepted\n{lines}Do it again without these problems.")
        }
    }
}

/// The facts of a phase, as the journal keeps them.
pub(crate) fn facts(facts: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(facts) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// The scope of an agent that writes code: everything except the oracle.
pub(crate) fn code_scope() -> Scope {
    let mut closed = files::patterns(&[&files::TESTS]);
    closed.push(".marvin/".into());
    Scope {
        name: "the tests, `.marvin` and the rest of the oracle".into(),
        open: Vec::new(),
        closed,
        reason: "They are sealed; change the code instead, or say in your answer what is wrong with them."
            .into(),
    }
}

/// The scope of an agent that writes tests.
pub(crate) fn test_scope() -> Scope {
    Scope {
        name: "anything but tests and manifests".into(),
        open: files::patterns(&[&files::TESTS, &files::MANIFESTS]),
        closed: vec![".marvin/".into()],
        reason: "The code is written later, by another agent: write tests (`tests/…`, `test_*.py`, `*_test.go`, `*.test.ts` …) that need it.".into(),
    }
}
