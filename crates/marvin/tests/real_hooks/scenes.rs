//! Scenes for both programs.

pub(crate) use crate::magic::ten_turns_of_magic_are_played;
pub(crate) use crate::questions::a1_nothing_runs_that_would_have_been_asked_about;
use crate::stage::{Program, Stage, call, say};
use serde_json::json;
use std::fs;

pub(crate) fn commands_are_judged_and_the_model_is_told(program: Program) {
    let mut stage = Stage::new(program);
    let precious = stage.place("home/precious");
    let entries = vec![
        stage.shell("echo made > made.txt"),
        stage.shell(&format!("rm -rf {}/home && echo gone", stage.place("").display())),
        stage.shell("unknown-program --do"),
        say("T1 DONE"),
    ];
    let played = stage.play("Make something.", entries, None);
    // Marvin's context comes before the model's first reply.
    assert!(played.requests[0].contains("Marvin watches this session"), "{}", played.whole());
    // Allowed commands run.
    assert_eq!(
        std::fs::read_to_string(stage.place("work/made.txt")).unwrap(),
        "made\n",
        "{}",
        played.whole()
    );
    // Denied commands do not, and the model gets the reason and an alternative.
    assert!(precious.join("file").exists());
    assert!(
        played.requests.iter().any(|request| request.contains("[marvin: catastrophe")),
        "{}",
        played.whole()
    );
    // Without a person, a question becomes a refusal.
    let last = played.requests.last().unwrap();
    assert!(last.contains("[marvin: "), "{}", played.whole());
    let verdicts: Vec<String> = stage
        .trace()
        .iter()
        .filter(|event| event["type"] == "hook.pre-tool-use")
        .filter_map(|event| Some(event["verdict"]["decision"].as_str()?.to_string()))
        .collect();
    assert_eq!(verdicts, ["allow", "deny", "ask"], "{}", played.whole());
}

pub(crate) fn a_correction_changes_what_the_next_edit_is_told(program: Program) {
    let mut stage = Stage::new(program);
    let mut entries = stage.edit("src/b.txt", "gamma");
    entries.push(say("T1 DONE"));
    let first = stage.play("Change it.", entries, None);
    assert!(!first.requests.iter().any(|request| request.contains("HOUSE-LESSON")), "{}", first.whole());
    std::fs::write(stage.place("work/src/b.txt"), "alpha\nbeta\n").unwrap();
    let mut entries = stage.edit("src/b.txt", "delta");
    entries.push(say("T2 DONE"));
    let second =
        stage.play("No, don't mock the database in tests, use the real one.", entries, Some(&first.session));
    assert_eq!(first.session, second.session);
    let last = second.requests.last().unwrap();
    assert!(last.contains("HOUSE-LESSON"), "{}", second.whole());
    let guided: Vec<String> =
        stage.trace().iter().filter_map(|event| Some(event["guidance"].as_str()?.to_string())).collect();
    assert!(guided.contains(&"correction".to_string()), "{guided:?}");
}

pub(crate) fn compaction_tells_again(program: Program) {
    let mut stage = Stage::new(program);
    let first =
        stage.play("No, don't mock the database in tests, use the real one.", vec![say("T1 DONE")], None);
    // The first call used so many tokens that a compaction precedes the next one.
    let mut entries = stage.edit("src/a.txt", "gamma");
    entries[0]["reply"]["usage"] = json!({"input": 990_000, "output": 10});
    entries.insert(1, say("<summary>What happened.</summary>"));
    entries.push(say("T2 DONE"));
    let second = stage.play("Change it.", entries, Some(&first.session));
    let trace = stage.trace();
    let kinds: Vec<&str> = trace.iter().filter_map(|event| event["type"].as_str()).collect();
    assert!(kinds.contains(&"hook.pre-compact"), "{kinds:?}\n{}", second.whole());
    assert!(trace.iter().any(|event| event["source"] == "compact"), "{kinds:?}\n{}", second.whole());
    let last = second.requests.last().unwrap();
    assert!(
        last.contains("In this session the person said") && last.contains("mock the database"),
        "{}",
        second.whole()
    );
    assert!(last.contains("HOUSE-"), "{}", second.whole());
}

pub(crate) fn a_command_of_a_sub_agent_is_judged(program: Program) {
    let mut stage = Stage::new(program);
    let remove = format!("rm -rf {}/home", stage.place("").display());
    let entries = vec![
        call(
            "Agent",
            json!({"description": "d", "prompt": "Tidy up.", "subagent_type": "general-purpose", "run_in_background": false}),
        ),
        stage.shell(&remove),
        say("SUB DONE"),
        say("T1 DONE"),
    ];
    let played = stage.play("Let an agent tidy up.", entries, None);
    assert!(stage.place("home/precious/file").exists());
    let judged: Vec<_> =
        stage.trace().into_iter().filter(|event| event["verdict"]["decision"] == "deny").collect();
    assert_eq!(judged.len(), 1, "{}", played.whole());
    assert!(judged[0]["agent_id"].is_string(), "{judged:?}");
}

pub(crate) fn a_daemon_that_is_killed_changes_nothing(program: Program) {
    let mut stage = Stage::new(program);
    let mut entries = stage.edit("src/a.txt", "gamma");
    entries.push(say("T1 DONE"));
    let first = stage.play("Change it.", entries, None);
    assert!(first.requests.iter().any(|request| request.contains("HOUSE-LESSON")), "{}", first.whole());
    // The daemon dies during the session: the program itself kills it in the middle of its work.
    let tmp = std::env::var("TMPDIR").unwrap();
    let entries = vec![
        stage.shell("echo one > one.txt"),
        stage.shell("echo two > two.txt"),
        stage.shell(&format!("rm -rf {}/home", stage.place("").display())),
        say("T2 DONE"),
    ];
    let killer = std::thread::spawn(move || {
        // Every daemon is killed as soon as it listens.
        let directory =
            std::path::Path::new(&tmp).join(format!("mhd-{}", rustix::process::getuid().as_raw()));
        for _ in 0..400 {
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
                let pid = text.lines().next().and_then(|line| line.parse().ok());
                if let (Some(pid), true) = (
                    pid.and_then(rustix::process::Pid::from_raw),
                    entry.path().extension().is_some_and(|own| own == "pid"),
                ) {
                    rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
                }
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    let second = stage.play("Go on.", entries, Some(&first.session));
    assert!(
        stage.place("work/one.txt").exists() && stage.place("work/two.txt").exists(),
        "{}",
        second.whole()
    );
    assert!(stage.place("home/precious/file").exists());
    killer.join().unwrap();
    let verdicts = stage.trace().iter().filter(|event| event["verdict"].is_object()).count();
    assert_eq!(verdicts, 3, "{}", second.whole());
    let runs = std::fs::read_dir(stage.place("work/.marvin/runs"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_str().unwrap().starts_with("run_"))
        .count();
    assert_eq!(runs, 1);
    stage.kill_daemon();
}

pub(crate) fn done_is_proved(program: Program) {
    let mut stage = Stage::new(program);
    let added = stage.run("marvin", &["commitments", "add", "file_exists:proof.txt"]);
    assert!(added.status.success(), "{added:?}");
    // A question in a project with an open commitment is one request, and its answer reaches the person (A9).
    let asked = stage.play("What is 2 + 2?", vec![say("It is FOUR.")], None);
    assert_eq!(asked.requests.len(), 1, "{}", asked.whole());
    assert!(asked.text.contains("FOUR"), "{}", asked.whole());
    let entries = vec![
        stage.shell("echo y > other.txt"),
        say("T1 DONE"),
        stage.shell("echo x > proof.txt"),
        say("T2 DONE"),
    ];
    let played = stage.play("Do it.", entries, None);
    assert!(stage.place("work/proof.txt").exists(), "{}", played.whole());
    assert!(played.requests[2].contains("proof.txt"), "{}", played.whole());
    let proved: Vec<bool> = stage.trace().iter().filter_map(|event| event["verified"].as_bool()).collect();
    assert_eq!(proved, [false, true], "{}", played.whole());
}

/// The program knows Marvin's tools and calls them, and every call is judged and recorded.
pub(crate) fn tools_are_listed_and_called(program: Program) {
    let mut stage = Stage::new(program);
    stage.serves = true;
    // The servitor's model is not the program's.
    let script = json!({"when": {"step": "vega"}, "reply": {"text": "It is so.\nSTATUS: DONE"}});
    fs::write(stage.place("vega.jsonl"), format!("{script}\n")).unwrap();
    let settings =
        format!("[model]\nprovider = \"mock\"\nscript = \"{}\"\n", stage.place("vega.jsonl").display());
    fs::create_dir_all(stage.place("home/.config/marvin")).unwrap();
    fs::write(stage.place("home/.config/marvin/config.toml"), settings).unwrap();
    // Both clients defer MCP tools until they are searched for.
    let looked_for = match program {
        Program::Claude => call("ToolSearch", json!({"query": "select:mcp__marvin__gate_explain"})),
        Program::Codex => call("tool_search", json!({"query": "gate explain marvin"})),
    };
    let entries = vec![
        looked_for,
        call("mcp__marvin__gate_explain", json!({"command_line": "rm -rf /"})),
        call("mcp__marvin__add_commitment", json!({"kind": "file_exists", "assertion": "src/a.txt"})),
        call("mcp__marvin__verify", json!({})),
        call(
            "mcp__marvin__summon_servitor",
            json!({"assignment": "Look at it.", "name": "Vega", "commitments": ["file_exists:src/b.txt"]}),
        ),
        call("mcp__marvin__wait_for_servitor", json!({"id": "vega"})),
        say("T1 DONE"),
    ];
    let played = stage.play("Use the tools.", entries, None);
    assert!(
        played.requests[1].contains("Say whether a shell command would be allowed here"),
        "{}",
        played.whole()
    );
    let last = played.requests.last().unwrap();
    assert!(last.contains("catastrophe.delete"), "{}", played.whole());
    assert!(last.contains("verified: 1 of 1 passed"), "{}", played.whole());
    assert!(last.contains("summon_servitor") && last.contains("timed_out"), "{}", played.whole());
    let document = fs::read_to_string(
        stage.place("work/.marvin/runs").canonicalize().unwrap().with_file_name("agents/vega.md"),
    )
    .unwrap();
    assert!(document.contains("state: done\n"), "{document}");
    let calls: Vec<(String, bool)> = stage
        .trace()
        .iter()
        .filter(|event| event["type"] == "item.completed" && event["item"]["type"] == "tool_call")
        .map(|event| (event["item"]["tool"].as_str().unwrap().to_string(), event["item"]["ok"] == true))
        .collect();
    let expected = ["gate_explain", "add_commitment", "verify", "summon_servitor", "wait_for_servitor"]
        .map(|name| (name.to_string(), true));
    assert_eq!(calls, expected, "{}", played.whole());
}
