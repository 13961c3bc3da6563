//! Sub-agents: real child processes of the real program with a shared script and a shared budget.

use crate::support::{ProgramOutput, World, call, files_below, json_file, ledger, put, say, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// An entry for this role only.
fn for_role(role: &str, mut entry: Value) -> Value {
    entry["when"]["role"] = role.into();
    entry
}

fn ticket(world: &World, title: &str) -> String {
    world.marvin(["tk", "create", title]).run().exits(0).text().trim().to_string()
}

fn launch(ticket: &str, more: &Value) -> Value {
    let mut arguments = json!({"ticket_id": ticket, "prompt": "do your part"});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    for_role("Coder", call("launch_agent", arguments))
}

fn make_ticket(role: &str, parent: &str) -> Value {
    let words = format!("create 'My part' -d 'what and why' -t task --tags x --parent {parent}");
    for_role(role, call("tk", json!({ "args": words })))
}

fn create(role: &str, path: &str) -> Value {
    for_role(role, call("create_file", json!({"path": path, "content": "made\n"})))
}

/// The outcome of the only launch of a run, from its record.
fn launched(run: &Path) -> Value {
    let events = ledger(&run.join("trace.jsonl"));
    let is_launch = |event: &&Value| {
        event["type"] == "item.completed"
            && event["item"]["name"].as_str().is_some_and(|name| name.starts_with("launch_"))
    };
    let found: Vec<&Value> = events.iter().filter(is_launch).collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    found[0]["item"].clone()
}

/// The record of the outermost run, and those of its sub-agents.
fn runs(world: &World) -> (std::path::PathBuf, Vec<std::path::PathBuf>) {
    let depth = |run: &std::path::PathBuf| json_file(&run.join("run.json"))["depth"].as_i64().unwrap();
    let (outer, inner): (Vec<_>, Vec<_>) = world.runs().into_iter().partition(|run| depth(run) == 0);
    assert_eq!(outer.len(), 1, "{outer:?}");
    (outer[0].clone(), inner)
}

#[test]
fn a_sub_agent_works_on_a_ticket_with_one_script_and_one_ledger() {
    let world = World::new();
    let id = ticket(&world, "Make a file");
    let script = [
        launch(&id, &json!({})),
        create("Implementer", "too-early.txt"),
        make_ticket("Implementer", &id),
        make_ticket("Implementer", &id),
        create("Implementer", "made.txt"),
        for_role("Implementer", say("I made it.")),
        for_role("Coder", say("All done.")),
        for_role("Coder", say("never played")),
    ];
    let ended = world.play(&script, &["--json"]).run().exits(0);
    let result = ended.json();
    assert_eq!(result["text"], "All done.");
    assert_eq!(ended.cost()["llm_turns"], 7, "the replies of both count: {}", ended.stderr);
    assert_eq!(world.read("made.txt"), "made\n");
    assert!(!world.project().join("too-early.txt").exists(), "no writing before there is a ticket");

    let (outer, inner) = runs(&world);
    let item = launched(&outer);
    assert_eq!((&item["ok"], &item["verdict"]["rule"]), (&json!(true), &json!("agent.start")));
    let data = &item["result"]["data"];
    assert_eq!(
        (&data["status"], &data["exit_code"], &data["model_turns"], &data["last_message"], &data["depth"]),
        (&json!("success"), &json!(0), &json!(5), &json!("I made it."), &json!(1))
    );
    assert_eq!(data["run_path"], inner[0].display().to_string());
    let facts = json_file(&inner[0].join("run.json"));
    assert_eq!(
        (&facts["role"], &facts["depth"], &facts["prompt"]),
        (&json!("Implementer"), &json!(1), &json!("do your part"))
    );
    // Its calls are logged in the documented format.
    let calls = ledger(Path::new(data["tool_log"].as_str().unwrap()));
    let tools: Vec<&str> = calls.iter().map(|call| call["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["create_file", "tk", "tk", "create_file"]);
    let keys: Vec<&String> = calls[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["ts", "tool", "args", "result", "elapsed_ms"]);
    assert!(calls[0]["result"].as_str().unwrap().contains("no ticket of its own"), "{}", calls[0]);
    assert!(calls[1]["result"].as_str().unwrap().contains("five points"), "{}", calls[1]);
    let log = fs::read_to_string(data["log"].as_str().unwrap()).unwrap();
    assert!(log.contains("role: Implementer") && log.contains("do your part"), "{log}");
    // The ticket was started and closed.
    let shown = world.marvin(["tk", "show", &id]).run().exits(0);
    assert!(shown.text().contains("status: closed"), "{}", shown.text());
    // The sub-agent's prompt says whom it may ask.
    let composed = ledger(&inner[0].join("trace.jsonl"));
    let composed = composed.iter().find(|event| event["type"] == "prompt.composed").unwrap();
    assert!(composed["pieces"].as_array().unwrap().iter().any(|piece| piece["name"] == "questions"));
}

#[test]
fn tickets_that_are_not_ready_start_no_agent() {
    let world = World::new();
    let (id, other) = (ticket(&world, "One"), ticket(&world, "Other"));
    world.marvin(["tk", "dep", &id, &other]).run().exits(0);
    let refusal = |id: &str| {
        let args = json!({"ticket_id": id, "prompt": "x"}).to_string();
        world.marvin(["tools", "call", "launch_agent", "--args", &args]).run().exits(1).stderr
    };
    assert!(refusal(&id).contains("waits for others"));
    assert!(refusal("nothing").contains("nothing"));
    world.marvin(["tk", "close", &other]).run().exits(0);
    world.marvin(["tk", "close", &id]).run().exits(0);
    assert!(refusal(&id).contains("is closed"));
}

#[test]
fn depth_is_bounded() {
    let world = World::new();
    let id = ticket(&world, "Deep");
    let deeper = |role: &str| {
        let mut entry = launch(&id, &json!({"role": "Debugger"}));
        entry["when"]["role"] = role.into();
        entry
    };
    let script = [
        deeper("Coder"),
        make_ticket("Debugger", &id),
        make_ticket("Debugger", &id),
        deeper("Debugger"),
        for_role("Debugger", say("I was refused.")),
        for_role("Coder", say("ok")),
    ];
    world.play(&script, &[]).env("MARVIN_MAX_DEPTH", "1").run().exits(0);
    let (_, inner) = runs(&world);
    assert_eq!(inner.len(), 1, "the sub-agent started another one: {inner:?}");
    let item = launched(&inner[0]);
    assert_eq!((&item["ok"], &item["verdict"]["rule"]), (&json!(false), &json!("agent.depth")));
    // A forged depth is refused as well.
    let forged = world.play(&[say("x")], &[]).env("MARVIN_DEPTH", "4").run().exits(5);
    assert!(forged.stderr.contains("limits.depth"), "{}", forged.stderr);
}

#[test]
fn a_sub_agent_never_has_more_rights() {
    let world = World::new();
    let id = ticket(&world, "Rights");
    let script = [
        launch(&id, &json!({"readonly": true, "role": "Reviewer"})),
        create("Reviewer", "no.txt"),
        for_role("Reviewer", say("I could not.")),
        launch(&id, &json!({"writable_files": ["docs/a.md"], "role": "Planner"})),
        create("Planner", "docs/b.md"),
        create("Planner", "docs/a.md"),
        for_role("Planner", call("launch_research_agent", json!({"query": "x"}))),
        for_role("Planner", say("One of two.")),
        for_role("Coder", say("ok")),
    ];
    // The first one claims success and closes the ticket; the parent reopens it.
    let reopened = script.clone();
    let first = world
        .play(&reopened[..3].iter().cloned().chain([for_role("Coder", say("ok"))]).collect::<Vec<_>>(), &[]);
    first.run().exits(0);
    assert!(!world.project().join("no.txt").exists());
    world.marvin(["tk", "reopen", &id]).run().exits(0);
    fs::remove_dir_all(world.state()).unwrap();
    world.play(&script[3..], &[]).run().exits(0);
    assert!(!world.project().join("docs/b.md").exists());
    assert_eq!(world.read("docs/a.md"), "made\n");
    let (_, inner) = runs(&world);
    let refused = launched(&inner[0]);
    assert_eq!((inner.len(), &refused["ok"]), (1, &json!(false)));

    // A read-only agent is not offered the tool whose agent can write.
    let names = |variable: &str, value: &str| {
        world.marvin(["tools", "list"]).env(variable, value).run().exits(0).text().to_string()
    };
    let looking = names("MARVIN_READONLY", "1");
    assert!(looking.contains("launch_research_agent") && !looking.contains("launch_agent"), "{looking}");
    assert!(!names("MARVIN_WRITABLE_FILES", "a.md").contains("launch_"));
    // No agent is started outside the workspace.
    for directory in ["..", "/usr", ".marvin", "nowhere"] {
        let args = json!({"ticket_id": id, "prompt": "x", "working_dir": directory}).to_string();
        let ended = world.marvin(["tools", "call", "launch_agent", "--args", &args, "--json"]).run().exits(5);
        assert_eq!(ended.json()["verdict"]["rule"], "agent.folder", "{directory}");
    }
}

#[test]
fn research_agents_run_in_parallel_and_change_nothing() {
    let world = World::new();
    world.write("a.txt", "the answer is 42\n");
    let ask = |query: &str| json!({"name": "launch_research_agent", "arguments": {"query": query}});
    let read = json!({"when": {"role": "Research", "contains": "first"}, "delay_ms": 1000,
        "reply": {"tool_calls": [{"name": "create_file", "arguments": {"path": "b.txt", "content": "x"}}]}});
    let script = [
        for_role("Coder", json!({"reply": {"tool_calls": [ask("first question"), ask("second question")]}})),
        read,
        json!({"when": {"role": "Research", "contains": "second"}, "delay_ms": 1000, "reply": {"text": "a.txt:1 says 42"}}),
        for_role("Research", say("I may not write.")),
        for_role("Coder", say("ok")),
    ];
    let result = world.play(&script, &["--json"]).run().exits(0).json();
    assert_eq!(result["cost"]["llm_turns"], 5);
    assert!(!world.project().join("b.txt").exists());
    let (outer, inner) = runs(&world);
    assert_eq!(inner.len(), 2);
    let starts: Vec<String> = inner
        .iter()
        .map(|run| ledger(&run.join("trace.jsonl"))[0]["timestamp"].as_str().unwrap().to_string())
        .collect();
    let ends: Vec<String> = inner
        .iter()
        .map(|run| {
            ledger(&run.join("trace.jsonl")).last().unwrap()["timestamp"].as_str().unwrap().to_string()
        })
        .collect();
    assert!(starts.iter().max() < ends.iter().min(), "one after the other: {starts:?} {ends:?}");
    let text = fs::read_to_string(outer.join("trace.jsonl")).unwrap();
    assert!(text.contains("a.txt:1 says 42"));
}

#[test]
fn questions_come_back_to_the_parent() {
    let world = World::new();
    let id = ticket(&world, "Ask");
    let script = [
        launch(&id, &json!({})),
        for_role("Implementer", say("QUESTIONS_FOR_PARENT:\n1. Which port?\n2. Which name?")),
        json!({"when": {"role": "Coder", "contains": "1. Which port?\n2. Which name?"}, "reply": {"text": "I know now."}}),
    ];
    world.play(&script, &[]).run().exits(0);
    let (outer, _) = runs(&world);
    let item = launched(&outer);
    assert_eq!(item["result"]["data"]["questions"], json!(["Which port?", "Which name?"]));
    assert_eq!((&item["ok"], &item["result"]["data"]["status"]), (&json!(false), &json!("questions")));
    let shown = world.marvin(["tk", "show", &id]).run().exits(0);
    assert!(
        shown.text().contains("status: in_progress"),
        "unfinished work closes no ticket: {}",
        shown.text()
    );
}

/// A world in which every input token costs a dollar.
fn dear() -> World {
    let world = World::new();
    put(
        &world.user().join("prices.toml"),
        "[[price]]\nprovider = \"mock\"\ninput = 1000000.0\noutput = 0.0\n",
    );
    world
}

fn costing(dollars: u64, mut entry: Value) -> Value {
    entry["reply"]["usage"] = json!({"input": dollars, "output": 0});
    entry
}

#[test]
fn the_budget_holds_for_the_whole_process_tree() {
    let world = dear();
    let id = ticket(&world, "Spend");
    let script = |child: u64| {
        [
            costing(1, launch(&id, &json!({"readonly": true}))),
            costing(child, for_role("Implementer", call("tree", json!({})))),
            costing(2, for_role("Implementer", say("done"))),
            costing(1, for_role("Coder", say("ok"))),
        ]
    };
    let ended = world.play(&script(3), &["--max-cost", "100", "--json"]).run().exits(0);
    assert_eq!(ended.json()["cost"]["session_cost"], 7.0);
    let (outer, _) = runs(&world);
    assert_eq!(launched(&outer)["result"]["data"]["cost_usd"], 5.0);
    // Lifetime usage counts every reply once.
    assert_eq!(json_file(&world.user().join("usage.json"))["total_cost"], 7.0);

    world.marvin(["tk", "reopen", &id]).run().exits(0);
    fs::remove_dir_all(world.state()).unwrap();
    let ended = world.play(&script(9), &["--max-cost", "10", "--json"]).run().exits(6);
    assert_eq!(
        (&ended.json()["status"], &ended.json()["cost"]["session_cost"]),
        (&json!("budget_spent"), &json!(10.0))
    );
    let (outer, inner) = runs(&world);
    assert_eq!(launched(&outer)["result"]["data"]["exit_code"], 6);
    assert_eq!(json_file(&inner[0].join("run.json"))["exitCode"], 6);
}

#[test]
fn a_child_may_be_given_a_smaller_budget() {
    let world = dear();
    let id = ticket(&world, "Less");
    let script = [
        costing(1, launch(&id, &json!({"readonly": true, "max_cost": 3}))),
        costing(3, for_role("Implementer", call("tree", json!({})))),
        costing(3, for_role("Implementer", say("never asked"))),
        costing(1, for_role("Coder", say("I go on alone."))),
    ];
    let ended = world.play(&script, &["--max-cost", "100", "--json"]).run().exits(0);
    assert_eq!(ended.json()["cost"]["session_cost"], 5.0);
    let (outer, _) = runs(&world);
    assert_eq!(launched(&outer)["result"]["data"]["status"], "budget_spent");
}

#[test]
fn a_child_past_its_deadline_is_ended_and_reported() {
    let world = World::new();
    let script = [
        for_role("Coder", call("launch_research_agent", json!({"query": "slow", "timeout_s": 1}))),
        json!({"when": {"role": "Research"}, "delay_ms": 60_000, "reply": {"text": "late"}}),
        for_role("Coder", say("ok")),
    ];
    world.play(&script, &[]).run().exits(0);
    let (outer, _) = runs(&world);
    let data = launched(&outer)["result"]["data"].clone();
    assert_eq!((&data["status"], &data["reason"]), (&json!("failed"), &json!("deadline")));
}

#[test]
fn a_long_task_is_not_passed_on_the_command_line() {
    let world = World::new();
    let query = format!("{} and the end", "word ".repeat(300_000));
    let script = [
        for_role("Coder", call("launch_research_agent", json!({ "query": query }))),
        json!({"when": {"role": "Research", "contains": "and the end"}, "reply": {"text": "read it all"}}),
        for_role("Coder", say("ok")),
    ];
    world
        .play(&script, &[])
        .env("MARVIN_CONTEXT_COMPACT", "4000000")
        .env("MARVIN_CONTEXT_HARD", "5000000")
        .run()
        .exits(0);
    let (outer, _) = runs(&world);
    assert_eq!(launched(&outer)["result"]["data"]["last_message"], "read it all");
}

#[test]
fn commitments_of_the_parent_are_verified_in_the_child() {
    let world = World::new();
    let id = ticket(&world, "Prove");
    let promise = json!({"commitments": ["file_exists:made.txt"], "role": "Debugger"});
    let mut liar = for_role("Debugger", say("All done!"));
    liar["repeat"] = true.into();
    let script = [launch(&id, &promise), liar, for_role("Coder", say("It lied."))];
    let lied = world.play(&script, &["--json"]).run().exits(0).json();
    assert_eq!(lied["text"], "It lied.");
    let (outer, _) = runs(&world);
    let item = launched(&outer);
    let data = &item["result"]["data"];
    assert_eq!(
        (&item["ok"], &data["status"], &data["exit_code"]),
        (&json!(false), &json!("not_verified"), &json!(3))
    );
    let shown = world.marvin(["tk", "show", &id]).run().exits(0);
    assert!(shown.text().contains("status: in_progress"), "a lie closes no ticket: {}", shown.text());

    fs::remove_dir_all(world.state()).unwrap();
    let script = [
        launch(&id, &promise),
        make_ticket("Debugger", &id),
        make_ticket("Debugger", &id),
        create("Debugger", "made.txt"),
        for_role("Debugger", say("All done!")),
        for_role("Coder", say("It did it.")),
    ];
    world.play(&script, &[]).run().exits(0);
    let (outer, _) = runs(&world);
    let data = launched(&outer)["result"]["data"].clone();
    assert_eq!((&data["status"], &data["verification"]["status"]), (&json!("success"), &json!("passed")));
}

/// Processes whose command line contains this world's path.
fn alive(world: &World) -> Vec<String> {
    let name = world.root().display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()));
    ids.filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(&name).then(|| format!("{} {line}", entry.file_name().display()))
    })
    .collect()
}

#[test]
fn a_killed_parent_leaves_no_child_and_no_grandchild() {
    for signal in [Signal::KILL, Signal::TERM] {
        let world = World::new();
        let id = ticket(&world, "Kill");
        let research = |role: &str| for_role(role, call("launch_research_agent", json!({"query": "look"})));
        let script = [
            launch(&id, &json!({"readonly": true})),
            research("Implementer"),
            json!({"when": {"role": "Research"}, "delay_ms": 120_000, "reply": {"text": "never"}}),
        ];
        let running = world.play(&script, &[]).start();
        let record = world.state().join("runs");
        until("the grandchild asks its model", || {
            let mut traces = files_below(&record).into_iter().filter(|path| path.ends_with("trace.jsonl"));
            let deep = |path: std::path::PathBuf| {
                fs::read_to_string(path).unwrap_or_default().contains("\"role\":\"Research\"")
            };
            traces.any(deep)
        });
        assert!(alive(&world).len() >= 3, "{:#?}", alive(&world));
        running.signal(signal);
        let ended: ProgramOutput = running.end();
        assert!(ended.signal.is_some() || ended.code == Some(130), "{}", ended.whole());
        until("all processes have ended", || alive(&world).is_empty());
    }
}

#[test]
fn a_recorded_launch_replays_without_starting_an_agent() {
    let world = World::new();
    let id = ticket(&world, "Replay");
    let tape = world.root().join("tape").display().to_string();
    let script = [
        launch(&id, &json!({"readonly": true})),
        for_role("Implementer", say("seen")),
        for_role("Coder", say("ok")),
    ];
    world.play(&script, &["--record", &tape]).run().exits(0);
    let (outer, inner) = runs(&world);
    let id = outer.file_name().unwrap().to_string_lossy().into_owned();
    let ended = world.marvin(["replay", &id, "--json"]).run().exits(0);
    assert_eq!(ended.json()["same"], true, "{}", ended.text());
    let children = world.runs().iter().filter(|run| json_file(&run.join("run.json"))["depth"] == 1).count();
    assert_eq!(children, inner.len());
}
