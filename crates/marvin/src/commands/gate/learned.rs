//! `marvin gate learned` and `marvin gate suggestions`: a person decides which approvals become rules.

use super::scene::Scene;
use crate::failure::Failure;
use crate::{deciding, output};
use clap::{Args, Subcommand};
use marvin_base::Exit;
use marvin_gate::layers::{Rule, learn};
use std::fmt::Display;
use std::sync::Arc;

/// List, add and remove learned rules
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin gate learned list\n  marvin gate learned add 'npm install --save-dev typescript'"
)]
pub(crate) enum LearnedCommand {
    /// List the learned rules of this project
    #[command(
        after_help = "Examples:\n  marvin gate learned list\n  marvin gate learned list --json | jq -r '.[].pattern'"
    )]
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Learn that exactly this command may run here without a question
    #[command(after_help = "Examples:\n  marvin gate learned add 'npm install --save-dev typescript'")]
    Add {
        /// The command line
        #[arg(value_name = "CMD")]
        command: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget a learned rule
    #[command(after_help = "Examples:\n  marvin gate learned remove learned-1760000000000-a1b2c3")]
    Remove {
        /// Its id
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// Show approved commands that could become rules
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing is learned until you accept it.\n\nExamples:\n  marvin gate suggestions\n  marvin gate suggestions accept s-1x2y3z\n  marvin gate suggestions dismiss s-1x2y3z"
)]
pub(crate) struct SuggestionsArguments {
    #[command(subcommand)]
    command: Option<SuggestionsCommand>,
    /// As JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum SuggestionsCommand {
    /// Turn it into a rule
    #[command(after_help = "Example:\n  marvin gate suggestions accept s-1x2y3z")]
    Accept {
        /// Its id
        id: String,
    },
    /// Do not show it again
    #[command(after_help = "Example:\n  marvin gate suggestions dismiss s-1x2y3z")]
    Dismiss {
        /// Its id
        id: String,
    },
}

pub(super) fn run(command: LearnedCommand) -> Result<Exit, Failure> {
    let scene = Scene::find(None, false)?;
    match command {
        LearnedCommand::List { json } => {
            let rules = learn::learned(&scene.layout).map_err(Failure::failed)?;
            show(&rules, json)
        }
        LearnedCommand::Add { command, json } => {
            let rules = scene.layers.learnable(&command, scene.place()).map_err(cannot)?;
            let redactor = output::environment_redactor();
            deciding::decide("gate learned add", &redactor.text(&command))?;
            let new = learn::add(&scene.layout, &command, "command line", &rules, &redactor);
            show(&new.map_err(Failure::failed)?, json)
        }
        LearnedCommand::Remove { id, json } => {
            deciding::decide("gate learned remove", &id)?;
            if !learn::remove(&scene.layout, &id).map_err(Failure::failed)? {
                return Err(Failure::usage(format!("no learned rule is called `{id}`"))
                    .hint("`marvin gate learned list` shows them"));
            }
            if json { output::json_entry("removed", &id) } else { output::line(&format!("removed {id}")) }
        }
    }
}

fn cannot(reason: impl Display) -> Failure {
    Failure::refused(format!("cannot learn this command: {reason}"))
        .hint("write a rule of your own into allowlist.json (docs/gate.md)")
}

fn show(rules: &[Rule], as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        return output::json(&rules);
    }
    if rules.is_empty() {
        return output::line("Nothing new is learned here.");
    }
    let row = |rule: &Rule| {
        let directory = rule.directory.as_deref().unwrap_or("anywhere");
        format!("{}  {}  (in: {directory})", rule.id, rule.pattern)
    };
    output::line(&rules.iter().map(row).collect::<Vec<_>>().join("\n"))
}

/// Shows suggestions, or decides on one.
pub(super) fn suggestions(arguments: SuggestionsArguments) -> Result<Exit, Failure> {
    let SuggestionsArguments { command, json: as_json } = arguments;
    let scene = Scene::find(None, false)?;
    let directory = scene.layout.security();
    let waiting = learn::suggestions(&directory).map_err(Failure::failed)?;
    let (id, accepted) = match command {
        None if as_json => return output::json(&waiting),
        None if waiting.is_empty() => return output::line("Nothing is suggested."),
        None => {
            let mut text = String::new();
            for suggestion in &waiting {
                text.push_str(&format!("{}  {}\n", suggestion.id, suggestion.command));
                for rule in &suggestion.rules {
                    text.push_str(&format!(
                        "  would allow exactly: {}  (in: {})\n",
                        rule.pattern, rule.directory
                    ));
                }
            }
            text.push_str("\n`marvin gate suggestions accept ID` makes a rule of one.\n");
            return output::line(&text);
        }
        Some(SuggestionsCommand::Accept { id }) => (id, true),
        Some(SuggestionsCommand::Dismiss { id }) => (id, false),
    };
    let Some(chosen) = waiting.iter().find(|suggestion| suggestion.id == id) else {
        return Err(Failure::usage(format!("no suggestion is called `{id}`"))
            .hint("`marvin gate suggestions` shows them"));
    };
    let word = if accepted { "gate suggestions accept" } else { "gate suggestions dismiss" };
    deciding::decide(word, &id)?;
    let redactor = Arc::new(output::environment_redactor());
    let mut new = Vec::new();
    if accepted {
        // Judged again: the file of suggestions is in the project, so its text may not be what was approved.
        let rules = scene.layers.learnable(&chosen.command, scene.place()).map_err(cannot)?;
        if rules != chosen.rules {
            return Err(cannot("the suggestion does not fit its command"));
        }
        new = learn::add(&scene.layout, &chosen.command, &chosen.session, &rules, &redactor)
            .map_err(Failure::failed)?;
    }
    learn::decide(&directory, &id, accepted, &redactor).map_err(Failure::failed)?;
    if accepted { show(&new, as_json) } else { output::line(&format!("dismissed {id}")) }
}
