//! Context and decks of games at the table.

use super::decks::load_deck;
use super::failures::table_failure;
use super::pool::find_deck;
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::project;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use marvin_table::{DeckChoice, SeatKind, TableContext, random_seed};

/// The games of the project around the directory; else the person's own.
pub(super) fn table_context(place: &ProjectArguments) -> Result<TableContext, Failure> {
    let project = project::project_context(place.working_dir.as_deref(), false, Vec::new())?;
    TableContext::of_project(&project).map_err(table_failure)
}

pub(super) fn seat_parser() -> impl TypedValueParser<Value = SeatKind> {
    PossibleValuesParser::new(SeatKind::ALL.map(SeatKind::key))
        .map(|key| SeatKind::find(&key).unwrap_or(SeatKind::Heuristic))
}

/// Decks of a game between two players
#[derive(Debug, Args)]
pub(super) struct DeckArguments {
    /// The two decks
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "boundless_elves,dark_sacrifice",
        value_name = "DECK,DECK"
    )]
    decks: Vec<String>,
}

impl DeckArguments {
    /// The names of the two decks: ids or names of shipped decks, or deck files.
    pub(super) fn names(&self) -> Result<[&str; 2], Failure> {
        match self.decks.as_slice() {
            [one, two] => Ok([one, two]),
            _ => Err(Failure::usage("two decks are needed").hint("list the decks: marvin mtg decks list")),
        }
    }

    pub(super) fn choose(&self) -> Result<[DeckChoice; 2], Failure> {
        let [one, two] = self.names()?;
        Ok([choose_deck(one)?, choose_deck(two)?])
    }
}

/// Seed of one game
#[derive(Debug, Args)]
pub(super) struct SeedArguments {
    /// The seed; random if there is none
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl SeedArguments {
    pub(super) fn choose(&self) -> u64 {
        self.seed.unwrap_or_else(random_seed)
    }
}

/// Effort of the search player
#[derive(Debug, Args)]
pub(super) struct SearchArguments {
    /// How long `mcts` thinks about one decision
    #[arg(long, default_value_t = 500, value_name = "MS")]
    pub(super) think_ms: u64,
    /// Iterations of `mcts` for one decision, in place of a time
    #[arg(long, value_name = "N", conflicts_with = "think_ms")]
    pub(super) iterations: Option<u32>,
}

/// A deck of a seat: shipped, or from a file.
pub(super) fn choose_deck(name: &str) -> Result<DeckChoice, Failure> {
    let list = load_deck(name)?;
    let name = find_deck(name).map_or_else(|| name.to_owned(), |shipped| shipped.id.clone());
    Ok(DeckChoice { name, list })
}
