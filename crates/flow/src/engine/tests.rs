//! The engine with scripted workers.

use super::*;
use crate::deterministic::Echo;
use crate::record::{Record, StepStatus};
use crate::retry::Strategy;
use crate::spec::{StepBuilder, Workflow};
use crate::worker::{Order, Report, Status, Worker, Workers};
use async_trait::async_trait;
use marvin_agent::ProjectContext;
use marvin_base::environment::Environment;
use marvin_base::run_record::{FleetRecord, RunKind, RunRecord, WorkflowRecord};
use marvin_memory::lessons::{Lesson, Query};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub(super) fn ann() -> marvin_base::person::DecidedBy {
    let by =
        json!({"name": "ann", "uid": 1, "tty": null, "pid": 2, "exe": "", "terminal": "", "via": "command"});
    serde_json::from_value(by).unwrap()
}

/// A worker that follows its inputs and notes its orders.
#[derive(Debug, Default)]
struct Hand {
    asked: Mutex<Vec<(String, u32, String)>>,
    now: AtomicUsize,
    most: AtomicUsize,
    writers: AtomicUsize,
    most_writers: AtomicUsize,
    /// It left the end of every attempt under its key.
    remembers: AtomicBool,
}

#[async_trait]
impl Worker for Hand {
    fn writes(&self, order: &Order) -> bool {
        order.inputs.contains_key("writes")
    }

    fn repeatable(&self, order: &Order) -> bool {
        !order.inputs.contains_key("once")
    }

    fn gives_facts(&self) -> bool {
        true
    }

    fn recall(&self, order: &Order) -> Option<Report> {
        if !self.remembers.load(Ordering::SeqCst) {
            return None;
        }
        let mut report = Report::new(order, Status::Success, "done before");
        report.outputs.insert("got".into(), order.key.clone().into());
        report.artifacts.extend(order.inputs.get("leaves").and_then(Value::as_str).map(str::to_string));
        Some(report)
    }

    async fn work(&self, order: &Order, cancel: &CancellationToken) -> Report {
        self.asked.lock().unwrap().push((order.step_id.clone(), order.attempt, order.strategy_id.clone()));
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        if self.writes(order) {
            let writers = self.writers.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_writers.fetch_max(writers, Ordering::SeqCst);
        }
        let number = |key: &str| order.inputs.get(key).and_then(Value::as_u64);
        if let Some(wait) = number("wait_ms") {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(wait)) => {}
                () = cancel.cancelled() => {}
            }
        }
        if self.writes(order) {
            self.writers.fetch_sub(1, Ordering::SeqCst);
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
        assert!(!order.inputs.contains_key("panic"), "as its inputs say");
        if cancel.is_cancelled() {
            return Report::failed(order, "interrupted", "cancelled");
        }
        if number("fails").is_some_and(|fails| u64::from(order.attempt) <= fails) {
            return Report::failed(order, &format!("failure-{}", order.attempt), "it failed");
        }
        let mut report = Report::new(order, Status::Success, "done");
        if let Some(Value::String(status)) = order.inputs.get("status") {
            report.status = serde_json::from_value(json!(status)).unwrap();
        }
        report.outputs.insert("got".into(), order.inputs.get("n").cloned().unwrap_or(Value::Null));
        if order.inputs.contains_key("terminate") {
            report.metrics.insert("terminate_workflow".into(), true.into());
            report.metrics.insert("terminate_reason".into(), "enough".into());
        }
        report
    }
}

/// Keeps lessons in a list.
#[derive(Debug, Default, Clone)]
pub(super) struct Slate(Arc<Mutex<Vec<Lesson>>>);

impl Teacher for Slate {
    fn keep(&mut self, lesson: &Lesson) -> Result<String, marvin_memory::MemoryError> {
        let mut lessons = self.0.lock().unwrap();
        lessons.push(lesson.clone());
        Ok(format!("lesson-{}", lessons.len()))
    }

    fn recall(&mut self, _: &Query) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|lesson| lesson.body.clone()).collect()
    }
}

pub(super) struct Place {
    directory: tempfile::TempDir,
    home: tempfile::TempDir,
    hand: Arc<Hand>,
    pub(super) slate: Slate,
}

impl Place {
    pub(super) fn new() -> Self {
        let [directory, home] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        Place { directory, home, hand: Arc::default(), slate: Slate::default() }
    }

    pub(super) fn project(&self) -> ProjectContext {
        let home = self.home.path().to_str().unwrap();
        let environment = Environment::from_iter([("HOME", home), ("PATH", "/usr/bin:/bin")]);
        ProjectContext::find(
            environment,
            self.directory.path().to_path_buf(),
            Some(self.directory.path()),
            true,
            Vec::new(),
        )
        .unwrap()
    }

    pub(super) fn workers(&self) -> Workers {
        let mut workers = Workers::new();
        workers.insert("Echo".into(), Arc::new(Echo));
        workers.insert("Hand".into(), self.hand.clone());
        workers
    }

    fn options(concurrency: usize) -> Options {
        Options { concurrency, sync: None, listener: Box::new(|_| {}) }
    }

    async fn run(&self, workflow: Workflow, concurrency: usize) -> Outcome {
        let run = Run::begin(&self.project(), workflow, Place::options(concurrency)).unwrap();
        run.go(self.workers(), Box::new(self.slate.clone()), CancellationToken::new()).await.unwrap()
    }

    async fn resume(&self, path: &Path) -> Outcome {
        let run = Run::resume(&self.project(), path, Place::options(4)).unwrap();
        run.go(self.workers(), Box::new(self.slate.clone()), CancellationToken::new()).await.unwrap()
    }

    pub(super) fn state(outcome: &Outcome) -> Value {
        let text = std::fs::read_to_string(outcome.run_path.join("workflow_state.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

fn hand(id: &str) -> StepBuilder {
    StepBuilder::new(id, "Hand")
}

#[tokio::test]
async fn outputs_reach_those_that_depend_on_them() {
    let place = Place::new();
    let workflow = Workflow::builder("w")
        .step(StepBuilder::new("a", "Echo").input("n", 7))
        .step(hand("b").after("a").input("n", json!({"from": "a.outputs.n"})))
        .step(
            StepBuilder::new("c", "Echo")
                .after("b")
                .input("all", json!([{"from": "b.outputs.got"}, {"from": "a.outputs"}])),
        )
        .build()
        .unwrap();
    let outcome = place.run(workflow, 2).await;
    assert_eq!((outcome.status, outcome.exit().code()), (WorkflowStatus::Succeeded, 0));
    let state = Place::state(&outcome);
    assert_eq!(state["state"]["steps"]["c"]["outputs"], json!({"all": [7, {"n": 7}]}));
    assert_eq!(state["state"]["steps"]["b"]["attempts"][0]["worker_type"], "Hand");
    assert_eq!(state["state"]["steps"]["a"]["attempts"][0]["strategy_id"], "draft");
    assert_eq!(state["spec"]["steps"].as_array().unwrap().len(), 3);
    let kept = std::fs::read_to_string(outcome.run_path.join("artifacts/steps/b/outputs.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), json!({"got": 7}));
}

#[tokio::test]
async fn a_chain_needs_one_commit_per_step() {
    let place = Place::new();
    let step = |n: u32| match n {
        0 => hand("s0"),
        n => hand(&format!("s{n}")).after(format!("s{}", n - 1)),
    };
    let outcome = place.run(Workflow::builder("w").steps((0..20).map(step)).build().unwrap(), 4).await;
    assert_eq!(outcome.status, WorkflowStatus::Succeeded);
    assert_eq!(outcome.commits, 21, "the end of one step and the beginning of the next are one");
}

#[tokio::test]
async fn concurrency_is_limited_and_only_one_step_writes() {
    let place = Place::new();
    let steps = (0..60).map(|n| hand(&format!("r{n}")).input("wait_ms", 100));
    let writers = (0..8).map(|n| hand(&format!("w{n}")).input("wait_ms", 2).input("writes", true));
    let outcome = place.run(Workflow::builder("w").steps(steps).steps(writers).build().unwrap(), 10).await;
    assert_eq!(outcome.counts, [("SUCCEEDED", 68)].into());
    assert_eq!(place.hand.most.load(Ordering::SeqCst), 10);
    assert_eq!(place.hand.most_writers.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn thousands_of_steps_run_concurrently() {
    let place = Place::new();
    let steps = (0..2_000).map(|n| hand(&format!("s{n}")).input("wait_ms", 500));
    let outcome = place.run(Workflow::builder("w").steps(steps).build().unwrap(), 50_000).await;
    assert_eq!(outcome.counts, [("SUCCEEDED", 2_000)].into());
    assert!(place.hand.most.load(Ordering::SeqCst) > 500, "{}", place.hand.most.load(Ordering::SeqCst));
    assert!(outcome.commits < 1_500, "{} commits", outcome.commits);
}

#[tokio::test]
async fn failures_stop_what_depends_on_them_and_nothing_else() {
    let place = Place::new();
    let workflow = Workflow::builder("w")
        .step(hand("bad").input("fails", 9))
        .step(hand("after").after("bad"))
        .step(hand("good"))
        .step(hand("panics").input("panic", true).max_attempts(1))
        .step(hand("wrong").after("good").input("n", json!({"from": "good.outputs.nothing"})))
        .build()
        .unwrap();
    let outcome = place.run(workflow, 2).await;
    assert_eq!((outcome.status, outcome.exit().code()), (WorkflowStatus::Failed, 1));
    assert_eq!(outcome.counts, [("FAILED", 3), ("NEW", 1), ("SUCCEEDED", 1)].into());
    let why: BTreeMap<_, _> = outcome.failed.iter().cloned().collect();
    assert!(why["wrong"].contains("has no output `nothing`"), "{why:?}");
    assert!(why["panics"].contains("worker-broke"), "{why:?}");
}

#[tokio::test]
async fn a_retry_changes_something_and_leaves_a_lesson_first() {
    let place = Place::new();
    let rungs = ["draft", "patch", "refactor"];
    let mut step = hand("s").input("fails", 2);
    for rung in rungs {
        step = step.rung(Strategy { strategy_id: rung.into(), worker: "Hand".into(), retrieval_stage: 1 });
    }
    let outcome = place.run(Workflow::builder("w").goal("g").step(step).build().unwrap(), 2).await;
    assert_eq!(outcome.status, WorkflowStatus::Succeeded);
    let asked: Vec<String> = place.hand.asked.lock().unwrap().iter().map(|one| one.2.clone()).collect();
    assert_eq!(asked, rungs);
    assert_eq!(place.slate.0.lock().unwrap().len(), 2);
    let state = Place::state(&outcome);
    let attempts = state["state"]["steps"]["s"]["attempts"].as_array().unwrap();
    let statuses: Vec<&Value> = attempts.iter().map(|attempt| &attempt["status"]).collect();
    assert_eq!(statuses, ["FAILURE", "FAILURE", "SUCCESS"]);
    let view =
        crate::view::View::read(&outcome.run_path, &marvin_base::redact::Redactor::patterns_only()).unwrap();
    assert_eq!(view.retries.iter().filter(|retry| retry.allowed).count(), 2);
    assert_eq!(view.retries[0].lesson.as_deref(), Some("lesson-1"));
}

#[tokio::test]
async fn a_step_with_effects_is_not_repeated_automatically() {
    let place = Place::new();
    let once = hand("once").input("fails", 9).input("once", true);
    let outcome = place.run(Workflow::builder("w").step(once).build().unwrap(), 2).await;
    assert_eq!(outcome.status, WorkflowStatus::Failed);
    assert_eq!(place.hand.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_identical_retry_is_refused_with_its_reason() {
    let place = Place::new();
    let same = |_| Strategy { strategy_id: "draft".into(), worker: "Hand".into(), retrieval_stage: 1 };
    let mut step = hand("s").input("fails", 9);
    for rung in (0..3).map(same) {
        step = step.rung(rung);
    }
    let outcome = place.run(Workflow::builder("w").step(step).build().unwrap(), 2).await;
    assert_eq!(outcome.status, WorkflowStatus::Failed);
    let view =
        crate::view::View::read(&outcome.run_path, &marvin_base::redact::Redactor::patterns_only()).unwrap();
    let refused = view.retries.iter().find(|retry| !retry.allowed).unwrap();
    assert!(refused.code.is_some() && !refused.reason.is_empty(), "{refused:?}");
    assert!(place.hand.asked.lock().unwrap().len() < 3);
}

#[tokio::test]
async fn a_step_can_end_the_workflow() {
    let place = Place::new();
    let workflow = Workflow::builder("w")
        .step(hand("a").input("terminate", true))
        .steps((0..5).map(|n| hand(&format!("b{n}")).after("a")))
        .build()
        .unwrap();
    let outcome = place.run(workflow, 2).await;
    assert_eq!(outcome.status, WorkflowStatus::Succeeded);
    assert_eq!(outcome.counts, [("SKIPPED", 5), ("SUCCEEDED", 1)].into());
    let state = Place::state(&outcome);
    assert_eq!(state["state"]["metadata"]["termination"]["triggered_by"], "a");
    assert_eq!(state["state"]["metadata"]["termination"]["reason"], "enough");
    assert_eq!(state["state"]["metadata"]["termination"]["skipped_steps"].as_array().unwrap().len(), 5);
    assert_eq!(state["state"]["steps"]["b0"]["outputs"]["summary"], "skipped: enough");
    assert!(state["spec"]["metadata"].get("termination").is_none());
}

#[tokio::test]
async fn a_step_that_takes_too_long_is_ended() {
    let place = Place::new();
    let step = hand("s").input("wait_ms", 60_000).timeout_s(1).max_attempts(1);
    let outcome = place.run(Workflow::builder("w").step(step).build().unwrap(), 2).await;
    assert_eq!(outcome.status, WorkflowStatus::Failed);
    assert!(outcome.failed[0].1.contains("timeout"), "{:?}", outcome.failed);
}

#[tokio::test]
async fn steps_for_people_hold_no_resources() {
    let place = Place::new();
    let workflow = Workflow::builder("w")
        .step(StepBuilder::new("ok", "approve").description("May it go out?"))
        .step(
            StepBuilder::new("name", "answer")
                .outputs_schema(json!({"properties": {"answer": {"type": "string"}}})),
        )
        .step(hand("other"))
        .step(hand("end").after("ok").after("name").input("n", json!({"from": "name.outputs.answer"})))
        .build()
        .unwrap();
    let outcome = place.run(workflow, 2).await;
    assert_eq!((outcome.status, outcome.exit().code()), (WorkflowStatus::Blocked, 4));
    assert_eq!(outcome.counts, [("BLOCKED", 2), ("NEW", 1), ("SUCCEEDED", 1)].into());
    assert_eq!(outcome.waiting[0].text, "May it go out?");
    let path = outcome.run_path;
    let wrong =
        record_decision(&path, "name", &PersonDecision::Answer(json!(3)), &ann()).unwrap_err().to_string();
    assert!(wrong.contains("does not match"), "{wrong}");
    assert!(
        record_decision(&path, "other", &PersonDecision::Answer(json!(3)), &ann())
            .unwrap_err()
            .to_string()
            .contains("does not wait for a person")
    );
    assert!(record_decision(&path, "ok", &PersonDecision::Answer(json!(3)), &ann()).is_err());
    record_decision(&path, "name", &PersonDecision::Answer(json!("Marvin")), &ann()).unwrap();
    assert_eq!(place.resume(&path).await.status, WorkflowStatus::Blocked);
    record_decision(&path, "ok", &PersonDecision::Approve { yes: true, reason: String::new() }, &ann())
        .unwrap();
    let outcome = place.resume(&path).await;
    assert_eq!(outcome.status, WorkflowStatus::Succeeded);
    assert_eq!(Place::state(&outcome)["state"]["steps"]["end"]["outputs"]["got"], "Marvin");
    assert_eq!(place.hand.asked.lock().unwrap().len(), 2, "`other` ran once");
}

#[tokio::test]
async fn a_rejected_approval_fails_the_step() {
    let place = Place::new();
    let workflow = Workflow::builder("w")
        .step(StepBuilder::new("ok", "approve"))
        .step(hand("end").after("ok"))
        .build()
        .unwrap();
    let path = place.run(workflow, 2).await.run_path;
    record_decision(&path, "ok", &PersonDecision::Approve { yes: false, reason: "not today".into() }, &ann())
        .unwrap();
    let outcome = place.resume(&path).await;
    assert_eq!(outcome.status, WorkflowStatus::Failed);
    assert!(outcome.failed[0].1.contains("not today"));
}

#[tokio::test]
async fn a_blocked_worker_continues_with_the_answer() {
    let place = Place::new();
    let path = place
        .run(Workflow::builder("w").step(hand("s").input("status", "BLOCKED")).build().unwrap(), 2)
        .await
        .run_path;
    record_decision(&path, "s", &PersonDecision::Answer(json!("blue")), &ann()).unwrap();
    // It is BLOCKED again; what matters is the second order, with the answer.
    assert_eq!(place.resume(&path).await.status, WorkflowStatus::Blocked);
    let asked: Vec<u32> = place.hand.asked.lock().unwrap().iter().map(|one| one.1).collect();
    assert_eq!(asked, [1, 2]);
    let (record, _, folded) = Record::look(&path).unwrap();
    assert_eq!(folded.tried[&0].said, Some(json!("blue")));
    drop(record);
    record_decision(&path, "s", &PersonDecision::Settle { word: "done".into(), outputs: Map::new() }, &ann())
        .unwrap();
    assert_eq!(place.resume(&path).await.status, WorkflowStatus::Succeeded);
}

#[tokio::test]
async fn a_stopped_run_is_resumed() {
    let place = Place::new();
    let workflow = Workflow::builder("w")
        .step(hand("again").input("wait_ms", 400))
        .step(hand("once").input("wait_ms", 400).input("once", true))
        .step(hand("end").after("again").after("once"))
        .build()
        .unwrap();
    let cancel = CancellationToken::new();
    let run = Run::begin(&place.project(), workflow, Place::options(4)).unwrap();
    let stop = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.cancel();
    });
    let outcome = run.go(place.workers(), Box::new(place.slate.clone()), cancel).await.unwrap();
    assert_eq!((outcome.status, outcome.exit().code()), (WorkflowStatus::Stopped, 130));
    assert!(outcome.elapsed < Duration::from_millis(390), "{:?}", outcome.elapsed);
    let path = outcome.run_path;
    let outcome = place.resume(&path).await;
    assert_eq!(outcome.status, WorkflowStatus::Blocked, "whether `once` was completed is not known");
    assert_eq!(outcome.waiting[0].kind, "unknown");
    record_decision(
        &path,
        "once",
        &PersonDecision::Settle { word: "again".into(), outputs: Map::new() },
        &ann(),
    )
    .unwrap();
    let outcome = place.resume(&path).await;
    assert_eq!(outcome.status, WorkflowStatus::Succeeded);
    let attempts: Vec<(String, u32)> =
        place.hand.asked.lock().unwrap().iter().map(|one| (one.0.clone(), one.1)).collect();
    assert!(attempts.iter().all(|one| one.1 == 1), "the same attempt each time: {attempts:?}");
}

#[tokio::test]
async fn an_end_under_the_key_is_used_after_a_crash() {
    let place = Place::new();
    let workflow = Workflow::builder("w")
        .step(hand("once").input("wait_ms", 60_000).input("once", true))
        .step(hand("left").input("wait_ms", 60_000).input("leaves", "a.txt"))
        .step(hand("gone").input("wait_ms", 60_000).input("leaves", "b.txt").max_attempts(1))
        .step(hand("end").after("once").after("left").input("n", json!({"from": "once.outputs.got"})))
        .build()
        .unwrap();
    let cancel = CancellationToken::new();
    let run = Run::begin(&place.project(), workflow, Place::options(4)).unwrap();
    let stop = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.cancel();
    });
    let path = run.go(place.workers(), Box::new(place.slate.clone()), cancel).await.unwrap().run_path;
    let (_, _, folded) = Record::look(&path).unwrap();
    assert_eq!(folded.status[..3], [StepStatus::Running; 3]);
    let key = folded.tried[&0].running.clone().unwrap().key;
    std::fs::write(place.directory.path().join("a.txt"), "left").unwrap();
    place.hand.remembers.store(true, Ordering::SeqCst);
    let outcome = place.resume(&path).await;
    assert_eq!(outcome.counts, [("FAILED", 1), ("SUCCEEDED", 3)].into());
    assert!(outcome.failed[0].1.contains("artifact-missing"), "{:?}", outcome.failed);
    let state = Place::state(&outcome);
    assert_eq!(state["state"]["steps"]["end"]["outputs"]["got"], json!(key));
    assert_eq!(state["state"]["steps"]["left"]["attempts"][0]["artifacts"], json!(["a.txt"]));
    let asked: Vec<String> = place.hand.asked.lock().unwrap().iter().map(|one| one.0.clone()).collect();
    assert_eq!(asked.iter().filter(|step| *step != "end").count(), 3, "none was done again: {asked:?}");
    assert!(Record::look(&path).unwrap().0.artifacts().unwrap().iter().any(|(step, ..)| *step == 1));
}

#[tokio::test]
async fn a_call_id_is_given_once() {
    let place = Place::new();
    let writer = |n: u32| hand(&format!("w{n}")).input("writes", true);
    let reader = |n: u32| hand(&format!("r{n}")).after("ok");
    let workflow = Workflow::builder("w")
        .steps((0..4).map(writer))
        .step(StepBuilder::new("ok", "approve"))
        .steps((0..4).map(reader))
        .build()
        .unwrap();
    let path = place.run(workflow, 8).await.run_path;
    record_decision(&path, "ok", &PersonDecision::Approve { yes: true, reason: String::new() }, &ann())
        .unwrap();
    assert_eq!(place.resume(&path).await.status, WorkflowStatus::Succeeded);
    let mut calls = Vec::new();
    Record::look(&path)
        .unwrap()
        .0
        .each(&mut |row| {
            if row.status == StepStatus::Running {
                calls.push(crate::record::Data::parse(row.data).call_id);
            }
        })
        .unwrap();
    assert_eq!(calls, (1..=8).map(|n| format!("call-{n}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_second_process_is_refused() {
    let place = Place::new();
    let run = Run::begin(
        &place.project(),
        Workflow::builder("w").step(hand("s")).build().unwrap(),
        Place::options(1),
    )
    .unwrap();
    let path = run.directory().path().to_path_buf();
    let error = Run::resume(&place.project(), &path, Place::options(1)).unwrap_err().to_string();
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    drop(run);
    assert_eq!(place.resume(&path).await.status, WorkflowStatus::Succeeded);
}

#[test]
fn an_unknown_worker_is_named_before_anything_runs() {
    let workflow = Workflow::builder("w").step(StepBuilder::new("s", "Hnad")).build().unwrap();
    let error =
        check_steps(&workflow, &["Echo", "Hand"], Path::new("/p"), Path::new("/h")).unwrap_err().to_string();
    assert!(error.contains("did you mean `Hand`?"), "{error}");
}

#[tokio::test]
async fn a_completed_run_is_not_repeated() {
    let place = Place::new();
    let outcome = place.run(Workflow::builder("w").step(hand("s")).build().unwrap(), 2).await;
    let again = place.resume(&outcome.run_path).await;
    assert_eq!((again.status, again.finished), (WorkflowStatus::Succeeded, 0));
    assert_eq!(place.hand.asked.lock().unwrap().len(), 1);
    let (_, _, folded) = Record::look(&outcome.run_path).unwrap();
    assert_eq!(folded.status, [StepStatus::Succeeded]);
}

#[tokio::test]
async fn a_record_that_knows_less_than_its_trace_is_refused() {
    let place = Place::new();
    let outcome = place.run(Workflow::builder("w").step(hand("s")).build().unwrap(), 2).await;
    let trace = outcome.run_path.join("trace.jsonl");
    let mut text = std::fs::read_to_string(&trace).unwrap();
    text.push_str("{\"type\":\"step.succeeded\",\"step_id\":\"t\",\"record\":99}\n");
    std::fs::write(&trace, text).unwrap();
    let error = Run::resume(&place.project(), &outcome.run_path, Place::options(1)).unwrap_err().to_string();
    assert!(error.contains("line 5 is not part of its hash chain"), "{error}");
}

#[tokio::test]
async fn large_workflows_stay_flat() {
    let place = Place::new();
    let step = |n: u32| {
        let step = StepBuilder::new(format!("s{n}"), "Echo").input("n", n);
        if n.is_multiple_of(10) { step } else { step.after(format!("s{}", n - 1)) }
    };
    let outcome = place.run(Workflow::builder("w").steps((0..10_000).map(step)).build().unwrap(), 4).await;
    assert_eq!(outcome.counts, [("SUCCEEDED", 10_000)].into());
    assert_eq!(outcome.commits, 10, "ten levels, whatever their width");
}

#[test]
fn a_decision_about_a_run_on_other_machines_is_not_written_to_its_copy() {
    let place = tempfile::tempdir().unwrap();
    let fleet = FleetRecord { id: "marvin/p/r".into(), ..FleetRecord::default() };
    let workflow = Some(WorkflowRecord { fleet: Some(fleet), ..WorkflowRecord::default() });
    let record = RunRecord { workflow, ..RunRecord::new(RunKind::Workflow) };
    std::fs::write(place.path().join("run.json"), serde_json::to_string(&record).unwrap()).unwrap();
    let error = record_decision(place.path(), "s", &PersonDecision::Answer(json!(1)), &ann()).unwrap_err();
    assert!(error.to_string().contains("other machines"), "{error}");
}
