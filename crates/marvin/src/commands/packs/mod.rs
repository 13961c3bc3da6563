//! `marvin packs` and `marvin lessons`.

mod lessons;
mod new;
mod why;

pub(super) use lessons::run as run_lessons;

use crate::cli::PacksCommand;
use crate::commands::directory;
use crate::failure::Failure;
use crate::output;
use marvin_agent::ProjectContext;
use marvin_agent::compose::{FROM_REPOSITORY, PromptExtra};
use marvin_agent::session::{ExtraContext, Offer};
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::settings::table;
use marvin_base::{Exit, signature};
use marvin_gate::layers::Trust;
use marvin_hooks::packs::{self, Pack, Packs, Problem, pack};
use marvin_memory::index::{Document, Kind};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Runs one of the commands about packs.
pub(super) fn run(command: PacksCommand) -> Result<Exit, Failure> {
    match command {
        PacksCommand::List { working_dir, json } => list(&Shelf::find(working_dir.as_deref())?, json),
        PacksCommand::Check { directory, working_dir, json } => {
            check(directory.as_deref(), &Shelf::find(working_dir.as_deref())?, json)
        }
        PacksCommand::Why { file, corrected, working_dir, json } => {
            why::run(&file, &corrected, &Shelf::find(working_dir.as_deref())?, json)
        }
        PacksCommand::New { name, user, working_dir, json } => {
            new::run(&name, user, &Shelf::find(working_dir.as_deref())?, json)
        }
    }
}

/// What packs tell an agent of ours when it begins, where it has file tools.
pub(super) fn for_agents(ground: &ProjectContext) -> Option<PromptExtra> {
    let cap = ground.settings.count(&table::PACKS_TOKENS);
    let mut text = ground.coding.then(|| packs::at_start(&ground.layout, cap)).flatten()?;
    let trust = Trust::read(&ground.layout.trusted());
    if !ground.layout.pack_files().iter().all(|file| trust.holds_file(file)) {
        text.insert_str(0, &format!("{FROM_REPOSITORY}\n"));
    }
    Some(PromptExtra { name: "What is known of this project's files".into(), text, priority: 80 })
}

/// What packs bring into a session of ours: what is told when it begins, and what is found where it fits.
pub(super) fn brought(ground: &ProjectContext) -> ExtraContext {
    ExtraContext { told: for_agents(ground).into_iter().collect(), offered: vec![offered(&ground.layout)] }
}

/// What packs teach, to be found like everything else that is remembered.
pub(super) fn offered(layout: &Layout) -> Offer {
    let packs = Packs::load(&layout.packs());
    let mut documents = Vec::new();
    for pack in packs.all() {
        for lesson in &pack.lessons {
            documents.push(Document {
                id: format!("{}/{}", pack.name(), lesson.title),
                text: format!("{}\n{}", lesson.title, lesson.actionable),
                source: "pack".into(),
                component: pack.name().to_string(),
                tags: vec![lesson.category.to_string()],
                ..Document::default()
            });
        }
    }
    let all: Vec<(&str, &str)> = documents.iter().map(|one| (one.id.as_str(), one.text.as_str())).collect();
    Offer { kind: Kind::PackLesson, stamp: signature::hash(&json!(all)), documents }
}

/// A project and its packs.
struct Shelf {
    /// The directory that the command works in.
    here: PathBuf,
    /// The project that the directory belongs to, or the directory itself.
    project: PathBuf,
    layout: Layout,
    packs: Packs,
}

impl Shelf {
    fn find(working_dir: Option<&Path>) -> Result<Self, Failure> {
        let given = working_dir.map_or_else(directory, |path| Ok(directory()?.join(path)))?;
        let here = given.canonicalize().map_err(|error| {
            Failure::usage(format!(
                "{} cannot be used: {error}\n  hint: name a directory that is there with --working-dir",
                given.display()
            ))
        })?;
        let environment = Environment::of_process();
        let bare = Layout::new(&environment, None);
        let project = bare.find_project(&here).unwrap_or_else(|| here.clone());
        let layout = Layout::new(&environment, Some(&project));
        let packs = Packs::load(&layout.packs());
        Ok(Shelf { here, project, layout, packs })
    }

    /// Where a pack comes from, in a word.
    fn origin(&self, pack: &Pack) -> &'static str {
        if pack.directory.starts_with(self.layout.user()) { "yours" } else { "project" }
    }
}

/// Text of packs, without what would move a cursor.
fn safe(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

fn list(shelf: &Shelf, as_json: bool) -> Result<Exit, Failure> {
    let packs = shelf.packs.all();
    if as_json {
        let rows: Vec<Value> = packs
            .iter()
            .map(|pack| {
                let mut facts = pack.facts();
                if let Value::Object(facts) = &mut facts {
                    facts.insert("origin".into(), shelf.origin(pack).into());
                }
                facts
            })
            .collect();
        return output::json(&json!({"packs": rows, "problems": shelf.packs.problems()}));
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
        text.push_str("There are no packs here. `marvin packs new rust` makes one to begin with.\n");
    }
    for problem in shelf.packs.problems() {
        text.push_str(&format!("PROBLEM {problem}\n"));
    }
    output::line(&safe(&text))
}

fn check(directory: Option<&Path>, shelf: &Shelf, as_json: bool) -> Result<Exit, Failure> {
    let mut rows: Vec<(String, Vec<Problem>)> = Vec::new();
    let mut others: Vec<Problem> = Vec::new();
    match directory {
        None => divide(&shelf.packs, &mut rows, &mut others),
        Some(directory) => {
            let directory = shelf.here.join(directory);
            if !directory.is_dir() {
                return Err(Failure::usage(format!(
                    "{} is no directory\n  hint: name a pack, or a directory of packs",
                    directory.display()
                )));
            }
            // A directory with a pack.json, or with nothing at all, is a pack.
            let inner = std::fs::read_dir(&directory).into_iter().flatten().filter_map(Result::ok);
            let holds_packs = inner.into_iter().any(|entry| entry.path().join(pack::FILES[0]).exists());
            if !holds_packs || directory.join(pack::FILES[0]).exists() {
                let directory = directory.canonicalize().unwrap_or(directory);
                let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
                rows.push((name, pack::read(&directory).problems));
            } else {
                divide(&Packs::load(&[directory]), &mut rows, &mut others);
            }
        }
    }
    let wrong = !others.is_empty() || rows.iter().any(|(_, problems)| !problems.is_empty());
    if as_json {
        let packs: Vec<Value> =
            rows.iter().map(|(name, problems)| json!({"pack": name, "problems": problems})).collect();
        output::json(&json!({"ok": !wrong, "packs": packs, "problems": others}))?;
    } else {
        let mut text = String::new();
        for (name, problems) in &rows {
            let state = if problems.is_empty() { "ok     " } else { "PROBLEM" };
            text.push_str(&format!("{state} {name}\n"));
            problems.iter().for_each(|problem| text.push_str(&format!("        {problem}\n")));
        }
        others.iter().for_each(|problem| text.push_str(&format!("PROBLEM {problem}\n")));
        if text.is_empty() {
            text.push_str("There are no packs here. `marvin packs new rust` makes one to begin with.\n");
        }
        output::line(&safe(&text))?;
    }
    Ok(if wrong { Exit::Failed } else { Exit::Success })
}

/// Gives every problem to the pack whose file it names.
fn divide(packs: &Packs, rows: &mut Vec<(String, Vec<Problem>)>, others: &mut Vec<Problem>) {
    for pack in packs.all() {
        rows.push((pack.name().to_string(), Vec::new()));
    }
    for problem in packs.problems() {
        let below =
            packs.directories().find_map(|directory| Path::new(&problem.file).strip_prefix(directory).ok());
        let mut parts = below.into_iter().flat_map(Path::components);
        let name = parts.next().map(|part| part.as_os_str().to_string_lossy().into_owned());
        let file = parts.next();
        match (name, file) {
            (Some(name), Some(_)) => match rows.iter_mut().find(|(known, _)| *known == name) {
                Some((_, problems)) => problems.push(problem.clone()),
                None => rows.push((name, vec![problem.clone()])),
            },
            _ => others.push(problem.clone()),
        }
    }
    rows.sort_by(|(one, _), (two, _)| one.cmp(two));
}
