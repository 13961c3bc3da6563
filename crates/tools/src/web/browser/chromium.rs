//! Chromium and its kin, which print the document of a page by themselves.

use super::{BrowserRun, RenderedPage, net_log};
use crate::context::ToolContext;
use crate::result::ToolError;
use marvin_base::child::Ending;
use marvin_gate::JudgedCommand;
use std::path::Path;

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
    "--disable-features=AimServerEligibilityEnabled,DialMediaRouteProvider,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,PreconnectToSearch,Translate",
    // Servers of its maker that no flag switches off get a name that no machine has (RFC 6761).
    "--component-updater=url-source=http://browser.invalid/",
    "--gaia-url=http://browser.invalid/",
    "--google-base-url=http://browser.invalid/",
    "--google-url=http://browser.invalid/",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--no-first-run",
    "--no-pings",
    "--mute-audio",
    "--deny-permission-prompts",
    // Also pages of this machine go through the proxy.
    "--proxy-bypass-list=<-loopback>",
];

/// Loads a page and returns its document.
///
/// # Errors
/// When the browser cannot be started or does not end well.
pub(super) async fn render(
    program: &Path,
    url: &str,
    run: &BrowserRun,
    context: &ToolContext,
) -> Result<RenderedPage, ToolError> {
    let log = run.home.join("net-log.json");
    let mut child = JudgedCommand::own(program, WORDS);
    child.arguments.push(format!("--proxy-server={}", run.proxy.url()).into());
    child.arguments.push(format!("--user-data-dir={}", run.home.join("profile").display()).into());
    child.arguments.push(format!("--log-net-log={}", log.display()).into());
    child.arguments.extend(["--".into(), url.into()]);
    child.keep = MAX_DOCUMENT_BYTES;
    let outcome = run.run(child, context).await?;
    let html = outcome.stdout.text();
    if outcome.ending != Ending::Exited(0) || outcome.stdout.dropped > 0 || html.trim().is_empty() {
        tracing::info!(ending = ?outcome.ending, stderr = outcome.stderr.text(), "browser");
        return Err(ToolError::Failed("the browser did not show the page".into()));
    }
    let mut refused = run.proxy.refused();
    match tokio::task::spawn_blocking(move || net_log::read_own_hosts(&log)).await {
        Ok(Ok(own)) => refused.retain(|host| !own.contains(host)),
        // Without the log every host is told, those of the browser too.
        Ok(Err(error)) => tracing::info!(%error, "log of the browser"),
        Err(error) => tracing::info!(%error, "log of the browser"),
    }
    Ok(RenderedPage { html, refused })
}
