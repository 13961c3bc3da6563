//! One step of a checked workflow.

use super::{Schema, Workflow};
use crate::retry::Strategy;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A step.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its id, unique in the workflow.
    pub id: Box<str>,
    /// Its name for people; none: the id.
    pub name: Option<Box<str>>,
    /// What is to be done.
    pub description: Box<str>,
    /// Who does it.
    pub worker: Arc<str>,
    /// The steps that must be over before, by their place.
    pub depends_on: Box<[u32]>,
    /// The inputs as JSON text; empty: none.
    pub inputs: Box<str>,
    /// Whether the inputs refer to outputs of other steps.
    pub refers: bool,
    /// What the inputs must look like.
    pub inputs_schema: Option<Arc<Schema>>,
    /// What the outputs must look like.
    pub outputs_schema: Option<Arc<Schema>>,
    /// What few steps have.
    pub extras: Option<Box<Extras>>,
}

/// What few steps have.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extras {
    /// Seconds after which an attempt is ended.
    pub timeout_s: Option<u64>,
    /// What must hold before the step counts as done, `kind:assertion`.
    pub commitments: Vec<String>,
    /// Whether it changes files of the workspace; none: as its worker says.
    pub writes: Option<bool>,
    /// Whether it may be done again without harm when a process died in the middle of it; none: as its worker says.
    pub repeatable: Option<bool>,
    /// Whether it works in a git worktree of its own, beside other writers.
    pub worktree: bool,
    /// Files of other steps that it takes away, as these name them.
    pub removes: Vec<String>,
    /// Its own strategies, in order; empty: the usual ones.
    pub ladder: Vec<Strategy>,
    /// At most so many attempts.
    pub max_attempts: Option<u32>,
}

impl Step {
    /// What few steps have.
    #[must_use]
    pub fn extra(&self) -> &Extras {
        static NONE: Extras = Extras {
            timeout_s: None,
            commitments: Vec::new(),
            writes: None,
            repeatable: None,
            worktree: false,
            removes: Vec::new(),
            ladder: Vec::new(),
            max_attempts: None,
        };
        self.extras.as_deref().unwrap_or(&NONE)
    }

    /// Its name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// Its inputs as they were written, references unresolved.
    #[must_use]
    pub fn inputs(&self) -> Map<String, Value> {
        serde_json::from_str(&self.inputs).unwrap_or_default()
    }

    /// The step as JSON: the keys that every step has, and those that this one has besides.
    #[must_use]
    pub fn to_json(&self, workflow: &Workflow) -> Value {
        let name_of = |dep: &u32| workflow.steps.get(*dep as usize).map(|step| step.id.to_string());
        let deps: Vec<String> = self.depends_on.iter().filter_map(name_of).collect();
        let schema = |schema: &Option<Arc<Schema>>| {
            schema.as_ref().map_or_else(|| json!({}), |schema| schema.value.clone())
        };
        let mut value = json!({
            "id": self.id, "name": self.name(), "description": self.description, "worker": self.worker, "depends_on": deps,
            "inputs_schema": schema(&self.inputs_schema), "outputs_schema": schema(&self.outputs_schema), "inputs": self.inputs(),
        });
        let extra = self.extra();
        let more = [
            ("timeout_s", extra.timeout_s.map(Value::from)),
            ("commitments", (!extra.commitments.is_empty()).then(|| json!(extra.commitments))),
            ("writes", extra.writes.map(Value::from)),
            ("repeatable", extra.repeatable.map(Value::from)),
            ("worktree", extra.worktree.then(|| true.into())),
            ("removes", (!extra.removes.is_empty()).then(|| json!(extra.removes))),
            ("ladder", (!extra.ladder.is_empty()).then(|| json!(extra.ladder))),
            ("max_attempts", extra.max_attempts.map(Value::from)),
        ];
        if let Value::Object(map) = &mut value {
            map.extend(more.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?))));
        }
        value
    }
}
