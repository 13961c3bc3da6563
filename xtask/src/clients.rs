//! The agent programs that the tests of `marvin-model` drive: Claude Code and Codex, at fixed versions, from npm.
//!
//! They are installed once into a directory of the build's own, never for the whole machine. Install scripts are not run: the
//! native programs come as packages of their own and need none.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is installed. The tests describe how these versions behave; a new version is a change of the tests.
const PACKAGES: [&str; 2] = ["@anthropic-ai/claude-code@2.1.325", "@openai/codex@0.166.0"];

/// The native programs inside the directory, and what their `--version` must contain.
const PROGRAMS: [(&str, &str); 2] = [
    ("node_modules/@anthropic-ai/claude-code-linux-x64/claude", "2.1.325"),
    ("node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", "0.166.0"),
];

/// Says which versions stand in the directory; written last, so that a broken installation is repeated.
const STAMP: &str = "installed-versions";

/// Installs the programs into `tools/clients` unless they are there, and returns that directory.
///
/// # Errors
/// When npm is missing or fails, or when a program does not run.
pub(crate) fn install(tools: &Path) -> Result<PathBuf, String> {
    let directory = tools.join("clients");
    let stamp = directory.join(STAMP);
    let versions = PACKAGES.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|text| text == versions) && check(&directory).is_ok() {
        return Ok(directory);
    }
    std::fs::create_dir_all(&directory)
        .map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
    npm(&directory, &PACKAGES)?;
    check(&directory)?;
    std::fs::write(&stamp, versions).map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
    Ok(directory)
}

/// Installs packages into a directory; their install scripts are not run.
pub(crate) fn npm(directory: &Path, packages: &[&str]) -> Result<(), String> {
    let output = Command::new("npm")
        .arg("install")
        .arg("--prefix")
        .arg(directory)
        .args(["--no-audit", "--no-fund", "--no-save", "--ignore-scripts"])
        .args(packages)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                "npm is not installed, and the tests with the real agent programs need it\n  \
                 hint: install Node.js 18 or later with npm (`apt install npm`, `dnf install npm`, \
                 `brew install node`, or https://nodejs.org)"
                    .to_string()
            }
            _ => format!("cannot start npm: {error}"),
        })?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(format!("npm could not install {}:\n{}", packages.join(" "), words.trim()))
}

/// Do both programs run, in the versions that the tests are about?
fn check(directory: &Path) -> Result<(), String> {
    for (path, version) in PROGRAMS {
        let program = directory.join(path);
        let output = Command::new(&program)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !text.contains(version) {
            return Err(format!(
                "{} --version says `{}`, not {version}\n  hint: remove {} and try again",
                program.display(),
                text.trim(),
                directory.display()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_the_programs_is_found_out() {
        let error = check(Path::new("/nonexistent")).unwrap_err();
        assert!(error.contains("/nonexistent") && error.contains("claude"), "{error}");
    }
}
