//! One guarded read of a small file against a plain one, taking turns in one process. Prints JSON; `cargo xtask bench tools`
//! builds and runs it.

use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::redact::Redactor;
use marvin_base::settings::{Settings, Sources};
use marvin_gate::{Access, Duty, Layers, Permit, Workspace};
use marvin_model::Arguments;
use marvin_tools::{Mode, ToolContext, Toolbox};
use serde_json::{Value, json};
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 20_000;
const WARM: usize = 2_000;
const TARGET: f64 = 3.0;
const FILE: &str = "src/module/file.rs";

#[expect(clippy::print_stdout, reason = "the figures are its output")]
fn main() -> Result<(), Box<dyn Error>> {
    // As the binary runs its tools.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{:#}", runtime.block_on(measure())?);
    Ok(())
}

async fn measure() -> Result<Value, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let home = directory.path().canonicalize()?;
    let root = home.join("work");
    let file = root.join(FILE);
    std::fs::create_dir_all(file.parent().unwrap_or(&root))?;
    let line = "    let value = compute(first, second)?; // a line of code\n";
    std::fs::write(&file, line.repeat(4096 / line.len()))?;
    let context = context(&home, &root)?;
    let toolbox = Toolbox::new(Mode::Coding, &Access::Full);
    let arguments = Arguments::from_value(json!({"path": FILE}));

    let (mut plain, mut numbered, mut guarded) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..WARM + ROUNDS {
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
            return Err(called.result.for_model().into());
        }
        if round >= WARM {
            plain.push(first.as_nanos());
            numbered.push(second.as_nanos());
            guarded.push(third.as_nanos());
        }
    }
    let (plain, numbered, guarded) = (
        Figures::from_nanoseconds(plain),
        Figures::from_nanoseconds(numbered),
        Figures::from_nanoseconds(guarded),
    );
    let ratio = guarded.p50 / plain.p50;
    Ok(json!({
        "bench": "tools",
        "what": format!("a file of 4 KB, {ROUNDS} reads each, taking turns"),
        "reference": plain.show("std::fs::read_to_string"),
        "numbered": numbered.show("std::fs::read_to_string, and the same line numbers"),
        "marvin": guarded.show("Toolbox::call read_file: understood, judged, read, numbered, redacted"),
        "ratio": rounded(ratio), "ratio_to_numbered": rounded(guarded.p50 / numbered.p50), "target_ratio": TARGET,
        "ok": ratio <= TARGET,
    }))
}

fn context(home: &Path, root: &Path) -> Result<ToolContext, Box<dyn Error>> {
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

/// The plainest way to number lines.
fn number(text: &str) -> String {
    text.lines().enumerate().map(|(number, line)| format!("\n{:>2} | {line}", number + 1)).collect()
}

struct Figures {
    p50: f64,
    p95: f64,
}

impl Figures {
    fn from_nanoseconds(mut nanoseconds: Vec<u128>) -> Self {
        nanoseconds.sort_unstable();
        let at = |share: usize| nanoseconds.get(nanoseconds.len() * share / 100).copied().unwrap_or(0) as f64;
        Figures { p50: at(50) / 1000.0, p95: at(95) / 1000.0 }
    }

    fn show(&self, what: &str) -> Value {
        json!({"what": what, "p50_us": rounded(self.p50), "p95_us": rounded(self.p95)})
    }
}

fn rounded(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}
