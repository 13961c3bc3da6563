//! Monte-Carlo tree search over determinised games (information sets).
//!
//! Each iteration draws the hidden cards anew, walks down the tree by upper confidence bounds among
//! the answers that are legal in this draw, adds one node, and plays on by simple answers for a few
//! turns. Answers start with the heuristic player's estimate as a prior, so that few iterations are
//! no worse than it. With a number of iterations the search is deterministic; with a time it is not.

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
        let player = observation.player();
        let mut nodes = vec![Node { branches: make_branches(observation.engine(), decision) }];
        let choices = nodes.first().map_or(0, |root| root.branches.len());
        if choices <= 1 {
            return best_answer(observation.engine(), decision);
        }
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
            let engine = observation.determinise(&mut self.random);
            self.iterate(&mut nodes, engine, player);
            iterations += 1;
            self.rollouts += 1;
        }
        let best = nodes.into_iter().next().and_then(|root| {
            root.branches
                .into_iter()
                .max_by(|one, two| one.visits.total_cmp(&two.visits).then(mean(one).total_cmp(&mean(two))))
        });
        best.map_or_else(|| best_answer(observation.engine(), decision), |branch| branch.answer)
    }

    /// One draw of the hidden cards: selection, expansion, rollout, update.
    fn iterate(&mut self, nodes: &mut Vec<Node>, mut engine: MTGEngine, player: PlayerId) {
        let mut path: Vec<(usize, usize, PlayerId)> = Vec::new();
        let mut at = 0;
        let last_turn = engine.state().turn + ROLLOUT_TURNS;
        while path.len() < MAX_DEPTH {
            let Some(decision) = engine.decision().cloned() else { break };
            let Some((branch, answer)) = select_branch(nodes, at, &engine, &decision) else { break };
            if engine.submit(decision.player, decision.number, answer).is_err() {
                break;
            }
            path.push((at, branch, decision.player));
            skip_forced(&mut engine, &mut self.random);
            let child =
                nodes.get(at).and_then(|node| node.branches.get(branch)).and_then(|known| known.child);
            if let Some(child) = child {
                at = child;
                continue;
            }
            // The new node gets its branches when it is reached again.
            let fresh = nodes.len();
            nodes.push(Node::default());
            if let Some(known) = nodes.get_mut(at).and_then(|node| node.branches.get_mut(branch)) {
                known.child = Some(fresh);
            }
            break;
        }
        roll_out(&mut engine, last_turn, &mut self.random);
        let chance = win_chance(&engine, player);
        for (node, branch, mover) in path {
            if let Some(known) = nodes.get_mut(node).and_then(|node| node.branches.get_mut(branch)) {
                known.visits += 1.0;
                known.total += if mover == player { chance } else { 1.0 - chance };
            }
        }
    }
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
    let prior = |value: f64| 1.0 / (1.0 + (-value.clamp(-WIN_VALUE, WIN_VALUE) / 14.0).exp());
    let branch = |(value, answer)| Branch {
        answer,
        prior: prior(value),
        visits: 0.0,
        total: 0.0,
        available: 0.0,
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
