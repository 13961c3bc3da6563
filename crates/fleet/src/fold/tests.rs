//! Histories as a server writes them, folded: the transitions are those of the workflow code.

use super::*;
use crate::driver::RunCommand;
use crate::task::{AttemptDone, AttemptTask, Task, WaveInput};
use marvin_base::environment::Environment;
use marvin_flow::machine::{AttemptEnd, VERSION};
use marvin_flow::record::StepStatus;
use marvin_flow::remote::AttemptReply;
use marvin_flow::retry::{Attempt, Progress};
use marvin_flow::worker::Status;
use marvin_store::Store;
use serde::Serialize;
use serde_json::json;
use temporalio_common::protos::temporal::api::common::v1::Payload;
use temporalio_common::protos::temporal::api::history::v1::{
    ActivityTaskCompletedEventAttributes, ActivityTaskScheduledEventAttributes,
    ActivityTaskTimedOutEventAttributes, ChildWorkflowExecutionCompletedEventAttributes,
    ChildWorkflowExecutionTerminatedEventAttributes, StartChildWorkflowExecutionInitiatedEventAttributes,
    WorkflowExecutionSignaledEventAttributes, WorkflowExecutionStartedEventAttributes,
    WorkflowTaskCompletedEventAttributes, WorkflowTaskFailedEventAttributes,
    WorkflowTaskStartedEventAttributes,
};

/// A server with one run and its workflow code.
struct Server {
    driver: RunDriver,
    history: Vec<HistoryEvent>,
    /// What happened since the last task of the workflow code.
    inbox: Vec<RunEvent>,
    scheduled: BTreeMap<TaskId, i64>,
    open: Vec<(TaskId, Task)>,
    waves: Vec<(u32, WaveInput)>,
    transitions: Vec<NewTransition>,
}

fn payloads(value: &impl Serialize) -> Option<Payloads> {
    let data = serde_json::to_vec(value).unwrap();
    let metadata = [("encoding".to_string(), b"json/plain".to_vec())].into_iter().collect();
    Some(Payloads { payloads: vec![Payload { data, metadata, ..Payload::default() }] })
}

impl Server {
    fn start(steps: serde_json::Value) -> Self {
        Server::start_with_slots(4, steps)
    }

    fn start_with_slots(slots: usize, steps: serde_json::Value) -> Self {
        let workflow = json!({"workflow_id": "w", "goal": "g", "steps": steps});
        let input = RunInput {
            version: VERSION,
            run_id: "run_20260101_000000_abcd".into(),
            slots,
            heartbeat_s: 2,
            roles: Vec::new(),
            limit: None,
            workspace: None,
            search_attributes: false,
            state: None,
        };
        let workflow = serde_json::value::to_raw_value(&workflow).unwrap();
        let driver = RunDriver::open(input.clone(), &workflow).unwrap();
        let (inbox, transitions) = (Vec::new(), Vec::new());
        let mut server = Server {
            driver,
            history: Vec::new(),
            inbox,
            scheduled: BTreeMap::new(),
            open: Vec::new(),
            waves: Vec::new(),
            transitions,
        };
        let started = WorkflowExecutionStartedEventAttributes {
            input: payloads(&input).map(|mut first| {
                first.payloads.extend(payloads(&workflow).unwrap().payloads);
                first
            }),
            ..Default::default()
        };
        server.write(Attributes::WorkflowExecutionStartedEventAttributes(started));
        server
    }

    fn write(&mut self, attributes: Attributes) -> i64 {
        let event_id = i64::try_from(self.history.len()).unwrap() + 1;
        self.history.push(HistoryEvent { event_id, attributes: Some(attributes), ..Default::default() });
        event_id
    }

    fn begin_task(&mut self) {
        let started = WorkflowTaskStartedEventAttributes::default();
        self.write(Attributes::WorkflowTaskStartedEventAttributes(started));
    }

    /// A worker takes a task of the workflow code, and dies.
    fn fail_task(&mut self) {
        self.begin_task();
        self.write(Attributes::WorkflowTaskFailedEventAttributes(
            WorkflowTaskFailedEventAttributes::default(),
        ));
    }

    /// A worker completes a task of the workflow code.
    fn complete_task(&mut self) {
        self.begin_task();
        let completed = WorkflowTaskCompletedEventAttributes::default();
        self.write(Attributes::WorkflowTaskCompletedEventAttributes(completed));
        let commands = self.driver.on(std::mem::take(&mut self.inbox), false);
        self.transitions.extend(self.driver.take_transitions());
        for command in commands {
            match command {
                RunCommand::Start(id, task) => {
                    let scheduled = ActivityTaskScheduledEventAttributes {
                        activity_id: id.to_string(),
                        ..Default::default()
                    };
                    let event = self.write(Attributes::ActivityTaskScheduledEventAttributes(scheduled));
                    self.scheduled.insert(id, event);
                    self.open.push((id, task));
                }
                RunCommand::StartWave(number, input) => {
                    let initiated = StartChildWorkflowExecutionInitiatedEventAttributes {
                        workflow_id: wave_plan::id("marvin/p/run_1", number),
                        ..Default::default()
                    };
                    self.write(Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(initiated));
                    self.waves.push((number, *input));
                }
                RunCommand::CancelAttempts => {}
            }
        }
    }

    fn take(&mut self, step: u32) -> (TaskId, Task) {
        let at = self.open.iter().position(|(id, _)| id.step == step).unwrap();
        self.open.remove(at)
    }

    fn succeed(&mut self, step: u32) {
        let (id, Task::Attempt(task)) = self.take(step) else { panic!("step {step} has no attempt") };
        let done = done(&task);
        let completed = ActivityTaskCompletedEventAttributes {
            result: payloads(&done),
            scheduled_event_id: self.scheduled[&id],
            ..Default::default()
        };
        self.write(Attributes::ActivityTaskCompletedEventAttributes(completed));
        self.inbox.push(RunEvent::Ended(id, TaskEnd::Done(Box::new(done))));
    }

    fn lose(&mut self, step: u32) {
        let (id, _) = self.take(step);
        let ended = ActivityTaskTimedOutEventAttributes {
            scheduled_event_id: self.scheduled[&id],
            ..Default::default()
        };
        self.write(Attributes::ActivityTaskTimedOutEventAttributes(ended));
        self.inbox.push(RunEvent::Ended(id, TaskEnd::Failed));
    }

    /// A wave reports that its attempts from one place to another succeeded; the first of them was lost.
    fn report(&mut self, wave: usize, places: std::ops::Range<usize>) -> Vec<WaveReport> {
        let report = |task: &crate::task::WaveTask| WaveReport {
            id: task.id,
            done: (task.id.step != 0).then(|| Box::new(done(&task.task))),
        };
        let reports: Vec<_> = self.waves[wave].1.tasks[places].iter().map(report).collect();
        let ends = reports.iter().cloned().map(WaveReport::end);
        self.inbox.extend(ends.map(|(id, end)| RunEvent::Ended(id, end)));
        reports
    }

    fn signal(&mut self, signal: RunSignal) {
        let signaled =
            WorkflowExecutionSignaledEventAttributes { input: payloads(&signal), ..Default::default() };
        self.write(Attributes::WorkflowExecutionSignaledEventAttributes(signaled));
        self.inbox.push(RunEvent::Signal(signal));
    }

    async fn fold(&self) -> HistoryFold {
        let directory = tempfile::tempdir().unwrap();
        let address = directory.path().to_str().unwrap().parse().unwrap();
        let store = Store::open(address, &Environment::default()).await.unwrap();
        let mut fold = HistoryFold::new(BlobCodec::new(store, &Environment::default()).unwrap());
        for event in &self.history {
            fold.take(event.clone()).await.unwrap();
            // An event that is read twice has no effect.
            fold.take(event.clone()).await.unwrap();
        }
        fold
    }
}

/// The end of an attempt that succeeded.
fn done(task: &AttemptTask) -> AttemptDone {
    let order = &task.request.order;
    let attempt = Attempt {
        attempt_id: order.ticket.attempt,
        status: Status::Success,
        call_signature: "s".into(),
        worker_type: order.ticket.strategy.worker.clone(),
        strategy_id: order.ticket.strategy.strategy_id.clone(),
        retrieval_stage: 1,
        summary: format!("step {}", order.step),
        failure_signature: None,
        progress: Progress::default(),
        artifacts: Vec::new(),
    };
    let end = AttemptEnd {
        attempt,
        stopped: false,
        next_signature: None,
        component: String::new(),
        retryable: false,
        terminates: None,
    };
    let outputs = [("stdout".to_string(), json!(order.step))].into_iter().collect();
    AttemptDone::new(AttemptReply { end, outputs, artifacts: Vec::new(), cost: 0 }, None)
}

fn command(id: &str, after: &[&str]) -> serde_json::Value {
    json!({"id": id, "worker": "Command", "depends_on": after, "writes": false, "inputs": {"command": "true"}})
}

#[tokio::test]
async fn ends_that_arrive_together_are_one_batch_in_the_order_of_steps() {
    let mut server = Server::start(json!([
        command("a", &[]),
        command("b", &[]),
        command("c", &["a"]),
        {"id": "e", "worker": "Echo", "depends_on": ["b"], "inputs": {"x": {"from": "b.outputs.stdout"}}},
    ]));
    server.complete_task();
    // The later step ends first; a worker dies with the task, and another end arrives before it is repeated.
    server.succeed(1);
    server.fail_task();
    server.succeed(0);
    server.complete_task();
    let fold = server.fold().await;
    assert_eq!(fold.transitions(), server.transitions);
    assert_eq!(fold.driver().unwrap().machine().status(3), StepStatus::Succeeded);
    assert!(!fold.is_idle(), "step c runs");
    server.succeed(2);
    assert_eq!(server.fold().await.transitions(), server.transitions, "no task has taken the last end");
    server.complete_task();
    let fold = server.fold().await;
    assert_eq!(fold.transitions(), server.transitions);
    assert!(fold.is_idle());
}

#[tokio::test]
async fn a_lost_attempt_a_stop_and_a_decision_are_folded() {
    let mut server = Server::start(json!([command("a", &[]), command("b", &["a"])]));
    assert!(!server.fold().await.is_idle(), "no task was completed");
    server.complete_task();
    server.lose(0);
    server.complete_task();
    // No worker knows of an end.
    let (id, task) = server.take(0);
    assert!(matches!((id.kind, task), (TaskKind::Recall, Task::Recall(_))));
    let completed = ActivityTaskCompletedEventAttributes {
        result: payloads(&Option::<AttemptDone>::None),
        scheduled_event_id: server.scheduled[&id],
        ..Default::default()
    };
    server.write(Attributes::ActivityTaskCompletedEventAttributes(completed));
    server.inbox.push(RunEvent::Ended(id, TaskEnd::Recalled(None)));
    server.complete_task();
    let fold = server.fold().await;
    assert_eq!(fold.transitions(), server.transitions);
    assert_eq!(fold.driver().unwrap().machine().status(0), StepStatus::Blocked);
    assert!(fold.is_idle());
    let decision = json!({"settle": "done", "outputs": {}});
    server.signal(RunSignal::Decide { step: 0, decision });
    server.signal(RunSignal::Stop);
    assert!(!server.fold().await.is_idle(), "the signals are not taken");
    server.complete_task();
    let fold = server.fold().await;
    assert_eq!(fold.transitions(), server.transitions);
    assert!(fold.is_idle() && fold.driver().unwrap().machine().state().stopping);
    server.signal(RunSignal::Resume { limit: None });
    server.complete_task();
    assert_eq!(server.open.len(), 1, "step b was started");
    assert_eq!(server.fold().await.transitions(), server.transitions);
}

#[tokio::test]
async fn waves_their_reports_and_their_ends_are_folded() {
    let repeatable = |number: usize| {
        json!({"id": format!("s{number}"), "worker": "Command", "writes": false, "repeatable": true,
               "inputs": {"command": "true"}})
    };
    let steps: Vec<_> = (0..700).map(repeatable).collect();
    let mut server = Server::start_with_slots(600, json!(steps));
    server.complete_task();
    let sizes: Vec<_> = server.waves.iter().map(|(number, wave)| (*number, wave.tasks.len())).collect();
    assert_eq!(sizes, [(1, 300), (2, 300)]);
    assert!(server.open.is_empty());
    // A report of the first wave, and the end of the second with all others; the others wait for a wave of their own.
    let reports = server.report(0, 0..50);
    server.write(Attributes::WorkflowExecutionSignaledEventAttributes(
        WorkflowExecutionSignaledEventAttributes {
            signal_name: wave_plan::REPORT_SIGNAL.into(),
            input: payloads(&reports),
            ..Default::default()
        },
    ));
    server.complete_task();
    assert_eq!(server.fold().await.transitions(), server.transitions);
    assert_eq!((server.waves.len(), server.open.len()), (2, 1), "one attempt was lost, and is looked up");
    let reports = server.report(1, 0..300);
    server.write(Attributes::ChildWorkflowExecutionCompletedEventAttributes(
        ChildWorkflowExecutionCompletedEventAttributes {
            initiated_event_id: initiated(&server, 2),
            result: payloads(&reports),
            ..Default::default()
        },
    ));
    server.inbox.push(RunEvent::WaveClosed(2));
    server.complete_task();
    let fold = server.fold().await;
    assert_eq!(fold.transitions(), server.transitions);
    assert_eq!(fold.driver().unwrap().machine().state().finished, 349);
    // The rest of the first wave was terminated.
    server.write(Attributes::ChildWorkflowExecutionTerminatedEventAttributes(
        ChildWorkflowExecutionTerminatedEventAttributes {
            initiated_event_id: initiated(&server, 1),
            ..Default::default()
        },
    ));
    server.inbox.push(RunEvent::WaveClosed(1));
    server.complete_task();
    let recalled = server.open.iter().filter(|(id, _)| id.kind == TaskKind::Recall).count();
    assert_eq!(recalled, 251);
    let fold = server.fold().await;
    assert_eq!(fold.transitions(), server.transitions);
    assert!(!fold.is_idle());
}

/// The event that began a wave.
fn initiated(server: &Server, number: u32) -> i64 {
    let is_it = |event: &&HistoryEvent| match &event.attributes {
        Some(Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(initiated)) => {
            wave_plan::number(&initiated.workflow_id) == Some(number)
        }
        _ => false,
    };
    server.history.iter().find(is_it).unwrap().event_id
}
