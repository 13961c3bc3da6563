//! The protocol between a hook and the daemon of its project, and the files of a daemon.
//!
//! The hook sends one line of JSON, the daemon answers with one line and closes. While it works on an answer the daemon
//! sends an empty line every [`PULSE`], which distinguishes a slow answer from a daemon that does not respond. A hook that no
//! longer waits says so before it handles its event itself, so that the daemon does not record it a second time.

use crate::event::{Client, Event};
use marvin_base::environment::Environment;
use marvin_base::layout::{self, Layout};
use rustix::path::DecInt;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The interval of the empty lines that show that the daemon is alive.
pub const PULSE: Duration = Duration::from_millis(300);
/// The line of a hook that no longer waits for an answer.
pub const WITHDRAWN: &[u8; 10] = b"withdrawn\n";
pub const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;
/// The prefix of an answer that is for the hook and not for the client.
pub const CONTROL: &str = "{\"marvin\":true,";
/// The longest path of a socket that every system accepts.
const MAX_SOCKET_PATH_BYTES: usize = 103;

/// The files of one daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    directory: PathBuf,
    stem: String,
}

impl Place {
    /// The files of a project's daemon; `None` where the name of the socket would be too long.
    #[must_use]
    pub fn for_project(environment: &Environment, project: &Path) -> Option<Place> {
        let layout = Layout::new(environment, None);
        let mut hash = Sha256::new();
        hash.update(project.as_os_str().as_encoded_bytes());
        // Another home or other settings have another daemon.
        for directory in [layout.home(), layout.user(), layout.state()] {
            hash.update([0]);
            hash.update(directory.as_os_str().as_encoded_bytes());
        }
        let mut digits = hex::encode(hash.finalize());
        digits.truncate(12);
        let place = Place { directory: directory(environment), stem: ["p-project-", &digits].concat() };
        (place.socket().as_os_str().len() <= MAX_SOCKET_PATH_BYTES).then_some(place)
    }

    #[must_use]
    pub fn id(&self) -> &str {
        self.stem.strip_prefix("p-").unwrap_or(&self.stem)
    }

    /// The directory of all daemons of this user.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.file("sock")
    }

    /// The file with its process id, project and build, one per line.
    #[must_use]
    pub fn pid(&self) -> PathBuf {
        self.file("pid")
    }

    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.file("log")
    }

    /// Locked while the daemon runs.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.file("lock")
    }

    /// Locked while a process starts the daemon.
    #[must_use]
    pub fn starting(&self) -> PathBuf {
        self.file("start")
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.directory.join([&self.stem, ".", ending].concat())
    }

    /// Every daemon that has files in the directory.
    #[must_use]
    pub fn all(environment: &Environment) -> Vec<Place> {
        let directory = directory(environment);
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let mut stems: Vec<String> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let (stem, ending) = name.split_once('.')?;
                // Lock files are never removed: a process that takes a removed one would hold no lock.
                let left = stem.starts_with("p-project-") && matches!(ending, "sock" | "pid" | "log");
                left.then(|| stem.to_string())
            })
            .collect();
        stems.sort();
        stems.dedup();
        stems.into_iter().map(|stem| Place { directory: directory.clone(), stem }).collect()
    }
}

/// The directory of all daemons of this user: `mhd-UID` in the directory for temporary files.
#[must_use]
pub fn directory(environment: &Environment) -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    let base = environment.get("TMPDIR").filter(|path| path.starts_with('/')).unwrap_or("/tmp");
    Path::new(base).join(["mhd-", DecInt::new(user).as_str()].concat())
}

/// Whether only this user can use a directory; one of another user is never used.
#[must_use]
pub fn is_private(directory: &Path) -> bool {
    let own = rustix::process::getuid().as_raw();
    std::fs::symlink_metadata(directory)
        .is_ok_and(|facts| facts.is_dir() && facts.uid() == own && facts.mode() & 0o077 == 0)
}

/// The project of a hook: the nearest ancestor with `.marvin`, also from a linked worktree of git, else the directory.
#[must_use]
pub fn project(from: &Path, home: &Path) -> PathBuf {
    let from = from.canonicalize().unwrap_or_else(|_| from.to_path_buf());
    if let Some(project) = layout::find_project(&from, home) {
        return project;
    }
    let main = main_checkout(&from);
    main.filter(|main| main != home && main.join(".marvin").is_dir()).unwrap_or(from)
}

/// The checkout that a linked worktree belongs to.
fn main_checkout(from: &Path) -> Option<PathBuf> {
    let link = from.ancestors().map(|directory| directory.join(".git")).find(|path| path.exists())?;
    let text = marvin_base::files::read_text(&link, 4096, marvin_base::files::Links::Refuse).ok()?;
    let inner = link.parent()?.join(text.trim().strip_prefix("gitdir:")?.trim());
    // The path is …/main/.git/worktrees/name. Its file `gitdir` must name the worktree, or the worktree is a fake.
    let back = marvin_base::files::read_text(&inner.join("gitdir"), 4096, marvin_base::files::Links::Refuse);
    let back = Path::new(back.ok()?.trim()).canonicalize().ok()?;
    let git = inner.parent()?.parent()?;
    (back == link.canonicalize().ok()? && git.file_name()? == ".git")
        .then(|| git.parent()?.canonicalize().ok())
        .flatten()
}

/// The build of `marvin`, by the metadata of its file; a daemon of another build is replaced.
#[must_use]
pub fn build(facts: Option<&Metadata>) -> String {
    let (size, at) = facts.map_or((0, 0), |facts| (facts.len(), facts.mtime_nsec() ^ facts.mtime()));
    // Strings are concatenated here and below, because formatting touches pages that a hook does not need otherwise.
    [env!("CARGO_PKG_VERSION"), "-", DecInt::new(size).as_str(), "-", DecInt::new(at).as_str()].concat()
}

/// The build of this program, where it is `marvin`.
#[must_use]
pub fn own_build() -> String {
    build(crate::ask::own_program().as_ref())
}

/// The line that a hook sends.
#[derive(Debug, Deserialize)]
pub struct Request<'a> {
    /// The event, in either spelling, or `status` or `stop`.
    pub hook: &'a str,
    #[serde(default)]
    pub client: &'a str,
    /// The build of the hook.
    #[serde(default)]
    pub build: &'a str,
    /// Whether a person can be asked.
    #[serde(default)]
    pub attended: bool,
    /// The client's event.
    #[serde(borrow, default)]
    pub input: Option<&'a RawValue>,
}

/// The line of a request. The client's event is copied unparsed; its line breaks are white space.
#[must_use]
pub fn request(hook: &str, client: Client, attended: bool, build: &str, input: &[u8]) -> Vec<u8> {
    let name: String = hook.chars().filter(|char| char.is_ascii_alphanumeric() || *char == '-').collect();
    let attended = if attended { "true" } else { "false" };
    let parts = [
        "{\"hook\":\"",
        &name,
        "\",\"client\":\"",
        client.word(),
        "\",\"attended\":",
        attended,
        ",\"build\":\"",
        build,
        "\",\"input\":",
    ];
    let mut line = parts.concat().into_bytes();
    line.reserve(input.len() + 2);
    line.extend(input.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
    line.extend(b"}\n");
    line
}

/// The time that a hook waits for an answer; shorter than the client's timeout.
#[must_use]
pub fn hook_timeout(event: Option<Event>) -> Duration {
    match event {
        Some(event) if event.decides() => Duration::from_secs(50),
        _ => Duration::from_secs(8),
    }
}

/// The time that the daemon works on an answer; shorter than [`hook_timeout`].
#[must_use]
pub fn handler_timeout(event: Option<Event>) -> Duration {
    match event {
        Some(event) if event.decides() => Duration::from_secs(45),
        _ => Duration::from_secs(6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_one_short_socket() {
        let environment = Environment::from_iter([("HOME", "/home/a"), ("TMPDIR", "/tmp")]);
        let place = Place::for_project(&environment, Path::new("/home/a/p")).unwrap();
        let socket = place.socket().display().to_string();
        assert!(socket.starts_with("/tmp/mhd-") && socket.ends_with(".sock"), "{socket}");
        assert_eq!(place.id().len(), "project-".len() + 12);
        assert_eq!(Place::for_project(&environment, Path::new("/home/a/p")), Some(place.clone()));
        assert_ne!(Place::for_project(&environment, Path::new("/home/a/q")), Some(place.clone()));
        let other = environment.clone().with("MARVIN_HOME", "/elsewhere");
        assert_ne!(Place::for_project(&other, Path::new("/home/a/p")), Some(place));
        let long = environment.with("TMPDIR", format!("/{}", "x".repeat(100)));
        assert_eq!(Place::for_project(&long, Path::new("/home/a/p")), None);
    }

    #[test]
    fn a_request_is_one_line_whatever_the_client_sent() {
        let line = request("pre-tool-use\"}", Client::Claude, true, "b", b"{\n \"a\":\r\n 1\n}\n");
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let read: Request<'_> = serde_json::from_slice(&line).unwrap();
        assert_eq!((read.hook, read.client, read.build), ("pre-tool-use", "claude", "b"));
        assert_eq!(read.input.unwrap().get().replace(' ', ""), "{\"a\":1}");
    }

    #[test]
    fn a_linked_worktree_belongs_to_its_project() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let main = root.join("main");
        std::fs::create_dir_all(main.join(".marvin")).unwrap();
        marvin_testing::git(&main, &["init", "-q"]);
        marvin_testing::git(&main, &["commit", "-q", "--allow-empty", "-m", "x"]);
        marvin_testing::git(&main, &["worktree", "add", "-q", "../linked"]);
        let linked = root.join("linked");
        std::fs::create_dir(linked.join("deep")).unwrap();
        assert_eq!(project(&linked.join("deep"), Path::new("/nowhere")), main);
        assert_eq!(project(&main, Path::new("/nowhere")), main);
        // A copy of a worktree's `.git` file is not a worktree.
        let fake = root.join("fake");
        std::fs::create_dir(&fake).unwrap();
        std::fs::copy(linked.join(".git"), fake.join(".git")).unwrap();
        assert_eq!(project(&fake, Path::new("/nowhere")), fake);
    }
}
