//! Running a program and seeing how long it took, how much processor it used and how much memory it had at most.

use crate::tools;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

/// Compiles a reference program from its source, optimised like ours.
pub(crate) fn compile(directory: &Path, name: &str, source: &str) -> Result<PathBuf, String> {
    let (file, program) = (directory.join(format!("{name}.rs")), directory.join(name));
    std::fs::write(&file, source).map_err(|error| error.to_string())?;
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-O", "-C", "strip=symbols", "-o"]).arg(&program).arg(&file);
    tools::run(&mut rustc)?;
    Ok(program)
}

/// One measured run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// Milliseconds from start to end.
    pub(crate) wall: f64,
    /// Milliseconds of processor, user and system.
    pub(crate) cpu: f64,
    /// Peak resident memory in kilobytes.
    pub(crate) peak: i64,
}

/// Runs a program to its end, and gives what it took and what it wrote; it must end with one of these codes.
pub(crate) fn timed(command: &mut Command, codes: &[i32]) -> Result<(Run, String), String> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    finished(command, codes)
}

/// The same for a program that is told something on standard input, less than a pipe holds, and must succeed.
pub(crate) fn told(command: &mut Command, input: &[u8]) -> Result<(Run, String), String> {
    let (reader, mut writer) = std::io::pipe().map_err(|error| error.to_string())?;
    writer.write_all(input).map_err(|error| error.to_string())?;
    drop(writer);
    finished(command.stdin(reader), &[0])
}

fn finished(command: &mut Command, codes: &[i32]) -> Result<(Run, String), String> {
    let started = Instant::now();
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let mut output = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut output).map_err(|error| error.to_string())?;
    }
    let (run, status) = end(&child, started)?;
    if !status.code().is_some_and(|code| codes.contains(&code)) {
        return Err(format!("{command:?} failed: {status}"));
    }
    Ok((run, String::from_utf8_lossy(&output).into_owned()))
}

/// Waits for a child that must succeed, and measures it.
pub(crate) fn wait(child: &Child, started: Instant) -> Result<Run, String> {
    let (run, status) = end(child, started)?;
    if status.success() { Ok(run) } else { Err(format!("the measured program failed: {status}")) }
}

/// Waits for a child and measures it.
#[expect(unsafe_code, reason = "wait4 is the only call that gives the resources of one child")]
fn end(child: &Child, started: Instant) -> Result<(Run, ExitStatus), String> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid, and the child is ours and was not waited for.
    let (waited, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let id = i32::try_from(child.id()).map_err(|error| error.to_string())?;
        (libc::wait4(id, &raw mut status, 0, &raw mut usage), usage)
    };
    let wall = started.elapsed().as_secs_f64() * 1000.0;
    if waited < 0 {
        return Err(std::io::Error::last_os_error().to_string());
    }
    let milliseconds = |time: libc::timeval| time.tv_sec as f64 * 1000.0 + time.tv_usec as f64 / 1000.0;
    let cpu = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
    Ok((Run { wall, cpu, peak: usage.ru_maxrss }, ExitStatus::from_raw(status)))
}

/// The median of some figures.
pub(crate) fn median(figures: impl Iterator<Item = f64>) -> f64 {
    at(&figures.collect::<Vec<_>>(), 50)
}

/// The figure below which so many of a hundred lie.
pub(crate) fn at(figures: &[f64], percent: usize) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() * percent / 100).copied().unwrap_or(f64::NAN)
}

/// Rounded to three decimals, for people.
pub(crate) fn round(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}
