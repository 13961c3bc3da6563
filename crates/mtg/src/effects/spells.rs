//! Spells on the stack: countering, copying, casting during a resolution.

use super::EffectResult;
use crate::ability::{Ability, Change, Destination, Effect, Keyword, Restriction, Selector, Zone};
use crate::characteristics::RuleFlag;
use crate::context::{Context, EventKind, EventRecord};
use crate::decision::{Decision, DecisionKind};
use crate::engine::{Flow, MTGEngine};
use crate::event::{Event, MoveEvent};
use crate::ids::{Entity, ObjectId};
use crate::state::{ObjectKind, PlayGrant, StackItem, Until};
use crate::targets::target_specs;
use crate::task::Task;

impl MTGEngine {
    pub(super) fn execute_spells(&mut self, effect: &Effect, context: &Context) -> Flow<EffectResult> {
        match effect {
            Effect::Counter { what, to } => {
                let what = self.pick_selector(what, context)?;
                let spells: Vec<ObjectId> = what.into_iter().filter_map(Entity::object).collect();
                self.counter(&spells, to.as_ref(), context)
            }
            Effect::CopySpell { what, amount, new_targets } => {
                let what = self.pick_selector(what, context)?;
                let amount = self.view().amount(amount, context).clamp(0, 100);
                let Some(Entity::Object(id)) = what.first() else { return Ok(EffectResult::default()) };
                self.copy_spell(*id, amount, *new_targets, context)
            }
            Effect::ChangeTargets { what, must } => {
                let what = self.pick_selector(what, context)?;
                let Some(Entity::Object(id)) = what.first() else { return Ok(EffectResult::default()) };
                let Some(item) = self.state.stack.iter().find(|item| item.object == *id).cloned() else {
                    return Ok(EffectResult::default());
                };
                let changed = self.choose_new_targets(&item, *must, false, context)?;
                let known = targets_of(&item);
                if let Some(place) = self.state.stack.iter_mut().find(|place| place.object == *id) {
                    place.context.targets = changed.context.targets;
                }
                self.record_targeting(*id, &known);
                Ok(EffectResult::default())
            }
            Effect::CastNow { who, what, free, cost } => {
                let player = self.player_of(who, context);
                let what = self.pick_selector(what, context)?;
                for card in self.follow(&what, context) {
                    let cost = cost.clone();
                    self.deferred.push(Task::CastNow { player, card, free: *free, cost });
                }
                Ok(EffectResult::default())
            }
            Effect::AllowPlay { who, what, permission, until } => {
                let player = self.player_of(who, context);
                let what = self.pick_selector(what, context)?;
                let until = Until { duration: *until, turn: self.state.turn };
                for card in self.follow(&what, context) {
                    self.state.grants.push(PlayGrant {
                        player,
                        card,
                        permission: *permission,
                        controller: context.controller,
                        until,
                    });
                }
                Ok(EffectResult::default())
            }
            _ => Ok(EffectResult::default()),
        }
    }

    fn is_uncounterable(&self, id: ObjectId) -> bool {
        let printed =
            self.view().face(id).is_some_and(|face| face.abilities.contains(&Ability::CantBeCountered));
        printed
            || self.view().characteristics(id).has_rule(RuleFlag::CantBeCountered)
            || self.restricts_itself(id, &Restriction::CantBeCountered)
            || self.is_changed_on_stack(id, &Change::Restriction(Restriction::CantBeCountered))
    }

    /// Whether a static ability of a spell restricts the spell while it is on the stack.
    pub(crate) fn restricts_itself(&self, id: ObjectId, restriction: &Restriction) -> bool {
        let object = self.view().object(id);
        if object.zone != Zone::Stack || object.kind == ObjectKind::Ability {
            return false;
        }
        let Some(face) = self.view().face(id) else { return false };
        let context = Context::new(id, self.view().controller(id));
        face.abilities.iter().any(|ability| match ability {
            Ability::Static(own) => {
                own.zone == Some(Zone::Stack)
                    && own.affected == Selector::This
                    && own.changes.contains(&Change::Restriction(restriction.clone()))
                    && own.condition.as_ref().is_none_or(|holds| self.view().condition(holds, &context))
            }
            _ => false,
        })
    }

    /// Whether a static ability of a permanent gives a keyword to a spell on the stack.
    pub(crate) fn is_granted_on_stack(&self, spell: ObjectId, keyword: Keyword) -> bool {
        self.is_changed_on_stack(spell, &Change::AddKeyword(keyword))
    }

    /// Whether a static ability of a permanent makes this change to a spell on the stack.
    fn is_changed_on_stack(&self, spell: ObjectId, change: &Change) -> bool {
        let view = self.view();
        self.state.battlefield.iter().any(|id| {
            let context = Context::new(*id, view.controller(*id));
            view.characteristics(*id).abilities.iter().any(|reference| match self.ability(*reference) {
                Some(Ability::Static(own)) => {
                    own.changes.contains(change)
                        && own.condition.as_ref().is_none_or(|holds| view.condition(holds, &context))
                        && view.select(&own.affected, &context).contains(&Entity::Object(spell))
                }
                _ => false,
            })
        })
    }

    fn counter(
        &mut self,
        spells: &[ObjectId],
        to: Option<&Destination>,
        context: &Context,
    ) -> Flow<EffectResult> {
        let mut events = Vec::new();
        let mut abilities = Vec::new();
        for id in spells {
            let Some(item) = self.state.stack.iter().find(|item| item.object == *id) else { continue };
            if item.ability.is_some() {
                abilities.push(*id);
            } else if !self.is_uncounterable(*id) {
                let moving = match to {
                    Some(to) => self.destination_event(*id, to, context),
                    None => MoveEvent::new(*id, Zone::Graveyard),
                };
                events.push(Event::Move(moving));
            }
        }
        let records = self.apply(events)?;
        for id in &abilities {
            self.remove_ability(*id);
        }
        let mut done = EffectResult::moved(&records);
        done.amount += i32::try_from(abilities.len()).unwrap_or(0);
        Ok(done)
    }

    /// The spell or ability to copy. A spell that left the stack before its own trigger resolves is
    /// known by what the trigger kept of it (608.2h).
    fn copied_item(&self, id: ObjectId, context: &Context) -> Option<StackItem> {
        if let Some(item) = self.state.stack.iter().find(|item| item.object == id) {
            return Some(item.clone());
        }
        let event = context.event.as_ref().filter(|event| event.is_cast_of(id))?;
        let snapshot = self.state.snapshot(id)?;
        let mut known = Context::new(id, event.player.unwrap_or(context.controller));
        known.targets.clone_from(&context.targets);
        known.x = snapshot.object.cast.x;
        known.kicked = snapshot.object.cast.kicked;
        let modes = self.state.stack.last().map(|trigger| trigger.modes.clone()).unwrap_or_default();
        Some(StackItem { object: id, ability: None, modes, context: known })
    }

    fn copy_spell(
        &mut self,
        id: ObjectId,
        amount: i32,
        new_targets: bool,
        context: &Context,
    ) -> Flow<EffectResult> {
        let Some(item) = self.copied_item(id, context) else { return Ok(EffectResult::default()) };
        let mut copies = Vec::new();
        for _ in 0..amount {
            copies.push(if new_targets {
                self.choose_new_targets(&item, false, true, context)?
            } else {
                item.clone()
            });
        }
        let object = self.view().object(id);
        let (face, cast, kind) = (object.shown_face(), object.cast, object.kind);
        let mut made = Vec::new();
        for mut copy in copies {
            let kind = if kind == ObjectKind::Ability { ObjectKind::Ability } else { ObjectKind::SpellCopy };
            let new = self.state.add_object(kind, face, context.controller, Zone::Stack);
            if let Some(object) = self.state.object_mut(new) {
                object.copy_of = Some(face);
                object.cast = cast;
                object.cast.from = None;
            }
            copy.object = new;
            copy.context.controller = context.controller;
            if copy.ability.is_none() {
                copy.context.source = new;
            }
            self.state.stack.push(copy);
            made.push(Entity::Object(new));
        }
        self.touch();
        let records: Vec<EventRecord> = made
            .iter()
            .map(|copy| EventRecord::new(EventKind::Copy).subject(*copy).player(context.controller))
            .collect();
        let before = self.shared_projection();
        self.collect_triggers(&before, &records);
        for copy in made.iter().filter_map(|copy| copy.object()) {
            self.record_targeting(copy, &[]);
        }
        Ok(EffectResult::entities(made))
    }

    /// Asks for new targets, slot by slot; keeping the old ones is possible (707.10c) unless they must
    /// change. A copy may target the spell that it copies.
    fn choose_new_targets(
        &mut self,
        item: &StackItem,
        must: bool,
        is_copy: bool,
        context: &Context,
    ) -> Flow<StackItem> {
        let mut changed = item.clone();
        let body = self.stack_body(item);
        let specs: Vec<_> = target_specs(&body, &item.modes).into_iter().cloned().collect();
        let mut inner = item.context.clone();
        inner.controller = context.controller;
        let original = Entity::Object(item.object);
        let as_other = Context { source: context.source, ..inner.clone() };
        for (slot, spec) in specs.iter().enumerate() {
            let Some(old) = item.context.targets.get(slot) else { continue };
            let mut legal = self.legal_targets(spec, &inner).into_vec();
            if is_copy && !legal.contains(&original) && self.is_legal_target(spec, original, &as_other) {
                legal.push(original);
            }
            let others = spec.distinct_from.iter();
            let others = others.filter_map(|other| changed.context.targets.get(usize::from(*other)));
            let taken: Vec<Entity> = others.flat_map(|choice| choice.entities.iter().copied()).collect();
            legal.retain(|target| !taken.contains(target));
            let mut chosen = old.entities.clone();
            for position in 0..chosen.len() {
                let Some(current) = chosen.get(position).copied() else { continue };
                let mut options = vec![current];
                options.extend(legal.iter().copied().filter(|target| !chosen.contains(target)));
                if must && options.len() > 1 {
                    options.remove(0);
                }
                let decision = Decision::new(context.controller, DecisionKind::NewTargets)
                    .source(item.object)
                    .entities(options);
                let next = self.choose_entities(decision)?.first().copied();
                if let (Some(place), Some(next)) = (chosen.get_mut(position), next) {
                    *place = next;
                }
            }
            if let Some(place) = changed.context.targets.get_mut(slot) {
                place.entities = chosen;
            }
        }
        Ok(changed)
    }
}

/// Everything that a spell or ability targets.
fn targets_of(item: &StackItem) -> Vec<Entity> {
    item.context.targets.iter().flat_map(|choice| choice.entities.iter().copied()).collect()
}
