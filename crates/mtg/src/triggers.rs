//! Triggered abilities: what triggers, in which order, with which targets (603).

use crate::ability::{Ability, CounterKind, EventPattern, Filter, PlayerRule, TriggeredAbility, Zone};
use crate::context::{Context, EventKind, EventRecord};
use crate::decision::{Choosable, Decision, DecisionKind};
use crate::engine::{Flow, MTGEngine};
use crate::ids::{AbilityRef, Entity, ObjectId, PlayerId};
use crate::layers::Projection;
use crate::state::{PendingTrigger, StackItem};
use crate::task::Task;
use smallvec::SmallVec;

/// Whether an object enters the battlefield.
fn is_entry(record: &EventRecord) -> bool {
    record.kind == EventKind::ZoneChange && record.to == Some(Zone::Battlefield)
}

impl MTGEngine {
    /// Lets abilities trigger on events that happened together.
    pub(crate) fn collect_triggers(&mut self, before: &Projection, records: &[EventRecord]) {
        let silenced = self.silence_entries(records);
        let records = silenced.as_deref().unwrap_or(records);
        let bits = records.iter().fold(0, |bits, record| bits | record.kind.bit());
        let mut found: Vec<PendingTrigger> = Vec::new();
        let after = self.shared_projection();
        if (before.triggers | after.triggers) & bits != 0 {
            let mut sources: SmallVec<[ObjectId; 32]> = self.state.battlefield.iter().copied().collect();
            let left = before.ids().iter().filter(|id| !self.state.is_on_battlefield(**id));
            sources.extend(left.copied());
            for id in sources {
                self.collect_from(id, before, records, bits, &mut found);
            }
        }
        for id in self.state.command.clone() {
            self.collect_from(id, before, records, bits, &mut found);
        }
        self.collect_elsewhere(records, bits, &mut found);
        self.collect_delayed(records, &mut found);
        self.repeat_entries(&mut found);
        self.state.triggers.extend(found);
    }

    /// The events without creatures that enter, if those cause no ability to trigger.
    fn silence_entries(&self, records: &[EventRecord]) -> Option<Vec<EventRecord>> {
        let is_silenced =
            self.projection().rules.iter().any(|(_, rule, _)| *rule == PlayerRule::NoEnterTriggers);
        if !is_silenced {
            return None;
        }
        let is_heard = |record: &&EventRecord| {
            !is_entry(record)
                || !record
                    .subject
                    .and_then(Entity::object)
                    .is_some_and(|id| self.view().characteristics(id).is_creature())
        };
        Some(records.iter().filter(is_heard).cloned().collect())
    }

    /// Abilities that trigger an additional time because of what enters.
    fn repeat_entries(&self, found: &mut Vec<PendingTrigger>) {
        let rules = &self.projection().rules;
        for (player, rule, source) in rules {
            let PlayerRule::ExtraEnterTriggers(filter) = rule else { continue };
            let context = Context::new(*source, *player);
            let is_repeated = |trigger: &&PendingTrigger| {
                is_entry(&trigger.event)
                    && trigger.controller == *player
                    && trigger.context.is_none()
                    && self.state.is_on_battlefield(trigger.source)
                    && trigger.event.subject.is_some_and(|it| self.view().matches(filter, it, &context))
            };
            let more: Vec<PendingTrigger> = found.iter().filter(is_repeated).cloned().collect();
            found.extend(more);
        }
    }

    fn collect_from(
        &mut self,
        id: ObjectId,
        before: &Projection,
        records: &[EventRecord],
        bits: u64,
        found: &mut Vec<PendingTrigger>,
    ) {
        let own = self.view().characteristics(id);
        if own.triggers & bits == 0 {
            return;
        }
        for reference in own.abilities.clone() {
            let Some(Ability::Triggered(ability)) = self.ability(reference) else { continue };
            // Triggered mana abilities do not use the stack (605.4a); see `mana`.
            if ability.zone.is_some_and(|zone| zone != Zone::Battlefield) || ability.is_mana_ability() {
                continue;
            }
            let present = self.state.is_on_battlefield(id) || self.state.object(id).zone == Zone::Command;
            let was_present = before.ids().contains(&id);
            let mut matching: Vec<PendingTrigger> = Vec::new();
            for record in records {
                let looks_back = record.from == Some(Zone::Battlefield)
                    || matches!(record.kind, EventKind::Sacrifice | EventKind::LastCounter);
                // Leaving is seen by what was there before, everything else by what is there after
                // (603.6, 603.10a); an emblem is always there.
                let sees = if looks_back {
                    was_present || self.state.object(id).zone == Zone::Command
                } else {
                    present || (was_present && record.kind == EventKind::Damage)
                };
                if sees && self.triggers_on(ability, record, id) {
                    matching.push(self.pending(reference, id, record));
                }
            }
            if ability.batch {
                matching.truncate(1);
            }
            self.limit_uses(id, reference, &mut matching);
            found.extend(matching);
        }
    }

    /// "Triggers only once each turn".
    fn limit_uses(&mut self, id: ObjectId, reference: AbilityRef, matching: &mut Vec<PendingTrigger>) {
        let Some(Ability::Triggered(ability)) = self.ability(reference) else { return };
        let Some(limit) = ability.per_turn else { return };
        let used =
            self.state.object(id).uses.iter().find(|used| used.0 == reference).map_or(0, |used| used.1);
        matching.truncate(usize::from(limit.saturating_sub(used)));
        let count = u8::try_from(matching.len()).unwrap_or(u8::MAX);
        self.note_use(id, reference, count);
    }

    pub(crate) fn note_use(&mut self, id: ObjectId, reference: AbilityRef, count: u8) {
        let Some(object) = self.state.object_mut(id) else { return };
        if let Some(entry) = object.uses.iter_mut().find(|used| used.0 == reference) {
            entry.1 = entry.1.saturating_add(count);
        } else if count > 0 {
            object.uses.push((reference, count));
        }
    }

    fn pending(&self, ability: AbilityRef, source: ObjectId, record: &EventRecord) -> PendingTrigger {
        let controller = self.view().controller(source);
        PendingTrigger { ability, source, controller, event: record.clone(), context: None }
    }

    /// Abilities that trigger from other zones: of the spell being cast, of the discarded card, of
    /// cards whose ability says so.
    fn collect_elsewhere(&self, records: &[EventRecord], bits: u64, found: &mut Vec<PendingTrigger>) {
        for record in records {
            let own = match record.kind {
                EventKind::Cast | EventKind::Discard | EventKind::Cycle => record.subject,
                EventKind::ZoneChange if record.from != Some(Zone::Battlefield) => {
                    record.became.map(Entity::Object)
                }
                _ => None,
            };
            let Some(Entity::Object(id)) = own else { continue };
            if self.state.is_on_battlefield(id) {
                continue;
            }
            self.collect_zone(id, std::slice::from_ref(record), false, found);
        }
        let [first, second] = &self.state.players;
        let zones = [&first.graveyard, &second.graveyard, &first.hand, &second.hand, &self.state.exile];
        for id in zones.into_iter().flatten() {
            let face = self.state.faces.get(self.state.object(*id).shown_face());
            let is_possible = face.is_some_and(|face| face.zone_triggers & bits != 0);
            if is_possible && self.view().characteristics(*id).triggers & bits != 0 {
                self.collect_zone(*id, records, true, found);
            }
        }
    }

    fn collect_zone(
        &self,
        id: ObjectId,
        records: &[EventRecord],
        zoned: bool,
        found: &mut Vec<PendingTrigger>,
    ) {
        let zone = self.state.object(id).zone;
        for reference in &self.view().characteristics(id).abilities {
            let Some(Ability::Triggered(ability)) = self.ability(*reference) else { continue };
            // With a zone, it triggers there; without one, only the events of the card itself count.
            let fits = if zoned { ability.zone == Some(zone) } else { ability.zone != Some(zone) };
            if !fits {
                continue;
            }
            for record in records {
                let moved_itself = record.kind == EventKind::ZoneChange && !zoned;
                if !moved_itself && self.triggers_on(ability, record, id) {
                    found.push(self.pending(*reference, id, record));
                }
            }
        }
    }

    fn collect_delayed(&mut self, records: &[EventRecord], found: &mut Vec<PendingTrigger>) {
        if self.state.delayed.is_empty() {
            return;
        }
        let mut spent: SmallVec<[usize; 2]> = SmallVec::new();
        for (position, delayed) in self.state.delayed.iter().enumerate() {
            let Some(Ability::Triggered(ability)) = self.ability(delayed.ability) else { continue };
            for record in records {
                if !self.pattern_fits(ability, record, &delayed.context) {
                    continue;
                }
                found.push(PendingTrigger {
                    ability: delayed.ability,
                    source: delayed.context.source,
                    controller: delayed.context.controller,
                    event: record.clone(),
                    context: Some(Box::new(delayed.context.clone())),
                });
                if delayed.once {
                    spent.push(position);
                    break;
                }
            }
        }
        for position in spent.into_iter().rev() {
            self.state.delayed.remove(position);
        }
    }

    fn triggers_on(&self, ability: &TriggeredAbility, record: &EventRecord, source: ObjectId) -> bool {
        let context = Context::new(source, self.view().controller(source));
        self.pattern_fits(ability, record, &context)
    }

    fn pattern_fits(&self, ability: &TriggeredAbility, record: &EventRecord, context: &Context) -> bool {
        if !ability.events.iter().any(|pattern| self.pattern_matches(pattern, record, context)) {
            return false;
        }
        let Some(condition) = &ability.condition else { return true };
        let mut context = context.clone();
        context.event = Some(Box::new(record.clone()));
        self.view().condition(condition, &context)
    }

    /// Whether an event matches a pattern, seen from a source.
    pub(crate) fn pattern_matches(
        &self,
        pattern: &EventPattern,
        record: &EventRecord,
        context: &Context,
    ) -> bool {
        let view = self.view();
        let subject = |filter: &Filter| record.subject.is_some_and(|it| view.matches(filter, it, context));
        let other = |filter: &Filter| record.other.is_some_and(|it| view.matches(filter, it, context));
        let player = |filter: &Filter| {
            record.player.is_some_and(|player| view.matches(filter, Entity::Player(player), context))
        };
        let any_subject = |filter: &Filter| *filter == Filter::Any || subject(filter);
        match (pattern, record.kind) {
            (EventPattern::ZoneChange { what, from, to }, EventKind::ZoneChange) => {
                from.is_none_or(|from| record.from == Some(from))
                    && to.is_none_or(|to| record.to == Some(to))
                    && (to.is_some() || record.from != record.to)
                    && (subject(what) || self.is_same_card(what, record, context))
            }
            (EventPattern::Damage { source, to, combat }, EventKind::Damage) => {
                combat.is_none_or(|combat| combat == record.combat) && other(source) && any_subject(to)
            }
            (EventPattern::Attacks { what, defender, alone }, EventKind::Attack) => {
                let single = self.state.combat.attackers.len() == 1;
                subject(what)
                    && (!alone || single)
                    && defender.as_ref().is_none_or(|filter| other(filter) || player(filter))
            }
            (EventPattern::AttacksWith { who, what, at_least }, EventKind::Attack) => {
                self.attacks_with(who, what, *at_least, record, context)
            }
            (EventPattern::Blocks { what, attacker }, EventKind::Block) => {
                subject(what) && (*attacker == Filter::Any || other(attacker))
            }
            (EventPattern::BecomesBlocked { what, by }, EventKind::Blocked) => match by {
                // Without "by", once for the attacker; with it, once for each blocker.
                None => record.other.is_none() && subject(what),
                Some(by) => subject(what) && other(by),
            },
            (EventPattern::AttacksUnblocked { what }, EventKind::Unblocked)
            | (EventPattern::Tapped { what }, EventKind::Tapped)
            | (EventPattern::Untapped { what }, EventKind::Untapped)
            | (EventPattern::TappedForMana { what }, EventKind::TappedForMana)
            | (EventPattern::Fights { what }, EventKind::Fight)
            | (EventPattern::ControlChanges { what }, EventKind::ControlChange) => subject(what),
            (EventPattern::Cast { who, spell, from }, EventKind::Cast) => {
                player(who) && subject(spell) && from.is_none_or(|from| record.from == Some(from))
            }
            (EventPattern::CastThis, EventKind::Cast) => {
                record.subject == Some(Entity::Object(context.source))
            }
            (EventPattern::CopySpell { who, spell }, EventKind::Copy) => player(who) && subject(spell),
            (EventPattern::Activates { who, source }, EventKind::Activation) => {
                player(who) && subject(source)
            }
            (EventPattern::PlayLand { who }, EventKind::LandPlayed)
            | (EventPattern::GainLife { who }, EventKind::LifeGained)
            | (EventPattern::LoseLife { who }, EventKind::LifeLost)
            | (EventPattern::Scry { who }, EventKind::Scry)
            | (EventPattern::Surveil { who }, EventKind::Surveil)
            | (EventPattern::Search { who }, EventKind::Search)
            | (EventPattern::Shuffle { who }, EventKind::Shuffle)
            | (EventPattern::PlayerLoses { who }, EventKind::PlayerLost) => player(who),
            (EventPattern::Draw { who, nth }, EventKind::Draw) => {
                player(who) && nth.is_none_or(|nth| i32::from(nth) == record.amount)
            }
            (EventPattern::Discard { who, what }, EventKind::Discard)
            | (EventPattern::Cycle { who, what }, EventKind::Cycle)
            | (EventPattern::Sacrifice { who, what }, EventKind::Sacrifice)
            | (EventPattern::TokenCreated { who, what }, EventKind::TokenCreated)
            | (EventPattern::Mill { who, what }, EventKind::Mill) => player(who) && any_subject(what),
            (EventPattern::DiscardedByOpponent { what }, EventKind::Discard) => {
                record.cause.is_some_and(|cause| Some(cause) != record.player) && subject(what)
            }
            (EventPattern::CountersPut { what, kind }, EventKind::Counters) => {
                kind.is_none_or(|kind| record.counter == Some(kind)) && subject(what)
            }
            (EventPattern::Chapter(chapters), EventKind::Counters) => {
                record.counter == Some(CounterKind::Lore)
                    && record.subject == Some(Entity::Object(context.source))
                    && self.reaches_chapter(context.source, record.amount, chapters)
            }
            (EventPattern::LastCounterRemoved { what, kind }, EventKind::LastCounter) => {
                record.counter == Some(*kind) && subject(what)
            }
            (EventPattern::BecomesTarget { what, by }, EventKind::Target)
            | (EventPattern::Attached { what, to: by }, EventKind::Attachment) => subject(what) && other(by),
            (EventPattern::Step { step, whose }, EventKind::StepBegan) => {
                record.step == Some(*step) && player(whose)
            }
            (EventPattern::BecomesMarked { what, .. }, EventKind::Marked) => subject(what),
            (EventPattern::State(condition), EventKind::State) => view.condition(condition, context),
            _ => false,
        }
    }

    /// A card that watches its own way into a graveyard is a new object there.
    fn is_same_card(&self, what: &Filter, record: &EventRecord, context: &Context) -> bool {
        if record.became != Some(context.source) {
            return false;
        }
        let mut earlier = context.clone();
        let Some(Entity::Object(id)) = record.subject else { return false };
        earlier.source = id;
        self.view().object_matches(what, id, &earlier)
    }

    /// "Whenever you attack with two or more": counted once, on the first attacker that matches.
    fn attacks_with(
        &self,
        who: &Filter,
        what: &Filter,
        at_least: u8,
        record: &EventRecord,
        context: &Context,
    ) -> bool {
        let view = self.view();
        let attackers: SmallVec<[ObjectId; 8]> = self
            .state
            .combat
            .attackers
            .iter()
            .map(|attacker| attacker.object)
            .filter(|id| view.object_matches(what, *id, context))
            .collect();
        let first = attackers.first().copied().map(Entity::Object);
        record.subject == first
            && attackers.len() >= usize::from(at_least)
            && view.matches(who, Entity::Player(self.state.active), context)
    }

    /// Puts triggered abilities on the stack in the order of players and their choice (603.3b).
    /// Returns whether there were any.
    pub(crate) fn order_triggers(&mut self) -> Flow<bool> {
        if self.state.triggers.is_empty() {
            return Ok(false);
        }
        let mut ordered: Vec<PendingTrigger> = Vec::new();
        for player in self.state.turn_order() {
            let own: Vec<PendingTrigger> =
                self.state.triggers.iter().filter(|trigger| trigger.controller == player).cloned().collect();
            ordered.extend(self.choose_order(player, own)?);
        }
        self.state.triggers.clear();
        // The first one goes on the stack first, so it is the last one pushed as a task.
        for trigger in ordered.into_iter().rev() {
            self.state.tasks.push(Task::PutTrigger(Box::new(trigger)));
        }
        Ok(true)
    }

    fn choose_order(&mut self, player: PlayerId, own: Vec<PendingTrigger>) -> Flow<Vec<PendingTrigger>> {
        let alike = own.windows(2).all(|pair| match pair {
            [first, second] => first.ability == second.ability && first.source == second.source,
            _ => true,
        });
        if own.len() < 2 || alike {
            return Ok(own);
        }
        let mut decision = Decision::new(player, DecisionKind::TriggerOrder).range(own.len(), own.len());
        decision.options = (0u8..).take(own.len()).map(Choosable::Index).collect();
        decision.subjects = own.iter().map(|trigger| trigger.source).collect();
        let order = self.choose_options(decision)?;
        let index =
            |choice: &Choosable| if let Choosable::Index(index) = choice { usize::from(*index) } else { 0 };
        Ok(order.iter().filter_map(|choice| own.get(index(choice)).cloned()).collect())
    }

    /// Puts one triggered ability on the stack: modes and targets are chosen now (603.3c, 603.3d).
    pub(crate) fn put_trigger(&mut self, trigger: &PendingTrigger) -> Flow<()> {
        let Some(Ability::Triggered(ability)) = self.ability(trigger.ability) else { return Ok(()) };
        let body = ability.body.clone();
        let mut context = match &trigger.context {
            Some(context) => (**context).clone(),
            None => Context::new(trigger.source, trigger.controller),
        };
        // A step has no objects: "that creature" is of the event that made the delayed trigger (603.7c).
        if context.event.is_none() || trigger.event.kind != EventKind::StepBegan {
            context.event = Some(Box::new(trigger.event.clone()));
        }
        context.controller = trigger.controller;
        let Some(modes) = self.choose_trigger_modes(&body, &context)? else { return Ok(()) };
        let specs: Vec<_> = crate::targets::target_specs(&body, &modes).into_iter().cloned().collect();
        if trigger.context.is_none() || !specs.is_empty() {
            context.targets.clear();
            context.target_base = 0;
        }
        if !self.choose_trigger_targets(&specs, &mut context, DecisionKind::TriggerTargets)? {
            return Ok(());
        }
        let object = self.state.add_object(
            crate::state::ObjectKind::Ability,
            self.view().object(trigger.source).shown_face(),
            trigger.controller,
            Zone::Stack,
        );
        if let Some(own) = self.state.object_mut(object) {
            own.controller = trigger.controller;
        }
        let item =
            StackItem { object, ability: Some(trigger.ability), modes: modes.into_iter().collect(), context };
        self.state.stack.push(item);
        self.state.passes = 0;
        self.touch_circumstances();
        self.record_targeting(object, &[]);
        Ok(())
    }

    /// "Becomes the target" (603.2c): ward and the like see it, but not what was a target before.
    pub(crate) fn record_targeting(&mut self, object: ObjectId, known: &[Entity]) {
        let Some(item) = self.state.stack.iter().find(|item| item.object == object) else { return };
        let player = item.context.controller;
        let targets = item.context.targets.iter().flat_map(|choice| choice.entities.iter().copied());
        let records: Vec<EventRecord> = targets
            .filter(|target| !known.contains(target))
            .map(|target| EventRecord::new(EventKind::Target).subject(target).other(object).player(player))
            .collect();
        if !records.is_empty() {
            let before = self.shared_projection();
            self.collect_triggers(&before, &records);
        }
    }
}
