//! `marvin gate trust`: a person trusts the rules of a project that allow something.

use super::scene::Scene;
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::{deciding, output};
use clap::Args;
use marvin_base::Exit;
use marvin_gate::layers::{List, Rule, RuleFileOwner, Trust};
use serde::Serialize;
use std::path::Path;

/// Trust this project's allow rules in their current version
#[derive(Debug, Args)]
#[command(
    after_help = "A project's denylist always applies. Its allowlist and its learned rules apply only while you trust exactly this content; after a change they do not apply until you trust them again.\n\nExamples:\n  marvin gate trust\n  marvin gate trust --remove"
)]
pub(crate) struct TrustArguments {
    /// Remove the trust
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    project: ProjectArguments,
}

/// A file that is trusted, or no longer. Files that instruct agents have no rules.
#[derive(Serialize)]
struct TrustedFile {
    file: String,
    trusted: bool,
    rules: Vec<Rule>,
    programs: Vec<String>,
    #[serde(skip)]
    instructs_agents: bool,
}

pub(super) fn run(arguments: &TrustArguments) -> Result<Exit, Failure> {
    let remove = arguments.remove;
    let scene = Scene::of_project(arguments.project.working_dir.as_deref(), false)?;
    let command = if remove { "gate trust --remove" } else { "gate trust" };
    deciding::decide(command, &scene.layout.security().display().to_string())?;
    let list = scene.layout.trusted();
    let change = |path: &Path| {
        let written = if remove { Trust::forget(&list, path) } else { Trust::note(&list, path) };
        written.map_err(Failure::failed)
    };
    let mut files = Vec::new();
    for status in scene.layers.status() {
        if status.source.whose != RuleFileOwner::Project
            || status.source.list == List::Denylist
            || !status.exists
        {
            continue;
        }
        if let (Some(problem), false) = (status.problems.first(), remove) {
            return Err(Failure::failed(format!("a broken file is not trusted: {problem}")));
        }
        change(&status.source.path)?;
        files.push(TrustedFile {
            file: status.source.path.display().to_string(),
            trusted: !remove,
            rules: status.rules,
            programs: status.programs,
            instructs_agents: false,
        });
    }
    // Files that instruct agents are trusted together with the project's rules.
    for path in scene.layout.steering_files() {
        change(&path)?;
        files.push(TrustedFile {
            file: path.display().to_string(),
            trusted: !remove,
            rules: Vec::new(),
            programs: Vec::new(),
            instructs_agents: true,
        });
    }
    if arguments.project.json {
        return output::json(&files);
    }
    if files.is_empty() {
        return output::line("This project has no rules that allow something.");
    }
    output::line(&files.iter().map(describe).collect::<String>())
}

fn describe(file: &TrustedFile) -> String {
    let state = if file.trusted { "trusted" } else { "no longer trusted" };
    let note = if file.instructs_agents { ", agents are told its text as yours" } else { "" };
    let mut text = format!("{}: {state}{note}\n", file.file);
    if file.trusted {
        for rule in &file.rules {
            text.push_str(&format!("  {:28} {}\n", rule.id, rule.pattern));
        }
        for program in &file.programs {
            text.push_str(&format!("  {program}\n"));
        }
    }
    text
}
