//! Specification of workflows: steps, their dependencies, inputs and outputs.
//!
//! A workflow is written in JSON or YAML ([`read`]) and checked as a whole ([`assemble`]): the result has no unknown step, no
//! cycle and no dangling reference. All problems are reported together,
//! each with its step and, for a file, its line.
//!
//! Steps are kept small: workers and schemas are shared, and inputs stay JSON text until the step begins.

mod assemble;
#[cfg(test)]
mod builder;
mod poll;
mod problem;
mod read;
mod schema;
mod step;

#[cfg(test)]
pub(crate) use builder::{StepBuilder, WorkflowBuilder};
pub use poll::{Pause, Poll};
pub use problem::{Place, Problem, SpecError};
pub use read::{MAX_SPEC_BYTES, from_file, from_text};
pub use schema::Schema;
use step::StepDocument;
pub use step::{Extras, Step};

pub(crate) use assemble::{Reference, restore};
pub(crate) use read::sketch_of;

use serde::Serialize;
use serde_json::{Map, Value};

pub const MAX_STEPS: usize = 1_000_000;
/// Dependencies of all steps together.
pub const MAX_EDGES: usize = 8_000_000;
pub const MAX_ID_BYTES: usize = 128;
/// The metadata key of what must hold at the end of a workflow.
pub(crate) const COMMITMENTS: &str = "commitments";

/// Whether something must hold at the end of a workflow; then no step may end it early.
pub(crate) fn has_commitments(metadata: &Map<String, Value>) -> bool {
    metadata.get(COMMITMENTS).and_then(Value::as_array).is_some_and(|all| !all.is_empty())
}

/// A checked workflow.
#[derive(Debug, Clone)]
pub struct Workflow {
    pub workflow_id: String,
    pub goal: String,
    /// Free data of its author.
    pub metadata: Map<String, Value>,
    /// The steps, in the order of the file.
    pub steps: Vec<Step>,
}

/// A workflow without its steps.
#[derive(Debug, Serialize)]
pub(crate) struct WorkflowHead<'a> {
    workflow_id: &'a str,
    goal: &'a str,
    metadata: &'a Map<String, Value>,
}

/// A workflow file with every key.
#[derive(Serialize)]
struct WorkflowDocument<'a> {
    #[serde(flatten)]
    head: WorkflowHead<'a>,
    steps: Vec<StepDocument<'a>>,
}

impl Workflow {
    #[cfg(test)]
    pub(crate) fn builder(workflow_id: impl Into<String>) -> WorkflowBuilder {
        WorkflowBuilder::new(workflow_id.into())
    }

    /// The index of a step.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<usize> {
        self.steps.iter().position(|step| &*step.id == id)
    }

    /// The workflow without its steps, with other metadata.
    pub(crate) fn head<'a>(&'a self, metadata: &'a Map<String, Value>) -> WorkflowHead<'a> {
        WorkflowHead { workflow_id: &self.workflow_id, goal: &self.goal, metadata }
    }

    /// The workflow as JSON, with every key.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let steps = self.steps.iter().map(|step| step.entry(self)).collect();
        let document = WorkflowDocument { head: self.head(&self.metadata), steps };
        serde_json::to_value(document).unwrap_or_default()
    }

    /// A workflow file with one step of this workflow, for a process that makes an attempt at it. Its inputs and dependencies are
    /// left out: the order of the attempt has the resolved inputs.
    #[must_use]
    pub fn single_step(&self, step: &Step) -> Value {
        let alone =
            Step { depends_on: Box::default(), inputs: Box::default(), refers: false, ..step.clone() };
        let document = WorkflowDocument { head: self.head(&self.metadata), steps: vec![alone.entry(self)] };
        serde_json::to_value(document).unwrap_or_default()
    }

    /// For each step, the length of the longest chain of dependencies before it.
    #[must_use]
    pub fn depths(&self) -> Vec<u32> {
        let mut depths = vec![0_u32; self.steps.len()];
        for step in self.order() {
            let deps = self.steps.get(step as usize).map(|step| &*step.depends_on).unwrap_or_default();
            let deepest = deps.iter().filter_map(|dep| depths.get(*dep as usize)).max();
            let depth = deepest.map_or(0, |deepest| deepest + 1);
            if let Some(slot) = depths.get_mut(step as usize) {
                *slot = depth;
            }
        }
        depths
    }

    /// The steps in topological order; among equals, in the order of the file.
    #[must_use]
    pub fn order(&self) -> Vec<u32> {
        let followers = Followers::from_steps(&self.steps);
        let mut missing: Vec<u32> =
            self.steps.iter().map(|step| u32::try_from(step.depends_on.len()).unwrap_or(u32::MAX)).collect();
        let mut ready: std::collections::BTreeSet<u32> =
            (0_u32..).zip(&missing).filter(|(_, missing)| **missing == 0).map(|(step, _)| step).collect();
        let mut order = Vec::with_capacity(self.steps.len());
        while let Some(step) = ready.pop_first() {
            order.push(step);
            for follower in followers.after(step) {
                if let Some(missing) = missing.get_mut(*follower as usize) {
                    *missing -= 1;
                    if *missing == 0 {
                        ready.insert(*follower);
                    }
                }
            }
        }
        order
    }
}

/// The dependents of every step, in two flat lists.
#[derive(Debug, Clone, Default)]
pub struct Followers {
    starts: Vec<u32>,
    steps: Vec<u32>,
}

impl Followers {
    #[must_use]
    pub fn from_steps(steps: &[Step]) -> Self {
        let mut starts = vec![0_u32; steps.len() + 1];
        for dep in steps.iter().flat_map(|step| step.depends_on.iter()) {
            if let Some(count) = starts.get_mut(*dep as usize + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut all = vec![0_u32; sum as usize];
        for (step, deps) in (0_u32..).zip(steps.iter().map(|step| &step.depends_on)) {
            for dep in deps {
                if let Some(at) = next.get_mut(*dep as usize) {
                    if let Some(slot) = all.get_mut(*at as usize) {
                        *slot = step;
                    }
                    *at += 1;
                }
            }
        }
        Followers { starts, steps: all }
    }

    /// The dependents of a step, in the order of the file.
    #[must_use]
    pub fn after(&self, step: u32) -> &[u32] {
        let from = self.starts.get(step as usize).copied().unwrap_or(0) as usize;
        let to = self.starts.get(step as usize + 1).copied().unwrap_or(0) as usize;
        self.steps.get(from..to).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
