//! `marvin` alone: shows that it works, then says what to do next.

use crate::cli::TurnArguments;
use crate::commands::{ground, turn};
use crate::failure::Failure;
use crate::output;
use marvin_agent::ProjectContext;
use marvin_agent::session::Manner;
use marvin_base::Exit;
use marvin_model::choose;
use marvin_model::cost::Totals;

const QUESTION: &str = "what is 26.2 miles in km";

/// A real turn of the built-in model with a real tool, and the next steps.
pub(super) fn run(arguments: &TurnArguments) -> Result<Exit, Failure> {
    let ground = ground(false)?;
    output::line(&format!(
        "{}\n\nOne turn of the built-in model, which needs no key:\n\n> {QUESTION}",
        head()
    ))?;
    let mut asked = arguments.clone();
    asked.provider = Some("mock".into());
    asked.script = None;
    let stands = turn::ground(&asked, false)?;
    let (exit, _) = turn::turn(&asked, stands, QUESTION, Manner::Unattended, &mut Totals::default())?;
    output::line(&format!(
        "\n{}\n\n\
         Next:\n  \
         marvin what is 3 km in miles                        ask once\n  \
         marvin --non-interactive --prompt 'list files'      run unattended in this directory\n  \
         marvin tools list                                   what a model can call\n  \
         marvin doctor                                       what is ready on this machine\n  \
         marvin --help                                       everything else",
        models(&ground)
    ))?;
    Ok(exit)
}

fn head() -> String {
    format!(
        "Marvin {}: a deterministic shell for LLM agents. Models propose, the shell decides.",
        env!("CARGO_PKG_VERSION")
    )
}

/// Who can answer.
fn models(ground: &ProjectContext) -> String {
    let providers = choose::survey(&ground.settings, &ground.layout, &ground.environment);
    let chosen = choose::provider_name(&ground.settings, &ground.layout);
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

/// What a person sees who opens their first conversation.
pub(super) fn text(ground: &ProjectContext) -> String {
    format!(
        "{}\n\n{}\n\nTry:\n  {QUESTION}\n  note buy milk\n  !code            file and command tools in this directory\n  /help            every command; ? shows every key",
        head(),
        models(ground).replace('\n', " ")
    )
}
