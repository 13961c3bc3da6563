//! Directories of the workspace, and helpers to build and run other programs.

use crate::output::say;
use anyhow::{Context, bail};
use serde::de::DeserializeOwned;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The workspace's directory.
pub(crate) fn root() -> PathBuf {
    // Read at run time: after a move, or with a target directory that two clones share, the
    // compiled-in path is that of another directory.
    let own = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&own).parent().unwrap_or(Path::new(".")).to_path_buf()
}

/// The directory that cargo builds into.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Directory of the programs that tests and benchmarks need, below the target directory.
pub(crate) fn directory() -> PathBuf {
    target().join("tools")
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// `PATH` of this process.
pub(crate) fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// A cargo command in the workspace, by the cargo that runs this chore.
pub(crate) fn cargo() -> Command {
    cargo_like(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A command in the workspace of a program that is cargo, or calls it.
pub(crate) fn cargo_like(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    // Variables that cargo sets for this program must not reach another cargo: build scripts that
    // read them would run again, and everything above them would be rebuilt.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a command to its end; a failure is an error that names it.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed ({status})");
    }
    Ok(())
}

/// Runs a command to its end and returns its stdout; the error of a failure has its stderr.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}

/// Runs a command to its end and parses its stdout.
pub(crate) fn json<T: DeserializeOwned>(command: &mut Command) -> anyhow::Result<T> {
    let stdout = output(command)?;
    let unexpected =
        || format!("cannot parse the output of {command:?}: {}", String::from_utf8_lossy(&stdout));
    serde_json::from_slice(&stdout).with_context(unexpected)
}

/// Runs a command with a text on its stdin. A command that ends before it has read all of it says
/// why in its output, so an error of the write is ignored.
pub(crate) fn feed(command: &mut Command, input: String) -> anyhow::Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let stdin = child.stdin.take();
    // In a thread: both pipes could be full.
    let writer = std::thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            stdin.write_all(input.as_bytes()).ok();
        }
    });
    let output = child.wait_with_output()?;
    writer.join().ok();
    Ok(output)
}

/// Reads and parses the first line that a child prints.
pub(crate) fn read_json_line<T: DeserializeOwned>(child: &mut Child) -> anyhow::Result<T> {
    let mut line = String::new();
    let stdout = child.stdout.take().context("stdout of the child is not a pipe")?;
    BufReader::new(stdout).read_line(&mut line)?;
    serde_json::from_str(&line).with_context(|| format!("cannot parse the first line of the server: {line}"))
}

pub(crate) fn kill(mut child: Child) {
    child.kill().ok();
    child.wait().ok();
}

/// Whether a program is on `PATH`.
pub(crate) fn has(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", "command -v \"$1\" >/dev/null", "sh", program])
        .stdin(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Installs the packages of the programs that are not on `PATH`: `(program, packages)`. What is missing is named before anything else
/// happens.
pub(crate) fn need(programs: &[(&str, &str)]) -> anyhow::Result<()> {
    let missing: Vec<_> = programs.iter().copied().filter(|(program, _)| !has(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let MissingPrograms { names, packages } = MissingPrograms::new(&missing);
    say(format_args!("missing: {names}; to install: {APT_INSTALL} {packages}"))?;
    install(&packages)
}

/// Installs the packages that have a file which is not there.
pub(crate) fn need_file(file: &str, packages: &str) -> anyhow::Result<()> {
    if Path::new(file).exists() { Ok(()) } else { install(packages) }
}

const APT_INSTALL: &str = "apt-get install";

/// Programs that are missing, and the packages that have them, each as a text.
#[derive(Debug, PartialEq, Eq)]
struct MissingPrograms {
    names: String,
    packages: String,
}

impl MissingPrograms {
    fn new(missing: &[(&str, &str)]) -> Self {
        let names: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
        let mut packages: Vec<&str> = Vec::new();
        for package in missing.iter().flat_map(|(_, packages)| packages.split(' ')) {
            if !packages.contains(&package) {
                packages.push(package);
            }
        }
        MissingPrograms { names: names.join(", "), packages: packages.join(" ") }
    }
}

/// Installs packages of the system, where it has `apt-get`.
pub(crate) fn install(packages: &str) -> anyhow::Result<()> {
    if has("apt-get") {
        say(format_args!("installing {packages} …"))?;
        let script = format!("apt-get update -qq && {APT_INSTALL} -y -qq --no-install-recommends {packages}");
        let mut shell = Command::new("sh");
        if run(shell.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null())).is_ok() {
            return Ok(());
        }
    }
    bail!("cannot install {packages}\n  hint: as root: {APT_INSTALL} {packages}");
}

/// Installs a program by cargo unless it is there, and returns its path. `package` may name a
/// version; `options` are further ones of `cargo install`.
pub(crate) fn cargo_install(package: &str, program: &str, options: &[&str]) -> anyhow::Result<PathBuf> {
    let path = directory().join("bin").join(program);
    if !path.exists() {
        say(format_args!("installing {package} (a few minutes, once) …"))?;
        let words = ["install", "--locked", package, "--root"];
        run(cargo().args(words).arg(directory()).args(options))?;
    }
    Ok(path)
}

/// Builds the debug binary and returns its path.
pub(crate) fn debug() -> anyhow::Result<PathBuf> {
    run(cargo().args(["build", "--locked", "--package", "marvin"]))?;
    Ok(target().join("debug/marvin"))
}

/// Builds the binary that is measured and returns its path; `marvin-hook` is beside it.
pub(crate) fn release() -> anyhow::Result<PathBuf> {
    build_release("marvin")
}

/// The profile of what is measured: the shipped one, or the one that `MARVIN_BENCH_PROFILE` names.
pub(crate) fn bench_profile() -> String {
    std::env::var("MARVIN_BENCH_PROFILE").unwrap_or_else(|_| "dist".to_string())
}

/// Builds a package in the profile of what is measured, and returns the path of its binary.
pub(crate) fn build_release(package: &str) -> anyhow::Result<PathBuf> {
    let profile = bench_profile();
    // Together with the program, whose features libraries then have: by itself the package would need most of them again.
    let packages = ["--package", "marvin", "--package", package];
    run(cargo().args(["build", "--locked", "--profile", &profile]).args(packages))?;
    Ok(target().join(profile).join(package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_programs_have_one_install_line() {
        let missing =
            [("unshare", "util-linux"), ("chromium", "chromium fonts-dejavu"), ("setpriv", "util-linux")];
        let MissingPrograms { names, packages } = MissingPrograms::new(&missing);
        assert_eq!(names, "unshare, chromium, setpriv");
        assert_eq!(packages, "util-linux chromium fonts-dejavu");
    }
}
