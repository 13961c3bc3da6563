//! The same workflow files on both engines give the same `workflow_state.json`.

use crate::fixture::Fleet;
use crate::support::{Marvin, World, commands_run, json_file};
use marvin_flow::spec::{self, Workflow};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub(crate) fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../flow/tests/workflows");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 40, "{}", files.len());
    files
}

/// The answers that a workflow file has for its steps, as commands.
fn answers(workflow: &Workflow) -> Vec<Vec<String>> {
    let listed = workflow.metadata.get("answers").and_then(Value::as_array).cloned().unwrap_or_default();
    let words = |one: &Value| {
        let (step, answer) = (one["step"].as_str().unwrap(), &one["answer"]);
        let mut words: Vec<String> = match answer.get("approved") {
            Some(yes) => {
                let refusal = (!yes.as_bool().unwrap()).then(|| "--reject".to_string());
                let reason = ["--reason".to_string(), answer["reason"].as_str().unwrap().to_string()];
                ["approve".to_string()].into_iter().chain(refusal).chain(reason).collect()
            }
            None => vec!["answer".into(), "--value".into(), answer["answer"].to_string()],
        };
        words.extend(["--step".to_string(), step.to_string()]);
        words
    };
    listed.iter().map(words).collect()
}

/// Runs a file with its answers, and returns its state. Who decided has the number of a process.
fn run(world: &World, file: &Path, engine: &str, prepare: &dyn Fn(Marvin) -> Marvin) -> Value {
    let workflow = spec::from_file(file).unwrap();
    let words = ["run-workflow", file.to_str().unwrap(), "--engine", engine, "--concurrency", "4", "--json"];
    let result = prepare(world.marvin(words)).run().json();
    let path = PathBuf::from(result["run_path"].as_str().unwrap());
    for words in answers(&workflow) {
        let words = ["workflow".to_string()].into_iter().chain(words);
        let run_path = ["--run-path".to_string(), path.display().to_string()];
        prepare(world.person(words.chain(run_path))).run().exits(0);
        prepare(world.marvin(["resume-run", "--run-path", path.to_str().unwrap(), "--json"])).run();
    }
    json_file(&path.join("workflow_state.json"))
}

#[test]
fn all_workflow_files_end_in_the_same_state_on_both_engines() {
    let Some(fleet) = Fleet::start_without_losses(&[]) else { return };
    if !commands_run(&World::new()) {
        return;
    }
    let mut different = Vec::new();
    for (number, file) in files().iter().enumerate() {
        let (here, elsewhere) = (World::new(), World::new());
        let queue = format!("q{number}");
        let _worker = fleet.worker(&elsewhere, &queue);
        let local = run(&here, file, "local", &|program| program);
        let remote = run(&elsewhere, file, "temporal", &|program| fleet.settings(program, &queue));
        if local != remote {
            different.push(format!("{}\n local: {local}\nremote: {remote}", file.display()));
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}
