//! Plans over real folders.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

const PACKS: [(&str, &str); 4] = [
    ("testing/pack.json", "{\"name\": \"testing\"}\n"),
    ("testing/lessons.jsonl", ""),
    ("rust/pack.json", "{\"name\": \"rust\"}\n"),
    ("_pack.schema.json", "{}\n"),
];

/// A project that vanishes with the test.
struct Project {
    root: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Project { root: tempfile::tempdir().unwrap() };
        fs::create_dir_all(project.path("home")).unwrap();
        fs::create_dir_all(project.path("p/.git")).unwrap();
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path("p").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn get(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path("p").join(name)).ok()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.get(name).unwrap_or_else(|| panic!("there is no {name}"))).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    fn place(&self, folder: &str) -> Place {
        Place::find(&self.path("p").join(folder), &self.path("home")).unwrap()
    }

    fn plan_with(
        &self,
        folder: &str,
        clients: &[Client],
        program: Program,
        remove: bool,
    ) -> Result<Plan, Refusal> {
        plan(&self.place(folder), &Request { clients: clients.to_vec(), program, packs: &PACKS, remove })
    }

    fn plan(&self, remove: bool) -> Result<Plan, Refusal> {
        self.plan_with("", &Client::ALL, Program::OnPath, remove)
    }

    fn init(&self) -> Plan {
        let plan = self.plan(false).unwrap();
        plan.apply().unwrap();
        plan
    }

    fn remove(&self) -> Plan {
        let plan = self.plan(true).unwrap();
        plan.apply().unwrap();
        plan
    }

    /// Every file and folder, with what it holds.
    fn everything(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.path("p")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    found.insert(path.clone(), None);
                    folders.push(path);
                } else {
                    found.insert(path.clone(), fs::read(&path).ok());
                }
            }
        }
        found
    }
}

fn state(plan: &Plan, name: &str) -> Option<State> {
    plan.changes.iter().find(|change| change.name == name).map(|change| change.state)
}

// ---- making and taking back -----------------------------------------------------------------------------------------

#[test]
fn a_bare_project_gets_everything_and_is_bare_again_afterwards() {
    let project = Project::new();
    let before = project.everything();
    let plan = project.init();
    assert!(plan.problems.is_empty(), "{:?}", plan.problems);
    for name in [
        places::CLAUDE_SETTINGS,
        places::CODEX_HOOKS,
        places::IGNORED,
        places::DENYLIST,
        places::RECEIPT,
        ".marvin/packs/testing/pack.json",
        ".marvin/packs/_pack.schema.json",
        ".claude/skills/marvin-teach/SKILL.md",
    ] {
        assert_eq!(state(&plan, name), Some(State::Made), "{name}");
        assert!(project.get(name).is_some(), "{name}");
    }
    assert_eq!(project.get(".marvin/packs/rust/pack.json"), None, "there is no Rust here");
    assert_eq!((project.get("CLAUDE.md"), project.get("AGENTS.md")), (None, None), "none is made");
    project.remove();
    assert_eq!(project.everything(), before);
}

#[test]
fn a_second_run_changes_nothing() {
    let project = Project::new();
    project.put("CLAUDE.md", "# Notes");
    project.put(".gitignore", "target");
    project.init();
    let after = project.everything();
    let plan = project.init();
    assert!(!plan.changes_anything(), "{:#?}", plan.changes);
    assert_eq!(project.everything(), after);
    assert!(plan.changes.iter().all(|change| change.state == State::Unchanged), "{:#?}", plan.changes);
    project.remove();
    assert!(!project.plan(true).unwrap().changes_anything(), "nor does a second removal");
}

#[test]
fn a_plan_writes_nothing() {
    let project = Project::new();
    project.put(".claude/settings.json", "{}");
    let before = project.everything();
    let plan = project.plan(false).unwrap();
    assert!(plan.changes_anything());
    let change = plan.changes.iter().find(|change| change.name == places::CLAUDE_SETTINGS).unwrap();
    assert!(
        change.diff().starts_with("--- .claude/settings.json\n+++ .claude/settings.json\n@@"),
        "{}",
        change.diff()
    );
    assert_eq!(project.everything(), before);
}

#[test]
fn a_run_that_was_cut_off_is_completed() {
    let whole = Project::new();
    whole.put(".claude/settings.json", "{\n  \"model\": \"x\"\n}\n");
    let steps = whole.plan(false).unwrap().changes.len();
    whole.init();
    for done in 0..steps {
        let project = Project::new();
        project.put(".claude/settings.json", "{\n  \"model\": \"x\"\n}\n");
        let before = project.everything();
        let mut plan = project.plan(false).unwrap();
        plan.changes.truncate(done);
        plan.apply().unwrap();
        project.init();
        assert_eq!(project.everything().len(), whole.everything().len(), "after {done} steps");
        assert_eq!(project.text(".claude/settings.json"), whole.text(".claude/settings.json"));
        // The same for taking back.
        let mut plan = project.plan(true).unwrap();
        plan.changes.truncate(done);
        plan.apply().unwrap();
        project.remove();
        assert_eq!(project.everything(), before, "after {done} steps");
    }
}

#[test]
fn a_file_that_changed_since_the_look_is_not_overwritten() {
    let project = Project::new();
    let plan = project.plan(false).unwrap();
    project.put(".claude/settings.json", "{\"mine\": 1}");
    assert!(plan.apply().unwrap_err().to_string().contains(".claude/settings.json changed"));
    assert_eq!(project.text(".claude/settings.json"), "{\"mine\": 1}");
}

// ---- settings -------------------------------------------------------------------------------------------------------

#[test]
fn other_keys_and_other_hooks_stay_where_they_were() {
    let project = Project::new();
    let text = "{\n    \"zebra\": 1,\n    \"hooks\": {\n        \"Stop\": [\n            { \"hooks\": [ { \"type\": \"command\", \"command\": \"./mine.sh\" } ] }\n        ],\n        \"PreToolUse\": []\n    },\n    \"permissions\": { \"deny\": [\"Read(.env)\"] }\n}\n";
    project.put(".claude/settings.json", text);
    project.init();
    let value = project.json(".claude/settings.json");
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["zebra", "hooks", "permissions"]);
    assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], "./mine.sh");
    assert_eq!(value["hooks"]["Stop"][1]["hooks"][0]["command"], "marvin");
    assert_eq!(value["hooks"]["PreToolUse"].as_array().unwrap().len(), 1);
    assert!(project.text(".claude/settings.json").starts_with("{\n    \"zebra\": 1,\n    \"hooks\": {\n        \"Stop\": [\n            { \"hooks\": [ { \"type\": \"command\", \"command\": \"./mine.sh\" } ] },\n            {\"hooks\": [{"));
    project.remove();
    assert_eq!(project.text(".claude/settings.json"), text);
}

#[test]
fn what_changed_since_stays_when_ours_is_taken_out() {
    let project = Project::new();
    project.put(".claude/settings.json", "{\"hooks\": {}, \"a\": 1}");
    project.init();
    let text = project.text(".claude/settings.json").replace("\"a\": 1", "\"a\": 2");
    project.put(".claude/settings.json", &text);
    project.remove();
    assert_eq!(project.json(".claude/settings.json"), json!({"a": 2}));
}

#[test]
fn hooks_in_one_group_with_somebody_elses_are_taken_out_alone() {
    let project = Project::new();
    project.init();
    let mut value = project.json(".claude/settings.json");
    value["hooks"]["Stop"][0]["hooks"]
        .as_array_mut()
        .unwrap()
        .insert(0, json!({"type": "command", "command": "x"}));
    project.put(".claude/settings.json", value.to_string());
    project.remove();
    assert_eq!(
        project.json(".claude/settings.json"),
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}})
    );
}

#[test]
fn a_hook_that_a_person_changed_is_kept_and_named() {
    let project = Project::new();
    project.init();
    let text = project.text(".claude/settings.json").replace("\"timeout\": 600", "\"timeout\": 900");
    project.put(".claude/settings.json", &text);
    let plan = project.init();
    let change = plan.changes.iter().find(|change| change.name == places::CLAUDE_SETTINGS).unwrap();
    assert_eq!((change.state, change.note.contains("Stop")), (State::Unchanged, true), "{}", change.note);
    assert_eq!(project.text(".claude/settings.json"), text);
    project.remove();
    assert_eq!(project.get(".claude/settings.json"), None, "it starts Marvin all the same");
}

#[test]
fn a_hook_that_was_taken_out_by_hand_comes_back() {
    let project = Project::new();
    project.init();
    let mut value = project.json(".claude/settings.json");
    value["hooks"].as_object_mut().unwrap().shift_remove("PreToolUse");
    project.put(".claude/settings.json", format!("{value:#}"));
    let plan = project.init();
    assert_eq!(state(&plan, places::CLAUDE_SETTINGS), Some(State::Merged));
    assert!(project.json(".claude/settings.json")["hooks"]["PreToolUse"].is_array());
}

#[test]
fn an_older_layout_of_ours_is_written_anew_and_still_taken_back() {
    let project = Project::new();
    project.put(".claude/settings.json", "{ }");
    // As a version might have written it that knew only one event.
    let older = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"marvin hook stop --client claude\"}]}]}}";
    let plan = project.plan(false).unwrap();
    plan.apply().unwrap();
    let mut receipt = Receipt::read(&project.get(places::RECEIPT).unwrap());
    let edit = super::text::Edit { at: 1, len: older.len() - 2, was: " ".into() };
    receipt.changed(places::CLAUDE_SETTINGS, older.as_bytes(), vec![edit]);
    project.put(places::RECEIPT, receipt.written().unwrap());
    project.put(places::CLAUDE_SETTINGS, older);
    project.init();
    assert_eq!(project.json(places::CLAUDE_SETTINGS)["hooks"]["Stop"][0]["hooks"][0]["timeout"], 600);
    project.remove();
    assert_eq!(project.text(places::CLAUDE_SETTINGS), "{ }");
}

#[test]
fn comments_and_broken_json_are_refused_with_the_line() {
    for (text, line, reason) in [
        ("{\n  // mine\n  \"a\": 1\n}\n", "line 2", "JSON has no comments"),
        ("{\n  \"a\": 1 /* x */\n}\n", "line 2", "JSON has no comments"),
        ("{\n  \"a\": 1,\n}\n", "line 3", "trailing comma"),
        ("{\n  \"a\": 1\n", "line 2", "ends too early"),
        ("{\"a\": 1} x", "line 1", "trailing characters"),
    ] {
        for file in [places::CLAUDE_SETTINGS, places::CODEX_HOOKS] {
            let project = Project::new();
            project.put(file, text);
            let before = project.everything();
            for remove in [false, true] {
                let refusal = project.plan(remove).unwrap_err().to_string();
                assert!(
                    refusal.contains(file) && refusal.contains(line) && refusal.contains(reason),
                    "{refusal}"
                );
                assert!(refusal.contains("hint: "), "{refusal}");
            }
            assert_eq!(project.everything(), before);
        }
    }
}

#[test]
fn unusual_shapes_are_reported_and_left() {
    for (text, word) in [
        ("[]", "not a JSON object"),
        ("{\"hooks\": []}", "`hooks` is not an object"),
        ("{\"hooks\": {\"Stop\": {}}}", "`hooks.Stop` is not a list"),
        (
            "{\"hooks\": {\"Stop\": [{\"type\": \"command\", \"command\": \"x\"}]}}",
            "`hooks.Stop[0].hooks` is not a list",
        ),
        ("{\"hooks\": {\"Stop\": [\"x\"]}}", "`hooks.Stop[0]` is not an object"),
        ("{\"hooks\": {\"X\": [{\"matcher\": {\"tools\": []}, \"hooks\": []}]}}", "matcher` is not a text"),
        ("{\"hooks\": {\"Stop\": [{\"hooks\": [1]}]}}", "`hooks.Stop[0].hooks[0]` is not an object"),
        ("{\"hooks\": {}, \"hooks\": {}}", "stands twice"),
    ] {
        let project = Project::new();
        project.put(places::CLAUDE_SETTINGS, text);
        let plan = project.init();
        assert_eq!(state(&plan, places::CLAUDE_SETTINGS), Some(State::Left), "{text}");
        assert!(plan.problems[0].contains(word), "{:?}", plan.problems);
        assert_eq!(project.text(places::CLAUDE_SETTINGS), text);
        assert!(project.get(places::CODEX_HOOKS).is_some(), "the rest is done");
        assert_eq!(state(&project.remove(), places::CLAUDE_SETTINGS), Some(State::Left));
        assert_eq!(project.text(places::CLAUDE_SETTINGS), text);
    }
}

#[test]
fn files_that_are_not_text_or_huge_are_refused() {
    let project = Project::new();
    project.put(places::CLAUDE_SETTINGS, b"{\"a\": \"\xff\"}");
    assert!(project.plan(false).unwrap_err().to_string().contains("not UTF-8"));
    project.put(places::CLAUDE_SETTINGS, vec![b' '; 3 * 1024 * 1024]);
    assert!(project.plan(false).unwrap_err().to_string().contains("larger than"));
    fs::remove_file(project.path("p/.claude/settings.json")).unwrap();
    fs::create_dir(project.path("p/.claude/settings.json")).unwrap();
    assert!(project.plan(false).unwrap_err().to_string().contains("cannot be read"));
}

#[test]
fn empty_files_a_mark_of_byte_order_and_line_ends_survive() {
    for text in [
        "",
        "\n",
        "  ",
        "{}",
        "{ }",
        "{\n}",
        "{\"hooks\":{}}",
        "{\"hooks\": { \"Stop\": [ ] } }\n",
        "\u{feff}{\"a\": 1}",
        "{\r\n\t\"a\": [],\r\n\t\"hooks\": {\r\n\t}\r\n}\r\n",
        "{\"a\":{\"hooks\":1}}",
    ] {
        let project = Project::new();
        project.put(places::CLAUDE_SETTINGS, text);
        project.init();
        let written = project.text(places::CLAUDE_SETTINGS);
        let value: Value = serde_json::from_str(written.trim_start_matches('\u{feff}')).unwrap();
        assert_eq!(value["hooks"].as_object().unwrap().len(), Client::Claude.events().len(), "{text:?}");
        assert_eq!(
            written.matches('\n').count() == written.matches("\r\n").count(),
            text.contains("\r\n") || !written.contains('\n')
        );
        project.remove();
        assert_eq!(project.text(places::CLAUDE_SETTINGS), text);
    }
}

#[test]
fn hooks_switched_off_are_pointed_out() {
    let project = Project::new();
    project.put(places::CLAUDE_SETTINGS, "{\"disableAllHooks\": true}");
    assert!(project.init().notes.iter().any(|note| note.contains("disableAllHooks")));
}

// ---- which program, which client ------------------------------------------------------------------------------------

#[test]
fn a_program_that_is_not_on_the_path_goes_into_the_persons_own_settings() {
    let project = Project::new();
    let at = Program::At("/opt/my tools/marvin".into());
    let plan = project.plan_with("", &Client::ALL, at.clone(), false).unwrap();
    plan.apply().unwrap();
    assert_eq!(project.get(places::CLAUDE_SETTINGS), None);
    let hook = &project.json(places::CLAUDE_LOCAL_SETTINGS)["hooks"]["Stop"][0]["hooks"][0];
    assert_eq!(hook["command"], "/opt/my tools/marvin");
    assert!(project.text(".gitignore").contains(".claude/settings.local.json\n"));
    let codex = &project.json(places::CODEX_HOOKS)["hooks"]["Stop"][0]["hooks"][0];
    assert_eq!(codex["command"], "'/opt/my tools/marvin' hook stop --client codex");
    assert!(!project.plan_with("", &Client::ALL, at, false).unwrap().changes_anything());
    // When it has come onto the PATH, the hooks move.
    let plan = project.init();
    assert_eq!(state(&plan, places::CLAUDE_LOCAL_SETTINGS), Some(State::Deleted));
    assert_eq!(state(&plan, places::CLAUDE_SETTINGS), Some(State::Made));
    assert!(!project.text(".gitignore").contains("settings.local.json"));
    assert_eq!(
        project.json(places::CODEX_HOOKS)["hooks"]["Stop"][0]["hooks"][0]["command"],
        "marvin hook stop --client codex"
    );
    assert_eq!(project.json(places::CODEX_HOOKS)["hooks"]["Stop"].as_array().unwrap().len(), 1);
}

#[test]
fn shared_hooks_without_marvin_on_the_path_are_a_problem_and_not_doubled() {
    let project = Project::new();
    project.init();
    let plan = project.plan_with("", &[Client::Claude], Program::At("/x/marvin".into()), false).unwrap();
    assert!(!plan.changes_anything());
    assert!(
        plan.problems[0].contains("not on your PATH") && plan.problems[0].contains("hint: "),
        "{:?}",
        plan.problems
    );
}

#[test]
fn one_client_can_be_set_up_and_taken_back_alone() {
    let project = Project::new();
    project.put("AGENTS.md", "# Agents\n");
    let plan = project.plan_with("", &[Client::Codex], Program::OnPath, false).unwrap();
    plan.apply().unwrap();
    assert_eq!(
        (project.get(places::CLAUDE_SETTINGS), project.get(".claude/skills/marvin-teach/SKILL.md")),
        (None, None)
    );
    assert!(
        plan.notes.iter().any(|note| note.contains("trusted") && note.contains("hint: ")),
        "{:?}",
        plan.notes
    );
    assert!(project.text("AGENTS.md").starts_with("# Agents\n\n<!-- marvin: begin"));
    project.init();
    project.plan_with("", &[Client::Codex], Program::OnPath, true).unwrap().apply().unwrap();
    assert_eq!(project.get(places::CODEX_HOOKS), None);
    assert_eq!(project.text("AGENTS.md"), "# Agents\n");
    assert!(project.get(places::CLAUDE_SETTINGS).is_some() && project.get(places::DENYLIST).is_some());
    assert!(project.text(".gitignore").contains("# marvin: begin"));
}

#[test]
fn codex_events_are_those_that_codex_knows() {
    let project = Project::new();
    project.init();
    let hooks = project.json(places::CODEX_HOOKS);
    assert_eq!(hooks["hooks"].as_object().unwrap().len(), 12);
    assert_eq!(hooks["hooks"]["PreToolUse"][0]["matcher"], "*");
    assert_eq!(hooks["hooks"].get("PreModelRequest"), None);
}

// ---- packs, rules, skills, lines ------------------------------------------------------------------------------------

#[test]
fn packs_and_rules_that_are_there_are_never_overwritten_and_stay() {
    let project = Project::new();
    project.put(".marvin/packs/testing/pack.json", "mine");
    project.put(places::DENYLIST, "{\"rules\": []}");
    project.put(".marvin/packs/own/pack.json", "own");
    let plan = project.init();
    assert_eq!(state(&plan, ".marvin/packs/testing/pack.json"), Some(State::Kept));
    assert_eq!(state(&plan, places::DENYLIST), Some(State::Kept));
    let plan = project.remove();
    for name in [".marvin/packs/testing", ".marvin/packs/own", places::DENYLIST] {
        assert_eq!(state(&plan, name), Some(State::Kept), "{name}");
    }
    assert_eq!(
        (project.text(".marvin/packs/testing/pack.json"), project.text(".marvin/packs/own/pack.json")),
        ("mine".into(), "own".into())
    );
    assert_eq!(project.get(".marvin/packs/_pack.schema.json"), None);
}

#[test]
fn a_pack_with_a_lesson_in_it_stays_whole() {
    let project = Project::new();
    project.init();
    project.put(".marvin/packs/testing/lessons.jsonl", "{\"title\": \"x\"}\n");
    project.put(".marvin/runs/run_20260101_000000_abcd/run.json", "{}");
    let plan = project.remove();
    assert_eq!(state(&plan, ".marvin/packs/testing"), Some(State::Kept));
    assert!(project.get(".marvin/packs/testing/pack.json").is_some());
    assert!(project.get(".marvin/runs/run_20260101_000000_abcd/run.json").is_some(), "the record stays");
    assert_eq!(project.get(places::RECEIPT), None);
}

#[test]
fn packs_of_a_language_come_where_it_is_used() {
    let project = Project::new();
    project.put("crates/a/Cargo.toml", "");
    project.init();
    assert!(project.get(".marvin/packs/rust/pack.json").is_some());
    assert!(project.text(places::DENYLIST).contains("rust-publish"));
}

#[test]
fn no_rule_that_allows_is_written() {
    let project = Project::new();
    project.put("package.json", "{}");
    project.init();
    let names: Vec<PathBuf> = project.everything().into_keys().collect();
    assert!(
        !names.iter().any(|name| name.ends_with("allowlist.json") || name.ends_with("learned.jsonl")),
        "{names:?}"
    );
    assert!(
        project.json(places::DENYLIST)["rules"]
            .as_array()
            .unwrap()
            .iter()
            .all(|rule| rule["reason"].is_string())
    );
}

#[test]
fn skills_follow_the_open_format_and_changed_ones_stay() {
    for (name, text) in words::SKILLS {
        let mut parts = text.split("---\n");
        assert_eq!(parts.next(), Some(""), "{name}");
        let head = parts.next().unwrap();
        assert!(head.contains(&format!("name: {name}\n")), "{name}");
        let description = head.lines().find_map(|line| line.strip_prefix("description: ")).unwrap();
        assert!((40..1024).contains(&description.len()), "{name}");
        assert!(text.contains("marvin lessons ") && text.lines().all(|line| line.len() < 1024), "{name}");
    }
    let project = Project::new();
    project.put(".claude/skills/marvin-teach/SKILL.md", "mine");
    let plan = project.init();
    assert_eq!(state(&plan, ".claude/skills/marvin-teach/SKILL.md"), Some(State::Kept));
    project.put(".claude/skills/marvin-health/SKILL.md", "changed");
    let plan = project.remove();
    assert_eq!(state(&plan, ".claude/skills/marvin-health/SKILL.md"), Some(State::Kept));
    assert_eq!(state(&plan, ".claude/skills/marvin-reflect/SKILL.md"), Some(State::Deleted));
    assert_eq!(project.text(".claude/skills/marvin-teach/SKILL.md"), "mine");
}

#[test]
fn a_skill_of_an_older_version_that_nobody_changed_is_renewed() {
    let project = Project::new();
    project.init();
    let name = ".claude/skills/marvin-teach/SKILL.md";
    let mut receipt = Receipt::read(&project.get(places::RECEIPT).unwrap());
    receipt.made(name, b"older");
    project.put(places::RECEIPT, receipt.written().unwrap());
    project.put(name, "older");
    assert_eq!(state(&project.init(), name), Some(State::Merged));
    assert_eq!(project.text(name), words::SKILLS[3].1);
}

#[test]
fn ignore_lines_stand_in_a_block_and_go_again() {
    for text in ["", "target\n", "target", "a\r\nb\r\n", "\n\n"] {
        let project = Project::new();
        project.put(".gitignore", text);
        project.init();
        let written = project.text(".gitignore");
        for line in
            [".marvin/runs/", ".marvin/init.json", ".marvin/security/decisions*.jsonl", ".marvin/memory/"]
        {
            assert!(written.lines().any(|written| written == line), "{line}: {written}");
        }
        assert!(!written.contains("packs"));
        project.remove();
        assert_eq!(project.text(".gitignore"), text, "{text:?}");
    }
    let project = Project::new();
    project.put(".gitignore", "a\n.marvin/\n");
    assert!(project.init().notes.iter().any(|note| note.contains("line 2 of .gitignore")));
}

#[test]
fn without_git_nothing_is_ignored_and_it_is_said() {
    let project = Project::new();
    fs::remove_dir(project.path("p/.git")).unwrap();
    let plan = project.init();
    assert_eq!(project.get(".gitignore"), None);
    assert!(plan.notes.iter().any(|note| note.contains("not a git repository")), "{:?}", plan.notes);
    assert!(project.get(places::CLAUDE_SETTINGS).is_some());
}

#[test]
fn a_section_is_written_once_also_through_a_link() {
    let project = Project::new();
    project.put("AGENTS.md", "# A");
    std::os::unix::fs::symlink("AGENTS.md", project.path("p/CLAUDE.md")).unwrap();
    project.init();
    assert_eq!(project.text("AGENTS.md").matches("## Marvin").count(), 1);
    assert!(project.path("p/CLAUDE.md").is_symlink());
    assert!(!project.plan(false).unwrap().changes_anything());
    project.remove();
    assert_eq!(project.text("AGENTS.md"), "# A");
}

#[test]
fn a_mark_without_partner_is_a_problem_of_that_file_only() {
    let project = Project::new();
    project.put("CLAUDE.md", "<!-- marvin: begin -->\n");
    let plan = project.init();
    assert_eq!(state(&plan, "CLAUDE.md"), Some(State::Left));
    assert!(plan.problems[0].contains("without its partner"));
    assert_eq!(project.text("CLAUDE.md"), "<!-- marvin: begin -->\n");
}

// ---- links, places ---------------------------------------------------------------------------------------------------

#[test]
fn a_link_that_stays_inside_is_written_through() {
    let project = Project::new();
    project.put("config/settings.json", "{\"a\": 1}");
    fs::create_dir(project.path("p/.claude")).unwrap();
    std::os::unix::fs::symlink("../config/settings.json", project.path("p/.claude/settings.json")).unwrap();
    project.init();
    assert!(project.path("p/.claude/settings.json").is_symlink());
    assert!(project.text("config/settings.json").contains("pre-tool-use"));
    project.remove();
    assert_eq!(project.text("config/settings.json"), "{\"a\": 1}");
}

#[test]
fn a_link_that_leads_out_or_nowhere_is_refused() {
    for (target, inside) in [("../outside", false), ("nowhere", true)] {
        let project = Project::new();
        if !inside {
            fs::create_dir(project.path("outside")).unwrap();
        }
        std::os::unix::fs::symlink(target, project.path("p/.claude")).unwrap();
        let before = project.everything();
        let refusal = project.plan(false).unwrap_err().to_string();
        assert!(refusal.contains(".claude is a link that leads") && refusal.contains("hint: "), "{refusal}");
        assert_eq!(project.everything(), before);
    }
    let project = Project::new();
    fs::create_dir(project.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(project.path("elsewhere"), project.path("p/.marvin")).unwrap();
    assert!(project.plan(false).unwrap_err().to_string().contains(".marvin is a link"));
}

#[test]
fn a_file_where_a_folder_should_be_is_named() {
    for name in [".claude", ".codex", ".marvin"] {
        let project = Project::new();
        project.put(name, "x");
        let refusal = project.plan(false).unwrap_err().to_string();
        assert!(refusal.contains(&format!("{name} is not a folder")), "{refusal}");
    }
}

#[test]
fn a_folder_inside_a_project_uses_its_packs_and_has_its_own_hooks() {
    let project = Project::new();
    project.init();
    project.put("packages/a/main.py", "");
    let before = project.everything();
    let plan = project.plan_with("packages/a", &Client::ALL, Program::OnPath, false).unwrap();
    plan.apply().unwrap();
    assert!(project.get("packages/a/.claude/settings.json").is_some());
    assert_eq!(project.get("packages/a/.marvin/packs/testing/pack.json"), None);
    assert_eq!(
        (project.get("packages/a/.codex/hooks.json"), project.get("packages/a/.gitignore")),
        (None, None)
    );
    assert!(
        plan.notes.iter().any(|note| note.contains("only from the folder that it is started in")),
        "{:?}",
        plan.notes
    );
    // There it can be taken back alone …
    project.plan_with("packages/a", &Client::ALL, Program::OnPath, true).unwrap().apply().unwrap();
    let mut after = project.everything();
    // … (the Python file brought nothing but itself)
    after.retain(|path, _| before.contains_key(path));
    assert_eq!(after.len(), before.len());
    assert_eq!(project.get("packages/a/.claude/settings.json"), None);
    assert!(project.get(places::CLAUDE_SETTINGS).is_some());
    // … or with everything else.
    project.plan_with("packages/a", &Client::ALL, Program::OnPath, false).unwrap().apply().unwrap();
    project.remove();
    assert_eq!(project.get("packages/a/.claude/settings.json"), None);
    assert_eq!(project.get(places::RECEIPT), None);
}

#[test]
fn a_folder_inside_a_repository_without_marvin_becomes_a_project_of_its_own() {
    let project = Project::new();
    fs::create_dir_all(project.path("p/sub")).unwrap();
    let plan = project.plan_with("sub", &Client::ALL, Program::OnPath, false).unwrap();
    plan.apply().unwrap();
    assert!(
        project.get("sub/.marvin/packs/testing/pack.json").is_some()
            && project.get(places::RECEIPT).is_none()
    );
    assert!(plan.notes.iter().any(|note| note.contains("project of its own inside")), "{:?}", plan.notes);
}

#[test]
fn a_linked_worktree_inside_the_main_checkout_is_on_its_own() {
    let project = Project::new();
    project.put(".git/worktrees/w/gitdir", "x");
    let plan = project.init();
    assert!(plan.notes.iter().any(|note| note.contains("1 linked worktrees")), "{:?}", plan.notes);
    project.put(".worktrees/w/.git", "gitdir: x");
    let place = project.place(".worktrees/w");
    assert_eq!((place.top.clone(), place.linked), (project.path("p/.worktrees/w"), true));
    let plan = project.plan_with(".worktrees/w", &Client::ALL, Program::OnPath, false).unwrap();
    plan.apply().unwrap();
    assert!(plan.notes.iter().any(|note| note.contains("linked worktree")));
    assert!(project.get(".worktrees/w/.claude/settings.json").is_some());
}

#[test]
fn home_and_root_are_no_projects() {
    let project = Project::new();
    let home = project.path("home");
    for folder in [home.as_path(), Path::new("/")] {
        assert!(Place::find(folder, &home).unwrap_err().to_string().contains("is no project"));
    }
    assert!(Place::find(&home.join("nothing"), &home).is_err());
    assert_eq!(project.place("").folder, project.path("p"));
}

#[test]
fn a_forged_receipt_brings_nothing_back() {
    let project = Project::new();
    project.put(places::CLAUDE_SETTINGS, "{\"permissions\": {\"deny\": [\"Read(.env)\"]}}");
    project.init();
    let now = project.text(places::CLAUDE_SETTINGS);
    let mut receipt = Receipt::read(&project.get(places::RECEIPT).unwrap());
    for edits in [
        vec![super::text::Edit { at: 0, len: now.len(), was: "{\"hooks\": {}}".into() }],
        vec![super::text::Edit { at: 1, len: now.len() - 2, was: " ".into() }],
        vec![super::text::Edit { at: usize::MAX, len: 9, was: String::new() }],
    ] {
        receipt.changed(places::CLAUDE_SETTINGS, now.as_bytes(), edits);
        receipt.made("../outside/.claude/settings.json", b"x");
        project.put(places::RECEIPT, receipt.written().unwrap());
        let plan = project.plan(true).unwrap();
        let change = plan.changes.iter().find(|change| change.name == places::CLAUDE_SETTINGS).unwrap();
        let after: Value = serde_json::from_slice(change.after.as_ref().unwrap()).unwrap();
        assert_eq!(after, json!({"permissions": {"deny": ["Read(.env)"]}}));
    }
    for text in ["", "x", "[]", "{\"files\": 1}", "\u{0}"] {
        project.put(places::RECEIPT, text);
        project.plan(true).unwrap();
        project.plan(false).unwrap();
    }
}

// ---- what holds for every settings file ------------------------------------------------------------------------------

fn plain() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~äß€\\n\"\\\\]{0,12}".prop_map(Value::from)
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    plain().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z\"\\\\ ]{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn groups() -> impl Strategy<Value = Value> {
    let handler = ("[a-z /.]{1,12}", prop::option::of(1..100u32)).prop_map(|(command, timeout)| {
        let mut handler = json!({"type": "command", "command": command});
        if let Some(timeout) = timeout {
            handler["timeout"] = timeout.into();
        }
        handler
    });
    let group = (prop::option::of("[A-Za-z|*]{0,8}"), prop::collection::vec(handler, 0..3)).prop_map(
        |(matcher, hooks)| {
            let mut group = json!({});
            if let Some(matcher) = matcher {
                group["matcher"] = matcher.into();
            }
            group["hooks"] = hooks.into();
            group
        },
    );
    prop::collection::vec(group, 0..3).prop_map(Value::from)
}

fn a_settings_file() -> impl Strategy<Value = String> {
    let events = prop::sample::select(
        ["Stop", "PreToolUse", "PostToolUse", "FileChanged", "SessionStart", "Unknown"].to_vec(),
    );
    let hooks = prop::option::of(prop::collection::btree_map(events, groups(), 0..4));
    let keys = prop::collection::btree_map("[a-g]{1,3}", any_value(), 0..4);
    (keys, hooks, any::<bool>(), 0..5usize, any::<bool>()).prop_map(|(keys, hooks, first, layout, end)| {
        let mut map = serde_json::Map::new();
        let hooks =
            hooks.map(|hooks| hooks.into_iter().map(|(event, groups)| (event.to_string(), groups)).collect());
        let hooks: Option<serde_json::Map<String, Value>> = hooks;
        if let (Some(hooks), true) = (&hooks, first) {
            map.insert("hooks".into(), Value::Object(hooks.clone()));
        }
        map.extend(keys);
        if let (Some(hooks), false) = (hooks, first) {
            map.insert("hooks".into(), Value::Object(hooks));
        }
        let value = Value::Object(map);
        let indented = |indent: &[u8]| {
            let mut bytes = Vec::new();
            let formatter = serde_json::ser::PrettyFormatter::with_indent(indent);
            serde::Serialize::serialize(
                &value,
                &mut serde_json::Serializer::with_formatter(&mut bytes, formatter),
            )
            .unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let text = match layout {
            0 => value.to_string(),
            1 => indented(b"  "),
            2 => indented(b"\t"),
            3 => indented(b"    ").replace('\n', "\r\n"),
            _ => format!(" {} ", indented(b" ")),
        };
        if end { format!("{text}\n") } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn taking_back_gives_the_very_bytes(text in a_settings_file(), program in any::<bool>()) {
        let program = if program { Program::OnPath } else { Program::At("/a b/marvin".into()) };
        for client in Client::ALL {
            let merged = settings::merge(&text, client, &program).unwrap();
            let before: Value = serde_json::from_str(&text).unwrap();
            let after: Value = serde_json::from_str(&merged.text).unwrap();
            // Nothing of theirs changed, everything of ours is there, and only once.
            for (key, value) in before.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks") {
                prop_assert_eq!(&after[key], value);
            }
            for event in client.events() {
                let theirs = before["hooks"][event].as_array().cloned().unwrap_or_default();
                let now = after["hooks"][event].as_array().unwrap();
                prop_assert_eq!(now.get(..theirs.len()).unwrap(), theirs.as_slice());
                prop_assert_eq!(now.len(), theirs.len() + 1);
            }
            // A second time changes nothing; undone, it is the very text; taken out without a receipt, it says the same.
            let again = settings::merge(&merged.text, client, &program).unwrap();
            prop_assert_eq!(&again.text, &merged.text);
            prop_assert!(again.edits.is_empty() && again.changed.is_empty());
            prop_assert_eq!(super::text::undo(merged.text.as_bytes(), &merged.edits).unwrap(), text.as_bytes());
            let out = settings::take_out(&merged.text, client).unwrap();
            prop_assert!(settings::same(&out, &text), "{}\n{}", out, text);
        }
    }

    #[test]
    fn no_text_brings_it_down(text in "[\\[\\]{}\",:/\\\\ a\\n0-9hoks]{0,60}") {
        for client in Client::ALL {
            settings::merge(&text, client, &Program::OnPath).ok();
            settings::take_out(&text, client).ok();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_project_taken_back_is_the_project_that_was(text in a_settings_file(), ignored in "[a-z/\\n#]{0,20}", notes in "[A-Za-z#\\n ]{0,30}") {
        let project = Project::new();
        project.put(places::CLAUDE_SETTINGS, &text);
        project.put(places::CODEX_HOOKS, &text);
        project.put(".gitignore", &ignored);
        project.put("CLAUDE.md", &notes);
        let before = project.everything();
        project.init();
        let after = project.everything();
        prop_assert!(!project.init().changes_anything());
        prop_assert_eq!(project.everything(), after);
        project.remove();
        prop_assert_eq!(project.everything(), before);
    }
}
