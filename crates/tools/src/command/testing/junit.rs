//! Parser of JUnit reports, as pytest writes them.

use super::counts::Counts;
use std::path::Path;

/// Reads a report; `None` when it is none. Paths below `root` give the names that pytest itself uses.
pub(super) fn read(text: &str, root: &Path) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut suites = 0;
    let mut case: Option<String> = None;
    let mut wrong = false;
    // The function of the test case that is open: parameters in brackets may differ from run to run.
    let mut open: Option<String> = None;
    let mut is_skipped = false;
    for tag in tags(text) {
        match tag.name {
            "testsuite" if !tag.closing => {
                suites += 1;
                let figure =
                    |name: &str| tag.attribute(name).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
                let (failed, errors, skipped) = (figure("failures"), figure("errors"), figure("skipped"));
                counts.failed += failed;
                counts.errors += errors;
                counts.skipped += skipped;
                counts.passed += figure("tests").saturating_sub(failed + errors + skipped);
            }
            "testcase" => {
                if let Some(name) = case.take().filter(|_| wrong) {
                    counts.failing.push(name);
                }
                wrong = false;
                if let Some(name) = open.take() {
                    counts.note(&name, !is_skipped);
                }
                is_skipped = false;
                if !tag.closing {
                    let class = tag.attribute("classname").unwrap_or_default();
                    let name = tag.attribute("name").unwrap_or_default();
                    // A file that could not be loaded is not a test.
                    let function = name.split_once('[').map_or(name.as_str(), |(function, _)| function);
                    let function = Some(format!("{class}.{function}")).filter(|_| !class.is_empty());
                    if tag.empty {
                        function.iter().for_each(|name| counts.note(name, true));
                    } else {
                        open = function;
                        case = Some(node_id(&class, &name, root));
                    }
                }
            }
            "failure" | "error" if !tag.closing => wrong = true,
            "skipped" if !tag.closing => is_skipped = true,
            _ => {}
        }
    }
    (suites > 0).then_some(counts)
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

struct Tag<'a> {
    name: &'a str,
    closing: bool,
    empty: bool,
    attributes: &'a str,
}

impl Tag<'_> {
    /// The value of an attribute, with entities read.
    fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start();
            let (key, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| *c == '"' || *c == '\'')?;
            let (value, further) = after.strip_prefix(quote)?.split_once(quote)?;
            if key.trim() == name {
                return Some(unescaped(value));
            }
            rest = further;
        }
    }
}

/// The tags of a document, in order; comments, declarations and character data are skipped.
fn tags(text: &str) -> impl Iterator<Item = Tag<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.split_once('<')?.1;
            for (start, end) in [("![CDATA[", "]]>"), ("!--", "-->"), ("?", "?>"), ("!", ">")] {
                if rest.starts_with(start) {
                    rest = rest.split_once(end)?.1;
                    break;
                }
            }
            let first = rest.chars().next()?;
            if !first.is_ascii_alphabetic() && first != '/' {
                continue;
            }
            // A greater-than sign may stand in a quoted value.
            let mut quote = None;
            let end = rest.find(|c| match (quote, c) {
                (None, '>') => true,
                (None, '"' | '\'') => {
                    quote = Some(c);
                    false
                }
                (Some(open), _) if open == c => {
                    quote = None;
                    false
                }
                _ => false,
            })?;
            let (inside, after) = rest.split_at_checked(end)?;
            rest = after;
            let closing = inside.starts_with('/');
            let inside = inside.trim_start_matches('/');
            let empty = inside.ends_with('/');
            let inside = inside.trim_end_matches('/');
            let (name, attributes) = inside.split_once(|c: char| c.is_whitespace()).unwrap_or((inside, ""));
            return Some(Tag { name, closing, empty, attributes });
        }
    })
}

/// The five entities and characters by their number.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let Some((entity, further)) = after.split_once(';').filter(|(entity, _)| entity.len() < 12) else {
            plain.push('&');
            rest = after;
            continue;
        };
        let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        let found = match entity {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => match entity.strip_prefix('#') {
                Some(hex) if hex.starts_with(['x', 'X']) => number(hex.trim_start_matches(['x', 'X']), 16),
                Some(digits) => number(digits, 10),
                None => None,
            },
        };
        match found {
            Some(character) => plain.push(character),
            None => plain.push_str(&format!("&{entity};")),
        }
        rest = further;
    }
    plain.push_str(rest);
    plain
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
