//! Real test runners on small projects. `cargo xtask test` installs pytest and passes its path (`MARVIN_TEST_PYTHON`); tests of
//! missing runners print that they are skipped.

use crate::support::Fixture;
use serde_json::{Value, json};
use std::process::Command;

/// The data of a test run, which need not have succeeded.
async fn tests(fixture: &Fixture, arguments: Value) -> (bool, Value, String) {
    let called = fixture.call("run_tests", arguments).await;
    let schema = fixture.toolbox.find("run_tests").unwrap().data_schema();
    let wrong = jsonschema::validate(&schema, &called.result.data).err();
    assert!(wrong.is_none(), "{wrong:?} in {}: {}", called.result.data, called.result.for_model());
    (called.result.ok, called.result.data.clone(), called.result.for_model())
}

fn figures(data: &Value) -> Vec<Value> {
    ["passed", "failed", "skipped", "errors", "collected"].iter().map(|name| data[name].clone()).collect()
}

#[track_caller]
fn counted(data: &Value, expected: [u64; 5]) {
    assert_eq!(figures(data), expected.map(Value::from), "{data}");
}

fn runs(program: &str, words: &[&str]) -> bool {
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

#[expect(clippy::print_stderr, reason = "what is not tested must be seen")]
fn skipped(what: &str) {
    eprintln!("SKIPPED: {what}");
}

/// A project with the Python that has pytest.
fn python() -> Option<Fixture> {
    let fixture = Fixture::new();
    match std::env::var_os("MARVIN_TEST_PYTHON") {
        Some(directory) => std::os::unix::fs::symlink(directory, fixture.root.join(".venv")).unwrap(),
        None if runs("python3", &["-m", "pytest", "--version"]) => {}
        None => {
            skipped("nothing of pytest was tested: there is none (cargo xtask test installs it)");
            return None;
        }
    }
    Some(fixture)
}

#[tokio::test]
async fn pytest_is_counted_by_its_report_whatever_tests_print() {
    let Some(fixture) = python() else { return };
    fixture.write(
        "tests/test_a.py",
        "import pytest, sys\n\
         def test_ok():\n    print('==== 99 passed in 0.1s ====', file=sys.__stdout__)\n\
         def test_bad():\n    print('5 passed in 0.1s')\n    assert 1 == 2\n\
         class TestX:\n    @pytest.mark.parametrize('a', [1, '<x & y>'])\n    def test_m(self, a): assert a == 1\n\
         @pytest.mark.skip\ndef test_s(): pass\n\
         @pytest.fixture\ndef broken(): raise ValueError('setup')\n\
         def test_e(broken): pass\n\
         def test_network():\n    import socket\n    with pytest.raises(OSError): socket.create_connection(('192.0.2.1', 80), 2)\n",
    );
    let (ok, data, text) = tests(&fixture, json!({})).await;
    assert!(!ok, "{text}");
    counted(&data, [3, 2, 1, 1, 7]);
    assert_eq!(
        (&data["runner"], &data["report"], &data["exit_code"]),
        (&json!("pytest"), &json!("junit"), &json!(1))
    );
    assert_eq!(data["command"], "python3 -m pytest");
    assert_eq!(
        data["failing_tests"],
        json!([
            "tests/test_a.py::test_bad",
            "tests/test_a.py::TestX::test_m[<x & y>]",
            "tests/test_a.py::test_e"
        ])
    );
    assert!(text.contains("assert 1 == 2") && text.contains("2 failed"), "{text}");
    // The report is outside the workspace.
    let status = std::fs::read_dir(&fixture.root).unwrap().flatten().map(|entry| entry.file_name());
    assert!(!status.into_iter().any(|name| name.to_string_lossy().contains("report")));

    let (ok, data, text) =
        tests(&fixture, json!({"runner": "pytest", "args": ["-k", "test_ok or test_s"]})).await;
    assert!(ok, "{text}");
    counted(&data, [1, 0, 1, 0, 2]);
    // The alias of pytest means pytest whatever else is in the project.
    fixture.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let called = fixture.call("pytest.run", json!({"args": ["tests/test_a.py::test_ok"]})).await;
    assert!(called.result.ok && called.tool == "run_tests", "{}", called.result.for_model());
    counted(&called.result.data, [1, 0, 0, 0, 1]);
}

#[tokio::test]
async fn pytest_without_tests_with_a_broken_file_and_too_slow() {
    let Some(fixture) = python() else { return };
    fixture.write("tests/test_a.py", "def helper(): pass\n");
    let (ok, data, text) = tests(&fixture, json!({})).await;
    assert!(!ok && text.contains("no test was executed"), "{text}");
    counted(&data, [0, 0, 0, 0, 0]);
    fixture.write("tests/test_a.py", "import pytest\n@pytest.mark.skip\ndef test_s(): pass\n");
    let (ok, data, text) = tests(&fixture, json!({})).await;
    assert!(!ok && text.contains("1 skipped"), "{text}");
    counted(&data, [0, 0, 1, 0, 1]);
    fixture.write("tests/test_b.py", "import no_such_module\n");
    let (ok, data, text) = tests(&fixture, json!({})).await;
    assert!(!ok && text.contains("no_such_module"), "{text}");
    counted(&data, [0, 0, 0, 1, 1]);
    assert_eq!(data["failing_tests"], json!(["tests/test_b.py"]));
    std::fs::remove_file(fixture.root.join("tests/test_b.py")).unwrap();
    fixture.write("tests/test_a.py", "import time\ndef test_slow(): time.sleep(60)\n");
    let (ok, data, text) = tests(&fixture, json!({"timeout": 3})).await;
    assert!(!ok && text.contains("not done after 3 s"), "{text}");
    assert_eq!(
        (&data["timed_out"], &data["passed"], &data["exit_code"]),
        (&json!(true), &Value::Null, &Value::Null)
    );
    // A test that ends the whole process, with output that looks like success: without a report nothing is proved.
    fixture.write(
        "tests/test_a.py",
        "import os\ndef test_a(): assert True\ndef test_b():\n    os.write(1, b'\\n5 passed in 0.1s\\n')\n    os._exit(0)\n\
         def test_c(): assert False\n",
    );
    let (ok, data, text) = tests(&fixture, json!({"args": ["-s"]})).await;
    assert!(!ok && text.contains("no test was executed"), "{text}");
    assert_eq!((&data["exit_code"], &data["passed"]), (&json!(0), &json!(0)));
    for words in [vec!["--collect-only"], vec!["--setup-plan"], vec!["--version"], vec!["--help"]] {
        let (ok, _, text) = tests(&fixture, json!({"runner": "pytest", "args": words})).await;
        assert!(!ok, "{text}");
    }
    // Paths outside are refused by the gate, and the report option is Marvin's own.
    assert!(fixture.bad("run_tests", json!({"runner": "pytest", "args": ["/etc"]})).await.contains("`/etc`"));
    assert!(
        fixture
            .bad("run_tests", json!({"runner": "pytest", "args": ["--junitxml=x"]}))
            .await
            .contains("leave")
    );
}

#[tokio::test]
async fn cargo_is_counted_over_all_its_test_programs() {
    if !runs("cargo", &["--version"]) {
        return skipped("nothing of cargo was tested: there is none");
    }
    let fixture = Fixture::new();
    fixture.write("Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    fixture.write(
        "src/lib.rs",
        "/// ```\n/// assert_eq!(tiny::one(), 1);\n/// ```\npub fn one() -> u8 { 1 }\n\
         #[cfg(test)]\nmod tests {\n    #[test]\n    fn good() {}\n    #[test]\n    #[ignore]\n    fn slow() {}\n    \
         #[test]\n    fn bad() {\n        println!(\"running 5 tests\\ntest fake ... ok\");\n        println!(\"test result: ok. 3 \
         passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\");\n        assert_eq!(super::one(), 2);\n    \
         }\n}\n",
    );
    fixture.write(
        "tests/more.rs",
        "#[test]\nfn outer() {}\n#[test]\n#[should_panic]\nfn panics() { panic!() }\n",
    );
    let (ok, data, text) = tests(&fixture, json!({})).await;
    assert!(!ok, "{text}");
    counted(&data, [4, 1, 1, 0, 6]);
    assert_eq!(
        (&data["runner"], &data["failing_tests"]),
        (&json!("cargo"), &json!(["tests::bad"])),
        "{text}"
    );
    let (ok, data, text) = tests(&fixture, json!({"runner": "cargo", "args": ["--test", "more"]})).await;
    assert!(ok, "{text}");
    counted(&data, [2, 0, 0, 0, 2]);
    let (ok, data, text) =
        tests(&fixture, json!({"runner": "cargo", "args": ["nothing_of_this_name"]})).await;
    assert!(!ok && text.contains("no test was executed"), "{text}");
    counted(&data, [0, 0, 0, 0, 0]);
    fixture.write("src/lib.rs", "this is not Rust\n");
    let (ok, _, text) = tests(&fixture, json!({})).await;
    assert!(!ok && text.contains("no test was executed") && text.contains("error"), "{text}");
}

#[tokio::test]
async fn node_is_counted_by_its_report() {
    if !runs("node", &["--version"]) {
        return skipped("nothing of node was tested: there is none");
    }
    let fixture = Fixture::new();
    fixture.write("package.json", "{\"scripts\": {\"test\": \"node --test\"}}\n");
    fixture.write(
        "test/a.test.js",
        "const {test, describe, it} = require('node:test'); const assert = require('node:assert');\n\
         test('good', () => { console.log('# pass 100'); console.log('not ok 9 - fake'); });\n\
         test('bad', () => { assert.equal(1, 2); });\n\
         test('later', {skip: true}, () => {});\n\
         describe('suite', () => { it('inner', () => { throw new Error('no'); }); });\n",
    );
    let (ok, data, text) = tests(&fixture, json!({})).await;
    assert!(!ok, "{text}");
    counted(&data, [1, 2, 1, 0, 4]);
    assert_eq!((&data["runner"], &data["report"]), (&json!("node"), &json!("tap")));
    assert_eq!(data["failing_tests"], json!(["bad", "suite > inner"]), "{text}");
    fixture.write("test/a.test.js", "require('node:test').test('good', () => {});\n");
    let (ok, data, text) = tests(&fixture, json!({"runner": "node"})).await;
    assert!(ok, "{text}");
    counted(&data, [1, 0, 0, 0, 1]);
    // A helper is not a test; a file that exits before its tests are done has not passed them.
    fixture.write("test/helper.js", "module.exports = 1;\n");
    let (ok, data, text) = tests(&fixture, json!({"runner": "node"})).await;
    assert!(ok, "{text}");
    counted(&data, [1, 0, 0, 0, 1]);
    fixture.write(
        "test/b.test.js",
        "const {test} = require('node:test');\ntest('a', () => {}); test('b', () => { process.exit(0); });\n\
         test('c', () => { throw new Error('no'); });\n",
    );
    let (ok, data, text) = tests(&fixture, json!({"runner": "node"})).await;
    assert!(!ok && text.contains("b.test.js (it ended before"), "{text}");
    counted(&data, [1, 0, 0, 1, 2]);
    std::fs::remove_file(fixture.root.join("test/b.test.js")).unwrap();
    std::fs::remove_file(fixture.root.join("test/a.test.js")).unwrap();
    let (ok, data, text) = tests(&fixture, json!({"runner": "node"})).await;
    assert!(!ok && text.contains("no test was executed"), "{text}");
    counted(&data, [0, 0, 0, 0, 0]);
    std::fs::remove_dir_all(fixture.root.join("test")).unwrap();
    let (ok, _, text) = tests(&fixture, json!({"runner": "node"})).await;
    assert!(!ok && text.contains("no test was executed"), "{text}");
}

#[tokio::test]
async fn a_script_that_starts_node_is_counted_by_its_output() {
    if !runs("node", &["--version"]) || !runs("npm", &["--version"]) {
        return skipped("no script of npm was tested: node or npm is missing");
    }
    let fixture = Fixture::new();
    for reporter in ["", " --test-reporter=tap", " --test-reporter=spec"] {
        fixture.write(
            "package.json",
            &format!("{{\"scripts\": {{\"test\": \"node --test{reporter} test/*.js\"}}}}\n"),
        );
        fixture.write("test/helper.js", "module.exports = 1;\n");
        fixture.write(
            "test/a.test.js",
            "const {test, describe, it} = require('node:test'); const assert = require('node:assert');\n\
             test('good', () => { console.log('ℹ tests 9\\nℹ pass 9\\n# tests 9\\n# pass 9'); });\n\
             test('bad', () => { assert.equal(1, 2); });\n\
             test('later', {skip: true}, () => {});\n\
             describe('suite', () => { it('inner', () => { throw new Error('no'); }); });\n",
        );
        let (ok, data, text) = tests(&fixture, json!({})).await;
        assert!(!ok && data["command"] == "npm test", "{reporter}: {text}");
        counted(&data, [1, 2, 1, 0, 4]);
        assert_eq!((&data["runner"], &data["report"]), (&json!("command"), &json!("text")));
        assert_eq!(data["failing_tests"], json!(["bad", "suite > inner"]), "{reporter}: {text}");
        fixture.write("test/a.test.js", "require('node:test').test('good', () => {});\n");
        let (ok, data, text) = tests(&fixture, json!({})).await;
        assert!(ok, "{reporter}: {text}");
        counted(&data, [1, 0, 0, 0, 1]);
        // Files alone are not tests, though node counts them.
        fixture.write("test/a.test.js", "process.exit(0);\n");
        let (ok, data, text) = tests(&fixture, json!({})).await;
        assert!(!ok && text.contains("no test was executed"), "{reporter}: {text}");
        counted(&data, [0, 0, 0, 0, 0]);
    }
}

#[test]
fn a_second_node_is_counted_too() {
    marvin_testing::node::repeat_test("testing::node_is_counted_by_its_report");
    marvin_testing::node::repeat_test("testing::a_script_that_starts_node_is_counted_by_its_output");
}

#[tokio::test]
async fn go_is_counted_where_it_is_installed() {
    if !runs("go", &["version"]) {
        return skipped("go was tested only with written reports: there is none");
    }
    let fixture = Fixture::new();
    fixture.write("go.mod", "module example.com/tiny\n\ngo 1.18\n");
    fixture.write(
        "a_test.go",
        "package tiny\nimport \"testing\"\nfunc TestGood(t *testing.T) {}\nfunc TestBad(t *testing.T) { t.Run(\"in\", func(t \
         *testing.T) { t.Fatal(\"no\") }) }\nfunc TestSkip(t *testing.T) { t.Skip() }\n",
    );
    let (ok, data, text) = tests(&fixture, json!({})).await;
    assert!(!ok, "{text}");
    counted(&data, [1, 1, 1, 0, 3]);
    assert_eq!(data["failing_tests"], json!(["example.com/tiny.TestBad/in"]));
}

#[tokio::test]
async fn any_command_counts_by_its_exit_code_and_known_summary_lines() {
    let fixture = Fixture::new();
    fixture.write(
        "Makefile",
        "good:\n\t@echo fine\nbad:\n\t@exit 3\nsays:\n\t@printf '1..2\\nok 1 - a\\nnot ok 2 - b\\n'\n",
    );
    let (ok, data, text) = tests(&fixture, json!({"runner": "command", "command": "make good"})).await;
    assert!(ok, "{text}");
    assert_eq!(
        (&data["passed"], &data["report"], &data["exit_code"]),
        (&Value::Null, &json!("none"), &json!(0))
    );
    let (ok, data, _) = tests(&fixture, json!({"command": "make bad"})).await;
    assert_eq!((ok, &data["runner"]), (false, &json!("command")));
    // Its exit code reports success; its output does not.
    let (ok, data, text) = tests(&fixture, json!({"runner": "command", "command": "make says"})).await;
    assert!(!ok && text.contains("though the exit code is 0"), "{text}");
    counted(&data, [1, 1, 0, 0, 2]);
    // Of two runs the shell keeps one exit code; neither failure is lost, and zero tests are not a success.
    fixture.write(
        "Makefile",
        "two:\n\t@printf '1 failed, 2 passed in 0.1s\\n'; printf '3 passed in 0.1s\\n'\n\
         none:\n\t@echo 'No tests found, exiting with code 0'\n",
    );
    let (ok, data, text) = tests(&fixture, json!({"runner": "command", "command": "make two"})).await;
    assert!(!ok && text.contains("though the exit code is 0"), "{text}");
    counted(&data, [5, 1, 0, 0, 6]);
    std::fs::create_dir(fixture.root.join("test")).unwrap();
    for line in ["make none", "make test"] {
        let (ok, _, text) = tests(&fixture, json!({"runner": "command", "command": line})).await;
        assert!(!ok && text.contains("no test was executed"), "{text}");
    }
    assert!(fixture.bad("run_tests", json!({"runner": "command"})).await.contains("needs `command`"));
    let text = fixture.bad("run_tests", json!({"runner": "pytset"})).await;
    assert!(text.contains("did you mean `pytest`?") && text.contains("`node`, `auto`"), "{text}");
    assert!(fixture.bad("run_tests", json!({"runner": "cargo", "command": "x"})).await.contains("goes with"));
    assert!(fixture.bad("run_tests", json!({})).await.contains("no tests were recognised"));
    // The gate judges the complete line.
    assert!(
        fixture
            .bad("run_tests", json!({"command": "curl http://x"}))
            .await
            .contains("talks to another machine")
    );
    assert!(
        fixture
            .bad("run_tests", json!({"runner": "node", "args": ["--import", "x"]}))
            .await
            .contains("--import")
    );
}
