//! Detects mocks in tests of Python, JavaScript, TypeScript, Rust and Go: the no-mock policy.
//!
//! Comments are ignored, and string contents too except in imports. Limits: a hand-written mock with an unusual name is left to
//! the reviewers.

use crate::files::{self, Language};
use crate::finding::{Finding, Severity};
use regex::Regex;
use std::path::Path;
use std::sync::LazyLock;

const MAX_FINDINGS: usize = 100;

/// The patterns for code without strings, and for imports with them.
fn patterns(language: Language) -> [&'static LazyLock<Option<Regex>>; 2] {
    match language {
        Language::Python => [&PYTHON, &PYTHON_MODULES],
        Language::Script => [&SCRIPT, &SCRIPT_MODULES],
        Language::Rust => [&RUST, &RUST_MODULES],
        Language::Go => [&GO, &GO_MODULES],
    }
}

pattern!(
    PYTHON,
    r"\b(?:MagicMock|AsyncMock|NonCallableMock|PropertyMock|create_autospec|mock_open|monkeypatch|mocker)\b|\bMock\(|\bmock\.\w+|(?:^|[^.\w])patch(?:\.object|\.dict|\.multiple)?\(|\bclass\s+(?:Fake|Mock|Stub|Dummy)\w*"
);
pattern!(
    PYTHON_MODULES,
    r"\b(?:import|from)\s+(?:unittest\s+import\s+.*\bmock\b|unittest\.mock|mock\b|pytest_mock|responses\b|httpretty|requests_mock|respx|mockito|flexmock|doublex)"
);
pattern!(
    SCRIPT,
    r"\b(?:jest|vi|vitest)\.(?:mock|doMock|fn|spyOn|mocked|unstable_mockModule|stubGlobal|replaceProperty)\b|\bsinon\b|\bnock\(|\bproxyquire\b|\btd\.(?:replace|func|object)\b|\bmock\.(?:method|fn|module|getter|setter|timers)\b|\bcreateStubInstance\b|\bclass\s+(?:Fake|Mock|Stub|Dummy)\w*"
);
pattern!(
    SCRIPT_MODULES,
    r#"(?:\bfrom|\brequire\(|\bimport\(?)\s*["'`](?:sinon|nock|proxyquire|testdouble|rewire|mockery|msw|jest-mock|ts-mockito|jest-fetch-mock|axios-mock-adapter|mock-fs)["'`/]"#
);
pattern!(
    RUST,
    r"\b(?:mockall|mockito|wiremock|faux|mock_it|double|galvanic_mock|pseudo)::|#\[(?:mockall::)?automock|\bmock!\s*[{(]|\bstruct\s+(?:Fake|Mock|Stub|Dummy)\w*"
);
pattern!(
    RUST_MODULES,
    r"\b(?:use|extern\s+crate)\s+(?:mockall|mockito|wiremock|faux|mock_it|galvanic_mock|unimock)\b"
);
pattern!(
    GO,
    r"\bgomock\.|\bmock\.Mock\b|\bsqlmock\.|\bhttpmock\.|\bgock\.|\bmonkey\.Patch|\bgomonkey\.|\btype\s+(?:[Ff]ake|[Mm]ock|[Ss]tub|[Dd]ummy)\w*\s+struct"
);
pattern!(
    GO_MODULES,
    r#""[^"]*(?:gomock|testify/mock|go-sqlmock|httpmock|/gock|bou\.ke/monkey|gomonkey|mockery|counterfeiter)[^"]*""#
);

/// The mocks in the tests of a project, with file and line.
#[must_use]
pub fn find(root: &Path) -> Vec<Finding> {
    let tests = files::tests(root).into_iter();
    tests.flat_map(|path| in_text(&path, &files::text(root, &path))).take(MAX_FINDINGS).collect()
}

/// The mocks in one file.
#[must_use]
pub fn in_text(path: &str, text: &str) -> Vec<Finding> {
    let Some(language) = Language::from_path(path) else { return Vec::new() };
    let (code, named) = stripped(text, language);
    let [calls, modules] = patterns(language);
    let hit = |pattern: &LazyLock<Option<Regex>>, line: &str| {
        pattern.as_ref().and_then(|pattern| pattern.find(line)).map(|found| found.as_str().trim().to_string())
    };
    let lines = code.lines().zip(named.lines()).enumerate();
    lines
        .filter_map(|(number, (code, named))| {
            // In these languages a string names the module.
            let by_string = matches!(language, Language::Script | Language::Go);
            let found = hit(modules, if by_string { named } else { code }).or_else(|| hit(calls, code))?;
            Some(Finding {
                severity: Severity::Critical,
                place: format!("{path}:{}", number + 1),
                text: format!("`{found}` is a mock; test the real part"),
                repro: None,
            })
        })
        .collect()
}

/// The state of the lexer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LexerState {
    Code,
    /// To the end of the line.
    Comment,
    /// To `*/`.
    Block,
    /// To this quote, tripled in Python, or followed by `#` in Rust.
    Text {
        quote: char,
        triple: bool,
        hashes: usize,
        raw: bool,
    },
}

/// The text without comments and string contents, and the text without comments, both with the same lines.
fn stripped(text: &str, language: Language) -> (String, String) {
    let letters: Vec<char> = text.chars().collect();
    let (mut code, mut named) = (String::with_capacity(text.len()), String::with_capacity(text.len()));
    let mut inside = LexerState::Code;
    let mut at = 0;
    let is = |at: usize, word: &str| {
        word.chars().enumerate().all(|(more, letter)| letters.get(at + more) == Some(&letter))
    };
    while let Some(&letter) = letters.get(at) {
        if letter == '\n' {
            code.push('\n');
            named.push('\n');
            let ends = match inside {
                LexerState::Comment => true,
                // A quote without an end on its line does not open a string.
                LexerState::Text { quote, triple, raw, .. } => {
                    !triple && !raw && quote != '`' && language != Language::Rust
                }
                _ => false,
            };
            if ends {
                inside = LexerState::Code;
            }
            at += 1;
            continue;
        }
        match inside {
            LexerState::Code => {
                let comment = if language == Language::Python { "#" } else { "//" };
                if is(at, comment) {
                    inside = LexerState::Comment;
                } else if language != Language::Python && is(at, "/*") {
                    inside = LexerState::Block;
                    at += 1;
                } else if let Some((opened, width)) = opens(&letters, at, language) {
                    inside = opened;
                    for _ in 0..width {
                        code.push('"');
                        named.extend(letters.get(at));
                        at += 1;
                    }
                    continue;
                } else {
                    code.push(letter);
                    named.push(letter);
                }
                at += 1;
            }
            LexerState::Comment => at += 1,
            LexerState::Block => {
                if is(at, "*/") {
                    inside = LexerState::Code;
                    at += 1;
                }
                at += 1;
            }
            LexerState::Text { quote, triple, hashes, raw } => {
                if letter == '\\' && !raw {
                    named.extend(
                        letters
                            .get(at..(at + 2).min(letters.len()))
                            .into_iter()
                            .flatten()
                            .filter(|c| **c != '\n'),
                    );
                    // An escaped line break still ends the line.
                    at += if letters.get(at + 1) == Some(&'\n') { 1 } else { 2 };
                    continue;
                }
                let end: String = match triple {
                    true => std::iter::repeat_n(quote, 3).collect(),
                    false => std::iter::once(quote).chain(std::iter::repeat_n('#', hashes)).collect(),
                };
                if is(at, &end) {
                    inside = LexerState::Code;
                    code.push('"');
                    named.push_str(&end);
                    at += end.chars().count();
                } else {
                    named.push(letter);
                    at += 1;
                }
            }
        }
    }
    (code, named)
}

/// The state and width of a string that opens here.
fn opens(letters: &[char], at: usize, language: Language) -> Option<(LexerState, usize)> {
    let letter = *letters.get(at)?;
    let text =
        |quote: char, triple: bool, hashes: usize, raw: bool| LexerState::Text { quote, triple, hashes, raw };
    let three = |quote: char| (0..3).all(|more| letters.get(at + more) == Some(&quote));
    match (language, letter) {
        (Language::Python, '"' | '\'') if three(letter) => Some((text(letter, true, 0, false), 3)),
        (Language::Python | Language::Script, '"' | '\'') => Some((text(letter, false, 0, false), 1)),
        (Language::Script, '`') => Some((text('`', false, 0, false), 1)),
        (Language::Go, '`') => Some((text('`', false, 0, true), 1)),
        // A character literal.
        (Language::Go | Language::Rust, '"')
            if letters.get(at + 1) == Some(&'\'') && before(letters, at) == Some('\'') =>
        {
            None
        }
        (Language::Go | Language::Rust, '"') => Some((text('"', false, 0, false), 1)),
        (Language::Rust, 'r') => {
            if before(letters, at).is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
                return None;
            }
            let hashes = letters.iter().skip(at + 1).take_while(|letter| **letter == '#').count();
            let quoted = letters.get(at + 1 + hashes) == Some(&'"');
            quoted.then(|| (text('"', false, hashes, true), hashes + 2))
        }
        _ => None,
    }
}

fn before(letters: &[char], at: usize) -> Option<char> {
    at.checked_sub(1).and_then(|before| letters.get(before)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let place = |finding: Finding| finding.place.rsplit(':').next().unwrap().parse().unwrap();
        in_text(path, text).into_iter().map(place).collect()
    }

    #[test]
    fn every_pattern_compiles() {
        for language in [Language::Python, Language::Script, Language::Rust, Language::Go] {
            assert!(patterns(language).iter().all(|pattern| pattern.is_some()), "{language:?}");
        }
    }

    #[test]
    fn mocks_are_found_with_their_line() {
        let cases = [
            ("test_a.py", "import os\nfrom unittest.mock import MagicMock\n", vec![2]),
            ("test_a.py", "from unittest import TestCase, mock\n", vec![1]),
            ("test_a.py", "def test(monkeypatch):\n    pass\n", vec![1]),
            ("test_a.py", "@patch(\"app.x\")\ndef test(x):\n    m = Mock()\n", vec![1, 3]),
            ("test_a.py", "class FakeClock:\n    pass\n", vec![1]),
            ("a.test.ts", "import sinon from 'sinon';\n\njest.mock('./a');\n", vec![1, 3]),
            ("a.test.js", "const s = vi.spyOn(a, 'b');\n", vec![1]),
            ("a.test.js", "const nock = require(\"nock\");\n", vec![1]),
            (
                "tests/a.rs",
                "use mockall::predicate;\n#[automock]\ntrait T {}\nstruct MockT;\n",
                vec![1, 2, 4],
            ),
            (
                "a_test.go",
                "import (\n\t\"github.com/stretchr/testify/mock\"\n)\ntype fakeStore struct {\n}\n",
                vec![2, 4],
            ),
        ];
        for (path, text, wanted) in cases {
            assert_eq!(lines(path, text), wanted, "{path}: {text}");
        }
    }

    #[test]
    fn words_in_comments_and_strings_are_ignored() {
        let cases = [
            (
                "test_a.py",
                "# no MagicMock here\ndef test():\n    \"\"\"never use\n    unittest.mock or monkeypatch\"\"\"\n    assert 'Mock(' != x\n",
            ),
            ("test_a.py", "def test():\n    client.patch(\"/a\")\n    mockingbird = 1\n"),
            (
                "a.test.js",
                "// jest.mock('x')\n/* sinon\n nock( */\nconst a = \"jest.fn()\";\nconst b = `vi.mock`;\n",
            ),
            (
                "tests/a.rs",
                "// mockall::x\nlet a = r#\"struct MockT \" use mockall\"#;\nlet b = \"#[automock]\";\nlet c = '\"'; // use mockall\nlet d = \"mockall::\";\n",
            ),
            ("a_test.go", "// gomock.X\nvar a = `type fakeX struct`\nvar b = \"mock.Mock\"\n"),
        ];
        for (path, text) in cases {
            assert_eq!(lines(path, text), Vec::<usize>::new(), "{path}: {text}");
        }
    }

    #[test]
    fn any_text_can_be_scanned() {
        for text in ["\"", "'''", "r#\"", "/*", "\\", "\u{fffd}\n\"\\", "r", "'\\"] {
            for path in ["test_a.py", "a.test.js", "tests/a.rs", "a_test.go"] {
                assert!(in_text(path, text).is_empty(), "{path}: {text}");
            }
        }
    }
}
