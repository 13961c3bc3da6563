//! The Node.js that `cargo xtask test` installs: newer than that of some distributions, for suites that need it, and a second one for
//! the tests of Node.js projects.

use std::path::PathBuf;
use std::process::Command;

/// Names the program.
const VARIABLE: &str = "MARVIN_TEST_NODE";

/// The installed Node.js; otherwise that of the system.
#[must_use]
pub fn program() -> PathBuf {
    std::env::var_os(VARIABLE).map_or_else(|| PathBuf::from("node"), PathBuf::from)
}

/// Runs one test of this test program again, with the installed Node.js first on the `PATH`. `test` is its full name without the crate.
pub fn repeat_test(test: &str) {
    let Some(node) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
        crate::skip("run through `cargo xtask test`, which installs a second Node.js");
        return;
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = node.parent().map(PathBuf::from).into_iter().chain(std::env::split_paths(&path));
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("PATH", std::env::join_paths(directories).unwrap())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{test}: {}\n{out}\n{err}", output.status);
}
