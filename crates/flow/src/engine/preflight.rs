//! Checks of a workflow before anything of it runs: workers, commands and commitments.

use super::EngineError;
use crate::machine::{PEOPLE, is_person};
use crate::spec::{Step, Workflow};
use marvin_agent::commitments::{Assertion, Draft, InvalidCommitment};
use marvin_base::settings::nearest_of;
use marvin_gate::Decision;
use marvin_gate::effects::{Grounds, judge};
use serde_json::Value;
use std::path::Path;

/// Checks that every step can be carried out: its workers exist, a `Command` has a command that the gate does not refuse,
/// and its commitments can be verified.
///
/// # Errors
/// The first step that cannot.
pub fn check_steps(
    workflow: &Workflow,
    workers: &[&str],
    workspace: &Path,
    home: &Path,
) -> Result<(), EngineError> {
    check_workers(workflow, workers)?;
    let (workspace, home) = (workspace.display().to_string(), home.display().to_string());
    let grounds = Grounds { workspace: &workspace, home: &home };
    workflow.steps.iter().try_for_each(|step| {
        check_command(step, grounds)?;
        check_commitments(step)
    })
}

/// Checks that every step names one of these workers, or a person, in its ladder as well.
///
/// # Errors
/// The first step whose worker is not known.
pub(super) fn check_workers(workflow: &Workflow, workers: &[&str]) -> Result<(), EngineError> {
    for step in &workflow.steps {
        let ladder = step.extra().ladder.iter().map(|rung| rung.worker.as_str());
        let own = Some(&*step.worker).filter(|worker| !is_person(worker));
        let unknown = own.into_iter().chain(ladder).find(|worker| !workers.contains(worker));
        let Some(worker) = unknown else { continue };
        let known = workers.iter().copied().chain(PEOPLE);
        let hint = match nearest_of(worker, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
        };
        return Err(EngineError::NoWorker { step: step.id.to_string(), worker: worker.to_string(), hint });
    }
    Ok(())
}

fn check_command(step: &Step, grounds: Grounds<'_>) -> Result<(), EngineError> {
    if &*step.worker != "Command" {
        return match step.extra().poll {
            Some(_) => Err(EngineError::invalid(step, "only a `Command` can be polled", "remove `poll`")),
            None => Ok(()),
        };
    }
    let inputs = step.inputs();
    let line = match inputs.get("command") {
        Some(Value::String(line)) if !line.trim().is_empty() => line,
        // The output of another step, known when it runs.
        Some(Value::Object(_)) => return Ok(()),
        _ => {
            let hint = "give `inputs: {command: …}`";
            return Err(EngineError::invalid(step, "it has no command", hint));
        }
    };
    let verdict = judge(line, grounds.workspace, grounds).verdict;
    if verdict.decision == Decision::Deny {
        let problem = format!("the gate refuses its command: {} [{}]", verdict.reason, verdict.rule);
        return Err(EngineError::invalid(step, &problem, &verdict.how_to_fix));
    }
    Ok(())
}

fn check_commitments(step: &Step) -> Result<(), EngineError> {
    let until = step.extra().poll.iter().flat_map(|poll| &poll.until);
    let texts: Vec<String> = step.extra().commitments.iter().chain(until).cloned().collect();
    if texts.is_empty() {
        return Ok(());
    }
    if is_person(&step.worker) || &*step.worker == "Echo" {
        let problem = format!("a step of `{}` has nothing to verify", step.worker);
        let hint = "put its commitments on the step that does the work";
        return Err(EngineError::invalid(step, &problem, hint));
    }
    parse_commitments(&texts).map_err(|error| {
        EngineError::invalid(step, &format!("a commitment is refused: {}", error.reason), &error.hint)
    })
}

/// Checks that commitments can be understood.
///
/// # Errors
/// The first that cannot.
pub fn parse_commitments(texts: &[String]) -> Result<(), InvalidCommitment> {
    let drafts = Draft::all(texts, &[])?;
    drafts.iter().try_for_each(|draft| Assertion::parse(draft.kind, &draft.assertion).map(drop))
}
