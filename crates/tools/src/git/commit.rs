//! Committing: `git_commit`.

use super::read::status;
use super::repository::Repository;
use super::status::{Change, Status};
use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_base::environment::Environment;
use marvin_base::truncate;
use marvin_gate::{Touches, secrets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Paths that are never added: records of runs are Marvin's own, and large.
const NEVER: [&str; 2] = [".marvin/runs", ".tokimon-tmp"];
/// The author where git has no `user.name` and `user.email`.
pub(super) const FALLBACK_AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Marvin"),
    ("GIT_AUTHOR_EMAIL", "marvin@localhost"),
    ("GIT_COMMITTER_NAME", "Marvin"),
    ("GIT_COMMITTER_EMAIL", "marvin@localhost"),
];

#[derive(Debug, Clone, Copy)]
pub struct GitCommit;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitInput {
    /// The message; its first line is the subject.
    #[serde(default)]
    message: String,
    /// Add every changed and every new file first; files of secrets are left out.
    #[serde(default = "crate::schema::yes")]
    add_all: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CommitData {
    /// Shortened.
    hash: String,
    /// The branch; none when no branch is checked out.
    branch: Option<String>,
    files: Vec<String>,
    /// Changed files that were left out, since they may hold secrets or belong to the record.
    left_out: Vec<String>,
    ticket: Option<String>,
    /// The sandbox of git and the project's hooks.
    sandbox: &'static str,
    /// Protected files that a hook changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tampered: Vec<String>,
}

#[async_trait]
impl Tool for GitCommit {
    type Input = CommitInput;
    type Data = CommitData;
    const NAME: &'static str = "git_commit";
    const DESCRIPTION: &'static str = "Commit the changes of the working directory. The ticket that is being worked on is \
        added to the message automatically. The project's hooks run.";
    const EXAMPLE: &'static str = r#"{"message": "Parse dates without a zone", "add_all": true}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("msg", "message"), ("all", "add_all")];
    const TOUCHES: Touches = Touches::EXECUTES;

    async fn call(&self, input: CommitInput, context: &ToolContext) -> Result<Output<CommitData>, ToolError> {
        if input.message.trim().is_empty() {
            return Err(ToolError::Usage("git_commit needs `message`: what was changed, and why.".into()));
        }
        let repository = Repository::open(context).await?;
        let before = status(&repository, "all", context).await?;
        if let Some(conflict) = before.changes.iter().find(|change| change.is_conflict()) {
            return Err(ToolError::Failed(format!(
                "`{}` still conflicts; fix it, then run_command `git add {}`.",
                conflict.path, conflict.path
            )));
        }
        let mut left_out = Vec::new();
        if input.add_all {
            left_out = add(&repository, &before, &[], context).await?;
        }
        let after = if input.add_all { status(&repository, "all", context).await? } else { before };
        let staged: Vec<&Change> = after.changes.iter().filter(|change| change.is_staged()).collect();
        if let Some(secret) = staged.iter().find(|change| adds_a_secret(change)) {
            return Err(ToolError::Failed(format!(
                "`{}` is in the index and may hold secrets; take it out (git rm --cached), or leave the commit to the person.",
                secret.path
            )));
        }
        if staged.is_empty() {
            return Err(ToolError::NothingToDo(nothing(&after, &left_out)));
        }
        let files: Vec<String> = staged.iter().map(|change| change.path.clone()).collect();
        let ticket = context.ticket_id();
        let message = with_ticket(&input.message, ticket.as_deref());
        let mut more: Vec<(&str, &str)> = Vec::new();
        let is_anonymous = !has_author(&repository, context).await?;
        if is_anonymous {
            more.extend(FALLBACK_AUTHOR);
        }
        let words = ["commit", "--quiet", "--no-gpg-sign", "--cleanup=whitespace", "--file=-"];
        let done = repository.change_checked(&words, message.into_bytes(), &more, context).await?;
        // Shortened: a long row of digits would be redacted as a secret.
        let hash = repository.ask(&["rev-parse", "--short=12", "HEAD"], context).await?.trim().to_string();
        let subject = truncate::line(input.message.trim().lines().next().unwrap_or_default(), 80);
        let counted = if files.len() == 1 { "1 file".to_string() } else { format!("{} files", files.len()) };
        let mut text = format!("committed {hash} ({counted}): {subject}");
        let summary = text.clone();
        if let Some(ticket) = &ticket {
            text.push_str(&format!("\nticket: {ticket}"));
        }
        if is_anonymous {
            text.push_str(
                "\ngit has no user.name and user.email, so the author is Marvin <marvin@localhost>",
            );
        }
        if !left_out.is_empty() {
            text.push_str(&format!(
                "\nleft out (secrets by their name, or the record): {}",
                left_out.join(", ")
            ));
        }
        let hooks = done.outcome.stderr.text() + &done.outcome.stdout.text();
        if !hooks.trim().is_empty() {
            text.push_str(&format!("\noutput of hooks:\n{}", truncate::middle_whole(hooks.trim(), 4000)));
        }
        if !done.tampered.is_empty() {
            text.push_str(&format!("\n{}", done.warning()));
        }
        let data = CommitData {
            hash,
            branch: after.branch.clone(),
            files,
            left_out,
            ticket,
            sandbox: done.sandbox,
            tampered: done.tampered,
        };
        Ok(Output::new(summary, text, data))
    }
}

/// Whether git knows who commits. Otherwise it would invent an author from the machine's name.
pub(super) async fn has_author(repository: &Repository, context: &ToolContext) -> Result<bool, ToolError> {
    let environment = Environment::of_process();
    if environment.get("GIT_AUTHOR_EMAIL").is_some() && environment.get("GIT_COMMITTER_EMAIL").is_some() {
        return Ok(true);
    }
    for key in ["user.name", "user.email"] {
        if repository.show(&["config", "--get", key], context).await?.code() != Some(0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Adds everything that may be added, and returns what was left out. `more` are variables of git: another index.
pub(super) async fn add(
    repository: &Repository,
    status: &Status,
    more: &[(&str, &str)],
    context: &ToolContext,
) -> Result<Vec<String>, ToolError> {
    let is_never = |path: &str| {
        NEVER.iter().any(|never| {
            path.strip_prefix(never).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let mut left_out = Vec::new();
    let mut wanted: Vec<u8> = Vec::new();
    for change in &status.changes {
        let adds = !change.letters.contains('D');
        if is_never(&change.path) && change.is_untracked() {
            continue;
        }
        if adds && (is_never(&change.path) || is_secret(&change.path)) {
            left_out.push(change.path.clone());
            continue;
        }
        for path in [Some(&change.path), change.from.as_ref()].into_iter().flatten() {
            wanted.extend(path.as_bytes());
            wanted.push(0);
        }
    }
    let literal: Vec<(&str, &str)> = more.iter().copied().chain([("GIT_LITERAL_PATHSPECS", "1")]).collect();
    if !wanted.is_empty() {
        let words = ["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"];
        repository.change_checked(&words, wanted, &literal, context).await?;
    }
    // A file that was in the index before is taken out again.
    let staged =
        |path: &&String| status.changes.iter().any(|change| change.path == **path && change.is_staged());
    let staged: Vec<&str> = left_out.iter().filter(staged).map(String::as_str).collect();
    if !staged.is_empty() {
        let mut words = if status.head.is_some() {
            vec!["reset", "--quiet", "--"]
        } else {
            // By force, since git cannot compare a file that the sandbox closes; the file itself stays.
            vec!["rm", "--quiet", "--cached", "--force", "--"]
        };
        words.extend(staged);
        repository.change_checked(&words, Vec::new(), &literal, context).await?;
    }
    Ok(left_out)
}

fn is_secret(path: &str) -> bool {
    secrets::is_env_file(std::path::Path::new(path))
}

/// Would this change of the index put a secret file into the history?
fn adds_a_secret(change: &Change) -> bool {
    !change.letters.starts_with('D') && is_secret(&change.path)
}

fn nothing(status: &Status, left_out: &[String]) -> String {
    let mut text = "there is nothing to commit".to_string();
    if !left_out.is_empty() {
        text.push_str(&format!(
            ": the only changes are in files that are left out, since they may hold secrets or belong to the record ({})",
            left_out.join(", ")
        ));
    } else if status.changes.is_empty() {
        text.push_str(": no file is changed");
    } else {
        text.push_str(": nothing is in the index; add files first, or call with add_all=true");
    }
    text
}

/// The message with the ticket as its last line, unless it names the ticket already.
fn with_ticket(message: &str, ticket: Option<&str>) -> String {
    let message = message.trim();
    let Some(ticket) = ticket else { return format!("{message}\n") };
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    if message.split(|c| !is_part(c)).any(|word| word.trim_end_matches('.') == ticket) {
        return format!("{message}\n");
    }
    // Trailers form the last paragraph.
    let last = message.rsplit("\n\n").next().unwrap_or_default();
    let is_trailer = |line: &str| {
        line.split_once(": ")
            .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
    };
    let trailers = message.contains("\n\n") && last.lines().all(is_trailer);
    let gap = if trailers { "\n" } else { "\n\n" };
    format!("{message}{gap}Ticket: {ticket}\n")
}

#[cfg(test)]
mod tests {
    use super::with_ticket;

    #[test]
    fn the_ticket_is_named_once() {
        assert_eq!(with_ticket("Fix it", Some("a-1f2e")), "Fix it\n\nTicket: a-1f2e\n");
        assert_eq!(with_ticket("Fix it [a-1f2e]", Some("a-1f2e")), "Fix it [a-1f2e]\n");
        assert_eq!(with_ticket("Fix a-1f2e.", Some("a-1f2e")), "Fix a-1f2e.\n");
        assert_eq!(with_ticket("Fix a-1f2e3", Some("a-1f2e")), "Fix a-1f2e3\n\nTicket: a-1f2e\n");
        assert_eq!(
            with_ticket("Fix it\n\nWhy: so\nRefs: 3\n", Some("t")),
            "Fix it\n\nWhy: so\nRefs: 3\nTicket: t\n"
        );
        assert_eq!(with_ticket(" Fix: it ", None), "Fix: it\n");
        assert_eq!(with_ticket("Fix: it", Some("t")), "Fix: it\n\nTicket: t\n");
    }
}
