//! The official test suite and inspector of the Model Context Protocol, at fixed versions. They run on the Node.js of [`node`].

use crate::{node, npm, tools};
use anyhow::anyhow;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A new version is a change of the list of expected failures.
const PACKAGES: [&str; 2] =
    ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "@modelcontextprotocol/inspector@2.12.0"];

/// Installs them into `tools/mcp` unless they are there, and returns that directory.
pub(crate) fn install() -> anyhow::Result<PathBuf> {
    let node = node::install()?;
    npm::install("mcp", &PACKAGES, |directory| check(&node, directory))
}

/// Checks that the suite runs.
fn check(node: &Path, directory: &Path) -> anyhow::Result<()> {
    let mut list = Command::new(node);
    list.arg(directory.join("node_modules/.bin/conformance")).arg("list");
    let hint = format!("hint: remove {} and try again", directory.display());
    tools::output(&mut list)
        .map(drop)
        .map_err(|error| anyhow!("the conformance suite does not run: {error:#}\n  {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_suite_is_an_error() {
        let error = check(Path::new("node"), Path::new("/nonexistent")).unwrap_err().to_string();
        assert!(error.contains("hint: remove /nonexistent"), "{error}");
    }
}
