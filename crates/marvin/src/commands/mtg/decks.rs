//! `marvin mtg decks`: shipped decks, deck files of other programs, and their checks.

use super::pool::{find_deck, load_pool};
use crate::argument_file::read_bytes;
use crate::failure::Failure;
use crate::output;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use marvin_base::{Exit, atomic};
use marvin_mtg::decks::{
    Construction, DeckEntry, DeckFormat, DeckList, DeckReport, ImportedDeck, Violation, check, export,
    import, shipped_decks,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// List, show, import and export decks
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin mtg decks list\n  marvin mtg decks show boundless_elves\n  marvin mtg decks import deck.txt"
)]
pub(crate) enum DecksCommand {
    List(ListArguments),
    Show(ShowArguments),
    Import(ImportArguments),
    Export(ExportArguments),
}

/// List the shipped decks
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  marvin mtg decks list --json | jq -r '.[].id'")]
pub(crate) struct ListArguments {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Show a deck: its cards, which of them are supported, and whether it is legal
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  marvin mtg decks show boundless_elves")]
pub(crate) struct ShowArguments {
    /// The id or name of a shipped deck, or a deck file
    #[arg(value_name = "DECK")]
    deck: String,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Read a deck file of Arena, MTGO, Forge or Cockatrice, and check it
#[derive(Debug, Args)]
#[command(
    after_help = "The format is recognised. Cards that are not supported are named with the declined line and with substitutes; with one of them the exit code is 1.\n\nExamples:\n  marvin mtg decks import deck.txt\n  marvin mtg decks import deck.cod --output deck.dck"
)]
pub(crate) struct ImportArguments {
    /// The deck file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the deck to this file, in Forge's format
    #[arg(long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Print a deck in the format of another program
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  marvin mtg decks export dark_sacrifice --format cockatrice > deck.cod")]
pub(crate) struct ExportArguments {
    /// The id or name of a shipped deck, or a deck file
    #[arg(value_name = "DECK")]
    deck: String,
    /// The format
    #[arg(long, default_value = "arena", value_parser = format_parser())]
    format: DeckFormat,
}

fn format_parser() -> impl TypedValueParser<Value = DeckFormat> {
    PossibleValuesParser::new(DeckFormat::ALL.map(DeckFormat::key)).map(|key| {
        DeckFormat::ALL.into_iter().find(|format| format.key() == key).unwrap_or(DeckFormat::Arena)
    })
}

#[derive(Serialize)]
struct DeckRow<'a> {
    id: &'a str,
    name: &'a str,
    set: &'a str,
    cards: u32,
}

#[derive(Serialize)]
struct ShownDeck<'a> {
    #[serde(flatten)]
    deck: &'a DeckList,
    report: DeckReport,
}

#[derive(Serialize)]
struct CheckedImport<'a> {
    #[serde(flatten)]
    imported: &'a ImportedDeck,
    report: DeckReport,
}

pub(crate) fn run(command: DecksCommand) -> Result<Exit, Failure> {
    match command {
        DecksCommand::List(arguments) => list(&arguments),
        DecksCommand::Show(arguments) => show(&arguments),
        DecksCommand::Import(arguments) => import_file(&arguments),
        DecksCommand::Export(arguments) => export_deck(&arguments),
    }
}

fn list(arguments: &ListArguments) -> Result<Exit, Failure> {
    let rows: Vec<DeckRow<'_>> = shipped_decks()
        .iter()
        .map(|shipped| DeckRow {
            id: &shipped.id,
            name: &shipped.deck.name,
            set: &shipped.set,
            cards: shipped.deck.main_count(),
        })
        .collect();
    if arguments.json {
        return output::json(&rows);
    }
    let lines: String = rows
        .iter()
        .map(|row| format!("{:32} {:4} {:3} cards  {}\n", row.id, row.set, row.cards, row.name))
        .collect();
    output::line(&lines)
}

/// Bytes of a deck file. A deck has a few kilobytes.
const MAX_DECK_BYTES: u64 = 16 * 1024 * 1024;

const DECK_HINT: &str = "give a deck of Arena, MTGO, Forge or Cockatrice, one card per line or XML";

/// Reads a deck file.
pub(super) fn read_deck(file: &Path) -> Result<ImportedDeck, Failure> {
    let bytes = read_bytes(file, MAX_DECK_BYTES, DECK_HINT)?;
    import(&String::from_utf8_lossy(&bytes)).map_err(|error| Failure::usage(error).hint(DECK_HINT))
}

pub(super) fn load_deck(name: &str) -> Result<DeckList, Failure> {
    if let Some(shipped) = find_deck(name) {
        return Ok(shipped.deck.clone());
    }
    let file = Path::new(name);
    if file.is_file() {
        return Ok(read_deck(file)?.deck);
    }
    Err(Failure::usage(format!("no deck is called `{name}`")).hint("list the decks: marvin mtg decks list"))
}

fn show(arguments: &ShowArguments) -> Result<Exit, Failure> {
    let deck = load_deck(&arguments.deck)?;
    let report = check(&deck, &load_pool()?);
    if arguments.json {
        return output::json(&ShownDeck { deck: &deck, report });
    }
    let mut text = if deck.name.is_empty() { String::new() } else { format!("{}\n", deck.name) };
    text.push_str(&describe_entries("", &deck.main));
    text.push_str(&describe_entries("Sideboard\n", &deck.sideboard));
    text.push_str(&describe_report(&report));
    output::line(&text)
}

fn describe_entries(heading: &str, entries: &[DeckEntry]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let lines: String = entries.iter().map(|entry| format!("{:3} {}\n", entry.count, entry.name)).collect();
    format!("{heading}{lines}")
}

fn describe_report(report: &DeckReport) -> String {
    let mut text = format!("{} cards, {} in the sideboard\n", report.cards, report.sideboard);
    for unknown in &report.unknown {
        let suggestions = unknown.suggestions.join(", ");
        let suggestions =
            if suggestions.is_empty() { suggestions } else { format!(" (did you mean {suggestions}?)") };
        text.push_str(&format!("UNKNOWN {}{suggestions}\n", unknown.name));
    }
    for card in &report.unsupported {
        text.push_str(&format!("NOT SUPPORTED {}: {}\n", card.name, card.reason));
        if !card.substitutes.is_empty() {
            text.push_str(&format!("  substitutes: {}\n", card.substitutes.join(", ")));
        }
    }
    for legality in &report.legality {
        let construction = match legality.construction {
            Construction::Constructed => "constructed",
            Construction::Limited => "limited",
        };
        if legality.violations.is_empty() {
            text.push_str(&format!("legal in {construction}\n"));
        }
        for violation in &legality.violations {
            text.push_str(&format!("not legal in {construction}: {}\n", describe_violation(violation)));
        }
    }
    text
}

fn describe_violation(violation: &Violation) -> String {
    match violation {
        Violation::TooFewCards { count, minimum } => format!("{count} cards, at least {minimum} are needed"),
        Violation::TooManyCopies { name, count } => {
            format!("{count} copies of {name}, at most 4 are allowed")
        }
        Violation::SideboardTooLarge { count } => {
            format!("{count} cards in the sideboard, at most 15 are allowed")
        }
    }
}

fn import_file(arguments: &ImportArguments) -> Result<Exit, Failure> {
    let imported = read_deck(&arguments.file)?;
    let report = check(&imported.deck, &load_pool()?);
    let exit = if report.is_playable() { Exit::Success } else { Exit::Failed };
    if let Some(path) = &arguments.output {
        atomic::replace(path, export(&imported.deck, DeckFormat::Forge).as_bytes())
            .map_err(Failure::failed)?;
    }
    if arguments.json {
        output::json(&CheckedImport { imported: &imported, report })?;
        return Ok(exit);
    }
    let mut text = format!("read as {}\n", imported.format.key());
    for skipped in &imported.skipped {
        text.push_str(&format!("SKIPPED line {}: {} ({})\n", skipped.line, skipped.text, skipped.problem));
    }
    text.push_str(&describe_report(&report));
    output::line(&text)?;
    Ok(exit)
}

fn export_deck(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let deck = load_deck(&arguments.deck)?;
    output::raw(&export(&deck, arguments.format))?;
    Ok(Exit::Success)
}
