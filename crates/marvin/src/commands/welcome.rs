//! `marvin` alone: shows that it works, then names the next steps.

use crate::commands::turn::{self, TurnArguments};
use crate::failure::Failure;
use crate::{output, project};
use marvin_agent::ProjectContext;
use marvin_agent::session::Manner;
use marvin_base::Exit;
use marvin_model::choose;
use marvin_model::cost::Totals;

const QUESTION: &str = "what is 26.2 miles in km";

/// Runs a turn of the built-in model with a tool, and prints the next steps.
pub(crate) fn run(arguments: &TurnArguments) -> Result<Exit, Failure> {
    let context = project::context(None, false, Vec::new())?;
    output::line(&format!(
        "{}\n\nOne turn of the built-in model, which needs no key:\n\n> {QUESTION}",
        head()
    ))?;
    let mut mock = arguments.clone();
    mock.provider = Some("mock".into());
    mock.script = None;
    let with_mock = turn::context(&mock, false)?;
    let (exit, _) = turn::turn(&mock, with_mock, QUESTION, Manner::Unattended, &mut Totals::default())?;
    output::line(&format!(
        "\n{}\n\n\
         Next:\n  \
         marvin what is 3 km in miles                        ask once\n  \
         marvin --non-interactive --prompt 'list files'      run unattended in this directory\n  \
         marvin tools list                                   what a model can call\n  \
         marvin doctor                                       what is ready on this machine\n  \
         marvin --help                                       everything else",
        models(&context)
    ))?;
    Ok(exit)
}

fn head() -> String {
    format!(
        "Marvin {}: a deterministic shell for LLM agents. Models propose, the shell decides.",
        env!("CARGO_PKG_VERSION")
    )
}

/// The providers that are ready.
fn models(context: &ProjectContext) -> String {
    let providers = choose::survey(&context.settings, &context.layout, &context.environment);
    let chosen = choose::provider_name(&context.settings, &context.layout);
    let ready: Vec<&str> =
        providers.iter().filter(|row| row.ready && row.provider != "mock").map(|row| row.provider).collect();
    if ready.is_empty() {
        "No other model is ready: set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or GROQ_API_KEY,\n\
         or start Ollama. Until then the built-in model answers."
            .to_string()
    } else {
        format!("Ready: {}. Your prompts go to `{chosen}`; choose with --provider.", ready.join(", "))
    }
}

/// The first screen of a person's first conversation.
pub(crate) fn text(context: &ProjectContext) -> String {
    format!(
        "{}\n\n{}\n\nTry:\n  {QUESTION}\n  note buy milk\n  !code            file and command tools in this directory\n  /help            every command; ? shows every key",
        head(),
        models(context).replace('\n', " ")
    )
}
