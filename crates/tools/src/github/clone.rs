//! Clones of repositories, to search in.
//!
//! The gate judges the URL, and the host name is resolved here; git connects to these addresses only and follows no
//! redirect. It runs in the sandbox with the network open and only the directory of the clones writable, without the
//! person's configuration, credentials, hooks, templates, submodules and links.

use super::repository::{Repository, below};
use crate::context::ToolContext;
use crate::result::{FROM_WEB, Output, ToolError};
use crate::tool::Tool;
use crate::web::get;
use async_trait::async_trait;
use marvin_base::child::Ending;
use marvin_base::settings::table;
use marvin_base::{ids, truncate};
use marvin_gate::network::{Destination, Guard, Host, Service};
use marvin_gate::sandbox::Policy;
use marvin_gate::{Decision, Intent, JudgedCommand, Refusal, RefusalKind, Touches, Workspace, secrets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Interval at which a growing clone is measured.
const MEASURE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy)]
pub(super) struct GithubClone;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CloneInput {
    /// The repository, `owner/name`.
    repo: String,
    /// Only the newest commit.
    #[serde(default = "crate::schema::yes")]
    shallow: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CloneData {
    repo: String,
    /// The directory of the clone: relative to the working directory when it lies there.
    path: String,
    commit: String,
    /// Whether it existed already.
    already: bool,
    bytes: u64,
    /// The sandbox of git.
    sandbox: String,
}

#[async_trait]
impl Tool for GithubClone {
    type Input = CloneInput;
    type Data = CloneData;
    const NAME: &'static str = "github_clone";
    const DESCRIPTION: &'static str =
        "Clone a GitHub repository into the tools' own directory, to be searched with github_grep.";
    const EXAMPLE: &'static str = r#"{"repo": "rust-lang/log", "shallow": true}"#;
    const TOUCHES: Touches = Touches { network: true, ..Touches::STORES };

    fn intents(input: &CloneInput, context: &ToolContext) -> Vec<Intent> {
        // Without a URL the call returns the error.
        let request = |(url, _)| Intent::Request { url, service: Some(Service::GithubClone) };
        address(&input.repo, context).ok().map(request).into_iter().collect()
    }

    async fn call(&self, input: CloneInput, context: &ToolContext) -> Result<Output<CloneData>, ToolError> {
        let (url, repository) = address(&input.repo, context)?;
        let owner = owner_directory(&repository, context, true)?;
        let directory = owner.root().join(&repository.name);
        if directory.is_symlink() {
            return Err(ToolError::Failed(format!("{} is a link; tell the person", directory.display())));
        }
        let mut data = CloneData {
            repo: repository.to_string(),
            path: shown(&directory, context),
            commit: commit_of(&owner, &repository.name),
            already: true,
            bytes: 0,
            sandbox: String::new(),
        };
        let inner = owner.path(&format!("{}/.git", repository.name))?;
        if owner.metadata(&inner).is_ok_and(|facts| facts.is_dir()) {
            data.bytes = size(&directory, u64::MAX);
            let line = format!("{repository} was cloned already: {} at {}", data.path, short(&data.commit));
            return Ok(Output { source: FROM_WEB, ..Output::line(line, data) });
        }
        // Under another name until it is complete.
        let part = Part(owner.root().join(format!(".{}-{}", repository.name, ids::short(8))));
        data.sandbox = clone(&url, &part.0, owner.root(), input.shallow, context).await?;
        std::fs::rename(&part.0, &directory).map_err(|error| {
            ToolError::Failed(format!("cannot move the clone to {}: {error}", directory.display()))
        })?;
        data.already = false;
        data.commit = commit_of(&owner, &repository.name);
        data.bytes = size(&directory, u64::MAX);
        let line = format!(
            "Cloned {repository} into {} at {} ({} bytes); search it with github_grep",
            data.path,
            short(&data.commit),
            data.bytes
        );
        Ok(Output { source: FROM_WEB, ..Output::line(line, data) })
    }
}

fn short(commit: &str) -> String {
    commit.chars().take(12).collect()
}

/// The URL that a repository is cloned from.
fn address(repo: &str, context: &ToolContext) -> Result<(String, Repository), ToolError> {
    let repository = Repository::parse(repo, &context.settings)?;
    let name = format!("{}.git", repository.name);
    let url = below(&context.settings, &table::GITHUB_CLONE_URL, &[&repository.owner, &name])?;
    Ok((url.into(), repository))
}

/// The directory of an owner's clones. In a project no part of the path may be a link.
pub(super) fn owner_directory(
    repository: &Repository,
    context: &ToolContext,
    make: bool,
) -> Result<Workspace, ToolError> {
    let directory = context.layout.tools_cache().join("github").join(&repository.owner);
    if !make && !directory.is_dir() {
        return Err(not_cloned(repository));
    }
    if let Some(workspace) = context.workspace.as_deref()
        && let Ok(inside) = directory.strip_prefix(workspace.root())
    {
        return Ok(workspace.inner(&workspace.path(&inside.display().to_string())?)?);
    }
    std::fs::create_dir_all(&directory)
        .map_err(|error| ToolError::Failed(format!("cannot create {}: {error}", directory.display())))?;
    Ok(Workspace::open(&directory, context.layout.home())?)
}

pub(super) fn not_cloned(repository: &Repository) -> ToolError {
    ToolError::Failed(format!("{repository} is not cloned yet; call github_clone first"))
}

fn shown(directory: &Path, context: &ToolContext) -> String {
    let inside =
        context.workspace.as_deref().and_then(|workspace| directory.strip_prefix(workspace.root()).ok());
    inside.unwrap_or(directory).display().to_string()
}

const MAX_REFS_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// A directory that is removed unless it was renamed.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        // It was renamed when the clone succeeded.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// Runs git, and returns the sandbox that it had.
async fn clone(
    url: &str,
    to: &Path,
    writable: &Path,
    shallow: bool,
    context: &ToolContext,
) -> Result<String, ToolError> {
    let guard = Guard::new(&context.settings, &context.redactor)?;
    let destination = Destination::understand(url)?;
    let verdict = guard.judge(url, Some(Service::GithubClone));
    if verdict.decision == Decision::Deny {
        return Err(Refusal::new(RefusalKind::Allowlist, verdict.reason, verdict.how_to_fix).into());
    }
    let deadline = context.settings.seconds(&table::GITHUB_CLONE_TIMEOUT);
    let addresses =
        tokio::time::timeout(deadline, get::resolve(&guard, &destination, Some(Service::GithubClone)))
            .await
            .map_err(|_| {
                ToolError::Failed(format!("{} could not be looked up in time", destination.place()))
            })??;
    let temporary = tempfile::Builder::new()
        .prefix("marvin-")
        .tempdir()
        .map_err(|error| ToolError::Failed(format!("cannot create a temporary directory: {error}")))?;
    let mut child = JudgedCommand::own("git", &[]);
    child.arguments.extend(arguments(&destination, &addresses, shallow).into_iter().map(Into::into));
    child.arguments.extend(["--".into(), destination.url().as_str().into(), to.into()]);
    // Not in the project, whose own repository git would read first.
    child.directory = Some(temporary.path().to_path_buf());
    child.deadline = deadline;
    child.keep = 16 * 1024;
    child.inherit = false;
    child.set = environment(&destination, temporary.path());
    let mut policy = Policy::new(writable, temporary.path());
    policy.home = Some(context.layout.home().to_path_buf());
    policy.hidden = secrets::places(context.layout.home());
    policy.network = true;
    let sandbox = crate::command::contain(&mut child, policy, context).await?;
    let limit = context.settings.count(&table::GITHUB_CLONE_BYTES) as u64;
    let cancel = context.cancel.child_token();
    let watching = tokio::spawn(watch(to.to_path_buf(), limit, cancel.clone()));
    let outcome = child.run(&cancel).await.map_err(|error| ToolError::Failed(error.to_string()));
    watching.abort();
    let outcome = outcome?;
    let too_large = || {
        ToolError::Failed(format!(
            "the clone is larger than {limit} bytes, so it was given up; read single files with github_read_file"
        ))
    };
    match outcome.ending {
        Ending::Exited(0) if size(to, limit) > limit => Err(too_large()),
        Ending::Exited(0) => Ok(sandbox.to_string()),
        Ending::Late => Err(ToolError::Failed(format!(
            "the clone was not done after {} s, so it was given up",
            deadline.as_secs()
        ))),
        Ending::Cancelled if context.cancel.is_cancelled() => Err(ToolError::Failed("cancelled".into())),
        Ending::Cancelled => Err(too_large()),
        Ending::Exited(_) | Ending::Signalled(_) | Ending::Crowded => {
            let output = context.redactor.text(&outcome.stderr.text()).trim().replace('\n', " ");
            Err(ToolError::Failed(format!(
                "git could not clone {url}: {}",
                truncate::middle_whole(&output, 600)
            )))
        }
    }
}

/// Git's arguments before the URL.
fn arguments(to: &Destination, addresses: &[SocketAddr], shallow: bool) -> Vec<String> {
    let mut settings = vec![
        "core.hooksPath=/dev/null".to_string(),
        "core.symlinks=false".into(),
        "core.fsmonitor=false".into(),
        "credential.helper=".into(),
        "http.followRedirects=false".into(),
        "http.proxy=".into(),
    ];
    if let Host::Name(name) = to.host() {
        let list: Vec<String> = addresses
            .iter()
            .map(|address| match address.ip() {
                IpAddr::V4(address) => address.to_string(),
                IpAddr::V6(address) => format!("[{address}]"),
            })
            .collect();
        settings.push(format!("http.curloptResolve={name}:{}:{}", to.port(), list.join(",")));
    }
    let mut arguments: Vec<String> =
        settings.into_iter().flat_map(|setting| ["-c".to_string(), setting]).collect();
    arguments.extend(
        ["clone", "--quiet", "--template=", "--no-tags", "--single-branch", "--no-recurse-submodules"]
            .map(String::from),
    );
    arguments.extend(
        ["--config", "core.symlinks=false", "--config", "core.hooksPath=/dev/null"].map(String::from),
    );
    if shallow {
        arguments.push("--depth=1".into());
    }
    arguments
}

/// Git's whole environment: no configuration, no credentials, no prompts, one protocol.
fn environment(to: &Destination, home: &Path) -> BTreeMap<String, String> {
    let path = marvin_base::environment::Environment::of_process();
    let path = path.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin").to_string();
    BTreeMap::from(
        [
            ("PATH", path.as_str()),
            ("HOME", &home.display().to_string()),
            ("LANG", "C.UTF-8"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ALLOW_PROTOCOL", to.url().scheme()),
            ("GIT_LFS_SKIP_SMUDGE", "1"),
        ]
        .map(|(name, value)| (name.to_string(), value.to_string())),
    )
}

/// Cancels a clone that grows beyond the bound.
async fn watch(directory: PathBuf, limit: u64, cancel: CancellationToken) {
    loop {
        tokio::time::sleep(MEASURE).await;
        let directory = directory.clone();
        let bytes = tokio::task::spawn_blocking(move || size(&directory, limit)).await.unwrap_or(0);
        if bytes > limit {
            cancel.cancel();
            return;
        }
    }
}

/// Bytes below a directory; counting stops beyond the bound.
fn size(directory: &Path, limit: u64) -> u64 {
    let mut bytes = 0u64;
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(facts) if facts.is_dir() => waiting.push(entry.path()),
                // A file takes a block at least.
                Ok(facts) => bytes = bytes.saturating_add(facts.len().max(512)),
                Err(_) => {}
            }
            if bytes > limit {
                return bytes;
            }
        }
    }
    bytes
}

/// The commit that a clone has checked out; empty when there is none. A sandboxed program may have changed the clone, so it
/// is read beneath its owner's directory, where no link leads out, and only a commit hash is accepted.
fn commit_of(owner: &Workspace, name: &str) -> String {
    let read = |inner: &str| {
        let path = owner.path(&format!("{name}/.git/{inner}")).ok()?;
        owner.read_to_string(&path, MAX_REFS_FILE_BYTES).ok().map(|text| text.trim().to_string())
    };
    let named = |reference: &str| {
        let packed = || {
            let all = read("packed-refs")?;
            let mut lines = all.lines().filter_map(|line| line.split_once(' '));
            lines.find_map(|(id, found)| (found == reference).then(|| id.to_string()))
        };
        read(reference).or_else(packed)
    };
    let head = read("HEAD").unwrap_or_default();
    let commit = match head.strip_prefix("ref: ") {
        Some(reference) => named(reference).unwrap_or_default(),
        None => head,
    };
    let is_commit = matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit { commit } else { String::new() }
}
