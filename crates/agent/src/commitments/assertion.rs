//! The text of an assertion, understood strictly: what is not clear is refused when it is added, not guessed at when it
//! is verified.
//!
//! | kind | text |
//! |---|---|
//! | `shell` | a command line for bash, in the grammar of [`shell::check_assertion`] |
//! | `file_exists` | `PATH`; with `/` at its end it must be a directory |
//! | `file_contains` | `PATH: TEXT`, or `{"path", "text"}` |
//! | `json_equals` | `PATH: /POINTER = VALUE`, or `{"path", "pointer", "value"}`; the value is JSON |
//! | `tests_pass` | `RUNNER WORDS…`: auto, pytest, cargo, go, node, or `command LINE` |

use super::commitment::Kind;
use marvin_gate::shell;
use marvin_tools::command::Runner;
use serde::Deserialize;
use serde_json::Value;

/// Bytes of an assertion.
const MAX_ASSERTION_BYTES: usize = 16 * 1024;

/// An assertion that was understood.
#[derive(Debug, Clone, PartialEq)]
pub enum Assertion {
    /// A command line that must end with exit code 0.
    Shell {
        /// The line.
        line: String,
    },
    /// Something that must be there.
    FileExists {
        /// Where.
        path: String,
        /// Whether it must be a directory.
        directory: bool,
    },
    /// A file that must hold a text.
    FileContains {
        /// Where.
        path: String,
        /// What.
        text: String,
    },
    /// A value in a JSON file that must be equal to another.
    JsonEquals {
        /// Where.
        path: String,
        /// The place in it, as a JSON pointer.
        pointer: String,
        /// What it must be.
        value: Value,
    },
    /// Tests of which at least one must run and none may fail.
    TestsPass {
        /// What runs them.
        runner: Runner,
        /// Its words.
        words: Vec<String>,
        /// The line, for a runner of one's own.
        line: Option<String>,
    },
}

/// `KIND:ASSERTION`, as it stands on a command line.
///
/// # Errors
/// When there is no such kind.
pub fn split(text: &str) -> Result<(Kind, &str), String> {
    let kinds = || Kind::ALL.map(Kind::word).join(", ");
    let Some((word, assertion)) = text.split_once(':') else {
        return Err(format!(
            "`{}` names no kind\n  hint: write KIND:ASSERTION, for example 'shell:pytest -q'; kinds: {}",
            marvin_base::truncate::line(text, 60),
            kinds()
        ));
    };
    let word = word.trim();
    match Kind::ALL.into_iter().find(|kind| kind.word() == word) {
        Some(kind) => Ok((kind, assertion.trim())),
        None => Err(format!(
            "there is no kind `{}` of commitment\n  hint: kinds: {}",
            marvin_base::truncate::line(word, 40),
            kinds()
        )),
    }
}

impl Assertion {
    /// Understands the text of an assertion.
    ///
    /// # Errors
    /// What is wrong with it, and the mend.
    pub fn parse(kind: Kind, text: &str) -> Result<Assertion, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err(
                "it is empty: it checks nothing\n  hint: write KIND:ASSERTION, for example 'shell:pytest -q'"
                    .into(),
            );
        }
        if text.len() > MAX_ASSERTION_BYTES {
            return Err(format!(
                "it is longer than {MAX_ASSERTION_BYTES} bytes\n  hint: put it into a script and run that"
            ));
        }
        if text.contains('\0') {
            return Err("it holds a zero byte".into());
        }
        match kind {
            Kind::Shell => {
                shell::check_assertion(text).map_err(|refusal| refusal.to_string())?;
                Ok(Assertion::Shell { line: text.to_string() })
            }
            Kind::FileExists => {
                let path = text.trim_end_matches('/');
                is_work(path)?;
                Ok(Assertion::FileExists { path: path.to_string(), directory: text.ends_with('/') })
            }
            Kind::FileContains => contains(text),
            Kind::JsonEquals => equals(text),
            Kind::TestsPass => tests(text),
        }
    }
}

/// Is this path a piece of work? The project's directory is always there, and the record and git's own files are written by
/// Marvin and by git. An absolute path is the gate's to refuse.
fn is_work(path: &str) -> Result<(), String> {
    const HINT: &str = "\n  hint: name a file of the work itself";
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            // Out of the project: the gate's to refuse, too.
            ".." if parts.last().is_none_or(|last| *last == "..") => parts.push(part),
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    match parts.as_slice() {
        [] => Err(format!("the project's directory is always there{HINT}")),
        [".git", ..] => Err(format!("`.git` is git's own, and there in every repository{HINT}")),
        [".marvin"] | [".marvin", "agents" | "runs" | "security", ..] => {
            Err(format!("`.marvin` holds what Marvin itself writes down, this promise too{HINT}"))
        }
        _ => Ok(()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contains {
    path: String,
    text: String,
}

fn contains(text: &str) -> Result<Assertion, String> {
    const FORM: &str = "\n  hint: write `PATH: TEXT`, or {\"path\": \"…\", \"text\": \"…\"}";
    let Contains { path, text } = if text.starts_with('{') {
        serde_json::from_str(text).map_err(|error| format!("it is not understood: {error}{FORM}"))?
    } else {
        let (path, text) = text.split_once(": ").ok_or_else(|| format!("it names no text{FORM}"))?;
        Contains { path: path.trim().to_string(), text: text.to_string() }
    };
    if path.is_empty() || text.is_empty() {
        return Err(format!("every file holds the empty text{FORM}"));
    }
    is_work(&path)?;
    Ok(Assertion::FileContains { path, text })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Equals {
    path: String,
    pointer: String,
    value: Value,
}

fn equals(text: &str) -> Result<Assertion, String> {
    const FORM: &str = "\n  hint: write `PATH: /POINTER = VALUE` with VALUE as JSON, for example `package.json: /version = \"1.2.0\"`, \
                        or {\"path\": \"…\", \"pointer\": \"/…\", \"value\": …}";
    let Equals { path, pointer, value } = if text.starts_with('{') {
        serde_json::from_str(text).map_err(|error| format!("it is not understood: {error}{FORM}"))?
    } else {
        let parts = text.split_once(": ").and_then(|(path, rest)| Some((path, rest.split_once(" = ")?)));
        let (path, (pointer, value)) = parts.ok_or_else(|| format!("it is not understood{FORM}"))?;
        let value = serde_json::from_str(value.trim())
            .map_err(|error| format!("its value is not JSON: {error}{FORM}"))?;
        Equals { path: path.trim().to_string(), pointer: pointer.trim().to_string(), value }
    };
    if path.is_empty() {
        return Err(format!("it names no file{FORM}"));
    }
    is_work(&path)?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(format!(
            "`{pointer}` is no JSON pointer: it begins with `/`, or is empty for the whole file{FORM}"
        ));
    }
    Ok(Assertion::JsonEquals { path, pointer, value })
}

fn tests(text: &str) -> Result<Assertion, String> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let runner = match word {
        "auto" => Runner::Auto,
        "pytest" => Runner::Pytest,
        "cargo" => Runner::Cargo,
        "go" => Runner::Go,
        "node" => Runner::Node,
        "command" => {
            if rest.is_empty() {
                return Err(
                    "the runner `command` needs a line\n  hint: write `tests_pass:command make test`".into(),
                );
            }
            shell::check_test_command(rest).map_err(|refusal| refusal.to_string())?;
            let line = Some(rest.to_string());
            return Ok(Assertion::TestsPass { runner: Runner::Command, words: Vec::new(), line });
        }
        _ => {
            return Err(format!(
                "there is no runner `{}`\n  hint: runners: auto, pytest, cargo, go, node, or `command LINE`",
                marvin_base::truncate::line(word, 40)
            ));
        }
    };
    let words = words(rest).ok_or("a quote in it is not closed")?;
    Ok(Assertion::TestsPass { runner, words, line: None })
}

/// Words with quotes around what belongs together; nothing else of a shell.
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

    fn parse(text: &str) -> Result<Assertion, String> {
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
    fn what_is_unclear_or_always_holds_is_refused_with_its_mend() {
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
        assert!(parse("shell:pytest || true").unwrap_err().contains("hint: leave `|| true` out"));
        assert!(parse(&format!("shell:{}", "a".repeat(20_000))).is_err());
    }
}
