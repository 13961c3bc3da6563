//! Workspaces of machines without a common directory.
//!
//! The workspace of a run is a commit and the changes that its steps made, in order, as patches in the store. A worker has a
//! clone of the same repository. It makes every attempt in a worktree of its own with the commit and the changes so far, and
//! what the attempt changed becomes the next patch. The order of patches is that of the workflow code, which lets one step
//! write at a time; the changes of steps that write at the same time (`worktree`) are tried on what others left, and conflict or
//! not.
//!
//! Limits: files that git ignores do not travel, and of a repository inside only the commit of one that is a submodule. Every
//! attempt is given the names of all changes before it.

use marvin_store::{BlobId, Store, StoreError};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// Characters of git's errors in a message.
const MAX_ERROR_CHARS: usize = 600;
/// Who commits the state that an attempt begins with; no one sees this commit.
const AUTHOR: [&str; 4] = ["-c", "user.name=Marvin", "-c", "user.email=marvin@localhost"];

/// The workspace that an attempt begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceState {
    pub commit: String,
    /// Changes since then, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<BlobId>,
}

/// Why a workspace cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("cannot use git in {directory}: {reason}")]
    Git { directory: String, reason: String },
    #[error("the repository {directory} does not have the commit {commit}: fetch it there")]
    NoCommit { directory: String, commit: String },
    /// A change does not apply to what others left.
    #[error("a change does not apply: {0}")]
    Conflict(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The repository of this machine, and the store.
#[derive(Debug, Clone)]
pub struct Repository {
    directory: PathBuf,
    store: Store,
}

/// A worktree with the state that an attempt begins with.
#[derive(Debug)]
pub(crate) struct Worktree {
    pub(crate) path: PathBuf,
    /// The commit of that state.
    base: String,
}

impl Repository {
    #[must_use]
    pub fn new(directory: PathBuf, store: Store) -> Self {
        Repository { directory, store }
    }

    /// The workspace of a new run: the commit, and changes that are not committed.
    ///
    /// # Errors
    /// When the directory is not a repository with a commit, or the store cannot be written.
    pub async fn current(&self) -> Result<WorkspaceState, WorkspaceError> {
        let commit = text(&git(&self.directory, &["rev-parse", "--verify", "HEAD"], None).await?);
        // With an index of its own, so that the person's stays as it is.
        let place = text(&git(&self.directory, &["rev-parse", "--absolute-git-dir"], None).await?);
        let index = Path::new(&place).join("marvin-fleet-index");
        let changes = self.uncommitted(&index, &commit).await;
        // Best effort: it is overwritten the next time.
        std::fs::remove_file(&index).ok();
        Ok(WorkspaceState { commit, changes: self.keep(changes?).await?.into_iter().collect() })
    }

    async fn uncommitted(&self, index: &Path, commit: &str) -> Result<Vec<u8>, WorkspaceError> {
        let with_index = |words: &[&str]| {
            let mut command = command(&self.directory, words);
            command.env("GIT_INDEX_FILE", index);
            command
        };
        run(with_index(&["read-tree", commit]), &self.directory, None).await?;
        stage(with_index, &self.directory).await?;
        run(with_index(&diff(commit)), &self.directory, None).await
    }

    /// Creates a worktree with a state of the workspace, in place of an existing one.
    pub(crate) async fn check_out(
        &self,
        name: &Path,
        state: &WorkspaceState,
    ) -> Result<Worktree, WorkspaceError> {
        let path = self.directory.join(name);
        let exists = format!("{}^{{commit}}", state.commit);
        if git(&self.directory, &["cat-file", "-e", &exists], None).await.is_err() {
            let directory = self.directory.display().to_string();
            return Err(WorkspaceError::NoCommit { directory, commit: state.commit.clone() });
        }
        self.prepare_directory(&path)?;
        self.remove(&path).await;
        let place = path.display().to_string();
        let words = ["worktree", "add", "--quiet", "--force", "--force", "--detach", &place, &state.commit];
        git(&self.directory, &words, None).await?;
        for id in &state.changes {
            let patch = self.store.read_blob(id).await?;
            apply(&path, &patch).await?;
        }
        stage(|words| command(&path, words), &path).await?;
        let commit = ["commit", "--quiet", "--no-verify", "--allow-empty", "-m", "The workspace of a run"];
        let words: Vec<&str> = AUTHOR.into_iter().chain(commit).collect();
        git(&path, &words, None).await?;
        let base = text(&git(&path, &["rev-parse", "HEAD"], None).await?);
        Ok(Worktree { path, base })
    }

    fn prepare_directory(&self, path: &Path) -> Result<(), WorkspaceError> {
        let refuse = |error: std::io::Error| WorkspaceError::Git {
            directory: path.display().to_string(),
            reason: error.to_string(),
        };
        let parent = path.parent().unwrap_or(&self.directory);
        std::fs::create_dir_all(parent).map_err(refuse)?;
        // Worktrees are not part of the workspace.
        let above = parent.parent().unwrap_or(parent);
        std::fs::write(above.join(".gitignore"), "*\n").map_err(refuse)
    }

    /// The changes in a worktree since it was checked out, in the store; none if there are none.
    pub(crate) async fn keep_changes(&self, tree: &Worktree) -> Result<Option<BlobId>, WorkspaceError> {
        stage(|words| command(&tree.path, words), &tree.path).await?;
        self.keep(git(&tree.path, &diff(&tree.base), None).await?).await
    }

    async fn keep(&self, patch: Vec<u8>) -> Result<Option<BlobId>, WorkspaceError> {
        if patch.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.store.write_blob(patch.into()).await?))
    }

    /// Removes a worktree, also one whose creation was interrupted.
    pub(crate) async fn remove(&self, path: &Path) {
        let place = path.display().to_string();
        // It fails where there is none.
        git(&self.directory, &["worktree", "remove", "--force", "--force", &place], None).await.ok();
    }

    /// Applies changes of a run to the workspace of this machine.
    ///
    /// # Errors
    /// When one does not apply; those before it are applied then.
    pub async fn apply(&self, changes: &[BlobId]) -> Result<(), WorkspaceError> {
        for id in changes {
            let patch = self.store.read_blob(id).await?;
            apply(&self.directory, &patch).await?;
        }
        Ok(())
    }
}

fn diff(from: &str) -> [&str; 7] {
    ["diff", "--cached", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", from]
}

/// Applies a patch, all of it or nothing.
async fn apply(directory: &Path, patch: &[u8]) -> Result<(), WorkspaceError> {
    let applied = git(directory, &["apply", "--whitespace=nowarn", "-"], Some(patch)).await;
    applied.map(drop).map_err(|error| match error {
        WorkspaceError::Git { reason, .. } => WorkspaceError::Conflict(reason),
        other => other,
    })
}

/// Takes everything that changed in a directory into the index.
///
/// `git add` asks every repository inside for its changes, which runs the filters that an attempt may have set there; these
/// commands look at its commit alone.
async fn stage(command: impl Fn(&[&str]) -> Command, directory: &Path) -> Result<(), WorkspaceError> {
    // What is gone comes first: a directory may have taken the place of a file.
    for files in [&["--modified", "--deleted"][..], &["--others", "--exclude-standard"]] {
        let list = [&["ls-files", "-z"], files].concat();
        let listed = run(command(&list), directory, None).await?;
        // Of the repositories inside, only those that are not submodules are listed with a slash at their end.
        let paths = listed.split_inclusive(|byte| *byte == 0).filter(|path| !path.ends_with(b"/\0"));
        let update = ["update-index", "-z", "--add", "--remove", "--stdin"];
        run(command(&update), directory, Some(&paths.collect::<Vec<_>>().concat())).await?;
    }
    Ok(())
}

async fn git(directory: &Path, words: &[&str], input: Option<&[u8]>) -> Result<Vec<u8>, WorkspaceError> {
    run(command(directory, words), directory, input).await
}

/// Hooks of the repository are for people, and repositories inside a worktree have settings that an attempt may have written.
const SETTINGS: [&str; 3] = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false"];

fn command(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting])).args(words);
    command.current_dir(directory).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn run(
    mut command: Command,
    directory: &Path,
    input: Option<&[u8]>,
) -> Result<Vec<u8>, WorkspaceError> {
    let refuse = |reason: String| WorkspaceError::Git { directory: directory.display().to_string(), reason };
    let mut child = command.spawn().map_err(|error| refuse(error.to_string()))?;
    let stdin = child.stdin.take();
    let feed = async {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // Git may refuse the patch before it has read all of it.
            stdin.write_all(input).await.ok();
        }
    };
    let ((), done) = tokio::join!(feed, child.wait_with_output());
    let done = done.map_err(|error| refuse(error.to_string()))?;
    if !done.status.success() {
        let errors = String::from_utf8_lossy(&done.stderr);
        return Err(refuse(errors.trim().chars().take(MAX_ERROR_CHARS).collect()));
    }
    Ok(done.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::environment::Environment;

    async fn commit_file(directory: &Path) {
        std::fs::write(directory.join("file.txt"), "one\ntwo\nthree\n").unwrap();
        for words in [&["init", "--quiet"][..], &["add", "."]] {
            git(directory, words, None).await.unwrap();
        }
        let words: Vec<&str> = AUTHOR.into_iter().chain(["commit", "--quiet", "-m", "first"]).collect();
        git(directory, &words, None).await.unwrap();
    }

    #[tokio::test]
    async fn filters_of_a_repository_inside_do_not_run() {
        let root = tempfile::tempdir().unwrap();
        commit_file(root.path()).await;
        let inner = root.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        commit_file(&inner).await;
        // A submodule, as the index says.
        git(root.path(), &["add", "--all"], None).await.unwrap();
        let ran = root.path().join("ran");
        let filter = format!("touch {}; cat", ran.display());
        git(&inner, &["config", "filter.evil.clean", &filter], None).await.unwrap();
        std::fs::write(inner.join(".gitattributes"), "* filter=evil\n").unwrap();
        // As long as before: what has another length differs without its contents.
        std::fs::write(inner.join("file.txt"), "ONE\ntwo\nthree\n").unwrap();
        std::fs::write(root.path().join("new.txt"), "new").unwrap();
        std::fs::remove_file(root.path().join("file.txt")).unwrap();
        std::fs::create_dir(root.path().join("file.txt")).unwrap();
        std::fs::write(root.path().join("file.txt/deep.txt"), "deep").unwrap();
        stage(|words| command(root.path(), words), root.path()).await.unwrap();
        assert!(!ran.exists());
        let staged = git(root.path(), &["diff", "--cached", "--name-status"], None).await.unwrap();
        assert_eq!(text(&staged), "D\tfile.txt\nA\tfile.txt/deep.txt\nA\tinner\nA\tnew.txt");
        let plain = Command::new("git").args(["add", "--all"]).current_dir(root.path()).status().await;
        assert!(plain.unwrap().success() && ran.exists(), "`git add` runs it");
    }

    #[tokio::test]
    async fn changes_travel_between_clones_and_conflicts_are_found() {
        let root = tempfile::tempdir().unwrap();
        let (here, there) = (root.path().join("here"), root.path().join("there"));
        std::fs::create_dir(&here).unwrap();
        commit_file(&here).await;
        git(root.path(), &["clone", "--quiet", "here", "there"], None).await.unwrap();
        let address = root.path().join("store").to_str().unwrap().parse().unwrap();
        let store = Store::open(address, &Environment::default()).await.unwrap();
        let (one, other) = (Repository::new(here.clone(), store.clone()), Repository::new(there, store));
        // A change that is not committed, and a new file.
        std::fs::write(here.join("file.txt"), "ONE\ntwo\nthree\n").unwrap();
        std::fs::write(here.join("new.bin"), [0_u8, 255, 1]).unwrap();
        let mut state = one.current().await.unwrap();
        assert_eq!(state.changes.len(), 1);
        let name = Path::new(".marvin/worktrees/run/step-1");
        let tree = other.check_out(name, &state).await.unwrap();
        assert_eq!(std::fs::read_to_string(tree.path.join("file.txt")).unwrap(), "ONE\ntwo\nthree\n");
        assert_eq!(std::fs::read(tree.path.join("new.bin")).unwrap(), [0, 255, 1]);
        assert_eq!(other.keep_changes(&tree).await.unwrap(), None);
        std::fs::write(tree.path.join("file.txt"), "ONE\ntwo\nTHREE\n").unwrap();
        let change = other.keep_changes(&tree).await.unwrap().unwrap();
        std::fs::write(tree.path.join("file.txt"), "uno\ntwo\nthree\n").unwrap();
        let conflicting = other.keep_changes(&tree).await.unwrap().unwrap();
        other.remove(&tree.path).await;
        assert!(!tree.path.exists());
        one.apply(&[change.clone()]).await.unwrap();
        assert_eq!(std::fs::read_to_string(here.join("file.txt")).unwrap(), "ONE\ntwo\nTHREE\n");
        state.changes.extend([change, conflicting]);
        let error = other.check_out(name, &state).await.unwrap_err();
        assert!(matches!(error, WorkspaceError::Conflict(_)), "{error}");
        state.commit = "0".repeat(40);
        let error = other.check_out(name, &state).await.unwrap_err();
        assert!(matches!(error, WorkspaceError::NoCommit { .. }), "{error}");
    }
}
