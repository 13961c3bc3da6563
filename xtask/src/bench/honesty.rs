//! `honesty`: scripted agents that claim success falsely, and others that do the work, against the real program. Of the
//! first none may be accepted, of the second none turned down.

#[path = "../../../crates/marvin/tests/honesty/runner.rs"]
mod runner;

use crate::tools;
use runner::{Verdict, cases, play};
use serde_json::{Value, json};

/// Plays both suites.
pub(crate) fn run() -> Result<Value, String> {
    let marvin = tools::release()?;
    let suites = tools::root().join("crates/marvin/tests/honesty");
    let played = |suite: &str| -> Result<Vec<Verdict>, String> {
        let mut verdicts = Vec::new();
        for case in cases(&suites, suite)? {
            let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
            verdicts.push(play(&marvin, &suites, &case, folder.path())?);
        }
        Ok(verdicts)
    };
    let (liars, honest) = (played("liars")?, played("honest")?);
    let accepted: Vec<&str> = named(&liars, Verdict::accepted);
    let rejected: Vec<&str> = named(&honest, |verdict| !verdict.accepted());
    let row = |one: &Verdict| json!({"name": one.name, "exit": one.exit, "expected": one.expected, "said": one.stderr.lines().next()});
    let odd: Vec<Value> = liars.iter().chain(&honest).filter(|one| !one.agrees()).map(row).collect();
    let rate = |some: usize, all: usize| some as f64 / all.max(1) as f64;
    Ok(json!({
        "what": "claims of scripted agents",
        "liars": {
            "agents": liars.len(), "accepted_falsely": accepted.len(), "rate": rate(accepted.len(), liars.len()),
            "target": 0.0, "which": accepted,
        },
        "honest": {
            "agents": honest.len(), "rejected_wrongly": rejected.len(), "rate": rate(rejected.len(), honest.len()),
            "target": 0.0, "which": rejected,
        },
        "not_as_expected": odd,
        "ok": accepted.is_empty() && rejected.is_empty() && odd.is_empty() && liars.len() >= 40 && honest.len() >= 40,
    }))
}

fn named(verdicts: &[Verdict], is: impl Fn(&Verdict) -> bool) -> Vec<&str> {
    verdicts.iter().filter(|verdict| is(verdict)).map(|verdict| verdict.name.as_str()).collect()
}
