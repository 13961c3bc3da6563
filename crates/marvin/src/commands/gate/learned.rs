//! `marvin gate learned` and `marvin gate suggestions`: by these a person says what may be remembered.

use super::Scene;
use crate::cli::{LearnedCommand, SuggestionsCommand};
use crate::commands::deciding;
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_gate::layers::learn::LearnError;
use marvin_gate::layers::{Rule, learn};
use serde_json::json;
use std::sync::Arc;

/// Runs one of the commands about what was learned.
pub(super) fn run(command: LearnedCommand) -> Result<Exit, Failure> {
    let scene = Scene::find(None, false)?;
    match command {
        LearnedCommand::List { json } => {
            let rules = learn::learned(&scene.layout).map_err(|error| failed(&error))?;
            show(&rules, json)
        }
        LearnedCommand::Add { command, json } => {
            let rules =
                scene.layers.learnable(&command, scene.place()).map_err(|why| cannot(&why.to_string()))?;
            let redactor = output::environment_redactor();
            deciding::decide("gate learned add", &redactor.text(&command))?;
            let new = learn::add(&scene.layout, &command, "command line", &rules, &redactor);
            show(&new.map_err(|error| failed(&error))?, json)
        }
        LearnedCommand::Remove { id, json } => {
            deciding::decide("gate learned remove", &id)?;
            if !learn::remove(&scene.layout, &id).map_err(|error| failed(&error))? {
                return Err(Failure::usage(format!(
                    "there is no learned rule `{id}`\n  hint: `marvin gate learned list` shows them"
                )));
            }
            if json { output::json(&json!({"removed": id})) } else { output::line(&format!("removed {id}")) }
        }
    }
}

fn failed(error: &LearnError) -> Failure {
    Failure::failed(error.to_string())
}

fn cannot(why: &str) -> Failure {
    Failure::refused(format!(
        "nothing can be learned of it: {why}\n  hint: a rule of your own can stand in allowlist.json (docs/gate.md)"
    ))
}

fn show(rules: &[Rule], as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        return output::json(&json!(rules));
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
pub(super) fn suggestions(command: Option<SuggestionsCommand>, as_json: bool) -> Result<Exit, Failure> {
    let scene = Scene::find(None, false)?;
    let directory = scene.layout.security();
    let waiting = learn::suggestions(&directory).map_err(|error| Failure::failed(error.to_string()))?;
    let (id, accepted) = match command {
        None if as_json => return output::json(&json!(waiting)),
        None if waiting.is_empty() => return output::line("There are no suggestions."),
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
        return Err(Failure::usage(format!(
            "there is no suggestion `{id}`\n  hint: `marvin gate suggestions` shows them"
        )));
    };
    let word = if accepted { "gate suggestions accept" } else { "gate suggestions dismiss" };
    deciding::decide(word, &id)?;
    let redactor = Arc::new(output::environment_redactor());
    let mut new = Vec::new();
    if accepted {
        // Judged again: the file of suggestions lies in the project, and what it says may not be what was approved.
        let rules =
            scene.layers.learnable(&chosen.command, scene.place()).map_err(|why| cannot(&why.to_string()))?;
        if rules != chosen.rules {
            return Err(cannot("the suggestion does not fit its command"));
        }
        new = learn::add(&scene.layout, &chosen.command, &chosen.session, &rules, &redactor)
            .map_err(|error| failed(&error))?;
    }
    learn::decide(&directory, &id, accepted, &redactor).map_err(|error| failed(&error))?;
    if accepted { show(&new, as_json) } else { output::line(&format!("dismissed {id}")) }
}
