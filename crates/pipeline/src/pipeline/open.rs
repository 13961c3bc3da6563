//! Opening a pipeline: which run it goes on with, and whether the state file and the record agree.

use super::Pipeline;
use crate::documents::Document;
use crate::journal::{Journal, PhaseHistory};
use crate::oracle::Oracle;
use crate::phase::Phase;
use crate::state::{StateError, StateFile};
use crate::stop::Halt;
use crate::{files, oracle};
use marvin_agent::compose::PromptExtra;
use marvin_agent::step_agents::StepAgents;
use marvin_agent::trace::{Listener, Trace};
use marvin_agent::{ProjectContext, SessionError};
use marvin_base::ledger::{self, Durability, Ledger, LedgerError};
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{self, RunKind, RunRecord, RunStatus};
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_flow::engine::Lock;
use marvin_gate::{Access, Refusal, RefusalKind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How a pipeline is to be opened.
pub struct Options {
    /// Settings, workspace and directories.
    pub ground: ProjectContext,
    /// What is to be built; none: what the last run was for.
    pub prompt: Option<String>,
    /// Told of every event.
    pub listener: Listener,
    /// Ends it.
    pub cancel: CancellationToken,
    /// The topic that is told of phases.
    pub ntfy: Option<String>,
    /// Whose word counts where the state file and the record disagree.
    pub trust: Option<Trust>,
    /// What floors above bring into every prompt: packs.
    pub extras: Vec<PromptExtra>,
    /// When it is ended; zero: never.
    pub deadline: Duration,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Options")
            .field("prompt", &self.prompt)
            .field("trust", &self.trust)
            .finish_non_exhaustive()
    }
}

/// Whose word counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The record's.
    Record,
    /// Everything after this phase is done again; none: everything.
    After(Option<Phase>),
}

/// The last run of a pipeline among these, with the task that it is for.
#[must_use]
pub fn last_run(runs: &Path) -> Option<(String, String)> {
    run_record::list(runs).into_iter().find_map(|run| {
        let record = RunRecord::read(&run).ok().filter(|record| record.manner == RunKind::Pipeline)?;
        Some((run.file_name()?.to_str()?.to_string(), record.goal?))
    })
}

/// That the state file was changed.
pub(super) fn changed(state: &StateFile, says: Option<Phase>, knows: Option<Phase>, run: &str) -> StateError {
    let word = |phase: Option<Phase>| phase.map_or("nothing", Phase::name).to_string();
    StateError::Changed {
        path: state.path().display().to_string(),
        says: word(says),
        knows: word(knows),
        run: run.to_string(),
        file: says.map_or("none", Phase::name).to_string(),
    }
}

impl Pipeline {
    /// Opens a pipeline: goes on with the last run of the project, or begins one.
    ///
    /// # Errors
    /// When the state cannot be trusted, the task is another one, somebody else works on it, or the record cannot be written.
    pub fn open(options: Options) -> Result<Pipeline, Halt> {
        let Options { ground, prompt, listener, cancel, ntfy, trust, extras, deadline } = options;
        let ground = Arc::new(ground);
        let (Some(workspace), Some(path)) = (&ground.workspace, ground.layout.pipeline_state()) else {
            return Err(Halt::Usage(
                "a pipeline needs a directory to work in\n  hint: --working-dir PATH".into(),
            ));
        };
        ground.depth()?;
        let access = Access::from_settings(&ground.settings);
        if access != Access::Full {
            let why = format!(
                "a pipeline writes everywhere in its directory, and this process may not: {}",
                access.describe()
            );
            let mend = "Start it where MARVIN_READONLY and MARVIN_WRITABLE_FILES are not set.";
            return Err(SessionError::from(Refusal::new(RefusalKind::Access, why, mend)).into());
        }
        let root = workspace.root().to_path_buf();
        let state = StateFile::new(path);
        let found = last_run(&ground.layout.runs()).filter(|_| !begins_anew(&state, &root));
        let (run, goal, resumed) = match found {
            Some((id, goal)) => {
                if let Some(prompt) =
                    prompt.as_deref().filter(|prompt| ground.redactor.text(prompt.trim()) != goal)
                {
                    return Err(Halt::Usage(format!(
                        "the pipeline of this directory is for another task: `{}`, not `{}`\n  hint: go on with it by `marvin pipeline resume`; for a new one take another directory, or move `.marvin/pipeline_state` and the documents in `.marvin` away",
                        truncate::line(&goal, 80),
                        truncate::line(prompt, 80)
                    )));
                }
                let wrap = |source| {
                    SessionError::Write(marvin_base::atomic::WriteError { path: id.clone(), source })
                };
                (RunDirectory::open(&ground.layout.runs(), &id).map_err(wrap)?, goal, true)
            }
            None => {
                let Some(prompt) = prompt.filter(|prompt| !prompt.trim().is_empty()) else {
                    return Err(Halt::Usage("no pipeline was begun in this directory\n  hint: marvin --non-interactive --working-dir . --design-first --prompt 'what to build'".into()));
                };
                let goal = ground.redactor.text(prompt.trim()).into_owned();
                (RunDirectory::create_in(&ground.layout)?, goal, false)
            }
        };
        let lock = Lock::take(run.path())?;
        let durability = Durability::from_setting(ground.settings.text(&table::DURABILITY));
        let facts = Box::new(RunRecord {
            goal: Some(goal.clone()),
            status: Some(RunStatus::Running),
            ..RunRecord::new(RunKind::Pipeline)
        });
        let before = if resumed {
            match ledger::read_chained(&run.trace()) {
                Ok(read) => read.entries,
                Err(error @ LedgerError::Broken { .. }) => return Err(error.into()),
                Err(_) => Vec::new(),
            }
        } else {
            Vec::new()
        };
        let journal = Journal::for_run(&run, ground.redactor.clone(), durability);
        let mut known = Journal::known(run.path())?;
        // Whoever worked on it before was killed, and could not say for how long it had worked.
        if let Some((phase, worked)) = known.under_way(&before) {
            journal.worked(phase, worked)?;
            known = Journal::known(run.path())?;
        }
        let trace_ledger = Ledger::open_chained(&run.trace(), durability, ground.redactor.clone())?;
        let trace = Arc::new(Trace::going_on(trace_ledger, listener, &before));
        let crew = StepAgents::open(&ground, &run, &trace, &cancel)?;
        let mut pipeline = Pipeline {
            ground,
            run,
            crew,
            trace,
            cancel,
            goal,
            root,
            state,
            journal,
            known,
            ntfy,
            facts,
            opened: Instant::now(),
            tickets: None,
            resumed,
            extras,
            deadline,
            _lock: lock,
        };
        pipeline.settle(trust)?;
        pipeline.run.save(&pipeline.facts, &pipeline.ground.redactor)?;
        Ok(pipeline)
    }

    /// Makes sure that the state file and the journal say the same.
    fn settle(&mut self, trust: Option<Trust>) -> Result<(), Halt> {
        match trust {
            Some(Trust::Record) => self.state.decide(self.known.closed)?,
            Some(Trust::After(to)) => self.set_back(to)?,
            None if !self.resumed => {
                if let Some(phase) = self.state.read()? {
                    self.adopt(phase)?;
                }
            }
            None => {}
        }
        let says = self.state.read()?;
        let PhaseHistory { closed, closing, .. } = self.known;
        if says == closed {
            return Ok(());
        }
        match closing {
            // A process ended between writing the state and saying so.
            Some(phase) if says == Some(phase) => {
                self.journal.closed(phase)?;
                self.known = Journal::known(self.run.path())?;
                Ok(())
            }
            _ => Err(changed(&self.state, says, closed, self.run.id()).into()),
        }
    }

    /// A state without a record, from a clone of the project: taken when what its phases leave is there.
    fn adopt(&mut self, phase: Phase) -> Result<(), Halt> {
        let mut missing: Vec<String> = Vec::new();
        for written in [Phase::Specification, Phase::Design].into_iter().filter(|written| *written <= phase) {
            missing.extend(
                Document::for_phase(written).iter().flat_map(|document| document.problems(&self.root)),
            );
        }
        if phase >= Phase::FunctionalTests && files::tests(&self.root).is_empty() {
            missing.push("there are no tests".into());
        }
        if phase >= Phase::IntegrationTests && !self.root.join(oracle::PLAN).is_file() {
            missing.push(format!("there is no {}", oracle::PLAN));
        }
        if !missing.is_empty() {
            return Err(Halt::Usage(format!(
                "{} says that phase {phase} is over, but there is no record of it here, and what it leaves is not there: {}\n  hint: remove the file to begin anew",
                self.state.path().display(),
                missing.join("; ")
            )));
        }
        if phase >= Phase::IntegrationTests {
            let oracle: Oracle = self.seal()?;
            self.trace.notice(format!("{} files of tests are taken as they are", oracle.len()))?;
        }
        self.journal.reset(Some(phase))?;
        self.known = Journal::known(self.run.path())?;
        let text = format!(
            "there was no record of phases up to {phase}; the state file is taken at its word, what they leave is there"
        );
        Ok(self.trace.notice(text)?)
    }

    /// Everything after a phase is done again.
    fn set_back(&mut self, to: Option<Phase>) -> Result<(), Halt> {
        if to > self.known.closed {
            let (to, closed) =
                (to.map_or("none", Phase::name), self.known.closed.map_or("none", Phase::name));
            return Err(Halt::Usage(format!(
                "--trust {to}: a phase cannot be skipped; by the record the last one that is over is {closed}\n  hint: `marvin pipeline resume` goes on after {closed}"
            )));
        }
        for written in [Phase::Specification, Phase::Design].into_iter().filter(|written| Some(*written) > to)
        {
            for document in Document::for_phase(written) {
                std::fs::remove_file(self.root.join(document.path())).ok();
            }
        }
        if Some(Phase::IntegrationTests) > to {
            std::fs::remove_file(self.root.join(oracle::PLAN)).ok();
        }
        if to != self.known.closed || !self.known.phases.is_empty() {
            self.journal.reset(to)?;
            self.known = Journal::known(self.run.path())?;
        }
        Ok(self.state.decide(to)?)
    }
}

/// Did somebody move everything away? Then the next pipeline is a new one. A run that has closed no phase is gone on with.
fn begins_anew(state: &StateFile, root: &Path) -> bool {
    let none = |document: &Document| !root.join(document.path()).exists();
    let documents = [Document::Specification, Document::Experience, Document::Design];
    let runs = state.path().parent().map(|record| record.join("runs")).unwrap_or_default();
    let last = || last_run(&runs).and_then(|(id, _)| Journal::known(&runs.join(id)).ok());
    !state.path().exists() && documents.iter().all(none) && last().is_some_and(|known| known.closed.is_some())
}
