//! Links, places.

use super::*;

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
fn a_symlink_that_leads_out_or_dangles_is_refused() {
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
fn a_file_where_a_directory_should_be_is_named() {
    for name in [".claude", ".codex", ".marvin"] {
        let project = Project::new();
        project.put(name, "x");
        let refusal = project.plan(false).unwrap_err().to_string();
        assert!(refusal.contains(&format!("{name} is not a directory")), "{refusal}");
    }
}

#[test]
fn a_directory_inside_a_project_uses_its_packs_and_has_its_own_hooks() {
    let project = Project::new();
    project.init();
    project.put("packages/a/main.py", "");
    let before = project.everything();
    let plan = project.plan_with("packages/a", &Client::ALL, Program::on_path(false), false).unwrap();
    plan.apply().unwrap();
    assert!(project.get("packages/a/.claude/settings.json").is_some());
    assert_eq!(project.get("packages/a/.marvin/packs/testing/pack.json"), None);
    assert_eq!(
        (project.get("packages/a/.codex/hooks.json"), project.get("packages/a/.gitignore")),
        (None, None)
    );
    assert!(
        plan.notes.iter().any(|note| note.contains("only from the directory that it is started in")),
        "{:?}",
        plan.notes
    );
    // There it can be taken back alone …
    project.plan_with("packages/a", &Client::ALL, Program::on_path(false), true).unwrap().apply().unwrap();
    let mut after = project.everything();
    // … (the Python file brought nothing but itself)
    after.retain(|path, _| before.contains_key(path));
    assert_eq!(after.len(), before.len());
    assert_eq!(project.get("packages/a/.claude/settings.json"), None);
    assert!(project.get(places::CLAUDE_SETTINGS).is_some());
    // … or with everything else.
    project.plan_with("packages/a", &Client::ALL, Program::on_path(false), false).unwrap().apply().unwrap();
    project.remove();
    assert_eq!(project.get("packages/a/.claude/settings.json"), None);
    assert_eq!(project.get(places::RECEIPT), None);
}

#[test]
fn a_directory_inside_a_repository_without_marvin_becomes_a_project_of_its_own() {
    let project = Project::new();
    fs::create_dir_all(project.path("p/sub")).unwrap();
    let plan = project.plan_with("sub", &Client::ALL, Program::on_path(false), false).unwrap();
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
    let plan = project.plan_with(".worktrees/w", &Client::ALL, Program::on_path(false), false).unwrap();
    plan.apply().unwrap();
    assert!(plan.notes.iter().any(|note| note.contains("linked worktree")));
    assert!(project.get(".worktrees/w/.claude/settings.json").is_some());
}

#[test]
fn home_and_root_are_not_projects() {
    let project = Project::new();
    let home = project.path("home");
    for directory in [home.as_path(), Path::new("/")] {
        assert!(Place::find(directory, &home).unwrap_err().to_string().contains("is not a project"));
    }
    assert!(Place::find(&home.join("nothing"), &home).is_err());
    assert_eq!(project.place("").directory, project.path("p"));
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
