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
pub(crate) fn environment(folder: &Path, name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let folder = folder.join(name);
    let (mark, wanted) = (folder.join("packages"), packages.join(" "));
    if std::fs::read_to_string(&mark).is_ok_and(|there| there == wanted) {
        return Ok(folder);
    }
    crate::say(&format!("installing {wanted} …"));
    make(&folder)?;
    let mut install = Command::new(folder.join("bin/python3"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    quiet(&mut install)?;
    std::fs::write(&mark, wanted).map_err(|error| error.to_string())?;
    Ok(folder)
}

/// An empty environment.
fn make(folder: &Path) -> Result<(), String> {
    let make = || quiet(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder));
    // On Debian this module is a package of its own.
    make().or_else(|_| {
        tools::install("python3-venv")?;
        make()
    })
}

/// Makes the environment in `tools/python` unless it is there, and returns that folder.
///
/// # Errors
/// When Python cannot make one, or pip fails.
pub(crate) fn install(folder: &Path) -> Result<PathBuf, String> {
    let folder = folder.join("python");
    if has_pytest(&folder) {
        return Ok(folder);
    }
    crate::say("installing pytest …");
    make(&folder)?;
    let python = folder.join("bin/python3");
    quiet(Command::new(&python).args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        PYTEST,
    ]))?;
    if has_pytest(&folder) { Ok(folder) } else { Err(format!("{} has no pytest", python.display())) }
}

fn quiet(command: &mut Command) -> Result<(), String> {
    tools::run(command.stdin(Stdio::null()).stdout(Stdio::null()))
}

/// Is it there, in the version that the tests are about?
fn has_pytest(folder: &Path) -> bool {
    let version = Command::new(folder.join("bin/python3")).args(["-m", "pytest", "--version"]).output();
    let wanted = PYTEST.rsplit("==").next().unwrap_or_default();
    version.is_ok_and(|output| {
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains(wanted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_folder_has_none() {
        assert!(!has_pytest(Path::new("/nonexistent")));
    }
}
