//! Scoring one file against 50 packs with 5,000 lessons, in one process. `marvin-bench-hooks DIRECTORY` writes the packs into the
//! directory and leaves them there, so that the daemon of `cargo xtask bench hook` is measured with the same ones. Prints JSON.

use marvin_base::clock;
use marvin_hooks::packs::{self, InjectionHistory, Packs, RecentGuidance, sample};
use serde_json::{Value, json};
use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const PACKS: usize = 50;
const LESSONS: usize = 5_000;
const ROUNDS: usize = 20_000;
const WARM: usize = 1_000;
/// Tokens that one telling may take.
const TOKENS: usize = 1_500;
const TARGET_MS: f64 = 1.0;
/// A file that packs speak of: its code, its extension, words of its path and what was corrected.
const FILE: &str = "src/area7/auth/user.test.ts";

#[expect(clippy::print_stdout, reason = "the figures are its output")]
fn main() -> Result<(), Box<dyn Error>> {
    let directory =
        std::env::args_os().nth(1).map(PathBuf::from).ok_or("a directory for the packs is needed")?;
    sample::write(&directory, PACKS, LESSONS)?;
    println!("{:#}", measure(directory)?);
    Ok(())
}

fn measure(directory: PathBuf) -> Result<Value, Box<dyn Error>> {
    let started = Instant::now();
    let loaded = Packs::load(&[directory]);
    let loading = started.elapsed();
    let lessons: usize = loaded.all().iter().map(|pack| pack.lessons.len()).sum();
    if (loaded.all().len(), lessons) != (PACKS, LESSONS) {
        return Err("not all packs were read".into());
    }
    let now = clock::now();
    let recent = RecentGuidance {
        corrections: vec![("area-7".into(), now), ("testing".into(), now)],
        categories: vec!["security".into()],
    };
    let (mut scoring, mut telling) = (Vec::new(), Vec::new());
    for round in 0..WARM + ROUNDS {
        let started = Instant::now();
        let scored = black_box(loaded.score(black_box(FILE), &recent));
        let first = started.elapsed();
        let told = black_box(packs::inject(&scored, FILE, &mut InjectionHistory::default(), TOKENS));
        if told.is_none() {
            return Err("nothing was told".into());
        }
        if round >= WARM {
            scoring.push(first);
            telling.push(started.elapsed());
        }
    }
    scoring.sort();
    telling.sort();
    let (p50, p99) = (at(&scoring, 50), at(&scoring, 99));
    Ok(json!({
        "what": format!("one file scored against {PACKS} packs with {LESSONS} lessons"),
        "p50_ms": p50, "p99_ms": p99, "target_ms": TARGET_MS,
        "and_told": {"p50_ms": at(&telling, 50), "p99_ms": at(&telling, 99)},
        "loading_ms": rounded(loading), "runs": ROUNDS,
        "ok": p99 <= TARGET_MS,
    }))
}

fn at(sorted: &[Duration], percent: usize) -> f64 {
    sorted.get(sorted.len() * percent / 100).copied().map_or(f64::NAN, rounded)
}

/// Milliseconds with four decimals.
fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e7).round() / 1e4
}
