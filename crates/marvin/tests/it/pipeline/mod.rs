//! The TDD pipeline with the real program: three scripted projects with real mistakes, tests that really run, kills, a changed
//! state file, and agents that exceed their rights.
//!
//! The scripts in `tests/pipelines` answer by content, not by count: a run that is killed and resumed gets the same
//! replies.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod depth;
#[cfg(test)]
mod time;

#[cfg(test)]
pub(crate) use bounds::written;

use crate::support::{Marvin, ProgramOutput, World, json_file, ledger};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const PHASES: [&str; 11] = ["1a", "1a_review", "1b", "1b_review", "2a", "2b", "3", "4a", "4b", "4c", "5"];

fn script(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pipelines").join(format!("{name}.jsonl"));
    path.display().to_string()
}

/// The `PATH` with the Python that has pytest; `None`, with a message, where it is missing.
fn python() -> Option<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = match std::env::var("MARVIN_TEST_PYTHON") {
        Ok(directory) => format!("{directory}/bin:{path}"),
        Err(_) => path,
    };
    let has = Command::new("python3").args(["-m", "pytest", "--version"]).env("PATH", &path).output();
    if has.is_ok_and(|output| output.status.success()) { Some(path) } else { skipped() }
}

fn skipped() -> Option<String> {
    marvin_testing::skip("python3 has no pytest (cargo xtask test installs it)");
    None
}

/// Cargo finds its toolchains in the real home directory.
fn with_rust(mut marvin: Marvin) -> Marvin {
    let home = std::env::var("HOME").unwrap_or_default();
    for (name, directory) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
        let place = std::env::var(name).unwrap_or_else(|_| format!("{home}/{directory}"));
        marvin = marvin.env(name, place);
    }
    marvin
}

fn begin(world: &World, path: &str, script: &str, goal: &str) -> Marvin {
    let project = world.project().display().to_string();
    let mut words = vec!["--non-interactive", "--working-dir", &project, "--design-first", "--prompt", goal];
    if !script.is_empty() {
        words.extend(["--script", script]);
    }
    with_rust(world.marvin(words)).env("PATH", path)
}

fn build(world: &World, path: &str, name: &str) -> ProgramOutput {
    begin(world, path, &script(name), "Build it").env("MARVIN_VERIFY_ROUNDS", "1").run()
}

fn state(world: &World) -> String {
    fs::read_to_string(world.project().join(".marvin/pipeline_state")).unwrap_or_default().trim().to_string()
}

fn events<'a>(trace: &'a [Value], kind: &str) -> Vec<&'a Value> {
    trace.iter().filter(|event| event["type"] == kind).collect()
}

fn git(world: &World, words: &[&str]) -> String {
    let done = Command::new("git").arg("-C").arg(world.project()).args(words).output().unwrap();
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Properties of every finished project.
fn is_whole(world: &World, ended: &ProgramOutput) -> Vec<Value> {
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stderr, String::from_utf8_lossy(&ended.stdout));
    assert_eq!(state(world), "5");
    for document in [
        "spec.md",
        "ux.md",
        "design.md",
        "e2e.json",
        "review-history-spec.md",
        "review-history-2a-tests.md",
        "review-history-5-quality.md",
    ] {
        assert!(world.project().join(".marvin").join(document).is_file(), "{document}");
    }
    let trace = world.trace();
    let over: Vec<&str> =
        events(&trace, "phase.completed").iter().filter_map(|event| event["phase"].as_str()).collect();
    assert_eq!(over, PHASES);
    let result = trace.last().unwrap();
    assert_eq!(
        (&result["type"], &result["status"], &result["data"]["phase"]),
        (&json!("result"), &json!("success"), &json!("5"))
    );
    let proved = events(&trace, "proved");
    assert!(
        proved.last().unwrap()["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true),
        "{proved:#?}"
    );
    // The policy is in every prompt; reviewers of tests are told that the tests come before the code.
    let composed = events(&trace, "prompt.composed");
    let has_policy = |event: &&Value| event["pieces"].to_string().contains("extra: Tests");
    assert!(!composed.is_empty() && composed.iter().all(has_policy), "{composed:#?}");
    let is_told = |start: &str| {
        let logs = crate::support::files_below(&world.run().join("logs"));
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let log = logs.iter().find(|path| name(path).starts_with(start)).unwrap();
        fs::read_to_string(log).unwrap().contains("written before the code, on purpose")
    };
    assert!(is_told("worker-2a-tests-r1-quality") && is_told("worker-2b-tests-r1-conformance"));
    assert!(!is_told("worker-3-code-r1-quality") && !is_told("worker-1b_review-design-r1-clarity"));
    let report = fs::read_to_string(world.run().join("reports/pipeline.md")).unwrap();
    assert!(report.contains("## What was verified") && report.contains("| 4a |"), "{report}");
    assert!(world.run().join("reports/pipeline.html").is_file());
    trace
}

/// Steps that a check of the shell sent back.
fn sent_back(trace: &[Value]) -> Vec<&str> {
    let kinds = ["document.checked", "tests.checked"];
    let back = |event: &&Value| {
        kinds.iter().any(|kind| event["type"] == *kind) && !event["problems"].as_array().unwrap().is_empty()
    };
    trace.iter().filter(back).filter_map(|event| event["step_id"].as_str()).collect()
}

/// Checks of the Python project's run.
fn is_the_python_program(world: &World, path: &str, ended: &ProgramOutput) {
    let trace = is_whole(world, ended);
    // The stub and the mocked test were rejected.
    assert_eq!(sent_back(&trace), ["1a.spec.1", "2a.tests.1"]);
    let mocked = events(&trace, "tests.checked")[0]["problems"].to_string();
    assert!(mocked.contains("tests/test_tally.py:27") && mocked.contains("monkeypatch"), "{mocked}");
    // The false claim was rejected.
    let implementers: Vec<(&str, &str)> = events(&trace, "worker.completed")
        .iter()
        .filter_map(|event| Some((event["step_id"].as_str()?, event["status"].as_str()?)))
        .filter(|(step, _)| step.starts_with("3.implement"))
        .collect();
    assert_eq!(implementers[0], ("3.implement.1", "not_verified"));
    let counted: Vec<(&str, bool)> = events(&trace, "tests.counted")
        .iter()
        .filter_map(|event| Some((event["step_id"].as_str()?, event["green"].as_bool()?)))
        .collect();
    assert!(
        counted.contains(&("4a.tests.1", false)) && counted.contains(&("4a.tests.2", true)),
        "{counted:?}"
    );
    let asked = events(&trace, "application.asked");
    assert_eq!(asked[0]["checks"][1]["ok"], false, "--version was not there");
    let tried: Vec<bool> =
        events(&trace, "finding.tried").iter().filter_map(|event| event["reproduced"].as_bool()).collect();
    assert_eq!(tried, [false, true], "the finding that nothing shows does not count");
    assert_eq!(events(&trace, "phase.skipped")[0]["phase"], "4c");
    // The program works when started directly.
    let done = Command::new("python3")
        .current_dir(world.project())
        .env("PATH", path)
        .args(["tally.py", "tests/data/blank.csv"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "a 1\nb 2\ntotal 3\n");
    // Tickets and commits.
    let log = git(world, &["log", "--format=%B%x00"]);
    let commits: Vec<&str> = log.split('\0').map(str::trim).filter(|commit| !commit.is_empty()).collect();
    assert!(commits.len() > 20 && commits.iter().all(|commit| commit.contains("pro-")), "{log}");
    let epic = fs::read_to_string(world.project().join(".tickets/pro-epic.md")).unwrap();
    assert!(epic.contains("type: epic") && epic.contains("status: closed"), "{epic}");
    let child = fs::read_to_string(world.project().join(".tickets/pro-4a.md")).unwrap();
    assert!(child.contains("parent: pro-epic") && child.contains("status: closed"), "{child}");
    // Progress messages and the final report.
    assert!(
        ended.stderr.contains("MARVIN_COST:") && ended.stderr.contains("4a        Debugging"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_web_service_is_started_requested_and_browsed() {
    let Some(path) = python() else { return };
    let world = World::new();
    let ended = build(&world, &path, "http_service");
    let trace = is_whole(&world, &ended);
    assert_eq!(sent_back(&trace), ["1a.ux.1", "2a.tests.1", "2b.e2e.1"]);
    let asked = events(&trace, "application.asked");
    let wrong = |event: &Value| -> Vec<String> {
        let checks = event["checks"].as_array().unwrap().iter().filter(|check| check["ok"] == false);
        checks.map(|check| check["name"].as_str().unwrap().to_string()).collect()
    };
    let rounds: Vec<(&str, Vec<String>)> =
        asked.iter().map(|event| (event["phase"].as_str().unwrap(), wrong(event))).collect();
    assert_eq!(rounds[0], ("4b", vec!["nonsense is refused".to_string()]));
    assert_eq!(rounds[1], ("4b", vec![]));
    assert_eq!(rounds[2], ("4c", vec!["link /style.css of /".to_string()]));
    assert!(events(&trace, "phase.skipped").is_empty());
    let tried = events(&trace, "finding.tried");
    assert_eq!(tried.iter().filter(|event| event["reproduced"] == true).count(), 1, "{tried:#?}");
    // The implementer's claim was accepted only when the tests passed.
    let implemented = events(&trace, "worker.completed")
        .into_iter()
        .find(|event| event["step_id"] == "3.implement.1")
        .unwrap();
    assert_eq!(implemented["status"], "success");
}

#[test]
fn a_rust_library_is_built_from_one_sentence() {
    let world = World::new();
    let ended = build(&world, &std::env::var("PATH").unwrap(), "rust_library");
    let trace = is_whole(&world, &ended);
    assert_eq!(sent_back(&trace), ["1b.design.1", "2a.tests.1"]);
    // An empty review is requested again.
    let reviewed: Vec<&str> = events(&trace, "worker.completed")
        .iter()
        .filter_map(|event| event["step_id"].as_str())
        .filter(|step| step.starts_with("1b_review.design.r1.clarity"))
        .collect();
    assert_eq!(reviewed, ["1b_review.design.r1.clarity", "1b_review.design.r1.clarity.2"]);
    assert!(world.read("Cargo.toml").contains("description ="));
}

/// A pseudo-random sequence, the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Files of a project, except those with random or time-dependent content: tickets, the repository, the record.
fn left(world: &World) -> Vec<(String, String)> {
    let root = world.project();
    let inside = |path: &Path| {
        let path = path.strip_prefix(&root).unwrap().display().to_string();
        let skipped = [
            ".git/",
            ".tickets/",
            ".marvin/runs",
            ".marvin/security/",
            ".marvin/agents/",
            ".marvin/memory/",
            ".pytest_cache/",
        ];
        let keep = !skipped.iter().any(|start| path.starts_with(start)) && !path.contains("__pycache__");
        keep.then_some(path)
    };
    crate::support::files_below(&root)
        .iter()
        .filter_map(|path| {
            Some((inside(path)?, String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()))
        })
        .collect()
}

#[test]
fn a_pipeline_that_is_killed_anywhere_ends_as_an_uninterrupted_one() {
    let Some(path) = python() else { return };
    let kills: u64 =
        std::env::var("MARVIN_PIPELINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let quiet = World::new();
    let started = Instant::now();
    let ended =
        begin(&quiet, &path, &script("python_cli"), "Build it").env("MARVIN_VERIFY_ROUNDS", "1").run();
    let whole = started.elapsed();
    is_the_python_program(&quiet, &path, &ended);
    let mut dice = Dice(20_260_203);
    let mut killed = 0;
    // If it ends before it was killed often enough, another one follows.
    loop {
        let world = World::new();
        let ended = kill_now_and_then(&world, &path, whole, kills, &mut killed, &mut dice);
        ends_as(&quiet, &world, &ended, killed);
        if killed == kills {
            break;
        }
    }
}

/// Runs a pipeline to its end, killing it until the number of kills is reached.
fn kill_now_and_then(
    world: &World,
    path: &str,
    whole: Duration,
    kills: u64,
    killed: &mut u64,
    dice: &mut Dice,
) -> ProgramOutput {
    loop {
        let marvin = begin(world, path, &script("python_cli"), "Build it").env("MARVIN_VERIFY_ROUNDS", "1");
        if *killed == kills {
            return marvin.run();
        }
        let running = marvin.start();
        // Few kills are spread over the first half of a run, many over all of it.
        let most = u64::try_from(whole.as_millis()).unwrap() * if kills > 10 { 2 } else { 1 } / kills.max(1);
        std::thread::sleep(Duration::from_millis(20 + dice.roll(most.max(1))));
        running.signal(rustix::process::Signal::KILL);
        let ended = running.end();
        if ended.code.is_some() {
            return ended;
        }
        *killed += 1;
        leave_temporary_files(world);
    }
}

const TEMPORARY: &str = ".marvin-0123456789ab";

/// Leaves what a process does that is killed between a temporary file and its rename, where a phase is complete already.
fn leave_temporary_files(world: &World) {
    if state(world).is_empty() {
        return;
    }
    let begun = world.runs().into_iter().filter(|run| run.join("pipeline.jsonl").exists());
    for directory in begun.chain([world.project(), world.project().join(".marvin")]) {
        fs::write(directory.join(TEMPORARY), "half").unwrap();
    }
}

fn ends_as(quiet: &World, world: &World, ended: &ProgramOutput, killed: u64) {
    assert_eq!(
        ended.code,
        Some(0),
        "after {killed} kills: {}\n{}",
        ended.stderr,
        String::from_utf8_lossy(&ended.stdout)
    );
    assert_eq!(state(world), "5");
    let (one, other) = (left(quiet), left(world));
    let names = |all: &[(String, String)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    let differs: Vec<_> = one.iter().zip(&other).filter(|(one, other)| one != other).collect();
    assert!(differs.is_empty(), "{differs:#?}");
    // No phase was closed twice, and no agent worked in a closed phase.
    // A run that was killed before its first line left only an empty directory.
    let begun: Vec<_> = world.runs().into_iter().filter(|run| run.join("pipeline.jsonl").exists()).collect();
    assert_eq!(begun.len(), 1, "{begun:?}");
    assert!(!begun[0].join(TEMPORARY).exists(), "a resumed run removes temporary files of its record");
    let journal = ledger(&begun[0].join("pipeline.jsonl"));
    let closed: Vec<&str> = journal
        .iter()
        .filter(|entry| entry["type"] == "closed")
        .filter_map(|entry| entry["phase"].as_str())
        .collect();
    assert_eq!(closed, PHASES);
    let contents = marvin_base::ledger::read(&begun[0].join("trace.jsonl")).unwrap();
    let order: Vec<usize> = contents
        .entries
        .iter()
        .filter(|event| event["type"] == "worker.started")
        .filter_map(|event| PHASES.iter().position(|phase| event["phase"] == *phase))
        .collect();
    assert!(order.windows(2).all(|pair| pair[0] <= pair[1]), "{order:?}");
    let facts = json_file(&world.run().join("run.json"));
    assert_eq!(facts["status"], "success");
}
