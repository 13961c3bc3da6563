//! A fresh copy of the project, in which tests are verified.
//!
//! The copy shares nothing with the workspace: contents are copied (by reflink where the file system can), times are kept,
//! caches and compiled files are left out. Files that the tests write never reach the workspace, and files that an agent
//! writes later never reach the copy. A project inside a larger repository sees its surroundings through links.

use super::seal::TestSeal;
use super::tree::{self, ProjectEntry, Zone};
use crate::result::ToolError;
use globset::GlobSet;
use marvin_base::layout::state::identity;
use marvin_base::signature;
use std::fs::{self, File};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const MAX_COPY_BYTES: u64 = 8 * 1024 * 1024 * 1024;
/// Bytes of a virtual environment or of a repository that are copied; a larger one is linked to, and cannot be written either.
const MAX_LINKED_BYTES: u64 = 512 * 1024 * 1024;
/// Directories around the project that are checked.
const MAX_ANCESTORS: usize = 4;
/// Files that make a directory around the project part of the same repository.
const REPOSITORY_FILES: [&str; 9] = [
    ".git",
    "Cargo.toml",
    "package.json",
    "pnpm-workspace.yaml",
    "go.work",
    "pyproject.toml",
    "pytest.ini",
    "setup.cfg",
    ".cargo",
];
/// Bytes of a script whose first line is changed.
const MAX_SCRIPT_BYTES: u64 = 256 * 1024;

/// A copy of the project; it is removed with this value.
#[derive(Debug)]
pub(super) struct FreshCopy {
    root: PathBuf,
    _directory: tempfile::TempDir,
}

impl FreshCopy {
    /// Copies the project. Compiled files among the sources are copied only if they are as in the seal.
    ///
    /// # Errors
    /// When a file cannot be read or written, or the project is too large.
    pub(super) fn make(project: &Path, seal: Option<&TestSeal>) -> Result<FreshCopy, ToolError> {
        let wrong = |error: std::io::Error| {
            ToolError::Failed(format!("cannot create a directory for the copy: {error}"))
        };
        let directory = tempfile::Builder::new().prefix("marvin-proof-").tempdir().map_err(wrong)?;
        // A worktree of the project has the project's name and surroundings, so that code cannot tell where it is verified.
        let root = surround(&identity(project), directory.path()).map_err(wrong)?;
        fs::create_dir_all(&root).map_err(wrong)?;
        let mut copier = Copier {
            project,
            root: &root,
            seal,
            bytes: 0,
            linked: Vec::new(),
            targets: tree::make_targets(project),
            directories: Vec::new(),
        };
        tree::walk(project, &mut |visited| copier.copy(visited))?;
        copier.keep_directory_times();
        Ok(FreshCopy { root, _directory: directory })
    }

    #[must_use]
    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

/// Creates the directories around the copy, with links to the project's siblings.
fn surround(project: &Path, directory: &Path) -> std::io::Result<PathBuf> {
    let ancestors: Vec<&Path> = project.ancestors().skip(1).take(MAX_ANCESTORS).collect();
    let belongs = |place: &&Path| {
        place.parent().is_some()
            && !std::env::temp_dir().starts_with(place)
            && REPOSITORY_FILES.iter().any(|name| place.join(name).exists())
    };
    let is_home =
        |place: &Path| std::env::var_os("HOME").is_some_and(|home| Path::new(&home).starts_with(place));
    let top = ancestors.iter().rev().find(|place| belongs(place) && !is_home(place));
    let name = project.file_name().unwrap_or(std::ffi::OsStr::new("project"));
    let Some(top) = top else { return Ok(directory.join(name)) };
    let mut real = top.to_path_buf();
    let mut copy = directory.join(top.file_name().unwrap_or_default());
    for part in project.strip_prefix(top).unwrap_or(Path::new("")).components() {
        fs::create_dir_all(&copy)?;
        for entry in fs::read_dir(&real)?.flatten().filter(|entry| entry.file_name() != part.as_os_str()) {
            symlink(entry.path(), copy.join(entry.file_name()))?;
        }
        real.push(part);
        copy.push(part);
    }
    Ok(copy)
}

struct Copier<'a> {
    project: &'a Path,
    root: &'a Path,
    seal: Option<&'a TestSeal>,
    bytes: u64,
    /// Directories that are linked to as a whole.
    linked: Vec<PathBuf>,
    /// Targets of makefiles.
    targets: GlobSet,
    /// Directories with their original times.
    directories: Vec<(PathBuf, std::time::SystemTime)>,
}

impl Copier<'_> {
    fn copy(&mut self, visited: &ProjectEntry) -> Result<(), ToolError> {
        let path = &visited.path;
        let (from, to) = (self.project.join(path), self.root.join(path));
        let wrong =
            |error: std::io::Error| ToolError::Failed(format!("cannot copy `{}`: {error}", path.display()));
        if self.linked.iter().any(|linked| path.starts_with(linked)) {
            return Ok(());
        }
        if visited.facts.is_dir() {
            let is_top = match &visited.zone {
                Zone::Dependency(top) => top == path && from.join("pyvenv.cfg").is_file(),
                Zone::Git => path.file_name().is_some_and(|name| name == ".git"),
                Zone::Work => false,
            };
            if is_top && size(&from, MAX_LINKED_BYTES) > MAX_LINKED_BYTES {
                self.linked.push(path.clone());
                return symlink(&from, &to).map_err(wrong);
            }
            fs::create_dir_all(&to).map_err(wrong)?;
            // The owner must be able to write into the copy.
            let mode = visited.facts.permissions().mode() | 0o700;
            fs::set_permissions(&to, fs::Permissions::from_mode(mode)).map_err(wrong)?;
            self.directories.extend(visited.facts.modified().ok().map(|time| (to, time)));
            return Ok(());
        }
        if visited.facts.is_symlink() {
            let target = fs::read_link(&from).map_err(wrong)?;
            // A link into the project leads into the copy.
            let target = match target.strip_prefix(self.project) {
                Ok(inner) => self.root.join(inner),
                Err(_) => target,
            };
            return symlink(target, &to).map_err(wrong);
        }
        if self.is_left_out(visited) {
            return Ok(());
        }
        self.bytes += visited.facts.len();
        if self.bytes > MAX_COPY_BYTES {
            return Err(ToolError::Failed(format!("the project has more than {MAX_COPY_BYTES} bytes")));
        }
        let in_environment = matches!(&visited.zone, Zone::Dependency(top) if self.project.join(top).join("pyvenv.cfg").is_file());
        if in_environment && self.relocate(visited, &from, &to).map_err(wrong)? {
            return Ok(());
        }
        copy_file(&from, &to, visited).map_err(wrong)
    }

    /// Whether a compiled file was not there, or was another, when the tests were sealed.
    fn is_left_out(&self, visited: &ProjectEntry) -> bool {
        match &visited.zone {
            Zone::Git => false,
            Zone::Dependency(_) => tree::is_bytecode(&visited.path),
            Zone::Work
                if tree::is_artifact(&visited.path)
                    || self.targets.is_match(&visited.path)
                    || tree::is_built_program(self.project, visited) =>
            {
                let key = visited.path.display().to_string();
                let sealed = self.seal.and_then(|seal| seal.artifacts.get(&key));
                let now = || {
                    fs::read(self.project.join(&visited.path)).map(|bytes| signature::hash_bytes(&bytes)).ok()
                };
                sealed.is_none() || sealed != now().as_ref()
            }
            Zone::Work => false,
        }
    }

    /// Rewrites the path of a virtual environment in its scripts and path files to that of the copy.
    fn relocate(&self, visited: &ProjectEntry, from: &Path, to: &Path) -> std::io::Result<bool> {
        let name = visited.path.file_name().unwrap_or_default().to_string_lossy();
        let in_bin = visited.path.parent().is_some_and(|parent| parent.ends_with("bin"));
        let names_places = in_bin
            || name.ends_with(".pth")
            || name.ends_with(".egg-link")
            || name.starts_with("__editable__");
        if !names_places || visited.facts.len() > MAX_SCRIPT_BYTES {
            return Ok(false);
        }
        let Ok(text) = String::from_utf8(fs::read(from)?) else { return Ok(false) };
        let (old, new) = (self.project.display().to_string(), self.root.display().to_string());
        fs::write(to, text.replace(&old, &new))?;
        fs::set_permissions(to, visited.facts.permissions())?;
        Ok(true)
    }

    /// Directories get their times last, since every new file in them changes these.
    fn keep_directory_times(&self) {
        for (directory, time) in self.directories.iter().rev() {
            // No test can rely on the time of a directory.
            File::open(directory).and_then(|directory| directory.set_modified(*time)).ok();
        }
    }
}

fn copy_file(from: &Path, to: &Path, visited: &ProjectEntry) -> std::io::Result<()> {
    let mut source =
        File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(from)?;
    let mut target = File::options().write(true).create_new(true).open(to)?;
    // This uses copy_file_range, which shares blocks where the file system can.
    std::io::copy(&mut source, &mut target)?;
    target.set_permissions(visited.facts.permissions())?;
    if let Ok(time) = visited.facts.modified() {
        target.set_modified(time)?;
    }
    Ok(())
}

/// The bytes below a directory, counted up to a little more than `enough`.
fn size(directory: &Path, enough: u64) -> u64 {
    let mut total = 0;
    let mut open = vec![directory.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(facts) if facts.is_dir() => open.push(entry.path()),
                Ok(facts) => total += facts.len(),
                Err(_) => {}
            }
        }
        if total > enough {
            break;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_testing::write;
    use std::time::{Duration, SystemTime};

    #[test]
    fn s8_a_copy_shares_nothing_and_leaves_caches_out() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("project");
        for path in [
            "a.py",
            "src/b.py",
            "src/__pycache__/b.cpython-311.pyc",
            "legacy.pyc",
            "target/debug/x",
            "Cargo.toml",
            "lib.o",
            "node_modules/.bin/x",
            "node_modules/a/obj.o",
            "node_modules/.cache/y",
            ".marvin/agents/project.md",
            ".git/HEAD",
            ".venv/pyvenv.cfg",
            ".venv/lib/m.pyc",
        ] {
            write(project.join(path), "text\n");
        }
        write(project.join(".venv/bin/tool"), format!("#!{}/.venv/bin/python3\n", project.display()));
        symlink(project.join("a.py"), project.join("inside")).unwrap();
        symlink("/etc/hostname", project.join("outside")).unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        File::options().write(true).open(project.join("a.py")).unwrap().set_modified(old).unwrap();
        let copy = FreshCopy::make(&project, None).unwrap();
        let has = |path: &str| copy.root().join(path).symlink_metadata().is_ok();
        for path in
            ["a.py", "src/b.py", "node_modules/.bin/x", "node_modules/a/obj.o", ".git/HEAD", "outside"]
        {
            assert!(has(path), "{path}");
        }
        for path in [
            "src/__pycache__",
            "legacy.pyc",
            "target",
            "lib.o",
            "node_modules/.cache",
            ".marvin",
            ".venv/lib/m.pyc",
        ] {
            assert!(!has(path), "{path}");
        }
        assert_eq!(fs::metadata(copy.root().join("a.py")).unwrap().modified().unwrap(), old);
        assert_eq!(fs::read_link(copy.root().join("inside")).unwrap(), copy.root().join("a.py"));
        let script = fs::read_to_string(copy.root().join(".venv/bin/tool")).unwrap();
        assert!(script.contains(&copy.root().display().to_string()), "{script}");
        fs::write(copy.root().join("a.py"), "changed").unwrap();
        assert_eq!(fs::read_to_string(project.join("a.py")).unwrap(), "text\n");
    }

    #[test]
    fn a_member_of_a_larger_repository_sees_what_lies_around_it() {
        let outer = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        write(outer.path().join("Cargo.toml"), "[workspace]\n");
        write(outer.path().join("other/src/lib.rs"), "");
        write(outer.path().join("mine/src/lib.rs"), "");
        let copy = FreshCopy::make(&outer.path().join("mine"), None).unwrap();
        assert!(copy.root().join("../Cargo.toml").is_file());
        assert!(copy.root().join("../other/src/lib.rs").is_file());
        assert!(!copy.root().is_symlink() && copy.root().join("src/lib.rs").is_file());
    }
}
