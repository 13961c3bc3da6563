//! Runs whose attempts are made by other processes (`marvin attempt`): the same workflow ends in the same state as on one
//! machine. The durable engine that will be between them is left out.

use crate::support::{PROGRAM, World, commands_run, json_file};
use marvin_agent::ProjectContext;
use marvin_base::environment::Environment;
use marvin_base::person::DecidedBy;
use marvin_flow::drive::teacher;
use marvin_flow::engine::{self, Options, PersonDecision, Run};
use marvin_flow::machine::{LessonResult, VERSION};
use marvin_flow::record::StepStatus;
use marvin_flow::remote::attempt::AttemptRequest;
use marvin_flow::remote::{AttemptOrder, AttemptReply, RemoteEffect, RemoteInput, RemoteRun};
use marvin_flow::spec::{self, Workflow};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// Of the workflow files, so many are tried in ordinary tests; all of them in thorough ones.
const MAX_FILES: usize = 14;

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../flow/tests/workflows");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 40, "{}", files.len());
    if std::env::var_os("MARVIN_TEST_THOROUGH").is_none() {
        let every = files.len().div_ceil(MAX_FILES);
        files = files.into_iter().step_by(every).collect();
    }
    files
}

fn ann() -> DecidedBy {
    let by =
        json!({"name": "ann", "uid": 1, "tty": null, "pid": 2, "exe": "", "terminal": "", "via": "command"});
    serde_json::from_value(by).unwrap()
}

fn context(world: &World) -> ProjectContext {
    let (home, path) = (world.home(), std::env::var("PATH").unwrap());
    let environment = Environment::from_iter([("HOME", home.to_str().unwrap()), ("PATH", path.as_str())]);
    ProjectContext::find(environment, world.project(), Some(&world.project()), true, Vec::new()).unwrap()
}

/// The answers that a workflow file has for its steps, in their order.
fn answers(workflow: &Workflow) -> Vec<(String, Value)> {
    let listed = workflow.metadata.get("answers").and_then(Value::as_array).cloned().unwrap_or_default();
    listed.iter().map(|one| (one["step"].as_str().unwrap().to_string(), one["answer"].clone())).collect()
}

fn decision(answer: &Value) -> PersonDecision {
    match answer.get("approved") {
        Some(yes) => PersonDecision::Approve {
            yes: yes.as_bool().unwrap(),
            reason: answer["reason"].as_str().unwrap().to_string(),
        },
        None => PersonDecision::Answer(answer["answer"].clone()),
    }
}

/// The state of a run by the local engine.
fn run_here(world: &World, file: &Path, workflow: &Workflow) -> Value {
    let result = world.marvin(["run-workflow", file.to_str().unwrap(), "--json"]).run().json();
    let path = PathBuf::from(result["run_path"].as_str().unwrap());
    for (step, answer) in answers(workflow) {
        engine::record_decision(&path, &step, &decision(&answer), &ann()).unwrap();
        world.marvin(["resume-run", "--run-path", path.to_str().unwrap(), "--json"]).run().json();
    }
    json_file(&path.join("workflow_state.json"))
}

/// A run that this test drives, with an attempt per process.
struct Remote<'a> {
    world: &'a World,
    context: Arc<ProjectContext>,
    workflow: Arc<Workflow>,
    run_id: String,
}

impl Remote<'_> {
    fn attempt(&self, order: AttemptOrder, merge: Option<AttemptReply>) -> AttemptReply {
        let step = &self.workflow.steps[order.step as usize];
        let workflow = self.workflow.single_step(step);
        let run_id = self.run_id.clone();
        let request = AttemptRequest { version: VERSION, run_id, workflow, order, merge, allowance: None };
        let mut command = Command::new(PROGRAM);
        command.args(["attempt", "--watch"]).current_dir(self.world.project());
        self.world.bare(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // It stays open until the child has ended.
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{}", serde_json::to_string(&request).unwrap()).unwrap();
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(child.wait().unwrap().success(), "{text}");
        serde_json::from_str(&text).unwrap()
    }

    fn perform(&self, effect: RemoteEffect) -> Option<RemoteInput> {
        match effect {
            RemoteEffect::Attempt(order) => {
                let step = order.step;
                Some(RemoteInput::Finished { step, reply: Box::new(self.attempt(*order, None)) })
            }
            RemoteEffect::Merge { order, reply } => {
                let step = order.step;
                Some(RemoteInput::Merged { step, reply: Box::new(self.attempt(*order, Some(*reply))) })
            }
            RemoteEffect::Recall(order) => Some(RemoteInput::Recalled { step: order.step, reply: None }),
            RemoteEffect::Teach { step, lesson } => {
                let id = teacher(&self.context).keep(&lesson).unwrap();
                Some(RemoteInput::Taught { step, lesson: LessonResult::Written { id } })
            }
            RemoteEffect::CancelAttempts => None,
        }
    }
}

fn options() -> Options {
    Options { concurrency: 4, sync: None, listener: Box::new(|_| {}) }
}

/// The state of the same run with an attempt per process.
fn run_elsewhere(world: &World, workflow: &Arc<Workflow>) -> Value {
    let context = Arc::new(context(world));
    let mut copy = Run::begin(&context, Workflow::clone(workflow), options()).unwrap();
    let run_id = copy.directory().id().to_string();
    let path = copy.directory().path().to_path_buf();
    let mut run = RemoteRun::new(workflow.clone(), &run_id, 4);
    let remote = Remote { world, context, workflow: workflow.clone(), run_id };
    let (mut inbox, mut all) = (Vec::new(), Vec::new());
    let mut people = answers(workflow).into_iter();
    loop {
        let effects = run.on(std::mem::take(&mut inbox));
        all.extend(run.take_transitions());
        copy.append(&all).unwrap();
        inbox.extend(effects.into_iter().filter_map(|effect| remote.perform(effect)));
        if inbox.is_empty() {
            assert!(run.is_idle());
            let Some((step, _)) = people.next() else { break };
            let answer = answers(workflow).into_iter().find(|(id, _)| *id == step).unwrap().1;
            let (step, answer) = engine::check_decision(&path, &step, &decision(&answer), &ann()).unwrap();
            inbox.push(RemoteInput::Answer { step, answer });
        }
    }
    copy.close(run.machine(), Instant::now()).unwrap();
    json_file(&path.join("workflow_state.json"))
}

#[test]
fn both_engines_end_in_the_same_state() {
    if !commands_run(&World::new()) {
        return;
    }
    for file in files() {
        let workflow = Arc::new(spec::from_file(&file).unwrap());
        let here = run_here(&World::new(), &file, &workflow);
        let elsewhere = run_elsewhere(&World::new(), &workflow);
        assert_eq!(here, elsewhere, "{}", file.display());
    }
}

#[test]
fn a_lost_attempt_is_asked_about_and_a_stopped_run_continues() {
    let text = json!({"workflow_id": "w", "goal": "g", "steps": [
        {"id": "once", "worker": "Command", "inputs": {"command": "echo x"}},
        {"id": "again", "worker": "Command", "inputs": {"command": "echo y"}, "repeatable": true, "writes": false},
    ]});
    let workflow = Arc::new(spec::from_text(&text.to_string(), "w.json").unwrap());
    let mut run = RemoteRun::new(workflow, "run_20260101_000000_abcd", 4);
    assert!(!run.is_over(), "its steps have not begun");
    let started = run.on(Vec::new());
    assert_eq!(started.len(), 2);
    // The worker of the first attempt is lost, and left no end.
    let effects = run.on(vec![RemoteInput::Lost { step: 0, attempt: 1 }]);
    assert!(matches!(effects.as_slice(), [RemoteEffect::Recall(order)] if order.step == 0), "{effects:?}");
    assert!(run.on(vec![RemoteInput::Recalled { step: 0, reply: None }]).is_empty());
    assert_eq!(run.machine().status(0), StepStatus::Blocked);
    // An end that comes late has no effect.
    run.take_transitions();
    assert!(
        run.on(vec![RemoteInput::Lost { step: 0, attempt: 1 }]).is_empty()
            && run.take_transitions().is_empty()
    );
    // A stop cancels the other attempt; nothing begins until the run is resumed.
    assert_eq!(run.on(vec![RemoteInput::Stop]), [RemoteEffect::CancelAttempts]);
    assert!(
        run.on(vec![RemoteInput::Lost { step: 1, attempt: 1 }]).is_empty() && run.is_idle() && !run.is_over()
    );
    let effects = run.on(vec![RemoteInput::Resume]);
    assert!(matches!(effects.as_slice(), [RemoteEffect::Recall(order)] if order.step == 1), "{effects:?}");
    // It may be repeated, under the same key.
    let effects = run.on(vec![RemoteInput::Recalled { step: 1, reply: None }]);
    let [RemoteEffect::Attempt(order)] = effects.as_slice() else { panic!("{effects:?}") };
    let RemoteEffect::Attempt(first) = &started[1] else { panic!("{started:?}") };
    assert_eq!((order.step, &order.ticket.key), (1, &first.ticket.key));
    // A person settles the first step; the state goes through another process.
    let state = serde_json::to_string(&run.state()).unwrap();
    let workflow = run.machine().workflow().clone();
    let mut next = RemoteRun::load(workflow, serde_json::from_str(&state).unwrap()).unwrap();
    let settle = RemoteInput::Answer { step: 0, answer: json!({"settle": "done", "outputs": {"x": 1}}) };
    next.on(vec![settle]);
    assert_eq!(next.machine().status(0), StepStatus::Succeeded);
    assert!(!next.is_over(), "the other attempt runs");
}

#[test]
fn an_order_that_is_none_is_refused() {
    let world = World::new();
    for (order, says) in [("", "cannot read the order"), ("{}", "cannot read the order")] {
        let ended = world.marvin(["attempt"]).input(order).run().exits(2);
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
}

#[test]
fn a_worktree_of_another_machine_does_not_count_as_merged() {
    let text = json!({"workflow_id": "w", "goal": "g", "steps": [
        {"id": "write", "worker": "Command", "inputs": {"command": "echo changed > file.txt"}, "worktree": true},
    ]});
    let workflow = Arc::new(spec::from_text(&text.to_string(), "w.json").unwrap());
    let worlds = [World::new(), World::new()];
    if !commands_run(&worlds[0]) {
        return;
    }
    for world in &worlds {
        world.write("file.txt", "before\n");
        git(world, &["init", "-q"]);
        git(world, &["add", "."]);
        git(world, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"]);
    }
    let machine = |world| {
        let context = Arc::new(context(world));
        Remote { world, context, workflow: workflow.clone(), run_id: "run_20260101_000000_abcd".into() }
    };
    let (here, elsewhere) = (machine(&worlds[0]), machine(&worlds[1]));
    let mut run = RemoteRun::new(workflow.clone(), &here.run_id, 4);
    let started = run.on(Vec::new());
    let [RemoteEffect::Attempt(order)] = started.as_slice() else { panic!("{started:?}") };
    let reply = here.attempt((**order).clone(), None);
    let reply = || reply.clone();
    // A machine without the worktree must not drop the changes.
    let absent = elsewhere.attempt((**order).clone(), Some(reply()));
    assert_eq!(absent.end.attempt.failure_signature.as_deref(), Some("merge-conflict"), "{absent:?}");
    assert_eq!(worlds[1].read("file.txt"), "before\n");
    // The machine that has it merges once; a second delivery finds it merged.
    for _ in 0..2 {
        let merged = here.attempt((**order).clone(), Some(reply()));
        assert_eq!(merged.end.attempt.failure_signature, None, "{merged:?}");
        assert_eq!(worlds[0].read("file.txt"), "changed\n");
    }
}

fn git(world: &World, words: &[&str]) {
    let done = Command::new("git").args(words).current_dir(world.project()).status().unwrap();
    assert!(done.success(), "git {words:?}");
}
