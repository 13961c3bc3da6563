//! Answers of scripts to questions of the engine.

use super::super::ScenarioError;
use super::{ScenarioRun, ScriptAnswer};
use crate::ability::{Ability, CostPart, Effect, Zone};
use crate::action::{Action, ActivateAction, Payment};
use crate::card::ManaKind;
use crate::context::Context;
use crate::decision::{Answer, Choosable, Decision, DecisionKind, OptionLabel};
use crate::engine::MTGEngine;
use crate::ids::{Entity, PlayerId};
use crate::mana::kinds_in;
use serde_json::Value;

impl ScenarioRun {
    pub(super) fn prepared(&self, decision: &Decision) -> Option<(usize, Answer, Option<Value>)> {
        let name = kind_name(decision.kind);
        let known = |kind: &str| kind == name || aliases(decision.kind).contains(&kind);
        for (position, prepared) in self.answers.iter().enumerate() {
            if prepared.player != decision.player || !known(&prepared.kind) {
                continue;
            }
            if let Some((answer, rest)) = self.convert(decision, &prepared.value) {
                // Scripts may put cards on the bottom after each redraw; only the last time counts.
                let skipped = decision.kind == DecisionKind::Bottom
                    && self.engine.check_answer(decision, &answer).is_err();
                if skipped {
                    continue;
                }
                return Some((position, answer, rest));
            }
        }
        None
    }

    /// Lines that name one thing each, for a question that needs several: they become one line.
    fn join_lines(&mut self, decision: &Decision) {
        let needed = usize::try_from(decision.min).unwrap_or(0);
        let name = kind_name(decision.kind);
        let fits = |line: &ScriptAnswer| {
            let known = line.kind == name || aliases(decision.kind).contains(&line.kind.as_str());
            let is_single = matches!(line.value, Value::String(_)) && !is_order(decision.kind);
            line.player == decision.player
                && known
                && is_single
                && self.option_named(decision, &line.value, &[]).is_some()
        };
        let lines = self.answers.iter().enumerate().filter(|(_, line)| fits(line));
        let places: Vec<usize> = lines.map(|(place, _)| place).take(needed).collect();
        if needed < 2 || places.len() < needed {
            return;
        }
        let values = places.iter().filter_map(|place| self.answers.get(*place));
        let joined = Value::Array(values.map(|line| line.value.clone()).collect());
        for place in places.iter().skip(1).rev() {
            self.answers.remove(*place);
        }
        if let Some(first) = places.first().and_then(|place| self.answers.get_mut(*place)) {
            first.value = joined;
        }
    }

    pub(super) fn take_prepared(&mut self, decision: &Decision) -> Option<Answer> {
        self.join_lines(decision);
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

    /// Takes `choose` lines for what an activation announces: the colour of mana, the sacrifice.
    pub(super) fn take_announcements(&mut self, player: PlayerId, activate: &mut ActivateAction) {
        let Some(Ability::Activated(ability)) = self.engine.ability(activate.ability) else { return };
        if ability.is_mana_ability() {
            if let Some((line, mana)) = self.named_mana(player, activate) {
                activate.mana = mana;
                self.answers.remove(line);
            }
            return;
        }
        let chooses = ability.cost.parts.iter().any(|part| matches!(part, CostPart::Sacrifice { .. }));
        if !chooses || !activate.payment.objects.is_empty() {
            return;
        }
        let line = self.answers.iter().position(|line| line.player == player && line.kind == "sacrifice");
        let value = line.and_then(|line| self.answers.get(line)).map(|line| line.value.clone());
        let named = value.and_then(|value| serde_json::from_value(value).ok());
        let Ok(objects) = self.find_objects(named.as_ref(), Zone::Battlefield) else { return };
        let trial =
            ActivateAction { payment: Payment { objects, ..activate.payment.clone() }, ..activate.clone() };
        let action = Action::Activate(trial.clone());
        if let Some(line) = line
            && self.engine.why_not(player, &action).is_ok()
        {
            *activate = trial;
            self.answers.remove(line);
        }
    }

    /// The line that names a colour, and the place of that mana in what the ability can add.
    fn named_mana(&self, player: PlayerId, activate: &ActivateAction) -> Option<(usize, u8)> {
        let words = ["color", "choose_color", "mana"];
        let line = self
            .answers
            .iter()
            .position(|line| line.player == player && words.contains(&line.kind.as_str()))?;
        let name = self.answers.get(line)?.value.as_str()?;
        let is_named = |kind: &ManaKind| {
            let color = kind.color().is_some_and(|color| color.name().eq_ignore_ascii_case(name));
            color || kind.letter().to_string() == name
        };
        let Some(Ability::Activated(ability)) = self.engine.ability(activate.ability) else { return None };
        let output = ability.body.effects.iter().find_map(|instruction| match &instruction.effect {
            Effect::AddMana { mana, .. } => Some(mana),
            _ => None,
        })?;
        let mask = self.engine.mana_output(output, &Context::new(activate.source, player)).0;
        let place = kinds_in(mask).iter().position(is_named)?;
        Some((line, u8::try_from(place).ok()?))
    }

    /// The answer that does least: decline, declare nothing that is not required, first options.
    pub(super) fn least_answer(&self, decision: &Decision) -> Answer {
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
    pub(super) fn convert(&self, decision: &Decision, value: &Value) -> Option<(Answer, Option<Value>)> {
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
            Value::String(word) if decision.kind == DecisionKind::Scry && word == "bottom" => {
                Some((Answer::Options((0..u32::try_from(decision.options.len()).ok()?).collect()), None))
            }
            Value::String(word) if decision.kind == DecisionKind::Scry && word == "top" => {
                Some((Answer::Options(Vec::new()), None))
            }
            Value::Object(map) if decision.kind == DecisionKind::Scry && map.contains_key("bottom") => {
                let list = map.get("bottom").and_then(Value::as_array)?;
                Some((self.convert_list(decision, list)?.0, None))
            }
            other if is_order(decision.kind) => self.convert_order(decision, other),
            other => Some((Answer::Options(vec![self.option_named(decision, other, &[])?]), None)),
        }
    }

    /// An order of which only the first is named: the others follow as they are.
    fn convert_order(&self, decision: &Decision, first: &Value) -> Option<(Answer, Option<Value>)> {
        let first = self.option_named(decision, first, &[])?;
        let all = 0..u32::try_from(decision.options.len()).ok()?;
        let order = std::iter::once(first).chain(all.filter(|option| *option != first)).collect();
        Some((Answer::Options(order), None))
    }

    pub(super) fn convert_list(
        &self,
        decision: &Decision,
        list: &[Value],
    ) -> Option<(Answer, Option<Value>)> {
        let most = usize::try_from(decision.max).ok()?;
        let mut chosen: Vec<u32> = Vec::new();
        for value in list.iter().take(most) {
            chosen.push(self.option_named(decision, value, &chosen)?);
        }
        let rest: Vec<Value> = list.iter().skip(most).cloned().collect();
        Some((Answer::Options(chosen), (!rest.is_empty()).then_some(Value::Array(rest))))
    }

    /// Position of the option that a name means and that is not taken.
    pub(super) fn option_named(&self, decision: &Decision, value: &Value, taken: &[u32]) -> Option<u32> {
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

    pub(super) fn check_choices(
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
}

/// Whether a question asks for an order of all its options.
fn is_order(kind: DecisionKind) -> bool {
    matches!(kind, DecisionKind::TriggerOrder | DecisionKind::OrderCards | DecisionKind::ScryOrder)
}

/// Other names that scripts use for a kind of question.
pub(super) fn aliases(kind: DecisionKind) -> &'static [&'static str] {
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

pub(super) fn label_word(label: OptionLabel) -> &'static str {
    match label {
        OptionLabel::Keep => "keep",
        OptionLabel::Mulligan => "mulligan",
        OptionLabel::PlayFirst => "play",
        OptionLabel::DrawFirst => "draw",
        OptionLabel::Accept | OptionLabel::Pay => "yes",
        OptionLabel::Decline | OptionLabel::DoNotPay => "no",
    }
}
