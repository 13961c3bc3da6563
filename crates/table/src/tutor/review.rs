//! Review of a game: where answers of a seat cost chances to win, found by search.
//!
//! Each answer that differs from the heuristic player's is compared, from what the seat could know, with
//! the best answer that a search finds. The loss in chances gives the severity.

use crate::cards::deck_cards;
use crate::context::TableContext;
use crate::error::TableError;
use crate::labels::Viewpoint;
use crate::percent::percent;
use crate::records;
use crate::setup::GameSetup;
use crate::turning_point::{KeyTurn, Severity, Skill, TurningPoint};
use marvin_mtg::MTGEngine;
use marvin_mtg::action::Action;
use marvin_mtg::decision::{Answer, Decision, DecisionKind};
use marvin_mtg::ids::PlayerId;
use marvin_mtg::journal::{AnswerOrigin, GameJournal, JournalLine};
use marvin_mtg::players::{GamePlayer, HeuristicPlayer, Observation, SearchBudget, SearchPlayer, win_chance};
use marvin_mtg::scenario::CachedSource;
use serde::{Deserialize, Serialize};

/// Iterations of the search behind one answer of a review.
pub const REVIEW_ITERATIONS: u32 = 96;

/// Turning points of a review.
const MAX_TURNING_POINTS: usize = 8;

/// Review of a game for one seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub game_id: String,
    pub seat: PlayerId,
    /// Answers that were compared.
    pub answers: usize,
    /// Worst first.
    pub turning_points: Vec<TurningPoint>,
    /// Turns in which no land was played although one could be.
    pub missed_land_drops: usize,
    /// Declarations of attackers, and those with at least one attacker.
    pub attack_chances: usize,
    pub attacks: usize,
    pub mulligans: usize,
    /// Turn with the greatest change of the chances, with the chances of the seat before and after it.
    #[serde(default)]
    pub key_turn: Option<KeyTurn>,
}

impl std::fmt::Display for Review {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut lines = vec![format!("{} answers of seat {} looked at", self.answers, self.seat.0)];
        if let Some(key) = &self.key_turn {
            lines.push(format!(
                "key turn {}: chances {} % to {} %",
                key.turn, key.before_percent, key.after_percent
            ));
        }
        if self.missed_land_drops > 0 {
            lines.push(format!("turns with a land left in hand unplayed: {}", self.missed_land_drops));
        }
        if self.turning_points.is_empty() {
            lines.push("no answer cost many chances".to_owned());
        }
        for point in &self.turning_points {
            lines.push(format!(
                "turn {} (line {}), {}, {}: {} ({} %); better: {} ({} %, {} games played out); rule {}",
                point.turn,
                point.line,
                point.severity.key(),
                point.skill.key(),
                point.chosen,
                point.chosen_percent,
                point.better,
                point.better_percent,
                point.rollouts,
                point.rule
            ));
        }
        formatter.write_str(&lines.join("\n"))
    }
}

impl Review {
    /// Reviews a game from its records. Without iterations only what needs no search is counted.
    ///
    /// # Errors
    /// A game that does not exist or whose journal was changed.
    pub fn of_game(
        context: &TableContext,
        game_id: &str,
        seat: PlayerId,
        iterations: Option<u32>,
    ) -> Result<Self, TableError> {
        let directory = records::find_directory(&context.games, game_id)?;
        let setup = records::read_setup(&directory)?;
        let [one, two] = &setup.decks;
        // The decks are looked at first: a pack that is gone is told as such.
        deck_cards(one, &context.pool)?;
        deck_cards(two, &context.pool)?;
        let text = records::read_journal(&directory)?;
        let cards = CachedSource::new(&context.pool);
        let journal = GameJournal::replay(&text, &cards, None)?;
        let mut review = Self {
            game_id: game_id.to_owned(),
            seat,
            answers: 0,
            turning_points: Vec::new(),
            missed_land_drops: 0,
            attack_chances: 0,
            attacks: 0,
            mulligans: 0,
            key_turn: None,
        };
        review.replay(context, &setup, &journal, &cards, iterations)?;
        review.turning_points.sort_by(|one, two| {
            let loss = |point: &TurningPoint| point.better_percent.saturating_sub(point.chosen_percent);
            loss(two).cmp(&loss(one)).then(one.line.cmp(&two.line))
        });
        review.turning_points.truncate(MAX_TURNING_POINTS);
        Ok(review)
    }

    fn replay(
        &mut self,
        context: &TableContext,
        setup: &GameSetup,
        journal: &GameJournal,
        cards: &CachedSource<'_>,
        iterations: Option<u32>,
    ) -> Result<(), TableError> {
        let mut game = GameJournal::start(journal.header.clone(), cards)?;
        let mut chance = ChanceByTurn::default();
        for (index, line) in journal.lines.iter().enumerate() {
            let before = game.engine();
            if line.player == self.seat {
                self.count(before, line);
            }
            if let Some(iterations) = iterations
                && line.player == self.seat
                && let Some(decision) = before.decision()
                && is_compared(line, decision)
            {
                self.answers += 1;
                let seed = setup.seed ^ u64::from(line.decision);
                let point =
                    compare(context, before, self.seat, line, SearchBudget::Iterations(iterations), seed);
                self.turning_points.extend(point.map(|point| TurningPoint { line: index + 2, ..point }));
            }
            game.submit_from(line.player, line.decision, line.answer.clone(), line.origin)?;
            chance.add(game.engine(), self.seat);
        }
        self.key_turn = chance.key_turn();
        Ok(())
    }

    /// Counts what needs no search.
    fn count(&mut self, before: &MTGEngine, line: &JournalLine) {
        match (&line.answer, line.kind) {
            (Answer::Attack(pairs), _) => {
                self.attack_chances += 1;
                self.attacks += usize::from(!pairs.is_empty());
            }
            (Answer::Options(chosen), DecisionKind::Mulligan) if chosen.first() == Some(&1) => {
                self.mulligans += 1;
            }
            (Answer::Action(action), DecisionKind::Priority) if **action == Action::Pass => {
                let state = before.state();
                let last_chance = state.active == self.seat
                    && state.step == marvin_mtg::ability::TurnStep::Main2
                    && state.stack.is_empty();
                let plays_land = |action: &Action| matches!(action, Action::PlayLand { .. });
                if last_chance && before.list_actions(self.seat).iter().any(plays_land) {
                    self.missed_land_drops += 1;
                }
            }
            _ => {}
        }
    }
}

/// Whether a search can say something about an answer.
fn is_compared(line: &JournalLine, decision: &Decision) -> bool {
    let automatic = matches!(line.origin, Some(AnswerOrigin::Pass | AnswerOrigin::Forced));
    let searched = !matches!(
        decision.kind,
        DecisionKind::Mulligan
            | DecisionKind::Bottom
            | DecisionKind::PlayOrDraw
            | DecisionKind::OrderCards
            | DecisionKind::ScryOrder
            | DecisionKind::TriggerOrder
            | DecisionKind::Division
            | DecisionKind::DamageAssignment
    );
    !automatic && searched
}

fn compare(
    context: &TableContext,
    engine: &MTGEngine,
    seat: PlayerId,
    line: &JournalLine,
    budget: SearchBudget,
    seed: u64,
) -> Option<TurningPoint> {
    let observation = Observation::new(engine, seat);
    // What the heuristic player does too is not searched: most answers are clear.
    if HeuristicPlayer.answer(&observation) == line.answer {
        return None;
    }
    let rated = SearchPlayer::new(budget, seed).rate_answers(&observation, Some(&line.answer));
    let best = rated.first()?;
    let chosen = rated.iter().find(|known| known.answer == line.answer)?;
    let (better_percent, chosen_percent) = (percent(best.win_chance), percent(chosen.win_chance));
    let severity = Severity::of_loss(better_percent.saturating_sub(chosen_percent))?;
    let skill = Skill::of_answer(line.kind, &best.answer);
    let view = Viewpoint { engine: observation.engine(), pool: &context.pool, seat };
    Some(TurningPoint {
        turn: engine.state().turn,
        line: 0,
        severity,
        skill,
        chosen: view.answer_label(&line.answer),
        better: view.answer_label(&best.answer),
        chosen_percent,
        better_percent,
        rollouts: best.rollouts,
        rule: skill.rule().to_owned(),
    })
}

/// Chances of a seat at the end of each turn, by the value of the position.
#[derive(Debug, Default)]
struct ChanceByTurn {
    turns: Vec<(u32, f64)>,
}

impl ChanceByTurn {
    fn add(&mut self, engine: &MTGEngine, seat: PlayerId) {
        let turn = engine.state().turn;
        let chance = win_chance(engine, seat);
        match self.turns.last_mut() {
            Some(last) if last.0 == turn => last.1 = chance,
            _ => self.turns.push((turn, chance)),
        }
    }

    fn key_turn(&self) -> Option<KeyTurn> {
        let mut best: Option<(f64, KeyTurn)> = None;
        for (one, two) in self.turns.iter().zip(self.turns.iter().skip(1)) {
            let change = (two.1 - one.1).abs();
            if best.as_ref().is_none_or(|known| change > known.0) {
                let (before_percent, after_percent) = (percent(one.1), percent(two.1));
                best = Some((change, KeyTurn { turn: two.0, before_percent, after_percent }));
            }
        }
        best.map(|known| known.1)
    }
}
