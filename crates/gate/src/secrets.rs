//! Where credentials lie: one list for the judge of commands, for paths, for the search, and for the box.
//!
//! Limits: these are places and names by convention. A secret in a file of an ordinary name is an ordinary file.

use std::path::{Path, PathBuf};

/// Credentials below the home folder, the shells' histories among them: people type keys.
pub(crate) const HOME: [&str; 35] = [
    ".ssh",
    ".aws",
    ".gnupg",
    ".netrc",
    ".git-credentials",
    ".docker",
    ".kube",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/marvin",
    ".local/state/marvin",
    ".config/op",
    ".config/git/credentials",
    ".npmrc",
    ".pypirc",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/fish/fish_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
    ".claude",
    ".claude.json",
    ".codex",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".lesshst",
];

/// Credentials of the system.
pub(crate) const SYSTEM: [&str; 5] =
    ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh"];

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

/// Every place of credentials that a contained program has no business in, for a person with this home folder.
#[must_use]
pub fn places(home: &Path) -> Vec<PathBuf> {
    // Where there is no home folder, it is said to be `/`, which is none.
    let of_home = HOME.iter().map(|secret| home.join(secret)).filter(|_| home.parent().is_some());
    of_home.chain(SYSTEM.iter().map(PathBuf::from)).collect()
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
}
