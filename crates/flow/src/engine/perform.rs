//! Effects of the machine: transitions, events, files, lessons and jobs.

use super::dispatch::{Dispatcher, MAX_STEPS_PER_EVENT, event, step_id};
use super::execute::{AttemptResult, Job};
use super::{EngineError, files, people};
use crate::machine::{AttemptEnd, Change, Effect, Input, LessonResult, Payload};
use crate::record::{Data, StepStatus};
use crate::retry::{Attempt, Strategy, Task};
use crate::spec::Step;
use crate::worker::{Order, Report, Status, Worker};
use marvin_base::trace_event::TraceEvent;
use marvin_base::truncate;
use serde_json::{Map, Value};

impl Dispatcher {
    /// Carries out an effect; a question has an answer.
    pub(super) fn perform(&mut self, effect: Effect) -> Result<Option<Input>, EngineError> {
        match effect {
            Effect::Record(change) => self.record_change(*change).map(|()| None),
            Effect::Echo { step } => self.record_echo(step).map(|()| None),
            Effect::Skip { by, reason, steps } => self.record_skip(by, &reason, &steps).map(|()| None),
            Effect::Resolve { step } => {
                let problem = self.resolve_echo(step)?;
                Ok(Some(Input::Resolved { step, problem }))
            }
            Effect::Ask { step } => {
                let preparation = self.prepare_question(step)?;
                Ok(Some(Input::Prepared { step, preparation }))
            }
            Effect::Prepare { step, ticket } => {
                let preparation = self.prepare(step, *ticket)?;
                Ok(Some(Input::Prepared { step, preparation }))
            }
            Effect::Recall { step, ticket, call_id } => {
                let recollection = self.recall(step, *ticket, call_id)?;
                Ok(Some(Input::Recalled { step, recollection }))
            }
            Effect::Start { step, call_id } => self.start(step, call_id).map(|()| None),
            Effect::Merge { step } => {
                self.launches.extend(self.results.remove(&step).map(|done| Job::Merge(step, done)));
                Ok(None)
            }
            Effect::Teach { step, lesson } => {
                let lesson = match self.teacher.keep(&lesson) {
                    Ok(id) => LessonResult::Written { id },
                    Err(error) => LessonResult::Failed { error: error.to_string() },
                };
                Ok(Some(Input::Taught { step, lesson }))
            }
        }
    }

    /// Writes a transition with the values that belong to it; its event follows after the commit.
    fn record_change(&mut self, change: Change) -> Result<(), EngineError> {
        let Change { step, status, mut data, payload } = change;
        match payload {
            Payload::Nothing => {}
            Payload::Inputs => {
                data.inputs = self.prepared.as_ref().map(|prepared| prepared.order.inputs.clone());
            }
            Payload::Question => {
                let inputs = self.resolved.take().unwrap_or_default();
                data.error = Some(people::question(self.step(step)?, &inputs));
                data.inputs = Some(inputs);
            }
            Payload::Echo => {
                data.outputs = Some(self.resolved.take().unwrap_or_default());
                return self.record_echo_data(step, &data.to_text());
            }
            Payload::Report => self.attach_report(step, status, &mut data)?,
            Payload::Previous => {
                let before = self.last_transition(step)?;
                data.inputs = before.inputs;
                if status == StepStatus::Blocked {
                    data.error = before.error;
                }
            }
        }
        let seq = self.record.write(step, status, &data.to_text())?;
        self.note(step, seq);
        self.pending_events.push(event(&self.workflow, step, status, seq, &data));
        Ok(())
    }

    fn note(&mut self, step: u32, seq: i64) {
        if let Some(slot) = self.seq.get_mut(step as usize) {
            *slot = seq;
        }
    }

    /// Adds the outputs and artifacts of the attempt that ended. Files are written before the transition that names them.
    fn attach_report(&mut self, step: u32, status: StepStatus, data: &mut Data) -> Result<(), EngineError> {
        let Some(done) = self.results.remove(&step) else { return Ok(()) };
        let AttemptResult { order, report, artifacts, .. } = *done;
        if matches!(status, StepStatus::Succeeded | StepStatus::Partial) || !artifacts.is_empty() {
            files::write_step(self.directory.artifacts(), &order.step_id, &report.outputs, &artifacts)?;
        }
        if !artifacts.is_empty() {
            self.record.write_artifacts(step, order.attempt, &artifacts)?;
        }
        data.outputs = Some(report.outputs);
        data.artifacts = artifacts;
        Ok(())
    }

    /// Completes a step whose outputs are its inputs as they are written.
    fn record_echo(&mut self, step: u32) -> Result<(), EngineError> {
        let one = self.step(step)?;
        let mut data = String::with_capacity(one.inputs.len() + 14);
        data.push_str("{\"outputs\":");
        data.push_str(if one.inputs.is_empty() { "{}" } else { &one.inputs });
        data.push('}');
        self.record_echo_data(step, &data)
    }

    fn record_echo_data(&mut self, step: u32, data: &str) -> Result<(), EngineError> {
        let seq = self.record.write(step, StepStatus::Succeeded, data)?;
        self.note(step, seq);
        self.completed_echoes.push(step);
        Ok(())
    }

    fn record_skip(&mut self, by: u32, reason: &str, steps: &[u32]) -> Result<(), EngineError> {
        let data = skip_data(reason).to_text();
        for step in steps {
            let seq = self.record.write(*step, StepStatus::Skipped, &data)?;
            self.note(*step, seq);
        }
        let shown = steps.iter().take(MAX_STEPS_PER_EVENT);
        self.pending_events.push(TraceEvent::WorkflowTerminated {
            triggered_by: step_id(&self.workflow, by).to_string(),
            reason: reason.to_string(),
            count: steps.len(),
            steps: shown.map(|step| step_id(&self.workflow, *step).to_string()).collect(),
        });
        Ok(())
    }

    /// The end of an attempt, without the values that the machine does not need.
    pub(super) fn attempt_end(&self, step: u32, done: &AttemptResult) -> Result<AttemptEnd, EngineError> {
        let one = self.step(step)?;
        let retryable = match self.workers.get(&done.order.worker) {
            Some(worker) => is_retryable(one, &done.order, worker.as_ref()),
            None => true,
        };
        Ok(done.end(one, retryable))
    }
}

/// The data of a step that is skipped.
pub(crate) fn skip_data(reason: &str) -> Data {
    let summary = format!("skipped: {reason}");
    let outputs = Map::from_iter([("summary".to_string(), summary.into())]);
    Data { outputs: Some(outputs), ..Data::default() }
}

/// May a failed attempt be repeated at all? Deterministic steps with effects only if their author allows it.
pub(crate) fn is_retryable(step: &Step, order: &Order, worker: &dyn Worker) -> bool {
    let extra = step.extra();
    let harmless = extra.repeatable.unwrap_or_else(|| worker.repeatable(order));
    !worker.gives_facts() || harmless || !extra.ladder.is_empty()
}

impl AttemptResult {
    /// The end of the attempt for the machine.
    pub(crate) fn end(&self, step: &Step, retryable: bool) -> AttemptEnd {
        let AttemptResult { order, report, progress, stopped, .. } = self;
        let task = Task {
            run_id: &order.run_id,
            goal: &order.goal,
            step_id: &order.step_id,
            worker: &step.worker,
            inputs: &order.inputs,
            ladder: &step.extra().ladder,
        };
        let strategy = Strategy::new(&order.worker, &order.strategy_id, order.retrieval_stage);
        let attempt = Attempt {
            attempt_id: order.attempt,
            status: report.status,
            call_signature: task.signature(&strategy),
            worker_type: order.worker.clone(),
            strategy_id: order.strategy_id.clone(),
            retrieval_stage: order.retrieval_stage,
            summary: report.summary.clone(),
            failure_signature: report.failure_signature.clone(),
            progress: progress.clone(),
            artifacts: report.artifacts.clone(),
        };
        let failed = matches!(report.status, Status::Failure | Status::Partial);
        let next = failed.then(|| task.candidate(order.attempt as usize + 1)).flatten();
        AttemptEnd {
            stopped: *stopped,
            next_signature: next.map(|next| next.signature),
            component: if failed { task.component() } else { String::new() },
            retryable: failed && retryable,
            terminates: termination(report, &attempt),
            attempt,
        }
    }
}

/// The reason why a successful step ends the whole workflow; none while tests fail.
fn termination(report: &Report, attempt: &Attempt) -> Option<String> {
    if report.status != Status::Success {
        return None;
    }
    let metrics = &report.metrics;
    let control = metrics.get("workflow_control").and_then(Value::as_object);
    let flag = |key: &str| metrics.get(key).or_else(|| control.and_then(|control| control.get(key)));
    if flag("terminate_workflow") != Some(&Value::Bool(true)) {
        return None;
    }
    if attempt.progress.failing_tests.is_some_and(|failing| failing > 0) {
        return None;
    }
    let reason = flag("terminate_reason").and_then(Value::as_str).unwrap_or("the goal is met");
    Some(truncate::line(reason, 300))
}
