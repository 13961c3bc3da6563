//! A run with everybody who does its steps. Who thinks is asked only where a step needs it: only then is a model chosen.

use crate::deterministic::{Command, Echo};
use crate::engine::{EngineError, MemoryTeacher, Outcome, Run, Teacher, Workers};
use crate::spec::{Step, Workflow};
use crate::workers::{ROLES, roles_for};
use marvin_agent::step_agents::StepAgents;
use marvin_agent::{ProjectContext, SessionError};
use marvin_memory::Places;
use marvin_memory::lessons::Lessons;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Why a run did not go to its end.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Whoever thinks cannot be had.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Takes a run to its end, on this thread: children end with the thread that started them. With a crew that is open already, its
/// account goes on.
///
/// # Errors
/// When no model can be had for a step that needs one, or the record cannot be written.
pub async fn drive(
    ground: &Arc<ProjectContext>,
    mut run: Run,
    crew: Option<Arc<StepAgents>>,
    cancel: CancellationToken,
) -> Result<Outcome, DriveError> {
    let mut workers = Workers::new();
    workers.insert("Echo".into(), Arc::new(Echo));
    workers.insert("Command".into(), Arc::new(Command::new(ground.clone())));
    let crew = match crew {
        None if needs_model(run.workflow()) => {
            Some(Arc::new(StepAgents::open(ground, run.directory(), &run.trace(), &cancel)?))
        }
        other => other,
    };
    if let Some(crew) = &crew {
        workers.extend(roles_for(crew, &run.workflow().metadata));
        run.charge(crew.cost().clone());
    }
    Ok(run.go(workers, teacher(ground), cancel).await?)
}

/// Whether somebody must be asked who thinks.
#[must_use]
pub fn needs_model(workflow: &Workflow) -> bool {
    let thinks = |name: &str| ROLES.iter().any(|role| role.name() == name);
    let rungs = |step: &Step| step.extra().ladder.iter().any(|rung| thinks(&rung.worker));
    workflow.steps.iter().any(|step| thinks(&step.worker) || rungs(step))
}

fn teacher(ground: &ProjectContext) -> Box<dyn Teacher> {
    let places = Places::from_settings(&ground.layout, &ground.settings);
    Box::new(MemoryTeacher::new(Lessons::open(&places.lessons, &places.index, ground.redactor.clone())))
}
