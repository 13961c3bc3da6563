//! A browser for the tests of the page, and what drives it, at a fixed version.

use crate::{clients, tools};
use std::path::{Path, PathBuf};

/// What drives the browser.
const PACKAGES: [&str; 1] = ["playwright-core@1.65.0"];
/// Says which versions stand in the directory; written last, so that a broken installation is repeated.
const STAMP: &str = "installed-versions";

/// Makes sure that Chromium is there, installs what drives it into `tools/browser` unless it is there, and returns that directory.
///
/// # Errors
/// When Chromium cannot be installed, or npm is missing or fails.
pub(crate) fn install(directory: &Path) -> Result<PathBuf, String> {
    tools::need("chromium", "chromium fonts-dejavu")?;
    tools::need("node", "nodejs")?;
    let directory = directory.join("browser");
    let (stamp, versions) = (directory.join(STAMP), PACKAGES.join("\n"));
    if std::fs::read_to_string(&stamp).is_ok_and(|text| text == versions) {
        return Ok(directory);
    }
    std::fs::create_dir_all(&directory)
        .map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
    clients::npm(&directory, &PACKAGES)?;
    std::fs::write(&stamp, versions).map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
    Ok(directory)
}
