//! `marvin completions SHELL` and `marvin man`: both made from the definition of the command line.

use crate::failure::Failure;
use crate::output;
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use marvin_base::Exit;

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  marvin completions bash > ~/.local/share/bash-completion/completions/marvin\n  marvin completions zsh > ~/.zfunc/_marvin"
)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn completions(
    arguments: &CompletionsArguments,
    definition: &mut Command,
) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, definition, "marvin", &mut script);
    output::line(&String::from_utf8_lossy(&script))
}

/// Prints the man page, with one section per command.
pub(crate) fn man(definition: Command) -> Result<Exit, Failure> {
    let mut page = Vec::new();
    let failed = |error: std::io::Error| Failure::failed(format!("cannot make the man page: {error}"));
    let commands: Vec<Command> = definition.get_subcommands().cloned().collect();
    Man::new(definition).render(&mut page).map_err(failed)?;
    for command in commands.into_iter().filter(|command| command.get_name() != "help") {
        let title = format!("marvin {}", command.get_name());
        page.extend_from_slice(format!(".SH \"{}\"\n", title.to_uppercase()).as_bytes());
        let man = Man::new(command.bin_name(title.clone()).display_name(title));
        man.render_synopsis_section(&mut page).map_err(failed)?;
        man.render_description_section(&mut page).map_err(failed)?;
        man.render_options_section(&mut page).map_err(failed)?;
    }
    output::line(&String::from_utf8_lossy(&page))
}
