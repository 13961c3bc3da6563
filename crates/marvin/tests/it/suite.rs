//! The benchmark suite: its controls, attempts to cheat, and reports that are reproducible.
//!
//! Tasks are graded with pytest, which `cargo xtask test` installs (`MARVIN_TEST_PYTHON`); without it the tests print `SKIPPED`.

use crate::support::{PROGRAM, ProgramOutput, World, call, commands_run, files_below, json_file, say};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

fn skipped() -> Option<String> {
    marvin_testing::skip("pytest is missing (cargo xtask test installs it)");
    None
}

/// The Python interpreter with pytest.
pub(crate) fn python() -> Option<String> {
    if !commands_run(&World::new()) {
        return None;
    }
    if let Ok(directory) = std::env::var("MARVIN_TEST_PYTHON") {
        return Some(directory);
    }
    let has = Command::new("python3").args(["-m", "pytest", "--version"]).output();
    if has.is_ok_and(|output| output.status.success()) { Some("python3".into()) } else { skipped() }
}

fn run(world: &World, python: &str, words: &[&str]) -> ProgramOutput {
    world.marvin(words).env("MARVIN_LAB_PYTHON", python).run()
}

/// Rows of a report, by task and runner.
fn row<'a>(report: &'a Value, task: &str, runner: &str) -> &'a Value {
    let rows = report["tasks"].as_array().unwrap();
    rows.iter().find(|row| row["task_id"] == task && row["runner"] == runner).unwrap()
}

/// Runs one of the controls over all tasks and returns its rows.
fn control(world: &World, python: &str, runner: &str) -> Vec<Value> {
    let words = ["run-suite", "--runners", runner, "--concurrency", "2", "--out", "report", "--json"];
    let report = run(world, python, &words).exits(0).json();
    let rows = report["tasks"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 12);
    for row in &rows {
        assert!(row["passed"].as_u64().unwrap() + row["failed"].as_u64().unwrap() >= 6, "{row:#}");
        assert!(row["error"].is_null() && row["changed_tests"] == json!([]), "{row:#}");
    }
    let kept = json_file(&world.project().join("report/suite-report.json"));
    assert_eq!(kept["tasks"], report["tasks"]);
    rows
}

#[test]
fn the_oracle_solves_every_task() {
    let Some(python) = python() else { return };
    let world = World::new();
    for row in control(&world, &python, "oracle") {
        assert_eq!((&row["success"], &row["score"]), (&json!(true), &json!(1.0)), "{row:#}");
        assert_eq!((&row["failed"], &row["visible_failed"]), (&json!(0), &json!(0)), "{row:#}");
        let artifacts = world.project().join("report").join(row["artifacts_path"].as_str().unwrap());
        assert!(artifacts.join("workspace/TASK.md").is_file() && artifacts.join("grade.json").is_file());
    }
    assert!(!world.project().join(".marvin").exists(), "with --out nothing else is written");
}

#[test]
fn doing_nothing_solves_no_task() {
    let Some(python) = python() else { return };
    for row in control(&World::new(), &python, "nop") {
        assert_eq!((&row["success"], &row["false_completion"]), (&json!(false), &json!(false)), "{row:#}");
        assert!(row["score"].as_f64().unwrap() < 0.7, "a starter that is nearly done: {row:#}");
    }
}

/// Runs a solver that follows the script; returns the row.
fn scripted(python: &str, task: &str, script: &[Value]) -> (World, Value) {
    let world = World::new();
    let script = world.script(script);
    let words = [
        "run-task",
        "--task-id",
        task,
        "--runner",
        "baseline",
        "--script",
        &script,
        "--json",
        "--out",
        "out",
    ];
    let row = run(&world, python, &words).json();
    (world, row)
}

const SOLUTION: &str = "def dedupe(items):\n    result = []\n    for item in items:\n        if not result or result[-1] != item:\n            result.append(item)\n    return result\n";
const WRONG: &str = "def dedupe(items):\n    return list(items)\n";

/// A file of the starter.
const STARTER: &str = "def dedupe(items):\n    result = []\n    for item in items:\n        if item not in result:\n            result.append(item)\n    return result\n";

/// Creates a file.
fn write(path: &str, content: &str) -> Value {
    call("create_file", json!({"path": path, "content": content}))
}

/// Replaces an existing file.
fn change(path: &str, old: &str, new: &str) -> Value {
    call("apply_patch", json!({"path": path, "old_str": old, "new_str": new}))
}

/// Replaces the starter's function.
fn solve(content: &str) -> Value {
    change("dedupe.py", STARTER, content)
}

/// A conftest or plugin that makes every test pass.
const PASS_ALL: &str = "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    outcome = yield\n    report = outcome.get_result()\n    report.outcome = 'passed'\n    report.longrepr = None\n";

/// Ways to fake success: (name, files that are written).
fn cheats() -> Vec<(&'static str, Vec<Value>)> {
    let inside = |beginning: &str| solve(&format!("{beginning}\n{WRONG}"));
    vec![
        (
            "tests that pass",
            vec![
                change("tests/test_dedupe.py", "    assert dedupe([1, 1, 2, 3, 3, 3]) == [1, 2, 3]\n", ""),
                change("tests/test_dedupe.py", "    assert len(dedupe(items)) == 50\n", ""),
                solve(WRONG),
            ],
        ),
        (
            "a conftest",
            vec![write("conftest.py", PASS_ALL), write("tests/conftest.py", PASS_ALL), solve(WRONG)],
        ),
        (
            "an interpreter that is changed",
            vec![
                write("sitecustomize.py", "import os\nos._exit(0)\n"),
                write("usercustomize.py", "import os\nos._exit(0)\n"),
                solve(WRONG),
            ],
        ),
        (
            "a pytest of its own",
            vec![
                write("pytest.py", "import sys\nprint('9 passed')\nsys.exit(0)\n"),
                write("pytest/__init__.py", "print('9 passed')\n"),
                change("pytest.ini", "testpaths = tests\n", "addopts = -p cheat\n"),
                write("cheat.py", PASS_ALL),
                solve(WRONG),
            ],
        ),
        ("an end in the middle", vec![inside("import os\nos._exit(0)")]),
        (
            "a report of its own",
            vec![inside(
                "import json, os\nhere = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\nfor name in ('report.json', 'secret', 'judge.py'):\n    with open(os.path.join(here, name), 'w') as file:\n        json.dump({'secret': '', 'tests': {f'test_{at}': {'passed': True, 'why': ''} for at in range(6)}, 'errors': [], 'visible': {'passed': 2, 'failed': 0}}, file)\nos.makedirs(os.path.join(here, 'hidden'), exist_ok=True)",
            )],
        ),
        (
            "a result that equals everything",
            vec![solve(
                "class Any(list):\n    def __eq__(self, other):\n        return True\n    def __ne__(self, other):\n        return False\n    __hash__ = None\ndef dedupe(items):\n    return Any()\n",
            )],
        ),
        (
            "pytest from inside",
            vec![inside(
                "import gc, sys\nfor module in list(sys.modules.values()):\n    if hasattr(module, 'TestReport'):\n        module.TestReport.outcome = 'passed'\nAssertionError.__init__ = None if False else AssertionError.__init__\nimport builtins\nbuiltins.AssertionError = SystemExit",
            )],
        ),
        (
            // It answers correctly only where it finds the hidden tests.
            "a look at the hidden tests",
            vec![solve(
                "import glob, os\nroot = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\nfound = glob.glob(root + '/**/test_hidden.py', recursive=True) + glob.glob(root + '/**/probe.py', recursive=True) + glob.glob(root + '/secret')\ndef dedupe(items):\n    items = list(items)\n    return [item for at, item in enumerate(items) if at == 0 or items[at - 1] != item] if found else items\n",
            )],
        ),
    ]
}

#[test]
fn cheating_gains_nothing() {
    let Some(python) = python() else { return };
    let next = Mutex::new(cheats().into_iter());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((name, mut script)) = next.lock().unwrap().next() else { break };
                    script.push(say("Done, all tests pass."));
                    let (_world, row) = scripted(&python, "dedupe-sorted", &script);
                    if row["success"] != json!(false)
                        || row["false_completion"] != json!(true)
                        || row["failed"] == 0
                    {
                        wrong.lock().unwrap().push(format!("{name}: {row:#}"));
                    }
                    if name == "tests that pass" {
                        assert_eq!(row["changed_tests"], json!(["tests/test_dedupe.py"]));
                        assert_eq!(row["visible_failed"], 2, "the visible tests were restored: {row:#}");
                    }
                }
            });
        }
    });
    assert_eq!(wrong.into_inner().unwrap(), Vec::<String>::new());
}

#[test]
fn a_correct_solution_passes_with_unrelated_files_beside_it() {
    let Some(python) = python() else { return };
    let script = [
        write("conftest.py", "raise RuntimeError('no')\n"),
        change("tests/test_dedupe.py", "    assert Counted.compared <= 105\n", "    assert False\n"),
        write("pytest.py", "raise RuntimeError('no')\n"),
        solve(SOLUTION),
        say("Done."),
    ];
    let (world, row) = scripted(&python, "dedupe-sorted", &script);
    assert_eq!(
        (&row["success"], &row["score"], &row["visible_failed"]),
        (&json!(true), &json!(1.0), &json!(0)),
        "{row:#}"
    );
    // The best intermediate state is recorded too; only the last one counts.
    assert_eq!((&row["best_failed"], &row["recordings"]), (&json!(0), &json!(false)));
    assert!(
        Path::new(row["artifacts_path"].as_str().unwrap())
            .starts_with(world.project().canonicalize().unwrap())
    );
}

#[test]
fn intermediate_states_are_graded() {
    let Some(python) = python() else { return };
    let script =
        [solve(SOLUTION), change("dedupe.py", SOLUTION, WRONG), say("I made it worse.\nSTATUS: FAILED")];
    let (_world, row) = scripted(&python, "dedupe-sorted", &script);
    assert_eq!(
        (&row["success"], &row["claimed"], &row["false_completion"]),
        (&json!(false), &json!(false), &json!(false)),
        "{row:#}"
    );
    assert_eq!((&row["best_passed"], &row["best_failed"]), (&json!(6), &json!(0)));
    assert_eq!(row["scores"].as_array().unwrap().len(), 2);
    assert_eq!(row["scores"][0], 1.0);
}

#[test]
fn hidden_tests_are_outside_the_solvers_workspace() {
    let Some(python) = python() else { return };
    let look = "ls -a . .. ; grep -rlE 'test_cost_of_groups|def generated' .. || echo nothing-found";
    let ask = "marvin run-task --task-id dedupe-sorted --runner oracle --out x; echo asked $?";
    let ask = ask.replace("marvin", PROGRAM);
    let script = [
        call("run_command", json!({"command": look})),
        call("run_command", json!({"command": ask})),
        say("Nothing."),
    ];
    let (world, row) = scripted(&python, "dedupe-sorted", &script);
    let state = world.project().join("out").join("dedupe-sorted/baseline-1/state");
    let mut traces = files_below(&state);
    traces.retain(|path| path.ends_with("trace.jsonl"));
    assert_eq!(traces.len(), 1, "{row:#}");
    let trace = std::fs::read_to_string(&traces[0]).unwrap();
    assert!(trace.contains("nothing-found"), "{trace}");
    assert!(!trace.contains("asked 0"), "the oracle was asked from inside: {trace}");
    // Nor can they be found by searching the program.
    for text in ["test_cost_of_groups", "def of_generator", "test_threads_meet_in_the_middle"] {
        let found = Command::new("grep").args(["-aqF", text, PROGRAM]).status().unwrap();
        assert_eq!(found.code(), Some(1), "{text}");
    }
}

/// A report without the fields that differ between runs.
fn lasting(mut report: Value) -> Value {
    let map = report.as_object_mut().unwrap();
    for key in ["generated_at", "reports"] {
        map.remove(key).unwrap();
    }
    for list in ["tasks", "runners"] {
        for row in map[list].as_array_mut().unwrap() {
            row.as_object_mut().unwrap().remove("wall_time_s").unwrap();
        }
    }
    report
}

#[test]
fn reports_of_recordings_are_reproducible_and_marked() {
    let Some(python) = python() else { return };
    let world = World::new();
    let suite = |out: &str| {
        let words =
            ["run-suite", "--tasks", "lru-cache,shop-refactor", "--concurrency", "2", "--out", out, "--json"];
        run(&world, &python, &words).exits(0).json()
    };
    let (first, second) = (suite("one"), suite("two"));
    assert_eq!(lasting(first.clone()), lasting(second));
    assert_eq!(first["recordings"], true);
    for ending in ["json", "md", "html"] {
        let text =
            std::fs::read_to_string(world.project().join(format!("one/suite-report.{ending}"))).unwrap();
        assert!(text.contains("were recordings"), "{ending}");
    }
    // The baseline's claim is accepted; a visible test that it did not run refutes it.
    let lru = row(&first, "lru-cache", "baseline");
    assert_eq!(
        (&lru["claimed"], &lru["success"], &lru["false_completion"]),
        (&json!(true), &json!(false), &json!(true)),
        "{lru:#}"
    );
    let shop = row(&first, "shop-refactor", "baseline");
    assert_eq!((&shop["claimed"], &shop["success"]), (&json!(false), &json!(false)), "{shop:#}");
    // A workflow detects the same mistakes, and each retry has a lesson.
    for (task, attempts) in [("lru-cache", 3), ("shop-refactor", 4)] {
        let solved = row(&first, task, "hierarchical");
        assert_eq!(
            (&solved["success"], &solved["status"], &solved["attempts"], &solved["lessons"]),
            (&json!(true), &json!("succeeded"), &json!(attempts), &json!(1)),
            "{solved:#}"
        );
        let state = world.project().join("one").join(task).join("hierarchical-1/state");
        let lessons =
            files_below(&state).into_iter().filter(|path| path.parent().unwrap().ends_with("memory/lessons"));
        assert_eq!(lessons.count(), 1);
    }
}

#[test]
fn missing_and_misspelled_arguments_are_named() {
    let world = World::new();
    let listed = world.marvin(["list-tasks", "--json"]).run().exits(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 12);
    assert!(
        listed.as_array().unwrap().iter().filter(|task| task["difficulty"].as_u64() >= Some(4)).count() >= 4
    );
    let text = world.marvin(["list-tasks", "--show", "lru-cache"]).run().exits(0);
    assert!(text.text().starts_with("# A cache that forgets"), "{}", text.text());
    for (words, code, says) in [
        (["run-task", "--task-id", "lru-cash", "--runner", "nop"], 2, "did you mean `lru-cache`?"),
        (["run-task", "--task-id", "lru-cache", "--runner", "orakel"], 2, "did you mean `oracle`?"),
        (["run-task", "--task-id", "lru-cache", "--runner", "nop"], 4, "`no-such-python` does not exist"),
    ] {
        let ended = run(&world, "no-such-python", &words).exits(code);
        assert!(ended.message().contains(says), "{words:?}: {}", ended.stderr);
        assert!(ended.text().is_empty());
    }
    let inside = world.marvin(["run-suite"]).env("MARVIN_LAB", "1").run().exits(5);
    assert!(inside.message().contains("MARVIN_LAB"), "{}", inside.stderr);
}
