//! Views of a workflow run: the status of every step, its timeline, and the decisions about retries.
//!
//! Reading the record changes nothing; another process may be working on the run.

use crate::draw;
use crate::engine::{self, EngineError, Holder};
use crate::record::{Artifact, Data, Record, StepStatus};
use marvin_base::redact::Redactor;
use marvin_base::run_record::{RunKind, RunRecord, RunStatus};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MAX_TIMELINE_TRANSITIONS: usize = 200_000;

/// A step of a run.
#[derive(Debug, Clone, Serialize)]
pub struct StepView {
    pub step_id: String,
    pub worker: String,
    pub status: StepStatus,
    /// Attempts that were begun, finished or not.
    pub attempts: usize,
    /// Its first transition, in milliseconds since 1970.
    pub begun_ms: Option<i64>,
    /// Its last transition.
    pub at_ms: Option<i64>,
    /// The error, or the question to a person.
    pub detail: String,
    /// What a person is needed for.
    pub blocked: Option<String>,
}

/// A decision about a retry.
#[derive(Debug, Clone, Serialize)]
pub struct Retry {
    pub step_id: String,
    /// The attempt that failed.
    pub attempt: u32,
    pub allowed: bool,
    pub reason: String,
    /// The code of a refusal.
    pub code: Option<String>,
    /// The next strategy.
    pub strategy: Option<String>,
    /// The lesson for the next attempt.
    pub lesson: Option<String>,
    pub failure_signature: Option<String>,
}

/// A transition in the timeline.
#[derive(Debug, Clone, Serialize)]
pub struct Moment {
    pub seq: i64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    pub step_id: String,
    pub status: StepStatus,
    pub attempt: u32,
    pub detail: String,
}

/// An artifact with its step and attempt.
#[derive(Debug, Clone, Serialize)]
pub struct StepArtifact {
    pub step_id: String,
    pub attempt: u32,
    #[serde(flatten)]
    pub artifact: Artifact,
}

/// A workflow run.
#[derive(Debug)]
pub struct View {
    pub path: PathBuf,
    /// `run.json`.
    pub facts: RunRecord,
    pub workflow_id: String,
    pub goal: String,
    pub sync: String,
    /// The process that works on it now.
    pub holder: Option<Holder>,
    /// The number of steps by status.
    pub counts: BTreeMap<&'static str, usize>,
    /// In the order of the file.
    pub steps: Vec<StepView>,
    pub retries: Vec<Retry>,
    pub timeline: Vec<Moment>,
    /// Artifacts with their steps and attempts.
    pub artifacts: Vec<StepArtifact>,
    /// The content of `workflow_state.json` for the current state.
    pub state: Value,
    /// The layout of a drawing; none if there are too many steps.
    pub picture: Option<draw::Picture>,
}

/// Is this the directory of a workflow run?
#[must_use]
pub fn is_workflow(path: &Path) -> bool {
    path.join(crate::record::FILE).is_file()
}

/// A row in a list of runs.
#[derive(Debug, Clone, Serialize)]
pub struct RunRow {
    pub run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_path: Option<String>,
    pub status: String,
    pub workflow_id: Option<String>,
    pub goal: Option<String>,
    /// The number of its steps.
    pub steps: Option<u64>,
    /// The number of steps by status.
    pub counts: Option<BTreeMap<String, usize>>,
    pub started_at: String,
    pub ended_at: Option<String>,
    /// The process that works on it now.
    pub holder: Option<Holder>,
    pub manner: RunKind,
}

impl RunRow {
    #[must_use]
    pub fn new(path: &Path, record: &RunRecord) -> Self {
        let holder = engine::holder(path);
        let workflow = record.workflow.as_ref();
        RunRow {
            run_id: run_id(path),
            run_path: Some(path.display().to_string()),
            status: status(record, holder.is_some()),
            workflow_id: workflow.map(|workflow| workflow.workflow_id.clone()),
            goal: record.goal.clone(),
            steps: workflow.map(|workflow| workflow.steps),
            counts: workflow.map(|workflow| workflow.counts.clone()).filter(|counts| !counts.is_empty()),
            started_at: record.started_at.clone(),
            ended_at: record.ended_at.clone(),
            holder,
            manner: record.manner,
        }
    }

    /// The row of a run directory.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        RunRow::new(path, &RunRecord::read(path).unwrap_or_default())
    }
}

fn run_id(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// The JSON of a [`View`].
#[derive(Serialize)]
struct ViewDocument<'a> {
    run_id: Option<String>,
    run_path: String,
    status: String,
    steps: &'a BTreeMap<&'static str, usize>,
    sync: &'a str,
    holder: &'a Option<Holder>,
    facts: &'a RunRecord,
    waiting: Vec<WaitingStep<'a>>,
    retries: &'a [Retry],
    artifacts: &'a [StepArtifact],
    workflow: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<&'a [Moment]>,
}

#[derive(Serialize)]
struct WaitingStep<'a> {
    step_id: &'a str,
    kind: &'a Option<String>,
    text: &'a str,
}

impl View {
    /// Reads a run.
    ///
    /// # Errors
    /// When its record cannot be read or is damaged.
    pub fn read(path: &Path, redactor: &Redactor) -> Result<View, EngineError> {
        let (record, workflow, folded) = Record::look(path)?;
        let mut steps: Vec<StepView> = workflow
            .steps
            .iter()
            .zip(&folded.status)
            .map(|(step, status)| StepView {
                step_id: step.id.to_string(),
                worker: step.worker.to_string(),
                status: *status,
                attempts: 0,
                begun_ms: None,
                at_ms: None,
                detail: String::new(),
                blocked: None,
            })
            .collect();
        let (mut retries, mut timeline) = (Vec::new(), Vec::new());
        record.each(&mut |transition| {
            let Some(step) = steps.get_mut(transition.step as usize) else { return };
            let data = Data::parse(transition.data);
            step.begun_ms.get_or_insert(transition.at);
            step.at_ms = Some(transition.at);
            if transition.status == StepStatus::Running || data.over.is_some() {
                step.attempts = step.attempts.max(data.attempt as usize);
            }
            step.detail = data.error.clone().or_else(|| data.reason.clone()).unwrap_or_default();
            step.blocked.clone_from(&data.blocked);
            if timeline.len() < MAX_TIMELINE_TRANSITIONS {
                let strategy = data.strategy.as_ref().map(ToString::to_string);
                let summary =
                    data.over.as_ref().map(|over| over.summary.clone()).filter(|text| !text.is_empty());
                let detail =
                    [data.error.clone(), data.reason.clone(), summary, strategy].into_iter().flatten().next();
                timeline.push(Moment {
                    seq: transition.seq,
                    at_ms: transition.at,
                    step_id: step.step_id.clone(),
                    status: transition.status,
                    attempt: data.attempt,
                    detail: detail.unwrap_or_default(),
                });
            }
            let allowed = transition.status == StepStatus::RetryPending;
            if let Some(reason) = data.reason.filter(|_| allowed || data.code.is_some()) {
                retries.push(Retry {
                    step_id: step.step_id.clone(),
                    attempt: data.attempt,
                    allowed,
                    reason,
                    code: data.code,
                    strategy: data.strategy.map(|strategy| strategy.to_string()),
                    lesson: data.lesson,
                    failure_signature: data.over.and_then(|over| over.failure_signature),
                });
            }
        })?;
        let mut counts = BTreeMap::new();
        for status in &folded.status {
            *counts.entry(status.word()).or_insert(0) += 1;
        }
        let id_of = |step: u32| workflow.steps.get(step as usize).map_or("", |step| &*step.id);
        let artifacts = record.artifacts()?.into_iter().map(|(step, attempt, artifact)| StepArtifact {
            step_id: id_of(step).to_string(),
            attempt,
            artifact,
        });
        let artifacts = artifacts.collect();
        let state = engine::state(&record, &workflow, redactor)?;
        Ok(View {
            path: path.to_path_buf(),
            facts: RunRecord::read(path).unwrap_or_default(),
            workflow_id: workflow.workflow_id.clone(),
            goal: workflow.goal.clone(),
            sync: record.meta("sync").unwrap_or_default(),
            holder: engine::holder(path),
            counts,
            steps,
            retries,
            timeline,
            artifacts,
            state: serde_json::from_slice(&state).unwrap_or(Value::Null),
            picture: (workflow.steps.len() <= draw::MAX_SVG_STEPS).then(|| draw::picture(&workflow)),
        })
    }

    /// The status word of the run.
    #[must_use]
    pub fn status(&self) -> String {
        status(&self.facts, self.holder.is_some())
    }

    /// The view as JSON, for programs.
    #[must_use]
    pub fn json(&self, with_timeline: bool) -> Value {
        let waiting = self.steps.iter().filter(|step| step.status == StepStatus::Blocked);
        let document = ViewDocument {
            run_id: run_id(&self.path),
            run_path: self.path.display().to_string(),
            status: self.status(),
            steps: &self.counts,
            sync: &self.sync,
            holder: &self.holder,
            facts: &self.facts,
            waiting: waiting
                .map(|step| WaitingStep { step_id: &step.step_id, kind: &step.blocked, text: &step.detail })
                .collect(),
            retries: &self.retries,
            artifacts: &self.artifacts,
            workflow: &self.state,
            timeline: with_timeline.then_some(self.timeline.as_slice()),
        };
        serde_json::to_value(document).unwrap_or_default()
    }
}

/// The status word of a run, from its `run.json` and whether a process works on it. A record of what another program did has
/// no outcome.
#[must_use]
pub fn status(facts: &RunRecord, held: bool) -> String {
    match facts.status {
        _ if held => "RUNNING".to_string(),
        Some(status) if status.is_open() => "BROKEN_OFF".to_string(),
        None if matches!(facts.manner, RunKind::Hooks | RunKind::Mcp) => "RECORDED".to_string(),
        status => status.map_or("?", RunStatus::word).to_uppercase(),
    }
}
