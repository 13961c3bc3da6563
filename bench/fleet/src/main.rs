//! Runs of many steps on many simulated workers, in virtual time and deterministic by seed.
//!
//! What is real: the driver that a durable engine runs (`marvin_flow::remote`), with its machine, its values and its retry gate.
//! What is simulated: the queue, workers with latencies and durations, workers that are lost or frozen, the store of ends, and
//! people who settle what is not known. A run of more steps than a wave has is made wave by wave, as child workflows would.
//!
//! Each wave is checked: every step succeeded, every key has one end, and no step that must not be repeated was repeated
//! without a person.

mod chance;
mod report;
mod wave;

use anyhow::bail;
use clap::Parser;
use report::Report;
use std::sync::Arc;
use wave::Wave;

const MICROS_PER_S: u64 = 1_000_000;

/// A run of many steps on many simulated workers
#[derive(Debug, Clone, Parser)]
#[command(name = "cargo xtask fleet-sim")]
pub(crate) struct Options {
    /// Workers, each with one slot
    #[arg(long, default_value_t = 1_000)]
    workers: usize,
    /// Steps of all waves together
    #[arg(long, default_value_t = 100_000)]
    steps: usize,
    /// Steps of one wave, which has a history of its own
    #[arg(long, default_value_t = 100_000)]
    wave: usize,
    /// How steps depend on each other
    #[arg(long, default_value = "fan", value_parser = ["fan", "chain", "levels"])]
    shape: String,
    /// The seed of everything that is random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The mean duration of an attempt, in milliseconds
    #[arg(long, default_value_t = 2_000)]
    work_ms: u64,
    /// The mean time from the queue to a worker and back, in milliseconds
    #[arg(long, default_value_t = 20)]
    latency_ms: u64,
    /// The time that the engine takes for a batch of events, in milliseconds
    #[arg(long, default_value_t = 10)]
    task_ms: u64,
    /// The mean time until a worker is lost, in seconds; 0: never
    #[arg(long, default_value_t = 600)]
    loss_s: u64,
    /// Of a hundred lost workers, those that are only frozen and end their work later
    #[arg(long, default_value_t = 50)]
    frozen_percent: u64,
    /// The time after which a silent worker counts as lost, in seconds
    #[arg(long, default_value_t = 30)]
    heartbeat_s: u64,
    /// Of a hundred steps, those that must not be repeated
    #[arg(long, default_value_t = 5)]
    once_percent: u64,
    /// Of a hundred first attempts, those that fail and are retried
    #[arg(long, default_value_t = 1)]
    fail_percent: u64,
    /// Events of a history after which the engine continues with a new one
    #[arg(long, default_value_t = 4_096)]
    continue_at: u64,
    /// The report as JSON
    #[arg(long)]
    json: bool,
}

#[expect(clippy::print_stdout, reason = "the figures are its output")]
fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    if options.workers == 0 || options.steps == 0 || options.wave == 0 {
        bail!("--workers, --steps and --wave must be at least 1");
    }
    let mut report = Report::default();
    let mut left = options.steps;
    let mut workflow = None;
    while left > 0 {
        let size = left.min(options.wave);
        let same = workflow.take().filter(|one: &Arc<marvin_flow::spec::Workflow>| one.steps.len() == size);
        let steps = match same {
            Some(steps) => steps,
            None => Arc::new(wave::workflow(&options, size)?),
        };
        Wave::new(&options, steps.clone(), report.waves).run(&mut report)?;
        workflow = Some(steps);
        left -= size;
    }
    match options.json {
        true => println!("{}", serde_json::to_string(&report.finish(&options))?),
        false => println!("{}", report.finish(&options)),
    }
    Ok(())
}
