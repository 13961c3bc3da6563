//! Caches of a verification: private and empty.
//!
//! Interpreters and linters load what an earlier run left in a cache in place of the sources it was made from. An agent that
//! writes into one (bytecode whose stamp matches its source, results of a linter) decides what a verification loads, so a
//! verification reads none of the workspace.
//!
//! Limits: a Python that is told to ignore its environment (`-E`, `-I`, `env -i`) and one before 3.8 still read `__pycache__`. A
//! program that a line runs can write into the caches before the next program of the same line reads them.

use super::contained::line_of;
use std::path::Path;

/// Variables by which interpreters get their caches.
pub(crate) fn private(directory: &Path) -> Vec<(String, String)> {
    let place = |name: &str| directory.join(name).display().to_string();
    let variables = [
        ("PYTHONPYCACHEPREFIX", place("pycache")),
        ("PYTHONDONTWRITEBYTECODE", "1".to_string()),
        ("NODE_COMPILE_CACHE", place("node")),
        ("NODE_DISABLE_COMPILE_CACHE", "1".to_string()),
        ("BABEL_DISABLE_CACHE", "1".to_string()),
        ("TS_NODE_CACHE", "false".to_string()),
        ("MYPY_CACHE_DIR", place("mypy")),
        ("RUFF_CACHE_DIR", place("ruff")),
    ];
    variables.map(|(name, value)| (name.to_string(), value)).into()
}

/// Variables for a line that runs in the workspace. With its own cache pytest selects no tests by what failed before
/// (`--last-failed`, `--stepwise`).
pub(crate) fn of_line(directory: &Path) -> [(String, String); 1] {
    let cache = format!("cache_dir={}", directory.join("pytest").display());
    [("PYTEST_ADDOPTS".to_string(), line_of(["-o", &cache]))]
}
