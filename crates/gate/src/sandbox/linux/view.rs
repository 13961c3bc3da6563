//! The file system as a sandboxed program sees it: a list of what is there, not of what is hidden.
//!
//! Readable are the system's directories, the toolchains of the person's home and of `PATH`, and what the person lists in
//! `sandbox.readable`. Writable are the workspace, the temporary directory and what a tool asks for. Everything else does not
//! exist: other projects, the rest of the home directory, sockets of agents, buses and displays. Inside of what is there, closed
//! places (credentials, `.env` files, files of the system that other users may not read) cannot be opened, and protected places of
//! the workspace (git's configuration and hooks, Marvin's own directory, files that steer other programs) cannot be written.
//!
//! Limits: a toolchain outside the usual places must be on `PATH`, named by its variable, or listed.

use super::super::Policy;
use marvin_base::environment::Environment;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Directories of the system. Links (`/bin` on most systems) stay links.
const SYSTEM: [&str; 22] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/run/current-system",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/var/lib/gems",
    "/var/lib/dpkg",
    "/var/lib/rpm",
    "/var/lib/ca-certificates",
    "/var/lib/flatpak/runtime",
    "/var/cache/fontconfig",
    "/var/lib/texmf",
];

/// Toolchains and package caches below the home directory.
const TOOLCHAINS: [&str; 63] = [
    ".cargo/bin",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".rustup",
    ".pyenv",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/pipx",
    ".local/share/uv",
    ".local/share/mise",
    ".local/share/fnm",
    ".local/share/pnpm",
    ".local/share/virtualenvs",
    ".local/share/rtx",
    ".local/share/gem",
    ".local/share/coursier",
    ".cache/pip",
    ".cache/uv",
    ".cache/pypoetry",
    ".cache/pre-commit",
    ".cache/node",
    ".cache/deno",
    ".cache/yarn",
    ".cache/coursier",
    ".cache/ms-playwright",
    ".npm/_cacache",
    ".nvm",
    ".volta",
    ".fnm",
    ".n",
    ".asdf",
    ".proto",
    ".bun",
    ".deno",
    ".yarn",
    "go",
    ".go",
    ".goenv",
    ".gem",
    ".rbenv",
    ".rvm",
    ".bundle/cache",
    ".sdkman/candidates",
    ".jenv",
    ".m2/repository",
    ".m2/wrapper",
    ".gradle/caches",
    ".gradle/wrapper",
    ".ivy2",
    ".sbt",
    ".dotnet",
    ".nuget/packages",
    ".pub-cache",
    ".ghcup",
    ".cabal",
    ".stack",
    ".opam",
    ".juliaup",
    ".julia",
    ".elan",
    "miniconda3",
];

/// Settings of tools, shown only when they hold nothing that looks like a credential.
const PLAIN_SETTINGS: [&str; 8] = [
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
    ".cargo/config.toml",
    ".cargo/config",
    ".config/pip/pip.conf",
    ".npmrc",
];

/// Variables that name where a toolchain is.
const TOOLCHAIN_VARIABLES: [&str; 21] = [
    "RUSTUP_HOME",
    "PYENV_ROOT",
    "NVM_DIR",
    "VOLTA_HOME",
    "FNM_DIR",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "BUN_INSTALL",
    "DENO_DIR",
    "GOROOT",
    "GOPATH",
    "GOMODCACHE",
    "JAVA_HOME",
    "GRAALVM_HOME",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "RBENV_ROOT",
    "GEM_HOME",
    "DOTNET_ROOT",
];

/// The link in a workspace that leads to the records in the state directory.
const RECORDS_LINK: &str = ".marvin/runs";
/// The largest settings file that is looked through for credentials; a larger one stays hidden.
const MAX_SETTINGS_BYTES: u64 = 64 * 1024;
/// Entries of the system's settings that are looked at for closed files.
const MAX_SYSTEM_ENTRIES: usize = 20_000;

/// The visible paths, as absolute paths of the host.
#[derive(Debug, Clone, Default)]
pub(super) struct View {
    /// Links that are made again, with their targets.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// Names of readable places that lead to them through links, with the places themselves.
    pub(super) aliases: Vec<(PathBuf, PathBuf)>,
    /// Directories that are there and empty.
    pub(super) empty: Vec<PathBuf>,
    /// Readable and executable.
    pub(super) readable: Vec<PathBuf>,
    /// Writable too.
    pub(super) writable: Vec<PathBuf>,
    /// Closed, though inside one of the above.
    pub(super) closed: Vec<PathBuf>,
    /// Read-only, though inside a writable place.
    pub(super) protected: Vec<PathBuf>,
}

impl View {
    /// The view that a policy gives, in an environment with a `PATH`.
    pub(super) fn new(policy: &Policy, environment: &Environment) -> Self {
        let mut view = View::default();
        for place in SYSTEM.map(PathBuf::from) {
            match std::fs::read_link(&place) {
                Ok(target) => view.links.push((place, target)),
                Err(_) if place.exists() => view.readable.push(place),
                Err(_) => {}
            }
        }
        // A place that holds the home directory, or lies among credentials, is not shown for a toolchain.
        let home = policy.home.as_deref().filter(|home| home.parent().is_some());
        let entries = home.map(Entries::list);
        let may_exist = |place: &PathBuf| entries.as_ref().is_none_or(|entries| entries.may_have(place));
        let hidden = policy.hidden.iter().filter(|place| may_exist(place));
        let closed: Vec<PathBuf> = hidden.flat_map(|place| both_names(place)).collect();
        let is_narrow = |place: &Path| {
            place.parent().is_some()
                && home.is_none_or(|home| !home.starts_with(place))
                && !closed.iter().any(|closed| place.starts_with(closed))
        };
        let mut extra: Vec<PathBuf> = Vec::new();
        if let Some(home) = home {
            extra.extend(TOOLCHAINS.iter().map(|place| home.join(place)));
            let plain = PLAIN_SETTINGS.iter().map(|place| home.join(place)).filter(&may_exist);
            view.readable.extend(plain.filter(|place| holds_no_credentials(place)));
        }
        let named = TOOLCHAIN_VARIABLES.iter().filter_map(|name| environment.get(name));
        let cargo = environment.get("CARGO_HOME").map(PathBuf::from);
        let cargo = cargo.iter().flat_map(|cargo| ["bin", "git", "registry"].map(|part| cargo.join(part)));
        let path = environment.get("PATH").unwrap_or_default().split(':').map(PathBuf::from);
        extra.extend(named.map(PathBuf::from));
        extra.extend(path.flat_map(|entry| [toolchain_root(&entry), Some(entry)]).flatten());
        extra.extend(cargo);
        let shown = |place: PathBuf| {
            let is_candidate = place.is_absolute() && may_exist(&place) && is_narrow(&place);
            let real = is_candidate.then(|| place.canonicalize().ok()).flatten();
            real.filter(|real| is_narrow(real)).map(|real| (place, real))
        };
        let extra = extra.into_iter().collect::<BTreeSet<_>>().into_iter().filter_map(shown);
        // What a person listed is shown even where a rule would not have chosen it, short of the whole disk.
        let listed = policy.readable.iter().filter(|place| place.parent().is_some());
        let listed = listed.filter_map(|place| Some((place.clone(), place.canonicalize().ok()?)));
        for (place, real) in extra.chain(listed) {
            let is_shown = |place: &Path| view.readable.iter().any(|known| place.starts_with(known));
            let is_linked = view.links.iter().any(|(link, _)| place.starts_with(link));
            let is_alias = place != real && place.is_absolute() && !is_shown(&place) && !is_linked;
            if !is_shown(&real) {
                view.readable.push(real.clone());
            }
            // A program that is called by this name must find it, though the link lies outside of what is shown.
            if is_alias {
                view.aliases.push((place, real));
            }
        }
        // The link to the records leads to an empty directory: programs that walk the workspace stop at a dangling one.
        let records = std::fs::read_link(policy.workspace.join(RECORDS_LINK));
        view.empty.extend(records.into_iter().filter(|target| target.is_absolute()));
        view.readable.extend(git_directories(&policy.workspace));
        if policy.network {
            // Often a link to what the system's resolver writes.
            view.readable.extend(Path::new("/etc/resolv.conf").canonicalize());
        }
        let workspace = std::iter::once(policy.workspace.clone());
        if policy.readonly {
            view.readable.extend(workspace);
        } else {
            view.writable.extend(workspace);
        }
        view.writable.push(policy.temporary.clone());
        view.writable.extend(policy.writable.iter().cloned());
        view.closed = closed;
        view.closed.extend(closed_system_files().iter().cloned());
        view.closed.extend(policy.closed.iter().cloned());
        if !policy.readonly {
            let is_closed = |place: &&PathBuf| {
                !policy.opened.iter().any(|open| open.starts_with(place) || place.starts_with(open))
            };
            view.protected.extend(policy.protected.iter().filter(is_closed).cloned());
        }
        view.tidy();
        view
    }

    /// Puts everything in order and drops what is not there or says nothing new.
    fn tidy(&mut self) {
        let in_order = |places: &mut Vec<PathBuf>| {
            let set: BTreeSet<PathBuf> = places.drain(..).filter(|place| place.exists()).collect();
            places.extend(set);
        };
        in_order(&mut self.readable);
        in_order(&mut self.writable);
        in_order(&mut self.closed);
        in_order(&mut self.protected);
        let shown: Vec<PathBuf> = self.readable.iter().chain(&self.writable).cloned().collect();
        let is_inside =
            |place: &PathBuf| shown.iter().any(|shown| place.starts_with(shown) && place != shown);
        self.closed.retain(is_inside);
        // What lies in a closed directory is closed with it.
        let all = self.closed.clone();
        self.closed.retain(|place| !all.iter().any(|other| other != place && place.starts_with(other)));
        let writable = self.writable.clone();
        // What is to be read-only inside of a writable place is protected, not merely readable.
        self.readable.retain(|place| !writable.iter().any(|shown| place.starts_with(shown)));
        self.protected
            .retain(|place| writable.iter().any(|shown| place.starts_with(shown) && place != shown));
    }
}

/// The toolchain that a directory on `PATH` belongs to: shims of `.pyenv` start what lies beside them.
fn toolchain_root(entry: &Path) -> Option<PathBuf> {
    let is_root = |place: &&Path| {
        place.file_name().is_some_and(|name| {
            TOOLCHAINS.iter().any(|known| !known.contains('/') && *known != "go" && name == *known)
        })
    };
    let known = entry.ancestors().find(is_root);
    // A prefix of its own: a virtual environment, or a toolchain with its libraries beside its programs.
    let is_prefix = |parent: &&Path| {
        entry.file_name().is_some_and(|name| name == "bin")
            && parent.file_name().is_some_and(|name| name != ".local")
            && (parent.join("pyvenv.cfg").is_file() || parent.join("lib").is_dir())
    };
    known.or_else(|| entry.parent().filter(is_prefix)).map(Path::to_path_buf)
}

/// A place by the name it was given and by the one it has; nothing where it does not exist.
fn both_names(place: &Path) -> impl Iterator<Item = PathBuf> {
    let exists = place.symlink_metadata().is_ok();
    let named = exists.then(|| place.to_path_buf());
    named.into_iter().chain(exists.then(|| place.canonicalize().ok()).flatten())
}

/// The entries of the home directory, so that hundreds of places which are not there cost no system call each.
struct Entries {
    directory: PathBuf,
    /// None where it cannot be listed.
    names: Option<BTreeSet<OsString>>,
}

impl Entries {
    fn list(directory: &Path) -> Self {
        let names = std::fs::read_dir(directory)
            .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect())
            .ok();
        Entries { directory: directory.to_path_buf(), names }
    }

    /// Whether a place can exist. Only places below an unlisted entry cannot.
    fn may_have(&self, place: &Path) -> bool {
        let first = place.strip_prefix(&self.directory).ok().and_then(|rest| rest.components().next());
        let (Some(first), Some(names)) = (first, &self.names) else { return true };
        names.contains(first.as_os_str())
    }
}

/// Whether a settings file is there and holds nothing that looks like a credential.
fn holds_no_credentials(file: &Path) -> bool {
    let small = file.metadata().is_ok_and(|facts| facts.is_file() && facts.len() <= MAX_SETTINGS_BYTES);
    small
        && std::fs::read_to_string(file).is_ok_and(|text| {
            let lower = text.to_ascii_lowercase();
            let named = [
                "token",
                "password",
                "passwd",
                "secret",
                "_auth",
                "authorization",
                "credential.helper",
                "[credential",
            ];
            let with_user = lower.split("://").skip(1).any(|rest| {
                rest.split(['/', '"', '\'', ' ', '\n']).next().is_some_and(|place| place.contains('@'))
            });
            !named.iter().any(|name| lower.contains(name)) && !with_user
        })
}

/// Files of the system that other users may not read: credentials by evidence. Looked for once for each process.
fn closed_system_files() -> &'static [PathBuf] {
    static CLOSED: OnceLock<Vec<PathBuf>> = OnceLock::new();
    CLOSED.get_or_init(|| {
        let mut closed = Vec::new();
        let mut waiting = vec![PathBuf::from("/etc")];
        let mut left = MAX_SYSTEM_ENTRIES;
        while let Some(directory) = waiting.pop() {
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                left = left.saturating_sub(1);
                let Ok(facts) = entry.metadata() else { continue };
                if facts.is_symlink() {
                    continue;
                }
                let needed = if facts.is_dir() { 0o005 } else { 0o004 };
                if facts.mode() & needed != needed {
                    closed.push(entry.path());
                } else if facts.is_dir() && left > 0 {
                    waiting.push(entry.path());
                }
            }
        }
        closed
    })
}

/// The repository's own directories, where the workspace is a linked worktree. Only those that name the workspace back are
/// shown: the link in the workspace alone could point anywhere.
fn git_directories(workspace: &Path) -> Vec<PathBuf> {
    let link = workspace.join(".git");
    if !link.symlink_metadata().is_ok_and(|facts| facts.is_file() && facts.len() < 4096) {
        return Vec::new();
    }
    let named = |file: &Path, prefix: &str| {
        let text = std::fs::read_to_string(file).ok()?;
        Some(PathBuf::from(text.strip_prefix(prefix)?.trim()))
    };
    let Some(own) = named(&link, "gitdir: ").map(|own| workspace.join(own)) else { return Vec::new() };
    let back = named(&own.join("gitdir"), "").and_then(|back| own.join(back).canonicalize().ok());
    if back.is_none() || back != link.canonicalize().ok() {
        return Vec::new();
    }
    let common = named(&own.join("commondir"), "").map(|common| own.join(common));
    common.into_iter().chain([own]).filter_map(|place| place.canonicalize().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_with_credentials_are_hidden() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        for (text, plain) in [
            ("[user]\nname = Ann\nemail = a@b.c\n", true),
            ("[url \"https://example.com/\"]\ninsteadOf = x:\n", true),
            ("[url \"https://ann:pw@example.com/\"]\ninsteadOf = x:\n", false),
            ("//registry/:_authToken=abc\n", false),
            ("[credential]\nhelper = store\n", false),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(holds_no_credentials(&file), plain, "{text}");
        }
    }

    #[test]
    fn a_worktree_shows_its_repository_only_when_that_names_it_back() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (work, own) = (root.join("work"), root.join("main/.git/worktrees/work"));
        std::fs::create_dir_all(&work).unwrap();
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(work.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert!(git_directories(&work).is_empty());
        std::fs::write(own.join("gitdir"), format!("{}\n", work.join(".git").display())).unwrap();
        std::fs::write(own.join("commondir"), "../..\n").unwrap();
        assert_eq!(git_directories(&work), [root.join("main/.git"), own]);
    }
}
