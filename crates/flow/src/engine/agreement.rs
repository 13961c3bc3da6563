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

/// What a run recorded.
struct Recording {
    workflow: Arc<Workflow>,
    run_id: String,
    rows: Vec<Row>,
    answers: Vec<Answer>,
}

impl Recording {
    fn read(directory: &Path) -> Self {
        let (record, workflow, _) = Record::look(directory).unwrap();
        let mut rows = Vec::new();
        record.each(&mut |row| rows.push((row.step, row.status, Data::parse(row.data)))).unwrap();
        let run_id = record.meta("run_id").unwrap();
        Recording { workflow: Arc::new(workflow), run_id, rows, answers: record.answers_after(0).unwrap() }
    }

    /// Feeds a machine what the record says; it must say what the record says.
    fn replay(&self, slots: usize) -> Result<Machine, Mismatch> {
        let folded = WorkflowState::empty(self.workflow.steps.len());
        let machine = Machine::restore(self.workflow.clone(), &self.run_id, folded, slots, &is_echo);
        let mut replay = Replay { machine, recording: self, at: 0, inputs: BTreeMap::new() };
        replay.feed(Input::Open)?;
        replay.run()
    }
}

/// The machine says something else than the record.
#[derive(Debug)]
struct Mismatch(String);

/// A machine in the middle of a replay.
struct Replay<'a> {
    machine: Machine,
    recording: &'a Recording,
    /// The next row.
    at: usize,
    inputs: BTreeMap<u32, Map<String, Value>>,
}

impl Replay<'_> {
    fn next(&mut self) -> Result<Row, Mismatch> {
        self.at += 1;
        let row = self.recording.rows.get(self.at - 1);
        row.cloned().ok_or_else(|| Mismatch("the record has no further row".into()))
    }

    /// The next row, if it is of this step and failed without an attempt.
    fn failure(&self, step: u32) -> Option<Problem> {
        let (_, _, data) = self.recording.rows.get(self.at).filter(|row| {
            row.0 == step && row.1 == StepStatus::Failed && row.2.over.is_none() && row.2.answer.is_none()
        })?;
        Some(Problem { error: data.error.clone()?, code: data.code.clone()? })
    }

    fn preparation(&self, step: u32) -> Preparation {
        match self.failure(step) {
            Some(problem) if problem.code == "inputs" => Preparation::Invalid(problem),
            Some(_) => Preparation::NoWorker,
            None => {
                let step = &self.recording.workflow.steps[step as usize];
                Preparation::Ready { writes: has(step, "writes") }
            }
        }
    }

    fn check(&mut self, step: u32, status: StepStatus, data: Data, payload: Payload) -> Result<(), Mismatch> {
        let (row_step, row_status, mut row) = self.next()?;
        if let Some(inputs) = &row.inputs {
            self.inputs.insert(step, inputs.clone());
        }
        match payload {
            Payload::Nothing => {}
            Payload::Inputs | Payload::Previous => row.inputs = None,
            Payload::Question => (row.inputs, row.error) = (None, None),
            Payload::Echo => row.outputs = None,
            Payload::Report => (row.outputs, row.artifacts) = (None, Vec::new()),
        }
        let (said, recorded) = ((step, status, data), (row_step, row_status, row));
        if said == recorded { Ok(()) } else { Err(Mismatch(format!("{said:?} and {recorded:?}"))) }
    }

    fn perform(&mut self, effect: Effect) -> Result<Option<Input>, Mismatch> {
        match effect {
            Effect::Record(change) => {
                let Change { step, status, data, payload } = *change;
                self.check(step, status, data, payload)?;
            }
            Effect::Echo { step } => {
                let outputs = Some(self.recording.workflow.steps[step as usize].inputs());
                let data = Data { outputs, ..Data::default() };
                self.check(step, StepStatus::Succeeded, data, Payload::Nothing)?;
            }
            Effect::Skip { steps, reason, .. } => {
                for step in steps {
                    let outputs = json!({"summary": format!("skipped: {reason}")}).as_object().cloned();
                    let data = Data { outputs, ..Data::default() };
                    self.check(step, StepStatus::Skipped, data, Payload::Nothing)?;
                }
            }
            Effect::Resolve { step } => {
                return Ok(Some(Input::Resolved { step, problem: self.failure(step) }));
            }
            Effect::Ask { step } | Effect::Prepare { step, .. } => {
                return Ok(Some(Input::Prepared { step, preparation: self.preparation(step) }));
            }
            Effect::Teach { step, .. } => {
                let row = self.recording.rows.get(self.at);
                let id = row.and_then(|row| row.2.lesson.clone());
                let id = id.ok_or_else(|| Mismatch(format!("step {step} has no lesson")))?;
                return Ok(Some(Input::Taught { step, lesson: LessonResult::Written { id } }));
            }
            Effect::Start { .. } => {}
            Effect::Recall { .. } | Effect::Merge { .. } => panic!("no process died: {effect:?}"),
        }
        Ok(None)
    }

    fn feed(&mut self, input: Input) -> Result<(), Mismatch> {
        let mut open: VecDeque<Effect> = self.machine.on(input).into();
        while let Some(effect) = open.pop_front() {
            if let Some(answer) = self.perform(effect)? {
                for effect in self.machine.on(answer).into_iter().rev() {
                    open.push_front(effect);
                }
            }
        }
        Ok(())
    }

    /// The input that the next row follows from.
    fn input(&self) -> Input {
        let (step, _, data) = &self.recording.rows[self.at];
        if let Some(id) = data.answer {
            let answers = self.recording.answers.iter().filter(|answer| answer.id == id);
            return Input::Answers(answers.cloned().collect());
        }
        let Some(over) = &data.over else { return Input::Advance };
        let workflow = &self.recording.workflow;
        let one = &workflow.steps[*step as usize];
        let task = Task {
            run_id: &self.recording.run_id,
            goal: &workflow.goal,
            step_id: &one.id,
            worker: &one.worker,
            inputs: &self.inputs[step],
            ladder: &one.extra().ladder,
        };
        let end = finished(&task, over.clone(), has(one, "once"), data.terminates.clone());
        Input::Finished { step: *step, end: Box::new(end) }
    }

    /// The same replay after an advance that recorded nothing but changed the state: a writer began to wait for the workspace.
    fn after_silent_advance(&self) -> Option<Self> {
        let machine =
            Machine::load(self.recording.workflow.clone(), self.machine.state().clone(), &is_echo).unwrap();
        let mut other =
            Replay { machine, recording: self.recording, at: self.at, inputs: self.inputs.clone() };
        let silent = other.feed(Input::Advance).is_ok() && other.at == self.at;
        (silent && other.machine.state() != self.machine.state()).then_some(other)
    }

    fn run(mut self) -> Result<Machine, Mismatch> {
        while self.at < self.recording.rows.len() {
            let (before, input) = (self.at, self.input());
            // The record does not show whether the driver advanced between two ends of attempts.
            if input != Input::Advance
                && let Some(other) = self.after_silent_advance()
                && let Ok(machine) = other.run()
            {
                return Ok(machine);
            }
            self.feed(input.clone())?;
            if self.at == before {
                let row = &self.recording.rows[before];
                return Err(Mismatch(format!("{input:?} does not give {row:?}")));
            }
        }
        Ok(self.machine)
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
        let recording = Recording::read(&outcome.run_path);
        let machine = recording.replay(slots).map_err(|mismatch| TestCaseError::fail(mismatch.0))?;
        let status = &machine.state().status;
        prop_assert_eq!(&fold(shapes.len(), &recording.rows).status, status);
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
