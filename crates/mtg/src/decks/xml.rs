//! Deck files in XML: MTGO's `.dek` and Cockatrice's `.cod`.

use super::import::{DeckFormat, ImportedDeck, LineProblem, MAX_LINE_COUNT, SkippedLine};
use super::list::{DeckEntry, DeckList, SECTIONS, Section};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

pub(super) fn import(text: &str) -> ImportedDeck {
    let mut imported =
        ImportedDeck { format: DeckFormat::MtgoXml, deck: DeckList::default(), skipped: Vec::new() };
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.expand_empty_elements = true;
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut zone = Section::Main;
    let mut in_name = false;
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => break,
            Ok(Event::Start(tag)) => match tag.name().0 {
                "cockatrice_deck" => imported.format = DeckFormat::Cockatrice,
                "zone" => zone = parse_zone(&attribute(&tag, "name")),
                "deckname" => in_name = true,
                "card" => add(&mut imported, zone, &attribute(&tag, "number"), attribute(&tag, "name")),
                "Cards" => {
                    let is_side = attribute(&tag, "Sideboard").eq_ignore_ascii_case("true");
                    let section = if is_side { Section::Sideboard } else { Section::Main };
                    add(&mut imported, section, &attribute(&tag, "Quantity"), attribute(&tag, "Name"));
                }
                _ => {}
            },
            Ok(Event::Text(content)) if in_name => imported.deck.name.push_str(&content),
            Ok(Event::GeneralRef(reference)) if in_name => {
                imported.deck.name.push_str(resolve_entity(&reference));
            }
            Ok(Event::End(tag)) if tag.name().0 == "deckname" => in_name = false,
            Ok(_) => {}
            Err(_) => {
                let text = format!("at byte {}", reader.error_position());
                imported.skipped.push(SkippedLine { line: 0, text, problem: LineProblem::Xml });
                break;
            }
        }
    }
    imported.deck.name = imported.deck.name.trim().to_owned();
    imported
}

fn parse_zone(name: &str) -> Section {
    let folded = name.to_lowercase();
    SECTIONS.iter().find(|(known, _)| *known == folded).map_or(Section::Outside, |(_, section)| *section)
}

/// The predefined entities of XML; others are dropped.
fn resolve_entity(name: &str) -> &'static str {
    const ENTITIES: [(&str, &str); 5] =
        [("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'")];
    ENTITIES.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}

fn add(imported: &mut ImportedDeck, section: Section, count: &str, name: String) {
    let problem = match count.trim().parse() {
        _ if !name.chars().any(char::is_alphanumeric) => LineProblem::NoName,
        Ok(count) if (1..=MAX_LINE_COUNT).contains(&count) => {
            if let Some(entries) = imported.deck.section_mut(section) {
                entries.push(DeckEntry::new(count, name.trim()));
            }
            return;
        }
        _ => LineProblem::Count,
    };
    imported.skipped.push(SkippedLine { line: 0, text: name, problem });
}

/// The value of an attribute; empty when it is missing or malformed.
fn attribute(tag: &BytesStart<'_>, name: &str) -> String {
    let found = tag.try_get_attribute(name).ok().flatten();
    let value =
        found.and_then(|found| Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned()));
    value.unwrap_or_default()
}
