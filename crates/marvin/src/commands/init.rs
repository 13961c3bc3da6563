//! `marvin init`: shows a plan, or carries it out.

use crate::failure::Failure;
use crate::project::{current_directory, project_context};
use crate::{deciding, output};
use clap::{Args, ValueEnum};
use marvin_agent::skills::{Origin, SkillFile};
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_hooks::init::{self, Client, FileOutcome, HOOK_PROGRAM, Place, Plan, Program, Request};
use marvin_hooks::packs::starter;
use serde::Serialize;
use std::path::{Path, PathBuf};

const HELP: &str = "\
Settings are merged: other keys, other hooks, order and layout stay. A second run changes nothing. What is written is \
listed file by file; `--remove` takes back exactly that, and keeps what you changed.

Without --client: every client whose directory (.claude, .codex) or program is found; if none is, both.
Exit codes: 1 nothing was changed, because a file cannot be read; 4 you have to fix something.

Examples:
  marvin init
  marvin init --dry-run
  marvin init --client claude --working-dir ~/src/app
  marvin init --skills                                  also into .claude/skills and .agents/skills
  marvin init --remove";

/// Set a project up for Claude Code and Codex: hooks, packs, rules, skills
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct InitArguments {
    /// The client
    #[arg(long, value_enum, value_name = "CLIENT")]
    client: Option<ClientChoice>,
    /// Undo the setup
    #[arg(long)]
    remove: bool,
    /// Install the skills that Marvin's agents have, as far as you trust them or they are proved
    #[arg(long, conflicts_with = "remove")]
    skills: bool,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// The directory of the project
    #[arg(long, value_name = "PATH")]
    working_dir: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The clients that a project is set up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClientChoice {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Both
    Both,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InitReport<'a> {
    project: String,
    folder: String,
    git: Option<String>,
    clients: Vec<&'a str>,
    removed: bool,
    dry_run: bool,
    changed: bool,
    changes: Vec<ChangeReport<'a>>,
    notes: &'a [String],
    problems: &'a [String],
}

#[derive(Serialize)]
struct ChangeReport<'a> {
    file: &'a str,
    state: &'a FileOutcome,
    changed: bool,
    note: &'a str,
    diff: Option<String>,
}

/// Sets a project up, or takes that back.
pub(crate) fn run(arguments: &InitArguments) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let layout = Layout::new(&environment, None);
    let here = current_directory()?;
    let named = arguments.working_dir.as_ref().map_or(here.clone(), |path| here.join(path));
    let place = Place::find(&named, layout.home()).map_err(Failure::usage)?;
    let request = Request {
        clients: clients(arguments, &place, &environment),
        program: program(&environment)?,
        packs: starter::all(),
        skills: if arguments.skills { skill_files(&place)? } else { Vec::new() },
        remove: arguments.remove,
    };
    let plan = init::plan(&place, &request).map_err(Failure::failed)?;
    if arguments.remove && !arguments.dry_run {
        deciding::decide("init --remove", &place.top.display().to_string())?;
    }
    if !arguments.dry_run {
        plan.apply().map_err(Failure::failed)?;
    }
    if arguments.json {
        output::json(&report(&plan, &request, arguments.dry_run))?;
    } else {
        show(&plan, arguments)?;
    }
    Ok(if plan.problems.is_empty() { Exit::Success } else { Exit::Blocked })
}

/// Files of the skills that are trusted or proved, without hidden ones, with paths below a directory of skills.
fn skill_files(place: &Place) -> Result<Vec<SkillFile>, Failure> {
    let skills = project_context(Some(&place.top), true, Vec::new())?.skills;
    let mut files = Vec::new();
    for known in skills.refresh().skills {
        let is_ours = matches!(known.skill.origin, Origin::Project | Origin::User | Origin::BuiltIn);
        if is_ours && known.status.is_proved(known.skill.origin) {
            let own = known.files().map_err(|error| {
                Failure::failed(format!("cannot install the skill `{}`: {error}", known.skill.name))
            })?;
            let name = &known.skill.name;
            files.extend(
                own.into_iter().map(|file| SkillFile { path: format!("{name}/{}", file.path), ..file }),
            );
        }
    }
    Ok(files)
}

/// The clients that were named, else both to take back, else those that are here, else both.
fn clients(arguments: &InitArguments, place: &Place, environment: &Environment) -> Vec<Client> {
    match arguments.client {
        Some(ClientChoice::Claude) => vec![Client::Claude],
        Some(ClientChoice::Codex) => vec![Client::Codex],
        Some(ClientChoice::Both) => Client::ALL.to_vec(),
        None if arguments.remove => Client::ALL.to_vec(),
        None => {
            let directory = |client: &Client| format!(".{}", client.word());
            let here = |client: &Client| {
                [&place.directory, &place.top].iter().any(|path| path.join(directory(client)).is_dir())
                    || on_path(client.word(), environment).is_some()
            };
            let here: Vec<Client> = Client::ALL.into_iter().filter(here).collect();
            if here.is_empty() { Client::ALL.to_vec() } else { here }
        }
    }
}

/// The command by which hooks start this program: its name where that finds it, else its path.
pub(crate) fn program(environment: &Environment) -> Result<Program, Failure> {
    let this = std::env::current_exe().and_then(|path| path.canonicalize());
    let this =
        this.map_err(|error| Failure::failed(format!("cannot find out where this program is: {error}")))?;
    let found = |name: &str| on_path(name, environment).and_then(|path| path.canonicalize().ok());
    let hook = this.with_file_name(HOOK_PROGRAM);
    if found("marvin").as_deref() == Some(&this) {
        return Ok(Program::on_path(found(HOOK_PROGRAM).as_deref() == Some(&hook)));
    }
    let text = this.to_str().ok_or_else(|| {
        Failure::failed(format!(
            "the name of {} is not UTF-8 text, and a settings file cannot hold it",
            this.display()
        ))
        .hint("put this program on the PATH as `marvin`")
    })?;
    Ok(Program::at(text, hook.is_file()))
}

/// The program that a shell would start by this name.
///
/// Relative parts of the PATH do not count: they depend on the directory.
fn on_path(name: &str, environment: &Environment) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |path: &PathBuf| {
        path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    let directories = environment.get("PATH").unwrap_or_default().split(':').map(Path::new);
    directories.filter(|directory| directory.is_absolute()).map(|directory| directory.join(name)).find(runs)
}

fn show(plan: &Plan, arguments: &InitArguments) -> Result<(), Failure> {
    let mut text = String::new();
    let wide = plan.changes.iter().map(|change| change.name.chars().count()).max().unwrap_or_default();
    for change in &plan.changes {
        let (state, name) = (change.state.word(), &change.name);
        text.push_str(format!("{state:10} {name:wide$}  {}", change.note).trim_end());
        text.push('\n');
        // The receipt is bookkeeping of the other changes.
        if arguments.dry_run && !change.is_receipt() {
            text.push_str(&change.diff());
        }
    }
    let last = match (plan.changes_anything(), arguments.dry_run, arguments.remove) {
        _ if !plan.problems.is_empty() && !arguments.dry_run => {
            "Not ready: a person has to fix what follows."
        }
        (false, _, true) => "Marvin is not set up here; nothing was removed.",
        (false, _, false) => "Already set up; nothing was changed.",
        (true, true, _) => "Dry run: nothing was written.",
        (true, false, true) => "Removed.",
        (true, false, false) => "Ready. `marvin init --remove` undoes this.",
    };
    text.push_str(last);
    output::line(&output::visible(&text))?;
    for note in &plan.notes {
        output::talk(&output::visible(&format!("note: {note}")));
    }
    for problem in &plan.problems {
        output::talk(&output::visible(&format!("marvin: {problem}")));
    }
    Ok(())
}

fn report<'a>(plan: &'a Plan, request: &Request<'_>, dry_run: bool) -> InitReport<'a> {
    let changes = plan.changes.iter().map(|change| ChangeReport {
        file: &change.name,
        state: &change.state,
        changed: change.before != change.after,
        note: &change.note,
        diff: dry_run.then(|| change.diff()),
    });
    let place = &plan.place;
    InitReport {
        project: place.top.display().to_string(),
        folder: place.directory.display().to_string(),
        git: place.git.as_ref().map(|path| path.display().to_string()),
        clients: request.clients.iter().map(|client| client.word()).collect(),
        removed: request.remove,
        dry_run,
        changed: plan.changes_anything(),
        changes: changes.collect(),
        notes: &plan.notes,
        problems: &plan.problems,
    }
}
