//! `marvin mtg tournament`: every player against every other, with changed seats and decks.

use super::failures::table_failure;
use super::table::{DeckArguments, SearchArguments, seat_parser, table_context};
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::output;
use crate::runtime::runtime;
use clap::Args;
use marvin_base::printable::count;
use marvin_base::{Exit, atomic};
use marvin_table::{
    DeckChoice, GameSetup, ModelFigures, SeatKind, Standing, Step, Table, TableContext, TableError,
    TournamentReport, plot_standings,
};
use std::path::PathBuf;

/// Let players without a person play a round robin
#[derive(Debug, Args)]
#[command(
    after_help = "Each pair of players plays the same number of games; they change seats after each game and decks after two. The interval is Wilson's with 95 %, a draw counts half.\n\nExamples:\n  marvin mtg tournament --players heuristic,random --games 40\n  marvin mtg tournament --players heuristic,mcts,random --think-ms 50 --plot standings.svg"
)]
pub(crate) struct TournamentArguments {
    /// The players
    #[arg(long, value_delimiter = ',', default_value = "heuristic,random", value_name = "PLAYER,…", value_parser = seat_parser())]
    players: Vec<SeatKind>,
    #[command(flatten)]
    decks: DeckArguments,
    /// Games of each pair
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    games: u64,
    /// The seed of the first game; the others count on from it
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    seed: u64,
    #[command(flatten)]
    search: SearchArguments,
    /// Keep the records of the games in this directory
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Write the standings as an SVG plot
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    place: ProjectArguments,
}

pub(crate) fn run(arguments: &TournamentArguments) -> Result<Exit, Failure> {
    let decks = arguments.decks.choose()?;
    if arguments.players.len() < 2 || arguments.players.contains(&SeatKind::Person) {
        return Err(Failure::usage("two or more players without a person are needed")
            .hint("for example --players heuristic,random,mcts"));
    }
    let mut context = table_context(&arguments.place)?;
    // Games of a tournament are not games of the person: their records are apart, or only for its time.
    let scratch = tempfile::tempdir()
        .map_err(|error| Failure::failed(format!("cannot create a directory for the games: {error}")))?;
    context.games = arguments.records.clone().unwrap_or_else(|| scratch.path().to_path_buf());
    let mut report = TournamentReport::default();
    let mut seed = arguments.seed;
    for (index, first) in arguments.players.iter().enumerate() {
        for second in arguments.players.iter().skip(index + 1) {
            for number in 0..arguments.games {
                let result = play_game(arguments, &context, &decks, [*first, *second], number, seed)?;
                report.add([first.key(), second.key()], result.0, result.1);
                seed = seed.wrapping_add(1);
            }
        }
    }
    print(arguments, &report)
}

/// Plays one game; the winner is 0 or 1 by player, not by seat.
fn play_game(
    arguments: &TournamentArguments,
    context: &TableContext,
    decks: &[DeckChoice; 2],
    players: [SeatKind; 2],
    number: u64,
    seed: u64,
) -> Result<(Option<usize>, Option<ModelFigures>), Failure> {
    let swapped = usize::from(number % 2 == 1);
    let [one, two] = players;
    let seats = if swapped == 0 { [one, two] } else { [two, one] };
    let [first, second] = decks.clone();
    let decks = if (number / 2 + number).is_multiple_of(2) { [first, second] } else { [second, first] };
    let setup = GameSetup {
        think_ms: arguments.search.think_ms,
        iterations: arguments.search.iterations,
        ..GameSetup::new(decks, seats, seed)
    };
    let runtime = runtime()?;
    let played: Result<(Option<usize>, Option<ModelFigures>), TableError> = runtime.block_on(async {
        let mut table = Table::create(context, setup)?;
        let winner = match table.play_on().await? {
            Step::Over(outcome) => outcome.winner.map(|seat| usize::from(seat.0) ^ swapped),
            _ => None,
        };
        let summary = table.close()?;
        Ok((winner, summary.model))
    });
    played.map_err(table_failure)
}

fn print(arguments: &TournamentArguments, report: &TournamentReport) -> Result<Exit, Failure> {
    let standings = report.standings();
    if arguments.place.json {
        output::json(&report.with_standings())?;
    } else {
        output::line(&standings_text(&standings, report))?;
    }
    // After the report, which a plot that cannot be written must not cost.
    if let Some(path) = &arguments.plot {
        atomic::replace(path, plot_standings(&standings).as_bytes()).map_err(Failure::failed)?;
    }
    Ok(Exit::Success)
}

fn standings_text(standings: &[Standing], report: &TournamentReport) -> String {
    let row = |row: &Standing| {
        format!(
            "{:10} {:4} games  {:4} won  {:3} drawn  {:5.1} % ({:.1} to {:.1})\n",
            row.player, row.games, row.wins, row.draws, row.percent, row.low_percent, row.high_percent
        )
    };
    let mut text: String = standings.iter().map(row).collect();
    for pair in &report.pairs {
        let ([one, two], [first, second]) = (pair.players, pair.wins);
        let draws = count(pair.draws, "draw");
        text.push_str(&format!("{one} {first} : {second} {two}, {draws}\n"));
    }
    if let Some(figures) = &report.model {
        text.push_str(&format!("{figures}\n"));
    }
    text
}
