//! One non-interactive turn: prompts, streams, limits, protocols, results and the last line on stderr.

use crate::support::{World, call, commands_run, json_file, ledger, put, say};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

/// A priced model over HTTP: reading a million tokens costs 1.75 dollars.
fn dear(text: &str) -> Value {
    json!({"reply": {"text": text, "usage": {"input": 1_000_000, "output": 0}}})
}

fn result_of(world: &World) -> Value {
    let trace = world.trace();
    let results: Vec<&Value> = trace.iter().filter(|event| event["type"] == "result").collect();
    assert_eq!(results.len(), 1);
    assert_eq!(trace.last(), Some(results[0]), "the result is the last line");
    results[0].clone()
}

#[test]
fn the_prompt_comes_from_a_flag_a_file_or_standard_input() {
    for source in ["flag", "file", "input"] {
        let world = World::new();
        let script = world.script(&[
            json!({"when": {"contains": "the prompt from"}, "reply": {"text": format!("heard {source}")}}),
        ]);
        let prompt = format!("the prompt from {source}");
        let file = put(&world.root().join("prompt.md"), &prompt);
        let marvin = world.marvin(["--non-interactive", "--script", &script]);
        let marvin = match source {
            "flag" => marvin.args(["--prompt", &prompt]),
            "file" => marvin.args(["--prompt-file", &file.display().to_string()]),
            _ => marvin.input(prompt.clone()),
        };
        let ended = marvin.run().exits(0).quiet();
        assert_eq!(ended.text(), format!("heard {source}\n"));
        assert_eq!(world.facts()["prompt"], prompt);
        assert_eq!(ended.cost()["llm_turns"], 1);
    }
}

#[test]
fn text_output_is_raw_tokens_with_a_marker_line_before_tools() {
    let world = World::new();
    let script = [
        json!({"reply": {"text": "Looking.", "tool_calls": [
            {"name": "tree", "arguments": {}},
            {"name": "create_file", "arguments": {"path": "a.txt", "content": "hi"}},
        ]}}),
        json!({"reply": {"text": "All done, héllo."}, "chunks": 7}),
    ];
    let ended = world.play(&script, &[]).run().exits(0).quiet();
    assert_eq!(ended.text(), "Looking.\n  🔧 tree, create_file\nAll done, héllo.\n");
    assert_eq!(world.read("a.txt"), "hi");
    let cost = ended.cost();
    assert_eq!((&cost["llm_turns"], &cost["model_turns"]["mock"]), (&json!(2), &json!(2)));
    assert_eq!((&cost["session_cost"], &cost["model_cost"]["mock"]), (&json!(0.0), &json!(0.0)));
}

#[test]
fn text_is_streamed_while_it_arrives() {
    let world = World::new();
    let server = world
        .server(&[json!({"reply": {"text": "first\nsecond"}, "chunks": 2, "fail": {"kind": "timeout"}})]);
    let marvin = world.marvin(["--non-interactive", "--prompt", "go", "--provider", "local"]);
    let url = format!("{}/v1", server.address());
    let mut running = marvin.env("MARVIN_LOCAL_URL", url).start();
    // The server sends half of its reply and stalls; the half is shown while the program waits.
    assert!(running.line().unwrap().starts_with("first"));
    running.signal(Signal::INT);
    running.end().exits(130).cost();
}

#[test]
fn a_non_interactive_turn_leaves_no_conversation() {
    let world = World::new();
    world.play(&[say("secretly said")], &[]).run().exits(0);
    assert!(!world.user().join("profiles").exists());
    let log = world.user().join("profiles/default/chat_log.json");
    put(&log, r#"[{"role":"you","text":"earlier","time":"10:00"}]"#);
    let before = fs::read(&log).unwrap();
    world.play(&[say("again")], &[]).run().exits(0);
    assert_eq!(fs::read(&log).unwrap(), before);
}

#[test]
fn the_chat_log_is_only_in_the_system_message() {
    let world = World::new();
    let entries: Vec<Value> = (0..30)
        .map(|n| {
            let role = if n % 2 == 0 { "you" } else { "assistant" };
            json!({"role": role, "text": format!("entry-{n:02} {}", "x".repeat(300)), "time": "10:00"})
        })
        .collect();
    put(&world.user().join("profiles/default/chat_log.json"), &json!(entries).to_string());
    let tape = world.root().join("tape").display().to_string();
    world.play(&[say("ok")], &["--record", &tape]).run().exits(0);
    let exchange = &ledger(&world.root().join("tape/script.jsonl"))[0];
    let messages = exchange["request"]["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user"]);
    assert_eq!(messages[1]["content"], "go");
    let system = messages[0]["content"].as_str().unwrap();
    assert!(!system.contains("entry-09") && system.contains("entry-10") && system.contains("entry-29"));
    let entry = system.lines().find(|line| line.contains("entry-29")).unwrap();
    let kept = entry.strip_prefix("assistant: ").unwrap();
    assert!(kept.starts_with("entry-29 xxx") && kept.ends_with("..."), "{kept}");
    assert_eq!(kept.trim_end_matches("...").chars().count(), 200);
}

#[test]
fn the_system_message_follows_the_fixed_order() {
    let world = World::new();
    world.write(".marvin/instructions.md", "THE-INSTRUCTIONS");
    world.write("AGENTS.md", "THE-AGENTS");
    world.write("CLAUDE.md", "THE-CLAUDE");
    for name in ["spec", "ux", "design"] {
        world.write(&format!(".marvin/{name}.md"), &format!("THE-{}", name.to_uppercase()));
    }
    let profile = world.user().join("profiles/ann");
    put(&world.user().join("last_profile"), "ann");
    put(&profile.join("preferences.yaml"), "budget: THE-PREFERENCES\n");
    put(&profile.join("saved_places.json"), r#"[{"label":"THE-PLACE","name":"Cafe","address":"1 Road"}]"#);
    put(&profile.join("chat_log.json"), r#"[{"role":"you","text":"THE-HISTORY","time":"10:00"}]"#);
    let tape = world.root().join("tape").display().to_string();
    world.play(&[say("ok")], &["--record", &tape]).run().exits(0);
    let exchange = &ledger(&world.root().join("tape/script.jsonl"))[0];
    let system = exchange["request"]["messages"][0]["content"].as_str().unwrap().to_string();
    let order = [
        "You are Marvin",
        "THE-PREFERENCES",
        "ann",
        "THE-PLACE",
        "THE-HISTORY",
        "Working directory:",
        "THE-INSTRUCTIONS",
        "THE-AGENTS",
        "THE-CLAUDE",
        "THE-SPEC",
        "THE-UX",
        "THE-DESIGN",
    ];
    let mut at = 0;
    for part in order {
        let found = system.get(at..).unwrap().find(part);
        at += found.unwrap_or_else(|| panic!("`{part}` is missing or too early in:\n{system}"));
    }
}

#[test]
fn a_model_that_fails_is_exit_1_with_a_cost() {
    let world = World::new();
    let failing = [json!({"fail": {"kind": "http", "status": 400}})];
    let ended = world.play(&failing, &[]).run().exits(1);
    assert!(ended.message().contains("400"));
    assert_eq!(ended.cost()["llm_turns"], 0);
    assert_eq!(result_of(&world)["reason"], "model_error");
}

#[test]
fn signals_end_the_turn_with_130_and_a_cost() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let world = World::new();
        let script = [
            call("create_file", json!({"path": "a.txt", "content": "1"})),
            json!({"reply": {"text": "late"}, "delay_ms": 300_000}),
        ];
        let mut running = world.play(&script, &["--output-format", "stream-json"]).start();
        running.wait_for("\"round\":2");
        running.signal(signal);
        let ended = running.end().exits(130);
        let result = ended.events().pop().unwrap();
        assert_eq!((&result["type"], &result["status"]), (&json!("result"), &json!("interrupted")));
        assert_eq!(result["exit_code"], 130);
        assert_eq!(ended.cost()["llm_turns"], 1);
        assert_eq!(result_of(&world), result);
        assert_eq!(world.facts()["status"], "interrupted");
    }
}

#[test]
fn an_interrupt_while_waiting_for_the_prompt_also_prints_the_cost() {
    let world = World::new();
    let mut command = std::process::Command::new(crate::support::PROGRAM);
    world.bare(&mut command);
    let (reader, writer) = std::io::pipe().unwrap();
    let mut child = command
        .arg("--non-interactive")
        .current_dir(world.project())
        .stdin(reader)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    crate::support::until("it handles interrupts", || caught(child.id(), 2));
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, Signal::INT).unwrap();
    let output = {
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130));
        let mut text = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut text).unwrap();
        text
    };
    assert!(output.lines().last().unwrap().starts_with("MARVIN_COST:{"), "{output}");
    drop(writer);
}

/// Whether a process handles a signal itself.
fn caught(id: u32, signal: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
    u64::from_str_radix(mask, 16).unwrap() & (1 << (signal - 1)) != 0
}

#[test]
fn fifty_rounds_are_the_limit_and_the_flag_changes_it() {
    for (flag, rounds) in [(None, 50), (Some("3"), 3)] {
        let world = World::new();
        let mut script: Vec<Value> = (0..60)
            .map(|n| {
                json!({"when": {"contains": ""}, "reply": {"tool_calls": [
                    {"name": "convert_units", "arguments": {"value": n, "from_unit": "km", "to_unit": "m"}},
                ]}})
            })
            .collect();
        script.insert(rounds + 1, say("I ran out."));
        let more: Vec<&str> = flag.map(|n| vec!["--max-rounds", n]).unwrap_or_default();
        let ended = world.play(&script, &more).run().exits(1);
        assert!(ended.message().contains(&format!("within {rounds} tool round(s)")));
        assert!(ended.text().ends_with("I ran out.\n"));
        let result = result_of(&world);
        assert_eq!((&result["reason"], &result["tool_calls"]), (&json!("max_rounds"), &json!(rounds)));
        // One request makes a call too many, one gives the last reply.
        assert_eq!(ended.cost()["llm_turns"], rounds + 2);
    }
}

#[test]
fn a_deadline_ends_the_turn() {
    let world = World::new();
    let script = [json!({"reply": {"text": "late"}, "delay_ms": 300_000})];
    let ended = world.play(&script, &["--deadline", "1"]).run().exits(1);
    assert!(ended.message().contains("the deadline passed"));
    assert_eq!(result_of(&world)["reason"], "deadline");
    ended.cost();
}

#[test]
fn a_spent_budget_is_exit_6() {
    let world = World::new();
    let tool = json!({"reply": {"tool_calls": [{"name": "tree", "arguments": {}}],
        "usage": {"input": 1_000_000, "output": 0}}});
    let server = world.server(&[tool, dear("never said")]);
    let ended = world
        .marvin(["--non-interactive", "--prompt", "go", "--provider", "openai", "--max-cost", "1"])
        .env("MARVIN_OPENAI_URL", format!("{}/v1", server.address()))
        .env("OPENAI_API_KEY", "k")
        .run()
        .exits(6);
    assert!(ended.message().contains("budget of 1 USD"), "{}", ended.whole());
    assert!(!ended.text().contains("never said"));
    let cost = ended.cost();
    assert_eq!((&cost["session_cost"], &cost["llm_turns"]), (&json!(1.75), &json!(1)));
    assert_eq!(cost["model_cost"], json!({"gpt-5.2": 1.75}));
    let result = result_of(&world);
    assert_eq!((&result["status"], &result["exit_code"]), (&json!("budget_spent"), &json!(6)));
    let usage = json_file(&world.user().join("usage.json"));
    assert_eq!((&usage["total_cost"], &usage["total_llm_turns"]), (&json!(1.75), &json!(1)));
    assert_eq!(usage["total_calls"], json!({"tree": 1}));
}

#[test]
fn a_budget_that_cannot_be_enforced_is_refused_with_a_hint() {
    let world = World::new();
    let ended = world
        .marvin(["--non-interactive", "--prompt", "x", "--provider", "openai", "--model", "unheard-of"])
        .args(["--max-cost", "1"])
        .env("OPENAI_API_KEY", "k")
        .run()
        .exits(2);
    let message = ended.message();
    assert!(message.contains("unheard-of") && message.contains("prices.toml"), "{message}");
    ended.cost();
    assert!(world.runs().is_empty(), "nothing is written for a request that is wrong");
}

#[test]
fn json_output_is_exactly_one_object() {
    let world = World::new();
    let script = [call("tree", json!({})), say("fine")];
    for flags in [&["--output-format", "json"][..], &["--json"][..]] {
        let result = world.play(&script, flags).run().exits(0).quiet().json();
        assert_eq!((&result["status"], &result["text"]), (&json!("success"), &json!("fine")));
        for key in
            ["verification", "cost", "run_path", "run_id", "rounds", "tool_calls", "duration_ms", "reason"]
        {
            assert!(!result[key].is_null(), "{key}: {result}");
        }
        assert!(fs::metadata(result["run_path"].as_str().unwrap()).unwrap().is_dir());
        assert_eq!(result["cost"]["llm_turns"], 2);
    }
    // A request that never became a run still prints the one object.
    let missing = world.play(&[], &["--json", "--provider", "groq"]).run().exits(2);
    let result = missing.json();
    assert_eq!((&result["type"], &result["exit_code"]), (&json!("result"), &json!(2)));
    assert!(result["error"].as_str().unwrap().contains("GROQ_API_KEY"));
    missing.cost();
}

#[test]
fn records_match_their_schemas() {
    let world = World::new();
    let script = [
        json!({"reply": {"text": "Let me see.", "tool_calls": [
            {"name": "create_file", "arguments": {"path": "a.txt", "content": "x"}},
            {"name": "read_file", "arguments": {"path": "missing.txt"}},
        ]}}),
        json!({"reply": {"text": "It is there."}}),
    ];
    world.play(&script, &["--commitment", "file_exists:a.txt"]).run().exits(0);
    let validator = |file: &str| {
        let printed = world.marvin(["schema", file]).run().exits(0).quiet();
        jsonschema::validator_for(&serde_json::from_str(printed.text()).unwrap()).unwrap()
    };
    let (run, trace) = (validator("run"), validator("trace"));
    let facts = world.facts();
    assert_eq!(run.iter_errors(&facts).map(|error| error.to_string()).collect::<Vec<_>>(), [""; 0]);
    let events = world.trace();
    assert!(events.len() > 10, "{}", events.len());
    for event in &events {
        assert!(trace.is_valid(event), "{event:#}");
    }
    assert!(!trace.is_valid(&json!({"type": "unheard.of"})));
    assert!(!run.is_valid(&json!({"version": "1"})));
}

#[test]
fn stream_json_is_the_trace_line_by_line() {
    let world = World::new();
    let script = [
        json!({"reply": {"text": "Let me see.", "tool_calls": [
            {"name": "create_file", "arguments": {"path": "a.txt", "content": "x"}},
            {"name": "read_file", "arguments": {"path": "missing.txt"}},
        ]}, "chunks": 3}),
        json!({"reply": {"text": "It is there."}, "chunks": 4}),
    ];
    let ended = world.play(&script, &["--output-format", "stream-json"]).run().exits(0).quiet();
    let trace: Vec<String> = world.trace().iter().map(Value::to_string).collect();
    let kept: Vec<&str> =
        ended.text().lines().filter(|line| !line.contains("\"type\":\"item.updated\"")).collect();
    assert_eq!(kept, trace, "the stream is the trace, byte for byte but for the hash that links its lines");

    let events = ended.events();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[1]), ("run.started", "turn.started"));
    assert_eq!(kinds[kinds.len() - 2..], ["turn.completed", "result"]);
    assert_eq!(kinds.iter().filter(|kind| **kind == "result").count(), 1);
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());

    // Ids are stable: an item completes under the id it started with, and deltas join to the message with their id.
    let ids = |kind: &str| -> Vec<&str> {
        let of_kind = events.iter().filter(|event| event["type"] == kind);
        of_kind.map(|event| event["item"]["id"].as_str().unwrap()).collect()
    };
    let completed = ids("item.completed");
    for id in ids("item.started").into_iter().chain(ids("item.updated")) {
        assert!(completed.contains(&id), "{id} is never completed");
    }
    for (id, text) in [("item_1_message", "Let me see."), ("item_4_message", "It is there.")] {
        let pieces: String = events
            .iter()
            .filter(|event| event["type"] == "item.updated" && event["item"]["id"] == id)
            .map(|event| event["item"]["delta"].as_str().unwrap())
            .collect();
        assert_eq!(pieces, text);
        let whole = events.iter().find(|e| e["type"] == "item.completed" && e["item"]["id"] == id).unwrap();
        assert_eq!(whole["item"]["text"], text);
    }
    let failed = events.iter().find(|event| event["item"]["tool"] == "read_file").unwrap();
    assert_eq!(
        (&failed["item"]["ok"], &failed["item"]["verdict"]["decision"]),
        (&json!(false), &json!("allow"))
    );
}

#[test]
fn an_answer_is_validated_against_its_schema() {
    let world = World::new();
    let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    let schema = put(&world.root().join("schema.json"), &schema.to_string()).display().to_string();
    let flags = ["--output-schema", &schema];
    let good = world.play(&[say("{\"n\": 1}")], &flags).run().exits(0).quiet();
    assert_eq!(good.text(), "{\"n\":1}\n");

    let corrected = [
        json!({"reply": {"text": "n is one"}}),
        json!({"when": {"contains": "does not fit"}, "reply": {"text": "```json\n{\"n\": 2}\n```"}}),
    ];
    let json_flags = ["--output-schema", &schema, "--json"];
    let result = world.play(&corrected, &json_flags).run().exits(0).json();
    assert_eq!(result["structured_output"], json!({"n": 2}));

    let never = world.play(&[json!({"reply": {"text": "{}"}, "repeat": true})], &flags).run().exits(1);
    assert!(never.message().contains("does not fit"));
    assert_eq!(never.cost()["llm_turns"], 3);
    assert!(!never.text().contains("{}"), "an answer that does not fit is not given out: {}", never.whole());

    let wrong = put(&world.root().join("wrong.json"), r#"{"type": 7}"#).display().to_string();
    let ended = world.play(&[say("x")], &["--output-schema", &wrong]).run().exits(2);
    assert!(ended.message().contains("--output-schema"));
}

#[test]
fn models_are_named_directly_or_by_tier() {
    let world = World::new();
    let server = world.server(&[json!({"reply": {"text": "ok"}, "repeat": true})]);
    let ask = |model: &str| {
        world
            .marvin([
                "--non-interactive",
                "--prompt",
                "x",
                "--provider",
                "openai",
                "--json",
                "--model",
                model,
            ])
            .env("MARVIN_OPENAI_URL", format!("{}/v1", server.address()))
            .env("OPENAI_API_KEY", "k")
            .run()
    };
    let named = ask("gpt-5.2-mini").exits(0);
    assert_eq!(named.cost()["model_turns"], json!({"gpt-5.2-mini": 1}));
    // A tier chooses the model for other work; this turn keeps the provider's own.
    for tier in
        ["low", "high", "codex", "opus", "plan", "plan_gen", "test_writer", "aux_reviewer", "fallback"]
    {
        let tiered = ask(&format!("{tier}=other-model")).exits(0);
        assert_eq!(tiered.cost()["model_turns"], json!({"gpt-5.2": 1}));
    }
    let unknown = ask("plam=x").exits(2);
    assert!(unknown.message().contains("did you mean `plan`"), "{}", unknown.whole());
    unknown.cost();
}

#[test]
fn dash_b_sets_pythondontwritebytecode_for_children() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    world.write("Makefile", "show:\n\t@echo \"bytecode=[$$PYTHONDONTWRITEBYTECODE]\" > seen.txt\n");
    let script = [call("run_command", json!({"command": "make show"})), say("ok")];
    world.play(&script, &[]).run().exits(0);
    assert_eq!(world.read("seen.txt"), "bytecode=[]\n");
    world.play(&script, &["-B"]).run().exits(0);
    assert_eq!(world.read("seen.txt"), "bytecode=[1]\n");
}

#[test]
fn the_json_protocol_calls_tools_and_ends_by_status() {
    for (status, code, name) in [
        ("SUCCESS", 0, "success"),
        ("FAILURE", 1, "failed"),
        ("BLOCKED", 4, "blocked"),
        ("PARTIAL", 1, "partial"),
    ] {
        let world = World::new();
        let script = [
            json!({"reply": {"json": {"tool_calls": [
                {"name": "create_file", "arguments": {"path": "a.txt", "content": "by json"}, "call_id": "c1"},
            ]}}}),
            json!({"when": {"contains": "tool_results"},
                "reply": {"json": {"status": status, "summary": "that is it", "metrics": {"n": 3}}}}),
        ];
        let ended = world.play(&script, &[]).env("MARVIN_PROTOCOL", "json").run().exits(code);
        assert_eq!(ended.text(), "  🔧 create_file\nthat is it\n");
        assert_eq!(world.read("a.txt"), "by json");
        let result = result_of(&world);
        assert_eq!((&result["status"], &result["data"]["metrics"]["n"]), (&json!(name), &json!(3)));
        ended.cost();
    }
}

#[test]
fn status_words_in_prose_decide_nothing() {
    for protocol in ["native", "json"] {
        let world = World::new();
        let prose = "status: FAILURE. BLOCKED, WAITING, NEED INPUT, DONE. {\"status\":\"FAILURE\"}";
        let ended = world.play(&[say(prose)], &[]).env("MARVIN_PROTOCOL", protocol).run().exits(0);
        assert_eq!(ended.text(), format!("{prose}\n"));
    }
}

#[test]
fn a_repeated_call_is_nudged_and_then_stopped() {
    let world = World::new();
    let same = call("read_file", json!({"path": "nothing.txt"}));
    let script = [
        same.clone(),
        same.clone(),
        json!({"when": {"contains": "call number 2"}, "reply": same["reply"]}),
        say("never said"),
    ];
    let ended = world.play(&script, &[]).run().exits(1);
    assert!(ended.message().contains("no progress: `read_file` was called 3 times"), "{}", ended.whole());
    assert_eq!(result_of(&world)["reason"], "no_progress");
    ended.cost();
}

#[test]
fn polling_with_new_results_is_not_a_repetition() {
    let world = World::new();
    let mut script = Vec::new();
    world.write("log.txt", "0\n");
    for n in 1..8 {
        script.push(call("read_file", json!({"path": "log.txt"})));
        script.push(call("append_file", json!({"path": "log.txt", "content": format!("{n}\n")})));
    }
    script.push(say("it moved"));
    let ended = world.play(&script, &[]).run().exits(0);
    assert!(ended.text().ends_with("it moved\n"));
}

#[test]
fn an_empty_reply_is_requested_again_once() {
    let world = World::new();
    let once = world.play(&[say(""), say("now")], &[]).run().exits(0);
    assert_eq!(once.text(), "now\n");
    let other = World::new();
    let twice = other.play(&[say(""), say("  "), say("never")], &[]).run().exits(1);
    assert!(twice.message().contains("nothing, twice"));
    assert_eq!(result_of(&other)["reason"], "empty_reply");
}

#[test]
fn an_exhausted_script_is_partial() {
    let world = World::new();
    let ended = world.play(&[call("tree", json!({}))], &[]).run().exits(1);
    let result = result_of(&world);
    assert_eq!((&result["status"], &result["failure_signature"]), (&json!("partial"), &json!("mock-empty")));
    ended.message();
    ended.cost();
}

#[test]
fn processes_share_a_script_through_its_state() {
    let world = World::new();
    let script: Vec<Value> = (0..6).map(|n| say(&format!("line {n}"))).collect();
    let script = world.script(&script);
    let state = world.root().join("state.json");
    let start = || {
        world
            .marvin(["--non-interactive", "--prompt", "x", "--script", &script])
            .env("MARVIN_SCRIPT_STATE", &state)
            .start()
    };
    let running: Vec<_> = (0..6).map(|_| start()).collect();
    let mut replies: Vec<String> =
        running.into_iter().map(|marvin| marvin.end().exits(0).text().trim().to_string()).collect();
    replies.sort();
    assert_eq!(replies, (0..6).map(|n| format!("line {n}")).collect::<Vec<_>>());
    start().end().exits(1);
}

#[test]
fn a_childs_cost_is_part_of_its_parents() {
    let world = World::new();
    let server = world.server(&[
        json!({"when": {"contains": "child"}, "reply": {"text": "c", "usage": {"input": 1_000_000, "output": 0}}}),
        json!({"when": {"contains": "parent"}, "delay_ms": 0, "reply": {"tool_calls": [
            {"name": "create_file", "arguments": {"path": "ready", "content": "1"}}]}}),
        json!({"when": {"contains": "Created"}, "delay_ms": 3000, "reply": {"tool_calls": [
            {"name": "tree", "arguments": {}}], "usage": {"input": 2_000_000, "output": 0}}}),
        json!({"reply": {"text": "both"}}),
    ]);
    let ledger_file = world.root().join("cost.jsonl");
    let ask = |prompt: &str, lineage: &str| {
        world
            .marvin([
                "--non-interactive",
                "--prompt",
                prompt,
                "--provider",
                "openai",
                "--output-format",
                "json",
            ])
            .env("MARVIN_OPENAI_URL", format!("{}/v1", server.address()))
            .env("OPENAI_API_KEY", "k")
            .env("MARVIN_COST_LEDGER", &ledger_file)
            .env("MARVIN_LINEAGE", lineage)
    };
    let parent = ask("parent", "1").start();
    crate::support::until("the parent is at work", || world.project().join("ready").exists());
    let child = ask("child", &format!("1,{}", parent.id())).env("MARVIN_DEPTH", "1").run().exits(0);
    assert_eq!(child.cost()["session_cost"], 1.75, "a child counts itself and what is below it");
    let parent = parent.end().exits(0).cost();
    assert!(parent["session_cost"].as_f64().unwrap() >= 1.75 * 3.0, "{parent}");
    assert_eq!(parent["llm_turns"], 4);
    assert_eq!(json_file(&world.user().join("usage.json"))["total_llm_turns"], 4, "nothing is counted twice");
}

#[test]
fn a_budget_holds_for_the_whole_process_tree() {
    let world = World::new();
    let nothing = world.play(&[say("never said")], &["--max-cost", "0"]).run().exits(6);
    assert_eq!((nothing.text(), &nothing.cost()["llm_turns"]), ("", &json!(0)));
    // A sibling's cost counts: this process may not send a request at all.
    let server = world.server(&[dear("one"), dear("two")]);
    let ask = |lineage: &str| {
        world
            .marvin(["--non-interactive", "--prompt", "x", "--provider", "openai"])
            .env("MARVIN_OPENAI_URL", format!("{}/v1", server.address()))
            .env("OPENAI_API_KEY", "k")
            .env("MARVIN_MAX_COST", "1.5")
            .env("MARVIN_COST_LEDGER", world.root().join("cost.jsonl"))
            .env("MARVIN_LINEAGE", lineage)
            .env("MARVIN_DEPTH", "1")
    };
    assert_eq!(ask("1").run().exits(0).cost()["session_cost"], 1.75);
    assert_eq!(ask("1").run().exits(6).cost()["session_cost"], 0.0);
}

#[test]
fn parallel_runs_lose_no_count() {
    let world = World::new();
    let running: Vec<_> = (0..8).map(|_| world.play(&[say("x")], &[]).start()).collect();
    for marvin in running {
        marvin.end().exits(0).quiet();
    }
    assert_eq!(json_file(&world.user().join("usage.json"))["total_llm_turns"], 8);
    assert_eq!(world.runs().len(), 8);
}

#[test]
fn the_parent_restricts_access() {
    let write = |path: &str| call("create_file", json!({"path": path, "content": "x"}));
    let world = World::new();
    let readonly = world.play(&[write("a.txt"), say("tried")], &[]).env("MARVIN_READONLY", "1");
    readonly.run().exits(0);
    assert!(!world.project().join("a.txt").exists());
    let writer = world.play(&[write("a.txt"), write("b.txt"), say("tried")], &[]);
    writer.env("MARVIN_WRITABLE_FILES", "b.txt,c/d.txt").run().exits(0);
    assert!(!world.project().join("a.txt").exists() && world.project().join("b.txt").exists());
}

#[test]
fn the_home_directory_is_not_a_project() {
    let world = World::new();
    let script = [call("create_file", json!({"path": "a.txt", "content": "x"})), say("no project here")];
    let ended = world.play(&script, &[]).directory(&world.home()).run().exits(0);
    assert!(ended.text().ends_with("no project here\n"));
    assert!(!world.home().join("a.txt").exists() && !world.home().join(".marvin").exists());
    assert_eq!(
        crate::support::runs_below(&world.user().join("runs")).len(),
        1,
        "the record is in the user directory"
    );
}

#[test]
fn a_working_directory_may_be_elsewhere() {
    let world = World::new();
    let elsewhere = world.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let script = [call("create_file", json!({"path": "a.txt", "content": "x"})), say("done")];
    let tape = world.root().join("tape");
    world.play(&script, &["--working-dir", "../elsewhere", "--record", "../tape"]).run().exits(0);
    assert!(elsewhere.join("a.txt").exists() && tape.join("script.jsonl").exists());
    assert!(!world.project().join(".marvin").exists() && elsewhere.join(".marvin/runs").exists());
}

#[test]
fn a_deadline_ends_a_command_too() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    world.write("Makefile", "wait:\n\tsleep 300\n");
    let script = [call("run_command", json!({"command": "make wait", "timeout": 250})), say("never")];
    let ended = world.play(&script, &["--deadline", "2"]).run().exits(1);
    assert!(ended.message().contains("the deadline passed"), "{}", ended.whole());
    assert_eq!(ended.cost()["llm_turns"], 1);
    assert_eq!(result_of(&world)["reason"], "deadline");
}

#[test]
fn notifications_report_start_and_end_without_secrets() {
    let world = World::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let pushed = std::thread::spawn(move || {
        (0..2).map(|_| answer_one(&listener.accept().unwrap().0)).collect::<Vec<String>>()
    });
    let ended = world
        .marvin(["--non-interactive", "--ntfy", "my-topic", "--script", &world.script(&[say("ok")])])
        .env("MARVIN_NTFY_URL", &url)
        .env("MY_API_KEY", "zq9-Plum-Harbor-77x")
        .input("Deploy with zq9-Plum-Harbor-77x please")
        .run()
        .exits(0)
        .quiet();
    ended.cost();
    let pushed = pushed.join().unwrap();
    assert!(pushed[0].starts_with("POST /my-topic") && pushed[0].contains("started: Deploy"), "{pushed:?}");
    assert!(pushed[1].contains("success: Deploy"), "{pushed:?}");
    assert!(!pushed.concat().contains("zq9-Plum"), "{pushed:?}");
    // An unreachable server is reported and changes nothing.
    let lost = world.play(&[say("ok")], &["--ntfy", "my-topic"]).env("MARVIN_NTFY_URL", &url).run().exits(0);
    assert!(lost.stderr.contains("my-topic"), "{}", lost.whole());
    lost.cost();
}

/// Reads one HTTP request and answers it; returns the request.
fn answer_one(mut stream: &std::net::TcpStream) -> String {
    use std::io::{Read, Write};
    let mut request = String::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).unwrap();
        request.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        let length = request
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let body = request.split_once("\r\n\r\n").map(|(_, body)| body.len());
        if read == 0 || body.is_some_and(|body| body >= length.unwrap_or(0)) {
            break;
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    request
}

#[test]
fn an_answer_after_the_last_round_counts() {
    let world = World::new();
    let script = [call("tree", json!({})), say("All done.")];
    let ended = world.play(&script, &["--max-rounds", "1"]).run().exits(0);
    assert!(ended.text().ends_with("All done.\n"), "{}", ended.whole());
}

#[test]
fn a_call_after_a_change_is_not_a_repetition() {
    let world = World::new();
    let cat = || call("run_command", json!({"command": "cat b.txt"}));
    let script = [cat(), call("create_file", json!({"path": "c.txt", "content": "x"})), cat(), say("fine")];
    world.play(&script, &[]).env("MARVIN_NO_PROGRESS", "2").run().exits(0);
    // Without a change in between, the same call is stopped.
    let other = World::new();
    other.play(&[cat(), cat(), say("fine")], &[]).env("MARVIN_NO_PROGRESS", "2").run().exits(1);
}

#[test]
fn the_deadline_covers_the_wait_for_the_prompt() {
    let world = World::new();
    let pipe = world.root().join("pipe").display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let ended = world
        .marvin(["--non-interactive", "--prompt-file", &pipe, "--deadline", "1", "--provider", "mock"])
        .run()
        .exits(1);
    assert!(ended.message().contains("while waiting for the prompt"), "{}", ended.whole());
    ended.cost();
}

#[test]
fn an_agent_too_deep_does_not_start_and_one_with_a_ticket_does_not_write() {
    let world = World::new();
    let ended = world.play(&[say("x")], &[]).env("MARVIN_DEPTH", "4").run().exits(5);
    assert!(ended.message().contains("4 levels deep"), "{}", ended.whole());
    let script = [call("create_file", json!({"path": "a.txt", "content": "x"})), say("done")];
    world.play(&script, &[]).env("MARVIN_TICKET", "t-1").run().exits(0);
    assert!(!world.project().join("a.txt").exists());
}

#[test]
fn a_projects_symlinks_are_not_followed() {
    let world = World::new();
    let secret = world.root().join("private.txt");
    fs::write(&secret, "PRIVATE WORDS").unwrap();
    std::os::unix::fs::symlink(&secret, world.project().join("AGENTS.md")).unwrap();
    let tape = world.root().join("tape").display().to_string();
    world.play(&[say("x")], &["--record", &tape]).run().exits(0);
    assert!(!fs::read_to_string(format!("{tape}/script.jsonl")).unwrap().contains("PRIVATE WORDS"));
    // A FIFO is not waited for.
    fs::remove_file(world.project().join("AGENTS.md")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(world.project().join("AGENTS.md")).status().unwrap();
    assert!(made.success());
    fs::create_dir_all(world.project().join(".marvin")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", world.project().join(".marvin/spec.md")).unwrap();
    world.play(&[say("x")], &[]).run().exits(0);
    // A symlink in the place of `.marvin/runs` is not followed.
    let other = World::new();
    fs::create_dir_all(other.project().join(".marvin")).unwrap();
    let decoy = world.root().join("decoy");
    fs::create_dir(&decoy).unwrap();
    std::os::unix::fs::symlink(&decoy, other.project().join(".marvin/runs")).unwrap();
    other.play(&[say("x")], &[]).run().exits(0);
    assert!(other.run().join("run.json").is_file() && fs::read_dir(&decoy).unwrap().next().is_none());
    // The project's `.marvin` directory must not be a symlink.
    fs::remove_dir_all(other.project().join(".marvin")).unwrap();
    std::os::unix::fs::symlink(&decoy, other.project().join(".marvin")).unwrap();
    let ended = other.play(&[say("x")], &[]).run().exits(5);
    assert!(ended.message().contains(".marvin is a link"), "{}", ended.whole());
}

#[test]
fn a_wrong_flag_still_prints_the_cost() {
    let world = World::new();
    world.marvin(["--non-interactive", "--no-such-flag"]).run().exits(2).cost();
    let ended =
        world.marvin(["--non-interactive", "--no-such-flag", "--output-format", "json"]).run().exits(2);
    assert_eq!((&ended.json()["reason"], &ended.json()["exit_code"]), (&json!("not_started"), &json!(2)));
    ended.cost();
}
