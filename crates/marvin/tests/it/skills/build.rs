//! `marvin build-skill` and `marvin skills test`: what an agent writes counts when the shell has proved it.

use super::{find, listed};
use crate::support::{ProgramOutput, World, call, files_below, json_file};
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

fn end(status: &str) -> Value {
    json!({"reply": {"json": {"status": status, "summary": "written"}}})
}

fn build(world: &World, script: &[Value], more: &[&str]) -> ProgramOutput {
    let script = world.script(script);
    let words = [
        "build-skill",
        "--name",
        "count-words",
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
    world.marvin(words).args(more).run()
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
    let report = build(
        &world,
        &write(&[("SKILL.md", &front("")), ("scripts/count.py", CODE), ("tests/test_count.py", TESTS)]),
        &[],
    );
    let report = report.exits(0).json();
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
        "fail without its code",
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
        assert!(report["refused"].as_str().unwrap().contains(reason), "{reason}: {report:#}");
        assert_untouched(&world);
        let found = listed(&world);
        assert!(found["candidates"][0]["reason"].as_str().unwrap().contains(reason), "{found:#}");
        let kept = std::path::PathBuf::from(report["directory"].as_str().unwrap());
        assert!(kept.starts_with(world.state()), "{}", kept.display());
        assert_eq!(if files.is_empty() { 0 } else { files_below(&kept).len() }, files.len(), "{reason}");
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
    assert!(words("good", "read_file", "run_x").contains("cannot find the run"));
    assert!(world.runs().is_empty());
    // An agent does not build skills in the person's name.
    let words = ["build-skill", "--name", "a", "--purpose", "p", "--contract", "c", "--justification", "j"];
    world.marvin(words).env("CLAUDECODE", "1").run().exits(5);
}
