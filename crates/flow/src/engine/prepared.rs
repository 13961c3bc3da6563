//! A run whose workflow is not known yet: it has a directory, a trace and an account, so that planning is part of it.

use super::{EngineError, Lock, Options, Run, cores, facts, ledger, save, workspace};
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
    /// Makes the directory of a new run.
    ///
    /// # Errors
    /// When something cannot be written.
    pub fn new(ground: &ProjectContext, goal: &str, options: Options) -> Result<Self, EngineError> {
        let directory = RunDirectory::create_in(&ground.layout)?;
        let lock = Lock::take(directory.path())?;
        let usual = || Sync::from_setting(ground.settings.text(&table::FLOW_SYNC));
        let trace = Trace::new(ledger(&directory, ground)?, options.listener);
        let prepared = PreparedRun {
            concurrency: cores(options.concurrency),
            sync: options.sync.unwrap_or_else(usual),
            trace: Arc::new(trace),
            directory,
            lock,
        };
        prepared.save(ground, goal, RunStatus::Planning, false)?;
        Ok(prepared)
    }

    fn save(
        &self,
        ground: &ProjectContext,
        goal: &str,
        status: RunStatus,
        ended: bool,
    ) -> Result<(), EngineError> {
        let facts = RunRecord { goal: Some(goal.to_string()), ..RunRecord::new(RunKind::Workflow) };
        save(&self.directory, &facts, &ground.redactor, status, ended)
    }

    /// Says that it never had a workflow.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn abandon(self, ground: &ProjectContext, goal: &str) -> Result<(), EngineError> {
        self.save(ground, goal, RunStatus::Stopped, true)
    }

    /// The directory of the run.
    #[must_use]
    pub fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    /// The one trace.
    #[must_use]
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Writes the workflow down, with everything that the run needs to be resumed.
    ///
    /// # Errors
    /// When something cannot be written.
    pub fn begin(self, ground: &ProjectContext, workflow: Workflow) -> Result<Run, EngineError> {
        let PreparedRun { directory, lock, trace, concurrency, sync } = self;
        let facts = facts(&workflow, sync);
        // Whoever finds the directory is to know what it is, also when it ends here.
        save(&directory, &facts, &ground.redactor, RunStatus::Running, false)?;
        let record = Record::create(directory.path(), &workflow, directory.id(), sync)?;
        Ok(Run {
            workspace: workspace(ground),
            redactor: ground.redactor.clone(),
            resumed: false,
            folded: WorkflowState::empty(workflow.steps.len()),
            ground: Arc::new(ground.clone()),
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
