//! `marvin gate rules`: list, test and add rules.

use super::scene::Scene;
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::{deciding, output};
use clap::Subcommand;
use marvin_base::Exit;
use marvin_base::printable::count;
use marvin_base::settings::nearest_of;
use marvin_gate::layers::{List, Problem, Rule, Status, starter, test_file};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// List, test and add rules
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:\n  marvin gate rules list\n  marvin gate rules add rust node")]
pub(crate) enum RulesCommand {
    /// List the rule files and the rules that are in effect
    #[command(
        after_help = "Examples:\n  marvin gate rules list\n  marvin gate rules list --json | jq '.[].problems'"
    )]
    List(ProjectArguments),
    /// Check rule files against their own examples; exit code 1 when something is wrong
    #[command(
        after_help = "Without a file: every rule file in effect here. The purpose of a file is in its name (allow, deny, learned).\n\nExamples:\n  marvin gate rules test\n  marvin gate rules test my-denylist.json"
    )]
    Test {
        /// The file
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        #[command(flatten)]
        project: ProjectArguments,
    },
    /// Add a starter list; without a name, list them
    #[command(
        after_help = "Examples:\n  marvin gate rules add\n  marvin gate rules add rust node\n  marvin gate rules add terraform --project"
    )]
    Add {
        /// rust, node, python, go, java, ruby, php, dotnet, docker, kubernetes, terraform, make, git
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Add to the project's files and trust them, instead of your own
        #[arg(long)]
        project: bool,
        #[command(flatten)]
        place: ProjectArguments,
    },
}

#[derive(Serialize)]
struct TestReport<'a> {
    ok: bool,
    files: &'a [TestedFile],
}

#[derive(Serialize)]
struct TestedFile {
    file: String,
    rules: usize,
    problems: Vec<Problem>,
}

#[derive(Serialize)]
struct StarterRow {
    name: &'static str,
    r#for: &'static str,
}

#[derive(Serialize)]
struct AddedRules {
    file: String,
    added: usize,
}

pub(super) fn run(command: RulesCommand) -> Result<Exit, Failure> {
    match command {
        RulesCommand::List(project) => list(&scene(&project)?, project.json),
        RulesCommand::Test { file, project } => test(file.as_deref(), &scene(&project)?, project.json),
        RulesCommand::Add { names, project, place } => add(&names, project, &scene(&place)?, place.json),
    }
}

fn scene(project: &ProjectArguments) -> Result<Scene, Failure> {
    Scene::of_project(project.working_dir.as_deref(), false)
}

fn list(scene: &Scene, as_json: bool) -> Result<Exit, Failure> {
    let status = scene.layers.status();
    if as_json {
        return output::json(&status);
    }
    let mut text = String::new();
    for status in &status {
        text.push_str(&format!("{}  {}\n", status.source.path.display(), describe(status)));
        for rule in status.rules.iter().filter(|_| status.counts) {
            let kind = format!("{:?}", rule.kind).to_lowercase();
            text.push_str(&format!("  {:28} {kind:8} {}\n", rule.id, rule.pattern));
        }
        for program in status.programs.iter().filter(|_| status.counts) {
            text.push_str(&format!("  {program}\n"));
        }
        for problem in &status.problems {
            text.push_str(&format!("  PROBLEM {problem}\n"));
        }
    }
    output::line(&text)
}

fn describe(status: &Status) -> String {
    let count = count(status.rules.len() + status.programs.len(), "rule");
    match (status.exists, status.problems.is_empty(), status.counts) {
        (false, true, _) => "not there".to_string(),
        (_, false, true) => format!("BROKEN; {count} in effect, and nothing is allowed without a question"),
        (_, false, false) => "BROKEN; none of it counts".to_string(),
        (true, true, true) => count,
        (true, true, false) => format!("{count}, not in effect: `marvin gate trust` trusts them"),
    }
}

fn test(file: Option<&Path>, scene: &Scene, as_json: bool) -> Result<Exit, Failure> {
    let tested: Vec<TestedFile> = match file {
        Some(path) => {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let (rules, problems) = test_file(path, List::of_name(name));
            vec![TestedFile { file: path.display().to_string(), rules, problems }]
        }
        None => {
            let there = scene.layers.status().into_iter().filter(|status| status.exists);
            there
                .map(|status| {
                    let (rules, problems) = test_file(&status.source.path, status.source.list);
                    let problems = if status.problems.is_empty() { problems } else { status.problems };
                    TestedFile { file: status.source.path.display().to_string(), rules, problems }
                })
                .collect()
        }
    };
    let ok = tested.iter().all(|tested| tested.problems.is_empty());
    if as_json {
        output::json(&TestReport { ok, files: &tested })?;
    } else {
        let mut text = String::new();
        for TestedFile { file, rules, problems } in &tested {
            let state = if problems.is_empty() { "ok     " } else { "PROBLEM" };
            text.push_str(&format!("{state} {file}: {}\n", count(*rules, "rule")));
            for problem in problems {
                text.push_str(&format!("        {problem}\n"));
            }
        }
        if tested.is_empty() {
            text.push_str("This project has no rule files; the judge decides alone.\n");
        }
        output::line(&text)?;
    }
    Ok(if ok { Exit::Success } else { Exit::Failed })
}

fn add(names: &[String], project: bool, scene: &Scene, as_json: bool) -> Result<Exit, Failure> {
    let known = starter::names();
    if names.is_empty() {
        if as_json {
            let rows = known.iter().map(|&(name, purpose)| StarterRow { name, r#for: purpose });
            return output::json(&rows.collect::<Vec<_>>());
        }
        let rows: Vec<String> = known.iter().map(|(name, what)| format!("{name:12} {what}")).collect();
        return output::line(&rows.join("\n"));
    }
    let directory = if project { scene.layout.rules() } else { scene.layout.user_security() };
    let trusted = scene.layout.trusted();
    let mut rules: Vec<(List, Rule)> = Vec::new();
    for name in names {
        let found = starter::rules(name).ok_or_else(|| {
            let near = nearest_of(name, known.iter().map(|(name, _)| *name));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            Failure::usage(format!("no list is called `{name}`{near}"))
                .hint("`marvin gate rules add` shows them")
        })?;
        rules.extend(found);
    }
    deciding::decide("gate rules add", &format!("{} {}", directory.display(), names.join(" ")))?;
    let mut added = Vec::new();
    for list in [List::Allowlist, List::Denylist] {
        let new: Vec<Rule> =
            rules.iter().filter(|(of, _)| *of == list).map(|(_, rule)| rule.clone()).collect();
        if new.is_empty() {
            continue;
        }
        let path = directory.join(list.file());
        let count =
            starter::add(&path, list, &new, project.then_some(trusted.as_path())).map_err(Failure::failed)?;
        added.push(AddedRules { file: path.display().to_string(), added: count });
    }
    if as_json {
        return output::json(&added);
    }
    let rows: Vec<String> = added
        .iter()
        .map(|AddedRules { file, added }| format!("{file}: {} added", count(*added, "rule")))
        .collect();
    output::line(&rows.join("\n"))
}
