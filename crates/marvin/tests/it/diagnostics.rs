//! Diagnostics: `-v`, `MARVIN_LOG` and the log of a run.

use crate::hooks::Scene;
use crate::support::{Marvin, World, call, say, until};
use insta::assert_snapshot;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A secret that only its variable gives away.
const TOKEN: &str = "zq9-Plum-Harbor-77x";
/// A secret that its form gives away.
const GITHUB: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
/// The target of all lines that a run of a script has.
const REPLIED: &str = "INFO marvin_model::retry: model replied provider=\"mock\"";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn log_of(run: &Path) -> String {
    fs::read_to_string(run.join("marvin.log")).unwrap()
}

#[test]
fn verbose_shows_lines_on_stderr_and_leaves_stdout_alone() {
    let world = World::new();
    world.write("a.txt", "a");
    let script = [call("read_file", json!({"path": "a.txt"})), say("done")];
    let ended = world.play(&script, &["--output-format", "json", "-v"]).run().exits(0);
    assert_eq!(ended.json()["text"], "done");
    ended.cost();
    for line in ["command line parsed", "project found", "run begins", "model request begins", REPLIED] {
        assert!(ended.stderr.contains(line), "{line}: {}", ended.stderr);
    }
    let tool = ended.stderr.lines().find(|line| line.contains("tool call")).unwrap();
    assert!(tool.contains(r#"tool="read_file" decision="allow""#) && tool.contains(" ok=true ms="), "{tool}");
    assert!(!ended.stderr.contains(" DEBUG "), "{}", ended.stderr);
    let logged = log_of(&world.run());
    let shown: Vec<&str> = ended.stderr.lines().filter(|line| line.contains(" INFO ")).collect();
    assert_eq!(logged.lines().collect::<Vec<_>>(), shown, "what is shown is what is kept");
    // In front of a command, behind it, and with more of it.
    for words in [&["-vv", "doctor", "--json"][..], &["doctor", "--json", "-v", "--verbose"]] {
        let ended = world.marvin(words).run();
        assert!(ended.json()["checks"].is_array());
        assert!(ended.stderr.contains(r#"command="doctor""#), "{}", ended.stderr);
        assert!(ended.stderr.contains("DEBUG marvin_base::child: process started"), "{}", ended.stderr);
    }
}

#[test]
fn a_run_has_a_log_only_where_one_is_asked_for() {
    for (filter, expected) in [
        (None, &[][..]),
        (Some("off"), &[]),
        (Some(""), &[]),
        (Some("info"), &["command line parsed", "run begins", REPLIED]),
        (Some("off,marvin_model=info"), &[REPLIED]),
    ] {
        let world = World::new();
        let mut marvin = world.play(&[say("done")], &[]);
        if let Some(text) = filter {
            marvin = marvin.env("MARVIN_LOG", text);
        }
        marvin.run().exits(0).quiet();
        let path = world.run().join("marvin.log");
        assert_eq!(path.exists(), !expected.is_empty(), "{filter:?}");
        if expected.is_empty() {
            continue;
        }
        assert_eq!(mode(&path), 0o600);
        let log = log_of(&world.run());
        assert!(expected.iter().all(|line| log.contains(line)), "{filter:?}: {log}");
        assert_eq!(log.contains("run begins"), expected.len() > 1, "{filter:?}: {log}");
    }
}

#[test]
fn a_bad_filter_is_a_usage_error_that_names_the_fix() {
    let world = World::new();
    let ended = world.marvin(["doctor"]).env("MARVIN_LOG", "info,marvin_gate=loud").run().exits(2);
    assert_snapshot!(ended.message(), @"
    marvin: cannot read MARVIN_LOG: `loud` is not a level
      hint: give a level (error, warn, info, debug, trace), or a list such as info,marvin_gate=debug; targets begin with `marvin`
    ");
    let ended = world.marvin(["gate", "explain", "ls"]).env("MARVIN_LOG", "h2=trace").run().exits(2);
    assert_snapshot!(ended.message(), @"
    marvin: cannot read MARVIN_LOG: `h2` is not a target of Marvin
      hint: give a level (error, warn, info, debug, trace), or a list such as info,marvin_gate=debug; targets begin with `marvin`
    ");
    // A program that runs Marvin gets its result and its cost.
    let ended = world.play(&[say("done")], &["--json"]).env("MARVIN_LOG", "inof").run().exits(2);
    assert!(ended.json()["error"].as_str().unwrap().contains("`inof` is not a level"), "{}", ended.whole());
    ended.cost();
    // Neither the version nor a hook depends on it.
    world.marvin(["--version"]).env("MARVIN_LOG", "inof").run().exits(0).quiet();
    let scene = Scene::new();
    let event = scene.payload(&json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    let hook = scene.world.marvin(["hook", "PreToolUse", "--client", "claude"]).env("MARVIN_LOG", "inof");
    hook.input(event.to_string()).run().exits(0).quiet().json();
}

#[test]
fn no_log_holds_a_secret() {
    let world = World::new();
    let script = world.script(&[
        call("read_file", json!({"path": format!("{TOKEN}.txt")})),
        call(&format!("tool_{GITHUB}"), json!({})),
        call(
            "run_command",
            json!({"command": format!("curl -H 'Authorization: Bearer {GITHUB}' x {TOKEN}")}),
        ),
        say(&format!("It is {TOKEN}.")),
    ]);
    let prompt = format!("deploy with {TOKEN} and {GITHUB}");
    let secretly = |marvin: Marvin| marvin.env("DEPLOY_TOKEN", TOKEN);
    let ended =
        secretly(world.marvin(["-vvv", "--non-interactive", "--prompt", &prompt, "--script", &script]))
            .env("MARVIN_LOG", "trace")
            .run();
    let log = log_of(&world.run());
    assert!(log.contains("[REDACTED:") && log.contains("command judged"), "{log}");
    for (name, text) in [("stderr", &ended.stderr), ("log", &log)] {
        for secret in [TOKEN, GITHUB] {
            assert!(!text.contains(secret), "{name} holds {secret}:\n{text}");
        }
    }
}

#[test]
fn lines_are_bounded_and_printable() {
    let world = World::new();
    let script =
        [call(&format!("no\u{1b}]0;x\u{7}\u{202e}tool{}", "y ".repeat(20_000)), json!({})), say("done")];
    let ended = world.play(&script, &["-v"]).run();
    let log = log_of(&world.run());
    for text in [&log, &ended.stderr] {
        let line = text.lines().find(|line| line.contains("tool call")).unwrap();
        assert!(line.contains(r"no\u{1b}]0;x") && line.contains("characters cut]"), "{line}");
        assert!(text.lines().all(|line| line.chars().count() < 2_100), "{text}");
        assert!(!text.chars().any(|char| matches!(char, '\u{1b}' | '\u{7}' | '\u{202e}')), "{text}");
    }
}

#[test]
fn the_daemon_logs_into_the_run_of_the_session() {
    let scene = Scene::new();
    let event = scene.payload(&json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    let hook = || {
        let hook =
            scene.world.marvin(["hook", "PreToolUse", "--client", "claude"]).env("MARVIN_LOG", "debug");
        let hook = hook.env("CLAUDE_PROJECT_DIR", scene.world.project());
        hook.input(event.to_string()).run().exits(0).quiet().json();
    };
    hook();
    scene.daemon();
    until("the daemon answered a hook", || {
        hook();
        scene.world.runs().iter().any(|run| {
            let log = fs::read_to_string(run.join("marvin.log")).unwrap_or_default();
            log.contains("hook answered hook=\"PreToolUse\" client=\"Claude Code\"")
                && log.contains("command judged")
        })
    });
}

#[test]
fn steps_of_a_workflow_are_logged() {
    let world = World::new();
    let steps = json!([{"id": "a", "worker": "Echo", "inputs": {"n": 1}}]);
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try it", "steps": steps}).to_string());
    let ended = world.marvin(["-vv", "run-workflow", "w.json", "--json"]).run().exits(0);
    assert_eq!(ended.json()["status"], "SUCCEEDED");
    let log = log_of(&world.run());
    assert!(log.contains("DEBUG marvin_flow::record: step transition step=0 status=\"SUCCEEDED\""), "{log}");
}
