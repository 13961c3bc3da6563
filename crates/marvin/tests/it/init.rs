//! `marvin init`, as a user runs it.

use crate::support::{HOOK_PROGRAM, Marvin, PROGRAM, ProgramOutput, World, files_below, json_file, put};
use marvin_testing::git;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SETTINGS: &str = ".claude/settings.json";

/// A world with `marvin` on the PATH, next to the system's programs only.
fn world() -> World {
    let world = World::new();
    fs::create_dir(world.root().join("bin")).unwrap();
    std::os::unix::fs::symlink(PROGRAM, world.root().join("bin/marvin")).unwrap();
    world
}

fn init(world: &World, arguments: &[&str]) -> Marvin {
    let path = format!("{}:/usr/bin:/bin", world.root().join("bin").display());
    world.person(["init"]).args(arguments).env("PATH", path)
}

fn done(world: &World, arguments: &[&str]) -> ProgramOutput {
    init(world, arguments).run().exits(0)
}

/// Every file of the project with its content, except git's own.
fn everything(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files_below(&world.project()).into_iter();
    let own = world.project().join(".git");
    files.filter(|path| !path.starts_with(&own)).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn states(report: &Value) -> BTreeMap<String, String> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_string();
    report["changes"].as_array().unwrap().iter().map(|row| (text(row, "file"), text(row, "state"))).collect()
}

#[test]
fn init_sets_a_project_up_and_remove_undoes_it() {
    let world = world();
    git(&world.project(), &["init", "-q"]);
    world.write("Cargo.toml", "[package]\nname = \"a\"\n");
    world.write("CLAUDE.md", "# Notes\n");
    world.write(SETTINGS, "{\n  \"model\": \"opus\",\n  \"hooks\": {\"Stop\": []}\n}\n");
    let before = everything(&world);
    let shown = done(&world, &["--client", "both"]);
    for line in [
        "merged     .claude/settings.json",
        "made       .codex/hooks.json",
        "made       .marvin/packs/testing/pack.json",
        "made       .marvin/packs/rust/guardrails.md",
        "made       .marvin/security/denylist.json",
        "made       .claude/skills/marvin-reflect/SKILL.md",
        "made       .gitignore",
        "merged     CLAUDE.md",
    ] {
        assert!(shown.text().contains(line), "{line}\n{}", shown.text());
    }
    assert!(!shown.text().contains("packs/code-quality"), "{}", shown.text());
    assert!(!shown.text().contains("packs/python") && !shown.text().contains("packs/go"), "{}", shown.text());
    assert!(shown.stderr.contains("Codex runs hooks of a project only when you have trusted them"));
    assert_eq!(
        files_below(&world.home()),
        Vec::<PathBuf>::new(),
        "nothing is written into the person's home"
    );
    let hook = json_file(&world.project().join(SETTINGS));
    let hook = &hook["hooks"]["PreToolUse"][0];
    assert_eq!(
        hook,
        &json!({"matcher": "*", "hooks": [{"type": "command", "command": "marvin",
                "args": ["hook", "pre-tool-use", "--client", "claude"], "timeout": 60, "onFailure": "block"}]})
    );
    let after = everything(&world);
    done(&world, &["--client", "both"]);
    assert_eq!(everything(&world), after);
    // The starter packs pass `marvin packs check`.
    world.marvin(["gate", "rules", "test"]).run().exits(0);
    let report = done(&world, &["--remove", "--json"]).quiet().json();
    assert_eq!(report["changed"], true);
    assert_eq!(everything(&world), before);
    assert!(!world.project().join(".marvin").exists() && !world.project().join(".codex").exists());
}

#[test]
fn git_ignores_machine_specific_files_and_nothing_else() {
    let world = world();
    git(&world.project(), &["init", "-q"]);
    done(&world, &["--client", "claude"]);
    for name in [
        "runs/run_1/trace.jsonl",
        "memory/state.json",
        "security/decisions.jsonl",
        "security/decisions.1.jsonl",
        "security/learned.jsonl",
        "agents/records/vega.jsonl",
        "agents/records/.lock",
        "agents/turn-20260203_040506_abcd.md",
        "agents/.lock",
        "agents/.verifying",
        "tools_cache/x",
        "init.json",
    ] {
        world.write(&format!(".marvin/{name}"), "{}");
    }
    world.write(".marvin/config.toml", "");
    world.write(".marvin/security/allowlist.json", "{\"rules\": []}");
    let seen = git(&world.project(), &["status", "--porcelain", "-uall"]);
    let seen: Vec<&str> = seen.lines().filter_map(|line| line.strip_prefix("?? .marvin/")).collect();
    assert!(
        seen.iter().all(|name| name.starts_with("packs/")
            || ["config.toml", "security/allowlist.json", "security/denylist.json"].contains(name)),
        "{seen:?}"
    );
    assert!(
        seen.contains(&"packs/testing/pack.json") && seen.contains(&"security/denylist.json"),
        "{seen:?}"
    );
}

#[test]
fn a_dry_run_shows_the_changes_and_writes_nothing() {
    let world = world();
    world.write(SETTINGS, "{\"a\":1}");
    let before = everything(&world);
    let shown = done(&world, &["--dry-run", "--client", "claude"]);
    assert!(
        shown.text().contains("--- .claude/settings.json\n+++ .claude/settings.json\n@@"),
        "{}",
        shown.text()
    );
    assert!(
        shown.text().contains("+++ .marvin/packs/testing/pack.json")
            && shown.text().contains("Dry run: nothing was written.")
    );
    assert!(shown.stderr.contains("not a git repository"));
    let report = done(&world, &["--dry-run", "--json", "--client", "claude"]).quiet().json();
    assert_eq!(
        (&report["dryRun"], &report["changed"], &report["git"]),
        (&json!(true), &json!(true), &Value::Null)
    );
    assert!(report["changes"].as_array().unwrap().iter().all(|row| row["diff"].is_string()));
    assert_eq!(everything(&world), before);
}

#[test]
fn clients_are_detected() {
    let clients = |world: &World| {
        let path = world.root().join("bin");
        let report = world.marvin(["init", "--dry-run", "--json"]).env("PATH", path).run().exits(0).json();
        report["clients"].clone()
    };
    let world = world();
    assert_eq!(clients(&world), json!(["claude", "codex"]), "none is here");
    fs::create_dir(world.project().join(".codex")).unwrap();
    assert_eq!(clients(&world), json!(["codex"]));
    put(&world.root().join("bin/claude"), "no program");
    assert_eq!(clients(&world), json!(["codex"]), "it cannot be run");
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(world.root().join("bin/claude"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(clients(&world), json!(["claude", "codex"]));
}

#[test]
fn unreadable_files_are_refused_and_nothing_changes() {
    let world = world();
    world.write(SETTINGS, "{\n  // a comment\n  \"a\": 1\n}\n");
    let before = everything(&world);
    for arguments in [&["--client", "both"][..], &["--remove"], &["--client", "claude", "--dry-run"]] {
        let message = init(&world, arguments).run().exits(1).message();
        assert!(
            message.contains("settings.json is not JSON: line 2") && message.contains("\n  hint: "),
            "{message}"
        );
        assert_eq!(everything(&world), before);
    }
    // The same for a symlink that leads out of the project.
    fs::remove_dir_all(world.project().join(".claude")).unwrap();
    fs::create_dir(world.root().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", world.project().join(".claude")).unwrap();
    let message = init(&world, &["--client", "both"]).run().exits(1).message();
    assert!(message.contains("leads out of the project"), "{message}");
    assert_eq!(fs::read_dir(world.root().join("elsewhere")).unwrap().count(), 0);
    assert!(!world.project().join(".marvin").exists());
}

#[test]
fn the_exit_code_tells_that_something_is_left_to_do() {
    let world = world();
    let text = "{\"hooks\": {\"PreToolUse\": {\"command\": \"x\"}}}";
    world.write(SETTINGS, text);
    let ended = init(&world, &["--client", "claude"]).run().exits(4);
    assert!(ended.stderr.contains("`hooks.PreToolUse` is not a list of groups"), "{}", ended.whole());
    assert_eq!(world.read(SETTINGS), text);
    let report = init(&world, &["--client", "claude", "--json"]).run().exits(4).json();
    assert_eq!(states(&report)[SETTINGS], "left");
    assert_eq!(report["problems"].as_array().unwrap().len(), 1);
}

#[test]
fn a_program_outside_the_path_is_named_by_its_path_in_the_local_settings() {
    let world = World::new();
    git(&world.project(), &["init", "-q"]);
    let ended = world.marvin(["init", "--client", "claude"]).env("PATH", "/usr/bin:/bin").run().exits(0);
    assert!(ended.stderr.contains("put this program on the PATH as `marvin`"), "{}", ended.stderr);
    assert!(!world.project().join(SETTINGS).exists());
    let hooks = json_file(&world.project().join(".claude/settings.local.json"));
    let command = hooks["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    assert_eq!(Path::new(command), Path::new(HOOK_PROGRAM).canonicalize().unwrap());
    assert!(world.read(".gitignore").contains(".claude/settings.local.json"));
    world.person(["init", "--remove"]).env("PATH", "/usr/bin:/bin").run().exits(0);
    assert!(!world.project().join(".claude").exists());
}

#[test]
fn a_home_directory_or_a_missing_directory_is_refused() {
    let world = world();
    for directory in [world.home(), PathBuf::from("/"), world.root().join("nothing")] {
        let message = init(&world, &["--working-dir", directory.to_str().unwrap()]).run().exits(2).message();
        assert!(message.contains("hint: "), "{message}");
    }
}

#[test]
fn worktrees_and_directories_of_a_monorepo() {
    let world = world();
    let project = world.project();
    git(&project, &["init", "-q", "-b", "main"]);
    world.write("services/a/main.go", "package main\n");
    done(&world, &["--client", "both"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-qm", "set up"]);
    // A linked worktree has the committed files and needs nothing more.
    git(&project, &["worktree", "add", "-q", "../worktree"]);
    let worktree = world.root().join("worktree");
    assert!(worktree.join(SETTINGS).exists() && worktree.join(".marvin/packs/go/pack.json").exists());
    let ended = init(&world, &["--client", "both"]).directory(&worktree).run().exits(0);
    assert!(ended.text().contains("nothing was changed"), "{}", ended.text());
    assert!(ended.stderr.contains("linked worktree"), "{}", ended.stderr);
    assert_eq!(git(&worktree, &["status", "--porcelain"]), "");
    let output = done(&world, &["--client", "claude"]);
    assert!(output.stderr.contains("1 linked worktrees have their own files"), "{}", output.stderr);
    // There, `--remove` works without a receipt and restores every byte.
    init(&world, &["--remove"]).directory(&worktree).run().exits(0);
    let left = git(&worktree, &["ls-files", "--others", "--exclude-standard"]);
    assert_eq!(left, "");
    assert!(
        !worktree.join(".claude").exists()
            && !worktree.join(".codex").exists()
            && !worktree.join(".gitignore").exists()
    );
    // A directory of the project: its own packs and hooks.
    let service = project.join("services/a");
    let ended = init(&world, &["--client", "both"]).directory(&service).run().exits(0);
    assert!(ended.text().contains("made       services/a/.claude/settings.json"), "{}", ended.text());
    assert!(
        service.join(SETTINGS).exists()
            && !service.join(".marvin").exists()
            && !service.join(".codex").exists()
    );
    done(&world, &["--remove"]);
    assert!(!service.join(".claude").exists() && !project.join(".claude").exists());
}

#[test]
fn a_killed_run_is_completed_by_the_next() {
    let whole = world();
    git(&whole.project(), &["init", "-q"]);
    whole.write(SETTINGS, "{\n\t\"a\": 1\n}\n");
    done(&whole, &["--client", "both"]);
    let relative = |world: &World| -> BTreeMap<PathBuf, Vec<u8>> {
        let project = world.project();
        everything(world)
            .into_iter()
            .map(|(path, text)| (path.strip_prefix(&project).unwrap().to_path_buf(), text))
            .collect()
    };
    let expected = relative(&whole);
    // A file that was being written is left under a temporary name.
    let finished = |mut files: BTreeMap<PathBuf, Vec<u8>>| {
        files.retain(|path, _| !path.file_name().unwrap().to_string_lossy().starts_with(".marvin-"));
        files
    };
    for delay in 0..25 {
        let world = world();
        git(&world.project(), &["init", "-q"]);
        world.write(SETTINGS, "{\n\t\"a\": 1\n}\n");
        let before = relative(&world);
        let running = init(&world, &["--client", "both"]).start();
        std::thread::sleep(Duration::from_millis(delay * 2));
        running.signal(rustix::process::Signal::KILL);
        drop(running);
        // Every file that exists is complete.
        let settings = world.read(SETTINGS);
        assert!(
            settings == "{\n\t\"a\": 1\n}\n"
                || serde_json::from_str::<Value>(&settings).unwrap()["hooks"].is_object()
        );
        done(&world, &["--client", "both"]);
        let now = finished(relative(&world));
        assert_eq!(now.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (path, text) in &now {
            assert!(expected[path] == *text, "{}: {}", path.display(), String::from_utf8_lossy(text));
        }
        done(&world, &["--remove"]);
        let left = relative(&world);
        assert_eq!(finished(left.clone()), before);
        assert!(left.len() > before.len() || !world.project().join(".marvin").exists());
    }
}

#[test]
fn two_runs_at_once_leave_one_complete_project() {
    let world = world();
    git(&world.project(), &["init", "-q"]);
    let running: Vec<_> = (0..4).map(|_| init(&world, &["--client", "both"]).start()).collect();
    for one in running {
        let ended = one.end();
        // The second run may find a file that the first one changed, and says so.
        assert!(matches!(ended.code, Some(0 | 1)), "{}", ended.whole());
        assert!(
            ended.code == Some(0) || ended.stderr.contains("run `marvin init` again"),
            "{}",
            ended.whole()
        );
    }
    done(&world, &["--client", "both"]);
    let hooks = json_file(&world.project().join(SETTINGS));
    assert!(hooks["hooks"].as_object().unwrap().values().all(|groups| groups.as_array().unwrap().len() == 1));
    assert_eq!(world.read(".gitignore").matches("marvin: begin").count(), 1);
}

#[test]
fn skills_name_only_existing_commands_and_flags() {
    let world = world();
    done(&world, &["--client", "claude"]);
    let mut checked = 0;
    for path in files_below(&world.project().join(".claude/skills")) {
        let text = fs::read_to_string(&path).unwrap();
        // Every second piece between backticks is code.
        for code in text.split('`').skip(1).step_by(2).filter(|code| code.starts_with("marvin ")) {
            let words: Vec<&str> = code.split_whitespace().skip(1).collect();
            let named: Vec<&str> = words.iter().take(2).copied().collect();
            let help = world.marvin(&named).args(["--help"]).run().exits(0);
            assert!(help.text().contains(&format!("Usage: marvin {}", named.join(" "))), "{code}");
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                assert!(help.text().contains(&format!("{flag} ")), "{code}: no flag {flag}\n{}", help.text());
            }
            checked += 1;
        }
    }
    assert!(checked >= 6, "only {checked} commands were found");
}

#[test]
fn skills_that_are_trusted_go_to_both_clients_and_back() {
    let world = world();
    git(&world.project(), &["init", "-q"]);
    let text = |name: &str| format!("---\nname: {name}\ndescription: About {name}.\n---\nDo it.\n");
    world.write(".marvin/skills/deploy/SKILL.md", &text("deploy"));
    let script = world.write(".marvin/skills/deploy/scripts/push.sh", "echo pushed\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    world.write(".marvin/skills/unread/SKILL.md", &text("unread"));
    world.write(".agents/skills/planner/SKILL.md", &text("planner"));
    world.person(["skills", "trust", "deploy"]).run().exits(0);
    done(&world, &["--client", "both"]);
    assert!(!world.project().join(".agents/skills/deploy").exists(), "only when it is asked for");
    let before = everything(&world);
    let report = done(&world, &["--client", "both", "--skills", "--json"]).json();
    let made = states(&report);
    for place in [".claude", ".agents"] {
        for file in ["deploy/SKILL.md", "deploy/scripts/push.sh", "debugger/SKILL.md"] {
            assert_eq!(made[&format!("{place}/skills/{file}")], "made", "{place} {file}");
        }
        assert!(!world.project().join(place).join("skills/unread").exists(), "no person answers for it");
        let mode = |file: &str| {
            let path = world.project().join(place).join("skills/deploy").join(file);
            fs::metadata(path).unwrap().permissions().mode() & 0o111
        };
        assert!(mode("scripts/push.sh") != 0 && mode("SKILL.md") == 0, "{place}");
    }
    assert_eq!(made[".agents/skills/planner/SKILL.md"], "kept");
    let again = done(&world, &["--client", "both", "--skills", "--json"]).json();
    assert_eq!(again["changed"], false, "{again:#}");
    // Copies do not take the place of what they are copies of.
    let listed = world.marvin(["list-skills", "--json"]).run().exits(0).json();
    let deploy = listed["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == "deploy").unwrap();
    assert_eq!((&deploy["origin"], &deploy["trusted"]), (&json!("project"), &json!(true)));
    world.write(".claude/skills/deploy/SKILL.md", "mine now\n");
    let report = done(&world, &["--remove", "--json"]).json();
    let gone = states(&report);
    assert_eq!(gone[".claude/skills/deploy/SKILL.md"], "kept");
    assert_eq!(gone[".agents/skills/deploy/scripts/push.sh"], "deleted");
    assert!(!world.project().join(".agents/skills/deploy").exists());
    assert!(world.project().join(".agents/skills/planner/SKILL.md").is_file());
    assert!(before.len() > 10);
}
