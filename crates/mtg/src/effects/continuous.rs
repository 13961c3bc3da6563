//! Effects that last: continuous effects, shields, rules, delayed triggers, emblems.

use super::EffectResult;
use crate::ability::{
    Ability, Amount, Body, Change, Duration, Effect, Filter, PlayerRule, Replacement, ReplacementAction,
    ReplacementPattern, Restriction, Selector, TriggeredAbility, Zone,
};
use crate::card::{CardFace, Color};
use crate::characteristics::rule_flag;
use crate::context::{Context, EventKind, EventRecord};
use crate::engine::{Flow, MTGEngine};
use crate::faces::prepare_changes;
use crate::ids::{AbilityRef, Entity, ObjectId};
use crate::state::{
    ContinuousEffect, DelayedTrigger, ObjectKind, PendingTrigger, RuleEffect, ShieldEffect, Until,
};
use std::sync::Arc;

impl MTGEngine {
    fn until(&self, duration: Duration) -> Until {
        Until { duration, turn: self.state.turn }
    }

    pub(super) fn execute_continuous(&mut self, effect: &Effect, context: &Context) -> Flow<EffectResult> {
        match effect {
            Effect::Continuous { affected, changes, until } => {
                let group = self
                    .lasting_group(affected, changes, *until, context)
                    .filter(|_| self.is_first_instruction(effect));
                let affected = self.pick_selector(affected, context)?;
                if let Some(group) = group {
                    self.add_group_rules(&group, changes, *until, context);
                    return Ok(EffectResult::entities(affected));
                }
                let mut inner = context.clone();
                if changes.contains(&Change::ProtectionFromChosenColor)
                    && context.color.or(self.view().object(context.source).chosen.color).is_none()
                {
                    let kind = crate::ability::ChoiceKind::Color;
                    inner.color = self.choose_value(context.controller, &kind, context.source)?.color;
                }
                self.add_continuous(&affected, changes, *until, &inner);
                Ok(EffectResult::entities(affected))
            }
            Effect::PlayerRule { who, rule, until } => {
                for player in self.players_of(who, context) {
                    let until = self.until(*until);
                    self.state.rules.push(RuleEffect {
                        player,
                        controller: context.controller,
                        source: context.source,
                        rule: rule.clone(),
                        until,
                    });
                }
                self.touch();
                Ok(EffectResult::default())
            }
            Effect::AddReplacement { replacement, until } => {
                self.add_shield((**replacement).clone(), *until, context);
                Ok(EffectResult::default())
            }
            Effect::Regenerate { what } => {
                for id in self.pick_selector(what, context)?.into_iter().filter_map(Entity::object) {
                    let mut inner = context.clone();
                    inner.iterated = Some(id.into());
                    let replacement = Replacement {
                        pattern: ReplacementPattern::Destroy {
                            what: Filter::Is(Box::new(Selector::Iterated)),
                        },
                        condition: None,
                        action: ReplacementAction::Regenerate,
                        optional: false,
                        uses: Some(1),
                    };
                    self.add_shield(replacement, Duration::EndOfTurn, &inner);
                }
                Ok(EffectResult::default())
            }
            Effect::DelayedTrigger { trigger, once, until } => {
                let ability = self.state.keep_ability(&Ability::Triggered(trigger.clone()));
                let until = self.until(*until);
                self.state.delayed.push(DelayedTrigger {
                    ability,
                    context: context.clone(),
                    once: *once,
                    until,
                    created: self.state.timestamp,
                });
                Ok(EffectResult::default())
            }
            Effect::ReflexiveTrigger { body } => {
                self.add_reflexive_trigger(body, context);
                Ok(EffectResult::default())
            }
            Effect::Emblem { who, abilities } => {
                self.add_emblem(who, abilities, context);
                Ok(EffectResult::default())
            }
            Effect::Choose { who, kind } => self.choose_for_source(who, kind, context),
            Effect::Goad { what } => {
                let what = self.pick_selector(what, context)?;
                let changes = [Change::Restriction(Restriction::MustAttack)];
                self.add_continuous(&what, &changes, Duration::YourNextTurn, context);
                Ok(EffectResult::default())
            }
            _ => Ok(EffectResult::default()),
        }
    }

    /// The filter of an effect that changes rules only: it also affects what enters later (611.2c).
    fn lasting_group(
        &self,
        affected: &Selector,
        changes: &[Change],
        until: Duration,
        context: &Context,
    ) -> Option<Filter> {
        let Selector::All { zone: Zone::Battlefield, filter } = affected else { return None };
        let restricts = changes.iter().all(|change| match change {
            Change::Restriction(restriction) => rule_flag(restriction).is_some(),
            _ => false,
        });
        let ends = matches!(until, Duration::EndOfTurn | Duration::NextUntap | Duration::YourNextTurn);
        if restricts && ends { self.fix_filter(filter, context) } else { None }
    }

    /// Whether an effect begins what resolves. "Those creatures" of a later one are not a group but
    /// what the earlier one affected.
    fn is_first_instruction(&self, effect: &Effect) -> bool {
        let Some(item) = self.state.stack.last() else { return false };
        let body = self.stack_body(item);
        let modes = body.modes.iter().flat_map(|modes| &modes.choices).map(|mode| &mode.effects);
        std::iter::once(&body.effects)
            .chain(modes)
            .any(|effects| effects.first().is_some_and(|first| first.effect == *effect))
    }

    /// The filter with its players fixed; `None` if it names something else of the resolution.
    fn fix_filter(&self, filter: &Filter, context: &Context) -> Option<Filter> {
        let all = |parts: &[Filter]| -> Option<Vec<Filter>> {
            parts.iter().map(|part| self.fix_filter(part, context)).collect()
        };
        Some(match filter {
            Filter::All(parts) => Filter::All(all(parts)?),
            Filter::AnyOf(parts) => Filter::AnyOf(all(parts)?),
            Filter::Not(part) => Filter::Not(Box::new(self.fix_filter(part, context)?)),
            Filter::Controller(who) => {
                let player = self.view().select_player(who, context)?;
                let is_own = player == context.controller;
                let both = **who == Selector::EachPlayer;
                let fixed = if is_own { Selector::You } else { Selector::EachOpponent };
                Filter::Controller(Box::new(if both { Selector::EachPlayer } else { fixed }))
            }
            Filter::Any
            | Filter::Type(_)
            | Filter::Subtype(_)
            | Filter::Supertype(_)
            | Filter::Color(_)
            | Filter::Keyword(_)
            | Filter::Token
            | Filter::Permanent => filter.clone(),
            _ => return None,
        })
    }

    fn add_group_rules(&mut self, group: &Filter, changes: &[Change], until: Duration, context: &Context) {
        let until = self.until(until);
        // The untap step with which "during their next untap step" ends.
        let player = if names_opponent(group) { context.controller.opponent() } else { context.controller };
        for change in changes {
            let Change::Restriction(restriction) = change else { continue };
            self.state.rules.push(RuleEffect {
                player,
                controller: context.controller,
                source: context.source,
                rule: PlayerRule::Restricts(group.clone(), restriction.clone()),
                until,
            });
        }
        self.touch();
    }

    /// "When you do": triggers at once, with what is bound so far (603.12).
    fn add_reflexive_trigger(&mut self, body: &Body, context: &Context) {
        let ability = Ability::Triggered(Box::new(TriggeredAbility {
            events: Vec::new(),
            batch: false,
            condition: None,
            body: body.clone(),
            per_turn: None,
            zone: None,
            text: String::new(),
        }));
        let ability = self.state.keep_ability(&ability);
        let event = context
            .event
            .as_ref()
            .map_or_else(|| EventRecord::new(EventKind::State), |event| (**event).clone());
        self.state.triggers.push(PendingTrigger {
            ability,
            source: context.source,
            controller: context.controller,
            event,
            context: Some(Box::new(context.clone())),
        });
    }

    fn add_emblem(&mut self, who: &Selector, abilities: &[Ability], context: &Context) {
        let face = CardFace {
            name: self.view().name(context.source).to_string(),
            abilities: abilities.to_vec(),
            ..CardFace::default()
        };
        let face = self.state.faces.intern(&face);
        for player in self.players_of(who, context) {
            let id = self.state.add_object(ObjectKind::Emblem, face, player, Zone::Command);
            self.state.command.push(id);
        }
        self.touch();
    }

    /// A choice on resolution is remembered on the source.
    fn choose_for_source(
        &mut self,
        who: &Selector,
        kind: &crate::ability::ChoiceKind,
        context: &Context,
    ) -> Flow<EffectResult> {
        let player = self.player_of(who, context);
        let values = self.choose_value(player, kind, context.source)?;
        if let Some(object) = self.state.object_mut(context.source) {
            object.chosen.color = values.color.or(object.chosen.color);
            object.chosen.subtype = values.subtype.or(object.chosen.subtype);
            object.chosen.player = values.player.or(object.chosen.player);
            object.chosen.number = values.number;
        }
        self.touch();
        let entities = values.player.map(Entity::Player).into_iter().collect();
        Ok(EffectResult { entities, amount: values.number, ..EffectResult::default() })
    }

    /// Adds a continuous effect; its objects and numbers are fixed now (611.2c, 608.2i).
    pub(crate) fn add_continuous(
        &mut self,
        affected: &[Entity],
        changes: &[Change],
        duration: Duration,
        context: &Context,
    ) {
        let affected: Vec<ObjectId> = affected
            .iter()
            .filter_map(|entity| entity.object())
            .filter(|id| self.state.is_on_battlefield(*id))
            .collect();
        if affected.is_empty() {
            return;
        }
        let mut fixed: Vec<Change> = Vec::with_capacity(changes.len());
        for change in changes {
            let change = match change {
                Change::CopyOf { of, except } => self.fix_copy(of, except, context),
                Change::TurnFaceDown => {
                    Some(Change::ShowFaceDown(self.state.faces.intern(&CardFace::face_down())))
                }
                other => Some(self.fix_change(other, context)),
            };
            fixed.extend(change);
        }
        let fixed = prepare_changes(fixed);
        let mut grants = smallvec::SmallVec::new();
        for (position, change) in (0u8..).zip(&fixed) {
            if let Change::AddAbility(ability) = change
                && let AbilityRef::Loose(index) = self.state.keep_ability(ability)
            {
                grants.push((position, index));
            }
        }
        let timestamp = self.state.next_timestamp();
        let until = self.until(duration);
        self.state.effects.push(ContinuousEffect {
            number: timestamp,
            timestamp,
            source: context.source,
            controller: context.controller,
            affected,
            changes: Arc::new(fixed),
            grants,
            until,
        });
        self.touch();
        self.notice_control();
    }

    /// The copy with its values as they are now: what is copied may change or leave later (707.2c).
    fn fix_copy(&mut self, of: &Selector, except: &[Change], context: &Context) -> Option<Change> {
        let of = self.view().select(of, context).into_iter().find_map(Entity::object)?;
        Some(Change::ShowFace(self.copied_face(of, except, context)))
    }

    /// The change with its amounts and players as constants.
    fn fix_change(&self, change: &Change, context: &Context) -> Change {
        let view = self.view();
        let fixed = |amount: &Amount| Amount::Fixed(view.amount(amount, context));
        match change {
            Change::Modify { power, toughness } => {
                Change::Modify { power: fixed(power), toughness: fixed(toughness) }
            }
            Change::SetPower(amount) => Change::SetPower(fixed(amount)),
            Change::SetToughness(amount) => Change::SetToughness(fixed(amount)),
            Change::Control(who) => {
                let player = view.select_player(who, context);
                Change::Control(if player == Some(context.controller) {
                    Selector::You
                } else {
                    Selector::EachOpponent
                })
            }
            Change::ProtectionFromChosenColor => {
                let color =
                    context.color.or(view.object(context.source).chosen.color).unwrap_or(Color::White);
                let protection = crate::ability::KeywordAbility::Protection(Filter::Color(color));
                Change::AddAbility(Box::new(Ability::KeywordAbility(Box::new(protection))))
            }
            Change::SetChosenColor => {
                let color = view.object(context.source).chosen.color;
                Change::SetColors(color.into_iter().collect())
            }
            Change::AddChosenType => {
                let subtype = view.object(context.source).chosen.subtype;
                Change::AddSubtypes(subtype.into_iter().collect())
            }
            other => other.clone(),
        }
    }

    pub(crate) fn add_shield(&mut self, replacement: Replacement, duration: Duration, context: &Context) {
        let left = match &replacement.action {
            ReplacementAction::PreventNext(amount) => Some(self.view().amount(amount, context)),
            _ => replacement.uses.map(i32::from),
        };
        let number = self.state.next_timestamp();
        let until = self.until(duration);
        self.state.shields.push(ShieldEffect {
            number,
            context: context.clone(),
            replacement: Arc::new(replacement),
            left,
            until,
        });
    }

    /// Notices changes of control: summoning sickness begins, combat ends for it (302.6, 506.4).
    pub(crate) fn notice_control(&mut self) {
        let turn = self.state.turn;
        let view = self.view();
        let has_changed = |id: &ObjectId| view.controller(*id) != self.state.object(*id).last_controller;
        let changed: Vec<ObjectId> = self.state.battlefield.iter().copied().filter(has_changed).collect();
        for id in changed {
            let controller = self.view().controller(id);
            if let Some(object) = self.state.object_mut(id) {
                object.last_controller = controller;
                object.controlled_since = turn;
            }
            self.leave_combat(id);
            let record = EventRecord::new(EventKind::ControlChange).subject(id).player(controller);
            let before = self.shared_projection();
            self.collect_triggers(&before, &[record]);
        }
    }
}

/// Whether a filter is for what the opponent controls.
fn names_opponent(filter: &Filter) -> bool {
    match filter {
        Filter::All(parts) => parts.iter().any(names_opponent),
        Filter::Controller(who) => **who == Selector::EachOpponent,
        _ => false,
    }
}
