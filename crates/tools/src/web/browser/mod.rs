//! Pages as a browser shows them, after their scripts ran.
//!
//! A headless Chromium runs in the sandbox, with a directory of its own that is removed afterwards: no cookies, no profile of
//! the person, nothing readable of theirs. It reaches the network only through a [`Proxy`], so that the gate judges the host of
//! every request that the page or its scripts make.
//!
//! Limits: Chromium and its kin only. Its own sandbox is off, since it cannot be built inside another; the outer one takes its
//! place. What a page loads after the time budget is not seen.

mod chromium;
mod net_log;

use super::proxy::Proxy;
use crate::context::ToolContext;
use crate::result::ToolError;
use marvin_base::child::Outcome;
use marvin_base::environment::Environment;
use marvin_base::settings::{Settings, table};
use marvin_gate::sandbox::Policy;
use marvin_gate::{JudgedCommand, secrets};
use marvin_model::choose;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// Programs in order of preference.
const PROGRAMS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];
const DEADLINE: Duration = Duration::from_secs(30);
/// Bytes that a page may load in all.
const MAX_LOADED_BYTES: u64 = 64 * 1024 * 1024;

/// A page after its scripts ran.
#[derive(Debug)]
pub(super) struct RenderedPage {
    pub(super) html: String,
    /// Hosts that the page asked for and was not let through to.
    pub(super) refused: Vec<String>,
}

/// The directories and the proxy of one start of a browser; they go with this value.
#[derive(Debug)]
struct BrowserRun {
    _temporary: TempDir,
    home: PathBuf,
    scratch: PathBuf,
    proxy: Proxy,
}

/// The browser that runs scripts; none: pages are read without.
#[must_use]
pub fn find_browser(settings: &Settings, environment: &Environment) -> Option<PathBuf> {
    match settings.text(&table::WEB_BROWSER).trim() {
        "off" => None,
        "auto" | "" => PROGRAMS.iter().find_map(|name| choose::find_program(name, environment)),
        named => choose::find_program(named, environment),
    }
}

/// Loads a page that the gate let this call ask for, runs its scripts, and returns its document.
///
/// # Errors
/// When the browser cannot be started or does not end well.
pub(super) async fn render(
    program: PathBuf,
    url: &str,
    context: &ToolContext,
) -> Result<RenderedPage, ToolError> {
    let run = BrowserRun::start(url, context).await?;
    chromium::render(&program, url, &run, context).await
}

impl BrowserRun {
    async fn start(url: &str, context: &ToolContext) -> Result<Self, ToolError> {
        let temporary = tempfile::Builder::new()
            .prefix("marvin-")
            .tempdir()
            .map_err(|error| ToolError::Failed(format!("cannot create a temporary directory: {error}")))?;
        let (home, scratch) = (temporary.path().join("home"), temporary.path().join("tmp"));
        for place in [&home, &scratch] {
            std::fs::create_dir(place)
                .map_err(|error| ToolError::Failed(format!("cannot create {}: {error}", place.display())))?;
        }
        let proxy = Proxy::start(url, &[], MAX_LOADED_BYTES, context).await?;
        Ok(BrowserRun { _temporary: temporary, home, scratch, proxy })
    }

    /// Runs the browser in the sandbox until it ends.
    async fn run(&self, mut child: JudgedCommand, context: &ToolContext) -> Result<Outcome, ToolError> {
        child.directory = Some(self.home.clone());
        child.deadline = DEADLINE;
        child.inherit = false;
        let path = Environment::of_process();
        let path = path.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin");
        let home = self.home.display().to_string();
        for (name, value) in [("PATH", path), ("HOME", &home), ("LANG", "C.UTF-8")] {
            child.set.insert(name.to_string(), value.to_string());
        }
        let mut policy = Policy::new(&self.home, &self.scratch);
        policy.hidden = secrets::places(context.layout.home());
        policy.connect = Some(self.proxy.port());
        // Its processes talk with each other by these.
        policy.unix_sockets = true;
        crate::command::contain(&mut child, policy, context).await?;
        child.run(&context.cancel).await.map_err(|error| ToolError::Failed(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_chromium_and_its_kin_run_scripts() {
        let place = tempfile::tempdir().unwrap();
        let install = |name: &str| {
            let path = place.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let environment = Environment::from_iter([("PATH", place.path().to_str().unwrap())]);
        let settings = Settings::defaults().unwrap();
        install("firefox");
        assert_eq!(find_browser(&settings, &environment), None);
        let chromium = install("google-chrome-stable");
        assert_eq!(find_browser(&settings, &environment), Some(chromium));
        let off = settings.with(&table::WEB_BROWSER, "off").unwrap();
        assert_eq!(find_browser(&off, &environment), None);
    }
}
