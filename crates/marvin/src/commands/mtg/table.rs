//! Context and decks of games at the table.

use super::decks::load_deck;
use super::failures::table_failure;
use super::pool::find_deck;
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::project;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use marvin_table::{DeckChoice, SeatKind, TableContext};

/// The games of the project around the directory; else the person's own.
pub(super) fn table_context(place: &ProjectArguments) -> Result<TableContext, Failure> {
    let project = project::project_context(place.working_dir.as_deref(), false, Vec::new())?;
    TableContext::of_project(&project).map_err(table_failure)
}

pub(super) fn seat_parser() -> impl TypedValueParser<Value = SeatKind> {
    PossibleValuesParser::new(SeatKind::ALL.map(SeatKind::key))
        .map(|key| SeatKind::find(&key).unwrap_or(SeatKind::Heuristic))
}

/// A deck of a seat: shipped, or from a file.
pub(super) fn choose_deck(name: &str) -> Result<DeckChoice, Failure> {
    let list = load_deck(name)?;
    let name = find_deck(name).map_or_else(|| name.to_owned(), |shipped| shipped.id.clone());
    Ok(DeckChoice { name, list })
}
