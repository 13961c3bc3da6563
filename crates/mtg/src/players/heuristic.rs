//! The heuristic player: tries each candidate on a copy of the game and keeps the best position.
//!
//! What it tries is followed until the stack is empty and a combat that has begun is over, with
//! simple answers for both players. The value of a position counts bodies, cards, lands and life, so
//! that removal is worth what it removes and a curve of spells is worth more than cards in hand;
//! attacks and blocks are built creature by creature as long as the fight gets better.

use super::GamePlayer;
use super::evaluation::evaluate;
use super::observation::Observation;
use super::quick::{default_answer, quick_attack, quick_block};
use crate::ability::TurnStep;
use crate::action::Action;
use crate::card::{CardType, Color, ColorSet};
use crate::decision::{Answer, Choosable, Decision, DecisionKind};
use crate::engine::MTGEngine;
use crate::ids::{AbilityRef, Entity, ObjectId, PlayerId};

/// Questions that are followed after a candidate.
const MAX_FOLLOWED: usize = 60;

/// Candidates that are tried for one question.
const MAX_CANDIDATES: usize = 40;

/// Gain that an action must have over passing, so that no ability is used for nothing.
pub(super) const MIN_GAIN: f64 = 0.15;

/// Numbers of lands that make an opening hand of seven good.
const GOOD_HAND_LANDS: std::ops::RangeInclusive<usize> = 2..=5;

/// Greatest mana value of spells that make an opening hand good.
const EARLY_MANA_VALUE: i32 = 4;

/// Player that looks one action ahead.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeuristicPlayer;

impl GamePlayer for HeuristicPlayer {
    fn answer(&mut self, observation: &Observation) -> Answer {
        let engine = observation.engine();
        observation
            .decision()
            .map_or_else(|| Answer::Action(Box::new(Action::Pass)), |decision| best_answer(engine, decision))
    }
}

/// The best of the candidates.
pub(super) fn best_answer(engine: &MTGEngine, decision: &Decision) -> Answer {
    match decision.kind {
        DecisionKind::Priority => best_action(engine, decision),
        DecisionKind::Mulligan => mulligan_answer(engine, decision),
        DecisionKind::DeclareAttackers => Answer::Attack(best_attack(engine, decision)),
        DecisionKind::DeclareBlockers => Answer::Block(best_block(engine, decision)),
        _ => {
            let mut best: Option<(f64, Answer)> = None;
            for answer in option_candidates(engine, decision) {
                if let Some(value) = try_answer(engine, decision, &answer)
                    && best.as_ref().is_none_or(|known| value > known.0)
                {
                    best = Some((value, answer));
                }
            }
            best.map_or_else(|| default_answer(engine, decision), |known| known.1)
        }
    }
}

fn best_action(engine: &MTGEngine, decision: &Decision) -> Answer {
    let mut ranked = rank_actions(engine, decision);
    let (_, action) = ranked.swap_remove(0);
    Answer::Action(Box::new(action))
}

/// The actions with the values of the positions they lead to, best first; passing is one of them.
pub(super) fn rank_actions(engine: &MTGEngine, decision: &Decision) -> Vec<(f64, Action)> {
    let pass = Answer::Action(Box::new(Action::Pass));
    let still = try_answer(engine, decision, &pass).unwrap_or(0.0);
    let mut ranked = vec![(still + MIN_GAIN, Action::Pass)];
    for action in distinct_actions(engine, decision.player) {
        // A land is worth playing whatever the position.
        let bonus = if matches!(action, Action::PlayLand { .. }) { 3.0 } else { 0.0 };
        let answer = Answer::Action(Box::new(action.clone()));
        if let Some(value) = try_answer(engine, decision, &answer) {
            ranked.push((value + bonus, action));
        }
    }
    // The sort is stable: among equals passing comes first.
    ranked.sort_by(|one, two| two.0.total_cmp(&one.0));
    ranked
}

/// Actions without passing; of those with the same label only one.
fn distinct_actions(engine: &MTGEngine, player: PlayerId) -> Vec<Action> {
    let mut labels: Vec<String> = Vec::new();
    let mut distinct = Vec::new();
    for action in engine.list_actions(player) {
        if matches!(action, Action::Pass | Action::Concede) {
            continue;
        }
        let mut label = engine.label(&action);
        // Two creatures of the same name are different targets.
        if let Action::Cast(cast) = &action {
            label.push_str(&format!("{:?}{:?}", cast.targets, cast.way));
        } else if let Action::Activate(activate) = &action {
            label.push_str(&format!("{:?}", activate.targets));
        }
        if !labels.contains(&label) && distinct.len() < MAX_CANDIDATES {
            labels.push(label);
            distinct.push(action);
        }
    }
    distinct
}

/// Value of the position after an answer, or `None` if it is refused.
pub(super) fn try_answer(engine: &MTGEngine, decision: &Decision, answer: &Answer) -> Option<f64> {
    let mut trial = engine.clone();
    trial.submit(decision.player, decision.number, answer.clone()).ok()?;
    settle(&mut trial);
    Some(evaluate(&trial, decision.player))
}

/// Follows a game by simple answers until the stack is empty and no combat is going on.
fn settle(engine: &mut MTGEngine) {
    for _ in 0..MAX_FOLLOWED {
        let Some(decision) = engine.decision().cloned() else { return };
        let state = engine.state();
        let fighting = !state.combat.attackers.is_empty()
            && (TurnStep::DeclareAttackers..=TurnStep::CombatDamage).contains(&state.step);
        let answer = match decision.kind {
            DecisionKind::Priority if state.stack.is_empty() && !fighting => return,
            DecisionKind::Priority => Answer::Action(Box::new(Action::Pass)),
            DecisionKind::DeclareAttackers => return,
            DecisionKind::DeclareBlockers => Answer::Block(quick_block(engine, decision.player)),
            _ => default_answer(engine, &decision),
        };
        if engine.submit(decision.player, decision.number, answer).is_err() {
            return;
        }
    }
}

fn mulligan_answer(engine: &MTGEngine, decision: &Decision) -> Answer {
    let view = engine.view();
    let seat = engine.state().player(decision.player);
    let (lands, spells): (Vec<ObjectId>, Vec<ObjectId>) =
        seat.hand.iter().partition(|id| view.characteristics(**id).is(CardType::Land));
    let mut colors = ColorSet::EMPTY;
    for reference in lands.iter().flat_map(|id| &view.characteristics(*id).abilities) {
        if let AbilityRef::Land(color) = reference
            && let Some(color) = Color::ALL.get(usize::from(*color))
        {
            colors.insert(*color);
        }
    }
    let castable = spells.iter().filter(|id| {
        let own = view.characteristics(**id);
        own.colors.iter().all(|color| colors.contains(color)) && view.mana_value(**id) <= EARLY_MANA_VALUE
    });
    let wanted = if lands.len() <= 2 { 2 } else { 1 };
    let good = GOOD_HAND_LANDS.contains(&lands.len()) && castable.count() >= wanted;
    let keeps = seat.mulligans >= 2 || good;
    Answer::Options(vec![u32::from(!keeps)])
}

/// Answers to a question with options: nothing, each option, the simple answer, all.
pub(super) fn option_candidates(engine: &MTGEngine, decision: &Decision) -> Vec<Answer> {
    let simple = default_answer(engine, decision);
    let mut candidates = vec![simple];
    let by_order = matches!(
        decision.kind,
        DecisionKind::OrderCards
            | DecisionKind::ScryOrder
            | DecisionKind::TriggerOrder
            | DecisionKind::Division
            | DecisionKind::DamageAssignment
            | DecisionKind::Bottom
    );
    if by_order || decision.min > 1 {
        return candidates;
    }
    let mut seen: Vec<&Choosable> = Vec::new();
    let mut add = |answer: Answer| {
        if !candidates.contains(&answer) && candidates.len() < MAX_CANDIDATES {
            candidates.push(answer);
        }
    };
    if decision.min == 0 {
        add(Answer::Options(Vec::new()));
    }
    for (index, option) in (0u32..).zip(&decision.options) {
        if !seen.contains(&option) {
            seen.push(option);
            add(Answer::Options(vec![index]));
        }
    }
    let count = u32::try_from(decision.options.len()).unwrap_or(u32::MAX);
    if decision.max > 1 && count > 1 {
        add(Answer::Options((0..count.min(decision.max)).collect()));
    }
    candidates
}

/// Adds and removes attackers as long as the position after combat gets better.
pub(super) fn best_attack(engine: &MTGEngine, decision: &Decision) -> Vec<(ObjectId, Entity)> {
    let player = decision.player;
    let value = |attack: &Vec<(ObjectId, Entity)>| {
        try_answer(engine, decision, &Answer::Attack(attack.clone())).unwrap_or(f64::NEG_INFINITY)
    };
    let target = Entity::Player(player.opponent());
    let required = engine.required_attack(player);
    let able = engine.possible_attackers(player);
    let everyone: Vec<(ObjectId, Entity)> = able.iter().map(|id| (*id, target)).collect();
    let mut best = (value(&required), required);
    for start in [quick_attack(engine, player), everyone] {
        let known = value(&start);
        if known > best.0 {
            best = (known, start);
        }
    }
    for id in able {
        let mut trial = best.1.clone();
        match trial.iter().position(|entry| entry.0 == id) {
            Some(position) => {
                trial.remove(position);
            }
            None => trial.push((id, target)),
        }
        let known = value(&trial);
        if known > best.0 {
            best = (known, trial);
        }
    }
    for defender in engine.defenders().into_iter().filter(|defender| *defender != target) {
        for position in 0..best.1.len() {
            let mut trial = best.1.clone();
            if let Some(entry) = trial.get_mut(position) {
                entry.1 = defender;
            }
            let known = value(&trial);
            if known > best.0 {
                best = (known, trial);
            }
        }
    }
    best.1
}

/// Adds blockers one by one as long as the position after combat gets better.
pub(super) fn best_block(engine: &MTGEngine, decision: &Decision) -> Vec<(ObjectId, ObjectId)> {
    let player = decision.player;
    let value = |block: &Vec<(ObjectId, ObjectId)>| {
        try_answer(engine, decision, &Answer::Block(block.clone())).unwrap_or(f64::NEG_INFINITY)
    };
    let required = engine.required_block(player);
    let mut best = (value(&required), required);
    let quick = quick_block(engine, player);
    let known = value(&quick);
    if known > best.0 {
        best = (known, quick);
    }
    let mut tries = 0;
    for blocker in engine.possible_blockers(player) {
        let mut improved = best.clone();
        for attacker in &decision.subjects {
            if tries >= MAX_CANDIDATES * 2 || !engine.can_block(blocker, *attacker) {
                continue;
            }
            tries += 1;
            let mut trial = best.1.clone();
            trial.retain(|entry| entry.0 != blocker);
            trial.push((blocker, *attacker));
            let known = value(&trial);
            if known > improved.0 {
                improved = (known, trial);
            }
        }
        let mut without = best.1.clone();
        without.retain(|entry| entry.0 != blocker);
        if without.len() < best.1.len() {
            let known = value(&without);
            if known > improved.0 {
                improved = (known, without);
            }
        }
        best = improved;
    }
    best.1
}
