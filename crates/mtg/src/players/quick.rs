//! Answers by simple rules, without trying anything: for rollouts, and for questions in the middle of
//! what a player tries.

use super::evaluation::creature_value;
use super::heuristic::{MIN_GAIN, try_answer};
use crate::ability::{Ability, Amount, Body, Change, Effect, Instruction, Keyword, Restriction, Selector};
use crate::action::Action;
use crate::card::CardType;
use crate::casting::spell_body;
use crate::context::TargetChoice;
use crate::decision::{Answer, Choosable, Decision, DecisionKind};
use crate::engine::MTGEngine;
use crate::ids::{Entity, ObjectId, PlayerId};

/// Actions that a rollout tries before it takes one.
const TRIED_ACTIONS: usize = 3;

/// Answer for rollouts: the heuristic player's, with few candidates and nothing in response.
pub(super) fn light_answer(engine: &MTGEngine, decision: &Decision) -> Answer {
    match decision.kind {
        DecisionKind::Priority => Answer::Action(Box::new(light_action(engine, decision))),
        DecisionKind::DeclareAttackers => Answer::Attack(light_attack(engine, decision)),
        DecisionKind::DeclareBlockers => Answer::Block(quick_block(engine, decision.player)),
        _ => default_answer(engine, decision),
    }
}

/// The land, then the best of the few most promising actions; at other times nothing.
fn light_action(engine: &MTGEngine, decision: &Decision) -> Action {
    let player = decision.player;
    if !engine.is_sorcery_time(player) {
        return Action::Pass;
    }
    let mut scored: Vec<(i32, Action)> = engine
        .list_actions(player)
        .into_iter()
        .map(|action| (action_score(engine, player, &action), action))
        .filter(|(score, _)| *score > 0)
        .collect();
    // The sort is stable: equal actions stay in the order of the list.
    scored.sort_by_key(|(score, _)| -score);
    if let Some((_, Action::PlayLand { card })) = scored.first() {
        return Action::PlayLand { card: *card };
    }
    if scored.is_empty() {
        return Action::Pass;
    }
    let value = |action: &Action| {
        let answer = Answer::Action(Box::new(action.clone()));
        try_answer(engine, decision, &answer).unwrap_or(f64::NEG_INFINITY)
    };
    let mut best = (value(&Action::Pass) + MIN_GAIN, Action::Pass);
    for (_, action) in scored.into_iter().take(TRIED_ACTIONS) {
        let known = value(&action);
        if known > best.0 {
            best = (known, action);
        }
    }
    best.1
}

/// The simple attack, or all, or as few as possible.
fn light_attack(engine: &MTGEngine, decision: &Decision) -> Vec<(ObjectId, Entity)> {
    let player = decision.player;
    let target = Entity::Player(player.opponent());
    let everyone: Vec<(ObjectId, Entity)> =
        engine.possible_attackers(player).into_iter().map(|id| (id, target)).collect();
    let mut attacks = vec![quick_attack(engine, player)];
    for other in [everyone, engine.required_attack(player)] {
        if !attacks.contains(&other) {
            attacks.push(other);
        }
    }
    if attacks.len() == 1 {
        return attacks.swap_remove(0);
    }
    let mut best = (f64::NEG_INFINITY, Vec::new());
    for attack in attacks {
        let value = try_answer(engine, decision, &Answer::Attack(attack.clone()));
        if let Some(value) = value.filter(|value| *value > best.0) {
            best = (value, attack);
        }
    }
    best.1
}

/// Worth of an action by its kind, cost and targets; 0 or less is not worth taking.
fn action_score(engine: &MTGEngine, player: PlayerId, action: &Action) -> i32 {
    match action {
        Action::Pass | Action::Concede => 0,
        Action::PlayLand { .. } => 100,
        Action::Cast(cast) => {
            let Some(face) = engine.view().face(cast.card) else { return 0 };
            let value = i32::try_from(face.face.mana_value() + cast.x).unwrap_or(0);
            let body = spell_body(&face.face);
            let aim = aim_score(engine, player, &body, &cast.modes, &cast.targets, &face.face.abilities);
            let creature = i32::from(face.face.has_type(CardType::Creature));
            5 + value * 2 + creature * 3 + i32::from(cast.kicked) + aim
        }
        Action::Activate(activate) => {
            let Some(Ability::Activated(ability)) = engine.ability(activate.ability) else { return 0 };
            if activate.targets.is_empty() {
                return i32::from(ability.sorcery_speed);
            }
            aim_score(engine, player, &ability.body, &activate.modes, &activate.targets, &[]).min(4)
        }
    }
}

/// Whether harm goes to the opponent and help to the player: positive if so.
fn aim_score(
    engine: &MTGEngine,
    player: PlayerId,
    body: &Body,
    modes: &[u8],
    targets: &[TargetChoice],
    abilities: &[Ability],
) -> i32 {
    let mut instructions: Vec<&Instruction> = body.effects.iter().collect();
    for mode in
        body.modes.iter().flat_map(|all| modes.iter().filter_map(|mode| all.choices.get(usize::from(*mode))))
    {
        instructions.extend(&mode.effects);
    }
    let mut harm: i32 = instructions.iter().map(|instruction| effect_harm(&instruction.effect)).sum();
    for ability in abilities {
        if let Ability::Static(granting) = ability
            && granting.affected == Selector::Attached
        {
            harm += changes_harm(&granting.changes);
        }
    }
    let view = engine.view();
    let mut score = 0;
    for entity in targets.iter().flat_map(|choice| choice.entities.iter()) {
        let (owner, worth) = match entity {
            Entity::Player(seat) => (*seat, 2),
            Entity::Object(id) => {
                let creature = view.characteristics(*id).is_creature();
                let worth = if creature { whole(creature_value(&view, *id)).min(12) } else { 3 };
                (view.controller(*id), worth)
            }
        };
        let sign = if owner == player { -1 } else { 1 };
        score += harm.signum() * sign * worth;
        if harm.signum() * sign < 0 {
            score -= 30;
        }
    }
    score
}

fn whole(value: f64) -> i32 {
    // Values of creatures are small.
    value.round().clamp(-1000.0, 1000.0) as i32
}

fn is_target(selector: &Selector) -> bool {
    match selector {
        Selector::Target(_) => true,
        Selector::Matching { from, .. } | Selector::Controller(from) | Selector::Owner(from) => {
            is_target(from)
        }
        Selector::Union(parts) => parts.iter().any(is_target),
        _ => false,
    }
}

/// Positive if the effect harms its target, negative if it helps, 0 if it is neither or has none.
fn effect_harm(effect: &Effect) -> i32 {
    let harm = |selector: &Selector, amount: i32| if is_target(selector) { amount } else { 0 };
    match effect {
        Effect::DealDamage { to, .. } => harm(to, 2),
        Effect::DealDividedDamage { .. } => 2,
        Effect::LoseLife { who, .. } | Effect::Mill { who, .. } | Effect::DiscardHand { who } => harm(who, 2),
        Effect::Discard { who, .. } | Effect::Sacrifice { who, .. } => harm(who, 2),
        Effect::Destroy { what, .. }
        | Effect::Exile { what }
        | Effect::ExileUntilLeaves { what }
        | Effect::ExileLinked { what } => harm(what, 3),
        Effect::Counter { what, .. } => harm(what, 3),
        Effect::Move { what, .. } | Effect::Tap { what } | Effect::SacrificeObjects { what } => harm(what, 1),
        Effect::Fight { second, .. } => harm(second, 1),
        Effect::GainLife { who, .. } | Effect::Draw { who, .. } => harm(who, -2),
        Effect::Untap { what } | Effect::Regenerate { what } => harm(what, -1),
        Effect::PutCounters { what, kind, .. } => {
            harm(what, if *kind == crate::ability::CounterKind::MinusOne { 2 } else { -2 })
        }
        Effect::Continuous { affected, changes, .. } => harm(affected, changes_harm(changes)),
        Effect::If { then, otherwise, .. }
        | Effect::May { then, otherwise, .. }
        | Effect::MayPay { then, otherwise, .. } => {
            then.iter().chain(otherwise).map(|instruction| effect_harm(&instruction.effect)).sum()
        }
        Effect::ForEach { then, .. } | Effect::Repeat { then, .. } => {
            then.iter().map(|instruction| effect_harm(&instruction.effect)).sum()
        }
        _ => 0,
    }
}

fn changes_harm(changes: &[Change]) -> i32 {
    let fixed = |amount: &Amount| if let Amount::Fixed(number) = amount { number.signum() } else { 1 };
    changes
        .iter()
        .map(|change| match change {
            Change::Modify { power, toughness } => -fixed(power) - fixed(toughness),
            Change::Control(_) | Change::LoseAllAbilities | Change::RemoveKeyword(_) => 3,
            Change::Restriction(
                Restriction::CantBeBlocked
                | Restriction::BlocksAsFlying
                | Restriction::AttacksDespiteDefender,
            ) => -1,
            Change::Restriction(_) => 2,
            Change::AddKeyword(Keyword::Defender) => 1,
            Change::AddKeyword(_) | Change::AddAbility(_) => -1,
            _ => 0,
        })
        .sum()
}

/// Answer to a question of a resolution: as much as is useful, the least valuable for costs.
pub(super) fn default_answer(engine: &MTGEngine, decision: &Decision) -> Answer {
    let count = u32::try_from(decision.options.len()).unwrap_or(u32::MAX);
    let all = |number: u32| Answer::Options((0..number.min(count)).collect());
    match decision.kind {
        DecisionKind::DamageAssignment => Answer::Division(MTGEngine::usual_damage(decision)),
        DecisionKind::Division => {
            let mut amounts = decision.minimums.clone();
            let rest = decision.total - amounts.iter().sum::<i32>();
            if let Some(first) = amounts.first_mut() {
                *first += rest;
            }
            Answer::Division(amounts)
        }
        DecisionKind::Scry | DecisionKind::Surveil => Answer::Options(unwanted_cards(engine, decision)),
        DecisionKind::Discard | DecisionKind::Sacrifice | DecisionKind::PayCost | DecisionKind::Bottom => {
            ranked(engine, decision, decision.min, false)
        }
        DecisionKind::Search | DecisionKind::LookAtTop => ranked(engine, decision, decision.max, true),
        DecisionKind::TriggerTargets | DecisionKind::Choose | DecisionKind::NewTargets => {
            let wanted = decision.min.max(1).min(decision.max);
            ranked(engine, decision, wanted, true)
        }
        // The first label accepts, keeps, pays or plays first.
        _ => all(decision.min.max(1).min(decision.max)),
    }
}

/// The most or least valuable options; those of the opponent count as most valuable.
fn ranked(engine: &MTGEngine, decision: &Decision, count: u32, most: bool) -> Answer {
    let view = engine.view();
    let lands = own_lands(engine, decision.player);
    let mut order: Vec<(i32, u32)> = (0u32..)
        .zip(&decision.options)
        .map(|(index, option)| {
            let value = match option {
                Choosable::Entity(Entity::Object(id)) => {
                    let own = view.characteristics(*id);
                    let base = if own.is(CardType::Land) {
                        if lands < 4 { 60 } else { 5 }
                    } else {
                        10 + view.mana_value(*id) * 10
                    };
                    base + i32::from(most && view.controller(*id) != decision.player) * 1000
                }
                Choosable::Entity(Entity::Player(seat)) => i32::from(*seat != decision.player) * 500,
                _ => 0,
            };
            (if most { -value } else { value }, index)
        })
        .collect();
    order.sort_unstable();
    let count = usize::try_from(count).unwrap_or(0);
    Answer::Options(order.into_iter().take(count).map(|(_, index)| index).collect())
}

fn own_lands(engine: &MTGEngine, player: PlayerId) -> usize {
    let view = engine.view();
    let is_own = |id: &&ObjectId| {
        let own = view.characteristics(**id);
        own.controller == player && own.is(CardType::Land)
    };
    engine.state().battlefield.iter().filter(is_own).count()
}

/// Lands when there are enough, expensive spells when there are few.
fn unwanted_cards(engine: &MTGEngine, decision: &Decision) -> Vec<u32> {
    let view = engine.view();
    let lands = own_lands(engine, decision.player);
    let unwanted = |option: &Choosable| match option {
        Choosable::Entity(Entity::Object(id)) => {
            if view.characteristics(*id).is(CardType::Land) {
                lands >= 5
            } else {
                usize::try_from(view.mana_value(*id)).unwrap_or(0) > lands + 3
            }
        }
        _ => false,
    };
    let mut chosen: Vec<u32> = (0u32..)
        .zip(&decision.options)
        .filter(|(_, option)| unwanted(option))
        .map(|(index, _)| index)
        .collect();
    chosen.truncate(usize::try_from(decision.max).unwrap_or(0));
    let count = u32::try_from(decision.options.len()).unwrap_or(u32::MAX);
    for index in 0..count {
        if u32::try_from(chosen.len()).unwrap_or(u32::MAX) < decision.min && !chosen.contains(&index) {
            chosen.push(index);
        }
    }
    chosen
}

/// Whether one creature survives a fight with another, and whether it kills it.
fn fight(engine: &MTGEngine, one: ObjectId, two: ObjectId) -> (bool, bool) {
    let view = engine.view();
    let (own, other) = (view.characteristics(one), view.characteristics(two));
    let left = |id: ObjectId| view.characteristics(id).toughness - view.object(id).damage;
    let deadly = |by: ObjectId, to: ObjectId| {
        let dealer = view.characteristics(by);
        dealer.power > 0
            && (dealer.power >= left(to) || dealer.has(Keyword::Deathtouch))
            && !view.characteristics(to).has(Keyword::Indestructible)
    };
    let strikes_first = |own: &crate::characteristics::Characteristics| {
        own.has(Keyword::FirstStrike) || own.has(Keyword::DoubleStrike)
    };
    let (mut kills, mut dies) = (deadly(one, two), deadly(two, one));
    if strikes_first(own) && !strikes_first(other) && kills {
        dies = false;
    }
    if strikes_first(other) && !strikes_first(own) && dies {
        kills = false;
    }
    (!dies, kills)
}

/// Attacks with creatures that no blocker stops at a profit, and with all if that wins.
pub(super) fn quick_attack(engine: &MTGEngine, player: PlayerId) -> Vec<(ObjectId, Entity)> {
    let view = engine.view();
    let opponent = player.opponent();
    let target = Entity::Player(opponent);
    let blockers = engine.possible_blockers(opponent);
    let able = engine.possible_attackers(player);
    let mut powers: Vec<i32> = able.iter().map(|id| view.characteristics(*id).power.max(0)).collect();
    powers.sort_unstable();
    let unblocked: i32 = powers.iter().take(powers.len().saturating_sub(blockers.len())).sum();
    let wins = unblocked >= engine.state().player(opponent).life;
    let mut attack = engine.required_attack(player);
    for id in able {
        let own = view.characteristics(id);
        if attack.iter().any(|entry| entry.0 == id) || own.power <= 0 {
            continue;
        }
        let value = creature_value(&view, id);
        let stopped = blockers.iter().filter(|blocker| engine.can_block(**blocker, id)).any(|blocker| {
            let (survives, kills) = fight(engine, id, *blocker);
            !survives && (!kills || creature_value(&view, *blocker) < value)
        });
        if wins || !stopped {
            attack.push((id, target));
        }
    }
    if engine.check_attack(player, &attack).is_ok() { attack } else { engine.required_attack(player) }
}

/// Blocks where it pays, and where it is needed to stay alive.
pub(super) fn quick_block(engine: &MTGEngine, player: PlayerId) -> Vec<(ObjectId, ObjectId)> {
    let view = engine.view();
    let mut block = engine.required_block(player);
    let mut attackers: Vec<ObjectId> = engine
        .state()
        .combat
        .attackers
        .iter()
        .map(|attacker| attacker.object)
        .filter(|id| !block.iter().any(|entry| entry.1 == *id))
        .collect();
    attackers.sort_by_key(|id| -view.characteristics(*id).power);
    let mut incoming: i32 = attackers.iter().map(|id| view.characteristics(*id).power.max(0)).sum();
    let life = engine.state().player(player).life;
    let mut free: Vec<ObjectId> = engine
        .possible_blockers(player)
        .into_iter()
        .filter(|id| !block.iter().any(|entry| entry.0 == *id))
        .collect();
    for attacker in attackers {
        let value = creature_value(&view, attacker);
        let mut best: Option<(i32, ObjectId)> = None;
        for blocker in &free {
            if !engine.can_block(*blocker, attacker) || engine.min_blockers(attacker) > 1 {
                continue;
            }
            let (survives, kills) = fight(engine, *blocker, attacker);
            let own = creature_value(&view, *blocker);
            let rank = match (survives, kills) {
                (true, true) => 40,
                (true, false) => 20,
                (false, true) if own <= value + 1.0 => 30,
                (false, true) if incoming >= life => 10,
                (false, _) if incoming >= life => 5,
                _ => 0,
            };
            let rank = if rank > 0 { rank * 100 - whole(own) } else { 0 };
            if rank > best.map_or(0, |known| known.0) {
                best = Some((rank, *blocker));
            }
        }
        if let Some((_, blocker)) = best {
            let mut trial = block.clone();
            trial.push((blocker, attacker));
            if engine.check_block(player, &trial).is_ok() {
                block = trial;
                free.retain(|id| *id != blocker);
                incoming -= view.characteristics(attacker).power.max(0);
            }
        }
    }
    block
}
