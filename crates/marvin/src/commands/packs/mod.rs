//! `marvin packs`: what agents are told about files.

mod check;
mod new;
pub(crate) mod shelf;
mod why;

use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::output;
use clap::Subcommand;
use marvin_base::Exit;
use marvin_hooks::packs::Problem;
use serde::Serialize;
use serde_json::Value;
use shelf::{NO_PACKS, Shelf, safe};

/// Manage packs, the guidance for agents about files
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin packs list\n  marvin packs new billing\n  marvin packs why src/auth/login.ts"
)]
pub(crate) enum PacksCommand {
    /// List the packs in effect here
    #[command(
        after_help = "Packs are in .marvin/packs of the project and in the directory packs of your own settings; the first pack of a name wins.\n\nExamples:\n  marvin packs list\n  marvin packs list --json | jq -r '.packs[].name'"
    )]
    List(ProjectArguments),
    Check(check::CheckArguments),
    Why(why::WhyArguments),
    New(new::NewArguments),
}

#[derive(Serialize)]
struct PackList<'a> {
    packs: Vec<PackRow>,
    problems: &'a [Problem],
}

#[derive(Serialize)]
struct PackRow {
    #[serde(flatten)]
    facts: Value,
    origin: &'static str,
}

pub(crate) fn run(command: PacksCommand) -> Result<Exit, Failure> {
    match command {
        PacksCommand::List(project) => list(&Shelf::find(project.working_dir.as_deref())?, project.json),
        PacksCommand::Check(arguments) => check::run(&arguments),
        PacksCommand::Why(arguments) => why::run(&arguments),
        PacksCommand::New(arguments) => new::run(&arguments),
    }
}

fn list(shelf: &Shelf, as_json: bool) -> Result<Exit, Failure> {
    let packs = shelf.packs.all();
    if as_json {
        let rows = packs.iter().map(|pack| PackRow { facts: pack.facts(), origin: shelf.origin(pack) });
        return output::json(&PackList { packs: rows.collect(), problems: shelf.packs.problems() });
    }
    let mut text = String::new();
    for pack in packs {
        let guardrails = if pack.guardrails.is_empty() { "no guardrails" } else { "guardrails" };
        let lessons = match pack.lessons.len() {
            1 => "1 lesson".to_string(),
            count => format!("{count} lessons"),
        };
        text.push_str(&format!(
            "{:20} {:8} {:8} {guardrails}, {lessons}  {}\n",
            pack.name(),
            pack.version(),
            shelf.origin(pack),
            pack.description()
        ));
    }
    if packs.is_empty() {
        text.push_str(NO_PACKS);
    }
    for problem in shelf.packs.problems() {
        text.push_str(&format!("PROBLEM {problem}\n"));
    }
    output::line(&safe(&text))
}
