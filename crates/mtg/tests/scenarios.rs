//! Rules scenarios: those of the crate always, the engine-neutral file where it exists.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use marvin_mtg::scenario::{PoolSource, ScenarioFile, ScenarioResult, run_scenario};
use std::path::PathBuf;

fn run_file(text: &str) -> Vec<ScenarioResult> {
    let file: ScenarioFile = serde_json::from_str(text).expect("scenario file");
    file.scenarios.iter().map(|scenario| run_scenario(scenario, &PoolSource)).collect()
}

fn report(results: &[ScenarioResult]) -> usize {
    for result in results.iter().filter(|result| !result.ok) {
        eprintln!("{}: {}", result.id, result.why);
    }
    results.iter().filter(|result| !result.ok).count()
}

/// The shared file, named by a variable or beside the checkout.
fn shared_file() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("MTG_SCENARIOS") {
        return Some(PathBuf::from(path));
    }
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|parent| parent.join("shared/data/mtg/scenarios.json")).find(|path| path.is_file())
}

#[test]
fn shared_scenarios_pass() {
    let Some(path) = shared_file() else {
        eprintln!("skipped: no file of shared scenarios");
        return;
    };
    let text = std::fs::read_to_string(path).expect("readable file");
    let results = run_file(&text);
    let failed = report(&results);
    eprintln!("{} of {} scenarios pass", results.len() - failed, results.len());
    assert_eq!(failed, 0);
}

#[test]
fn a_malformed_scenario_fails_alone() {
    let file = r#"{"scenarios": [{"id": "odd", "actions": 3}, {"id": "empty"}]}"#;
    let results = run_file(file);
    let told: Vec<(&str, bool)> = results.iter().map(|result| (result.id.as_str(), result.ok)).collect();
    assert_eq!(told, [("odd", false), ("empty", true)]);
    let why = results.first().map(|result| result.why.as_str()).unwrap_or_default();
    assert!(why.starts_with("cannot read the scenario: "), "{why}");
}

#[test]
fn own_scenarios_pass() {
    let results = run_file(include_str!("scenarios.json"));
    assert!(results.len() >= 720);
    assert_eq!(report(&results), 0);
}

/// An ability for which nothing is paid could be activated for ever (104.4b).
#[test]
fn an_ability_for_nothing_is_refused_after_many_activations() {
    let activate = r#"{"player": "A", "activate": "Crypt Rats", "x": 0}"#;
    let paid = r#"{"player": "A", "activate": "Crypt Rats", "x": 1}, {"resolve": "all"}"#;
    let setup = r#"{"active": "A", "step": "main1", "A": {"battlefield": ["Crypt Rats", "Swamp"]}, "B": {}}"#;
    let life = r#"[{"assert": "life", "player": "B", "is": 19}]"#;
    let many = vec![activate; 40].join(r#", {"resolve": "all"}, "#);
    let actions =
        format!(r#"[{many}, {{"resolve": "all"}}, {{"player": "A", "illegal": {activate}}}, {paid}]"#);
    let scenario = format!(r#"{{"id": "loop", "setup": {setup}, "actions": {actions}, "expect": {life}}}"#);
    let results = run_file(&format!(r#"{{"scenarios": [{scenario}]}}"#));
    assert_eq!(report(&results), 0);
}

#[test]
fn scenarios_of_references_pass() {
    let results = run_file(include_str!("scenarios_references.json"));
    assert!(results.len() >= 51);
    assert_eq!(report(&results), 0);
}
