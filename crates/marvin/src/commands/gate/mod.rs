//! `marvin gate`: judge commands, explain verdicts, keep rules. No runtime, no model, and no settings: most of these
//! commands are asked for before every command of another program, and must cost no more than starting one.

mod eval;
mod explain;
mod judge;
mod learned;
mod rules;

use crate::cli::{GateCommand, GatePlace};
use crate::commands::directory;
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_gate::effects::Grounds;
use marvin_gate::layers::{Layers, Place, Stats};
use marvin_hooks::event::Client;
use std::path::{Path, PathBuf};

/// Runs one of the gate's commands.
pub(crate) fn run(command: GateCommand) -> Result<Exit, Failure> {
    match command {
        GateCommand::Judge { place, .. } => judge::run(&Scene::from_arguments(&place)?),
        GateCommand::Explain { command, place, json, exit_code, client } => {
            let scene = Scene::from_arguments(&place)?;
            match client.as_deref().and_then(Client::read) {
                Some(client) => explain::for_client(&command, &scene, client, json, exit_code),
                None => explain::run(&command, &scene, json, exit_code),
            }
        }
        GateCommand::Eval { file, working_dir, rules, json } => {
            eval::run(&file, &Scene::find(working_dir.as_deref(), !rules)?, json)
        }
        GateCommand::Rules(command) => rules::run(command),
        GateCommand::Trust { remove, working_dir, json } => {
            rules::trust(remove, working_dir.as_deref(), json)
        }
        GateCommand::Suggestions { command, json } => learned::suggestions(command, json),
        GateCommand::Learned(command) => learned::run(command),
        GateCommand::Stats { working_dir, json } => stats(working_dir.as_deref(), json),
    }
}

/// Where commands are thought to run.
struct Scene {
    directory: String,
    home: String,
    layout: Layout,
    layers: Layers,
}

impl Scene {
    fn from_arguments(place: &GatePlace) -> Result<Self, Failure> {
        Scene::find(place.working_dir.as_deref(), place.no_rules)
    }

    /// The directory need not be there: commands for another machine can be judged too.
    fn find(working_dir: Option<&Path>, no_rules: bool) -> Result<Self, Failure> {
        let given = match working_dir {
            Some(path) if path.is_absolute() => path.to_path_buf(),
            Some(path) => directory()?.join(path),
            None => directory()?,
        };
        let workspace: PathBuf = given.canonicalize().unwrap_or(given);
        let Some(text) = workspace.to_str() else {
            return Err(Failure::usage(format!(
                "the name of {} is not UTF-8 text\n  hint: use another directory with --working-dir",
                workspace.display()
            )));
        };
        let environment = Environment::of_process();
        let bare = Layout::new(&environment, None);
        let home = bare.home().to_path_buf();
        // Rules stand at the top of a project, wherever in it somebody works.
        let project = bare.find_project(&workspace).unwrap_or_else(|| workspace.clone());
        let layout = Layout::new(&environment, Some(&project));
        let layers = if no_rules { Layers::none() } else { Layers::new(&layout) };
        Ok(Scene { directory: text.to_string(), home: home.display().to_string(), layout, layers })
    }

    fn place(&self) -> Place<'_> {
        Place {
            directory: &self.directory,
            grounds: Grounds { workspace: &self.directory, home: &self.home },
        }
    }
}

fn stats(working_dir: Option<&Path>, as_json: bool) -> Result<Exit, Failure> {
    let scene = Scene::find(working_dir, true)?;
    let directory = scene.layout.security();
    let stats = Stats::read(&directory).map_err(|error| Failure::failed(error.to_string()))?;
    if as_json {
        return output::json(&serde_json::to_value(&stats).unwrap_or_default());
    }
    if stats.total == 0 {
        return output::line(&format!("No decisions in {}.", directory.display()));
    }
    let mut text = format!(
        "{} decisions, {} to {}\n",
        stats.total,
        stats.first.as_deref().unwrap_or("?"),
        stats.last.as_deref().unwrap_or("?")
    );
    for (title, counts) in [("verdict", &stats.decisions), ("layer", &stats.layers), ("rule", &stats.rules)] {
        text.push_str(&format!("\nby {title}\n"));
        let mut rows: Vec<(&String, &u64)> = counts.iter().collect();
        rows.sort_by(|(a, one), (b, two)| two.cmp(one).then(a.cmp(b)));
        for (name, count) in rows.into_iter().take(20) {
            text.push_str(&format!("  {count:8}  {name}\n"));
        }
    }
    text.push_str(&format!(
        "\ntime in milliseconds: p50 {:.3}, p90 {:.3}, p99 {:.3}, most {:.3}\n",
        stats.p50_ms, stats.p90_ms, stats.p99_ms, stats.most_ms
    ));
    if stats.warnings + stats.damaged > 0 {
        text.push_str(&format!("{} warnings, {} lines that cannot be read\n", stats.warnings, stats.damaged));
    }
    output::line(&text)
}
