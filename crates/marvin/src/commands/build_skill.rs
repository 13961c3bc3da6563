//! `marvin build-skill`: a skill that an agent writes and the shell proves.

use crate::arguments::{ModelArguments, ProjectArguments};
use crate::failure::Failure;
use crate::project::project_context;
use crate::runtime::{cancel_on_signal, runtime};
use crate::{deciding, output};
use clap::Args;
use marvin_base::Exit;
use marvin_lab::skills::{SkillRequest, build};

/// Let an agent write a skill with tests, and register it if they prove it
#[derive(Debug, Args)]
#[command(
    after_help = "The SkillBuilder writes a draft in a worktree. The shell runs its tests outside the agent, in the sandbox: they must pass with the skill's code and fail without it. Only then it is put into .marvin/skills and registered, with a lesson that names gap and benefit; `marvin skills trust` confirms its text. Otherwise nothing is registered (exit code 3), and the draft is kept as a candidate with the reason.\n\nExample:\n  marvin build-skill --name changelog-check \\\n    --purpose 'find commits that no line of CHANGELOG.md mentions' \\\n    --contract 'in: a git range; out: one line per commit; exit code 1 if there is any' \\\n    --tools read_file,run_command --justification 'three releases lacked lines'"
)]
pub(crate) struct BuildSkillArguments {
    /// Its name: small letters, digits and hyphens
    #[arg(long, value_name = "NAME")]
    name: String,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    purpose: String,
    /// What goes in and what comes out
    #[arg(long, value_name = "TEXT")]
    contract: String,
    /// The tools that it needs, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tools: Vec<String>,
    /// The gap that it closes
    #[arg(long, value_name = "TEXT")]
    justification: String,
    /// The run that showed the gap
    #[arg(long, value_name = "RUN")]
    from_run: Option<String>,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    project: ProjectArguments,
}

pub(crate) fn run(arguments: &BuildSkillArguments) -> Result<Exit, Failure> {
    deciding::refuse_agents()?;
    let context = project_context(arguments.project.working_dir.as_deref(), true, arguments.model.flags())?;
    let request = SkillRequest {
        name: arguments.name.clone(),
        purpose: arguments.purpose.clone(),
        contract: arguments.contract.clone(),
        tools: arguments
            .tools
            .iter()
            .map(|tool| tool.trim().to_string())
            .filter(|tool| !tool.is_empty())
            .collect(),
        justification: arguments.justification.clone(),
        from_run: arguments.from_run.clone(),
    };
    let report = runtime()?.block_on(async {
        let cancel = cancel_on_signal();
        build(&context, &request, Box::new(|_| {}), &cancel, &output::talk).await
    })?;
    if arguments.project.json {
        output::json(&report)?;
        return Ok(report.exit);
    }
    let place = report.directory.as_ref().map(|path| path.display().to_string());
    let place = place.as_deref().unwrap_or("nothing was written");
    match &report.refused {
        None => output::line(&format!(
            "{}: registered in {place}\nlesson: {}\nrun: {}",
            report.skill,
            report.lesson.as_deref().unwrap_or_default(),
            report.run
        ))?,
        Some(reason) => output::line(&format!(
            "{}: not registered: {reason}\ncandidate: {place}\nrun: {}",
            report.skill, report.run
        ))?,
    };
    Ok(report.exit)
}
