//! Where credentials lie: one list for the judge of commands, for paths, for the search, and for the box.
//!
//! Limits: these are places and names by convention. A secret in a file of an ordinary name is an ordinary file.

mod table;

pub(crate) use table::{HOME, SYSTEM};

use crate::shell::pattern;
use marvin_base::environment::Environment;
use std::path::{Path, PathBuf};
use table::OVERRIDES;

/// Names of private keys, wherever they lie.
const KEYS: [&str; 4] = ["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"];
/// Names of files that hold credentials, wherever they lie.
const NAMES: [&str; 4] = [".npmrc", ".pypirc", ".netrc", ".git-credentials"];
/// Endings of files that show the shape of a secret file without the secrets.
const SAMPLES: [&str; 4] = [".example", ".sample", ".template", ".dist"];

/// Does a path lie where credentials lie, or is it named like a private key?
#[must_use]
pub fn is_secret_place(path: &Path, home: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    is_key_name(&name) || places(home).iter().any(|place| path.starts_with(place))
}

/// Is this the name of a private key?
pub(crate) fn is_key_name(name: &str) -> bool {
    KEYS.contains(&name) || (name.starts_with("credentials") && name.ends_with(".json"))
}

/// Does a file of this name hold secrets of a project, by convention: `.env`, keys, credentials? Examples do not.
#[must_use]
pub fn is_project_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if SAMPLES.iter().any(|ending| lower.ends_with(ending)) || lower.ends_with(".pub") {
        return false;
    }
    lower == ".env"
        || lower.starts_with(".env.")
        || lower.ends_with(".pem")
        || lower.ends_with(".key")
        || KEYS.iter().any(|key| lower.starts_with(key))
        || is_key_name(&lower)
        || NAMES.contains(&lower.as_str())
}

/// Every place of credentials that a contained program has no business in, for a person with this home directory.
#[must_use]
pub fn places(home: &Path) -> Vec<PathBuf> {
    // Where there is no home directory, it is said to be `/`, which is none.
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
    let finds = |place: &str| {
        pattern::finds(text, place)
            || ["id_rsa", "id_ed25519", "config", "credentials", "x"]
                .iter()
                .any(|name| pattern::finds(text, &format!("{place}/{name}")))
    };
    // Only places that share the text before the pattern are worth a look.
    let certain = text.split(['*', '?', '[']).next().unwrap_or_default();
    let near = |place: &str| {
        let length = certain.len().min(place.len());
        certain.as_bytes().get(..length) == place.as_bytes().get(..length)
    };
    SYSTEM.iter().any(|place| near(place) && finds(place))
        || [home, "/root"].iter().any(|home| {
            near(home)
                && HOME.iter().any(|place| {
                    let place = format!("{home}/{place}");
                    near(&place) && finds(&place)
                })
        })
        || ["/proc/1/environ", "/proc/self/environ"].iter().any(|place| near(place) && finds(place))
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
        ] {
            assert!(is_project_secret(name), "{name}");
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
        ] {
            assert!(!is_project_secret(name), "{name}");
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
