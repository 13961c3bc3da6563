//! Random workflows, and a driver without I/O: its workers do what the inputs of their steps say.

use super::{
    AttemptEnd, Change, Effect, Input, LessonResult, Machine, Payload, Preparation, Problem, Recollection,
    Ticket,
};
use crate::record::{Answer, Data, StepStatus, Transition, WorkflowState};
use crate::retry::{Attempt, AttemptCounts, Strategy, Task, measure};
use crate::spec::{Step, StepBuilder, Workflow};
use crate::worker::Status;
use proptest::prelude::{Just, any, prop_oneof};
use proptest::strategy::Strategy as _;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

pub(crate) const RUN_ID: &str = "run_1";

/// A random step.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    worker: &'static str,
    /// Distances to the steps that it depends on.
    after: Vec<usize>,
    /// Attempts that fail.
    fails: u64,
    /// The status of an attempt that does not fail.
    status: Option<&'static str>,
    has_ladder: bool,
    max_attempts: Option<u32>,
    writes: bool,
    wait_ms: u8,
    /// Repeating it is not harmless.
    once: bool,
    pub(crate) worktree: bool,
    pub(crate) terminates: bool,
    /// An output that the inputs refer to: of its first dependency, or one that does not exist.
    refers: Option<bool>,
}

pub(crate) fn shape() -> impl proptest::strategy::Strategy<Value = Shape> {
    let worker = prop_oneof![
        6 => Just("Hand"),
        3 => Just("Echo"),
        1 => Just("approve"),
        1 => Just("answer"),
    ];
    let status = prop_oneof![8 => Just(None), 1 => Just(Some("PARTIAL")), 1 => Just(Some("BLOCKED"))];
    let flags = (
        any::<bool>(),
        any::<bool>(),
        0_u8..4,
        proptest::bool::weighted(0.2),
        proptest::bool::weighted(0.2),
        proptest::bool::weighted(0.03),
        proptest::option::weighted(0.3, proptest::bool::weighted(0.8)),
    );
    let attempts = (prop_oneof![3 => Just(0_u64), 2 => 1_u64..4], proptest::option::weighted(0.3, 1_u32..4));
    (worker, proptest::collection::vec(1_usize..6, 0..3), attempts, status, flags).prop_map(
        |(worker, after, (fails, max_attempts), status, flags)| {
            let (has_ladder, writes, wait_ms, once, worktree, terminates, refers) = flags;
            Shape {
                worker,
                after,
                fails,
                status,
                has_ladder,
                max_attempts,
                writes,
                wait_ms,
                once,
                worktree,
                terminates,
                refers,
            }
        },
    )
}

/// The workflow of these shapes.
pub(crate) fn workflow(shapes: &[Shape]) -> Workflow {
    let step = |(at, shape): (usize, &Shape)| {
        let mut step = StepBuilder::new(format!("s{at}"), shape.worker);
        let after: Vec<usize> = shape.after.iter().filter_map(|back| at.checked_sub(*back)).collect();
        for dep in &after {
            step = step.after(format!("s{dep}"));
        }
        let source = after.first().filter(|dep| matches!(shapes[**dep].worker, "Hand" | "Echo"));
        if let (Some(dep), Some(exists)) = (source, shape.refers) {
            let key = match shapes[*dep].worker {
                _ if !exists => "nothing",
                "Echo" => "n",
                _ => "got",
            };
            step = step.input("other", json!({"from": format!("s{dep}.outputs.{key}")}));
        }
        step = step.input("n", at);
        if shape.worker != "Hand" {
            return step;
        }
        step = step.input("wait_ms", shape.wait_ms);
        if shape.fails > 0 {
            step = step.input("fails", shape.fails);
        }
        if let Some(status) = shape.status {
            step = step.input("status", status);
        }
        for (name, flag) in [("writes", shape.writes), ("once", shape.once), ("terminate", shape.terminates)]
        {
            if flag {
                step = step.input(name, true);
            }
        }
        if shape.has_ladder {
            for rung in ["draft", "patch", "refactor"] {
                step = step.rung(Strategy::new("Hand", rung, 1));
            }
        }
        if let Some(max) = shape.max_attempts {
            step = step.max_attempts(max);
        }
        if shape.worktree { step.worktree() } else { step }
    };
    Workflow::builder("w").goal("g").steps(shapes.iter().enumerate().map(step)).build().unwrap()
}

pub(crate) fn is_echo(worker: &str) -> bool {
    worker == "Echo"
}

/// Whether an input of a step is given.
pub(crate) fn has(step: &Step, input: &str) -> bool {
    step.inputs().contains_key(input)
}

/// The end of an attempt by the worker of the tests.
pub(crate) fn behave(step: &Step, goal: &str, attempt: u32, strategy: &Strategy) -> AttemptEnd {
    let mut inputs = step.inputs();
    // Resolved: every step gives its index.
    if let Some(other) = inputs.get_mut("other") {
        let from = other["from"].as_str().unwrap_or_default();
        let index: u64 = from.split('.').next().unwrap().trim_start_matches('s').parse().unwrap();
        *other = index.into();
    }
    let fails = inputs.get("fails").and_then(Value::as_u64).unwrap_or(0);
    let failed = u64::from(attempt) <= fails;
    let status = match inputs.get("status").and_then(Value::as_str) {
        _ if failed => Status::Failure,
        Some("PARTIAL") => Status::Partial,
        Some("BLOCKED") => Status::Blocked,
        _ => Status::Success,
    };
    let task = Task {
        run_id: RUN_ID,
        goal,
        step_id: &step.id,
        worker: &step.worker,
        inputs: &inputs,
        ladder: &step.extra().ladder,
    };
    let facts = if failed { json!({}) } else { json!({"got": inputs["n"]}) };
    let counts = AttemptCounts { facts, ..AttemptCounts::default() };
    let over = Attempt {
        attempt_id: attempt,
        status,
        call_signature: task.signature(strategy),
        worker_type: strategy.worker.clone(),
        strategy_id: strategy.strategy_id.clone(),
        retrieval_stage: strategy.retrieval_stage,
        summary: if failed { "it failed" } else { "done" }.into(),
        failure_signature: failed.then(|| format!("failure-{attempt}")),
        progress: measure(None, Path::new("/nonexistent"), &counts),
        artifacts: Vec::new(),
    };
    finished(&task, over, has(step, "once"), has(step, "terminate").then(|| "enough".into()))
}

/// The end of an attempt with what the machine is told about the next one.
pub(crate) fn finished(task: &Task<'_>, over: Attempt, once: bool, terminates: Option<String>) -> AttemptEnd {
    AttemptEnd {
        stopped: false,
        next_signature: task.candidate(over.attempt_id as usize + 1).map(|next| next.signature),
        component: task.component(),
        retryable: !once || !task.ladder.is_empty(),
        terminates: terminates.filter(|_| over.status == Status::Success),
        attempt: over,
    }
}

/// A recorded transition.
pub(crate) type Row = (u32, StepStatus, Data);

/// A driver that keeps everything in memory.
pub(super) struct Simulation {
    pub(super) machine: Machine,
    pub(super) log: Vec<Row>,
    /// Attempts and merges that were started, in this order.
    pub(super) started: Vec<(u32, bool, AttemptEnd)>,
    prepared: BTreeMap<u32, Ticket>,
    /// Answers to questions that the machine asked.
    pub(super) answers: VecDeque<Input>,
    last_answer: i64,
    slots: usize,
    /// How many times each key was worked on since the last crash.
    pub(super) begun: BTreeMap<String, u32>,
}

impl Simulation {
    pub(super) fn new(workflow: Workflow, slots: usize) -> Self {
        let workflow = Arc::new(workflow);
        let folded = WorkflowState::empty(workflow.steps.len());
        let mut simulation = Simulation {
            machine: Machine::restore(workflow, RUN_ID, folded, slots, &is_echo),
            log: Vec::new(),
            started: Vec::new(),
            prepared: BTreeMap::new(),
            answers: VecDeque::new(),
            last_answer: 0,
            slots,
            begun: BTreeMap::new(),
        };
        simulation.feed(Input::Open);
        simulation
    }

    fn step(&self, step: u32) -> &Step {
        &self.machine.workflow().steps[step as usize]
    }

    /// Feeds an input and answers every question at once, before what stands behind it.
    pub(super) fn feed(&mut self, input: Input) {
        let mut open: VecDeque<Effect> = self.machine.on(input).into();
        while let Some(effect) = open.pop_front() {
            if let Some(answer) = self.perform(effect) {
                for effect in self.machine.on(answer).into_iter().rev() {
                    open.push_front(effect);
                }
            }
        }
    }

    /// Feeds an input and keeps the answers to questions for later.
    pub(super) fn feed_only(&mut self, input: Input) {
        for effect in self.machine.on(input) {
            let answer = self.perform(effect);
            self.answers.extend(answer);
        }
    }

    fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Record(change) => {
                let Change { step, status, mut data, payload } = *change;
                if payload == Payload::Echo {
                    data.outputs = Some(self.step(step).inputs());
                }
                if matches!(payload, Payload::Question | Payload::Previous) {
                    data.inputs = Some(self.step(step).inputs());
                }
                self.log.push((step, status, data));
            }
            Effect::Echo { step } => {
                let outputs = Some(self.step(step).inputs());
                self.log.push((step, StepStatus::Succeeded, Data { outputs, ..Data::default() }));
            }
            Effect::Skip { steps, .. } => {
                let outputs = json!({"summary": "skipped"}).as_object().cloned();
                let data = Data { outputs, ..Data::default() };
                self.log.extend(steps.iter().map(|step| (*step, StepStatus::Skipped, data.clone())));
            }
            Effect::Resolve { step } => {
                return Some(Input::Resolved { step, problem: self.problem(step) });
            }
            Effect::Ask { step } => {
                let preparation = match self.problem(step) {
                    Some(problem) => Preparation::Invalid(problem),
                    None => Preparation::Ready { writes: false },
                };
                return Some(Input::Prepared { step, preparation });
            }
            Effect::Prepare { step, ticket } => {
                let preparation = match self.problem(step) {
                    Some(problem) => Preparation::Invalid(problem),
                    None if ticket.strategy.worker != "Hand" => Preparation::NoWorker,
                    None => Preparation::Ready { writes: has(self.step(step), "writes") },
                };
                self.prepared.insert(step, *ticket);
                return Some(Input::Prepared { step, preparation });
            }
            Effect::Start { step, call_id } => {
                let ticket = self.prepared.remove(&step).unwrap();
                let row = self.log.iter().rev().find(|row| row.0 == step).unwrap();
                assert_eq!(
                    (row.1, &row.2.call_id),
                    (StepStatus::Running, &call_id),
                    "recorded before it starts"
                );
                assert_eq!((row.2.attempt, &row.2.key), (ticket.attempt, &ticket.key));
                *self.begun.entry(ticket.key.clone()).or_default() += 1;
                let end = behave(self.step(step), "g", ticket.attempt, &ticket.strategy);
                self.started.push((step, false, end));
            }
            Effect::Recall { step, ticket, call_id } => {
                let row = self.log.iter().rev().find(|row| row.0 == step).unwrap();
                assert_eq!((&row.2.key, &row.2.call_id), (&ticket.key, &call_id));
                let one = self.step(step);
                let is_known = (self.log.len() + step as usize).is_multiple_of(3);
                let recollection = if is_known {
                    let end = Box::new(behave(one, "g", ticket.attempt, &ticket.strategy));
                    Recollection::Ended { end, has_worktree: self.log.len().is_multiple_of(2) }
                } else {
                    Recollection::Unknown { repeatable: !has(one, "once"), writes: has(one, "writes") }
                };
                self.prepared.insert(step, *ticket);
                return Some(Input::Recalled { step, recollection });
            }
            Effect::Merge { step } => {
                let strategy = self.machine.history(step).and_then(|tried| tried.strategy.clone()).unwrap();
                let attempt = self.machine.history(step).unwrap().running.as_ref().unwrap().attempt;
                let end = behave(self.step(step), "g", attempt, &strategy);
                self.started.push((step, true, end));
            }
            Effect::Teach { step, lesson } => {
                let lesson = LessonResult::Written { id: lesson.header.id.clone() };
                return Some(Input::Taught { step, lesson });
            }
        }
        None
    }

    /// Why the inputs of a step cannot be resolved.
    fn problem(&self, step: u32) -> Option<Problem> {
        let inputs = self.step(step).inputs();
        let from = inputs.get("other")?["from"].as_str()?.to_string();
        let (id, key) = from.split_once(".outputs.")?;
        if key != "nothing" {
            return None;
        }
        Some(Problem { error: format!("`{id}` has no output `{key}`"), code: "inputs".into() })
    }

    /// Ends the attempt or merge with this place in the list.
    pub(super) fn finish(&mut self, at: usize) -> Input {
        let (step, is_merge, end) = self.started.remove(at);
        let end = Box::new(end);
        if is_merge { Input::Merged { step, end } } else { Input::Finished { step, end } }
    }

    /// The next answer to the first step that waits for a person.
    pub(super) fn answer(&mut self) -> Option<Input> {
        let at = self.machine.state().status.iter().position(|status| *status == StepStatus::Blocked)?;
        let step = u32::try_from(at).unwrap();
        let kind = self.machine.history(step)?.blocked.clone()?;
        let answer = match kind.as_str() {
            "approve" => json!({"approved": at % 4 != 3, "reason": "r", "decided_by": {"name": "ann"}}),
            "answer" => json!({"answer": at}),
            "unknown" => json!({"settle": "again", "outputs": {}}),
            _ => json!({"settle": "done", "outputs": {"got": at}}),
        };
        self.last_answer += 1;
        Some(Input::Answers(vec![Answer { id: self.last_answer, step, answer }]))
    }

    /// The state that the log gives.
    pub(super) fn folded(&self) -> WorkflowState {
        fold(self.machine.workflow().steps.len(), &self.log)
    }

    /// Loses everything but the log.
    pub(super) fn crash(&mut self) {
        let workflow = self.machine.workflow().clone();
        self.machine = Machine::restore(workflow, RUN_ID, self.folded(), self.slots, &is_echo);
        self.started.clear();
        self.prepared.clear();
        self.answers.clear();
        self.begun.clear();
        self.feed(Input::Open);
    }

    /// Continues until only people could do something, with answers of people if there are any.
    pub(super) fn run_to_end(&mut self) {
        loop {
            while let Some(answer) = self.answers.pop_front() {
                self.feed(answer);
            }
            let before = self.log.len();
            self.feed(Input::Advance);
            if self.log.len() > before || !self.started.is_empty() {
                if !self.started.is_empty() {
                    let end = self.finish(0);
                    self.feed(end);
                }
                continue;
            }
            let Some(answer) = self.answer() else { return };
            self.feed(answer);
        }
    }
}

/// Applies recorded transitions.
pub(crate) fn fold(steps: usize, log: &[Row]) -> WorkflowState {
    let mut folded = WorkflowState::empty(steps);
    for (seq, (step, status, data)) in (1_i64..).zip(log) {
        let text = data.to_text();
        folded.apply(&Transition { seq, step: *step, status: *status, at: 0, data: &text });
    }
    folded
}

/// The statuses at the end of a workflow that only the simulated driver runs.
pub(crate) fn run_alone(workflow: Workflow, slots: usize) -> Vec<StepStatus> {
    let mut simulation = Simulation::new(workflow, slots);
    simulation.run_to_end();
    simulation.machine.state().status.clone()
}
