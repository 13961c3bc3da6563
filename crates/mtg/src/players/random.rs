//! The random player: for fuzzing, and as a measure of others.

use super::{GamePlayer, Observation};
use crate::action::Action;
use crate::decision::{Answer, Decision, DecisionKind};
use crate::engine::MTGEngine;
use crate::ids::Entity;
use crate::rng::RandomStream;

/// Player that takes any legal answer.
#[derive(Debug, Clone)]
pub struct RandomPlayer {
    random: RandomStream,
}

impl RandomPlayer {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: RandomStream::new(seed) }
    }
}

impl GamePlayer for RandomPlayer {
    fn answer(&mut self, observation: &Observation) -> Answer {
        let Some(decision) = observation.decision() else { return Answer::Action(Box::new(Action::Pass)) };
        random_answer(observation.engine(), decision, &mut self.random)
    }
}

/// Legal answer, chosen at random.
#[must_use]
pub fn random_answer(engine: &MTGEngine, decision: &Decision, random: &mut RandomStream) -> Answer {
    match decision.kind {
        DecisionKind::Priority => {
            let mut actions = engine.list_actions(decision.player);
            let index = random.below(actions.len());
            let action = if index < actions.len() { actions.swap_remove(index) } else { Action::Pass };
            Answer::Action(Box::new(action))
        }
        DecisionKind::DeclareAttackers => random_attack(engine, decision, random),
        DecisionKind::DeclareBlockers => random_block(engine, decision, random),
        DecisionKind::DamageAssignment => Answer::Division(MTGEngine::usual_damage(decision)),
        DecisionKind::Division => {
            let mut amounts = decision.minimums.clone();
            let rest = decision.total - amounts.iter().sum::<i32>();
            if let Some(first) = amounts.first_mut() {
                *first += rest;
            }
            Answer::Division(amounts)
        }
        DecisionKind::Mulligan => Answer::Options(vec![0]),
        _ => {
            let mut order: Vec<u32> = (0..u32::try_from(decision.options.len()).unwrap_or(0)).collect();
            random.shuffle(&mut order);
            let most = decision.max.min(u32::try_from(order.len()).unwrap_or(0));
            let spread = usize::try_from(most.saturating_sub(decision.min)).unwrap_or(0);
            let count = usize::try_from(decision.min).unwrap_or(0) + random.below(spread + 1);
            order.truncate(count);
            Answer::Options(order)
        }
    }
}

fn random_attack(engine: &MTGEngine, decision: &Decision, random: &mut RandomStream) -> Answer {
    let defenders = engine.defenders();
    let mut attack = engine.required_attack(decision.player);
    for id in engine.possible_attackers(decision.player) {
        if attack.iter().any(|entry| entry.0 == id) || random.below(2) == 0 {
            continue;
        }
        let defender = defenders.get(random.below(defenders.len())).copied();
        let mut trial = attack.clone();
        trial.push((id, defender.unwrap_or(Entity::Player(decision.player.opponent()))));
        if engine.check_attack(decision.player, &trial).is_ok() {
            attack = trial;
        }
    }
    Answer::Attack(attack)
}

fn random_block(engine: &MTGEngine, decision: &Decision, random: &mut RandomStream) -> Answer {
    let mut block = engine.required_block(decision.player);
    for id in engine.possible_blockers(decision.player) {
        if block.iter().any(|entry| entry.0 == id) || random.below(2) == 0 {
            continue;
        }
        let attacker = decision.subjects.get(random.below(decision.subjects.len())).copied();
        let mut trial = block.clone();
        trial.extend(attacker.map(|attacker| (id, attacker)));
        if engine.check_block(decision.player, &trial).is_ok() {
            block = trial;
        }
    }
    Answer::Block(block)
}
