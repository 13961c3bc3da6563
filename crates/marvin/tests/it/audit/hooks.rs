//! Findings about hooks and packs (A9 to A11, D).

use crate::hooks::{Scene, kill};
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
