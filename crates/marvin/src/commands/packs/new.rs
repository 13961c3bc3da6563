//! `marvin packs new NAME`.

use super::shelf::Shelf;
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::{deciding, output};
use clap::Args;
use marvin_base::{Exit, atomic};
use marvin_hooks::packs::{pack, starter};
use serde::Serialize;
use std::path::{Path, PathBuf};

const GUARDRAILS: &str = "# NAME

- Write rules here that an agent can follow: what to do, where, and why. One line each.
";

/// Create a pack: a starter (code-quality, git-workflow, go, python, rust, security, testing), or an empty one
#[derive(Debug, Args)]
#[command(
    after_help = "No existing file is overwritten.\n\nExamples:\n  marvin packs new rust\n  marvin packs new billing\n  marvin packs new house-rules --user"
)]
pub(crate) struct NewArguments {
    /// Its name: lower-case letters, digits and hyphens
    #[arg(value_name = "NAME")]
    name: String,
    /// Create it among your own packs, for every project
    #[arg(long)]
    user: bool,
    #[command(flatten)]
    project: ProjectArguments,
}

/// `pack.json` of an empty pack.
#[derive(Serialize)]
struct EmptyPack<'a> {
    #[serde(rename = "$schema")]
    schema: &'a str,
    name: &'a str,
    version: &'a str,
    owner: &'a str,
    description: &'a str,
    categories: [&'a str; 0],
    applies_to: AppliesTo<'a>,
    sensitive_paths: [&'a str; 0],
    excludes_paths: [&'a str; 0],
    references: References<'a>,
}

#[derive(Serialize)]
struct AppliesTo<'a> {
    extensions: [&'a str; 0],
}

#[derive(Serialize)]
struct References<'a> {
    code_paths: [&'a str; 0],
}

#[derive(Serialize)]
struct NewPack<'a> {
    pack: &'a str,
    folder: &'a Path,
    starter: bool,
    files: Vec<&'a PathBuf>,
}

pub(super) fn run(arguments: &NewArguments) -> Result<Exit, Failure> {
    let NewArguments { name, user, project } = arguments;
    let shelf = Shelf::find(project.working_dir.as_deref())?;
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !starts || !name.chars().all(fits) || name.len() > 64 {
        return Err(Failure::usage(format!("`{name}` cannot be the name of a pack"))
            .hint("begin with a small letter, then small letters, digits and hyphens"));
    }
    let directories = shelf.layout.packs();
    let root = if *user { directories.last() } else { directories.first() };
    let root = root.cloned().ok_or_else(|| Failure::failed("this project has no directory for packs"))?;
    let directory = root.join(name);
    if std::fs::symlink_metadata(&directory).is_ok() {
        return Err(Failure::usage(format!("{} exists already", directory.display()))
            .hint(format!("`marvin packs check {}` says whether it works", directory.display())));
    }
    let own = starter::files(name);
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    let schema = root.join("_pack.schema.json");
    if !schema.exists() {
        files.push((schema, starter::SCHEMA.to_string()));
    }
    if own.is_empty() {
        let facts = serde_json::to_string_pretty(&EmptyPack {
            schema: "../_pack.schema.json",
            name,
            version: "0.1.0",
            owner: "team",
            description: "",
            categories: [],
            applies_to: AppliesTo { extensions: [] },
            sensitive_paths: [],
            excludes_paths: [],
            references: References { code_paths: [] },
        })
        .map_err(Failure::failed)?;
        let [facts_file, guardrails, lessons] = pack::FILES;
        files.push((directory.join(facts_file), format!("{facts}\n")));
        files.push((directory.join(guardrails), GUARDRAILS.replace("NAME", name)));
        files.push((directory.join(lessons), String::new()));
    } else {
        files.extend(own.iter().map(|(file, text)| (directory.join(file), (*text).to_string())));
    }
    // A pack in the person's own directory is told to agents of every project.
    if *user {
        deciding::decide("packs new --user", &directory.display().to_string())?;
    }
    for (path, text) in &files {
        atomic::replace(path, text.as_bytes()).map_err(Failure::failed)?;
    }
    if project.json {
        let files = files.iter().map(|(path, _)| path).collect();
        return output::json(&NewPack { pack: name, folder: &directory, starter: !own.is_empty(), files });
    }
    for (path, _) in &files {
        output::line(&path.display().to_string())?;
    }
    if own.is_empty() {
        let facts = directory.join(pack::FILES[0]);
        output::talk(&format!(
            "Now set in {} when it applies: extensions, paths, categories.",
            facts.display()
        ));
    }
    Ok(Exit::Success)
}
