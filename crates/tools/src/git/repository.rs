//! The workspace's own repository, and the calls of git on it.

use crate::command::{ContainedRun, NestedChanges, PrivateTempDir, contained, contained_with};
use crate::context::ToolContext;
use crate::result::ToolError;
use crate::tool::run_blocking;
use marvin_base::environment::Environment;
use marvin_base::files::{self, Links};
use marvin_base::truncate;
use marvin_gate::JudgedCommand;
use marvin_gate::sandbox::Policy;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// Longer, since hooks run tests.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(600);
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

/// Configuration that overrides the repository's own in every call.
const ALWAYS: [(&str, &str); 12] = [
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", ""),
    ("core.sshCommand", "false"),
    ("core.quotePath", "false"),
    ("color.ui", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    // Keys are out of reach in the sandbox.
    ("commit.gpgSign", "false"),
];

/// The same for reading, where nothing of the project may run.
const FOR_READING: [(&str, &str); 5] = [
    ("core.hooksPath", "/dev/null"),
    ("diff.ignoreSubmodules", "all"),
    ("status.submoduleSummary", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
];

/// The repository of the workspace.
#[derive(Debug)]
pub(super) struct Repository {
    root: PathBuf,
    git: PathBuf,
    directories: GitDirectories,
    /// Filters that the configuration names; they are programs.
    filters: Vec<String>,
}

impl Repository {
    /// Opens `.git` of the workspace itself, never a repository further up.
    pub(super) async fn open(context: &ToolContext) -> Result<Self, ToolError> {
        let root = context.workspace()?.root().to_path_buf();
        let git = find_git(&root, &Environment::of_process())?;
        let directories = check(&root)?;
        let mut repository = Repository { root, git, directories, filters: Vec::new() };
        let names = ["config", "--null", "--name-only", "--get-regexp", r"^filter\."];
        let done = repository.show(&names, context).await?;
        let text = done.outcome.stdout.text();
        let of_filter = |name: &str| Some(name.rsplit_once('.')?.0.to_string());
        repository.filters = text.split('\0').filter_map(of_filter).collect();
        repository.filters.sort();
        repository.filters.dedup();
        Ok(repository)
    }

    /// Git's directory of this working directory: `.git`, or that of the linked worktree.
    pub(super) fn own_directory(&self) -> &Path {
        &self.directories.own
    }

    /// Runs git to read: it can write nothing, and starts nothing of the project.
    pub(super) async fn show(
        &self,
        words: &[&str],
        context: &ToolContext,
    ) -> Result<ContainedRun, ToolError> {
        let private = PrivateTempDir::new()?;
        let mut policy = private.policy(context)?;
        policy.readonly = true;
        let fixed = ALWAYS.iter().chain(&FOR_READING);
        let mut overrides: Vec<(String, String)> =
            fixed.map(|(key, value)| ((*key).to_string(), (*value).to_string())).collect();
        for filter in &self.filters {
            for (part, value) in [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")] {
                overrides.push((format!("{filter}.{part}"), value.to_string()));
            }
        }
        let mut child = self.child(overrides);
        child.set.insert("GIT_OPTIONAL_LOCKS".into(), "0".into());
        child.deadline = READ_TIMEOUT;
        child.arguments.extend(words.iter().map(Into::into));
        contained(child, policy, context).await
    }

    /// Runs git to change something; hooks and filters of the project run with it.
    pub(super) async fn change(
        &self,
        words: &[&str],
        input: Vec<u8>,
        more: &[(&str, &str)],
        context: &ToolContext,
    ) -> Result<ContainedRun, ToolError> {
        let private = PrivateTempDir::new()?;
        self.run_change(words, input, more, private.policy(context)?, NestedChanges::Reported, context).await
    }

    /// Runs git to check out a commit of the same steering files, and fails unless it exits with 0. What changes one is undone.
    pub(super) async fn check_out(
        &self,
        words: &[&str],
        context: &ToolContext,
    ) -> Result<ContainedRun, ToolError> {
        let private = PrivateTempDir::new()?;
        let policy = private.policy(context)?;
        let done = self.run_change(words, Vec::new(), &[], policy, NestedChanges::Undone, context).await?;
        if done.code() == Some(0) { Ok(done) } else { Err(complaint(&done)) }
    }

    /// Runs git for the shell itself, which brings in changes that were verified: files that steer agents, too.
    pub(super) async fn integrate(
        &self,
        words: &[&str],
        more: &[(&str, &str)],
        context: &ToolContext,
    ) -> Result<ContainedRun, ToolError> {
        let private = PrivateTempDir::new()?;
        let mut policy = private.policy(context)?;
        // Git's own files name programs and stay as they are.
        policy.protected.retain(|path| path.components().any(|part| part.as_os_str() == ".git"));
        self.run_change(words, Vec::new(), more, policy, NestedChanges::Kept, context).await
    }

    async fn run_change(
        &self,
        words: &[&str],
        input: Vec<u8>,
        more: &[(&str, &str)],
        mut policy: Policy,
        nested: NestedChanges,
        context: &ToolContext,
    ) -> Result<ContainedRun, ToolError> {
        if self.directories.common.as_path() != self.root.join(".git") {
            policy.writable.push(self.directories.common.clone());
            let steering =
                ["config", "config.worktree", "hooks", "info/attributes", "objects/info/alternates"];
            policy.protected.extend(steering.map(|place| self.directories.common.join(place)));
        }
        let changes_worktrees = words.contains(&"worktree");
        let lock = match changes_worktrees {
            true => Some(lock_worktrees(&self.directories.common).await?),
            false => None,
        };
        if changes_worktrees {
            let trees = self.root.join(".marvin/worktrees");
            std::fs::create_dir_all(&trees)
                .map_err(|error| ToolError::Failed(format!("cannot create {}: {error}", trees.display())))?;
            policy.writable.push(trees);
        }
        if words.starts_with(&["worktree", "remove"]) {
            unprotect_worktrees(&self.directories.common, &mut policy);
        }
        let mut child = self
            .child(ALWAYS.iter().map(|(key, value)| ((*key).to_string(), (*value).to_string())).collect());
        child.set.extend(more.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())));
        child.input = input;
        child.deadline = CHANGE_TIMEOUT;
        child.arguments.extend(words.iter().map(Into::into));
        let done = contained_with(child, policy, nested, context).await;
        drop(lock);
        done
    }

    /// Runs git to change something, and fails unless it exits with 0.
    pub(super) async fn change_checked(
        &self,
        words: &[&str],
        input: Vec<u8>,
        more: &[(&str, &str)],
        context: &ToolContext,
    ) -> Result<ContainedRun, ToolError> {
        let done = self.change(words, input, more, context).await?;
        if done.code() == Some(0) { Ok(done) } else { Err(complaint(&done)) }
    }

    fn child(&self, mut overrides: Vec<(String, String)>) -> JudgedCommand {
        // The person chose this directory, whichever user owns it.
        overrides.push(("safe.directory".to_string(), self.root.display().to_string()));
        let mut child = JudgedCommand::own(&self.git, &["--no-pager"]);
        child.keep = MAX_OUTPUT_BYTES;
        let mut set = BTreeMap::from([("GIT_CONFIG_COUNT".to_string(), overrides.len().to_string())]);
        for (number, (key, value)) in overrides.into_iter().enumerate() {
            set.insert(format!("GIT_CONFIG_KEY_{number}"), key);
            set.insert(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        // The directories that were checked, not those in files that may have changed since.
        set.insert("GIT_DIR".into(), self.directories.own.display().to_string());
        set.insert("GIT_COMMON_DIR".into(), self.directories.common.display().to_string());
        set.insert("GIT_WORK_TREE".into(), self.root.display().to_string());
        let above = self.root.parent().unwrap_or(&self.root).display().to_string();
        for (name, value) in [
            // Never a repository further up.
            ("GIT_CEILING_DIRECTORIES", above.as_str()),
            ("GIT_ALLOW_PROTOCOL", "none"),
            ("GIT_PROTOCOL_FROM_USER", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ADVICE", "0"),
            ("GIT_EDITOR", "false"),
            ("LC_ALL", "C.UTF-8"),
        ] {
            set.insert(name.to_string(), value.to_string());
        }
        child.set = set;
        child
    }

    /// Git's output, or its error.
    pub(super) async fn ask(&self, words: &[&str], context: &ToolContext) -> Result<String, ToolError> {
        let done = self.show(words, context).await?;
        if done.code() == Some(0) { Ok(done.outcome.stdout.text()) } else { Err(complaint(&done)) }
    }
}

/// Lets git delete its own files of a worktree, which it leaves behind where a protected file cannot be deleted. Removing a
/// worktree starts no program of the project.
fn unprotect_worktrees(common: &Path, policy: &mut Policy) {
    let Ok(worktrees) = common.join("worktrees").canonicalize() else { return };
    // The path may lead over the `commondir` of a worktree, and may not exist.
    let existing = |path: &PathBuf| path.ancestors().find_map(|path| path.canonicalize().ok());
    policy.protected.retain(|path| !existing(path).is_some_and(|path| path.starts_with(&worktrees)));
}

/// The error of a failed git.
pub(super) fn complaint(done: &ContainedRun) -> ToolError {
    let output = done.outcome.stderr.text() + &done.outcome.stdout.text();
    let output = truncate::middle_whole(output.trim(), 4000);
    let ending = done.error().unwrap_or_else(|| "it failed".to_string());
    ToolError::Failed(if output.is_empty() {
        format!("git: {ending}")
    } else {
        format!("git: {output}\n[{ending}]")
    })
}

/// Git itself, from a directory that is not the project's.
fn find_git(root: &Path, environment: &Environment) -> Result<PathBuf, ToolError> {
    let directories =
        environment.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin").split(':').map(Path::new);
    let outside = |directory: &&Path| {
        directory.is_absolute()
            && directory.canonicalize().is_ok_and(|directory| !directory.starts_with(root))
    };
    let mut found = directories.filter(outside).map(|directory| directory.join("git"));
    found
        .find(|git| git.is_file())
        .ok_or_else(|| ToolError::Failed("the program `git` is not installed or not on PATH".into()))
}

/// Git's own directories.
#[derive(Debug)]
struct GitDirectories {
    /// Of this working directory.
    own: PathBuf,
    /// Of the repository; the same unless this is a linked worktree.
    common: PathBuf,
}

/// Waits until no other process changes worktrees of a repository, for as long as the file is open: git fails over a worktree that
/// another git has half made.
async fn lock_worktrees(common: &Path) -> Result<File, ToolError> {
    let path = common.join("marvin-worktrees.lock");
    run_blocking(move || {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|file| file.lock().map(|()| file))
            .map_err(|error| ToolError::Failed(format!("cannot lock {}: {error}", path.display())))
    })
    .await
}

/// Finds the repository of the workspace.
fn check(root: &Path) -> Result<GitDirectories, ToolError> {
    let git = root.join(".git");
    let facts = git.symlink_metadata().map_err(|_| {
        ToolError::Failed(
            "no git repository in the working directory; one further up is not used. Ask the person to run `git init` \
             here, or start in the repository's own directory."
                .into(),
        )
    })?;
    if facts.is_dir() {
        return Ok(GitDirectories { own: git.clone(), common: git });
    }
    if facts.is_symlink() {
        return Err(ToolError::Failed(
            "`.git` is a symbolic link, which is not followed; work in the repository's own directory."
                .into(),
        ));
    }
    // A linked worktree. A file in the working directory could be forged, so the repository must lie elsewhere, and its
    // own list of worktrees must name this one.
    let wrong = || {
        ToolError::Failed(
            "`.git` is a file that does not name a worktree of a repository elsewhere (submodules are not handled); work \
             in the repository's own directory."
                .into(),
        )
    };
    let text = line_of(&git).ok_or_else(wrong)?;
    let place = text.strip_prefix("gitdir: ").filter(|place| *place == place.trim()).ok_or_else(wrong)?;
    let place = root.join(place).canonicalize().map_err(|_| wrong())?;
    let back = line_of(&place.join("gitdir")).ok_or_else(wrong)?;
    let back = place.join(back).canonicalize().map_err(|_| wrong())?;
    let common = line_of(&place.join("commondir")).ok_or_else(wrong)?;
    let common = place.join(common).canonicalize().map_err(|_| wrong())?;
    let named = place.parent() == Some(common.join("worktrees").as_path());
    let apart = !place.starts_with(root) && !common.starts_with(root) && !root.starts_with(&common);
    let whole =
        ["objects", "refs"].iter().all(|part| common.join(part).is_dir()) && common.join("HEAD").is_file();
    if back != git.canonicalize().map_err(|_| wrong())? || !named || !apart || !whole {
        return Err(wrong());
    }
    Ok(GitDirectories { own: place, common })
}

/// The one line of a small file, read as git reads it: only the line ending is removed. Spaces at either end are refused,
/// since not every parser treats them alike.
fn line_of(path: &Path) -> Option<String> {
    let text = files::read_text(path, 4096, Links::Refuse).ok()?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    (!line.is_empty() && line == line.trim() && !line.contains(['\n', '\r', '\0'])).then(|| line.to_string())
}
