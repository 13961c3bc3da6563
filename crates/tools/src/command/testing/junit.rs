//! Parser of JUnit reports, as pytest writes them.

use super::counts::Counts;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::path::Path;

/// Counts the tests of a report; `None` when it is not one. Paths below `root` give the names that pytest itself uses.
pub(super) fn read(text: &str, root: &Path) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut suites = 0;
    let mut case: Option<String> = None;
    let mut wrong = false;
    // The function of the open test case: parameters in brackets may differ from run to run.
    let mut open: Option<String> = None;
    let mut is_skipped = false;
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.expand_empty_elements = true;
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    // A malformed report counts up to the error.
    while let Ok(event) = reader.read_event() {
        let mut close_case = || {
            counts.failing.extend(case.take().filter(|_| wrong));
            if let Some(name) = open.take() {
                counts.note(&name, !is_skipped);
            }
            (wrong, is_skipped) = (false, false);
        };
        match event {
            Event::Eof => break,
            Event::End(tag) if tag.name().0 == "testcase" => close_case(),
            Event::Start(tag) => match tag.name().0 {
                "testsuite" => {
                    suites += 1;
                    let figure = |name: &str| attribute(&tag, name).parse::<u64>().unwrap_or(0);
                    let (failed, errors, skipped) = (figure("failures"), figure("errors"), figure("skipped"));
                    counts.failed += failed;
                    counts.errors += errors;
                    counts.skipped += skipped;
                    counts.passed += figure("tests").saturating_sub(failed + errors + skipped);
                }
                "testcase" => {
                    close_case();
                    let (class, name) = (attribute(&tag, "classname"), attribute(&tag, "name"));
                    let function = name.split_once('[').map_or(name.as_str(), |(function, _)| function);
                    // A file that could not be loaded is not a test.
                    open = Some(format!("{class}.{function}")).filter(|_| !class.is_empty());
                    case = Some(node_id(&class, &name, root));
                }
                "failure" | "error" => wrong = true,
                "skipped" => is_skipped = true,
                _ => {}
            },
            _ => {}
        }
    }
    (suites > 0).then_some(counts)
}

/// The value of an attribute; empty when it is missing or malformed.
fn attribute(tag: &BytesStart<'_>, name: &str) -> String {
    let found = tag.try_get_attribute(name).ok().flatten();
    let value =
        found.and_then(|found| Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned()));
    value.unwrap_or_default()
}

/// `tests.test_a.TestX` and `test_m[1]` as `tests/test_a.py::TestX::test_m[1]`.
fn node_id(class: &str, name: &str, root: &Path) -> String {
    // A file that could not be loaded has only a name.
    let (dotted, own) = if class.is_empty() { (name, None) } else { (class, Some(name)) };
    let parts: Vec<&str> = dotted.split('.').collect();
    // No module lies that deep; a report can say anything.
    for length in (1..=parts.len().min(64)).rev() {
        let (file, classes) = parts.split_at(length);
        let file = format!("{}.py", file.join("/"));
        if root.join(&file).is_file() {
            let rest = classes.iter().copied().chain(own);
            return std::iter::once(file.as_str()).chain(rest).collect::<Vec<_>>().join("::");
        }
    }
    [dotted].into_iter().chain(own).collect::<Vec<_>>().join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_names_are_read() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("tests")).unwrap();
        std::fs::write(directory.path().join("tests/test_a.py"), "").unwrap();
        let text = r#"<?xml version="1.0"?><!-- <testsuite tests="9"/> --><testsuites><testsuite name="pytest" errors="1"
            failures="2" skipped="1" tests="8" time="0.05"><testcase classname="tests.test_a" name="test_ok" time="0"/>
            <testcase classname="tests.test_a.TestX" name="test_m[&lt;x &amp; &quot;y&gt; &#233;]" time="0"><failure
            message="a > b">&lt;failure&gt; <![CDATA[<testcase name="fake"><failure>]]></failure></testcase>
            <testcase classname="other" name="t"><failure message=""/></testcase>
            <testcase classname="" name="tests.test_a"><error message="collection failure">x</error></testcase>
            <testcase classname="tests.test_a" name="test_s"><skipped type="x" message="y"/></testcase>
            <testcase classname="tests.test_a" name="test_out"><system-out>failure</system-out></testcase></testsuite></testsuites>"#;
        let counts = read(text, directory.path()).unwrap();
        assert_eq!((counts.passed, counts.failed, counts.skipped, counts.errors), (4, 2, 1, 1));
        assert_eq!(
            counts.failing,
            ["tests/test_a.py::TestX::test_m[<x & \"y> é]", "other::t", "tests/test_a.py"]
        );
        for broken in ["", "no report", "<", "<testsuite", "<a b='", "<![CDATA["] {
            assert_eq!(read(broken, directory.path()), None, "{broken}");
        }
    }
}
