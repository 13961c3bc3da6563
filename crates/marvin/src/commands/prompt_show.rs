//! `marvin prompt show`: what an agent is told, and what it is made of.

use super::{directory, packs};
use crate::cli::PromptCommand;
use crate::failure::Failure;
use crate::output;
use marvin_agent::ProjectContext;
use marvin_agent::compose::Composer;
use marvin_agent::roles::Role;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use serde_json::json;

/// Runs the command.
pub(super) fn run(command: PromptCommand) -> Result<Exit, Failure> {
    let PromptCommand::Show { role, step, working_dir, json: as_json } = command;
    let role = Role::find(&role).map_err(|error| Failure::usage(format!("--role: {error}")))?;
    let coding = role != Role::Chat;
    let ground = ProjectContext::find(
        Environment::of_process(),
        directory()?,
        working_dir.as_deref(),
        coding,
        Vec::new(),
    )?;
    let mut composer = Composer::here(&ground, role, step.as_deref());
    composer.extras.extend(packs::for_agents(&ground));
    let composed = composer.compose();
    if as_json {
        return output::json(&json!({
            "role": role.name(), "step": step, "hash": composed.hash, "bytes": composed.text.len(),
            "pieces": composed.pieces, "text": composed.text,
        }));
    }
    // Exactly as it is sent: no line end is added.
    output::raw(&composed.text)?;
    Ok(Exit::Success)
}
