//! Value of a position for a player, from what is on the table and the number of cards in hand.

use crate::ability::{Amount, Change, CounterKind, Duration, Keyword};
use crate::card::CardType;
use crate::characteristics::{Characteristics, RuleFlag};
use crate::engine::MTGEngine;
use crate::eval::View;
use crate::ids::{ObjectId, PlayerId};
use crate::state::ObjectKind;

/// Value of a game that is won.
pub(super) const WIN_VALUE: f64 = 1000.0;

/// Difference of values at which one player is clearly ahead.
const CLEAR_LEAD: f64 = 14.0;

/// Lands beyond this number are worth little.
const ENOUGH_LANDS: usize = 6;

/// Chance to win, between 0 and 1, for a position.
#[must_use]
pub fn win_chance(engine: &MTGEngine, player: PlayerId) -> f64 {
    1.0 / (1.0 + (-evaluate(engine, player) / CLEAR_LEAD).exp())
}

/// Value of a position: own side minus the opponent's.
pub(super) fn evaluate(engine: &MTGEngine, player: PlayerId) -> f64 {
    if let Some(outcome) = engine.outcome() {
        return match outcome.winner {
            Some(winner) if winner == player => WIN_VALUE,
            Some(_) => -WIN_VALUE,
            None => 0.0,
        };
    }
    let own = evaluate_side(engine, player);
    let other = evaluate_side(engine, player.opponent());
    own - other - exposure(engine, player) + exposure(engine, player.opponent())
}

fn evaluate_side(engine: &MTGEngine, player: PlayerId) -> f64 {
    let state = engine.state();
    let seat = state.player(player);
    let view = engine.view();
    let mut value = 4.5 * f64::from(seat.life.max(0)).sqrt();
    let poison = f64::from(seat.counter(CounterKind::Poison));
    value -= 0.25 * poison * poison;
    let mut lands = 0_usize;
    for id in &state.battlefield {
        let own = view.characteristics(*id);
        if own.controller != player {
            continue;
        }
        if own.is_creature() {
            value += creature_value(&view, *id);
        } else if own.is(CardType::Land) {
            lands += 1;
        } else {
            value += permanent_value(&view, *id);
        }
    }
    value +=
        2.2 * small_count(lands.min(ENOUGH_LANDS)) + 0.6 * small_count(lands.saturating_sub(ENOUGH_LANDS));
    for id in &seat.hand {
        value += if view.characteristics(*id).is(CardType::Land) { 0.9 } else { 1.9 };
    }
    // A player without cards to draw loses soon.
    if seat.library.len() < 4 {
        value -= 3.0 * small_count(4 - seat.library.len());
    }
    value
}

fn small_count(count: usize) -> f64 {
    u32::try_from(count).map_or(0.0, f64::from)
}

fn permanent_value(view: &View<'_>, id: ObjectId) -> f64 {
    let own = view.characteristics(id);
    let object = view.object(id);
    if own.is(CardType::Planeswalker) {
        return 3.0 + f64::from(object.counter(CounterKind::Loyalty));
    }
    1.2 + 0.7 * view.face(id).map_or(0.0, |face| f64::from(face.face.mana_value()))
}

/// Value of a creature on the battlefield: body, evasion, abilities, less what binds it.
pub(super) fn creature_value(view: &View<'_>, id: ObjectId) -> f64 {
    let own = view.characteristics(id);
    let (more_power, more_toughness) = passing_change(view, id);
    let power = f64::from((own.power - more_power).max(0));
    let toughness = f64::from((own.toughness - more_toughness).max(0));
    let mut value = 1.0 + 1.5 * power + toughness;
    for (keyword, bonus) in [
        (Keyword::Flying, 0.7 * power),
        (Keyword::Trample, 0.2 * power),
        (Keyword::Menace, 0.3 * power),
        (Keyword::Lifelink, 0.6 * power),
        (Keyword::DoubleStrike, 1.2 * power),
        (Keyword::FirstStrike, 0.4 * power),
        (Keyword::Vigilance, 0.3 * power),
        (Keyword::Deathtouch, 1.5),
        (Keyword::Hexproof, 1.0),
        (Keyword::Indestructible, 2.0),
        (Keyword::Reach, 0.3),
        (Keyword::Defender, -power),
    ] {
        if own.has(keyword) {
            value += bonus;
        }
    }
    value += 0.5 * small_count(own.abilities.len().min(3));
    if own.has_rule(RuleFlag::CantAttack) {
        value -= 0.9 * power;
    }
    if own.has_rule(RuleFlag::CantBlock) {
        value -= 0.5 * toughness;
    }
    if own.has_rule(RuleFlag::CantAttack) && own.has_rule(RuleFlag::CantBlock) {
        value *= 0.4;
    }
    if view.object(id).kind == ObjectKind::Token { value * 0.95 } else { value }
}

/// Change of size that ends with the turn: a position is not better for it when the turn is over.
fn passing_change(view: &View<'_>, id: ObjectId) -> (i32, i32) {
    let fixed = |amount: &Amount| if let Amount::Fixed(number) = amount { *number } else { 0 };
    let mut sum = (0, 0);
    let passing = view.state.effects.iter().filter(|effect| effect.until.duration == Duration::EndOfTurn);
    for effect in passing.filter(|effect| effect.affected.contains(&id)) {
        for change in effect.changes.iter() {
            if let Change::Modify { power, toughness } = change {
                sum.0 += fixed(power);
                sum.1 += fixed(toughness);
            }
        }
    }
    sum
}

/// What the opponent's next attack threatens, for the player whose turn it is: attackers of theirs
/// will not block.
fn exposure(engine: &MTGEngine, player: PlayerId) -> f64 {
    let state = engine.state();
    if state.active != player {
        return 0.0;
    }
    let view = engine.view();
    let can_attack = |own: &Characteristics| {
        !own.has(Keyword::Defender) && !own.has_rule(RuleFlag::CantAttack) && own.power > 0
    };
    let mut attackers: Vec<i32> = Vec::new();
    let mut blockers = 0_usize;
    for id in &state.battlefield {
        let own = view.characteristics(*id);
        if !own.is_creature() {
            continue;
        }
        if own.controller != player && can_attack(own) {
            attackers.push(own.power);
        } else if own.controller == player && !state.object(*id).tapped && !own.has_rule(RuleFlag::CantBlock)
        {
            blockers += 1;
        }
    }
    // Each blocker stops one attacker, the strongest first.
    attackers.sort_unstable_by_key(|power| -power);
    let threat: i32 = attackers.iter().skip(blockers).sum();
    let life = state.player(player).life;
    let share = f64::from(threat) / f64::from(life.max(1));
    if threat >= life { 20.0 + share } else { 6.0 * share * share }
}
