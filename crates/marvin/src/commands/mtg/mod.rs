//! `marvin mtg`: cards, decks, scenarios and games of the rules engine for Magic.

mod browser;
mod cards;
mod decks;
mod failures;
mod play;
mod pool;
mod replay;
mod review;
mod scenario;
mod screen;
mod serve;
mod simulate;
mod table;
mod tournament;
mod watch;

use crate::failure::Failure;
use clap::Subcommand;
use marvin_base::Exit;

/// Cards, decks and games of the rules engine for Magic (unofficial fan content)
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin mtg play --deck boundless_elves --against dark_sacrifice --tutor\n  marvin mtg watch --players heuristic,random\n  marvin mtg decks list"
)]
pub(crate) enum MtgCommand {
    #[command(subcommand)]
    Cards(cards::CardsCommand),
    #[command(subcommand)]
    Decks(decks::DecksCommand),
    Play(play::PlayArguments),
    Watch(watch::WatchArguments),
    Tournament(tournament::TournamentArguments),
    Review(review::ReviewArguments),
    Serve(serve::ServeArguments),
    Join(serve::JoinArguments),
    Scenario(scenario::ScenarioArguments),
    Simulate(simulate::SimulateArguments),
    Replay(replay::ReplayArguments),
}

pub(crate) fn run(command: MtgCommand) -> Result<Exit, Failure> {
    match command {
        MtgCommand::Cards(command) => cards::run(command),
        MtgCommand::Decks(command) => decks::run(command),
        MtgCommand::Play(arguments) => play::run(&arguments),
        MtgCommand::Watch(arguments) => watch::run(&arguments),
        MtgCommand::Tournament(arguments) => tournament::run(&arguments),
        MtgCommand::Review(arguments) => review::run(&arguments),
        MtgCommand::Serve(arguments) => serve::serve(&arguments),
        MtgCommand::Join(arguments) => serve::join(&arguments),
        MtgCommand::Scenario(arguments) => scenario::run(&arguments),
        MtgCommand::Simulate(arguments) => simulate::run(&arguments),
        MtgCommand::Replay(arguments) => replay::run(&arguments),
    }
}
