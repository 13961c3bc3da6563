//! Judging command lines against a bare parse of the same lines by the same parsers, taking turns in one process on one
//! core. `marvin-bench-gate [FILE]` takes lines from a JSONL file with `command`, else the seeds of the metamorphic tests.
//! Prints JSON; `cargo xtask bench gate` builds and runs it.

#[path = "../../../crates/gate/tests/metamorphic/seeds.rs"]
mod seeds;

use brush_parser::{Parser, ParserOptions, Token, uncached_tokenize_str, word};
use marvin_gate::effects::{Grounds, judge};
use serde_json::{Value, json};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

const GROUNDS: Grounds<'static> = Grounds { workspace: "/home/me/project", home: "/home/me" };
const ROUNDS: usize = 15;
const TARGET_RATE: f64 = 15_000.0;
const TARGET_P99: f64 = 300.0;
const TARGET_RATIO: f64 = 4.0;

#[expect(clippy::print_stdout, reason = "the figures are its output")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("{:#}", measure(std::env::args().nth(1).as_deref())?);
    Ok(())
}

fn measure(file: Option<&str>) -> Result<Value, Box<dyn Error>> {
    let (set, lines) = match file {
        Some(file) => ("the lines of the file that was given", from_file(file)?),
        None => ("our own lines: the seeds of the metamorphic tests", own()),
    };
    let started = Instant::now();
    black_box(judge("ls -la | head", GROUNDS.workspace, GROUNDS));
    let cold = started.elapsed();
    let mut second = tree_sitter::Parser::new();
    second.set_language(&tree_sitter_bash::LANGUAGE.into())?;
    // The words of each line, so that taking a line apart is not measured twice.
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
        // The first round warms up; of the others the best counts, for other work disturbs all the rest.
        if round > 0 {
            judged.keep(one);
            first.keep(two);
            both.keep(three);
        }
    }
    let (rate, p99) = (judged.rate(), judged.at(99));
    // A line is read twice where its verdict depends on it, so both parsers are the reference; the first alone stands beside it.
    let (ratio, ratio_first) = (judged.sum() / both.sum(), judged.sum() / first.sum());
    Ok(json!({
        "bench": "gate",
        "what": format!("{set}: {} lines, {ROUNDS} rounds, processor time of one thread, the best round", lines.len()),
        "reference": both.show("a bare parse: brush-parser with words, and tree-sitter-bash"),
        "first_parser": first.show("a bare parse: brush-parser with words"),
        "marvin": judged.show("judge: read, confirmed by a second reader where that can change the verdict, every segment resolved, its effects weighed"),
        "first_call_us": rounded(cold.as_secs_f64() * 1e6),
        "target_commands_per_second": TARGET_RATE, "target_p99_us": TARGET_P99,
        "ratio": rounded(ratio), "target_ratio": TARGET_RATIO, "ratio_to_first_parser": rounded(ratio_first),
        "ok": rate >= TARGET_RATE && p99 <= TARGET_P99 && ratio <= TARGET_RATIO,
    }))
}

fn own() -> Vec<String> {
    let dangerous = seeds::DANGEROUS.iter().flat_map(|(_, lines)| lines.iter());
    dangerous.chain(seeds::SAFE).map(ToString::to_string).collect()
}

fn from_file(file: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let mut lines = Vec::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line)?;
        lines.extend(row.get("command").and_then(Value::as_str).map(str::to_string));
    }
    if lines.is_empty() { Err(format!("{file} holds no commands").into()) } else { Ok(lines) }
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
    let started = processor_time();
    work();
    processor_time().saturating_sub(started)
}

fn processor_time() -> Duration {
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

    /// Microseconds that this share of the lines does not exceed.
    fn at(&self, share: usize) -> f64 {
        self.0.get(self.0.len() * share / 100).map_or(0.0, |time| time.as_secs_f64() * 1e6)
    }

    fn show(&self, what: &str) -> Value {
        json!({
            "what": what, "commands_per_second": self.rate().round(),
            "p50_us": rounded(self.at(50)), "p99_us": rounded(self.at(99)),
        })
    }
}

fn rounded(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}
