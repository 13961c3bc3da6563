//! The web tools over real sockets.

mod browser;
mod github;
mod names;
mod pages;
pub(crate) mod server;
mod services;
mod ssrf;
mod turbotime;
mod yt_dlp;

use crate::support::Fixture;
use marvin_gate::Access;
use marvin_tools::Mode;

/// A fixture with settings.
pub(crate) fn fixture(variables: &[(&str, &str)]) -> Fixture {
    Fixture::with(Mode::Coding, &Access::Full, variables)
}

/// A fixture with the operator's list and the run's.
pub(crate) fn lists(org: &str, request: &str) -> Fixture {
    fixture(&[("MARVIN_WEB_ORG_ALLOWLIST", org), ("MARVIN_WEB_REQUEST_ALLOWLIST", request)])
}
