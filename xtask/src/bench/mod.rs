//! Benchmarks. Each measures Marvin and a reference in the same run, taking turns, and prints both with their ratio as
//! JSON. The ratio is what counts: milliseconds differ from machine to machine.

mod engine;
mod faces;
mod forest;
mod grep;
mod guarded;
pub(crate) mod honesty;
mod hook;
mod judged;
mod listing;
mod remembered;
mod sandboxed;
mod start;
mod stream;
mod timing;

use serde_json::Value;

/// A benchmark: measures, and says by `ok` whether its targets hold.
type Bench = fn() -> Result<Value, String>;

const ALL: [(&str, Bench); 12] = [
    ("start", start::run),
    ("stream", stream::run),
    ("grep", grep::run),
    ("tools", guarded::run),
    ("tree", listing::run),
    ("gate", judged::run),
    ("hook", hook::run),
    ("honesty", honesty::run),
    ("engine", engine::run),
    ("memory", remembered::run),
    ("faces", faces::run),
    ("sandbox", sandboxed::run),
];

/// The names of all.
pub(crate) fn names() -> String {
    ALL.map(|(name, _)| name).join(", ")
}

/// Runs one benchmark, or all; fails when a target is missed.
pub(crate) fn run(name: &str) -> Result<(), String> {
    let chosen: Vec<_> = ALL.iter().filter(|(known, _)| name == "all" || *known == name).collect();
    if chosen.is_empty() {
        return Err(format!("there is no benchmark `{name}` (there are: {}, all)", names()));
    }
    let mut missed = Vec::new();
    for (name, bench) in chosen {
        let result = bench()?;
        crate::say(&format!("{result:#}"));
        if result.get("ok").and_then(Value::as_bool) != Some(true) {
            missed.push(*name);
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("targets missed: {}", missed.join(", "))) }
}
