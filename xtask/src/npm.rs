//! npm packages at fixed versions, installed below the target directory and never for the whole
//! machine. Install scripts are not run: native programs come as packages of their own.

use crate::output::say;
use crate::tools;
use anyhow::{Context, anyhow, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names the installed versions; written last, so that an interrupted installation is repeated.
const STAMP: &str = "installed-versions";

/// Installs packages into `tools/NAME` unless these versions are there and pass `check`, and
/// returns that directory.
pub(crate) fn install(
    name: &str,
    packages: &[&str],
    check: impl Fn(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<PathBuf> {
    let directory = tools::directory().join(name);
    let (stamp, versions) = (directory.join(STAMP), packages.join("\n"));
    if std::fs::read_to_string(&stamp).is_ok_and(|text| text == versions) && check(&directory).is_ok() {
        return Ok(directory);
    }
    std::fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    say(format_args!("installing {} from npm …", packages.join(" ")))?;
    run_npm(&directory, packages)?;
    check(&directory)?;
    std::fs::write(&stamp, versions).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(directory)
}

fn run_npm(directory: &Path, packages: &[&str]) -> anyhow::Result<()> {
    let output = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix"])
        .arg(directory)
        .args(packages)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => anyhow!(
                "npm is not installed\n  hint: install Node.js 18 or later with npm (`apt install npm`, \
                 `dnf install npm`, `brew install node`, or https://nodejs.org)"
            ),
            _ => anyhow!("cannot start npm: {error}"),
        })?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("npm cannot install {}:\n{}", packages.join(" "), stderr.trim());
    }
    Ok(())
}
