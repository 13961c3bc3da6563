//! Firefox and its kin, driven by [`Marionette`]: they have no option that prints the document of a page.
//!
//! The sandbox lets the browser listen on one port of this machine, which is chosen for each start. A process of another user
//! that finds it in time could drive a browser without a profile, which reaches what its page may reach.

use super::marionette::{Marionette, MarionetteError, Value};
use super::{BrowserRun, RenderedPage};
use crate::context::ToolContext;
use crate::result::ToolError;
use marvin_gate::JudgedCommand;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// It starts more slowly than Chromium.
const DEADLINE: Duration = Duration::from_secs(60);
const WORDS: &[&str] = &["--headless", "--marionette", "--no-remote", "--new-instance"];

/// Milliseconds of a script, and of loading a page.
const SCRIPT_TIMEOUT_MS: u32 = 15_000;
const LOAD_TIMEOUT_MS: u32 = 15_000;

/// Returns the document once nothing was changed or loaded for a while: two seconds, five at most.
const DOCUMENT_SCRIPT: &str = "const done = arguments[arguments.length - 1];
const give = () => done(document.documentElement.outerHTML);
let timer = setTimeout(give, 2000);
const wait = () => { clearTimeout(timer); timer = setTimeout(give, 2000); };
new MutationObserver(wait).observe(document, {attributes: true, characterData: true, childList: true, subtree: true});
new PerformanceObserver(wait).observe({entryTypes: ['resource']});
setTimeout(give, 5000);";

/// Preferences that hold for every start: no service of the maker is asked, and nothing is stored or offered.
const PREFERENCES: &[(&str, &str)] = &[
    ("app.normandy.enabled", "false"),
    ("app.update.auto", "false"),
    ("browser.aboutwelcome.enabled", "false"),
    ("browser.ml.enable", "false"),
    ("browser.newtabpage.activity-stream.feeds.system.topstories", "false"),
    ("browser.newtabpage.enabled", "false"),
    ("browser.region.update.enabled", "false"),
    ("browser.safebrowsing.blockedURIs.enabled", "false"),
    ("browser.safebrowsing.downloads.enabled", "false"),
    ("browser.safebrowsing.malware.enabled", "false"),
    ("browser.safebrowsing.phishing.enabled", "false"),
    ("browser.search.update", "false"),
    ("browser.shell.checkDefaultBrowser", "false"),
    ("datareporting.healthreport.uploadEnabled", "false"),
    ("datareporting.policy.dataSubmissionEnabled", "false"),
    ("dom.push.connection.enabled", "false"),
    ("extensions.getAddons.cache.enabled", "false"),
    ("extensions.systemAddon.update.enabled", "false"),
    ("extensions.update.enabled", "false"),
    ("media.gmp-manager.updateEnabled", "false"),
    ("media.peerconnection.enabled", "false"),
    ("network.captive-portal-service.enabled", "false"),
    ("network.connectivity-service.enabled", "false"),
    ("network.dns.disablePrefetch", "true"),
    ("network.http.speculative-parallel-limit", "0"),
    ("network.prefetch-next", "false"),
    ("network.trr.mode", "5"),
    // Also pages of this machine go through the proxy.
    ("network.proxy.allow_hijacking_localhost", "true"),
    ("network.proxy.no_proxies_on", "\"\""),
    ("network.proxy.type", "1"),
    ("nimbus.rollouts.enabled", "false"),
    ("privacy.trackingprotection.enabled", "false"),
    ("security.OCSP.enabled", "0"),
    // Remote settings have no switch; a document in place of the server gives none.
    ("services.settings.server", "\"data:,#remote-settings-dummy/v1\""),
    ("toolkit.telemetry.enabled", "false"),
    ("toolkit.telemetry.server", "\"\""),
];

/// Variables of every start.
const VARIABLES: [(&str, &str); 7] = [
    // The sandbox around it takes the place of its own.
    ("MOZ_DISABLE_CONTENT_SANDBOX", "1"),
    ("MOZ_DISABLE_GMP_SANDBOX", "1"),
    ("MOZ_DISABLE_RDD_SANDBOX", "1"),
    ("MOZ_DISABLE_SOCKET_PROCESS_SANDBOX", "1"),
    ("MOZ_DISABLE_UTILITY_SANDBOX", "1"),
    ("MOZ_CRASHREPORTER_DISABLE", "1"),
    // Lets `services.settings.server` count in a released browser.
    ("MOZ_REMOTE_SETTINGS_DEVTOOLS", "1"),
];

#[derive(Debug, Serialize)]
struct Navigate<'a> {
    url: &'a str,
}

#[derive(Debug, Serialize)]
struct Script {
    script: &'static str,
    args: [(); 0],
}

#[derive(Debug, Serialize)]
struct NewSession {
    capabilities: Capabilities,
}

#[derive(Debug, Serialize)]
struct Capabilities {
    #[serde(rename = "alwaysMatch")]
    always_match: AlwaysMatch,
}

#[derive(Debug, Serialize)]
struct AlwaysMatch {
    #[serde(rename = "unhandledPromptBehavior")]
    prompts: &'static str,
    timeouts: Timeouts,
}

#[derive(Debug, Serialize)]
struct Timeouts {
    script: u32,
    #[serde(rename = "pageLoad")]
    page_load: u32,
}

/// Loads a page and returns its document.
///
/// # Errors
/// When the browser cannot be started or driven.
pub(super) async fn render(
    program: &Path,
    url: &str,
    run: &BrowserRun,
    context: &ToolContext,
) -> Result<RenderedPage, ToolError> {
    let failed = |what: &str, error: std::io::Error| ToolError::Failed(format!("cannot {what}: {error}"));
    let profile = run.home.join("profile");
    std::fs::create_dir(&profile).map_err(|error| failed("create a profile", error))?;
    // The port is free until the browser takes it; where another process is faster, the page is read without scripts.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map_err(|error| failed("find a free port", error))?
        .port();
    std::fs::write(profile.join("user.js"), preferences(port, run.proxy.port()))
        .map_err(|error| failed("write the preferences of the browser", error))?;
    let mut child = JudgedCommand::own(program, WORDS);
    child.arguments.extend(["--profile".into(), profile.into_os_string(), "about:blank".into()]);
    child.set = VARIABLES.map(|(name, value)| (name.to_string(), value.to_string())).into();
    child.deadline = DEADLINE;
    let over = context.cancel.child_token();
    let running = run.run(child, Some(port), context, &over);
    let driving = drive(port, url, &over);
    let (outcome, html) = tokio::join!(running, driving);
    let outcome = outcome?;
    match html {
        Some(Ok(html)) => Ok(RenderedPage { html, refused: run.proxy.refused() }),
        other => {
            let error = other.and_then(Result::err);
            tracing::info!(ending = ?outcome.ending, ?error, stderr = outcome.stderr.text(), "browser");
            Err(ToolError::Failed("the browser did not show the page".into()))
        }
    }
}

/// Drives the browser to the document of a page, and lets it end; none: it ended before.
async fn drive(port: u16, url: &str, over: &CancellationToken) -> Option<Result<String, MarionetteError>> {
    let html = tokio::select! {
        html = load_document(port, url) => Some(html),
        () = over.cancelled() => None,
    };
    over.cancel();
    html
}

async fn load_document(port: u16, url: &str) -> Result<String, MarionetteError> {
    let mut browser = Marionette::connect(port).await?;
    let timeouts = Timeouts { script: SCRIPT_TIMEOUT_MS, page_load: LOAD_TIMEOUT_MS };
    let session = NewSession {
        capabilities: Capabilities { always_match: AlwaysMatch { prompts: "dismiss", timeouts } },
    };
    browser.command::<serde::de::IgnoredAny>("WebDriver:NewSession", &session).await?;
    browser.command::<serde::de::IgnoredAny>("WebDriver:Navigate", &Navigate { url }).await?;
    let script = Script { script: DOCUMENT_SCRIPT, args: [] };
    let document: Value<String> = browser.command("WebDriver:ExecuteAsyncScript", &script).await?;
    Ok(document.value)
}

/// The text of `user.js`.
fn preferences(port: u16, proxy: u16) -> String {
    let mut text = String::new();
    for (name, value) in PREFERENCES {
        let _ = writeln!(text, "user_pref(\"{name}\", {value});");
    }
    for kind in ["http", "ssl"] {
        let _ = writeln!(text, "user_pref(\"network.proxy.{kind}\", \"127.0.0.1\");");
        let _ = writeln!(text, "user_pref(\"network.proxy.{kind}_port\", {proxy});");
    }
    let _ = writeln!(text, "user_pref(\"marionette.port\", {port});");
    text
}
