//! The person's state directory: records, approvals, rights, cost and memory of every project.
//!
//! Whatever decides something lies here, outside every workspace, so that a program that an agent
//! starts cannot write it. A project is known by the canonical path of its directory; links and
//! worktrees of the same project lead to the same state. The directory is private (mode 0700).
//!
//! A project that is moved has another path and so another state, until a person takes the old one over (`moved.rs`).

use super::Layout;
use crate::environment::Environment;
use crate::{atomic, clock, files, signature};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// The variable that names another state directory.
pub const VARIABLE: &str = "MARVIN_STATE_DIR";
/// The version of `project.json`.
const VERSION: u32 = 1;
/// Characters of a project's own name in its id.
const MAX_NAME_CHARS: usize = 40;
/// Hexadecimal digits of the path's hash in a project's id.
const ID_DIGITS: usize = 16;
/// Bytes of `project.json` that are read.
const MAX_NOTE_BYTES: u64 = 64 * 1024;
/// The name of the link in a project that leads people to its runs.
pub(super) const RUNS_LINK: &str = "runs";
/// Ignore file of `.marvin`, where the project has none.
const IGNORED: &str = "/.gitignore\n/runs\n/tools_cache/\n/worktrees/\n";

/// Failure to use the state directory.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(
        "cannot use the state directory `{0}`: it is not an absolute path\n  hint: set MARVIN_STATE_DIR to one, or unset it"
    )]
    Relative(String),
    #[error(
        "cannot use the state directory {state}: it lies inside the workspace {workspace}, where agents write\n  hint: set MARVIN_STATE_DIR to a directory elsewhere"
    )]
    Inside { state: String, workspace: String },
    #[error(
        "cannot use the settings directory {settings}: it lies inside the workspace {workspace}, where agents write\n  hint: set MARVIN_HOME to a directory elsewhere, or unset it and XDG_CONFIG_HOME"
    )]
    SettingsInside { settings: String, workspace: String },
    #[error(
        "cannot use the state directory {0}: another user owns it\n  hint: set MARVIN_STATE_DIR to a directory of your own"
    )]
    Foreign(String),
    #[error("cannot {doing} the state directory {path}: {source}{}", crate::atomic::hint(.source))]
    Io {
        doing: &'static str,
        path: String,
        #[source]
        source: std::io::Error,
    },
}

/// `project.json`: which project a state directory belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectNote {
    pub version: u32,
    /// The canonical path of the project.
    pub path: String,
    /// Time of creation of the state directory.
    pub created: String,
}

/// The state directory that the environment names.
pub(super) fn find(environment: &Environment, home: &Path) -> PathBuf {
    if let Some(named) = environment.get(VARIABLE).filter(|path| !path.is_empty()) {
        return PathBuf::from(named);
    }
    match environment.get("XDG_STATE_HOME").filter(|path| path.starts_with('/')) {
        Some(parent) => Path::new(parent).join("marvin"),
        None => home.join(".local/state/marvin"),
    }
}

/// The id of a project: its name for people, and enough of its path's hash to tell it apart.
pub(super) fn project_id(project: &Path) -> String {
    let project = identity(project);
    let name = project.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let plain = |char: char| {
        if char.is_ascii_alphanumeric() || matches!(char, '-' | '_') { char } else { '_' }
    };
    let name: String = name.chars().take(MAX_NAME_CHARS).map(plain).collect();
    let hash = signature::hash_bytes(project.as_os_str().as_encoded_bytes());
    format!("{}-{}", if name.is_empty() { "root" } else { &name }, hash.get(..ID_DIGITS).unwrap_or(&hash))
}

/// The path that a project is known by: canonical, and of the project itself where it is one of the
/// worktrees that workflow steps work in.
#[must_use]
pub fn identity(project: &Path) -> PathBuf {
    let path = canonical(project);
    let mut owner = PathBuf::new();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let is_record = part.as_os_str() == super::clients::RECORD;
        if is_record && parts.peek().is_some_and(|next| next.as_os_str() == super::WORKTREES) {
            return owner;
        }
        owner.push(part);
    }
    path
}

/// The note in a project's state directory.
pub(super) fn read_note(directory: &Path) -> Option<ProjectNote> {
    let text =
        files::read_text(&directory.join("project.json"), MAX_NOTE_BYTES, files::Links::Refuse).ok()?;
    serde_json::from_str(&text).ok()
}

/// The canonical form of a path, also where its last parts do not exist yet.
fn canonical(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    for ancestor in path.ancestors() {
        if let Ok(found) = ancestor.canonicalize() {
            return missing.iter().rev().fold(found, |path, part| path.join(part));
        }
        match ancestor.components().next_back() {
            Some(Component::Normal(name)) => missing.push(name.to_owned()),
            _ => break,
        }
    }
    path.to_path_buf()
}

impl Layout {
    /// Creates the project's state directory, private, with its note, and the link for people.
    /// Without a project there is nothing to create.
    ///
    /// # Errors
    /// When the state directory cannot be used: then nothing may be decided from it.
    pub fn prepare_state(&self) -> Result<(), StateError> {
        let Some(project) = &self.project else { return Ok(()) };
        self.check_state(project)?;
        let directory = self.project_state();
        let note = directory.join("project.json");
        if note.exists() {
            return Ok(());
        }
        let io =
            |doing, path: &Path, source| StateError::Io { doing, path: path.display().to_string(), source };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)
            .map_err(|source| io("create", &directory, source))?;
        for private in [self.state(), directory.as_path()] {
            let facts = private.metadata().map_err(|source| io("read", private, source))?;
            if facts.mode() & 0o077 != 0 {
                std::fs::set_permissions(private, Permissions::from_mode(0o700))
                    .map_err(|source| io("close", private, source))?;
            }
        }
        let content = ProjectNote {
            version: VERSION,
            path: identity(project).display().to_string(),
            created: clock::now_stamp(),
        };
        let text = serde_json::to_string_pretty(&content).unwrap_or_default();
        atomic::replace_private(&note, format!("{text}\n").as_bytes())
            .map_err(|error| io("write to", &note, error.source))
    }

    /// Checks that the state directory and the person's settings are where agents cannot write.
    ///
    /// # Errors
    /// When the state directory is relative, inside the workspace, or another user's; when the settings are inside the
    /// workspace: a repository may set variables for hooks of clients.
    pub fn check_state(&self, workspace: &Path) -> Result<(), StateError> {
        let state = self.state();
        if !state.is_absolute() {
            return Err(StateError::Relative(state.display().to_string()));
        }
        let (real, workspace) = (canonical(state), canonical(workspace));
        if real.starts_with(&workspace) {
            return Err(StateError::Inside {
                state: state.display().to_string(),
                workspace: workspace.display().to_string(),
            });
        }
        if std::path::absolute(&self.user).is_ok_and(|user| canonical(&user).starts_with(&workspace)) {
            return Err(StateError::SettingsInside {
                settings: self.user.display().to_string(),
                workspace: workspace.display().to_string(),
            });
        }
        match real.metadata() {
            Ok(facts) if facts.uid() != rustix::process::geteuid().as_raw() => {
                Err(StateError::Foreign(state.display().to_string()))
            }
            _ => Ok(()),
        }
    }

    /// The project that a directory belongs to: the nearest one upwards that holds `.marvin` or has a state directory,
    /// short of the home directory.
    #[must_use]
    pub fn find_project(&self, from: &Path) -> Option<PathBuf> {
        let projects = self.state.join("projects");
        let has_state = |directory: &Path| projects.join(project_id(directory)).is_dir();
        let is_any = projects.is_dir();
        from.ancestors()
            .take_while(|directory| *directory != self.home && directory.parent().is_some())
            .find(|directory| {
                directory.join(super::clients::RECORD).is_dir() || is_any && has_state(directory)
            })
            .map(Path::to_path_buf)
    }

    /// The content of `project.json` in the state directory, if it exists.
    #[must_use]
    pub fn project_note(&self) -> Option<ProjectNote> {
        read_note(&self.project_state())
    }

    /// The project that a run belongs to, if the run lies in the state directory.
    #[must_use]
    pub fn project_of_run(&self, run: &Path) -> Option<PathBuf> {
        let run = run.canonicalize().ok()?;
        let directory = run.parent()?.parent()?;
        let projects = self.state.join("projects").canonicalize().ok()?;
        if directory.parent() != Some(&projects) || run.parent()?.file_name()? != "runs" {
            return None;
        }
        read_note(directory).map(|note| PathBuf::from(note.path))
    }

    /// Does a run's directory lie where Marvin keeps runs? What lies elsewhere, a repository may have brought: it can
    /// be looked at, and nothing is decided by it.
    #[must_use]
    pub fn is_own_run(&self, run: &Path) -> bool {
        let Ok(run) = run.canonicalize() else { return false };
        let is_users = self.user_runs().canonicalize().is_ok_and(|runs| run.parent() == Some(&runs));
        is_users || self.project_of_run(&run).is_some()
    }

    /// Puts the link to the runs into the project, for people. Marvin itself never follows it; whatever
    /// stands there already is left as it is. A project that cannot be written goes without.
    pub fn link_runs(&self) {
        let Some(record) = self.record() else { return };
        let link = record.join(RUNS_LINK);
        // A worktree of the project has the project's runs, and leaves no link in what it changes.
        let project = self.project.as_deref().unwrap_or(Path::new("/"));
        if link.symlink_metadata().is_ok() || identity(project) != canonical(project) {
            return;
        }
        // Not its parents: a project that was deleted stays so.
        if std::fs::create_dir(&record).is_err() && !record.is_dir() {
            return;
        }
        let ignored = record.join(".gitignore");
        // An empty one is what a full disk left.
        if ignored.symlink_metadata().map_or(true, |facts| facts.is_file() && facts.len() == 0) {
            crate::atomic::replace(&ignored, IGNORED.as_bytes()).ok();
        }
        std::os::unix::fs::symlink(self.runs(), &link).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(environment: &[(&str, &str)], project: Option<&Path>) -> Layout {
        let environment = Environment::from_iter(environment.iter().map(|(name, value)| (*name, *value)));
        Layout::new(&environment, project)
    }

    #[test]
    fn the_state_directory_follows_the_environment() {
        let home = ("HOME", "/home/a");
        assert_eq!(layout(&[home], None).state(), Path::new("/home/a/.local/state/marvin"));
        let xdg = ("XDG_STATE_HOME", "/x");
        assert_eq!(layout(&[home, xdg], None).state(), Path::new("/x/marvin"));
        let relative = ("XDG_STATE_HOME", "x");
        assert_eq!(layout(&[home, relative], None).state(), Path::new("/home/a/.local/state/marvin"));
        assert_eq!(layout(&[home, xdg, (VARIABLE, "/s")], None).state(), Path::new("/s"));
    }

    #[test]
    fn a_project_is_known_by_its_canonical_path() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("My project");
        std::fs::create_dir(&project).unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&project, &link).unwrap();
        let id = project_id(&project);
        assert!(id.starts_with("My_project-") && id.len() == "My_project-".len() + ID_DIGITS, "{id}");
        for same in [link.clone(), link.join("."), project.join(".marvin/worktrees/run_1/step-1")] {
            assert_eq!(project_id(&same), id, "{}", same.display());
        }
        std::fs::create_dir_all(project.join(".marvin/worktrees/run_1/step-1/src")).unwrap();
        assert_eq!(project_id(&project.join(".marvin/worktrees/run_1/step-1/src")), id);
        for other in [root.path().join("My_project"), project.join("sub"), project.join(".marvin")] {
            assert_ne!(project_id(&other), id, "{}", other.display());
        }
        // A directory that does not exist yet keeps its id when it is made.
        let later = link.join("later/deep");
        let before = project_id(&later);
        std::fs::create_dir_all(&later).unwrap();
        assert_eq!(project_id(&later), before);
    }

    #[test]
    fn odd_names_stay_one_path_component() {
        for name in ["/", "/..", "/a/..", "/.hidden", "/a b/ü/*", "/x\ny"] {
            let id = project_id(Path::new(name));
            assert!(!id.contains(['/', '\n', '.', ' ']) && !id.is_empty(), "{name}: {id}");
        }
    }

    #[test]
    fn the_directory_is_private_and_says_whose_it_is() {
        let root = tempfile::tempdir().unwrap();
        let (home, project) = (root.path().join("home"), root.path().join("project"));
        std::fs::create_dir(&project).unwrap();
        let layout = layout(&[("HOME", home.to_str().unwrap())], Some(&project));
        layout.prepare_state().unwrap();
        for path in [layout.state().to_path_buf(), layout.project_state()] {
            assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700, "{}", path.display());
        }
        let note = layout.project_note().unwrap();
        assert_eq!(note.path, project.canonicalize().unwrap().display().to_string());
        layout.prepare_state().unwrap();
        assert_eq!(layout.project_note().unwrap(), note);
        layout.link_runs();
        assert_eq!(std::fs::read_link(project.join(".marvin/runs")).unwrap(), layout.runs());
    }

    #[test]
    fn s5_a_file_in_place_of_the_link_is_kept_and_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let (home, project) = (root.path().join("home"), root.path().join("project"));
        std::fs::create_dir_all(project.join(".marvin/runs/run_20260101_000000_abcd")).unwrap();
        let layout = layout(&[("HOME", home.to_str().unwrap())], Some(&project));
        layout.link_runs();
        assert!(project.join(".marvin/runs").symlink_metadata().unwrap().is_dir());
        assert!(layout.runs().starts_with(layout.state()) && !layout.runs().exists());
    }

    #[test]
    fn s5_a_state_directory_in_reach_of_agents_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        std::fs::create_dir_all(project.join("state")).unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(project.join("state"), &link).unwrap();
        let inside = project.join("state/deep");
        let try_state =
            |path: &str| layout(&[("HOME", "/h"), (VARIABLE, path)], Some(&project)).prepare_state();
        for path in [inside.to_str().unwrap(), link.to_str().unwrap(), project.to_str().unwrap()] {
            assert!(matches!(try_state(path), Err(StateError::Inside { .. })), "{path}");
        }
        assert!(matches!(try_state("state"), Err(StateError::Relative(_))));
        assert!(try_state(root.path().join("elsewhere").to_str().unwrap()).is_ok());
    }
}
