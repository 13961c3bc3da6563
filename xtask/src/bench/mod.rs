//! Benchmarks. Each measures Marvin and a reference in the same run, taking turns, and prints both
//! with their ratio as JSON. The ratio is what counts: milliseconds differ from machine to machine.

mod engine;
mod file_read;
mod file_tree;
mod fleet;
mod front_ends;
mod gate;
mod grep;
pub(crate) mod honesty;
mod hook;
mod memory;
mod mtg;
mod offer;
mod prompt;
mod report;
mod sandbox;
mod skills;
mod start;
mod stream;
mod timing;
mod tree;

use crate::output::say;
use anyhow::bail;
use serde_json::Value;

/// A benchmark: returns a report whose `ok` says whether its targets are met.
type Bench = fn() -> anyhow::Result<Value>;

const BENCHMARKS: [(&str, Bench); 17] = [
    ("start", start::run),
    ("stream", stream::run),
    ("grep", grep::run),
    ("tools", file_read::run),
    ("tree", tree::run),
    ("gate", gate::run),
    ("hook", hook::run),
    ("honesty", honesty::run),
    ("engine", engine::run),
    ("memory", memory::run),
    ("faces", front_ends::run),
    ("sandbox", sandbox::run),
    ("prompt", prompt::run),
    ("skills", skills::run),
    ("mtg", mtg::run),
    ("offer", offer::run),
    ("fleet", fleet::run),
];

/// Runs one benchmark, or all; fails when a target is missed.
pub(crate) fn run(name: &str) -> anyhow::Result<()> {
    let chosen: Vec<_> = BENCHMARKS.iter().filter(|(known, _)| name == "all" || *known == name).collect();
    if chosen.is_empty() {
        let names = BENCHMARKS.map(|(name, _)| name).join(", ");
        bail!("unknown benchmark `{name}`; the benchmarks are: {names}, all");
    }
    let mut missed = Vec::new();
    for (name, bench) in chosen {
        let result = bench()?;
        say(format_args!("{result:#}"))?;
        if !report::is_ok(&result) {
            missed.push(*name);
        }
    }
    if !missed.is_empty() {
        bail!("targets missed: {}", missed.join(", "));
    }
    Ok(())
}
