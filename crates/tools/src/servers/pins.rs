//! Pinned files of a server: its program and the scripts on its command line, where an agent could change them.
//!
//! A person's server is pinned when it starts for the first time; a project's when a person trusts it. When a pinned file
//! changes, the server is not started until a person trusts it again. Files of the system (owned and writable only by root)
//! are left to the system's package manager.

use super::launch::{is_inside, starts_in};
use super::{Definition, Server, ServerOwner};
use marvin_base::environment::Environment;
use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
use marvin_base::signature;
use std::collections::BTreeMap;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Bytes of a file that is hashed whole; a larger one is identified by its size, inode, modification time and samples.
const MAX_HASHED_BYTES: u64 = 128 * 1024 * 1024;
const SAMPLES: usize = 64;
const SAMPLE_BYTES: usize = 16 * 1024;
/// Directories of system programs.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix/store", "/snap"];
/// Programs that fetch a package by its name and run it.
const FETCHERS: [&str; 7] = ["npx", "bunx", "pnpx", "uvx", "pipx", "npm", "uv"];

/// The hashes of the pinned files by path, and notes on the rest.
pub(super) fn pin(
    server: &Server,
    layout: &Layout,
    environment: &Environment,
) -> (BTreeMap<String, String>, Vec<String>) {
    let mut notes = Vec::new();
    let mut pinned = BTreeMap::new();
    let Some(command) = server.definition.command.as_deref() else { return (pinned, notes) };
    let program = server.resolve_program(layout, environment).ok();
    let scripts = scripts(&server.definition, server.owner, layout);
    for path in program.iter().chain(&scripts) {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if is_system(&real) {
            continue;
        }
        match content(&real) {
            Some(content) => {
                pinned.insert(real.display().to_string(), content);
            }
            None => notes.push(format!("{} cannot be read, so it is not pinned", real.display())),
        }
        if server.owner == ServerOwner::Person && is_inside(&real, layout.project()) {
            notes.push(format!("{} lies inside the project, where agents write", real.display()));
        }
    }
    if let Some(directory) = starts_in(&server.definition, layout)
        && is_inside(&directory, layout.project())
    {
        notes.push(
            "it starts inside the project: what agents write there may run outside of the sandbox".into(),
        );
    }
    notes.extend(fetched(command, &server.definition.args));
    (pinned, notes)
}

/// Files that the arguments name.
fn scripts(definition: &Definition, owner: ServerOwner, layout: &Layout) -> Vec<PathBuf> {
    let base = match owner {
        ServerOwner::Project => layout.project().map(Path::to_path_buf),
        ServerOwner::Person => starts_in(definition, layout),
    };
    let full = |word: &String| {
        // `--config=FILE` names one too.
        let word =
            word.split_once('=').filter(|_| word.starts_with('-')).map_or(word.as_str(), |(_, file)| file);
        let path = Path::new(word);
        if path.is_absolute() { Some(path.to_path_buf()) } else { base.as_ref().map(|base| base.join(path)) }
    };
    definition.args.iter().filter_map(full).filter(|path| path.is_file()).collect()
}

fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|place| path.starts_with(place))
        && path.metadata().is_ok_and(|facts| facts.uid() == 0 && facts.mode() & 0o022 == 0)
}

fn content(path: &Path) -> Option<String> {
    let facts = path.metadata().ok()?;
    if facts.len() <= MAX_HASHED_BYTES {
        return files::read(path, MAX_HASHED_BYTES, Links::Refuse)
            .ok()
            .map(|bytes| signature::hash_bytes(&bytes));
    }
    // The change time is left out: another hard link changes it.
    let file = std::fs::File::open(path).ok()?;
    let mut sample = Vec::with_capacity(SAMPLES * SAMPLE_BYTES);
    let step = facts.len() / SAMPLES as u64;
    for at in 0..SAMPLES as u64 {
        let mut piece = [0; SAMPLE_BYTES];
        let read = file.read_at(&mut piece, at * step).ok()?;
        sample.extend_from_slice(piece.get(..read)?);
    }
    let (inode, size, seconds, nanos) = (facts.ino(), facts.size(), facts.mtime(), facts.mtime_nsec());
    Some(format!("{inode}:{size}:{seconds}.{nanos}:{}", signature::hash_bytes(&sample)))
}

/// The note on a program that fetches a package.
fn fetched(command: &str, args: &[String]) -> Option<String> {
    let name = Path::new(command).file_name()?.to_str()?;
    if !FETCHERS.contains(&name) {
        return None;
    }
    let is_verb = |word: &str| matches!(word, "exec" | "run" | "x" | "tool");
    let mut words = args.iter().map(String::as_str).skip_while(|word| is_verb(word));
    let mut package = None;
    while let Some(word) = words.next() {
        match word {
            "-p" | "--package" | "--from" | "--with" | "--spec" => package = words.next(),
            _ if ["--package=", "--from=", "--spec="].iter().any(|flag| word.starts_with(flag)) => {
                package = word.split_once('=').map(|(_, package)| package);
            }
            _ if word.starts_with('-') => continue,
            _ => package = Some(word),
        }
        break;
    }
    let package = package?;
    Some(if is_exact(package) {
        format!("{package} is pinned by its version; the packages that it needs are not")
    } else {
        format!("{package} is not pinned: name an exact version, as in NAME@1.2.3 or NAME==1.2.3")
    })
}

/// Whether a package's name ends in an exact version.
fn is_exact(package: &str) -> bool {
    let version = package.rsplit_once("==").or_else(|| package.rsplit_once('@')).map(|(_, version)| version);
    version.is_some_and(|version| {
        let mut parts = version.split('.');
        let is_number = |part: &str| part.starts_with(|first: char| first.is_ascii_digit());
        parts.clone().count() >= 2
            && parts.all(is_number)
            && !version.contains(['*', '^', '~', '>', '<', '|', ' '])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_versions_are_distinguished_from_ranges() {
        for package in ["@acme/docs-mcp@1.4.2", "mcp-server-git==2026.1.14", "x@1.2.3-beta.1", "ruff@0.9.1"] {
            assert!(is_exact(package), "{package}");
        }
        for package in ["@acme/docs-mcp", "x", "x@latest", "x@^1.2.0", "x@1.x", "x>=1.2", "x@1", "@a/b@next"]
        {
            assert!(!is_exact(package), "{package}");
        }
        let note = |command: &str, args: &[&str]| {
            fetched(command, &args.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert!(note("npx", &["-y", "@acme/docs@1.4.2"]).unwrap().contains("is pinned"));
        assert!(note("npx", &["-y", "@acme/docs"]).unwrap().contains("not pinned"));
        assert!(note("/usr/bin/npx", &["--package=a@1.0.0", "b"]).unwrap().contains("a@1.0.0 is pinned"));
        assert!(note("uvx", &["--from", "mcp-git==1.0.0", "x"]).unwrap().contains("is pinned"));
        assert_eq!(note("python3", &["x.py"]), None);
    }
}
