//! Files of secrets in a workspace, found by a bounded walk whose results are kept per directory.
//!
//! The sandbox hides them, so the walk runs before every command. A directory whose stamp is unchanged is not listed
//! again: a repeated walk costs one look per directory. It does not follow links.
//!
//! The walk is complete, or there is an error: a program may make directories until a bounded walk ends before the secrets.
//! A directory of the person's that cannot be listed is closed as a whole, since a program could make it readable.

use super::{holds_secret, is_by_content, is_env_file};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Directories below a workspace.
const MAX_DIRECTORIES: usize = 300_000;
/// Workspaces whose directories are kept.
const MAX_ROOTS: usize = 8;
/// Directories at the top of a workspace that are not walked.
const OWN: [&str; 3] = [".git", ".marvin", ".tickets"];
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
#[derive(Clone, Copy, PartialEq, Eq)]
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
struct Listing {
    stamp: Stamp,
    listed_at: i128,
    directories: Vec<OsString>,
    secrets: Vec<OsString>,
}

type Cache = BTreeMap<PathBuf, BTreeMap<PathBuf, Listing>>;

static CACHE: Mutex<Cache> = Mutex::new(Cache::new());

/// The files of secrets below a workspace, and directories that may hold some, as absolute paths.
pub fn closed_in(root: &Path) -> Result<Vec<PathBuf>, TooLarge> {
    closed_within(root, MAX_DIRECTORIES)
}

fn closed_within(root: &Path, most: usize) -> Result<Vec<PathBuf>, TooLarge> {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if cache.len() > MAX_ROOTS && !cache.contains_key(root) {
        cache.clear();
    }
    let known = cache.entry(root.to_path_buf()).or_default();
    let mut next = BTreeMap::new();
    let mut closed = Vec::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        if next.len() >= most {
            return Err(TooLarge(root.to_path_buf()));
        }
        let listing = match listing(&directory, known.remove(&directory)) {
            ListingOutcome::Complete(listing) => listing,
            ListingOutcome::Refused => {
                closed.push(directory);
                continue;
            }
            ListingOutcome::Absent => continue,
        };
        for name in &listing.secrets {
            let path = directory.join(name);
            if !is_by_content(&name.to_string_lossy())
                || File::open(&path).map_or(true, |file| holds_secret(&path, file))
            {
                closed.push(path);
            }
        }
        // At the top these are closed to tools and read-only in the sandbox as a whole.
        let is_own = |name: &OsString| directory == root && OWN.iter().any(|own| name.as_os_str() == *own);
        let inner = listing.directories.iter().filter(|name| !is_own(name));
        waiting.extend(inner.map(|name| directory.join(name)));
        next.insert(directory, listing);
    }
    *known = next;
    closed.sort();
    Ok(closed)
}

enum ListingOutcome {
    Complete(Listing),
    /// The person's own, and not to be listed: its owner may change that.
    Refused,
    Absent,
}

/// The listing of a directory: the known one if nothing changed, else a new one.
fn listing(directory: &Path, known: Option<Listing>) -> ListingOutcome {
    let Ok(facts) = fs::symlink_metadata(directory) else { return ListingOutcome::Absent };
    if !facts.is_dir() {
        return ListingOutcome::Absent;
    }
    let stamp = Stamp::from_metadata(&facts);
    if let Some(known) = known
        && known.stamp == stamp
        && known.listed_at - stamp.modified.max(stamp.changed) > FRESH_NANOSECONDS
    {
        return ListingOutcome::Complete(known);
    }
    let now = marvin_base::clock::now().as_nanosecond();
    let mut found = Listing { stamp, listed_at: now, directories: Vec::new(), secrets: Vec::new() };
    // By this name it is opened only where it may be searched too.
    let entries = match fs::read_dir(directory.join(".")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::PermissionDenied && is_own(&facts) => {
            return ListingOutcome::Refused;
        }
        Err(_) => return ListingOutcome::Absent,
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.directories.push(name),
            // A link is closed by its target, which is listed itself if it lies here.
            Ok(kind) if kind.is_symlink() => {}
            _ if is_env_file(&directory.join(&name)) => found.secrets.push(name),
            _ => {}
        }
    }
    ListingOutcome::Complete(found)
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
            File::create(root.join(format!("a/{number}"))).unwrap();
        }
        assert_eq!(closed_in(root).unwrap(), [root.join(format!("{deep}.env")), root.join("z/.env")]);
        let error = closed_within(root, 32).unwrap_err().to_string();
        assert!(error.contains("has more than") && error.contains("work in a part of it"), "{error}");
        assert_eq!(closed_within(root, 33).unwrap().len(), 2);
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
