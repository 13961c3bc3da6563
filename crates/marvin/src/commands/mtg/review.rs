//! `marvin mtg review`: where answers of a game cost chances to win.

use super::failures::table_failure;
use super::table::table_context;
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use marvin_base::Exit;
use marvin_table::{PlayerId, REVIEW_ITERATIONS, Review, Table};

/// Review a game: turning points by search, with their severity and rule
#[derive(Debug, Args)]
#[command(
    after_help = "Each answer that differs from the heuristic player's is compared with the best one that a search finds, from what the seat could know. A loss of 5 % of the chances is an inaccuracy, of 12 % a mistake, of 25 % a blunder.\n\nExamples:\n  marvin mtg review\n  marvin mtg review game_20260101_120000_1a2b --seat 1 --json"
)]
pub(crate) struct ReviewArguments {
    /// The game; the last one if there is none
    #[arg(value_name = "GAME")]
    game: Option<String>,
    /// The seat whose answers are looked at
    #[arg(long, default_value_t = 0, value_name = "SEAT", value_parser = clap::value_parser!(u8).range(0..2))]
    seat: u8,
    /// Iterations of the search for one answer
    #[arg(long, default_value_t = REVIEW_ITERATIONS, value_name = "N")]
    iterations: u32,
    #[command(flatten)]
    place: ProjectArguments,
}

pub(crate) fn run(arguments: &ReviewArguments) -> Result<Exit, Failure> {
    let context = table_context(&arguments.place)?;
    let game = match &arguments.game {
        Some(game) => game.clone(),
        None => {
            let rows = Table::list(&context).map_err(table_failure)?;
            let Some(last) = rows.into_iter().next() else {
                return Err(Failure::usage("no game was played here").hint("play one: marvin mtg play"));
            };
            last.id
        }
    };
    let seat = PlayerId(arguments.seat);
    let review = Review::of_game(&context, &game, seat, Some(arguments.iterations)).map_err(table_failure)?;
    if arguments.place.json { output::json(&review) } else { output::line(&format!("{game}: {review}")) }
}
