//! The closing words of many test runners, for commands that write no report.

use super::{Counts, libtest, tap};
use regex::Regex;
use std::sync::LazyLock;

/// Compiled once; a pattern that does not compile finds nothing, and a test sees to it that they do.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($text).ok());
    };
}

pattern!(COLOURS, r"\x1b\[[0-9;]*[A-Za-z]");
pattern!(
    PYTEST,
    r"(?m)^(?:=+ )?((?:no tests ran|\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?))(?:, \d+ [a-z]+)*) in [0-9.]+s(?: \([0-9:]+\))?(?: =+)?$"
);
pattern!(PYTEST_NAME, r"(?m)^(?:FAILED|ERROR) (\S+?\.py\S*)(?: - .*)?$");
pattern!(JEST, r"(?m)^Tests: +((?:\d+ [a-z]+(?:, )?)+)$");
pattern!(JEST_NAME, r"(?m)^ +● (.+)$");
pattern!(VITEST, r"(?m)^ *Tests +((?:\d+ [a-z]+(?: \| )?)+) \(\d+\)$");
pattern!(VITEST_NAME, r"(?m)^ *FAIL +(\S.*)$");
pattern!(NEXTEST, r"(?m)^ *Summary \[[^\]]*\] +\d+(?:/\d+)? tests? run: (.+)$");
pattern!(NEXTEST_NAME, r"(?m)^ *(?:FAIL|SIGNAL|TIMEOUT|ABORT) \[[^\]]*\] +(?:\([^)]*\) +)?(\S.*)$");
pattern!(UNITTEST, r"(?m)^Ran (\d+) tests? in [0-9.]+s\n+(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$");
pattern!(UNITTEST_NAME, r"(?m)^(?:FAIL|ERROR): (.+)$");
pattern!(MOCHA, r"(?m)^ +(\d+) (passing|failing|pending)\b");
pattern!(MOCHA_NAME, r"(?m)^  \d+\) (.+)$");
pattern!(GO, r"(?m)^ *--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$");
pattern!(GO_PACKAGE, r"(?m)^(?:ok|FAIL) *\t\S+");
pattern!(TAP_PLAN, r"(?m)^1\.\.\d+");
pattern!(NUMBERS, r"(\d+) ([a-z]+)");
pattern!(SETTINGS, r"([a-z ]+)=(\d+)");

/// The figures in what a command printed, if they are in a form that is known. The last of several counts.
pub(super) fn read(stdout: &str, stderr: &str) -> Option<Counts> {
    let plain = |text: &str| match COLOURS.as_ref() {
        Some(colours) if text.contains('\u{1b}') => colours.replace_all(text, "").into_owned(),
        _ => text.to_string(),
    };
    let (stdout, stderr) = (plain(stdout), plain(stderr));
    let both = format!("{stdout}\n{stderr}");
    libtest::read(&stdout)
        .or_else(|| numbered(&both, &PYTEST, &PYTEST_NAME))
        .or_else(|| numbered(&both, &JEST, &JEST_NAME))
        .or_else(|| numbered(&both, &VITEST, &VITEST_NAME))
        .or_else(|| numbered(&both, &NEXTEST, &NEXTEST_NAME))
        .or_else(|| unittest(&both))
        .or_else(|| tap::read(&stdout))
        .or_else(|| mocha(&stdout))
        .or_else(|| go(&stdout))
        .or_else(|| plain_tap(&stdout))
}

type Pattern = LazyLock<Option<Regex>>;

/// The distinct names that a pattern finds.
fn names(text: &str, pattern: &Pattern) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for found in pattern.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let name = found.get(1).map(|name| name.as_str().trim().to_string()).unwrap_or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Closing lines such as `2 failed, 3 passed`.
fn numbered(text: &str, pattern: &Pattern, of_names: &Pattern) -> Option<Counts> {
    let line = pattern.as_ref()?.captures_iter(text).last()?.get(1)?.as_str();
    let mut counts = Counts::default();
    for found in NUMBERS.as_ref()?.captures_iter(line) {
        let number = found.get(1)?.as_str().parse::<u64>().ok()?;
        match found.get(2)?.as_str() {
            "passed" | "xpassed" => counts.passed += number,
            "failed" | "timed" => counts.failed += number,
            "skipped" | "xfailed" | "pending" | "todo" => counts.skipped += number,
            "error" | "errors" => counts.errors += number,
            _ => {}
        }
    }
    if counts.failed + counts.errors > 0 {
        counts.failing = names(text, of_names);
    }
    Some(counts)
}

fn unittest(text: &str) -> Option<Counts> {
    let found = UNITTEST.as_ref()?.captures_iter(text).last()?;
    let ran = found.get(1)?.as_str().parse::<u64>().ok()?;
    let details = found.get(2).map_or("", |details| details.as_str());
    let mut counts = Counts { failing: names(text, &UNITTEST_NAME), ..Counts::default() };
    for found in SETTINGS.as_ref()?.captures_iter(details) {
        let number = found.get(2)?.as_str().parse::<u64>().ok()?;
        match found.get(1)?.as_str().trim() {
            "failures" | "unexpected successes" => counts.failed += number,
            "errors" => counts.errors += number,
            "skipped" | "expected failures" => counts.skipped += number,
            _ => {}
        }
    }
    counts.passed = ran.saturating_sub(counts.failed + counts.errors + counts.skipped);
    Some(counts)
}

fn mocha(text: &str) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut any = false;
    for found in MOCHA.as_ref()?.captures_iter(text) {
        let number = found.get(1)?.as_str().parse::<u64>().ok()?;
        match found.get(2)?.as_str() {
            "passing" => {
                any = true;
                counts.passed = number;
            }
            "failing" => counts.failed = number,
            _ => counts.skipped = number,
        }
    }
    if counts.failed > 0 {
        counts.failing = names(text, &MOCHA_NAME);
    }
    any.then_some(counts)
}

/// `go test -v`; without `-v` only packages are named, and how many tests they have is not known.
fn go(text: &str) -> Option<Counts> {
    if !GO_PACKAGE.as_ref()?.is_match(text) {
        return None;
    }
    let mut counts = Counts::default();
    let mut any = false;
    for found in GO.as_ref()?.captures_iter(text) {
        any = true;
        match found.get(1)?.as_str() {
            "PASS" => counts.passed += 1,
            "SKIP" => counts.skipped += 1,
            _ => {
                counts.failed += 1;
                counts.failing.push(found.get(2)?.as_str().to_string());
            }
        }
    }
    any.then_some(counts)
}

/// Plain TAP: a plan, and a line for each test.
fn plain_tap(text: &str) -> Option<Counts> {
    if !TAP_PLAN.as_ref()?.is_match(text) {
        return None;
    }
    let mut counts = Counts::default();
    for line in text.lines() {
        if let Some(name) = tap::not_ok(line) {
            counts.failed += 1;
            counts.failing.push(name.to_string());
        } else if line.starts_with("not ok") || (line.starts_with("ok ") && tap::is_excused(line)) {
            counts.skipped += 1;
        } else if line == "ok" || line.starts_with("ok ") {
            counts.passed += 1;
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, figures: (u64, u64, u64, u64), failing: &[&str]) {
        let counts = read(text, "").unwrap_or_else(|| panic!("not recognised: {text}"));
        assert_eq!((counts.passed, counts.failed, counts.skipped, counts.errors), figures, "{text}");
        assert_eq!(counts.failing, failing, "{text}");
    }

    #[test]
    fn closing_words_are_recognised() {
        check(
            "FAILED tests/test_a.py::test_b - assert 1 == 2\nERROR tests/test_c.py\n\
             ==== 1 failed, 3 passed, 1 skipped, 2 xfailed, 1 warning, 1 error in 0.12s ====\n",
            (3, 1, 3, 1),
            &["tests/test_a.py::test_b", "tests/test_c.py"],
        );
        check("no tests ran in 0.01s\n", (0, 0, 0, 0), &[]);
        check("===== 2 passed in 61.20s (0:01:01) =====\n", (2, 0, 0, 0), &[]);
        check(
            "  ● sum › adds\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 skipped, 2 passed, 4 total\n",
            (2, 1, 1, 0),
            &["sum › adds"],
        );
        check(
            " FAIL  src/a.test.ts > sum > adds\n\n Test Files  1 failed (1)\n      Tests  1 failed | 2 passed | 1 todo (4)\n",
            (2, 1, 1, 0),
            &["src/a.test.ts > sum > adds"],
        );
        check(
            "        PASS [   0.004s] a tests::ok\n        FAIL [   0.004s] (2/3) a tests::bad\n------------\n     \
             Summary [   0.006s] 3 tests run: 2 passed, 1 failed, 1 skipped\n",
            (2, 1, 1, 0),
            &["a tests::bad"],
        );
        check(
            "FAIL: test_b (test_a.T.test_b)\n------\nRan 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n",
            (2, 1, 1, 1),
            &["test_b (test_a.T.test_b)"],
        );
        check("Ran 3 tests in 0.001s\n\nOK\n", (3, 0, 0, 0), &[]);
        check("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", (0, 0, 0, 0), &[]);
        check(
            "\n  2 passing (4ms)\n  1 pending\n  1 failing\n\n  1) sum adds:\n",
            (2, 1, 1, 0),
            &["sum adds:"],
        );
        check(
            "=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\nFAIL\texample.com/a\t0.002s\n",
            (1, 1, 0, 0),
            &["TestB"],
        );
        check("1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP later\n", (1, 1, 1, 0), &["b"]);
        check("\u{1b}[32m===== 2 passed in 0.01s =====\u{1b}[0m\n", (2, 0, 0, 0), &[]);
    }

    #[test]
    fn other_texts_are_not() {
        for text in [
            "",
            "all good\n",
            "5 passed the exam\n",
            "ok  \texample.com/a\t0.002s\n",
            "Tests: many\n",
            "passing 3\n",
            "there are 3 passing ships\n",
        ] {
            assert_eq!(read(text, ""), None, "{text}");
        }
        let all = [&PYTEST, &PYTEST_NAME, &JEST, &JEST_NAME, &VITEST, &VITEST_NAME, &NEXTEST, &NEXTEST_NAME];
        let more = [
            &UNITTEST,
            &UNITTEST_NAME,
            &MOCHA,
            &MOCHA_NAME,
            &GO,
            &GO_PACKAGE,
            &TAP_PLAN,
            &NUMBERS,
            &SETTINGS,
        ];
        assert!(all.iter().chain(&more).all(|pattern| pattern.is_some()) && COLOURS.is_some());
    }
}
