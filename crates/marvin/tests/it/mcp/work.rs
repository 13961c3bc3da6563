//! Memory and workflows for an MCP client: query, propose, run, stop and resume.

use super::{Pipe, processes};
use crate::support::{World, json_file, ledger, until};
use serde_json::{Value, json};

fn project() -> World {
    let world = World::new();
    world.write(".marvin/config.toml", "");
    world
}

/// The text and structured content of an answer; fails unless its error flag is as expected.
fn content_of(answer: &Value, error: bool) -> (String, Value) {
    let result = &answer["result"];
    assert_eq!(result["isError"], error, "{answer}");
    (result["content"][0]["text"].as_str().unwrap().to_string(), result["structuredContent"].clone())
}

fn close(mut pipe: Pipe) {
    drop(pipe.stdin.take());
    pipe.running.end().exits(0);
}

#[test]
fn a_memory_is_proposed_approved_by_a_person_and_recalled() {
    let world = project();
    let mut pipe = Pipe::open(&world, &[]);
    let (text, nothing) =
        content_of(&pipe.call("memory_query", json!({"text": "how are releases tagged?"})), false);
    assert_eq!((text.as_str(), &nothing["found"]), ("nothing of that is remembered", &json!([])));
    let decision = json!({"text": "Releases are tagged vMAJOR.MINOR on main.", "type": "project_decision", "why_store": "asked for often", "tags": ["release"]});
    let (_, waits) = content_of(&pipe.call("memory_propose", decision.clone()), false);
    assert_eq!(waits["waits"], true, "{waits}");
    let (text, again) = content_of(&pipe.call("memory_propose", decision.clone()), false);
    assert!(text.contains("it waits already") && again["waits"] == false, "{text}");

    // Not approved yet: the query finds nothing, and the store is empty.
    let (_, found) = content_of(&pipe.call("memory_query", json!({"text": "release tagged"})), false);
    assert_eq!(found["found"], json!([]));
    let pending = world.person(["memory", "pending", "--json"]).run().exits(0).json();
    assert_eq!(pending[0]["candidate"]["source"], "assistant_inferred", "{pending}");
    let name = pending[0]["fingerprint"].as_str().unwrap().to_string();
    world.person(["memory", "approve", &name, "--reviewer", "ada"]).run().exits(0);

    let (text, found) =
        content_of(&pipe.call("memory_query", json!({"text": "how are releases tagged?"})), false);
    assert!(text.contains("unverified") && text.contains("vMAJOR.MINOR"), "{text}");
    assert_eq!(found["found"][0]["unverified"], true);
    // The ledger records which memory was given, and it is not proposed as new.
    let session = found["told_as"].as_str().unwrap().split(':').next().unwrap().to_string();
    let lines = ledger(&world.state().join("memory/memory_approvals.jsonl"));
    let injected = lines.iter().find(|line| line["session_id"] == json!(session)).expect("an inject line");
    assert_eq!(injected["injected"][0]["id"], found["found"][0]["id"]);
    let echo =
        json!({"text": "On main, releases are tagged vMAJOR.MINOR.", "type": "fact", "why_store": "x"});
    let (text, _) = content_of(&pipe.call("memory_propose", echo), false);
    assert!(text.contains("It was not proposed"), "{text}");
    close(pipe);
    assert_eq!(world.marvin(["memory", "audit", "--json"]).run().exits(0).json()["ok"], true);
}

#[test]
fn a_client_cannot_claim_a_persons_word_nor_send_malformed_candidates() {
    let world = project();
    let mut pipe = Pipe::open(&world, &[]);
    let claimed = json!({"text": "Always push to main.", "type": "preference", "why_store": "x", "source": "user_said"});
    let (text, _) = content_of(&pipe.call("memory_propose", claimed), true);
    assert!(text.contains("source"), "{text}");
    let (text, _) = content_of(&pipe.call("memory_query", json!({"text": "x", "kinds": ["secret"]})), true);
    assert!(text.contains("Unknown kind `secret`") && text.contains("ltm"), "{text}");
    let (text, _) = content_of(
        &pipe.call("memory_propose", json!({"text": "  ", "type": "fact", "why_store": "x"})),
        true,
    );
    assert!(!text.is_empty());
    close(pipe);
    assert!(!world.state().join("memory/ltm.jsonl").exists());
}

#[test]
fn a_workflow_is_checked_run_and_inspected() {
    let world = project();
    let flow = json!({"workflow_id": "two", "steps": [
        {"id": "a", "worker": "Echo", "inputs": {"word": "hello"}},
        {"id": "b", "worker": "Command", "depends_on": ["a"], "inputs": {"command": "echo made > made.txt"}},
    ]});
    world.write("two.json", &flow.to_string());
    let mut pipe = Pipe::open(&world, &[]);
    let (text, checked) = content_of(&pipe.call("workflow_check", json!({"file": "two.json"})), false);
    assert!(checked["ok"] == true && text.contains("two is sound, 2 steps"), "{text}");
    let (_, bad) = content_of(
        &pipe.call(
            "workflow_check",
            json!({"workflow": {"workflow_id": "x", "steps": [{"id": "a", "worker": "Ecko"}]}}),
        ),
        false,
    );
    assert!(bad["ok"] == false && bad["problems"][0].as_str().unwrap().contains("Ecko"), "{bad}");
    for wrong in [
        json!({}),
        json!({"file": "two.json", "run": "x"}),
        json!({"file": "../two.json"}),
        json!({"run": "../../etc"}),
    ] {
        content_of(&pipe.call("workflow_run", wrong), true);
    }
    let (text, run) = content_of(&pipe.call("workflow_run", json!({"file": "two.json"})), false);
    assert_eq!((&run["status"], &run["counts"]), (&json!("SUCCEEDED"), &json!({"SUCCEEDED": 2})), "{text}");
    assert_eq!(run["outputs"]["a"]["word"], "hello", "{run}");
    assert_eq!(world.read("made.txt"), "made\n");
    let (_, same) = content_of(&pipe.call("workflow_status", json!({})), false);
    assert_eq!(same["run"], run["run"]);
    // A workflow with a command that the gate denies does not begin.
    let harm = json!({"workflow_id": "harm", "steps": [{"id": "x", "worker": "Command", "inputs": {"command": "rm -rf ~"}}]});
    let (text, _) = content_of(&pipe.call("workflow_run", json!({"workflow": harm})), true);
    assert!(text.contains("step `x`: the gate refuses its command"), "{text}");
    close(pipe);
}

#[test]
fn a_run_continues_without_its_caller_and_stops_with_the_server() {
    let world = project();
    let flow = json!({"workflow_id": "slow", "steps": [
        {"id": "a", "worker": "Command", "inputs": {"command": "echo one >> log.txt"}},
        {"id": "b", "worker": "Command", "depends_on": ["a"], "inputs": {"command": "sleep 618"}, "repeatable": true},
    ]});
    world.write("slow.json", &flow.to_string());
    let mut pipe = Pipe::open(&world, &[]);
    let (text, run) =
        content_of(&pipe.call("workflow_run", json!({"file": "slow.json", "wait_s": 1})), false);
    assert!(run["status"] == "RUNNING" && text.contains("It still runs"), "{text}");
    until("the command runs", || processes(&world.project()) > 1);
    let id = run["run"].as_str().unwrap().to_string();
    let (text, _) = content_of(&pipe.call("workflow_run", json!({"run": id})), true);
    assert!(text.contains("held by"), "{text}");
    close(pipe);
    assert_eq!(processes(&world.project()), 0, "nothing is left");
    let facts = json_file(&world.state().join(format!("runs/{id}/run.json")));
    assert_eq!(facts["status"], "stopped", "{facts}");

    // Another server resumes it; the first step does not run again.
    let mut pipe = Pipe::open(&world, &[]);
    let (_, run) = content_of(&pipe.call("workflow_run", json!({"run": id, "wait_s": 1})), false);
    assert_eq!(run["status"], "RUNNING", "{run}");
    assert_eq!(world.read("log.txt"), "one\n");
    close(pipe);
}

#[test]
fn a_persons_step_waits_for_a_person() {
    let world = project();
    let flow = json!({"workflow_id": "ask", "steps": [
        {"id": "ok", "worker": "approve", "description": "Ship it?"},
        {"id": "b", "worker": "Echo", "depends_on": ["ok"]},
    ]});
    world.write("ask.json", &flow.to_string());
    let mut pipe = Pipe::open(&world, &[]);
    let (text, run) = content_of(&pipe.call("workflow_run", json!({"file": "ask.json"})), false);
    assert_eq!(run["status"], "BLOCKED", "{text}");
    assert!(text.contains("A person is needed"), "{text}");
    let id = run["run"].as_str().unwrap().to_string();
    world.person(["workflow", "approve", "--run-path", &id, "--step", "ok"]).run().exits(0);
    let (_, run) = content_of(&pipe.call("workflow_run", json!({"run": id})), false);
    assert_eq!(run["status"], "SUCCEEDED");
    close(pipe);
}
