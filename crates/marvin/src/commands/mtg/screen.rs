//! The full-screen board of `marvin mtg play`.

use super::failures::table_failure;
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_table::{PlayerId, Table};
use marvin_tui::Options;
use marvin_tui::board::{self, FinishedGame};
use std::io::IsTerminal;

/// Whether the board can have the screen.
pub(super) fn has_screen() -> bool {
    let environment = Environment::of_process();
    let is_dumb = environment.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !is_dumb
}

/// Plays on the screen, the games of a match one after the other, and prints a summary of each.
pub(super) fn play_on_screen(mut table: Table, seat: PlayerId) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let no_color = environment.get("NO_COLOR").is_some_and(|value| !value.is_empty());
    let options = Options { no_color, editor: String::new() };
    marvin_base::diagnostic_log::hide();
    loop {
        let FinishedGame { summary, next } = board::play(&options, table, seat).map_err(Failure::failed)?;
        output::line(&summary.to_string())?;
        match next {
            Some(Ok(game)) => table = game,
            Some(Err(error)) => return Err(table_failure(error)),
            None => return Ok(Exit::Success),
        }
    }
}
