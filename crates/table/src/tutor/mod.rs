//! The tutor: graded hints, warnings and the review of a game.
//!
//! A hint is found from what its seat may know: the tutor never looks at hidden cards. Level 1 says what
//! matters, level 2 names candidate lines, level 3 the best one with the evidence of a search. Lethal
//! attacks and survival are looked at first.

mod combat_math;
mod mulligan;
mod review;

pub use review::{REVIEW_ITERATIONS, Review};

use crate::error::TableError;
use crate::labels::Viewpoint;
use crate::percent::percent;
use crate::records::QuestionKind;
use crate::table::Table;
use combat_math::{attack_damage, next_attack_damage};
use marvin_mtg::ability::TurnStep;
use marvin_mtg::action::Action;
use marvin_mtg::decision::{Answer, DecisionKind};
use marvin_mtg::ids::{Entity, PlayerId};
use marvin_mtg::players::{
    GamePlayer, HeuristicPlayer, Observation, RatedAnswer, SearchBudget, SearchPlayer,
};
use serde::Serialize;

/// Iterations of the search behind a hint.
const HINT_ITERATIONS: u32 = 160;

/// Candidate lines of a hint.
const MAX_CANDIDATES: usize = 3;

/// Hint for the open question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hint {
    pub level: u8,
    /// What matters now.
    pub facts: Vec<String>,
    /// Candidate lines, from level 2 on; at level 3 with evidence, best first.
    pub candidates: Vec<CandidateLine>,
    /// Numbers of the rules to read.
    pub rules: Vec<&'static str>,
}

/// Answer that is worth thinking about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateLine {
    pub label: String,
    /// Chance to win in percent, at level 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub win_percent: Option<u32>,
    /// Games that were played out after it, at level 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollouts: Option<usize>,
}

/// Kind of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    UnusedLandDrop,
    CastableSpell,
    /// An attack that wins is on the board.
    Lethal,
    /// The opponent can win with the next attack.
    Exposed,
}

/// Warning before the turn is passed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    pub kind: WarningKind,
    pub text: String,
}

impl std::fmt::Display for Hint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut lines: Vec<String> = self.facts.clone();
        if let (3, Some(best)) = (self.level, self.candidates.first()) {
            lines.push(format!("Best line: {}", describe(best)));
            lines.extend(self.candidates.iter().skip(1).map(|one| format!("  then: {}", describe(one))));
        } else if !self.candidates.is_empty() {
            lines.push("Worth thinking about:".to_owned());
            lines.extend(self.candidates.iter().map(|one| format!("  {}", one.label)));
        }
        if !self.rules.is_empty() {
            lines.push(format!("Rules: {}", self.rules.join(", ")));
        }
        formatter.write_str(&lines.join("\n"))
    }
}

fn describe(candidate: &CandidateLine) -> String {
    match (candidate.win_percent, candidate.rollouts) {
        (Some(percent), Some(rollouts)) if rollouts > 0 => {
            format!("{} (wins {percent} % of {rollouts} games that were played out)", candidate.label)
        }
        _ => candidate.label.clone(),
    }
}

/// Rules that a kind of question is about.
fn rules_of(kind: DecisionKind) -> Vec<&'static str> {
    match kind {
        DecisionKind::Priority => vec!["117", "601"],
        DecisionKind::PlayOrDraw => vec!["103.1", "103.8"],
        DecisionKind::Mulligan | DecisionKind::Bottom => vec!["103.5"],
        DecisionKind::DeclareAttackers => vec!["508"],
        DecisionKind::DeclareBlockers => vec!["509"],
        DecisionKind::DamageAssignment => vec!["510.1"],
        DecisionKind::TriggerOrder => vec!["603.3b"],
        DecisionKind::TriggerTargets | DecisionKind::NewTargets => vec!["115", "603.3d"],
        DecisionKind::Scry => vec!["701.22"],
        DecisionKind::Surveil => vec!["701.25"],
        DecisionKind::LegendRule => vec!["704.5j"],
        DecisionKind::ReplacementOrder => vec!["616.1"],
        DecisionKind::PayWard => vec!["702.21"],
        _ => vec!["608.2"],
    }
}

impl Viewpoint<'_> {
    /// Text of an answer.
    pub(crate) fn answer_label(&self, answer: &Answer) -> String {
        let Some(decision) = self.engine.decision() else { return String::new() };
        match answer {
            Answer::Action(action) => self.action(action),
            Answer::Attack(pairs) if pairs.is_empty() => "no attack".to_owned(),
            Answer::Attack(pairs) => {
                let names: Vec<String> =
                    pairs.iter().map(|(id, _)| self.creature(Entity::Object(*id))).collect();
                format!("attack with {}", names.join(", "))
            }
            Answer::Block(pairs) if pairs.is_empty() => "no block".to_owned(),
            Answer::Block(pairs) => {
                let one = |(id, to): &(_, _)| {
                    let (blocker, attacker) = (Entity::Object(*id), Entity::Object(*to));
                    format!("{} blocks {}", self.creature(blocker), self.creature(attacker))
                };
                pairs.iter().map(one).collect::<Vec<_>>().join(", ")
            }
            Answer::Division(amounts) => {
                let texts: Vec<String> = amounts.iter().map(ToString::to_string).collect();
                format!("divide {}", texts.join(", "))
            }
            Answer::Options(chosen) if chosen.is_empty() => "choose nothing".to_owned(),
            Answer::Options(chosen) => {
                let positions = chosen.iter().filter_map(|position| usize::try_from(*position).ok());
                let labels: Vec<String> = positions.map(|position| self.option(decision, position)).collect();
                labels.join(", ")
            }
        }
    }

    /// What matters: a win, survival, then the means.
    fn facts(&self, deck_lands: usize) -> Vec<String> {
        let mut facts = Vec::new();
        let state = self.engine.state();
        let Some(decision) = self.engine.decision() else { return facts };
        if matches!(decision.kind, DecisionKind::Mulligan | DecisionKind::Bottom) {
            facts.extend(mulligan::hand_facts(self.engine, self.seat, deck_lands));
            return facts;
        }
        let other = self.seat.opponent();
        let (own_life, other_life) = (state.player(self.seat).life, state.player(other).life);
        let before_attack = state.active == self.seat && state.step <= TurnStep::DeclareAttackers;
        if before_attack {
            let damage = attack_damage(self.engine, self.seat);
            if damage >= other_life && damage > 0 {
                facts.push(format!(
                    "Lethal: an attack with everything gets {damage} damage through the best blocks; the opponent has {other_life} life. Only tricks can stop it."
                ));
            }
        }
        let threat = next_attack_damage(self.engine, other);
        if threat >= own_life && threat > 0 {
            facts.push(format!(
                "Survival: the opponent's next attack can deal {threat} damage, you have {own_life} life. Keep blockers back or remove attackers."
            ));
        }
        if let Some(top) = state.stack.last().filter(|top| top.context.controller == other) {
            facts.push(format!("{} is about to resolve.", self.object(top.context.source)));
        }
        facts.extend(self.warnings().into_iter().map(|warning| warning.text));
        if facts.is_empty() {
            facts.push(format!(
                "Life {own_life} to {other_life}; your attack would get {} damage through, the opponent's {threat}.",
                attack_damage(self.engine, self.seat)
            ));
        }
        facts
    }

    /// What is left undone in the open question.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut found = Vec::new();
        let state = self.engine.state();
        let asked = self
            .engine
            .decision()
            .is_some_and(|decision| decision.player == self.seat && decision.kind == DecisionKind::Priority);
        let main = matches!(state.step, TurnStep::Main1 | TurnStep::Main2);
        if !asked || state.active != self.seat || !main || !state.stack.is_empty() {
            return found;
        }
        let actions = self.engine.list_actions(self.seat);
        if let Some(Action::PlayLand { card }) =
            actions.iter().find(|action| matches!(action, Action::PlayLand { .. }))
        {
            let text = format!("You can still play a land this turn: {}.", self.object(*card));
            found.push(Warning { kind: WarningKind::UnusedLandDrop, text });
        }
        if state.step == TurnStep::Main2 {
            let cast = actions.iter().find_map(|action| match action {
                Action::Cast(cast) => Some(cast.card),
                _ => None,
            });
            if let Some(card) = cast {
                let text = format!("You can still cast {}.", self.object(card));
                found.push(Warning { kind: WarningKind::CastableSpell, text });
            }
        }
        if state.step == TurnStep::Main1 {
            let damage = attack_damage(self.engine, self.seat);
            if damage > 0 && damage >= state.player(self.seat.opponent()).life {
                let text = format!("An attack with everything gets {damage} damage through: that wins.");
                found.push(Warning { kind: WarningKind::Lethal, text });
            }
        }
        let threat = next_attack_damage(self.engine, self.seat.opponent());
        if threat > 0 && threat >= state.player(self.seat).life {
            let text = format!("The opponent's next attack can deal {threat} damage: you have no more life.");
            found.push(Warning { kind: WarningKind::Exposed, text });
        }
        found
    }
}

impl Table {
    /// A hint for the open question: 1 what matters, 2 candidate lines, 3 the best line with evidence.
    ///
    /// # Errors
    /// Records that cannot be written.
    pub fn hint(&self, seat: PlayerId, level: u8) -> Result<Hint, TableError> {
        let level = level.clamp(1, 3);
        let observation = Observation::new(self.engine(), seat);
        let view = Viewpoint { engine: observation.engine(), ..self.view(seat) };
        let Some(decision) = observation.decision() else {
            let facts = vec!["You are not asked now.".to_owned()];
            return Ok(Hint { level, facts, candidates: Vec::new(), rules: Vec::new() });
        };
        let mut candidates = Vec::new();
        if level > 1 {
            for rated in self.rate(&observation).into_iter().take(MAX_CANDIDATES) {
                candidates.push(CandidateLine {
                    label: view.answer_label(&rated.answer),
                    win_percent: (level == 3).then(|| percent(rated.win_chance)),
                    rollouts: (level == 3).then_some(rated.rollouts),
                });
            }
            if level == 2 {
                // The order would say which one is the best.
                candidates.sort_by(|one, two| one.label.cmp(&two.label));
            }
        }
        let mut facts = view.facts(self.count_lands(seat));
        facts.extend(self.fitting_lessons(seat).into_iter().take(1).map(|text| format!("Lesson: {text}")));
        let hint = Hint { level, facts, candidates, rules: rules_of(decision.kind) };
        self.record_question(seat, QuestionKind::Hint, &format!("hint {level}"), &hint.to_string())?;
        Ok(hint)
    }

    /// Lands in the deck of a seat.
    fn count_lands(&self, seat: PlayerId) -> usize {
        let is_land = |name: &str| {
            self.context().pool.find(name).is_some_and(|facts| facts.type_words().any(|word| word == "Land"))
        };
        let entries = self.setup().deck(seat).list.main.iter().filter(|entry| is_land(&entry.name));
        entries.map(|entry| usize::try_from(entry.count).unwrap_or(0)).sum()
    }

    fn rate(&self, observation: &Observation) -> Vec<RatedAnswer> {
        let kind = observation.decision().map(|decision| decision.kind);
        if matches!(kind, Some(DecisionKind::Mulligan | DecisionKind::Bottom | DecisionKind::PlayOrDraw)) {
            let answer = HeuristicPlayer.answer(observation);
            return vec![RatedAnswer { answer, win_chance: 0.5, rollouts: 0 }];
        }
        let number = observation.decision().map_or(0, |decision| decision.number);
        let seed = self.setup().seed ^ u64::from(number);
        SearchPlayer::new(SearchBudget::Iterations(HINT_ITERATIONS), seed).rate_answers(observation, None)
    }

    /// What is left undone in the open question of a seat; a front end shows it before a pass.
    #[must_use]
    pub fn warnings(&self, seat: PlayerId) -> Vec<Warning> {
        self.view(seat).warnings()
    }
}
