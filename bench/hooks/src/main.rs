//! Scoring one file against 50 packs with 5,000 lessons, in one process.
//! `marvin-bench-hooks DIRECTORY` writes the packs into the directory and leaves them there, so
//! that the daemon of `cargo xtask bench hook` is measured with the same ones. Prints JSON.

use anyhow::{Context, bail};
use marvin_base::clock;
use marvin_hooks::packs::{self, InjectionHistory, Packs, RecentGuidance, sample};
use serde::Serialize;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const PACKS: usize = 50;
const LESSONS: usize = 5_000;
const ROUNDS: usize = 20_000;
const WARM_UP_ROUNDS: usize = 1_000;
/// Tokens that one injection may take.
const MAX_TOKENS: usize = 1_500;
const TARGET_MS: f64 = 1.0;
/// A file that packs match by its code, its extension, words of its path and recent corrections.
const FILE: &str = "src/area7/auth/user.test.ts";

#[derive(Serialize)]
struct Report {
    what: String,
    p50_ms: f64,
    p99_ms: f64,
    target_ms: f64,
    and_told: Percentiles,
    loading_ms: f64,
    runs: usize,
    ok: bool,
}

#[derive(Serialize)]
struct Percentiles {
    p50_ms: f64,
    p99_ms: f64,
}

#[expect(clippy::print_stdout, reason = "the figures are its output")]
fn main() -> anyhow::Result<()> {
    let directory =
        std::env::args_os().nth(1).map(PathBuf::from).context("usage: marvin-bench-hooks DIRECTORY")?;
    sample::write(&directory, PACKS, LESSONS)?;
    println!("{}", serde_json::to_string_pretty(&measure(directory)?)?);
    Ok(())
}

fn measure(directory: PathBuf) -> anyhow::Result<Report> {
    let started = Instant::now();
    let loaded = Packs::load(&[directory]);
    let loading = started.elapsed();
    let lessons: usize = loaded.all().iter().map(|pack| pack.lessons.len()).sum();
    if (loaded.all().len(), lessons) != (PACKS, LESSONS) {
        bail!("not all packs were loaded");
    }
    let now = clock::now();
    let recent = RecentGuidance {
        corrections: vec![("area-7".into(), now), ("testing".into(), now)],
        categories: vec!["security".into()],
    };
    let (mut scoring, mut injecting) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP_ROUNDS + ROUNDS {
        let started = Instant::now();
        let scored = black_box(loaded.score(black_box(FILE), &recent));
        let first = started.elapsed();
        let injected = black_box(packs::inject(&scored, FILE, &mut InjectionHistory::default(), MAX_TOKENS));
        if injected.is_none() {
            bail!("no guidance was injected");
        }
        if round >= WARM_UP_ROUNDS {
            scoring.push(first);
            injecting.push(started.elapsed());
        }
    }
    scoring.sort();
    injecting.sort();
    let p99 = at(&scoring, 99);
    Ok(Report {
        what: format!("one file scored against {PACKS} packs with {LESSONS} lessons"),
        p50_ms: at(&scoring, 50),
        p99_ms: p99,
        target_ms: TARGET_MS,
        and_told: Percentiles { p50_ms: at(&injecting, 50), p99_ms: at(&injecting, 99) },
        loading_ms: milliseconds(loading),
        runs: ROUNDS,
        ok: p99 <= TARGET_MS,
    })
}

fn at(sorted: &[Duration], percent: usize) -> f64 {
    sorted.get(sorted.len() * percent / 100).copied().map_or(f64::NAN, milliseconds)
}

/// Milliseconds with four decimals.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e7).round() / 1e4
}
