//! Commands other than a non-interactive turn, and `marvin QUESTION`.

use crate::support::{ProgramOutput, World, call, commands_run, json_file, ledger, put, runs_below, say};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

const PLANTED: &str = "sk-planted-0123456789abcdef";

/// Runs a program with text on stdin; `None` where it is not installed.
fn pipe_into(program: &str, arguments: &[&str], text: &str) -> Option<ProgramOutput> {
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        marvin_testing::skip(&format!("{program} is not installed"));
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let text = text.to_string();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()).ok());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Some(ProgramOutput {
        code: output.status.code(),
        signal: None,
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[test]
fn config_shows_every_setting_and_where_it_came_from() {
    let world = World::new();
    put(&world.user().join("config.toml"), "[limits]\nrounds = 7\nretries = 2\n");
    world.write(".marvin/config.toml", "limits.rounds = 8\nlimits.no_progress = 5\n");
    let config = |arguments: &[&str]| {
        world
            .marvin([&["config"], arguments].concat())
            .env("OPENAI_API_KEY", PLANTED)
            .env("TOKIMON_GREP_MAX_BYTES", "999")
            .run()
            .exits(0)
            .quiet()
    };
    let rows = config(&["--json"]).json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), marvin_base::settings::TABLE.len());
    let row = |key: &str| rows.iter().find(|row| row["key"] == key).unwrap();
    let origin = |key: &str| row(key)["origin"].as_str().unwrap().to_string();
    assert_eq!(
        (&row("limits.rounds")["value"], origin("limits.rounds").ends_with("project/.marvin/config.toml")),
        (&json!("8"), true)
    );
    assert!(origin("limits.retries").ends_with("home/.config/marvin/config.toml"));
    assert_eq!(
        (&row("tools.grep_max_bytes")["value"], origin("tools.grep_max_bytes").as_str()),
        (&json!("999"), "$TOKIMON_GREP_MAX_BYTES")
    );
    assert_eq!(
        (&row("provider.openai.key")["value"], origin("provider.openai.key").as_str()),
        (&json!("(set, hidden)"), "$OPENAI_API_KEY")
    );
    assert_eq!(origin("context.warn_tokens"), "default");

    let text = config(&[]);
    assert_eq!(text.text().lines().count(), rows.len());
    for shown in [config(&[]), config(&["--json"]), config(&["--markdown"])] {
        assert!(!shown.text().contains(PLANTED));
    }
}

#[test]
fn the_settings_schema_accepts_the_settings() {
    let world = World::new();
    let schema: Value =
        serde_json::from_str(world.marvin(["config", "--schema"]).run().exits(0).text()).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&json!({"limits": {"rounds": 3}, "model": {"protocol": "json"}})));
    assert!(validator.is_valid(&json!({})));
    assert!(!validator.is_valid(&json!({"limits": {"round": 3}})), "an unknown key");
    assert!(!validator.is_valid(&json!({"limits": {"rounds": "many"}})), "a wrong kind");
    assert!(!validator.is_valid(&json!({"limits": {"rounds": 0}})), "out of bounds");
    assert!(!validator.is_valid(&json!({"model": {"protocol": "smoke signals"}})), "no such choice");
    let markdown = world.marvin(["config", "--markdown"]).run().exits(0);
    for setting in marvin_base::settings::TABLE {
        assert!(markdown.text().contains(setting.key), "{}", setting.key);
        for variable in setting.variables {
            assert!(markdown.text().contains(variable), "{variable}");
        }
    }
}

#[test]
fn doctor_names_keys_and_never_shows_them() {
    let world = World::new();
    put(&world.home().join(".ssh/GROQ_API_KEY"), "gsk-planted-in-a-file-77");
    let doctor =
        |flags: &[&str]| world.marvin([&["doctor"], flags].concat()).env("ANTHROPIC_API_KEY", PLANTED).run();
    let text = doctor(&[]).exits(0).quiet();
    let report = doctor(&["--json"]).exits(0).quiet();
    for shown in [&text, &report] {
        assert!(!shown.text().contains(PLANTED) && !shown.text().contains("planted-in-a-file"));
    }
    let report = report.json();
    assert_eq!(
        (&report["ok"], &report["problems"], &report["chosen"]),
        (&json!(true), &json!(0), &json!("anthropic"))
    );
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    for name in [
        "git",
        "shell",
        "sandbox",
        "python",
        "pytest",
        "browser",
        "disk",
        "user directory",
        "project",
        "settings",
    ] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
    for check in report["checks"].as_array().unwrap() {
        assert_eq!(check["state"] == "ok", check["mend"].is_null(), "every problem has a fix: {check}");
    }
    let providers = report["providers"].as_array().unwrap();
    assert_eq!(providers.len(), 11);
    for provider in providers {
        assert!(
            provider["ready"] == true || provider["mend"].as_str().is_some_and(|fix| !fix.is_empty()),
            "{provider}"
        );
    }
    // Invalid settings are a finding of the doctor; it still reports everything else.
    put(&world.user().join("config.toml"), "[limits]\nround = 1");
    let sick = doctor(&["--json"]).exits(1).json();
    let settings =
        sick["checks"].as_array().unwrap().iter().find(|check| check["name"] == "settings").unwrap();
    assert!(settings["found"].as_str().unwrap().contains("limits.rounds"), "{settings}");
}

#[test]
fn doctor_lists_missing_programs() {
    let world = World::new();
    let empty = world.root().join("tmp");
    let report = world.marvin(["doctor", "--json"]).env("PATH", &empty).run().exits(1).json();
    let state = |name: &str| {
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap()["state"].clone()
    };
    assert_eq!(
        (state("git"), state("shell"), state("python")),
        (json!("problem"), json!("problem"), json!("missing"))
    );
    assert_eq!(report["problems"], 2);
}

#[test]
fn tools_are_listed_explained_and_called() {
    let world = World::new();
    let list = world.marvin(["tools", "list", "--json"]).run().exits(0).quiet().json();
    let names: Vec<&str> =
        list.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in [
        "append_file",
        "apply_patch",
        "code_grep",
        "convert_units",
        "create_file",
        "get_usage",
        "read_file",
        "read_note",
        "run_command",
        "tree",
        "write_note",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    let text = world.marvin(["tools", "list"]).run().exits(0).quiet();
    assert_eq!(text.text().lines().count(), names.len());
    for tool in list.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{name} says nothing of itself");
        let schema: Value =
            serde_json::from_str(world.marvin(["tools", "schema", name]).run().exits(0).text()).unwrap();
        assert_eq!((&schema["type"], &schema), (&json!("object"), &tool["parameters"]), "{name}");
        jsonschema::meta::validate(&schema).unwrap();
    }

    let tool = |name: &str, arguments: Value| {
        world.marvin(["tools", "call", name, "--args", &arguments.to_string(), "--json"])
    };
    let made = tool("create_file", json!({"path": "src/a.rs", "content": "fn main() {}\n"}))
        .run()
        .exits(0)
        .quiet()
        .json();
    let keys: Vec<&String> = made.as_object().unwrap().keys().collect();
    for key in ["tool", "verdict", "ok", "summary", "data", "error", "elapsed_ms"] {
        assert!(keys.iter().any(|has| *has == key), "{key} is not among {keys:?}");
    }
    assert_eq!(
        (&made["ok"], &made["verdict"]["decision"], &made["error"]),
        (&json!(true), &json!("allow"), &Value::Null)
    );
    let refused = tool("create_file", json!({"path": "../a.rs", "content": "x"})).run().exits(5).json();
    assert_eq!((&refused["ok"], &refused["verdict"]["decision"]), (&json!(false), &json!("deny")));
    assert!(!refused["verdict"]["how_to_fix"].as_str().unwrap().is_empty());

    // The older name of a tool does the same.
    world.marvin(["tools", "call", "file.read", "--args", "{\"path\":\"src/a.rs\"}"]).run().exits(0);
    let patch =
        "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-fn main() {}\n+fn main() { work() }\n*** End Patch";
    tool("apply_patch", json!({"patch": patch})).run().exits(0);
    assert_eq!(world.read("src/a.rs"), "fn main() { work() }\n");
    let elsewhere = world.root().join("elsewhere");
    put(&elsewhere.join("b.txt"), "b");
    let tree = world
        .marvin(["tools", "call", "tree", "--working-dir", &elsewhere.display().to_string()])
        .run()
        .exits(0);
    assert!(tree.text().contains("b.txt"));
    // Every call is recorded in the project it worked in.
    assert!(!world.runs().is_empty());
    let runs = runs_below(&elsewhere.join(".marvin/runs"));
    assert_eq!(runs.len(), 1);
    let trace = ledger(&runs[0].join("trace.jsonl"));
    assert_eq!((&trace[0]["item"]["name"], &trace[1]["item"]["ok"]), (&json!("tree"), &json!(true)));
    assert_eq!(json_file(&runs[0].join("run.json"))["status"], "success");
}

#[test]
fn commands_are_judged_and_contained() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let run = |line: &str| {
        world
            .marvin([
                "tools",
                "call",
                "run_command",
                "--json",
                "--args",
                &json!({"command": line}).to_string(),
            ])
            .run()
    };
    world.write("a.txt", "hello from a file\n");
    let shown = run("cat a.txt | wc -w").exits(0).json();
    assert_eq!(shown["verdict"]["decision"], "allow");
    let failed = run("ls no-such-file").exits(1).json();
    assert_eq!((&failed["ok"], &failed["verdict"]["decision"]), (&json!(false), &json!("allow")));
    for line in [
        "rm -rf /",
        "cat a.txt; rm -rf ~",
        "git push --force",
        "$(echo rm) a.txt",
        "curl http://example.org/",
    ] {
        let refused = run(line).exits(5).json();
        assert_eq!(refused["verdict"]["decision"], "deny", "{line}: no person can be asked");
    }
    assert_eq!(world.read("a.txt"), "hello from a file\n");
}

#[test]
fn completions_and_man_page_are_well_formed() {
    let world = World::new();
    for (shell, check) in [("bash", "bash"), ("zsh", "zsh"), ("fish", "fish")] {
        let script = world.marvin(["completions", shell]).run().exits(0).quiet();
        for word in ["non-interactive", "model-server", "doctor", "output-format"] {
            assert!(script.text().contains(word), "{shell}: {word}");
        }
        if let Some(checked) = pipe_into(check, &["-n", "/dev/stdin"], script.text()) {
            assert_eq!((checked.code, checked.stderr.as_str()), (Some(0), ""), "{shell}");
        }
    }
    let page = world.marvin(["man"]).run().exits(0).quiet();
    assert!(page.text().starts_with(".ie") || page.text().starts_with(".TH"));
    for heading in [".TH marvin", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH \"MARVIN DOCTOR\""] {
        assert!(page.text().to_lowercase().contains(&heading.to_lowercase()), "{heading}");
    }
}

#[test]
fn a_look_around_makes_no_project() {
    let world = World::new();
    world.marvin::<&str>([]).run().exits(0).quiet();
    assert!(
        !world.project().join(".marvin").exists() && !world.state().exists(),
        "the directory is as it was"
    );
}

#[test]
fn questions_of_one_user_share_a_conversation() {
    let world = World::new();
    let script = world.script(&[
        json!({"when": {"contains": "my name is Ann"}, "reply": {"text": "Hello Ann."}}),
        say("You are Ann."),
    ]);
    let tape = world.root().join("tape").display().to_string();
    let ask = |words: &[&str]| {
        world
            .marvin([&["--script", &script, "--record", &tape], words].concat())
            .env("MARVIN_SCRIPT_STATE", world.root().join("state"))
            .run()
            .exits(0)
            .quiet()
    };
    assert_eq!(ask(&["my", "name", "is", "Ann"]).text(), "Hello Ann.\n");
    assert_eq!(ask(&["who am I?"]).text(), "You are Ann.\n");
    let log = json_file(&world.user().join("profiles/default/chat_log.json"));
    let entries: Vec<(&str, &str)> = log
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["role"].as_str().unwrap(), entry["text"].as_str().unwrap()))
        .collect();
    assert_eq!(
        entries,
        [
            ("you", "my name is Ann"),
            ("assistant", "Hello Ann."),
            ("you", "who am I?"),
            ("assistant", "You are Ann.")
        ]
    );
    let time = log[0]["time"].as_str().unwrap();
    assert!(time.len() == 5 && time.as_bytes()[2] == b':', "{time}");
    let second = &ledger(&world.root().join("tape/script.jsonl"))[1];
    let messages = second["request"]["messages"].as_array().unwrap();
    let texts: Vec<&str> =
        messages.iter().skip(1).map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["my name is Ann", "Hello Ann.", "who am I?"]);
    // A conversation has the assistant's tools; file tools need a working directory.
    assert!(!second["request"]["tools"].as_array().unwrap().contains(&json!("create_file")));
    assert!(
        !world.project().join(".marvin").exists() && !world.state().exists(),
        "a question makes no project"
    );
}

#[test]
fn piped_output_has_no_escape_sequences() {
    let world = World::new();
    for variables in [&[][..], &[("NO_COLOR", "1")], &[("CLICOLOR_FORCE", "1"), ("FORCE_COLOR", "1")]] {
        for arguments in [&["doctor"][..], &["--help"], &["--no-such-flag"], &["config"], &["tools", "list"]]
        {
            let mut marvin = world.marvin(arguments);
            for (name, value) in variables {
                marvin = marvin.env(name, value);
            }
            let ended = marvin.run();
            assert!(!ended.whole().contains('\u{1b}'), "{arguments:?} with {variables:?}");
        }
    }
}

#[test]
fn version_and_help_need_no_settings() {
    let world = World::new();
    // They work even with invalid settings.
    put(&world.user().join("config.toml"), "nonsense");
    for flag in ["--version", "-V"] {
        let ended = world.marvin([flag]).run().exits(0).quiet();
        assert_eq!(ended.text(), format!("marvin {}\n", env!("CARGO_PKG_VERSION")));
    }
    world.marvin(["--help"]).run().exits(0).quiet();
    for command in ["config", "doctor", "tools", "tk", "model-server", "replay", "completions", "man"] {
        world.marvin([command, "--help"]).run().exits(0).quiet();
    }
}

#[test]
fn the_model_server_prints_its_address_and_stops_on_a_signal() {
    let world = World::new();
    let server = world.server(&[say("hello"), json!({"fail": {"kind": "timeout"}})]);
    assert!(server.address().starts_with("http://127.0.0.1:"));
    let ask = || {
        world
            .marvin(["--non-interactive", "--prompt", "hi", "--provider", "local"])
            .env("MARVIN_LOCAL_URL", format!("{}/v1", server.address()))
            .env("MARVIN_RETRIES", "0")
    };
    assert_eq!(ask().run().exits(0).text(), "hello\n");
    // It stops even while a request waits for a reply that never comes.
    let waiting = ask().args(["--output-format", "stream-json"]).start();
    let socket = server.socket().to_string();
    let stopped = server.stop().exits(0).quiet();
    assert!(stopped.text().is_empty(), "the address is all it prints");
    assert!(std::net::TcpStream::connect(&socket).is_err());
    let ended = waiting.end();
    assert_eq!(ended.code, Some(1), "{}", ended.whole());
}

#[test]
fn a_coding_turn_uses_every_kind_of_tool() {
    let world = World::new();
    world.write("src/lib.rs", "pub fn one() -> i32 {\n    1\n}\n");
    let patch = "*** Begin Patch\n*** Update File: src/lib.rs\n@@\n-    1\n+    2\n*** End Patch";
    let script = [
        json!({"reply": {"tool_calls": [
            {"name": "tree", "arguments": {}},
            {"name": "code_grep", "arguments": {"pattern": "fn one"}},
            {"name": "read_file", "arguments": {"path": "src/lib.rs"}},
            {"name": "convert_units", "arguments": {"value": 1, "from_unit": "mile", "to_unit": "km"}},
            {"name": "get_usage", "arguments": {}},
        ]}}),
        // The patch as a bare string, as some models send it.
        call("apply_patch", json!(patch)),
        call("write_note", json!({"path": "plan", "content": "two now"})),
        call("read_note", json!({"path": "plan"})),
        json!({"when": {"contains": "two now"}, "reply": {"text": "Patched."}}),
    ];
    let ended = world.play(&script, &[]).run().exits(0).quiet();
    assert!(
        ended
            .text()
            .starts_with("  🔧 tree, code_grep, read_file, convert_units, get_usage\n  🔧 apply_patch\n")
    );
    assert!(ended.text().ends_with("Patched.\n"));
    assert_eq!(world.read("src/lib.rs"), "pub fn one() -> i32 {\n    2\n}\n");
    assert_eq!(world.read(".marvin/notes/plan.md"), "two now");
    let failed: Vec<Value> = world.trace().into_iter().filter(|event| event["item"]["ok"] == false).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn tools_list_shows_the_tools_an_agent_is_offered() {
    let world = World::new();
    let names = |name: &str, value: &str| {
        world.marvin(["tools", "list"]).env(name, value).run().exits(0).text().to_string()
    };
    assert!(names("UNRELATED", "1").contains("run_command"));
    let few = names("MARVIN_WRITABLE_FILES", "a.txt");
    assert!(
        few.contains("create_file") && !few.contains("run_command") && !few.contains("write_note"),
        "{few}"
    );
    let none = names("MARVIN_READONLY", "1");
    assert!(none.contains("read_file") && !none.contains("create_file"), "{none}");
}

#[test]
fn a_call_that_the_gate_asks_about_is_asked_at_a_terminal() {
    let world = World::new();
    world.write(".env", "A=1\n");
    let arguments = r#"{"command":"cat .env"}"#;
    let without = world.marvin(["tools", "call", "run_command", "--args", arguments]).run().exits(5);
    assert!(without.stderr.contains("hint: run it in a terminal, where you are asked"), "{}", without.stderr);
    let location = world.marvin(["tools", "call", "get_my_location"]).run().exits(5);
    assert!(
        location.stderr.contains("hint: run it in a terminal, where you are asked"),
        "{}",
        location.stderr
    );
    // What is refused whatever a person says has no such hint.
    let denied = world.marvin(["tools", "call", "run_command", "--args", r#"{"command":"rm -rf /"}"#]).run();
    assert!(!denied.exits(5).stderr.contains("hint: run it in a terminal"));
    // `script` gives the program a terminal.
    let at_terminal = |answer: &str| {
        let line = format!("exec '{}' tools call run_command --args '{arguments}'", crate::support::PROGRAM);
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(world.project());
        world.bare(&mut command);
        command
            .env("MARVIN_TEST_TERMINAL", std::fs::canonicalize("/usr/bin/script").unwrap_or_default())
            .env("SHELL", "/bin/sh");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut child) = child else { return None };
        child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        Some(String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned())
    };
    let Some(refused) = at_terminal("n\n") else {
        return marvin_testing::skip("`script` is not installed");
    };
    // The question says what a yes opens.
    let asks = refused.contains("cat .env") && refused.contains(".env) [y/N]");
    assert!(asks && refused.contains("the person said no"), "{refused}");
    let allowed = at_terminal("y\n").unwrap();
    assert!(allowed.contains("A=1"), "{allowed}");
}
