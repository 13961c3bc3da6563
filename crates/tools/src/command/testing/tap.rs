//! Reports in the Test Anything Protocol, as node writes them: indented subtests, and figures at the end.

use super::counts::Counts;

/// Reads a report of node; `None` when it has no figures at its end.
pub(super) fn read(text: &str) -> Option<Counts> {
    let figure = |name: &str| {
        // The figures are the last comments; what tests print stands before them.
        let lines = text.lines().rev().take_while(|line| line.starts_with("# ") || line.is_empty());
        let mut found =
            lines.filter_map(|line| line.strip_prefix("# ")?.strip_prefix(name)?.trim().parse::<u64>().ok());
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

/// The names of tests with those around them, executed and not.
pub(super) fn named(text: &str) -> Counts {
    let mut around: Vec<(usize, String)> = Vec::new();
    let mut counts = Counts::default();
    for line in text.lines() {
        let trimmed = line.trim_start();
        let depth = line.len() - trimmed.len();
        if let Some(name) = trimmed.strip_prefix("# Subtest: ") {
            around.retain(|(other, _)| *other < depth);
            around.push((depth, plain(name)));
        } else if let Some(name) = trimmed.strip_prefix("not ok ").or(trimmed.strip_prefix("ok ")) {
            let name = name.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
            let name = name.strip_prefix("- ").unwrap_or(name).trim();
            let is_executed = !is_excused(name);
            let own = name.split(" # ").next().unwrap_or_default();
            around.retain(|(other, _)| *other < depth);
            let path = around.iter().map(|(_, name)| name.clone()).chain([plain(own)]);
            counts.note(&path.collect::<Vec<_>>().join(" > "), is_executed);
        }
    }
    counts
}

/// Files that node itself counts as a test that passed, because they ended well and reported no test of their own: helpers,
/// and files that ended the process before their tests were done. `is_file` knows the names of files.
pub(super) fn files(text: &str, is_file: impl Fn(&str) -> bool) -> Vec<String> {
    let mut files = Vec::new();
    // The outermost test that was begun, unless there are others inside.
    let mut begun: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let outermost = trimmed.len() == line.len();
        if let Some(name) = trimmed.strip_prefix("# Subtest: ") {
            begun = Some(name).filter(|_| outermost);
        } else if outermost && (line.starts_with("ok ") || line.starts_with("not ok ")) {
            let ended = line.strip_prefix("ok ").and_then(|rest| Some(rest.split_once(" - ")?.1));
            let name = begun.take().filter(|name| ended == Some(*name)).map(plain);
            files.extend(name.filter(|name| is_file(name)));
        }
    }
    files
}

/// The names of tests that failed by themselves, with the names of those around them.
fn failing(text: &str) -> Vec<String> {
    let mut around: Vec<(usize, String)> = Vec::new();
    let mut failing: Vec<String> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim_start();
        let depth = line.len() - trimmed.len();
        if let Some(name) = trimmed.strip_prefix("# Subtest: ") {
            around.retain(|(other, _)| *other < depth);
            around.push((depth, plain(name)));
        } else if let Some(name) = not_ok(trimmed) {
            around.retain(|(other, _)| *other < depth);
            let path = around.iter().map(|(_, name)| name.clone()).chain([plain(name)]);
            failing.push(path.collect::<Vec<_>>().join(" > "));
        } else if trimmed == "failureType: 'subtestsFailed'" {
            // The one inside says what is wrong.
            failing.pop();
        }
    }
    failing
}

/// The name in `not ok 3 - name`, unless it is one that need not pass.
pub(super) fn not_ok(line: &str) -> Option<&str> {
    let name = line.strip_prefix("not ok")?;
    let name = name.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let name = name.strip_prefix("- ").unwrap_or(name).trim();
    (!is_excused(name)).then_some(name)
}

/// Does a directive say that the test need not pass?
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
    fn files_are_told_from_tests() {
        let text = "TAP version 13\n# Subtest: /w/test/a.js\nok 1 - /w/test/a.js\n  ---\n  duration_ms: 1\n  ...\n# Subtest: adds\n\
            ok 2 - adds\n# Subtest: /w/test/b.js\n    # Subtest: in\n    ok 1 - in\n    1..1\nok 3 - /w/test/b.js\n\
            # printed\n# Subtest: /w/c\\#.js\nok 3 - /w/c\\#.js\n# Subtest: /w/d.js\nnot ok 4 - /w/d.js\nok 5 - /w/d.js\n1..5\n";
        assert_eq!(files(text, |name| name.starts_with("/w/")), ["/w/test/a.js", "/w/c#.js"]);
        assert!(files(text, |_| false).is_empty());
    }
}
