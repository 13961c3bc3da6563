//! Reviews: parallel reviewers, findings, a fixer, and the next round. The history is written from the record.

use super::{MAX_ATTEMPTS, before, fill, listed};
use crate::documents::Document;
use crate::finding::{Finding, Review, Severity};
use crate::phase::Phase;
use crate::pipeline::{Pipeline, Task, TaskAccess};
use crate::stop::Halt;
use futures_util::future::join_all;
use marvin_agent::launch::ModelChoice;
use marvin_agent::roles::Role;
use marvin_base::atomic;
use marvin_base::trace_event::TraceEvent;
use serde::Serialize;
use serde_json::{Map, Value};

/// Rounds of reviews of a document, and of code or tests.
pub(super) const DOCUMENT_ROUNDS: usize = 4;
pub(super) const CODE_ROUNDS: usize = 3;
/// Tools that fix documents.
const FIX_TOOLS: [&str; 3] = ["apply_patch", "create_file", "append_file"];

#[derive(Debug, Clone, Copy)]
pub(super) struct Reviewer {
    pub(super) name: &'static str,
    pub(super) model: ModelChoice,
    pub(super) focus: &'static str,
}

/// The subject of a review.
pub(super) struct Subject {
    pub(super) phase: Phase,
    /// The name in step ids and file names.
    pub(super) name: &'static str,
    /// The description in prompts.
    pub(super) what: String,
    pub(super) rounds: usize,
    /// After the first round only the first one reviews.
    pub(super) reviewers: Vec<Reviewer>,
    pub(super) fixer: Role,
    pub(super) may: TaskAccess,
    /// Instructions for the fixer.
    pub(super) how: &'static str,
    /// Whether the tests were written before the code.
    pub(super) tdd: bool,
}

#[derive(Serialize)]
struct ReviewFacts {
    rounds: usize,
    minor: usize,
}

/// The shell's own check before the reviewers of a round.
pub(super) trait BuiltinCheck: AsyncFn(usize) -> Result<Vec<Finding>, Halt> {}
impl<F: AsyncFn(usize) -> Result<Vec<Finding>, Halt>> BuiltinCheck for F {}

impl Pipeline {
    /// Phases 1a_review and 1b_review.
    pub(super) async fn review_documents(&self, phase: Phase) -> Result<Map<String, Value>, Halt> {
        let mut facts = Map::new();
        for document in Document::for_phase(phase) {
            let subject = Subject {
                phase,
                name: document.name(),
                what: format!("the document `{}`", document.path()),
                rounds: DOCUMENT_ROUNDS,
                reviewers: vec![
                    Reviewer {
                        name: "conformance",
                        model: ModelChoice::Opus,
                        focus: "Compare it with the task and with the earlier documents, sentence by sentence: what is missing, what contradicts, what was not asked for. Assume that something is wrong.",
                    },
                    Reviewer {
                        name: "clarity",
                        model: ModelChoice::AuxReviewer,
                        focus: "Could an engineer build and test it from this alone? Look for ambiguities, and for what cannot be tested.",
                    },
                    Reviewer {
                        name: "edges",
                        model: ModelChoice::AuxReviewer,
                        focus: "Look for missing edge cases: wrong, empty, huge, repeated and concurrent input, and errors.",
                    },
                ],
                fixer: Role::DocumentWriter,
                may: TaskAccess::Write(vec![document.path().into()], &FIX_TOOLS),
                how: "You may write only this document. Keep its headings.",
                tdd: false,
            };
            let own = async |_| {
                let problems = document.problems(self.root());
                let finding = |text: String| Finding {
                    severity: Severity::Critical,
                    place: document.path().into(),
                    text,
                    repro: None,
                };
                Ok(problems.into_iter().map(finding).collect())
            };
            let (rounds, left) = self.review(&subject, &own).await?;
            let reviewed = ReviewFacts { rounds, minor: left.len() };
            facts.insert(document.name().into(), super::facts(&reviewed).into());
        }
        Ok(facts)
    }

    /// Reviews until no critical or major finding is left; returns the rounds and the minor findings.
    pub(super) async fn review(
        &self,
        subject: &Subject,
        own: &impl BuiltinCheck,
    ) -> Result<(usize, Vec<Finding>), Halt> {
        let (phase, name) = (subject.phase, subject.name);
        let mut history: Vec<Vec<Finding>> = Vec::new();
        for round in 1..=subject.rounds {
            let label = format!("{phase}.{name}.r{round}");
            let mut findings: Vec<Finding> =
                self.once(phase, &format!("{label}.shell"), async || own(round).await).await?;
            let asked = if round == 1 { subject.reviewers.len() } else { 1 };
            let earlier = history.last().map(Vec::as_slice).unwrap_or_default();
            let reviews = join_all(
                subject
                    .reviewers
                    .iter()
                    .take(asked)
                    .map(|reviewer| self.one_review(subject, *reviewer, &label, earlier)),
            )
            .await;
            for review in reviews {
                findings.extend(review?.findings);
            }
            let mut unique: Vec<Finding> = Vec::new();
            for finding in findings {
                if !unique.iter().any(|known| known.place == finding.place && known.text == finding.text) {
                    unique.push(finding);
                }
            }
            unique.sort_by_key(|finding| finding.severity);
            history.push(unique.clone());
            self.write_history(subject, &history)?;
            self.trace.event(TraceEvent::ReviewRound {
                phase: phase.name().into(),
                of: name.to_string(),
                round,
                findings: serde_json::to_value(&unique).unwrap_or_default(),
            })?;
            let open: Vec<Finding> =
                unique.iter().filter(|finding| finding.severity < Severity::Minor).cloned().collect();
            if open.is_empty() {
                return Ok((round, unique));
            }
            if round == subject.rounds {
                return Err(Halt::not_verified(
                    "review",
                    format!(
                        "after {round} rounds of review {} still has findings:\n{}  hint: fix them and continue with `marvin pipeline resume`",
                        subject.what,
                        listed(&open)
                    ),
                ));
            }
            self.fix(subject, round, &open).await?;
        }
        Ok((subject.rounds, Vec::new()))
    }

    /// One reviewer, asked again when its review is empty.
    async fn one_review(
        &self,
        subject: &Subject,
        reviewer: Reviewer,
        label: &str,
        earlier: &[Finding],
    ) -> Result<Review, Halt> {
        let mut problems: Vec<String> = Vec::new();
        for attempt in 1..=MAX_ATTEMPTS {
            let step = match attempt {
                1 => format!("{label}.{}", reviewer.name),
                _ => format!("{label}.{}.{attempt}", reviewer.name),
            };
            let mut previous = before(&problems);
            if !earlier.is_empty() {
                previous.push_str(&format!(
                    "\n# Findings of the previous round: check whether they are fixed\n{}",
                    listed(earlier)
                ));
            }
            let text = fill(
                include_str!("../../prompts/review.md"),
                &[
                    ("what", &subject.what),
                    ("focus", reviewer.focus),
                    ("tdd", if subject.tdd { include_str!("../../prompts/tdd.md").trim() } else { "" }),
                    ("before", &previous),
                    ("goal", self.goal()),
                ],
            );
            match self.findings(subject.phase, step, reviewer.model, text, false).await? {
                Ok(review) => return Ok(review),
                Err(why) => problems = vec![why.to_string()],
            }
        }
        Err(Halt::failed(
            "empty_review",
            format!(
                "the reviewer {label}.{} made no valid review in {MAX_ATTEMPTS} attempts: {}\n  hint: an empty review does not pass; continue with `marvin pipeline resume` and another model",
                reviewer.name,
                problems.join("; ")
            ),
        ))
    }

    /// Lets the fixer work; a document that becomes invalid is restored.
    async fn fix(&self, subject: &Subject, round: usize, open: &[Finding]) -> Result<(), Halt> {
        let phase = subject.phase;
        let step = format!("{phase}.{}.fix{round}", subject.name);
        let document = Document::for_phase(phase).iter().find(|document| document.name() == subject.name);
        let kept = match document {
            Some(document) => {
                let path = self.root().join(document.path());
                let read = async || Ok(std::fs::read_to_string(&path).unwrap_or_default());
                Some((path.clone(), self.once(phase, &format!("{step}.before"), read).await?))
            }
            None => None,
        };
        let text = fill(
            include_str!("../../prompts/fix.md"),
            &[
                ("what", &subject.what),
                ("findings", listed(open).trim_end()),
                ("how", subject.how),
                ("goal", self.goal()),
            ],
        );
        let task = Task {
            phase,
            step: step.clone(),
            role: subject.fixer,
            // A document is corrected by the tier of implementers, as code is.
            model: if document.is_some() { ModelChoice::Codex } else { ModelChoice::Auto },
            text,
            may: subject.may.clone(),
            schema: None,
            commitments: Vec::new(),
        };
        self.work(&task).await?;
        if let (Some(document), Some((path, before))) = (document, kept) {
            let check = async || {
                let problems = document.problems(self.root());
                if !problems.is_empty() {
                    atomic::replace(&path, before.as_bytes())?;
                }
                Ok(problems)
            };
            let problems: Vec<String> = self.once(phase, &format!("{step}.check"), check).await?;
            if !problems.is_empty() {
                let text =
                    format!("{step} made the document invalid, so it was restored: {}", problems.join("; "));
                self.trace.notice(text)?;
            }
        }
        Ok(())
    }

    fn write_history(&self, subject: &Subject, history: &[Vec<Finding>]) -> Result<(), Halt> {
        let name = if Document::for_phase(subject.phase).is_empty() {
            format!("{}-{}", subject.phase, subject.name)
        } else {
            subject.name.to_string()
        };
        let Some(path) = self.project.layout.review_history(&name) else { return Ok(()) };
        let mut text = format!("# Reviews of {}\n", subject.what);
        for (number, findings) in history.iter().enumerate() {
            text.push_str(&format!("\n## Phase {}, round {}\n", subject.phase, number + 1));
            text.push_str(&if findings.is_empty() { "No findings.\n".to_string() } else { listed(findings) });
        }
        Ok(atomic::replace(&path, self.project.redactor.text(&text).as_bytes())?)
    }
}
