//! `marvin commitments` and `marvin verify`: false claims are never verified, and true ones are.

mod lies;
mod trouble;

use crate::support::{ProgramOutput, World, commands_run, ledger, put, until};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const DOCUMENT: &str = "agents/project.md";

/// An executable script of the project.
fn script(world: &World, name: &str, body: &str) {
    let path = world.write(name, &format!("#!/bin/bash\n{body}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn add(world: &World, assertion: &str, more: &[&str]) -> String {
    let ended = world.marvin(["commitments", "add", assertion, "--json"]).args(more).run().exits(0);
    ended.json()["id"].as_str().unwrap().to_string()
}

fn refused(world: &World, assertion: &str) -> String {
    let ended = world.marvin(["commitments", "add", assertion]).run().exits(2);
    assert!(ended.text().is_empty(), "{}", ended.whole());
    ended.message()
}

fn verified(world: &World) -> Value {
    let report = world.marvin(["verify", "--json"]).run().exits(0).quiet().json();
    assert_eq!(report["verified"], true, "{report:#}");
    report
}

fn not_verified(world: &World) -> Value {
    let report = world.marvin(["verify", "--json"]).run().exits(3).quiet().json();
    assert_eq!(report["verified"], false, "{report:#}");
    report
}

/// Status and reason of the only commitment.
fn outcome(report: &Value) -> (String, String) {
    let all = report["commitments"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{report:#}");
    let text = |key: &str| all[0][key].as_str().unwrap_or_default().to_string();
    (text("status"), text("reason"))
}

/// Fails unless the only commitment has this status for this reason.
fn stands(world: &World, status: &str, why: &str) -> Value {
    let report = not_verified(world);
    let (found, reason) = outcome(&report);
    assert!(found == status && reason.contains(why), "{status}, {why}: {report:#}");
    report
}

fn edit(world: &World, from: &str, to: &str) {
    let text = world.read_state(DOCUMENT);
    assert!(text.contains(from), "{text}");
    world.write_state(DOCUMENT, &text.replace(from, to));
}

/// Writes a commitments file without the program.
fn by_hand(world: &World, assertion: &str) {
    let item = json!({"id": "c-1", "kind": "shell", "assertion": assertion});
    world.write_state(DOCUMENT, &format!("---\ncommitments:\n  - {item}\n---\n"));
}

// ---- adding commitments ---------------------------------------------------------------------------------------------

#[test]
fn vacuous_commitments_are_refused_with_a_hint_and_nothing_is_written() {
    let world = World::new();
    for (assertion, says) in [
        ("shell:", "empty"),
        ("shell:true", "cannot fail"),
        ("shell:exit 0", "not part of assertions"),
        ("shell:echo ok", "cannot fail"),
        ("shell:pytest || true", "leave `|| true` out"),
        ("shell:pytest || exit 0", "masks the exit code"),
        ("shell:pytest; true", "followed by"),
        ("shell:pytest; echo done", "followed by"),
        ("shell:pytest &", "background"),
        ("shell:exit 0; pytest", "not part of assertions"),
        ("shell:trap 'exit 0' EXIT; pytest", "trap"),
        ("shell:f() { pytest || true; }; f", "defines a function"),
        ("shell:bash -c 'pytest || true'", "|| true"),
        ("shell:bash -c 'pytest | tee log'", "pipefail"),
        ("shell:if pytest; then echo ok; fi", "is a branch"),
        ("shell:for t in a b; do pytest $t; done", "is a loop"),
        ("shell:set -n; pytest", "sets an option"),
        ("shell:! false", "not part of assertions"),
        ("shell:[ 1 = 1 ]", "fixed texts"),
        ("shell:pytest 'unclosed", "cannot be parsed"),
        ("file_exists:.", "always there"),
        ("file_contains:a.txt: ", "the empty text"),
        ("json_equals:a.json: /x = y", "not JSON"),
        ("tests_pass:jest", "unknown runner"),
        ("tests_pass:command make test || true", "|| true"),
        ("magic:x", "unknown kind"),
        ("pytest", "names no kind"),
    ] {
        let message = refused(&world, assertion);
        assert!(message.contains(says) && message.contains("hint: "), "{assertion}: {message}");
    }
    world.marvin(["commitments", "add", "shell:pytest > /etc/passwd"]).run().exits(5);
    world.marvin(["commitments", "add", "shell:pytest", "--timeout", "0"]).run().exits(2);
    world.marvin(["commitments", "add", "shell:pytest", "--agent", "../x"]).run().exits(1);
    world.marvin(["commitments", "add", "shell:pytest", "--oracle", "missing"]).run().exits(2);
    world
        .marvin(["commitments", "add", "shell:./x sk-ant-api03-abcdefghijklmnopqrstuvwxyz012345"])
        .run()
        .exits(2);
    assert!(!world.state().join(DOCUMENT).exists());
}

#[test]
fn a_commitment_is_added_listed_and_dropped_by_a_person() {
    let world = World::new();
    world.write("tests/a.txt", "a");
    let id = add(
        &world,
        "shell:./check.sh",
        &["--description", "it: works #1", "--oracle", "tests", "--timeout", "7"],
    );
    assert_eq!(
        add(&world, "shell:./check.sh", &["--oracle", "tests", "--timeout", "7"]),
        id,
        "the same again is known"
    );
    let text = world.read_state(DOCUMENT);
    assert!(text.starts_with("---\ncommitments:\n  - {\"id\":"), "{text}");
    assert!(text.contains("- ⏳ **it: works #1**\n  - Assertion: `shell: ./check.sh`\n"), "{text}");
    let inner = world.project().join("deep/er");
    fs::create_dir_all(&inner).unwrap();
    let listed = world.marvin(["commitments", "list", "--json"]).directory(&inner).run().exits(0).json();
    let one = &listed["commitments"][0];
    assert_eq!(
        (&one["id"], &one["timeout_s"], &one["status"], &one["source"]),
        (&json!(id), &json!(7), &json!("pending"), &json!("parent"))
    );
    assert_eq!(one["oracles"][0]["path"], "tests");
    // Without a terminal nothing can be confirmed.
    for word in ["drop", "rehash"] {
        let message = world.person(["commitments", word, &id]).run().exits(4).message();
        assert!(message.contains("--yes"), "{message}");
        let message = world.marvin(["commitments", word, &id, "--yes"]).run().exits(4).message();
        assert!(message.contains("no controlling terminal"), "{message}");
        let gate = world
            .marvin(["gate", "explain", "--json", &format!("marvin commitments {word} {id} --yes")])
            .run()
            .json();
        assert_eq!(
            (&gate["verdict"], &gate["rule"]),
            (&json!("deny"), &json!("gate.own")),
            "an agent may not"
        );
    }
    world.person(["commitments", "drop", "c-none", "--yes"]).run().exits(2);
    world.person(["commitments", "drop", &id, "--yes"]).run().exits(0);
    assert!(world.marvin(["verify"]).run().exits(0).text().contains("nothing to verify"));
    let kinds: Vec<Value> = ledger(&world.state().join("agents/commitments.jsonl"))
        .iter()
        .map(|entry| entry["type"].clone())
        .collect();
    assert_eq!(kinds, ["added", "dropped"]);
}

// ---- honest work ----------------------------------------------------------------------------------------------------

#[test]
fn commitments_that_hold_are_verified() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    script(&world, "slow.sh", "sleep 2; echo done");
    script(&world, "no-network.sh", &format!("! (exec 3<>/dev/tcp/127.0.0.1/{port}) 2> /dev/null"));
    script(&world, "reads.sh", "if read -r line; then exit 1; fi; exit 0");
    script(
        &world,
        "writes.sh",
        "t=$(mktemp) && echo x > \"$t\" && mkdir -p out && echo y > out/a && rm -r out \"$t\"",
    );
    script(&world, "noisy.sh", "seq 700000; echo the end");
    script(&world, "many.sh", "for i in $(seq 40); do sleep 0.1 & done; wait; exit 0");
    script(&world, "environment.sh", "test -z \"$BASH_ENV$GIT_DIR$MY_API_KEY\"");
    world.write("letters.txt", "b\na\n");
    world.write("numbers.txt", "1\n2\n");
    script(&world, "unit.sh", "printf 'Ran 3 tests in 0.1s\\n\\nOK\\n'");
    world.write("wörter/grün.txt", "drei kleine ‘Wörter’\n");
    world.write("a.json", r#"{"version": "1.2.0", "n": 1.0, "list": [{"a/b": null}]}"#);
    let empty: [&str; 0] = [];
    for (assertion, more) in [
        ("shell:./slow.sh", &["--timeout", "20"][..]),
        ("shell:./no-network.sh", &empty),
        ("shell:./reads.sh", &empty),
        ("shell:./writes.sh", &empty),
        ("shell:./noisy.sh", &empty),
        ("shell:./many.sh", &empty),
        ("shell:cat wörter/*.txt | grep -o 'kleine' | wc -l | grep -qx 1", &empty),
        ("shell:test \"$(cat \"wörter/grün.txt\")\" = 'drei kleine ‘Wörter’'", &["--oracle", "wörter"]),
        ("shell:set -e\ncd wörter\nls | grep -q grün\n! grep -q blau grün.txt", &empty),
        ("shell:[ \"$(sort letters.txt | head -1)\" = a ] && echo '|| true'", &empty),
        ("shell:diff <(printf '1\\n2\\n') numbers.txt", &empty),
        ("shell:./environment.sh", &empty),
        ("shell:[ \"$(grep -c version a.json)\" -gt 0 ]", &empty),
        ("shell:find . -name '*.orig' | grep . && exit 1 || exit 0", &empty),
        ("shell:test -x slow.sh || exit 1", &empty),
        ("file_exists:wörter/grün.txt", &empty),
        ("file_exists:wörter/", &empty),
        ("file_contains:wörter/grün.txt: ‘Wörter’", &empty),
        ("json_equals:a.json: /version = \"1.2.0\"", &empty),
        ("json_equals:a.json: /n = 1", &empty),
        ("json_equals:a.json: /list/0 = {\"a/b\": null}", &empty),
        ("json_equals:{\"path\":\"a.json\",\"pointer\":\"/list/0/a~1b\",\"value\":null}", &empty),
        ("tests_pass:command ./unit.sh", &empty),
    ] {
        add(&world, assertion, more);
    }
    add(&world, "shell:test -f a.json", &["--agent", "gandalf"]);
    let started = Instant::now();
    let marvin = || {
        world
            .marvin(["verify", "--json"])
            .env("BASH_ENV", "/nowhere/liar")
            .env("GIT_DIR", "x")
            .env("MY_API_KEY", "hunter2hunter2")
    };
    let report = marvin().run().exits(0).json();
    assert_eq!((&report["verified"], &report["passed"]), (&json!(true), &json!(24)), "{report:#}");
    assert!(started.elapsed() >= Duration::from_secs(2), "all are run");
    let all = report["commitments"].as_array().unwrap();
    let noisy = all.iter().find(|one| one["assertion"] == "./noisy.sh").unwrap();
    let noisy = noisy["evidence"].as_str().unwrap();
    assert!(noisy.len() < 2_500 && noisy.contains("the end") && noisy.contains("cut here"), "{noisy}");
    // Every check runs again every time.
    let started = Instant::now();
    let ended = world.marvin(["verify"]).run().exits(0).quiet();
    assert!(started.elapsed() >= Duration::from_secs(2));
    assert_eq!(
        ended.text().lines().filter(|line| line.starts_with("passed ")).count(),
        24,
        "{}",
        ended.whole()
    );
    assert!(ended.text().ends_with("verified: 24 of 24 passed\n"), "{}", ended.whole());
    let one = add(&world, "shell:test -f a.json && test -d wörter", &[]);
    let report = world.marvin(["commitments", "verify", &one, "--json"]).run().exits(0).json();
    assert_eq!(report["commitments"].as_array().unwrap().len(), 1);
}

#[test]
fn a_commitment_is_verified_once_the_work_is_done() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    script(&world, "check.sh", "test -f done.txt || { echo 'done.txt is missing'; exit 1; }");
    add(&world, "shell:./check.sh", &["--description", "the file is there"]);
    for _ in 0..2 {
        // A second claim does not make it true.
        let report = stands(&world, "failed", "exit code 1");
        assert!(report["commitments"][0]["evidence"].as_str().unwrap().contains("done.txt is missing"));
    }
    let text = world.marvin(["verify"]).run().exits(3).quiet();
    for part in [
        "failed         c-",
        "the file is there",
        "  shell: ./check.sh\n",
        "  | done.txt is missing\n",
        "not verified: 0 of 1 passed, 1 failed\n",
    ] {
        assert!(text.text().contains(part), "{part}: {}", text.whole());
    }
    assert!(world.read_state(DOCUMENT).contains("- ❌ **the file is there**"));
    world.write("done.txt", "");
    verified(&world);
    let document = world.read_state(DOCUMENT);
    assert!(
        document.contains("- ✅ **the file is there**") && document.contains("\"status\":\"passed\""),
        "{document}"
    );
}

/// A check of where Python looks for bytecode, in a directory that it can write and in one that it cannot.
const BYTECODE_TEST: &str = r#"
import json.tool, os, unittest
import work

class Places(unittest.TestCase):
    def test_the_work_has_none(self):
        self.assertFalse(os.path.exists(work.__spec__.cached))

    def test_what_is_installed_has_its_own(self):
        place = os.path.dirname(json.__file__)
        beside = os.path.dirname(json.tool.__spec__.cached) == os.path.join(place, "__pycache__")
        self.assertEqual(beside, not os.access(place, os.W_OK))
"#;

#[test]
fn python_loads_bytecode_of_its_installation_and_none_of_the_work() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    world.write("work.py", "");
    world.write("test_places.py", BYTECODE_TEST);
    add(&world, "tests_pass:command python3 -m unittest test_places", &[]);
    let mut compiler = Command::new("python3");
    compiler.args(["-m", "compileall", "-q", "."]).current_dir(world.project());
    assert!(compiler.status().unwrap().success());
    verified(&world);
}
