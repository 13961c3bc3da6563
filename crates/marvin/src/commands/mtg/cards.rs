//! `marvin mtg cards`: which cards the engine plays, and the local card pack.

use super::pool::{find_deck, layout, load_pool};
use crate::argument_file::read_bytes;
use crate::failure::Failure;
use crate::output;
use clap::{Args, Subcommand};
use marvin_base::printable::count;
use marvin_base::{Exit, atomic};
use marvin_mtg::cards::{CardFacts, Decline, OverrideFault, Pool, compile, override_faults};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Bytes of a file of card facts, which may be compressed.
const MAX_FACTS_BYTES: u64 = 256 * 1024 * 1024;

const FACTS_HINT: &str = "name a file of card facts, one JSON object per line (docs/mtg.md)";

/// List supported cards and import facts of cards
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin mtg cards support boundless_elves\n  marvin mtg cards import cards.jsonl.gz"
)]
pub(crate) enum CardsCommand {
    Support(SupportArguments),
    Import(ImportArguments),
}

/// List which cards of a deck or set are supported, and the line that was declined of the others
#[derive(Debug, Args)]
#[command(
    after_help = "A card is supported when every line of its text is read, and the same text is printed back.\n\nExamples:\n  marvin mtg cards support boundless_elves\n  marvin mtg cards support M19\n  marvin mtg cards support --all --json | jq -r '.declined[] | .name + \": \" + .line'"
)]
pub(crate) struct SupportArguments {
    /// The id of a shipped deck, a deck file, or the code of a set
    #[arg(value_name = "DECK|SET", required_unless_present = "all")]
    name: Option<String>,
    /// All cards of the pool
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Build the local card pack from a file of facts
#[derive(Debug, Args)]
#[command(
    after_help = "The file has one JSON object per line (name, mana_cost, type_line, oracle_text, power, toughness, loyalty, printings), compressed with gzip or not. The pack adds to the shipped pool.\n\nExamples:\n  marvin mtg cards import cards.jsonl.gz\n  marvin mtg cards import cards.jsonl --supported --output pool.jsonl.gz"
)]
pub(crate) struct ImportArguments {
    /// The facts file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Keep only cards for tournaments on paper that are supported, and those of the shipped decks
    #[arg(long)]
    supported: bool,
    /// Write the pack to this file (default: the pack of this user)
    #[arg(long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct SupportReport<'a> {
    cards: usize,
    supported: Vec<&'a str>,
    declined: Vec<DeclinedCard<'a>>,
    unknown: Vec<String>,
    /// Entries of the overrides that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    override_faults: Vec<OverrideFault>,
}

#[derive(Serialize)]
struct DeclinedCard<'a> {
    name: &'a str,
    #[serde(flatten)]
    decline: Decline,
}

#[derive(Serialize)]
struct ImportReport<'a> {
    cards: usize,
    supported: usize,
    bytes: usize,
    path: &'a Path,
}

pub(crate) fn run(command: CardsCommand) -> Result<Exit, Failure> {
    match command {
        CardsCommand::Support(arguments) => support(&arguments),
        CardsCommand::Import(arguments) => import(&arguments),
    }
}

fn support(arguments: &SupportArguments) -> Result<Exit, Failure> {
    let pool = load_pool()?;
    let (cards, unknown) = match &arguments.name {
        None => (pool.iter().collect(), Vec::new()),
        Some(name) => find_cards(name, &pool)?,
    };
    let mut report = SupportReport {
        cards: cards.len() + unknown.len(),
        supported: Vec::new(),
        declined: Vec::new(),
        unknown,
        override_faults: override_faults(),
    };
    for facts in cards {
        match compile(facts) {
            Ok(_) => report.supported.push(&facts.name),
            Err(decline) => report.declined.push(DeclinedCard { name: &facts.name, decline }),
        }
    }
    if arguments.json {
        return output::json(&report);
    }
    let mut text = format!("{} of {} cards are supported\n", report.supported.len(), report.cards);
    for DeclinedCard { name, decline } in &report.declined {
        text.push_str(&format!("DECLINED {name}: {}\n  {}\n", decline.line, decline.reason));
    }
    for name in &report.unknown {
        text.push_str(&format!("UNKNOWN {name}\n"));
    }
    for fault in &report.override_faults {
        text.push_str(&format!("OVERRIDE {fault}\n"));
    }
    output::line(&text)
}

/// The cards of a deck or set, and names that no card has.
fn find_cards<'p>(name: &str, pool: &'p Pool) -> Result<(Vec<&'p CardFacts>, Vec<String>), Failure> {
    let file = Path::new(name);
    let deck = match find_deck(name) {
        Some(shipped) => Some(shipped.deck.clone()),
        None if file.is_file() => Some(super::decks::read_deck(file)?.deck),
        None => None,
    };
    let Some(deck) = deck else {
        let cards: Vec<&CardFacts> = pool
            .iter()
            .filter(|facts| facts.set_codes().any(|code| code.eq_ignore_ascii_case(name)))
            .collect();
        if cards.is_empty() {
            return Err(Failure::usage(format!("no deck and no set is called `{name}`"))
                .hint("list the decks: marvin mtg decks list"));
        }
        return Ok((cards, Vec::new()));
    };
    let (mut cards, mut unknown): (Vec<&CardFacts>, Vec<String>) = (Vec::new(), Vec::new());
    for entry in deck.main.iter().chain(&deck.sideboard) {
        match pool.find(&entry.name) {
            Some(facts) if cards.iter().any(|known| known.name == facts.name) => {}
            Some(facts) => cards.push(facts),
            None => unknown.push(entry.name.clone()),
        }
    }
    Ok((cards, unknown))
}

fn import(arguments: &ImportArguments) -> Result<Exit, Failure> {
    let bytes = read_bytes(&arguments.file, MAX_FACTS_BYTES, FACTS_HINT)?;
    let read = Pool::read(&bytes).map_err(|error| Failure::usage(error).hint(FACTS_HINT))?;
    if read.is_empty() {
        // An empty pack would take the place of the one that is there.
        let name = arguments.file.display();
        return Err(Failure::usage(format!("cannot import {name}: it has no cards")).hint(FACTS_HINT));
    }
    let pool = if arguments.supported {
        read.select_supported(&marvin_mtg::decks::shipped_card_names())
    } else {
        let mut pool = Pool::default();
        for facts in read.iter() {
            pool.insert(facts.without_reminders());
        }
        pool
    };
    let supported = pool.iter().filter(|facts| compile(facts).is_ok()).count();
    let written = pool.write().map_err(Failure::failed)?;
    let path = arguments.output.clone().unwrap_or_else(|| layout().card_pack());
    atomic::replace(&path, &written).map_err(Failure::failed)?;
    let report = ImportReport { cards: pool.len(), supported, bytes: written.len(), path: &path };
    if arguments.json {
        return output::json(&report);
    }
    output::line(&format!(
        "imported {}, {supported} supported, to {} ({})",
        count(report.cards, "card"),
        path.display(),
        count(report.bytes, "byte")
    ))
}
