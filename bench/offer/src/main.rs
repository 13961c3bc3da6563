//! Choosing the tools of a request, among all of Marvin's and among 1,000, against a copy of all their descriptions, which a
//! request without a choice would need. Prints JSON; `cargo xtask bench offer` builds and runs it.

use marvin_agent::ProjectContext;
use marvin_agent::agent_toolbox::agent_toolbox;
use marvin_agent::offering::Offering;
use marvin_base::environment::Environment;
use marvin_base::settings::Settings;
use marvin_gate::Access;
use marvin_model::{Message, ToolSpec};
use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 500;
const MANY_TOOLS: usize = 1_000;
const TARGET_US: f64 = 1_000.0;
const TARGET_MANY_US: f64 = 5_000.0;
/// Requests of different kinds; the last is as long as a person pastes.
const REQUESTS: [&str; 4] = [
    "How far is it to the moon?",
    "Is there a good ramen place near me, and will it rain?",
    "Remind me in twenty minutes to take the bread out, and put the dentist into my calendar for Friday",
    "Read the notes of the meeting and open a ticket for every task in them, then download the video of the talk",
];

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    what: &'static str,
    all: Figures,
    many: Figures,
    ok: bool,
}

#[derive(Serialize)]
struct Figures {
    tools: usize,
    copy_p50_us: f64,
    p50_us: f64,
    p95_us: f64,
    target_p95_us: f64,
    ok: bool,
}

#[expect(clippy::print_stdout, reason = "the figures are its output")]
fn main() -> anyhow::Result<()> {
    let all = every_tool()?;
    let mut many = all.clone();
    for number in 0.. {
        if many.len() >= MANY_TOOLS {
            break;
        }
        // Tools of MCP servers take part in the same way.
        let renamed =
            |spec: &ToolSpec| ToolSpec { name: format!("mcp__{number}__{}", spec.name), ..spec.clone() };
        many.extend(all.iter().map(renamed));
    }
    many.truncate(MANY_TOOLS);
    let (all, many) = (measure(&all, TARGET_US)?, measure(&many, TARGET_MANY_US)?);
    let ok = all.ok && many.ok;
    let what = "the first choice of a turn, over four requests";
    println!("{}", serde_json::to_string_pretty(&Report { bench: "offer", what, all, many, ok })?);
    Ok(())
}

/// Every tool of a session's agent with full access, in a project.
fn every_tool() -> anyhow::Result<Vec<ToolSpec>> {
    let place = tempfile::tempdir()?;
    let (home, root) = (place.path().join("home"), place.path().join("project"));
    for directory in [&home, &root] {
        std::fs::create_dir(directory)?;
    }
    let environment = Environment::from_iter([("HOME", home.display().to_string())]);
    let project = ProjectContext::find(environment, root.clone(), Some(&root), true, Vec::new())?;
    Ok(agent_toolbox(&project, &Access::Full).specs())
}

fn measure(tools: &[ToolSpec], target: f64) -> anyhow::Result<Figures> {
    let settings = Settings::defaults()?;
    let (mut copies, mut choices) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for request in REQUESTS {
            let messages = [Message::user(request)];
            let started = Instant::now();
            let copy = black_box(tools.to_vec());
            copies.push(started.elapsed().as_nanos());
            let offering = Offering::new(&settings, false, []);
            let started = Instant::now();
            let offered = black_box(offering.offer(copy, &messages));
            choices.push(started.elapsed().as_nanos());
            anyhow::ensure!(!offered.is_empty() && offered.len() < tools.len(), "{request}");
        }
    }
    let p95_us = percentile(&mut choices, 95);
    Ok(Figures {
        tools: tools.len(),
        copy_p50_us: percentile(&mut copies, 50),
        p50_us: percentile(&mut choices, 50),
        p95_us,
        target_p95_us: target,
        ok: p95_us <= target,
    })
}

/// A percentile of nanoseconds, in microseconds.
fn percentile(nanoseconds: &mut [u128], percent: usize) -> f64 {
    nanoseconds.sort_unstable();
    let time = nanoseconds.get(nanoseconds.len() * percent / 100).copied().unwrap_or(0);
    (time as f64 / 100.0).round() / 10.0
}
