//! Statistics of an opening hand: what the unknown cards of the own library bring.

use crate::percent::percent;
use marvin_mtg::MTGEngine;
use marvin_mtg::card::CardType;
use marvin_mtg::ids::PlayerId;

/// Lands that a hand should have by the third turn.
const WANTED_LANDS: usize = 3;

/// What can be said about an opening hand of a deck with so many lands.
pub(super) fn hand_facts(engine: &MTGEngine, seat: PlayerId, deck_lands: usize) -> Vec<String> {
    let state = engine.state();
    let own = state.player(seat);
    let lands = own.hand.iter().filter(|id| engine.view().characteristics(**id).is(CardType::Land)).count();
    let cheap = own
        .hand
        .iter()
        .filter(|id| {
            !engine.view().characteristics(**id).is(CardType::Land) && engine.view().mana_value(**id) <= 3
        })
        .count();
    let mut facts = vec![format!(
        "{lands} lands and {} other cards, {cheap} of them for three mana or less; mulligans so far: {}.",
        own.hand.len().saturating_sub(lands),
        own.mulligans
    )];
    let library = own.library.len();
    let library_lands = deck_lands.saturating_sub(lands);
    let plays_first = state.starting_player == seat;
    let draws = if plays_first { 2 } else { 3 };
    let missing = WANTED_LANDS.saturating_sub(lands);
    if missing > 0 {
        let chance = at_least(missing, draws, library_lands, library);
        facts.push(format!(
            "{WANTED_LANDS} lands by your third turn: {} % ({draws} draws, {library_lands} lands in {library} cards).",
            percent(chance)
        ));
    }
    if lands > 5 {
        facts.push("Many lands: the hand has few threats.".to_owned());
    }
    facts
}

/// Chance to draw at least so many of the wanted cards, without putting cards back.
fn at_least(needed: usize, draws: usize, wanted: usize, all: usize) -> f64 {
    let exactly = |hits: usize| {
        choose(wanted, hits) * choose(all.saturating_sub(wanted), draws - hits) / choose(all, draws).max(1.0)
    };
    (needed..=draws).map(exactly).sum()
}

/// Number of ways to choose so many of so many.
fn choose(all: usize, some: usize) -> f64 {
    if some > all {
        return 0.0;
    }
    (0..some).fold(1.0, |product, index| {
        let (above, below) = (small(all - index), small(index + 1));
        product * above / below
    })
}

fn small(count: usize) -> f64 {
    u32::try_from(count).map_or(0.0, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_of_draws_are_hypergeometric() {
        // Two draws from 10 cards with 4 lands: at least one land is 1 - (6/10 * 5/9).
        assert!((at_least(1, 2, 4, 10) - (1.0 - 30.0 / 90.0)).abs() < 1e-9);
        assert!((at_least(2, 2, 4, 10) - 12.0 / 90.0).abs() < 1e-9);
        assert!((at_least(0, 2, 4, 10) - 1.0).abs() < 1e-9);
    }
}
