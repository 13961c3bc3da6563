//! Targets: which are legal, and how they are chosen (115, 601.2c, 608.2b).

use crate::ability::{
    Ability, Body, Filter, Keyword, KeywordAbility, PlayerRule, Restriction, TargetSpec, Zone,
};
use crate::card::{CardType, Subtype};
use crate::characteristics::{AbilityClass, RuleFlag, names_players};
use crate::context::{Context, TargetChoice};
use crate::decision::{Choosable, Decision, DecisionKind, Refusal, RefusalReason};
use crate::engine::{Flow, MTGEngine};
use crate::eval::Entities;
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::layers::find_restriction;
use smallvec::SmallVec;

/// Target specifications of a body with chosen modes, in the order of slots.
#[must_use]
pub(crate) fn target_specs<'a>(body: &'a Body, modes: &[u8]) -> Vec<&'a TargetSpec> {
    let mut specs: Vec<&TargetSpec> = body.targets.iter().collect();
    if let Some(choices) = &body.modes {
        for mode in modes {
            if let Some(mode) = choices.choices.get(usize::from(*mode)) {
                specs.extend(&mode.targets);
            }
        }
    }
    specs
}

impl MTGEngine {
    /// Least and greatest number of targets of a slot.
    pub(crate) fn target_range(&self, spec: &TargetSpec, context: &Context) -> (usize, usize) {
        let mut max = usize::try_from(self.view().amount(&spec.max, context)).unwrap_or(0);
        if let Some(total) = &spec.divided {
            // Each target gets at least one (601.2d).
            max = max.min(usize::try_from(self.view().amount(total, context)).unwrap_or(0));
        }
        let min = if spec.exact { max } else { usize::from(spec.min).min(max) };
        (min, max)
    }

    /// Everything that a slot may target now.
    pub(crate) fn legal_targets(&self, spec: &TargetSpec, context: &Context) -> Entities {
        let mut found = Entities::new();
        if names_players(&spec.filter) {
            for player in self.state.turn_order() {
                if self.is_legal_target(spec, player.into(), context) {
                    found.push(player.into());
                }
            }
        }
        for id in self.state.zone_objects(spec.zone) {
            if self.is_legal_target(spec, id.into(), context) {
                found.push(id.into());
            }
        }
        found
    }

    /// Whether a target is legal for a slot (115.5: a spell cannot target itself).
    pub(crate) fn is_legal_target(&self, spec: &TargetSpec, target: Entity, context: &Context) -> bool {
        match target {
            Entity::Player(player) => {
                self.view().matches(&spec.filter, target, context) && self.can_target_player(player, context)
            }
            Entity::Object(id) => {
                let object = self.state.object(id);
                !object.is_gone()
                    && object.zone == spec.zone
                    && !(object.zone == Zone::Stack && id == context.source)
                    && self.view().object_matches(&spec.filter, id, context)
                    && self.can_target_object(id, context)
            }
        }
    }

    fn can_target_player(&self, player: PlayerId, context: &Context) -> bool {
        let view = self.view();
        !self.projection().rules.iter().any(|(who, rule, source)| {
            *who == player
                && match rule {
                    PlayerRule::Hexproof => context.controller != player,
                    PlayerRule::Shroud => true,
                    PlayerRule::Protection(filter) => {
                        let own = Context::new(*source, player);
                        view.object_matches(filter, context.source, &own)
                    }
                    _ => false,
                }
        })
    }

    fn can_target_object(&self, id: ObjectId, context: &Context) -> bool {
        if self.state.object(id).zone != Zone::Battlefield {
            return true;
        }
        let view = self.view();
        let own = view.characteristics(id);
        if own.has(Keyword::Shroud) || (own.has(Keyword::Hexproof) && own.controller != context.controller) {
            return false;
        }
        if own.has_class(AbilityClass::Protection) {
            if self.is_protected_from(id, context.source) {
                return false;
            }
            let hexproof = own.abilities.iter().any(|reference| match self.ability(*reference) {
                Some(Ability::KeywordAbility(keyword)) => match &**keyword {
                    KeywordAbility::HexproofFrom(filter) => {
                        own.controller != context.controller
                            && view.object_matches(filter, context.source, &Context::new(id, own.controller))
                    }
                    _ => false,
                },
                _ => false,
            });
            if hexproof {
                return false;
            }
        }
        !own.restrictions.iter().any(|reference| match find_restriction(&view, *reference) {
            Some((Restriction::CantBeTargeted(filter), inner)) => {
                view.object_matches(filter, context.source, &inner)
            }
            _ => false,
        })
    }

    /// Protection of a permanent from a source (702.16).
    pub(crate) fn is_protected_from(&self, id: ObjectId, source: ObjectId) -> bool {
        let view = self.view();
        let own = view.characteristics(id);
        if !own.has_class(AbilityClass::Protection) {
            return false;
        }
        own.abilities.iter().any(|reference| match self.ability(*reference) {
            Some(Ability::KeywordAbility(keyword)) => match &**keyword {
                KeywordAbility::Protection(filter) => {
                    view.object_matches(filter, source, &Context::new(id, own.controller))
                }
                _ => false,
            },
            _ => false,
        })
    }

    /// Whether damage of a source cannot be prevented (615.12).
    pub(crate) fn is_unpreventable(&self, source: ObjectId) -> bool {
        self.projection().rules.iter().any(|(_, rule, _)| *rule == PlayerRule::DamageCantBePrevented)
            || self.view().characteristics(source).has_rule(RuleFlag::DamageCantBePrevented)
            || self.restricts_itself(source, &Restriction::DamageCantBePrevented)
    }

    /// Damage that protection prevents (702.16e), or to what is not there any more.
    pub(crate) fn is_damage_prevented(&self, source: ObjectId, to: Entity) -> bool {
        match to {
            Entity::Object(id) if !self.state.is_on_battlefield(id) => true,
            _ if self.is_unpreventable(source) => false,
            Entity::Object(id) => self.is_protected_from(id, source),
            Entity::Player(player) => {
                let view = self.view();
                self.projection().rules.iter().any(|(who, rule, by)| match rule {
                    PlayerRule::Protection(filter) => {
                        *who == player && view.object_matches(filter, source, &Context::new(*by, player))
                    }
                    _ => false,
                })
            }
        }
    }

    /// What an Aura can be attached to (303.4).
    pub(crate) fn enchantable(&self, aura: ObjectId, player: PlayerId) -> Vec<Entity> {
        let objects = self.state.battlefield.iter().copied().map(Entity::Object);
        let players = PlayerId::BOTH.into_iter().map(Entity::Player);
        objects.chain(players).filter(|host| self.can_enchant(aura, *host, player)).collect()
    }

    /// Filter of the enchant ability of an Aura.
    pub(crate) fn enchant_filter(&self, aura: ObjectId) -> Option<&Filter> {
        let face = self.view().face(aura)?;
        face.face.abilities.iter().find_map(|ability| match ability {
            Ability::KeywordAbility(keyword) => match &**keyword {
                KeywordAbility::Enchant(filter) => Some(filter),
                _ => None,
            },
            _ => None,
        })
    }

    /// Whether an Aura may be attached to something.
    pub(crate) fn can_enchant(&self, aura: ObjectId, host: Entity, player: PlayerId) -> bool {
        let Some(filter) = self.enchant_filter(aura) else { return false };
        let context = Context::new(aura, player);
        let fits = self.view().matches(filter, host, &context) && host != Entity::Object(aura);
        match host {
            Entity::Player(_) => fits,
            Entity::Object(id) => {
                fits && self.state.exists(id)
                    && !self.view().characteristics(id).has_rule(RuleFlag::CantBeEnchanted)
                    && !self.is_protected_from(id, aura)
            }
        }
    }

    /// Whether an Equipment may be attached to a permanent (301.5).
    pub(crate) fn can_equip(&self, equipment: ObjectId, host: ObjectId) -> bool {
        let own = self.view().characteristics(host);
        self.state.is_on_battlefield(host)
            && own.is(CardType::Creature)
            && host != equipment
            && !own.has_rule(RuleFlag::CantBeEquipped)
            && !self.is_protected_from(host, equipment)
            && !self.view().characteristics(equipment).is(CardType::Creature)
    }

    /// Whether an object is an Aura or Equipment by subtype.
    pub(crate) fn has_subtype_named(&self, id: ObjectId, name: &str) -> bool {
        Subtype::find(name).is_some_and(|subtype| self.view().characteristics(id).has_subtype(subtype))
    }

    /// Checks announced targets (601.2c, 601.2d).
    pub(crate) fn check_targets(
        &self,
        specs: &[&TargetSpec],
        chosen: &[TargetChoice],
        context: &Context,
    ) -> Result<(), Refusal> {
        if chosen.len() > specs.len() {
            return Err(Refusal::new("601.2c", RefusalReason::TargetCount(specs.len())));
        }
        for (slot, spec) in specs.iter().enumerate() {
            let own = chosen.get(slot);
            let entities = own.map_or(&[][..], |choice| &choice.entities);
            let (min, max) = self.target_range(spec, context);
            if entities.len() < min {
                return Err(Refusal::new("601.2c", RefusalReason::NeedsTarget(slot)));
            }
            if entities.len() > max {
                return Err(Refusal::new("601.2c", RefusalReason::TargetCount(slot)));
            }
            for (position, target) in entities.iter().enumerate() {
                let repeated = entities.iter().take(position).any(|earlier| earlier == target);
                let taken = spec.distinct_from.iter().any(|other| {
                    chosen.get(usize::from(*other)).is_some_and(|choice| choice.entities.contains(target))
                });
                if repeated || taken || !self.is_legal_target(spec, *target, context) {
                    return Err(Refusal::new("115.1", RefusalReason::IllegalTarget(slot)));
                }
            }
            if let (Some(total), Some(choice)) = (&spec.divided, own)
                && !entities.is_empty()
            {
                let total = self.view().amount(total, context);
                let legal = choice.division.len() == entities.len()
                    && choice.division.iter().all(|part| *part >= 1)
                    && choice.division.iter().sum::<i32>() == total;
                if !legal {
                    return Err(Refusal::new("601.2d", RefusalReason::IllegalDivision(slot)));
                }
            }
        }
        Ok(())
    }

    /// Chooses modes for a trigger or copy; `None` if no mode is possible.
    pub(crate) fn choose_trigger_modes(&mut self, body: &Body, context: &Context) -> Flow<Option<Vec<u8>>> {
        let Some(modes) = &body.modes else { return Ok(Some(Vec::new())) };
        let possible: Vec<u8> = (0u8..)
            .zip(&modes.choices)
            .filter(|(_, mode)| {
                mode.targets
                    .iter()
                    .all(|spec| self.legal_targets(spec, context).len() >= self.target_range(spec, context).0)
            })
            .map(|(index, _)| index)
            .collect();
        if possible.len() < usize::from(modes.min) {
            return Ok(None);
        }
        let mut decision = Decision::new(context.controller, DecisionKind::TriggerModes)
            .source(context.source)
            .range(usize::from(modes.min), usize::from(modes.max).min(possible.len()));
        decision.options = possible.into_iter().map(Choosable::Index).collect();
        let chosen = self.choose_options(decision)?;
        let mut chosen: Vec<u8> = chosen
            .into_iter()
            .filter_map(|choice| if let Choosable::Index(index) = choice { Some(index) } else { None })
            .collect();
        chosen.sort_unstable();
        Ok(Some(chosen))
    }

    /// Chooses targets slot by slot; false if a needed target does not exist (603.3d).
    pub(crate) fn choose_trigger_targets(
        &mut self,
        specs: &[TargetSpec],
        context: &mut Context,
        kind: DecisionKind,
    ) -> Flow<bool> {
        for spec in specs {
            let mut legal = self.legal_targets(spec, context);
            for other in &spec.distinct_from {
                let taken: Entities = context
                    .targets
                    .get(usize::from(*other))
                    .map_or_else(Entities::new, |choice| choice.entities.iter().copied().collect());
                legal.retain(|entity| !taken.contains(entity));
            }
            let (min, max) = self.target_range(spec, context);
            if legal.len() < min {
                return Ok(false);
            }
            let max = max.min(legal.len());
            let decision = Decision::new(context.controller, kind)
                .source(context.source)
                .range(min, max)
                .entities(legal);
            let entities: SmallVec<[Entity; 1]> = self.choose_entities(decision)?.into_iter().collect();
            let division = self.choose_division(spec, &entities, context)?;
            context.targets.push(TargetChoice { entities, division });
        }
        Ok(true)
    }

    fn choose_division(
        &mut self,
        spec: &TargetSpec,
        entities: &[Entity],
        context: &Context,
    ) -> Flow<SmallVec<[i32; 1]>> {
        let Some(total) = &spec.divided else { return Ok(SmallVec::new()) };
        let total = self.view().amount(total, context);
        if let [_] = entities {
            return Ok(SmallVec::from_slice(&[total]));
        }
        if entities.is_empty() {
            return Ok(SmallVec::new());
        }
        let mut decision = Decision::new(context.controller, DecisionKind::Division)
            .source(context.source)
            .entities(entities.iter().copied());
        decision.total = total;
        decision.minimums = vec![1; entities.len()];
        match self.choose(decision)? {
            crate::decision::Answer::Division(parts) => Ok(parts.into_iter().collect()),
            _ => Ok(SmallVec::new()),
        }
    }
}
