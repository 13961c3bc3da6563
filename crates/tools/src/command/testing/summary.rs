//! Parser of the final lines of many test runners, for commands that write no report.

use super::counts::Counts;
use super::{libtest, node, tap};
use crate::pattern::{Pattern, pattern};
use std::collections::BTreeSet;
use std::path::Path;

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
// Success without an executed test.
pattern!(
    NONE,
    r"(?mi)^(?:no tests? (?:files )?found, exiting with code 0|no tests were found!!!|no tests executed!|0 examples, 0 failures\b|(?:\[info\] )?no tests to run\.|no test is available in .+|no test matches the given testcase filter.*|(?:ok|\?) *\t\S+\t.*\[no (?:test files|tests to run)\]|make(?:\[\d+\])?: (?:'test[\w-]*' is up to date|nothing to be done for '(?:all-)?test[\w-]*')\.)$"
);
// A package of go, a module of maven, or another runner that did execute tests.
pattern!(
    SOME,
    r"(?mi)^(?:ok *\t\S+\t(?:[0-9.]+s|\(cached\))(?:\tcoverage: .*)?$|.*\btests run: [1-9]|.*\b[1-9][0-9]* (?:tests? |examples?|passed|passing|ok\b))"
);
pattern!(NUMBERS, r"(\d+) ([a-z]+)");
pattern!(SETTINGS, r"([a-z ]+)=(\d+)");

/// The counts in the output of a command, if its format is known. Several runs of the same kind add up.
///
/// Where the exit code is 0 (`fine`), failures of any other kind of runner count as well: of `first; second` the shell
/// keeps only the last code.
pub(super) fn read(stdout: &str, stderr: &str, fine: bool, root: &Path) -> Option<Counts> {
    let (stdout, stderr) = (plain(stdout), plain(stderr));
    let both = format!("{stdout}\n{stderr}");
    let kinds: [&dyn Fn() -> Option<Counts>; 10] = [
        &|| libtest::read(&stdout),
        &|| numbered(&both, &PYTEST, &PYTEST_NAME),
        &|| numbered(&both, &JEST, &JEST_NAME),
        &|| numbered(&both, &VITEST, &VITEST_NAME),
        &|| numbered(&both, &NEXTEST, &NEXTEST_NAME),
        &|| unittest(&both),
        &|| node::read_tap(&stdout, root).or_else(|| plain_tap(&stdout)),
        &|| node::read_spec(&stdout, root),
        &|| mocha(&stdout),
        &|| go(&stdout),
    ];
    let mut found = kinds.iter().filter_map(|kind| kind());
    let mut counts = found.next()?;
    for other in found.take_while(|_| fine) {
        counts.failed += other.failed;
        counts.errors += other.errors;
        counts.failing.extend(other.failing);
    }
    Some(counts)
}

/// Whether a runner prints explicitly that there was nothing to execute.
pub(super) fn says_none(stdout: &str, stderr: &str) -> bool {
    let both = format!("{}\n{}", plain(stdout), plain(stderr));
    let is_match = |pattern: &Pattern| pattern.as_ref().is_some_and(|pattern| pattern.is_match(&both));
    is_match(&NONE) && !is_match(&SOME)
}

/// Without colours, and without carriage returns at the ends of lines.
fn plain(text: &str) -> String {
    let text = match COLOURS.as_ref() {
        Some(colours) if text.contains('\u{1b}') => colours.replace_all(text, "").into_owned(),
        _ => text.to_string(),
    };
    if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text }
}

/// The distinct names that a pattern finds.
fn names(text: &str, pattern: &Pattern) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for found in pattern.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let name = found.get(1).map_or("", |name| name.as_str().trim());
        if seen.insert(name) {
            names.push(name.to_string());
        }
    }
    names
}

/// Closing lines such as `2 failed, 3 passed`.
fn numbered(text: &str, pattern: &Pattern, of_names: &Pattern) -> Option<Counts> {
    let lines: Vec<&str> =
        pattern.as_ref()?.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    lines.first()?;
    let mut counts = Counts::default();
    for found in lines.iter().flat_map(|line| NUMBERS.iter().flat_map(|numbers| numbers.captures_iter(line)))
    {
        let number = number(found.get(1))?;
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

/// A plausible number of tests; `None` for a larger one.
fn number(digits: Option<regex::Match<'_>>) -> Option<u64> {
    digits?.as_str().parse::<u32>().ok().map(u64::from)
}

fn unittest(text: &str) -> Option<Counts> {
    let mut counts = Counts { failing: names(text, &UNITTEST_NAME), ..Counts::default() };
    let mut any = false;
    for run in UNITTEST.as_ref()?.captures_iter(text) {
        any = true;
        let details = run.get(2).map_or("", |details| details.as_str());
        let mut left = number(run.get(1))?;
        for found in SETTINGS.as_ref()?.captures_iter(details) {
            let number = number(found.get(2))?;
            match found.get(1)?.as_str().trim() {
                "failures" | "unexpected successes" => counts.failed += number,
                "errors" => counts.errors += number,
                "skipped" | "expected failures" => counts.skipped += number,
                _ => continue,
            }
            left = left.saturating_sub(number);
        }
        counts.passed += left;
    }
    any.then_some(counts)
}

fn mocha(text: &str) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut any = false;
    for found in MOCHA.as_ref()?.captures_iter(text) {
        let number = number(found.get(1))?;
        match found.get(2)?.as_str() {
            "passing" => {
                any = true;
                counts.passed += number;
            }
            "failing" => counts.failed += number,
            _ => counts.skipped += number,
        }
    }
    if counts.failed > 0 {
        counts.failing = names(text, &MOCHA_NAME);
    }
    any.then_some(counts)
}

/// `go test -v`; without `-v` only packages are named, and the number of tests is unknown.
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
    let mut counts = tap::named(text);
    for line in text.lines() {
        if let Some(name) = tap::not_ok(line) {
            counts.failed += 1;
            counts.failing.push(name.to_string());
        } else if line.starts_with(tap::FAILED) || (line.starts_with(tap::PASSED) && tap::is_excused(line)) {
            counts.skipped += 1;
        } else if line == tap::PASSED.trim_end() || line.starts_with(tap::PASSED) {
            counts.passed += 1;
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_output(text: &str, fine: bool) -> Option<Counts> {
        read(text, "", fine, Path::new("/nonexistent"))
    }

    #[track_caller]
    fn check(text: &str, figures: (u64, u64, u64, u64), failing: &[&str]) {
        let counts = read_output(text, true).unwrap_or_else(|| panic!("not recognised: {text}"));
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
        check(
            "✔ a (1ms)\nℹ tests 2\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\nℹ duration_ms 9\n",
            (1, 0, 1, 0),
            &[],
        );
        check("\u{1b}[32m===== 2 passed in 0.01s =====\u{1b}[0m\n", (2, 0, 0, 0), &[]);
    }

    #[test]
    fn several_runs_add_up_and_no_failure_is_lost() {
        check("1 failed, 2 passed in 0.1s\nmore\n3 passed in 0.2s\n", (5, 1, 0, 0), &[]);
        check("Tests:       1 failed, 1 total\nTests:       2 passed, 2 total\r\n", (2, 1, 0, 0), &[]);
        check("Ran 2 tests in 0.1s\n\nFAILED (errors=1)\nRan 3 tests in 0.1s\n\nOK\n", (4, 0, 0, 1), &[]);
        check("  1 passing\n  1 failing\n\n  1) a\n  2 passing\n  0 failing\n", (3, 1, 0, 0), &["a"]);
        check(
            "not ok 1 - a\n1..1\n# tests 1\n# pass 0\n# fail 1\nok 1\n# tests 1\n# pass 1\n# fail 0\n",
            (1, 1, 0, 0),
            &["a"],
        );
        // One kind after another: the first has the counts, failures of every kind are added.
        let mixed = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered \
            out\nFAILED t/a.py::b\n1 failed, 2 passed in 0.1s\n";
        check(mixed, (1, 1, 0, 0), &["t/a.py::b"]);
        assert_eq!(
            read_output(mixed, false).map(|counts| counts.failed),
            Some(0),
            "the exit code has said it"
        );
        assert_eq!(read_output("99999999999999999999 passed in 0.1s\n", true), None, "no number at all");
    }

    #[test]
    fn many_names_take_linear_time() {
        let started = marvin_testing::CpuTimer::start();
        let failing: String = (0..200_000).map(|at| format!("FAILED a{at}.py\n")).collect();
        let counts = read_output(&format!("{failing}200000 failed in 1.0s\n"), true).unwrap();
        assert_eq!(counts.failing.len(), 200_000);
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }

    #[test]
    fn runs_without_a_test_are_recognised() {
        for text in [
            "No tests found, exiting with code 0\n",
            "No test files found, exiting with code 0\n",
            "?   \texample.com/a\t[no test files]\n",
            "ok  \texample.com/a\t0.002s [no tests to run]\n?   \texample.com/b\t[no test files]\n",
            "make: 'test' is up to date.\n",
            "make[1]: Nothing to be done for 'test'.\n",
            "No tests executed!\n",
            "[INFO] No tests to run.\n",
            "\n0 examples, 0 failures\n",
            "Test project /x\nNo tests were found!!!\n",
        ] {
            assert!(says_none("", text) && says_none(text, ""), "{text}");
        }
        for text in [
            "ok  \texample.com/a\t0.002s\n?   \texample.com/b\t[no test files]\n",
            "ok  \texample.com/a\t(cached)\nok  \texample.com/b\t0.1s [no tests to run]\n",
            "[INFO] No tests to run.\n[INFO] Tests run: 5, Failures: 0\n",
            "make: 'lib.o' is up to date.\nall 3 tests passed\n",
            "make: 'lib.o' is up to date.\n",
        ] {
            assert!(!says_none(text, ""), "{text}");
        }
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
            assert_eq!(read_output(text, true), None, "{text}");
            assert!(!says_none(text, ""), "{text}");
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
            &NONE,
            &SOME,
        ];
        assert!(all.iter().chain(&more).all(|pattern| pattern.is_some()) && COLOURS.is_some());
    }
}
