//! The Debian package: programs, man page, completions, licences, notices and documents, packed by cargo-deb.
//!
//! What is packed is listed in `crates/marvin/Cargo.toml`. The programs are those of the `dist` profile, or of a directory where they were
//! built before (`--programs DIR`).

use crate::output::say;
use crate::tools;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const CARGO_DEB: &str = "cargo-deb@3.8.0";
const PROGRAMS: [&str; 2] = ["marvin", "marvin-hook"];

/// Packs the programs, and prints the path of the package.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let programs = match words {
        [] => build()?,
        ["--programs", directory] => {
            std::path::absolute(directory).with_context(|| format!("cannot find {directory}"))?
        }
        _ => bail!("unknown arguments: {}\n  hint: cargo xtask deb [--programs DIR]", words.join(" ")),
    };
    // It finds the libraries that the package depends on.
    tools::need(&[("dpkg-shlibdeps", "dpkg-dev")])?;
    let cargo_deb = tools::cargo_install(CARGO_DEB, "cargo-deb", &[])?;
    let stage = tools::target().join("deb");
    fill(&stage.join("dist"), &programs)?;
    let package = tools::output(
        tools::cargo_like(cargo_deb)
            .env("CARGO_TARGET_DIR", &stage)
            .args([
                "--quiet",
                "--locked",
                "--package",
                "marvin",
                "--profile",
                "dist",
                "--no-build",
                "--no-strip",
                "--output",
            ])
            .arg(tools::target().join("debian/")),
    )?;
    say(String::from_utf8_lossy(&package).trim())
}

/// Builds the programs as they are shipped, and returns their directory.
fn build() -> anyhow::Result<PathBuf> {
    tools::run(tools::cargo().args(["build", "--locked", "--profile", "dist", "--package", "marvin"]))?;
    Ok(tools::target().join("dist"))
}

/// Puts the programs, the man page and the completions where cargo-deb looks for what was built.
fn fill(place: &Path, programs: &Path) -> anyhow::Result<()> {
    if place.exists() {
        std::fs::remove_dir_all(place).with_context(|| format!("cannot empty {}", place.display()))?;
    }
    std::fs::create_dir_all(place).with_context(|| format!("cannot create {}", place.display()))?;
    for program in PROGRAMS {
        let from = programs.join(program);
        std::fs::copy(&from, place.join(program))
            .with_context(|| format!("cannot copy {}", from.display()))?;
    }
    tools::run(Command::new(tools::root().join(".ci/generate")).arg(place.join("marvin")).arg(place))?;
    tools::run(Command::new("gzip").args(["-9", "-n"]).arg(place.join("man/marvin.1")))
}
