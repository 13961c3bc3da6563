//! Lists beside a conversation (approvals on disk, servitors, runs), and what a person does to their entries.

use super::approvals::{INTERRUPTED, MEMORY, SERVITOR, TypedCommandApprover};
use super::events::WaitingEvent;
use super::{Answer, Approval, Chat, ChatError, Inner, Kind};
use crate::commitments::Store;
use crate::error::SessionError;
use crate::project_context::ProjectContext;
use crate::servitors::{self, Registry, Servitor, ServitorState};
use crate::tool_caller::ToolCaller;
use marvin_base::run_record::{self, RunKind, RunRecord, RunStatus};
use marvin_base::{signature, truncate};
use marvin_gate::{Access, Workspace};
use marvin_memory::candidate::{Candidate, CandidateEdit};
use marvin_memory::memory::Decision;
use marvin_memory::proposal::Proposal;
use marvin_memory::{Memory, Person, Places};
use marvin_model::{Arguments, ToolCall};
use marvin_tools::{Mode, Toolbox};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long the approvals on disk are cached.
const FRESH: Duration = Duration::from_secs(1);
/// How often other processes' changes to what waits are looked for, while a front end reads the events.
const WATCH_INTERVAL: Duration = Duration::from_millis(1_500);
/// Runs in which the tool calls of stored answers are looked for.
const MAX_SEARCHED_RUNS: usize = 200;
/// Seconds that a command of the person may take.
const COMMAND_SECONDS: u64 = 120;

/// A run, in one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRow {
    pub id: String,
    pub status: String,
    pub goal: String,
    /// Who asked: `inline`, `non-interactive`, `servitors` …
    pub manner: String,
    pub started: String,
    pub cost_usd: Option<f64>,
}

impl RunRow {
    /// Id, manner and cost.
    #[must_use]
    pub fn details(&self) -> String {
        let cost = self.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!("  ${cost:.4}"));
        format!("{}  {}{}", self.id, self.manner, cost.unwrap_or_default())
    }

    /// The run for front ends without columns.
    pub(super) fn line(&self) -> String {
        let status = RunStatus::shown_word(&self.status);
        format!("{}  {status:12}  {}", self.id, truncate::line(&self.goal, 80))
    }
}

/// A servitor with its commitments.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServitorRow {
    pub id: String,
    pub name: String,
    pub state: String,
    /// Why, where that is worth a word.
    pub reason: String,
    pub assignment: String,
    pub answer: String,
    /// The agent that summoned it.
    pub parent: String,
    /// Assertion and status of each commitment.
    pub commitments: Vec<(String, String)>,
}

/// Memory of a conversation in this project.
fn memory(project: &ProjectContext) -> Memory {
    Memory::open(Places::from_settings(&project.layout, &project.settings), project.redactor.clone())
}

/// Number of servitors that work now.
pub(super) fn working(project: &ProjectContext) -> usize {
    living(project).iter().filter(|servitor| servitor.state.is_active()).count()
}

fn living(project: &ProjectContext) -> Vec<Servitor> {
    // Most projects have no servitors, and no directory for them.
    if !project.layout.agents().is_some_and(|directory| directory.is_dir()) {
        return Vec::new();
    }
    let servitors = servitors::list(project).map(|(servitors, _)| servitors).unwrap_or_default();
    servitors.into_iter().filter(|servitor| !servitor.dismissed).collect()
}

impl Chat {
    /// Tells the front ends when something begins or ceases to wait that another process wrote: a step of a workflow, a
    /// candidate for memory, a servitor. Ends with the conversation.
    pub(super) fn watch(&self) {
        let inner = Arc::downgrade(&self.inner);
        let ids = |inner: &Arc<Inner>| -> Vec<String> {
            let chat = Chat { inner: inner.clone() };
            chat.approvals().into_iter().map(|approval| approval.id).collect()
        };
        self.inner.handle.spawn(async move {
            let mut known: Option<Vec<String>> = None;
            loop {
                tokio::time::sleep(WATCH_INTERVAL).await;
                let Some(inner) = inner.upgrade() else { return };
                if !inner.log.has_readers() {
                    known = None;
                    continue;
                }
                let reader = inner.clone();
                let Ok(now) = tokio::task::spawn_blocking(move || ids(&reader)).await else { continue };
                if known.as_ref() != Some(&now) {
                    inner.log.push("waiting", &WaitingEvent { count: now.len() });
                    Chat { inner }.tell_status();
                }
                known = Some(now);
            }
        });
    }

    /// Approvals that wait on disk.
    pub(super) fn waiting(&self) -> Vec<Approval> {
        let (project, broken) = {
            let state = self.state();
            if let Some((when, waiting)) = &state.waiting
                && when.elapsed() < FRESH
            {
                return waiting.clone();
            }
            (state.project.clone(), state.broken.clone())
        };
        let mut all: Vec<Approval> = broken
            .iter()
            .map(|broken| Approval {
                id: broken.id(),
                kind: Kind::Question,
                title: "This question was interrupted before it was answered. Resume it?".into(),
                text: broken.prompt.clone(),
                source: broken.run.clone().unwrap_or_else(|| "it had not begun".into()),
                why: "what it did is on record and is not done again; no closes it".into(),
                choices: INTERRUPTED,
            })
            .collect();
        if let Some(steps) = &self.inner.steps {
            all.extend(steps.waiting(&project.layout.run_directories()));
        }
        let places = Places::from_settings(&project.layout, &project.settings);
        if places.candidates.exists() {
            all.extend(memory(&project).pending().unwrap_or_default().iter().map(of_memory));
        }
        all.extend(
            living(&project)
                .iter()
                .filter(|servitor| servitor.state == ServitorState::Waiting)
                .map(of_servitor),
        );
        self.state().waiting = Some((Instant::now(), all.clone()));
        all
    }

    /// Servitors and their commitments.
    #[must_use]
    pub fn servitors(&self) -> Vec<ServitorRow> {
        let project = self.project();
        let store = Store::from_layout(&project.layout);
        living(&project)
            .into_iter()
            .map(|servitor| {
                let document = store.as_ref().and_then(|store| store.read(&servitor.id).ok());
                let commitments = document.map(|document| document.commitments).unwrap_or_default();
                ServitorRow {
                    id: servitor.id,
                    name: servitor.name,
                    state: servitor.state.word().to_string(),
                    reason: servitor.reason,
                    assignment: servitor.assignment,
                    answer: servitor.answer,
                    parent: servitor.parent,
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

    #[must_use]
    pub fn runs(&self, most: usize) -> Vec<RunRow> {
        let runs = self.project().layout.runs();
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

/// The runs that called tools, by the hash of their answer; of several with one answer, the last.
///
/// The chat log has no runs, so that other programs can read it; this finds them again after a restart.
pub(super) fn answers_with_calls(runs: &Path) -> BTreeMap<String, String> {
    let read = |run: &PathBuf| {
        let record = RunRecord::read(run).ok().filter(|record| record.tool_call_count > Some(0))?;
        Some((record.turn?.result_signature?, run.file_name()?.to_str()?.to_string()))
    };
    let mut found: Vec<(String, String)> =
        run_record::list(runs).iter().take(MAX_SEARCHED_RUNS).filter_map(read).collect();
    found.reverse();
    found.into_iter().collect()
}

/// The run that gave this answer.
pub(super) fn run_of(runs: &BTreeMap<String, String>, text: &str) -> Option<String> {
    runs.get(&signature::hash_bytes(text.as_bytes())).cloned()
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
        choices: MEMORY,
    }
}

fn of_servitor(servitor: &Servitor) -> Approval {
    Approval {
        id: format!("servitor:{}", servitor.id),
        kind: Kind::Question,
        title: format!("{} needs an answer", servitor.name),
        text: if servitor.answer.is_empty() { servitor.reason.clone() } else { servitor.answer.clone() },
        source: servitor.name.clone(),
        why: servitor.reason.clone(),
        choices: SERVITOR,
    }
}

/// Carries out a person's decision about a candidate.
pub(super) fn decide(
    project: &ProjectContext,
    name: &str,
    answer: &Answer,
    person: &Person,
) -> Result<(), ChatError> {
    let failed = |error: marvin_memory::MemoryError| ChatError::Failed(error.to_string());
    let mut memory = memory(project);
    let proposal = memory.waiting(name).map_err(failed)?;
    let decision = match answer {
        Answer::Yes => Decision::Approve,
        Answer::No | Answer::Again => Decision::Reject,
        Answer::Edit(text) => {
            let changed = match serde_json::from_str(text) {
                Ok(whole @ Value::Object(_)) => Candidate::read(&whole, &project.redactor),
                _ => {
                    let edit = CandidateEdit { text: Some(text.trim().into()), ..CandidateEdit::default() };
                    proposal.candidate.edited(edit, &project.redactor)
                }
            };
            Decision::Edit(Box::new(changed.map_err(|error| ChatError::Failed(error.to_string()))?))
        }
    };
    memory.decide(&proposal, decision, None, "", person).map(|_| ()).map_err(failed)
}

/// Sends a person's answer to a servitor.
pub(super) fn tell(project: &ProjectContext, name: &str, answer: &Answer) -> Result<(), ChatError> {
    let text = match answer {
        Answer::Yes => "yes",
        Answer::No | Answer::Again => "no",
        Answer::Edit(text) => text,
    };
    let failed = |error: servitors::RegistryError| ChatError::Failed(error.to_string());
    let registry = Registry::open(Arc::new(project.clone()), "a conversation").map_err(failed)?;
    registry.message(name, "the person", text).map(|_| ()).map_err(failed)
}

/// Runs a command that the person typed, in the sandbox and with a run of its own; gives its output.
pub(super) async fn run(project: &ProjectContext, line: &str) -> Result<String, ChatError> {
    let mut project = project.clone();
    if project.workspace.is_none() {
        let workspace = Workspace::open(&project.directory, project.layout.home()).map_err(|refusal| {
            ChatError::Refused(format!("{refusal}\n  hint: start Marvin in the directory of a project"))
        })?;
        project.workspace = Some(Arc::new(workspace));
    }
    let access = Access::from_settings(&project.settings);
    let mut toolbox = Toolbox::new(Mode::Coding, &access);
    toolbox.keep(&["run_command".to_string()]);
    let call = ToolCall {
        id: "typed".into(),
        name: "run_command".into(),
        arguments: Arguments::Object(Map::from_iter([
            ("command".to_string(), line.into()),
            ("timeout".to_string(), COMMAND_SECONDS.into()),
        ])),
        opaque: None,
    };
    let caller =
        ToolCaller::new(&project, RunKind::Shell, Box::new(|_| {})).asking(Arc::new(TypedCommandApprover));
    let called = caller.call(&toolbox, &call, CancellationToken::new(), None).await;
    let failed = |error: SessionError| ChatError::Failed(error.to_string());
    let called = called.map_err(failed)?;
    caller.close(if called.ok { RunStatus::Success } else { RunStatus::Failed }).map_err(failed)?;
    Ok(called.text)
}
