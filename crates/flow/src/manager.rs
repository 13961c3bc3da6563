//! From a goal to a workflow: a Planner proposes one, and the shell checks it.
//!
//! A plan has one of two shapes, `{"workflow": {"steps": […]}}` or `{"task_steps": […]}`. An unusable plan is returned once
//! with its problems; after that the goal becomes a workflow of one step. Only some keys are taken from a plan: it can add
//! commitments, but no ladder, no rights and no limits.

use crate::engine::{self, EngineError};
use crate::spec::{self, COMMITMENTS, SpecError, Workflow};
use marvin_agent::ProjectContext;
use marvin_agent::SessionError;
use marvin_agent::outcome::Status;
use marvin_agent::roles::Role;
use marvin_agent::step_agents::{Job, JobResult, Rights, StepAgents};
use marvin_base::trace_event::TraceEvent;
use marvin_base::truncate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use tokio_util::sync::CancellationToken;

/// The id of the planning step, in the record and in scripts.
pub const STEP: &str = "plan";
/// The id of the step that verifies what must hold at the end.
pub const FINISH: &str = "finish";
const MAX_PLAN_STEPS: usize = 200;
/// Keys that are taken from a step of a plan.
const KEYS: [&str; 9] = [
    "id",
    "name",
    "description",
    "worker",
    "depends_on",
    "inputs_schema",
    "outputs_schema",
    "inputs",
    "commitments",
];

/// A workflow for a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The workflow, as in a workflow file.
    pub workflow: Value,
    /// Why it is a single step; none when it is the Planner's workflow.
    pub fallback: Option<String>,
}

/// Why a plan cannot be used; the Planner is told.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("the Planner did not make a plan: {0}")]
    NoPlan(String),
    #[error("it has no list of steps: {{\"workflow\": {{\"steps\": […]}}}}, or {{\"task_steps\": […]}}")]
    NoSteps,
    #[error("its list of steps is empty")]
    EmptySteps,
    #[error("it has {0} steps, and {MAX_PLAN_STEPS} are allowed")]
    TooManySteps(usize),
    #[error("its step {0} is not an object")]
    NotAnObject(usize),
    #[error("its step {0} has no `id`")]
    NoId(usize),
    #[error("its step `{0}` hands the work back to a Planner, which would make a circle")]
    Circle(String),
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error(transparent)]
    Workers(#[from] EngineError),
}

/// Checks a workflow.
pub type Check<'a> = &'a (dyn Fn(&Value) -> Result<(), PlanError> + Send + Sync);

/// A workflow as a plan records it.
#[derive(Serialize)]
struct PlannedWorkflow<'a> {
    workflow_id: &'static str,
    goal: &'a str,
    metadata: PlanMetadata<'a>,
    steps: Vec<Value>,
}

#[derive(Serialize)]
struct PlanMetadata<'a> {
    planned_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commitments: Option<&'a [String]>,
}

/// The step that verifies what must hold at the end.
#[derive(Serialize)]
struct FinishStep<'a> {
    id: &'a str,
    worker: &'static str,
    depends_on: Vec<&'a String>,
    commitments: &'a [String],
    description: &'static str,
}

/// The step of a workflow of one step.
#[derive(Serialize)]
struct SingleStep<'a> {
    id: &'static str,
    description: &'a str,
    worker: &'static str,
    commitments: &'a [String],
}

impl PlannedWorkflow<'_> {
    fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Asks the Planner for a workflow that reaches a goal; none when it was cancelled or the budget is spent.
///
/// `commitments` must hold at the end: they are part of the Planner's task and of a workflow of one step.
///
/// # Errors
/// When the record cannot be written, or no model is available.
pub async fn plan(
    agents: &StepAgents,
    goal: &str,
    commitments: &[String],
    check: Check<'_>,
    cancel: &CancellationToken,
) -> Result<Option<Plan>, SessionError> {
    if let Some(plan) = agents.kept(STEP)?.and_then(|kept| serde_json::from_value(kept).ok()) {
        return Ok(Some(plan));
    }
    let mut problem = String::new();
    for round in 1..=2_u32 {
        let done = agents.work(&job(goal, commitments, round, &problem), cancel).await?;
        match parse_plan(goal, commitments, &done, check) {
            Ok(workflow) => return keep(agents, Plan { workflow, fallback: None }).map(Some),
            Err(why) => problem = why.to_string(),
        }
        if cancel.is_cancelled() || matches!(done.outcome.status, Status::Budget | Status::Interrupted) {
            return Ok(None);
        }
    }
    keep(agents, Plan { workflow: single(goal, commitments), fallback: Some(problem) }).map(Some)
}

/// Records a plan before its first step begins.
fn keep(agents: &StepAgents, plan: Plan) -> Result<Plan, SessionError> {
    agents.keep(STEP, &serde_json::to_value(&plan).unwrap_or_default())?;
    let steps = plan.workflow.get("steps").and_then(Value::as_array).map_or(0, Vec::len);
    agents.trace().event(TraceEvent::PlanMade {
        step_id: STEP.to_string(),
        steps,
        fallback: plan.fallback.clone(),
    })?;
    Ok(plan)
}

fn job(goal: &str, commitments: &[String], round: u32, problem: &str) -> Job {
    let mut task = include_str!("../prompts/plan.md").replace("{goal}", goal.trim());
    if !commitments.is_empty() {
        task.push_str("\nAt the end this must hold:\n");
        for commitment in commitments {
            task.push_str(&format!("- {}\n", truncate::line(commitment, 300)));
        }
    }
    if !problem.is_empty() {
        task.push_str(&format!(
            "\n# Your last plan cannot be used\n{problem}\nGive the whole plan again, corrected.\n"
        ));
    }
    Job {
        key: format!("{STEP}-{round}"),
        role: Role::Planner,
        step: STEP.into(),
        attempt: round,
        call_id: format!("call-{STEP}-{round}"),
        task,
        workspace: None,
        readonly: true,
        commitments: Vec::new(),
        outputs_schema: None,
        extras: Vec::new(),
        rights: Rights::default(),
    }
}

/// The checked workflow in the result of a Planner.
fn parse_plan(
    goal: &str,
    commitments: &[String],
    done: &JobResult,
    check: Check<'_>,
) -> Result<Value, PlanError> {
    if done.outcome.status != Status::Success {
        let why = done.outcome.error.clone().unwrap_or_else(|| done.outcome.text.clone());
        return Err(PlanError::NoPlan(truncate::line(&why, 300)));
    }
    let mut workflow = workflow_of(goal, &done.outcome.data)?;
    finish(&mut workflow, commitments);
    check(&workflow)?;
    Ok(workflow)
}

/// Adds a last step that verifies the commitments, and fixes what does not hold.
fn finish(workflow: &mut Value, commitments: &[String]) {
    if commitments.is_empty() {
        return;
    }
    let Some(steps) = workflow.get_mut("steps").and_then(Value::as_array_mut) else { return };
    let texts = |step: &Value, key: &str| -> Vec<String> {
        let list = step.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_string).collect()
    };
    let ids: BTreeSet<String> =
        steps.iter().filter_map(|step| step.get("id").and_then(Value::as_str)).map(str::to_string).collect();
    let needed: BTreeSet<String> = steps.iter().flat_map(|step| texts(step, "depends_on")).collect();
    let last: Vec<&String> = ids.difference(&needed).collect();
    let mut id = FINISH.to_string();
    while ids.contains(&id) {
        id.push('-');
    }
    let step = FinishStep {
        id: &id,
        worker: "Debugger",
        depends_on: last,
        commitments,
        description: "Everything else is done. What must hold at the end is verified now; fix what does not hold.",
    };
    steps.push(serde_json::to_value(step).unwrap_or_default());
    if let Some(metadata) = workflow.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert(COMMITMENTS.into(), commitments.into());
    }
}

/// The workflow of a plan.
///
/// # Errors
/// When it is not a workflow, or a step of it cannot be carried out.
pub fn read_plan(
    workflow: &Value,
    workers: &[&str],
    project: &ProjectContext,
) -> Result<Workflow, PlanError> {
    let workflow = spec::from_text(&workflow.to_string(), "the plan")?;
    engine::check_steps(&workflow, workers, &project.directory, project.layout.home())?;
    Ok(workflow)
}

/// The workflow in the final object of a Planner.
///
/// # Errors
/// What is wrong with the plan.
pub fn workflow_of(goal: &str, data: &Map<String, Value>) -> Result<Value, PlanError> {
    let inner = data.get("outputs").and_then(Value::as_object);
    let found = [Some(data), inner].into_iter().flatten().find_map(|data| {
        let steps = data.get("workflow").and_then(|workflow| workflow.get("steps"));
        steps.or_else(|| data.get("task_steps"))
    });
    let Some(Value::Array(steps)) = found else {
        return Err(PlanError::NoSteps);
    };
    if steps.is_empty() {
        return Err(PlanError::EmptySteps);
    }
    if steps.len() > MAX_PLAN_STEPS {
        return Err(PlanError::TooManySteps(steps.len()));
    }
    let steps: Vec<Value> =
        steps.iter().enumerate().map(|(at, step)| step_of(at + 1, step)).collect::<Result<_, _>>()?;
    let metadata = PlanMetadata { planned_by: "Planner", commitments: None };
    Ok(PlannedWorkflow { workflow_id: "planned", goal, metadata, steps }.value())
}

fn step_of(number: usize, step: &Value) -> Result<Value, PlanError> {
    let Value::Object(step) = step else { return Err(PlanError::NotAnObject(number)) };
    let id = step.get("id").and_then(Value::as_str).unwrap_or_default();
    if id.trim().is_empty() {
        return Err(PlanError::NoId(number));
    }
    if step.get("worker").and_then(Value::as_str).is_some_and(|worker| worker.eq_ignore_ascii_case("Planner"))
    {
        return Err(PlanError::Circle(truncate::line(id, 60)));
    }
    let kept = KEYS.iter().filter_map(|key| Some((key.to_string(), step.get(*key)?.clone())));
    Ok(Value::Object(kept.filter(|(_, value)| !value.is_null()).collect()))
}

/// A workflow of one step.
#[must_use]
pub fn single(goal: &str, commitments: &[String]) -> Value {
    let metadata = PlanMetadata { planned_by: "fallback", commitments: Some(commitments) };
    let step = SingleStep { id: "work", description: goal, worker: "Implementer", commitments };
    let steps = vec![serde_json::to_value(step).unwrap_or_default()];
    PlannedWorkflow { workflow_id: "planned", goal, metadata, steps }.value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::has_commitments;
    use serde_json::json;

    fn plan_workflow(data: &Value) -> Result<Value, PlanError> {
        workflow_of("g", data.as_object().unwrap())
    }

    #[test]
    fn both_shapes_are_a_workflow() {
        let steps = json!([{"id": "a", "worker": "Implementer"}, {"id": "b", "depends_on": ["a"], "ladder": [], "writes": true}]);
        let one = plan_workflow(&json!({"workflow": {"steps": steps}})).unwrap();
        assert_eq!(one, plan_workflow(&json!({"task_steps": steps})).unwrap());
        assert_eq!(one, plan_workflow(&json!({"outputs": {"task_steps": steps}})).unwrap());
        assert_eq!(
            one["steps"][1],
            json!({"id": "b", "depends_on": ["a"]}),
            "rights and limits are not taken"
        );
        assert_eq!(one["goal"], "g");
    }

    #[test]
    fn final_commitments_get_their_own_step() {
        let steps = json!([{"id": "a"}, {"id": "b", "depends_on": ["a"]}, {"id": "finish"}]);
        let mut workflow = plan_workflow(&json!({"task_steps": steps})).unwrap();
        let before = workflow.clone();
        finish(&mut workflow, &[]);
        assert_eq!(workflow, before);
        finish(&mut workflow, &["file_exists:x".into()]);
        let last = &workflow["steps"][3];
        assert_eq!((&last["id"], &last["depends_on"]), (&json!("finish-"), &json!(["b", "finish"])));
        assert_eq!(last["commitments"], json!(["file_exists:x"]));
        assert!(has_commitments(workflow["metadata"].as_object().unwrap()));
        assert!(!has_commitments(before["metadata"].as_object().unwrap()));
        assert!(has_commitments(single("g", &["file_exists:x".into()])["metadata"].as_object().unwrap()));
    }

    #[test]
    fn an_unusable_plan_is_refused_with_its_reason() {
        for (data, why) in [
            (json!({}), "no list of steps"),
            (json!({"workflow": "a, then b"}), "no list of steps"),
            (json!({"workflow": {"steps": {"a": 1}}}), "no list of steps"),
            (json!({"task_steps": []}), "empty"),
            (json!({"task_steps": ["a"]}), "step 1 is not an object"),
            (json!({"task_steps": [{"id": "a"}, {"name": "b"}]}), "step 2 has no `id`"),
            (json!({"task_steps": [{"id": "again", "worker": "planner"}]}), "circle"),
            (json!({"task_steps": vec![json!({"id": "a"}); 201]}), "201 steps"),
        ] {
            let error = plan_workflow(&data).unwrap_err().to_string();
            assert!(error.contains(why), "{data}: {error}");
        }
    }
}
