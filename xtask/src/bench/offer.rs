//! `offer`: choosing the tools of a request among all of Marvin's and among 1,000, in one process:
//! `bench/offer`, built as a release.

use super::report;
use serde_json::Value;

pub(super) fn run() -> anyhow::Result<Value> {
    report::run_program("marvin-bench-offer")
}
