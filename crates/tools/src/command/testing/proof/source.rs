//! Tests in source files: names, and markers that skip a test.
//!
//! They are found by regex, without running anything: good enough to notice a removed test, which the comparison of two
//! runs then confirms where there is a baseline.

use marvin_base::signature;
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

/// A file with tests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct TestFile {
    pub(super) sha256: String,
    /// Names of its tests, with how often each occurs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) names: BTreeMap<String, usize>,
    /// Number of markers that skip a test or let it fail.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) skips: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

struct Language {
    endings: &'static [&'static str],
    names: &'static str,
    skips: &'static str,
}

const LANGUAGES: [Language; 5] = [
    Language {
        endings: &["py"],
        names: r"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)",
        skips: r"\b(?:skip|skipif|skipIf|skipUnless|skipTest|SkipTest|xfail|expectedFailure|importorskip|collect_ignore|__test__)\b|pytest\.exit",
    },
    Language {
        endings: &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"],
        names: r#"\b(?:test|it)(?:\.\w+)*\(\s*['"`]([^'"`\n]+)"#,
        skips: r"\.(?:skip|skipIf|todo|only|fails|failing|runIf)\b|\b(?:xit|xtest|xdescribe|fit|fdescribe)\b|\b(?:skip|todo|only)\s*:|process\.exit",
    },
    Language {
        endings: &["rs"],
        names: r"#\[(?:\w+::)*test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?(?:async\s+)?fn\s+(\w+)",
        skips: r"#!?\[\s*(?:ignore|cfg_attr\([^\]]*ignore|should_panic)|#!?\[\s*cfg\((?:any\(\)|not\(test\))|process::exit",
    },
    Language {
        endings: &["go"],
        names: r"(?m)^func[ \t]+((?:Test|Example|Fuzz)\w*)\(",
        skips: r"\.Skip(?:f|Now)?\(|testing\.Short\(|//go:build|os\.Exit|func TestMain",
    },
    Language {
        endings: &["sh", "bash", "bats"],
        names: r#"(?m)^@test ['"]([^'"\n]+)"#,
        skips: r"(?i)\bskip\b|^exit 0",
    },
];

static PATTERNS: LazyLock<Vec<Option<(Regex, Regex)>>> = LazyLock::new(|| {
    let compile =
        |language: &Language| Some((Regex::new(language.names).ok()?, Regex::new(language.skips).ok()?));
    LANGUAGES.iter().map(compile).collect()
});

/// Whether files with this ending are source code of a known language.
pub(super) fn is_known(ending: &str) -> bool {
    LANGUAGES.iter().any(|language| language.endings.contains(&ending))
}

const TEST_DIRECTORIES: [&str; 6] = ["test", "tests", "__tests__", "spec", "t", "testing"];

/// Whether a file is a test by its name or its directory, whatever its language.
#[must_use]
pub fn is_test_file(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let in_directory = path
        .parent()
        .into_iter()
        .flat_map(Path::components)
        .any(|part| TEST_DIRECTORIES.iter().any(|name| part.as_os_str().eq_ignore_ascii_case(name)));
    in_directory
        || stem == "test"
        || stem.starts_with("test_")
        || stem.starts_with("test-")
        || [".test", ".spec", "_test", "-test", "_spec", "tests"].iter().any(|end| stem.ends_with(end))
}

/// The tests of a file; none when it has none.
pub(super) fn tests_of(path: &Path, bytes: &[u8]) -> Option<TestFile> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned()).unwrap_or_default();
    let named = is_test_file(path);
    let at = LANGUAGES.iter().position(|language| language.endings.contains(&ending.as_str()));
    // Rust keeps unit tests beside the code.
    if at.is_none() || (!named && ending != "rs") {
        return None;
    }
    let text = String::from_utf8_lossy(bytes);
    let mut file = TestFile { sha256: signature::hash_bytes(bytes), ..TestFile::default() };
    if let Some(Some((names, skips))) = at.and_then(|at| PATTERNS.get(at)) {
        for found in names.captures_iter(&text).filter_map(|found| found.get(1)) {
            *file.names.entry(found.as_str().to_string()).or_default() += 1;
        }
        file.skips = skips.find_iter(&text).count();
    }
    (ending != "rs" || !file.names.is_empty()).then_some(file)
}

/// Sentences about tests that were removed or skipped between two sets of test files.
pub(super) fn taken_away(
    before: &BTreeMap<String, TestFile>,
    now: &BTreeMap<String, TestFile>,
) -> Vec<String> {
    let mut lost = Vec::new();
    let count = |files: &BTreeMap<String, TestFile>| {
        let mut all: BTreeMap<String, usize> = BTreeMap::new();
        for (name, times) in files.values().flat_map(|file| &file.names) {
            *all.entry(name.clone()).or_default() += times;
        }
        all
    };
    let there = count(now);
    for (name, times) in count(before) {
        if there.get(&name).copied().unwrap_or(0) < times {
            lost.push(format!("the test `{name}` was removed or renamed"));
        }
    }
    for (path, file) in before {
        match now.get(path) {
            None if file.names.is_empty() => lost.push(format!("`{path}` was removed")),
            Some(found) if found.skips > file.skips => {
                lost.push(format!("`{path}` skips or excuses more tests than before"));
            }
            _ => {}
        }
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> BTreeMap<String, TestFile> {
        tests_of(Path::new(path), text.as_bytes()).map(|file| (path.to_string(), file)).into_iter().collect()
    }

    #[test]
    fn s8_tests_that_were_taken_away_are_seen() {
        assert!(PATTERNS.iter().all(Option::is_some));
        let cases = [
            ("test_a.py", "def test_a(): pass\ndef test_b(): pass\n", "def test_a(): pass\n"),
            ("test_a.py", "def test_a(): pass\n", "import pytest\n@pytest.mark.skip\ndef test_a(): pass\n"),
            ("src/lib.rs", "#[test]\nfn a() {}\n", "#[test]\n#[ignore]\nfn a() {}\n"),
            ("src/lib.rs", "#[tokio::test(x)]\nasync fn a() {}\n", "fn a() {}\n"),
            ("a.test.js", "test('a', () => {})\n", "test.skip('a', () => {})\n"),
            ("a_test.go", "func TestA(t *testing.T) {}\n", "func testA(t *testing.T) {}\n"),
        ];
        for (path, before, now) in cases {
            assert!(!taken_away(&file(path, before), &file(path, now)).is_empty(), "{path}: {now}");
            assert!(taken_away(&file(path, before), &file(path, before)).is_empty());
            let more = format!("{before}\ndef test_more(): pass\n");
            assert!(taken_away(&file(path, before), &file(path, &more)).is_empty());
        }
        assert!(file("src/calc.py", "def test_a(): pass\n").is_empty(), "not a test file");
    }
}
