//! Steps of a checked workflow.

use super::{Schema, Workflow};
use crate::retry::Strategy;
use serde_json::{Map, Value, json};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct Step {
    /// Unique in the workflow.
    pub id: Box<str>,
    /// The name for people; none: the id.
    pub name: Option<Box<str>>,
    pub description: Box<str>,
    pub worker: Arc<str>,
    /// Indices of the steps that must be complete before.
    pub depends_on: Box<[u32]>,
    /// Inputs as JSON text, or empty.
    pub inputs: Box<str>,
    /// Whether the inputs may contain references.
    pub refers: bool,
    pub inputs_schema: Option<Arc<Schema>>,
    pub outputs_schema: Option<Arc<Schema>>,
    pub extras: Option<Box<Extras>>,
}

/// Keys that few steps have.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extras {
    /// The timeout of an attempt.
    pub timeout_s: Option<u64>,
    /// What must hold before the step is done, `kind:assertion`.
    pub commitments: Vec<String>,
    /// Whether it changes files in the workspace; none: the worker decides.
    pub writes: Option<bool>,
    /// Whether repeating it after a crash is harmless; none: the worker decides.
    pub repeatable: Option<bool>,
    /// Whether it works in a git worktree of its own.
    pub worktree: bool,
    /// Artifacts of other steps that it removes.
    pub removes: Vec<String>,
    /// Its own strategies in order; empty: the default ladder.
    pub ladder: Vec<Strategy>,
    pub max_attempts: Option<u32>,
}

impl Step {
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

    /// The name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// The inputs with unresolved references.
    #[must_use]
    pub fn inputs(&self) -> Map<String, Value> {
        serde_json::from_str(&self.inputs).unwrap_or_default()
    }

    /// The step as JSON: the keys of every step, and the extra ones that it has.
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
