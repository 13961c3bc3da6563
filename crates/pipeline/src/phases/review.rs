//! Reviews: readers in parallel, findings as records, a fixer, again. The history is written from what the record keeps.

use super::{ATTEMPTS, before, fill, listed, texts};
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
use serde_json::{Map, Value, json};

/// Rounds of a document, and of code and tests.
pub(super) const DOCUMENT_ROUNDS: usize = 4;
pub(super) const CODE_ROUNDS: usize = 3;
/// How documents are mended.
const MENDING: [&str; 3] = ["apply_patch", "create_file", "append_file"];

/// Somebody who reviews.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reviewer {
    pub(super) name: &'static str,
    pub(super) model: ModelChoice,
    pub(super) focus: &'static str,
}

/// What is reviewed.
pub(super) struct Subject {
    pub(super) phase: Phase,
    /// Its name in steps and in the history's.
    pub(super) name: &'static str,
    /// In a few words.
    pub(super) what: String,
    pub(super) rounds: usize,
    /// The first goes on alone after the first round.
    pub(super) reviewers: Vec<Reviewer>,
    pub(super) fixer: Role,
    pub(super) may: TaskAccess,
    /// How it is mended.
    pub(super) how: &'static str,
    /// Whether the tests were written before the code.
    pub(super) tdd: bool,
}

/// What the shell itself finds before reviewers are asked, in a round.
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
                        focus: "Compare it with the task and with the documents before it, sentence by sentence: what is missing, what contradicts, what nobody asked for. Assume that something is wrong.",
                    },
                    Reviewer {
                        name: "clarity",
                        model: ModelChoice::AuxReviewer,
                        focus: "Could somebody build and test it from this alone? Look for what can be read in two ways, and for what cannot be tested.",
                    },
                    Reviewer {
                        name: "edges",
                        model: ModelChoice::AuxReviewer,
                        focus: "Look for what goes wrong in practice and is not said: wrong input, empty, huge, twice, at the same time, errors.",
                    },
                ],
                fixer: Role::Implementer,
                may: TaskAccess::Write(vec![document.path().into()], &MENDING),
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
            facts.insert(document.name().into(), json!({"rounds": rounds, "minor": left.len()}));
        }
        Ok(facts)
    }

    /// Reviews until nothing critical or major is left; gives the rounds and the findings that may stay.
    pub(super) async fn review(
        &self,
        subject: &Subject,
        own: &impl BuiltinCheck,
    ) -> Result<(usize, Vec<Finding>), Halt> {
        let (phase, name) = (subject.phase, subject.name);
        let mut history: Vec<Vec<Finding>> = Vec::new();
        for round in 1..=subject.rounds {
            let label = format!("{phase}.{name}.r{round}");
            let shell =
                self.once(phase, &format!("{label}.shell"), async || Ok(json!(own(round).await?))).await?;
            let mut findings: Vec<Finding> = serde_json::from_value(shell).unwrap_or_default();
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
            let mut told: Vec<Finding> = Vec::new();
            for finding in findings {
                if !told.iter().any(|known| known.place == finding.place && known.text == finding.text) {
                    told.push(finding);
                }
            }
            told.sort_by_key(|finding| finding.severity);
            history.push(told.clone());
            self.write_history(subject, &history)?;
            self.trace.event(TraceEvent::ReviewRound {
                phase: phase.name().into(),
                of: name.to_string(),
                round,
                findings: json!(told),
            })?;
            let open: Vec<Finding> =
                told.iter().filter(|finding| finding.severity < Severity::Minor).cloned().collect();
            if open.is_empty() {
                return Ok((round, told));
            }
            if round == subject.rounds {
                return Err(Halt::not_verified(
                    "review",
                    format!(
                        "after {round} rounds of review {} still has findings:\n{}  hint: mend them and go on with `marvin pipeline resume`",
                        subject.what,
                        listed(&open)
                    ),
                ));
            }
            self.mend(subject, round, &open).await?;
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
        for attempt in 1..=ATTEMPTS {
            let step = match attempt {
                1 => format!("{label}.{}", reviewer.name),
                _ => format!("{label}.{}.{attempt}", reviewer.name),
            };
            let mut told = before(&problems);
            if !earlier.is_empty() {
                told.push_str(&format!(
                    "\n# Found in the round before, and to be mended since: look whether it is\n{}",
                    listed(earlier)
                ));
            }
            let text = fill(
                include_str!("../../prompts/review.md"),
                &[
                    ("what", &subject.what),
                    ("focus", reviewer.focus),
                    ("tdd", if subject.tdd { include_str!("../../prompts/tdd.md").trim() } else { "" }),
                    ("before", &told),
                    ("goal", self.goal()),
                ],
            );
            match self.findings(subject.phase, step, reviewer.model, text, false).await? {
                Ok(review) => return Ok(review),
                Err(why) => problems = vec![why],
            }
        }
        Err(Halt::failed(
            "empty_review",
            format!(
                "the reviewer {label}.{} gave no review in {ATTEMPTS} attempts: {}\n  hint: an empty review is no pass; `marvin pipeline resume` goes on from here with another model",
                reviewer.name,
                problems.join("; ")
            ),
        ))
    }

    /// The fixer mends; a document that it spoils is put back.
    async fn mend(&self, subject: &Subject, round: usize, open: &[Finding]) -> Result<(), Halt> {
        let phase = subject.phase;
        let step = format!("{phase}.{}.fix{round}", subject.name);
        let document = Document::for_phase(phase).iter().find(|document| document.name() == subject.name);
        let kept = match document {
            Some(document) => {
                let path = self.root().join(document.path());
                let read = async || Ok(json!(std::fs::read_to_string(&path).unwrap_or_default()));
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
            model: ModelChoice::Auto,
            text,
            may: subject.may.clone(),
            schema: None,
            commitments: Vec::new(),
        };
        self.work(&task).await?;
        if let (Some(document), Some((path, before))) = (document, kept) {
            let check = async || {
                let problems = document.problems(self.root());
                if let (false, Some(text)) = (problems.is_empty(), before.as_str()) {
                    atomic::replace(&path, text.as_bytes())?;
                }
                Ok(json!(problems))
            };
            let spoiled = texts(&self.once(phase, &format!("{step}.check"), check).await?);
            if !spoiled.is_empty() {
                let text = format!("{step} spoiled the document, so it was put back: {}", spoiled.join("; "));
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
        let Some(path) = self.ground.layout.review_history(&name) else { return Ok(()) };
        let mut text = format!("# Reviews of {}\n", subject.what);
        for (number, findings) in history.iter().enumerate() {
            text.push_str(&format!("\n## Phase {}, round {}\n", subject.phase, number + 1));
            text.push_str(&if findings.is_empty() {
                "Nothing was found.\n".to_string()
            } else {
                listed(findings)
            });
        }
        Ok(atomic::replace(&path, self.ground.redactor.text(&text).as_bytes())?)
    }
}
