//! Where things are, and how other programs are run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The workspace's directory.
pub(crate) fn root() -> PathBuf {
    // Asked when it runs: a directory that was moved, or a target directory that two clones share, has it compiled with the other's place.
    let own = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&own).parent().unwrap_or(Path::new(".")).to_path_buf()
}

/// The directory that cargo builds into.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Where programs that the tests need are installed: beside what cargo builds.
pub(crate) fn directory() -> PathBuf {
    target().join("tools")
}

/// A cargo command in the workspace, by the cargo that runs this chore.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // What cargo says of this program to it is not for another cargo: build scripts that look at it would run again, and
    // everything above them be built anew.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a command to its end; anything but success is an error that names it.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed ({status})")) }
}

/// Is a program on `PATH`?
pub(crate) fn has(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", "command -v \"$1\" >/dev/null", "sh", program])
        .stdin(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Makes sure that a program is there, by the system's package manager where that is possible.
pub(crate) fn need(program: &str, package: &str) -> Result<(), String> {
    if has(program) {
        return Ok(());
    }
    install(package).map_err(|hint| format!("`{program}` is missing\n  {hint}"))
}

/// Installs a package of the system, where that is possible.
pub(crate) fn install(package: &str) -> Result<(), String> {
    let hint = format!("hint: install the package {package}");
    if !has("apt-get") {
        return Err(hint);
    }
    crate::say(&format!("installing {package} …"));
    let script = format!("apt-get update -qq && apt-get install -y -qq --no-install-recommends {package}");
    run(Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null())).map_err(|_| hint)
}

/// Builds the debug binary and returns its path.
pub(crate) fn debug() -> Result<PathBuf, String> {
    run(cargo().args(["build", "--locked", "--quiet", "--package", "marvin"]))?;
    Ok(target().join("debug/marvin"))
}

/// Builds the release binary and gives its path.
pub(crate) fn release() -> Result<PathBuf, String> {
    run(cargo().args(["build", "--release", "--locked", "--quiet", "--package", "marvin"]))?;
    Ok(target().join("release/marvin"))
}

/// Writes `docs/settings.md` from the settings table.
pub(crate) fn settings_reference() -> Result<(), String> {
    let output = cargo()
        .args(["run", "--quiet", "--locked", "--package", "marvin", "--", "config", "--markdown"])
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let path = root().join("docs/settings.md");
    std::fs::write(&path, output.stdout).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
