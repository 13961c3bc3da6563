//! Deck files for other programs.

use super::import::DeckFormat;
use super::list::{DeckEntry, DeckList};
use quick_xml::escape::escape;

/// Writes a deck in the given format; `import` reads it back.
#[must_use]
pub fn export(deck: &DeckList, format: DeckFormat) -> String {
    match format {
        DeckFormat::Arena => arena(deck),
        DeckFormat::Mtgo => mtgo(deck),
        DeckFormat::MtgoXml => mtgo_xml(deck),
        DeckFormat::Forge => forge(deck),
        DeckFormat::Cockatrice => cockatrice(deck),
    }
}

fn arena(deck: &DeckList) -> String {
    let mut text = String::new();
    if !deck.name.is_empty() {
        text.push_str(&format!("About\nName {}\n\n", one_line(&deck.name)));
    }
    let sections = [("Commander", &deck.outside), ("Deck", &deck.main), ("Sideboard", &deck.sideboard)];
    let written = sections.iter().filter(|(_, entries)| !entries.is_empty());
    let blocks: Vec<String> = written
        .map(|(heading, entries)| {
            let lines: String = entries.iter().map(arena_line).collect();
            format!("{heading}\n{lines}")
        })
        .collect();
    text + &blocks.join("\n")
}

fn arena_line(entry: &DeckEntry) -> String {
    let printing = match (&entry.set, &entry.number) {
        (Some(set), Some(number)) => format!(" ({set}) {number}"),
        (Some(set), None) => format!(" ({set})"),
        (None, _) => String::new(),
    };
    format!("{} {}{printing}\n", entry.count, entry.name)
}

fn mtgo(deck: &DeckList) -> String {
    let mut text: String = deck.main.iter().map(plain_line).collect();
    if !deck.sideboard.is_empty() {
        text.push_str("\nSideboard\n");
        text.extend(deck.sideboard.iter().map(plain_line));
    }
    text
}

fn plain_line(entry: &DeckEntry) -> String {
    format!("{} {}\n", entry.count, entry.name)
}

fn mtgo_xml(deck: &DeckList) -> String {
    let line = |entry: &DeckEntry, is_side: bool| {
        let (count, name) = (entry.count, escape(entry.name.as_str()));
        // MTGO finds a card by its name where it does not know the number.
        format!("  <Cards CatID=\"0\" Quantity=\"{count}\" Sideboard=\"{is_side}\" Name=\"{name}\" />\n")
    };
    let main: String = deck.main.iter().map(|entry| line(entry, false)).collect();
    let side: String = deck.sideboard.iter().map(|entry| line(entry, true)).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<Deck>\n  <NetDeckID>0</NetDeckID>\n  <PreconstructedDeckID>0</PreconstructedDeckID>\n{main}{side}</Deck>\n"
    )
}

fn forge(deck: &DeckList) -> String {
    let line = |entry: &DeckEntry| {
        let set = entry.set.as_ref().map(|set| format!("|{set}")).unwrap_or_default();
        format!("{} {}{set}\n", entry.count, entry.name)
    };
    let name = one_line(&deck.name);
    let main: String = deck.main.iter().map(line).collect();
    let mut text = format!("[metadata]\nName={name}\n[Main]\n{main}");
    if !deck.sideboard.is_empty() {
        text.push_str("[Sideboard]\n");
        text.extend(deck.sideboard.iter().map(line));
    }
    text
}

fn cockatrice(deck: &DeckList) -> String {
    let zone = |name: &str, entries: &[DeckEntry]| {
        let lines: String = entries
            .iter()
            .map(|entry| {
                let (count, name) = (entry.count, escape(entry.name.as_str()));
                format!("    <card number=\"{count}\" name=\"{name}\"/>\n")
            })
            .collect();
        format!("  <zone name=\"{name}\">\n{lines}  </zone>\n")
    };
    let name = escape(one_line(&deck.name));
    let main = zone("main", &deck.main);
    let side = if deck.sideboard.is_empty() { String::new() } else { zone("side", &deck.sideboard) };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cockatrice_deck version=\"1\">\n  <deckname>{name}</deckname>\n{main}{side}</cockatrice_deck>\n"
    )
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
