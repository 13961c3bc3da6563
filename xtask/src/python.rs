//! Virtual environments of Python below the target directory, with packages at fixed versions.

use crate::output::say;
use crate::tools;
use anyhow::bail;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The tests of `run_tests` describe how this version reports.
const PYTEST: &str = "pytest==8.4.2";
/// Another program's parser of calendars, which reads what Marvin writes.
const ICALENDAR: &str = "icalendar==7.3.0";
/// The program behind `yt_dlp_download`.
const YT_DLP: &str = "yt-dlp==2026.10.26";

/// Creates the environment `tools/NAME` with these packages unless it is there, and returns its
/// directory.
pub(crate) fn environment(name: &str, packages: &[&str]) -> anyhow::Result<PathBuf> {
    let directory = tools::directory().join(name);
    let (stamp, wanted) = (directory.join("packages"), packages.join(" "));
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(directory);
    }
    create(&directory, packages)?;
    std::fs::write(&stamp, wanted)?;
    Ok(directory)
}

/// Creates the environment with the packages of the tests in `tools/python` unless it is there, and
/// returns its directory.
pub(crate) fn install() -> anyhow::Result<PathBuf> {
    let directory = tools::directory().join("python");
    if has_all(&directory) {
        return Ok(directory);
    }
    create(&directory, &[PYTEST, ICALENDAR, YT_DLP])?;
    if !has_all(&directory) {
        bail!("cannot install {PYTEST}, {ICALENDAR} and {YT_DLP} into {}", directory.display());
    }
    Ok(directory)
}

fn create(directory: &Path, packages: &[&str]) -> anyhow::Result<()> {
    say(format_args!("installing {} …", packages.join(" ")))?;
    let venv = || run_quietly(Command::new("python3").args(["-m", "venv", "--clear"]).arg(directory));
    if venv().is_err() {
        // On Debian this module is a package of its own.
        tools::install("python3-venv")?;
        venv()?;
    }
    let mut pip = Command::new(directory.join("bin/python3"));
    run_quietly(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages))
}

fn run_quietly(command: &mut Command) -> anyhow::Result<()> {
    tools::run(command.stdin(Stdio::null()).stdout(Stdio::null()))
}

/// Whether the environment has the packages of the tests, at these versions.
fn has_all(directory: &Path) -> bool {
    let checks = [PYTEST, ICALENDAR, YT_DLP].map(|package| {
        let (name, version) = package.split_once("==").unwrap_or((package, ""));
        format!("assert version('{name}') == '{version}'")
    });
    let check = format!("from importlib.metadata import version; {}", checks.join("; "));
    let imported = Command::new(directory.join("bin/python3")).args(["-c", &check]).output();
    imported.is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_has_no_packages() {
        assert!(!has_all(Path::new("/nonexistent")));
    }
}
