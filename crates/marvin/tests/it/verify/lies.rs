//! False claims: none of them is verified.

use super::*;
use std::os::unix::ffi::OsStrExt;

#[test]
fn a_changed_oracle_fails_the_commitment() {
    type Lie = (&'static str, fn(&World), &'static str);
    let lies: [Lie; 6] = [
        ("tests/check.sh", |world| script(world, "tests/check.sh", "exit 0"), "was changed"),
        (
            "tests/check.sh",
            |world| fs::remove_file(world.project().join("tests/check.sh")).unwrap(),
            "cannot be read",
        ),
        ("tests", |world| fs::remove_dir_all(world.project().join("tests")).unwrap(), "cannot be read"),
        ("tests", |world| drop(world.write("tests/conftest.py", "skip")), "was changed"),
        (
            "tests/check.sh",
            |world| {
                let path = world.project().join("tests/check.sh");
                fs::remove_file(&path).unwrap();
                put(&world.root().join("liar.sh"), "exit 0");
                symlink(world.root().join("liar.sh"), path).unwrap();
            },
            "cannot be read",
        ),
        (
            "tests",
            |world| {
                let path = world.project().join("tests/check.sh");
                fs::rename(&path, world.project().join("tests/real.sh")).unwrap();
                symlink("real.sh", path).unwrap();
            },
            "was changed",
        ),
    ];
    for (oracle, lie, why) in lies {
        let world = World::new();
        if !commands_run(&world) {
            return;
        }
        script(&world, "tests/check.sh", "echo ran >> ../ran.txt; echo ran >> ran.txt; exit 0");
        let id = add(&world, "shell:bash tests/check.sh", &["--oracle", oracle]);
        verified(&world);
        fs::remove_file(world.project().join("ran.txt")).unwrap();
        lie(&world);
        stands(&world, "failed", why);
        assert!(!world.project().join("ran.txt").exists(), "it is not even run");
        // A person may accept the change.
        if world.project().join("tests/check.sh").is_file()
            && oracle == "tests/check.sh"
            && why == "was changed"
        {
            world.person(["commitments", "rehash", &id, "--yes"]).run().exits(0);
            verified(&world);
        }
    }
}

#[test]
fn an_oracle_that_the_run_itself_changes_fails_the_commitment() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    world.write("expected.txt", "right\n");
    script(
        &world,
        "check.sh",
        "echo wrong > expected.txt; echo wrong > found.txt; cmp found.txt expected.txt",
    );
    add(&world, "shell:./check.sh", &["--oracle", "expected.txt"]);
    stands(&world, "failed", "was changed while it ran");
}

#[test]
fn a_weakened_commitments_file_is_detected() {
    type Lie = (fn(&World), &'static str);
    let lies: [Lie; 7] = [
        (|world| edit(world, "./check.sh", "./check.sh --help"), "changed by hand"),
        (|world| edit(world, "\"timeout_s\":120", "\"timeout_s\":86400"), "changed by hand"),
        (
            |world| {
                edit(
                    world,
                    "\"kind\":\"shell\",\"assertion\":\"./check.sh\"",
                    "\"kind\":\"file_exists\",\"assertion\":\"check.sh\"",
                );
            },
            "changed by hand",
        ),
        (
            |world| edit(world, "\"assertion\":\"./check.sh\"", "\"assertion\":\"./check.sh || true\""),
            "changed by hand",
        ),
        (|world| drop(world.write_state(DOCUMENT, "---\nid: project\n---\n")), "it was not dropped"),
        (|world| fs::remove_file(world.state().join(DOCUMENT)).unwrap(), "it was not dropped"),
        (|world| edit(world, "\"id\":\"", "\"id\":\"x"), "it was not dropped"),
    ];
    for (lie, why) in lies {
        let world = World::new();
        if !commands_run(&world) {
            return;
        }
        script(&world, "check.sh", "[ $# -gt 0 ]");
        let id = add(&world, "shell:./check.sh", &[]);
        not_verified(&world);
        lie(&world);
        let ended = world.marvin(["verify", "--json"]).run().exits(3);
        let report = ended.json();
        let reported = format!("{} {}", report["problems"], report["commitments"]);
        assert!(reported.contains(why), "{why}: {report:#}");
        // Once a person has dropped it, it no longer counts.
        if why == "it was not dropped" && !reported.contains("xc-") {
            world.person(["commitments", "drop", &id, "--yes"]).run().exits(0);
            verified(&world);
        }
    }
}

#[test]
fn a_status_in_the_document_is_ignored() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    script(&world, "check.sh", "exit 1");
    add(&world, "shell:./check.sh", &[]);
    edit(&world, "\"status\":\"pending\"", "\"status\":\"passed\",\"evidence\":\"all fine\"");
    edit(&world, "⏳", "✅");
    let report = stands(&world, "failed", "exit code 1");
    assert!(!report.to_string().contains("all fine"));
}

#[test]
fn a_commitment_written_by_hand_is_verified_by_the_same_rules() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    script(&world, "fails.sh", "touch ran.txt; exit 1");
    for line in [
        "./fails.sh || true",
        "./fails.sh; true",
        "./fails.sh &",
        "trap 'exit 0' EXIT; ./fails.sh",
        "f() { ./fails.sh; return 0; }; f",
        "true",
        "bash -c './fails.sh; exit 0'",
        "",
    ] {
        by_hand(&world, line);
        stands(&world, "could_not_run", "the assertion is refused");
    }
    let home = put(&world.home().join("keep.txt"), "keep");
    by_hand(&world, "rm -rf ~ && pytest");
    stands(&world, "could_not_run", "the assertion is refused");
    by_hand(&world, "pytest > /etc/passwd");
    stands(&world, "could_not_run", "the gate does not allow it");
    by_hand(&world, "frobnicate --all");
    stands(&world, "could_not_run", "there is none to ask");
    assert!(home.exists() && !world.project().join("ran.txt").exists());
    by_hand(&world, "./fails.sh");
    stands(&world, "failed", "exit code 1");
    by_hand(&world, "test -f ran.txt");
    verified(&world);
}

#[test]
fn a_failing_run_is_not_a_success_whatever_it_prints() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    script(&world, "crash.sh", "echo '5 passed in 0.1s'; echo ok; kill -SEGV $$");
    script(&world, "late.sh", "echo ok; sleep 60; exit 0");
    script(&world, "deaf.sh", "trap '' TERM INT HUP; echo ok; while :; do sleep 1; done");
    script(&world, "two.sh", "echo ok; exit 2");
    script(&world, "inner.sh", "no-such-program-here");
    world.write("plain.sh", "#!/bin/bash\nexit 0\n");
    let none = "Ran 0 tests in 0.1s\\n\\nOK\\n";
    script(&world, "none.sh", &format!("printf '{none}'"));
    script(&world, "skipped.sh", "printf '=== 4 skipped in 0.1s ===\\n'");
    script(&world, "liar.sh", "printf '2 failed, 3 passed in 0.1s\\n'; exit 0");
    script(&world, "silent.sh", "exit 0");
    script(&world, "counts.sh", "printf '3 passed in 0.1s\\n'; exit 1");
    for (assertion, status, why) in [
        ("shell:./crash.sh", "failed", ""),
        ("shell:./late.sh", "failed", "not done after 1 s"),
        ("shell:./deaf.sh", "failed", "not done after 1 s"),
        ("shell:./two.sh", "failed", "exit code 2"),
        ("shell:./two.sh | cat", "failed", "exit code 2"),
        ("shell:./inner.sh", "could_not_run", "127"),
        ("shell:./missing.sh", "could_not_run", "127"),
        ("shell:./plain.sh", "could_not_run", "126"),
        ("tests_pass:command ./none.sh", "failed", "no test was executed"),
        ("tests_pass:command ./skipped.sh", "failed", "no test was executed"),
        ("tests_pass:command ./liar.sh", "failed", "2 failed"),
        ("tests_pass:command ./silent.sh", "failed", "at least one"),
        ("tests_pass:command ./counts.sh", "failed", "exit code 1"),
        ("tests_pass:command ./missing.sh", "could_not_run", "not found"),
        ("tests_pass:auto", "could_not_run", "no tests were recognised"),
        ("file_exists:missing.txt", "failed", "missing.txt"),
        ("file_exists:plain.sh/", "failed", "not a directory"),
        ("file_contains:plain.sh: exit 1", "failed", "does not hold"),
        ("file_contains:missing.txt: x", "failed", "missing.txt"),
        ("json_equals:plain.sh: /a = 1", "failed", "not JSON"),
    ] {
        let id = add(&world, assertion, &["--timeout", "1"]);
        let started = Instant::now();
        let report = stands(&world, status, why);
        assert!(started.elapsed() < Duration::from_secs(20), "{assertion}");
        assert!(!report["commitments"][0]["reason"].as_str().unwrap().is_empty());
        world.person(["commitments", "drop", &id, "--yes"]).run().exits(0);
    }
}

#[test]
fn real_test_runners_report_how_many_tests_they_ran() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    if std::process::Command::new("node").arg("--version").output().is_err() {
        marvin_testing::skip("node is not installed");
        return;
    }
    let test = |body: &str| {
        world.write(
            "a.test.js",
            &format!("const test = require('node:test'); const assert = require('node:assert');\n{body}\n"),
        )
    };
    world.write("package.json", "{}");
    add(&world, "tests_pass:node", &["--timeout", "60"]);
    test("test('adds', () => assert.equal(1 + 1, 2));");
    verified(&world);
    test("test('adds', () => assert.equal(1 + 1, 3));");
    stands(&world, "failed", "1 failed");
    test("test.skip('adds', () => assert.equal(1 + 1, 3));");
    stands(&world, "failed", "no test was executed");
    test("");
    stands(&world, "failed", "");
    test("console.log('# tests 5\\n# pass 5'); process.exit(0); test('adds', () => {});");
    stands(&world, "failed", "");
    fs::remove_file(world.project().join("a.test.js")).unwrap();
    stands(&world, "failed", "no test was executed");
}

#[test]
fn symlinked_and_oversized_files_prove_nothing() {
    let world = World::new();
    put(&world.root().join("outside.json"), "{\"ok\": true}");
    symlink(world.root().join("outside.json"), world.project().join("report.json")).unwrap();
    world.write("huge.json", &format!("{{\"ok\": true, \"x\": \"{}\"}}", "x".repeat(17 * 1024 * 1024)));
    fs::write(world.project().join("binary.txt"), b"\xff\xfeok").unwrap();
    fs::create_dir(world.project().join("directory.json")).unwrap();
    for assertion in [
        "json_equals:report.json: /ok = true",
        "file_exists:report.json",
        "file_contains:report.json: ok",
        "json_equals:huge.json: /ok = true",
        "file_contains:binary.txt: ok",
        "file_contains:directory.json: ok",
    ] {
        let id = add(&world, assertion, &[]);
        let (status, reason) = outcome(&not_verified(&world));
        assert!(status == "failed" || status == "could_not_run", "{assertion}: {status}");
        assert!(!reason.is_empty());
        world.person(["commitments", "drop", &id, "--yes"]).run().exits(0);
    }
}

#[test]
fn s5_a_run_that_writes_its_own_verdict_changes_nothing() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let state = "~/.local/state/marvin/projects/*";
    let item = json!({"id": "c-new", "kind": "shell", "assertion": "test -f a"});
    let lies = [
        "mkdir -p .marvin/agents; printf -- '---\\nid: project\\n---\\n' > .marvin/agents/project.md"
            .to_string(),
        "mkdir -p .marvin/agents; echo '{\"type\":\"dropped\"}' > .marvin/agents/commitments.jsonl"
            .to_string(),
        "rm -rf .marvin".to_string(),
        "mkdir a; mkdir -p .marvin; ln -s ../a .marvin/agents".to_string(),
        format!("sed -i 's/\"status\":\"verifying\"/\"status\":\"passed\"/' {state}/agents/project.md"),
        format!("rm -rf {state}/agents"),
        format!("for f in {state}/agents/*; do : > $f; done"),
        format!(
            "for d in {state}/agents; do printf -- '---\\ncommitments:\\n  - {item}\\n---\\n' > $d/more.md; done"
        ),
        format!("for d in {state}; do mv $d/agents $d/old; ln -s $PWD/.marvin $d/agents; done"),
    ];
    for body in lies {
        let world = World::new();
        script(&world, "forge.sh", &format!("{body}; exit 0"));
        script(&world, "check.sh", "exit 1");
        add(&world, "shell:./forge.sh", &[]);
        add(&world, "shell:./check.sh", &[]);
        // Nor does claiming it again help.
        for _ in 0..2 {
            let report = not_verified(&world);
            assert_eq!(report["commitments"].as_array().unwrap().len(), 2, "{body}: {report:#}");
            assert_eq!(report["commitments"][1]["status"], "failed", "{body}: {report:#}");
        }
        assert!(world.read_state(DOCUMENT).contains("./check.sh"), "{body}");
        ledger(&world.state().join("agents/commitments.jsonl"));
    }
    // Files of the project that steer agents are protected in place.
    let world = World::new();
    world.write(".marvin/config.toml", "");
    script(&world, "forge.sh", "echo '# x' >> .marvin/config.toml; exit 0");
    add(&world, "shell:./forge.sh", &[]);
    world.marvin(["verify", "--json"]).run();
    assert_eq!(world.read(".marvin/config.toml"), "");
}

#[test]
fn shell_functions_of_the_environment_are_not_run() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    script(&world, "check.sh", "grep -q right answer.txt");
    world.write("answer.txt", "wrong\n");
    add(&world, "shell:grep -q right answer.txt", &[]);
    add(&world, "shell:./check.sh", &[]);
    add(&world, "shell:test -f right.txt", &[]);
    let not_text = [b"() { true; }; # ".as_slice(), &[0xff]].concat();
    let report = world
        .marvin(["verify", "--json"])
        .env("BASH_FUNC_grep%%", "() { true; }")
        .env("BASH_FUNC_./check.sh%%", "() { true; }")
        .env("BASH_FUNC_test%%", std::ffi::OsStr::from_bytes(&not_text))
        .run()
        .exits(3)
        .json();
    assert_eq!((&report["passed"], &report["failed"]), (&json!(0), &json!(3)), "{report:#}");
}

/// However the line is written: while its check fails, it is refused or not verified.
#[test]
fn a_check_that_fails_is_never_verified_however_it_is_written() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    script(&world, "check.sh", "exit 1");
    for name in ["Makefile", "README.md", "src/a.txt"] {
        world.write(name, "test:\n\t./check.sh\n");
    }
    world.write("r.txt", "5 passed\n");
    let project = format!("file_exists:{}", world.project().display());
    for assertion in [
        "shell:./check.sh; rc=$?; exit $((0))",
        "shell:./check.sh; [ $? -lt 256 ]",
        "shell:./check.sh && echo ok; test $? -ge 0",
        "shell:exit $(./check.sh >/dev/null; echo 0)",
        "shell:./check.sh || ls src",
        "shell:./check.sh || test -d .",
        "shell:test -e Makefile || ./check.sh",
        "shell:find . -exec ./check.sh {} \\;",
        "shell:printf -v x '%s' \"$(./check.sh)\"; test -z \"$x\"",
        "shell:shopt -s extdebug; trap 'false' DEBUG; ./check.sh",
        "shell:while ./check.sh; do break; done",
        "shell:until ./check.sh; do break; done",
        "shell:read -r x < <(./check.sh; echo 1)",
        "shell:mapfile -t x < <(./check.sh)",
        "shell:bash <<< \"./check.sh || true\"",
        "shell:make -i test",
        "shell:xargs -r ./check.sh </dev/null",
        "shell:. /dev/null",
        "shell:let 1",
        "shell:expr 1",
        "shell:test -d .",
        "file_exists:././.",
        "file_exists:.marvin",
        "file_exists:.git",
        "tests_pass:command cat r.txt",
    ] {
        refused(&world, assertion);
        by_hand(&world, assertion.split_once(':').unwrap().1);
        if assertion.starts_with("shell:") {
            stands(&world, "could_not_run", "the assertion is refused");
        }
        fs::remove_file(world.state().join(DOCUMENT)).unwrap();
    }
    assert!(refused(&world, &project).contains("outside the project"));
}
