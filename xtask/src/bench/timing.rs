//! Runs of a program with their wall time, CPU time and peak memory.

use crate::tools;
use anyhow::{Context, bail};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

/// Compiles a reference program from its source, optimised like Marvin.
pub(super) fn compile(directory: &Path, name: &str, source: &str) -> anyhow::Result<PathBuf> {
    let (file, program) = (directory.join(format!("{name}.rs")), directory.join(name));
    std::fs::write(&file, source)?;
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-O", "-C", "strip=symbols", "-o"]).arg(&program).arg(&file);
    tools::run(&mut rustc)?;
    Ok(program)
}

/// One measured run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// Milliseconds from start to end.
    pub(super) wall: f64,
    /// Milliseconds of CPU, user and system.
    pub(super) cpu: f64,
    /// Peak resident memory.
    pub(super) peak_kb: i64,
}

/// Runs a program to its end and returns its stdout, too; it must exit with one of these codes.
pub(super) fn timed(command: &mut Command, codes: &[i32]) -> anyhow::Result<(Run, String)> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    run_to_end(command, codes)
}

/// The same for a program with input on its stdin, less than a pipe holds; it must succeed.
pub(super) fn timed_with_input(command: &mut Command, input: &[u8]) -> anyhow::Result<(Run, String)> {
    let (reader, mut writer) = std::io::pipe()?;
    writer.write_all(input)?;
    drop(writer);
    run_to_end(command.stdin(reader), &[0])
}

fn run_to_end(command: &mut Command, codes: &[i32]) -> anyhow::Result<(Run, String)> {
    let started = Instant::now();
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {command:?}"))?;
    let mut output = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut output)?;
    }
    let (run, status) = wait_measured(&child, started)?;
    if !status.code().is_some_and(|code| codes.contains(&code)) {
        bail!("{command:?} failed: {status}");
    }
    Ok((run, String::from_utf8_lossy(&output).into_owned()))
}

/// Waits for a child that must succeed, and measures it.
pub(super) fn wait(child: &Child, started: Instant) -> anyhow::Result<Run> {
    let (run, status) = wait_measured(child, started)?;
    if !status.success() {
        bail!("the measured program failed: {status}");
    }
    Ok(run)
}

/// Waits for a child and measures it.
#[expect(unsafe_code, reason = "wait4 is the only syscall that returns the resources of one child")]
fn wait_measured(child: &Child, started: Instant) -> anyhow::Result<(Run, ExitStatus)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid, and the child is ours and was not waited for.
    let (waited, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let id = i32::try_from(child.id())?;
        (libc::wait4(id, &raw mut status, 0, &raw mut usage), usage)
    };
    let wall = started.elapsed().as_secs_f64() * 1000.0;
    if waited < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    let milliseconds = |time: libc::timeval| time.tv_sec as f64 * 1000.0 + time.tv_usec as f64 / 1000.0;
    let cpu = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
    Ok((Run { wall, cpu, peak_kb: usage.ru_maxrss }, ExitStatus::from_raw(status)))
}

pub(super) fn median(figures: impl Iterator<Item = f64>) -> f64 {
    percentile(&figures.collect::<Vec<_>>(), 50)
}

pub(super) fn percentile(figures: &[f64], percent: usize) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() * percent / 100).copied().unwrap_or(f64::NAN)
}

/// A figure with three decimals.
pub(super) fn round(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}
