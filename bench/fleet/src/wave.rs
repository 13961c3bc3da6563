//! One wave: a run, its queue, its workers and their store.

use crate::chance::Chance;
use crate::report::Report;
use crate::{MICROS_PER_S, Options};
use anyhow::{Context, bail, ensure};
use marvin_flow::machine::AttemptEnd;
use marvin_flow::machine::LessonResult;
use marvin_flow::record::{NewTransition, StepStatus};
use marvin_flow::remote::{AttemptOrder, AttemptReply, RemoteEffect, RemoteInput, RemoteRun};
use marvin_flow::retry::{Attempt, Progress, Strategy, Task};
use marvin_flow::spec::{self, Workflow};
use marvin_flow::worker::Status;
use serde::Serialize;
use serde_json::{Map, Value};
use std::cmp::Reverse;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;

/// How long a person takes to settle a step, in seconds.
const ANSWER_S: u64 = 300;
/// How long a frozen worker stays so, and a lost one is away, in seconds.
const REPAIR_S: u64 = 60;
/// Of so many orders and replies, one is serialised to count the bytes of all.
const SAMPLE: u64 = 64;
/// Levels of the shape `levels`.
const LEVELS: usize = 100;
/// Events of a task of the engine: scheduled, started, completed; likewise of an attempt.
const EVENTS: u64 = 3;

/// A workflow as its file has it.
#[derive(Serialize)]
struct WorkflowFile {
    workflow_id: &'static str,
    goal: &'static str,
    steps: Vec<StepEntry>,
}

#[derive(Serialize)]
struct StepEntry {
    id: String,
    worker: &'static str,
    inputs: BTreeMap<&'static str, String>,
    depends_on: Vec<String>,
    writes: bool,
    repeatable: bool,
    /// A retry must be another call.
    ladder: [Strategy; 2],
}

/// The workflow of a wave.
pub(crate) fn workflow(options: &Options, steps: usize) -> anyhow::Result<Workflow> {
    let mut chance = Chance::new(options.seed);
    let wide = (steps / LEVELS).max(1);
    let step = |n: usize| {
        let after = match (options.shape.as_str(), n) {
            ("chain", n) if n > 0 => Some(n - 1),
            ("levels", n) if n >= wide => Some(n - wide),
            _ => None,
        };
        StepEntry {
            id: format!("s{n}"),
            worker: "Command",
            inputs: BTreeMap::from([("command", format!("make part-{n} MODE=$MARVIN_STEP_STRATEGY"))]),
            depends_on: after.iter().map(|step| format!("s{step}")).collect(),
            writes: false,
            repeatable: !chance.happens(options.once_percent),
            ladder: ["first", "second"].map(|strategy| Strategy::new("Command", strategy, 1)),
        }
    };
    let steps = (0..steps).map(step).collect();
    let file = WorkflowFile { workflow_id: "simulation", goal: "to be simulated", steps };
    Ok(spec::from_text(&serde_json::to_string(&file)?, "simulation.json")?)
}

/// Something that happens at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// The engine hands everything that happened to the run.
    Batch,
    /// A worker ends its work.
    End {
        step: u32,
        attempt: u32,
        worker: usize,
        is_lost: bool,
    },
    /// A worker finds the end of its attempt in the store.
    Stored {
        step: u32,
        attempt: u32,
        worker: usize,
    },
    /// A worker was silent for too long.
    Silence {
        step: u32,
        attempt: u32,
    },
    /// A lost worker is back.
    Return {
        worker: usize,
    },
    Recollection {
        step: u32,
        attempt: u32,
    },
    Lesson {
        step: u32,
    },
    Decision {
        step: u32,
    },
}

/// An attempt that is under way.
#[derive(Debug)]
struct Delivery {
    order: AttemptOrder,
    /// Whether a worker was lost with it, so that its end may be asked for again.
    is_suspect: bool,
}

/// One wave of a simulation.
pub(crate) struct Wave<'a> {
    options: &'a Options,
    workflow: Arc<Workflow>,
    run: RemoteRun,
    chance: Chance,
    now: u64,
    moments: BinaryHeap<Reverse<(u64, u64, Moment)>>,
    order: u64,
    queue: VecDeque<(u32, u32)>,
    idle: Vec<usize>,
    /// When each worker is lost next.
    losses: Vec<u64>,
    /// Attempts without a counted end, by step and number.
    open: BTreeMap<(u32, u32), Delivery>,
    /// Ends in the store: the first counts. Only those of attempts with which a worker was lost; no other is asked for.
    ends: BTreeMap<(u32, u32), Box<AttemptReply>>,
    /// How often the work of an attempt was done that must not be repeated.
    work: BTreeMap<(u32, u32), u32>,
    /// Steps that a person allowed to be done again.
    allowed: BTreeMap<u32, u32>,
    inbox: Vec<RemoteInput>,
    is_batch_due: bool,
    events: u64,
    /// How often the history was continued by a new one.
    continued: u64,
    sampled: u64,
    /// Why the last step failed for good, which none may.
    failure: Option<String>,
}

impl<'a> Wave<'a> {
    pub(crate) fn new(options: &'a Options, workflow: Arc<Workflow>, number: u64) -> Self {
        let mut chance = Chance::new(options.seed ^ number.wrapping_mul(0x9e37_79b9));
        let losses = (0..options.workers).map(|_| next_loss(&mut chance, 0, options)).collect();
        Wave {
            run: RemoteRun::new(workflow.clone(), &format!("run_{number}"), options.workers),
            options,
            workflow,
            chance,
            now: 0,
            moments: BinaryHeap::new(),
            order: 0,
            queue: VecDeque::new(),
            idle: (0..options.workers).rev().collect(),
            losses,
            open: BTreeMap::new(),
            ends: BTreeMap::new(),
            work: BTreeMap::new(),
            allowed: BTreeMap::new(),
            inbox: Vec::new(),
            is_batch_due: false,
            events: 0,
            continued: 0,
            sampled: 0,
            failure: None,
        }
    }

    /// Runs the wave to its end and adds its figures.
    pub(crate) fn run(mut self, report: &mut Report) -> anyhow::Result<()> {
        self.schedule(0, Moment::Batch);
        self.is_batch_due = true;
        while let Some(Reverse((at, _, moment))) = self.moments.pop() {
            if self.run.is_over() {
                break;
            }
            self.now = at;
            self.take(moment, report)?;
            self.deliver(report);
            if !self.inbox.is_empty() && !self.is_batch_due {
                self.is_batch_due = true;
                self.schedule(self.options.task_ms * 1_000, Moment::Batch);
            }
        }
        self.check()?;
        report.waves += 1;
        report.histories += 1;
        report.events += self.events;
        report.steps += self.workflow.steps.len() as u64;
        report.virtual_us += self.now;
        Ok(())
    }

    fn schedule(&mut self, after: u64, moment: Moment) {
        self.order += 1;
        self.moments.push(Reverse((self.now.saturating_add(after), self.order, moment)));
    }

    fn take(&mut self, moment: Moment, report: &mut Report) -> anyhow::Result<()> {
        match moment {
            Moment::Batch => self.batch(report)?,
            Moment::End { step, attempt, worker, is_lost } => {
                if !is_lost {
                    self.idle.push(worker);
                }
                self.end(step, attempt, report);
            }
            Moment::Stored { step, attempt, worker } => {
                self.idle.push(worker);
                let reply = self.ends.get(&(step, attempt)).cloned();
                self.inbox.extend(reply.map(|reply| RemoteInput::Finished { step, reply }));
            }
            Moment::Silence { step, attempt } => self.notice_silence(step, attempt, report),
            Moment::Return { worker } => {
                let after = next_loss(&mut self.chance, self.now, self.options);
                if let Some(loss) = self.losses.get_mut(worker) {
                    *loss = after;
                }
                self.idle.push(worker);
            }
            Moment::Recollection { step, attempt } => {
                let reply = self.ends.get(&(step, attempt)).cloned();
                self.inbox.push(RemoteInput::Recalled { step, reply });
                self.events += EVENTS;
            }
            Moment::Lesson { step } => {
                let lesson = LessonResult::Written { id: format!("lesson-{step}") };
                self.inbox.push(RemoteInput::Taught { step, lesson });
                self.events += EVENTS;
            }
            Moment::Decision { step } => {
                *self.allowed.entry(step).or_default() += 1;
                let answer = Map::from_iter([("settle".to_string(), Value::from("again"))]);
                self.inbox.push(RemoteInput::Answer { step, answer: answer.into() });
                self.events += 1;
            }
        }
        Ok(())
    }

    /// Gives the run everything that happened since the last batch.
    fn batch(&mut self, report: &mut Report) -> anyhow::Result<()> {
        self.is_batch_due = false;
        let batch = std::mem::take(&mut self.inbox);
        let began = Instant::now();
        let effects = self.run.on(batch);
        let transitions = self.run.take_transitions();
        let taken = began.elapsed();
        report.driver += taken;
        report.longest_batch = report.longest_batch.max(taken);
        report.batches += 1;
        self.events += EVENTS;
        for transition in transitions {
            self.note(&transition, report);
        }
        let latency = self.options.latency_ms * 1_000;
        for effect in effects {
            match effect {
                RemoteEffect::Attempt(order) => {
                    self.events += EVENTS;
                    self.sample(&*order, report)?;
                    let place = (order.step, order.ticket.attempt);
                    self.open.entry(place).or_insert(Delivery { order: *order, is_suspect: false });
                    self.queue.push_back(place);
                }
                RemoteEffect::Recall(order) => {
                    let after = self.chance.time(latency);
                    let (step, attempt) = (order.step, order.ticket.attempt);
                    self.schedule(after, Moment::Recollection { step, attempt });
                }
                RemoteEffect::Teach { step, .. } => {
                    report.retries += 1;
                    let after = self.chance.time(latency);
                    self.schedule(after, Moment::Lesson { step });
                }
                RemoteEffect::Merge { .. } | RemoteEffect::CancelAttempts => {
                    bail!("no step of a simulation has a worktree, and none is cancelled")
                }
            }
        }
        if self.events >= self.options.continue_at.saturating_mul(self.continued + 1) {
            self.continued += 1;
            self.continue_as_new(report)?;
        }
        Ok(())
    }

    fn continue_as_new(&mut self, report: &mut Report) -> anyhow::Result<()> {
        report.histories += 1;
        // The state of a wave grows to its end, and serialising it each time would take most of the time.
        if report.histories.is_power_of_two() {
            let bytes = serde_json::to_vec(&self.run.state())?.len() as u64;
            report.max_state_bytes = report.max_state_bytes.max(bytes);
        }
        Ok(())
    }

    fn note(&mut self, transition: &NewTransition, report: &mut Report) {
        let mut hasher = DefaultHasher::new();
        (report.digest, self.now, transition.step, transition.status.word()).hash(&mut hasher);
        (transition.data.attempt, &transition.data.key).hash(&mut hasher);
        report.digest = hasher.finish();
        if transition.status == StepStatus::Failed {
            self.failure = transition.data.reason.clone().or(transition.data.error.clone());
        }
        if transition.status == StepStatus::Blocked {
            report.questions += 1;
            self.schedule(ANSWER_S * MICROS_PER_S, Moment::Decision { step: transition.step });
        }
    }

    /// Counts the bytes of one in many values for all of them.
    fn sample(&mut self, value: &impl Serialize, report: &mut Report) -> anyhow::Result<()> {
        self.sampled += 1;
        if self.sampled % SAMPLE == 1 {
            report.history_bytes += serde_json::to_vec(value)?.len() as u64 * SAMPLE;
        }
        Ok(())
    }

    /// Hands attempts to idle workers.
    fn deliver(&mut self, report: &mut Report) {
        while !self.queue.is_empty() {
            let Some(worker) = self.idle.pop() else { return };
            let Some((step, attempt)) = self.queue.pop_front() else { return };
            let latency = self.chance.time(self.options.latency_ms * 1_000);
            let work = self.chance.time(self.options.work_ms * 1_000);
            report.deliveries += 1;
            if self.ends.contains_key(&(step, attempt)) {
                self.open.remove(&(step, attempt));
                self.schedule(latency, Moment::Stored { step, attempt, worker });
                continue;
            }
            report.busy_us += work;
            let end = self.now + latency + work;
            let loss = self.losses.get(worker).copied().unwrap_or(u64::MAX);
            if loss >= end {
                self.schedule(latency + work, Moment::End { step, attempt, worker, is_lost: false });
                continue;
            }
            // A worker that was lost while it was idle is found out by the attempt that it is given.
            report.lost_workers += 1;
            if let Some(delivery) = self.open.get_mut(&(step, attempt)) {
                delivery.is_suspect = true;
            }
            let lost = loss.max(self.now) - self.now;
            let heartbeat = self.options.heartbeat_s * MICROS_PER_S;
            self.schedule(lost + heartbeat, Moment::Silence { step, attempt });
            self.schedule(lost + REPAIR_S * MICROS_PER_S, Moment::Return { worker });
            if self.chance.happens(self.options.frozen_percent) {
                let after = latency + work + REPAIR_S * MICROS_PER_S;
                self.schedule(after, Moment::End { step, attempt, worker, is_lost: true });
            }
        }
    }

    /// A worker did the work: of several ends under one key, the first counts.
    fn end(&mut self, step: u32, attempt: u32, report: &mut Report) {
        let once =
            self.workflow.steps.get(step as usize).is_some_and(|one| one.extra().repeatable == Some(false));
        if once {
            *self.work.entry((step, attempt)).or_default() += 1;
        }
        let Some(delivery) = self.open.remove(&(step, attempt)) else {
            // Another delivery ended it before.
            report.double_work += 1;
            return;
        };
        let fails = attempt == 1 && self.chance.happens(self.options.fail_percent);
        let reply = Box::new(self.reply(&delivery.order, fails));
        if delivery.is_suspect {
            self.ends.insert((step, attempt), reply.clone());
        }
        self.inbox.push(RemoteInput::Finished { step, reply });
    }

    fn notice_silence(&mut self, step: u32, attempt: u32, report: &mut Report) {
        let Some(delivery) = self.open.get(&(step, attempt)) else { return };
        if delivery.order.repeatable {
            report.repeated_deliveries += 1;
            self.queue.push_back((step, attempt));
        } else {
            // Its end, if it comes, is still kept in the store.
            self.inbox.push(RemoteInput::Lost { step, attempt });
        }
    }

    fn reply(&self, order: &AttemptOrder, fails: bool) -> AttemptReply {
        let one = self.workflow.steps.get(order.step as usize);
        let strategy = &order.ticket.strategy;
        let task = Task {
            run_id: "",
            goal: &self.workflow.goal,
            step_id: one.map_or("", |step| &*step.id),
            worker: "Command",
            inputs: &order.inputs,
            ladder: one.map(|step| &*step.extra().ladder).unwrap_or_default(),
        };
        let next = fails.then(|| task.candidate(order.ticket.attempt as usize + 1)).flatten();
        let attempt = Attempt {
            attempt_id: order.ticket.attempt,
            status: if fails { Status::Failure } else { Status::Success },
            call_signature: task.signature(strategy),
            worker_type: strategy.worker.clone(),
            strategy_id: strategy.strategy_id.clone(),
            retrieval_stage: strategy.retrieval_stage,
            summary: if fails { "exit code 1" } else { "exit code 0" }.into(),
            failure_signature: fails.then(|| "exit-1".to_string()),
            progress: Progress::default(),
            artifacts: Vec::new(),
        };
        let end = AttemptEnd {
            attempt,
            stopped: false,
            next_signature: next.map(|next| next.signature),
            component: "Command".into(),
            retryable: true,
            terminates: None,
        };
        let outputs = Map::from_iter([("exit_code".to_string(), Value::from(i32::from(fails)))]);
        AttemptReply { end, outputs, artifacts: Vec::new(), cost: 0 }
    }

    fn check(&self) -> anyhow::Result<()> {
        let state = self.run.machine().state();
        let wrong = state.status.iter().position(|status| *status != StepStatus::Succeeded);
        if let Some(step) = wrong {
            let status = state.status.get(step).context("its status")?;
            let why = self.failure.as_deref().unwrap_or("nothing follows");
            bail!("step {step} ended as {} after {} s: {why}", status.word(), self.now / MICROS_PER_S);
        }
        for ((step, attempt), times) in &self.work {
            let allowed = 1 + self.allowed.get(step).copied().unwrap_or(0);
            ensure!(
                *times <= allowed,
                "step {step} was done {times} times in attempt {attempt}, {allowed} are allowed"
            );
        }
        ensure!(self.inbox.is_empty() || self.run.is_over(), "something that happened was not handed over");
        Ok(())
    }
}

fn next_loss(chance: &mut Chance, now: u64, options: &Options) -> u64 {
    match options.loss_s {
        0 => u64::MAX,
        mean => now.saturating_add(chance.time(mean * MICROS_PER_S)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn simulate(words: &[&str]) -> Report {
        let options = Options::parse_from(["fleet-sim"].iter().chain(words));
        let mut report = Report::default();
        let steps = Arc::new(workflow(&options, options.steps).unwrap());
        Wave::new(&options, steps, 0).run(&mut report).unwrap();
        report
    }

    #[test]
    fn a_seed_gives_the_same_run() {
        let words = ["--workers", "50", "--steps", "600", "--loss-s", "20", "--seed", "7"];
        let (one, other) = (simulate(&words), simulate(&words));
        assert_eq!((one.digest, one.virtual_us, one.events), (other.digest, other.virtual_us, other.events));
        let another = simulate(&["--workers", "50", "--steps", "600", "--loss-s", "20", "--seed", "8"]);
        assert_ne!(one.digest, another.digest);
    }

    #[test]
    fn every_step_is_done_though_workers_are_lost() {
        for shape in ["fan", "chain", "levels"] {
            let steps = if shape == "chain" { "150" } else { "600" };
            let words = [
                "--shape",
                shape,
                "--workers",
                "20",
                "--steps",
                steps,
                "--loss-s",
                "15",
                "--once-percent",
                "20",
            ];
            let report = simulate(&words);
            assert!(report.lost_workers > 0 && report.repeated_deliveries > 0, "{shape}: {report:?}");
            assert!(report.retries > 0 && report.questions > 0, "{shape}: {report:?}");
        }
    }

    #[test]
    fn without_losses_nothing_is_delivered_twice() {
        let report =
            simulate(&["--workers", "20", "--steps", "1000", "--loss-s", "0", "--fail-percent", "0"]);
        assert_eq!((report.deliveries, report.lost_workers, report.questions), (1_000, 0, 0));
        assert_eq!((report.repeated_deliveries, report.double_work, report.retries), (0, 0, 0));
    }
}
