//! Steps of a checked workflow.

use super::{Poll, Schema, Workflow};
use crate::retry::Strategy;
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
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
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Extras {
    /// The timeout of an attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// What must hold before the step is done, `kind:assertion`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commitments: Vec<String>,
    /// Whether it changes files in the workspace; none: the worker decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<bool>,
    /// Whether repeating it after a crash is harmless; none: the worker decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeatable: Option<bool>,
    /// Whether it works in a git worktree of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub worktree: bool,
    /// Artifacts of other steps that it removes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removes: Vec<String>,
    /// Its own strategies in order; empty: the default ladder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ladder: Vec<Strategy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Whether its command is polled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<Poll>,
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
            poll: None,
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
        serde_json::to_value(self.entry(workflow)).unwrap_or_default()
    }

    pub(super) fn entry<'a>(&'a self, workflow: &'a Workflow) -> StepDocument<'a> {
        let id = |dep: &u32| workflow.steps.get(*dep as usize).map(|step| &*step.id);
        let schema = |schema: &'a Option<Arc<Schema>>| match schema {
            Some(schema) => Cow::Borrowed(&schema.value),
            None => Cow::Owned(Map::new().into()),
        };
        StepDocument {
            id: &self.id,
            name: self.name(),
            description: &self.description,
            worker: &self.worker,
            depends_on: self.depends_on.iter().filter_map(id).collect(),
            inputs_schema: schema(&self.inputs_schema),
            outputs_schema: schema(&self.outputs_schema),
            inputs: self.inputs(),
            extras: self.extra(),
        }
    }
}

/// A step of a workflow file with every key.
#[derive(Debug, Serialize)]
pub(super) struct StepDocument<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    worker: &'a str,
    depends_on: Vec<&'a str>,
    inputs_schema: Cow<'a, Value>,
    outputs_schema: Cow<'a, Value>,
    inputs: Map<String, Value>,
    #[serde(flatten)]
    extras: &'a Extras,
}
