//! Diagnostics: `-v`, `MARVIN_LOG`, the log of a run, and `marvin bug-report`.

use crate::hooks::Scene;
use crate::support::{Marvin, ProgramOutput, World, call, put, say, until};
use insta::assert_snapshot;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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

/// The path of a report, from the first line of the answer, and its text.
fn report(ended: &ProgramOutput) -> (PathBuf, String) {
    let path = PathBuf::from(ended.text().lines().next().unwrap());
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

fn bug_report(world: &World, more: &[&str]) -> Marvin {
    world.marvin([&["bug-report"], more].concat())
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
      hint: give a level (error, warn, info, debug), or a list such as info,marvin_gate=debug; targets begin with `marvin`
    ");
    let ended = world.marvin(["gate", "explain", "ls"]).env("MARVIN_LOG", "h2=trace").run().exits(2);
    assert_snapshot!(ended.message(), @"
    marvin: cannot read MARVIN_LOG: `h2` is not a target of Marvin
      hint: give a level (error, warn, info, debug), or a list such as info,marvin_gate=debug; targets begin with `marvin`
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
fn no_log_and_no_report_holds_a_secret() {
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
        secretly(world.marvin(["-vv", "--non-interactive", "--prompt", &prompt, "--script", &script]))
            .env("MARVIN_LOG", "trace")
            .run();
    let log = log_of(&world.run());
    assert!(log.contains("[REDACTED:") && log.contains("command judged"), "{log}");
    // Also what was recorded in another way and by another version: it is redacted once more.
    let trace = world.run().join("trace.jsonl");
    let planted = json!({"type": "notice", "text": format!("{TOKEN} {GITHUB}"), "password": "hunter2horse"});
    fs::write(&trace, format!("{}{planted}\n", fs::read_to_string(&trace).unwrap())).unwrap();
    let (_, text) = report(&secretly(bug_report(&world, &[])).run().exits(0));
    assert!(text.contains("[REDACTED:") && text.contains("\"type\":\"notice\""), "{text}");
    for (name, text) in [("stderr", &ended.stderr), ("log", &log), ("report", &text)] {
        for secret in [TOKEN, GITHUB, "hunter2horse"] {
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
fn a_bug_report_holds_the_newest_run_or_the_named_one() {
    let world = World::new();
    put(&world.user().join("config.toml"), "[limits]\nrounds = 7\n");
    for word in ["first", "second"] {
        world.play(&[say(word)], &[]).env("MARVIN_LOG", "info").run().exits(0);
    }
    let [first, second] = &world.runs()[..] else { panic!("two runs were made") };
    let name = |run: &Path| run.file_name().unwrap().to_str().unwrap().to_string();
    let ended = bug_report(&world, &[]).run().exits(0).quiet();
    assert!(
        ended.text().contains("Nothing was sent.") && ended.text().contains(&name(second)),
        "{}",
        ended.text()
    );
    let (path, text) = report(&ended);
    assert_eq!((mode(&path), path.parent()), (0o600, Some(world.project().as_path())));
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(
        headings,
        [
            "Version and system".to_string(),
            "Doctor".to_string(),
            "Settings that are not defaults".to_string(),
            format!("Record of {}", name(second)),
            format!("End of the trace of {}", name(second)),
            format!("End of the log of {}", name(second)),
        ]
    );
    for line in [
        "marvin   0.",
        "kernel   Linux ",
        "sandbox  ",
        "limits.rounds = 7  [",
        "\"type\":\"result\"",
        REPLIED,
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.contains("second") && !text.contains(&name(first)), "{text}");
    let out = world.root().join("report.md");
    let ended =
        bug_report(&world, &["--run", &name(first), "--out", &out.display().to_string(), "--json"]).run();
    let answer = ended.exits(0).json();
    assert_eq!((answer["path"].as_str(), answer["run"].as_str()), (out.to_str(), first.to_str()));
    assert!(fs::read_to_string(&out).unwrap().contains(&format!("Record of {}", name(first))));
}

#[test]
fn a_bug_report_overwrites_nothing_and_names_what_is_wrong() {
    let world = World::new();
    let kept = put(&world.root().join("kept.md"), "kept");
    let out = kept.display().to_string();
    let ended = bug_report(&world, &["--out", &out]).run().exits(2);
    let text = ended.message().replace(&world.root().display().to_string(), "[ROOT]");
    assert_snapshot!(text, @"
    marvin: cannot write [ROOT]/kept.md: it exists
      hint: name another file with --out, or remove this one
    ");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
    let link = world.root().join("link.md");
    std::os::unix::fs::symlink(world.root().join("elsewhere"), &link).unwrap();
    bug_report(&world, &["--out", &link.display().to_string()]).run().exits(2);
    assert!(!world.root().join("elsewhere").exists());
    let new = world.root().join("new.md").display().to_string();
    let ended = bug_report(&world, &["--run", "run_nothing", "--out", &new]).run().exits(2);
    assert!(ended.message().contains("run_nothing"), "{}", ended.whole());
    bug_report(&world, &["--working-dir", "no-such-place", "--out", &new]).run().exits(2);
    assert!(!Path::new(&new).exists());
    let ended = bug_report(&world, &["--out", "/proc/no/report.md"]).run().exits(1);
    assert!(ended.message().contains("hint: name a file in a directory of yours"), "{}", ended.whole());
}

#[test]
fn a_bug_report_works_with_broken_settings_and_without_a_run() {
    let world = World::new();
    for broken in ["nonsense", "[limits]\nroundz = 3\n", &format!("[provider.openai]\nkey = \"{TOKEN}\n")] {
        put(&world.user().join("config.toml"), broken);
        let out = world.root().join("report.md");
        bug_report(&world, &["--out", &out.display().to_string()]).run().exits(0).quiet();
        let text = fs::read_to_string(&out).unwrap();
        assert!(text.contains("PROBLEM  settings") && text.contains("config.toml"), "{text}");
        assert!(text.contains("No run was found.") && !text.contains(TOKEN), "{text}");
        fs::remove_file(&out).unwrap();
    }
    // A run whose record is damaged, and whose trace tries to end the block that it is shown in.
    fs::remove_file(world.user().join("config.toml")).unwrap();
    let run = world.state().join("runs/run_20260203_040506_1a2b");
    put(&run.join("run.json"), "{\"broken");
    put(&run.join("trace.jsonl"), &format!("{}\n```\n## Injected\n\u{1b}[2J\n", "x".repeat(3_000_000)));
    let (_, text) = report(&bug_report(&world, &[]).run().exits(0));
    assert!(
        text.contains("{\"broken") && text.contains("\n````text\n```\n## Injected\n\\u{1b}[2J\n````\n"),
        "{text}"
    );
    assert!(text.len() < 400_000);
}

#[test]
fn steps_of_a_workflow_are_logged_and_reported() {
    let world = World::new();
    let steps = json!([{"id": "a", "worker": "Echo", "inputs": {"n": 1}}]);
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try it", "steps": steps}).to_string());
    let ended = world.marvin(["-vv", "run-workflow", "w.json", "--json"]).run().exits(0);
    assert_eq!(ended.json()["status"], "SUCCEEDED");
    let log = log_of(&world.run());
    assert!(log.contains("DEBUG marvin_flow::record: step transition step=0 status=\"SUCCEEDED\""), "{log}");
    let (_, text) = report(&bug_report(&world, &[]).run().exits(0));
    assert!(text.contains("step transition") && text.contains("workflow.started"), "{text}");
}
