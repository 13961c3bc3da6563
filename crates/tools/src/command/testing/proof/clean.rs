//! The environment of a verification: runner and interpreter from outside the workspace, caches private and empty.
//!
//! Agents cannot change the environment of this process, but variables of a shell that was started inside the project
//! (`direnv`, an activated environment) lead into it. Variables that steer runners are removed; the rest stays, since honest
//! tests may need it.

use super::seal::TestSeal;
use super::table;
use crate::command::caches;
use crate::command::contained::line_of;
use crate::result::ToolError;
use marvin_base::child::Child;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Whether a directory lies in the workspace, by its path or its resolved path.
fn is_inside(directory: &Path, workspace: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    directory.starts_with(workspace) || real(directory).starts_with(real(workspace))
}

/// `PATH` without relative directories and those of the workspace.
pub(super) fn outside_path(path: &str, workspace: &Path) -> String {
    let is_kept = |directory: &&str| {
        let directory = Path::new(directory);
        directory.is_absolute() && !is_inside(directory, workspace)
    };
    path.split(':').filter(is_kept).collect::<Vec<_>>().join(":")
}

/// The directory of cargo's builds in the private directory.
pub(super) const CARGO_TARGET: &str = "target";

/// Sets the environment of a verification. `private` is an empty directory of the child, `copy` the tree that it works in.
pub(super) fn environment(
    child: &mut Child,
    private: &Path,
    workspace: &Path,
    copy: &Path,
    seal: Option<&TestSeal>,
) -> Result<(), ToolError> {
    let table = table::load()?;
    let outer = marvin_base::child::environment();
    let names = outer.iter().map(|(name, _)| name).chain(outer.unreadable().iter().map(String::as_str));
    child.remove.extend(names.filter(|name| table.steers(name)).map(str::to_string));
    let mut path = outside_path(outer.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin"), workspace);
    if let Some(own) = virtual_environment(copy, seal) {
        path = format!("{}:{path}", own.join("bin").display());
        child.set.insert("VIRTUAL_ENV".into(), own.display().to_string());
        child.remove.retain(|name| name != "VIRTUAL_ENV");
    }
    let directory = |name: &str| private.join(name).display().to_string();
    let set = [
        ("PATH", path),
        ("PYTHONUNBUFFERED", "1".to_string()),
        ("CARGO_TARGET_DIR", directory(CARGO_TARGET)),
        ("CARGO_TERM_COLOR", "never".to_string()),
        ("CARGO_INCREMENTAL", "0".to_string()),
        ("GOCACHE", directory("go-build")),
        ("GOFLAGS", "-mod=readonly".to_string()),
        ("npm_config_cache", directory("npm")),
        ("npm_config_update_notifier", "false".to_string()),
        ("npm_config_fund", "false".to_string()),
        ("CCACHE_DISABLE", "1".to_string()),
        ("NO_COLOR", "1".to_string()),
        ("FORCE_COLOR", "0".to_string()),
        ("CI", "1".to_string()),
    ];
    let set = set.map(|(name, value)| (name.to_string(), value));
    for (name, value) in set.into_iter().chain(caches::private(private)) {
        child.remove.retain(|taken| *taken != name);
        child.set.insert(name, value);
    }
    if copy.join("vendor/modules.txt").is_file() {
        child.set.insert("GOFLAGS".into(), "-mod=vendor".into());
    }
    Ok(())
}

/// The project's own virtual environment, where it was sealed: one that was planted later is not used.
fn virtual_environment(copy: &Path, seal: Option<&TestSeal>) -> Option<PathBuf> {
    let sealed = |name: &str| match seal.and_then(|seal| seal.dependencies.as_ref()) {
        // A seal that outlives a turn does not contain this machine's packages.
        None => true,
        Some(packages) => packages.contains_key(name),
    };
    let found = [".venv", "venv"].into_iter().filter(|name| sealed(name)).map(|name| copy.join(name));
    found.into_iter().find(|place| place.join("bin/python3").exists())
}

/// Keeps a process that runs tests from the code under test. Every Python loads it when it starts.
const PYTHON_GUARD: &str = include_str!("python/sitecustomize.py");
/// The same for every Node.js.
const NODE_GUARD: &str = include_str!("node/guard.cjs");

/// Programs by which Python and Node.js are started, which a line may give options of its own.
const GUARDED_PROGRAMS: [&str; 5] = ["python", "python3", "pytest", "py.test", "node"];

/// The sources that the work changed, for the guard of Node.js.
const CHANGED_SOURCES: &str = "changed.json";

/// Puts the guards of Python and Node.js into `directory`, which the child can read only, and makes both load them first.
/// `projects` are the workspace and its copy, `changed` the sources that the work changed.
pub(super) fn guard_runners(
    child: &mut Child,
    directory: &Path,
    projects: [&Path; 2],
    changed: Option<&[PathBuf]>,
) -> std::io::Result<()> {
    let (modules, programs) = (directory.join("modules"), directory.join("programs"));
    let node = directory.join("guard.cjs");
    std::fs::create_dir_all(&modules)?;
    std::fs::create_dir_all(&programs)?;
    // A list of strings is the same in JSON and in Python. A path that is not UTF-8 has neither: then nothing counts as installed.
    let projects = serde_json::to_string(&projects).unwrap_or_else(|_| r#"["/"]"#.into());
    std::fs::write(modules.join("sitecustomize.py"), format!("projects = {projects}\n{PYTHON_GUARD}"))?;
    std::fs::write(&node, NODE_GUARD)?;
    if let Some(changed) = changed {
        let real: Vec<PathBuf> = changed.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let paths: BTreeSet<&PathBuf> = changed.iter().chain(&real).collect();
        std::fs::write(directory.join(CHANGED_SOURCES), serde_json::to_vec(&paths)?)?;
    }
    let option = format!("--require=\"{}\"", node.display());
    let set = [("PYTHONPATH", modules.display().to_string()), ("NODE_OPTIONS", option.clone())];
    for (name, value) in set {
        child.remove.retain(|removed| removed != name);
        child.set.insert(name.into(), value);
    }
    let path = child.set.get("PATH").cloned().unwrap_or_default();
    for name in GUARDED_PROGRAMS {
        if !path.split(':').any(|place| Path::new(place).join(name).is_file()) {
            continue;
        }
        let script = programs.join(name);
        std::fs::write(&script, start_guarded(&modules, &programs, &option))?;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
    }
    child.set.insert("PATH".into(), format!("{}:{path}", programs.display()));
    Ok(())
}

/// A script that starts the program of its own name with the guards, whatever the line set their variables to.
fn start_guarded(modules: &Path, programs: &Path, node_option: &str) -> String {
    let [modules, programs] = [modules, programs].map(|path| line_of([path.to_string_lossy()]));
    let option = line_of([node_option]);
    format!(
        r#"#!/bin/sh
guard={modules} own={programs} option={option} name=${{0##*/}}
case ":$PYTHONPATH:" in
*":$guard:"*) ;;
*) PYTHONPATH=$guard${{PYTHONPATH:+:$PYTHONPATH}} ;;
esac
case "$NODE_OPTIONS" in
"$option"*) ;;
*) NODE_OPTIONS="$option${{NODE_OPTIONS:+ $NODE_OPTIONS}}" ;;
esac
export PYTHONPATH NODE_OPTIONS
IFS=:
set -f
for place in $PATH; do
    if [ "$place" != "$own" ] && [ -f "$place/$name" ] && [ -x "$place/$name" ]; then
        unset IFS
        exec "$place/$name" "$@"
    fi
done
echo "$name: not found" >&2
exit 127
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s8_variables_that_steer_are_known() {
        let table = table::load().unwrap();
        for name in [
            "PYTHONPATH",
            "PYTEST_ADDOPTS",
            "NODE_OPTIONS",
            "RUSTC_WRAPPER",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            "RUSTFLAGS",
            "GOFLAGS",
            "MAKEFLAGS",
            "npm_config_script_shell",
            "LD_PRELOAD",
        ] {
            assert!(table.steers(name), "{name}");
        }
        for name in [
            "HOME",
            "PATH",
            "LANG",
            "CARGO_HOME",
            "DATABASE_URL",
            "DJANGO_SETTINGS_MODULE",
            "RUST_LOG",
            "NODE_ENV",
        ] {
            assert!(!table.steers(name), "{name}");
        }
    }

    #[test]
    fn s8_path_has_no_directories_of_the_workspace() {
        let directory = tempfile::tempdir().unwrap();
        let (workspace, elsewhere) = (directory.path().join("w"), directory.path().join("e"));
        std::fs::create_dir_all(workspace.join("bin")).unwrap();
        std::fs::create_dir_all(&elsewhere).unwrap();
        std::os::unix::fs::symlink(workspace.join("bin"), elsewhere.join("link")).unwrap();
        let (inside, link) = (workspace.join("bin"), elsewhere.join("link"));
        let path = format!("{}:.:bin::/usr/bin:{}:/bin", inside.display(), link.display());
        assert_eq!(outside_path(&path, &workspace), "/usr/bin:/bin");
    }
}
