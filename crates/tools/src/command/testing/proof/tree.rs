//! The files of a project as a verification sees them: work, dependencies, and caches, which never count.
//!
//! A cache is what a tool can make again; a planted one would be read in place of the sources (`__pycache__`, `target`, object
//! files). Dependencies are what a package manager put there: they are not read file by file but compared by fingerprint.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use marvin_base::files::{self, Links};
use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files that are visited at most.
pub(super) const MAX_FILES: usize = 400_000;
const MAX_NESTING: usize = 64;

/// Directories that tools fill and can fill again.
const CACHES: [&str; 22] = [
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".tox",
    ".nox",
    ".eggs",
    ".cache",
    ".parcel-cache",
    ".turbo",
    ".nyc_output",
    ".gradle",
    ".vite",
    ".vitest",
    ".vite-temp",
    ".swc",
    ".jest",
    ".jest-cache",
    ".ccache",
    ".zig-cache",
    ".stack-work",
];

/// Files that compilers write and that are used in place of newer sources.
const ARTIFACTS: [&str; 13] =
    ["pyc", "pyo", "o", "obj", "a", "class", "gch", "pch", "gcda", "gcno", "tsbuildinfo", "rlib", "rmeta"];

/// Files that tell a project with a build system, which makes its programs again.
const BUILD_FILES: [&str; 9] = [
    "Makefile",
    "makefile",
    "GNUmakefile",
    "CMakeLists.txt",
    "meson.build",
    "justfile",
    "Taskfile.yml",
    "build.ninja",
    "SConstruct",
];

/// The part that a file plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Zone {
    /// The project's own.
    Work,
    /// Below a directory of dependencies, given here.
    Dependency(PathBuf),
    /// Git's own.
    Git,
}

/// A file or link of the project. Directories are visited too, before what is in them.
#[derive(Debug)]
pub(super) struct ProjectEntry {
    /// Relative to the project.
    pub(super) path: PathBuf,
    pub(super) facts: Metadata,
    pub(super) zone: Zone,
}

/// Visits everything but caches and Marvin's own record, in order of names.
///
/// # Errors
/// When something cannot be read, or there is more than can be visited.
pub(super) fn walk(
    root: &Path,
    visit: &mut dyn FnMut(&ProjectEntry) -> Result<(), String>,
) -> Result<(), String> {
    let mut walk = Walk { root, visit, files: 0 };
    walk.directory(Path::new(""), &Zone::Work, 0)
}

struct Walk<'a> {
    root: &'a Path,
    visit: &'a mut dyn FnMut(&ProjectEntry) -> Result<(), String>,
    files: usize,
}

impl Walk<'_> {
    fn directory(&mut self, path: &Path, zone: &Zone, depth: usize) -> Result<(), String> {
        let place = self.root.join(path);
        let wrong = |error: std::io::Error| format!("cannot list `{}`: {error}", path.display());
        if depth > MAX_NESTING {
            return Err(format!("cannot list `{}`: it is nested too deep", path.display()));
        }
        let entries: Result<Vec<DirEntry>, _> = std::fs::read_dir(&place).map_err(wrong)?.collect();
        let mut entries = entries.map_err(wrong)?;
        entries.sort_by_key(DirEntry::file_name);
        for entry in entries {
            let inner = path.join(entry.file_name());
            // What is gone meanwhile is not there.
            let Ok(facts) = entry.metadata() else { continue };
            self.files += 1;
            if self.files > MAX_FILES {
                return Err(format!("the project has more than {MAX_FILES} files"));
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if facts.is_dir() {
                let Some(zone) = self.zone_of(&inner, &name, zone) else { continue };
                (self.visit)(&ProjectEntry { path: inner.clone(), facts, zone: zone.clone() })?;
                self.directory(&inner, &zone, depth + 1)?;
            } else if facts.is_file() || facts.is_symlink() {
                let zone = match zone {
                    // A linked directory of dependencies.
                    Zone::Work if facts.is_symlink() && is_dependency_name(&name) => {
                        Zone::Dependency(inner.clone())
                    }
                    zone => zone.clone(),
                };
                (self.visit)(&ProjectEntry { path: inner, facts, zone })?;
            }
        }
        Ok(())
    }

    /// The zone of a directory; none for one that is passed over.
    fn zone_of(&self, path: &Path, name: &str, around: &Zone) -> Option<Zone> {
        let place = self.root.join(path);
        let top = path.components().count() == 1;
        let is_cache = CACHES.contains(&name)
            || (name == ".marvin" && top)
            || (*around == Zone::Work
                && (place.join("CACHEDIR.TAG").is_file() || place.join("CMakeCache.txt").is_file()))
            || (*around == Zone::Work && name == "target" && place.with_file_name("Cargo.toml").is_file());
        match around {
            _ if is_cache => None,
            Zone::Work if name == ".git" => Some(Zone::Git),
            Zone::Work if is_dependency(&place, name) => Some(Zone::Dependency(path.to_path_buf())),
            zone => Some(zone.clone()),
        }
    }
}

fn is_dependency_name(name: &str) -> bool {
    matches!(
        name,
        "node_modules" | ".venv" | "venv" | "vendor" | "__pypackages__" | ".yarn" | "bower_components"
    )
}

fn is_dependency(place: &Path, name: &str) -> bool {
    let has = |inner: &str| place.join(inner).exists();
    match name {
        "node_modules" | "__pypackages__" | ".yarn" | "bower_components" => true,
        "vendor" => {
            let checksums = || {
                let mut entries = std::fs::read_dir(place).into_iter().flatten().flatten();
                entries.any(|entry| entry.path().join(".cargo-checksum.json").is_file())
            };
            has("modules.txt") || has("autoload.php") || has("bundle") || checksums()
        }
        _ => has("pyvenv.cfg"),
    }
}

/// Whether a file is one that a compiler writes.
pub(super) fn is_artifact(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ARTIFACTS.iter().any(|known| ending == *known))
}

/// Whether a file is a program that a build system makes.
pub(super) fn is_built_program(root: &Path, visited: &ProjectEntry) -> bool {
    use std::io::Read;
    if visited.facts.mode() & 0o111 == 0 || !visited.facts.is_file() {
        return false;
    }
    let mut magic = [0; 4];
    let read = std::fs::File::open(root.join(&visited.path)).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"\x7fELF" && BUILD_FILES.iter().any(|name| root.join(name).exists())
}

/// Whether a file below dependencies is made while they are used.
pub(super) fn is_bytecode(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "pyc" || ending == "pyo")
}

/// Makefiles of a directory, in make's own order.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// Bytes of a makefile that are read.
const MAX_MAKEFILE_BYTES: u64 = 1024 * 1024;

/// Files that rules of makefiles write, as globs of paths. A planted one that is newer than its sources would be used in their
/// place. Names that only make itself can compute are not found.
pub(super) fn make_targets(root: &Path) -> GlobSet {
    let mut globs = GlobSetBuilder::new();
    let mut directories = vec![PathBuf::new()];
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    directories
        .extend(entries.filter(|entry| entry.path().is_dir()).map(|entry| PathBuf::from(entry.file_name())));
    for directory in directories {
        let Some(name) = MAKEFILES.iter().find(|name| root.join(&directory).join(name).is_file()) else {
            continue;
        };
        let Ok(text) = files::read_text(&root.join(&directory).join(name), MAX_MAKEFILE_BYTES, Links::Follow)
        else {
            continue;
        };
        for target in targets_of(&text) {
            let pattern = directory.join(target.replace('%', "*")).display().to_string();
            // A name that is not a glob is not a file that a rule could write.
            if let Ok(glob) = GlobBuilder::new(&pattern).literal_separator(true).build() {
                globs.add(glob);
            }
        }
    }
    globs.build().unwrap_or_else(|_| GlobSet::empty())
}

/// The targets of the rules of a makefile, with plain variables filled in.
fn targets_of(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let mut variables: Vec<(String, String)> = Vec::new();
    let mut targets = Vec::new();
    let fill = |text: &str, variables: &[(String, String)]| {
        let mut text = text.to_string();
        // Values name other variables.
        for _ in 0..3 {
            for (name, value) in variables {
                text = text.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value);
            }
        }
        text
    };
    for line in joined.lines().filter(|line| !line.starts_with('\t') && !line.trim_start().starts_with('#')) {
        let assigned = ["?=", "::=", ":=", "+=", "="].iter().find_map(|sign| line.split_once(sign));
        if let Some((name, value)) = assigned.filter(|(name, _)| !name.trim().contains([':', ' '])) {
            variables.push((name.trim().to_string(), value.trim().to_string()));
        } else if let Some((names, _)) = line.split_once(':') {
            let names = fill(names, &variables);
            let is_plain = |name: &&str| !name.contains('$') && !name.starts_with('.') && *name != "%";
            targets.extend(
                names
                    .split_whitespace()
                    .filter(is_plain)
                    .map(|name| name.trim_start_matches("./").to_string()),
            );
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s8_files_that_rules_write_are_known() {
        let directory = tempfile::tempdir().unwrap();
        let text = "OUT = build\nSRC := a.c\n\nall: $(OUT)/tool lib.so\n\n$(OUT)/tool: $(SRC)\n\tcc -o $@ $<\n\n\
                    gen/%.py: gen/%.in\n\tsed x $< > $@\n\nlib.so other: \\\n  a.c\n\t@echo a:b\n.PHONY: all\n";
        std::fs::write(directory.path().join("Makefile"), text).unwrap();
        let targets = make_targets(directory.path());
        for path in ["build/tool", "lib.so", "other", "gen/x.py", "all"] {
            assert!(targets.is_match(path), "{path}");
        }
        for path in ["a.c", "gen/x.in", "src/gen/x.py", "Makefile", "echo"] {
            assert!(!targets.is_match(path), "{path}");
        }
    }
}
