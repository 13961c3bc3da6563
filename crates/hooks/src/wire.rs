//! How a hook finds the daemon of its project, and what the two say to each other.
//!
//! One line of JSON there, one line back, then the daemon closes. While it still works on an answer the daemon sends an empty
//! line every [`PULSE`], so that a slow answer can be told from a daemon that hangs.

use crate::event::{Client, Event};
use marvin_base::environment::Environment;
use marvin_base::layout::{self, Layout};
use rustix::path::DecInt;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::fs::Metadata;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the daemon shows that it lives while it works on an answer.
pub const PULSE: Duration = Duration::from_millis(300);
/// Bytes of what a client tells; more is not read.
pub const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;
/// The longest path of a socket that every system takes.
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
        // Somebody else's home and settings are another daemon's.
        for directory in [layout.home(), layout.user(), layout.state()] {
            hash.update([0]);
            hash.update(directory.as_os_str().as_encoded_bytes());
        }
        let mut digits = hex::encode(hash.finalize());
        digits.truncate(12);
        let place = Place { directory: directory(environment), stem: ["p-project-", &digits].concat() };
        (place.socket().as_os_str().len() <= MAX_SOCKET_PATH_BYTES).then_some(place)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.stem.strip_prefix("p-").unwrap_or(&self.stem)
    }

    /// The directory of all daemons of this person.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where it listens.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.file("sock")
    }

    /// Its process, its project and its version, a line each.
    #[must_use]
    pub fn pid(&self) -> PathBuf {
        self.file("pid")
    }

    /// What it has to say.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.file("log")
    }

    /// Held for as long as it lives.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.file("lock")
    }

    /// Held while somebody starts it.
    #[must_use]
    pub fn starting(&self) -> PathBuf {
        self.file("start")
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.directory.join([&self.stem, ".", ending].concat())
    }

    /// Every daemon that has left files in the directory.
    #[must_use]
    pub fn all(environment: &Environment) -> Vec<Place> {
        let directory = directory(environment);
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let mut stems: Vec<String> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let (stem, ending) = name.split_once('.')?;
                // Locks stay for good: one that is removed while somebody takes it guards nothing.
                let left = stem.starts_with("p-project-") && matches!(ending, "sock" | "pid" | "log");
                left.then(|| stem.to_string())
            })
            .collect();
        stems.sort();
        stems.dedup();
        stems.into_iter().map(|stem| Place { directory: directory.clone(), stem }).collect()
    }
}

/// The directory of all daemons of this person: `mhd-UID` where temporary files go.
#[must_use]
pub fn directory(environment: &Environment) -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    let base = environment.get("TMPDIR").filter(|path| path.starts_with('/')).unwrap_or("/tmp");
    Path::new(base).join(["mhd-", DecInt::new(user).as_str()].concat())
}

/// Is that directory this person's and nobody else's? A directory that another made is not used.
#[must_use]
pub fn is_private(directory: &Path) -> bool {
    let own = rustix::process::getuid().as_raw();
    std::fs::symlink_metadata(directory)
        .is_ok_and(|facts| facts.is_dir() && facts.uid() == own && facts.mode() & 0o077 == 0)
}

/// Makes the directory, for this person alone.
///
/// # Errors
/// When it cannot be made, or is somebody else's.
pub fn make_private(directory: &Path) -> Result<(), String> {
    match std::fs::DirBuilder::new().mode(0o700).recursive(false).create(directory) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(format!("cannot make {}: {error}", directory.display())),
    }
    if is_private(directory) {
        return Ok(());
    }
    Err(format!(
        "{} is not a directory that only you can use\n  hint: remove it, or set TMPDIR to a directory of your own",
        directory.display()
    ))
}

/// The project that a hook speaks for: the nearest directory upwards with `.marvin`, also from a linked worktree of git, else
/// the directory itself.
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
    // …/main/.git/worktrees/name, and git's own file there leads back to the worktree: else it is no worktree of it.
    let back = marvin_base::files::read_text(&inner.join("gitdir"), 4096, marvin_base::files::Links::Refuse);
    let back = Path::new(back.ok()?.trim()).canonicalize().ok()?;
    let git = inner.parent()?.parent()?;
    (back == link.canonicalize().ok()? && git.file_name()? == ".git")
        .then(|| git.parent()?.canonicalize().ok())
        .flatten()
}

/// Which build this is: a daemon of another one is replaced.
#[must_use]
pub fn build() -> String {
    build_of(std::fs::metadata("/proc/self/exe").ok().as_ref())
}

/// The same, where the facts of this program's file are known.
#[must_use]
pub fn build_of(facts: Option<&Metadata>) -> String {
    let (size, at) = facts.map_or((0, 0), |facts| (facts.len(), facts.mtime_nsec() ^ facts.mtime()));
    // Put together by hand, here and below: formatting touches pages that a hook needs for nothing else.
    [env!("CARGO_PKG_VERSION"), "-", DecInt::new(size).as_str(), "-", DecInt::new(at).as_str()].concat()
}

/// What a hook asks of a daemon.
#[derive(Debug, Deserialize)]
pub struct Request<'a> {
    /// The event, in either spelling; or a word of control.
    pub hook: &'a str,
    /// The client's name.
    #[serde(default)]
    pub client: &'a str,
    /// The build of the one who asks.
    #[serde(default)]
    pub build: &'a str,
    /// Whether somebody can be asked.
    #[serde(default)]
    pub attended: bool,
    /// What the client told.
    #[serde(borrow, default)]
    pub input: Option<&'a RawValue>,
}

/// The line of a request. What a client told goes into it as it is: line breaks between its words are only space.
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

/// How long an answer is waited for by the hook; the client's own patience is longer.
#[must_use]
pub fn patience(event: Option<Event>) -> Duration {
    match event {
        Some(event) if event.decides() => Duration::from_secs(50),
        _ => Duration::from_secs(8),
    }
}

/// How long the daemon works on an answer; shorter than the hook's patience.
#[must_use]
pub fn deadline(event: Option<Event>) -> Duration {
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
        let git = |words: &[&str], at: &Path| {
            let done = std::process::Command::new("git")
                .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
                .args(words)
                .current_dir(at)
                .env_remove("GIT_DIR")
                .output()
                .unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        let main = root.join("main");
        std::fs::create_dir_all(main.join(".marvin")).unwrap();
        git(&["init", "-q"], &main);
        git(&["commit", "-q", "--allow-empty", "-m", "x"], &main);
        git(&["worktree", "add", "-q", "../linked"], &main);
        let linked = root.join("linked");
        std::fs::create_dir(linked.join("deep")).unwrap();
        assert_eq!(project(&linked.join("deep"), Path::new("/nowhere")), main);
        assert_eq!(project(&main, Path::new("/nowhere")), main);
        // A file that only claims to be a worktree leads nowhere.
        let fake = root.join("fake");
        std::fs::create_dir(&fake).unwrap();
        std::fs::copy(linked.join(".git"), fake.join(".git")).unwrap();
        assert_eq!(project(&fake, Path::new("/nowhere")), fake);
    }
}
