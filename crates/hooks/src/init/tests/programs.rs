//! Which program, which client.

use super::*;

#[test]
fn a_program_that_is_not_on_the_path_goes_into_the_persons_own_settings() {
    let project = Project::new();
    let at = Program::at("/opt/my tools/marvin", false);
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
    assert_eq!(state(&plan, places::CLAUDE_LOCAL_SETTINGS), Some(FileOutcome::Deleted));
    assert_eq!(state(&plan, places::CLAUDE_SETTINGS), Some(FileOutcome::Made));
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
    let plan = project.plan_with("", &[Client::Claude], Program::at("/x/marvin", false), false).unwrap();
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
    let plan = project.plan_with("", &[Client::Codex], Program::on_path(false), false).unwrap();
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
    project.plan_with("", &[Client::Codex], Program::on_path(false), true).unwrap().apply().unwrap();
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
