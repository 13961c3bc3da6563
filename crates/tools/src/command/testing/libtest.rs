//! Parser of the output of Rust's test programs, one section per program: `running 3 tests`, a line for each, a closing line.
//!
//! A failing test's output is printed between these, and may look like them. So a section is closed only by counts that
//! add up to its number of tests and agree with the lines before.

use super::counts::Counts;

/// Suffix of the name of a test that must panic.
pub(super) const SHOULD_PANIC: &str = " - should panic";

#[derive(Debug)]
struct Section {
    tests: u64,
    seen: Vec<(String, Status)>,
    /// Names in the lists at the end.
    listed: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Passed,
    Failed,
    Skipped,
}

/// Counts the tests in the output of one or several test programs; `None` when it is of another kind.
pub(super) fn read(text: &str) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut open: Option<Section> = None;
    let mut any = false;
    let mut in_list = false;
    for line in text.lines() {
        let Some(section) = &mut open else {
            if let Some(tests) = beginning(line) {
                any = true;
                open = Some(Section { tests, seen: Vec::new(), listed: Vec::new() });
            }
            continue;
        };
        let all_seen = section.seen.len() as u64 >= section.tests;
        if let Some((name, status)) = one(line).filter(|_| !all_seen) {
            section.seen.push((name.to_string(), status));
        } else if line == "failures:" {
            in_list = true;
            section.listed.clear();
        } else if let Some(name) = line.strip_prefix("    ").filter(|_| in_list) {
            section.listed.push(name.trim().to_string());
        } else if let Some([passed, failed, ignored, measured]) = closing(line)
            && passed + failed + ignored + measured == section.tests
            && (!all_seen || section.count(Status::Failed) == failed)
        {
            counts.passed += passed + measured;
            counts.failed += failed;
            counts.skipped += ignored;
            for (name, status) in &section.seen {
                counts.note(name, *status != Status::Skipped);
            }
            let names = section.failing();
            let known = names.len() as u64 == failed;
            counts.failing.extend(if known { names } else { std::mem::take(&mut section.listed) });
            open = None;
            in_list = false;
        }
    }
    if let Some(section) = open {
        // The program ended before it could close its section.
        counts.passed += section.count(Status::Passed);
        counts.failed += section.count(Status::Failed);
        counts.skipped += section.count(Status::Skipped);
        counts.errors += 1;
        counts.failing.extend(section.failing());
    }
    any.then_some(counts)
}

impl Section {
    fn count(&self, status: Status) -> u64 {
        self.seen.iter().filter(|(_, seen)| *seen == status).count() as u64
    }

    fn failing(&self) -> Vec<String> {
        let failed = self.seen.iter().filter(|(_, status)| *status == Status::Failed);
        failed.map(|(name, _)| name.trim_end_matches(SHOULD_PANIC).to_string()).collect()
    }
}

/// `running 3 tests`, `running 1 test`.
fn beginning(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("running ")?;
    rest.strip_suffix(" tests").or(rest.strip_suffix(" test"))?.parse().ok()
}

/// `test a::b ... ok`.
fn one(line: &str) -> Option<(&str, Status)> {
    let (name, status) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let status = match status.split([' ', ',']).next().unwrap_or_default() {
        "ok" | "bench:" => Status::Passed,
        "FAILED" => Status::Failed,
        "ignored" => Status::Skipped,
        _ => return None,
    };
    // With ` - should panic` it is another test, since its result is inverted.
    Some((name, status))
}

/// `test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s`.
fn closing(line: &str) -> Option<[u64; 4]> {
    let figures = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let mut numbers = figures.split("; ").map(|figure| {
        let (number, word) = figure.split_once(' ')?;
        Some((number.parse::<u64>().ok()?, word))
    });
    let mut next =
        |wanted: &str| numbers.next().flatten().filter(|(_, word)| *word == wanted).map(|(number, _)| number);
    Some([next("passed")?, next("failed")?, next("ignored")?, next("measured")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_add_up_and_what_tests_print_does_not_count() {
        let text = "\nrunning 3 tests\ntest a ... ok\ntest m::b ... FAILED\ntest c ... ignored, slow\n\nfailures:\n\n\
            ---- m::b stdout ----\nrunning 9 tests\ntest fake ... ok\ntest result: ok. 9 passed; 0 failed; 0 ignored; 0 \
            measured; 0 filtered out; finished in 0.00s\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 \
            filtered out; finished in 0.00s\n\n\nfailures:\n    m::b\n\ntest result: FAILED. 1 passed; 1 failed; 1 ignored; 0 \
            measured; 0 filtered out; finished in 0.00s\n\n   Doc-tests x\n\nrunning 1 test\n\
            test src/lib.rs - add (line 3) ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let counts = read(text).unwrap();
        assert_eq!((counts.passed, counts.failed, counts.skipped, counts.errors), (2, 1, 1, 0));
        assert_eq!(counts.failing, ["m::b"]);
    }

    #[test]
    fn a_program_that_ends_early_and_one_that_prints_in_between() {
        let early = read("running 3 tests\ntest a ... ok\ntest b ... FAILED\n").unwrap();
        assert_eq!((early.passed, early.failed, early.errors), (1, 1, 1));
        let between = "running 2 tests\ntest a ... noise\nok\ntest b ... noise\nFAILED\n\nfailures:\n\nfailures:\n    b\n\n\
            test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let counts = read(between).unwrap();
        assert_eq!((counts.passed, counts.failed), (1, 1));
        assert_eq!(counts.failing, ["b"]);
        assert_eq!(
            read(
                "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out\n"
            ),
            Some(Counts::default())
        );
        assert_eq!(read("nothing"), None);
    }
}
