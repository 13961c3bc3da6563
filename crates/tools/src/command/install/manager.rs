//! Choice and command line of the package manager.

use super::{Ecosystem, InstallInput, names};
use crate::command::contained::line_of;
use crate::context::ToolContext;
use crate::result::ToolError;
use marvin_base::child::Child;
use marvin_base::environment::Environment;
use marvin_gate::sandbox::Policy;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A program that installs packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Manager {
    Uv,
    Pip,
    Npm,
    Pnpm,
    Yarn,
    Bun,
    Cargo,
    Go,
}

/// The line to run.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) manager: Manager,
    pub(super) line: String,
    /// Notes for the model.
    pub(super) notes: Vec<String>,
}

/// The line of a call in this workspace.
pub(super) fn plan(input: &InstallInput, context: &ToolContext) -> Result<Plan, ToolError> {
    let root = context.workspace()?.root();
    let ecosystem = match input.ecosystem {
        Ecosystem::Auto => find(root)?,
        named => named,
    };
    names::check(&input.packages, ecosystem)?;
    let environment = Environment::of_process();
    let has = |program: &str| is_installed(program, root, &environment);
    let manager = match ecosystem {
        Ecosystem::Python | Ecosystem::Auto if has("uv") => Manager::Uv,
        Ecosystem::Python | Ecosystem::Auto => Manager::Pip,
        Ecosystem::Node => of_lock(root),
        Ecosystem::Rust => Manager::Cargo,
        Ecosystem::Go => Manager::Go,
    };
    let mut notes = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    let mut before = "";
    let mut after = "";
    let dev = |flag: &'static str| if input.dev { vec![flag] } else { Vec::new() };
    match manager {
        Manager::Uv => words.extend(["uv", "add"].into_iter().chain(dev("--dev"))),
        Manager::Pip => {
            if !root.join(".venv/bin/python3").exists() {
                before = "python3 -m venv .venv && ";
                notes.push("A virtual environment was created in .venv.".to_string());
            }
            words.extend([
                ".venv/bin/python3",
                "-m",
                "pip",
                "install",
                "--no-input",
                "--disable-pip-version-check",
            ]);
            words.push("--only-binary=:all:");
            notes.push(
                "uv is not installed, so pip was used: the packages are in .venv, but not in pyproject.toml; write them there."
                    .to_string(),
            );
        }
        Manager::Npm => {
            words.extend(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]);
            words.extend(dev("--save-dev"));
        }
        Manager::Pnpm => {
            words.extend(["pnpm", "add", "--ignore-scripts"].into_iter().chain(dev("--save-dev")));
        }
        // Versions from 2 have a settings file, and another name for the flag.
        Manager::Yarn if root.join(".yarnrc.yml").exists() => {
            words.extend(["yarn", "add", "--mode=skip-build"].into_iter().chain(dev("--dev")));
        }
        Manager::Yarn => words.extend(["yarn", "add", "--ignore-scripts"].into_iter().chain(dev("--dev"))),
        Manager::Bun => words.extend(["bun", "add", "--ignore-scripts"].into_iter().chain(dev("--dev"))),
        Manager::Cargo => {
            words.extend(["cargo", "add", "--quiet"].into_iter().chain(dev("--dev")));
            // Builds have no network, so everything must be fetched now.
            after = " && cargo fetch --quiet";
        }
        Manager::Go => words.extend(["go", "get"]),
    }
    if input.dev && matches!(manager, Manager::Pip | Manager::Go) {
        notes.push("This manager does not distinguish packages for development.".to_string());
    }
    if matches!(manager, Manager::Npm | Manager::Pnpm | Manager::Yarn | Manager::Bun) {
        notes.push("Install scripts of packages were not run.".to_string());
    }
    let packages = input.packages.iter().map(String::as_str);
    let line = format!("{before}{}{after}", line_of(words.into_iter().chain(packages)));
    Ok(Plan { manager, line, notes })
}

/// The ecosystem of the project; where it has several, the call must name one.
fn find(root: &Path) -> Result<Ecosystem, ToolError> {
    let files = [
        ("pyproject.toml", Ecosystem::Python),
        ("requirements.txt", Ecosystem::Python),
        ("setup.py", Ecosystem::Python),
        ("package.json", Ecosystem::Node),
        ("Cargo.toml", Ecosystem::Rust),
        ("go.mod", Ecosystem::Go),
    ];
    let mut found: Vec<Ecosystem> =
        files.iter().filter(|(file, _)| root.join(file).is_file()).map(|(_, ecosystem)| *ecosystem).collect();
    found.dedup();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(ToolError::Failed(
            "packages cannot be installed here: the working directory has no pyproject.toml, package.json, Cargo.toml or \
             go.mod. Create one first."
                .into(),
        )),
        _ => Err(ToolError::Usage(
            "this project has several kinds of packages; say which with `ecosystem`: python, node, rust or go.".into(),
        )),
    }
}

/// The manager whose lock file exists.
fn of_lock(root: &Path) -> Manager {
    let locks = [
        ("pnpm-lock.yaml", Manager::Pnpm),
        ("yarn.lock", Manager::Yarn),
        ("bun.lockb", Manager::Bun),
        ("bun.lock", Manager::Bun),
    ];
    locks.iter().find(|(lock, _)| root.join(lock).exists()).map_or(Manager::Npm, |(_, manager)| *manager)
}

fn is_installed(program: &str, root: &Path, environment: &Environment) -> bool {
    let directories = environment.get("PATH").unwrap_or_default().split(':').map(Path::new);
    directories
        .filter(|directory| directory.is_absolute() && !directory.starts_with(root))
        .any(|directory| directory.join(program).is_file())
}

impl Manager {
    /// Moves the manager's caches into the private directory; those that later builds need become writable where they are.
    pub(super) fn prepare(
        self,
        child: &mut Child,
        policy: &mut Policy,
        private: &Path,
        context: &ToolContext,
    ) -> Result<(), ToolError> {
        let place = |name: &str| private.join(name).display().to_string();
        let environment = Environment::of_process();
        let directory = |variable: &str, usual: &str| {
            environment.get(variable).map_or_else(|| context.layout.home().join(usual), PathBuf::from)
        };
        let mut open = |directory: PathBuf| {
            std::fs::create_dir_all(&directory).map_err(|error| {
                ToolError::Failed(format!("cannot create {}: {error}", directory.display()))
            })?;
            policy.writable.push(directory);
            Ok::<(), ToolError>(())
        };
        let mut set = |name: &str, value: String| child.set.insert(name.to_string(), value);
        match self {
            Manager::Uv => {
                set("UV_CACHE_DIR", place("uv"));
                set("UV_LINK_MODE", "copy".into());
            }
            Manager::Pip => {
                set("PIP_NO_CACHE_DIR", "1".into());
            }
            Manager::Npm | Manager::Pnpm | Manager::Yarn | Manager::Bun => {
                set("npm_config_cache", place("npm"));
                set("npm_config_update_notifier", "false".into());
                set("npm_config_store_dir", place("pnpm"));
                set("npm_config_package_import_method", "copy".into());
                set("YARN_CACHE_DIRECTORY", place("yarn"));
                set("YARN_ENABLE_GLOBAL_CACHE", "false".into());
                set("BUN_INSTALL_CACHE_DIR", place("bun"));
            }
            Manager::Cargo => {
                let home = directory("CARGO_HOME", ".cargo");
                open(home.join("registry"))?;
                open(home.join("git"))?;
                // Cargo's own locks and caches, where they exist already.
                let files =
                    [".package-cache", ".package-cache-mutate", ".global-cache"].map(|name| home.join(name));
                policy.writable.extend(files.into_iter().filter(|file| file.is_file()));
            }
            Manager::Go => {
                set("GOCACHE", place("go-build"));
                open(directory("GOMODCACHE", "go/pkg/mod"))?;
            }
        }
        Ok(())
    }
}
