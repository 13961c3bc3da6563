//! `marvin build-skill` and `marvin skills test`: what an agent writes counts when the shell has proved it.

use super::{find, listed};
use crate::support::{
    ProgramOutput, RunningProgram, World, call, commands_run, files_below, json_file, until,
};
use marvin_testing::git;
use serde_json::{Value, json};

const TESTS: &str = "import pathlib, subprocess, sys, unittest\n\
    ROOT = pathlib.Path(__file__).resolve().parent.parent\n\
    class Count(unittest.TestCase):\n    \
        def test_counts_words(self):\n        \
            out = subprocess.run([sys.executable, ROOT / 'scripts/count.py', 'a b c'], capture_output=True, text=True, check=True)\n        \
            self.assertEqual(out.stdout.strip(), '3')\n";
const EMPTY_TESTS: &str = "import unittest\nclass Count(unittest.TestCase):\n    def test_nothing(self):\n        self.assertTrue(True)\n";
const CODE: &str = "import sys\nprint(len(sys.argv[1].split()))\n";
const WRONG_CODE: &str = "print(7)\n";

fn front(more: &str) -> String {
    format!(
        "---\nname: count-words\ndescription: Counts the words of a text. Use it for lengths.\nmetadata:\n  version: \"1\"\n  marvin-purpose: \"count words\"\n  \
         marvin-contract: \"in: a text; out: a number\"\n  marvin-tools: read_file run_command\n  marvin-justification: \"it was counted by hand\"\n  \
         marvin-test: python3 -m unittest discover -s tests\n{more}---\n# Count\n\nRun `python3 scripts/count.py TEXT`.\n"
    )
}

fn world() -> World {
    let world = World::new();
    world.write("README.md", "a project\n");
    git(&world.project(), &["init", "--quiet"]);
    git(&world.project(), &["add", "--all"]);
    git(&world.project(), &["commit", "--quiet", "-m", "first"]);
    world
}

fn write(files: &[(&str, &str)]) -> Vec<Value> {
    let create = |(path, text): &(&str, &str)| {
        call("create_file", json!({"path": format!("skill-draft/count-words/{path}"), "content": text}))
    };
    files.iter().map(create).chain([end("SUCCESS")]).collect()
}

/// A draft that is proved.
fn good() -> Vec<Value> {
    write(&[("SKILL.md", &front("")), ("scripts/count.py", CODE), ("tests/test_count.py", TESTS)])
}

fn end(status: &str) -> Value {
    json!({"reply": {"json": {"status": status, "summary": "written"}}})
}

fn build(world: &World, script: &[Value], more: &[&str]) -> ProgramOutput {
    start(world, script, more).end()
}

fn start(world: &World, script: &[Value], more: &[&str]) -> RunningProgram {
    start_named(world, "count-words", script, more)
}

fn start_named(world: &World, name: &str, script: &[Value], more: &[&str]) -> RunningProgram {
    let script = world.script(script);
    let words = [
        "build-skill",
        "--name",
        name,
        "--purpose",
        "count words",
        "--contract",
        "in: a text; out: a number",
        "--tools",
        "read_file,run_command",
        "--justification",
        "it was counted by hand",
        "--script",
        &script,
        "--json",
    ];
    world.marvin(words).args(more).start()
}

fn runs(world: &World) -> Value {
    world.marvin(["runs", "list", "--json"]).run().exits(0).json()
}

/// Nothing is left in the project but what was there.
fn assert_untouched(world: &World) {
    assert!(!world.project().join(".marvin/skills/count-words").exists());
    assert_eq!(git(&world.project(), &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(&world.project(), &["status", "--short", "--", ".", ":!.marvin"]), "");
    assert_eq!(find(&listed(world), "skills", "count-words"), &Value::Null);
}

#[test]
fn a_proved_skill_is_registered_with_a_lesson() {
    let world = world();
    let gap = build(&world, &[end("SUCCESS"), end("SUCCESS")], &[]).exits(3).json();
    let gap = gap["run"].as_str().unwrap();
    let report = build(&world, &good(), &["--from-run", gap]).exits(0).json();
    let shown = world.marvin(["skills", "show", "count-words"]).run().exits(0);
    assert!(shown.text().contains(&format!("gap shown by   {gap}\n")), "{}", shown.text());
    assert_eq!(
        (&report["status"], &report["passed"], &report["seen_red"]),
        (&json!("registered"), &json!(1), &json!(true))
    );
    assert_eq!(git(&world.project(), &["worktree", "list"]).lines().count(), 1);
    let found = listed(&world);
    let skill = find(&found, "skills", "count-words");
    assert_eq!(
        (&skill["registration"]["run"], &skill["trusted"]),
        (&report["run"], &json!(false)),
        "{skill:#}"
    );
    assert_eq!(skill["registration"]["hash"], report["hash"]);
    let lesson = world.read_state(&format!("memory/lessons/{}.md", report["lesson"].as_str().unwrap()));
    for part in [
        "it was counted by hand",
        "count words",
        "\"tags\":[\"skill\",\"count-words\"]",
        "1 test passed with the skill and failed without its code",
    ] {
        assert!(lesson.contains(part), "{part}: {lesson}");
    }
    let run = world.state().join("runs").join(report["run"].as_str().unwrap());
    let record = json_file(&run.join("run.json"));
    assert_eq!((&record["manner"], &record["status"]), (&json!("skill"), &json!("success")));
    // It can be tested again, and counts as changed once it was edited.
    let tested = world.marvin(["skills", "test", "count-words", "--json"]).run().exits(0).json();
    assert_eq!((&tested["ok"], &tested["passed"]), (&json!(true), &json!(1)));
    world.write(".marvin/skills/count-words/scripts/count.py", WRONG_CODE);
    let tested = world.marvin(["skills", "test", "count-words"]).run().exits(3);
    assert!(tested.text().contains("its tests do not pass"), "{}", tested.text());
    assert_eq!(
        find(&listed(&world), "refused", "count-words")["reason"],
        "it changed since it was registered"
    );
    // A name is taken once.
    let again = build(&world, &[end("SUCCESS")], &[]).exits(2);
    assert!(again.message().contains("exists already"), "{}", again.message());
}

#[test]
fn a_refused_draft_is_told_and_fixed() {
    let world = world();
    let mut script =
        write(&[("SKILL.md", &front("")), ("scripts/count.py", WRONG_CODE), ("tests/test_count.py", TESTS)]);
    let patch = "--- a/skill-draft/count-words/scripts/count.py\n+++ b/skill-draft/count-words/scripts/count.py\n@@ -1 +1,2 @@\n-print(7)\n+import sys\n+print(len(sys.argv[1].split()))\n";
    let mut fix = call("apply_patch", json!({"patch": patch}));
    fix["when"] = json!({"contains": "It was refused: its tests do not pass"});
    script.extend([fix, end("SUCCESS")]);
    let report = build(&world, &script, &[]).exits(0).json();
    assert_eq!((&report["status"], &report["attempts"]), (&json!("registered"), &json!(2)));
}

/// Drafts that must not be registered, with a part of the reason.
#[test]
fn what_is_not_proved_stays_a_candidate() {
    let good = front("");
    let other = front("").replace("it was counted by hand", "because");
    let cases: [(&str, &[(&str, &str)]); 6] = [
        ("the agent wrote no directory", &[]),
        ("has no tests", &[("SKILL.md", &good), ("scripts/count.py", CODE)]),
        (
            "do not pass",
            &[("SKILL.md", &good), ("scripts/count.py", WRONG_CODE), ("tests/test_count.py", TESTS)],
        ),
        (
            "pass without its code",
            &[("SKILL.md", &good), ("scripts/count.py", CODE), ("tests/test_count.py", EMPTY_TESTS)],
        ),
        ("must have `marvin-justification", &[("SKILL.md", &other), ("tests/test_count.py", TESTS)]),
        ("front matter", &[("SKILL.md", "# no front matter\n"), ("tests/test_count.py", TESTS)]),
    ];
    for (reason, files) in cases {
        let world = world();
        let mut script = write(files);
        script.extend([end("SUCCESS"), end("SUCCESS")]);
        let report = build(&world, &script, &[]).exits(3).json();
        assert_eq!(report["status"], "candidate", "{reason}");
        assert_eq!(report["attempts"], 2, "the second changed nothing: {reason}");
        let refused = report["refused"].as_str().unwrap();
        assert!(refused.contains(reason), "{reason}: {report:#}");
        assert!(reason != "do not pass" || refused.contains("AssertionError: '7' != '3'"), "{refused}");
        assert_untouched(&world);
        let found = listed(&world);
        assert!(found["candidates"][0]["reason"].as_str().unwrap().contains(reason), "{found:#}");
        if files.is_empty() {
            assert_eq!(report["directory"], serde_json::Value::Null, "no path of what does not exist");
            assert_eq!(found["candidates"][0]["directory"], serde_json::Value::Null);
        } else {
            let kept = std::path::PathBuf::from(report["directory"].as_str().unwrap());
            assert!(kept.starts_with(world.state()), "{}", kept.display());
            assert_eq!(files_below(&kept).len(), files.len(), "{reason}");
        }
        let shown = world.marvin(["skills", "show", "count-words"]).run().exits(0);
        assert!(shown.text().contains("a candidate, not registered"), "{}", shown.text());
        if reason == "do not pass" {
            let tested = world.marvin(["skills", "test", "count-words"]).run().exits(3);
            assert!(tested.text().contains("not proved"), "{}", tested.whole());
        }
        world.person(["skills", "remove", "count-words"]).run().exits(0);
        assert_eq!(listed(&world)["candidates"], json!([]), "{reason}");
        assert!(!world.state().join("memory/lessons").exists(), "no lesson without a skill");
    }
}

#[test]
fn what_cannot_be_built_is_refused_before_anything_runs() {
    let world = world();
    let words = |name: &str, tools: &str, from: &str| {
        world
            .marvin([
                "build-skill",
                "--name",
                name,
                "--purpose",
                "p",
                "--contract",
                "c",
                "--justification",
                "j",
            ])
            .args(["--tools", tools, "--from-run", from, "--provider", "mock"])
            .run()
            .exits(2)
            .message()
    };
    assert!(words("Bad Name", "read_file", "x").contains("is not a name"));
    assert!(words("good", "fly", "x").contains("do not exist: fly"));
    assert!(words("planner", "read_file", "x").contains("is called `planner` already (built-in)"));
    assert!(words("good", "read_file", "run_x").contains("cannot find the run"));
    assert!(world.runs().is_empty());
    // An agent does not build skills in the person's name.
    let words = ["build-skill", "--name", "a", "--purpose", "p", "--contract", "c", "--justification", "j"];
    world.marvin(words).env("CLAUDECODE", "1").run().exits(5);
}

/// A draft that leads out of the worktree would bring files of the person into the project.
#[test]
fn links_in_a_draft_are_refused() {
    if !commands_run(&World::new()) {
        return;
    }
    for (line, refused) in [
        ("ln -s {home}/private/notes.txt skill-draft/count-words/notes.md", "`notes.md` is a link"),
        (
            "mv skill-draft/count-words skill-draft/old && ln -s {home}/private skill-draft/count-words",
            "`skill-draft/count-words` is a link",
        ),
    ] {
        let world = world();
        let secret = crate::support::put(&world.home().join("private/notes.txt"), "the person's own")
            .display()
            .to_string();
        let line = line.replace("{home}", &world.home().display().to_string());
        let mut script = good();
        script.insert(3, call("run_command", json!({"command": line})));
        script.extend([end("SUCCESS"), end("SUCCESS")]);
        let report = build(&world, &script, &[]).exits(3).json();
        assert!(report["refused"].as_str().unwrap().contains(refused), "{report:#}");
        assert_untouched(&world);
        for file in files_below(&world.state())
            .iter()
            .filter(|file| file.starts_with(world.state().join("skill-record")))
        {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            assert!(!text.contains("the person's own"), "{} has the content of {secret}", file.display());
        }
    }
}

#[test]
fn the_next_build_cleans_up_after_a_killed_one() {
    let world = world();
    let slow = json!({"reply": {"json": {"status": "SUCCESS", "summary": "slow"}}, "delay_ms": 600_000});
    let mut script = write(&[("SKILL.md", &front("")), ("scripts/count.py", CODE)]);
    script.pop();
    script.push(slow);
    let running = start(&world, &script, &[]);
    let worktrees = world.project().join(".marvin/worktrees");
    until("the draft is written", || {
        files_below(&worktrees).iter().any(|file| file.ends_with("count-words/scripts/count.py"))
    });
    let run = world.run();
    assert_eq!(runs(&world)[0]["status"], "RUNNING");
    running.signal(rustix::process::Signal::KILL);
    running.end();
    assert_eq!(runs(&world)[0]["status"], "BROKEN_OFF");
    assert_eq!(git(&world.project(), &["worktree", "list"]).lines().count(), 2);

    let report = build(&world, &good(), &[]).exits(0);
    assert!(report.stderr.contains("was killed; its draft is kept as a candidate"), "{}", report.stderr);
    assert_eq!(report.json()["status"], "registered");
    assert_eq!(git(&world.project(), &["worktree", "list"]).lines().count(), 1);
    assert!(files_below(&worktrees).iter().all(|file| file.ends_with(".gitignore")));
    assert_eq!(json_file(&run.join("run.json"))["status"], "interrupted");
    let found = listed(&world);
    let candidate = &found["candidates"][0];
    assert_eq!(candidate["run"], run.file_name().unwrap().to_str().unwrap());
    assert!(candidate["reason"].as_str().unwrap().contains("was killed"), "{candidate:#}");
    let kept = std::path::PathBuf::from(candidate["directory"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(kept.join("scripts/count.py")).unwrap(), CODE);
}

#[test]
fn a_build_that_is_running_is_left_alone() {
    let world = world();
    let slow = json!({"reply": {"json": {"status": "SUCCESS", "summary": "slow"}}, "delay_ms": 600_000});
    let running = start_named(&world, "another", &[slow], &[]);
    until("the worktree exists", || git(&world.project(), &["worktree", "list"]).lines().count() == 2);
    build(&world, &good(), &[]).exits(0);
    assert_eq!(git(&world.project(), &["worktree", "list"]).lines().count(), 2);
    running.signal(rustix::process::Signal::INT);
    running.end().exits(130);
    assert_eq!(
        git(&world.project(), &["worktree", "list"]).lines().count(),
        1,
        "an interrupted build cleans up itself"
    );
}

/// However a build is killed, no skill is in place that was not registered, and the next build succeeds.
#[test]
fn a_killed_build_leaves_nothing_unproved() {
    let script = good();
    let whole = world();
    let begun = std::time::Instant::now();
    build(&whole, &script, &[]).exits(0);
    let length = begun.elapsed();
    for part in 1..=6 {
        let world = world();
        let running = start(&world, &script, &[]);
        std::thread::sleep(length.mul_f64(f64::from(part) / 6.0));
        running.signal(rustix::process::Signal::KILL);
        running.end();
        let found = listed(&world);
        let skill = find(&found, "skills", "count-words");
        if skill.is_null() {
            build(&world, &script, &[]).exits(0);
        } else {
            assert!(skill["registration"].is_object(), "part {part}: {skill:#}");
        }
        assert!(find(&listed(&world), "skills", "count-words")["registration"].is_object(), "part {part}");
    }
}
