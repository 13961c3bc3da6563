//! The transitions of a run, computed from the server's history.
//!
//! The workflow code takes everything that happened between two of its tasks as one batch. A task that was completed ends with
//! its start, so events are collected until the task that follows them is known to be completed; a task that failed or timed out
//! is as if it had not been.

use crate::FleetError;
use crate::codec::BlobCodec;
use crate::driver::{RunDriver, RunEvent};
use crate::task::{RunInput, RunSignal, TaskEnd, TaskId, TaskKind, WaveReport};
use crate::wave_plan;
use marvin_flow::record::NewTransition;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use temporalio_common::protos::temporal::api::common::v1::Payloads;
use temporalio_common::protos::temporal::api::history::v1::HistoryEvent;
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

/// How an execution of the workflow code ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closing {
    /// The run is over.
    Completed,
    /// Another execution continues, with this id.
    Continued(String),
    /// The workflow code refused the run.
    Failed(String),
    /// It was closed on the server, not by Marvin: `cancelled`, `terminated` or `timed out`.
    Outside(&'static str),
}

/// A run as its history says.
#[derive(Debug)]
pub struct HistoryFold {
    codec: BlobCodec,
    driver: Option<RunDriver>,
    /// Transitions of the whole run.
    transitions: Vec<NewTransition>,
    /// Changes that its workspace had when the run began.
    first_changes: Option<usize>,
    execution: Execution,
}

/// The state of the fold within one execution of the workflow code.
#[derive(Debug, Default)]
struct Execution {
    /// The last event that was taken.
    last_event: i64,
    /// Tasks by the event that scheduled them.
    tasks: BTreeMap<i64, TaskId>,
    /// Waves by the event that began them.
    waves: BTreeMap<i64, u32>,
    /// Events that no completed task of the workflow code has taken.
    batch: Vec<RunEvent>,
    /// The task of the workflow code that was started last: how much of the batch it has, and whether it was to drain.
    started: Option<(usize, bool)>,
    has_run: bool,
    closing: Option<Closing>,
}

impl HistoryFold {
    #[must_use]
    pub fn new(codec: BlobCodec) -> Self {
        HistoryFold {
            codec,
            driver: None,
            transitions: Vec::new(),
            first_changes: None,
            execution: Execution::default(),
        }
    }

    /// The run, once its first task is completed.
    #[must_use]
    pub fn driver(&self) -> Option<&RunDriver> {
        self.driver.as_ref()
    }

    /// All transitions so far, in order.
    #[must_use]
    pub fn transitions(&self) -> &[NewTransition] {
        &self.transitions
    }

    /// The number of changes that the workspace had when the run began.
    #[must_use]
    pub fn first_changes(&self) -> usize {
        self.first_changes.unwrap_or(0)
    }

    /// How the current execution ended, if it did.
    #[must_use]
    pub fn closing(&self) -> Option<&Closing> {
        self.execution.closing.as_ref()
    }

    /// Whether nothing follows from this history without a person.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let execution = &self.execution;
        execution.has_run
            && execution.batch.is_empty()
            && self.driver.as_ref().is_some_and(RunDriver::is_idle)
    }

    /// The last event of the current execution that was taken.
    #[must_use]
    pub fn last_event(&self) -> i64 {
        self.execution.last_event
    }

    /// Begins with the next execution of the workflow code.
    pub fn next_execution(&mut self) {
        self.execution = Execution::default();
    }

    /// Takes an event; one that was taken before has no effect.
    ///
    /// # Errors
    /// When a payload cannot be read.
    pub async fn take(&mut self, event: HistoryEvent) -> Result<(), FleetError> {
        if event.event_id <= self.execution.last_event {
            return Ok(());
        }
        self.execution.last_event = event.event_id;
        let Some(attributes) = event.attributes else { return Ok(()) };
        if let Some((id, result)) = self.ended_task(&attributes) {
            let end = self.task_end(id, result).await?;
            self.execution.batch.push(RunEvent::Ended(id, end));
            return Ok(());
        }
        if let Some((number, result)) = self.closed_wave(&attributes) {
            self.take_reports(result).await?;
            self.execution.batch.push(RunEvent::WaveClosed(number));
            return Ok(());
        }
        match attributes {
            Attributes::WorkflowExecutionStartedEventAttributes(started) => {
                let (input, workflow) = halves(started.input);
                let input: RunInput = self.decode(input).await?.ok_or_else(no_input)?;
                let workflow: Box<RawValue> = self.decode(workflow).await?.ok_or_else(no_input)?;
                let changes = input.workspace.as_ref().map_or(0, |workspace| workspace.changes.len());
                self.first_changes.get_or_insert(changes);
                let opened = RunDriver::open(input, &workflow);
                self.driver = Some(opened.map_err(|error| FleetError::History(error.to_string()))?);
            }
            Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(initiated) => {
                let number = wave_plan::number(&initiated.workflow_id);
                self.execution.waves.extend(number.map(|number| (event.event_id, number)));
            }
            Attributes::WorkflowExecutionSignaledEventAttributes(signaled)
                if signaled.signal_name == wave_plan::REPORT_SIGNAL =>
            {
                self.take_reports(signaled.input).await?;
            }
            Attributes::WorkflowExecutionSignaledEventAttributes(signaled) => {
                // Others may signal anything; the workflow code fails on it too.
                if let Some(signal) = self.decode::<RunSignal>(signaled.input).await? {
                    self.execution.batch.push(RunEvent::Signal(signal));
                }
            }
            Attributes::ActivityTaskScheduledEventAttributes(scheduled) => {
                if let Ok(id) = scheduled.activity_id.parse() {
                    self.execution.tasks.insert(event.event_id, id);
                }
            }
            Attributes::WorkflowTaskStartedEventAttributes(started) => {
                let taken = self.execution.batch.len();
                self.execution.started = Some((taken, started.suggest_continue_as_new));
            }
            Attributes::WorkflowTaskFailedEventAttributes(_)
            | Attributes::WorkflowTaskTimedOutEventAttributes(_) => self.execution.started = None,
            Attributes::WorkflowTaskCompletedEventAttributes(_) => self.complete_task(),
            other => self.execution.closing = closing(other).or(self.execution.closing.take()),
        }
        Ok(())
    }

    /// Gives the driver what a completed task of the workflow code took.
    fn complete_task(&mut self) {
        let (Some((taken, drain)), Some(driver)) = (self.execution.started.take(), &mut self.driver) else {
            return;
        };
        let rest = self.execution.batch.split_off(taken.min(self.execution.batch.len()));
        let batch = std::mem::replace(&mut self.execution.batch, rest);
        if batch.is_empty() && self.execution.has_run {
            return;
        }
        self.execution.has_run = true;
        // Commands are those of the workflow code, whose history this is.
        driver.on(batch, drain);
        self.transitions.extend(driver.take_transitions());
    }

    /// The task that an event ends, with its result if it has one.
    fn ended_task(&self, attributes: &Attributes) -> Option<(TaskId, Option<Payloads>)> {
        let (scheduled, result) = match attributes {
            Attributes::ActivityTaskCompletedEventAttributes(ended) => {
                (ended.scheduled_event_id, Some(ended.result.clone().unwrap_or_default()))
            }
            Attributes::ActivityTaskFailedEventAttributes(ended) => (ended.scheduled_event_id, None),
            Attributes::ActivityTaskTimedOutEventAttributes(ended) => (ended.scheduled_event_id, None),
            Attributes::ActivityTaskCanceledEventAttributes(ended) => (ended.scheduled_event_id, None),
            _ => return None,
        };
        Some((*self.execution.tasks.get(&scheduled)?, result))
    }

    /// The wave that an event closes, with its result if it has one.
    fn closed_wave(&self, attributes: &Attributes) -> Option<(u32, Option<Payloads>)> {
        let (initiated, result) = match attributes {
            Attributes::ChildWorkflowExecutionCompletedEventAttributes(closed) => {
                (closed.initiated_event_id, closed.result.clone())
            }
            Attributes::ChildWorkflowExecutionFailedEventAttributes(closed) => {
                (closed.initiated_event_id, None)
            }
            Attributes::ChildWorkflowExecutionCanceledEventAttributes(closed) => {
                (closed.initiated_event_id, None)
            }
            Attributes::ChildWorkflowExecutionTimedOutEventAttributes(closed) => {
                (closed.initiated_event_id, None)
            }
            Attributes::ChildWorkflowExecutionTerminatedEventAttributes(closed) => {
                (closed.initiated_event_id, None)
            }
            Attributes::StartChildWorkflowExecutionFailedEventAttributes(closed) => {
                (closed.initiated_event_id, None)
            }
            _ => return None,
        };
        Some((*self.execution.waves.get(&initiated)?, result))
    }

    /// Takes what a wave reports. The workflow code takes a report that it cannot read for none.
    async fn take_reports(&mut self, reports: Option<Payloads>) -> Result<(), FleetError> {
        let reports: Option<Vec<WaveReport>> = self.decode(reports).await?;
        let ends = reports.unwrap_or_default().into_iter().map(WaveReport::end);
        self.execution.batch.extend(ends.map(|(id, end)| RunEvent::Ended(id, end)));
        Ok(())
    }

    async fn task_end(&self, id: TaskId, result: Option<Payloads>) -> Result<TaskEnd, FleetError> {
        if result.is_none() {
            return Ok(TaskEnd::Failed);
        }
        let end = match id.kind {
            TaskKind::Attempt | TaskKind::Merge => {
                self.decode(result).await?.map(|done| TaskEnd::Done(Box::new(done)))
            }
            TaskKind::Recall => self.decode(result).await?.map(TaskEnd::Recalled),
            TaskKind::Teach => self.decode(result).await?.map(TaskEnd::Taught),
        };
        // The workflow code takes a result that it cannot read for a failure.
        Ok(end.unwrap_or(TaskEnd::Failed))
    }

    /// The first payload as a value; none if it is not one.
    async fn decode<T: DeserializeOwned>(&self, payloads: Option<Payloads>) -> Result<Option<T>, FleetError> {
        let first = payloads.and_then(|payloads| payloads.payloads.into_iter().next());
        let Some(payload) = first else { return Ok(None) };
        let payload =
            self.codec.decode_one(payload).await.map_err(|error| FleetError::History(error.to_string()))?;
        // The SDK writes nothing for a value that is none.
        let data = if payload.data.is_empty() { b"null".as_slice() } else { &payload.data };
        Ok(serde_json::from_slice(data).ok())
    }
}

/// The first and the second payload.
fn halves(payloads: Option<Payloads>) -> (Option<Payloads>, Option<Payloads>) {
    let mut payloads = payloads.unwrap_or_default();
    let rest = payloads.payloads.split_off(payloads.payloads.len().min(1));
    (Some(payloads), Some(Payloads { payloads: rest }))
}

fn no_input() -> FleetError {
    FleetError::History("it does not begin with a run of Marvin".into())
}

fn closing(attributes: Attributes) -> Option<Closing> {
    match attributes {
        Attributes::WorkflowExecutionCompletedEventAttributes(_) => Some(Closing::Completed),
        Attributes::WorkflowExecutionContinuedAsNewEventAttributes(next) => {
            Some(Closing::Continued(next.new_execution_run_id))
        }
        Attributes::WorkflowExecutionFailedEventAttributes(failed) => {
            Some(Closing::Failed(failed.failure.map(|failure| failure.message).unwrap_or_default()))
        }
        Attributes::WorkflowExecutionTimedOutEventAttributes(_) => Some(Closing::Outside("timed out")),
        Attributes::WorkflowExecutionCanceledEventAttributes(_) => Some(Closing::Outside("cancelled")),
        Attributes::WorkflowExecutionTerminatedEventAttributes(_) => Some(Closing::Outside("terminated")),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
