//! Parser of the Test Anything Protocol, as node writes it: indented subtests, and counts at the end. [`super::node`] knows which
//! of its tests are files.

use super::counts::Counts;

/// Begins the line of a passed test.
pub(super) const PASSED: &str = "ok ";
/// Begins the line of a failed test.
pub(super) const FAILED: &str = "not ok";
const COMMENT: &str = "# ";
const SUBTEST: &str = "# Subtest: ";
/// Marks a test that failed only because of its subtests.
const SUBTESTS_FAILED: &str = "failureType: 'subtestsFailed'";

/// Parses a report of node; `None` when it has no counts at its end.
pub(super) fn read(text: &str) -> Option<Counts> {
    let figure = |name: &str| {
        // The counts are the last comments; the output of tests comes before them.
        let lines = text.lines().rev().take_while(|line| line.starts_with(COMMENT) || line.is_empty());
        let mut found = lines
            .filter_map(|line| line.strip_prefix(COMMENT)?.strip_prefix(name)?.trim().parse::<u64>().ok());
        found.next()
    };
    figure("tests ")?;
    Some(Counts {
        passed: figure("pass ")?,
        failed: figure("fail ")?,
        skipped: figure("skipped ").unwrap_or(0) + figure("todo ").unwrap_or(0),
        errors: figure("cancelled ").unwrap_or(0),
        failing: failing(text),
        ..named(text)
    })
}

/// The open subtests around a line, outermost first, with their indentation.
#[derive(Default)]
struct Subtests(Vec<(usize, String)>);

impl Subtests {
    /// Opens the subtest that a line begins; returns whether it begins one.
    fn open(&mut self, line: &str) -> bool {
        let trimmed = line.trim_start();
        let Some(name) = trimmed.strip_prefix(SUBTEST) else { return false };
        let depth = line.len() - trimmed.len();
        self.0.retain(|(other, _)| *other < depth);
        self.0.push((depth, plain(name)));
        true
    }

    /// The path of the test that a line ends.
    fn path(&mut self, line: &str, name: &str) -> String {
        let depth = line.len() - line.trim_start().len();
        self.0.retain(|(other, _)| *other < depth);
        let names = self.0.iter().map(|(_, name)| name.clone()).chain([plain(name)]);
        names.collect::<Vec<_>>().join(" > ")
    }
}

/// The name after `ok 3 - ` or `not ok 3 - `.
fn name_of(rest: &str) -> &str {
    let name = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    name.strip_prefix("- ").unwrap_or(name).trim()
}

/// The paths of tests, executed and skipped.
pub(super) fn named(text: &str) -> Counts {
    let mut subtests = Subtests::default();
    let mut counts = Counts::default();
    for line in text.lines() {
        let trimmed = line.trim_start();
        let failed = trimmed.strip_prefix(FAILED).filter(|rest| rest.starts_with(' '));
        if subtests.open(line) {
        } else if let Some(rest) = failed.or(trimmed.strip_prefix(PASSED)) {
            let name = name_of(rest);
            let own = name.split(" # ").next().unwrap_or_default();
            counts.note(&subtests.path(line, own), !is_excused(name));
        }
    }
    counts
}

/// Files that node itself counts as a passed test, because they exited with 0 and reported no test of their own: helpers,
/// and files that ended the process before their tests were done. `is_file` knows the names of files.
pub(super) fn files(text: &str, is_file: impl Fn(&str) -> bool) -> Vec<String> {
    let mut files = Vec::new();
    // The last outermost test that was begun, unless it has subtests.
    let mut begun: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let outermost = trimmed.len() == line.len();
        let failed = line.strip_prefix(FAILED).is_some_and(|rest| rest.starts_with(' '));
        if let Some(name) = trimmed.strip_prefix(SUBTEST) {
            begun = Some(name).filter(|_| outermost);
        } else if outermost && (line.starts_with(PASSED) || failed) {
            let ended = line.strip_prefix(PASSED).and_then(|rest| Some(rest.split_once(" - ")?.1));
            let name = begun.take().filter(|name| ended == Some(*name)).map(plain);
            files.extend(name.filter(|name| is_file(name)));
        }
    }
    files
}

/// The paths of tests that failed by themselves.
fn failing(text: &str) -> Vec<String> {
    let mut subtests = Subtests::default();
    let mut failing: Vec<String> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim_start();
        if subtests.open(line) {
        } else if let Some(name) = not_ok(trimmed) {
            failing.push(subtests.path(line, name));
        } else if trimmed == SUBTESTS_FAILED {
            // The failing subtest is listed itself.
            failing.pop();
        }
    }
    failing
}

/// The name in `not ok 3 - name`, unless a directive allows it to fail.
pub(super) fn not_ok(line: &str) -> Option<&str> {
    let name = name_of(line.strip_prefix(FAILED)?);
    (!is_excused(name)).then_some(name)
}

/// Whether a directive allows the test to fail.
pub(super) fn is_excused(name: &str) -> bool {
    let directive = name.rsplit_once(" # ").map_or("", |(_, directive)| directive).to_ascii_uppercase();
    directive.starts_with("TODO") || directive.starts_with("SKIP")
}

fn plain(name: &str) -> String {
    name.replace("\\#", "#").replace("\\\\", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_at_the_end_count_and_the_innermost_names() {
        let text = "TAP version 13\n# pass 100\n# tests 100\n# Subtest: adds\nok 1 - adds\n  ---\n  ...\n\
            # Subtest: fails \\# hard\nnot ok 2 - fails \\# hard\n  ---\n  failureType: 'testCodeFailure'\n  ...\n\
            # Subtest: suite\n    # Subtest: in\n    ok 1 - in\n    # Subtest: bad\n    not ok 2 - bad\n      ---\n      \
            failureType: 'testCodeFailure'\n      ...\n    1..2\nnot ok 5 - suite\n  ---\n  failureType: 'subtestsFailed'\n  ...\n\
            not ok 6 - later # TODO\n1..6\n# tests 6\n# suites 1\n# pass 2\n# fail 2\n# cancelled 0\n# skipped 1\n# todo 1\n\
            # duration_ms 4.1\n";
        let counts = read(text).unwrap();
        assert_eq!((counts.passed, counts.failed, counts.skipped, counts.errors), (2, 2, 2, 0));
        assert_eq!(counts.failing, ["fails # hard", "suite > bad"]);
        assert_eq!(read("TAP version 13\nok 1 - a\n"), None);
    }

    #[test]
    fn files_are_distinguished_from_tests() {
        let text = "TAP version 13\n# Subtest: /w/test/a.js\nok 1 - /w/test/a.js\n  ---\n  duration_ms: 1\n  ...\n# Subtest: adds\n\
            ok 2 - adds\n# Subtest: /w/test/b.js\n    # Subtest: in\n    ok 1 - in\n    1..1\nok 3 - /w/test/b.js\n\
            # printed\n# Subtest: /w/c\\#.js\nok 3 - /w/c\\#.js\n# Subtest: /w/d.js\nnot ok 4 - /w/d.js\nok 5 - /w/d.js\n1..5\n";
        assert_eq!(files(text, |name| name.starts_with("/w/")), ["/w/test/a.js", "/w/c#.js"]);
        assert!(files(text, |_| false).is_empty());
    }
}
