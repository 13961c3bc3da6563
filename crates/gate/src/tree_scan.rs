//! What a workspace's tree holds that is guarded: files of secrets, steering files, and repositories inside it.
//!
//! The sandbox hides the secrets and undoes changes of the others, so the tree is walked before and after every command. Results are
//! kept per directory: one whose stamp is unchanged is not listed again, and a repeated walk costs one look per directory. It does not
//! follow links.
//!
//! The walk is complete, or there is an error: a program may make directories until a bounded walk ends before what it hides.
//! A directory of the person's that cannot be listed is closed as a whole, since a program could make it readable.
//!
//! Limit: steering files in directories of dependencies and builds ([`REGENERATED`]) are not looked for: packages bring their own.

use crate::secrets::{holds_secret, is_by_content, is_env_file, is_sample};
use crate::steering;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, DirEntry, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirEntryExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Directories below a workspace.
const MAX_DIRECTORIES: usize = 300_000;
/// Workspaces whose directories are kept.
const MAX_ROOTS: usize = 8;
/// Bytes of a path up to which a place can be closed; a directory behind a longer one is closed as a whole.
const MAX_PATH_BYTES: usize = 3_000;
/// Directories at the top of a workspace that are not walked.
const OWN: [&str; 3] = [".git", ".marvin", ".tickets"];
/// Directories of dependencies and builds, which hold steering files and repositories of their own.
const REGENERATED: [&str; 6] = ["node_modules", "target", ".venv", "venv", "build", "dist"];
/// A directory that changed this recently is listed again: its stamp may not tell two changes apart.
const FRESH_NANOSECONDS: i128 = 100_000_000;

/// The workspace is too large to find every file of secrets in it.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{}` has more than {MAX_DIRECTORIES} directories, too many to look for files of secrets before each command; work in a \
     part of it (`cd` there), or move what is generated out of it",
    .0.display()
)]
pub struct TooLarge(PathBuf);

/// The mark by which two states of a directory differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    modified: i128,
    changed: i128,
}

impl Stamp {
    fn from_metadata(facts: &Metadata) -> Self {
        let moment =
            |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        Stamp {
            device: facts.dev(),
            inode: facts.ino(),
            modified: moment(facts.mtime(), facts.mtime_nsec()),
            changed: moment(facts.ctime(), facts.ctime_nsec()),
        }
    }
}

/// The content of a directory when it was listed.
#[derive(Debug)]
struct Listing {
    stamp: Stamp,
    listed_at: i128,
    directories: Vec<OsString>,
    /// Files and links with names of files of secrets.
    secrets: Vec<OsString>,
    /// Steering files, and directories and links that lead to nothing else.
    steering: Vec<OsString>,
    /// The file by which the directory is a repository: `.git`, or `HEAD` of one without a working tree.
    repository: Option<&'static str>,
}

type Listings = BTreeMap<PathBuf, Arc<Listing>>;

static CACHE: Mutex<BTreeMap<PathBuf, Arc<Listings>>> = Mutex::new(BTreeMap::new());

/// What a workspace's tree holds, as absolute paths.
#[derive(Debug, Default)]
pub struct TreeScan {
    /// Files of secrets, and directories that may hold some.
    pub secrets: Vec<PathBuf>,
    /// Steering files, and directories that hold nothing else.
    pub steering: BTreeSet<PathBuf>,
    /// Repositories below the workspace's own, each by the file that makes it one.
    pub repositories: BTreeSet<PathBuf>,
    /// Directories of the person's that cannot be listed.
    pub unlisted: BTreeSet<PathBuf>,
    listings: Arc<Listings>,
}

impl TreeScan {
    /// Whether this directory was there.
    #[must_use]
    pub fn has_directory(&self, path: &Path) -> bool {
        self.listings.contains_key(path)
    }
}

/// The files of secrets below a workspace, and directories that may hold some, as absolute paths.
pub fn closed_in(root: &Path) -> Result<Vec<PathBuf>, TooLarge> {
    Ok(scan(root)?.secrets)
}

/// Walks the tree of a workspace.
pub fn scan(root: &Path) -> Result<TreeScan, TooLarge> {
    scan_within(root, MAX_DIRECTORIES)
}

fn scan_within(root: &Path, most: usize) -> Result<TreeScan, TooLarge> {
    let known = {
        let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() > MAX_ROOTS && !cache.contains_key(root) {
            cache.clear();
        }
        cache.get(root).cloned().unwrap_or_default()
    };
    let mut next = Listings::new();
    let mut found = TreeScan::default();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        if next.len() >= most {
            return Err(TooLarge(root.to_path_buf()));
        }
        if directory.as_os_str().len() > MAX_PATH_BYTES {
            found.secrets.push(directory);
            continue;
        }
        let listing = match listing(root, &directory, known.get(&directory)) {
            ListingOutcome::Complete(listing) => listing,
            ListingOutcome::Refused => {
                found.unlisted.insert(directory.clone());
                found.secrets.push(directory);
                continue;
            }
            ListingOutcome::Absent => continue,
        };
        found
            .secrets
            .extend(listing.secrets.iter().filter_map(|name| secret_at(root, &directory.join(name))));
        found.steering.extend(listing.steering.iter().map(|name| directory.join(name)));
        let repository = listing.repository.filter(|_| directory != root);
        found.repositories.extend(repository.map(|name| directory.join(name)));
        // At the top these are closed to tools and read-only in the sandbox as a whole.
        let is_own = |name: &OsString| directory == root && OWN.iter().any(|own| name.as_os_str() == *own);
        let inner = listing.directories.iter().filter(|name| !is_own(name));
        waiting.extend(inner.map(|name| directory.join(name)));
        next.insert(directory, listing);
    }
    found.secrets.extend(second_names(&found.secrets, &next));
    found.secrets.sort();
    found.secrets.dedup();
    found.listings = Arc::new(next);
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cache.insert(root.to_path_buf(), found.listings.clone());
    Ok(found)
}

/// The file of secrets that a path with the name of one leads to, inside the workspace.
fn secret_at(root: &Path, path: &Path) -> Option<PathBuf> {
    let is_link = fs::symlink_metadata(path).ok()?.is_symlink();
    // A link is closed by its target.
    let real = if is_link { fs::canonicalize(path).ok()? } else { path.to_path_buf() };
    if is_link && !(real.starts_with(root) && real.is_file() && !is_sample(&real)) {
        return None;
    }
    // Without waiting for the other end of a pipe.
    let open =
        || fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(&real);
    let is_file = || fs::metadata(&real).is_ok_and(|facts| facts.is_file());
    let is_closed = !is_by_content(&path.to_string_lossy())
        || is_file() && open().map_or(true, |file| holds_secret(path, file));
    is_closed.then_some(real)
}

/// Second names (hard links) of files of secrets, by which a program could read them.
fn second_names(secrets: &[PathBuf], listings: &Listings) -> Vec<PathBuf> {
    let linked = secrets.iter().filter_map(|path| fs::symlink_metadata(path).ok());
    let linked: BTreeSet<u64> =
        linked.filter(|facts| facts.is_file() && facts.nlink() > 1).map(|facts| facts.ino()).collect();
    if linked.is_empty() {
        return Vec::new();
    }
    let entries = listings.keys().filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
    entries.filter(|entry| linked.contains(&entry.ino())).map(|entry| entry.path()).collect()
}

enum ListingOutcome {
    Complete(Arc<Listing>),
    /// The person's own, and not to be listed: its owner may change that.
    Refused,
    Absent,
}

/// The listing of a directory: the known one if nothing changed, else a new one.
fn listing(root: &Path, directory: &Path, known: Option<&Arc<Listing>>) -> ListingOutcome {
    let Ok(facts) = fs::symlink_metadata(directory) else { return ListingOutcome::Absent };
    if !facts.is_dir() {
        return ListingOutcome::Absent;
    }
    let stamp = Stamp::from_metadata(&facts);
    if let Some(known) = known
        && known.stamp == stamp
        && known.listed_at - stamp.modified.max(stamp.changed) > FRESH_NANOSECONDS
    {
        return ListingOutcome::Complete(known.clone());
    }
    let now = marvin_base::clock::now().as_nanosecond();
    // By this name it is opened only where it may be searched too.
    let entries = match fs::read_dir(directory.join(".")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::PermissionDenied && is_own(&facts) => {
            return ListingOutcome::Refused;
        }
        Err(_) => return ListingOutcome::Absent,
    };
    let mut found = Listing {
        stamp,
        listed_at: now,
        directories: Vec::new(),
        secrets: Vec::new(),
        steering: Vec::new(),
        repository: None,
    };
    let place = SteeringPlace::new(directory.strip_prefix(root).unwrap_or(directory));
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Ok(kind) = entry.file_type() else { continue };
        if place.as_ref().is_some_and(|place| place.is_steering(&entry, kind)) {
            found.steering.push(name.clone());
        }
        if kind.is_dir() {
            found.directories.push(name);
        } else if is_env_file(&directory.join(&name)) {
            found.secrets.push(name);
        }
    }
    if place.is_some() {
        found.repository = repository_file(directory, &found);
    }
    ListingOutcome::Complete(Arc::new(found))
}

/// The file by which git takes a directory for a repository.
fn repository_file(directory: &Path, listing: &Listing) -> Option<&'static str> {
    let has = |name: &str| listing.directories.iter().any(|own| own.as_os_str() == name);
    if has(".git") || fs::symlink_metadata(directory.join(".git")).is_ok() {
        return Some(".git");
    }
    let is_bare = has("objects") && has("refs") && fs::symlink_metadata(directory.join("HEAD")).is_ok();
    is_bare.then_some("HEAD")
}

/// A directory in which steering files are looked for, by its names below the workspace.
struct SteeringPlace {
    parts: Vec<String>,
    /// Whether one of the names may begin the path of a steering file.
    may_steer: bool,
}

impl SteeringPlace {
    /// None for a directory of builds or of git, and for one that holds steering files only, which is one itself.
    fn new(inside: &Path) -> Option<Self> {
        let mut parts: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let is_left_out =
            |part: &String| REGENERATED.contains(&part.as_str()) || OWN.contains(&part.as_str());
        if parts.iter().any(is_left_out) {
            return None;
        }
        let may_steer = parts.iter().any(|part| steering::may_begin_path(part));
        if may_steer {
            parts.push("x".to_string());
            let is_whole = find(&parts);
            parts.pop();
            if is_whole {
                return None;
            }
        }
        Some(SteeringPlace { parts, may_steer })
    }

    fn is_steering(&self, entry: &DirEntry, kind: fs::FileType) -> bool {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !self.may_steer && !steering::may_begin_path(&name)
            || kind.is_dir() && (REGENERATED.contains(&name.as_str()) || OWN.contains(&name.as_str()))
            || name == ".git"
        {
            return false;
        }
        let mut names = self.parts.clone();
        names.push(name);
        if !kind.is_dir() && find(&names) {
            return true;
        }
        // Of a directory, also one behind a link, only what lies in it counts.
        names.push("x".to_string());
        !kind.is_file() && find(&names)
    }
}

fn find(names: &[String]) -> bool {
    steering::find(&names.iter().map(String::as_str).collect::<Vec<_>>()).is_some()
}

/// Whether the directory belongs to this user.
fn is_own(facts: &Metadata) -> bool {
    facts.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        marvin_testing::write(root.join(path), text);
    }

    #[test]
    fn s11_files_of_secrets_are_found_wherever_they_lie() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in
            [".env", "a/b/.env.local", "certs/tls.key", "node_modules/x/.env", "infra/terraform.tfstate"]
        {
            put(root, path, "-----BEGIN PRIVATE KEY-----");
        }
        put(root, ".env.example", "A=");
        put(root, "certs/ca.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
        put(root, ".npmrc", "registry=https://registry.npmjs.org/\n");
        put(root, "src/main.rs", "");
        let found = |root: &Path| -> Vec<String> {
            let inside = |path: PathBuf| path.strip_prefix(root).unwrap().display().to_string();
            closed_in(root).unwrap().into_iter().map(inside).collect()
        };
        let first =
            [".env", "a/b/.env.local", "certs/tls.key", "infra/terraform.tfstate", "node_modules/x/.env"];
        assert_eq!(found(root), first);
        // New files and new content are seen at once.
        put(root, "src/.env", "A=1");
        put(root, ".npmrc", "//registry.npmjs.org/:_authToken=3f2504e0-4f89-41d3-9a0c-0305e82c3301\n");
        fs::remove_file(root.join("a/b/.env.local")).unwrap();
        let second =
            [".env", ".npmrc", "certs/tls.key", "infra/terraform.tfstate", "node_modules/x/.env", "src/.env"];
        assert_eq!(found(root), second);
    }

    #[test]
    fn s11_a_flood_of_files_or_directories_hides_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let deep = "d/".repeat(30);
        put(root, &format!("{deep}.env"), "A=1");
        put(root, "z/.env", "A=1");
        fs::create_dir(root.join("a")).unwrap();
        for number in 0..60_001 {
            fs::File::create(root.join(format!("a/{number}"))).unwrap();
        }
        assert_eq!(closed_in(root).unwrap(), [root.join(format!("{deep}.env")), root.join("z/.env")]);
        let error = scan_within(root, 32).unwrap_err().to_string();
        assert!(error.contains("has more than") && error.contains("work in a part of it"), "{error}");
        assert_eq!(scan_within(root, 33).unwrap().secrets.len(), 2);
    }

    #[test]
    fn s11_pipes_do_not_hang_and_links_close_what_they_lead_to() {
        let directory = tempfile::tempdir().unwrap();
        let root = &directory.path().canonicalize().unwrap();
        for name in ["server.pem", ".npmrc", "config/a.key"] {
            fs::create_dir_all(root.join("config")).unwrap();
            rustix::fs::mknodat(
                rustix::fs::CWD,
                root.join(name),
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR,
                0,
            )
            .unwrap();
        }
        put(root, "config/dev.txt", "TOKEN=1");
        put(root, ".env.example", "TOKEN=");
        for (link, target) in
            [(".env", "config/dev.txt"), ("config/.env", "../.env.example"), ("b.pem", "/etc/hosts")]
        {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        let found = closed_in(root).unwrap();
        assert!(found.contains(&root.join("config/dev.txt")), "{found:?}");
        assert!(
            !found.iter().any(|path| path.ends_with(".env.example") || path.starts_with("/etc")),
            "{found:?}"
        );
    }

    #[test]
    fn s11_second_names_and_long_paths_are_closed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        put(root, ".env", "A=1");
        fs::create_dir(root.join("docs")).unwrap();
        fs::hard_link(root.join(".env"), root.join("docs/notes.txt")).unwrap();
        assert_eq!(closed_in(root).unwrap(), [root.join(".env"), root.join("docs/notes.txt")]);
        let name = "d".repeat(200);
        let mut deep = root.to_path_buf();
        for _ in 0..16 {
            deep.push(&name);
        }
        fs::create_dir_all(&deep).unwrap();
        let closed = closed_in(root).unwrap();
        assert!(closed.iter().any(|path| path.as_os_str().len() > MAX_PATH_BYTES && deep.starts_with(path)));
    }

    #[test]
    fn s6_steering_files_and_repositories_are_found_wherever_they_lie() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let deep = "d/".repeat(20);
        let wide: Vec<String> = (0..2_000).map(|number| format!("wide/{number:04}")).collect();
        for path in &wide {
            put(root, path, "");
        }
        let steering = [
            format!("{deep}AGENTS.md"),
            "lib/.claude".to_string(),
            "lib/.vscode/tasks.json".to_string(),
            "wide/CLAUDE.md".to_string(),
        ];
        put(root, &steering[0], "");
        put(root, "lib/.claude/skills/a/b/c/d.md", "");
        put(root, "lib/.vscode/tasks.json", "");
        put(root, "lib/.vscode/extensions.json", "");
        put(root, "node_modules/x/AGENTS.md", "");
        put(root, &steering[3], "");
        for directory in ["bare/objects", "bare/refs", "sub/.git", "node_modules/x/.git"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        put(root, "bare/HEAD", "ref: refs/heads/main");
        put(root, "linked/.git", "gitdir: ../.git/worktrees/linked");
        let found = scan(root).unwrap();
        let inside = |paths: &BTreeSet<PathBuf>| -> Vec<String> {
            paths.iter().map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect()
        };
        assert_eq!(inside(&found.steering), steering);
        assert_eq!(inside(&found.repositories), ["bare/HEAD", "linked/.git", "sub/.git"]);
        assert!(
            found.has_directory(&root.join("lib/.claude/skills")) && !found.has_directory(&root.join("x"))
        );
    }

    #[test]
    fn s11_a_directory_that_cannot_be_listed_is_closed() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        put(root, "locked/.env", "A=1");
        put(root, "barred/x/.env", "A=1");
        let expected: Vec<PathBuf> = if rustix::process::geteuid().is_root() {
            // Modes keep nothing from this user.
            ["barred/x/.env", "locked/.env"].map(|path| root.join(path)).into()
        } else {
            ["barred", "locked"].map(|path| root.join(path)).into()
        };
        let change = |path: &str, mode| {
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
        };
        change("locked", 0o000);
        change("barred", 0o600);
        let found = closed_in(root);
        change("locked", 0o700);
        change("barred", 0o700);
        assert_eq!(found.unwrap(), expected);
    }

    #[test]
    #[ignore = "a measurement: cargo test -p marvin-gate --lib -- --ignored --nocapture measure_closed_in"]
    fn measure_closed_in() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..100_000 {
            put(directory.path(), &format!("d{}/e{}/f{number}.rs", number % 20, number / 2), "");
        }
        put(directory.path(), "d1/.env", "A=1");
        std::thread::sleep(std::time::Duration::from_millis(150));
        for round in ["first", "second", "third"] {
            let started = std::time::Instant::now();
            let found = closed_in(directory.path()).unwrap().len();
            eprintln!("{round}: {found} found in {:?}", started.elapsed());
        }
    }
}
