//! Opening a pipeline: the run to resume, and the agreement of state file and record.

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
use marvin_model::choose;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Options of a pipeline.
pub struct Options {
    pub project: ProjectContext,
    /// The task; none: the task of the last run.
    pub prompt: Option<String>,
    /// Receives every event.
    pub listener: Listener,
    pub cancel: CancellationToken,
    /// The ntfy topic for notifications about phases.
    pub ntfy: Option<String>,
    /// What to trust if the state file and the record disagree.
    pub trust: Option<Trust>,
    /// Further parts of every prompt: packs.
    pub extras: Vec<PromptExtra>,
    /// A person's answer to the question at which the pipeline stopped.
    pub answer: Option<String>,
    /// The deadline; zero: none.
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

/// What to trust if the state file and the record disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The record.
    Record,
    /// This phase: everything after it is repeated; none: everything.
    After(Option<Phase>),
}

/// The id and task of the last pipeline run.
#[must_use]
pub fn last_run(runs: &Path) -> Option<(String, String)> {
    run_record::list(runs).into_iter().find_map(|run| {
        let record = RunRecord::read(&run).ok().filter(|record| record.manner == RunKind::Pipeline)?;
        Some((run.file_name()?.to_str()?.to_string(), record.goal?))
    })
}

/// The error of a state file that was changed.
pub(super) fn changed(
    state: &StateFile,
    stated: Option<Phase>,
    recorded: Option<Phase>,
    run: &str,
) -> StateError {
    let word = |phase: Option<Phase>| phase.map_or("nothing", Phase::name).to_string();
    StateError::Changed {
        path: state.path().display().to_string(),
        stated: word(stated),
        recorded: word(recorded),
        run: run.to_string(),
        file: stated.map_or("none", Phase::name).to_string(),
    }
}

impl Pipeline {
    /// Opens a pipeline: resumes the last run of the project, or starts one.
    ///
    /// # Errors
    /// When state and record disagree, the task differs, another process works on it, or the record cannot be written.
    pub fn open(options: Options) -> Result<Pipeline, Halt> {
        let Options { project, prompt, listener, cancel, ntfy, trust, extras, answer, deadline } = options;
        let project = Arc::new(project);
        let (Some(workspace), Some(path)) = (&project.workspace, project.layout.pipeline_state()) else {
            return Err(Halt::Usage(
                "a pipeline needs a directory to work in\n  hint: --working-dir PATH".into(),
            ));
        };
        project.depth()?;
        let access = Access::from_settings(&project.settings);
        if access != Access::Full {
            let why = format!(
                "a pipeline needs write access to its whole directory, and this process has less: {}",
                access.describe()
            );
            let hint = "Start it where MARVIN_READONLY and MARVIN_WRITABLE_FILES are not set.";
            return Err(SessionError::from(Refusal::new(RefusalKind::Access, why, hint)).into());
        }
        let root = workspace.root().to_path_buf();
        let state = StateFile::new(path);
        let found = last_run(&project.layout.runs()).filter(|_| !is_new(&state, &root));
        let (run, goal, resumed) = match found {
            Some((id, goal)) => {
                if let Some(prompt) =
                    prompt.as_deref().filter(|prompt| project.redactor.text(prompt.trim()) != goal)
                {
                    return Err(Halt::Usage(format!(
                        "the pipeline of this directory is for another task: `{}`, not `{}`\n  hint: continue it with `marvin pipeline resume`; for a new one use another directory, or move `.marvin/pipeline_state` and the documents in `.marvin` away",
                        truncate::line(&goal, 80),
                        truncate::line(prompt, 80)
                    )));
                }
                needs_model(&project)?;
                let wrap = |source| {
                    SessionError::Write(marvin_base::atomic::WriteError { path: id.clone(), source })
                };
                (RunDirectory::open(&project.layout.runs(), &id).map_err(wrap)?, goal, true)
            }
            None => {
                let Some(prompt) = prompt.filter(|prompt| !prompt.trim().is_empty()) else {
                    return Err(Halt::Usage("no pipeline was started in this directory\n  hint: marvin --non-interactive --working-dir . --design-first --prompt 'what to build'".into()));
                };
                needs_model(&project)?;
                let goal = project.redactor.text(prompt.trim()).into_owned();
                (RunDirectory::create_in(&project.layout)?, goal, false)
            }
        };
        let lock = Lock::take(run.path())?;
        let durability = Durability::from_setting(project.settings.text(&table::DURABILITY));
        let facts = Box::new(RunRecord {
            goal: Some(goal.clone()),
            status: Some(RunStatus::Running),
            ..RunRecord::new(RunKind::Pipeline)
        });
        let before = if resumed { take_over(&project, &run)? } else { Vec::new() };
        let journal = Journal::for_run(&run, project.redactor.clone(), durability);
        let mut known = Journal::read(run.path())?;
        // An earlier process was killed and could not write its time.
        if let Some((phase, worked)) = known.under_way(&before) {
            journal.worked(phase, worked)?;
            known = Journal::read(run.path())?;
        }
        let trace_ledger = Ledger::open_chained(&run.trace(), durability, project.redactor.clone())?;
        let trace = Arc::new(Trace::resume(trace_ledger, listener, &before));
        let agents = StepAgents::open(&project, &run, &trace, &cancel)?;
        let mut pipeline = Pipeline {
            project,
            run,
            agents,
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
            answer,
            deadline,
            _lock: lock,
        };
        pipeline.settle(trust)?;
        pipeline.run.save(&pipeline.facts, &pipeline.project.redactor)?;
        Ok(pipeline)
    }

    /// Makes the state file and the journal agree.
    fn settle(&mut self, trust: Option<Trust>) -> Result<(), Halt> {
        match trust {
            Some(Trust::Record) => self.state.decide(self.known.closed)?,
            Some(Trust::After(to)) => self.reset(to)?,
            None if !self.resumed => {
                if let Some(phase) = self.state.read()? {
                    self.adopt(phase)?;
                }
            }
            None => {}
        }
        let stated = self.state.read()?;
        let PhaseHistory { closed, closing, .. } = self.known;
        if stated == closed {
            return Ok(());
        }
        match closing {
            // A process died between the state file and the journal.
            Some(phase) if stated == Some(phase) => {
                self.journal.closed(phase)?;
                self.known = Journal::read(self.run.path())?;
                Ok(())
            }
            _ => Err(changed(&self.state, stated, closed, self.run.id()).into()),
        }
    }

    /// Adopts a state file without a record, from a clone of the project, if the products of its phases exist.
    fn adopt(&mut self, phase: Phase) -> Result<(), Halt> {
        let mut missing: Vec<String> = Vec::new();
        for written in [Phase::Specification, Phase::Design].into_iter().filter(|written| *written <= phase) {
            missing.extend(
                Document::for_phase(written).iter().flat_map(|document| document.problems(&self.root)),
            );
        }
        if phase >= Phase::FunctionalTests && files::tests(&self.root).is_empty() {
            missing.push("the tests".into());
        }
        if phase >= Phase::IntegrationTests && !self.root.join(oracle::PLAN).is_file() {
            missing.push(oracle::PLAN.to_string());
        }
        if !missing.is_empty() {
            return Err(Halt::Usage(format!(
                "{} says that phase {phase} is complete, but this project has no record of it, and products of the phases are missing: {}\n  hint: remove the file to start again",
                self.state.path().display(),
                missing.join("; ")
            )));
        }
        if phase >= Phase::IntegrationTests {
            let oracle: Oracle = self.seal()?;
            self.trace.notice(format!("{} test files are sealed as they are", oracle.len()))?;
        }
        self.journal.reset(Some(phase))?;
        self.known = Journal::read(self.run.path())?;
        let text = format!(
            "the project has no record of the phases up to {phase}; the state file is trusted, since their products exist"
        );
        Ok(self.trace.notice(text)?)
    }

    /// Resets everything after a phase.
    fn reset(&mut self, to: Option<Phase>) -> Result<(), Halt> {
        if to > self.known.closed {
            let (to, closed) =
                (to.map_or("none", Phase::name), self.known.closed.map_or("none", Phase::name));
            return Err(Halt::Usage(format!(
                "--trust {to}: a phase cannot be skipped; by the record the last complete phase is {closed}\n  hint: `marvin pipeline resume` continues after {closed}"
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
            self.known = Journal::read(self.run.path())?;
        }
        Ok(self.state.decide(to)?)
    }
}

/// Takes over from an earlier process, whose lock is held now: removes its temporary files, and returns the events of its trace.
fn take_over(project: &ProjectContext, run: &RunDirectory) -> Result<Vec<Value>, Halt> {
    project.remove_temporary_files(run);
    match ledger::read_chained(&run.trace()) {
        Ok(read) => Ok(read.entries),
        Err(error @ LedgerError::Broken { .. }) => Err(error.into()),
        Err(_) => Ok(Vec::new()),
    }
}

/// Were the state file and all documents moved away? Then the next pipeline is a new one, unless no phase was closed.
fn is_new(state: &StateFile, root: &Path) -> bool {
    let none = |document: &Document| !root.join(document.path()).exists();
    let documents = [Document::Specification, Document::Experience, Document::Design];
    let runs = state.path().parent().map(|record| record.join("runs")).unwrap_or_default();
    let last = || last_run(&runs).and_then(|(id, _)| Journal::read(&runs.join(id)).ok());
    !state.path().exists() && documents.iter().all(none) && last().is_some_and(|known| known.closed.is_some())
}

/// Refuses to begin with the built-in model, before anything is written.
fn needs_model(project: &ProjectContext) -> Result<(), Halt> {
    if !choose::is_builtin(&project.settings, &project.layout) {
        return Ok(());
    }
    Err(Halt::Usage(
        "a pipeline needs a model, and no provider has a key; the built-in model cannot build software\n  hint: set a key or choose a provider; `marvin doctor` shows how".into(),
    ))
}
