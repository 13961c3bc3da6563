//! One importer for the deck files of Arena, MTGO, Forge and Cockatrice.
//!
//! The format is recognised from the text. A line that cannot be read is reported and skipped, so
//! that a file with one odd line still gives its deck.

use super::list::{DeckEntry, DeckList, SECTIONS, Section};
use super::xml;
use serde::Serialize;
use thiserror::Error;

/// The largest deck file that is read.
const MAX_DECK_BYTES: usize = 1 << 20;
/// The largest count of one line.
pub(super) const MAX_LINE_COUNT: u32 = 1000;
/// A second block of at most this many cards after one blank line is a sideboard.
const MAX_SIDEBOARD_CARDS: u32 = 15;

/// The format of a deck file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeckFormat {
    Arena,
    Mtgo,
    MtgoXml,
    Forge,
    Cockatrice,
}

impl DeckFormat {
    pub const ALL: [Self; 5] = [Self::Arena, Self::Mtgo, Self::MtgoXml, Self::Forge, Self::Cockatrice];

    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Arena => "arena",
            Self::Mtgo => "mtgo",
            Self::MtgoXml => "mtgo-xml",
            Self::Forge => "forge",
            Self::Cockatrice => "cockatrice",
        }
    }
}

/// Why a line of a deck file was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum LineProblem {
    #[error("the card name is missing")]
    NoName,
    #[error("the count is 0 or more than {MAX_LINE_COUNT}")]
    Count,
    #[error("the XML is malformed")]
    Xml,
}

/// A line that was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedLine {
    /// Counted from 1; 0 in XML, which has no lines of its own.
    pub line: usize,
    pub text: String,
    pub problem: LineProblem,
}

/// A deck file as read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedDeck {
    pub format: DeckFormat,
    pub deck: DeckList,
    pub skipped: Vec<SkippedLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    #[error("cannot read the deck: it is larger than {MAX_DECK_BYTES} bytes")]
    TooLarge,
    #[error("cannot read the deck: it names no cards")]
    Empty,
}

/// Reads a deck file of any known format.
pub fn import(text: &str) -> Result<ImportedDeck, ImportError> {
    if text.len() > MAX_DECK_BYTES {
        return Err(ImportError::TooLarge);
    }
    let text = text.trim_start_matches('\u{feff}');
    let imported = if text.trim_start().starts_with('<') { xml::import(text) } else { import_lines(text) };
    let DeckList { main, sideboard, outside, .. } = &imported.deck;
    if main.is_empty() && sideboard.is_empty() && outside.is_empty() {
        return Err(ImportError::Empty);
    }
    Ok(imported)
}

/// Signs of a format, found while the lines are read.
#[derive(Debug, Default)]
struct FormatSigns {
    brackets: bool,
    bars: bool,
    sets: bool,
    headings: bool,
}

impl FormatSigns {
    fn format(&self) -> DeckFormat {
        match self {
            Self { brackets: true, .. } | Self { bars: true, .. } => DeckFormat::Forge,
            Self { sets: true, .. } => DeckFormat::Arena,
            Self { .. } => DeckFormat::Mtgo,
        }
    }
}

fn import_lines(text: &str) -> ImportedDeck {
    let mut deck = DeckList::default();
    let mut skipped = Vec::new();
    let mut signs = FormatSigns::default();
    let mut section = Section::Main;
    // Where blocks of lines begin in the main deck, for lists without headings.
    let mut blocks: Vec<usize> = Vec::new();
    let mut after_blank = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            after_blank = !deck.main.is_empty();
            continue;
        }
        if let Some(heading) = parse_heading(line) {
            signs.brackets |= line.starts_with('[');
            signs.headings = true;
            section = heading;
            continue;
        }
        if line.starts_with("//") || line.starts_with('#') {
            continue;
        }
        if let Some(name) = parse_deck_name(line, section) {
            name.clone_into(&mut deck.name);
            continue;
        }
        if section == Section::About {
            // An Arena block ends at its blank line; what follows has a heading of its own.
            continue;
        }
        match parse_entry(line, &mut signs) {
            Ok((entry, in_sideboard)) => {
                let target = if in_sideboard { Section::Sideboard } else { section };
                if target == Section::Main && after_blank {
                    blocks.push(deck.main.len());
                }
                signs.headings |= in_sideboard;
                after_blank = false;
                if let Some(entries) = deck.section_mut(target) {
                    entries.push(entry);
                }
            }
            Err(problem) => skipped.push(SkippedLine { line: index + 1, text: line.to_owned(), problem }),
        }
    }
    if let ([start], false) = (blocks.as_slice(), signs.headings) {
        move_sideboard(&mut deck, *start);
    }
    ImportedDeck { format: signs.format(), deck, skipped }
}

/// Moves a small block after the only blank line into the sideboard, as MTGO writes it.
fn move_sideboard(deck: &mut DeckList, start: usize) {
    let cards: u32 = deck.main.iter().skip(start).fold(0, |sum, entry| sum.saturating_add(entry.count));
    if cards <= MAX_SIDEBOARD_CARDS && start < deck.main.len() {
        deck.sideboard = deck.main.split_off(start);
    }
}

/// A heading: `[Main]`, `Sideboard`, `Creatures (20)`, `Deck:`.
fn parse_heading(line: &str) -> Option<Section> {
    let inner = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inner = inner.or_else(|| line.strip_prefix("//").map(str::trim)).unwrap_or(line);
    let inner = inner.split('(').next().unwrap_or(inner).trim().trim_end_matches(':').trim();
    let folded = inner.to_lowercase();
    SECTIONS.iter().find(|(name, _)| *name == folded).map(|(_, section)| *section)
}

/// The name of the deck: `Name=X` of Forge, `Name X` in Arena's block, `// NAME : X`.
fn parse_deck_name(line: &str, section: Section) -> Option<&str> {
    if section != Section::About {
        return None;
    }
    let rest = line.strip_prefix("Name").or_else(|| line.strip_prefix("name"))?;
    let rest = rest.trim_start();
    Some(rest.strip_prefix('=').unwrap_or(rest).trim())
}

/// `SB: 4x Name (SET) 123`, `4 Name|SET|1`, `4 [SET:1] Name`, `Name`; whether it is of the sideboard.
fn parse_entry(line: &str, signs: &mut FormatSigns) -> Result<(DeckEntry, bool), LineProblem> {
    let (line, in_sideboard) = match line.strip_prefix("SB:").or_else(|| line.strip_prefix("sb:")) {
        Some(rest) => (rest.trim_start(), true),
        None => (line, false),
    };
    let (count, rest) = split_count(line)?;
    let (set, rest) = split_leading_set(rest);
    let mut entry = DeckEntry { count, name: String::new(), set, number: None };
    let name = if let Some((name, printing)) = rest.split_once('|') {
        signs.bars = true;
        let set = printing.split('|').next().unwrap_or_default().trim();
        entry.set = Some(set.to_owned()).filter(|set| !set.is_empty());
        name
    } else {
        let (name, set, number) = split_trailing_set(rest);
        if set.is_some() {
            signs.sets = true;
            (entry.set, entry.number) = (set, number);
        }
        name
    };
    entry.name = name.trim().trim_end_matches('+').trim().to_owned();
    if !entry.name.chars().any(char::is_alphanumeric) {
        return Err(LineProblem::NoName);
    }
    Ok((entry, in_sideboard))
}

/// The number at the beginning, with or without an `x`; 1 where there is none.
fn split_count(line: &str) -> Result<(u32, &str), LineProblem> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = line.split_at_checked(digits).unwrap_or((line, ""));
    let rest = match rest.strip_prefix(['x', 'X']) {
        Some(after) if after.starts_with(char::is_whitespace) && digits > 0 => after,
        _ => rest,
    };
    // A name may begin with a digit, but then no space follows it: `1996 World Champion` needs a count.
    if digits == 0 || !rest.starts_with(char::is_whitespace) {
        return Ok((1, line));
    }
    match number.parse() {
        Ok(count) if (1..=MAX_LINE_COUNT).contains(&count) => Ok((count, rest.trim_start())),
        _ => Err(LineProblem::Count),
    }
}

/// `[SET:123] Name` as XMage and Magic Workstation write it.
fn split_leading_set(text: &str) -> (Option<String>, &str) {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match bracketed {
        Some((code, rest)) => {
            let set = code.split(':').next().unwrap_or(code).trim();
            (Some(set.to_owned()).filter(|set| !set.is_empty()), rest.trim_start())
        }
        None => (None, text),
    }
}

/// `Name (SET) 123 *F*` as Arena and most sites write it.
fn split_trailing_set(text: &str) -> (&str, Option<String>, Option<String>) {
    let Some((name, rest)) = text.rsplit_once(" (") else { return (text, None, None) };
    let Some((set, tail)) = rest.split_once(')') else { return (text, None, None) };
    let is_code = (2..=6).contains(&set.len()) && set.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_code {
        return (text, None, None);
    }
    let number = tail.split_whitespace().next().filter(|word| word.bytes().any(|byte| byte.is_ascii_digit()));
    (name, Some(set.to_owned()), number.map(str::to_owned))
}
