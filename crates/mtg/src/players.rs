//! Players without a model: the random player, for fuzzing and as a measure of others.

use crate::ability::Zone;
use crate::card::CardFace;
use crate::decision::{Answer, Decision, DecisionKind};
use crate::engine::MTGEngine;
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::rng::RandomStream;
use crate::state::{GameState, ObjectKind};
use crate::task::Task;

impl MTGEngine {
    /// New game of two decks; the starting player is drawn by lot and chooses to play or draw.
    #[must_use]
    pub fn new_game(seed: u64, decks: [&[CardFace]; 2]) -> Self {
        let mut state = GameState::new(seed);
        for (player, deck) in PlayerId::BOTH.into_iter().zip(decks) {
            let mut library: Vec<ObjectId> = Vec::with_capacity(deck.len());
            for card in deck {
                let face = state.faces.intern(card);
                library.push(state.add_object(ObjectKind::Card, face, player, Zone::Library));
            }
            state.player_mut(player).library = library;
        }
        let first = PlayerId(u8::from(state.random.below(2) == 1));
        state.active = first;
        state.tasks.push(Task::ChooseStart(first));
        Self::from_state(state)
    }
}

/// Legal answer, chosen at random.
#[must_use]
pub fn random_answer(engine: &MTGEngine, decision: &Decision, random: &mut RandomStream) -> Answer {
    match decision.kind {
        DecisionKind::Priority => {
            let mut actions = engine.list_actions(decision.player);
            let index = random.below(actions.len());
            let action =
                if index < actions.len() { actions.swap_remove(index) } else { crate::action::Action::Pass };
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
