//! Where credentials lie: one list for the judge of commands, for paths, for the search, and for the box.
//!
//! Limits: these are places and names by convention. A secret in a file of an ordinary name is an ordinary file.

use crate::shell::pattern;
use marvin_base::environment::Environment;
use std::path::{Path, PathBuf};

/// Credentials below the home directory, shell histories among them because people type keys.
pub(crate) const HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".pki",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".dockercfg",
    ".config/containers/auth.json",
    ".local/share/containers/auth.json",
    ".config/gcloud",
    ".config/doctl",
    ".config/hcloud",
    ".config/linode-cli",
    ".config/scw",
    ".config/civo",
    ".config/exoscale",
    ".config/vultr-cli",
    ".vultr-cli.yaml",
    ".config/openstack",
    ".oci",
    ".bluemix",
    ".aliyun",
    ".tccli",
    ".config/flyctl",
    ".fly",
    ".config/heroku",
    ".config/netlify",
    ".config/firebase",
    ".config/configstore",
    ".vercel",
    ".config/vercel",
    ".local/share/com.vercel.cli",
    ".wrangler",
    ".config/.wrangler",
    ".config/railway",
    ".railway",
    ".config/stripe",
    ".config/supabase",
    ".supabase",
    ".config/turso",
    ".config/neonctl",
    ".cf",
    ".ibmcloud",
    ".config/digitalocean",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/tea",
    ".config/git/credentials",
    ".git-credentials",
    ".netrc",
    "_netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".config/jira",
    ".config/.jira",
    ".config/sentry",
    ".sentryclirc",
    ".circleci",
    ".travis",
    ".config/circleci",
    ".config/act",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".config/yarn",
    ".pypirc",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".config/pypoetry/auth.toml",
    ".config/uv/credentials",
    ".local/share/uv/credentials",
    ".condarc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".local/share/gem/credentials",
    ".bundle/config",
    ".config/composer/auth.json",
    ".composer/auth.json",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet",
    ".config/NuGet",
    ".ivy2/.credentials",
    ".sbt/credentials",
    ".sbt/.credentials",
    ".hex/hex.config",
    ".pub-cache/credentials.json",
    ".config/cachix",
    ".luarocks/upload_config.lua",
    ".cpanreporter",
    ".pause",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".config/terraform",
    ".pulumi/credentials.json",
    ".vault-token",
    ".config/vault",
    ".vault_pass",
    ".ansible/vault",
    ".ansible_vault_pass",
    ".chef",
    ".puppetlabs",
    ".config/helm/registry/config.json",
    ".config/helm/registry.json",
    ".minikube",
    ".k3d",
    ".config/k9s",
    ".rancher",
    ".lens",
    ".config/argocd",
    ".config/nomad",
    ".consul-token",
    ".saml2aws",
    ".aws-vault",
    ".okta",
    ".config/granted",
    ".granted",
    ".config/sops",
    ".config/age",
    ".age",
    ".config/infisical",
    ".infisical",
    ".doppler",
    ".config/doppler",
    ".config/teller",
    ".config/op",
    ".op",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/Bitwarden CLI",
    ".config/rbw",
    ".local/share/rbw",
    ".password-store",
    ".local/share/gopass",
    ".config/gopass",
    ".config/keepassxc",
    ".keepass",
    ".local/share/keyrings",
    ".gnome2/keyrings",
    ".local/share/kwalletd",
    ".kde/share/apps/kwallet",
    ".lastpass",
    ".config/lpass",
    ".local/share/lpass",
    ".config/enpass",
    ".config/Authy",
    ".local/share/pass",
    ".config/proton",
    ".config/protonvpn",
    ".secrets",
    ".credentials",
    ".mozilla",
    ".librewolf",
    ".waterfox",
    ".thunderbird",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/google-chrome-unstable",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/opera",
    ".config/vivaldi",
    ".config/yandex-browser",
    ".local/share/qutebrowser",
    ".config/falkon",
    ".local/share/epiphany",
    ".config/epiphany",
    "snap/firefox",
    "snap/chromium",
    ".var/app",
    ".config/evolution",
    ".local/share/evolution",
    ".config/Slack",
    ".config/discord",
    ".config/Signal",
    ".config/Element",
    ".config/teams",
    ".config/Microsoft",
    ".config/zoom",
    ".zoom",
    ".config/skypeforlinux",
    ".local/share/TelegramDesktop",
    ".config/WhatsApp",
    ".config/Mattermost",
    ".config/weechat",
    ".weechat",
    ".irssi",
    ".purple",
    ".config/mutt",
    ".muttrc",
    ".mutt",
    ".msmtprc",
    ".config/msmtp",
    ".fetchmailrc",
    ".getmail",
    ".offlineimaprc",
    ".mbsyncrc",
    ".config/aerc",
    ".config/himalaya",
    ".claude",
    ".claude.json",
    ".config/claude",
    ".codex",
    ".gemini",
    ".config/gemini",
    ".cursor",
    ".config/Cursor",
    ".continue",
    ".config/github-copilot",
    ".copilot",
    ".config/goose",
    ".aider",
    ".aider.conf.yml",
    ".config/opencode",
    ".local/share/opencode",
    ".qwen",
    ".codeium",
    ".config/Windsurf",
    ".config/zed",
    ".openai",
    ".anthropic",
    ".config/openai",
    ".huggingface",
    ".cache/huggingface/token",
    ".ollama",
    ".kaggle",
    ".config/kaggle",
    ".wandb",
    ".config/wandb",
    ".replicate",
    ".config/llm",
    ".config/io.datasette.llm",
    ".config/marvin",
    ".marvin",
    ".local/state/marvin",
    ".local/share/marvin",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".mongorc.js",
    ".mongodb",
    ".rediscli_auth",
    ".config/redis",
    ".snowsql",
    ".databrickscfg",
    ".config/databricks",
    ".dbt",
    ".sqlplus",
    ".cassandra",
    ".config/pgcli",
    ".config/mycli",
    ".clickhouse-client",
    ".influxdbv2",
    ".config/dbeaver",
    ".local/share/DBeaverData",
    ".s3cfg",
    ".boto",
    ".passwd-s3fs",
    ".config/rclone",
    ".rclone.conf",
    ".mc",
    ".config/restic",
    ".restic",
    ".config/borg",
    ".config/kopia",
    ".duplicity",
    ".config/duplicity",
    ".config/filezilla",
    ".config/nextcloud",
    ".config/Nextcloud",
    ".dropbox",
    ".config/dropbox",
    ".config/insync",
    ".config/syncthing",
    ".local/state/syncthing",
    ".config/b2",
    ".config/rsync",
    ".ngrok",
    ".ngrok2",
    ".config/ngrok",
    ".cloudflared",
    ".config/tailscale",
    ".local/share/tailscale",
    ".config/openvpn",
    ".config/NetworkManager",
    ".cert",
    ".wireguard",
    ".config/wireguard",
    ".openvpn",
    ".config/mullvad",
    ".config/nordvpn",
    ".vpn",
    ".config/teamviewer",
    ".config/anydesk",
    ".anydesk",
    ".config/remmina",
    ".local/share/remmina",
    ".vnc",
    ".config/freerdp",
    ".rdesktop",
    ".electrum",
    ".bitcoin",
    ".ethereum",
    ".config/solana",
    ".monero",
    ".config/Exodus",
    ".config/Ledger Live",
    ".near-credentials",
    ".aptos",
    ".sui",
    ".foundry/keystores",
    ".brownie/accounts",
    ".bash_history",
    ".zsh_history",
    ".zhistory",
    ".history",
    ".sh_history",
    ".ksh_history",
    ".ash_history",
    ".histfile",
    ".python_history",
    ".node_repl_history",
    ".irb_history",
    ".pry_history",
    ".psql_history",
    ".mysql_history",
    ".mariadb_history",
    ".mongo_history",
    ".dbshell",
    ".mongodb/mongosh",
    ".rediscli_history",
    ".sqlite_history",
    ".lesshst",
    ".viminfo",
    ".local/share/nvim/shada",
    ".local/share/fish/fish_history",
    ".config/fish/fish_history",
    ".local/share/xonsh",
    ".local/share/powershell/PSReadLine",
    ".R_history",
    ".Rhistory",
    ".scala_history",
    ".ghc/ghci_history",
    ".wget-hsts",
    ".local/share/atuin",
    ".kshaskpass",
    ".Xauthority",
    ".ICEauthority",
    ".config/pulse/cookie",
    ".config/autossh",
    ".config/spotify",
    ".config/twine",
    ".smbcredentials",
    ".rhosts",
    ".k5login",
    ".krb5",
    ".config/krb5",
    ".config/ssh",
    ".putty",
    ".config/putty",
    ".step",
    ".config/step",
    ".mkcert",
    ".local/share/mkcert",
    ".acme.sh",
    ".lego",
    ".config/letsencrypt",
    ".android/debug.keystore",
    ".android/adbkey",
    ".config/fastlane",
    ".fastlane",
    ".expo",
    ".eas",
    ".appstoreconnect",
    "Library/Keychains",
    "Library/Cookies",
    "Library/Messages",
    "Library/Mail",
    "Library/Safari",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
    "Library/Application Support/Slack",
];

/// Credentials of the system, and sockets that stand for its rights.
pub(crate) const SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/master.passwd",
    "/etc/security/opasswd",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/ipsec.d/private",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/NetworkManager/system-connections",
    "/etc/wpa_supplicant",
    "/etc/krb5.keytab",
    "/etc/samba/private",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/docker/key.json",
    "/etc/mysql/debian.cnf",
    "/etc/exim4/passwd.client",
    "/etc/postfix/sasl_passwd",
    "/etc/fail2ban/secrets",
    "/etc/grafana",
    "/etc/gitlab",
    "/etc/vault.d",
    "/etc/consul.d",
    "/etc/cloudflared",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/netplan",
    "/run/secrets",
    "/var/run/secrets",
    "/run/credentials",
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/crio/crio.sock",
    "/run/user/1000/keyring",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/lib/rancher",
    "/var/lib/tailscale",
    "/var/lib/samba/private",
    "/var/lib/sss/secrets",
    "/var/lib/jenkins/secrets",
    "/var/lib/jenkins/credentials.xml",
    "/var/lib/vault",
    "/var/lib/consul",
    "/var/lib/private",
    "/var/lib/systemd/credential.secret",
    "/var/lib/NetworkManager",
    "/var/lib/grafana",
    "/var/lib/gitea",
    "/var/db/dslocal",
    "/private/etc/master.passwd",
    "/root/.ssh",
];

/// Variables that name another place for credentials, with what is looked for below their value; empty: the value itself.
const OVERRIDES: &[(&str, &[&str])] = &[
    ("XDG_CONFIG_HOME", &[]),
    ("XDG_DATA_HOME", &[]),
    ("XDG_STATE_HOME", &[]),
    ("MARVIN_HOME", &[""]),
    ("MARVIN_STATE_DIR", &[""]),
    ("CARGO_HOME", &["credentials", "credentials.toml"]),
    ("GNUPGHOME", &[""]),
    ("KUBECONFIG", &[""]),
    ("DOCKER_CONFIG", &[""]),
    ("REGISTRY_AUTH_FILE", &[""]),
    ("AWS_SHARED_CREDENTIALS_FILE", &[""]),
    ("AWS_CONFIG_FILE", &[""]),
    ("AWS_WEB_IDENTITY_TOKEN_FILE", &[""]),
    ("GOOGLE_APPLICATION_CREDENTIALS", &[""]),
    ("CLOUDSDK_CONFIG", &[""]),
    ("AZURE_CONFIG_DIR", &[""]),
    ("GH_CONFIG_DIR", &[""]),
    ("GLAB_CONFIG_DIR", &[""]),
    ("NPM_CONFIG_USERCONFIG", &[""]),
    ("npm_config_userconfig", &[""]),
    ("YARN_RC_FILENAME", &[""]),
    ("PIP_CONFIG_FILE", &[""]),
    ("PYPIRC", &[""]),
    ("NETRC", &[""]),
    ("PGPASSFILE", &[""]),
    ("MYSQL_HOME", &[""]),
    ("MYSQL_TEST_LOGIN_FILE", &[""]),
    ("VAULT_TOKEN_FILE", &[""]),
    ("TF_CLI_CONFIG_FILE", &[""]),
    ("ANSIBLE_VAULT_PASSWORD_FILE", &[""]),
    ("PASSWORD_STORE_DIR", &[""]),
    ("RCLONE_CONFIG", &[""]),
    ("RESTIC_PASSWORD_FILE", &[""]),
    ("RESTIC_REPOSITORY_FILE", &[""]),
    ("BORG_KEY_FILE", &[""]),
    ("BORG_KEYS_DIR", &[""]),
    ("BOTO_CONFIG", &[""]),
    ("GRADLE_USER_HOME", &["gradle.properties"]),
    ("BUNDLE_USER_CONFIG", &[""]),
    ("COMPOSER_HOME", &["auth.json"]),
    ("HELM_REGISTRY_CONFIG", &[""]),
    ("SSH_AUTH_SOCK", &[""]),
    ("GPG_AGENT_INFO", &[""]),
    ("KRB5_KTNAME", &[""]),
    ("KRB5CCNAME", &[""]),
    ("XAUTHORITY", &[""]),
    ("CLAUDE_CONFIG_DIR", &[""]),
    ("CODEX_HOME", &[""]),
    ("GEMINI_CONFIG_DIR", &[""]),
    ("HF_TOKEN_PATH", &[""]),
    ("KAGGLE_CONFIG_DIR", &[""]),
    ("DATABRICKS_CONFIG_FILE", &[""]),
    ("HISTFILE", &[""]),
    ("PYTHON_HISTORY", &[""]),
    ("NODE_REPL_HISTORY", &[""]),
    ("PSQL_HISTORY", &[""]),
    ("MYSQL_HISTFILE", &[""]),
    ("REDISCLI_HISTFILE", &[""]),
    ("LESSHISTFILE", &[""]),
];

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
