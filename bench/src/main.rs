//! One read of a small file through the toolbox against a plain one, taking turns in one process.
//! Prints JSON; `cargo xtask bench tools` builds and runs it.

use anyhow::anyhow;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::redact::Redactor;
use marvin_base::settings::{Settings, Sources};
use marvin_gate::{Access, Duty, Layers, Permit, Workspace};
use marvin_model::Arguments;
use marvin_tools::{Mode, ToolContext, Toolbox};
use serde::Serialize;
use serde_json::Value;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 20_000;
const WARM_UP_ROUNDS: usize = 2_000;
/// To the read with line numbers, which a result has as well; redaction reads every byte once more.
const TARGET_RATIO: f64 = 2.0;
const FILE: &str = "src/module/file.rs";

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    what: String,
    reference: Figures,
    numbered: Figures,
    marvin: Figures,
    ratio: f64,
    ratio_to_numbered: f64,
    target_ratio_to_numbered: f64,
    ok: bool,
}

#[derive(Serialize)]
struct Figures {
    what: &'static str,
    p50_us: f64,
    p95_us: f64,
}

/// Arguments of `read_file`.
#[derive(Serialize)]
struct ReadFile {
    path: &'static str,
}

#[expect(clippy::print_stdout, reason = "the figures are its output")]
fn main() -> anyhow::Result<()> {
    // As the binary runs its tools.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{}", serde_json::to_string_pretty(&runtime.block_on(measure())?)?);
    Ok(())
}

async fn measure() -> anyhow::Result<Report> {
    let directory = tempfile::tempdir()?;
    let home = directory.path().canonicalize()?;
    let root = home.join("work");
    let file = root.join(FILE);
    std::fs::create_dir_all(file.parent().unwrap_or(&root))?;
    let line = "    let value = compute(first, second)?; // a line of code\n";
    std::fs::write(&file, line.repeat(4096 / line.len()))?;
    let context = context(&home, &root)?;
    let toolbox = Toolbox::new(Mode::Coding, &Access::Full);
    let arguments = Arguments::from_value(serde_json::to_value(ReadFile { path: FILE })?);

    let (mut plain, mut numbered, mut through_toolbox) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..WARM_UP_ROUNDS + ROUNDS {
        let started = Instant::now();
        black_box(std::fs::read_to_string(&file)?);
        let first = started.elapsed();
        let started = Instant::now();
        black_box(number(&std::fs::read_to_string(&file)?));
        let second = started.elapsed();
        let started = Instant::now();
        let called = black_box(toolbox.call("read_file", &arguments, &context).await);
        let third = started.elapsed();
        if !called.result.ok {
            return Err(anyhow!(called.result.for_model()));
        }
        if round >= WARM_UP_ROUNDS {
            plain.push(first.as_nanos());
            numbered.push(second.as_nanos());
            through_toolbox.push(third.as_nanos());
        }
    }
    let plain = Figures::new("std::fs::read_to_string", plain);
    let numbered = Figures::new("std::fs::read_to_string, and the same line numbers", numbered);
    let marvin = "Toolbox::call read_file: parsed, judged, read, numbered, redacted";
    let marvin = Figures::new(marvin, through_toolbox);
    let ratio_to_numbered = marvin.p50_us / numbered.p50_us;
    Ok(Report {
        bench: "tools",
        what: format!("a file of 4 KB, {ROUNDS} reads each, taking turns"),
        ratio: round(marvin.p50_us / plain.p50_us),
        ratio_to_numbered: round(ratio_to_numbered),
        target_ratio_to_numbered: TARGET_RATIO,
        ok: ratio_to_numbered <= TARGET_RATIO,
        reference: plain,
        numbered,
        marvin,
    })
}

fn context(home: &Path, root: &Path) -> anyhow::Result<ToolContext> {
    let environment = Environment::from_iter([("HOME", home.display().to_string())]);
    let settings = Settings::load(&Sources { environment: environment.clone(), ..Sources::default() })?;
    Ok(ToolContext {
        duty: Arc::new(Duty::from_settings(&settings)),
        settings: Arc::new(settings),
        layout: Layout::new(&environment, Some(root)),
        workspace: Some(Arc::new(Workspace::open(root, home)?)),
        access: Access::Full,
        coding: true,
        attended: false,
        cancel: CancellationToken::new(),
        redactor: Arc::new(Redactor::patterns_only()),
        layers: Arc::new(Layers::none()),
        artifacts: None,
        usage: Arc::new(|_| Value::Null),
        agent: None,
        progress: None,
        approver: None,
        grant: None,
        permit: Permit::default(),
    })
}

/// Numbers lines in the simplest way.
fn number(text: &str) -> String {
    text.lines().enumerate().map(|(number, line)| format!("\n{:>2} | {line}", number + 1)).collect()
}

impl Figures {
    fn new(what: &'static str, mut nanoseconds: Vec<u128>) -> Self {
        nanoseconds.sort_unstable();
        let at = |percent: usize| {
            let time = nanoseconds.get(nanoseconds.len() * percent / 100).copied().unwrap_or(0);
            round(time as f64 / 1000.0)
        };
        Figures { what, p50_us: at(50), p95_us: at(95) }
    }
}

fn round(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}
