//! How objects enter: copies, choices, counters (614.12, 707.9).

use super::{Candidate, CandidateKey, Settlement};
use crate::ability::{
    Ability, Change, ChoiceKind, Cost, CostPart, CounterKind, Filter, Replacement, ReplacementAction,
    ReplacementPattern, Restriction, Selector, Zone,
};
use crate::card::{CardFace, CardType, Color, Subtype, SubtypeKind};
use crate::casting::cost::mentions_this;
use crate::characteristics::AbilityClass;
use crate::context::Context;
use crate::decision::{Choosable, Decision, DecisionKind, OptionLabel};
use crate::engine::{Flow, MTGEngine};
use crate::event::{Event, MoveEvent};
use crate::ids::{AbilityRef, Entity, FaceId, ObjectId, PlayerId};
use crate::layers::project;
use crate::state::ObjectKind;

impl MTGEngine {
    /// Whether an object has no abilities of its own once it is on the battlefield: what takes them from
    /// permanents like it counts already (614.12).
    pub(super) fn loses_abilities_on_entry(&self, moving: &MoveEvent) -> bool {
        let takes = |id: &ObjectId| {
            self.view().characteristics(*id).abilities.iter().any(|reference| {
                let Some(Ability::Static(own)) = self.ability(*reference) else { return false };
                own.changes
                    .iter()
                    .any(|change| matches!(change, Change::LoseAllAbilities | Change::SetLandTypes(_)))
            })
        };
        if moving.to != Zone::Battlefield
            || !self.projection().has_class(AbilityClass::Static)
            || !self.state.battlefield.iter().any(takes)
        {
            return false;
        }
        let mut trial = self.state.clone();
        let timestamp = trial.next_timestamp();
        let Some(object) = trial.object_mut(moving.object) else { return false };
        object.zone = Zone::Battlefield;
        object.controller = moving.controller.unwrap_or(object.owner);
        object.copy_of = moving.copy_of.or(object.copy_of);
        object.timestamp = timestamp;
        trial.battlefield.push(moving.object);
        let projection = project(&trial);
        let own = projection.get(&trial, moving.object);
        own.is_some_and(|own| {
            !own.abilities.iter().any(|reference| matches!(reference, AbilityRef::Face(..)))
        })
    }

    /// What changes how an object enters.
    pub(super) fn apply_entry(
        &mut self,
        mut moving: MoveEvent,
        action: &ReplacementAction,
        candidate: &Candidate,
        settlement: &mut Settlement,
    ) -> Flow<Option<MoveEvent>> {
        let context = &candidate.context;
        let player = moving.controller.unwrap_or(self.state.object(moving.object).owner);
        match action {
            ReplacementAction::EnterTapped => moving.tapped = true,
            ReplacementAction::EnterWithKeyword(keyword) => moving.keywords.push(*keyword),
            ReplacementAction::EnterWithCounters { kind, amount } => {
                let amount = self.view().amount(amount, context);
                if amount > 0 {
                    moving.counters.push((*kind, amount));
                }
            }
            ReplacementAction::EnterUnder(selector) => {
                moving.controller = self.view().select_player(selector, context);
            }
            ReplacementAction::EnterAsCopy { of, except } => {
                self.choose_copy(&mut moving, of, except, candidate)?;
            }
            ReplacementAction::EnterChoosing(kind) => {
                let values = self.choose_value(player, kind, moving.object)?;
                moving.chosen.color = values.color.or(moving.chosen.color);
                moving.chosen.subtype = values.subtype.or(moving.chosen.subtype);
                moving.chosen.player = values.player.or(moving.chosen.player);
                moving.chosen.number += values.number;
            }
            ReplacementAction::EnterSacrificing { filter, kind, each } => {
                let able =
                    self.payable_objects(Zone::Battlefield, filter, &Context::new(moving.object, player));
                let most = able.len();
                let decision = Decision::new(player, DecisionKind::Sacrifice)
                    .source(moving.object)
                    .range(0, most)
                    .entities(able.into_iter().map(Entity::Object));
                let chosen = self.choose_objects(decision)?;
                let count = i32::try_from(chosen.len()).unwrap_or(0) * i32::from(*each);
                if count > 0 {
                    moving.counters.push((*kind, count));
                }
                settlement.sacrificed.extend(chosen);
            }
            ReplacementAction::EnterUnlessPaid { cost, action } => {
                let payable = self.can_pay_simple(player, cost, moving.object);
                let labels = [OptionLabel::Pay, OptionLabel::DoNotPay];
                if payable && self.choose_label(player, DecisionKind::PayCost, Some(moving.object), labels)? {
                    settlement.payments.push((player, cost.clone(), moving.object));
                } else {
                    return self.apply_entry(moving, action, candidate, settlement);
                }
            }
            ReplacementAction::Choice(actions) => {
                let mut decision = Decision::new(player, DecisionKind::ChooseOption).source(moving.object);
                decision.options = (0u8..).take(actions.len()).map(Choosable::Index).collect();
                let chosen = self.choose_options(decision)?;
                if let Some(Choosable::Index(index)) = chosen.first()
                    && let Some(action) = actions.get(usize::from(*index))
                {
                    return self.apply_entry(moving, action, candidate, settlement);
                }
            }
            ReplacementAction::Prevent(None) => return Ok(None),
            _ => {}
        }
        Ok(Some(moving))
    }

    /// Applies to tokens what changes how permanents enter, as if one of them entered (614.12).
    pub(super) fn replace_token_entry(
        &mut self,
        event: Event,
        settlement: &mut Settlement,
    ) -> Flow<Option<Event>> {
        let Event::Tokens { player, face, amount, model } = event else { return Ok(Some(event)) };
        let own = self.state.faces.get(face);
        let enters_plainly = own.is_none_or(|own| {
            let is_saga = Subtype::find("Saga").is_some_and(|saga| own.face.has_subtype(saga));
            !own.base.has_class(AbilityClass::Replacement) && own.face.loyalty.is_none() && !is_saga
        });
        if enters_plainly && !self.projection().has_class(AbilityClass::Replacement) {
            return Ok(Some(Event::Tokens { player, face, amount, model }));
        }
        // The token exists only while the effects look at it: nothing is changed before all is settled.
        let saved = self.state.objects.clone();
        let id = self.state.add_object(ObjectKind::Token, face, player, Zone::Command);
        let moving = MoveEvent { object: id, controller: Some(player), ..model };
        let replaced = self.replace_event(Event::Move(moving), settlement);
        self.state.objects = saved;
        match replaced? {
            Some(Event::Move(moving)) if moving.to == Zone::Battlefield => {
                let player = moving.controller.unwrap_or(player);
                let face = moving.copy_of.unwrap_or(face);
                Ok(Some(Event::Tokens { player, face, amount, model: moving }))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn choose_copy(
        &mut self,
        moving: &mut MoveEvent,
        of: &Selector,
        except: &[Change],
        candidate: &Candidate,
    ) -> Flow<()> {
        let player = moving.controller.unwrap_or(self.state.object(moving.object).owner);
        let options = self.view().select(of, &candidate.context);
        let least = usize::from(!candidate.replacement.optional);
        let decision =
            Decision::new(player, DecisionKind::Copy).source(moving.object).range(least, 1).entities(options);
        if let Some(chosen) = self.choose_objects(decision)?.first() {
            moving.copy_of = Some(self.copied_face(*chosen, except, &candidate.context));
        }
        Ok(())
    }

    /// What an Aura enters attached to; false if there is nothing (303.4g).
    pub(super) fn choose_host(
        &mut self,
        moving: &mut MoveEvent,
        player: PlayerId,
        hosts: Vec<Entity>,
    ) -> Flow<bool> {
        if hosts.is_empty() {
            return Ok(false);
        }
        let decision = Decision::new(player, DecisionKind::Choose).source(moving.object).entities(hosts);
        moving.attach = self.choose_entities(decision)?.first().copied();
        Ok(true)
    }

    /// What a permanent enters attached to that becomes a copy of an Aura as it enters (303.4f).
    pub(super) fn choose_host_of_copy(&mut self, moving: &mut MoveEvent) -> Flow<bool> {
        let copied = moving.copy_of.and_then(|face| self.state.faces.get(face));
        let is_aura = Subtype::find("Aura")
            .is_some_and(|aura| copied.is_some_and(|copied| copied.face.has_subtype(aura)));
        if !is_aura || moving.attach.is_some() {
            return Ok(true);
        }
        let player = moving.controller.unwrap_or(self.state.object(moving.object).owner);
        // The object is the copy only while its hosts are looked for: nothing else has happened yet.
        let saved = self.state.objects.clone();
        if let Some(object) = self.state.object_mut(moving.object) {
            object.copy_of = moving.copy_of;
        }
        let hosts = self.enchantable(moving.object, player);
        self.state.objects = saved;
        self.choose_host(moving, player, hosts)
    }

    /// A copy of a planeswalker or Saga enters with the counters of what it copies (707.5).
    pub(super) fn add_counters_of_copy(&self, moving: &mut MoveEvent) {
        let Some(copied) = moving.copy_of.and_then(|face| self.state.faces.get(face)) else { return };
        if let Some(loyalty) = copied.face.loyalty {
            moving.counters.push((CounterKind::Loyalty, i32::try_from(loyalty).unwrap_or(0)));
        }
        let has_lore = moving.counters.iter().any(|entry| entry.0 == CounterKind::Lore);
        if Subtype::find("Saga").is_some_and(|saga| copied.face.has_subtype(saga)) && !has_lore {
            moving.counters.push((CounterKind::Lore, 1));
        }
    }

    /// Face with the copiable values of an object, with exceptions (707.9).
    pub(crate) fn copied_face(&mut self, of: ObjectId, except: &[Change], context: &Context) -> FaceId {
        let face_id = self.view().face_id(of);
        if except.is_empty() {
            return face_id;
        }
        let Some(face) = self.state.faces.get(face_id) else { return face_id };
        let mut copy = face.face.clone();
        for change in except {
            self.except_change(&mut copy, change, context);
        }
        self.state.faces.intern(&copy)
    }

    pub(super) fn except_change(&self, copy: &mut CardFace, change: &Change, context: &Context) {
        match change {
            Change::SetPower(amount) => copy.power = Some(self.view().amount(amount, context)),
            Change::SetToughness(amount) => copy.toughness = Some(self.view().amount(amount, context)),
            Change::SetColors(colors) => copy.colors = *colors,
            Change::AddColors(colors) => copy.colors = copy.colors.union(*colors),
            Change::AddTypes(types) => types.iter().for_each(|card_type| copy.types.insert(*card_type)),
            Change::AddSubtypes(subtypes) => copy.subtypes.extend(subtypes.iter().copied()),
            Change::SetSubtypes(subtypes) => copy.subtypes = subtypes.clone(),
            Change::AddSupertype(supertype) => copy.supertypes.insert(*supertype),
            Change::RemoveSupertype(supertype) => copy.supertypes.remove(*supertype),
            Change::AddKeyword(keyword) => copy.abilities.push(Ability::Keyword(*keyword)),
            Change::AddAbility(ability) => copy.abilities.push((**ability).clone()),
            Change::SetName(name) => copy.name.clone_from(name),
            Change::NoManaCost => copy.mana_cost = None,
            Change::KeepThisAbility => {
                let resolving = self.state.stack.last().and_then(|item| item.ability);
                copy.abilities.extend(resolving.and_then(|reference| self.ability(reference)).cloned());
            }
            _ => {}
        }
    }

    /// Asks for a colour, type, player or number.
    pub(crate) fn choose_value(
        &mut self,
        player: PlayerId,
        kind: &ChoiceKind,
        source: ObjectId,
    ) -> Flow<crate::state::ChosenValues> {
        let (decision, options): (DecisionKind, Vec<Choosable>) = match kind {
            ChoiceKind::Color => {
                (DecisionKind::Color, Color::ALL.iter().copied().map(Choosable::Color).collect())
            }
            ChoiceKind::CreatureType => (
                DecisionKind::CreatureType,
                Subtype::all(SubtypeKind::Creature).map(Choosable::Subtype).collect(),
            ),
            ChoiceKind::BasicLandType => {
                let basic =
                    Subtype::all(SubtypeKind::Land).filter(|land| crate::faces::land_mana(*land).is_some());
                (DecisionKind::BasicLandType, basic.map(Choosable::Subtype).collect())
            }
            ChoiceKind::Player => (
                DecisionKind::Player,
                PlayerId::BOTH.iter().map(|id| Choosable::Entity((*id).into())).collect(),
            ),
            ChoiceKind::Opponent => (DecisionKind::Player, vec![Choosable::Entity(player.opponent().into())]),
            ChoiceKind::Number { min, max } => (
                DecisionKind::Number,
                (*min..=*max).map(|value| Choosable::Number(i32::from(value))).collect(),
            ),
            ChoiceKind::CardType => {
                let all = (0i32..).take(CardType::ALL.len()).map(Choosable::Number);
                (DecisionKind::Number, all.collect())
            }
            ChoiceKind::CardName => {
                let all = (0i32..).take(self.state.faces.len()).map(Choosable::Number);
                (DecisionKind::Number, all.collect())
            }
        };
        let mut asked = Decision::new(player, decision).source(source);
        asked.options = options;
        let mut values = crate::state::ChosenValues::default();
        match self.choose_options(asked)?.first() {
            Some(Choosable::Color(color)) => values.color = Some(*color),
            Some(Choosable::Subtype(subtype)) => values.subtype = Some(*subtype),
            Some(Choosable::Entity(Entity::Player(player))) => values.player = Some(*player),
            Some(Choosable::Number(number)) => values.number = *number,
            _ => {}
        }
        Ok(values)
    }

    /// Whether an object that is about to enter cannot have counters.
    pub(super) fn refuses_counters(&self, moving: &MoveEvent) -> bool {
        let face_id = moving.copy_of.unwrap_or_else(|| self.state.object(moving.object).shown_face());
        let refusal = Change::Restriction(Restriction::CantHaveCounters);
        let player = moving.controller.unwrap_or(self.state.object(moving.object).owner);
        // Abilities of other permanents affect it once it is there (614.12).
        let is_refused = |id: &ObjectId| {
            let context = self.context_of(*id);
            self.view().characteristics(*id).abilities.iter().any(|reference| {
                let Some(Ability::Static(own)) = self.ability(*reference) else { return false };
                let Selector::All { zone: Zone::Battlefield, filter } = &own.affected else { return false };
                own.changes.contains(&refusal)
                    && own.condition.as_ref().is_none_or(|holds| self.view().condition(holds, &context))
                    && self.will_match(filter, moving.object, player, &context)
            })
        };
        if self.projection().has_class(AbilityClass::Static) && self.state.battlefield.iter().any(is_refused)
        {
            return true;
        }
        self.state.faces.get(face_id).is_some_and(|face| {
            face.abilities.iter().any(|ability| match ability {
                Ability::Static(own) => own.affected == Selector::This && own.changes.contains(&refusal),
                _ => false,
            })
        })
    }

    /// The effect of a shield counter on what an event would destroy or damage (122.1c). Damage that
    /// cannot be prevented takes the counter all the same (615.12).
    pub(super) fn shield_counter(&self, event: &Event) -> Option<Candidate> {
        let (id, action) = match event {
            Event::Destroy { object, by_effect: true, .. } => (*object, ReplacementAction::Skip),
            Event::Damage { source, to: Entity::Object(id), .. } if self.is_unpreventable(*source) => {
                (*id, ReplacementAction::Also(Vec::new()))
            }
            Event::Damage { to: Entity::Object(id), .. } => (*id, ReplacementAction::Skip),
            _ => return None,
        };
        if self.state.object(id).counter(CounterKind::Shield) == 0 {
            return None;
        }
        let pattern = ReplacementPattern::Destroy { what: Filter::This };
        Some(Candidate {
            key: CandidateKey::Counter(id),
            context: self.context_of(id),
            replacement: Replacement { pattern, condition: None, action, optional: false, uses: None },
            left: None,
        })
    }

    /// Number of counters after effects like "twice that many", for counters with which it enters.
    pub(super) fn replaced_counters(
        &self,
        object: ObjectId,
        player: PlayerId,
        kind: CounterKind,
        amount: i32,
    ) -> i32 {
        let mut amount = amount;
        if !self.projection().has_class(AbilityClass::Replacement) {
            return amount;
        }
        for id in &self.state.battlefield {
            for reference in &self.view().characteristics(*id).abilities {
                let Some(Ability::Replacement(replacement)) = self.ability(*reference) else { continue };
                let ReplacementPattern::Counters { what, kind: wanted } = &replacement.pattern else {
                    continue;
                };
                // The permanent will be under its controller, so the filter is read as if it were there.
                let mut context = self.context_of(*id);
                context.iterated = Some(object.into());
                let own = self.view().controller(*id) == player;
                if wanted.is_some_and(|wanted| wanted != kind)
                    || !own
                    || !self.will_match(what, object, player, &context)
                {
                    continue;
                }
                match &replacement.action {
                    ReplacementAction::Skip => amount = 0,
                    ReplacementAction::Multiply(factor) => amount *= i32::from(*factor),
                    ReplacementAction::Add(more) => amount += self.view().amount(more, &context),
                    _ => {}
                }
            }
        }
        amount
    }

    /// Whether an object that is about to enter will match a filter under its controller.
    pub(super) fn will_match(
        &self,
        filter: &Filter,
        object: ObjectId,
        player: PlayerId,
        context: &Context,
    ) -> bool {
        match filter {
            Filter::All(parts) => parts.iter().all(|part| self.will_match(part, object, player, context)),
            Filter::AnyOf(parts) => parts.iter().any(|part| self.will_match(part, object, player, context)),
            Filter::Controller(selector) => {
                self.view().select(selector, context).contains(&Entity::Player(player))
            }
            Filter::Permanent => true,
            other => self.view().object_matches(other, object, context),
        }
    }

    /// Pays life, the only cost of entering other than mana.
    pub(super) fn pay_simple(&mut self, player: PlayerId, cost: &Cost, source: ObjectId) {
        let context = Context::new(source, player);
        let mut records = Vec::new();
        for part in &cost.parts {
            if let CostPart::PayLife(amount) = part {
                let amount = self.view().amount(amount, &context);
                self.commit_loss(player, amount, &mut records);
            }
        }
        if !cost.mana.is_empty() {
            self.pay_mana_automatically(player, &cost.mana, source);
        }
    }

    pub(super) fn can_pay_simple(&self, player: PlayerId, cost: &Cost, source: ObjectId) -> bool {
        let context = Context::new(source, player);
        let life = cost.parts.iter().all(|part| match part {
            CostPart::PayLife(amount) => self.payable_life(player) >= self.view().amount(amount, &context),
            CostPart::Reveal { filter, .. } => self
                .state
                .player(player)
                .hand
                .iter()
                .any(|card| self.view().object_matches(filter, *card, &context)),
            _ => false,
        });
        life && (cost.mana.is_empty() || self.can_pay_mana(player, &cost.mana, 0))
    }
}

/// Whether a replacement effect concerns its own object, and not one of many like it: only then does it
/// apply to how that object enters or moves (614.12).
pub(super) fn is_about_itself(ability: &Ability) -> bool {
    let Ability::Replacement(replacement) = ability else { return false };
    match &replacement.pattern {
        ReplacementPattern::Enters { what }
        | ReplacementPattern::ZoneChange { what, .. }
        | ReplacementPattern::Discard { what, .. } => mentions_this(what),
        _ => false,
    }
}
