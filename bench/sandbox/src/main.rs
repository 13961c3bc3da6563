//! The time of `/bin/true` bare, as a child of Marvin, in bubblewrap and in the sandbox, taking
//! turns in one process. Prints JSON; `cargo xtask bench sandbox` builds and runs it.

use marvin_base::child::run_blocking;
use marvin_gate::JudgedCommand;
use marvin_gate::sandbox::{Policy, SandboxMode, enter, support};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 200;
const WARM_UP_ROUNDS: usize = 20;
/// Time that a sandboxed command may take more than a bare one.
const MAX_OVERHEAD: Duration = Duration::from_millis(12);

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    level: &'static str,
    bare_ms: f64,
    kept_ms: f64,
    bubblewrap_ms: Option<f64>,
    landlock_ms: f64,
    sandbox_ms: f64,
    overhead_ms: f64,
    target: String,
    ok: bool,
}

#[expect(clippy::print_stdout, reason = "the figures are its output")]
fn main() -> anyhow::Result<()> {
    println!("{}", serde_json::to_string_pretty(&measure()?)?);
    Ok(())
}

fn measure() -> anyhow::Result<Report> {
    let directory = tempfile::tempdir()?;
    let top = directory.path().canonicalize()?;
    let [workspace, temporary] = ["work", "temporary"].map(|name| top.join(name));
    std::fs::create_dir_all(workspace.join(".git/hooks"))?;
    std::fs::write(workspace.join(".git/config"), "[core]\n")?;
    std::fs::create_dir(&temporary)?;
    support();
    let (mut bare, mut kept, mut wrapped, mut landlock, mut namespaces) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let bubblewrap = Path::new("/usr/bin/bwrap").exists();
    for round in 0..WARM_UP_ROUNDS + ROUNDS {
        let first = time(|| bare_true(&workspace))?;
        let second = time(|| run_blocking(&child(&workspace)).map(|_| ()))?;
        let third = if bubblewrap { time(|| in_bubblewrap(&workspace))? } else { Duration::ZERO };
        let fourth = time(|| sandboxed(&workspace, &temporary, SandboxMode::Landlock))?;
        let fifth = time(|| sandboxed(&workspace, &temporary, SandboxMode::Auto))?;
        if round >= WARM_UP_ROUNDS {
            bare.push(first);
            kept.push(second);
            wrapped.push(third);
            landlock.push(fourth);
            namespaces.push(fifth);
        }
    }
    let [bare, kept, wrapped, landlock, namespaces] = [bare, kept, wrapped, landlock, namespaces].map(median);
    let overhead = namespaces.saturating_sub(bare);
    let ms = |time: Duration| (time.as_secs_f64() * 100_000.0).round() / 100.0;
    Ok(Report {
        bench: "sandbox",
        level: support().level.map_or("none", marvin_gate::sandbox::Level::word),
        bare_ms: ms(bare),
        kept_ms: ms(kept),
        bubblewrap_ms: bubblewrap.then(|| ms(wrapped)),
        landlock_ms: ms(landlock),
        sandbox_ms: ms(namespaces),
        overhead_ms: ms(overhead),
        target: format!(
            "a sandboxed command takes at most {} ms more than a bare one",
            MAX_OVERHEAD.as_millis()
        ),
        ok: overhead <= MAX_OVERHEAD,
    })
}

fn time(work: impl FnOnce() -> std::io::Result<()>) -> std::io::Result<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn child(workspace: &Path) -> JudgedCommand {
    let mut child = JudgedCommand::own("/bin/true", &[]);
    child.directory = Some(workspace.to_path_buf());
    child
}

fn bare_true(workspace: &Path) -> std::io::Result<()> {
    Command::new("/bin/true").current_dir(workspace).output().map(|_| ())
}

/// Everything unshared, as a program that sandboxes by bubblewrap calls it.
fn in_bubblewrap(workspace: &Path) -> std::io::Result<()> {
    let arguments =
        "--unshare-all --die-with-parent --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --bind"
            .split(' ');
    let mut command = Command::new("/usr/bin/bwrap");
    command.args(arguments).args([workspace, workspace]).args(["--", "/bin/true"]);
    command.stdin(Stdio::null()).output().map(|_| ())
}

fn sandboxed(workspace: &Path, temporary: &Path, wanted: SandboxMode) -> std::io::Result<()> {
    let mut child = child(workspace);
    child.limits.processes = Some(512);
    let mut policy = Policy::new(workspace, temporary);
    policy.home = std::env::var_os("HOME").map(PathBuf::from);
    policy.hidden = policy.home.as_deref().map(marvin_gate::secrets::places).unwrap_or_default();
    policy.protected = marvin_gate::sandbox::PROTECTED.iter().map(|place| workspace.join(place)).collect();
    enter(&mut child, policy, wanted).map_err(std::io::Error::other)?;
    run_blocking(&child).map(|_| ())
}
