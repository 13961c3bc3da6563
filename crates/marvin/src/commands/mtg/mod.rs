//! `marvin mtg`: cards, decks, scenarios and games of the rules engine for Magic.

mod cards;
mod decks;
mod play;
mod pool;
mod replay;
mod review;
mod scenario;
mod serve;
mod simulate;
mod tournament;
mod watch;

use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::project;
use clap::Subcommand;
use marvin_base::Exit;
use marvin_table::TableContext;

/// Cards, decks and games of the rules engine for Magic (unofficial fan content)
#[derive(Debug, Subcommand)]
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

/// The games of the project around the directory; else the person's own.
fn table_context(place: &ProjectArguments) -> Result<TableContext, Failure> {
    let project = project::project_context(place.working_dir.as_deref(), false, Vec::new())?;
    TableContext::of_project(&project).map_err(play::table_failure)
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
