//! What is done in each phase.

mod building;
mod documents;
mod quality;
mod review;
mod running;
mod tests;

use crate::files;
use crate::finding::{self, Finding, Review};
use crate::phase::Phase;
use crate::pipeline::{Pipeline, Task, TaskAccess};
use crate::stop::Halt;
use crate::test_run::{self, TestReport};
use marvin_agent::launch::ModelChoice;
use marvin_agent::roles::Role;
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use marvin_gate::Scope;
use serde_json::{Map, Value, json};

/// How often a document, tests or a review are asked for.
const ATTEMPTS: usize = 3;
/// Characters of what the tests said that are told to whoever mends them.
const MAX_TEST_OUTPUT_BYTES: usize = 6_000;

impl Pipeline {
    /// What is done in a phase; gives the facts that are written down of it.
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

    /// Asks somebody who only reads what they found; the inner error says why it is no review. `shown`: every finding must
    /// say what shows it.
    async fn findings(
        &self,
        phase: Phase,
        step: String,
        model: ModelChoice,
        text: String,
        shown: bool,
    ) -> Result<Result<Review, String>, Halt> {
        let task = Task {
            phase,
            step,
            role: Role::Reviewer,
            model,
            text,
            may: TaskAccess::Read,
            schema: Some(finding::schema(shown)),
            commitments: Vec::new(),
        };
        let said = self.work(&task).await?;
        let review = finding::understand(&said.outputs, &said.summary);
        if review.is_ok() && !said.succeeded() {
            return Ok(Err(format!("it ended with {}: {}", said.status, said.summary)));
        }
        Ok(review)
    }

    /// Runs the project's own tests: as the settings say, or as they are found. `all`: also those beside files that cannot be
    /// loaded yet, where pytest would stop.
    pub(crate) async fn run_tests(&self, all: bool) -> Result<TestReport, Halt> {
        test_run::run(&self.context(None), all).await
    }

    /// The same, once under a name.
    pub(crate) async fn tested(&self, phase: Phase, name: &str) -> Result<TestReport, Halt> {
        let value = self.once(phase, name, async || Ok(json!(self.run_tests(false).await?))).await?;
        let tested: TestReport =
            serde_json::from_value(value).map_err(|error| Halt::Tool(error.to_string()))?;
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
        match self.ground.settings.text(&table::TEST_COMMAND).trim() {
            "" => "tests_pass:auto".into(),
            line => format!("tests_pass:command {line}"),
        }
    }
}

/// A template with its places filled.
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

/// What was wrong with the attempt before; empty at the first.
pub(crate) fn before(problems: &[String]) -> String {
    match problems {
        [] => String::new(),
        problems => {
            let lines: String = problems.iter().map(|problem| format!("- {problem}\n")).collect();
            format!(
                "\n# The attempt before this one does not hold\n{lines}Do it again so that none of this is left."
            )
        }
    }
}

/// Texts of a kept list.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_string).collect()
}

/// What somebody who writes code may not write: what the work is judged by.
pub(crate) fn code_scope() -> Scope {
    let mut closed = files::patterns(&[&files::TESTS]);
    closed.push(".marvin/".into());
    Scope {
        name: "the tests, `.marvin` and what else the work is judged by".into(),
        open: Vec::new(),
        closed,
        reason: "They were agreed on before; change the code instead, or say in your answer what is wrong with them.".into(),
    }
}

/// What somebody who writes tests may write.
pub(crate) fn test_scope() -> Scope {
    Scope {
        name: "anything but tests and manifests".into(),
        open: files::patterns(&[&files::TESTS, &files::MANIFESTS]),
        closed: vec![".marvin/".into()],
        reason: "The code is written later, by somebody else: write tests (`tests/…`, `test_*.py`, `*_test.go`, `*.test.ts` …) that need it.".into(),
    }
}
