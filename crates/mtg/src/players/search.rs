//! Search over determinised games (information sets): every candidate meets the same draws.
//!
//! A draw gives the hidden cards faces at random. Each candidate answer is played out in each draw by the heuristic player's
//! simple form on both sides for a few turns, so that luck does not decide between them. The opponent blocks an attack as
//! the heuristic player would; what this answer is hardly depends on hidden cards, so it is sought once for each attack.
//! Candidates that are clearly worse drop out, and the time goes to the others. The heuristic player's answer is left only
//! for one that was better in the same draws by more than chance. With a number of iterations the search is deterministic;
//! with a time it is not.

use super::GamePlayer;
use super::evaluation::win_chance;
use super::heuristic::{best_answer, best_attack, best_block, option_candidates, rank_actions, try_answer};
use super::observation::Observation;
use super::quick::{light_answer, quick_attack, quick_block};
use crate::action::Action;
use crate::decision::{Answer, Decision, DecisionKind};
use crate::engine::MTGEngine;
use crate::ids::{Entity, ObjectId};
use crate::rng::RandomStream;
use std::time::{Duration, Instant};

/// Answers of one question that the search compares.
const MAX_CANDIDATES: usize = 8;

/// Blocks that differ from the best one in one blocker and are estimated.
const MAX_OTHER_BLOCKS: usize = 24;

/// Turns that a rollout plays after the current one.
const ROLLOUT_TURNS: u32 = 4;

/// Questions that a rollout answers at most.
const MAX_ROLLOUT_ANSWERS: usize = 400;

/// Draws that two answers have in common before they are compared.
const MIN_COMPARED: usize = 12;

/// Standard errors by which an answer must be better than the heuristic player's.
const CERTAINTY: f64 = 0.5;

/// Standard errors by which a candidate that drops out is worse than the best.
const DROP_CERTAINTY: f64 = 2.5;

/// Draws after which a candidate that cannot gain anything, or did as the best in each of them, drops out.
const SETTLED_DRAWS: usize = 64;

/// Gain over the heuristic player's answer, in chances to win, for which no more time is spent.
const MIN_WIN_GAIN: f64 = 0.002;

/// Estimates this much below the best are not searched.
const MAX_ESTIMATE_GAP: f64 = 12.0;

/// When a search ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchBudget {
    Iterations(u32),
    Time(Duration),
}

/// Answer with what a search found for it.
#[derive(Debug, Clone, PartialEq)]
pub struct RatedAnswer {
    pub answer: Answer,
    /// Chance to win, between 0 and 1.
    pub win_chance: f64,
    /// Games that were played out after it.
    pub rollouts: usize,
}

/// Player that searches.
#[derive(Debug, Clone)]
pub struct SearchPlayer {
    budget: SearchBudget,
    random: RandomStream,
    /// Rollouts so far, for measurements.
    pub rollouts: u64,
}

/// Answer that the search compares; the first is the heuristic player's.
#[derive(Debug)]
struct Candidate {
    answer: Answer,
    /// Results in the order of the draws.
    values: Vec<f64>,
    /// The opponent's answer to an attack, once it is known.
    block: Option<Vec<(ObjectId, ObjectId)>>,
    has_dropped: bool,
}

impl Candidate {
    fn new(answer: Answer) -> Self {
        Candidate { answer, values: Vec::new(), block: None, has_dropped: false }
    }
}

/// Mean result of a candidate; 0 for one that was not played.
fn mean(candidate: &Candidate) -> f64 {
    let count = u32::try_from(candidate.values.len()).map_or(1.0, f64::from);
    candidate.values.iter().sum::<f64>() / count.max(1.0)
}

impl SearchPlayer {
    #[must_use]
    pub fn new(budget: SearchBudget, seed: u64) -> Self {
        Self { budget, random: RandomStream::new(seed), rollouts: 0 }
    }

    fn search(&mut self, observation: &Observation, decision: &Decision) -> Answer {
        let candidates = make_candidates(observation.engine(), decision);
        if candidates.len() <= 1 {
            return best_answer(observation.engine(), decision);
        }
        choose_candidate(self.play_candidates(observation, decision, candidates))
            .map_or_else(|| best_answer(observation.engine(), decision), |candidate| candidate.answer)
    }

    /// The answers to the open question with what the search found for each, best first. An answer
    /// that was given is among them if it is legal.
    #[must_use]
    pub fn rate_answers(&mut self, observation: &Observation, given: Option<&Answer>) -> Vec<RatedAnswer> {
        let Some(decision) = observation.decision() else { return Vec::new() };
        let engine = observation.engine();
        let mut candidates = make_candidates(engine, decision);
        if let Some(given) = given
            && !candidates.iter().any(|candidate| candidate.answer == *given)
            && try_answer(engine, decision, given).is_some()
        {
            candidates.push(Candidate::new(given.clone()));
        }
        if candidates.len() > 1 {
            candidates = self.play_candidates(observation, decision, candidates);
        }
        let rated = |candidate: Candidate| RatedAnswer {
            win_chance: mean(&candidate),
            rollouts: candidate.values.len(),
            answer: candidate.answer,
        };
        let mut rated: Vec<RatedAnswer> = candidates.into_iter().map(rated).collect();
        rated.sort_by(|one, two| two.win_chance.total_cmp(&one.win_chance));
        rated
    }

    /// Plays the candidates out until the budget is spent or all but one have dropped out.
    fn play_candidates(
        &mut self,
        observation: &Observation,
        decision: &Decision,
        mut candidates: Vec<Candidate>,
    ) -> Vec<Candidate> {
        let begun = Instant::now();
        let seed = self.random.next_word();
        let mut iterations: u32 = 0;
        'draws: for draw in 0_u64.. {
            let mut random = RandomStream::new(seed.wrapping_add(draw.wrapping_mul(0x9e37_79b9)));
            let drawn = observation.determinise(&mut random);
            for candidate in candidates.iter_mut().filter(|candidate| !candidate.has_dropped) {
                let is_over = match self.budget {
                    SearchBudget::Iterations(limit) => iterations >= limit,
                    SearchBudget::Time(limit) => begun.elapsed() >= limit,
                };
                if is_over {
                    break 'draws;
                }
                let value = play_out(&drawn, decision, candidate);
                candidate.values.push(value);
                iterations += 1;
                self.rollouts += 1;
            }
            drop_worse(&mut candidates);
            if candidates.iter().filter(|candidate| !candidate.has_dropped).count() <= 1 {
                break;
            }
        }
        candidates
    }
}

/// The chance to win after an answer, when both players play on by simple answers.
fn play_out(drawn: &MTGEngine, decision: &Decision, candidate: &mut Candidate) -> f64 {
    let mut engine = drawn.clone();
    let last_turn = engine.state().turn + ROLLOUT_TURNS;
    if engine.submit(decision.player, decision.number, candidate.answer.clone()).is_ok() {
        if decision.kind == DecisionKind::DeclareAttackers {
            answer_attack(&mut engine, &mut candidate.block);
        }
        roll_out(&mut engine, last_turn);
    }
    win_chance(&engine, decision.player)
}

/// Lets the opponent block an attack that was declared, as well as the heuristic player does.
fn answer_attack(engine: &mut MTGEngine, block: &mut Option<Vec<(ObjectId, ObjectId)>>) {
    let turn = engine.state().turn;
    for _ in 0..MAX_ROLLOUT_ANSWERS {
        let Some(decision) = engine.decision().cloned() else { return };
        let is_block = decision.kind == DecisionKind::DeclareBlockers;
        if engine.state().turn != turn || engine.state().combat.attackers.is_empty() {
            return;
        }
        let answer = if is_block {
            let known = block.take().filter(|known| engine.check_block(decision.player, known).is_ok());
            let best = known.unwrap_or_else(|| best_block(engine, &decision));
            Answer::Block(block.insert(best).clone())
        } else {
            light_answer(engine, &decision)
        };
        if engine.submit(decision.player, decision.number, answer).is_err() || is_block {
            return;
        }
    }
}

/// How much better one candidate was than another in the same draws: mean and standard error.
fn compare(one: &Candidate, other: &Candidate) -> Option<(f64, f64)> {
    let gains: Vec<f64> = one.values.iter().zip(&other.values).map(|(own, other)| own - other).collect();
    if gains.len() < MIN_COMPARED {
        return None;
    }
    let count = u32::try_from(gains.len()).map_or(0.0, f64::from);
    let mean = gains.iter().sum::<f64>() / count;
    let spread = gains.iter().map(|gain| (gain - mean) * (gain - mean)).sum::<f64>() / count;
    Some((mean, (spread / count).sqrt()))
}

/// Drops candidates that are clearly worse than the best, do as the best in every draw, or cannot gain anything over the
/// heuristic player's answer.
fn drop_worse(candidates: &mut [Candidate]) {
    let alive = candidates.iter().enumerate().rev().filter(|(_, candidate)| !candidate.has_dropped);
    // Of equal ones the first stays, which is more likely to be the heuristic player's.
    let best = alive.max_by(|(_, one), (_, two)| mean(one).total_cmp(&mean(two)));
    let Some((index_of_best, best)) = best else { return };
    let is_settled = best.values.len() >= SETTLED_DRAWS;
    let usual = candidates.first();
    let gains_nothing = |candidate: &Candidate| {
        let gain = usual
            .filter(|usual| !std::ptr::eq(*usual, candidate))
            .and_then(|usual| compare(candidate, usual));
        gain.is_some_and(|(mean, error)| mean + error * DROP_CERTAINTY < MIN_WIN_GAIN)
    };
    let is_beaten = |candidate: &Candidate| {
        let is_worse = compare(best, candidate).is_some_and(|(mean, error)| mean > error * DROP_CERTAINTY);
        is_worse || (is_settled && (best.values == candidate.values || gains_nothing(candidate)))
    };
    let beaten: Vec<usize> = candidates
        .iter()
        .enumerate()
        .filter(|(index, candidate)| {
            *index != index_of_best && !candidate.has_dropped && is_beaten(candidate)
        })
        .map(|(index, _)| index)
        .collect();
    for index in beaten {
        if let Some(candidate) = candidates.get_mut(index) {
            candidate.has_dropped = true;
        }
    }
}

/// The heuristic player's answer, unless another was better in the same draws by more than chance.
fn choose_candidate(mut candidates: Vec<Candidate>) -> Option<Candidate> {
    let usual = candidates.first()?;
    let mut best = (0.0, 0);
    for (index, candidate) in candidates.iter().enumerate().skip(1) {
        let Some((mean, error)) = compare(candidate, usual) else { continue };
        let sure = mean - error * CERTAINTY;
        if sure > best.0 {
            best = (sure, index);
        }
    }
    Some(candidates.swap_remove(best.1))
}

impl GamePlayer for SearchPlayer {
    fn answer(&mut self, observation: &Observation) -> Answer {
        let engine = observation.engine();
        let Some(decision) = observation.decision() else { return Answer::Action(Box::new(Action::Pass)) };
        match decision.kind {
            DecisionKind::Mulligan | DecisionKind::Bottom | DecisionKind::PlayOrDraw => {
                best_answer(engine, decision)
            }
            _ => self.search(observation, decision),
        }
    }
}

/// The answers that are worth comparing, in the order of the heuristic player's estimates.
fn make_candidates(engine: &MTGEngine, decision: &Decision) -> Vec<Candidate> {
    let player = decision.player;
    let mut rated: Vec<(f64, Answer)> = Vec::new();
    match decision.kind {
        DecisionKind::Priority => {
            let ranked = rank_actions(engine, decision);
            rated.extend(ranked.into_iter().map(|(value, action)| (value, Answer::Action(Box::new(action)))));
        }
        DecisionKind::DeclareAttackers => {
            let target = Entity::Player(player.opponent());
            let best = best_attack(engine, decision);
            let mut attacks =
                vec![best.clone(), quick_attack(engine, player), engine.required_attack(player)];
            let able = engine.possible_attackers(player);
            attacks.push(able.iter().map(|id| (*id, target)).collect());
            for id in able {
                let mut other = best.clone();
                match other.iter().position(|entry| entry.0 == id) {
                    Some(position) => {
                        other.remove(position);
                    }
                    None => other.push((id, target)),
                }
                attacks.push(other);
            }
            rate(engine, decision, attacks.into_iter().map(Answer::Attack), &mut rated);
        }
        DecisionKind::DeclareBlockers => {
            let best = best_block(engine, decision);
            let mut blocks = vec![best.clone(), quick_block(engine, player), engine.required_block(player)];
            for position in 0..best.len() {
                let mut other = best.clone();
                other.remove(position);
                blocks.push(other);
            }
            blocks.extend(other_blocks(engine, decision, &best));
            rate(engine, decision, blocks.into_iter().map(Answer::Block), &mut rated);
        }
        _ => rate(engine, decision, option_candidates(engine, decision).into_iter(), &mut rated),
    }
    rated.sort_by(|one, two| two.0.total_cmp(&one.0));
    rated.truncate(MAX_CANDIDATES);
    if let Some(best) = rated.first().map(|entry| entry.0) {
        rated.retain(|entry| entry.0 >= best - MAX_ESTIMATE_GAP);
    }
    rated.into_iter().map(|(_, answer)| Candidate::new(answer)).collect()
}

/// A block with one blocker at another attacker, or with one blocker more.
fn other_blocks(
    engine: &MTGEngine,
    decision: &Decision,
    best: &[(ObjectId, ObjectId)],
) -> Vec<Vec<(ObjectId, ObjectId)>> {
    let mut blocks = Vec::new();
    for blocker in engine.possible_blockers(decision.player) {
        for attacker in &decision.subjects {
            if best.contains(&(blocker, *attacker)) || !engine.can_block(blocker, *attacker) {
                continue;
            }
            let mut other = best.to_vec();
            other.retain(|entry| entry.0 != blocker);
            other.push((blocker, *attacker));
            blocks.push(other);
        }
    }
    blocks.truncate(MAX_OTHER_BLOCKS);
    blocks
}

fn rate(
    engine: &MTGEngine,
    decision: &Decision,
    answers: impl Iterator<Item = Answer>,
    rated: &mut Vec<(f64, Answer)>,
) {
    for answer in answers {
        if !rated.iter().any(|known| known.1 == answer)
            && let Some(value) = try_answer(engine, decision, &answer)
        {
            rated.push((value, answer));
        }
    }
}

/// Plays on by simple answers until a turn is over.
fn roll_out(engine: &mut MTGEngine, last_turn: u32) {
    for _ in 0..MAX_ROLLOUT_ANSWERS {
        if engine.state().turn > last_turn {
            return;
        }
        let Some(decision) = engine.decision().cloned() else { return };
        let answer = light_answer(engine, &decision);
        if engine.submit(decision.player, decision.number, answer).is_err() {
            return;
        }
    }
}
