//! Scenes between Marvin, an agent program and its model.

use crate::stage::{Program, Stage, fails, says, signature};
use marvin_model::client::{Event, Failure, Request, Usage};
use marvin_model::script::{Entry, FailureKind, RequestCondition, ScriptCall, ScriptReply};
use marvin_model::{Message, ToolSpec};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const DONE: &str = r#"{"status":"SUCCESS","summary":"done","metrics":{"terminate_workflow":true}}"#;

/// An entry that keeps the program waiting for longer than any scene.
fn silence() -> Entry {
    Entry { delay_ms: 100_000, ..says(DONE) }
}

pub(crate) async fn a_final_answer_and_what_the_program_was_told(program: Program) {
    let other = RequestCondition { contains: Some("never said".into()), ..RequestCondition::default() };
    let this = RequestCondition { contains: Some("Goal: say done".into()), ..RequestCondition::default() };
    let script = vec![Entry { when: other, ..says("{}") }, Entry { when: this, ..says(DONE) }];
    let stage = Stage::new(program, script);
    let request = Request {
        messages: vec![Message::system("You are the Implementer."), Message::user("Goal: say done")],
        tools: vec![ToolSpec {
            name: "grep".into(),
            description: "Searches".into(),
            parameters: json!({"type": "object", "properties": {"pattern": {"type": "string"}}}).into(),
        }],
        ..Request::default()
    };
    let mut streamed = Vec::new();
    let mut sink = |event: Event<'_>| {
        if let Event::Text(text) = event {
            streamed.push(text.to_string());
        }
    };
    let reply = stage.client().send(&request, &mut sink, &CancellationToken::new()).await.unwrap();
    assert_eq!(reply.text, DONE);
    assert_eq!(streamed, [DONE]);
    assert!(reply.usage.input > 0 && reply.usage.output > 0, "{reply:?}");
    match program {
        Program::Codex => assert_eq!(reply.cost, None),
        Program::Claude => {
            assert!(reply.cost.is_some_and(|cost| cost > 0), "{reply:?}");
            assert!(reply.model.starts_with("claude-"), "{reply:?}");
        }
    }
    let prompts = stage.prompts();
    assert_eq!(prompts.len(), 1, "one request");
    let workspace = stage.workspace().display().to_string();
    for part in [
        "<permissions instructions>\n",
        &format!("<environment_context>\ncwd: {workspace}\nshell: bash\n</environment_context>"),
        "<tokimon_context>\ndelegated: true\ndelegation_depth: 1\n</tokimon_context>",
        "<tools>\n{\"description\":\"Searches\",\"name\":\"grep\",",
        "<conversation_message role=\"system\">\nYou are the Implementer.\n</conversation_message>",
        "<conversation_message role=\"user\">\nGoal: say done\n</conversation_message>",
    ] {
        assert!(prompts[0].contains(part), "{part} is not in {}", prompts[0]);
    }
    stage.nothing_is_left().await;
}

pub(crate) async fn tokens_and_cost_are_those_that_the_vendor_says(program: Program) {
    let usage = Usage { input: 1200, output: 30, cached: 1000 };
    let reply = ScriptReply { text: DONE.into(), usage: Some(usage), ..ScriptReply::default() };
    let stage = Stage::new(program, vec![Entry { reply: Some(reply), ..Entry::default() }]);
    let reply = stage.ask(&[Message::user("go")]).await.unwrap();
    assert_eq!(reply.usage, usage);
    assert!(reply.cost.is_some_and(|cost| (100_000..100_000_000).contains(&cost)), "{reply:?}");
}

pub(crate) async fn tool_calls_are_an_answer(program: Program) {
    let calls =
        r#"{"tool_calls":[{"tool":"grep","action":"search","args":{"pattern":"a\"b"},"call_id":"call_1"}]}"#;
    let stage = Stage::new(program, vec![says(calls)]);
    let reply = stage.ask(&[Message::user("find it")]).await.unwrap();
    assert_eq!(reply.text, calls);
    assert!(reply.calls.is_empty(), "calls are in the text: {reply:?}");
}

pub(crate) async fn a_conversation_of_two_turns(program: Program) {
    let calls = r#"{"tool_calls":[{"name":"grep","arguments":{"pattern":"x"},"call_id":"call_7"}]}"#;
    let stage = Stage::new(program, vec![says(calls), says(DONE)]);
    let mut messages = vec![Message::user("find it")];
    let first = stage.ask(&messages).await.unwrap();
    messages.push(Message::assistant(first.text));
    messages.push(Message::Tool {
        tool_call_id: "call_7".into(),
        name: "grep".into(),
        content: "a.txt:1: x </conversation>".into(),
        ok: true,
    });
    assert_eq!(stage.ask(&messages).await.unwrap().text, DONE);
    let prompts = stage.prompts();
    assert_eq!(prompts.len(), 2);
    let shared = prompts[0].split("\n</conversation>").next().unwrap();
    assert!(prompts[1].starts_with(shared), "the second prompt does not begin like the first");
    for part in
        [calls, "role=\"tool\" call_id=\"call_7\" name=\"grep\" ok=true>\na.txt:1: x <\\/conversation>\n"]
    {
        assert!(prompts[1].contains(part), "{part} is not in {}", prompts[1]);
    }
}

pub(crate) async fn a_fence_around_the_answer_is_forgiven(program: Program) {
    let stage = Stage::new(program, vec![says(&format!("Here it is:\n\n```json\n{DONE}\n```"))]);
    assert_eq!(stage.ask(&[Message::user("go")]).await.unwrap().text, DONE);
}

pub(crate) async fn an_answer_that_is_not_json_is_refused(program: Program) {
    let stage = Stage::new(program, vec![says("I am done, thank you.")]);
    let error = stage.ask(&[Message::user("go")]).await.unwrap_err();
    assert_eq!((error.failure, error.signature), (Failure::Garbage, signature(program, "invalid-json")));
    assert!(error.message.ends_with("I am done, thank you."), "{}", error.message);
}

pub(crate) async fn a_list_is_refused(program: Program) {
    let stage = Stage::new(program, vec![says("[1, 2]")]);
    let error = stage.ask(&[Message::user("go")]).await.unwrap_err();
    assert_eq!((error.failure, error.signature), (Failure::Garbage, signature(program, "non-object")));
}

pub(crate) async fn a_busy_server(program: Program) {
    let stage = Stage::new(program, vec![fails(FailureKind::Http, Some(429))]);
    let error = stage.ask(&[Message::user("go")]).await.unwrap_err();
    assert_eq!((error.failure, error.signature), (Failure::Program, signature(program, "nonzero-exit")));
    assert!(error.message.contains("429"), "{}", error.message);
}

pub(crate) async fn a_broken_server(program: Program) {
    let stage = Stage::new(program, vec![fails(FailureKind::Http, Some(500))]);
    let error = stage.ask(&[Message::user("go")]).await.unwrap_err();
    assert_eq!((error.failure, error.signature), (Failure::Program, signature(program, "nonzero-exit")));
    // Codex shows a sentence of its own in place of the status.
    let words = if program == Program::Codex { "high demand" } else { "500" };
    assert!(error.message.contains(words), "{}", error.message);
    assert!(error.message.len() < 300, "more than the reason: {}", error.message);
}

pub(crate) async fn a_server_that_talks_rubbish(program: Program) {
    let stage = Stage::new(program, vec![Entry { repeat: true, ..fails(FailureKind::Garbage, None) }]);
    let error = stage.ask(&[Message::user("go")]).await.unwrap_err();
    assert_eq!((error.failure, error.signature), (Failure::Program, signature(program, "nonzero-exit")));
    stage.nothing_is_left().await;
}

/// An entry that is cut off in the middle of its text.
fn broken() -> Entry {
    Entry { chunks: Some(4), reply: says(DONE).reply, ..fails(FailureKind::Disconnect, None) }
}

pub(crate) async fn a_stream_that_breaks_ends_codex(program: Program) {
    let stage = Stage::new(program, vec![broken(), says(DONE)]);
    let error = stage.ask(&[Message::user("go")]).await.unwrap_err();
    assert_eq!((error.failure, error.signature), (Failure::Program, signature(program, "nonzero-exit")));
    assert!(error.message.contains("stream disconnected"), "{}", error.message);
}

pub(crate) async fn a_stream_that_breaks_is_asked_for_again_by_claude(program: Program) {
    let stage = Stage::new(program, vec![broken(), says(DONE)]);
    assert_eq!(stage.ask(&[Message::user("go")]).await.unwrap().text, DONE);
    let streamed: Vec<bool> = stage.bodies().iter().map(|body| body["stream"] == true).collect();
    assert_eq!(
        streamed,
        [true, false],
        "the second request does not stream, and uses up an entry of the script"
    );
}

pub(crate) async fn cancelling_leaves_nothing_behind(program: Program) {
    let stage = Stage::new(program, vec![silence()]);
    let cancel = CancellationToken::new();
    let client = stage.client();
    let request = Request { messages: vec![Message::user("wait")], ..Request::default() };
    let mut sink = |_: Event<'_>| {};
    let stop = async {
        stage.first_request().await;
        assert!(stage.processes() > 0, "the program runs while the model is silent");
        cancel.cancel();
        Instant::now()
    };
    let (result, stopped) = tokio::join!(client.send(&request, &mut sink, &cancel), stop);
    assert_eq!(result.unwrap_err().failure, Failure::Cancelled);
    assert!(stopped.elapsed() < Duration::from_secs(30), "{:?}", stopped.elapsed());
    stage.nothing_is_left().await;
}

pub(crate) async fn the_deadline_leaves_nothing_behind(program: Program) {
    let stage = Stage::new(program, vec![silence()])
        .with("TOKIMON_CODEX_TIMEOUT_S", "5")
        .with("TOKIMON_CLAUDE_TIMEOUT_S", "5");
    let started = Instant::now();
    let error = stage.ask(&[Message::user("wait")]).await.unwrap_err();
    assert_eq!((error.failure, error.signature), (Failure::Timeout, signature(program, "timeout")));
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    stage.nothing_is_left().await;
}

pub(crate) async fn the_programs_own_commands_know_that_they_are_delegated(program: Program) {
    let command = "env | grep -e DELEGAT -e RIPGREP";
    let (name, arguments) = match program {
        Program::Codex => ("exec_command", json!({"cmd": command})),
        Program::Claude => ("Bash", json!({"command": command, "description": "Show variables"})),
    };
    let call = ScriptCall { name: name.into(), arguments, id: Some("call_1".into()), opaque: None };
    let reply = ScriptReply { tool_calls: vec![call], ..ScriptReply::default() };
    let stage = Stage::new(program, vec![Entry { reply: Some(reply), ..Entry::default() }, says(DONE)])
        .with("TOKIMON_CLAUDE_SETTINGS_JSON", r#"{"permissions":{"allow":["Bash"]}}"#);
    assert_eq!(stage.ask(&[Message::user("look")]).await.unwrap().text, DONE);
    let bodies = stage.bodies();
    assert_eq!(bodies.len(), 2, "the program ran its own tool in between");
    let second = bodies[1].to_string();
    for prefix in ["TOKIMON", "MARVIN"] {
        assert!(second.contains(&format!("{prefix}_DELEGATED=1")), "{second}");
        assert!(second.contains(&format!("{prefix}_DELEGATION_DEPTH=1")), "{second}");
    }
    let guard = stage.workspace().join(".tokimon-tmp/tokimon-codex.ripgreprc");
    let guarded = program == Program::Codex;
    assert_eq!(second.contains(&format!("RIPGREP_CONFIG_PATH={}", guard.display())), guarded);
    assert_eq!(guard.exists(), guarded);
    stage.nothing_is_left().await;
}

/// An entry that makes the program write `made.txt` with its own tool.
fn writes(program: Program) -> Entry {
    let (name, arguments) = match program {
        Program::Codex => {
            ("apply_patch", json!("*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\n"))
        }
        Program::Claude => {
            ("Bash", json!({"command": "echo made > made.txt", "description": "Write a file"}))
        }
    };
    let call = ScriptCall { name: name.into(), arguments, id: Some("call_1".into()), opaque: None };
    let reply = ScriptReply { tool_calls: vec![call], ..ScriptReply::default() };
    Entry { reply: Some(reply), ..Entry::default() }
}

pub(crate) async fn the_program_writes_where_it_is_allowed_to(program: Program) {
    let stage = Stage::new(program, vec![writes(program), says(DONE)])
        .with("TOKIMON_CODEX_SANDBOX", "workspace-write")
        .with("TOKIMON_CLAUDE_SETTINGS_JSON", r#"{"permissions":{"allow":["Bash"]}}"#);
    assert_eq!(stage.ask(&[Message::user("write")]).await.unwrap().text, DONE);
    assert_eq!(std::fs::read_to_string(stage.workspace().join("made.txt")).unwrap(), "made\n");
}

pub(crate) async fn the_program_writes_nothing_unless_it_is_allowed_to(program: Program) {
    let stage = Stage::new(program, vec![writes(program), says(DONE)]);
    assert_eq!(
        stage.ask(&[Message::user("write")]).await.unwrap().text,
        DONE,
        "a refused tool is not a failure"
    );
    assert!(!stage.workspace().join("made.txt").exists());
    assert_eq!(stage.bodies().len(), 2);
}

pub(crate) async fn every_setting_of_codex_is_accepted(program: Program) {
    let stage = Stage::new(program, vec![says(DONE)])
        .with("TOKIMON_CODEX_MODEL", "gpt-5.5")
        .with("TOKIMON_CODEX_PROFILE", "careful")
        .with("TOKIMON_CODEX_SANDBOX", "workspace-write")
        .with("TOKIMON_CODEX_APPROVAL", "on-request")
        .with("TOKIMON_CODEX_SEARCH", "true")
        .with(
            "TOKIMON_CODEX_CONFIG_JSON",
            r#"{"model_reasoning_effort":"high","features":{"plugins":false}}"#,
        );
    std::fs::write(stage.home().join(".codex/careful.config.toml"), "model_verbosity = \"low\"\n").unwrap();
    let reply = stage.ask(&[Message::user("go")]).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str()), (DONE, "gpt-5.5"));
    let body = &stage.bodies()[0];
    assert_eq!(body["model"], "gpt-5.5");
    assert_eq!(body["reasoning"]["effort"], "high");
    assert_eq!(body["text"]["verbosity"], "low", "the profile");
    let tools = body["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["type"] == "web_search"), "{tools:?}");
    assert!(stage.prompts()[0].contains("sandbox `workspace-write`"));
}

pub(crate) async fn every_setting_of_claude_is_accepted(program: Program) {
    let stage = Stage::new(program, vec![says(DONE)])
        .with("TOKIMON_CLAUDE_MODEL", "claude-sonnet-4-5")
        .with("TOKIMON_CLAUDE_SETTINGS_JSON", r#"{"env":{"FROM_SETTINGS":"1"}}"#)
        .with("TOKIMON_CLAUDE_DANGEROUSLY_SKIP_PERMISSIONS", "true")
        // Without it Claude Code does not skip permissions for root.
        .with("IS_SANDBOX", "1")
        .with("TOKIMON_CLAUDE_ARGS", "--verbose --append-system-prompt 'Mind the gap.'");
    let reply = stage.ask(&[Message::user("go")]).await.unwrap();
    assert_eq!(reply.text, DONE, "also when --verbose makes a list of the output");
    assert!(reply.model.starts_with("claude-sonnet-4-5"), "{reply:?}");
    let body = &stage.bodies()[0];
    assert!(body["model"].as_str().unwrap().starts_with("claude-sonnet-4-5"));
    assert!(body["system"].to_string().contains("Mind the gap."));
}

pub(crate) async fn an_unknown_flag_value_comes_with_the_programs_own_words(program: Program) {
    let stage = Stage::new(program, vec![says(DONE)])
        // A value that this version of Codex no longer accepts, and a flag that Claude Code never had.
        .with("TOKIMON_CODEX_APPROVAL", "on-failure")
        .with("TOKIMON_CLAUDE_ARGS", "--no-such-flag");
    let error = stage.ask(&[Message::user("go")]).await.unwrap_err();
    assert_eq!((error.failure, error.signature), (Failure::Program, signature(program, "nonzero-exit")));
    let word = if program == Program::Codex { "on-failure" } else { "--no-such-flag" };
    assert!(error.message.contains(word), "{}", error.message);
    assert!(stage.bodies().is_empty());
}

pub(crate) async fn the_ripgrep_that_codex_brings_accepts_the_guard(program: Program) {
    let stage = Stage::new(program, vec![says(DONE)]).with("TOKIMON_CODEX_RIPGREP_MAX_COLUMNS", "20");
    stage.ask(&[Message::user("go")]).await.unwrap();
    std::fs::create_dir_all(stage.workspace().join("deep/runs")).unwrap();
    for file in ["a.txt", "a.jsonl", "deep/runs/b.txt"] {
        std::fs::write(stage.workspace().join(file), format!("needle {}\n", "x".repeat(100))).unwrap();
    }
    let output = std::process::Command::new(program.path().parent().unwrap().join("../codex-path/rg"))
        .args(["--no-heading", "--with-filename", "needle", "."])
        .current_dir(stage.workspace())
        .env("RIPGREP_CONFIG_PATH", stage.workspace().join(".tokimon-tmp/tokimon-codex.ripgreprc"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with("./a.txt:needle xxxxx") && text.lines().count() == 1, "{text}");
    assert!(text.contains("[... omitted end of long line]"), "{text}");
}

/// Plants every kind of file by which a project could make a program run commands. Each of them would
/// leave a file of its name in the returned directory.
fn plant(stage: &Stage) -> PathBuf {
    let traps = stage.home().join("traps");
    let work = stage.workspace();
    for directory in [traps.clone(), work.join(".claude"), work.join(".codex/rules")] {
        std::fs::create_dir_all(directory).unwrap();
    }
    let trap = |name: &str| traps.join(name).display().to_string();
    let hooks = |events: &[&str], name: &str| {
        let entry = |event: &&str| {
            let command = format!("touch {}", trap(&format!("{name}-{event}")));
            (event.to_string(), json!([{"hooks": [{"type": "command", "command": command}]}]))
        };
        events.iter().map(entry).collect::<serde_json::Map<_, _>>()
    };
    let events = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"];
    let settings = |name: &str| {
        json!({
            "hooks": hooks(&events, name),
            "apiKeyHelper": format!("touch {}; echo sk-test", trap(&format!("{name}-key"))),
            "statusLine": {"type": "command", "command": format!("touch {}", trap(&format!("{name}-status")))},
            "enableAllProjectMcpServers": true,
            "permissions": {"allow": ["Bash"]},
        })
    };
    let server = |name: &str| json!({"command": "touch", "args": [trap(name)]});
    let codex = format!(
        "notify = [\"touch\", {:?}]\n[mcp_servers.planted]\ncommand = \"touch\"\nargs = [{:?}]\n",
        trap("codex-notify"),
        trap("codex-mcp")
    );
    let rule = "prefix_rule(pattern=[\"bash\"], decision=\"allow\")\nprefix_rule(pattern=[\"touch\"], decision=\"allow\")\n";
    for (file, text) in [
        (".claude/settings.json", settings("claude-project").to_string()),
        (".claude/settings.local.json", settings("claude-local").to_string()),
        (".mcp.json", json!({"mcpServers": {"planted": server("claude-mcp")}}).to_string()),
        (".codex/config.toml", codex),
        (".codex/hooks.json", json!({"hooks": hooks(&events, "codex-hook")}).to_string()),
        (".codex/rules/default.rules", rule.into()),
    ] {
        std::fs::write(work.join(file), text).unwrap();
    }
    traps
}

/// The model makes the program run a command of its own.
fn runs(program: Program, command: &str) -> Entry {
    let (name, arguments) = match program {
        Program::Codex => ("exec_command", json!({"cmd": command})),
        Program::Claude => ("Bash", json!({"command": command, "description": "Make a file"})),
    };
    let call = ScriptCall { name: name.into(), arguments, id: Some("call_1".into()), opaque: None };
    let reply = ScriptReply { tool_calls: vec![call], ..ScriptReply::default() };
    Entry { reply: Some(reply), ..Entry::default() }
}

/// Runs the program among the traps, and returns those that were triggered.
async fn sprung(stage: &Stage) -> Vec<String> {
    let traps = plant(stage);
    assert_eq!(stage.ask(&[Message::user("go")]).await.unwrap().text, DONE);
    // A hook at the end of a session may run after the answer.
    stage.nothing_is_left().await;
    assert_eq!(stage.bodies().len(), 2, "the program was to run a command of its own");
    let entries = std::fs::read_dir(traps).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A directory that Codex's sandbox does not leave writable, as it does temporary ones. The clone may be in one.
fn outside_of_temporary() -> &'static Path {
    let temporary = [PathBuf::from("/tmp"), std::env::temp_dir()];
    let places = [env!("CARGO_TARGET_TMPDIR"), "/var/tmp"].map(Path::new);
    let is_outside = |place: &&Path| !temporary.iter().any(|root| place.starts_with(root));
    places.into_iter().find(is_outside).expect("the target directory or /var/tmp is not temporary")
}

pub(crate) async fn a_project_runs_nothing_through_the_program(program: Program) {
    let outside = tempfile::tempdir_in(outside_of_temporary()).unwrap();
    let made = outside.path().join("made");
    let script = || vec![runs(program, &format!("touch {}", made.display())), says(DONE)];
    for sandbox in ["read-only", "workspace-write"] {
        for trusted in [false, true] {
            let stage = Stage::new(program, script()).with("TOKIMON_CODEX_SANDBOX", sandbox);
            if trusted {
                // An earlier Codex trusted the repository around the workspace without asking.
                let above = stage.workspace().parent().unwrap().display().to_string();
                std::fs::create_dir(stage.workspace().join("../.git")).unwrap();
                std::fs::create_dir(stage.workspace().join("../.codex")).unwrap();
                let server = format!(
                    "[mcp_servers.above]\ncommand = \"touch\"\nargs = [\"{above}/home/traps/above\"]\n"
                );
                std::fs::write(stage.workspace().join("../.codex/config.toml"), server).unwrap();
                let config = stage.home().join(".codex/config.toml");
                let before = std::fs::read_to_string(&config).unwrap();
                let trust = format!("{before}\n[projects.\"{above}\"]\ntrust_level = \"trusted\"\n");
                std::fs::write(&config, trust).unwrap();
            }
            let config = stage.home().join(".codex/config.toml");
            let before = std::fs::read(&config).unwrap();
            assert_eq!(sprung(&stage).await, Vec::<String>::new(), "{sandbox}, trusted: {trusted}");
            assert!(!made.exists(), "the project's own rules allowed a command: {sandbox}, {trusted}");
            assert_eq!(std::fs::read(&config).unwrap(), before, "Codex trusts the project from now on");
        }
    }
    // The traps are triggered where the user trusts the project.
    let stage = Stage::new(program, script()).with("TOKIMON_CLAUDE_ARGS", "--setting-sources=user,project");
    let trust = json!({"projects": {stage.workspace().display().to_string(): {"trust_level": "trusted"}}});
    let stage = stage.with("TOKIMON_CODEX_CONFIG_JSON", &trust.to_string());
    assert!(!sprung(&stage).await.is_empty());
    // Claude Code's file permissions hold outside the workspace even then.
    assert_eq!(made.exists(), program == Program::Codex);
}
