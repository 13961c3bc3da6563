//! Shell lines that run a test runner.
//!
//! `shell:pytest -q` proves no more than what can steer pytest. Such a line is therefore verified like `tests_pass`: sealed, and in a
//! fresh copy of the project. A line that only looks at files or at what was built runs in the project itself.

use marvin_gate::shell::command_words;
use marvin_tools::command::Runner;

/// Further programs that run tests, with the words that must follow where the program can do other things too.
const RUNNERS: &[(&str, &[&str])] = &[
    ("tox", &[]),
    ("nox", &[]),
    ("jest", &[]),
    ("vitest", &[]),
    ("mocha", &[]),
    ("ava", &[]),
    ("bats", &[]),
    ("ctest", &[]),
    ("rspec", &[]),
    ("phpunit", &[]),
    ("cargo", &["test", "nextest"]),
    ("go", &["test"]),
    ("node", &["--test"]),
    ("deno", &["test"]),
    ("bun", &["test"]),
    ("npm", &["test", "t"]),
    ("pnpm", &["test", "t"]),
    ("yarn", &["test"]),
    ("dotnet", &["test"]),
    ("mix", &["test"]),
    ("gradle", &["test", "check"]),
    ("./gradlew", &["test", "check"]),
    ("mvn", &["test", "verify"]),
    ("make", &["test", "tests", "check"]),
];
/// Characters that mean something to a shell.
const SPECIAL: &[char] =
    &['|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', '{', '~', '#', '!', '\n'];

/// The runner of a line, its arguments, and the line itself where the runner is the shell.
pub(super) fn test_command(line: &str) -> Option<(Runner, Vec<String>, Option<String>)> {
    let parts = line.split("&&").flat_map(|part| part.split('|'));
    let runs = parts
        .map(|part| command_words(&part.split_whitespace().collect::<Vec<_>>()).to_vec())
        .find(|words| is_runner(words))?;
    if line.contains(SPECIAL)
        || line.contains(['\'', '"', '\\'])
        || !line.trim_start().starts_with(runs.first()?)
    {
        return Some((Runner::Command, Vec::new(), Some(line.to_string())));
    }
    let rest = |from: usize| runs.iter().skip(from).map(|word| (*word).to_string()).collect();
    Some(match Runner::from_words(&runs) {
        Some((runner, words)) => (runner, rest(words), None),
        None => (Runner::Command, Vec::new(), Some(line.to_string())),
    })
}

fn is_runner(words: &[&str]) -> bool {
    match words {
        words if Runner::from_words(words).is_some() => true,
        ["python" | "python3", "-m", "unittest", ..] => true,
        ["npm" | "pnpm" | "yarn", "run", script, ..] => script.starts_with("test"),
        [program, rest @ ..] => RUNNERS.iter().any(|(name, follow)| {
            program == name && (follow.is_empty() || rest.iter().any(|word| follow.contains(word)))
        }),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(line: &str) -> Option<(Runner, usize)> {
        test_command(line).map(|(runner, words, _)| (runner, words.len()))
    }

    #[test]
    fn lines_that_run_tests_are_known() {
        assert_eq!(runner("pytest -q"), Some((Runner::Pytest, 1)));
        assert_eq!(runner("python3 -m pytest tests"), Some((Runner::Pytest, 1)));
        assert_eq!(runner("cargo test --workspace"), Some((Runner::Cargo, 1)));
        for line in [
            "cd web && npm test",
            "pytest 2>&1 | tail -3",
            "timeout 60 pytest -q",
            "A=1 pytest",
            "uv run pytest",
            "env A=1 nice -n 5 pytest",
            "bundle exec rspec",
            "make test",
            "npx jest",
            "npm run test:unit",
            "go test ./...",
            "python3 -m unittest",
            "ruff check . && pytest -k 'a b'",
        ] {
            assert_eq!(runner(line), Some((Runner::Command, 0)), "{line}");
        }
        for line in [
            "./check.sh",
            "test -f out.txt",
            "grep -q pytest README.md",
            "make build",
            "cargo build",
            "npm run build",
            "node app.js",
        ] {
            assert_eq!(runner(line), None, "{line}");
        }
    }
}
