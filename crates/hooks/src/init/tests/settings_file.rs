//! Settings.

use super::*;

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
fn later_changes_stay_when_hooks_are_removed() {
    let project = Project::new();
    project.put(".claude/settings.json", "{\"hooks\": {}, \"a\": 1}");
    project.init();
    let text = project.text(".claude/settings.json").replace("\"a\": 1", "\"a\": 2");
    project.put(".claude/settings.json", &text);
    project.remove();
    assert_eq!(project.json(".claude/settings.json"), json!({"a": 2}));
}

#[test]
fn hooks_in_a_group_with_other_hooks_are_removed_alone() {
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
fn a_hook_changed_by_the_user_is_kept_and_reported() {
    let project = Project::new();
    project.init();
    let text = project.text(".claude/settings.json").replace("\"timeout\": 600", "\"timeout\": 900");
    project.put(".claude/settings.json", &text);
    let plan = project.init();
    let change = plan.changes.iter().find(|change| change.name == places::CLAUDE_SETTINGS).unwrap();
    assert_eq!(
        (change.state, change.note.contains("Stop")),
        (FileOutcome::Unchanged, true),
        "{}",
        change.note
    );
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
    assert_eq!(state(&plan, places::CLAUDE_SETTINGS), Some(FileOutcome::Merged));
    assert!(project.json(".claude/settings.json")["hooks"]["PreToolUse"].is_array());
}

#[test]
fn an_older_layout_is_updated_and_can_still_be_removed() {
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
        assert_eq!(state(&plan, places::CLAUDE_SETTINGS), Some(FileOutcome::Left), "{text}");
        assert!(plan.problems[0].contains(word), "{:?}", plan.problems);
        assert_eq!(project.text(places::CLAUDE_SETTINGS), text);
        assert!(project.get(places::CODEX_HOOKS).is_some(), "the rest is done");
        assert_eq!(state(&project.remove(), places::CLAUDE_SETTINGS), Some(FileOutcome::Left));
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
