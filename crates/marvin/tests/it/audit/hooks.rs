//! Findings about hooks and packs (A9 to A11, D).

use crate::hooks::{Scene, decision, kill};
use rustix::process::Signal;
use serde_json::{Value, json};

const CLIENTS: [&str; 2] = ["claude", "codex"];

/// The end of a turn with these words.
fn stop(scene: &Scene, words: &str) -> Value {
    scene.hook("Stop", &json!({"stop_hook_active": false, "last_assistant_message": words}))
}

/// A call that returned.
fn used(scene: &Scene, tool: &str, input: &Value) {
    scene.hook("PostToolUse", &json!({"tool_name": tool, "tool_input": input, "tool_response": ""}));
}

fn is_sent_back(answer: &Value) -> bool {
    answer["decision"] == "block"
}

#[test]
fn a9_a_question_is_not_verified_at_stop() {
    for client in CLIENTS {
        let scene = Scene::for_client(client);
        std::process::Command::new("git")
            .args(["init", "-q"])
            .current_dir(scene.world.project())
            .status()
            .unwrap();
        scene.world.marvin(["commitments", "add", "file_exists:made.txt"]).run().exits(0);
        scene.say("What does src/main.rs do?");
        for line in [
            "ls -la",
            "cat README.md | head -3",
            "git log --oneline",
            "rg -n main src",
            "echo hi",
            "sed -n '1,200p' a.rs | nl",
        ] {
            used(&scene, "Bash", &json!({ "command": line }));
        }
        used(&scene, "Read", &json!({"file_path": scene.world.project().join("README.md")}));
        used(&scene, "WebSearch", &json!({"query": "rust"}));
        assert_eq!(stop(&scene, "It starts the server. The work is DONE."), json!({}));
        // A claim is verified, and so is the next stop of the turn that was sent back.
        let claimed = stop(&scene, "All of it.\nSTATUS: DONE");
        assert!(is_sent_back(&claimed), "{claimed}");
        assert!(is_sent_back(&stop(&scene, "It is really done.")));
        scene.say("And what does it print?");
        assert_eq!(stop(&scene, "A line."), json!({}));
    }
}

#[test]
fn a9_a_turn_that_changed_something_is_verified_also_after_a_restart() {
    let calls = [
        ("Edit", json!({"file_path": "a.rs"})),
        ("Bash", json!({"command": "echo x > a.txt"})),
        ("Bash", json!({"command": "sed -i s/a/b/ a.txt"})),
        ("Bash", json!({"command": "cat a.txt | sed w\\ b.txt"})),
        ("Bash", json!({"command": "awk '{print > \"b.txt\"}' a.txt"})),
        ("Bash", json!({"command": "python3 make.py"})),
        ("Bash", json!({"command": "make"})),
        ("Bash", json!({"command": "cargo test"})),
        ("Bash", json!({"command": "git commit -qm x"})),
        ("Bash", json!({"command": "$TOOL a"})),
        ("apply_patch", json!({"command": "*** Begin Patch\n*** Add File: n.txt\n+x\n*** End Patch\n"})),
        ("mcp__files__write_file", json!({"path": "a.txt"})),
    ];
    let scene = Scene::new();
    scene.world.marvin(["commitments", "add", "file_exists:made.txt"]).run().exits(0);
    for (tool, input) in calls {
        scene.say("Change it, please.");
        used(&scene, tool, &input);
        assert!(is_sent_back(&stop(&scene, "I changed it.")), "{tool} {input}");
    }
    // Another process continues: the trace is the record.
    scene.say("Once more.");
    used(&scene, "Write", &json!({"file_path": "b.txt"}));
    kill(scene.daemon(), Signal::KILL);
    assert!(is_sent_back(&stop(&scene, "I changed it.")));
    scene.say("Thank you. What is left?");
    assert_eq!(stop(&scene, "Nothing."), json!({}));
    // The call of a sub-agent counts, and its prompt is not the person's.
    scene.hook(
        "PostToolUse",
        &json!({"tool_name": "Write", "tool_input": {"file_path": "c"}, "agent_id": "a"}),
    );
    scene.hook("UserPromptSubmit", &json!({"prompt": "tidy up", "agent_id": "a"}));
    assert!(is_sent_back(&stop(&scene, "The agent wrote it.")));
    scene.world.write("made.txt", "x");
    assert_eq!(stop(&scene, "Made."), json!({}));
}

#[test]
fn a10_commitments_of_other_agents_do_not_block_a_session() {
    let scene = Scene::new();
    let add = ["commitments", "add", "file_exists:ann.txt", "--agent", "ann"];
    scene.world.marvin(add).run().exits(0);
    used(&scene, "Write", &json!({"file_path": "a.txt"}));
    assert_eq!(stop(&scene, "Written.\nSTATUS: DONE"), json!({}));
    scene.world.marvin(["commitments", "add", "file_exists:made.txt"]).run().exits(0);
    let back = stop(&scene, "Written.\nSTATUS: DONE");
    assert!(is_sent_back(&back), "{back}");
    assert!(!back.to_string().contains("ann.txt"), "{back}");
    scene.world.marvin(["verify"]).run().exits(3);
}

#[test]
fn a11_broken_settings_are_reported_at_start_and_stop() {
    for client in CLIENTS {
        let scene = Scene::for_client(client);
        scene.world.write(".marvin/config.toml", "[hooks\nallow = 1\n");
        let started = scene.hook("SessionStart", &json!({"source": "startup"}));
        for text in [&started["systemMessage"], &started["hookSpecificOutput"]["additionalContext"]] {
            assert!(text.as_str().is_some_and(|text| text.contains("config.toml")), "{started}");
        }
        let back = stop(&scene, "Done.");
        assert!(is_sent_back(&back) && back["reason"].as_str().unwrap().contains("config.toml"), "{back}");
        let again = scene.hook("Stop", &json!({"stop_hook_active": true, "last_assistant_message": "x"}));
        assert_eq!(again["decision"], Value::Null, "{again}");
        assert!(again["systemMessage"].as_str().unwrap().contains("config.toml"), "{again}");
    }
}

#[test]
fn a11_settings_that_break_behind_a_daemon_send_back_once() {
    let scene = Scene::for_client("codex");
    scene.world.marvin(["commitments", "add", "file_exists:made.txt"]).run().exits(0);
    scene.say("Change it.");
    scene.daemon();
    used(&scene, "Write", &json!({"file_path": "b.txt"}));
    scene.world.write(".marvin/config.toml", "[hooks\n");
    assert!(is_sent_back(&stop(&scene, "Done.")));
    let again = scene.hook("Stop", &json!({"stop_hook_active": true, "last_assistant_message": "x"}));
    assert_eq!(again["decision"], Value::Null, "{again}");
    assert!(again["systemMessage"].as_str().unwrap().contains("config.toml"), "{again}");
}

#[test]
fn a11_a_person_is_told_after_the_last_round() {
    for client in CLIENTS {
        let scene = Scene::for_client(client);
        scene.world.marvin(["commitments", "add", "file_exists:made.txt"]).run().exits(0);
        let answers: Vec<Value> = (0..4).map(|_| stop(&scene, "STATUS: DONE")).collect();
        assert!(answers[..3].iter().all(is_sent_back), "{answers:?}");
        assert!(
            answers[3]["systemMessage"].as_str().unwrap().starts_with("Not verified: 0 of 1"),
            "{answers:?}"
        );
    }
}

#[test]
fn a11_a_misspelt_event_is_the_one_that_the_input_names() {
    let scene = Scene::new();
    let call =
        json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm -rf ~"}});
    for daemon in [false, true] {
        assert_eq!(decision(&scene.hook("PreTolUse", &call)), "deny", "daemon: {daemon}");
        scene.daemon();
    }
    // A name that is known stands.
    assert_eq!(scene.hook("Notification", &call), json!({}));
    assert_eq!(scene.hook("PreTolUse", &json!({"hook_event_name": "Tomorrow"})), json!({}));
}

#[test]
fn a11_explain_shows_exactly_what_a_hook_answers() {
    let lines = [
        "ls",
        "npm test",
        "some-program",
        "rm -rf ~",
        "git push --force",
        "cat ../x",
        "gh pr view 3",
        "make",
    ];
    for client in CLIENTS {
        let scene = Scene::for_client(client);
        let rules = json!({"permissions": {"ask": ["Bash(ls:*)"]}});
        for settings in ["{}", &rules.to_string()] {
            scene.world.write(".claude/settings.json", settings);
            for line in lines {
                let explained = scene
                    .world
                    .marvin(["gate", "explain", "--client", client, "--json", line])
                    .run()
                    .exits(0)
                    .json();
                assert_eq!(explained["answer"]["output"], scene.bash(line), "{client}: {line}");
            }
        }
    }
}

fn compact(scene: &Scene) {
    scene.raw("PreCompact", scene.payload(&json!({"trigger": "auto"})).to_string()).exits(0);
}

fn context(answer: &Value) -> String {
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_string()
}

fn lesson(category: &str, title: &str) -> Value {
    json!({"timestamp": "2026-01-01T00:00:00Z", "category": category, "title": title, "description": "d",
        "actionable": format!("Do {title}.")})
}

/// A project with a pack for TypeScript and one for Python.
fn two_languages() -> Scene {
    let scene = Scene::new();
    let pack = |name: &str, extension: &str| {
        let facts = json!({"categories": [name], "applies_to": {"extensions": [extension]}});
        scene.pack(name, &facts, &format!("Rule of {name}.\n"), &[lesson(name, &format!("the {name} way"))]);
    };
    pack("a-typescript", ".ts");
    pack("python", ".py");
    scene.world.write("app.py", "x = 1\n");
    scene
}

#[test]
fn d1_a_correction_without_a_subject_is_about_the_file_that_was_changed() {
    let scene = two_languages();
    scene.hook("SessionStart", &json!({"source": "startup"}));
    let told = context(&scene.say("No, that is wrong."));
    assert!(!told.contains("typescript"), "nothing was changed yet: {told}");
    scene.edit("app.py");
    let told = context(&scene.say("No, that is wrong."));
    assert!(told.contains("the python way") && !told.contains("typescript"), "{told}");
    scene.say("No, use tabs in this project.");
    let candidates =
        scene.world.marvin(["lessons", "reflect", "--json"]).run().exits(0).json()["candidates"].clone();
    assert_eq!(candidates.as_array().unwrap().len(), 1, "{candidates:#}");
    assert!(candidates[0]["content"].as_str().unwrap().contains("tabs"), "{candidates:#}");
}

#[test]
fn d2_the_git_pack_is_told_once_per_session_and_counted_once() {
    let scene = Scene::new();
    let facts = json!({"categories": ["git"]});
    scene.pack("git-workflow", &facts, "Commit small.\n", &[lesson("git", "small commits")]);
    let lines = ["git commit -m x", "git push", "git tag v1", "git commit -m y"];
    let told: Vec<bool> =
        lines.iter().map(|line| context(&scene.bash(line)).contains("small commits")).collect();
    assert_eq!(told, [true, false, false, false]);
    compact(&scene);
    assert!(context(&scene.bash("git push")).contains("small commits"));
    scene.end();
    let lesson: Value =
        serde_json::from_str(scene.world.read(".marvin/packs/git-workflow/lessons.jsonl").trim()).unwrap();
    assert_eq!(lesson["injection_count"], 1, "{lesson}");
}

#[test]
fn d3_a_direction_makes_its_pack_apply() {
    let scene = Scene::new();
    scene.pack("testing", &json!({"categories": ["testing"]}), "One assertion each.\n", &[]);
    scene.world.write("plain.txt", "x");
    assert_eq!(context(&scene.edit("plain.txt")), "");
    scene.say("From now on, always write a test with every mock.");
    compact(&scene);
    let told = context(&scene.edit("plain.txt"));
    assert!(told.contains("One assertion each."), "{told}");
}

#[test]
fn d4_the_next_session_hints_at_reflection_once() {
    for client in CLIENTS {
        let mut scene = Scene::for_client(client);
        let start = |scene: &Scene| scene.hook("SessionStart", &json!({"source": "startup"}));
        assert_eq!(start(&scene)["systemMessage"], Value::Null);
        scene.say("No, use pnpm instead of npm here.");
        scene.end();
        scene.session = "s-2".into();
        let hinted = start(&scene);
        let note = hinted["systemMessage"].as_str().unwrap_or_default();
        assert!(note.contains("1 correction") && note.contains("`marvin lessons reflect`"), "{hinted}");
        assert!(context(&hinted).contains("Marvin watches this session"), "{hinted}");
        scene.end();
        scene.session = "s-3".into();
        assert_eq!(start(&scene)["systemMessage"], Value::Null, "the last session had none");
    }
}

#[test]
fn d5_init_does_not_say_ready_where_a_person_is_needed() {
    let scene = Scene::new();
    scene.world.write(".claude/settings.local.json", "{\"hooks\": []}\n");
    let init = scene.world.marvin(["init", "--client", "claude"]).run().exits(4);
    assert!(!init.text().contains("Ready.") && init.text().contains("Not ready"), "{}", init.whole());
}

#[test]
fn d5_a_dry_run_shows_no_bookkeeping() {
    let scene = Scene::new();
    let shown = scene.world.marvin(["init", "--client", "claude", "--dry-run"]).run().exits(0);
    assert!(shown.text().contains(".marvin/init.json"), "{}", shown.text());
    assert!(
        !shown.text().contains("+++ b/.marvin/init.json") && !shown.text().contains("sha256"),
        "{}",
        shown.text()
    );
}

#[test]
fn d5_verification_leaves_tracked_files_alone_and_hints_work() {
    let scene = Scene::new();
    let git = |words: &[&str]| {
        let command = ["-c", "user.name=a", "-c", "user.email=a@b"].into_iter().chain(words.iter().copied());
        let done =
            std::process::Command::new("git").args(command).current_dir(scene.world.project()).output();
        String::from_utf8(done.unwrap().stdout).unwrap()
    };
    git(&["init", "-q"]);
    scene.world.write("README.md", "x\n");
    scene.world.marvin(["init", "--client", "claude"]).run().exits(0);
    scene.world.marvin(["commitments", "add", "file_exists:README.md"]).run().exits(0);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "x"]);
    scene.world.marvin(["verify"]).run().exits(0);
    assert_eq!(git(&["status", "--short"]), "");
    let added =
        scene.world.marvin(["commitments", "add", "shell:curl -sf https://example.com/x"]).run().exits(0);
    assert!(
        !added.whole().contains("gate learned add") && added.whole().contains("no rule can"),
        "{}",
        added.whole()
    );
    let added = scene.world.marvin(["commitments", "add", "shell:some-program --check"]).run().exits(0);
    assert!(added.whole().contains("gate learned add"), "{}", added.whole());
}

#[test]
fn d6_doctor_reports_hooks_daemon_and_packs() {
    let scene = Scene::new();
    let checks = |name: &str| -> Vec<Value> {
        let report = scene.world.marvin(["doctor", "--json"]).run().json();
        let all = report["checks"].as_array().unwrap().clone();
        all.into_iter().filter(|check| check["name"] == name).collect()
    };
    assert_eq!(checks("hooks")[0]["state"], "missing");
    scene.world.marvin(["init", "--client", "claude"]).run().exits(0);
    let hooks = checks("hooks");
    assert!(
        hooks[0]["state"] == "ok" && hooks[0]["found"].as_str().unwrap().contains("Claude Code: 30"),
        "{hooks:?}"
    );
    assert!(checks("daemon")[0]["found"].as_str().unwrap().contains("not running"));
    scene.hook("SessionStart", &json!({"source": "startup"}));
    let pid = scene.daemon();
    let daemon = checks("daemon");
    assert!(daemon[0]["found"].as_str().unwrap().contains(&format!("alive, process {pid}")), "{daemon:?}");
    assert!(checks("packs")[0]["found"].as_str().unwrap().contains("git-workflow"));
    scene.world.write(".marvin/packs/broken/pack.json", "{");
    let broken = checks("packs");
    assert!(
        broken.iter().any(|check| check["state"] == "problem" && check.to_string().contains("broken")),
        "{broken:?}"
    );
    // A hook of an older version, and one that is gone.
    let file = ".claude/settings.local.json";
    let text = scene.world.read(file).replacen("\"timeout\": 600", "\"timeout\": 5", 1).replacen(
        "\"Setup\"",
        "\"Other\"",
        1,
    );
    scene.world.write(file, &text);
    let stale = checks("hooks")[0].to_string();
    assert!(stale.contains("missing: Setup") && stale.contains("writes them: Stop"), "{stale}");
    scene.world.write(file, "{");
    assert!(checks("hooks")[0]["state"] == "problem");
}
