//! `marvin mtg watch`: a game between players without a person, shown as it is played.

use super::failures::table_failure;
use super::table::{DeckArguments, SearchArguments, SeedArguments, seat_parser, table_context};
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::output;
use crate::runtime::runtime;
use clap::Args;
use marvin_base::Exit;
use marvin_table::{GameSetup, OptionStyle, PlayerId, SeatKind, Table};
use std::time::Duration;

/// Watch a game between two players without a person
#[derive(Debug, Args)]
#[command(
    after_help = "What is shown is what seat 0 sees.\n\nExamples:\n  marvin mtg watch --players model,heuristic --pace-ms 1000\n  marvin mtg watch --players heuristic,random --seed 7 --pace-ms 0"
)]
pub(crate) struct WatchArguments {
    /// The two players
    #[arg(long, value_delimiter = ',', default_value = "model,heuristic", value_name = "PLAYER,PLAYER", value_parser = seat_parser())]
    players: Vec<SeatKind>,
    #[command(flatten)]
    decks: DeckArguments,
    #[command(flatten)]
    seed: SeedArguments,
    /// Pause after each event
    #[arg(long, default_value_t = 400, value_name = "MS")]
    pace_ms: u64,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    place: ProjectArguments,
}

pub(crate) fn run(arguments: &WatchArguments) -> Result<Exit, Failure> {
    let [one, two] = arguments.players.as_slice() else {
        return Err(Failure::usage("two players are needed").hint("for example --players model,heuristic"));
    };
    let decks = arguments.decks.choose()?;
    if [*one, *two].contains(&SeatKind::Person) {
        return Err(Failure::usage("a person cannot be watched").hint("play: marvin mtg play"));
    }
    let context = table_context(&arguments.place)?;
    let setup = GameSetup {
        think_ms: arguments.search.think_ms,
        iterations: arguments.search.iterations,
        ..GameSetup::new(decks, [*one, *two], arguments.seed.choose())
    };
    let mut table = Table::create(&context, setup).map_err(table_failure)?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let (mut shown, mut turn) = (0, 0);
        loop {
            let over = table.step().await.map_err(table_failure)?.is_some();
            for line in table.log(PlayerId(0), shown).into_iter().filter(|_| !arguments.place.json) {
                if line.turn != turn {
                    turn = line.turn;
                    output::line(&format!("\n{}", table.board(PlayerId(0)).to_text(OptionStyle::Numbers)))?;
                }
                output::line(&line.text)?;
                tokio::time::sleep(Duration::from_millis(arguments.pace_ms)).await;
            }
            shown = table.log_length();
            if over {
                break;
            }
        }
        let summary = table.close().map_err(table_failure)?;
        if arguments.place.json { output::json(&summary) } else { output::line(&format!("\n{summary}")) }
    })
}
