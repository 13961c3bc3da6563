//! `marvin mtg play`: a game of a person, on the screen or line by line.

use super::failures::table_failure;
use super::screen;
use super::table::{SearchArguments, SeedArguments, choose_deck, seat_parser, table_context};
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::output;
use crate::runtime::runtime;
use clap::Args;
use marvin_base::Exit;
use marvin_base::printable::count;
use marvin_table::{GameSetup, PlainSession, SeatKind, Table, TableContext};
use std::io::BufRead;

/// Play a game of Magic against another player
#[derive(Debug, Args)]
#[command(
    after_help = "Every answer is recorded before the next question: a game that was left or interrupted is continued with --resume at the same question. `help` at a question lists the commands.\n\nExamples:\n  marvin mtg play --deck boundless_elves --against dark_sacrifice --tutor\n  marvin mtg play --opponent mcts --think-ms 2000 --best-of 3\n  marvin mtg play --resume\n  printf '1\\n' | marvin mtg play --plain --seed 7"
)]
pub(crate) struct PlayArguments {
    /// Your deck: the id or name of a shipped deck, or a deck file
    #[arg(long, default_value = "boundless_elves", value_name = "DECK")]
    deck: String,
    /// The other deck
    #[arg(long, default_value = "dark_sacrifice", value_name = "DECK")]
    against: String,
    /// Who plays the other deck; `person` is a second person at the same keyboard
    #[arg(long, default_value = "heuristic", value_parser = seat_parser())]
    opponent: SeatKind,
    /// Hints, warnings before a pass, and a review at the end
    #[arg(long)]
    tutor: bool,
    /// Answers can be taken back
    #[arg(long)]
    training: bool,
    #[command(flatten)]
    seed: SeedArguments,
    /// Games of the match
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9))]
    best_of: u32,
    #[command(flatten)]
    search: SearchArguments,
    /// Line by line, also on a terminal
    #[arg(long)]
    plain: bool,
    /// Continue a game: the one with this id, or the last that is open
    #[arg(long, value_name = "GAME", num_args = 0..=1, default_missing_value = "")]
    resume: Option<String>,
    /// List the games of this project; outside projects, those of the person
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    place: ProjectArguments,
}

fn open_table(arguments: &PlayArguments, context: &TableContext) -> Result<Table, Failure> {
    let table = match arguments.resume.as_deref() {
        Some("") => Table::resume_latest(context),
        Some(id) => Table::resume(context, id),
        None => {
            let decks = [choose_deck(&arguments.deck)?, choose_deck(&arguments.against)?];
            let seats = [SeatKind::Person, arguments.opponent];
            let setup = GameSetup {
                tutor: arguments.tutor,
                training: arguments.training,
                best_of: arguments.best_of,
                think_ms: arguments.search.think_ms,
                iterations: arguments.search.iterations,
                ..GameSetup::new(decks, seats, arguments.seed.choose())
            };
            Table::create(context, setup)
        }
    };
    table.map_err(table_failure)
}

pub(crate) fn run(arguments: &PlayArguments) -> Result<Exit, Failure> {
    let context = table_context(&arguments.place)?;
    if arguments.list {
        let rows = Table::list(&context).map_err(table_failure)?;
        if arguments.place.json {
            return output::json(&rows);
        }
        // Outside projects all directories share the games of the person: the place says which these are.
        let place = context.games.display();
        if rows.is_empty() {
            return output::line(&format!("no game in {place}\n"));
        }
        let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
        return output::line(&format!("{lines}{} in {place}\n", count(rows.len(), "game")));
    }
    let table = open_table(arguments, &context)?;
    match table.person() {
        Some(seat) if !arguments.plain && screen::has_screen() => screen::play_on_screen(table, seat),
        _ => play_in_lines(table),
    }
}

/// Plays on standard input and output; the end of the input leaves the game.
fn play_in_lines(table: Table) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let mut session = PlainSession::new(table);
    let start = runtime.block_on(session.start()).map_err(table_failure)?;
    output::line(&start.text)?;
    let mut end = start.end;
    let mut lines = std::io::stdin().lock().lines();
    while end.is_none() {
        let line = match lines.next() {
            Some(Ok(line)) => line,
            Some(Err(error)) => return Err(Failure::failed(format!("cannot read standard input: {error}"))),
            None => "quit".to_owned(),
        };
        let next = runtime.block_on(session.run_line(&line)).map_err(table_failure)?;
        output::line(&next.text)?;
        end = next.end;
    }
    Ok(Exit::Success)
}
