//! Playing the actions of a scenario.

mod answers;
mod build;

use super::ScenarioError;
use super::format::{OneOrMany, Scenario, ScriptAction};
use super::setup::{parse_player, parse_step};
use crate::ability::{TurnStep, Zone};
use crate::action::Action;
use crate::decision::{Answer, Decision, DecisionKind, Refusal};
use crate::engine::MTGEngine;
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::state::ObjectKind;
use answers::{aliases, kind_name};
use serde_json::Value;
use std::collections::VecDeque;

/// Questions after which a scenario is stuck.
const MAX_QUESTIONS: usize = 3000;

/// Answer of a script, not used yet.
#[derive(Debug, Clone)]
struct ScriptAnswer {
    player: PlayerId,
    kind: String,
    value: Value,
}

/// Scenario being played.
#[derive(Debug, Clone)]
pub(super) struct ScenarioRun {
    pub engine: MTGEngine,
    answers: VecDeque<ScriptAnswer>,
    /// An action that must be refused is tried: an ability has the words that the script says.
    is_strict: bool,
}

impl ScenarioRun {
    pub(super) fn new(engine: MTGEngine, scenario: &Scenario) -> Result<Self, ScenarioError> {
        let mut answers = VecDeque::new();
        for action in &scenario.actions {
            let Some(player) = &action.player else { continue };
            let player = parse_player(player)?;
            if let Some(value) = &action.choose {
                let kind = action.kind.clone().unwrap_or_default();
                answers.push_back(ScriptAnswer { player, kind, value: value.clone() });
            }
            if let Some(mulligan) = action.mulligan {
                let value = Value::Bool(!mulligan);
                answers.push_back(ScriptAnswer { player, kind: "mulligan".to_string(), value });
            }
        }
        Ok(Self { engine, answers, is_strict: false })
    }

    pub(super) fn play(&mut self, scenario: &Scenario) -> Result<(), ScenarioError> {
        for (position, action) in scenario.actions.iter().enumerate() {
            self.act(position, action)?;
        }
        // Questions that are still open have answers in the script, or end the position.
        self.drive(|engine| {
            engine.decision().is_none_or(|decision| decision.kind == DecisionKind::Priority)
        })?;
        for assertion in &scenario.expect {
            self.check(assertion)?;
        }
        Ok(())
    }

    fn act(&mut self, position: usize, action: &ScriptAction) -> Result<(), ScenarioError> {
        let player = action.player.as_deref().map(parse_player).transpose()?;
        if let Some(assertions) = &action.check {
            self.settle()?;
            return assertions.iter().try_for_each(|assertion| self.check(assertion));
        }
        if let Some(resolve) = &action.resolve {
            return self.resolve(resolve);
        }
        if let Some(step) = &action.to {
            return self.go_to(step, action.turn.as_ref());
        }
        if let Some(holder) = &action.priority {
            let holder = parse_player(holder)?;
            return self.give_priority(position, holder);
        }
        let Some(player) = player else { return Ok(()) };
        if action.mulligan.is_some() {
            return self.settle_mulligans();
        }
        if let Some(inner) = &action.illegal {
            let mut trial = self.clone();
            trial.is_strict = true;
            return match trial.try_action(position, player, inner) {
                Ok(()) => Err(ScenarioError::Accepted(position)),
                Err(ScenarioError::Declined(..) | ScenarioError::UnknownCard(_) | ScenarioError::Stuck) => {
                    Err(ScenarioError::Stuck)
                }
                Err(_) => Ok(()),
            };
        }
        if let Some(inner) = &action.legal {
            return self.clone().try_action(position, player, inner);
        }
        if let Some(choices) = &action.legal_choices {
            let kind = action.kind.clone().unwrap_or_default();
            return self.check_choices(position, player, choices, &kind);
        }
        if action.choose.is_some() {
            return Ok(());
        }
        self.try_action(position, player, action)
    }

    /// Performs an action of a player, or says why it is refused.
    fn try_action(
        &mut self,
        position: usize,
        player: PlayerId,
        action: &ScriptAction,
    ) -> Result<(), ScenarioError> {
        let refused = |refusal: Refusal| ScenarioError::Refused(position, refusal.to_string());
        if let Some(attack) = &action.attack {
            return self.declare_attack(position, player, attack);
        }
        if let Some(block) = &action.block {
            return self.declare_block(position, player, block);
        }
        if let Some(value) = &action.choose {
            let kind = action.kind.clone().unwrap_or_default();
            let decision = self.seek_decision(player, &kind)?;
            let answer = self
                .convert(&decision, value)
                .map(|found| found.0)
                .ok_or_else(|| ScenarioError::NoObject(value.to_string()))?;
            return self.engine.check_answer(&decision, &answer).map_err(refused);
        }
        self.give_priority(position, player)?;
        let mut chosen = self.build_action(player, action)?;
        if let Action::Activate(activate) = &mut chosen {
            self.take_announcements(player, activate);
        }
        let number = self.engine.decision().map_or(0, |decision| decision.number);
        self.engine.submit(player, number, Answer::Action(Box::new(chosen))).map_err(refused)?;
        Ok(())
    }

    /// Answers questions until a stop; passes priority.
    fn drive(&mut self, stop: impl Fn(&MTGEngine) -> bool) -> Result<(), ScenarioError> {
        for _ in 0..MAX_QUESTIONS {
            if self.engine.outcome().is_some() || stop(&self.engine) {
                return Ok(());
            }
            self.answer_one()?;
        }
        Err(ScenarioError::Stuck)
    }

    /// Answers open questions other than priority.
    fn settle(&mut self) -> Result<(), ScenarioError> {
        self.drive(|engine| {
            engine.decision().is_none_or(|decision| {
                matches!(
                    decision.kind,
                    DecisionKind::Priority | DecisionKind::DeclareAttackers | DecisionKind::DeclareBlockers
                )
            })
        })
    }

    fn settle_mulligans(&mut self) -> Result<(), ScenarioError> {
        for _ in 0..MAX_QUESTIONS {
            let Some(decision) = self.engine.decision().cloned() else { return Ok(()) };
            if !matches!(decision.kind, DecisionKind::Mulligan | DecisionKind::Bottom) {
                return Ok(());
            }
            if self.prepared(&decision).is_none() {
                return Ok(());
            }
            self.answer_one()?;
        }
        Ok(())
    }

    fn answer_one(&mut self) -> Result<(), ScenarioError> {
        let Some(decision) = self.engine.decision().cloned() else { return Err(ScenarioError::Stuck) };
        let answer = if decision.kind == DecisionKind::Priority {
            Answer::Action(Box::new(Action::Pass))
        } else {
            match self.take_prepared(&decision) {
                Some(answer) => answer,
                None => self.least_answer(&decision),
            }
        };
        let refused =
            |refusal: Refusal| ScenarioError::Refused(0, format!("{}: {refusal}", kind_name(decision.kind)));
        self.engine.submit(decision.player, decision.number, answer).map_err(refused)?;
        Ok(())
    }

    /// Whether an object or player is what a value names.
    fn entity_matches(&self, entity: Entity, value: &Value) -> bool {
        match value {
            Value::String(name) => match entity {
                Entity::Player(player) => parse_player(name) == Ok(player),
                Entity::Object(id) => {
                    let (base, number) = split_number(name);
                    let view = self.engine.view();
                    let is_face_down = base.starts_with("face-down") && view.is_face_down(id);
                    if view.known_name(id) != base && !is_face_down {
                        return false;
                    }
                    number.is_none_or(|number| self.numbered(base, number) == Some(id))
                }
            },
            Value::Object(map) => {
                let Entity::Object(id) = entity else { return false };
                let name = ["card", "stack", "token", "name"].iter().find_map(|key| map.get(*key));
                let controller = map.get("controller").and_then(Value::as_str).map(parse_player);
                name.is_some_and(|name| self.entity_matches(entity, name))
                    && controller.is_none_or(|player| player == Ok(self.engine.view().controller(id)))
                    && (!map.contains_key("token")
                        || self.engine.state().object(id).kind == ObjectKind::Token)
                    && (!map.contains_key("stack") || self.engine.state().object(id).zone == Zone::Stack)
            }
            _ => false,
        }
    }

    /// The n-th permanent with a name, counted from 1 in the order of the battlefield.
    fn numbered(&self, name: &str, number: usize) -> Option<ObjectId> {
        let view = self.engine.view();
        let all = self.engine.state().battlefield.iter().copied().filter(|id| view.known_name(*id) == name);
        all.collect::<Vec<_>>().get(number.checked_sub(1)?).copied()
    }

    /// The permanent that `Name#2` is among those of one player.
    fn numbered_of(&self, player: PlayerId, name: &str) -> Option<ObjectId> {
        let (base, Some(number)) = split_number(name) else { return None };
        let view = self.engine.view();
        let own = self.engine.state().battlefield.iter().copied();
        own.filter(|id| view.known_name(*id) == base && view.controller(*id) == player)
            .nth(number.checked_sub(1)?)
    }

    /// The object or player that a value names: on the battlefield, then elsewhere.
    pub(super) fn find_entity(&self, value: &Value, zone: Option<Zone>) -> Result<Entity, ScenarioError> {
        if let Some(player) = value.as_str().and_then(|name| parse_player(name).ok()) {
            return Ok(player.into());
        }
        let stack = value.get("stack").is_some();
        let zones: &[Zone] = match zone {
            Some(Zone::Battlefield) | None if stack => &[Zone::Stack],
            Some(Zone::Hand) => &[Zone::Hand],
            Some(Zone::Graveyard) => &[Zone::Graveyard],
            Some(Zone::Stack) => &[Zone::Stack],
            Some(Zone::Exile) => &[Zone::Exile],
            _ => &[Zone::Battlefield, Zone::Stack, Zone::Graveyard, Zone::Hand, Zone::Exile],
        };
        for zone in zones {
            let mut objects = self.engine.state().zone_objects(*zone);
            if *zone == Zone::Stack {
                objects.reverse();
            }
            let found = objects.into_iter().find(|id| self.entity_matches(Entity::Object(*id), value));
            if let Some(id) = found {
                return Ok(id.into());
            }
        }
        Err(ScenarioError::NoObject(value.to_string()))
    }

    fn find_objects(
        &self,
        values: Option<&OneOrMany<Value>>,
        zone: Zone,
    ) -> Result<Vec<ObjectId>, ScenarioError> {
        let mut found = Vec::new();
        for value in &values.map(OneOrMany::to_vec).unwrap_or_default() {
            let zone = if zone == Zone::Battlefield { None } else { Some(zone) };
            let objects = match zone {
                Some(zone) => self.engine.state().zone_objects(zone),
                None => self.engine.state().zone_objects(Zone::Battlefield),
            };
            let next = objects
                .into_iter()
                .find(|id| !found.contains(id) && self.entity_matches(Entity::Object(*id), value))
                .ok_or_else(|| ScenarioError::NoObject(value.to_string()))?;
            found.push(next);
        }
        Ok(found)
    }

    fn resolve(&mut self, count: &Value) -> Result<(), ScenarioError> {
        if count == "all" {
            return self.drive(|engine| {
                engine.state().stack.is_empty()
                    && engine.decision().is_none_or(|decision| decision.kind == DecisionKind::Priority)
            });
        }
        for _ in 0..count.as_u64().unwrap_or(1) {
            self.settle()?;
            let Some(top) = self.engine.state().stack.last().map(|item| item.object) else { return Ok(()) };
            self.drive(|engine| {
                let resolved = !engine.state().stack.iter().any(|item| item.object == top);
                resolved && engine.decision().is_none_or(|decision| decision.kind == DecisionKind::Priority)
            })?;
        }
        Ok(())
    }

    fn go_to(&mut self, step: &str, turn: Option<&Value>) -> Result<(), ScenarioError> {
        let step = parse_step(step)?;
        let start = self.engine.state().turn;
        let least = match turn {
            Some(Value::String(word)) if word == "next" => start + 1,
            Some(Value::Number(more)) => start + u32::try_from(more.as_u64().unwrap_or(1)).unwrap_or(1),
            _ => start,
        };
        self.drive(|engine| {
            let state = engine.state();
            let Some(decision) = engine.decision() else { return true };
            if state.turn > least {
                // The step gave no priority (cleanup), or the turn had none of the kind.
                return decision.kind == DecisionKind::Priority;
            }
            let asked = decision.kind == DecisionKind::Priority || step == TurnStep::Cleanup;
            state.turn >= least && state.step == step && asked
        })
    }

    /// Passes until a player has priority in the current step.
    fn give_priority(&mut self, position: usize, player: PlayerId) -> Result<(), ScenarioError> {
        let turn = self.engine.state().turn;
        let step = self.engine.state().step;
        self.drive(|engine| {
            let state = engine.state();
            let moved = state.turn != turn || state.step != step;
            moved
                || engine.decision().is_some_and(|decision| {
                    decision.kind == DecisionKind::Priority && decision.player == player
                })
        })?;
        if self.engine.outcome().is_some() {
            return Ok(());
        }
        let has = self
            .engine
            .decision()
            .is_some_and(|decision| decision.kind == DecisionKind::Priority && decision.player == player);
        if has { Ok(()) } else { Err(ScenarioError::NoTurn(position, player.0.to_string())) }
    }

    fn seek_decision(&mut self, player: PlayerId, kind: &str) -> Result<Decision, ScenarioError> {
        let wanted = kind.to_string();
        let fits = move |decision: &Decision| {
            let free = !matches!(
                decision.kind,
                DecisionKind::Priority | DecisionKind::DeclareAttackers | DecisionKind::DeclareBlockers
            );
            decision.player == player
                && if wanted.is_empty() {
                    free
                } else {
                    kind_name(decision.kind) == wanted || aliases(decision.kind).contains(&wanted.as_str())
                }
        };
        let turn = self.engine.state().turn;
        self.drive(|engine| engine.state().turn > turn + 1 || engine.decision().is_some_and(&fits))?;
        self.engine.decision().filter(|decision| fits(decision)).cloned().ok_or(ScenarioError::Stuck)
    }

    fn declare_attack(
        &mut self,
        position: usize,
        player: PlayerId,
        attack: &Value,
    ) -> Result<(), ScenarioError> {
        let turn = self.engine.state().turn;
        self.drive(|engine| {
            let asked =
                engine.decision().is_some_and(|decision| decision.kind == DecisionKind::DeclareAttackers);
            // After combat, an additional combat phase may still come.
            let passed = engine.state().step >= TurnStep::DeclareAttackers;
            asked || engine.state().turn != turn || (passed && engine.state().extra_steps.is_empty())
        })?;
        let entries = entries(attack);
        let Some(decision) = self
            .engine
            .decision()
            .filter(|decision| decision.kind == DecisionKind::DeclareAttackers)
            .cloned()
        else {
            return if entries.is_empty() {
                Ok(())
            } else {
                Err(ScenarioError::Refused(position, "no creature can attack".to_string()))
            };
        };
        let mut declared = Vec::new();
        for entry in entries {
            let attacker = self.battlefield_object(entry.get("attacker").unwrap_or(&entry), Some(player))?;
            let defender = match entry.get("defender") {
                Some(defender) => self.find_entity(defender, None)?,
                None => player.opponent().into(),
            };
            declared.push((attacker, defender));
        }
        let refused = |refusal: Refusal| ScenarioError::Refused(position, refusal.to_string());
        self.engine.submit(player, decision.number, Answer::Attack(declared)).map_err(refused)?;
        Ok(())
    }

    fn declare_block(
        &mut self,
        position: usize,
        player: PlayerId,
        block: &Value,
    ) -> Result<(), ScenarioError> {
        let turn = self.engine.state().turn;
        self.drive(|engine| {
            let asked =
                engine.decision().is_some_and(|decision| decision.kind == DecisionKind::DeclareBlockers);
            asked || engine.state().turn != turn || engine.state().step >= TurnStep::DeclareBlockers
        })?;
        let entries = entries(block);
        let Some(decision) =
            self.engine.decision().filter(|decision| decision.kind == DecisionKind::DeclareBlockers).cloned()
        else {
            return if entries.is_empty() {
                Ok(())
            } else {
                Err(ScenarioError::Refused(position, "no creature can block".to_string()))
            };
        };
        let mut declared = Vec::new();
        for entry in entries {
            let none = || ScenarioError::NoObject(entry.to_string());
            let blocker = self.battlefield_object(entry.get("blocker").ok_or_else(none)?, Some(player))?;
            let attacker =
                self.battlefield_object(entry.get("attacker").ok_or_else(none)?, Some(player.opponent()))?;
            declared.push((blocker, attacker));
        }
        let refused = |refusal: Refusal| ScenarioError::Refused(position, refusal.to_string());
        self.engine.submit(player, decision.number, Answer::Block(declared)).map_err(refused)?;
        Ok(())
    }

    /// A permanent by name, of this player if there is one.
    pub(super) fn battlefield_object(
        &self,
        value: &Value,
        player: Option<PlayerId>,
    ) -> Result<ObjectId, ScenarioError> {
        let view = self.engine.view();
        let named = || {
            let all = self.engine.state().battlefield.iter().copied();
            all.filter(|id| self.entity_matches(Entity::Object(*id), value))
        };
        let own = player.and_then(|player| {
            let numbered = value.as_str().and_then(|name| self.numbered_of(player, name));
            numbered.or_else(|| named().find(|id| view.controller(*id) == player))
        });
        own.or_else(|| named().next()).ok_or_else(|| ScenarioError::NoObject(value.to_string()))
    }
}

fn entries(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list.clone(),
        Value::Null => Vec::new(),
        single => vec![single.clone()],
    }
}

/// `Name#2` is the second of the name.
pub(super) fn split_number(name: &str) -> (&str, Option<usize>) {
    match name.rsplit_once('#') {
        Some((base, number)) => match number.parse() {
            Ok(number) => (base, Some(number)),
            Err(_) => (name, None),
        },
        None => (name, None),
    }
}
