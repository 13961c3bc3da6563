//! A Python with pytest, at a fixed version, for the tests of `run_tests`: an environment of the build's own.

use crate::tools;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is installed. The tests describe how this version reports.
const PYTEST: &str = "pytest==8.4.2";

/// An environment of its own with these packages, made unless it is there.
///
/// # Errors
/// When Python cannot make one, or pip fails.
pub(crate) fn environment(directory: &Path, name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let directory = directory.join(name);
    let (mark, wanted) = (directory.join("packages"), packages.join(" "));
    if std::fs::read_to_string(&mark).is_ok_and(|there| there == wanted) {
        return Ok(directory);
    }
    crate::say(&format!("installing {wanted} …"));
    make(&directory)?;
    let mut install = Command::new(directory.join("bin/python3"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    quiet(&mut install)?;
    std::fs::write(&mark, wanted).map_err(|error| error.to_string())?;
    Ok(directory)
}

/// An empty environment.
fn make(directory: &Path) -> Result<(), String> {
    let make = || quiet(Command::new("python3").args(["-m", "venv", "--clear"]).arg(directory));
    // On Debian this module is a package of its own.
    make().or_else(|_| {
        tools::install("python3-venv")?;
        make()
    })
}

/// Makes the environment in `tools/python` unless it is there, and returns that directory.
///
/// # Errors
/// When Python cannot make one, or pip fails.
pub(crate) fn install(directory: &Path) -> Result<PathBuf, String> {
    let directory = directory.join("python");
    if has_pytest(&directory) {
        return Ok(directory);
    }
    crate::say("installing pytest …");
    make(&directory)?;
    let python = directory.join("bin/python3");
    quiet(Command::new(&python).args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        PYTEST,
    ]))?;
    if has_pytest(&directory) { Ok(directory) } else { Err(format!("{} has no pytest", python.display())) }
}

fn quiet(command: &mut Command) -> Result<(), String> {
    tools::run(command.stdin(Stdio::null()).stdout(Stdio::null()))
}

/// Is it there, in the version that the tests are about?
fn has_pytest(directory: &Path) -> bool {
    let version = Command::new(directory.join("bin/python3")).args(["-m", "pytest", "--version"]).output();
    let wanted = PYTEST.rsplit("==").next().unwrap_or_default();
    version.is_ok_and(|output| {
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains(wanted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_directory_has_none() {
        assert!(!has_pytest(Path::new("/nonexistent")));
    }
}
