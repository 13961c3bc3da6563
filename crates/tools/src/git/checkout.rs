//! Changing branches: `git_checkout`.

use super::integrate::list;
use super::repository::Repository;
use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_gate::{Touches, steering};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Steering files that a refusal names.
const MAX_NAMED: usize = 5;

#[derive(Debug, Clone, Copy)]
pub struct GitCheckout;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckoutInput {
    /// A branch, tag or commit; with create_branch the name of the new branch.
    #[serde(default)]
    target: String,
    /// Make a new branch at the present commit.
    #[serde(default)]
    create_branch: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckoutData {
    /// The branch; none when no branch is checked out.
    branch: Option<String>,
    /// The commit, shortened; none before the first.
    head: Option<String>,
    /// The sandbox of git and the project's hooks.
    sandbox: &'static str,
    /// Protected files that a hook changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tampered: Vec<String>,
}

#[async_trait]
impl Tool for GitCheckout {
    type Input = CheckoutInput;
    type Data = CheckoutData;
    const NAME: &'static str = "git_checkout";
    const DESCRIPTION: &'static str = "Check out a branch, tag or commit, or make a new branch. Changes that are not \
        committed are kept; where they are in the way, nothing happens. It does not restore files. Refused where it would \
        change files that instruct agents or start programs.";
    const EXAMPLE: &'static str = r#"{"target": "fix-dates", "create_branch": true}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("branch", "target"), ("create", "create_branch")];
    const TOUCHES: Touches = Touches::EXECUTES;

    async fn call(
        &self,
        input: CheckoutInput,
        context: &ToolContext,
    ) -> Result<Output<CheckoutData>, ToolError> {
        let target = input.target.trim();
        check(target)?;
        let repository = Repository::open(context).await?;
        // The two dashes at the end: a word before them is never a path.
        let words: &[&str] = if input.create_branch {
            &["checkout", "--quiet", "--no-recurse-submodules", "-b", target, "--"]
        } else {
            &["checkout", "--quiet", "--no-recurse-submodules", "--no-overwrite-ignore", target, "--"]
        };
        if !input.create_branch {
            refuse_steering(&repository, target, context).await?;
        }
        let done = repository.check_out(words, context).await?;
        let status = super::read::status(&repository, "no", context).await?;
        let place = status.place();
        let data = CheckoutData {
            branch: status.branch,
            head: status.head,
            sandbox: done.sandbox,
            tampered: done.tampered.clone(),
        };
        let mut text = place.clone();
        let kept = status.changes.len();
        if kept > 0 {
            text.push_str(&format!("\n{kept} changed files were kept as they are"));
        }
        if !done.tampered.is_empty() {
            text.push_str(&format!("\n{}", done.warning()));
        }
        Ok(Output::new(place, text, data))
    }
}

/// Refuses a commit with other steering files than the present one: an agent can make such a commit itself. What this does not
/// see, a name that git completes or a filter, is undone after the checkout.
async fn refuse_steering(
    repository: &Repository,
    target: &str,
    context: &ToolContext,
) -> Result<(), ToolError> {
    let Some(new) = find_commit(repository, target, context).await? else { return Ok(()) };
    let paths = match find_commit(repository, "HEAD", context).await? {
        Some(head) => {
            let words = ["diff-tree", "-r", "--no-renames", "--name-only", "-z", &head, &new, "--"];
            list(repository, &words, context).await?
        }
        None => list(repository, &["ls-tree", "-r", "--name-only", "-z", &new], context).await?,
    };
    let steer = |path: &&String| steering::find_path(Path::new(path)).is_some();
    let named: Vec<String> = paths.iter().filter(steer).take(MAX_NAMED).cloned().collect();
    if named.is_empty() {
        return Ok(());
    }
    Err(ToolError::Failed(format!(
        "cannot check out `{target}`: it changes files that steer agents or programs: {}\n  hint: ask the person to check it out",
        named.join(", ")
    )))
}

/// The commit that a name stands for.
async fn find_commit(
    repository: &Repository,
    name: &str,
    context: &ToolContext,
) -> Result<Option<String>, ToolError> {
    let name = format!("{name}^{{commit}}");
    let shown =
        repository.show(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name], context).await?;
    Ok((shown.code() == Some(0)).then(|| shown.outcome.stdout.text().trim().to_string()))
}

/// Checks that this is a name, and nothing that git would take for a flag or a path.
fn check(target: &str) -> Result<(), ToolError> {
    if target.is_empty() {
        return Err(ToolError::Usage("git_checkout needs `target`: a branch, tag or commit.".into()));
    }
    let strange = target.chars().any(|c| c.is_whitespace() || c.is_control() || "?*[\\:".contains(c));
    if target.starts_with('-') && target != "-" || strange {
        return Err(ToolError::Usage(format!(
            "`{}` is not the name of a branch, tag or commit.",
            marvin_base::truncate::line(target, 80)
        )));
    }
    if target == "-" || target == "." {
        return Err(ToolError::Usage(
            "name the branch, tag or commit; files are restored with apply_patch, not with a checkout."
                .into(),
        ));
    }
    Ok(())
}
