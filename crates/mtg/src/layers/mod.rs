//! Characteristics of all permanents, computed layer by layer (613).
//!
//! A projection belongs to one version of the state. In each layer effects apply in the order of
//! their timestamps, except that an effect waits for those it depends on (613.8): this is found by
//! trying. Effects whose source loses the ability in an earlier layer stop; those that have begun to
//! apply continue (613.6). Limits: text-changing effects (layer 3) do not exist.

mod changes;
mod circumstances;
mod projection;

pub(crate) use projection::Projection;

use crate::ability::{
    Ability, Change, CounterKind, Duration, Filter, Keyword, PlayerRule, Restriction, Selector,
    StaticAbility, Zone,
};
use crate::characteristics::{AbilityClass, Characteristics, RestrictionRef, rule_flag};
use crate::context::Context;
use crate::eval::View;
use crate::ids::{AbilityRef, Entity, FaceId, ObjectId, PlayerId};
use crate::state::{GameState, ObjectFlag};
use changes::counter_keyword;
use circumstances::{is_plain_player, is_plain_static};
use smallvec::SmallVec;

/// Where an effect comes from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    Static(ObjectId, FaceId, u8),
    Granted(ObjectId, AbilityRef),
    Resolved(usize),
}

/// Effect that takes part in the layers.
#[derive(Debug, Clone)]
struct LayerEffect {
    origin: Origin,
    timestamp: u32,
    /// Fixed once the effect has begun to apply.
    affected: Option<SmallVec<[ObjectId; 8]>>,
    context: Context,
    layers: u16,
}

/// Layer 1b: face-down permanents, after all copies (613.2b).
const FACE_DOWN: u8 = 9;

/// Pass for restrictions, after all layers: an ability that was lost restricts nothing.
const RESTRICTIONS: u8 = 8;

/// Layer in which a change applies.
fn layer_of(change: &Change) -> u8 {
    match change {
        Change::CopyOf { .. }
        | Change::ShowFace(_)
        | Change::SetName(_)
        | Change::NoManaCost
        | Change::KeepThisAbility => 1,
        Change::TurnFaceDown | Change::ShowFaceDown(_) => FACE_DOWN,
        Change::Control(_) => 2,
        Change::AddTypes(_)
        | Change::RemoveTypes(_)
        | Change::SetTypes(_)
        | Change::AddSubtypes(_)
        | Change::SetSubtypes(_)
        | Change::RemoveSubtypes(_)
        | Change::SetLandTypes(_)
        | Change::AllCreatureTypes
        | Change::AddSupertype(_)
        | Change::RemoveSupertype(_)
        | Change::AddChosenType
        | Change::SetChosenType => 3,
        Change::SetColors(_) | Change::AddColors(_) | Change::SetChosenColor => 4,
        Change::AddKeyword(_)
        | Change::RemoveKeyword(_)
        | Change::AddAbility(_)
        | Change::LoseAllAbilities
        | Change::ProtectionFromChosenColor => 5,
        Change::Restriction(_) => RESTRICTIONS,
        Change::SetPower(_)
        | Change::SetToughness(_)
        | Change::DefinePower(_)
        | Change::DefineToughness(_) => 6,
        Change::Modify { .. } => 7,
        Change::SwitchPowerToughness => 0,
    }
}

fn layer_bits(changes: &[Change]) -> u16 {
    changes.iter().fold(0, |bits, change| bits | 1 << layer_of(change))
}

/// Builds the projection of a state.
#[must_use]
pub(crate) fn project(state: &GameState) -> Projection {
    let mut builder = Builder::new(state);
    builder.collect();
    // Layers 1 to 6 of the rules, then 7b, 7c, 7d; 7a is part of `define_sizes`.
    builder.apply_layer(1);
    builder.apply_layer(FACE_DOWN);
    builder.collect_copied();
    for layer in [2, 3, 4, 5] {
        builder.apply_layer(layer);
    }
    builder.define_sizes();
    builder.apply_layer(6);
    builder.apply_layer(7);
    builder.apply_counters();
    builder.apply_layer(0);
    builder.apply_layer(RESTRICTIONS);
    builder.apply_group_rules();
    builder.note_circumstances();
    builder.finish()
}

struct Builder<'a> {
    state: &'a GameState,
    projection: Projection,
    effects: Vec<LayerEffect>,
}

impl<'a> Builder<'a> {
    fn new(state: &'a GameState) -> Self {
        let mut projection =
            Projection { positions: vec![u16::MAX; state.objects.len()], ..Projection::default() };
        for id in &state.battlefield {
            let object = state.object(*id);
            let Some(face) = state.faces.get(object.shown_face()) else { continue };
            let mut own = face.base.clone();
            own.controller = object.controller;
            if object.has_flag(ObjectFlag::Haste) || object.has_flag(ObjectFlag::Dashed) {
                own.keywords.insert(Keyword::Haste);
            }
            if let Some(place) = projection.positions.get_mut(id.slot()) {
                *place = u16::try_from(projection.own.len()).unwrap_or(u16::MAX);
            }
            projection.classes |= own.classes;
            projection.ids.push(*id);
            projection.own.push(own);
        }
        Self { state, projection, effects: Vec::new() }
    }

    fn view(&self) -> View<'_> {
        View { state: self.state, projection: &self.projection }
    }

    fn collect(&mut self) {
        if self.projection.has_class(AbilityClass::Static) {
            for id in &self.state.battlefield {
                self.collect_static(*id, Zone::Battlefield);
            }
        }
        for id in &self.state.command {
            self.collect_static(*id, Zone::Command);
        }
        for id in self.state.zone_objects(Zone::Graveyard) {
            if self.state.has_static_face(id) {
                self.collect_static(id, Zone::Graveyard);
            }
        }
        for (index, effect) in self.state.effects.iter().enumerate() {
            let mut context = Context::new(effect.source, effect.controller);
            context.iterated = None;
            self.effects.push(LayerEffect {
                origin: Origin::Resolved(index),
                timestamp: effect.timestamp,
                affected: Some(effect.affected.iter().copied().collect()),
                context,
                layers: layer_bits(&effect.changes),
            });
        }
        self.effects.sort_by_key(|effect| effect.timestamp);
    }

    /// Static abilities of what became a copy in layer 1 replace those that it had (613.2a).
    fn collect_copied(&mut self) {
        let copies: Vec<(ObjectId, FaceId)> = self
            .projection
            .ids
            .iter()
            .zip(&self.projection.own)
            .filter(|(id, own)| own.face != self.state.object(**id).shown_face())
            .map(|(id, own)| (*id, own.face))
            .collect();
        if copies.is_empty() {
            return;
        }
        for (id, face) in copies {
            self.effects
                .retain(|effect| !matches!(effect.origin, Origin::Static(source, _, _) if source == id));
            self.collect_face(id, face, Zone::Battlefield);
        }
        self.effects.sort_by_key(|effect| effect.timestamp);
    }

    fn collect_static(&mut self, id: ObjectId, zone: Zone) {
        self.collect_face(id, self.state.object(id).shown_face(), zone);
    }

    fn collect_face(&mut self, id: ObjectId, face_id: FaceId, zone: Zone) {
        let object = self.state.object(id);
        let Some(face) = self.state.faces.get(face_id) else { return };
        if zone == Zone::Battlefield && !face.base.has_class(AbilityClass::Static) {
            return;
        }
        for (index, ability) in (0u8..).zip(&face.abilities) {
            let Ability::Static(granting) = ability else { continue };
            let wanted = granting.zone.unwrap_or(Zone::Battlefield);
            if zone != Zone::Command && zone != wanted {
                continue;
            }
            self.effects.push(LayerEffect {
                origin: Origin::Static(id, face_id, index),
                timestamp: object.timestamp,
                affected: None,
                context: Context::new(id, object.controller),
                layers: layer_bits(&granting.changes),
            });
        }
    }

    fn changes(&self, origin: Origin) -> &'a [Change] {
        match origin {
            Origin::Static(_, face, index) => match self.static_ability(AbilityRef::Face(face, index)) {
                Some(granting) => &granting.changes,
                None => &[],
            },
            Origin::Granted(_, reference) => match self.static_ability(reference) {
                Some(granting) => &granting.changes,
                None => &[],
            },
            Origin::Resolved(index) => {
                self.state.effects.get(index).map_or(&[], |effect| effect.changes.as_slice())
            }
        }
    }

    fn static_ability(&self, reference: AbilityRef) -> Option<&'a StaticAbility> {
        match crate::eval::find_ability(self.state, reference) {
            Some(Ability::Static(granting)) => Some(granting),
            _ => None,
        }
    }

    fn origin_static(&self, origin: Origin) -> Option<(ObjectId, AbilityRef)> {
        match origin {
            Origin::Static(id, face, index) => Some((id, AbilityRef::Face(face, index))),
            Origin::Granted(id, reference) => Some((id, reference)),
            Origin::Resolved(_) => None,
        }
    }

    /// Objects that an effect affects now, or `None` if its ability does not exist any more.
    fn affected(&self, effect: &LayerEffect) -> Option<SmallVec<[ObjectId; 8]>> {
        if let Some(fixed) = &effect.affected {
            return Some(fixed.clone());
        }
        let (source, reference) = self.origin_static(effect.origin)?;
        if let Some(own) = self.projection.get(self.state, source)
            && !own.abilities.contains(&reference)
        {
            return None;
        }
        let granting = self.static_ability(reference)?;
        let mut context = effect.context.clone();
        context.controller = self.view().controller(source);
        if let Some(condition) = &granting.condition
            && !self.view().condition(condition, &context)
        {
            return Some(SmallVec::new());
        }
        let found = self.view().select(&granting.affected, &context);
        Some(found.into_iter().filter_map(Entity::object).collect())
    }

    fn apply_layer(&mut self, layer: u8) {
        if self.effects.is_empty() && layer != 5 {
            return;
        }
        let mut waiting: Vec<usize> = (0..self.effects.len())
            .filter(|index| self.effects.get(*index).is_some_and(|effect| effect.layers & (1 << layer) != 0))
            .collect();
        while !waiting.is_empty() {
            let position = if waiting.len() > 1 && self.may_depend(&waiting, layer) {
                self.first_independent(&waiting, layer)
            } else {
                0
            };
            let index = waiting.remove(position);
            self.apply_effect(index, layer);
            if layer == 5 {
                waiting.extend(self.collect_granted(layer));
            }
        }
    }

    /// Static abilities that were granted in layer 6 take part from then on.
    fn collect_granted(&mut self, layer: u8) -> Vec<usize> {
        let mut fresh = Vec::new();
        for (id, own) in self.projection.ids.iter().zip(&self.projection.own) {
            for reference in &own.abilities {
                if matches!(reference, AbilityRef::Face(..) | AbilityRef::Land(_)) {
                    continue;
                }
                let Some(Ability::Static(granting)) = crate::eval::find_ability(self.state, *reference)
                else {
                    continue;
                };
                let known = self.effects.iter().chain(&fresh).any(|effect: &LayerEffect| {
                    matches!(effect.origin, Origin::Granted(source, other) if source == *id && other == *reference)
                });
                if !known {
                    fresh.push(LayerEffect {
                        origin: Origin::Granted(*id, *reference),
                        timestamp: self.state.object(*id).timestamp,
                        affected: None,
                        context: Context::new(*id, own.controller),
                        layers: layer_bits(&granting.changes),
                    });
                }
            }
        }
        let first = self.effects.len();
        self.effects.extend(fresh);
        (first..self.effects.len())
            .filter(|index| self.effects.get(*index).is_some_and(|effect| effect.layers & (1 << layer) != 0))
            .collect()
    }

    /// Whether effects of the layer can depend on each other at all.
    fn may_depend(&self, waiting: &[usize], layer: u8) -> bool {
        let removes = |index: &usize| {
            let changes = self.effects.get(*index).map_or(&[][..], |effect| self.changes(effect.origin));
            changes.iter().any(|change| matches!(change, Change::LoseAllAbilities))
        };
        match layer {
            1..=3 => true,
            5 => waiting.iter().any(removes) || waiting.iter().any(|index| self.selects_by_ability(*index)),
            _ => false,
        }
    }

    /// Whether a static ability affects objects by the abilities that they have.
    fn selects_by_ability(&self, index: usize) -> bool {
        let origin = self.effects.get(index).and_then(|effect| self.origin_static(effect.origin));
        let Some(granting) = origin.and_then(|(_, reference)| self.static_ability(reference)) else {
            return false;
        };
        matches!(&granting.affected, Selector::All { filter, .. } if mentions_ability(filter))
    }

    /// Position of the first effect, by timestamp, that depends on no other waiting one (613.8b).
    fn first_independent(&self, waiting: &[usize], layer: u8) -> usize {
        let signature = |builder: &Self, index: usize| {
            let effect = builder.effects.get(index)?;
            let source =
                builder.origin_static(effect.origin).map(|origin| builder.view().controller(origin.0));
            Some((builder.affected(effect), source))
        };
        for (position, index) in waiting.iter().enumerate() {
            if self.effects.get(*index).is_some_and(|effect| effect.affected.is_some()) {
                return position;
            }
            let before = signature(self, *index);
            let depends = waiting.iter().any(|other| {
                if other == index {
                    return false;
                }
                let mut trial = Builder {
                    state: self.state,
                    projection: self.projection.clone(),
                    effects: self.effects.clone(),
                };
                trial.apply_effect(*other, layer);
                signature(&trial, *index) != before
            });
            if !depends {
                return position;
            }
        }
        0
    }

    fn apply_effect(&mut self, index: usize, layer: u8) {
        let Some(effect) = self.effects.get(index).cloned() else { return };
        let Some(affected) = self.affected(&effect) else { return };
        let changes = self.changes(effect.origin);
        let mut context = effect.context.clone();
        if let Some((source, _)) = self.origin_static(effect.origin) {
            context.controller = self.view().controller(source);
        }
        if !matches!(effect.origin, Origin::Resolved(_)) {
            self.prepare_elsewhere(&affected);
        }
        for id in &affected {
            for (position, change) in (0u8..).zip(changes) {
                if layer_of(change) == layer {
                    self.apply_change(*id, change, position, &effect, &context);
                }
            }
        }
        if let Some(kept) = self.effects.get_mut(index) {
            kept.affected = Some(affected);
        }
    }

    /// Gives objects of other zones that a static ability affects the characteristics to be changed.
    fn prepare_elsewhere(&mut self, affected: &[ObjectId]) {
        for id in affected {
            let object = self.state.object(*id);
            if object.zone == Zone::Battlefield || object.is_gone() {
                continue;
            }
            let (state, controller) = (self.state, self.view().controller(*id));
            let Some(face) = state.faces.get(object.shown_face()) else { continue };
            let build = || Characteristics { controller, ..face.base.clone() };
            self.projection.add_elsewhere(*id, build);
        }
    }

    /// Layer 7a: characteristic-defining abilities (604.3).
    fn define_sizes(&mut self) {
        // Layer 6 may have granted such an ability.
        if !self.projection.own.iter().any(|own| own.has_class(AbilityClass::Characteristic)) {
            return;
        }
        for id in self.projection.ids.clone() {
            let Some(own) = self.projection.get(self.state, id) else { continue };
            if !own.has_class(AbilityClass::Characteristic) {
                continue;
            }
            let context = Context::new(id, own.controller);
            for reference in own.abilities.clone() {
                let Some(Ability::Characteristic(changes)) = crate::eval::find_ability(self.state, reference)
                else {
                    continue;
                };
                for change in changes {
                    let effect = LayerEffect {
                        origin: Origin::Granted(id, reference),
                        timestamp: 0,
                        affected: None,
                        context: context.clone(),
                        layers: 0,
                    };
                    self.apply_change(id, change, 0, &effect, &context);
                }
            }
        }
    }

    /// Counters: part of layer 7c, and keyword counters (122.1b).
    fn apply_counters(&mut self) {
        for (id, own) in self.projection.ids.iter().zip(&mut self.projection.own) {
            for (kind, amount) in &self.state.object(*id).counters {
                match kind {
                    CounterKind::PlusOne => {
                        own.power += amount;
                        own.toughness += amount;
                    }
                    CounterKind::MinusOne => {
                        own.power -= amount;
                        own.toughness -= amount;
                    }
                    _ => {
                        if let Some(keyword) = counter_keyword(*kind) {
                            own.keywords.insert(keyword);
                        }
                    }
                }
            }
        }
    }

    /// Restrictions by resolved effects for whatever matches now (611.2c).
    fn apply_group_rules(&mut self) {
        for rule in &self.state.rules {
            let PlayerRule::Restricts(filter, restriction) = &rule.rule else { continue };
            let Some(flag) = rule_flag(restriction) else { continue };
            let context = Context::new(rule.source, rule.controller);
            let ids = self.projection.ids.iter().copied();
            let affected: Vec<ObjectId> =
                ids.filter(|id| self.view().object_matches(filter, *id, &context)).collect();
            for id in affected {
                if let Some(own) = self.projection.get_mut(id) {
                    own.rules |= flag.bit();
                }
            }
        }
    }

    /// Notes whether the next step or another life total could change the result.
    fn note_circumstances(&mut self) {
        let is_plain = |effect: &LayerEffect| match self.origin_static(effect.origin) {
            Some((_, reference)) => self.static_ability(reference).is_none_or(is_plain_static),
            None => true,
        };
        let has_plain_effects = self.effects.iter().all(is_plain);
        let defines = self.projection.own.iter().any(|own| own.has_class(AbilityClass::Characteristic));
        let has_plain_rules = self.state.rules.iter().all(|rule| {
            rule.until.duration != Duration::TheirNextTurn && !matches!(rule.rule, PlayerRule::Restricts(..))
        });
        self.projection.is_circumstantial = defines || !has_plain_effects || !has_plain_rules;
    }

    fn finish(mut self) -> Projection {
        self.projection.triggers = 0;
        self.projection.classes = 0;
        for own in &self.projection.own {
            self.projection.triggers |= own.triggers;
            self.projection.classes |= own.classes;
            self.projection.supertypes = self.projection.supertypes.union(own.supertypes);
            self.projection.keywords = self.projection.keywords.union(own.keywords);
        }
        let mut rules = Vec::new();
        for rule in self.state.rules.iter().filter(|rule| rule.is_active(self.state)) {
            rules.push((rule.player, rule.rule.clone(), rule.source));
        }
        if self.projection.has_class(AbilityClass::PlayerRule) || !self.state.command.is_empty() {
            for id in self.state.battlefield.iter().chain(&self.state.command) {
                if !self.collect_rules(*id, &mut rules) {
                    self.projection.is_circumstantial = true;
                }
            }
        }
        self.projection.rules = rules;
        self.projection
    }

    /// False if the rules depend on circumstances.
    fn collect_rules(&self, id: ObjectId, rules: &mut Vec<(PlayerId, PlayerRule, ObjectId)>) -> bool {
        let own = self.view().characteristics(id);
        let mut is_plain = true;
        for reference in &own.abilities {
            let Some(Ability::PlayerRule { who, rule, condition }) =
                crate::eval::find_ability(self.state, *reference)
            else {
                continue;
            };
            is_plain &= condition.is_none() && is_plain_player(who);
            let context = Context::new(id, self.view().controller(id));
            if condition.as_ref().is_some_and(|condition| !self.view().condition(condition, &context)) {
                continue;
            }
            for entity in self.view().select(who, &context) {
                if let Entity::Player(player) = entity {
                    rules.push((player, rule.clone(), id));
                }
            }
        }
        is_plain
    }
}

/// Whether a filter looks at the abilities of objects.
fn mentions_ability(filter: &Filter) -> bool {
    match filter {
        Filter::Keyword(_) | Filter::HasAbility => true,
        Filter::All(parts) | Filter::AnyOf(parts) => parts.iter().any(mentions_ability),
        Filter::Not(part) => mentions_ability(part),
        _ => false,
    }
}

/// Restriction behind a reference, with the source's controller.
#[must_use]
pub(crate) fn find_restriction<'a>(
    view: &View<'a>,
    reference: RestrictionRef,
) -> Option<(&'a Restriction, Context)> {
    let (changes, position, context) = match reference {
        RestrictionRef::Static(source, face, index, position) => {
            let ability = view.state.faces.get(face)?.abilities.get(usize::from(index))?;
            let Ability::Static(granting) = ability else { return None };
            (granting.changes.as_slice(), position, Context::new(source, view.controller(source)))
        }
        RestrictionRef::Effect(number, position) => {
            let effect = view.state.effects.iter().find(|effect| effect.number == number)?;
            (effect.changes.as_slice(), position, Context::new(effect.source, effect.controller))
        }
    };
    match changes.get(usize::from(position))? {
        Change::Restriction(restriction) => Some((restriction, context)),
        _ => None,
    }
}
