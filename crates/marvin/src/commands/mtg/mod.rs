//! `marvin mtg`: cards, decks, scenarios and games of the rules engine for Magic.

mod cards;
mod decks;
mod replay;
mod scenario;
mod simulate;

use crate::failure::Failure;
use clap::Subcommand;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_mtg::cards::Pool;
use marvin_mtg::decks::{ShippedDeck, shipped_decks};

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

fn layout() -> Layout {
    Layout::new(&Environment::of_process(), None)
}

/// The shipped pool, with the cards of the imported pack over it.
fn load_pool() -> Result<Pool, Failure> {
    let shipped = Pool::shipped().map_err(Failure::failed)?;
    let path = layout().card_pack();
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(shipped.clone()),
        Err(error) => return Err(Failure::failed(format!("cannot read {}: {error}", path.display()))),
    };
    let mut pool = shipped.clone();
    let imported = Pool::read(&bytes).map_err(|error| {
        Failure::failed(error).hint("import the facts file again: marvin mtg cards import FILE")
    })?;
    for facts in imported.iter() {
        pool.insert(facts.clone());
    }
    Ok(pool)
}

/// The shipped deck with this id or name.
fn find_deck(name: &str) -> Option<&'static ShippedDeck> {
    let decks = shipped_decks();
    decks.iter().find(|deck| deck.id == name).or_else(|| {
        let folded = marvin_mtg::cards::fold_name(name);
        decks.iter().find(|deck| marvin_mtg::cards::fold_name(&deck.deck.name) == folded)
    })
}
