//! A run without a workflow yet: with a directory, a trace and an account, so that planning is part of the run.

use super::run::{Options, Run, concurrency, facts, ledger, save, workspace};
use super::{EngineError, Lock};
use crate::record::{Record, Sync, WorkflowState};
use crate::spec::Workflow;
use marvin_agent::ProjectContext;
use marvin_agent::trace::Trace;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{RunKind, RunRecord, RunStatus};
use marvin_base::settings::table;
use std::sync::Arc;

/// A run without a workflow.
#[derive(Debug)]
pub struct PreparedRun {
    directory: RunDirectory,
    lock: Lock,
    trace: Arc<Trace>,
    concurrency: usize,
    sync: Sync,
}

impl PreparedRun {
    /// Creates the directory of a new run.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn new(project: &ProjectContext, goal: &str, options: Options) -> Result<Self, EngineError> {
        let directory = RunDirectory::create_in(&project.layout)?;
        let lock = Lock::take(directory.path())?;
        let configured = || Sync::from_setting(project.settings.text(&table::FLOW_SYNC));
        let trace = Trace::new(ledger(&directory, project)?, options.listener);
        let prepared = PreparedRun {
            concurrency: concurrency(options.concurrency),
            sync: options.sync.unwrap_or_else(configured),
            trace: Arc::new(trace),
            directory,
            lock,
        };
        prepared.save(project, goal, RunStatus::Planning, false)?;
        Ok(prepared)
    }

    fn save(
        &self,
        project: &ProjectContext,
        goal: &str,
        status: RunStatus,
        ended: bool,
    ) -> Result<(), EngineError> {
        let facts = RunRecord {
            goal: Some(goal.to_string()),
            start: project.starting_settings(),
            ..RunRecord::new(RunKind::Workflow)
        };
        save(&self.directory, &facts, &project.redactor, status, ended)
    }

    /// Closes the run without a workflow.
    ///
    /// # Errors
    /// When `run.json` cannot be written.
    pub fn abandon(self, project: &ProjectContext, goal: &str) -> Result<(), EngineError> {
        self.save(project, goal, RunStatus::Stopped, true)
    }

    #[must_use]
    pub fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    #[must_use]
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Records the workflow, with everything that resuming the run needs.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn begin(self, project: &ProjectContext, workflow: Workflow) -> Result<Run, EngineError> {
        let PreparedRun { directory, lock, trace, concurrency, sync } = self;
        let facts = facts(project, &workflow, sync);
        // First, so that the directory can be identified even if the process dies here.
        save(&directory, &facts, &project.redactor, RunStatus::Running, false)?;
        let record = Record::create(directory.path(), &workflow, directory.id(), sync)?;
        Ok(Run {
            workspace: workspace(project),
            redactor: project.redactor.clone(),
            resumed: false,
            folded: WorkflowState::empty(workflow.steps.len()),
            project: Arc::new(project.clone()),
            account: None,
            facts,
            concurrency,
            trace,
            directory,
            record,
            workflow,
            lock,
        })
    }
}
