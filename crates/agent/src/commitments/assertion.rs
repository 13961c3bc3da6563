//! Parser of assertions. It is strict: an unclear text is refused when it is added, not guessed at when it is verified.
//!
//! | kind | text |
//! |---|---|
//! | `shell` | a command line for bash, in the grammar of [`shell::check_assertion`] |
//! | `file_exists` | `PATH`; with `/` at its end it must be a directory |
//! | `file_contains` | `PATH: TEXT`, `PATH:TEXT`, or `{"path", "text"}` |
//! | `json_equals` | `PATH: /POINTER = VALUE`, or `{"path", "pointer", "value"}`; the value is JSON |
//! | `tests_pass` | `RUNNER WORDS…`, `auto`, or `command LINE` |

use super::commitment::Kind;
use super::error::InvalidCommitment;
use marvin_base::truncate;
use marvin_gate::shell;
use marvin_tools::command::Runner;
use serde::Deserialize;
use serde_json::Value;

const MAX_ASSERTION_BYTES: usize = 16 * 1024;

/// A parsed assertion.
#[derive(Debug, Clone, PartialEq)]
pub enum Assertion {
    /// A command line that must end with exit code 0.
    Shell { line: String },
    /// A file or directory that must exist.
    FileExists { path: String, directory: bool },
    /// A file that must hold a text.
    FileContains { path: String, text: String },
    /// A value in a JSON file that must be equal to another.
    JsonEquals {
        path: String,
        /// JSON pointer into the file.
        pointer: String,
        value: Value,
    },
    /// Tests of which at least one must run and none may fail.
    TestsPass {
        runner: Runner,
        /// Arguments of the runner.
        words: Vec<String>,
        /// Command line, where the runner is a command.
        line: Option<String>,
    },
}

/// Splits `KIND:ASSERTION`, as it stands on a command line.
///
/// # Errors
/// When the kind is missing or unknown.
pub fn split(text: &str) -> Result<(Kind, &str), InvalidCommitment> {
    let kinds = || Kind::ALL.map(Kind::word).join(", ");
    let Some((word, assertion)) = text.split_once(':') else {
        return Err(InvalidCommitment::new(
            format!("`{}` names no kind", truncate::line(text, 60)),
            format!("write KIND:ASSERTION, for example 'shell:pytest -q'; kinds: {}", kinds()),
        ));
    };
    let word = word.trim();
    match Kind::ALL.into_iter().find(|kind| kind.word() == word) {
        Some(kind) => Ok((kind, assertion.trim())),
        None => Err(InvalidCommitment::new(
            format!("unknown kind `{}` of commitment", truncate::line(word, 40)),
            format!("kinds: {}", kinds()),
        )),
    }
}

impl Assertion {
    /// Parses the text of an assertion.
    ///
    /// # Errors
    /// When the text is not clear, or checks nothing.
    pub fn parse(kind: Kind, text: &str) -> Result<Assertion, InvalidCommitment> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidCommitment::new(
                "it is empty: it checks nothing",
                "write KIND:ASSERTION, for example 'shell:pytest -q'",
            ));
        }
        if text.len() > MAX_ASSERTION_BYTES {
            return Err(InvalidCommitment::new(
                format!("it is longer than {MAX_ASSERTION_BYTES} bytes"),
                "put it into a script and run that",
            ));
        }
        if text.contains('\0') {
            return Err(InvalidCommitment::new("it holds a zero byte", ""));
        }
        match kind {
            Kind::Shell => {
                shell::check_assertion(text)
                    .map_err(|refusal| InvalidCommitment::new(refusal.to_string(), ""))?;
                Ok(Assertion::Shell { line: text.to_string() })
            }
            Kind::FileExists => {
                let path = text.trim_end_matches('/');
                check_is_work(path)?;
                Ok(Assertion::FileExists { path: path.to_string(), directory: text.ends_with('/') })
            }
            Kind::FileContains => contains(text),
            Kind::JsonEquals => equals(text),
            Kind::TestsPass => tests(text),
        }
    }
}

/// Refuses a path that cannot be the work of an agent: one outside the project, the project's directory itself, which always exists,
/// and the files of Marvin and git.
fn check_is_work(path: &str) -> Result<(), InvalidCommitment> {
    let outside = || {
        InvalidCommitment::new(
            "its path lies outside the project, so that it can never hold",
            "name a file of the project, relative to its directory",
        )
    };
    if path.starts_with('/') && path.contains(|char| char != '/') || path.starts_with("~/") {
        return Err(outside());
    }
    let always = |reason: &str| Err(InvalidCommitment::new(reason, "name a file of the work itself"));
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            ".." => drop(parts.pop().ok_or_else(outside)?),
            part => parts.push(part),
        }
    }
    match parts.as_slice() {
        [] => always("the project's directory is always there"),
        [".git", ..] => always("`.git` is git's own, and there in every repository"),
        [".marvin"] | [".marvin", "agents" | "runs" | "security", ..] => {
            always("`.marvin` holds what Marvin itself writes down, this promise too")
        }
        _ => Ok(()),
    }
}

/// Splits `PATH: REST`, or `PATH:REST` where no colon has a space behind it.
fn split_path(text: &str) -> Option<(&str, &str)> {
    text.split_once(": ").or_else(|| text.split_once(':'))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contains {
    path: String,
    text: String,
}

fn contains(text: &str) -> Result<Assertion, InvalidCommitment> {
    const FORM: &str = "write `PATH: TEXT`, or {\"path\": \"…\", \"text\": \"…\"}";
    let wrong = |reason: String| InvalidCommitment::new(reason, FORM);
    let Contains { path, text } = if text.starts_with('{') {
        serde_json::from_str(text).map_err(|error| wrong(format!("it cannot be parsed: {error}")))?
    } else {
        let (path, text) = split_path(text).ok_or_else(|| wrong("it names no text".into()))?;
        Contains { path: path.trim().to_string(), text: text.to_string() }
    };
    if path.is_empty() || text.is_empty() {
        return Err(wrong("every file holds the empty text".into()));
    }
    check_is_work(&path)?;
    Ok(Assertion::FileContains { path, text })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Equals {
    path: String,
    pointer: String,
    value: Value,
}

fn equals(text: &str) -> Result<Assertion, InvalidCommitment> {
    const FORM: &str = "write `PATH: /POINTER = VALUE` with VALUE as JSON, for example `package.json: /version = \"1.2.0\"`, \
                        or {\"path\": \"…\", \"pointer\": \"/…\", \"value\": …}";
    let wrong = |reason: String| InvalidCommitment::new(reason, FORM);
    let Equals { path, pointer, value } = if text.starts_with('{') {
        serde_json::from_str(text).map_err(|error| wrong(format!("it cannot be parsed: {error}")))?
    } else {
        let parts = split_path(text).and_then(|(path, rest)| Some((path, rest.split_once(" = ")?)));
        let (path, (pointer, value)) = parts.ok_or_else(|| wrong("it cannot be parsed".into()))?;
        let value = serde_json::from_str(value.trim())
            .map_err(|error| wrong(format!("its value is not JSON: {error}")))?;
        Equals { path: path.trim().to_string(), pointer: pointer.trim().to_string(), value }
    };
    if path.is_empty() {
        return Err(wrong("it names no file".into()));
    }
    check_is_work(&path)?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(wrong(format!(
            "`{pointer}` is not a JSON pointer: it begins with `/`, or is empty for the whole file"
        )));
    }
    Ok(Assertion::JsonEquals { path, pointer, value })
}

fn tests(text: &str) -> Result<Assertion, InvalidCommitment> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let runner = match Runner::find(word) {
        Some(Runner::Command) => {
            if rest.is_empty() {
                return Err(InvalidCommitment::new(
                    "the runner `command` needs a line",
                    "write `tests_pass:command make test`",
                ));
            }
            shell::check_test_command(rest)
                .map_err(|refusal| InvalidCommitment::new(refusal.to_string(), ""))?;
            let line = Some(rest.to_string());
            return Ok(Assertion::TestsPass { runner: Runner::Command, words: Vec::new(), line });
        }
        Some(runner) => runner,
        None => {
            return Err(InvalidCommitment::new(
                format!("unknown runner `{}`", truncate::line(word, 40)),
                format!("runners: auto, {}, or `command LINE`", Runner::NAMES),
            ));
        }
    };
    let words = words(rest).ok_or_else(|| InvalidCommitment::new("a quote in it is not closed", ""))?;
    Ok(Assertion::TestsPass { runner, words, line: None })
}

/// Splits a text into words; quotes and backslashes are the only shell syntax.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == char => break,
                        '\\' if char == '"' => word.push(chars.next()?),
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            char if char.is_whitespace() => words.extend(word.take()),
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(text: &str) -> Result<Assertion, InvalidCommitment> {
        let (kind, text) = split(text)?;
        Assertion::parse(kind, text)
    }

    #[test]
    fn every_kind_is_understood() {
        assert_eq!(parse("shell: pytest -q").unwrap(), Assertion::Shell { line: "pytest -q".into() });
        let directory = Assertion::FileExists { path: "build".into(), directory: true };
        assert_eq!(parse("file_exists:build/").unwrap(), directory);
        let contains = Assertion::FileContains { path: "a b.txt".into(), text: "c: d".into() };
        assert_eq!(parse("file_contains:a b.txt: c: d").unwrap(), contains);
        let short = Assertion::FileContains { path: "a.txt".into(), text: "c".into() };
        assert_eq!(parse("file_contains:a.txt:c").unwrap(), short);
        assert_eq!(parse(r#"file_contains:{"path":"a b.txt","text":"c: d"}"#).unwrap(), contains);
        let equals = |value| Assertion::JsonEquals { path: "p.json".into(), pointer: "/a/0".into(), value };
        assert_eq!(parse(r#"json_equals:p.json: /a/0 = "x = y""#).unwrap(), equals(json!("x = y")));
        assert_eq!(
            parse(r#"json_equals:{"path":"p.json","pointer":"/a/0","value":{"b":1}}"#).unwrap(),
            equals(json!({"b": 1}))
        );
        let tests = |runner, words: &[&str]| Assertion::TestsPass {
            runner,
            words: words.iter().map(|word| (*word).to_string()).collect(),
            line: None,
        };
        assert_eq!(
            parse("tests_pass:pytest -k 'a b' \"\" c\\ d").unwrap(),
            tests(Runner::Pytest, &["-k", "a b", "", "c d"])
        );
        assert_eq!(parse("tests_pass:auto").unwrap(), tests(Runner::Auto, &[]));
        let Assertion::TestsPass { line, .. } = parse("tests_pass:command make test").unwrap() else {
            panic!()
        };
        assert_eq!(line.as_deref(), Some("make test"));
        for text in [
            "file_exists:src/../a.txt",
            "file_exists:.marvin/design.md",
            "file_exists:.github/workflows/ci.yml",
            "tests_pass:command make test | tee log",
            "tests_pass:command ./unit.sh 2>&1 | tail -3",
            "tests_pass:command cd web && npm test",
            "tests_pass:command cat list.txt | xargs pytest",
            "tests_pass:command echo start && python3 -m unittest",
        ] {
            assert_eq!(parse(text).err(), None, "{text}");
        }
    }

    #[test]
    fn an_assertion_that_is_unclear_or_always_holds_is_refused_with_a_hint() {
        for text in [
            "pytest",
            "magic:x",
            "shell:",
            "shell:true",
            "shell:pytest || true",
            "file_exists:",
            "file_exists:./",
            "file_exists:/",
            "file_exists:././.",
            "file_exists:.//",
            "file_exists:src/..",
            "file_exists:/etc/passwd",
            "file_exists:../x",
            "file_exists:src/../../x",
            "file_contains:~/notes.txt: x",
            "file_exists:./src/./../",
            "file_exists:.marvin",
            "file_exists:./.marvin/",
            "file_exists:.marvin/agents/project.md",
            "file_exists:src/../.git",
            "file_exists:.git/HEAD",
            "file_contains:.marvin/agents/project.md: commitments",
            "json_equals:.marvin/runs/a/run.json: /version = 1",
            "file_contains:a.txt",
            "file_contains:a.txt: ",
            "file_contains:a.txt:",
            "file_contains:{\"path\":\"a\"}",
            "file_contains:{\"path\":\"a\",\"text\":\"\"}",
            "json_equals:a.json",
            "json_equals:a.json: /x",
            "json_equals:a.json: x = 1",
            "json_equals:a.json: /x = y",
            "json_equals:{\"path\":\"a\",\"pointer\":\"/x\",\"value\":1,\"more\":2}",
            "tests_pass:",
            "tests_pass:jest",
            "tests_pass:command",
            "tests_pass:command make test || true",
            "tests_pass:command cat r.txt",
            "tests_pass:command head -5 ./r.txt",
            "tests_pass:command cat r.txt | grep passed",
            "tests_pass:command grep passed r.txt",
            "tests_pass:command sed -n p r.txt",
            "tests_pass:command bash -c 'cat r.txt'",
            "tests_pass:command echo '5 passed'",
            "tests_pass:command echo '5 passed' | tee log",
            "tests_pass:command printf '5 passed\\n' && test -f r.txt",
            "tests_pass:command ./check.sh && echo '5 passed'",
            "tests_pass:command ./check.sh && cat r.txt",
            "tests_pass:command ./check.sh && cat <<< '5 passed'",
            "tests_pass:command ls r.txt",
            "tests_pass:pytest 'a",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("shell:pytest || true").unwrap_err().to_string().contains("hint: leave `|| true` out"));
        assert!(parse(&format!("shell:{}", "a".repeat(20_000))).is_err());
    }
}
