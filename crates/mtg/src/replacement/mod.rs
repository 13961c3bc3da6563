//! Replacement and prevention effects (614 to 616).
//!
//! Each event of a batch is looked at in turn: as long as an effect applies that has not been applied
//! to it, one is applied; if the order matters, the affected player chooses. Nothing is changed until
//! the whole batch is settled, because a question in between runs the batch again.

mod entry;

use crate::ability::{
    Ability, Cost, CounterKind, Filter, Instruction, Keyword, PlayerRule, Replacement, ReplacementAction,
    ReplacementPattern, Zone,
};
use crate::card::{CardType, Subtype};
use crate::characteristics::AbilityClass;
use crate::context::{Context, EventKind, EventRecord};
use crate::decision::{Choosable, Decision, DecisionKind, OptionLabel};
use crate::engine::{Flow, MTGEngine};
use crate::event::{Event, MoveCause, MoveEvent};
use crate::ids::{AbilityRef, Entity, ObjectId, PlayerId};
use crate::task::{Frame, Operation};
use entry::is_about_itself;
use smallvec::SmallVec;

/// Effect that can apply to an event.
#[derive(Debug, Clone)]
struct Candidate {
    key: CandidateKey,
    context: Context,
    replacement: Replacement,
    left: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CandidateKey {
    Ability(ObjectId, AbilityRef),
    Shield(u32),
    /// Shield counter on a permanent (122.1c).
    Counter(ObjectId),
}

/// Changes of settling a batch other than its events.
#[derive(Debug, Default)]
struct Settlement {
    /// Amounts taken from shields.
    used: Vec<(u32, i32)>,
    frames: Vec<Frame>,
    payments: Vec<(PlayerId, Cost, ObjectId)>,
    sacrificed: Vec<ObjectId>,
    /// Permanents that lose a shield counter: one for all damage at the same time.
    shielded: Vec<ObjectId>,
}

impl MTGEngine {
    /// Applies replacement effects to events that happen together.
    pub(crate) fn replace_events(&mut self, events: Vec<Event>) -> Flow<Vec<Event>> {
        let mut settlement = Settlement::default();
        let mut settled = Vec::with_capacity(events.len());
        for event in events {
            let Some(event) = self.replace_event(event, &mut settlement)? else { continue };
            let Some(event) = self.replace_token_entry(event, &mut settlement)? else { continue };
            let results = self.damage_results(&event);
            settled.push(event);
            for result in results {
                settled.extend(self.replace_event(result, &mut settlement)?);
            }
        }
        for (number, amount) in settlement.used {
            if let Some(shield) = self.state.shields.iter_mut().find(|shield| shield.number == number)
                && let Some(left) = &mut shield.left
            {
                *left -= amount;
            }
        }
        self.state.shields.retain(|shield| shield.left.is_none_or(|left| left > 0));
        for (player, cost, source) in settlement.payments {
            self.pay_simple(player, &cost, source);
        }
        for id in settlement.shielded {
            self.remove_counters(id, Some(CounterKind::Shield), 1);
        }
        self.sacrifice_now(&settlement.sacrificed);
        for frame in settlement.frames {
            self.defer(frame);
        }
        Ok(settled)
    }

    /// Permanents that are sacrificed as another one enters.
    fn sacrifice_now(&mut self, permanents: &[ObjectId]) {
        if permanents.is_empty() {
            return;
        }
        let before = self.shared_projection();
        let mut records = Vec::new();
        for id in permanents {
            let moving = MoveEvent::new(*id, Zone::Graveyard).cause(MoveCause::Sacrifice);
            self.commit_move(&moving, &mut records);
        }
        self.collect_triggers(&before, &records);
    }

    /// Counters and life that damage results in, which effects can replace in turn (120.4b).
    fn damage_results(&self, event: &Event) -> SmallVec<[Event; 2]> {
        let mut results = SmallVec::new();
        let Event::Damage { source, to, amount, combat } = *event else { return results };
        let own = self.view().characteristics(source);
        let poisons = own.has(Keyword::Infect);
        match to {
            Entity::Player(player) => {
                let poisons = poisons || self.has_rule(player, |rule| *rule == PlayerRule::DamageAsInfect);
                let toxic = if combat { self.toxic(source) } else { 0 };
                let amount = toxic + if poisons { amount } else { 0 };
                if amount > 0 {
                    results.push(Event::Counters { on: to, kind: CounterKind::Poison, amount });
                }
            }
            Entity::Object(id) => {
                let withers = poisons || own.has(Keyword::Wither);
                if withers && self.view().characteristics(id).is_creature() {
                    results.push(Event::Counters { on: to, kind: CounterKind::MinusOne, amount });
                }
            }
        }
        if own.has(Keyword::Lifelink) {
            results.push(Event::GainLife { player: self.view().controller(source), amount });
        }
        results
    }

    fn replace_event(&mut self, event: Event, settlement: &mut Settlement) -> Flow<Option<Event>> {
        let Some(mut event) = self.prepare_event(event)? else { return Ok(None) };
        let mut applied: SmallVec<[CandidateKey; 4]> = SmallVec::new();
        loop {
            let candidates = self.candidates(&event, &applied, settlement);
            let Some(chosen) = self.choose_candidate(&event, candidates)? else { break };
            applied.push(chosen.key);
            if chosen.replacement.optional && !self.accept_replacement(&event, &chosen)? {
                continue;
            }
            let action = chosen.replacement.action.clone();
            match self.apply_action(event, &action, &chosen, settlement)? {
                Some(next) => event = next,
                None => return Ok(None),
            }
        }
        match event {
            // A destruction that nothing replaced is a move, which can be replaced in turn.
            Event::Destroy { object, .. } => {
                let moving = MoveEvent::new(object, Zone::Graveyard).cause(MoveCause::Destroy);
                self.replace_event(Event::Move(moving), settlement)
            }
            Event::Move(mut moving) if moving.to == Zone::Battlefield => {
                if !self.choose_host_of_copy(&mut moving)? {
                    return Ok(None);
                }
                self.add_counters_of_copy(&mut moving);
                let controller = moving.controller.unwrap_or(self.state.object(moving.object).owner);
                for entry in &mut moving.counters {
                    entry.1 = self.replaced_counters(moving.object, controller, entry.0, entry.1);
                }
                if self.refuses_counters(&moving) {
                    moving.counters.clear();
                }
                moving.counters.retain(|entry| entry.1 > 0);
                Ok(Some(Event::Move(moving)))
            }
            // What the damage was redirected to may be protected from its source.
            Event::Damage { source, to, .. } if self.is_damage_prevented(source, to) => Ok(None),
            other => Ok(Some(other)),
        }
    }

    /// Whether damage can be dealt to something (120.1).
    fn can_be_damaged(&self, to: Entity) -> bool {
        let Entity::Object(id) = to else { return true };
        let types = self.view().characteristics(id).types;
        let damageable = [CardType::Creature, CardType::Planeswalker, CardType::Battle];
        self.state.is_on_battlefield(id) && damageable.into_iter().any(|own| types.contains(own))
    }

    /// Rules that hold before replacement effects: what cannot happen, what an object enters with.
    fn prepare_event(&mut self, event: Event) -> Flow<Option<Event>> {
        match event {
            Event::Destroy { object, .. } => {
                let own = self.view().characteristics(object);
                let safe = own.has(crate::ability::Keyword::Indestructible);
                Ok((!safe && self.state.is_on_battlefield(object)).then_some(event))
            }
            Event::Damage { source, to, amount, .. } => {
                if amount <= 0 || self.is_damage_prevented(source, to) {
                    return Ok(None);
                }
                Ok(Some(event))
            }
            Event::Move(mut moving) => {
                if !self.state.exists(moving.object) {
                    return Ok(None);
                }
                if moving.to == Zone::Battlefield && !self.prepare_entry(&mut moving)? {
                    return Ok(None);
                }
                Ok(Some(Event::Move(moving)))
            }
            Event::Counters { on: Entity::Object(id), .. }
                if !self.state.is_on_battlefield(id)
                    || self
                        .view()
                        .characteristics(id)
                        .has_rule(crate::characteristics::RuleFlag::CantHaveCounters) =>
            {
                Ok(None)
            }
            Event::Tokens { amount, .. } if amount <= 0 => Ok(None),
            other => Ok(Some(other)),
        }
    }

    /// Loyalty, and the object that an Aura enters attached to (303.4f).
    fn prepare_entry(&mut self, moving: &mut MoveEvent) -> Flow<bool> {
        let face_id = moving.copy_of.unwrap_or_else(|| self.state.object(moving.object).shown_face());
        let Some(face) = self.state.faces.get(face_id) else { return Ok(false) };
        if !face.face.is_permanent_card() {
            return Ok(false);
        }
        if let Some(loyalty) = face.face.loyalty
            && moving.copy_of.is_none()
        {
            moving.counters.push((CounterKind::Loyalty, i32::try_from(loyalty).unwrap_or(0)));
        }
        // A Saga enters with a lore counter (714.3a).
        if Subtype::find("Saga").is_some_and(|saga| face.face.has_subtype(saga)) {
            moving.counters.push((CounterKind::Lore, 1));
        }
        let aura = Subtype::find("Aura").is_some_and(|aura| face.face.has_subtype(aura));
        if aura && moving.attach.is_none() {
            let player = moving.controller.unwrap_or(self.state.object(moving.object).owner);
            let hosts = self.enchantable(moving.object, player);
            return self.choose_host(moving, player, hosts);
        }
        Ok(true)
    }

    fn candidates(&self, event: &Event, applied: &[CandidateKey], settlement: &Settlement) -> Vec<Candidate> {
        let mut found = Vec::new();
        let record = self.record_of(event);
        let mut sources: SmallVec<[ObjectId; 8]> = SmallVec::new();
        if self.projection().has_class(AbilityClass::Replacement) {
            let permanents = self.state.battlefield.iter().copied();
            sources.extend(
                permanents.filter(|id| self.view().characteristics(*id).has_class(AbilityClass::Replacement)),
            );
        }
        sources.extend(self.state.command.iter().copied());
        for id in sources {
            for reference in &self.view().characteristics(id).abilities {
                self.consider(id, *reference, event, &record, applied, &mut found);
            }
        }
        // The object's own replacement effects work where it comes from (614.12).
        if let Event::Move(moving) = event
            && !self.state.is_on_battlefield(moving.object)
        {
            let face_id = moving.copy_of.unwrap_or_else(|| self.state.object(moving.object).shown_face());
            if let Some(face) = self.state.faces.get(face_id)
                && face.base.has_class(AbilityClass::Replacement)
                && !self.loses_abilities_on_entry(moving)
            {
                for (index, _) in (0u8..).zip(&face.abilities).filter(|(_, ability)| is_about_itself(ability))
                {
                    self.consider(
                        moving.object,
                        AbilityRef::Face(face_id, index),
                        event,
                        &record,
                        applied,
                        &mut found,
                    );
                }
            }
        }
        for shield in &self.state.shields {
            let key = CandidateKey::Shield(shield.number);
            let used: i32 =
                settlement.used.iter().filter(|used| used.0 == shield.number).map(|used| used.1).sum();
            let left = shield.left.map(|left| left - used);
            if applied.contains(&key) || left.is_some_and(|left| left <= 0) {
                continue;
            }
            let mut context = shield.context.clone();
            context.event = Some(Box::new(record.clone()));
            if self.replacement_matches(&shield.replacement, event, &context) {
                found.push(Candidate { key, context, replacement: (*shield.replacement).clone(), left });
            }
        }
        found.extend(self.shield_counter(event).filter(|counter| !applied.contains(&counter.key)));
        found
    }

    fn consider(
        &self,
        id: ObjectId,
        reference: AbilityRef,
        event: &Event,
        record: &EventRecord,
        applied: &[CandidateKey],
        found: &mut Vec<Candidate>,
    ) {
        let Some(Ability::Replacement(replacement)) = self.ability(reference) else { return };
        let key = CandidateKey::Ability(id, reference);
        if applied.contains(&key) {
            return;
        }
        let mut context = Context::new(id, self.view().controller(id));
        if let Event::Move(moving) = event
            && moving.object == id
            && let Some(controller) = moving.controller
        {
            context.controller = controller;
        }
        context.event = Some(Box::new(record.clone()));
        if self.replacement_matches(replacement, event, &context) {
            found.push(Candidate { key, context, replacement: (**replacement).clone(), left: None });
        }
    }

    fn replacement_matches(&self, replacement: &Replacement, event: &Event, context: &Context) -> bool {
        let view = self.view();
        let player =
            |filter: &Filter, player: PlayerId| view.matches(filter, Entity::Player(player), context);
        let object = |filter: &Filter, id: ObjectId| view.object_matches(filter, id, context);
        let fits = match (&replacement.pattern, event) {
            (ReplacementPattern::Enters { what }, Event::Move(moving)) => {
                let controller = moving.controller.unwrap_or(self.state.object(moving.object).owner);
                moving.to == Zone::Battlefield && self.will_match(what, moving.object, controller, context)
            }
            (ReplacementPattern::ZoneChange { what, from, to }, Event::Move(moving)) => {
                let zone = self.state.object(moving.object).zone;
                from.is_none_or(|from| from == zone)
                    && to.is_none_or(|to| to == moving.to)
                    && moving.to != zone
                    && object(what, moving.object)
            }
            (
                ReplacementPattern::Damage { source, to, combat },
                Event::Damage { source: by, to: hurt, combat: is_combat, .. },
            ) => {
                combat.is_none_or(|combat| combat == *is_combat)
                    && !(is_prevention(&replacement.action) && self.is_unpreventable(*by))
                    && object(source, *by)
                    && (*to == Filter::Any || view.matches(to, *hurt, context))
            }
            (ReplacementPattern::Draw { who }, Event::Draw { player: drawing, .. }) => player(who, *drawing),
            (ReplacementPattern::GainLife { who }, Event::GainLife { player: gaining, .. }) => {
                player(who, *gaining)
            }
            (ReplacementPattern::LoseLife { who }, Event::LoseLife { player: losing, .. }) => {
                player(who, *losing)
            }
            (ReplacementPattern::Counters { what, kind }, Event::Counters { on, kind: put, .. }) => {
                kind.is_none_or(|kind| kind == *put) && view.matches(what, *on, context)
            }
            (ReplacementPattern::Tokens { who }, Event::Tokens { player: creating, .. }) => {
                player(who, *creating)
            }
            (ReplacementPattern::Destroy { what }, Event::Destroy { object: id, regenerate, .. }) => {
                let shield = matches!(replacement.action, ReplacementAction::Regenerate);
                let barred =
                    view.characteristics(*id).has_rule(crate::characteristics::RuleFlag::CantBeRegenerated);
                (!shield || (*regenerate && !barred)) && object(what, *id)
            }
            (ReplacementPattern::Discard { who, what }, Event::Move(moving)) => {
                matches!(moving.cause, MoveCause::Discard | MoveCause::Cycle)
                    && player(who, self.state.object(moving.object).owner)
                    && object(what, moving.object)
            }
            (ReplacementPattern::Untap { what }, Event::Untap { object: id }) => object(what, *id),
            _ => false,
        };
        fits && replacement.condition.as_ref().is_none_or(|condition| view.condition(condition, context))
    }

    /// The event as abilities refer to it.
    fn record_of(&self, event: &Event) -> EventRecord {
        match event {
            Event::Move(moving) => {
                let mut record = EventRecord::new(EventKind::ZoneChange).subject(moving.object);
                record.player = Some(self.view().controller(moving.object));
                record.to = Some(moving.to);
                record
            }
            Event::Damage { source, to, amount, combat } => {
                let mut record =
                    EventRecord::new(EventKind::Damage).subject(*to).other(*source).amount(*amount);
                record.combat = *combat;
                record.player = Some(self.affected_player(event));
                record
            }
            Event::GainLife { player, amount } | Event::LoseLife { player, amount } => {
                EventRecord::new(EventKind::LifeGained).subject(*player).player(*player).amount(*amount)
            }
            Event::Draw { player, amount } => {
                EventRecord::new(EventKind::Draw).player(*player).amount(*amount)
            }
            Event::Counters { on, amount, .. } => {
                EventRecord::new(EventKind::Counters).subject(*on).amount(*amount)
            }
            Event::Tokens { player, amount, .. } => {
                EventRecord::new(EventKind::TokenCreated).player(*player).amount(*amount)
            }
            Event::Destroy { object, .. }
            | Event::Regenerate { object }
            | Event::Tap { object }
            | Event::Untap { object } => EventRecord::new(EventKind::Untapped).subject(*object),
        }
    }

    /// Player who chooses between effects (616.1).
    fn affected_player(&self, event: &Event) -> PlayerId {
        let of = |entity: Entity| match entity {
            Entity::Player(player) => player,
            Entity::Object(id) => self.view().controller(id),
        };
        match event {
            Event::Move(moving) => of(moving.object.into()),
            Event::Damage { to, .. } => of(*to),
            Event::Counters { on, .. } => of(*on),
            Event::Draw { player, .. }
            | Event::GainLife { player, .. }
            | Event::LoseLife { player, .. }
            | Event::Tokens { player, .. } => *player,
            Event::Destroy { object, .. }
            | Event::Regenerate { object }
            | Event::Tap { object }
            | Event::Untap { object } => of((*object).into()),
        }
    }

    fn choose_candidate(&mut self, event: &Event, mut candidates: Vec<Candidate>) -> Flow<Option<Candidate>> {
        // Copies are applied before other effects of entering (616.1c).
        let copy = candidates.iter().position(|candidate| {
            matches!(candidate.replacement.action, ReplacementAction::EnterAsCopy { .. })
        });
        if let Some(position) = copy {
            return Ok(Some(candidates.swap_remove(position)));
        }
        let first = candidates.first().map(|candidate| candidate.replacement.action.clone());
        let same = candidates.iter().all(|candidate| {
            Some(&candidate.replacement.action) == first.as_ref() || is_entry(&candidate.replacement.action)
        });
        if candidates.len() < 2 || same {
            return Ok((!candidates.is_empty()).then(|| candidates.remove(0)));
        }
        let mut decision = Decision::new(self.affected_player(event), DecisionKind::ReplacementOrder);
        decision.options = (0u8..).take(candidates.len()).map(Choosable::Index).collect();
        decision.subjects = candidates.iter().map(|candidate| candidate.context.source).collect();
        let chosen = self.choose_options(decision)?;
        let position = match chosen.first() {
            Some(Choosable::Index(index)) => usize::from(*index),
            _ => 0,
        };
        Ok((position < candidates.len()).then(|| candidates.swap_remove(position)))
    }

    fn accept_replacement(&mut self, event: &Event, candidate: &Candidate) -> Flow<bool> {
        if matches!(candidate.replacement.action, ReplacementAction::EnterAsCopy { .. }) {
            // Choosing nothing to copy declines.
            return Ok(true);
        }
        let labels = [OptionLabel::Accept, OptionLabel::Decline];
        let player = self.affected_player(event);
        self.choose_label(player, DecisionKind::May, Some(candidate.context.source), labels)
    }

    fn apply_action(
        &mut self,
        event: Event,
        action: &ReplacementAction,
        candidate: &Candidate,
        settlement: &mut Settlement,
    ) -> Flow<Option<Event>> {
        if let CandidateKey::Shield(number) = candidate.key
            && candidate.left.is_some()
            && !matches!(action, ReplacementAction::PreventNext(_))
        {
            settlement.used.push((number, 1));
        }
        if let CandidateKey::Counter(id) = candidate.key
            && !settlement.shielded.contains(&id)
        {
            settlement.shielded.push(id);
        }
        let context = &candidate.context;
        Ok(match (action, event) {
            (ReplacementAction::Several(actions), mut event) => {
                for action in actions {
                    match self.apply_action(event, action, candidate, settlement)? {
                        Some(next) => event = next,
                        None => return Ok(None),
                    }
                }
                Some(event)
            }
            (ReplacementAction::MoveTo(to), Event::Move(mut moving)) => {
                moving.to = to.zone;
                moving.position = to.position;
                if matches!(moving.cause, MoveCause::Destroy) {
                    moving.cause = MoveCause::Other;
                }
                Some(Event::Move(moving))
            }
            (ReplacementAction::Regenerate, Event::Destroy { object, .. }) => {
                Some(Event::Regenerate { object })
            }
            (ReplacementAction::Skip, _) => None,
            (ReplacementAction::Instead(instructions), _) => {
                settlement.frames.push(frame(context, instructions));
                None
            }
            (ReplacementAction::Also(instructions), event) => {
                settlement.frames.push(frame(context, instructions));
                Some(event)
            }
            (ReplacementAction::RedirectDamage(to), Event::Damage { source, to: old, amount, combat }) => {
                let to = self.view().select(to, context).first().copied();
                // Damage is not redirected to what cannot be dealt damage (614.9).
                let to = to.filter(|to| self.can_be_damaged(*to)).unwrap_or(old);
                Some(Event::Damage { source, to, amount, combat })
            }
            (ReplacementAction::PreventNext(_), Event::Damage { source, to, amount, combat }) => {
                let prevented = candidate.left.unwrap_or(0).min(amount);
                if let CandidateKey::Shield(number) = candidate.key {
                    settlement.used.push((number, prevented));
                }
                let amount = amount - prevented;
                (amount > 0).then_some(Event::Damage { source, to, amount, combat })
            }
            (_, Event::Move(moving)) => {
                self.apply_entry(moving, action, candidate, settlement)?.map(Event::Move)
            }
            (_, event) => self.apply_arithmetic(event, action, context),
        })
    }

    fn apply_arithmetic(
        &self,
        mut event: Event,
        action: &ReplacementAction,
        context: &Context,
    ) -> Option<Event> {
        let view = self.view();
        let (Event::Damage { amount: value, .. }
        | Event::GainLife { amount: value, .. }
        | Event::LoseLife { amount: value, .. }
        | Event::Counters { amount: value, .. }
        | Event::Draw { amount: value, .. }
        | Event::Tokens { amount: value, .. }) = &mut event
        else {
            return Some(event);
        };
        match action {
            ReplacementAction::Prevent(None) => *value = 0,
            ReplacementAction::Prevent(Some(less)) => *value -= view.amount(less, context),
            ReplacementAction::Multiply(factor) => *value = value.saturating_mul(i32::from(*factor)),
            ReplacementAction::Add(more) => *value += view.amount(more, context),
            ReplacementAction::SetAmount(amount) => *value = view.amount(amount, context),
            ReplacementAction::ReduceTo(amount) => *value = (*value).min(view.amount(amount, context)),
            _ => {}
        }
        (*value > 0).then_some(event)
    }
}

/// Whether an action only prevents damage; one that does more still applies (615.12).
fn is_prevention(action: &ReplacementAction) -> bool {
    matches!(action, ReplacementAction::Prevent(_) | ReplacementAction::PreventNext(_))
}

fn is_entry(action: &ReplacementAction) -> bool {
    matches!(
        action,
        ReplacementAction::EnterTapped
            | ReplacementAction::EnterWithCounters { .. }
            | ReplacementAction::EnterChoosing(_)
            | ReplacementAction::EnterWithKeyword(_)
            | ReplacementAction::EnterSacrificing { .. }
            | ReplacementAction::EnterUnlessPaid { .. }
            | ReplacementAction::Choice(_)
    )
}

fn frame(context: &Context, instructions: &[Instruction]) -> Frame {
    Frame {
        context: context.clone(),
        queue: instructions.iter().rev().cloned().map(Box::new).map(Operation::Run).collect(),
    }
}
