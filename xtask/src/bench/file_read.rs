//! `tools`: one read of a file of 4 KB through the toolbox (parsed, judged, opened beneath the
//! workspace, numbered, redacted for the record) against `std::fs::read_to_string`, both in one
//! process: `bench/`, built as a release.

use super::report;
use serde_json::Value;

pub(super) fn run() -> anyhow::Result<Value> {
    report::run_program("marvin-bench")
}
