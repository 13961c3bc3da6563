//! `marvin prompt show`: the system message of a role, and its pieces.

use crate::failure::Failure;
use crate::{output, pack_context, project};
use clap::Subcommand;
use marvin_agent::agent_toolbox::agent_toolbox;
use marvin_agent::compose::{Composer, PieceRecord};
use marvin_agent::roles::Role;
use marvin_base::Exit;
use marvin_gate::Access;
use serde::Serialize;
use std::path::PathBuf;

/// Show an agent's prompt and its pieces
#[derive(Debug, Subcommand)]
#[command(after_help = "Example:\n  marvin prompt show --role Reviewer")]
pub(crate) enum PromptCommand {
    /// Print the system message of a role, exactly as a model would get it here
    #[command(
        after_help = "With --json: the message, its hash, and every piece with its size, whether it is included, and why not.\n\nExamples:\n  marvin prompt show --role Reviewer\n  marvin prompt show --role Implementer --step build --working-dir ~/src/app\n  marvin prompt show --json | jq '.pieces[] | select(.state != \"included\")'"
    )]
    Show {
        /// The role: Chat, Coder, Coordinator, Servitor, Research, Planner, Implementer, Debugger, Reviewer, TestTriager, TestWriter, DocumentWriter, SkillBuilder, Evaluator
        #[arg(long, value_name = "ROLE", default_value = "Coder", value_parser = Role::find)]
        role: Role,
        /// The step of a workflow that it works on
        #[arg(long, value_name = "STEP")]
        step: Option<String>,
        /// The directory that it works in
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// As JSON, with the pieces
        #[arg(long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct PromptReport<'a> {
    role: &'a str,
    step: Option<&'a str>,
    hash: &'a str,
    bytes: usize,
    pieces: &'a [PieceRecord],
    text: &'a str,
}

pub(crate) fn run(command: PromptCommand) -> Result<Exit, Failure> {
    let PromptCommand::Show { role, step, working_dir, json } = command;
    let context = project::context(working_dir.as_deref(), role != Role::Chat, Vec::new())?;
    let tools = agent_toolbox(&context, &Access::from_settings(&context.settings)).specs();
    let mut composer = Composer::here(&context, &tools, role, step.as_deref());
    composer.extras.extend(pack_context::guidance(&context));
    let composed = composer.compose();
    if json {
        return output::json(&PromptReport {
            role: role.name(),
            step: step.as_deref(),
            hash: &composed.hash,
            bytes: composed.text.len(),
            pieces: &composed.pieces,
            text: &composed.text,
        });
    }
    // Exactly as it is sent: no line end is added.
    output::raw(&composed.text)?;
    Ok(Exit::Success)
}
