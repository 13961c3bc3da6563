//! Hooks of Claude Code and Codex: answers, guidance, learning, verification and records.

use crate::support::{HOOK_PROGRAM, PROGRAM_TIMEOUT, ProgramOutput, World, json_file, ledger, put, until};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A client's session in a project with `.marvin`.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) client: &'static str,
    pub(crate) session: String,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Scene::for_client("claude")
    }

    pub(crate) fn for_client(client: &'static str) -> Self {
        let world = World::new();
        fs::create_dir_all(world.project().join(".marvin")).unwrap();
        // Most tests need an `allow`; the default setting has tests of its own.
        put(&world.user().join("config.toml"), "[hooks]\nallow = \"harmless\"\n");
        Scene { world, client, session: "s-1".into() }
    }

    pub(crate) fn pack(&self, name: &str, facts: &Value, guardrails: &str, lessons: &[Value]) {
        let directory = self.world.project().join(".marvin/packs").join(name);
        let mut pack = json!({"name": name, "version": "1.0.0", "owner": "us"});
        pack.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
        put(&directory.join("pack.json"), &pack.to_string());
        put(&directory.join("guardrails.md"), guardrails);
        let lines: String = lessons.iter().map(|lesson| format!("{lesson}\n")).collect();
        put(&directory.join("lessons.jsonl"), &lines);
    }

    /// The JSON that a client sends with an event.
    pub(crate) fn payload(&self, facts: &Value) -> Value {
        let mut payload = json!({
            "session_id": self.session, "cwd": self.world.project(), "permission_mode": "default",
            "transcript_path": "/nowhere", "field_of_tomorrow": {"a": [1]},
        });
        payload.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
        payload
    }

    pub(crate) fn raw(&self, event: &str, input: impl Into<Vec<u8>>) -> ProgramOutput {
        let hook = self.world.start_program(HOOK_PROGRAM, [event, "--client", self.client]).input(input);
        let hook = match self.client {
            "claude" => hook.env("CLAUDE_PROJECT_DIR", self.world.project()),
            _ => hook,
        };
        hook.run()
    }

    pub(crate) fn hook(&self, event: &str, facts: &Value) -> Value {
        self.raw(event, self.payload(facts).to_string()).exits(0).quiet().json()
    }

    pub(crate) fn bash(&self, command: &str) -> Value {
        self.hook(
            "PreToolUse",
            &json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t1"}),
        )
    }

    /// `allow`, `ask`, `deny`, or nothing.
    pub(crate) fn decision(&self, command: &str) -> String {
        decision(&self.bash(command))
    }

    pub(crate) fn edit(&self, file: &str) -> Value {
        let path = self.world.project().join(file);
        self.hook("pre-tool-use", &json!({"tool_name": "Edit", "tool_input": {"file_path": path}}))
    }

    pub(crate) fn say(&self, words: &str) -> Value {
        self.hook("UserPromptSubmit", &json!({"prompt": words}))
    }

    /// Files of the daemons with this suffix.
    pub(crate) fn daemon_files(&self, ending: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.world.root().join("tmp")).into_iter().flatten().flatten();
        let directories = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
        let files = directories
            .flat_map(|directory| fs::read_dir(directory).unwrap())
            .map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|own| own == ending)).collect()
    }

    /// The daemon's process, once it listens.
    pub(crate) fn daemon(&self) -> i32 {
        // The socket has its name last; both are gone again when the daemon ends.
        until("a daemon listens", || {
            ["sock", "pid"].iter().all(|ending| !self.daemon_files(ending).is_empty())
        });
        let text = fs::read_to_string(&self.daemon_files("pid")[0]).unwrap();
        text.lines().next().unwrap().parse().unwrap()
    }

    /// Processes whose temporary directory is this scene's: everything it started.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let mark = format!("TMPDIR={}\0", self.world.root().join("tmp").display());
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
        let own = |pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&mark) && !stat.contains(") Z ")
        };
        entries.filter_map(pid).filter(own).collect()
    }

    pub(crate) fn end(&self) {
        self.hook("SessionEnd", &json!({"reason": "other"}));
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for pid in self.processes() {
            kill(pid, rustix::process::Signal::KILL);
        }
    }
}

pub(crate) fn kill(pid: i32, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).ok();
}

pub(crate) fn decision(answer: &Value) -> String {
    answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("nothing").to_string()
}

fn context(answer: &Value) -> String {
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_string()
}

fn reason(answer: &Value) -> String {
    answer["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap_or_default().to_string()
}

#[test]
fn a_command_is_judged_and_the_verdict_has_a_reason() {
    let scene = Scene::new();
    assert_eq!(scene.decision("cargo test"), "nothing");
    let denied = scene.bash("rm -rf ~");
    assert_eq!(decision(&denied), "deny");
    assert!(reason(&denied).contains("home directory") && reason(&denied).contains("[marvin: "), "{denied}");
    assert_eq!(scene.decision("some-program --unknown"), "ask");
    // Every spelling of the event, from the agent and from sub-agents.
    let payload = json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf ~"}, "agent_id": "a1", "agent_type": "x"});
    assert_eq!(decision(&scene.hook("pre-tool-use", &payload)), "deny");
    let asked = scene.hook("PermissionRequest", &payload);
    assert_eq!(asked["hookSpecificOutput"]["decision"]["behavior"], "deny");
    let allowed = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}});
    let asked = scene.hook("permission-request", &allowed);
    assert_eq!(asked["hookSpecificOutput"]["decision"], json!({"behavior": "allow"}));
    // The record has every verdict and the agent that made the call.
    let trace = scene.world.trace();
    let verdicts: Vec<&str> =
        trace.iter().filter_map(|event| event["verdict"]["decision"].as_str()).collect();
    assert_eq!(verdicts, ["allow", "deny", "ask", "deny", "deny", "allow"]);
    assert!(trace.iter().any(|event| event["agent_id"] == "a1"));
    scene.end();
    let metrics = json_file(&scene.world.run().join("security-metrics.json"));
    assert_eq!(metrics["byDecision"], json!({"allow": 2, "deny": 3, "ask": 1}));
}

/// Answers to lines under a value of `hooks.allow`, with a user rule for `make lint`.
fn answers(setting: &str, lines: &[&str]) -> Vec<String> {
    let scene = Scene::new();
    let config = if setting.is_empty() { String::new() } else { format!("[hooks]\nallow = \"{setting}\"\n") };
    put(&scene.world.user().join("config.toml"), &config);
    let rule = json!({"rules": [{"id": "lint", "type": "exact", "pattern": "make lint", "reason": "mine"}]});
    put(&scene.world.user().join("security/allowlist.json"), &rule.to_string());
    lines.iter().map(|line| scene.decision(line)).collect()
}

#[test]
fn a1_hooks_allow_limits_which_questions_are_lifted() {
    let lines = ["ls", "make lint", "make", "./x.sh", "make lint && ./x.sh", "ls && make lint", "rm -rf ~"];
    let expected = |ls: &str, rule: &str, both: &str| {
        [ls, rule, "nothing", "nothing", "nothing", both, "deny"].map(str::to_string).to_vec()
    };
    assert_eq!(answers("", &lines), expected("nothing", "allow", "allow"));
    assert_eq!(answers("rules", &lines), expected("nothing", "allow", "allow"));
    assert_eq!(answers("harmless", &lines), expected("allow", "allow", "allow"));
    assert_eq!(answers("never", &lines), expected("nothing", "nothing", "nothing"));
}

#[test]
fn a2_ask_rules_of_the_client_stay_in_force() {
    let scene = Scene::new();
    assert_eq!(scene.decision("ls"), "allow");
    let rules = scene.world.project().join(".claude/settings.local.json");
    put(&rules, r#"{"permissions": {"ask": ["Bash(ls:*)"]}}"#);
    assert_eq!(scene.decision("ls"), "nothing");
    assert_eq!(scene.decision("pwd"), "allow");
    put(&rules, "{broken");
    assert_eq!(scene.decision("pwd"), "nothing");
}

#[test]
fn a1_explain_shows_the_answer_a_client_would_get() {
    let scene = Scene::new();
    let explained = |client: &str, line: &str| {
        scene.world.marvin(["gate", "explain", "--client", client, "--json", line]).run().exits(0).json()["answer"].clone()
    };
    assert_eq!(explained("claude", "ls")["decision"], "allow");
    assert_eq!(explained("claude", "npm test")["decision"], "none");
    assert_eq!(explained("claude", "npm test")["output"], json!({}));
    assert_eq!(explained("claude", "some-program")["decision"], "ask");
    assert_eq!(explained("codex", "some-program")["decision"], "deny");
    assert_eq!(explained("codex", "ls")["decision"], "none");
    assert_eq!(explained("codex", "rm -rf ~")["decision"], "deny");
    let text = scene.world.marvin(["gate", "explain", "--client", "claude", "npm test"]).run().exits(0);
    assert!(text.text().starts_with("claude: no opinion"), "{}", text.text());
}

#[test]
fn s12_a_search_through_the_home_directory_is_asked_about() {
    let scene = Scene::new();
    let home = scene.world.home();
    let asked = |tool: &str, input: Value| {
        decision(&scene.hook("PreToolUse", &json!({"tool_name": tool, "tool_input": input})))
    };
    for (tool, input) in [
        ("Grep", json!({"pattern": "KEY", "path": "~"})),
        ("Grep", json!({"pattern": "KEY", "path": home})),
        ("Grep", json!({"pattern": "KEY", "path": "/"})),
        ("Grep", json!({"pattern": "KEY", "path": home.join(".config")})),
        ("Grep", json!({"pattern": "KEY", "path": "/etc"})),
        ("Grep", json!({"pattern": "KEY", "glob": ".env*"})),
        ("Glob", json!({"pattern": "~/**/*.pem"})),
        ("Glob", json!({"pattern": "/**"})),
        ("Glob", json!({"pattern": "**/*", "path": "~"})),
        ("Glob", json!({"pattern": "**/id_rsa"})),
    ] {
        assert_eq!(asked(tool, input.clone()), "ask", "{tool} {input}");
    }
    for (tool, input) in [
        ("Grep", json!({"pattern": "KEY"})),
        ("Grep", json!({"pattern": "/api/", "path": "src"})),
        ("Glob", json!({"pattern": "**/*.rs"})),
        ("Glob", json!({"pattern": "*.md", "path": scene.world.project()})),
    ] {
        assert_eq!(asked(tool, input.clone()), "nothing", "{tool} {input}");
    }
}

#[test]
fn the_user_gets_a_reason_and_the_model_an_alternative() {
    let scene = Scene::new();
    for daemon in [false, true] {
        let payload =
            scene.payload(&json!({"tool_name": "Bash", "tool_input": {"command": "some-program --unknown"}}));
        let asked = |attended: &str| {
            let hook = scene.world.marvin(["hook", "PreToolUse", "--client", "claude"]);
            let hook = hook
                .env("CLAUDE_CODE_SESSION_ATTENDED", attended)
                .env("CLAUDE_PROJECT_DIR", scene.world.project());
            reason(&hook.input(payload.to_string()).run().exits(0).json())
        };
        assert!(asked("0").contains("Say in your answer"), "{daemon} {}", asked("0"));
        assert!(!asked("1").contains("Say in your answer"), "{daemon}");
        scene.daemon();
    }
}

#[test]
fn codex_gets_only_keys_that_it_knows() {
    let scene = Scene::for_client("codex");
    for command in ["rm -rf ~", "some-program --unknown"] {
        let own = scene.bash(command)["hookSpecificOutput"].as_object().unwrap().clone();
        let keys: Vec<&str> = own.keys().map(String::as_str).collect();
        assert_eq!(keys, ["hookEventName", "permissionDecision", "permissionDecisionReason"]);
        assert_eq!(own["permissionDecision"], "deny");
    }
    assert_eq!(scene.bash("ls"), json!({}));
    let patch =
        "*** Begin Patch\n*** Update File: .marvin/security/allowlist.json\n@@\n-a\n+b\n*** End Patch\n";
    let patched = json!({"tool_name": "apply_patch", "tool_input": {"command": patch}});
    assert_eq!(decision(&scene.hook("PreToolUse", &patched)), "deny");
}

#[test]
fn file_tools_are_judged_by_the_kind_of_file() {
    let scene = Scene::new();
    let write = |path: &Path| {
        decision(&scene.hook("PreToolUse", &json!({"tool_name": "Write", "tool_input": {"file_path": path}})))
    };
    let project = scene.world.project();
    assert_eq!(write(&project.join("src/a.rs")), "nothing");
    assert_eq!(write(&project.join(".marvin/security/allowlist.json")), "deny");
    assert_eq!(write(&project.join("CLAUDE.md")), "ask");
    assert_eq!(write(&scene.world.home().join(".bashrc")), "ask");
    assert_eq!(write(&scene.world.home().join(".ssh/authorized_keys")), "ask");
    assert_eq!(write(&project.join("../elsewhere.txt")), "nothing", "a directory for temporary files");
    assert_eq!(write(Path::new("/etc/passwd")), "ask");
    std::os::unix::fs::symlink("/etc", project.join("link")).unwrap();
    assert_eq!(write(&project.join("link/passwd")), "ask");
    let read = |path: &Path| {
        decision(&scene.hook("PreToolUse", &json!({"tool_name": "Read", "tool_input": {"file_path": path}})))
    };
    assert_eq!(read(&project.join("src/a.rs")), "nothing");
    assert_eq!(read(&scene.world.home().join(".ssh/id_ed25519")), "ask");
    scene.world.write(".env", "KEY=1");
    assert_eq!(read(&project.join(".env")), "ask");
}

#[test]
fn every_event_gets_a_valid_answer() {
    for client in ["claude", "codex"] {
        let scene = Scene::for_client(client);
        for event in marvin_hooks::event::Event::ALL {
            let facts = json!({"hook_event_name": event.name(), "prompt": "hello", "tool_name": "Read",
                "tool_input": {"file_path": "a.rs"}, "tool_response": "x", "source": "startup", "reason": "r"});
            let ended = scene.raw(event.kebab(), scene.payload(&facts).to_string()).exits(0).quiet();
            if event.name() == "PreCompact" && client == "claude" {
                assert!(ended.text().starts_with("Keep in the summary"), "{}", ended.whole());
                continue;
            }
            let answer = ended.json();
            for (key, value) in answer.as_object().unwrap() {
                assert!(
                    ["hookSpecificOutput", "systemMessage"].contains(&key.as_str()),
                    "{event:?} {answer}"
                );
                assert_eq!(value["hookEventName"], event.name(), "{answer}");
            }
        }
        assert_eq!(scene.hook("an-event-of-tomorrow", &json!({"x": 1})), json!({}));
        // The end of a session is among the events; later events are recorded in the same run.
        let trace = scene.world.trace();
        let kinds: Vec<&str> = trace.iter().filter_map(|event| event["type"].as_str()).collect();
        for event in marvin_hooks::event::Event::ALL {
            assert!(kinds.contains(&format!("hook.{}", event.kebab()).as_str()), "{event:?}");
        }
        assert!(trace.iter().any(|event| event["event"] == "an-event-of-tomorrow"));
    }
}

/// Payloads of the real programs, where the recordings are next to the project.
#[test]
fn recorded_payloads_are_parsed() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/hooks");
    if !directory.is_dir() {
        marvin_testing::skip(&format!("no recordings in {}", directory.display()));
        return;
    }
    let mut seen = 0;
    for client in ["claude", "codex"] {
        let scene = Scene::for_client(client);
        for entry in fs::read_dir(directory.join(client)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_string();
            if name.starts_with('_') {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let text = text.replace("{{PROJECT}}", scene.world.project().to_str().unwrap());
            let event = name.split('.').next().unwrap();
            scene.raw(event, text).exits(0).quiet();
            seen += 1;
        }
        let odd = scene.world.runs().iter().flat_map(|run| ledger(&run.join("trace.jsonl"))).count();
        assert!(odd > 0);
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn guidance_is_given_once_and_repeated_after_compaction_but_not_after_a_crash() {
    let scene = Scene::new();
    let lesson = json!({"timestamp": "2026-01-01T00:00:00Z", "category": "api", "title": "Name the field",
        "description": "d", "actionable": "Say which field is wrong."});
    scene.pack(
        "api",
        &json!({"categories": ["api"], "sensitive_paths": ["src/api/**"]}),
        "Return typed errors.\n",
        &[lesson],
    );
    scene.world.write("src/api/a.ts", "x");
    scene.world.write("src/api/b.ts", "x");
    let first = context(&scene.edit("src/api/a.ts"));
    assert!(first.contains("Return typed errors.") && first.contains("Say which field is wrong."), "{first}");
    assert_eq!(context(&scene.edit("src/api/a.ts")), "");
    let other = context(&scene.edit("src/api/b.ts"));
    assert!(other.contains("Say which field") && !other.contains("Return typed"), "{other}");
    // The daemon dies: the next one knows which guidance was given.
    kill(scene.daemon(), rustix::process::Signal::KILL);
    assert_eq!(context(&scene.edit("src/api/b.ts")), "");
    // A sub-agent begins without guidance.
    let path = scene.world.project().join("src/api/b.ts");
    let payload = json!({"tool_name": "Read", "tool_input": {"file_path": path}, "agent_id": "a1"});
    assert!(context(&scene.hook("PreToolUse", &payload)).contains("Return typed errors."));
    // After compaction it is given again, and the run has a snapshot.
    scene.raw("PreCompact", scene.payload(&json!({"trigger": "auto"})).to_string()).exits(0);
    let again = context(&scene.hook("SessionStart", &json!({"source": "compact"})));
    assert!(again.contains("api"), "{again}");
    assert!(context(&scene.edit("src/api/a.ts")).contains("Say which field is wrong."));
    let run = scene.world.run();
    assert!(
        fs::read_dir(&run).unwrap().any(|entry| entry
            .unwrap()
            .file_name()
            .to_str()
            .unwrap()
            .starts_with("snapshot-"))
    );
    scene.end();
    let facts = scene.world.facts();
    assert_eq!(facts["endReason"], "other");
    assert!(facts["packInjectionCounts"]["api"].as_u64().unwrap() >= 4, "{facts}");
}

#[test]
fn a_changed_pack_is_read_again() {
    let scene = Scene::new();
    scene.pack("api", &json!({"sensitive_paths": ["src/**"]}), "First.\n", &[]);
    scene.world.write("src/a.ts", "x");
    assert!(context(&scene.edit("src/a.ts")).contains("First."));
    scene.daemon();
    scene.pack("api", &json!({"sensitive_paths": ["src/**"], "version": "1.0.1"}), "Second.\n", &[]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let payload = json!({"session_id": "s-2", "tool_name": "Edit", "tool_input": {"file_path": scene.world.project().join("src/a.ts")}});
    assert!(context(&scene.hook("PreToolUse", &payload)).contains("Second."));
}

#[test]
fn a_correction_takes_effect_at_once() {
    let scene = Scene::new();
    scene.pack(
        "testing",
        &json!({"categories": ["testing"], "applies_to": {"extensions": [".test.ts"]}}),
        "One assertion each.\n",
        &[],
    );
    scene.world.write("src/plain.txt", "x");
    scene.world.write("src/other.txt", "x");
    assert_eq!(context(&scene.edit("src/plain.txt")), "");
    let guidance = context(&scene.say("No, don't mock the database in tests, use a real one."));
    assert!(guidance.contains("One assertion each."), "{guidance}");
    let guidance = ledger(&scene.world.run().join("guidance.jsonl"));
    assert_eq!(
        (guidance[0]["type"].as_str(), guidance[0]["category"].as_str()),
        (Some("correction"), Some("testing"))
    );
    assert_eq!(guidance[0]["preceding_file"], "src/plain.txt");
    scene.pack("testing", &json!({"categories": ["testing"], "version": "1.0.1"}), "One assertion each.\n",
        &[json!({"timestamp": "2026-01-01T00:00:00Z", "category": "testing", "title": "Real database", "description": "d", "actionable": "Use the real database."})]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let next = context(&scene.edit("src/other.txt"));
    assert!(next.contains("Use the real database."), "{next}");
    // A notification of a background task is not the user's text.
    scene.say("<task-notification>No, never use that.</task-notification>");
    let answer =
        scene.hook("UserPromptSubmit", &json!({"prompt": "No, never use that, use this.", "agent_id": "a"}));
    assert_eq!(answer, json!({}));
    assert_eq!(ledger(&scene.world.run().join("guidance.jsonl")).len(), 1);
}

#[test]
fn an_approval_becomes_a_suggestion_only_if_the_person_was_asked() {
    let scene = Scene::new();
    let ran = |command: &str, mode: &str| {
        scene.hook(
            "PostToolUse",
            &json!({"tool_name": "Bash", "tool_input": {"command": command},
            "tool_response": {"stdout": "", "stderr": ""}, "permission_mode": mode}),
        );
    };
    let suggestions = || {
        let path = scene.world.state().join("security/suggestions.jsonl");
        if path.exists() { ledger(&path).len() } else { 0 }
    };
    ran("deploy-tool check", "default");
    assert_eq!(suggestions(), 0, "the person was not asked");
    assert_eq!(scene.decision("deploy-tool check"), "ask");
    ran("deploy-tool check", "bypassPermissions");
    assert_eq!(suggestions(), 0, "the mode asks no questions");
    assert_eq!(scene.decision("deploy-tool check"), "ask");
    // The daemon dies between the question and the answer.
    kill(scene.daemon(), rustix::process::Signal::KILL);
    ran("deploy-tool   check", "default");
    assert_eq!(suggestions(), 1);
    assert_eq!(scene.decision("deploy-tool check"), "ask", "a person decides what becomes a rule");
    assert_eq!(scene.decision("deploy-tool check --force"), "ask");
}

#[test]
fn a_merge_waits_for_passing_tests() {
    let scene = Scene::new();
    let merge = "gh pr merge 3 --squash";
    assert_eq!(scene.decision(merge), "deny");
    let used = |event: &str, tool: &str, input: Value| {
        scene.hook(event, &json!({"tool_name": tool, "tool_input": input, "tool_response": {"stdout": ""}, "error": "Exit code 1"}));
    };
    used("PostToolUseFailure", "Bash", json!({"command": "cargo test"}));
    assert_eq!(scene.decision(merge), "deny");
    used("PostToolUse", "Bash", json!({"command": "cargo test"}));
    assert_ne!(scene.decision(merge), "deny");
    used("PostToolUse", "Edit", json!({"file_path": scene.world.project().join("a.rs")}));
    assert_eq!(scene.decision(merge), "deny");
}

#[test]
fn a_stop_is_blocked_until_commitments_hold() {
    for client in ["claude", "codex"] {
        let scene = Scene::for_client(client);
        let stop = || {
            scene.hook(
                "Stop",
                &json!({"stop_hook_active": false, "last_assistant_message": "Made.\nSTATUS: DONE", "background_tasks": []}),
            )
        };
        assert_eq!(stop(), json!({}));
        scene.world.marvin(["commitments", "add", "file_exists:made.txt"]).run().exits(0);
        for _ in 0..3 {
            let back = stop();
            assert_eq!(back["decision"], "block", "{back}");
            assert!(back["reason"].as_str().unwrap().contains("made.txt"), "{back}");
        }
        // Bounded: the fourth time, the user is told instead.
        let answer = stop();
        assert_eq!(answer["decision"], Value::Null, "{answer}");
        if client == "claude" {
            assert!(answer["systemMessage"].as_str().unwrap().contains("Not verified"), "{answer}");
        }
        // A new prompt arrives, and the commitment holds.
        scene.say("go on");
        assert_eq!(stop()["decision"], "block");
        let waiting = scene.hook("Stop", &json!({"background_tasks": [{"id": "b1"}]}));
        assert_eq!(waiting, json!({}), "with tasks in the background it is a pause");
        scene.world.write("made.txt", "x");
        assert_eq!(stop(), json!({}));
        let trace = scene.world.trace();
        let proved: Vec<bool> = trace.iter().filter_map(|event| event["verified"].as_bool()).collect();
        assert_eq!(proved, [false, false, false, false, false, true]);
    }
}

#[test]
fn judging_a_command_starts_no_program() {
    let scene = Scene::new();
    let payload = scene.payload(&json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    let hook =
        scene.world.marvin(["hook", "PreToolUse", "--client", "claude"]).env("MARVIN_SECURITY_EVAL", "1");
    let answer = hook.env("TMPDIR", scene.world.home()).input(payload.to_string()).run().exits(0).json();
    assert_eq!(decision(&answer), "deny");
}

#[test]
fn daemon_commands_list_stop_and_clean_up() {
    let scene = Scene::new();
    let daemon = |words: &[&str]| scene.world.person([&["daemon"], words].concat()).run().exits(0);
    let json = |words: &[&str]| -> Value { serde_json::from_str(daemon(words).text()).unwrap() };
    assert_eq!(json(&["status", "--json"])["state"], "dead");
    assert_eq!(json(&["start", "--json"])["started"], true);
    assert_eq!(json(&["start", "--json"])["started"], false);
    let first = json(&["status", "--json"]);
    assert_eq!((first["state"].as_str(), first["socket"].as_bool()), (Some("alive"), Some(true)));
    assert!(
        daemon(&["list"]).text().contains(scene.world.project().canonicalize().unwrap().to_str().unwrap())
    );
    assert!(daemon(&["log"]).text().contains("serves"));
    let second = json(&["restart", "--json"]);
    assert_ne!(first["pid"], second["pid"]);
    assert_eq!(json(&["stop", "--json"])["stopped"], true);
    assert_eq!(json(&["stop", "--json"])["stopped"], false);
    json(&["start", "--json"]);
    kill(scene.daemon(), rustix::process::Signal::KILL);
    until("it is dead", || json(&["status", "--json"])["state"] == "dead");
    assert_eq!(json(&["cleanup", "--json"])["removed"].as_array().unwrap().len(), 1);
    assert_eq!(json(&["list", "--json"]), json!([]));
}

#[test]
fn a_daemon_ends_with_its_last_session() {
    let scene = Scene::new();
    scene.hook("SessionStart", &json!({"source": "startup"}));
    let pid = scene.daemon();
    scene.hook("SessionStart", &json!({"source": "startup", "session_id": "s-2"}));
    scene.end();
    std::thread::sleep(std::time::Duration::from_millis(800));
    assert!(scene.processes().contains(&pid), "another session still needs it");
    let started = Instant::now();
    scene.hook("SessionEnd", &json!({"reason": "other", "session_id": "s-2"}));
    until("it has ended", || scene.processes().is_empty());
    assert!(started.elapsed() < PROGRAM_TIMEOUT / 4);
    assert!(scene.daemon_files("sock").is_empty() && scene.daemon_files("pid").is_empty());
}
