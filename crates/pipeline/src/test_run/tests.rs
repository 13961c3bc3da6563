//! Small projects whose tests are run for real: they fail for the right reason, and pass by the runner's own count.
//! Python and Rust are run from end to end by the scripted projects in `crates/marvin/tests/it/pipeline`.

use super::*;
use crate::{failing_tests, oracle::Oracle};
use marvin_agent::ProjectContext;
use marvin_base::environment::Environment;
use std::path::PathBuf;
use std::process::Command;
use tokio_util::sync::CancellationToken;

const DESIGN: &str = "## Files\n- `src/tally.js`, `tally.go`: parse";

/// A project in a directory of its own.
struct Project {
    files: marvin_testing::Project,
    context: ToolContext,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let files = marvin_testing::Project::new(files);
        let (environment, path) = (Environment::from_iter(files.variables()), files.path());
        let project = ProjectContext::find(environment, path.clone(), Some(&path), true, Vec::new()).unwrap();
        let context = project.tool_context(CancellationToken::new(), None);
        Project { files, context }
    }

    fn directory(&self) -> PathBuf {
        self.files.path()
    }

    fn write(&self, path: &str, text: &str) {
        self.files.write(path, text);
    }

    async fn tested(&self) -> TestReport {
        run(&self.context, true).await.unwrap()
    }

    /// Everything that keeps its tests from failing for the right reason.
    async fn wrong(&self) -> String {
        self.wrong_with(&self.tested().await)
    }

    fn wrong_with(&self, tested: &TestReport) -> String {
        let root = self.context.workspace().unwrap().root();
        failing_tests::problems(root, &tested.counts, &tested.text, DESIGN).join("\n")
    }
}

/// Is this program here? Where it is not, that is said.
fn has(program: &str, flag: &str) -> bool {
    let here = Command::new(program).arg(flag).output().is_ok_and(|output| output.status.success());
    if !here {
        eprintln!("SKIPPED: no tests of {program} were run: it is not installed");
    }
    here
}

const MODULE: &str = r#"{"name": "tally", "version": "1.0.0", "type": "module"}"#;
const COMMON: &str = r#"{"name": "tally", "version": "1.0.0"}"#;
const SCRIPT_TEST: &str = "import test from 'node:test';
import assert from 'node:assert/strict';
import { parse } from '../src/tally.js';

test('one line', () => {
  assert.deepEqual(parse('rent,5'), [['rent', 5]]);
});

test('no line', () => {
  assert.deepEqual(parse(''), []);
});
";
const SCRIPT_CODE: &str = "export const parse = (text) =>
  text.split('\\n').filter(Boolean).map((line) => [line.split(',')[0], Number(line.split(',')[1])]);
";

/// A project of node with this in its one test.
fn script(test: &str) -> Project {
    Project::new(&[("package.json", MODULE), ("test/tally.test.js", test)])
}

#[tokio::test]
async fn node_is_red_by_what_is_missing() {
    if !has("node", "--version") {
        return;
    }
    // The module, as it is imported, required, or loaded inside the test.
    let required = SCRIPT_TEST
        .replace("import test from 'node:test'", "const test = require('node:test')")
        .replace("import assert from 'node:assert/strict'", "const assert = require('node:assert/strict')")
        .replace("import { parse } from '../src/tally.js'", "const { parse } = require('../src/tally.js')");
    let inside = "import test from 'node:test';\ntest('one', async () => {\n  const { parse } = await import('../src/tally.js');\n  parse('');\n});\n";
    let named = script(SCRIPT_TEST);
    named.write("src/tally.js", "export const other = 1;\n");
    let answer = "import test from 'node:test';\nimport { spawnSync } from 'node:child_process';\ntest('says it', () => {\n  JSON.parse(spawnSync('node', ['src/cli.js']).stdout.toString());\n});\n";
    for (what, project) in [
        ("imported", script(SCRIPT_TEST)),
        ("required", Project::new(&[("package.json", COMMON), ("test/tally.test.js", &required)])),
        ("inside", script(inside)),
        ("a name of a module that is there", named),
        ("a program", script(answer)),
    ] {
        let tested = project.tested().await;
        assert!(!tested.green && tested.command == "node --test", "{what}: {tested:#?}");
        assert_eq!(project.wrong_with(&tested), "", "{what}: {}", tested.text);
    }
}

#[tokio::test]
async fn node_is_red_for_other_reasons_too() {
    if !has("node", "--version") {
        return;
    }
    let broken = SCRIPT_TEST.replace("parse(''), []", "parse(''), ;");
    let unknown = SCRIPT_TEST
        .replace("import assert from 'node:assert/strict';\n", "")
        .replace("import { parse } from '../src/tally.js';\n", "const parse = () => 1;\n");
    let stranger = SCRIPT_TEST.replace("../src/tally.js", "left-pad");
    let helper = SCRIPT_TEST.replace("../src/tally.js", "./helpers.js");
    let inside = "const { parse } = await import('../src/tally.js');\n  assert";
    let skips = SCRIPT_TEST
        .replace("import { parse } from '../src/tally.js';\n", "\n")
        .replace("() => {\n  assert", &format!("async () => {{\n  {inside}"))
        .replace("test('no line'", "test.skip('no line'");
    let passes = "import test from 'node:test';\ntest('nothing', () => {});\n";
    for (test, why) in [
        (broken.as_str(), "SyntaxError: Unexpected token"),
        (&unknown, "assert is not defined"),
        (&stranger, "`left-pad`, which the design does not name"),
        (&helper, "`test/helpers.js`, which belongs to the tests"),
        (passes, "1 of the tests pass without any code"),
        (&skips, "test/tally.test.js:10 skips a test"),
        (&skips, "1 of the tests are skipped"),
    ] {
        let wrong = script(test).wrong().await;
        assert!(wrong.contains(why), "{why}: {wrong}");
    }
    // Written where node does not look, and not written at all.
    let unseen = Project::new(&[("package.json", MODULE), ("tests/tally.spec.js", SCRIPT_TEST)]);
    let wrong = unseen.wrong().await;
    assert!(
        wrong.contains("ran no test and reports success") && wrong.contains("`tests/tally.spec.js`"),
        "{wrong}"
    );
    let none = Project::new(&[("package.json", MODULE), ("test/README.md", "soon")]);
    assert!(none.wrong().await.contains("no test was written"));
    // One file that is found does not hide one that is not.
    let half = script(SCRIPT_TEST);
    half.write("tests/more.spec.js", SCRIPT_TEST);
    assert!(half.wrong().await.contains("`tests/more.spec.js`"));
    // Tests without a manifest are found by no runner.
    let bare = Project::new(&[("test/tally.test.js", SCRIPT_TEST)]);
    assert!(bare.wrong().await.contains("the tests cannot be run"));
}

#[tokio::test]
async fn node_is_green_by_its_own_count() {
    if !has("node", "--version") {
        return;
    }
    let project = script(SCRIPT_TEST);
    let oracle = Oracle::take(&project.directory());
    project.write("src/tally.js", SCRIPT_CODE);
    let tested = project.tested().await;
    assert!(tested.green && tested.words() == "2 passed, 0 failed, 0 errors", "{tested:#?}");
    assert_eq!(tested.counts["report"], "tap");
    assert_eq!(oracle.changes(&project.directory()), Vec::<String>::new(), "running them changes none");
    // Code that is wrong in one case is red in one test.
    project.write("src/tally.js", &SCRIPT_CODE.replace(".filter(Boolean)", ""));
    let tested = project.tested().await;
    assert!(!tested.green && tested.words() == "1 passed, 1 failed, 0 errors", "{tested:#?}");
    assert_eq!(tested.failing, ["no line"]);
    // Code that ends the process before a test has failed, whatever it prints, makes nothing green.
    project.write(
        "src/tally.js",
        "console.log('# tests 2\\n# pass 2\\n# fail 0');\nprocess.exit(0);\nexport const parse = 1;\n",
    );
    let tested = project.tested().await;
    assert!(!tested.green, "{tested:#?}");
}

#[tokio::test]
async fn a_script_of_the_manifest_runs_the_tests() {
    if !has("node", "--version") || !has("npm", "--version") {
        return;
    }
    let manifest =
        MODULE.replace("\"type\"", "\"scripts\": {\"test\": \"node --test test/*.test.js\"}, \"type\"");
    let project = Project::new(&[("package.json", manifest.as_str()), ("test/tally.test.js", SCRIPT_TEST)]);
    let tested = project.tested().await;
    assert!(!tested.green && tested.command == "npm test", "{tested:#?}");
    assert_eq!(project.wrong_with(&tested), "", "{}", tested.text);
    project.write("src/tally.js", SCRIPT_CODE);
    let tested = project.tested().await;
    assert!(tested.green && tested.words() == "2 passed, 0 failed, 0 errors", "{tested:#?}");
    project.write("test/tally.test.js", &SCRIPT_TEST.replace("parse(''), []", "parse(''), ;"));
    assert!(project.wrong().await.contains("SyntaxError"));
}

#[test]
fn a_second_node_gives_the_same_verdicts() {
    for test in [
        "node_is_red_by_what_is_missing",
        "node_is_red_for_other_reasons_too",
        "node_is_green_by_its_own_count",
        "a_script_of_the_manifest_runs_the_tests",
    ] {
        marvin_testing::node::repeat_test(&format!("test_run::tests::{test}"));
    }
}

const GO_TEST: &str = "package tally

import \"testing\"

func TestOne(t *testing.T) {
\tif got := Parse(\"rent,5\"); got != 5 {
\t\tt.Fatalf(\"got %d\", got)
\t}
}
";

fn go(test: &str) -> Project {
    Project::new(&[("go.mod", "module tally\n\ngo 1.20\n"), ("tally_test.go", test)])
}

#[tokio::test]
async fn go_is_red_for_the_right_reason_or_not_and_green_by_its_own_count() {
    if !has("go", "version") {
        return;
    }
    // Each of these compiles Go's standard library again, so there are few. Parsing of compiler messages is tested in `failing_tests`.
    let project = go(GO_TEST);
    let tested = project.tested().await;
    assert!(!tested.green, "{tested:#?}");
    assert_eq!(project.wrong_with(&tested), "", "{tested:#?}");
    let elsewhere = GO_TEST.replace(
        "import \"testing\"",
        "import (\n\t\"testing\"\n\n\t\"tally/money\"\n)\n\nvar _ = money.Zero",
    );
    assert_eq!(go(&elsewhere).wrong().await, "");
    let wrong = go(&GO_TEST.replace("got != 5 {", "got != {")).wrong().await;
    assert!(wrong.contains("another reason than missing code"), "{wrong}");
    let later = "package tests\n\nimport \"testing\"\n\nfunc TestLater(t *testing.T) {}\n";
    let none = Project::new(&[("go.mod", "module tally\n\ngo 1.20\n"), ("tests/later.go", later)]);
    let wrong = none.wrong().await;
    assert!(wrong.contains("ran no test") && wrong.contains("`tests/later.go`"), "{wrong}");
    project.write("tally.go", "package tally\n\nfunc Parse(text string) int { return 5 }\n");
    let tested = project.tested().await;
    assert!(tested.green && tested.words() == "1 passed, 0 failed, 0 errors", "{tested:#?}");
    assert!(
        project.wrong_with(&tested).contains("1 of the tests pass"),
        "before there is code that proves nothing"
    );
}
