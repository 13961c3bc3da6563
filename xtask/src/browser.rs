//! A browser for the tests of the page, and the package that drives it, at a fixed version.

use crate::{npm, tools};
use std::path::PathBuf;

const PACKAGES: [&str; 1] = ["playwright-core@1.65.0"];

/// Installs Chromium and its driver (into `tools/browser`) unless they are there, and returns the
/// driver's directory.
pub(crate) fn install() -> anyhow::Result<PathBuf> {
    tools::need(&[("chromium", "chromium fonts-dejavu"), ("node", "nodejs")])?;
    npm::install("browser", &PACKAGES, |_| Ok(()))
}
