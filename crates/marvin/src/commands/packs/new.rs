//! `marvin packs new NAME`.

use super::Shelf;
use crate::commands::deciding;
use crate::failure::Failure;
use crate::output;
use marvin_base::{Exit, atomic};
use marvin_hooks::packs::{pack, starter};
use serde_json::json;
use std::path::PathBuf;

const GUARDRAILS: &str = "# NAME

- Write rules here that an agent can follow: what to do, where, and why. One line each.
";

pub(super) fn run(name: &str, user: bool, shelf: &Shelf, as_json: bool) -> Result<Exit, Failure> {
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !starts || !name.chars().all(fits) || name.len() > 64 {
        return Err(Failure::usage(format!(
            "`{name}` does not do as a name\n  hint: begin with a small letter, then small letters, digits and hyphens"
        )));
    }
    let directories = shelf.layout.packs();
    let root = if user { directories.last() } else { directories.first() };
    let root = root.cloned().ok_or_else(|| Failure::failed("there is no place for packs"))?;
    let directory = root.join(name);
    if std::fs::symlink_metadata(&directory).is_ok() {
        return Err(Failure::usage(format!(
            "{} is there already\n  hint: `marvin packs check {}` says whether it works",
            directory.display(),
            directory.display()
        )));
    }
    let own = starter::files(name);
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    let schema = root.join("_pack.schema.json");
    if !schema.exists() {
        files.push((schema, starter::SCHEMA.to_string()));
    }
    if own.is_empty() {
        let facts = json!({
            "$schema": "../_pack.schema.json", "name": name, "version": "0.1.0", "owner": "team", "description": "",
            "categories": [], "applies_to": {"extensions": []}, "sensitive_paths": [], "excludes_paths": [],
            "references": {"code_paths": []},
        });
        let [facts_file, guardrails, lessons] = pack::FILES;
        files.push((directory.join(facts_file), format!("{facts:#}\n")));
        files.push((directory.join(guardrails), GUARDRAILS.replace("NAME", name)));
        files.push((directory.join(lessons), String::new()));
    } else {
        files.extend(own.iter().map(|(file, text)| (directory.join(file), (*text).to_string())));
    }
    // What stands in the person's own directory is told to agents of every project.
    if user {
        deciding::decide("packs new --user", &directory.display().to_string())?;
    }
    for (path, text) in &files {
        atomic::replace(path, text.as_bytes()).map_err(|error| Failure::failed(error.to_string()))?;
    }
    if as_json {
        let paths: Vec<&PathBuf> = files.iter().map(|(path, _)| path).collect();
        return output::json(
            &json!({"pack": name, "folder": directory, "starter": !own.is_empty(), "files": paths}),
        );
    }
    for (path, _) in &files {
        output::line(&path.display().to_string())?;
    }
    if own.is_empty() {
        let facts = directory.join(pack::FILES[0]);
        output::talk(&format!(
            "Now say in {} when it is told: extensions, paths, categories.",
            facts.display()
        ));
    }
    Ok(Exit::Success)
}
