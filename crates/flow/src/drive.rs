//! Runs a workflow with its workers. A model is chosen only when a step needs one.

use crate::deterministic::{Command, Echo};
use crate::engine::{EngineError, MemoryTeacher, Outcome, Run, Teacher};
use crate::spec::{Step, Workflow};
use crate::worker::Workers;
use crate::workers::{ROLES, roles_for};
use marvin_agent::step_agents::StepAgents;
use marvin_agent::{ProjectContext, SessionError};
use marvin_memory::Places;
use marvin_memory::lessons::Lessons;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Why a run could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No model is available for a step that needs one.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Runs a workflow to its end on this thread, since child processes end with the thread that started them.
///
/// Agents that are open already keep charging their own account.
///
/// # Errors
/// When no model is available for a step that needs one, or the record cannot be written.
pub async fn drive(
    project: &Arc<ProjectContext>,
    mut run: Run,
    agents: Option<Arc<StepAgents>>,
    cancel: CancellationToken,
) -> Result<Outcome, DriveError> {
    let mut workers = Workers::new();
    workers.insert("Echo".into(), Arc::new(Echo));
    workers.insert("Command".into(), Arc::new(Command::new(project.clone())));
    let agents = match agents {
        None if needs_model(run.workflow()) => {
            Some(Arc::new(StepAgents::open(project, run.directory(), &run.trace(), &cancel)?))
        }
        other => other,
    };
    if let Some(agents) = &agents {
        workers.extend(roles_for(agents, &run.workflow().metadata));
        run.charge(agents.cost().clone());
    }
    Ok(run.go(workers, teacher(project), cancel).await?)
}

/// Whether a step, or a rung of its ladder, needs a model.
#[must_use]
pub fn needs_model(workflow: &Workflow) -> bool {
    let is_role = |name: &str| ROLES.iter().any(|role| role.name() == name);
    let rungs = |step: &Step| step.extra().ladder.iter().any(|rung| is_role(&rung.worker));
    workflow.steps.iter().any(|step| is_role(&step.worker) || rungs(step))
}

/// The lessons of the project as a teacher.
#[must_use]
pub fn teacher(project: &ProjectContext) -> Box<dyn Teacher> {
    let places = Places::from_settings(&project.layout, &project.settings);
    Box::new(MemoryTeacher::new(Lessons::open(&places.lessons, &places.index, project.redactor.clone())))
}
