//! Runs of workflows: starting, resuming, and the result.

use super::dispatch::{self, Dispatcher};
use super::execute::{self, Executors};
use super::lock::Lock;
use super::prepared::PreparedRun;
use super::{EngineError, Outcome, Teacher};
use crate::record::{Data, Record, Sync, WorkflowState};
use crate::spec::Workflow;
use crate::worker::Workers;
use marvin_agent::ProjectContext;
use marvin_agent::trace::{Listener, Trace};
use marvin_base::clock;
use marvin_base::ledger::{self, Durability, Ledger, LedgerError};
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{FleetRecord, RunKind, RunRecord, RunStatus, WorkflowRecord};
use marvin_base::settings::table;
use marvin_base::trace_event::{TraceEvent, WorkflowOpened};
use marvin_model::cost::CostLedger;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Options of a run.
pub struct Options {
    /// The most attempts at a time; 0: the number of CPU cores.
    pub concurrency: usize,
    /// When a commit must be on the disk; none: the setting for a new run, the recorded value for an old one.
    pub sync: Option<Sync>,
    /// Receives every event.
    pub listener: Listener,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Options");
        shown.field("concurrency", &self.concurrency).field("sync", &self.sync).finish_non_exhaustive()
    }
}

/// A run that is about to start or resume.
#[derive(Debug)]
pub struct Run {
    pub(super) directory: RunDirectory,
    pub(super) trace: Arc<Trace>,
    pub(super) record: Record,
    pub(super) workflow: Workflow,
    pub(super) folded: WorkflowState,
    pub(super) lock: Lock,
    pub(super) concurrency: usize,
    pub(super) resumed: bool,
    pub(super) workspace: PathBuf,
    pub(super) facts: RunRecord,
    pub(super) redactor: Arc<marvin_base::redact::Redactor>,
    pub(super) project: Arc<ProjectContext>,
    pub(super) account: Option<Arc<CostLedger>>,
}

impl Run {
    /// Creates the directory of a new run with everything that resuming it needs.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn begin(
        project: &ProjectContext,
        workflow: Workflow,
        options: Options,
    ) -> Result<Self, EngineError> {
        PreparedRun::new(project, &workflow.goal, options)?.begin(project, workflow)
    }

    /// Charges the run to an account: the result reports its cost, and a spent budget ends the run.
    pub fn charge(&mut self, account: Arc<CostLedger>) {
        self.account = Some(account);
    }

    /// Resumes a run that was interrupted, was stopped, or waits for a person.
    ///
    /// # Errors
    /// When the run does not exist, another process works on it, or its record is damaged.
    pub fn resume(project: &ProjectContext, path: &Path, options: Options) -> Result<Self, EngineError> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let (Some(runs), Some(id)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
            return Err(EngineError::NoRun(path.display().to_string()));
        };
        let directory = RunDirectory::open(runs, id)
            .map_err(|error| EngineError::NoRun(format!("{}: {error}", path.display())))?;
        if !directory.path().join(crate::record::FILE).exists() {
            return Err(EngineError::NoWorkflow(path.display().to_string()));
        }
        let lock = Lock::take(directory.path())?;
        let (record, workflow, folded) = Record::open(directory.path(), options.sync)?;
        // No step runs yet, and this process alone works on the run.
        project.remove_temporary_files(&directory);
        let before = match ledger::read_chained(&directory.trace()) {
            Ok(contents) => contents.entries,
            Err(error @ LedgerError::Broken { .. }) => return Err(error.into()),
            Err(_) => Vec::new(),
        };
        let traced = before.iter().filter_map(|event| event.get("record").and_then(Value::as_i64)).max();
        let traced = traced.unwrap_or(0);
        // With `normal`, the user accepted that a power cut may lose commits.
        if record.sync() != Sync::Normal {
            record.check_against(traced)?;
        }
        let trace = Trace::resume(ledger(&directory, project)?, options.listener, &before);
        let mut facts = facts(project, &workflow, record.sync());
        let kept = RunRecord::read(directory.path()).ok().and_then(|kept| kept.workflow);
        if let Some(workflow) = &mut facts.workflow {
            workflow.fleet = kept.and_then(|kept| kept.fleet);
        }
        save(&directory, &facts, &project.redactor, RunStatus::Running, false)?;
        catch_up(&trace, &record, &workflow, traced)?;
        Ok(Run {
            concurrency: concurrency(options.concurrency),
            workspace: workspace(project),
            redactor: project.redactor.clone(),
            project: Arc::new(project.clone()),
            trace: Arc::new(trace),
            resumed: true,
            directory,
            record,
            workflow,
            folded,
            lock,
            facts,
            account: None,
        })
    }

    #[must_use]
    pub fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    /// Writes the end of the run to its trace and to `run.json`.
    pub(super) fn write_outcome(&self, outcome: &mut Outcome) -> Result<(), EngineError> {
        write_outcome(&self.directory, &self.facts, &self.redactor, &self.trace, outcome)
    }

    /// The trace of the run, shared with its workers.
    #[must_use]
    pub fn trace(&self) -> Arc<Trace> {
        self.trace.clone()
    }

    #[must_use]
    pub fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    /// Where the run is carried out, if other machines do it.
    #[must_use]
    pub fn fleet(&self) -> Option<&FleetRecord> {
        self.facts.workflow.as_ref().and_then(|workflow| workflow.fleet.as_ref())
    }

    /// Notes in `run.json` that other machines carry out the run.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_fleet(&mut self, fleet: FleetRecord) -> Result<(), EngineError> {
        if let Some(workflow) = &mut self.facts.workflow {
            workflow.fleet = Some(fleet);
        }
        save(&self.directory, &self.facts, &self.redactor, RunStatus::Running, false)
    }

    /// The event of a run that begins or is resumed.
    pub(super) fn opening(&self) -> TraceEvent {
        let opened = WorkflowOpened {
            workflow_id: self.workflow.workflow_id.clone(),
            goal: self.trace.within_text(&self.workflow.goal, 2_000),
            steps: self.workflow.steps.len(),
            concurrency: self.concurrency,
            sync: self.record.sync().word().to_string(),
            run_id: self.directory.id().to_string(),
        };
        match self.resumed {
            true => TraceEvent::WorkflowResumed(opened),
            false => TraceEvent::WorkflowStarted(opened),
        }
    }

    /// Runs until no step can begin: all are over, a person is needed, or the run was stopped.
    ///
    /// # Errors
    /// When the record cannot be written: then nothing after the last commit counts, and the run can be resumed.
    pub async fn go(
        self,
        workers: Workers,
        teacher: Box<dyn Teacher>,
        cancel: CancellationToken,
    ) -> Result<Outcome, EngineError> {
        let started = std::time::Instant::now();
        let (events, inbox) = std::sync::mpsc::channel();
        let (starts, orders) = tokio::sync::mpsc::unbounded_channel();
        let (finish, finished) = tokio::sync::oneshot::channel();
        let (directory, facts, redactor, trace) =
            (self.directory.clone(), self.facts.clone(), self.redactor.clone(), self.trace.clone());
        let executors =
            Executors::new(events.clone(), cancel.clone(), redactor.clone(), self.project.clone());
        let opened = self.opening();
        trace.event(opened)?;
        let stop = events.clone();
        let stopped = cancel.clone();
        let watch = tokio::spawn(async move {
            stopped.cancelled().await;
            stop.send(execute::Event::Stop).ok();
        });
        let (lock, account) = (self.lock, self.account);
        let dispatcher = Dispatcher::new(dispatch::Parts {
            directory: self.directory,
            trace: self.trace,
            record: self.record,
            workflow: self.workflow,
            folded: self.folded,
            workers,
            teacher,
            concurrency: self.concurrency,
            workspace: self.workspace,
            redactor: self.redactor,
            inbox,
            starts,
        });
        let thread = std::thread::Builder::new().name("dispatcher".into()).spawn(move || {
            finish.send(dispatcher.run()).ok();
        });
        thread.map_err(|error| EngineError::Internal(format!("cannot start a thread: {error}")))?;
        let result = executors.serve(orders, finished).await;
        watch.abort();
        let mut outcome = match result {
            Ok(outcome) => outcome,
            Err(error) => {
                // Best effort: the record holds the state even if neither can be written.
                trace.event(TraceEvent::WorkflowBroken { error: error.to_string() }).ok();
                save(&directory, &facts, &redactor, RunStatus::Broken, true).ok();
                return Err(error);
            }
        };
        outcome.elapsed = started.elapsed();
        if let Some(account) = &account {
            outcome.cost = Some(account.tree()?.report());
            outcome.spent |= account.is_spent()?;
        }
        write_outcome(&directory, &facts, &redactor, &trace, &mut outcome)?;
        drop(lock);
        Ok(outcome)
    }
}

/// Writes the end of a run to its trace and to `run.json`.
fn write_outcome(
    directory: &RunDirectory,
    facts: &RunRecord,
    redactor: &marvin_base::redact::Redactor,
    trace: &Trace,
    outcome: &mut Outcome,
) -> Result<(), EngineError> {
    outcome.run_id = directory.id().to_string();
    outcome.run_path = directory.path().to_path_buf();
    let result = outcome.result();
    let mut facts = facts.clone();
    facts.cost.clone_from(&result.cost);
    if let Some(workflow) = &mut facts.workflow {
        workflow.counts.clone_from(&result.steps);
    }
    trace.event(result)?;
    trace.sync()?;
    save(directory, &facts, redactor, outcome.status.into(), true)
}

/// Writes the events of transitions that were committed just before a process died.
fn catch_up(trace: &Trace, record: &Record, workflow: &Workflow, traced: i64) -> Result<(), EngineError> {
    let mut late = Vec::new();
    record.each(&mut |transition| {
        if transition.seq > traced && !Data::is_echo(transition.data) {
            let data = Data::parse(transition.data);
            late.push(dispatch::event(workflow, transition.step, transition.status, transition.seq, &data));
        }
    })?;
    for event in late {
        trace.event(event)?;
    }
    Ok(())
}

pub(super) fn concurrency(requested: usize) -> usize {
    if requested > 0 {
        return requested;
    }
    std::thread::available_parallelism().map_or(2, usize::from)
}

pub(crate) fn workspace(project: &ProjectContext) -> PathBuf {
    project
        .workspace
        .as_deref()
        .map_or_else(|| project.directory.clone(), |workspace| workspace.root().to_path_buf())
}

pub(crate) fn ledger(directory: &RunDirectory, project: &ProjectContext) -> Result<Ledger, EngineError> {
    let durability = Durability::from_setting(project.settings.text(&table::DURABILITY));
    Ok(Ledger::open_chained(&directory.trace(), durability, project.redactor.clone())?)
}

pub(super) fn facts(project: &ProjectContext, workflow: &Workflow, sync: Sync) -> RunRecord {
    RunRecord {
        goal: Some(workflow.goal.clone()),
        start: project.starting_settings(),
        workflow: Some(WorkflowRecord {
            workflow_id: workflow.workflow_id.clone(),
            steps: workflow.steps.len() as u64,
            sync: sync.word().to_string(),
            counts: BTreeMap::new(),
            fleet: None,
        }),
        ..RunRecord::new(RunKind::Workflow)
    }
}

pub(super) fn save(
    directory: &RunDirectory,
    facts: &RunRecord,
    redactor: &marvin_base::redact::Redactor,
    status: RunStatus,
    ended: bool,
) -> Result<(), EngineError> {
    let ended_at = ended.then(clock::now_stamp);
    let record = RunRecord { status: Some(status), ended_at, ..facts.clone() };
    Ok(directory.save(&record, redactor)?)
}
