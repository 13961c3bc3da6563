//! Places: the same verb is harmless at one and a catastrophe at another.

use super::words;
use crate::secrets;
use crate::shell::pattern::PathPattern;
use crate::shell::{Word, normal};
use std::path::Path;

/// A place, by what would be lost, shown or started there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A device that swallows or gives anything: `/dev/null`.
    Sink,
    /// Below a temporary directory.
    Temporary,
    /// In the workspace: made by a build, and made again by the next.
    Regenerable,
    /// In the workspace, nothing special.
    Inside,
    /// Outside, nothing special.
    Outside,
    /// Below the home directory, nothing special.
    InHome,
    /// Nothing is known of it.
    Unknown,
    /// In the workspace: secrets by convention (`.env`).
    ProjectSecret,
    /// In the workspace: what agents take instructions from.
    Instructions,
    /// The shells' histories.
    History,
    /// Below a directory of the system.
    System,
    /// The workspace itself, or everything in it.
    Workspace,
    /// A directory above the workspace.
    Above,
    /// Git's own files.
    Repository,
    /// The record, the tickets, or the directory of the hooks' daemon.
    Record,
    /// Marvin's state directory: the records and decisions of every project.
    State,
    /// Logs of the system.
    Log,
    /// What is run or trusted when a user logs in, or by the system on its own.
    StartUp,
    /// Credentials.
    Secret,
    /// The home directory itself, everything in it, or a directory above it.
    Home,
    /// A directory of the system itself, or one of its vital files.
    Vital,
    /// A disk or memory.
    Device,
    /// A connection: `/dev/tcp/HOST/PORT`.
    Network,
    /// The root of the file system.
    Root,
}

/// Where commands run, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct Grounds<'a> {
    /// The workspace.
    pub workspace: &'a str,
    /// The person's home directory.
    pub home: &'a str,
}

/// Letters of a name from which on what follows may be guessed.
const MIN_BEGUN_NAME: usize = 4;

impl Place {
    /// The worst that a word may be, from any of the directories in which its command may run.
    #[must_use]
    pub fn classify(word: &Word, directories: &[Word], grounds: Grounds<'_>) -> Place {
        let place = Place::of_beginning(word, directories, grounds);
        let relative = || !word.beginning().starts_with('/');
        let known = word.text().is_some()
            && (!relative() || directories.iter().all(|directory| directory.text().is_some()));
        if known {
            return place;
        }
        // Whatever stands before a known name, it is that file and not all of a directory.
        Place::of_end(&word.shown()).unwrap_or(place)
    }

    /// What the known end of a path tells, whatever stands before it: `$x/.ssh/id_rsa`, `/proc/$$/environ`.
    fn of_end(text: &str) -> Option<Place> {
        let name = text.rsplit('/').next().unwrap_or_default();
        if text.contains(char::is_whitespace) {
            return None;
        }
        if is_process_secret(text) {
            return Some(Place::Secret);
        }
        if is_secret_name(text) {
            let personal = secrets::is_key_name(name) || in_credential_directory(&text.to_ascii_lowercase());
            return Some(if personal { Place::Secret } else { Place::ProjectSecret });
        }
        secrets::is_project_secret(name).then_some(Place::ProjectSecret)
    }

    /// The worst place that the path of a word may be, from any of the directories in which its command may run.
    fn of_beginning(word: &Word, directories: &[Word], grounds: Grounds<'_>) -> Place {
        let begin = word.beginning();
        if begin.is_empty() && word.text().is_none() {
            let end = word.end();
            return if is_customised(end.rsplit('/').next().unwrap_or_default()) {
                Place::StartUp
            } else {
                Place::Unknown
            };
        }
        // A pattern that went through a variable is still one.
        let globs = word.globs() || begin.contains("/*");
        if begin.starts_with('/') {
            return Place::of_uncertain_path(word, globs, grounds);
        }
        let each = directories.iter().map(|directory| {
            Place::of_uncertain_path(&directory.joined(word), globs || directory.globs(), grounds)
        });
        each.max().unwrap_or(Place::Unknown)
    }

    /// The worst place that an absolute path may be, of which pieces may be unknown.
    fn of_uncertain_path(path: &Word, globs: bool, grounds: Grounds<'_>) -> Place {
        let begin = path.beginning();
        if path.text().is_some() {
            return Place::of_path(&begin, true, globs, grounds);
        }
        if !begin.starts_with('/') {
            return Place::Unknown;
        }
        let place = Place::of_path(&begin, false, globs, grounds);
        let after = path.after_unknown();
        // What a file or an input says may be any path.
        let place = if path.is_told() || has_parent(&after) { place.max(Place::Unknown) } else { place };
        let as_text = |unknown| Place::of_path(&path.with_unknown_as(unknown), true, globs, grounds);
        if !after.contains('/') {
            // `CLAUDE$x.md`: what is not set is nothing.
            let named = as_text("");
            return if named.steers() || named.holds_secrets() { place.max(named) } else { place };
        }
        // `./$x/notes`: something in the workspace, and not the workspace. What is unknown may be empty, or a name.
        let names = after.rsplit('/').next().is_some_and(|name| name.contains(char::is_alphanumeric));
        let place = if names && place == Place::Workspace { Place::Inside } else { place };
        place.max(as_text("")).max(as_text("x"))
    }

    /// Does a word name the tickets?
    pub(crate) fn is_ticket(word: &Word, directories: &[Word], grounds: Grounds<'_>) -> bool {
        let begin = word.beginning();
        directories.iter().any(|directory| {
            let path = if begin.starts_with('/') {
                normal(&begin)
            } else {
                normal(&format!("{}/{begin}", directory.beginning()))
            };
            path.strip_prefix(grounds.workspace)
                .and_then(|rest| rest.strip_prefix("/.tickets"))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// The place of a text; with `whole` false something unknown follows it.
    #[must_use]
    pub fn of_path(text: &str, whole: bool, globs: bool, grounds: Grounds<'_>) -> Place {
        // `build/*/../../.git`: the way back is lexical, whatever the pattern finds.
        let climbs =
            globs && text.find(['*', '?', '[']).is_some_and(|at| text.get(at..).is_some_and(has_parent));
        let normalised = if climbs { normal(text) } else { String::new() };
        let text = if climbs { &normalised } else { text };
        let original = text;
        if globs && crate::shell::finds_secrets(&normal(text), grounds.home) {
            return Place::Secret;
        }
        if is_daemon(text, whole, globs, grounds) {
            return Place::Record;
        }
        // `~/.netr$x`: a name of a secret that is written in part.
        let begun = text.rsplit('/').next().unwrap_or_default();
        if !whole
            && begun.len() >= MIN_BEGUN_NAME
            && crate::shell::finds_secrets(&format!("{}*", normal(text)), grounds.home)
        {
            return Place::Secret;
        }
        // A pattern stands for what lies in the directory before it; `/*` is all of `/`.
        let (text, below) = match text.find(['*', '?', '[']).filter(|_| globs) {
            Some(at) => {
                let head = text.get(..at).unwrap_or(text);
                let directory = head.rsplit_once('/').map_or("", |(directory, _)| directory);
                let rest = text.get(directory.len()..).unwrap_or_default().trim_start_matches('/');
                // A pattern with text of its own is only some of what lies there.
                let all = rest
                    .trim_end_matches('/')
                    .chars()
                    .all(|char| matches!(char, '*' | '.' | '?' | '/' | '[' | ']' | '!'));
                (directory, if all { PathTail::All } else { PathTail::Some })
            }
            None if !whole => match text.rsplit_once('/') {
                Some((directory, "")) => (directory, PathTail::Any),
                _ => (text, PathTail::Same),
            },
            None => (text, PathTail::Same),
        };
        let path = through_proc(&normal(text), grounds.workspace);
        let place = Place::of_plain(&path, grounds);
        // A pattern in the middle may stand for any name: `/proc/*/environ`, `/home/*/.ssh/id_rsa`.
        if matches!(below, PathTail::Some | PathTail::All) {
            let whole = Place::of_plain(&normal(original), grounds);
            if matches!(whole, Place::Secret | Place::History)
                || whole == Place::Regenerable && matches!(place, Place::Workspace | Place::Inside)
                || matches!(whole, Place::StartUp | Place::ProjectSecret) && whole > place
            {
                return whole;
            }
        }
        let last = original.rsplit('/').next().unwrap_or_default();
        match (below, place) {
            // `.en$x`
            (PathTail::Same, Place::Inside | Place::Regenerable)
                if !whole && !begun.is_empty() && ".env".starts_with(begun) =>
            {
                Place::ProjectSecret
            }
            (PathTail::Same, place) => place,
            (PathTail::Some, Place::Workspace | Place::Inside) if secrets::may_be_project_secret(last) => {
                Place::ProjectSecret
            }
            // Everything in a directory is the directory; something unknown in it may be everything.
            (PathTail::All | PathTail::Any, place) => place,
            (PathTail::Some, Place::Root) => Place::Vital,
            (PathTail::Some, Place::Home) => Place::InHome,
            (PathTail::Some, Place::Workspace) => Place::Inside,
            (PathTail::Some, place) => place,
        }
    }

    /// The place of a normal absolute path.
    fn of_plain(path: &str, grounds: Grounds<'_>) -> Place {
        let below = |directory: &str| is_below(path, directory);
        if path == "/" {
            return Place::Root;
        }
        if let Some(device) = path.strip_prefix("/dev/") {
            return device_place(device);
        }
        // The workspace comes first: it may lie anywhere, in /tmp or in the home directory.
        if path == grounds.workspace {
            return Place::Workspace;
        }
        if below(grounds.workspace) {
            return Place::of_inside(path.get(grounds.workspace.len() + 1..).unwrap_or_default());
        }
        if is_below(grounds.workspace, path) && !matches!(path, "/tmp" | "/var/tmp") {
            return if is_below(grounds.home, path) || path == grounds.home || is_system_root(path) {
                worse_root(path, grounds)
            } else {
                Place::Above
            };
        }
        let homes = ["/home/", "/Users/"].iter().find_map(|homes| {
            let rest = path.strip_prefix(homes)?;
            let (user, inner) = rest.split_once('/').unwrap_or((rest, ""));
            (!user.is_empty()).then_some(inner)
        });
        let inside = |home: &str| {
            let rest = path.strip_prefix(home)?;
            if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
        };
        if let Some(inner) = inside(grounds.home).or_else(|| inside("/root")).or(homes) {
            return Place::of_home(inner);
        }
        if is_below(grounds.home, path) {
            return Place::Home;
        }
        if matches!(path, "/tmp" | "/var/tmp" | "/private/tmp") {
            return Place::Outside;
        }
        if ["/tmp", "/var/tmp", "/private/tmp", "/dev/shm", "/var/folders"]
            .iter()
            .any(|directory| below(directory))
        {
            let name = path.rsplit('/').next().unwrap_or_default();
            return match name {
                name if secrets::is_key_name(name) => Place::Secret,
                name if secrets::is_project_secret(name) => Place::ProjectSecret,
                _ => Place::Temporary,
            };
        }
        // How a login is checked is not a secret, but it is not changed in passing either.
        if path.starts_with("/etc/ssh/")
            && (path.contains("_config") || path.ends_with(".pub") || path.ends_with("/moduli"))
        {
            return Place::Vital;
        }
        if secrets::SYSTEM.iter().any(|secret| path == *secret || below(secret)) || is_secret_name(path) {
            return if path.starts_with("/etc/sudoers") { Place::StartUp } else { Place::Secret };
        }
        if is_process_secret(path) {
            return Place::Secret;
        }
        if words::STARTUP_PATHS.has_path(path) {
            return Place::StartUp;
        }
        if path == "/var/log" || below("/var/log") || below("/var/audit") {
            return Place::Log;
        }
        if words::VITAL_PATHS.has_path(path) {
            return Place::Vital;
        }
        if is_system_root(path) {
            return Place::Vital;
        }
        // Programs and libraries of the system itself.
        if ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/lib/", "/lib64/", "/usr/lib/"]
            .iter()
            .any(|directory| path.starts_with(directory))
        {
            return Place::Vital;
        }
        if is_foreign_secret(path) {
            return Place::ProjectSecret;
        }
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        match first {
            "opt" | "srv" | "mnt" | "media" | "data" | "var" | "run" | "home" | "Volumes" => Place::Outside,
            first if words::SYSTEM_DIRECTORIES.matches(first) => Place::System,
            _ => Place::Outside,
        }
    }

    fn of_inside(inner: &str) -> Place {
        let parts: Vec<&str> = inner.split('/').collect();
        let name = parts.last().copied().unwrap_or_default();
        if parts.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
            if matches!(name, "COMMIT_EDITMSG" | "MERGE_MSG" | "exclude" | "description") {
                return Place::Inside;
            }
            return if inner.contains(".git/hooks") || name == "config" && parts.len() == 2 {
                Place::StartUp
            } else {
                Place::Repository
            };
        }
        match parts.first().copied() {
            Some(".tickets") => return Place::Record,
            Some(".marvin") if parts.len() == 1 => return Place::Record,
            Some(".marvin") if crate::path::is_record(&parts) => return Place::Record,
            _ => {}
        }
        // What tools of the project run or obey by themselves.
        if crate::path::is_instruction(&parts) || crate::steering::find(&parts).is_some() {
            return Place::Instructions;
        }
        // Keys of people are credentials wherever they lie.
        if secrets::is_key_name(name) && !name.starts_with("credentials")
            || parts.contains(&".ssh") && is_secret_name(inner)
        {
            return Place::Secret;
        }
        if secrets::is_project_secret(name) || is_secret_name(inner) {
            return Place::ProjectSecret;
        }
        let made = parts.iter().any(|part| words::BUILD_DIRECTORIES.matches(part))
            || words::BUILD_FILE_ENDINGS.matches(name);
        if made { Place::Regenerable } else { Place::Inside }
    }

    fn of_home(inner: &str) -> Place {
        let is = |list: &[&str]| list.iter().any(|entry| inner == *entry || is_below(inner, entry));
        let name = inner.rsplit('/').next().unwrap_or_default();
        if inner.is_empty() {
            return Place::Home;
        }
        // What decides for every project: nothing but Marvin writes it.
        if is(&[".local/state/marvin"]) {
            return Place::State;
        }
        if words::HISTORY_FILES.has_path(inner) {
            return Place::History;
        }
        if words::HOME_STARTUP_PATHS.has_path(inner)
            || inner.contains("site-packages/") && is_customised(name)
            || matches!(name, "usercustomize.py" | "sitecustomize.py")
        {
            return Place::StartUp;
        }
        if words::PUBLIC_FILES.has_path(inner) || name.ends_with(".pub") {
            return Place::InHome;
        }
        if is(secrets::HOME) || secrets::is_key_name(name) || is_secret_name(inner) {
            return Place::Secret;
        }
        if inner.starts_with(".cache/") || inner.starts_with(".local/share/Trash") {
            return Place::Temporary;
        }
        if is_foreign_secret(inner) {
            return Place::ProjectSecret;
        }
        // Whole branches of a home directory: `~/Documents`, `~/.config`.
        Place::InHome
    }

    /// Does it steer agents and tools, or is it the record of them?
    pub(super) fn steers(self) -> bool {
        matches!(
            self,
            Place::Instructions | Place::StartUp | Place::Record | Place::State | Place::Repository
        )
    }

    /// Does it hold secrets?
    pub(super) fn holds_secrets(self) -> bool {
        matches!(self, Place::Secret | Place::ProjectSecret | Place::History)
    }

    /// Is everything at this place worth more than one command?
    #[must_use]
    pub fn is_whole(self) -> bool {
        matches!(
            self,
            Place::Root
                | Place::Home
                | Place::Workspace
                | Place::Above
                | Place::Vital
                | Place::Device
                | Place::Repository
                | Place::Record
                | Place::State
        )
    }
}

/// Is this the directory through which hooks speak with their daemon, or something in it? The number in its name may be
/// unknown (`mhd-$UID`) or a pattern.
fn is_daemon(text: &str, whole: bool, globs: bool, grounds: Grounds<'_>) -> bool {
    let path = normal(text);
    let inner = path.strip_prefix(grounds.workspace).unwrap_or(&path);
    if crate::path::is_daemon_place(Path::new(inner)) {
        return true;
    }
    let mut parts = inner.split('/').rev();
    let open = !whole && parts.next() == Some("mhd-");
    let pattern = |part: &str| {
        part.strip_prefix("mhd-").is_some_and(|number| number.chars().any(|char| "*?[".contains(char)))
    };
    let finds = || PathPattern::new(&path).is_some_and(|pattern| pattern.finds(&["/tmp/mhd-1000"]));
    open || globs && (inner.split('/').any(pattern) || finds())
}

/// What follows the certain part of a path.
#[derive(Clone, Copy)]
enum PathTail {
    Same,
    Some,
    All,
    Any,
}

fn worse_root(path: &str, grounds: Grounds<'_>) -> Place {
    if path == grounds.home || is_below(grounds.home, path) { Place::Home } else { Place::Vital }
}

/// Files that a language runs by itself, wherever they lie.
fn is_customised(name: &str) -> bool {
    words::CUSTOMISATION_FILES.matches(name) || name.ends_with(".pth") && name.len() > 4
}

/// Does a path climb anywhere?
fn has_parent(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// Does the path lie strictly below the directory?
pub(crate) fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
}

/// A directory directly below `/`, or one of the great ones below that.
fn is_system_root(path: &str) -> bool {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match parts.as_slice() {
        [first] => words::SYSTEM_DIRECTORIES.matches(first),
        ["usr", "bin" | "sbin" | "lib" | "lib64" | "share" | "local" | "include" | "libexec"]
        | ["var", "lib" | "spool" | "cache" | "backups" | "mail"]
        | ["usr", "local", "bin" | "sbin" | "lib"] => true,
        _ => false,
    }
}

fn device_place(device: &str) -> Place {
    let name = device.split('/').next().unwrap_or_default();
    match name {
        name if words::SINK_DEVICES.matches(name) => Place::Sink,
        "tcp" | "udp" => Place::Network,
        "shm" => Place::Temporary,
        _ => Place::Device,
    }
}

/// `/proc/self/root/etc` is `/etc`, whatever process is named, and `/proc/self/cwd` the directory of a command.
fn through_proc(path: &str, workspace: &str) -> String {
    let rest = path.strip_prefix("/proc/").and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest);
    let rest = rest.and_then(|rest| match rest.strip_prefix("task/") {
        Some(task) => task.split_once('/').map(|(_, rest)| rest),
        None => Some(rest),
    });
    let behind = |link: &str| {
        let behind = rest.and_then(|rest| rest.strip_prefix(link));
        behind.filter(|behind| behind.is_empty() || behind.starts_with('/'))
    };
    match (behind("root"), behind("cwd")) {
        (Some(rest), _) => through_proc(&normal(&format!("/{rest}")), workspace),
        (None, Some(rest)) => normal(&format!("{workspace}{rest}")),
        (None, None) => path.to_string(),
    }
}

/// Does a name begin here?
fn begins_name(path: &str, at: usize) -> bool {
    at.checked_sub(1).is_none_or(|before| path.as_bytes().get(before) == Some(&b'/'))
}

/// Names that hold credentials wherever they lie, in directories of their own.
fn is_secret_name(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();

    let sample = name.ends_with(".pub")
        || name.ends_with(".example")
        || name.ends_with(".md")
        || words::PUBLIC_FILES.words().any(|known| lower.ends_with(known));
    !sample
        && (in_credential_directory(&lower)
            || secrets::is_key_name(name)
            || words::CREDENTIAL_NAMES.matches(name))
}

/// Does a path, in small letters, go through a directory of credentials?
fn in_credential_directory(path: &str) -> bool {
    words::CREDENTIAL_DIRECTORIES
        .words()
        .any(|directory| path.match_indices(directory).any(|(at, _)| begins_name(path, at)))
}

/// What processes know: their environment and memory.
/// Is this a file of secrets of another project? A name that only its content could tell about is not.
fn is_foreign_secret(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    secrets::is_project_secret(name) && !secrets::is_by_content(name)
}

fn is_process_secret(path: &str) -> bool {
    path.starts_with("/proc/")
        && (path.ends_with("/environ")
            || path.ends_with("/mem") && path != "/proc/mem"
            || path == "/proc/kcore"
            || path.ends_with("/maps") && path != "/proc/self/maps")
        || Path::new(path).starts_with("/run/secrets")
        || Path::new(path).starts_with("/var/run/secrets")
}
