//! Pages as a browser shows them, after their scripts ran.
//!
//! A headless Chromium runs in the sandbox, with a directory of its own that is removed afterwards: no cookies, no profile of
//! the person, nothing readable of theirs. It reaches the network only through a [`Proxy`], so that the gate judges the host of
//! every request that the page or its scripts make.
//!
//! Limits: Chromium and its kin only. Its own sandbox is off, since it cannot be built inside another; the outer one takes its
//! place. What a page loads after the time budget is not seen.

use super::proxy::Proxy;
use crate::context::ToolContext;
use crate::result::ToolError;
use marvin_base::child::Ending;
use marvin_base::environment::Environment;
use marvin_base::settings::table;
use marvin_gate::sandbox::Policy;
use marvin_gate::{JudgedCommand, secrets};
use marvin_model::choose;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Programs in order of preference.
const PROGRAMS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];
const DEADLINE: Duration = Duration::from_secs(30);
/// Bytes that a page may load in all.
const MAX_LOADED_BYTES: u64 = 64 * 1024 * 1024;
const MAX_DOCUMENT_BYTES: usize = 4 * 1024 * 1024;

/// Words of every call.
const WORDS: &[&str] = &[
    "--headless",
    "--dump-dom",
    // Scripts get five seconds of the page's clock, which runs ahead while nothing is loaded.
    "--virtual-time-budget=5000",
    "--timeout=20000",
    // The sandbox around it takes the place of its own.
    "--no-sandbox",
    "--no-zygote",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-domain-reliability",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-features=DialMediaRouteProvider,MediaRouter,OptimizationHints,Translate",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--no-first-run",
    "--no-pings",
    "--mute-audio",
    "--deny-permission-prompts",
    // Also pages of this machine go through the proxy.
    "--proxy-bypass-list=<-loopback>",
];

/// Hosts that Chromium asks for itself, whatever the page. They are refused as others are, and not told as the page's.
const OWN_HOSTS: [&str; 8] = [
    "accounts.google.com",
    "android.clients.google.com",
    "clients2.google.com",
    "content-autofill.googleapis.com",
    "edgedl.me.gvt1.com",
    "optimizationguide-pa.googleapis.com",
    "redirector.gvt1.com",
    "update.googleapis.com",
];

/// A page after its scripts ran.
#[derive(Debug)]
pub(super) struct RenderedPage {
    pub(super) html: String,
    /// Hosts that were not let through.
    pub(super) refused: Vec<String>,
}

/// The browser that runs scripts; none: pages are read without.
pub(super) fn find(context: &ToolContext) -> Option<PathBuf> {
    let environment = Environment::of_process();
    match context.settings.text(&table::WEB_BROWSER).trim() {
        "off" => None,
        "auto" | "" => PROGRAMS.iter().find_map(|name| choose::find_program(name, &environment)),
        named => choose::find_program(named, &environment),
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
    let mut child = JudgedCommand::own(&program, WORDS);
    child.arguments.push(format!("--proxy-server={}", proxy.url()).into());
    child.arguments.push(format!("--user-data-dir={}", home.join("profile").display()).into());
    child.arguments.extend(["--".into(), url.into()]);
    child.directory = Some(home.clone());
    child.deadline = DEADLINE;
    child.keep = MAX_DOCUMENT_BYTES;
    child.inherit = false;
    let path = Environment::of_process();
    let path = path.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin");
    child.set = BTreeMap::from(
        [("PATH", path), ("HOME", &home.display().to_string()), ("LANG", "C.UTF-8")]
            .map(|(name, value)| (name.to_string(), value.to_string())),
    );
    let mut policy = Policy::new(&home, &scratch);
    policy.hidden = secrets::places(context.layout.home());
    policy.connect = Some(proxy.port());
    // Its processes talk with each other by these.
    policy.unix_sockets = true;
    crate::command::contain(&mut child, policy, context).await?;
    let outcome = child.run(&context.cancel).await.map_err(|error| ToolError::Failed(error.to_string()))?;
    let html = outcome.stdout.text();
    if outcome.ending != Ending::Exited(0) || outcome.stdout.dropped > 0 || html.trim().is_empty() {
        tracing::info!(ending = ?outcome.ending, stderr = outcome.stderr.text(), "browser");
        return Err(ToolError::Failed("the browser did not show the page".into()));
    }
    let mut refused = proxy.refused();
    refused.retain(|host| !OWN_HOSTS.contains(&host.as_str()));
    Ok(RenderedPage { html, refused })
}
