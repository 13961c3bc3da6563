//! The same commands in a program without feature `fleet`: they say how to get it.

use super::{FleetCheck, ServerRun, WorkerArguments};
use crate::commands::workflow::progress::Progress;
use crate::failure::Failure;
use marvin_agent::ProjectContext;
use marvin_base::Exit;
use marvin_base::run_record::FleetRecord;
use marvin_flow::engine::{Options, Outcome, PersonDecision};
use marvin_flow::spec::Workflow;
use std::path::Path;
use tokio_util::sync::CancellationToken;

pub(super) fn failure() -> Failure {
    Failure::usage("this program was built without feature `fleet`, which workflows on many machines need")
        .hint("cargo install --locked --path crates/marvin --features fleet, or the release marvin-fleet")
}

pub(crate) fn serve(_: &WorkerArguments) -> Result<Exit, Failure> {
    Err(failure())
}

pub(crate) async fn begin(
    _: &ProjectContext,
    _: Workflow,
    _: Options,
    _: bool,
    _: CancellationToken,
    _: &Progress,
) -> Result<Option<Outcome>, Failure> {
    Err(failure())
}

pub(crate) async fn resume(
    _: &ProjectContext,
    _: &Path,
    _: &FleetRecord,
    _: Options,
    _: CancellationToken,
    _: &Progress,
) -> Result<Option<Outcome>, Failure> {
    Err(failure())
}

pub(crate) fn stop(_: &Path, _: &FleetRecord) -> Result<(), Failure> {
    Err(failure())
}

pub(crate) fn decide(
    _: &Path,
    _: &FleetRecord,
    _: &str,
    _: &PersonDecision,
    _: &marvin_base::person::DecidedBy,
) -> Result<(), Failure> {
    Err(failure())
}

/// The copy of the run is shown as it is.
pub(crate) fn refresh(_: &Path, _: &FleetRecord) -> Result<(), Failure> {
    Ok(())
}

pub(crate) fn list(_: Option<&Path>, _: bool) -> Result<Vec<ServerRun>, Failure> {
    Err(failure())
}

pub(crate) fn check(_: &ProjectContext) -> Vec<FleetCheck> {
    Vec::new()
}
