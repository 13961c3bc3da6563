//! Tests that were written before the code: are they red, and for the right reason?
//!
//! Right is that what they need is not there yet: a module, a name, a file of the project. Wrong is everything else: a test
//! that cannot be read, a fixture that nobody wrote, a package that the design does not name, a test that passes already.

use crate::files;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

pattern!(PYTHON_TEST, r"(?m)^\s*(?:async\s+)?def\s+test\w*\s*\(");
pattern!(SCRIPT_TEST, r"(?m)\b(?:test|it)(?:\.\w+)?\s*\(");
pattern!(RUST_TEST, r"(?m)^\s*#\[(?:\w+::)?test\b");
pattern!(GO_TEST, r"(?m)^func\s+Test\w*\s*\(");
pattern!(PYTHON_MISSING, r"ModuleNotFoundError: No module named '([\w.]+)'");
pattern!(SCRIPT_MISSING, r#"Cannot find (?:module|package) ['"]([^'"]+)['"]"#);
pattern!(RUST_CODE, r"(?m)^error(?:\[(E\d{4})\])?: (.*)$");
pattern!(
    WRONG,
    r"(?m)^(?:E\s+)?(?:.*\b(?:SyntaxError|IndentationError|TabError)\b.*|.*fixture '[^']*' not found.*|.*\bNameError: name .*|.*ReferenceError: .*|.*TypeError: .* is not a function.*expect.*)$"
);

/// Errors of Rust that say: it is not there yet.
const RUST_ABSENT: [&str; 13] = [
    "E0432", "E0433", "E0425", "E0412", "E0463", "E0599", "E0405", "E0407", "E0422", "E0423", "E0531",
    "E0560", "E0609",
];

/// How many tests a file has, by its text.
fn count(path: &str, text: &str) -> usize {
    let pattern = match path.rsplit('.').next() {
        Some("py") => &PYTHON_TEST,
        Some("js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx") => &SCRIPT_TEST,
        Some("rs") => &RUST_TEST,
        Some("go") => &GO_TEST,
        _ => return 0,
    };
    pattern.as_ref().map_or(0, |pattern| pattern.find_iter(text).count())
}

/// How many tests a project has, by the texts of its test files.
#[must_use]
pub fn written(root: &Path) -> usize {
    files::tests(root).iter().map(|path| count(path, &files::text(root, path))).sum()
}

/// What is wrong with the redness of tests: `ran` is what the runner counted, `said` what it said, `design` the text of the
/// design. Nothing: they are red for the right reason.
#[must_use]
pub fn problems(root: &Path, ran: &Value, said: &str, design: &str) -> Vec<String> {
    let number = |key: &str| ran.get(key).and_then(Value::as_u64).unwrap_or(0);
    let mut problems = Vec::new();
    if written(root) == 0 {
        return vec!["no test was written: there is no test function in any test file".into()];
    }
    if ran.get("timed_out").and_then(Value::as_bool) == Some(true) {
        problems.push("the tests do not end: they were stopped by their deadline".into());
    }
    let passed = number("passed");
    if passed > 0 {
        problems.push(format!(
            "{passed} of the tests pass although there is no code yet: they would prove nothing. Make each of them need what is to be built."
        ));
    }
    let code = ran.get("exit_code").and_then(Value::as_i64);
    if passed == 0 && number("failed") + number("errors") == 0 && code == Some(0) {
        problems.push(
            "the runner ran no test and is content: it does not find the tests that were written".into(),
        );
    }
    problems.extend(reasons(said, design, ran.get("runner").and_then(Value::as_str).unwrap_or_default()));
    problems
}

/// Reasons that are not the right one.
fn reasons(said: &str, design: &str, runner: &str) -> Vec<String> {
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
        wrong.insert(format!("a test is red for another reason than missing code: {line}"));
    }
    for found in matches(&PYTHON_MISSING) {
        let Some(module) = found.get(1) else { continue };
        let top = module.split('.').next().unwrap_or(module);
        if !names(design, top) {
            wrong.insert(format!("the tests import `{module}`, which the design does not name: use what is there, or name it in the design"));
        }
    }
    for found in matches(&SCRIPT_MISSING) {
        let Some(module) = found.get(1).filter(|module| !module.starts_with(['.', '/'])) else { continue };
        if !names(design, module) {
            wrong.insert(format!("the tests need the package `{module}`, which the design does not name"));
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

/// Does a text name this as a word?
fn names(text: &str, word: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    text.split(|letter: char| !is_word(letter)).any(|part| part == word)
}

/// What a library that is there for the tests' sake may hold: remarks and attributes, no code.
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
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn ran(passed: u64, failed: u64, errors: u64, code: i64) -> Value {
        json!({"runner": "pytest", "passed": passed, "failed": failed, "errors": errors, "exit_code": code})
    }

    #[test]
    fn what_is_missing_is_the_right_reason() {
        let folder =
            project(&[("tests/test_a.py", "from tally.cli import main\n\ndef test_a():\n    main()\n")]);
        let said = "E   ModuleNotFoundError: No module named 'tally'\n";
        assert_eq!(problems(folder.path(), &ran(0, 0, 1, 2), said, DESIGN), Vec::<String>::new());
        let said = "E   ModuleNotFoundError: No module named 'requests'\n";
        assert!(problems(folder.path(), &ran(0, 0, 1, 2), said, DESIGN)[0].contains("`requests`"));
    }

    #[test]
    fn other_reasons_are_wrong() {
        let folder = project(&[("tests/test_a.py", "def test_a():\n    pass\n")]);
        let of = |said: &str, ran: Value| problems(folder.path(), &ran, said, DESIGN).join("\n");
        assert!(
            of("E     File \"x\", line 1\nE   SyntaxError: invalid syntax\n", ran(0, 0, 1, 2))
                .contains("SyntaxError")
        );
        assert!(of("E       fixture 'shop' not found\n", ran(0, 0, 1, 1)).contains("fixture"));
        assert!(of("E   NameError: name 'jsn' is not defined\n", ran(0, 1, 0, 1)).contains("NameError"));
        assert!(of("", ran(1, 1, 0, 1)).contains("1 of the tests pass"));
        assert!(of("", ran(0, 0, 0, 0)).contains("is content"));
        assert_eq!(of("E   AssertionError: assert 1 == 2\n", ran(0, 1, 0, 1)), "");
    }

    #[test]
    fn rust_is_red_when_names_are_missing_and_not_when_it_cannot_be_read() {
        let folder = project(&[("tests/a.rs", "#[test]\nfn a() { roman::parse(\"X\"); }\n")]);
        let said = "error[E0425]: cannot find function `parse` in crate `roman`\nerror: could not compile `roman` (test \"a\") due to 1 previous error\n";
        let ran = json!({"runner": "cargo", "passed": 0, "failed": 0, "errors": 0, "exit_code": 101});
        assert_eq!(problems(folder.path(), &ran, said, DESIGN), Vec::<String>::new());
        let said = "error: expected one of `!` or `::`, found `a`\n";
        assert!(problems(folder.path(), &ran, said, DESIGN)[0].contains("expected one of"));
        let said = "error[E0308]: mismatched types\n";
        assert!(problems(folder.path(), &ran, said, DESIGN)[0].contains("E0308"));
    }

    #[test]
    fn no_tests_are_no_tests() {
        let folder = project(&[("tests/README.md", "soon")]);
        assert!(problems(folder.path(), &ran(0, 0, 0, 5), "", DESIGN)[0].contains("no test was written"));
        assert!(is_bare("//! Soon.\n#![forbid(unsafe_code)]\n") && !is_bare("pub fn a() {}"));
    }
}
