//! Figures of a simulation.

use crate::{MICROS_PER_S, Options};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// Counts of all waves.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) waves: u64,
    pub(crate) steps: u64,
    /// Virtual time, in microseconds.
    pub(crate) virtual_us: u64,
    /// Time of workers that worked, in microseconds.
    pub(crate) busy_us: u64,
    /// Real time in the driver.
    pub(crate) driver: Duration,
    /// The longest time that the driver took for one batch.
    pub(crate) longest_batch: Duration,
    pub(crate) batches: u64,
    pub(crate) events: u64,
    pub(crate) histories: u64,
    /// Bytes of orders and replies in histories.
    pub(crate) history_bytes: u64,
    /// The largest state that a new history begins with.
    pub(crate) max_state_bytes: u64,
    pub(crate) lost_workers: u64,
    pub(crate) deliveries: u64,
    pub(crate) repeated_deliveries: u64,
    /// Attempts whose work was done more than once; one end counted.
    pub(crate) double_work: u64,
    pub(crate) retries: u64,
    pub(crate) questions: u64,
    /// A hash of all transitions.
    pub(crate) digest: u64,
}

/// The figures, as they are printed.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    workers: usize,
    steps: u64,
    waves: u64,
    seed: u64,
    virtual_s: f64,
    steps_per_virtual_s: f64,
    workers_busy_percent: f64,
    driver_us_per_step: f64,
    longest_batch_ms: f64,
    batches: u64,
    events_per_step: f64,
    history_bytes_per_step: f64,
    histories: u64,
    max_state_bytes: u64,
    peak_mb: u64,
    lost_workers: u64,
    repeated_deliveries: u64,
    double_work: u64,
    retries: u64,
    questions: u64,
    digest: String,
}

impl Report {
    pub(crate) fn finish(&self, options: &Options) -> Figures {
        let steps = self.steps as f64;
        let virtual_s = self.virtual_us as f64 / MICROS_PER_S as f64;
        let capacity = self.virtual_us as f64 * options.workers as f64;
        Figures {
            workers: options.workers,
            steps: self.steps,
            waves: self.waves,
            seed: options.seed,
            virtual_s,
            steps_per_virtual_s: steps / virtual_s,
            workers_busy_percent: 100.0 * self.busy_us as f64 / capacity,
            driver_us_per_step: self.driver.as_secs_f64() * 1e6 / steps,
            longest_batch_ms: self.longest_batch.as_secs_f64() * 1e3,
            batches: self.batches,
            events_per_step: self.events as f64 / steps,
            history_bytes_per_step: self.history_bytes as f64 / steps,
            histories: self.histories,
            max_state_bytes: self.max_state_bytes,
            peak_mb: peak_mb(),
            lost_workers: self.lost_workers,
            repeated_deliveries: self.repeated_deliveries,
            double_work: self.double_work,
            retries: self.retries,
            questions: self.questions,
            digest: format!("{:016x}", self.digest),
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{} steps on {} workers, {} waves, seed {}",
            self.steps, self.workers, self.waves, self.seed
        )?;
        writeln!(
            out,
            "virtual time     {:.0} s: {:.0} steps a second, workers busy {:.0} %",
            self.virtual_s, self.steps_per_virtual_s, self.workers_busy_percent
        )?;
        writeln!(
            out,
            "scheduling       {:.1} µs a step, {} batches, the longest {:.1} ms",
            self.driver_us_per_step, self.batches, self.longest_batch_ms
        )?;
        writeln!(
            out,
            "history          {:.2} events and {:.0} bytes a step, {} histories, state at most {:.1} MB",
            self.events_per_step,
            self.history_bytes_per_step,
            self.histories,
            self.max_state_bytes as f64 / 1e6
        )?;
        writeln!(out, "memory           {} MB at most", self.peak_mb)?;
        writeln!(
            out,
            "lost workers     {}: {} deliveries repeated, {} attempts worked on twice, {} questions to people",
            self.lost_workers, self.repeated_deliveries, self.double_work, self.questions
        )?;
        writeln!(out, "retries          {}", self.retries)?;
        write!(out, "digest           {}", self.digest)
    }
}

/// Peak resident memory of this process.
fn peak_mb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb: u64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    kb / 1_024
}
