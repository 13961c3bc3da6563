//! Judging command lines against a bare parse of the same lines by the same parsers, taking turns
//! in one process on one core. `marvin-bench-gate [FILE]` takes lines from a JSONL file with
//! `command`, else the seeds of the metamorphic tests. Prints JSON; `cargo xtask bench gate` builds
//! and runs it.

#[path = "../../../crates/gate/tests/metamorphic/seeds.rs"]
mod seeds;

use anyhow::{Context, bail};
use brush_parser::{Parser, ParserOptions, Token, uncached_tokenize_str, word};
use marvin_gate::effects::{Grounds, judge};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::{Duration, Instant};

const GROUNDS: Grounds<'static> = Grounds { workspace: "/home/me/project", home: "/home/me" };
const ROUNDS: usize = 15;
const TARGET_RATE: f64 = 15_000.0;
const TARGET_P99_US: f64 = 300.0;
const TARGET_RATIO: f64 = 4.0;

#[derive(Serialize)]
struct Side {
    what: &'static str,
    commands_per_second: f64,
    p50_us: f64,
    p99_us: f64,
}

/// A row of the file with lines.
#[derive(Deserialize)]
struct Row {
    command: Option<String>,
}

#[expect(clippy::print_stdout, reason = "the figures are its output")]
fn main() -> anyhow::Result<()> {
    println!("{:#}", measure(std::env::args().nth(1).as_deref())?);
    Ok(())
}

fn measure(file: Option<&str>) -> anyhow::Result<Value> {
    let (set, lines) = match file {
        Some(file) => ("the lines of a file", read_lines(file)?),
        None => ("our own lines: the seeds of the metamorphic tests", own_lines()),
    };
    let started = Instant::now();
    black_box(judge("ls -la | head", GROUNDS.workspace, GROUNDS));
    let cold = started.elapsed();
    let mut second = tree_sitter::Parser::new();
    second.set_language(&tree_sitter_bash::LANGUAGE.into())?;
    // The words of each line, so that the tokenizer is not measured twice.
    let words: Vec<Vec<String>> = lines.iter().map(|line| words(line)).collect();

    let (mut judged, mut first, mut both) = (Figures::default(), Figures::default(), Figures::default());
    for round in 0..=ROUNDS {
        let (mut one, mut two, mut three) = (Vec::new(), Vec::new(), Vec::new());
        for (line, words) in lines.iter().zip(&words) {
            one.push(timed(|| {
                black_box(judge(line, GROUNDS.workspace, GROUNDS));
            }));
            let parsed = timed(|| {
                black_box(Parser::new(line.as_bytes(), &ParserOptions::default()).parse_program().ok());
                for text in words {
                    black_box(word::parse(text, &ParserOptions::default()).ok());
                }
            });
            let seen = timed(|| {
                black_box(second.parse(line, None));
            });
            two.push(parsed);
            three.push(parsed + seen);
        }
        // The first round warms up; of the others the best counts, because other work of the
        // machine disturbs the rest.
        if round > 0 {
            judged.keep(one);
            first.keep(two);
            both.keep(three);
        }
    }
    let (rate, p99) = (judged.rate(), judged.at(99));
    // A line is parsed twice where its verdict depends on it, so both parsers are the reference;
    // the first alone is reported, too.
    let ratio = judged.sum() / both.sum();
    let marvin = "judge: parsed, confirmed by a second parser where that can change the verdict, every segment \
                  resolved, its effects weighed";
    let (lines, ratio_to_first) = (lines.len(), round(judged.sum() / first.sum()));
    Ok(json!({
        "bench": "gate",
        "what": format!("{set}: {lines} lines, {ROUNDS} rounds, CPU time of one thread, the best round"),
        "reference": both.to_side("a bare parse: brush-parser with words, and tree-sitter-bash"),
        "first_parser": first.to_side("a bare parse: brush-parser with words"),
        "marvin": judged.to_side(marvin),
        "first_call_us": round(cold.as_secs_f64() * 1e6),
        "target_commands_per_second": TARGET_RATE, "target_p99_us": TARGET_P99_US,
        "ratio": round(ratio), "target_ratio": TARGET_RATIO, "ratio_to_first_parser": ratio_to_first,
        "ok": rate >= TARGET_RATE && p99 <= TARGET_P99_US && ratio <= TARGET_RATIO,
    }))
}

fn own_lines() -> Vec<String> {
    let dangerous = seeds::DANGEROUS.iter().flat_map(|(_, lines)| lines.iter());
    dangerous.chain(seeds::SAFE).map(ToString::to_string).collect()
}

fn read_lines(file: &str) -> anyhow::Result<Vec<String>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let mut lines = Vec::new();
    for line in text.lines() {
        lines.extend(serde_json::from_str::<Row>(line)?.command);
    }
    if lines.is_empty() {
        bail!("{file} has no commands");
    }
    Ok(lines)
}

fn words(line: &str) -> Vec<String> {
    let tokens = uncached_tokenize_str(line, &brush_parser::TokenizerOptions::default()).unwrap_or_default();
    let text = |token: Token| match token {
        Token::Word(text, _) => Some(text),
        Token::Operator(..) => None,
    };
    tokens.into_iter().filter_map(text).collect()
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = cpu_time();
    work();
    cpu_time().saturating_sub(started)
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The times of the best round, sorted.
#[derive(Default)]
struct Figures(Vec<Duration>);

impl Figures {
    fn keep(&mut self, mut times: Vec<Duration>) {
        times.sort_unstable();
        if self.0.is_empty() || times.iter().sum::<Duration>() < self.0.iter().sum() {
            self.0 = times;
        }
    }

    fn sum(&self) -> f64 {
        self.0.iter().sum::<Duration>().as_secs_f64()
    }

    fn rate(&self) -> f64 {
        self.0.len() as f64 / self.sum()
    }

    /// Percentile in microseconds.
    fn at(&self, percent: usize) -> f64 {
        self.0.get(self.0.len() * percent / 100).map_or(0.0, |time| time.as_secs_f64() * 1e6)
    }

    fn to_side(&self, what: &'static str) -> Side {
        Side {
            what,
            commands_per_second: self.rate().round(),
            p50_us: round(self.at(50)),
            p99_us: round(self.at(99)),
        }
    }
}

fn round(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}
