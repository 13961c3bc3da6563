//! Operations: search attributes, the list of runs on the server, metrics of workers, `marvin fleet up`.

use crate::fixture::{Fleet, program, wait_until};
use crate::support::{Marvin, World, commands_run};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

const ATTRIBUTES: [&str; 3] = ["MarvinProject", "MarvinWorkflow", "MarvinStatus"];

fn command(id: &str, line: &str) -> Value {
    json!({"id": id, "worker": "Command", "repeatable": true, "inputs": {"command": line}})
}

fn with_attributes(program: Marvin) -> Marvin {
    program.env("MARVIN_FLEET_SEARCH_ATTRIBUTES", "true")
}

/// Ids of workflows that a query of the server finds.
fn found(fleet: &Fleet, query: &str) -> usize {
    let listed = fleet.temporal(["workflow", "list", "--output", "json", "--query", query]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
    listed.as_array().map_or(0, Vec::len)
}

#[test]
fn runs_are_found_by_their_search_attributes() {
    let Some(fleet) = Fleet::start_without_losses(&[]) else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let _worker = fleet.worker(&world, "q");
    let marvin = |words: &[&str]| with_attributes(fleet.settings(world.marvin(words), "q"));
    let run = |name: &str, steps: Value| {
        let file = world.write(
            &format!("{name}.json"),
            &json!({"workflow_id": name, "goal": "g", "steps": steps}).to_string(),
        );
        marvin(&["run-workflow", file.to_str().unwrap(), "--engine", "temporal", "--json"]).run()
    };
    // A server that was not told of them refuses them; nothing is begun.
    let refused = run("build", json!([command("a", "echo 1")])).exits(1);
    assert!(
        refused.stderr.contains("does not know the search attributes MarvinProject"),
        "{}",
        refused.stderr
    );
    assert!(world.runs().is_empty());
    let doctor = marvin(&["doctor"]).run();
    assert!(doctor.text().contains("fix: temporal operator search-attribute create"), "{}", doctor.whole());
    for name in ATTRIBUTES {
        let words = ["operator", "search-attribute", "create", "--type", "Keyword", "--name", name];
        let created = fleet.temporal(words).output().unwrap();
        assert!(created.status.success(), "{created:?}");
    }
    let doctor = marvin(&["doctor"]).run();
    assert!(doctor.text().contains("knows the search attributes"), "{}", doctor.whole());
    run("build", json!([command("a", "echo 1"), command("b", "echo 2")])).exits(0);
    let approve = json!({"id": "yes", "worker": "approve", "inputs": {"question": "Go on?"}});
    run("release", json!([command("a", "echo 1"), approve])).exits(4);
    wait_until("the server lists both", || {
        found(&fleet, "MarvinStatus = 'succeeded' AND MarvinWorkflow = 'build'") == 1
            && found(&fleet, "MarvinStatus = 'blocked' AND MarvinProject = 'project'") == 1
    });
    let listed = marvin(&["list-runs", "--engine", "temporal", "--json"]).run().exits(0).json();
    let rows: Vec<[&str; 3]> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|row| ["workflow_id", "status", "project"].map(|key| row[key].as_str().unwrap()))
        .collect();
    assert_eq!(rows, [["release", "BLOCKED", "project"], ["build", "SUCCEEDED", "project"]]);
    // Another project sees it only if it asks for all.
    let other = World::new();
    std::fs::rename(other.project(), other.root().join("other")).unwrap();
    let list = |words: &[&str]| {
        fleet.settings(other.marvin(words).directory(&other.root().join("other")), "q").run().exits(0)
    };
    assert_eq!(
        list(&["list-runs", "--engine", "temporal"]).text(),
        "The server has no runs of this project.\n"
    );
    assert_eq!(list(&["list-runs", "--engine", "temporal", "--all"]).text().lines().count(), 2);
}

/// The answer to a request for a path.
fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_worker_serves_its_metrics() {
    let Some(fleet) = Fleet::start_without_losses(&[]) else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let program = world.marvin(["worker", "--slots", "3"]).env("MARVIN_FLEET_METRICS", "127.0.0.1:0");
    let mut worker = fleet.start_worker(&world, fleet.settings(program, "q"));
    worker.wait_until_ready();
    let log = worker.log();
    let address = log.split("http://").nth(1).and_then(|rest| rest.split("/metrics").next()).unwrap();
    assert!(get(address, "/ready").starts_with("HTTP/1.1 200 "));
    let failing = json!({"id": "c", "worker": "Command", "max_attempts": 1, "inputs": {"command": "exit 3"}});
    let workflow = json!({"workflow_id": "w", "goal": "g",
        "steps": [command("a", "echo 1"), command("b", "echo 2"), failing]});
    let file = world.write("w.json", &workflow.to_string());
    let words = ["run-workflow", file.to_str().unwrap(), "--engine", "temporal"];
    fleet.settings(world.marvin(words), "q").run().exits(1);
    let metrics = get(address, "/metrics");
    for line in [
        "marvin_worker_slots 3",
        "marvin_worker_slots_used 0",
        "marvin_deliveries_repeated_total{task=\"attempt\"} 0",
        "marvin_attempts_total{status=\"SUCCESS\"} 2",
    ] {
        assert!(metrics.lines().any(|one| one == line), "{line} is not in\n{metrics}");
    }
    assert!(metrics.contains("marvin_attempts_total{status=\"FAILURE\"}"), "{metrics}");
    assert!(metrics.contains("marvin_worker_info{version="), "{metrics}");
    worker.signal(Signal::TERM);
    assert_eq!(worker.end(), Some(0), "{}", worker.log());
    // An address that is in use is an error before anything is taken.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = world.marvin(["worker"]).env("MARVIN_FLEET_METRICS", &address);
    let refused = fleet.settings(refused, "q").run().exits(2);
    assert!(refused.stderr.contains("cannot use the setting fleet.metrics"), "{}", refused.stderr);
}

#[test]
fn the_server_of_fleet_up_knows_the_search_attributes() {
    let Some(temporal) = program() else { return };
    let world = World::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let temporal = temporal.to_str().unwrap();
    // The second start is over the database of the first.
    for _ in 0..2 {
        let mut server =
            world.marvin(["fleet", "up", "--port", &port.to_string(), "--server", temporal]).start();
        let line = server.wait_for("export MARVIN_FLEET_ADDRESS=");
        assert!(line.contains("MARVIN_FLEET_SEARCH_ATTRIBUTES=true"), "{line}");
        let store = line.split("MARVIN_FLEET_STORE=").nth(1).unwrap().split(' ').next().unwrap();
        let knows = || {
            let doctor = with_attributes(world.marvin(["doctor"]))
                .env("MARVIN_FLEET_ADDRESS", &address)
                .env("MARVIN_FLEET_STORE", store);
            doctor.run().text().contains("knows the search attributes")
        };
        wait_until("the attributes are registered", knows);
        server.signal(Signal::INT);
        server.end().exits(0);
    }
}
