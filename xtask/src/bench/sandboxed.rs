//! `sandbox`: `/bin/true` in the sandbox against a bare start and against bubblewrap, all in one process: `bench/sandbox`, built as a
//! release.

use crate::tools;
use serde_json::Value;

/// Measures.
pub(crate) fn run() -> Result<Value, String> {
    tools::need("bwrap", "bubblewrap")?;
    let mut build = tools::cargo();
    build.args(["build", "--release", "--locked", "--quiet", "--package", "marvin-bench-sandbox"]);
    tools::run(&mut build)?;
    let output = std::process::Command::new(tools::target().join("release/marvin-bench-sandbox"))
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}
