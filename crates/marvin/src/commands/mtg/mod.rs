//! `marvin mtg`: cards, decks, scenarios and games of the rules engine for Magic.

mod cards;
mod decks;
mod pool;
mod replay;
mod scenario;
mod simulate;

use crate::failure::Failure;
use clap::Subcommand;
use marvin_base::Exit;

/// Cards, decks and games of the rules engine for Magic (unofficial fan content)
#[derive(Debug, Subcommand)]
pub(crate) enum MtgCommand {
    #[command(subcommand)]
    Cards(cards::CardsCommand),
    #[command(subcommand)]
    Decks(decks::DecksCommand),
    Scenario(scenario::ScenarioArguments),
    Simulate(simulate::SimulateArguments),
    Replay(replay::ReplayArguments),
}

pub(crate) fn run(command: MtgCommand) -> Result<Exit, Failure> {
    match command {
        MtgCommand::Cards(command) => cards::run(command),
        MtgCommand::Decks(command) => decks::run(command),
        MtgCommand::Scenario(arguments) => scenario::run(&arguments),
        MtgCommand::Simulate(arguments) => simulate::run(&arguments),
        MtgCommand::Replay(arguments) => replay::run(&arguments),
    }
}
