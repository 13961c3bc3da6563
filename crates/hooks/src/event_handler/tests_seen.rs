//! Detection of passing tests: a change is not merged before tests passed after the last edit.
//!
//! Limits: Codex does not report how a command ended, so it is exempt. Any test command counts; commitments
//! (`marvin verify`) are the stronger proof.

use crate::event::Client;
use crate::session::Session;
use marvin_gate::Verdict;

/// Whether a line runs tests, without anything that hides the exit code.
pub(super) fn is_test(line: &str) -> bool {
    if line.contains(['|', ';', '&', '\n']) && !line.contains("&&") || line.contains("||") {
        return false;
    }
    let last = line.rsplit("&&").next().unwrap_or(line);
    if last.contains(['|', ';', '&', '\n']) {
        return false;
    }
    let without_run = [
        "--version",
        "--help",
        "-h",
        "--collect-only",
        "--co",
        "--no-run",
        "--list",
        "--fixtures",
        "--dry-run",
    ];
    if last.split_whitespace().any(|word| without_run.contains(&word)) {
        return false;
    }
    let words: Vec<&str> = last.split_whitespace().filter(|word| !word.contains('=')).take(4).collect();
    matches!(
        words.as_slice(),
        ["pytest" | "tox" | "nox" | "jest" | "vitest" | "rspec" | "phpunit" | "ctest" | "bats", ..]
            | ["cargo", "test" | "nextest" | "t", ..]
            | ["go" | "dotnet" | "swift" | "deno" | "bun" | "mix", "test", ..]
            | ["npm" | "pnpm" | "yarn", "test" | "t", ..]
            | ["npm" | "pnpm" | "yarn" | "bun", "run", "test" | "tests" | "check" | "test:run", ..]
            | ["pnpm" | "npx" | "yarn" | "uv" | "poetry", "exec" | "run", "pytest" | "vitest" | "jest", ..]
            | ["npx", "vitest" | "jest", ..]
            | ["make" | "just" | "task", "test" | "tests" | "check", ..]
            | ["python" | "python3", "-m", "pytest" | "unittest", ..]
            | ["mvn" | "./mvnw" | "gradle" | "./gradlew", "test" | "check" | "verify", ..]
            | ["marvin", "verify", ..]
    )
}

/// The denial of a merge without passing tests.
pub(super) fn before_merge(line: &str, session: &Session) -> Option<Verdict> {
    if session.tested || session.client() == Client::Codex || !merges(line) {
        return None;
    }
    Some(Verdict::deny(
        "merge.untested",
        "this merges a change, and no run of tests was seen to pass in this session since the last edit",
        "Run the tests as a command of their own (not in a pipe), then merge.",
    ))
}

fn merges(line: &str) -> bool {
    marvin_gate::shell::commands(line).iter().any(|words| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let at = words.iter().position(|word| *word == "gh" || word.ends_with("/gh"));
        let rest = at.and_then(|at| words.get(at + 1..)).unwrap_or_default();
        match rest {
            ["pr", "merge", ..] => !rest.contains(&"--help"),
            ["pr", "create", more @ ..] => more.contains(&"--merge"),
            ["api", more @ ..] => more.iter().any(|word| word.trim_end_matches('/').ends_with("/merge")),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_runs_with_a_visible_exit_code_count() {
        for line in
            ["pytest -q", "cd a && cargo test --locked", "CI=1 npm test", "pnpm run test", "go test ./..."]
        {
            assert!(is_test(line), "{line}");
        }
        for line in [
            "pytest | tail -3",
            "pytest || true",
            "pytest; true",
            "pytest &",
            "echo pytest",
            "cargo build",
            "pytest --version",
            "cargo test --no-run",
            "cargo test && ls",
        ] {
            assert!(!is_test(line), "{line}");
        }
    }

    #[test]
    fn merges_are_found_anywhere_in_a_line() {
        for line in [
            "gh pr merge 3 --squash",
            "true && gh pr merge 3",
            "gh api -X PUT repos/a/b/pulls/3/merge",
            "/usr/bin/gh pr merge",
            "g\"\"h pr merge 3",
            "g\\h p'r' \"merge\" 3",
            "x=gh; $x pr merge 3",
            "bash -c 'gh pr merge 3'",
            "env timeout 9 gh pr merge 3",
        ] {
            assert!(merges(line), "{line}");
        }
        for line in ["gh pr view 3", "gh pr merge --help", "git merge main", "echo merge"] {
            assert!(!merges(line), "{line}");
        }
    }
}
