//! Making and taking back.

use super::*;

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
        assert_eq!(state(&plan, name), Some(FileOutcome::Made), "{name}");
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
    assert!(plan.changes.iter().all(|change| change.state == FileOutcome::Unchanged), "{:#?}", plan.changes);
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
