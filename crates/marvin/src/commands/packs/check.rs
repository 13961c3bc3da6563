//! `marvin packs check`.

use super::shelf::{NO_PACKS, Shelf, safe};
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use marvin_base::Exit;
use marvin_hooks::packs::{Packs, Problem, pack};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Check packs; exit code 1 when something is wrong
#[derive(Debug, Args)]
#[command(
    after_help = "DIRECTORY is one pack, or a directory of packs; without it, every pack in effect here is checked.\npack.json must match the schema that `marvin packs new` writes next to it, and every glob must be valid.\n\nExamples:\n  marvin packs check\n  marvin packs check .marvin/packs/billing"
)]
pub(crate) struct CheckArguments {
    /// A pack, or a directory of packs
    #[arg(value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    project: ProjectArguments,
}

#[derive(Serialize)]
struct CheckReport {
    ok: bool,
    packs: Vec<CheckedPack>,
    problems: Vec<Problem>,
}

#[derive(Serialize)]
struct CheckedPack {
    pack: String,
    problems: Vec<Problem>,
}

pub(super) fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let shelf = Shelf::find(arguments.project.working_dir.as_deref())?;
    let mut rows: Vec<CheckedPack> = Vec::new();
    let mut others: Vec<Problem> = Vec::new();
    match &arguments.directory {
        None => divide(&shelf.packs, &mut rows, &mut others),
        Some(directory) => {
            let directory = shelf.here.join(directory);
            if !directory.is_dir() {
                return Err(Failure::usage(format!("{} is not a directory", directory.display()))
                    .hint("name a pack, or a directory of packs"));
            }
            // A directory with a pack.json, or with nothing at all, is a pack.
            let inner = std::fs::read_dir(&directory).into_iter().flatten().filter_map(Result::ok);
            let holds_packs = inner.into_iter().any(|entry| entry.path().join(pack::FILES[0]).exists());
            if !holds_packs || directory.join(pack::FILES[0]).exists() {
                let directory = directory.canonicalize().unwrap_or(directory);
                let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
                rows.push(CheckedPack { pack: name, problems: pack::read(&directory).problems });
            } else {
                divide(&Packs::load(&[directory]), &mut rows, &mut others);
            }
        }
    }
    let ok = others.is_empty() && rows.iter().all(|row| row.problems.is_empty());
    if arguments.project.json {
        output::json(&CheckReport { ok, packs: rows, problems: others })?;
    } else {
        let mut text = String::new();
        for CheckedPack { pack, problems } in &rows {
            let state = if problems.is_empty() { "ok     " } else { "PROBLEM" };
            text.push_str(&format!("{state} {pack}\n"));
            problems.iter().for_each(|problem| {
                text.push_str(&format!("        {}\n", problem.to_string().replace('\n', "\n        ")));
            });
        }
        others.iter().for_each(|problem| text.push_str(&format!("PROBLEM {problem}\n")));
        if text.is_empty() {
            text.push_str(NO_PACKS);
        }
        output::line(&safe(&text))?;
    }
    Ok(if ok { Exit::Success } else { Exit::Failed })
}

/// Gives every problem to the pack whose file it names.
fn divide(packs: &Packs, rows: &mut Vec<CheckedPack>, others: &mut Vec<Problem>) {
    for pack in packs.all() {
        rows.push(CheckedPack { pack: pack.name().to_string(), problems: Vec::new() });
    }
    for problem in packs.problems() {
        let below =
            packs.directories().find_map(|directory| Path::new(&problem.file).strip_prefix(directory).ok());
        let mut parts = below.into_iter().flat_map(Path::components);
        let name = parts.next().map(|part| part.as_os_str().to_string_lossy().into_owned());
        let file = parts.next();
        match (name, file) {
            (Some(pack), Some(_)) => match rows.iter_mut().find(|row| row.pack == pack) {
                Some(row) => row.problems.push(problem.clone()),
                None => rows.push(CheckedPack { pack, problems: vec![problem.clone()] }),
            },
            _ => others.push(problem.clone()),
        }
    }
    rows.sort_by(|one, two| one.pack.cmp(&two.pack));
}
