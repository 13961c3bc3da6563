//! The programs for other systems: checked, or built in a profile (`--build`), as far as this machine has what that takes.
//!
//! A check compiles no Rust to machine code, but build scripts compile C (SQLite, ring, the parsers of tree-sitter), so that a C compiler for the
//! target is needed. On Linux, zig from PyPI is one for macOS: it has the headers of its C library. The frameworks of macOS, which a
//! build links, are only on macOS.

use crate::output::say;
use crate::{python, tools};
use anyhow::{anyhow, bail};
use std::path::PathBuf;
use std::process::Command;

/// zig, and the wrapper that calls it as cargo's build scripts expect a C compiler to be called.
const ZIG: [&str; 2] = ["ziglang==0.17.0", "cargo-zigbuild==0.24.0"];

/// Another system, and its C compiler.
#[derive(Debug)]
struct Target {
    name: &'static str,
    compiler: Compiler,
}

#[derive(Debug)]
enum Compiler {
    /// A program, and the packages of Debian that have it.
    Program(&'static str, &'static str),
    /// The system's own compiler on macOS; zig elsewhere.
    Zig,
}

const TARGETS: [Target; 3] = [
    Target { name: "x86_64-unknown-linux-musl", compiler: Compiler::Program("musl-gcc", "musl-tools") },
    Target {
        name: "aarch64-unknown-linux-gnu",
        compiler: Compiler::Program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
    },
    Target { name: "aarch64-apple-darwin", compiler: Compiler::Zig },
];

/// What is done with a target.
#[derive(Debug, Clone, Copy)]
enum Work<'a> {
    Check,
    /// A build in this profile.
    Build(&'a str),
}

impl Work<'_> {
    fn result(self) -> &'static str {
        match self {
            Work::Check => "compiles",
            Work::Build(_) => "is built",
        }
    }
}

/// Checks or builds the named targets, or all; one for which this machine lacks something is skipped, unless it was named.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let (work, names) = match words {
        ["--build", profile, names @ ..] => (Work::Build(profile), names),
        names => (Work::Check, names),
    };
    if let Some(unknown) = names.iter().find(|word| TARGETS.iter().all(|target| target.name != **word)) {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!("unknown target: {unknown}\n  hint: one of {}", known.join(", "));
    }
    let mut list = Command::new("rustup");
    let installed = tools::output(list.current_dir(tools::root()).args(["target", "list", "--installed"]))
        .map_err(|error| {
            anyhow!("{error:#}\n  hint: install rustup, which manages targets: https://rustup.rs")
        })?;
    let installed = String::from_utf8_lossy(&installed).into_owned();
    let mut failed = Vec::new();
    for target in TARGETS.iter().filter(|target| names.is_empty() || names.contains(&target.name)) {
        let missing = target.missing(&installed, work);
        if !missing.is_empty() {
            say(format_args!("{}: left out\n  hint: {}", target.name, missing.join("; ")))?;
            // What was asked for by name must not pass unseen.
            failed.extend((!names.is_empty()).then_some(target.name));
            continue;
        }
        match target.compile(work) {
            Ok(()) => say(format_args!("{}: {}", target.name, work.result()))?,
            Err(error) => {
                say(format_args!("{}: {error:#}", target.name))?;
                failed.push(target.name);
            }
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        failed => bail!("left out or not compiled: {}", failed.join(", ")),
    }
}

impl Target {
    /// What to do about what this machine lacks: commands that install it, or another machine.
    fn missing(&self, installed: &str, work: Work<'_>) -> Vec<String> {
        let mut missing = Vec::new();
        if installed.lines().all(|line| line.trim() != self.name) {
            missing.push(format!("rustup target add {}", self.name));
        }
        match self.compiler {
            Compiler::Program(program, packages) if !tools::has(program) => {
                missing.push(format!("apt-get install {packages}"));
            }
            Compiler::Zig if !cfg!(target_os = "macos") && !tools::has("python3") => {
                missing.push("apt-get install python3 python3-venv".to_owned());
            }
            Compiler::Zig if !cfg!(target_os = "macos") && matches!(work, Work::Build(_)) => {
                missing.push("build it on macOS, which has the frameworks that are linked".to_owned());
            }
            _ => {}
        }
        missing
    }

    fn compile(&self, work: Work<'_>) -> anyhow::Result<()> {
        // Of C code a check needs only that it compiles; without this, SQLite would be optimised for minutes.
        let plain = "profile.dev.package.libsqlite3-sys.opt-level=0";
        let command: &[&str] = match &work {
            Work::Check => &["check", "--config", plain],
            Work::Build(profile) => &["build", "--profile", profile],
        };
        let words = [command, &["--locked", "--package", "marvin", "--target", self.name]].concat();
        match self.compiler {
            Compiler::Program(program, _) => {
                // The target of musl links with the system's compiler and brings its own C library.
                let linker = if self.name.ends_with("-musl") { "cc" } else { program };
                let variable =
                    format!("CARGO_TARGET_{}_LINKER", self.name.replace('-', "_").to_ascii_uppercase());
                tools::run(tools::cargo().args(words).env("TARGET_CC", program).env(variable, linker))
            }
            Compiler::Zig if cfg!(target_os = "macos") => tools::run(tools::cargo().args(words)),
            Compiler::Zig => {
                let programs: PathBuf = python::environment("zig", &ZIG)?.join("bin");
                let path = std::env::join_paths(
                    std::iter::once(programs.clone()).chain(std::env::split_paths(&tools::search_path())),
                )?;
                let mut zigbuild = tools::cargo_like(programs.join("cargo-zigbuild"));
                tools::run(zigbuild.args(words).env("PATH", path))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_not_installed_has_an_install_line() {
        for target in &TARGETS {
            let missing = target.missing("x86_64-unknown-linux-gnu\n", Work::Check);
            assert!(missing.contains(&format!("rustup target add {}", target.name)), "{missing:?}");
            let missing = target.missing(target.name, Work::Check);
            assert!(missing.iter().all(|line| !line.starts_with("rustup")), "{target:?}");
        }
    }

    #[test]
    fn macos_is_built_only_on_macos() {
        for target in TARGETS.iter().filter(|target| target.name.ends_with("-darwin")) {
            let missing = target.missing(target.name, Work::Build("dist"));
            assert_eq!(
                missing.iter().any(|line| line.contains("macOS")),
                !cfg!(target_os = "macos"),
                "{missing:?}"
            );
        }
    }

    #[test]
    fn an_unknown_target_is_refused() {
        assert!(run(&["riscv64gc-unknown-linux-gnu"]).unwrap_err().to_string().contains("hint: one of"));
    }
}
