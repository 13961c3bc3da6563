//! The process environment, read once and passed on as a value.
//!
//! Reading `std::env` in the middle of a function makes that function depend on the world; a map does not. Variables
//! whose name or value is not UTF-8 are kept out (and listed), since no setting of ours can be one.

use std::collections::BTreeMap;

/// A snapshot of environment variables, in order of their names.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    unreadable: Vec<String>,
}

impl Environment {
    /// The variables of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let mut environment = Environment::default();
        for (name, value) in std::env::vars_os() {
            match (name.into_string(), value.into_string()) {
                (Ok(name), Ok(value)) => {
                    environment.variables.insert(name, value);
                }
                (Ok(name), Err(_)) => environment.unreadable.push(name),
                (Err(name), _) => environment.unreadable.push(name.to_string_lossy().into_owned()),
            }
        }
        // Services are started without it.
        if !environment.variables.contains_key("HOME")
            && let Some(home) = std::env::home_dir().and_then(|home| home.into_os_string().into_string().ok())
        {
            environment.variables.insert("HOME".to_string(), home);
        }
        environment
    }

    /// The value of a variable; an empty value counts as unset.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Every variable, in order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Names of variables that are not UTF-8.
    #[must_use]
    pub fn unreadable(&self) -> &[String] {
        &self.unreadable
    }

    /// The same environment with one variable set.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Environment {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(pairs: T) -> Self {
        let variables = pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Environment { variables, unreadable: Vec::new() }
    }
}

/// Variables that a sandboxed child may have. What is not listed here, by a prefix below, or in the person's setting
/// `sandbox.environment` does not pass.
#[rustfmt::skip]
const CHILD_NAMES: &[&str] = &[
    "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR", "FORCE_COLOR",
    "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "CI", "SHELL", "EDITOR", "PAGER", "TMPDIR", "SOURCE_DATE_EPOCH",
    // Rust.
    "CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_INCREMENTAL", "CARGO_TERM_COLOR", "CARGO_BUILD_JOBS", "CARGO_NET_OFFLINE",
    "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "RUSTDOCFLAGS", "RUST_BACKTRACE", "RUST_LOG", "RUST_TEST_THREADS",
    // Go, Java, Python, Node and others: where the tools of a language lie and how they build.
    "GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOOS", "GOARCH", "GOTOOLCHAIN", "CGO_ENABLED",
    "JAVA_HOME", "JDK_HOME", "MAVEN_HOME", "M2_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "ANDROID_HOME",
    "ANDROID_SDK_ROOT", "KOTLIN_HOME", "SCALA_HOME", "SDKMAN_DIR", "PYENV_ROOT", "PYTHONHASHSEED", "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "POETRY_HOME", "PIPX_HOME", "UV_CACHE_DIR",
    "NVM_DIR", "NVM_BIN", "NODE_ENV", "FNM_DIR", "VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "COREPACK_HOME",
    "RBENV_ROOT", "GEM_HOME", "RAILS_ENV", "RACK_ENV", "DOTNET_ROOT", "DOTNET_CLI_HOME", "ASDF_DIR", "ASDF_DATA_DIR",
    "MISE_DATA_DIR", "GHCUP_INSTALL_BASE_PREFIX", "STACK_ROOT", "OPAMROOT", "MIX_ENV", "MIX_HOME", "HEX_HOME", "ZIG_LOCAL_CACHE_DIR",
    // C and its relatives.
    "CC", "CXX", "CPP", "AR", "AS", "LD", "NM", "RANLIB", "STRIP", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS",
    "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_SYSROOT_DIR", "CMAKE_PREFIX_PATH", "CMAKE_GENERATOR", "CMAKE_BUILD_PARALLEL_LEVEL",
    "SDKROOT", "DEVELOPER_DIR", "MACOSX_DEPLOYMENT_TARGET", "OPENSSL_DIR", "LIBCLANG_PATH", "LLVM_CONFIG_PATH", "CUDA_HOME",
    "OMP_NUM_THREADS", "NIX_PROFILES", "NIX_SSL_CERT_FILE", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CACHE_HOME", "XDG_DATA_DIRS",
    "MARVIN_RUN", "MARVIN_DEPTH",
];

/// Beginnings of the names of further variables that a sandboxed child may have.
const CHILD_PREFIXES: &[&str] = &["LC_"];

/// The environment of a sandboxed child: the listed variables and those that the person names in `further`.
///
/// Values that are or hold secrets (tokens, connection strings) do not pass, whatever the variable is called, unless the
/// person names the variable. `PATH` loses its empty and relative entries: they would mean the workspace.
#[must_use]
pub fn for_child<'a>(
    environment: &Environment,
    further: impl IntoIterator<Item = &'a str>,
) -> BTreeMap<String, String> {
    let further: Vec<&str> = further.into_iter().map(str::trim).collect();
    let mut child = BTreeMap::new();
    for (name, value) in environment.iter() {
        let named = further.contains(&name) && !is_loader(name);
        let listed =
            CHILD_NAMES.contains(&name) || CHILD_PREFIXES.iter().any(|start| name.starts_with(start));
        let safe = !crate::redact::is_secret_name(name)
            && !crate::redact::is_secret_value(&format!("{name}={value}"));
        if named || listed && safe {
            child.insert(name.to_string(), value.to_string());
        }
    }
    if let Some(path) = environment.get("PATH").map(clean_path).filter(|path| !path.is_empty()) {
        child.insert("PATH".to_string(), path);
    }
    child
}

/// Variables that run code in every program that is started; no setting passes them on.
fn is_loader(name: &str) -> bool {
    name.starts_with("LD_")
        || name.starts_with("DYLD_")
        || matches!(name, "BASH_ENV" | "ENV" | "PROMPT_COMMAND" | "IFS")
}

/// `PATH` without empty and relative entries.
fn clean_path(path: &str) -> String {
    let absolute =
        path.split(':').filter(|entry| entry.starts_with('/') && !entry.split('/').any(|part| part == ".."));
    absolute.collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_a_child_gets_listed_variables_without_secrets() {
        let environment = Environment::from_iter([
            ("PATH", "/usr/bin::.:bin:/bin:/opt/../tmp:"),
            ("HOME", "/home/bob"),
            ("LC_ALL", "C.UTF-8"),
            ("LANG", "en_US.UTF-8"),
            ("CARGO_HOME", "/home/bob/.cargo"),
            ("RUSTFLAGS", "-Ctarget-cpu=native"),
            ("DATABASE_URL", "postgres://app:hunter2@db/shop"),
            ("HTTP_PROXY", "http://bob:hunter2@proxy:3128"),
            ("GITHUB_TOKEN", "hunter2hunter2"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
            ("TMUX", "/tmp/tmux-1000/default,1,0"),
            ("DISPLAY", ":0"),
            ("FOO", "bar"),
            ("OTHER", "bar"),
            ("LD_PRELOAD", "/tmp/x.so"),
            ("BASH_ENV", "/tmp/x"),
            ("CFLAGS", "-O2 -DAPI_KEY=9f8e7d6c5b4a39281706f5e4d3c2b1a0"),
            ("EDITOR", "https://bob:hunter2@example.com/"),
        ]);
        let child = for_child(&environment, ["FOO", " DATABASE_URL", "LD_PRELOAD"]);
        let names: Vec<&str> = child.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["CARGO_HOME", "DATABASE_URL", "FOO", "HOME", "LANG", "LC_ALL", "PATH", "RUSTFLAGS"]
        );
        assert_eq!(child["PATH"], "/usr/bin:/bin");
    }

    #[test]
    fn every_ordinary_value_of_a_listed_variable_passes() {
        for (name, value) in [
            ("TERM", "xterm-256color"),
            ("GOFLAGS", "-mod=vendor"),
            ("PKG_CONFIG_PATH", "/usr/lib/x86_64-linux-gnu/pkgconfig"),
            ("LDFLAGS", "-L/opt/homebrew/opt/openssl@3/lib"),
            ("RUST_LOG", "marvin=debug,hyper=info"),
            ("NIX_PROFILES", "/nix/var/nix/profiles/default /home/bob/.nix-profile"),
            ("CMAKE_GENERATOR", "Ninja Multi-Config"),
        ] {
            let environment = Environment::from_iter([(name, value)]);
            assert_eq!(for_child(&environment, []).get(name).map(String::as_str), Some(value), "{name}");
        }
    }
}
