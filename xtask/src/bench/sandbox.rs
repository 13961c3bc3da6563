//! `sandbox`: `/bin/true` in the sandbox against a bare start and against bubblewrap, all in one
//! process: `bench/sandbox`, built as a release.

use super::report;
use crate::tools;
use serde_json::Value;

pub(super) fn run() -> anyhow::Result<Value> {
    tools::need(&[("bwrap", "bubblewrap")])?;
    report::run_program("marvin-bench-sandbox")
}
