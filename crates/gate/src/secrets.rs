//! Places of credentials: one list for the judge of commands, for paths, for the search, and for the sandbox.
//!
//! Limits: these are places and names by convention. A secret in a file of an ordinary name is an ordinary file.

mod places;

pub use crate::tree_scan::{TooLarge, closed_in};
pub(crate) use places::{HOME, SYSTEM};

use crate::path::WorkspacePath;
use crate::shell::pattern::PathPattern;
use crate::workspace::Workspace;
use marvin_base::environment::Environment;
use marvin_base::redact::{Redactor, is_secret_name};
use marvin_base::settings::{Settings, table};
use places::{BY_CONTENT, KEY_ENDINGS, KEYS, NAMES, OVERRIDES, SAMPLES, SETTINGS_ENDINGS, STEMS};
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of a file that are looked at where its content decides.
const MAX_CONTENT_BYTES: u64 = 256 * 1024;

/// Does a path lie where credentials lie, or is it named like a private key?
#[must_use]
pub fn is_secret_place(path: &Path, home: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    is_key_name(&name) || places(home).iter().any(|place| path.starts_with(place))
}

/// Parts of the names of variables that hold credentials, beyond those that the redactor knows: addresses with a password in
/// them, and words without `_` between them.
const VARIABLE_PARTS: [&str; 17] = [
    "TOKEN",
    "SECRET",
    "PASSW",
    "CREDENTIAL",
    "APIKEY",
    "PRIVATE",
    "PGPASS",
    "CONNECTION_STRING",
    "CONN_STR",
    "SEED_PHRASE",
    "DATABASE_URL",
    "DB_URL",
    "REDIS_URL",
    "MONGO_URL",
    "MONGODB_URI",
    "MONGO_URI",
    "MYSQL_PWD",
];

/// Last words of names of variables that hold credentials.
const LAST_PARTS: [&str; 11] =
    ["AUTH", "BEARER", "COOKIE", "COOKIES", "CREDS", "DSN", "JWT", "MNEMONIC", "PAT", "SK", "WEBHOOK"];

/// Does a variable of the environment hold a credential, by its name?
pub(crate) fn is_secret_variable(name: &str) -> bool {
    // The key of an attempt, by which its effects are recognised: steps of workflows print it.
    if name == "MARVIN_STEP_KEY" {
        return false;
    }
    let upper = name.to_ascii_uppercase();
    is_secret_name(&upper)
        || VARIABLE_PARTS.iter().any(|part| upper.contains(part))
        || upper.split('_').any(|part| part.ends_with("KEY") || part.ends_with("PASS"))
        || upper.rsplit('_').next().is_some_and(|part| LAST_PARTS.contains(&part))
}

/// Is this the name of a private key?
pub(crate) fn is_key_name(name: &str) -> bool {
    KEYS.contains(&name) || (name.starts_with("credentials") && name.ends_with(".json"))
}

/// Is this a name of an example of a file of secrets? In small letters.
fn is_sample_name(lower: &str) -> bool {
    SAMPLES.iter().any(|ending| {
        let mut rests = lower.match_indices(*ending).filter_map(|(at, _)| lower.get(at + ending.len()..));
        rests.any(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Is this an example of a file of secrets?
pub(crate) fn is_sample(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_sample_name(&name.to_string_lossy().to_ascii_lowercase()))
}

/// Does a file of this name hold secrets of a project, by convention: `.env`, keys, credentials? Examples do not.
#[must_use]
pub fn is_project_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if is_sample_name(&lower) {
        return false;
    }
    is_env_name(&lower)
        || KEY_ENDINGS.iter().any(|ending| lower.ends_with(ending))
        || KEYS.iter().any(|key| lower.starts_with(key)) && !lower.ends_with(".pub")
        || is_key_name(&lower)
        || NAMES.contains(&lower.as_str())
        || SETTINGS_ENDINGS.iter().any(|ending| {
            lower.strip_suffix(ending).is_some_and(|stem| {
                let stem = stem.trim_start_matches('.');
                STEMS.contains(&stem)
                    || stem.starts_with("service-account")
                    || stem.starts_with("service_account")
            })
        })
}

/// As [`is_project_secret`], for a pattern of file names too. A dot at the beginning is matched only by a dot: `.e*`.
#[must_use]
pub fn may_be_project_secret(name: &str) -> bool {
    is_project_secret(name) || name.starts_with('.') && crate::shell::pattern::matches(name, ".env")
}

/// As [`may_be_project_secret`], for the patterns of `find`, whose stars match dots: `*nv`. One that finds ordinary files too
/// does not look for secrets.
pub(crate) fn is_search_for_secrets(pattern: &str) -> bool {
    let lower = pattern.to_ascii_lowercase();
    let finds = |names: &[&str]| names.iter().any(|name| crate::shell::pattern::matches(&lower, name));
    may_be_project_secret(pattern)
        || finds(&[".env", ".env.local", ".netrc", ".git-credentials", "id_rsa", "id_ed25519"])
            && !finds(&[
                "readme.md",
                "main.rs",
                "index.js",
                "package.json",
                "test_main.py",
                "utils_test.go",
                "content.txt",
                "index.html",
            ])
}

/// `.env`, `.env.local`, `.env-prod`, `prod.env`, `.env~`, and the swap file of an editor beside one.
fn is_env_name(lower: &str) -> bool {
    let bare = lower.trim_start_matches(['#', '.']);
    let hidden = lower.starts_with('.') || lower.starts_with('#');
    let behind = bare.strip_prefix("env").filter(|_| hidden);
    behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_', '~', '#', '@']))
        || lower.ends_with(".env") && lower.len() > 4
        || lower == ".envrc"
}

/// Does this path name a file of secrets of a project? The name counts, and for some files the directory it lies in.
#[must_use]
pub fn is_env_file(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let parent =
        path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().to_ascii_lowercase());
    let in_place = matches!(
        (parent.as_deref().unwrap_or_default(), name.as_str()),
        (".aws", "credentials" | "config")
            | (".docker" | ".kube", "config" | "config.json")
            | (".cargo", "credentials" | "credentials.toml")
            | (".ssh", _)
            | (".gnupg", _)
            | (".streamlit", "secrets.toml")
            | (".secrets" | "secrets", _)
    );
    // Below a directory called `secrets` lies also code; only settings are closed there.
    let of_directory = matches!(parent.as_deref(), Some("secrets" | ".secrets"));
    let settings = SETTINGS_ENDINGS.iter().any(|ending| name.ends_with(ending)) || !name.contains('.');
    let public = [".pub", "known_hosts", "authorized_keys"].iter().any(|ending| name.ends_with(ending));
    is_project_secret(&name) || in_place && !public && (!of_directory || settings)
}

/// Is this a file of secrets of some project? Of one whose content decides, the content does.
#[must_use]
pub fn is_secret_file(path: &Path) -> bool {
    is_env_file(path)
        && std::fs::metadata(path).is_ok_and(|facts| facts.is_file())
        && (!is_by_content(&path.to_string_lossy())
            || std::fs::File::open(path).map_or(true, |file| holds_secret(path, file)))
}

/// Is this a file whose content decides whether it is closed?
pub(crate) fn is_by_content(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    BY_CONTENT.iter().any(|ending| lower.ends_with(ending))
}

/// Whether the content of a file of settings or keys holds a secret. What cannot be read counts as one, and so does a file
/// of a key that does not say that it is public.
pub(crate) fn holds_secret(name: &Path, file: impl Read) -> bool {
    let mut bytes = Vec::new();
    if file.take(MAX_CONTENT_BYTES).read_to_end(&mut bytes).is_err() {
        return true;
    }
    // A key in binary form is not text.
    let Ok(text) = std::str::from_utf8(&bytes) else { return true };
    let is_key = name
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("pem") || ending.eq_ignore_ascii_case("key"));
    let is_public = text.contains("-----BEGIN CERTIFICATE") || text.contains(" PUBLIC KEY-----");
    is_key && !is_public || text.contains("PRIVATE KEY") || Redactor::patterns_only().finds(text)
}

/// The files of secrets that the person opened to agents (`secrets.granted`): paths in the workspace, or names.
#[derive(Debug, Clone, Default)]
pub struct GrantedFiles(Vec<String>);

impl GrantedFiles {
    /// The person's list.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        let list = settings.list(&table::SECRETS_GRANTED);
        GrantedFiles(
            list.into_iter().map(|entry| entry.trim().trim_start_matches("./").to_string()).collect(),
        )
    }

    /// Whether the person opened this file; the path is relative to the workspace.
    #[must_use]
    pub fn has(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        self.0.iter().any(|entry| Path::new(entry) == path || !entry.contains('/') && name == entry.as_str())
    }
}

/// Is a file of the workspace closed to agents: a file of secrets that the person did not open?
///
/// The path is relative to the workspace, and judged as it is named and as what it really is: links lead to their target,
/// and a second name (hard link) of a closed file is closed too.
#[must_use]
pub fn is_closed(workspace: &Workspace, path: &WorkspacePath, granted: &GrantedFiles) -> bool {
    let (real, facts) = workspace.resolve_with_metadata(path);
    let real = real.unwrap_or_default();
    if granted.has(path.as_path()) && (real.as_path() == path.as_path() || granted.has(&real)) {
        return false;
    }
    let Some(facts) = facts else {
        // Not there, or not to be opened: the name decides.
        return is_env_file(path.as_path()) || is_env_file(&real);
    };
    // A directory of such a name is listed like any other.
    if facts.is_dir() {
        return false;
    }
    let second = Some(real.as_path()).filter(|real| *real != path.as_path());
    for name in [Some(path.as_path()), second].into_iter().flatten() {
        if is_env_file(name) && !granted.has(name) {
            let by_content = is_by_content(&name.to_string_lossy());
            if !by_content || workspace.open_read(path).map_or(true, |file| holds_secret(name, file)) {
                return true;
            }
        }
    }
    facts.nlink() > 1
        && closed_identities(workspace.root(), granted)
            .map_or(true, |closed| closed.contains(&(facts.dev(), facts.ino())))
}

/// Device and inode of every closed file below a workspace, by which its second names (hard links) are known.
pub fn closed_identities(root: &Path, granted: &GrantedFiles) -> Result<BTreeSet<(u64, u64)>, TooLarge> {
    let mut closed = closed_in(root)?;
    closed.retain(|path| !granted.has(path.strip_prefix(root).unwrap_or(path)));
    let facts = closed.into_iter().filter_map(|path| std::fs::metadata(path).ok());
    Ok(facts.map(|facts| (facts.dev(), facts.ino())).collect())
}

/// Is an entry of a walk, which has no link on its way, closed to agents?
#[must_use]
pub fn is_closed_entry(workspace: &Workspace, path: &Path, granted: &GrantedFiles) -> bool {
    is_env_file(path)
        && !granted.has(path)
        && (!is_by_content(&path.to_string_lossy())
            || workspace.open_plain(path).map_or(true, |(file, _)| holds_secret(path, file)))
}

/// Every place of credentials that a contained program has no business in, for a person with this home directory.
#[must_use]
pub fn places(home: &Path) -> Vec<PathBuf> {
    // A user without a home directory has `/` in its place, which is not one.
    let of_home = HOME.iter().map(|secret| home.join(secret)).filter(|_| home.parent().is_some());
    of_home.chain(SYSTEM.iter().map(PathBuf::from)).collect()
}

/// The same, and the places to which the person's environment moves them (`XDG_CONFIG_HOME`, `KUBECONFIG`, `GNUPGHOME` …).
#[must_use]
pub fn places_in(home: &Path, environment: &Environment) -> Vec<PathBuf> {
    let mut places = places(home);
    for (variable, inner) in OVERRIDES {
        let Some(value) = environment.get(variable).filter(|value| !value.is_empty()) else { continue };
        // Some hold a list, some a kind before the path: `FILE:/tmp/krb5cc`.
        for path in
            value.split(':').map(Path::new).filter(|path| path.is_absolute() && path.parent().is_some())
        {
            let start = match *variable {
                "XDG_CONFIG_HOME" => ".config/",
                "XDG_DATA_HOME" => ".local/share/",
                "XDG_STATE_HOME" => ".local/state/",
                _ => "",
            };
            if start.is_empty() {
                places.extend(inner.iter().map(|inner| path.join(inner)));
            } else {
                places.extend(HOME.iter().filter_map(|place| Some(path.join(place.strip_prefix(start)?))));
            }
        }
    }
    places.sort();
    places.dedup();
    places
}

/// Does a directory hold places of credentials: the home directory, `/`, `~/.config`, `/etc`?
#[must_use]
pub(crate) fn holds(path: &str, home: &str) -> bool {
    let path = path.trim_end_matches('/');
    let above = |place: &str| place.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    let homes = [home, "/root", "/home/user", "/Users/user"];
    let other =
        |homes: &str| path.strip_prefix(homes).is_some_and(|user| !user.is_empty() && !user.contains('/'));
    above(&format!("{home}/"))
        || other("/home/")
        || other("/Users/")
        || SYSTEM.iter().any(|place| above(place))
        || homes.iter().any(|home| {
            let inner = path.strip_prefix(home).and_then(|rest| rest.strip_prefix('/'));
            path == *home
                || inner.is_some_and(|inner| {
                    HOME.iter()
                        .any(|place| place.strip_prefix(inner).is_some_and(|rest| rest.starts_with('/')))
                })
        })
}

/// Could a pattern of files find credentials? They lie at the same places on most machines.
pub(crate) fn pattern_finds(text: &str, home: &str) -> bool {
    let text = text.trim_end_matches('/');
    let Some(pattern) = PathPattern::new(text) else { return false };
    let finds = |place: &[&str]| {
        let inside = ["id_rsa", "id_ed25519", "config", "credentials", "x"];
        pattern.finds(place) || inside.iter().any(|name| pattern.finds(&[place, &[*name]].concat()))
    };
    // Only places that share the text before the pattern are worth a look.
    let certain = text.split(['*', '?', '[']).next().unwrap_or_default();
    let near = |certain: &str, place: &str| certain.starts_with(place) || place.starts_with(certain);
    let environments = ["/proc/1/environ", "/proc/self/environ"];
    SYSTEM.iter().chain(&environments).any(|place| near(certain, place) && finds(&[place]))
        || [home, "/root"].iter().filter(|home| near(certain, home)).any(|home| {
            let certain = certain.strip_prefix(home).map_or("", |rest| rest.trim_start_matches('/'));
            HOME.iter().any(|place| near(certain, place) && finds(&[home, place]))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_secrets_are_known_by_name_and_examples_are_none() {
        for name in [
            ".env",
            ".env.local",
            "server.pem",
            "tls.key",
            "id_rsa",
            "id_rsa_work",
            "id_ed25519",
            "credentials.json",
            "credentials-prod.json",
            ".npmrc",
            ".pypirc",
            ".netrc",
            ".envrc",
            ".env.production.local",
            ".ENV",
            ".env~",
            ".env-prod",
            "..env.swp",
            "prod.env",
            "terraform.tfvars",
            "terraform.tfstate",
            "secrets.yml",
            "secrets.toml",
            "service-account-prod.json",
            "vault.kdbx",
            "cert.p12",
            "a.pfx",
            "a.jks",
        ] {
            assert!(is_project_secret(name), "{name}");
            assert!(is_env_file(&Path::new("deep/er").join(name)), "{name}");
        }
        for path in [".aws/credentials", "x/.kube/config", ".ssh/work", "config/secrets/db.yml"] {
            assert!(is_env_file(Path::new(path)), "{path}");
        }
        for name in [
            ".env.example",
            ".env.sample",
            ".env.template",
            "env.rs",
            "id_rsa.pub",
            "keys.rs",
            "monkey",
            "credentials.md",
            ".environment",
            ".env.example",
            ".env.local.example",
            ".env.dist",
            ".env.defaults",
            ".env.example.local",
            "environment.yml",
            "env.production.ts",
            "secrets.md",
            "secrets.rs",
            "tokens.json",
            "package.json",
            "main.tf",
            "variables.tf",
        ] {
            assert!(!is_project_secret(name), "{name}");
            assert!(!is_env_file(&Path::new("src").join(name)), "{name}");
        }
        for path in ["src/secrets/mod.rs", ".ssh/known_hosts", ".ssh/id_rsa.pub", "docs/secrets/README.md"] {
            assert!(!is_env_file(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn s11_places_follow_the_environment() {
        let environment = Environment::from_iter([
            ("XDG_CONFIG_HOME", "/c"),
            ("KUBECONFIG", "/k/one:/k/two"),
            ("CARGO_HOME", "/cargo"),
            ("GNUPGHOME", "relative"),
        ]);
        let places = places_in(Path::new("/home/person"), &environment);
        for place in
            ["/c/gh", "/c/marvin", "/k/one", "/k/two", "/cargo/credentials.toml", "/home/person/.ssh"]
        {
            assert!(places.iter().any(|own| own == Path::new(place)), "{place}");
        }
        assert!(!places.iter().any(|place| !place.is_absolute() || place == Path::new("/")));
        assert!(HOME.len() + SYSTEM.len() > 300);
    }

    #[test]
    fn s4_directories_that_hold_credentials_are_known() {
        for path in
            ["/", "/home", "/home/person", "/home/person/.config", "/home/other", "/etc", "/root", "/var/lib"]
        {
            assert!(holds(path, "/home/person"), "{path}");
        }
        for path in [
            "/home/person/project",
            "/home/person/project/src",
            "/usr",
            "/tmp",
            "/usr/share",
            "/home/person/notes",
        ] {
            assert!(!holds(path, "/home/person"), "{path}");
        }
        for text in [
            "/home/person/.s*/id_*",
            "/home/person/.??h/*",
            "/home/person/.[s]sh/id_rsa",
            "/etc/sh?dow",
            "/home/person/.aw?/*",
        ] {
            assert!(pattern_finds(text, "/home/person"), "{text}");
        }
        for text in ["/home/person/project/*.rs", "/tmp/*", "/home/person/project/src/*/mod.rs"] {
            assert!(!pattern_finds(text, "/home/person"), "{text}");
        }
    }
}
