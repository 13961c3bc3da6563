//! Values of a run that its machine does not hold: outputs, resolved inputs, questions, lessons.

use crate::engine::resolve::{self, Inputs, OutputSource, ResolveError};
use crate::machine::Problem;
use crate::record::{Data, StepStatus};
use crate::spec::{Reference, Workflow};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Depth to which inputs are searched for references.
const MAX_NESTING: usize = 32;

/// Inputs and question of a step that waits for a person.
type Question = (Option<Map<String, Value>>, Option<String>);

/// Values of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Values {
    /// Steps whose outputs other steps refer to.
    referred: BTreeSet<String>,
    /// Outputs of these steps.
    outputs: BTreeMap<String, Value>,
    resolved: BTreeMap<u32, Map<String, Value>>,
    questions: BTreeMap<u32, Question>,
    /// The last lesson of a step and its id, which is not known until it is written.
    lessons: BTreeMap<u32, (Option<String>, String)>,
}

impl Values {
    pub(super) fn new(workflow: &Workflow) -> Self {
        let mut referred = BTreeSet::new();
        for step in workflow.steps.iter().filter(|step| step.refers) {
            step.inputs().values().for_each(|value| collect(value, &mut referred, 0));
        }
        Values { referred, ..Values::default() }
    }

    /// Keeps what later steps or transitions need of a transition.
    pub(super) fn keep(&mut self, workflow: &Workflow, step: u32, status: StepStatus, data: &Data) {
        if status.is_complete()
            && let Some(id) = workflow.steps.get(step as usize).map(|step| &*step.id)
            && self.referred.contains(id)
        {
            let outputs = data.outputs.clone().unwrap_or_default();
            self.outputs.insert(id.to_string(), Value::Object(outputs));
        }
        if status == StepStatus::Blocked {
            self.questions.insert(step, (data.inputs.clone(), data.error.clone()));
        } else {
            self.questions.remove(&step);
        }
        if status.is_complete() {
            self.lessons.remove(&step);
        }
    }

    /// The resolved inputs of a step, with the answer of a person.
    pub(super) fn inputs(&mut self, workflow: &Workflow, step: u32, answer: Option<Value>) -> Inputs {
        let Some(one) = workflow.steps.get(step as usize) else {
            return Inputs::invalid(format!("step {step} does not exist"));
        };
        match resolve::inputs(one, self) {
            Ok(inputs) => Inputs::check(one, inputs, answer),
            Err(ResolveError::Missing(why)) => Inputs::invalid(why),
            Err(ResolveError::Record(error)) => Inputs::invalid(error.to_string()),
        }
    }

    /// Keeps resolved inputs for the transition that follows, or gives the reason why there are none.
    pub(super) fn keep_resolved(&mut self, step: u32, inputs: Inputs) -> Option<Problem> {
        match inputs {
            Inputs::Invalid(problem) => Some(problem),
            Inputs::Valid(inputs) => {
                self.resolved.insert(step, inputs);
                None
            }
        }
    }

    pub(super) fn take_resolved(&mut self, step: u32) -> Map<String, Value> {
        self.resolved.remove(&step).unwrap_or_default()
    }

    /// Inputs and error of the last transition of a step that waits for a person.
    pub(super) fn question(&self, step: u32) -> Question {
        self.questions.get(&step).cloned().unwrap_or_default()
    }

    pub(super) fn keep_lesson(&mut self, step: u32, text: String) {
        self.lessons.insert(step, (None, text));
    }

    /// Names the last lesson of a step.
    pub(super) fn name_lesson(&mut self, step: u32, id: &str) {
        if let Some(lesson) = self.lessons.get_mut(&step) {
            lesson.0 = Some(id.to_string());
        }
    }

    pub(super) fn lesson(&self, step: u32, id: &str) -> Option<String> {
        self.lessons
            .get(&step)
            .filter(|lesson| lesson.0.as_deref() == Some(id))
            .map(|lesson| lesson.1.clone())
    }
}

impl OutputSource for Values {
    fn load_step(&mut self, step: &str) -> Result<&Value, ResolveError> {
        Ok(self.outputs.get(step).unwrap_or(&Value::Null))
    }
}

/// Collects the steps that a value refers to.
fn collect(value: &Value, steps: &mut BTreeSet<String>, depth: usize) {
    if depth > MAX_NESTING {
        return;
    }
    if let Some(reference) = Reference::parse(value) {
        steps.insert(reference.step.to_string());
        return;
    }
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect(value, steps, depth + 1)),
        Value::Object(map) => map.values().for_each(|value| collect(value, steps, depth + 1)),
        _ => {}
    }
}
