//! The local driver, the machine and a replay of the record agree.

use super::tests::{Place, ann};
use super::*;
use crate::machine::simulation::{Row, finished, fold, has, is_echo, shape, workflow};
use crate::machine::{Change, Effect, Input, LessonResult, Machine, Payload, Preparation, Problem};
use crate::record::{Answer, Data, Record, StepStatus, Sync, WorkflowState};
use crate::retry::Task;
use crate::spec::Workflow;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A machine that is fed what a record says, and must say what the record says.
struct Replay {
    machine: Machine,
    rows: Vec<Row>,
    answers: Vec<Answer>,
    at: usize,
    inputs: BTreeMap<u32, Map<String, Value>>,
}

impl Replay {
    fn read(directory: &Path, slots: usize) -> Self {
        let (record, workflow, _) = Record::look(directory).unwrap();
        let mut rows = Vec::new();
        record.each(&mut |row| rows.push((row.step, row.status, Data::parse(row.data)))).unwrap();
        let run_id = record.meta("run_id").unwrap();
        let answers = record.answers_after(0).unwrap();
        let folded = WorkflowState::empty(workflow.steps.len());
        let machine = Machine::restore(Arc::new(workflow), &run_id, folded, slots, &is_echo);
        Replay { machine, rows, answers, at: 0, inputs: BTreeMap::new() }
    }

    fn next(&mut self) -> Row {
        self.at += 1;
        self.rows[self.at - 1].clone()
    }

    /// The next row, if it is of this step and failed without an attempt.
    fn failure(&self, step: u32) -> Option<Problem> {
        let (_, _, data) = self.rows.get(self.at).filter(|row| {
            row.0 == step && row.1 == StepStatus::Failed && row.2.over.is_none() && row.2.answer.is_none()
        })?;
        Some(Problem { error: data.error.clone()?, code: data.code.clone()? })
    }

    fn preparation(&self, step: u32) -> Preparation {
        match self.failure(step) {
            Some(problem) if problem.code == "inputs" => Preparation::Invalid(problem),
            Some(_) => Preparation::NoWorker,
            None => {
                let step = &self.machine.workflow().steps[step as usize];
                Preparation::Ready { writes: has(step, "writes") }
            }
        }
    }

    fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Record(change) => {
                let Change { step, status, data, payload } = *change;
                let (row_step, row_status, mut row) = self.next();
                if let Some(inputs) = &row.inputs {
                    self.inputs.insert(step, inputs.clone());
                }
                match payload {
                    Payload::Nothing => {}
                    Payload::Inputs => row.inputs = None,
                    Payload::Question => (row.inputs, row.error) = (None, None),
                    Payload::Echo => row.outputs = None,
                    Payload::Report => (row.outputs, row.artifacts) = (None, Vec::new()),
                    Payload::Previous => row.inputs = None,
                }
                assert_eq!((step, status, data), (row_step, row_status, row));
            }
            Effect::Echo { step } => {
                let outputs = Some(self.machine.workflow().steps[step as usize].inputs());
                let data = Data { outputs, ..Data::default() };
                assert_eq!(self.next(), (step, StepStatus::Succeeded, data));
            }
            Effect::Skip { steps, .. } => {
                for step in steps {
                    let (row, status, _) = self.next();
                    assert_eq!((row, status), (step, StepStatus::Skipped));
                }
            }
            Effect::Resolve { step } => return Some(Input::Resolved { step, problem: self.failure(step) }),
            Effect::Ask { step } | Effect::Prepare { step, .. } => {
                return Some(Input::Prepared { step, preparation: self.preparation(step) });
            }
            Effect::Teach { step, .. } => {
                let id = self.rows[self.at].2.lesson.clone().unwrap();
                return Some(Input::Taught { step, lesson: LessonResult::Written { id } });
            }
            Effect::Start { .. } => {}
            Effect::Recall { .. } | Effect::Merge { .. } => panic!("no process died: {effect:?}"),
        }
        None
    }

    fn feed(&mut self, input: Input) {
        let mut open: VecDeque<Effect> = self.machine.on(input).into();
        while let Some(effect) = open.pop_front() {
            if let Some(answer) = self.perform(effect) {
                for effect in self.machine.on(answer).into_iter().rev() {
                    open.push_front(effect);
                }
            }
        }
    }

    /// The input that the next row follows from.
    fn input(&self) -> Input {
        let (step, _, data) = &self.rows[self.at];
        if let Some(id) = data.answer {
            return Input::Answers(self.answers.iter().filter(|answer| answer.id == id).cloned().collect());
        }
        let Some(over) = &data.over else { return Input::Advance };
        let workflow = self.machine.workflow();
        let one = &workflow.steps[*step as usize];
        let task = Task {
            run_id: &self.machine.state().run_id,
            goal: &workflow.goal,
            step_id: &one.id,
            worker: &one.worker,
            inputs: &self.inputs[step],
            ladder: &one.extra().ladder,
        };
        let end = finished(&task, over.clone(), has(one, "once"), data.terminates.clone());
        Input::Finished { step: *step, end: Box::new(end) }
    }

    fn run(&mut self) {
        self.feed(Input::Open);
        while self.at < self.rows.len() {
            let (before, input) = (self.at, self.input());
            self.feed(input.clone());
            assert!(self.at > before, "{input:?} does not give {:?}", self.rows[before]);
        }
    }
}

/// Runs a workflow to its end, with answers of a person whenever it waits for one.
async fn run(place: &Place, workflow: Workflow, concurrency: usize) -> Outcome {
    let options = || Options { concurrency, sync: Some(Sync::Normal), listener: Box::new(|_| {}) };
    let mut run = Run::begin(&place.project(), workflow, options()).unwrap();
    loop {
        let slate = Box::new(place.slate.clone());
        let outcome = run.go(place.workers(), slate, CancellationToken::new()).await.unwrap();
        if outcome.waiting.is_empty() {
            return outcome;
        }
        for step in &outcome.waiting {
            let at: u64 = step.step_id.trim_start_matches('s').parse().unwrap();
            let decision = match step.kind.as_str() {
                "approve" => PersonDecision::Approve { yes: at % 4 != 3, reason: "r".into() },
                "answer" => PersonDecision::Answer(at.into()),
                _ => {
                    let outputs = json!({"got": at}).as_object().cloned().unwrap();
                    PersonDecision::Settle { word: "done".into(), outputs }
                }
            };
            record_decision(&outcome.run_path, &step.step_id, &decision, &ann()).unwrap();
        }
        run = Run::resume(&place.project(), &outcome.run_path, options()).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn driver_machine_and_replay_of_the_record_agree(
        mut shapes in proptest::collection::vec(shape(), 1..14),
        slots in 1_usize..5,
    ) {
        // Worktrees need a repository; the simulated driver has them.
        shapes.iter_mut().for_each(|shape| shape.worktree = false);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let place = Place::new();
        let outcome = runtime.block_on(run(&place, workflow(&shapes), slots));
        let mut replay = Replay::read(&outcome.run_path, slots);
        replay.run();
        let status = &replay.machine.state().status;
        prop_assert_eq!(&fold(shapes.len(), &replay.rows).status, status);
        let written = Place::state(&outcome);
        for (index, status) in status.iter().enumerate() {
            prop_assert_eq!(&written["state"]["steps"][format!("s{index}")]["status"], status.word());
        }
        if !shapes.iter().any(|shape| shape.terminates) {
            let plain = crate::machine::simulation::run_alone(workflow(&shapes), slots);
            prop_assert_eq!(&plain, status);
        }
    }
}
