//! Wrong flags, wrong files, full disks, closed streams: one clear message, the documented exit code, no panic.

use crate::support::{Marvin, PROGRAM, ProgramOutput, World, call, json_file, put, say};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};

/// Runs it; it must exit with this code and one message that contains all `words`.
fn fails(marvin: Marvin, code: i32, words: &[&str]) -> ProgramOutput {
    let ended = marvin.run().exits(code);
    let message = ended.message();
    for word in words {
        assert!(message.contains(word), "`{word}` is not in:\n{message}");
    }
    ended
}

fn ask(world: &World) -> Marvin {
    world.marvin(["--non-interactive", "--prompt", "hi"])
}

#[test]
fn a_nul_byte_in_a_prompt_is_an_ordinary_character() {
    let world = World::new();
    let script = world.script(&[json!({"when": {"contains": "a\u{0}b"}, "reply": {"text": "c\u{0}d"}})]);
    let ended =
        world.marvin(["--non-interactive", "--script", &script]).input(b"a\0b".to_vec()).run().exits(0);
    assert_eq!(ended.text(), "c\u{0}d\n");
    assert_eq!(world.facts()["prompt"], "a\u{0}b");
}

#[test]
fn a_very_long_prompt_arrives_whole() {
    let world = World::new();
    let prompt = format!("{} the last word", "many words ".repeat(400_000));
    let script = world.script(&[json!({"when": {"contains": "the last word"}, "reply": {"text": "ok"}})]);
    let flags = ["--non-interactive", "--script", &script];
    assert_eq!(world.marvin(flags).input(prompt).run().exits(0).text(), "ok\n");
    let endless = "x".repeat(17 * 1024 * 1024);
    fails(world.marvin(flags).input(endless), 2, &["longer than 16 MB"]).cost();
}

#[test]
fn a_workflow_whose_model_cannot_be_asked_leaves_no_run() {
    let world = World::new();
    let steps = json!([{"id": "make", "worker": "Implementer"}]);
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try", "steps": steps}).to_string());
    fails(world.marvin(["run-workflow", "w.json", "--script", "nope.jsonl"]), 2, &["nope.jsonl"]);
    assert_eq!(world.runs(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn help_names_a_command_and_is_no_question() {
    let world = World::new();
    let shown = world.marvin(["help", "workflow", "approve"]).run().exits(0);
    assert!(shown.text().contains("Usage: marvin workflow approve"), "{}", shown.whole());
    assert_eq!(world.runs(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_keys_of_settings_are_listed_where_a_file_is_wrong() {
    let world = World::new();
    world.write(".marvin/config.toml", "[limits]\nfoo = 1\n");
    fails(world.marvin(["config"]), 2, &["limits.foo", "`marvin config --markdown` lists every key"]);
    let shown = world.marvin(["config", "--markdown"]).run().exits(0);
    assert!(shown.text().contains("limits.rounds"), "{}", shown.whole());
}

#[test]
fn an_empty_home_is_refused() {
    let world = World::new();
    let unset = ["MARVIN_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];
    let marvin = unset.iter().fold(world.marvin(["config"]), |marvin, name| marvin.env(name, ""));
    fails(marvin.env("HOME", ""), 2, &["HOME is empty", "MARVIN_HOME"]);
}

#[test]
fn missing_providers_and_keys_are_named() {
    let world = World::new();
    fails(ask(&world).args(["--provider", "opnai"]), 2, &["opnai", "did you mean `openai`", "anthropic"])
        .cost();
    for (provider, variable) in [
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
        ("groq", "GROQ_API_KEY"),
        ("kimi", "KIMI_API_KEY"),
        ("copilot", "COPILOT"),
    ] {
        fails(ask(&world).args(["--provider", provider]), 2, &[provider, variable]).cost();
    }
    for program in ["codex", "claude"] {
        let missing = format!("MARVIN_{}_PROGRAM", program.to_uppercase());
        let ended = ask(&world).args(["--provider", program]).env(&missing, "no-such-program").run();
        assert!(matches!(ended.code, Some(1 | 2)), "{}", ended.whole());
        assert!(ended.message().contains("no-such-program"), "{}", ended.whole());
        ended.cost();
    }
}

#[test]
fn invalid_settings_are_refused() {
    let world = World::new();
    let user = world.user().join("config.toml");
    let cases = [
        ("[limits]\nround = 3", &["limits.round", "did you mean `limits.rounds`", "config.toml"][..]),
        ("limits.rounds = \"many\"", &["limits.rounds", "many", "a whole number"]),
        ("record.durability = \"lime\"", &["did you mean `line`", "turn"]),
        ("this is not toml", &["not valid TOML", "config.toml"]),
    ];
    for (text, words) in cases {
        put(&user, text);
        fails(ask(&world), 2, words).cost();
    }
    fs::write(&user, b"profile = \"\xff\"").unwrap();
    fails(ask(&world), 2, &["config.toml"]).cost();
    fs::remove_file(&user).unwrap();
    fs::create_dir(&user).unwrap();
    fails(ask(&world), 2, &["config.toml", "cannot read"]).cost();
    fails(world.marvin(["config"]), 2, &["config.toml"]);
    fs::remove_dir(&user).unwrap();

    fails(ask(&world).env("MARVIN_MAX_ROUNDS", "many"), 2, &["$MARVIN_MAX_ROUNDS", "many"]).cost();
    fails(ask(&world).env("LLM_PROVIDER", "skynet"), 2, &["$LLM_PROVIDER", "skynet"]).cost();

    let project = world.write(".marvin/config.toml", "provider.openai.url = \"http://127.0.0.1:9/v1\"");
    let words = ["provider.openai.url", "not a project's to set", "home/.config/marvin/config.toml"];
    fails(ask(&world), 2, &words).cost();
    for text in [
        "process.depth = 1",
        "model.provider = \"mock\"",
        "limits.cost_usd = 100",
        "sandbox.commands = \"off\"",
    ] {
        put(&project, text);
        fails(ask(&world), 2, &["not a project's to set"]).cost();
    }
    put(&world.user().join("prices.toml"), "[[price]]\ninput = -1");
    put(&project, "");
    fails(ask(&world), 2, &["prices.toml"]).cost();
}

#[test]
fn unreadable_scripts_are_refused() {
    let world = World::new();
    fails(ask(&world).args(["--script", "missing.jsonl"]), 2, &["missing.jsonl", "No such file"]).cost();
    world.write("bad.jsonl", "# fine\n{\"reply\":{\"text\":\"ok\"}}\n{\"replay\":{}}\n");
    fails(ask(&world).args(["--script", "bad.jsonl"]), 2, &["bad.jsonl, line 3", "replay"]).cost();
    fails(world.marvin(["model-server", "--script", "bad.jsonl"]), 2, &["bad.jsonl, line 3"]);
    fails(world.marvin(["model-server", "--script", "missing.jsonl"]), 2, &["missing.jsonl"]);
    assert!(world.runs().is_empty());
}

#[test]
fn invalid_working_directories_are_refused() {
    let world = World::new();
    let home = world.home().display().to_string();
    fails(ask(&world).args(["--working-dir", "missing"]), 2, &["missing", "no such directory"]).cost();
    fails(ask(&world).args(["--working-dir", "/"]), 5, &["root of the file system"]).cost();
    fails(ask(&world).args(["--working-dir", &home]), 5, &[&home]).cost();
    let link = world.root().join("link");
    std::os::unix::fs::symlink(world.home(), &link).unwrap();
    fails(ask(&world).args(["--working-dir", &link.display().to_string()]), 5, &[]).cost();
    let file = world.write("file.txt", "");
    fails(ask(&world).args(["--working-dir", &file.display().to_string()]), 2, &["file.txt"]).cost();
    let gone = world.root().join("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = Command::new("sh");
    world.bare(&mut command);
    let line = format!("rmdir '{}' && '{PROGRAM}' --non-interactive --prompt hi", gone.display());
    let output = command.args(["-c", &line]).current_dir(&gone).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("current directory"));
}

#[test]
fn a_server_refuses_addresses_it_must_not_or_cannot_bind() {
    let world = World::new();
    let script = world.script(&[say("x")]);
    let serve = |address: &str| world.marvin(["model-server", "--script", &script, "--listen", address]);
    fails(serve("0.0.0.0:0"), 5, &["0.0.0.0:0", "127.0.0.1"]);
    fails(serve("[::]:0"), 5, &["[::]:0"]);
    fails(serve("nowhere"), 2, &["nowhere", "127.0.0.1:0"]);
    let server = world.server(&[say("x")]);
    fails(serve(server.socket()), 1, &[server.socket(), "in use"]);
}

#[test]
fn invalid_tool_calls_are_refused() {
    let world = World::new();
    let tool = |name: &str, arguments: &str| world.marvin(["tools", "call", name, "--args", arguments]);
    fails(tool("read_fil", "{}"), 2, &["read_fil", "Did you mean `read_file`"]);
    fails(world.marvin(["tools", "schema", "read_fil"]), 2, &["read_file"]);
    fails(tool("read_file", "path=a"), 2, &["not a JSON object", "--args"]);
    fails(tool("read_file", "[1]"), 2, &["not a JSON object"]);
    fails(tool("read_file", "{}"), 2, &["path", "A correct call"]);
    fails(tool("read_file", "{\"path\": 7}"), 2, &["path", "A correct call"]);
    for path in ["../outside.txt", "/etc/hostname", ".marvin/runs/x", ".tickets/a.md"] {
        fails(tool("create_file", &json!({"path": path, "content": "x"}).to_string()), 5, &["refused"]);
    }
    fails(tool("run_command", "{\"command\": \"rm -rf ~\"}"), 5, &["refused"]);
    fails(tool("read_file", "{\"path\": \"missing.txt\"}"), 1, &["missing.txt"]);
    fails(tool("tree", "{}").args(["--working-dir", "/"]), 5, &[]);
}

#[test]
fn damaged_runs_cannot_be_replayed() {
    let world = World::new();
    fails(world.marvin(["replay", "run_nothing"]), 2, &["run_nothing", ".local/state/marvin/projects"]);
    world.play(&[say("x")], &[]).run().exits(0);
    let run = world.run().file_name().unwrap().to_string_lossy().into_owned();
    fails(world.marvin(["replay", &run]), 2, &["was not recorded", "--record"]);
    let tape = world.root().join("tape").display().to_string();
    let other = World::new();
    other.play(&[say("x")], &["--record", &tape]).run().exits(0);
    let run = other.run().file_name().unwrap().to_string_lossy().into_owned();
    fs::write(world.root().join("tape/script.jsonl"), "rubbish\n").unwrap();
    fails(other.marvin(["replay", &run]), 2, &["script.jsonl, line 1"]);
    fs::remove_file(world.root().join("tape/script.jsonl")).unwrap();
    fails(other.marvin(["replay", &run]), 2, &["script.jsonl", "No such file"]);
}

/// Runs a shell line with `$MARVIN` as the program.
fn shell(world: &World, line: &str) -> ProgramOutput {
    let mut command = Command::new("bash");
    world.bare(&mut command);
    command.env("MARVIN", PROGRAM).args(["-c", line]).current_dir(world.project()).stdin(Stdio::null());
    let output = command.output().unwrap();
    use std::os::unix::process::ExitStatusExt;
    ProgramOutput {
        code: output.status.code(),
        signal: output.status.signal(),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn an_unwritable_stdout_is_an_error() {
    let world = World::new();
    world.script(&[json!({"reply": {"text": "hello"}, "repeat": true})]);
    for format in ["text", "json", "stream-json"] {
        let line = format!(
            "\"$MARVIN\" --non-interactive --prompt x --script ../script-0.jsonl --output-format {format} > /dev/full"
        );
        let ended = shell(&world, &line).exits(1);
        let message = ended.message();
        assert!(message.contains("standard output") && message.contains("disk is full"), "{message}");
        ended.cost();
    }
    for command in
        ["config", "doctor", "tools list", "--version", "--help", "completions bash", "man", "hello"]
    {
        let ended = shell(&world, &format!("\"$MARVIN\" {command} > /dev/full")).exits(1);
        assert!(ended.message().contains("standard output"), "{command}: {}", ended.whole());
    }
}

#[test]
fn an_unwritable_stderr_changes_nothing() {
    let world = World::new();
    let line = "\"$MARVIN\" --non-interactive --prompt help 2> /dev/full";
    assert!(shell(&world, line).exits(0).text().contains("built-in model"));
    shell(&world, "\"$MARVIN\" --non-interactive --prompt help --provider groq 2>&-").exits(2);
}

#[test]
fn a_closed_pipe_ends_the_turn() {
    let world = World::new();
    let script: Vec<Value> = (0..40)
        .map(|n| {
            let unit = json!({"value": n, "from_unit": "km", "to_unit": "m"});
            json!({"delay_ms": 20, "reply": {"text": format!("round {n}"), "tool_calls": [{"name": "convert_units", "arguments": unit}]}})
        })
        .collect();
    let mut running = world.play(&script, &[]).start();
    running.line().unwrap();
    running.close_stdout();
    let ended = running.end().exits(1);
    assert!(ended.message().contains("its reader went away"), "{}", ended.whole());
    assert!(ended.cost()["llm_turns"].as_u64().unwrap() < 40, "it must stop when its reader is gone");
    assert_eq!(world.trace().last().unwrap()["type"], "result");
    let ended = shell(
        &world,
        "set -o pipefail; \"$MARVIN\" config | true; sleep 0.01; \"$MARVIN\" config | head -c 0",
    );
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

/// A shell line in its own mount namespace, or `None` where namespaces are not allowed.
pub(crate) fn with_mounts(world: &World, line: &str) -> Option<ProgramOutput> {
    for flags in ["-m", "-rm"] {
        let mut probe = Command::new("unshare");
        probe.args([flags, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).stderr(Stdio::null());
        if probe.status().is_ok_and(|status| status.success()) {
            return Some(shell(world, &format!("unshare {flags} bash -c '{line}'")));
        }
    }
    marvin_testing::skip("file systems cannot be mounted here");
    None
}

#[test]
fn a_disk_that_fills_up_during_a_run() {
    let long =
        json!({"reply": {"text": "word ".repeat(700), "tool_calls": [{"name": "tree", "arguments": {}}]}});
    for format in ["text", "json", "stream-json"] {
        let world = World::new();
        let mut script: Vec<Value> = (0..30)
            .map(|n| {
                let mut entry = long.clone();
                entry["reply"]["tool_calls"][0]["arguments"] = json!({"path": ".", "max_depth": 1 + n % 5});
                entry
            })
            .collect();
        script.push(say("never"));
        world.script(&script);
        let line = format!(
            "mkdir -p ../home/.local/state && mount -t tmpfs -o size=96k tmpfs ../home/.local/state && \"$MARVIN\" --non-interactive \
             --prompt x --script ../script-0.jsonl --output-format {format} --max-rounds 60; code=$?; \
             cp -r ../home/.local/state/marvin/projects/* ../kept; exit $code"
        );
        let Some(ended) = with_mounts(&world, &line) else { return };
        let ended = ended.exits(1);
        let message = ended.message();
        assert!(message.contains("disk is full") && message.contains("/runs/run_"), "{message}");
        assert!(ended.cost()["llm_turns"].as_u64().unwrap() > 0);
        if format != "text" {
            let events = ended.events();
            let results = events.iter().filter(|event| event["type"] == "result").count();
            assert_eq!((results, &events.last().unwrap()["exit_code"]), (1, &json!(1)));
        }
        let runs = crate::support::runs_below(&world.root().join("kept/runs"));
        assert!(!crate::support::ledger(&runs[0].join("trace.jsonl")).is_empty(), "what was written parses");
        json_file(&runs[0].join("run.json"));
    }
}

#[test]
fn a_disk_that_is_full_from_the_start() {
    let world = World::new();
    let line = "mkdir -p ../home/.local/state && mount -t tmpfs -o size=16k tmpfs ../home/.local/state && \
         head -c 100000 /dev/zero > ../home/.local/state/filler 2> /dev/null; \"$MARVIN\" --non-interactive --prompt x";
    let Some(ended) = with_mounts(&world, line) else { return };
    let ended = ended.exits(1);
    assert!(
        ended.message().contains("disk is full") && ended.message().contains("marvin"),
        "{}",
        ended.whole()
    );
    ended.cost();
    // A full user directory loses the lifetime count, not the work.
    let line = "mount -t tmpfs -o size=16k tmpfs ../home && head -c 100000 /dev/zero > ../home/filler 2> /dev/null; \
         MARVIN_STATE_DIR=\"$PWD/../tmp/state\" \"$MARVIN\" --non-interactive --prompt help";
    let ended = with_mounts(&world, line).unwrap().exits(0);
    let warned = ended.stderr.lines().any(|line| {
        line.starts_with("note: ") && line.contains("usage.json") && line.contains("not updated")
    });
    assert!(warned, "{}", ended.whole());
    ended.cost();
}

#[test]
fn a_read_only_project_directory_is_reported() {
    let world = World::new();
    let line = "mkdir -p ../home/.local/state && mount -t tmpfs tmpfs ../home/.local/state && \
         mount -o remount,ro ../home/.local/state && \"$MARVIN\" --non-interactive --prompt x";
    let Some(ended) = with_mounts(&world, line) else { return };
    let ended = ended.exits(1);
    assert!(
        ended.message().contains(".local/state/marvin") && ended.message().contains("ead-only"),
        "{}",
        ended.whole()
    );
    ended.cost();
    let line = "mount -t tmpfs tmpfs ../project && mount -o remount,ro ../project && cd ../project && \"$MARVIN\" doctor --json";
    let report = with_mounts(&world, line).unwrap().exits(1).json();
    let project =
        report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "project").unwrap();
    assert_eq!(project["state"], "problem");
    assert!(!project["mend"].as_str().unwrap().is_empty());
}

#[test]
fn damaged_records_are_reported() {
    let world = World::new();
    // A file is in the place of the record directory; the user's files are damaged.
    world.write_state("runs", "a file");
    fails(ask(&world), 1, &["/runs"]).cost();
    fs::remove_file(world.state().join("runs")).unwrap();
    put(&world.user().join("usage.json"), "not json");
    put(&world.user().join("profiles/default/chat_log.json"), "{\"not\": \"a list\"}");
    put(&world.user().join("profiles/default/saved_places.json"), "[[[");
    let ended = world.play(&[say("fine")], &[]).run().exits(0);
    assert!(ended.text().ends_with("fine\n"));
    ended.cost();
    assert_eq!(fs::read_to_string(world.user().join("usage.json")).unwrap(), "not json", "left alone");
    let script = world.script(&[say("fine")]);
    world.marvin(["--script", &script, "hello"]).run().exits(0);
    let log = fs::read_to_string(world.user().join("profiles/default/chat_log.json")).unwrap();
    assert_eq!(log, "{\"not\": \"a list\"}", "a log that cannot be read is left alone");
}

#[test]
fn refusals_reach_the_model_and_not_the_exit_code() {
    let world = World::new();
    let script = [
        call("create_file", json!({"path": "../out.txt", "content": "x"})),
        json!({"when": {"contains": "refused"}, "reply": {"text": "then not"}}),
    ];
    let ended = world.play(&script, &[]).run().exits(0).quiet();
    assert!(ended.text().ends_with("then not\n"));
    assert!(!world.root().join("out.txt").exists());
}

#[test]
fn bytes_that_are_not_utf8_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let broken = std::ffi::OsStr::from_bytes(b"a\xffb");
    let ended = world.marvin(["--non-interactive", "--prompt"]).args([broken]).run().exits(2);
    assert!(ended.message().contains("UTF-8"), "{}", ended.whole());
    // A variable that Marvin does not read may hold any bytes; the doctor mentions it.
    let hello = world.script(&[say("hello")]);
    ask(&world).args(["--script", &hello]).env("ODD", broken).run().exits(0).quiet();
    let report = world.marvin(["doctor", "--json"]).env("ODD", broken).run().exits(0);
    assert!(report.text().contains("ODD"), "{}", report.whole());
    let directory = world.root().join(broken);
    fs::create_dir(&directory).unwrap();
    let script = world.script(&[call("create_file", json!({"path": "a.txt", "content": "x"})), say("ok")]);
    let ended = ask(&world).args(["--script", &script]).directory(&directory).run().exits(0);
    assert!(ended.text().ends_with("ok\n") && directory.join("a.txt").exists(), "{}", ended.whole());
}

#[test]
fn recordings_that_cannot_be_written_are_errors() {
    let world = World::new();
    world.write("taken", "a file");
    fails(ask(&world).args(["--record", "taken/here"]), 1, &["taken/here"]).cost();
    let json = fails(ask(&world).args(["--record", "taken/here", "--json"]), 1, &["taken/here"]);
    assert_eq!(json.json()["exit_code"], 1);
}

#[test]
fn a_named_file_is_read_within_a_bound() {
    let world = World::new();
    fs::create_dir_all(world.project()).unwrap();
    fs::write(world.project().join("latin.txt"), b"caf\xe9\n").unwrap();
    let schema = ["--non-interactive", "--prompt", "hi", "--provider", "mock", "--output-schema"];
    for words in [
        &["mtg", "decks", "import"][..],
        &["mtg", "scenario"],
        &["mtg", "replay"],
        &["gate", "eval"],
        &["memory", "import"],
        &schema,
    ] {
        let refused = world.marvin(words).args(["/dev/zero"]).run().exits(2);
        assert!(
            refused.message().contains("cannot read /dev/zero: it is larger than"),
            "{}",
            refused.whole()
        );
        assert!(refused.stderr.contains("  hint: "), "{}", refused.whole());
        for missing in ["missing", "."] {
            let refused = world.marvin(words).args([missing]).run().exits(2);
            assert!(refused.stderr.contains("  hint: "), "{}", refused.whole());
        }
    }
    // A byte that is not text would be remembered as another character.
    let refused = world.marvin(["memory", "import", "latin.txt"]).run().exits(2);
    assert!(
        refused.message().contains("not UTF-8 text (the first wrong byte is number 4)"),
        "{}",
        refused.whole()
    );
}

#[test]
fn an_import_without_cards_keeps_the_pack() {
    let world = World::new();
    world.write("empty.jsonl", "");
    let refused = world.marvin(["mtg", "cards", "import", "empty.jsonl"]).run().exits(2);
    assert!(refused.message().contains("it has no cards"), "{}", refused.whole());
    assert!(!world.user().join("mtg").exists(), "nothing is written");
}

#[test]
fn a_named_file_that_cannot_be_read_is_wrong_usage() {
    let world = World::new();
    world.write("empty", "");
    for words in [
        &["mtg", "replay", "empty"][..],
        &["mtg", "simulate", "--continue", "empty"],
        &["model-server", "--script", "missing"],
        &["replay", "missing"],
        &["workflow", "check", "missing"],
        &["workflow", "check", "."],
    ] {
        let refused = world.marvin(words).run().exits(2);
        assert!(
            refused.message().contains(words[words.len() - 1]) || words[0] == "mtg",
            "{}",
            refused.whole()
        );
        assert!(refused.stderr.contains("  hint: "), "{}", refused.whole());
    }
}

#[test]
fn a_directory_that_does_not_exist_is_not_the_project_around_it() {
    let world = World::new();
    world.play(&[say("hello")], &[]).run().exits(0);
    let run = world.run().file_name().unwrap().to_str().unwrap().to_string();
    for words in [
        &["runs", "list"][..],
        &["list-runs", "--all"],
        &["runs", "show"],
        &["inspect-run", &run],
        &["stop-run", &run],
        &["bug-report"],
    ] {
        let refused = world.marvin(words).args(["--working-dir", "nowhere"]).run().exits(2);
        assert!(
            refused.message().contains("--working-dir nowhere: no such directory"),
            "{}",
            refused.whole()
        );
    }
}

#[test]
fn a_plot_that_cannot_be_written_does_not_cost_the_standings() {
    let world = World::new();
    world.write("file", "x");
    let words =
        ["mtg", "tournament", "--players", "heuristic,random", "--games", "1", "--plot", "file/plot.svg"];
    let ended = world.marvin(words).run().exits(1);
    assert!(ended.text().contains(" 1 games "), "{}", ended.whole());
    assert!(ended.message().contains("file/plot.svg"), "{}", ended.whole());
}
