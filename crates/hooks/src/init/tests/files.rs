//! Packs, rules, skills, lines.

use super::*;

#[test]
fn packs_and_rules_that_are_there_are_never_overwritten_and_stay() {
    let project = Project::new();
    project.put(".marvin/packs/testing/pack.json", "mine");
    project.put(places::DENYLIST, "{\"rules\": []}");
    project.put(".marvin/packs/own/pack.json", "own");
    let plan = project.init();
    assert_eq!(state(&plan, ".marvin/packs/testing/pack.json"), Some(FileOutcome::Kept));
    assert_eq!(state(&plan, places::DENYLIST), Some(FileOutcome::Kept));
    let plan = project.remove();
    for name in [".marvin/packs/testing", ".marvin/packs/own", places::DENYLIST] {
        assert_eq!(state(&plan, name), Some(FileOutcome::Kept), "{name}");
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
    assert_eq!(state(&plan, ".marvin/packs/testing"), Some(FileOutcome::Kept));
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
    for (name, text) in templates::SKILLS {
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
    assert_eq!(state(&plan, ".claude/skills/marvin-teach/SKILL.md"), Some(FileOutcome::Kept));
    project.put(".claude/skills/marvin-health/SKILL.md", "changed");
    let plan = project.remove();
    assert_eq!(state(&plan, ".claude/skills/marvin-health/SKILL.md"), Some(FileOutcome::Kept));
    assert_eq!(state(&plan, ".claude/skills/marvin-reflect/SKILL.md"), Some(FileOutcome::Deleted));
    assert_eq!(project.text(".claude/skills/marvin-teach/SKILL.md"), "mine");
}

#[test]
fn an_unchanged_skill_of_an_older_version_is_renewed() {
    let project = Project::new();
    project.init();
    let name = ".claude/skills/marvin-teach/SKILL.md";
    let mut receipt = Receipt::read(&project.get(places::RECEIPT).unwrap());
    receipt.made(name, b"older");
    project.put(places::RECEIPT, receipt.written().unwrap());
    project.put(name, "older");
    assert_eq!(state(&project.init(), name), Some(FileOutcome::Merged));
    assert_eq!(project.text(name), templates::SKILLS[3].1);
}

#[test]
fn ignore_lines_stand_in_a_block_and_go_again() {
    for text in ["", "target\n", "target", "a\r\nb\r\n", "\n\n"] {
        let project = Project::new();
        project.put(".gitignore", text);
        project.init();
        let written = project.text(".gitignore");
        for line in
            [".marvin/runs", ".marvin/init.json", ".marvin/security/decisions*.jsonl", ".marvin/memory/"]
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
fn without_git_no_gitignore_is_written_and_a_notice_says_so() {
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
    assert_eq!(state(&plan, "CLAUDE.md"), Some(FileOutcome::Left));
    assert!(plan.problems[0].contains("without its partner"));
    assert_eq!(project.text("CLAUDE.md"), "<!-- marvin: begin -->\n");
}
