//! `marvin gate rules` and `marvin gate trust`.

use super::Scene;
use crate::cli::RulesCommand;
use crate::commands::deciding;
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_base::settings::nearest_of;
use marvin_gate::layers::{List, Problem, Rule, RuleFileOwner, Status, Trust, starter, test_file};
use serde_json::json;
use std::path::Path;

/// Runs one of the commands about rules.
pub(super) fn run(command: RulesCommand) -> Result<Exit, Failure> {
    match command {
        RulesCommand::List { working_dir, json } => list(&Scene::find(working_dir.as_deref(), false)?, json),
        RulesCommand::Test { file, working_dir, json } => {
            test(file.as_deref(), &Scene::find(working_dir.as_deref(), false)?, json)
        }
        RulesCommand::Add { names, project, working_dir, json } => {
            add(&names, project, &Scene::find(working_dir.as_deref(), false)?, json)
        }
    }
}

fn list(scene: &Scene, as_json: bool) -> Result<Exit, Failure> {
    let status = scene.layers.status();
    if as_json {
        return output::json(&json!(status));
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
    let count = status.rules.len() + status.programs.len();
    match (status.exists, status.problems.is_empty(), status.counts) {
        (false, true, _) => "not there".to_string(),
        (_, false, true) => format!("BROKEN; {count} rules count, and nothing is allowed without a question"),
        (_, false, false) => "BROKEN; none of it counts".to_string(),
        (true, true, true) => format!("{count} rules"),
        (true, true, false) => format!("{count} rules, which do not count: `marvin gate trust` trusts them"),
    }
}

fn test(file: Option<&Path>, scene: &Scene, as_json: bool) -> Result<Exit, Failure> {
    let tested: Vec<(String, usize, Vec<Problem>)> = match file {
        Some(path) => {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let (count, problems) = test_file(path, List::of_name(name));
            vec![(path.display().to_string(), count, problems)]
        }
        None => {
            let there = scene.layers.status().into_iter().filter(|status| status.exists);
            there
                .map(|status| {
                    let (count, problems) = test_file(&status.source.path, status.source.list);
                    let problems = if status.problems.is_empty() { problems } else { status.problems };
                    (status.source.path.display().to_string(), count, problems)
                })
                .collect()
        }
    };
    let wrong = tested.iter().any(|(_, _, problems)| !problems.is_empty());
    if as_json {
        let rows: Vec<_> = tested
            .iter()
            .map(|(file, rules, problems)| json!({"file": file, "rules": rules, "problems": problems}))
            .collect();
        output::json(&json!({"ok": !wrong, "files": rows}))?;
    } else {
        let mut text = String::new();
        for (file, rules, problems) in &tested {
            let state = if problems.is_empty() { "ok     " } else { "PROBLEM" };
            text.push_str(&format!("{state} {file}: {rules} rules\n"));
            for problem in problems {
                text.push_str(&format!("        {problem}\n"));
            }
        }
        if tested.is_empty() {
            text.push_str("There are no rule files here; the judge decides alone.\n");
        }
        output::line(&text)?;
    }
    Ok(if wrong { Exit::Failed } else { Exit::Success })
}

fn add(names: &[String], project: bool, scene: &Scene, as_json: bool) -> Result<Exit, Failure> {
    let known = starter::names();
    if names.is_empty() {
        if as_json {
            let rows: Vec<_> = known.iter().map(|(name, what)| json!({"name": name, "for": what})).collect();
            return output::json(&json!(rows));
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
            Failure::usage(format!(
                "there is no list `{name}`{near}\n  hint: `marvin gate rules add` shows them"
            ))
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
        let count = starter::add(&path, list, &new, project.then_some(trusted.as_path()))
            .map_err(|error| Failure::failed(error.to_string()))?;
        added.push((path.display().to_string(), count));
    }
    if as_json {
        let rows: Vec<_> = added.iter().map(|(file, count)| json!({"file": file, "added": count})).collect();
        return output::json(&json!(rows));
    }
    let rows: Vec<String> =
        added.iter().map(|(file, count)| format!("{file}: {count} rules added")).collect();
    output::line(&rows.join("\n"))
}

/// Trusts the rules of a project that allow, or no longer.
pub(super) fn trust(remove: bool, working_dir: Option<&Path>, as_json: bool) -> Result<Exit, Failure> {
    let scene = Scene::find(working_dir, false)?;
    let word = if remove { "gate trust --remove" } else { "gate trust" };
    deciding::decide(word, &scene.layout.security().display().to_string())?;
    let list = scene.layout.trusted();
    let mut rows = Vec::new();
    for status in scene.layers.status() {
        if status.source.whose != RuleFileOwner::Project
            || status.source.list == List::Denylist
            || !status.exists
        {
            continue;
        }
        let path = &status.source.path;
        if let (Some(problem), false) = (status.problems.first(), remove) {
            return Err(Failure::failed(format!("a broken file is not trusted: {problem}")));
        }
        let written = if remove { Trust::forget(&list, path) } else { Trust::note(&list, path) };
        written.map_err(|error| Failure::failed(error.to_string()))?;
        rows.push((path.display().to_string(), status.rules, status.programs));
    }
    // What agents are told by the project's files is trusted together with its rules.
    let mut told = Vec::new();
    for path in scene.layout.steering_files() {
        let written = if remove { Trust::forget(&list, &path) } else { Trust::note(&list, &path) };
        written.map_err(|error| Failure::failed(error.to_string()))?;
        told.push(path.display().to_string());
    }
    if as_json {
        let texts =
            told.iter().map(|file| json!({"file": file, "trusted": !remove, "rules": [], "programs": []}));
        let rows: Vec<_> = rows
            .iter()
            .map(|(file, rules, programs)| {
                json!({"file": file, "trusted": !remove, "rules": rules, "programs": programs})
            })
            .chain(texts)
            .collect();
        return output::json(&json!(rows));
    }
    let mut text = String::new();
    for (file, rules, programs) in &rows {
        let word = if remove { "no longer trusted" } else { "trusted" };
        text.push_str(&format!("{file}: {word}\n"));
        for rule in rules.iter().filter(|_| !remove) {
            text.push_str(&format!("  {:28} {}\n", rule.id, rule.pattern));
        }
        for program in programs.iter().filter(|_| !remove) {
            text.push_str(&format!("  {program}\n"));
        }
    }
    for file in &told {
        let word = if remove { "no longer trusted" } else { "trusted" };
        text.push_str(&format!("{file}: {word}, agents are told its text as yours\n"));
    }
    if rows.is_empty() && told.is_empty() {
        text.push_str("This project has no rules that allow something.\n");
    }
    output::line(&text)
}
