//! `marvin` alone: shows that it works, then says what to do next.

use crate::cli::{OutputFormat, TurnArguments};
use crate::commands::{ground, turn};
use crate::failure::Failure;
use crate::output;
use marvin_agent::session::Manner;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_model::choose;
use marvin_model::cost::Totals;

const QUESTION: &str = "what is 26.2 miles in km";

/// A real turn of the built-in model with a real tool, and the next steps.
pub(super) fn run(mut arguments: TurnArguments) -> Result<Exit, Failure> {
    if arguments.json || arguments.output_format != OutputFormat::Text {
        return Err(Failure::usage(
            "there is nothing to answer\n  hint: give words, or --non-interactive with a prompt (`marvin --help`)",
        ));
    }
    let ground = ground(false)?;
    let environment = Environment::of_process();
    let providers = choose::survey(&ground.settings, &ground.layout, &environment);
    let chosen = choose::provider_name(&ground.settings, &ground.layout);
    output::line(&format!(
        "Marvin {}: a deterministic shell for LLM agents. Models propose, the shell decides.\n\n\
         One turn of the built-in model, which needs no key:\n\n> {QUESTION}",
        env!("CARGO_PKG_VERSION")
    ))?;
    arguments.provider = Some("mock".into());
    arguments.script = None;
    let asked = turn::ground(&arguments, false)?;
    let (exit, _) = turn::turn(&arguments, asked, QUESTION, Manner::Unattended, &mut Totals::default())?;
    let ready: Vec<&str> =
        providers.iter().filter(|row| row.ready && row.provider != "mock").map(|row| row.provider).collect();
    let models = if ready.is_empty() {
        "No other model is ready: set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or GROQ_API_KEY,\n\
         or start Ollama. Until then the built-in model answers."
            .to_string()
    } else {
        format!("Ready: {}. Your prompts go to `{chosen}`; choose with --provider.", ready.join(", "))
    };
    output::line(&format!(
        "\n{models}\n\n\
         Next:\n  \
         marvin what is 3 km in miles                        ask once\n  \
         marvin --non-interactive --prompt 'list files'      run unattended in this folder\n  \
         marvin tools list                                   what a model can call\n  \
         marvin doctor                                       what is ready on this machine\n  \
         marvin --help                                       everything else"
    ))?;
    Ok(exit)
}
