//! Damage of an attack through the best blocks, without tricks of either player.

use marvin_mtg::MTGEngine;
use marvin_mtg::ability::Keyword;
use marvin_mtg::ids::{ObjectId, PlayerId};

/// Damage of an attack with every creature that can attack now.
pub(super) fn attack_damage(engine: &MTGEngine, seat: PlayerId) -> i32 {
    damage_through(engine, &engine.possible_attackers(seat), seat)
}

/// Damage of an attack of a player in the next turn: creatures have untapped, and none is sick.
pub(super) fn next_attack_damage(engine: &MTGEngine, seat: PlayerId) -> i32 {
    let view = engine.view();
    let attackers: Vec<ObjectId> = creatures(engine, seat)
        .into_iter()
        .filter(|id| !view.characteristics(*id).has(Keyword::Defender))
        .collect();
    damage_through(engine, &attackers, seat)
}

fn creatures(engine: &MTGEngine, seat: PlayerId) -> Vec<ObjectId> {
    let view = engine.view();
    let all = engine.state().battlefield.iter().copied();
    all.filter(|id| view.characteristics(*id).is_creature() && view.controller(*id) == seat).collect()
}

/// What gets through when the defender blocks the strongest attackers first, one blocker each.
fn damage_through(engine: &MTGEngine, attackers: &[ObjectId], seat: PlayerId) -> i32 {
    let view = engine.view();
    let defender = seat.opponent();
    let mut blockers: Vec<ObjectId> = creatures(engine, defender)
        .into_iter()
        .filter(|id| engine.check_blocker(defender, *id).is_ok())
        .collect();
    let hits = |id: ObjectId| {
        let own = view.characteristics(id);
        let strikes = if own.has(Keyword::DoubleStrike) { 2 } else { 1 };
        own.power.max(0) * strikes
    };
    let mut order: Vec<ObjectId> = attackers.to_vec();
    order.sort_by_key(|id| -hits(*id));
    let mut total = 0;
    for attacker in order {
        let own = view.characteristics(attacker);
        let needed = if own.has(Keyword::Menace) { 2 } else { 1 };
        let able: Vec<ObjectId> =
            blockers.iter().copied().filter(|blocker| engine.can_block(*blocker, attacker)).collect();
        if able.len() < needed {
            total += hits(attacker);
            continue;
        }
        let used: Vec<ObjectId> = able.into_iter().take(needed).collect();
        if own.has(Keyword::Trample) {
            let stopped: i32 = used.iter().map(|blocker| view.characteristics(*blocker).toughness).sum();
            total += (hits(attacker) - stopped.max(0)).max(0);
        }
        blockers.retain(|blocker| !used.contains(blocker));
    }
    total
}
