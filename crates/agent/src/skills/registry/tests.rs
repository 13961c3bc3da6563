use super::*;
use crate::skills::append;
use marvin_base::environment::Environment;
use std::fs;

struct Place {
    directory: tempfile::TempDir,
    layout: Layout,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("project")).unwrap();
        let environment = Environment::from_iter([("HOME", root.display().to_string())]);
        let layout = Layout::new(&environment, Some(&root.join("project")));
        Place { directory, layout }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.directory.path().canonicalize().unwrap().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn skill(&self, below: &str, name: &str, body: &str) {
        let text = format!("---\nname: {name}\ndescription: about {name}\n---\n{body}\n");
        self.write(&format!("{below}/{name}/SKILL.md"), &text);
    }

    fn registry(&self) -> Arc<SkillRegistry> {
        SkillRegistry::new(&self.layout)
    }

    fn trust(&self, name: &str, directory: &Path) {
        let event = SkillEvent::Trusted { hash: files::hash(directory).unwrap(), by: "ann".into() };
        append(&self.layout, &Arc::new(Redactor::patterns_only()), name, Some(directory), event).unwrap();
    }
}

const PROJECT: &str = "project/.marvin/skills";

fn names(skills: &Skills) -> Vec<&str> {
    skills.skills.iter().map(|known| known.skill.name.as_str()).collect()
}

#[test]
fn built_in_skills_are_usable_and_need_tools_that_exist() {
    let found = Place::new().registry().refresh();
    assert_eq!(
        names(&found),
        ["chat", "debugger", "implementer", "planner", "reviewer", "skill-builder", "test-triager"]
    );
    for known in &found.skills {
        let facts = &known.skill.facts;
        check_tools(&facts.tools).unwrap();
        assert!(known.is_trusted && !facts.purpose.is_empty() && !facts.contract.is_empty());
        assert!(known.skill.description.chars().count() < 200, "{}", known.skill.name);
    }
}

#[test]
fn a_trusted_skill_is_not_hidden_by_one_of_the_repository() {
    let place = Place::new();
    place.skill(PROJECT, "deploy", "theirs");
    place.skill(".config/marvin/skills", "deploy", "mine");
    place.skill("project/.agents/skills", "planner", "theirs");
    place.skill("project/.claude/skills", "only", "theirs");
    let found = place.registry().refresh();
    let deploy = found.find("deploy").unwrap();
    assert_eq!((&*deploy.skill.text, deploy.is_trusted), ("mine", true));
    assert_eq!(found.find("planner").unwrap().skill.origin, Origin::BuiltIn);
    assert!(!found.find("only").unwrap().is_trusted);
    let project = place.layout.project().unwrap().join(".marvin/skills/deploy");
    place.trust("deploy", &project);
    assert_eq!(&*place.registry().refresh().find("deploy").unwrap().skill.text, "theirs");
}

#[test]
fn an_edit_counts_at_once_and_a_broken_one_keeps_the_last_good_version() {
    let place = Place::new();
    place.skill(PROJECT, "a", "one");
    let registry = place.registry();
    assert_eq!(&*registry.refresh().find("a").unwrap().skill.text, "one");
    place.skill(PROJECT, "a", "two");
    assert_eq!(&*registry.refresh().find("a").unwrap().skill.text, "two");
    place.write(&format!("{PROJECT}/a/SKILL.md"), "---\nname: [\n---\nthree");
    let found = registry.refresh();
    assert_eq!(&*found.find("a").unwrap().skill.text, "two");
    assert!(found.refused[0].last_good && found.refused[0].hint.is_some());
    let news = registry.news(&found);
    assert!(news.len() == 1 && news[0].contains("last good version stays in use"), "{news:?}");
    assert!(registry.news(&registry.refresh()).is_empty(), "told once");
    fs::remove_dir_all(place.layout.project_skills().unwrap().join("a")).unwrap();
    let found = registry.refresh();
    assert!(found.find("a").is_none() && found.refused.is_empty());
    assert!(place.registry().refresh().find("a").is_none());
}

#[test]
fn a_change_of_any_file_after_trust_is_refused() {
    let place = Place::new();
    place.skill(PROJECT, "a", "one");
    place.write(&format!("{PROJECT}/a/scripts/x.sh"), "echo 1");
    let directory = place.layout.project_skills().unwrap().join("a");
    place.trust("a", &directory);
    let registry = place.registry();
    assert!(registry.refresh().find("a").unwrap().is_trusted);
    place.write(&format!("{PROJECT}/a/scripts/x.sh"), "echo 2");
    let found = registry.refresh();
    assert!(found.find("a").is_none() && found.refused[0].reason.contains("changed since"), "{found:?}");
    place.trust("a", &directory);
    assert!(registry.refresh().find("a").unwrap().is_trusted);
    place.write(&format!("{PROJECT}/a/new.txt"), "");
    assert!(registry.refresh().find("a").is_none());
}

#[test]
fn the_name_of_a_directory_is_one_line() {
    let place = Place::new();
    let name = "x\nREFUSED y (yours): z\u{1b}";
    place.write(&format!("{PROJECT}/{name}/SKILL.md"), "---\nname: x\ndescription: x\n---\ny\n");
    let found = place.registry().refresh();
    assert_eq!(found.refused[0].name, "x\\nREFUSED y (yours): z\\u{1b}");
    assert!(!found.refused[0].reason.contains('\n'), "{}", found.refused[0].reason);
}

#[test]
fn a_broken_record_trusts_nothing() {
    let place = Place::new();
    place.skill(PROJECT, "a", "one");
    place.trust("a", &place.layout.project_skills().unwrap().join("a"));
    let record = place.layout.skill_record();
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace("ann", "eve")).unwrap();
    let found = place.registry().refresh();
    assert!(found.problem.is_some() && !found.find("a").unwrap().is_trusted, "{found:?}");
}

#[test]
fn links_out_of_the_project_are_refused_and_links_inside_are_one_skill() {
    let place = Place::new();
    place.skill("project/.agents/skills", "a", "one");
    place.skill("elsewhere", "b", "secret");
    let project = place.layout.project().unwrap();
    fs::create_dir_all(project.join(".claude")).unwrap();
    std::os::unix::fs::symlink("../.agents/skills", project.join(".claude/skills")).unwrap();
    std::os::unix::fs::symlink("../../../elsewhere/b", project.join(".agents/skills/b")).unwrap();
    let found = place.registry().refresh();
    assert_eq!(found.find("a").unwrap().skill.origin, Origin::Agents);
    assert!(found.find("b").is_none());
    assert_eq!(found.refused.iter().filter(|one| one.reason.contains("link")).count(), 2, "{found:?}");
    // A link of the person to a directory that agents can write does not make it trusted.
    place.skill("project/ours", "c", "of the project");
    fs::create_dir_all(place.layout.user_skills()).unwrap();
    std::os::unix::fs::symlink(project.join("ours/c"), place.layout.user_skills().join("c")).unwrap();
    assert!(!place.registry().refresh().find("c").unwrap().is_trusted);
}

#[test]
fn skills_whose_files_cannot_be_listed_are_refused() {
    let place = Place::new();
    for name in ["linked", "large"] {
        place.skill(PROJECT, name, "text");
        place.write(&format!("{PROJECT}/{name}/scripts/run.sh"), "echo");
    }
    let registry = place.registry();
    assert!(registry.refresh().find("linked").is_some());
    let skills = place.layout.project_skills().unwrap();
    let link = skills.join("linked/scripts/more.sh");
    std::os::unix::fs::symlink("run.sh", &link).unwrap();
    for number in 0..501 {
        place.write(&format!("{PROJECT}/large/references/{number}.md"), "");
    }
    let found = registry.refresh();
    let reason = |name: &str| found.explain_missing(name).unwrap();
    assert!(found.find("linked").is_none() && found.find("large").is_none(), "{found:?}");
    assert!(reason("linked").contains("`scripts/more.sh` is a link"), "{found:?}");
    assert!(reason("large").contains("more than 500 files"), "{found:?}");
    fs::remove_file(&link).unwrap();
    assert!(registry.refresh().find("linked").is_some());
}

#[test]
fn control_characters_of_an_unconfirmed_skill_are_spelled_out() {
    let place = Place::new();
    place.skill(PROJECT, "theirs", "press \u{1b}[2J\u{202e}here");
    place.skill(".config/marvin/skills", "mine", "press \u{202e}here");
    let found = place.registry().refresh();
    let text = found.find("theirs").unwrap().told_text();
    assert!(text.contains("press \\u{1b}[2J\\u{202e}here") && !text.contains('\u{1b}'), "{text:?}");
    assert!(found.find("mine").unwrap().told_text().contains("press \u{202e}here"));
}

#[test]
fn many_skills_are_read_as_few_are() {
    let place = Place::new();
    for number in 0..MIN_PARALLEL_SKILLS + 2 {
        place.skill(PROJECT, &format!("s-{number:03}"), &format!("text {number}"));
    }
    let registry = place.registry();
    for _ in 0..2 {
        let found = registry.refresh();
        assert_eq!(found.skills.len(), BUILT_IN.len() + MIN_PARALLEL_SKILLS + 2);
        assert_eq!(&*found.find("s-129").unwrap().skill.text, "text 129");
    }
}

#[test]
fn tools_that_do_not_exist_are_named() {
    let place = Place::new();
    let text = |tools: &str| {
        format!("---\nname: a\ndescription: x\nmetadata:\n  marvin-tools: {tools}\n---\nbody\n")
    };
    let path = format!("{PROJECT}/a/SKILL.md");
    place.write(&path, &text("read_file fly mcp__x__y"));
    let found = place.registry().refresh();
    assert_eq!(found.refused[0].reason, "it needs tools that do not exist: fly");
    place.write(&path, &text("read_file mcp__x__y launch_agent verify load_skill"));
    assert!(place.registry().refresh().find("a").is_some());
}

#[test]
fn built_in_skills_have_figures_of_their_own() {
    let place = Place::new();
    let registry = place.registry();
    let redactor = Arc::new(Redactor::patterns_only());
    for _ in 0..6 {
        let lost = registry.record_use(&BTreeSet::from(["debugger".to_string()]), false, &redactor).unwrap();
        assert!(lost.is_empty(), "a built-in skill keeps its trust: {lost:?}");
    }
    registry.record_use(&BTreeSet::from(["planner".to_string()]), true, &redactor).unwrap();
    let skills = registry.refresh();
    let figures = |name: &str| {
        let known = skills.find(name).unwrap();
        (known.status.uses, known.status.failures, known.is_trusted)
    };
    assert_eq!(figures("debugger"), (6, 6, true));
    assert_eq!(figures("planner"), (1, 0, true));
    assert_eq!(figures("reviewer"), (0, 0, true));
}
