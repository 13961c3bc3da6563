//! Tests that cannot run here: they say why, and `cargo xtask test` counts them.

use std::io::Write;

/// The file that collects the reasons; `cargo xtask test` names it.
const VARIABLE: &str = "MARVIN_TEST_SKIPS";

/// Reports that the running test, or a part of it, is skipped.
pub fn skip(reason: &str) {
    println!("skipped: {reason}");
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    let thread = std::thread::current();
    let line = format!("{}: {reason}\n", thread.name().unwrap_or("a test"));
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}
