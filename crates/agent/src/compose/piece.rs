//! Pieces of a prompt, and how they are fitted into its size.
//!
//! A piece has a rank. When the pieces together are too long, the piece of the lowest rank (the last of several) is shortened,
//! or left out where nothing useful would remain. Pieces of the rank [`ALWAYS`] always stay. The record says for each piece
//! whether it went in, and why not.

use marvin_base::truncate;
use serde::Serialize;

/// Rank of pieces that are never cut.
pub const ALWAYS: u8 = 100;
/// Bytes below which a shortened piece is useless.
const MIN_PIECE_BYTES: usize = 1_000;

/// A piece, about to be put into a prompt.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) name: String,
    pub(super) heading: String,
    pub(super) text: String,
    pub(super) rank: u8,
    /// Why it is shorter than its source.
    pub(super) why: Option<String>,
}

/// Whether a piece went in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    Included,
    /// A part of it went in.
    Cut,
    LeftOut,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PieceRecord {
    pub name: String,
    pub state: Fate,
    /// Bytes that went in.
    pub bytes: usize,
    /// About as many tokens.
    pub tokens: usize,
    /// Why it is not whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Piece {
    /// A piece that always goes in.
    pub(super) fn always(name: &str, text: &str) -> Self {
        Piece { name: name.into(), heading: String::new(), text: text.trim().into(), rank: ALWAYS, why: None }
    }

    /// A piece below a heading, of at most `cap` characters.
    pub(super) fn capped(name: &str, heading: &str, text: &str, cap: usize, rank: u8) -> Self {
        let text = text.trim();
        let over = text.chars().nth(cap).is_some();
        Piece {
            name: name.into(),
            heading: heading.into(),
            text: truncate::head(text, cap),
            rank,
            why: over.then(|| format!("longer than {cap} characters")),
        }
    }

    fn bytes(&self) -> usize {
        if self.text.is_empty() { 0 } else { self.rendered().len() + 2 }
    }

    fn rendered(&self) -> String {
        if self.heading.is_empty() { self.text.clone() } else { format!("{}\n{}", self.heading, self.text) }
    }
}

/// Joins the pieces to one text of about `budget` bytes (0: no limit), and records each.
pub(super) fn join(mut pieces: Vec<Piece>, budget: usize) -> (String, Vec<PieceRecord>) {
    pieces.retain(|piece| !piece.text.is_empty());
    let mut total: usize = pieces.iter().map(Piece::bytes).sum();
    while budget > 0 && total > budget {
        let open = pieces.iter_mut().filter(|piece| piece.rank < ALWAYS && !piece.text.is_empty());
        // The last of the lowest: `min_by_key` gives the first, so the order is turned around.
        let Some(piece) = open.rev().min_by_key(|piece| piece.rank) else { break };
        let (before, over) = (piece.bytes(), total - budget);
        let why = format!("the prompt may have {budget} bytes");
        if piece.text.len() >= over + MIN_PIECE_BYTES {
            let end = truncate::floor(&piece.text, piece.text.len() - over);
            let cut = piece.text.len() - end;
            piece.text.truncate(end);
            piece.text.push_str(&format!("… [{cut} more bytes cut]"));
            piece.why = Some(why);
            break;
        }
        piece.text.clear();
        piece.why = Some(why);
        total -= before;
    }
    let placed = pieces.iter().map(|piece| {
        let bytes = piece.bytes().saturating_sub(2);
        let state = match (&piece.why, bytes) {
            (_, 0) => Fate::LeftOut,
            (Some(_), _) => Fate::Cut,
            (None, _) => Fate::Included,
        };
        PieceRecord { name: piece.name.clone(), state, bytes, tokens: bytes / 4, why: piece.why.clone() }
    });
    let placed = placed.collect();
    let texts: Vec<String> =
        pieces.iter().filter(|piece| !piece.text.is_empty()).map(Piece::rendered).collect();
    (texts.join("\n\n"), placed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces() -> Vec<Piece> {
        vec![
            Piece::always("rules", &"r".repeat(500)),
            Piece::capped("history", "# H", &"h".repeat(3_000), 10_000, 30),
            Piece::capped("spec", "# S", &"s".repeat(3_000), 10_000, 50),
            Piece::capped("design", "# D", &"d".repeat(3_000), 10_000, 50),
        ]
    }

    #[test]
    fn the_lowest_rank_is_cut_first_with_its_reason() {
        let fates = |budget| {
            let (text, placed) = join(pieces(), budget);
            assert!(budget == 0 || text.len() <= budget.max(502) + 40, "{budget}: {}", text.len());
            placed.iter().map(|piece| piece.state).collect::<Vec<_>>()
        };
        use Fate::{Cut, Included, LeftOut};
        assert_eq!(fates(0), [Included; 4]);
        assert_eq!(fates(9_000), [Included, Cut, Included, Included]);
        assert_eq!(fates(6_600), [Included, LeftOut, Included, Included]);
        assert_eq!(fates(6_000), [Included, LeftOut, Included, Cut]);
        assert_eq!(fates(3_600), [Included, LeftOut, Included, LeftOut]);
        assert_eq!(fates(1), [Included, LeftOut, LeftOut, LeftOut]);
        let (text, placed) = join(pieces(), 9_000);
        assert!(text.contains("more bytes cut]"));
        assert_eq!(placed[1].why.as_deref(), Some("the prompt may have 9000 bytes"));
    }

    #[test]
    fn a_cap_is_a_reason_too() {
        let (text, placed) = join(vec![Piece::capped("a", "", &"é".repeat(50), 10, 10)], 0);
        assert!(text.contains("40 more characters cut"), "{text}");
        assert_eq!(
            (placed[0].state, placed[0].why.as_deref()),
            (Fate::Cut, Some("longer than 10 characters"))
        );
    }

    proptest::proptest! {
        #[test]
        fn nothing_always_needed_is_lost(sizes in proptest::collection::vec((0usize..5_000, 0u8..=100), 0..12), budget in 0usize..20_000) {
            let make = |(index, (size, rank)): (usize, &(usize, u8))| Piece {
                name: index.to_string(), heading: "# é".into(), text: "ü".repeat(*size), rank: *rank, why: None,
            };
            let pieces: Vec<Piece> = sizes.iter().enumerate().map(make).collect();
            let (text, placed) = join(pieces.clone(), budget);
            let again = join(pieces.clone(), budget);
            proptest::prop_assert_eq!(&text, &again.0);
            for placed in &placed {
                let rank = sizes[placed.name.parse::<usize>().unwrap()].1;
                proptest::prop_assert!(rank < ALWAYS || placed.state == Fate::Included);
            }
            let needed: usize = pieces.iter().filter(|piece| piece.rank == ALWAYS).map(Piece::bytes).sum();
            proptest::prop_assert!(budget == 0 || text.len() <= budget.max(needed) + 40);
        }
    }
}
