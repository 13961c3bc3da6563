//! Checks that tests which were written before the code fail for the right reason.
//!
//! The right reason is that a module, a name or a file of the project does not exist yet. Wrong are a syntax error, a missing
//! fixture or helper of the tests, a package that the design does not name, and a test that passes already, is skipped, or is
//! not found by the runner.

use crate::files::{self, Language};
use marvin_base::truncate;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

pattern!(PYTHON_TEST, r"(?m)^\s*(?:async\s+)?def\s+test\w*\s*\(");
pattern!(SCRIPT_TEST, r"(?m)(?:^|[^.\w$])(?:test|it)(?:\.\w+)*\s*\(");
pattern!(RUST_TEST, r"(?m)^\s*#\[(?:\w+::)?test\b");
pattern!(GO_TEST, r"(?m)^func\s+Test\w*\s*\(\s*\w+\s+\*testing\.T\b");
pattern!(
    PYTHON_SKIPS,
    r"(?m)^\s*(?:@pytest\.mark\.(?:skip|skipif|xfail)\b|@unittest\.(?:skip|expectedFailure)|self\.skipTest\(|(?:\w+\s*=\s*)?pytest\.(?:skip|xfail|importorskip|mark\.(?:skip|xfail)\w*)\b)"
);
pattern!(
    SCRIPT_SKIPS,
    r"(?m)(?:^|[^.\w$])(?:(?:test|it|describe|suite)\.(?:skip|todo)\s*\(|x(?:it|describe|test)\s*\(|(?:test|it|describe|suite)\s*\([^\n]*\b(?:skip|todo)\s*:)"
);
pattern!(RUST_SKIPS, r"(?m)^\s*#\[ignore\b");
pattern!(GO_SKIPS, r"(?m)^\s*\w+\.Skip(?:f|Now)?\(");
pattern!(PYTHON_MISSING, r"ModuleNotFoundError: No module named '([\w.]+)'");
pattern!(
    SCRIPT_MISSING,
    r#"Cannot find (?:module|package) ['"]([^'"]+)['"](?:(?: imported from |\s+Require stack:\s+- )(\S+))?"#
);
pattern!(GO_BUILD, r"(?m)^(?:vet: )?(?:\./)?([\w./-]+\.go):\d+:\d+: (.+)$");
pattern!(PYTEST_FILES, r"(?m)^\s*python_(?:files|functions|classes)\s*=");
pattern!(RUST_CODE, r"(?m)^error(?:\[(E\d{4})\])?: (.*)$");
pattern!(
    WRONG,
    r"(?m)^(?:E\s+)?(?:.*\b(?:SyntaxError|IndentationError|TabError)\b.*|.*fixture '[^']*' not found.*|.*\bNameError: name .*|.*\bReferenceError(?: \[\w+\])?: .*|.*TypeError: .* is not a function.*expect.*)$"
);

/// Error codes of Rust for names that do not exist.
const RUST_ABSENT: [&str; 13] = [
    "E0432", "E0433", "E0425", "E0412", "E0463", "E0599", "E0405", "E0407", "E0422", "E0423", "E0531",
    "E0560", "E0609",
];

/// Messages of the Go compiler for names that do not exist.
const GO_ABSENT: [&str; 8] = [
    "undefined: ",
    " undefined (",
    "is not in std",
    "no required module provides package",
    "could not import",
    "no non-test Go files",
    "unknown field",
    "cannot find package",
];

/// The number of tests in a file.
fn count(path: &str, text: &str) -> usize {
    let pattern = match Language::from_path(path) {
        Some(Language::Python) => &PYTHON_TEST,
        Some(Language::Script) => &SCRIPT_TEST,
        Some(Language::Rust) => &RUST_TEST,
        Some(Language::Go) => &GO_TEST,
        None => return 0,
    };
    pattern.as_ref().map_or(0, |pattern| pattern.find_iter(text).count())
}

/// The number of tests in the test files of a project.
#[must_use]
pub fn written(root: &Path) -> usize {
    files::tests(root).iter().map(|path| count(path, &files::text(root, path))).sum()
}

/// Everything that keeps the tests from failing for the right reason.
#[must_use]
pub fn problems(root: &Path, ran: &Value, said: &str, design: &str) -> Vec<String> {
    let number = |key: &str| ran.get(key).and_then(Value::as_u64).unwrap_or(0);
    let mut problems = Vec::new();
    if written(root) == 0 {
        return vec!["no test was written: no test file has a test function".into()];
    }
    if ran.get("timed_out").and_then(Value::as_bool) == Some(true) {
        problems.push("the tests do not end: they were stopped by the timeout".into());
    }
    let passed = number("passed");
    if passed > 0 {
        problems.push(format!(
            "{passed} of the tests pass without any code, so they prove nothing. Make each of them need what is to be built."
        ));
    }
    problems.extend(skips(root));
    let skipped = number("skipped");
    if skipped > 0 {
        problems.push(format!("{skipped} of the tests are skipped, so they prove nothing. Make them run."));
    }
    let runner = ran.get("runner").and_then(Value::as_str).unwrap_or_default();
    let code = ran.get("exit_code").and_then(Value::as_i64);
    let ran_none = passed == 0 && number("failed") + number("errors") == 0;
    // These runners count files that they cannot load or compile; the others only print them.
    let counts_all = matches!(runner, "pytest" | "node" | "go");
    if runner.is_empty() {
        problems.push(format!("the tests cannot be run: {}", truncate::line(said.trim(), 300)));
    } else if ran_none && code == Some(0) {
        problems.push(
            "the runner ran no test and reports success: it does not find the tests that were written".into(),
        );
    } else if ran_none && counts_all && problems.is_empty() {
        problems.push(format!("the runner ran no test: {}", truncate::line(said.trim(), 300)));
    }
    for path in unrecognised(root, runner) {
        problems.push(format!(
            "the runner does not take `{path}` for a test file, so its tests never run: name it as {runner} expects"
        ));
    }
    problems.extend(reasons(root, said, design, runner));
    problems
}

/// Markers that skip tests, with file and line.
fn skips(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in files::tests(root) {
        let pattern = match Language::from_path(&path) {
            Some(Language::Python) => &PYTHON_SKIPS,
            Some(Language::Script) => &SCRIPT_SKIPS,
            Some(Language::Rust) => &RUST_SKIPS,
            Some(Language::Go) => &GO_SKIPS,
            None => continue,
        };
        let text = files::text(root, &path);
        for place in pattern.iter().flat_map(|pattern| pattern.find_iter(&text)) {
            // A match begins at its line or before, so its end gives the line.
            let line = text.get(..place.end()).unwrap_or_default().matches('\n').count() + 1;
            found.push(format!("{path}:{line} skips a test, which then proves nothing"));
        }
    }
    found.truncate(10);
    found
}

/// Files with tests whose names the runner does not recognise.
fn unrecognised(root: &Path, runner: &str) -> Vec<String> {
    let configured = || {
        let files = ["pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"];
        let is_match = |text: String| PYTEST_FILES.as_ref().is_some_and(|pattern| pattern.is_match(&text));
        files.iter().any(|path| is_match(files::text(root, path)))
    };
    let is_recognised = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some((stem, kind)) = name.rsplit_once('.') else { return true };
        match (runner, kind) {
            ("pytest", "py") => {
                stem.starts_with("test_") || stem.ends_with("_test") || name == "conftest.py" || configured()
            }
            ("go", "go") => stem.ends_with("_test"),
            ("node", "js" | "mjs" | "cjs") => {
                path.split('/').rev().skip(1).any(|directory| directory == "test")
                    || stem == "test"
                    || stem.starts_with("test-")
                    || [".test", "-test", "_test"].iter().any(|end| stem.ends_with(end))
            }
            _ => true,
        }
    };
    let tests = files::tests(root).into_iter();
    tests.filter(|path| !is_recognised(path) && count(path, &files::text(root, path)) > 0).take(10).collect()
}

/// The path of an imported file relative to the project; a relative import starts at the importing file.
fn imported_path(root: &Path, module: &str, importer: Option<&String>) -> Option<String> {
    let from = importer.filter(|_| module.starts_with('.')).and_then(|path| Path::new(path).parent());
    let mut parts: Vec<&str> = Vec::new();
    let path = from.map_or_else(|| Path::new(module).to_path_buf(), |from| from.join(module));
    for part in path.strip_prefix(root).ok()?.to_str()?.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The package that a module belongs to: `@shop/cart/price` is part of `@shop/cart`.
fn package(module: &str) -> &str {
    let parts = if module.starts_with('@') { 2 } else { 1 };
    module.match_indices('/').nth(parts - 1).and_then(|(at, _)| module.get(..at)).unwrap_or(module)
}

/// Is this error line about a missing module or program, despite its error type?
fn means_missing(line: &str) -> bool {
    // An existing module without the imported name, or the output of a missing program parsed as JSON.
    let export = line.contains("does not provide an export named")
        && ["module './", "module '../", "module \"./", "module \"../"].iter().any(|own| line.contains(own));
    export || line.contains("JSON")
}

/// Failures for another reason than missing code.
fn reasons(root: &Path, said: &str, design: &str, runner: &str) -> Vec<String> {
    let mut wrong: BTreeSet<String> = BTreeSet::new();
    let matches = |pattern: &LazyLock<Option<Regex>>| -> Vec<Vec<String>> {
        let groups = |found: regex::Captures<'_>| {
            found
                .iter()
                .map(|group| group.map_or_else(String::new, |group| group.as_str().to_string()))
                .collect()
        };
        pattern.as_ref().map(|pattern| pattern.captures_iter(said).map(groups).collect()).unwrap_or_default()
    };
    for found in matches(&WRONG) {
        let line = found
            .first()
            .map(|line| line.trim().trim_start_matches("E ").trim().to_string())
            .unwrap_or_default();
        if means_missing(&line) {
            continue;
        }
        wrong.insert(format!("a test fails for another reason than missing code: {line}"));
    }
    for found in matches(&PYTHON_MISSING) {
        let Some(module) = found.get(1) else { continue };
        let top = module.split('.').next().unwrap_or(module);
        let file = format!("{}.py", module.replace('.', "/"));
        if files::is_test(&file) {
            wrong.insert(missing_helper(&file));
        } else if !names(design, top) {
            wrong.insert(format!("the tests import `{module}`, which the design does not name: use an existing package, or name it in the design"));
        }
    }
    for found in matches(&SCRIPT_MISSING) {
        let Some(module) = found.get(1) else { continue };
        if module.starts_with(['.', '/']) {
            let file = imported_path(root, module, found.get(2)).filter(|file| files::is_test(file));
            wrong.extend(file.map(|file| missing_helper(&file)));
        } else if !names(design, package(module)) {
            wrong.insert(format!("the tests need the package `{module}`, which the design does not name"));
        }
    }
    if runner == "go" {
        for found in matches(&GO_BUILD) {
            let text = found.get(2).cloned().unwrap_or_default();
            if !GO_ABSENT.iter().any(|absent| text.contains(absent)) && !text.contains("too many errors") {
                wrong.insert(format!("a test does not compile for another reason than missing code: {text}"));
            }
        }
    }
    if runner == "cargo" {
        for found in matches(&RUST_CODE) {
            let (code, text) =
                (found.get(1).cloned().unwrap_or_default(), found.get(2).cloned().unwrap_or_default());
            let closing = [
                "could not compile",
                "aborting due to",
                "test failed",
                "target failed",
                "targets failed",
                "build failed",
            ];
            let is_closing = closing.iter().any(|start| text.contains(start));
            if !is_closing && !RUST_ABSENT.contains(&code.as_str()) {
                wrong.insert(format!(
                    "a test does not compile for another reason than missing code: {code} {text}"
                ));
            }
        }
    }
    wrong.into_iter().take(10).collect()
}

/// The problem of a missing test helper, which no later agent may write.
fn missing_helper(file: &str) -> String {
    format!("the tests need `{file}`, which belongs to the tests and does not exist: write it with them")
}

/// Does a text contain this as a whole word?
fn names(text: &str, word: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let ends = |found: (usize, &str)| {
        let before = text.get(..found.0).unwrap_or_default().chars().next_back();
        let after = text.get(found.0 + word.len()..).unwrap_or_default().chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    };
    !word.is_empty() && text.match_indices(word).any(ends)
}

/// Does a Rust file have only comments and attributes?
#[must_use]
pub fn is_bare(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .all(|line| line.is_empty() || line.starts_with("//") || line.starts_with("#!["))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const DESIGN: &str = "## Files\n- `tally/cli.py`: the program\n- src/lib.rs of the crate `roman`";

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            marvin_testing::write(directory.path().join(path), text);
        }
        directory
    }

    fn ran(passed: u64, failed: u64, errors: u64, code: i64) -> Value {
        json!({"runner": "pytest", "passed": passed, "failed": failed, "errors": errors, "exit_code": code})
    }

    #[test]
    fn missing_code_is_the_right_reason() {
        let directory =
            project(&[("tests/test_a.py", "from tally.cli import main\n\ndef test_a():\n    main()\n")]);
        let said = "E   ModuleNotFoundError: No module named 'tally'\n";
        assert_eq!(problems(directory.path(), &ran(0, 0, 1, 2), said, DESIGN), Vec::<String>::new());
        let said = "E   ModuleNotFoundError: No module named 'requests'\n";
        assert!(problems(directory.path(), &ran(0, 0, 1, 2), said, DESIGN)[0].contains("`requests`"));
    }

    #[test]
    fn other_reasons_are_wrong() {
        let directory = project(&[("tests/test_a.py", "def test_a():\n    pass\n")]);
        let of = |said: &str, ran: Value| problems(directory.path(), &ran, said, DESIGN).join("\n");
        assert!(
            of("E     File \"x\", line 1\nE   SyntaxError: invalid syntax\n", ran(0, 0, 1, 2))
                .contains("SyntaxError")
        );
        assert!(of("E       fixture 'shop' not found\n", ran(0, 0, 1, 1)).contains("fixture"));
        assert!(of("E   NameError: name 'jsn' is not defined\n", ran(0, 1, 0, 1)).contains("NameError"));
        assert!(of("", ran(1, 1, 0, 1)).contains("1 of the tests pass"));
        assert!(of("", ran(0, 0, 0, 0)).contains("reports success"));
        assert_eq!(of("E   AssertionError: assert 1 == 2\n", ran(0, 1, 0, 1)), "");
    }

    #[test]
    fn rust_tests_may_fail_for_missing_names_and_not_for_syntax() {
        let directory = project(&[("tests/a.rs", "#[test]\nfn a() { roman::parse(\"X\"); }\n")]);
        let said = "error[E0425]: cannot find function `parse` in crate `roman`\nerror: could not compile `roman` (test \"a\") due to 1 previous error\n";
        let ran = json!({"runner": "cargo", "passed": 0, "failed": 0, "errors": 0, "exit_code": 101});
        assert_eq!(problems(directory.path(), &ran, said, DESIGN), Vec::<String>::new());
        let said = "error: expected one of `!` or `::`, found `a`\n";
        assert!(problems(directory.path(), &ran, said, DESIGN)[0].contains("expected one of"));
        let said = "error[E0308]: mismatched types\n";
        assert!(problems(directory.path(), &ran, said, DESIGN)[0].contains("E0308"));
    }

    #[test]
    fn go_tests_may_fail_for_missing_names_and_not_for_syntax() {
        let directory = project(&[(
            "tally_test.go",
            "package tally\n\nfunc TestMain(m *testing.M) {}\n\nfunc TestA(t *testing.T) { Parse() }\n",
        )]);
        assert_eq!(written(directory.path()), 1, "TestMain is not a test");
        let ran = json!({"runner": "go", "passed": 0, "failed": 0, "errors": 1, "exit_code": 1});
        let of = |said: &str| problems(directory.path(), &ran, said, DESIGN).join("\n");
        assert_eq!(
            of("# tally [tally.test]\n./tally_test.go:5:31: undefined: Parse\nFAIL\ttally [build failed]\n"),
            ""
        );
        assert_eq!(
            of("tally_test.go:4:2: package tally/cli is not in std (/usr/lib/go/src/tally/cli)\n"),
            ""
        );
        assert_eq!(of("    tally_test.go:9: got 1, want 2\n--- FAIL: TestA (0.00s)\n"), "");
        assert!(of("tally_test.go:5:3: expected '}', found 'EOF'\n").contains("found 'EOF'"));
        assert!(of("./tally_test.go:5:3: \"os\" imported and not used\n").contains("imported and not used"));
    }

    #[test]
    fn missing_test_helpers_are_wrong() {
        let directory = project(&[
            ("tests/test_a.py", "def test_a():\n    pass\n"),
            ("test/a.test.js", "test('a', f)\n"),
        ]);
        let root = directory.path().display().to_string();
        let of = |said: &str| {
            problems(directory.path(), &ran(0, 0, 1, 2), said, &format!("{DESIGN} tests `@shop/cart`"))
                .join("\n")
        };
        assert!(
            of("E   ModuleNotFoundError: No module named 'tests.helpers'\n").contains("`tests/helpers.py`")
        );
        let script = |module: &str, from: &str| {
            format!("Error: Cannot find module '{module}'\nRequire stack:\n- {root}/{from}\n")
        };
        assert!(of(&script("./helpers.js", "test/a.test.js")).contains("`test/helpers.js`"));
        assert_eq!(of(&script("../src/a.js", "test/a.test.js")), "");
        let module = |file: &str| {
            format!(
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '{root}/{file}' imported from {root}/test/a.test.js\n"
            )
        };
        assert!(of(&module("test/data/big.js")).contains("`test/data/big.js`"));
        assert_eq!(of(&module("src/a.js")), "");
        assert_eq!(of("Cannot find package '@shop/cart' imported from /x\n"), "");
        assert_eq!(of("Cannot find module '@shop/cart/price'\n"), "");
        assert!(of("Cannot find package '@shop/other' imported from /x\n").contains("`@shop/other`"));
        assert_eq!(package("a/b"), "a");
        assert_eq!(package("a"), "a");
    }

    #[test]
    fn tests_that_no_runner_finds_or_runs_are_wrong() {
        let directory = project(&[
            ("tests/test_a.py", "def test_a():\n    pass\n"),
            ("tests/checks.py", "def test_b():\n    pass\n"),
            ("tests/a.spec.js", "if (/x/.test(y)) {\n  it('a', f)\n}\n"),
            ("tests/helpers.js", "export const is = (y) => /x/.test(y);\n"),
        ]);
        let ran =
            |runner: &str| json!({"runner": runner, "passed": 0, "failed": 1, "errors": 0, "exit_code": 1});
        assert!(problems(directory.path(), &ran("pytest"), "", DESIGN)[0].contains("`tests/checks.py`"));
        assert_eq!(unrecognised(directory.path(), "node"), ["tests/a.spec.js"]);
        std::fs::write(directory.path().join("pytest.ini"), "[pytest]\npython_files = *.py\n").unwrap();
        assert_eq!(unrecognised(directory.path(), "pytest"), Vec::<String>::new());
        let none = json!({"exit_code": null});
        assert!(
            problems(directory.path(), &none, "no tests were recognised", DESIGN)[0]
                .contains("cannot be run: no tests")
        );
        let broken = json!({"runner": "pytest", "passed": 0, "failed": 0, "errors": 0, "exit_code": 1});
        let said = "`python3 -m pytest`: exit code 1\n/usr/bin/python3: No module named pytest\n";
        assert!(problems(directory.path(), &broken, said, DESIGN)[0].contains("ran no test"));
    }

    #[test]
    fn tests_that_are_skipped_are_found_with_their_line() {
        let directory = project(&[
            (
                "tests/test_a.py",
                "import pytest\n\ntally = pytest.importorskip('tally')\n\n@pytest.mark.skip\ndef test_a():\n    pass\n",
            ),
            (
                "test/a.test.js",
                "test('a', f);\n\ntest.skip('b', f);\nit('c', { todo: true }, f);\nlist.skip(1);\n",
            ),
            ("tests/a.rs", "#[test]\n#[ignore = \"slow\"]\nfn a() {}\n"),
            ("a_test.go", "func TestA(t *testing.T) {\n\tt.Skip(\"later\")\n}\n"),
        ]);
        let places: Vec<String> =
            skips(directory.path()).iter().map(|text| text.split(' ').next().unwrap().to_string()).collect();
        assert_eq!(
            places,
            [
                "a_test.go:2",
                "test/a.test.js:3",
                "test/a.test.js:4",
                "tests/a.rs:2",
                "tests/test_a.py:3",
                "tests/test_a.py:5"
            ]
        );
        let ran =
            json!({"runner": "pytest", "passed": 0, "failed": 1, "errors": 0, "skipped": 2, "exit_code": 1});
        assert!(
            problems(directory.path(), &ran, "", DESIGN)
                .iter()
                .any(|problem| problem.contains("2 of the tests are skipped"))
        );
    }

    #[test]
    fn a_project_without_tests_is_refused() {
        let directory = project(&[("tests/README.md", "soon")]);
        assert!(problems(directory.path(), &ran(0, 0, 0, 5), "", DESIGN)[0].contains("no test was written"));
        assert!(is_bare("//! Soon.\n#![forbid(unsafe_code)]\n") && !is_bare("pub fn a() {}"));
    }
}
