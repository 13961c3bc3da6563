//! The time between two games of a match, in which people exchange cards with their sideboards.
//!
//! A card goes out for each that comes in, so the size of the deck stays. Players other than people keep
//! their decks. The game is created when it starts; its setup has the changed lists.

use crate::context::TableContext;
use crate::error::TableError;
use crate::setup::{DeckChoice, GameSetup, MatchScore, SeatKind};
use crate::table::Table;
use marvin_mtg::decks::DeckEntry;
use marvin_mtg::ids::PlayerId;

/// Commands between two games, as `help` shows them.
pub const SIDEBOARD_HELP: &str = "\
swap [N] OUT for IN    N copies of OUT leave the deck, as many of IN come from the sideboard
deck                   show the deck and the sideboard
start                  begin the next game";

/// Next game of a match that has not begun.
#[derive(Debug, Clone)]
pub struct NextGame {
    context: TableContext,
    setup: GameSetup,
}

/// Why cards cannot be exchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SideboardProblem {
    #[error("cannot swap `{0}`: the deck has no such card")]
    NotInDeck(String),
    #[error("cannot swap `{0}`: the sideboard has no such card")]
    NotInSideboard(String),
    #[error("cannot swap {wanted} of {name}: there are {held}")]
    TooFew { name: String, wanted: u32, held: u32 },
    #[error("cannot read `{0}`: say `swap 2 Forest for Naturalize`")]
    Unread(String),
}

/// Result of a line between two games.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SideboardOutcome {
    Text(String),
    /// The seat is ready.
    Ready,
    /// The person leaves; the game begins when it is resumed.
    Quit,
}

impl NextGame {
    pub(crate) fn new(context: TableContext, setup: GameSetup) -> Self {
        Self { context, setup }
    }

    /// Standing of the match.
    #[must_use]
    pub fn score(&self) -> &MatchScore {
        &self.setup.score
    }

    #[must_use]
    pub fn deck(&self, seat: PlayerId) -> &DeckChoice {
        self.setup.deck(seat)
    }

    /// People whose decks have a sideboard.
    #[must_use]
    pub fn seats_with_sideboard(&self) -> Vec<PlayerId> {
        let can_swap = |seat: &PlayerId| {
            self.setup.seat(*seat) == SeatKind::Person && self.deck(*seat).list.sideboard_count() > 0
        };
        PlayerId::BOTH.into_iter().filter(can_swap).collect()
    }

    /// Exchanges copies of a card of the deck for as many of the sideboard.
    ///
    /// # Errors
    /// Cards that are not there often enough; nothing is exchanged then.
    pub fn swap(
        &mut self,
        seat: PlayerId,
        count: u32,
        out: &str,
        into: &str,
    ) -> Result<(), SideboardProblem> {
        let list = &mut self.setup.deck_mut(seat).list;
        let leaving =
            find_name(&list.main, out).ok_or_else(|| SideboardProblem::NotInDeck(out.to_owned()))?;
        let coming = find_name(&list.sideboard, into)
            .ok_or_else(|| SideboardProblem::NotInSideboard(into.to_owned()))?;
        for (entries, name) in [(&list.main, &leaving), (&list.sideboard, &coming)] {
            let held = count_copies(entries, name);
            if held < count {
                return Err(SideboardProblem::TooFew { name: name.clone(), wanted: count, held });
            }
        }
        move_copies(&mut list.main, &mut list.sideboard, &leaving, count);
        move_copies(&mut list.sideboard, &mut list.main, &coming, count);
        Ok(())
    }

    /// The deck of a seat and its sideboard, as lines.
    #[must_use]
    pub fn deck_text(&self, seat: PlayerId) -> String {
        let list = &self.deck(seat).list;
        let lines = |entries: &[DeckEntry]| -> String {
            entries.iter().map(|entry| format!("  {} {}\n", entry.count, entry.name)).collect()
        };
        format!(
            "Deck ({}):\n{}Sideboard ({}):\n{}",
            list.main_count(),
            lines(&list.main),
            list.sideboard_count(),
            lines(&list.sideboard)
        )
    }

    /// What a person is told before the game.
    #[must_use]
    pub fn invitation(&self, seat: PlayerId) -> String {
        let [one, two] = self.score().wins;
        format!(
            "Match: {one} to {two}. Seat {} may use the sideboard.\n{}{SIDEBOARD_HELP}",
            seat.0,
            self.deck_text(seat)
        )
    }

    /// Carries out a line of a person.
    pub fn run_line(&mut self, seat: PlayerId, line: &str) -> SideboardOutcome {
        let text = line.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match word.to_ascii_lowercase().as_str() {
            "" | "help" | "?" => SideboardOutcome::Text(SIDEBOARD_HELP.to_owned()),
            "deck" | "board" | "b" => SideboardOutcome::Text(self.deck_text(seat)),
            "start" | "play" | "done" => SideboardOutcome::Ready,
            "quit" | "exit" => SideboardOutcome::Quit,
            "swap" => SideboardOutcome::Text(match self.swap_line(seat, rest) {
                Ok(text) => text,
                Err(problem) => problem.to_string(),
            }),
            _ => SideboardOutcome::Text(SideboardProblem::Unread(text.to_owned()).to_string()),
        }
    }

    fn swap_line(&mut self, seat: PlayerId, text: &str) -> Result<String, SideboardProblem> {
        let unread = || SideboardProblem::Unread(format!("swap {text}"));
        let (out, into) = text.split_once(" for ").ok_or_else(unread)?;
        let (count, out) = match out.trim().split_once(' ') {
            Some((number, name)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                (number.parse().map_err(|_| unread())?, name.trim())
            }
            _ => (1, out.trim()),
        };
        self.swap(seat, count, out, into.trim())?;
        Ok(format!("{count} {out} out, {count} {} in", into.trim()))
    }

    /// Starts the game.
    ///
    /// # Errors
    /// See [`Table::create`].
    pub fn start(self) -> Result<Table, TableError> {
        Table::create(&self.context, self.setup)
    }
}

/// The name of an entry that a person means: the whole name, else the only one that begins so.
fn find_name(entries: &[DeckEntry], text: &str) -> Option<String> {
    let whole = entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(text));
    if let Some(entry) = whole {
        return Some(entry.name.clone());
    }
    let wanted = text.to_lowercase();
    let mut names: Vec<&String> = entries
        .iter()
        .map(|entry| &entry.name)
        .filter(|name| !wanted.is_empty() && name.to_lowercase().starts_with(&wanted))
        .collect();
    names.dedup();
    match names.as_slice() {
        [only] => Some((*only).clone()),
        _ => None,
    }
}

fn count_copies(entries: &[DeckEntry], name: &str) -> u32 {
    entries.iter().filter(|entry| entry.name == name).map(|entry| entry.count).sum()
}

/// Moves copies of a card from one list to another, which must have them.
fn move_copies(from: &mut Vec<DeckEntry>, to: &mut Vec<DeckEntry>, name: &str, count: u32) {
    let mut left = count;
    for entry in from.iter_mut().filter(|entry| entry.name == name) {
        let taken = entry.count.min(left);
        entry.count -= taken;
        left -= taken;
    }
    from.retain(|entry| entry.count > 0);
    match to.iter_mut().find(|entry| entry.name == name) {
        Some(entry) => entry.count += count - left,
        None => to.push(DeckEntry::new(count - left, name)),
    }
}
