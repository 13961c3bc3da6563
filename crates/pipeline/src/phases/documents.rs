//! Phases 1a and 1b: writing the documents.

use super::{MAX_ATTEMPTS, before, fill};
use crate::documents::Document;
use crate::phase::Phase;
use crate::pipeline::{Pipeline, Task, TaskAccess};
use crate::stop::Halt;
use marvin_agent::launch::ModelChoice;
use marvin_agent::roles::Role;
use marvin_base::trace_event::TraceEvent;
use serde::Serialize;
use serde_json::{Map, Value};

/// Tools that write documents.
const TOOLS: [&str; 2] = ["create_file", "append_file"];

#[derive(Serialize)]
struct DocumentFacts {
    attempts: usize,
    bytes: u64,
}

fn what(document: Document) -> &'static str {
    match document {
        Document::Specification => {
            "The product specification: what to build and for whom, every requirement with a number (R1, R2 …), what is out of scope, and how each requirement is accepted."
        }
        Document::Experience => {
            "The user's view, from `.marvin/spec.md`, which you read first: who uses it, every command, page or call with its exact words, and every error with its message to the user."
        }
        Document::Design => {
            "The architecture, from `.marvin/spec.md` and `.marvin/ux.md`, which you read first: the components and how they work together, every file and module by name with its functions and types, every required package, and the test plan: for each requirement the tests, functional and integration, by file and name."
        }
    }
}

impl Pipeline {
    pub(super) async fn write_documents(&self, phase: Phase) -> Result<Map<String, Value>, Halt> {
        let mut facts = Map::new();
        for document in Document::for_phase(phase) {
            let attempts = self.write_document(phase, *document).await?;
            let bytes = std::fs::metadata(self.root().join(document.path())).map_or(0, |facts| facts.len());
            let written = DocumentFacts { attempts, bytes };
            facts.insert(document.name().into(), super::facts(&written).into());
        }
        Ok(facts)
    }

    /// Returns the number of attempts; 0: the document existed already.
    async fn write_document(&self, phase: Phase, document: Document) -> Result<usize, Halt> {
        let name = document.name();
        let there = self
            .once(phase, &format!("{phase}.{name}.there"), async || {
                Ok(document.problems(self.root()).is_empty())
            })
            .await?;
        if there {
            let text = format!("{} existed already, and is complete", document.path());
            self.trace.notice(text)?;
            return Ok(0);
        }
        let mut problems: Vec<String> = Vec::new();
        for attempt in 1..=MAX_ATTEMPTS {
            let step = format!("{phase}.{name}.{attempt}");
            let headings: Vec<String> =
                document.headings().iter().map(|heading| format!("`## {heading}`")).collect();
            let text = fill(
                include_str!("../../prompts/document.md"),
                &[
                    ("path", document.path()),
                    ("what", what(document)),
                    ("headings", &headings.join(", ")),
                    ("before", &before(&problems)),
                    ("goal", self.goal()),
                ],
            );
            let task = Task {
                phase,
                step: step.clone(),
                role: Role::DocumentWriter,
                model: ModelChoice::PlanGen,
                text,
                may: TaskAccess::Write(vec![document.path().into()], &TOOLS),
                schema: None,
                commitments: Vec::new(),
            };
            let report = self.work(&task).await?;
            problems = self
                .once(phase, &format!("{step}.check"), async || {
                    let problems = document.problems(self.root());
                    if !problems.is_empty() {
                        // The next attempt must not continue an invalid document.
                        std::fs::remove_file(self.root().join(document.path())).ok();
                    }
                    Ok(problems)
                })
                .await?;
            self.trace.event(TraceEvent::DocumentChecked {
                phase: phase.name().into(),
                step_id: step.clone(),
                path: document.path().into(),
                problems: problems.clone(),
            })?;
            if problems.is_empty() {
                return Ok(attempt);
            }
            if !report.succeeded() {
                problems.push(format!("it ended with {}: {}", report.status, report.summary));
            }
        }
        let path = document.path();
        Err(Halt::failed(
            "document",
            format!(
                "{path} was not written after {MAX_ATTEMPTS} attempts: {}\n  hint: write it yourself and continue with `marvin pipeline resume`, or use another model (--model plan_gen=…)",
                problems.join("; ")
            ),
        ))
    }
}
