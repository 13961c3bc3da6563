//! Builds workflows in tests, with the same checks as for a file.

use super::assemble::{Sketch, WorkflowSketch, assemble};
use super::{SpecError, Workflow};
use crate::retry::Strategy;
use serde_json::Value;

/// Builds a workflow.
#[derive(Debug)]
pub(crate) struct WorkflowBuilder {
    written: WorkflowSketch,
}

impl WorkflowBuilder {
    pub(super) fn new(workflow_id: String) -> Self {
        WorkflowBuilder { written: WorkflowSketch { workflow_id, ..WorkflowSketch::default() } }
    }

    pub(crate) fn goal(mut self, goal: impl Into<String>) -> Self {
        self.written.goal = goal.into();
        self
    }

    pub(crate) fn step(mut self, step: StepBuilder) -> Self {
        self.written.steps.push(step.sketch);
        self
    }

    pub(crate) fn steps(mut self, steps: impl IntoIterator<Item = StepBuilder>) -> Self {
        self.written.steps.extend(steps.into_iter().map(|step| step.sketch));
        self
    }

    /// Checks and assembles the workflow.
    ///
    /// # Errors
    /// All problems, by step.
    pub(crate) fn build(self) -> Result<Workflow, SpecError> {
        let mut problems = Vec::new();
        let name = self.written.workflow_id.clone();
        if self.written.steps.is_empty() {
            problems.push(super::Problem::new(None, None, "it has no steps"));
        }
        match assemble(self.written, &mut problems) {
            Some(workflow) if problems.is_empty() => Ok(workflow),
            _ => Err(SpecError::new(&name, problems)),
        }
    }
}

/// Builds a step.
#[derive(Debug, Clone)]
pub(crate) struct StepBuilder {
    sketch: Sketch,
}

impl StepBuilder {
    pub(crate) fn new(id: impl Into<String>, worker: impl Into<String>) -> Self {
        StepBuilder { sketch: Sketch { worker: worker.into(), ..Sketch::new(id.into()) } }
    }

    pub(crate) fn description(mut self, text: impl Into<String>) -> Self {
        self.sketch.description = text.into();
        self
    }

    /// Adds a dependency.
    pub(crate) fn after(mut self, step: impl Into<String>) -> Self {
        self.sketch.depends_on.push(step.into());
        self
    }

    /// Adds an input; `{"from": "step.outputs.key"}` refers to an output.
    pub(crate) fn input(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.sketch.inputs.insert(key.into(), value.into());
        self
    }

    /// The JSON Schema of the outputs.
    pub(crate) fn outputs_schema(mut self, schema: Value) -> Self {
        self.sketch.outputs_schema = schema;
        self
    }

    /// The timeout of an attempt.
    pub(crate) fn timeout_s(mut self, seconds: u64) -> Self {
        self.sketch.extras.timeout_s = Some(seconds);
        self
    }

    /// Whether repeating it is harmless.
    pub(crate) fn repeatable(mut self, repeatable: bool) -> Self {
        self.sketch.extras.repeatable = Some(repeatable);
        self
    }

    /// It works in a git worktree of its own.
    pub(crate) fn worktree(mut self) -> Self {
        self.sketch.extras.worktree = true;
        self
    }

    /// Adds a strategy to its ladder.
    pub(crate) fn rung(mut self, strategy: Strategy) -> Self {
        self.sketch.extras.ladder.push(strategy);
        self
    }

    pub(crate) fn max_attempts(mut self, attempts: u32) -> Self {
        self.sketch.extras.max_attempts = Some(attempts);
        self
    }
}
