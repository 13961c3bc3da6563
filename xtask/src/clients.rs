//! The agent programs that the tests of `marvin-model` drive: Claude Code and Codex, at fixed
//! versions, from npm.

use crate::npm;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The tests describe how these versions behave; a new version is a change of the tests.
const PACKAGES: [&str; 2] = ["@anthropic-ai/claude-code@2.1.325", "@openai/codex@0.166.0"];

/// The native programs inside the directory, and what their `--version` must contain.
const PROGRAMS: [(&str, &str); 2] = [
    ("node_modules/@anthropic-ai/claude-code-linux-x64/claude", "2.1.325"),
    ("node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", "0.166.0"),
];

/// Installs the programs into `tools/clients` unless they are there, and returns that directory.
pub(crate) fn install() -> anyhow::Result<PathBuf> {
    npm::install("clients", &PACKAGES, check)
}

/// Checks that both programs run in the versions that the tests expect.
fn check(directory: &Path) -> anyhow::Result<()> {
    for (path, version) in PROGRAMS {
        let program = directory.join(path);
        let output = Command::new(&program)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !text.contains(version) {
            bail!(
                "{} --version prints `{}`, not {version}\n  hint: remove {} and try again",
                program.display(),
                text.trim(),
                directory.display()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_programs_are_an_error() {
        let error = check(Path::new("/nonexistent")).unwrap_err().to_string();
        assert!(error.contains("/nonexistent") && error.contains("claude"), "{error}");
    }
}
