//! Playing the actions of a scenario.

use super::ScenarioError;
use super::format::{Scenario, ScriptAction};
use super::setup::{parse_player, parse_step};
use crate::ability::{Ability, CostPart, TurnStep, Zone};
use crate::action::{Action, ActivateAction, CastAction, Payment};
use crate::casting::spell_body;
use crate::context::{Context, TargetChoice};
use crate::decision::{Answer, Choosable, Decision, DecisionKind, OptionLabel, Refusal};
use crate::engine::MTGEngine;
use crate::ids::{AbilityRef, Entity, ObjectId, PlayerId};
use crate::state::{CastWay, ObjectKind};
use crate::targets::target_specs;
use serde_json::Value;
use std::collections::VecDeque;

/// Questions after which a scenario is stuck.
const MAX_QUESTIONS: usize = 3000;

/// Answer of a script, not used yet.
#[derive(Debug, Clone)]
struct Prepared {
    player: PlayerId,
    kind: String,
    value: Value,
}

/// Scenario being played.
#[derive(Debug, Clone)]
pub(super) struct ScenarioRun {
    pub engine: MTGEngine,
    answers: VecDeque<Prepared>,
}

/// Names that scripts use for a kind of question besides its own.
fn aliases(kind: DecisionKind) -> &'static [&'static str] {
    match kind {
        DecisionKind::May => &["may", "optional", "optional_cost", "optional_effect"],
        DecisionKind::PayCost => {
            &["pay_cost", "pay", "may_pay", "optional_cost", "may", "pay_unless", "unless_pay"]
        }
        DecisionKind::PayWard => {
            &["pay_ward", "ward", "pay", "pay_cost", "pay_unless", "counter_unless_pay", "unless_pay"]
        }
        DecisionKind::TriggerTargets => &["trigger_targets", "targets", "trigger_target", "target"],
        DecisionKind::TriggerModes => &["trigger_modes", "modes", "mode"],
        DecisionKind::TriggerOrder => &["trigger_order", "order", "order_triggers"],
        DecisionKind::Choose => {
            &["choose", "choice", "choose_object", "choose_permanent", "choose_card", "enchant", "attach"]
        }
        DecisionKind::ChooseOption => {
            &["choose_option", "choose", "option", "mode", "modes", "mana", "color"]
        }
        DecisionKind::LookAtTop => &["look_at_top", "look", "choose", "dig"],
        DecisionKind::Color => &["color", "choose_color"],
        DecisionKind::CreatureType => &["creature_type", "type", "choose_type"],
        DecisionKind::ReplacementOrder => &["replacement_order", "replacement", "replacement_choice"],
        DecisionKind::Search => &["search", "search_library"],
        DecisionKind::Scry => &["scry", "scry_bottom"],
        DecisionKind::ScryOrder => &["scry_order", "order"],
        DecisionKind::OrderCards => &["order_cards", "order"],
        DecisionKind::Sacrifice => &["sacrifice", "edict"],
        DecisionKind::Copy => &["copy", "clone"],
        DecisionKind::PlayOrDraw => &["play_or_draw", "play_draw"],
        DecisionKind::NewTargets => &["new_targets", "copy_targets"],
        DecisionKind::CastNow => &["cast_now", "may", "cast"],
        DecisionKind::Division => &["division", "divide", "damage_division"],
        _ => &[],
    }
}

pub(super) fn kind_name(kind: DecisionKind) -> String {
    match serde_json::to_value(kind) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

impl ScenarioRun {
    pub(super) fn new(engine: MTGEngine, scenario: &Scenario) -> Result<Self, ScenarioError> {
        let mut answers = VecDeque::new();
        for action in &scenario.actions {
            let Some(player) = &action.player else { continue };
            let player = parse_player(player)?;
            if let Some(value) = &action.choose {
                let kind = action.kind.clone().unwrap_or_default();
                answers.push_back(Prepared { player, kind, value: value.clone() });
            }
            if let Some(mulligan) = action.mulligan {
                let value = Value::Bool(!mulligan);
                answers.push_back(Prepared { player, kind: "mulligan".to_string(), value });
            }
        }
        Ok(Self { engine, answers })
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
        let chosen = self.build_action(player, action)?;
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

    fn prepared(&self, decision: &Decision) -> Option<(usize, Answer, Option<Value>)> {
        let name = kind_name(decision.kind);
        let known = |kind: &str| kind == name || aliases(decision.kind).contains(&kind);
        for (position, prepared) in self.answers.iter().enumerate() {
            if prepared.player != decision.player || !known(&prepared.kind) {
                continue;
            }
            if let Some((answer, rest)) = self.convert(decision, &prepared.value) {
                return Some((position, answer, rest));
            }
        }
        None
    }

    fn take_prepared(&mut self, decision: &Decision) -> Option<Answer> {
        let (position, answer, rest) = self.prepared(decision)?;
        match rest {
            Some(rest) => {
                if let Some(prepared) = self.answers.get_mut(position) {
                    prepared.value = rest;
                }
            }
            None => {
                self.answers.remove(position);
            }
        }
        Some(answer)
    }

    /// The answer that does least: decline, declare nothing that is not required, first options.
    fn least_answer(&self, decision: &Decision) -> Answer {
        match decision.kind {
            DecisionKind::DeclareAttackers => Answer::Attack(self.engine.required_attack(decision.player)),
            DecisionKind::DeclareBlockers => Answer::Block(self.engine.required_block(decision.player)),
            DecisionKind::DamageAssignment => Answer::Division(MTGEngine::usual_damage(decision)),
            DecisionKind::Division => {
                let mut amounts: Vec<i32> = decision.minimums.clone();
                let rest = decision.total - amounts.iter().sum::<i32>();
                if let Some(first) = amounts.first_mut() {
                    *first += rest;
                }
                Answer::Division(amounts)
            }
            DecisionKind::Mulligan => Answer::Options(vec![0]),
            DecisionKind::May | DecisionKind::PayCost | DecisionKind::PayWard | DecisionKind::CastNow => {
                Answer::Options(vec![1])
            }
            _ => Answer::Options((0..decision.min).collect()),
        }
    }

    /// Converts a value of a script for a question; the second part is what is left of a list.
    fn convert(&self, decision: &Decision, value: &Value) -> Option<(Answer, Option<Value>)> {
        match value {
            Value::Bool(yes) => {
                let labels = decision.options.iter().any(|option| matches!(option, Choosable::Label(_)));
                labels.then(|| (Answer::Options(vec![u32::from(!*yes)]), None))
            }
            Value::Object(map)
                if matches!(decision.kind, DecisionKind::DamageAssignment | DecisionKind::Division) =>
            {
                let mut amounts = vec![0; decision.options.len()];
                for (name, amount) in map {
                    let position = self.option_named(decision, &Value::String(name.clone()), &[])?;
                    *amounts.get_mut(usize::try_from(position).ok()?)? =
                        i32::try_from(amount.as_i64()?).ok()?;
                }
                Some((Answer::Division(amounts), None))
            }
            Value::Number(number) => {
                let number = number.as_i64()?;
                let by_value = decision
                    .options
                    .iter()
                    .position(|option| *option == Choosable::Number(i32::try_from(number).unwrap_or(-1)));
                if let Some(position) = by_value {
                    return Some((Answer::Options(vec![u32::try_from(position).ok()?]), None));
                }
                if decision.options.iter().any(|option| matches!(option, Choosable::Index(_))) {
                    let number = u32::try_from(number).ok()?;
                    let last = u32::try_from(decision.options.len()).ok()?;
                    return Some((
                        Answer::Options(vec![if number >= last { number - 1 } else { number }]),
                        None,
                    ));
                }
                Some((Answer::Options((0..u32::try_from(number).ok()?).collect()), None))
            }
            Value::Array(list) => self.convert_list(decision, list),
            Value::Null => Some((Answer::Options(Vec::new()), None)),
            other => Some((Answer::Options(vec![self.option_named(decision, other, &[])?]), None)),
        }
    }

    fn convert_list(&self, decision: &Decision, list: &[Value]) -> Option<(Answer, Option<Value>)> {
        let most = usize::try_from(decision.max).ok()?;
        let mut chosen: Vec<u32> = Vec::new();
        for value in list.iter().take(most) {
            chosen.push(self.option_named(decision, value, &chosen)?);
        }
        let rest: Vec<Value> = list.iter().skip(most).cloned().collect();
        Some((Answer::Options(chosen), (!rest.is_empty()).then_some(Value::Array(rest))))
    }

    /// Position of the option that a name means and that is not taken.
    fn option_named(&self, decision: &Decision, value: &Value, taken: &[u32]) -> Option<u32> {
        if let Some(number) = value.as_u64() {
            return u32::try_from(number).ok();
        }
        let free = |position: usize| u32::try_from(position).is_ok_and(|position| !taken.contains(&position));
        let matching = decision.options.iter().enumerate().filter(|(position, _)| free(*position)).find(
            |(position, option)| match option {
                Choosable::Entity(entity) => self.entity_matches(*entity, value),
                Choosable::Color(color) => value.as_str().is_some_and(|name| {
                    name == color.letter().to_string() || name.eq_ignore_ascii_case(color.name())
                }),
                Choosable::Subtype(subtype) => value.as_str().is_some_and(|name| name == subtype.name()),
                Choosable::Label(label) => {
                    serde_json::to_value(label).is_ok_and(|own| own == *value)
                        || value.as_str().is_some_and(|word| label_word(*label) == word)
                }
                Choosable::Index(_) => decision
                    .subjects
                    .get(*position)
                    .is_some_and(|source| self.entity_matches(Entity::Object(*source), value)),
                Choosable::Number(_) => false,
            },
        );
        matching.and_then(|(position, _)| u32::try_from(position).ok())
    }

    /// Whether an object or player is what a value names.
    fn entity_matches(&self, entity: Entity, value: &Value) -> bool {
        match value {
            Value::String(name) => match entity {
                Entity::Player(player) => parse_player(name) == Ok(player),
                Entity::Object(id) => {
                    let (base, number) = split_number(name);
                    if self.engine.view().name(id) != base {
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
        let all = self.engine.state().battlefield.iter().copied().filter(|id| view.name(*id) == name);
        all.collect::<Vec<_>>().get(number.checked_sub(1)?).copied()
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

    fn find_objects(&self, values: Option<&Vec<Value>>, zone: Zone) -> Result<Vec<ObjectId>, ScenarioError> {
        let mut found = Vec::new();
        for value in values.into_iter().flatten() {
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

    fn check_choices(
        &self,
        position: usize,
        player: PlayerId,
        choices: &[Value],
        kind: &str,
    ) -> Result<(), ScenarioError> {
        let mut trial = self.clone();
        let decision = trial.seek_decision(player, kind)?;
        for choice in choices {
            let (answer, _) = trial
                .convert(&decision, choice)
                .ok_or_else(|| ScenarioError::NoObject(choice.to_string()))?;
            trial
                .engine
                .check_answer(&decision, &answer)
                .map_err(|refusal| ScenarioError::Refused(position, refusal.to_string()))?;
        }
        Ok(())
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
            asked || engine.state().turn != turn || engine.state().step >= TurnStep::DeclareAttackers
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
        let own = player.and_then(|player| named().find(|id| view.controller(*id) == player));
        own.or_else(|| named().next()).ok_or_else(|| ScenarioError::NoObject(value.to_string()))
    }

    fn build_action(&self, player: PlayerId, action: &ScriptAction) -> Result<Action, ScenarioError> {
        if action.concede == Some(true) {
            return Ok(Action::Concede);
        }
        if action.pass == Some(true) {
            return Ok(Action::Pass);
        }
        if let Some(name) = &action.play_land {
            return Ok(Action::PlayLand { card: self.card_in(player, name, Zone::Hand)? });
        }
        if let Some(name) = &action.cast {
            return self.build_cast(player, name, action);
        }
        if let Some(name) = &action.activate {
            return self.build_activation(player, name, action);
        }
        Err(ScenarioError::UnknownWord("action".to_string()))
    }

    fn card_in(&self, player: PlayerId, name: &str, zone: Zone) -> Result<ObjectId, ScenarioError> {
        let state = self.engine.state();
        let own = state.zone_objects(zone).into_iter().filter(|id| state.object(*id).owner == player);
        let mut named = own.filter(|id| self.engine.view().name(*id) == split_number(name).0);
        named.next().ok_or_else(|| ScenarioError::NoObject(name.to_string()))
    }

    fn payment(&self, action: &ScriptAction) -> Result<Payment, ScenarioError> {
        let mut objects = self.find_objects(action.sacrifice.as_ref(), Zone::Battlefield)?;
        objects.extend(self.find_objects(action.tap.as_ref(), Zone::Battlefield)?);
        objects.extend(self.find_objects(action.return_to_hand.as_ref(), Zone::Battlefield)?);
        objects.extend(self.find_objects(action.discard.as_ref(), Zone::Hand)?);
        objects.extend(self.find_objects(action.exile.as_ref(), Zone::Graveyard)?);
        let convoke = match &action.convoke {
            Some(named) => Some(self.find_objects(Some(named), Zone::Battlefield)?),
            None => None,
        };
        Ok(Payment { objects, convoke, mana: None })
    }

    fn build_cast(
        &self,
        player: PlayerId,
        name: &str,
        action: &ScriptAction,
    ) -> Result<Action, ScenarioError> {
        let zone = match action.from.as_deref() {
            Some("graveyard") => Zone::Graveyard,
            Some("exile") => Zone::Exile,
            Some("library") => Zone::Library,
            _ => Zone::Hand,
        };
        let card = self.card_in(player, name, zone)?;
        let way = match action.alternative.as_deref() {
            None => CastWay::Normal,
            Some(word) => {
                serde_json::from_value(Value::String(word.to_string())).unwrap_or(CastWay::Alternative)
            }
        };
        let modes = self.modes(action);
        let kicked = match &action.kicked {
            Some(Value::Bool(kicked)) => u8::from(*kicked),
            Some(Value::Number(times)) => u8::try_from(times.as_u64().unwrap_or(0)).unwrap_or(0),
            _ => 0,
        };
        let mut context = Context::new(card, player);
        context.x = i32::try_from(action.x.unwrap_or(0)).unwrap_or(0);
        context.kicked = kicked;
        let face = self.engine.view().face(card).ok_or_else(|| ScenarioError::NoObject(name.to_string()))?;
        let body = spell_body(&face.face);
        let targets = self.targets(&target_specs(&body, &modes), action, &context)?;
        Ok(Action::Cast(CastAction {
            card,
            way,
            modes,
            targets,
            x: action.x.unwrap_or(0),
            kicked,
            buyback: action.buyback.unwrap_or(false),
            additional: 0,
            payment: self.payment(action)?,
        }))
    }

    fn modes(&self, action: &ScriptAction) -> Vec<u8> {
        let number = |value: &Value| value.as_u64().and_then(|number| u8::try_from(number).ok());
        match action.modes.as_ref().or(action.mode.as_ref()) {
            Some(Value::Array(list)) => {
                list.iter().filter_map(number).map(|mode| mode.saturating_sub(1)).collect()
            }
            Some(value) => number(value).map(|mode| mode.saturating_sub(1)).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Spreads named targets over slots; without names, the first legal ones are taken.
    fn targets(
        &self,
        specs: &[&crate::ability::TargetSpec],
        action: &ScriptAction,
        context: &Context,
    ) -> Result<Vec<TargetChoice>, ScenarioError> {
        let mut choices = Vec::new();
        let named = action.targets.clone().unwrap_or_default();
        let mut left: VecDeque<Value> = named.into_iter().collect();
        let mut inner = context.clone();
        for (slot, spec) in specs.iter().enumerate() {
            let (min, max) = self.engine.target_range(spec, &inner);
            let mut choice = TargetChoice::default();
            if action.targets.is_none() {
                let legal = self.engine.legal_targets(spec, &inner);
                choice.entities = legal.into_iter().take(min).collect();
            } else {
                let later: usize =
                    specs.iter().skip(slot + 1).map(|spec| self.engine.target_range(spec, &inner).0).sum();
                let take = max.min(left.len().saturating_sub(later));
                for _ in 0..take {
                    let Some(value) = left.pop_front() else { break };
                    let values = match value {
                        Value::Array(list) => list,
                        single => vec![single],
                    };
                    for value in values {
                        choice.entities.push(self.target(spec, &value, &choice, &inner)?);
                    }
                }
            }
            if let Some(total) = &spec.divided {
                choice.division = self.division(action, &choice, self.engine.view().amount(total, &inner));
            }
            inner.targets.push(choice.clone());
            choices.push(choice);
        }
        Ok(choices)
    }

    /// The named target; a legal one is preferred where several have the name.
    fn target(
        &self,
        spec: &crate::ability::TargetSpec,
        value: &Value,
        choice: &TargetChoice,
        context: &Context,
    ) -> Result<Entity, ScenarioError> {
        let legal = self.engine.legal_targets(spec, context);
        let fits =
            |entity: &&Entity| !choice.entities.contains(entity) && self.entity_matches(**entity, value);
        match legal.iter().find(fits) {
            Some(entity) => Ok(*entity),
            None => self.find_entity(value, Some(spec.zone)),
        }
    }

    fn division(
        &self,
        action: &ScriptAction,
        choice: &TargetChoice,
        total: i32,
    ) -> smallvec::SmallVec<[i32; 1]> {
        let given = action.division.as_ref().or(action.divide.as_ref());
        let amount = |entity: &Entity, position: usize| match given {
            Some(Value::Array(list)) => list.get(position).and_then(Value::as_i64),
            Some(Value::Object(map)) => map
                .iter()
                .find(|(name, _)| self.entity_matches(*entity, &Value::String((*name).clone())))
                .and_then(|(_, amount)| amount.as_i64()),
            _ => None,
        };
        let count = i32::try_from(choice.entities.len()).unwrap_or(1).max(1);
        let mut rest = total;
        let mut parts = smallvec::SmallVec::new();
        for (position, entity) in choice.entities.iter().enumerate() {
            let equal = if position + 1 == choice.entities.len() { rest } else { total / count };
            let part = amount(entity, position).map_or(equal, |part| i32::try_from(part).unwrap_or(0));
            rest -= part;
            parts.push(part);
        }
        parts
    }

    fn build_activation(
        &self,
        player: PlayerId,
        name: &str,
        action: &ScriptAction,
    ) -> Result<Action, ScenarioError> {
        let source = match action.from.as_deref() {
            Some("hand") => self.card_in(player, name, Zone::Hand)?,
            Some("graveyard") => self.card_in(player, name, Zone::Graveyard)?,
            _ => self
                .battlefield_object(&Value::String(name.to_string()), Some(player))
                .or_else(|_| self.card_in(player, name, Zone::Hand))
                .or_else(|_| self.card_in(player, name, Zone::Graveyard))?,
        };
        let ability = self.ability_named(source, action.ability.as_ref())?;
        let Some(Ability::Activated(own)) = self.engine.ability(ability) else {
            return Err(ScenarioError::NoAbility(name.to_string()));
        };
        let mut context = Context::new(source, player);
        context.x = i32::try_from(action.x.unwrap_or(0)).unwrap_or(0);
        let modes = self.modes(action);
        let targets = self.targets(&target_specs(&own.body, &modes), action, &context)?;
        Ok(Action::Activate(ActivateAction {
            source,
            ability,
            modes,
            targets,
            x: action.x.unwrap_or(0),
            mana: 0,
            payment: self.payment(action)?,
        }))
    }

    /// The activated ability whose text or cost a script names.
    fn ability_named(&self, source: ObjectId, wanted: Option<&Value>) -> Result<AbilityRef, ScenarioError> {
        let all = &self.engine.view().characteristics(source).abilities;
        let activated: Vec<AbilityRef> = all
            .iter()
            .copied()
            .filter(|reference| matches!(self.engine.ability(*reference), Some(Ability::Activated(_))))
            .collect();
        let text = match wanted {
            Some(Value::Number(index)) => {
                let index = usize::try_from(index.as_u64().unwrap_or(0)).unwrap_or(0);
                return activated
                    .get(index)
                    .copied()
                    .ok_or_else(|| ScenarioError::NoAbility(index.to_string()));
            }
            Some(Value::String(text)) => text.to_lowercase(),
            _ => String::new(),
        };
        let fits = |reference: &&AbilityRef| {
            let Some(Ability::Activated(ability)) = self.engine.ability(**reference) else { return false };
            let loyalty = ability.cost.parts.iter().any(|part| match part {
                CostPart::Loyalty(change) => format!("{change:+}") == text || (*change == 0 && text == "0"),
                CostPart::LoyaltyX => text == "-x",
                _ => false,
            });
            loyalty || ability.text.to_lowercase().contains(&text)
        };
        match activated.iter().find(fits) {
            Some(found) => Ok(*found),
            None => match activated.as_slice() {
                [only] => Ok(*only),
                _ => Err(ScenarioError::NoAbility(text)),
            },
        }
    }
}

fn label_word(label: OptionLabel) -> &'static str {
    match label {
        OptionLabel::Keep => "keep",
        OptionLabel::Mulligan => "mulligan",
        OptionLabel::PlayFirst => "play",
        OptionLabel::DrawFirst => "draw",
        OptionLabel::Accept | OptionLabel::Pay => "yes",
        OptionLabel::Decline | OptionLabel::DoNotPay => "no",
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
