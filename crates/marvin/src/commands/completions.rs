//! `marvin completions SHELL` and `marvin man`: both made from the definition of the command line.

use crate::failure::Failure;
use crate::{cli, output};
use marvin_base::Exit;

/// The completion script.
pub(super) fn completions(shell: clap_complete::Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::definition(), "marvin", &mut script);
    output::line(&String::from_utf8_lossy(&script))
}

/// The man page, one section for every command.
pub(super) fn man() -> Result<Exit, Failure> {
    let mut page = Vec::new();
    let failed = |error: std::io::Error| Failure::failed(format!("cannot make the man page: {error}"));
    let definition = cli::definition();
    clap_mangen::Man::new(definition.clone()).render(&mut page).map_err(failed)?;
    for command in definition.get_subcommands().filter(|command| command.get_name() != "help") {
        let title = format!("marvin {}", command.get_name());
        page.extend_from_slice(format!(".SH \"{}\"\n", title.to_uppercase()).as_bytes());
        let man = clap_mangen::Man::new(command.clone().bin_name(title.clone()).display_name(title));
        man.render_synopsis_section(&mut page).map_err(failed)?;
        man.render_description_section(&mut page).map_err(failed)?;
        man.render_options_section(&mut page).map_err(failed)?;
    }
    output::line(&String::from_utf8_lossy(&page))
}
