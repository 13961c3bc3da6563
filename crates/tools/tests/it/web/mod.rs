//! The web tools over real sockets.

mod github;
mod names;
mod pages;
pub(crate) mod server;
mod ssrf;
mod turbotime;

use crate::support::House;
use marvin_gate::Access;
use marvin_tools::Mode;

/// A house with settings.
pub(crate) fn house(variables: &[(&str, &str)]) -> House {
    House::with(Mode::Coding, &Access::Full, variables)
}

/// A house with the operator's list and the run's.
pub(crate) fn lists(org: &str, request: &str) -> House {
    house(&[("MARVIN_WEB_ORG_ALLOWLIST", org), ("MARVIN_WEB_REQUEST_ALLOWLIST", request)])
}
