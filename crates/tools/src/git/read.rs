//! Inspecting the repository: `git_status`, `git_diff`, `git_log`.

use super::repository::Repository;
use super::status::{Change, Status};
use crate::context::ToolContext;
use crate::result::{Confidence, Output, TEXT_LIMIT, ToolError, is_over};
use crate::tool::{NoInput, Tool};
use async_trait::async_trait;
use marvin_base::printable::count;
use marvin_base::truncate;
use marvin_gate::{Intent, Touches, secrets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Commits that one call shows.
const MAX_COMMITS: u64 = 200;
/// Files of each kind that the facts list.
const MAX_LISTED_FILES: usize = 500;
/// Separator of the fields of a commit.
const FIELD: char = '\u{1f}';

#[derive(Debug, Clone, Copy)]
pub struct GitStatus;

#[derive(Debug, Serialize, JsonSchema)]
pub struct StatusData {
    /// The branch; none when no branch is checked out.
    branch: Option<String>,
    /// The commit, shortened; none before the first.
    head: Option<String>,
    /// Commits that the branch's upstream does not have, and the other way round.
    ahead: u64,
    behind: u64,
    clean: bool,
    /// Files with changes in the index.
    staged: Vec<String>,
    /// Files with changes that are not in the index.
    modified: Vec<String>,
    /// Files outside of git.
    untracked: Vec<String>,
    /// Files in which a merge conflicts.
    conflicted: Vec<String>,
}

#[async_trait]
impl Tool for GitStatus {
    type Input = NoInput;
    type Data = StatusData;
    const NAME: &'static str = "git_status";
    const DESCRIPTION: &'static str =
        "Show the branch and the changed files of the working directory's git repository.";
    const EXAMPLE: &'static str = "{}";
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, _: NoInput, context: &ToolContext) -> Result<Output<StatusData>, ToolError> {
        let repository = Repository::open(context).await?;
        let status = status(&repository, "normal", context).await?;
        let list = |wanted: fn(&Change) -> bool| -> Vec<String> {
            let found = status.changes.iter().filter(|change| wanted(change));
            found.take(MAX_LISTED_FILES).map(|change| change.path.clone()).collect()
        };
        let data = StatusData {
            branch: status.branch.clone(),
            head: status.head.clone(),
            ahead: status.ahead,
            behind: status.behind,
            clean: status.changes.is_empty(),
            staged: list(Change::is_staged),
            modified: list(Change::is_modified),
            untracked: list(Change::is_untracked),
            conflicted: list(Change::is_conflict),
        };
        let mut text = status.place();
        let changed = match status.changes.len() {
            0 => "nothing changed".to_string(),
            1 => "1 changed file".to_string(),
            count => format!("{count} changed files"),
        };
        text.push_str(&format!("\n{changed}\n"));
        for change in &status.changes {
            text.push_str(&format!("{}\n", change.line()));
        }
        Ok(Output::new(format!("{}: {changed}", status.place()), text, data))
    }
}

/// Asks git for its status; `untracked` is `normal` (directories as one) or `all`.
pub(super) async fn status(
    repository: &Repository,
    untracked: &str,
    context: &ToolContext,
) -> Result<Status, ToolError> {
    let untracked = format!("--untracked-files={untracked}");
    let words = ["status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=all", &untracked];
    Ok(Status::parse(&repository.ask(&words, context).await?))
}

#[derive(Debug, Clone, Copy)]
pub struct GitDiff;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffInput {
    /// Changes in the index against the last commit, instead of files against the index.
    #[serde(default)]
    staged: bool,
    /// Only this file or directory.
    path: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DiffData {
    staged: bool,
    files: Vec<DiffFile>,
    /// Secret files that differ and are not shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DiffFile {
    path: String,
    /// Lines that were added and removed; none for a binary file.
    added: Option<u64>,
    removed: Option<u64>,
}

#[async_trait]
impl Tool for GitDiff {
    type Input = DiffInput;
    type Data = DiffData;
    const NAME: &'static str = "git_diff";
    const DESCRIPTION: &'static str = "Show changes that are not committed, line by line: of files against the index, or \
        with staged=true of the index against the last commit.";
    const EXAMPLE: &'static str = r#"{"staged": false, "path": "src/main.rs"}"#;
    const TOUCHES: Touches = Touches::READS;

    fn intents(input: &DiffInput, _context: &ToolContext) -> Vec<Intent> {
        input.path.iter().map(|path| Intent::Read { path: path.clone() }).collect()
    }

    async fn call(&self, input: DiffInput, context: &ToolContext) -> Result<Output<DiffData>, ToolError> {
        let repository = Repository::open(context).await?;
        let mut words = vec![
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--no-renames",
            "--ignore-submodules=all",
        ];
        if input.staged {
            words.push("--cached");
        }
        let granted = secrets::GrantedFiles::from_settings(&context.settings);
        let place = input.path.as_deref().filter(|path| !path.is_empty() && *path != ".");
        let place = match place {
            Some(path) => format!(":(literal){}", context.workspace()?.path(path)?.as_str()),
            None => ".".to_string(),
        };
        // Without a refresh of the index git lists the names without opening files that the sandbox closes.
        let names =
            [&["-c", "diff.autoRefreshIndex=false"], words.as_slice(), &["--name-only", "-z", "--", &place]];
        let left_out: Vec<String> = (repository.ask(&names.concat(), context).await?.split('\0'))
            .filter(|name| {
                let path = Path::new(name);
                // A person approved the one that was named.
                input.path.as_deref() != Some(name) && secrets::is_env_file(path) && !granted.has(path)
            })
            .map(str::to_string)
            .collect();
        let excludes: Vec<String> = left_out.iter().map(|path| format!(":(exclude,literal){path}")).collect();
        let places: Vec<&str> =
            ["--", &place].into_iter().chain(excludes.iter().map(String::as_str)).collect();
        let numstat = [words.as_slice(), &["--numstat", "-z"], &places].concat();
        let files = numbers(&repository.ask(&numstat, context).await?);
        let mut text = repository.ask(&[words.as_slice(), &places].concat(), context).await?;
        if !left_out.is_empty() {
            text.push_str(&format!("[not shown, since they may hold secrets: {}]\n", left_out.join(", ")));
        }
        let what = if input.staged { "in the index" } else { "not in the index" };
        let summary = match files.len() {
            0 => format!("no changes {what}"),
            1 => format!("1 file with changes {what}"),
            count => format!("{count} files with changes {what}"),
        };
        if files.is_empty() {
            text.push_str(&summary);
        }
        let mut output =
            Output::new(summary, String::new(), DiffData { staged: input.staged, files, left_out });
        if is_over(&text, TEXT_LIMIT) {
            output.text = truncate::head_whole(&text, TEXT_LIMIT);
            output.limit = usize::MAX;
            output.confidence = Confidence::Summarized;
            output.whole = Some(text);
        } else {
            output.text = text;
        }
        Ok(output)
    }
}

/// Parses `ADDED\tREMOVED\tPATH\0…`, with `-` for binary files.
fn numbers(text: &str) -> Vec<DiffFile> {
    let file = |entry: &str| {
        let mut parts = entry.splitn(3, '\t');
        let (added, removed) = (parts.next()?.parse().ok(), parts.next()?.parse().ok());
        Some(DiffFile { path: parts.next()?.to_string(), added, removed })
    };
    text.split('\0').filter_map(file).collect()
}

#[derive(Debug, Clone, Copy)]
pub struct GitLog;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogInput {
    /// Number of commits, at most 200.
    #[serde(default = "crate::schema::number::<10>")]
    max_count: u64,
    /// One line per commit.
    #[serde(default = "crate::schema::yes")]
    oneline: bool,
}

/// The commits, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LogData {
    commits: Vec<Commit>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Commit {
    /// Shortened.
    hash: String,
    author: String,
    date: String,
    /// The first line of its message.
    subject: String,
}

#[async_trait]
impl Tool for GitLog {
    type Input = LogInput;
    type Data = LogData;
    const NAME: &'static str = "git_log";
    const DESCRIPTION: &'static str = "Show the last commits of the checked out branch, newest first.";
    const EXAMPLE: &'static str = r#"{"max_count": 10, "oneline": true}"#;
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, input: LogInput, context: &ToolContext) -> Result<Output<LogData>, ToolError> {
        let repository = Repository::open(context).await?;
        // A repository without commits is not an error.
        let head = repository.show(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], context).await?;
        if head.code() != Some(0) {
            return Ok(Output::line("no commits yet", LogData { commits: Vec::new() }));
        }
        let limit = format!("--max-count={}", input.max_count.clamp(1, MAX_COMMITS));
        let format = format!("--format=%h{FIELD}%an{FIELD}%aI{FIELD}%s{FIELD}%b");
        let words = ["log", "-z", "--no-show-signature", "--no-decorate", "--no-patch", &limit, &format];
        let answer = repository.ask(&words, context).await?;
        let mut text = String::new();
        let mut commits = Vec::new();
        for entry in answer.split('\0').filter(|entry| !entry.is_empty()) {
            let mut fields = entry.splitn(5, FIELD).map(str::to_string);
            let mut field = || fields.next().unwrap_or_default();
            let (hash, author, date, subject, body) = (field(), field(), field(), field(), field());
            if input.oneline {
                text.push_str(&format!("{hash} {subject}\n"));
            } else {
                text.push_str(&format!("commit {hash}\nAuthor: {author}\nDate: {date}\n\n    {subject}\n"));
                for line in body.trim().lines() {
                    text.push_str(&format!("    {line}\n"));
                }
                text.push('\n');
            }
            commits.push(Commit { hash, author, date, subject });
        }
        let summary = count(commits.len(), "commit");
        Ok(Output::new(summary, text, LogData { commits }))
    }
}
