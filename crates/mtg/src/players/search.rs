//! Monte-Carlo tree search over determinised games (information sets).
//!
//! Each iteration draws the hidden cards again, walks down the tree by upper confidence bounds among
//! the answers that are legal in this draw, adds one node, and plays on by simple answers for a few
//! turns. Answers start with the heuristic player's estimate as a prior, and its answer is kept
//! unless another was better in the same draws, so that few iterations are at least as good. With a number of iterations the search is deterministic; with a time it is not.

use super::GamePlayer;
use super::evaluation::{WIN_VALUE, win_chance};
use super::heuristic::{best_answer, best_attack, best_block, option_candidates, rank_actions, try_answer};
use super::observation::Observation;
use super::quick::{quick_answer, quick_attack, quick_block};
use crate::action::Action;
use crate::decision::{Answer, Decision, DecisionKind};
use crate::engine::MTGEngine;
use crate::ids::{Entity, PlayerId};
use crate::rng::RandomStream;
use std::time::{Duration, Instant};

/// Answers of one question that the search compares.
const MAX_BRANCHES: usize = 12;

/// Questions of one path that become nodes.
const MAX_DEPTH: usize = 8;

/// Turns that a rollout plays after the current one.
const ROLLOUT_TURNS: u32 = 3;

/// Questions that a rollout answers at most.
const MAX_ROLLOUT_ANSWERS: usize = 400;

/// Weight of exploring against exploiting.
const EXPLORATION: f64 = 0.45;

/// Visits that the heuristic player's estimate counts as.
const PRIOR_VISITS: f64 = 3.0;

/// Draws that two answers have in common before they are compared.
const MIN_COMPARED: f64 = 8.0;

/// Standard errors by which an answer must be better than the heuristic player's.
const CERTAINTY: f64 = 0.7;

/// Estimates this much below the best are not searched.
const MAX_ESTIMATE_GAP: f64 = 12.0;

/// Iterations before an answer can be settled early, and between two looks at the clock.
const MIN_ITERATIONS: u32 = 32;

/// When a search ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchBudget {
    Iterations(u32),
    Time(Duration),
}

/// Player that searches.
#[derive(Debug, Clone)]
pub struct SearchPlayer {
    budget: SearchBudget,
    random: RandomStream,
    /// Rollouts so far, for measurements.
    pub rollouts: u64,
}

/// Answer that the search compares.
#[derive(Debug)]
struct Branch {
    answer: Answer,
    prior: f64,
    visits: f64,
    total: f64,
    /// Times that the answer was legal when its node was visited.
    available: f64,
    /// Results in the order of the draws; only for the root.
    values: Vec<f64>,
    child: Option<usize>,
}

#[derive(Debug, Default)]
struct Node {
    branches: Vec<Branch>,
}

impl SearchPlayer {
    #[must_use]
    pub fn new(budget: SearchBudget, seed: u64) -> Self {
        Self { budget, random: RandomStream::new(seed), rollouts: 0 }
    }

    fn search(&mut self, observation: &Observation, decision: &Decision) -> Answer {
        let begun = Instant::now();
        let mut nodes = vec![Node { branches: make_branches(observation.engine(), decision) }];
        let choices = nodes.first().map_or(0, |root| root.branches.len());
        if choices <= 1 {
            return best_answer(observation.engine(), decision);
        }
        // The draws of a search are numbered: every answer of the root meets the same ones in the same
        // order, so that luck does not decide between them.
        let seed = self.random.next_word();
        let mut iterations: u32 = 0;
        loop {
            let over = match self.budget {
                SearchBudget::Iterations(limit) => iterations >= limit,
                SearchBudget::Time(limit) => begun.elapsed() >= limit,
            };
            if over
                || (iterations >= MIN_ITERATIONS && is_settled(nodes.first(), self.budget, iterations, begun))
            {
                break;
            }
            iterate(&mut nodes, observation, decision, seed);
            iterations += 1;
            self.rollouts += 1;
        }
        choose_branch(nodes.into_iter().next())
            .map_or_else(|| best_answer(observation.engine(), decision), |branch| branch.answer)
    }
}

/// One draw of the hidden cards: selection, expansion, rollout, update.
fn iterate(nodes: &mut Vec<Node>, observation: &Observation, root: &Decision, seed: u64) {
    let player = observation.player();
    let Some((first, answer)) = select_branch(nodes, 0, observation.engine(), root) else { return };
    let draw = nodes.first().and_then(|node| node.branches.get(first)).map_or(0, |known| known.values.len());
    let draw = u64::try_from(draw).unwrap_or(0);
    let mut random = RandomStream::new(seed.wrapping_add(draw.wrapping_mul(0x9e37_79b9)));
    let mut engine = observation.determinise(&mut random);
    let mut path: Vec<(usize, usize, PlayerId)> = vec![(0, first, player)];
    let last_turn = engine.state().turn + ROLLOUT_TURNS;
    if engine.submit(player, root.number, answer).is_ok() {
        skip_forced(&mut engine, &mut random);
        descend(nodes, &mut engine, &mut path, &mut random);
    }
    roll_out(&mut engine, last_turn, &mut random);
    let chance = win_chance(&engine, player);
    for (node, branch, mover) in path {
        if let Some(known) = nodes.get_mut(node).and_then(|node| node.branches.get_mut(branch)) {
            known.visits += 1.0;
            known.total += if mover == player { chance } else { 1.0 - chance };
            if node == 0 {
                known.values.push(chance);
            }
        }
    }
}

/// Walks down from the answer of the root, and adds a node where the tree ends.
fn descend(
    nodes: &mut Vec<Node>,
    engine: &mut MTGEngine,
    path: &mut Vec<(usize, usize, PlayerId)>,
    random: &mut RandomStream,
) {
    while path.len() < MAX_DEPTH {
        let Some((above, branch, _)) = path.last().copied() else { return };
        let child = nodes.get(above).and_then(|node| node.branches.get(branch)).and_then(|known| known.child);
        let Some(at) = child else {
            // The new node gets its branches when it is reached again.
            let fresh = nodes.len();
            nodes.push(Node::default());
            if let Some(known) = nodes.get_mut(above).and_then(|node| node.branches.get_mut(branch)) {
                known.child = Some(fresh);
            }
            return;
        };
        let Some(decision) = engine.decision().cloned() else { return };
        let Some((next, answer)) = select_branch(nodes, at, engine, &decision) else { return };
        if engine.submit(decision.player, decision.number, answer).is_err() {
            return;
        }
        path.push((at, next, decision.player));
        skip_forced(engine, random);
    }
}

/// The heuristic player's answer, unless another was better in the same draws by more than chance.
fn choose_branch(root: Option<Node>) -> Option<Branch> {
    let mut branches = root?.branches;
    let mut best = (0.0, 0);
    for (index, branch) in branches.iter().enumerate().skip(1) {
        let Some(usual) = branches.first() else { break };
        let gains: Vec<f64> =
            branch.values.iter().zip(&usual.values).map(|(own, other)| own - other).collect();
        let count = u32::try_from(gains.len()).map_or(0.0, f64::from);
        if count < MIN_COMPARED {
            continue;
        }
        let mean = gains.iter().sum::<f64>() / count;
        let spread = gains.iter().map(|gain| (gain - mean) * (gain - mean)).sum::<f64>() / count;
        let sure = mean - (spread / count).sqrt() * CERTAINTY;
        if sure > best.0 {
            best = (sure, index);
        }
    }
    (best.1 < branches.len()).then(|| branches.swap_remove(best.1))
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

fn mean(branch: &Branch) -> f64 {
    (branch.total + branch.prior * PRIOR_VISITS) / (branch.visits + PRIOR_VISITS)
}

/// Whether what is left of the budget cannot change the most visited answer.
fn is_settled(root: Option<&Node>, budget: SearchBudget, iterations: u32, begun: Instant) -> bool {
    let Some(root) = root else { return true };
    let mut visits: Vec<f64> = root.branches.iter().map(|branch| branch.visits).collect();
    visits.sort_by(|one, two| two.total_cmp(one));
    let lead = visits.first().copied().unwrap_or(0.0) - visits.get(1).copied().unwrap_or(0.0);
    let left = match budget {
        SearchBudget::Iterations(limit) => f64::from(limit.saturating_sub(iterations)),
        SearchBudget::Time(limit) => {
            let spent = begun.elapsed().as_secs_f64().max(1e-6);
            f64::from(iterations) * (limit.as_secs_f64() - spent).max(0.0) / spent
        }
    };
    lead > left
}

/// The branch to follow, with its answer; makes the branches of a node that has none yet.
fn select_branch(
    nodes: &mut [Node],
    at: usize,
    engine: &MTGEngine,
    decision: &Decision,
) -> Option<(usize, Answer)> {
    let node = nodes.get_mut(at)?;
    if node.branches.is_empty() {
        node.branches = make_branches(engine, decision);
    }
    let mut best: Option<(f64, usize)> = None;
    for (index, branch) in node.branches.iter_mut().enumerate() {
        if engine.check_answer(decision, &branch.answer).is_err() {
            continue;
        }
        branch.available += 1.0;
        let bound = mean(branch)
            + EXPLORATION * ((branch.available + 1.0).ln() / (branch.visits + PRIOR_VISITS * 0.5)).sqrt();
        if best.is_none_or(|known| bound > known.0) {
            best = Some((bound, index));
        }
    }
    let index = best?.1;
    let answer = node.branches.get(index)?.answer.clone();
    Some((index, answer))
}

/// The answers that are worth comparing, with the heuristic player's estimates.
fn make_branches(engine: &MTGEngine, decision: &Decision) -> Vec<Branch> {
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
            rate(engine, decision, blocks.into_iter().map(Answer::Block), &mut rated);
        }
        _ => rate(engine, decision, option_candidates(engine, decision).into_iter(), &mut rated),
    }
    rated.sort_by(|one, two| two.0.total_cmp(&one.0));
    rated.truncate(MAX_BRANCHES);
    if let Some(best) = rated.first().map(|entry| entry.0) {
        rated.retain(|entry| entry.0 >= best - MAX_ESTIMATE_GAP);
    }
    let prior = |value: f64| 1.0 / (1.0 + (-value.clamp(-WIN_VALUE, WIN_VALUE) / 14.0).exp());
    let branch = |(value, answer)| Branch {
        answer,
        prior: prior(value),
        visits: 0.0,
        total: 0.0,
        available: 0.0,
        values: Vec::new(),
        child: None,
    };
    rated.into_iter().map(branch).collect()
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

/// Answers questions that leave no real choice, so that they do not become nodes.
fn skip_forced(engine: &mut MTGEngine, random: &mut RandomStream) {
    for _ in 0..MAX_ROLLOUT_ANSWERS {
        let Some(decision) = engine.decision().cloned() else { return };
        let forced = match decision.kind {
            DecisionKind::Priority => engine.can_only_pass(decision.player),
            DecisionKind::DeclareAttackers => engine.possible_attackers(decision.player).is_empty(),
            DecisionKind::DeclareBlockers => engine.possible_blockers(decision.player).is_empty(),
            DecisionKind::OrderCards
            | DecisionKind::ScryOrder
            | DecisionKind::TriggerOrder
            | DecisionKind::DamageAssignment
            | DecisionKind::Division => true,
            _ => false,
        };
        if !forced {
            return;
        }
        let answer = quick_answer(engine, &decision, random);
        if engine.submit(decision.player, decision.number, answer).is_err() {
            return;
        }
    }
}

/// Plays on by simple answers until a turn is over.
fn roll_out(engine: &mut MTGEngine, last_turn: u32, random: &mut RandomStream) {
    for _ in 0..MAX_ROLLOUT_ANSWERS {
        if engine.state().turn > last_turn {
            return;
        }
        let Some(decision) = engine.decision().cloned() else { return };
        let answer = quick_answer(engine, &decision, random);
        if engine.submit(decision.player, decision.number, answer).is_err() {
            return;
        }
    }
}
