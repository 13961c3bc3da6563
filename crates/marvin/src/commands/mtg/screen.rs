//! The full-screen board of `marvin mtg play`.

use super::failures::table_failure;
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_table::{NextGame, PlayerId, SideboardOutcome, Table};
use marvin_tui::Options;
use marvin_tui::board::{self, FinishedGame};
use std::io::{BufRead, IsTerminal};

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
        let Some(next) = next else { return Ok(Exit::Success) };
        match use_sideboard(next, seat)? {
            Some(game) => table = game,
            None => return Ok(Exit::Success),
        }
    }
}

/// Lets the person use the sideboard, line by line, and starts the game; `None` if the person leaves.
fn use_sideboard(mut next: NextGame, seat: PlayerId) -> Result<Option<Table>, Failure> {
    let mut is_leaving = false;
    if next.seats_with_sideboard().contains(&seat) {
        output::line(&next.invitation(seat))?;
        for line in std::io::stdin().lock().lines() {
            let line =
                line.map_err(|error| Failure::failed(format!("cannot read standard input: {error}")))?;
            match next.run_line(seat, &line) {
                SideboardOutcome::Text(text) => output::line(&text)?,
                SideboardOutcome::Ready => break,
                SideboardOutcome::Quit => {
                    is_leaving = true;
                    break;
                }
            };
        }
    }
    // The game exists from now on, so that it can be resumed.
    let table = next.start().map_err(table_failure)?;
    Ok((!is_leaving).then_some(table))
}
