//! Reports of node's own test runner: TAP that Marvin asks for, and TAP or `spec` in the output of a project's script.
//!
//! Node counts a file without tests as a passed test, also a file that ended the process before its tests were done. Such a file is
//! not a test. Until Node.js 20 its name is an absolute path, later a path from the working directory; without a terminal the default
//! report is TAP until Node.js 22, later `spec`.

use super::counts::Counts;
use super::tap;
use crate::pattern::pattern;
use globset::GlobBuilder;
use marvin_base::files::{self, Links};
use std::path::{Component, Path};

const MAX_TEST_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Extensions of the files that node executes.
const SCRIPTS: [&str; 6] = ["js", "mjs", "cjs", "ts", "mts", "cts"];
/// Begins the line of a flag that chooses tests by name or position.
const CHOICE_FLAG: &str = "--test-";

// The counts at the end of a run. Node's own ones are the last; what tests print comes before.
pattern!(
    SPEC_COUNTS,
    r"(?m)^ℹ tests \d+\n(?:ℹ suites \d+\n)?ℹ pass (\d+)\nℹ fail (\d+)\nℹ cancelled (\d+)\nℹ skipped (\d+)\nℹ todo (\d+)$"
);
pattern!(SPEC_TEST, r"^( *)([✔✖▶]) (.+?)( \([0-9.]+ms\))?( # .*)?$");
/// Heads the failed tests that are repeated at the end.
const SPEC_FAILED: &str = "✖ failing tests:";
/// Begins the line before each of them.
const SPEC_REPEATED: &str = "test at ";

/// Counts the report of a command of node. A file that has tests of which none was reported is an error.
pub(super) fn read_report(text: &str, words: &[String], root: &Path) -> Option<Counts> {
    let mut counts = tap::read(text)?;
    let arguments = words.get(2..).unwrap_or_default();
    // Tests that a filter leaves out are not always reported.
    let is_filtered = arguments.iter().any(|word| word.starts_with(CHOICE_FLAG));
    for file in tap::files(text, |name| is_test_script(name, arguments, root)) {
        remove_file(&mut counts, &file);
        let has_tests = || {
            let bytes =
                files::read(&root.join(&file), MAX_TEST_FILE_BYTES, Links::Refuse).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains("node:test")
        };
        if !is_filtered && is_test_name(Path::new(&file)) && has_tests() {
            counts.errors += 1;
            counts.failing.push(format!("{file} (it ended before its tests were reported)"));
        }
    }
    Some(counts)
}

/// Counts TAP of node in the output of a script: the counts of the last run, and failures of earlier ones.
pub(super) fn read_tap(text: &str, root: &Path) -> Option<Counts> {
    let mut counts = tap::read(text)?;
    let failed = counts.failing.len() as u64;
    counts.failed = counts.failed.max(failed.saturating_sub(counts.errors));
    for file in tap::files(text, |name| is_test_script(name, &[], root)) {
        remove_file(&mut counts, &file);
    }
    Some(counts)
}

/// Takes a file out of the passed tests and of their names.
fn remove_file(counts: &mut Counts, file: &str) {
    counts.passed = counts.passed.saturating_sub(1);
    counts.executed.remove(file);
}

/// Counts the reporter `spec` in the output of a script: the counts of the last run, and failures of earlier ones.
pub(super) fn read_spec(text: &str, root: &Path) -> Option<Counts> {
    let mut counts: Option<Counts> = None;
    for block in SPEC_COUNTS.as_ref()?.captures_iter(text) {
        let figure = |group: usize| Some(u64::from(block.get(group)?.as_str().parse::<u32>().ok()?));
        let (failed, errors) = counts.map_or((0, 0), |earlier| (earlier.failed, earlier.errors));
        counts = Some(Counts {
            passed: figure(1)?,
            failed: failed + figure(2)?,
            errors: errors + figure(3)?,
            skipped: figure(4)? + figure(5)?,
            ..Counts::default()
        });
    }
    let mut counts = counts?;
    let tests = SpecTests::parse(text, |name| is_test_script(name, &[], root));
    counts.passed = counts.passed.saturating_sub(tests.files);
    if counts.failed + counts.errors > 0 {
        counts.failing = tests.failing;
    }
    Some(counts)
}

/// What the lines of `spec` say about tests.
#[derive(Default)]
struct SpecTests {
    /// Paths of tests that failed by themselves.
    failing: Vec<String>,
    /// Number of files that node counts as a passed test.
    files: u64,
}

/// A test with subtests whose end was not reported yet.
struct OpenTest {
    depth: usize,
    name: String,
    has_failed_subtest: bool,
}

impl SpecTests {
    fn parse(text: &str, is_file: impl Fn(&str) -> bool) -> SpecTests {
        let mut tests = SpecTests::default();
        let mut open: Vec<OpenTest> = Vec::new();
        let mut is_repeated = false;
        for line in text.lines() {
            let skip =
                std::mem::replace(&mut is_repeated, line.starts_with(SPEC_REPEATED)) || line == SPEC_FAILED;
            let Some(found) = SPEC_TEST.as_ref().and_then(|pattern| pattern.captures(line)) else { continue };
            let group = |at: usize| found.get(at).map_or("", |group| group.as_str());
            let (depth, symbol, name) = (group(1).len(), group(2), group(3));
            let (is_ended, is_excused) = (found.get(4).is_some(), found.get(5).is_some());
            if skip {
                continue;
            }
            open.retain(|test| test.depth <= depth);
            let own = open.pop_if(|test| test.depth == depth && (!is_ended || test.name == name));
            match (own, symbol) {
                (_, "▶") if !is_ended => {
                    open.push(OpenTest { depth, name: name.to_string(), has_failed_subtest: false });
                }
                // The failed subtest is listed itself.
                (Some(own), _) if own.has_failed_subtest => {}
                (_, "✖") if !is_excused => tests.add_failing(&mut open, name),
                (None, "✔") if depth == 0 && is_file(name) => tests.files += 1,
                _ => {}
            }
        }
        tests
    }

    fn add_failing(&mut self, open: &mut [OpenTest], name: &str) {
        open.iter_mut().for_each(|test| test.has_failed_subtest = true);
        let names: Vec<&str> = open.iter().map(|test| test.name.as_str()).chain([name]).collect();
        self.failing.push(names.join(" > "));
    }
}

/// Whether the name of a test is that of a file which node was asked to execute as a test. A test may also be named after a file of
/// the project, so a relative path must be one that node looks for, or one that the arguments choose.
fn is_test_script(name: &str, arguments: &[String], root: &Path) -> bool {
    let path = Path::new(name);
    let is_script = path.extension().is_some_and(|extension| SCRIPTS.iter().any(|known| extension == *known));
    is_script
        && (path.is_absolute()
            || is_test_name(path)
            || is_in_test_directory(path)
            || arguments.iter().any(|argument| chooses(argument, path)))
        && root.join(path).is_file()
}

/// Whether node takes a file of this name for a test file.
fn is_test_name(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem == "test"
        || stem.starts_with("test-")
        || [".test", "-test", "_test"].iter().any(|end| stem.ends_with(end))
}

fn is_in_test_directory(path: &Path) -> bool {
    let mut directories = path.parent().into_iter().flat_map(Path::components);
    directories.any(|part| matches!(part, Component::Normal(name) if name == "test"))
}

/// Whether an argument of node names a file: by its path, or by a pattern.
fn chooses(argument: &str, path: &Path) -> bool {
    let argument = argument.strip_prefix("./").unwrap_or(argument);
    let glob = || GlobBuilder::new(argument).literal_separator(true).build();
    Path::new(argument) == path || glob().is_ok_and(|glob| glob.compile_matcher().is_match(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = "✖ test/t.test.js (99.488513ms)\n▶ hooked\n  ✖ x\n✖ hooked (1.040333ms)\n⚠ soon (0.2ms) # why\n\
        ✖ older (0.2ms) # TODO\n▶ deep\n  ▶ mid\n    ✖ leaf (0.2ms)\n    ✔ good (5ms) (0.3ms)\n  ✖ mid (6.8ms)\n\
        ✖ deep (7.2ms)\n▶ fine\n  ✔ in (1ms)\n✔ fine (2ms)\n▶ closed\n  ✔ in (1ms)\n✖ closed (2ms)\n\
        ✔ test/helper.js (40.1ms)\n✔ src/named.js (1ms)\n﹣ no (0.1ms) # SKIP\nℹ tests 11\nℹ suites 1\nℹ pass 4\nℹ fail 5\n\
        ℹ cancelled 1\nℹ skipped 1\nℹ todo 2\nℹ duration_ms 242.6\n\n✖ failing tests:\n\ntest at test/t.test.js:1:1\n\
        ✖ test/t.test.js (99.488513ms)\n  'test failed'\n\ntest at test/u.test.js:4:72\n✖ leaf (0.2ms)\n  Error: y\n";

    fn project(files: &[&str]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        files.iter().for_each(|path| marvin_testing::write(directory.path().join(path), "1;\n"));
        directory
    }

    #[test]
    fn spec_is_counted_by_its_last_lines_with_the_innermost_names() {
        let project = project(&["test/helper.js", "src/named.js"]);
        let counts = read_spec(SPEC, project.path()).unwrap();
        assert_eq!((counts.passed, counts.failed, counts.skipped, counts.errors), (3, 5, 3, 1));
        assert_eq!(counts.failing, ["test/t.test.js", "hooked > x", "deep > mid > leaf", "closed"]);
        // A test prints what looks like the counts of a run: only failures of such a run count.
        let block = |pass: u64, fail: u64| {
            format!(
                "ℹ tests 9\nℹ suites 0\nℹ pass {pass}\nℹ fail {fail}\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n"
            )
        };
        let counts = read_spec(&[block(90, 1), block(2, 0)].concat(), project.path()).unwrap();
        assert_eq!((counts.passed, counts.failed), (2, 1));
        assert_eq!(read_spec("ℹ tests 5\nℹ pass 5\n", project.path()), None);
        assert_eq!(read_spec(&block(u64::MAX, 0), project.path()), None);
    }

    #[test]
    fn files_that_node_executes_are_told_from_tests_named_after_files() {
        let project =
            project(&["test/helper.js", "lib/test/deep/x.mjs", "a.test.ts", "src/b.js", "test/notes.md"]);
        let is_file = |name: &str, arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_string()).collect();
            is_test_script(name, &arguments, project.path())
        };
        for name in ["test/helper.js", "lib/test/deep/x.mjs", "a.test.ts"] {
            assert!(is_file(name, &[]), "{name}");
        }
        assert!(is_file(&project.path().join("src/b.js").display().to_string(), &[]));
        assert!(!is_file("src/b.js", &[]) && !is_file("src/b.js", &["--test-only", "src/[", "*.js"]));
        assert!(is_file("src/b.js", &["./src/b.js"]) && is_file("src/b.js", &["src/*.js"]));
        for name in ["test/missing.js", "test/notes.md", "adds"] {
            assert!(!is_file(name, &[]), "{name}");
        }
    }

    #[test]
    fn tap_in_the_output_of_a_script_counts_no_files() {
        let project = project(&["test/helper.js"]);
        let text = "TAP version 13\n# Subtest: adds\nok 1 - adds\n# Subtest: test/helper.js\nok 2 - test/helper.js\n1..2\n\
            # tests 2\n# suites 0\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n";
        let counts = read_tap(text, project.path()).unwrap();
        assert_eq!(counts.passed, 1);
        assert_eq!(counts.executed.into_keys().collect::<Vec<_>>(), ["adds"]);
        assert_eq!(read_tap("ok 1\n1..1\n", project.path()), None);
    }

    #[test]
    fn every_pattern_compiles() {
        assert!(SPEC_COUNTS.is_some() && SPEC_TEST.is_some());
    }
}
