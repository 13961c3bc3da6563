//! `tools`: one read of a file of 4 KB through the toolbox (understood, judged, opened beneath the workspace, numbered,
//! redacted for the record) against `std::fs::read_to_string`, both in one process: `bench/`, built as a release.

use crate::tools;
use serde_json::Value;

/// Measures.
pub(crate) fn run() -> Result<Value, String> {
    let mut build = tools::cargo();
    build.args(["build", "--release", "--locked", "--quiet", "--package", "marvin-bench"]);
    tools::run(&mut build)?;
    let output = std::process::Command::new(tools::target().join("release/marvin-bench"))
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}
