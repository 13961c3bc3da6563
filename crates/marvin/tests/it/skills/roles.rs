//! Skills for every kind of agent: roles of workflows, servitors, sub-agents, roles of the pipeline.

use super::{find, listed, put};
use crate::support::{World, call, ledger, say};
use serde_json::{Value, json};
use std::path::Path;

const TEXT: &str = "THE-SKILL-TEXT";

fn world() -> World {
    let world = World::new();
    put(&world, "deploy", TEXT);
    world
}

/// An entry that is played where `when` holds.
fn when(condition: Value, mut entry: Value) -> Value {
    entry["when"] = condition;
    entry
}

fn load() -> Value {
    call("load_skill", json!({"name": "deploy"}))
}

fn uses(world: &World) -> u64 {
    find(&listed(world), "skills", "deploy")["uses"].as_u64().unwrap()
}

/// Whether a prompt of the run listed skills, and how often a skill was loaded.
fn seen(run: &Path) -> (bool, usize) {
    let trace = ledger(&run.join("trace.jsonl"));
    let listed = trace.iter().any(|event| {
        event["type"] == "prompt.composed" && event["pieces"].to_string().contains("\"skills\"")
    });
    let is_load = |event: &&Value| {
        let item = &event["item"];
        event["type"] == "item.completed" && item["name"] == "load_skill" && item["ok"] == true
    };
    (listed, trace.iter().filter(is_load).count())
}

#[test]
fn every_role_of_a_workflow_has_skills() {
    let roles = ["Planner", "Implementer", "Debugger", "Reviewer", "TestTriager", "SkillBuilder"];
    let world = world();
    let (mut steps, mut script) = (Vec::new(), Vec::new());
    for role in roles {
        steps.push(json!({"id": role, "worker": role, "description": "use the skill"}));
        script.push(when(json!({"step": role}), load()));
        // The step ends only when it was told the text.
        script.push(json!({"when": {"step": role, "contains": TEXT},
            "reply": {"json": {"status": "SUCCESS", "summary": "loaded"}}}));
    }
    let flow = json!({"goal": "g", "steps": steps}).to_string();
    let file = crate::support::put(&world.root().join("flow.json"), &flow).display().to_string();
    let script = world.script(&script);
    let ended = world.marvin(["run-workflow", &file, "--json", "--script", &script]).run().exits(0).json();
    assert_eq!(ended["status"], "SUCCEEDED", "{ended:#}");
    assert_eq!(seen(&world.run()), (true, roles.len()));
    assert_eq!(uses(&world), roles.len() as u64);
}

#[test]
fn servitors_have_skills() {
    let world = world();
    let servitor = |entry: Value| when(json!({"role": "Servitor"}), entry);
    let script = [
        call("summon_servitor", json!({"assignment": "use the skill", "name": "Vega", "access": "readonly"})),
        servitor(load()),
        when(json!({"role": "Servitor", "contains": TEXT}), say("I have it.\nSTATUS: DONE")),
        call("wait_for_servitor", json!({"id": "vega"})),
        say("over"),
    ];
    world.play(&script, &[]).run().exits(0);
    assert_eq!(uses(&world), 1);
}

#[test]
fn sub_agents_have_skills() {
    let world = world();
    let ticket = world.marvin(["tk", "create", "Use the skill"]).run().exits(0).text().trim().to_string();
    let role = |name: &str, entry: Value| when(json!({"role": name}), entry);
    let script = [
        role("Coder", call("launch_agent", json!({"ticket_id": ticket, "prompt": "use the skill"}))),
        role("Implementer", load()),
        when(json!({"role": "Implementer", "contains": TEXT}), say("I have it.")),
        role("Coder", say("over")),
    ];
    world.play(&script, &[]).run().exits(0);
    assert_eq!(uses(&world), 1);
    let inner = world.runs().into_iter().map(|run| seen(&run)).filter(|(_, loaded)| *loaded == 1).count();
    assert_eq!(inner, 1, "the sub-agent loaded it");
}

#[test]
fn roles_of_the_pipeline_have_skills() {
    let world = world();
    let step = |contains: &str, entry: Value| {
        let mut condition = json!({"step": "1a.spec.1"});
        if !contains.is_empty() {
            condition["contains"] = contains.into();
        }
        when(condition, entry)
    };
    let script = world.script(&[
        step(
            TEXT,
            json!({"reply": {"json": {"status": "SUCCESS", "summary": "I have it."}}, "repeat": true}),
        ),
        step("", load()),
    ]);
    let project = world.project().display().to_string();
    let words = ["--non-interactive", "--working-dir", &project, "--design-first", "--prompt", "Build it"];
    world.marvin(words).args(["--script", &script]).run();
    assert_eq!(seen(&world.run()), (true, 1));
    let told = world.trace().into_iter().any(|event| event.to_string().contains("I have it."));
    assert!(told, "the writer of the specification was told the text");
    assert_eq!(uses(&world), 1);
}
