//! What a conversation shows beside itself: what waits on the disk, servitors, runs; and what a person does to them.

use super::approvals::TypedCommandApprover;
use super::{Answer, Approval, Chat, ChatError, Kind};
use crate::commitments::Store;
use crate::project_context::ProjectContext;
use crate::servitors::{self, Registry, Servitor, ServitorState};
use crate::tool_caller::ToolCaller;
use marvin_base::run_record::{self, RunKind, RunRecord, RunStatus};
use marvin_base::truncate;
use marvin_gate::{Access, Workspace};
use marvin_memory::candidate::{Candidate, CandidateEdit};
use marvin_memory::memory::Decision;
use marvin_memory::proposal::Proposal;
use marvin_memory::{Memory, Person, Places};
use marvin_model::{Arguments, ToolCall};
use marvin_tools::{Mode, Toolbox};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long what waits on the disk is taken to be the same.
const FRESH: Duration = Duration::from_secs(1);
/// Seconds that a command of the person may take.
const COMMAND_SECONDS: u64 = 120;

/// A run, in one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRow {
    /// Its id.
    pub id: String,
    /// How it stands.
    pub status: String,
    /// What it was for.
    pub goal: String,
    /// Who asked: `inline`, `non-interactive`, `servitors` …
    pub manner: String,
    /// When it began.
    pub started: String,
    /// US dollars.
    pub cost_usd: Option<f64>,
}

/// A servitor with what it promised.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServitorRow {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub state: String,
    /// Why, where that is worth a word.
    pub reason: String,
    /// What it is to do.
    pub assignment: String,
    /// What it said at the end.
    pub answer: String,
    /// Whose it is.
    pub parent: String,
    /// What must hold, and how that stands: pending, passed, failed …
    pub commitments: Vec<(String, String)>,
}

/// The memory that a conversation on this ground has.
fn memory(ground: &ProjectContext) -> Memory {
    Memory::open(Places::from_settings(&ground.layout, &ground.settings), ground.redactor.clone())
}

/// Servitors that work now.
pub(super) fn working(ground: &ProjectContext) -> usize {
    living(ground).iter().filter(|body| body.state.is_active()).count()
}

fn living(ground: &ProjectContext) -> Vec<Servitor> {
    // A project without servitors has no directory of theirs, and is most of them.
    if !ground.layout.agents().is_some_and(|directory| directory.is_dir()) {
        return Vec::new();
    }
    let bodies = servitors::bodies(ground).map(|(bodies, _)| bodies).unwrap_or_default();
    bodies.into_iter().filter(|body| !body.dismissed).collect()
}

impl Chat {
    /// What waits on the disk.
    pub(super) fn waiting(&self) -> Vec<Approval> {
        let (ground, broken) = {
            let state = self.state();
            if let Some((when, waiting)) = &state.waiting
                && when.elapsed() < FRESH
            {
                return waiting.clone();
            }
            (state.ground.clone(), state.broken.clone())
        };
        let mut all: Vec<Approval> = broken
            .iter()
            .map(|broken| Approval {
                id: broken.id(),
                kind: Kind::Question,
                title: "This question broke off before it was answered. Take it up?".into(),
                text: broken.prompt.clone(),
                source: broken.run.clone().unwrap_or_else(|| "it had not begun".into()),
                why: "what it did is on record and is not done again; no closes it".into(),
            })
            .collect();
        let places = Places::from_settings(&ground.layout, &ground.settings);
        if places.candidates.exists() {
            all.extend(memory(&ground).pending().unwrap_or_default().iter().map(of_memory));
        }
        all.extend(
            living(&ground).iter().filter(|body| body.state == ServitorState::Waiting).map(of_servitor),
        );
        self.state().waiting = Some((Instant::now(), all.clone()));
        all
    }

    /// Servitors and what they promised.
    #[must_use]
    pub fn servitors(&self) -> Vec<ServitorRow> {
        let ground = self.ground();
        let store = Store::from_layout(&ground.layout);
        living(&ground)
            .into_iter()
            .map(|body| {
                let document = store.as_ref().and_then(|store| store.read(&body.id).ok());
                let commitments = document.map(|document| document.commitments).unwrap_or_default();
                ServitorRow {
                    id: body.id,
                    name: body.name,
                    state: body.state.word().to_string(),
                    reason: body.reason,
                    assignment: body.assignment,
                    answer: body.answer,
                    parent: body.parent,
                    commitments: commitments
                        .iter()
                        .map(|commitment| {
                            (commitment.assertion.clone(), commitment.status.word().to_string())
                        })
                        .collect(),
                }
            })
            .collect()
    }

    /// The newest runs of this project.
    #[must_use]
    pub fn runs(&self, most: usize) -> Vec<RunRow> {
        let runs = self.ground().layout.runs();
        let read = |run: &PathBuf| {
            let record = RunRecord::read(run).ok()?;
            Some(RunRow {
                status: record.status.map_or_else(String::new, |status| status.word().to_string()),
                goal: truncate::line(record.goal.as_deref().unwrap_or_default(), 200),
                manner: record.manner.word().to_string(),
                started: record.started_at,
                cost_usd: record.cost.map(|cost| cost.total.session_cost),
                id: run.file_name()?.to_str()?.to_string(),
            })
        };
        run_record::list(&runs).iter().filter_map(read).take(most).collect()
    }
}

fn of_memory(proposal: &Proposal) -> Approval {
    let candidate = &proposal.candidate;
    let tags =
        if candidate.tags.is_empty() { String::new() } else { format!(" ({})", candidate.tags.join(", ")) };
    Approval {
        id: format!("memory:{}", proposal.fingerprint),
        kind: Kind::Memory,
        title: format!("Remember this {}?{tags}", candidate.kind.word().replace('_', " ")),
        text: candidate.text.clone(),
        source: format!("{}, proposed by {}", candidate.source.word(), proposal.origin.word()),
        why: candidate.reason.clone(),
    }
}

fn of_servitor(body: &Servitor) -> Approval {
    Approval {
        id: format!("servitor:{}", body.id),
        kind: Kind::Question,
        title: format!("{} needs an answer", body.name),
        text: if body.answer.is_empty() { body.reason.clone() } else { body.answer.clone() },
        source: body.name.clone(),
        why: body.reason.clone(),
    }
}

/// A person's word about a candidate.
pub(super) fn decide(
    ground: &ProjectContext,
    name: &str,
    answer: &Answer,
    person: &Person,
) -> Result<(), ChatError> {
    let failed = |error: marvin_memory::MemoryError| ChatError::Failed(error.to_string());
    let mut memory = memory(ground);
    let proposal = memory.waiting(name).map_err(failed)?;
    let decision = match answer {
        Answer::Yes => Decision::Approve,
        Answer::No => Decision::Reject,
        Answer::Edit(text) => {
            let changed = match serde_json::from_str(text) {
                Ok(whole @ Value::Object(_)) => Candidate::read(&whole, &ground.redactor),
                _ => {
                    let edit = CandidateEdit { text: Some(text.trim().into()), ..CandidateEdit::default() };
                    proposal.candidate.edited(edit, &ground.redactor)
                }
            };
            Decision::Edit(Box::new(changed.map_err(|error| ChatError::Failed(error.to_string()))?))
        }
    };
    memory.decide(&proposal, decision, None, "", person).map(|_| ()).map_err(failed)
}

/// A person's word to a servitor.
pub(super) fn tell(ground: &ProjectContext, name: &str, answer: &Answer) -> Result<(), ChatError> {
    let text = match answer {
        Answer::Yes => "yes",
        Answer::No => "no",
        Answer::Edit(text) => text,
    };
    let failed = |error: servitors::RegistryError| ChatError::Failed(error.to_string());
    let registry = Registry::open(Arc::new(ground.clone()), "a conversation").map_err(failed)?;
    registry.message(name, "the person", text).map(|_| ()).map_err(failed)
}

/// Runs a command that the person typed: judged, contained, and a run of its own. Gives what it said.
pub(super) async fn run(ground: &ProjectContext, line: &str) -> Result<String, String> {
    let mut ground = ground.clone();
    if ground.workspace.is_none() {
        let workspace = Workspace::open(&ground.directory, ground.layout.home())
            .map_err(|refusal| format!("{refusal}\n  hint: start Marvin in the directory of a project"))?;
        ground.workspace = Some(Arc::new(workspace));
    }
    let access = Access::from_settings(&ground.settings);
    let mut toolbox = Toolbox::new(Mode::Coding, &access);
    toolbox.keep(&["run_command".to_string()]);
    let call = ToolCall {
        id: "typed".into(),
        name: "run_command".into(),
        arguments: Arguments::from_value(json!({"command": line, "timeout": COMMAND_SECONDS})),
        opaque: None,
    };
    let desk =
        ToolCaller::new(&ground, RunKind::Shell, Box::new(|_| {})).asking(Arc::new(TypedCommandApprover));
    let called = desk.call(&toolbox, &call, CancellationToken::new(), None).await;
    let called = called.map_err(|error| error.to_string())?;
    desk.close(if called.ok { RunStatus::Success } else { RunStatus::Failed })
        .map_err(|error| error.to_string())?;
    Ok(called.text)
}
