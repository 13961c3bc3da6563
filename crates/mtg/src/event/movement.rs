//! Objects that change zones.

use super::{MoveCause, MoveEvent};
use crate::ability::{
    Ability, Body, Cost, CounterKind, Destination, Effect, Filter, Instruction, Keyword, KeywordAbility,
    LibraryPosition, Selector, TriggeredAbility, TurnStatistic, Zone,
};
use crate::context::{EventKind, EventRecord};
use crate::engine::MTGEngine;
use crate::faces::find_keyword_ability;
use crate::ids::{ObjectId, PlayerId};
use crate::state::{CastFacts, ObjectFlag, ObjectKind, PendingTrigger, Snapshot, StackItem};
use smallvec::SmallVec;
use std::sync::Arc;

impl MTGEngine {
    /// Keeps what is known of an object that is about to leave the battlefield or the stack.
    pub(crate) fn take_snapshot(&mut self, id: ObjectId) {
        let object = self.state.object(id);
        if object.is_gone() || !matches!(object.zone, Zone::Battlefield | Zone::Stack) {
            return;
        }
        let mut characteristics = self.view().characteristics(id).clone();
        characteristics.controller = self.view().controller(id);
        let snapshot = Snapshot {
            object: object.clone(),
            characteristics,
            turn: self.state.turn,
            attacking: self.state.attacker(id).is_some(),
            blocking: self.state.is_blocking(id),
        };
        self.state.snapshots.push((id, Arc::new(snapshot)));
    }

    /// Targets and modes of a spell that leaves the stack, kept by the triggers that will copy it yet.
    fn keep_for_copies(&mut self, id: ObjectId) {
        let spell = self.state.stack.iter().find(|item| item.object == id && item.ability.is_none()).cloned();
        let Some(spell) = spell else { return };
        let waiting: SmallVec<[ObjectId; 2]> =
            self.state.stack.iter().filter(|item| self.will_copy(item, id)).map(|item| item.object).collect();
        for item in self.state.stack.iter_mut().filter(|item| waiting.contains(&item.object)) {
            item.context.targets.clone_from(&spell.context.targets);
            item.modes.clone_from(&spell.modes);
        }
    }

    /// Whether an ability that triggered when a spell was cast copies that spell.
    fn will_copy(&self, item: &StackItem, spell: ObjectId) -> bool {
        let is_trigger = item.context.event.as_ref().is_some_and(|event| event.is_cast_of(spell));
        is_trigger
            && item.context.targets.is_empty()
            && item.modes.is_empty()
            && self.stack_body(item).effects.iter().any(copies_spell)
    }

    fn remove_from_zone(&mut self, id: ObjectId) {
        self.keep_for_copies(id);
        let (zone, owner) = {
            let object = self.state.object(id);
            (object.zone, object.owner)
        };
        let player = self.state.player_mut(owner);
        match zone {
            Zone::Library => player.library.retain(|other| *other != id),
            Zone::Hand => player.hand.retain(|other| *other != id),
            Zone::Graveyard => player.graveyard.retain(|other| *other != id),
            Zone::Battlefield => self.state.battlefield.retain(|other| *other != id),
            Zone::Exile => self.state.exile.retain(|other| *other != id),
            Zone::Command => self.state.command.retain(|other| *other != id),
            Zone::Stack => self.state.stack.retain(|item| item.object != id),
        }
    }

    pub(crate) fn leave_combat(&mut self, id: ObjectId) {
        self.state.combat.attackers.retain(|attacker| attacker.object != id);
        for attacker in &mut self.state.combat.attackers {
            attacker.blockers.retain(|blocker| *blocker != id);
        }
        self.touch_circumstances();
    }

    /// Moves an object; it becomes a new one (400.7). Returns its new id.
    pub(crate) fn commit_move(
        &mut self,
        moving: &MoveEvent,
        records: &mut Vec<EventRecord>,
    ) -> Option<ObjectId> {
        let old = moving.object;
        if !self.state.exists(old) || self.is_stranded_token(old) {
            return None;
        }
        if moving.to != Zone::Exile && self.is_exiled_from_stack(old) {
            let exiled = MoveEvent { to: Zone::Exile, ..moving.clone() };
            return self.commit_move(&exiled, records);
        }
        if let Some(cost) = self.madness_cost(moving) {
            let exiled = MoveEvent { to: Zone::Exile, cause: MoveCause::Madness, ..moving.clone() };
            let id = self.commit_move(&exiled, records)?;
            self.add_madness_trigger(id, cost);
            return Some(id);
        }
        if self.state.snapshot(old).is_none() {
            self.take_snapshot(old);
        }
        let from = self.state.object(old).zone;
        let owner = self.state.object(old).owner;
        let last_controller = self.view().controller(old);
        let was_creature = self.view().characteristics(old).is_creature();
        if from == Zone::Battlefield {
            self.leave_combat(old);
        }
        self.remove_from_zone(old);
        let id = self.renew_object(old, moving);
        let player = self.state.player_mut(owner);
        match moving.to {
            Zone::Library => insert_into_library(&mut player.library, id, moving.position),
            Zone::Hand => player.hand.push(id),
            Zone::Graveyard => player.graveyard.push(id),
            Zone::Exile => self.state.exile.push(id),
            Zone::Command => self.state.command.push(id),
            Zone::Stack => {}
            Zone::Battlefield => {
                self.state.battlefield.push(id);
                self.settle_on_battlefield(id, moving.controller.unwrap_or(owner), moving);
            }
        }
        let is_seen = |zone: Zone| matches!(zone, Zone::Battlefield | Zone::Command);
        // Static abilities of some cards work in graveyards.
        let is_static = self.state.has_static_face(id);
        if is_seen(from) || is_seen(moving.to) || is_static {
            self.touch();
        } else {
            self.touch_circumstances();
        }
        if from == Zone::Battlefield {
            self.count(last_controller, TurnStatistic::PermanentsLeft, 1);
            if moving.to == Zone::Graveyard && was_creature {
                self.count(last_controller, TurnStatistic::CreaturesDied, 1);
                if let Some(object) = self.state.object_mut(id) {
                    object.flags |= ObjectFlag::Died.bit();
                }
            }
        }
        self.record_move(moving, old, id, from, last_controller, records);
        // Chapters see the lore counters with which a Saga enters.
        for (kind, amount) in moving.counters.iter().filter(|entry| entry.0 == CounterKind::Lore) {
            let mut record = EventRecord::new(EventKind::Counters).subject(id).amount(*amount);
            record.counter = Some(*kind);
            records.push(record);
        }
        Some(id)
    }

    /// Whether an object is a token that left the battlefield: it stays where it is (111.8).
    fn is_stranded_token(&self, id: ObjectId) -> bool {
        let object = self.state.object(id);
        object.kind == ObjectKind::Token && object.zone != Zone::Battlefield
    }

    /// Whether a spell is exiled wherever it would go from the stack (702.34a, 702.133a).
    fn is_exiled_from_stack(&self, id: ObjectId) -> bool {
        let object = self.state.object(id);
        object.zone == Zone::Stack && object.kind == ObjectKind::Card && object.cast.way.exiles()
    }

    /// The madness cost of a card that is about to be discarded (702.35a).
    fn madness_cost(&self, moving: &MoveEvent) -> Option<Cost> {
        let is_discard = matches!(moving.cause, MoveCause::Discard | MoveCause::Cycle);
        if !is_discard || moving.to != Zone::Graveyard {
            return None;
        }
        let face = self.state.faces.get(self.state.object(moving.object).face)?;
        find_keyword_ability(&face.face, |keyword| match keyword {
            KeywordAbility::Madness(cost) => Some(cost.clone()),
            _ => None,
        })
    }

    /// "When this card is exiled this way, its owner may cast it for its madness cost; if that player
    /// doesn't, they put it into their graveyard."
    fn add_madness_trigger(&mut self, card: ObjectId, cost: Cost) {
        let what = Selector::This;
        let cast = Effect::CastNow {
            who: Selector::You,
            what: what.clone(),
            free: false,
            cost: Some(Box::new(cost)),
        };
        let left = Selector::Matching { from: Box::new(what), filter: Filter::InZone(Zone::Exile) };
        let bury = Effect::Move { what: left, to: Destination::zone(Zone::Graveyard) };
        let body = Body { effects: vec![cast.into(), bury.into()], ..Body::default() };
        let ability = Ability::Triggered(Box::new(TriggeredAbility {
            events: Vec::new(),
            batch: false,
            condition: None,
            body,
            per_turn: None,
            zone: None,
            text: "Madness".to_owned(),
        }));
        let ability = self.state.keep_ability(&ability);
        let owner = self.state.object(card).owner;
        let event = EventRecord::new(EventKind::State).subject(card).player(owner);
        self.state.triggers.push(PendingTrigger {
            ability,
            source: card,
            controller: owner,
            event,
            context: None,
        });
    }

    fn record_move(
        &mut self,
        moving: &MoveEvent,
        old: ObjectId,
        id: ObjectId,
        from: Zone,
        player: PlayerId,
        records: &mut Vec<EventRecord>,
    ) {
        // What enters is seen as the new object; what leaves the battlefield as the old one (603.6, 603.10a).
        let subject = if from == Zone::Battlefield { old } else { id };
        let mut record = EventRecord::new(EventKind::ZoneChange).subject(subject).player(player);
        record.became = Some(id);
        record.from = Some(from);
        record.to = Some(moving.to);
        record.cause = moving.by;
        records.push(record);
        let extra = match moving.cause {
            MoveCause::Sacrifice => {
                self.count(player, TurnStatistic::PermanentsSacrificed, 1);
                EventRecord::new(EventKind::Sacrifice).subject(old)
            }
            MoveCause::Discard | MoveCause::Cycle | MoveCause::Madness => {
                self.count(player, TurnStatistic::CardsDiscarded, 1);
                if moving.cause == MoveCause::Cycle {
                    records.push(EventRecord::new(EventKind::Cycle).subject(id).player(player));
                }
                EventRecord::new(EventKind::Discard).subject(id)
            }
            MoveCause::Mill => EventRecord::new(EventKind::Mill).subject(id),
            MoveCause::PlayLand => EventRecord::new(EventKind::LandPlayed).subject(id),
            _ => return,
        };
        let mut extra = extra.player(player);
        extra.cause = moving.by;
        extra.became = Some(id);
        records.push(extra);
    }

    /// Resets the slot for the new object and returns its id.
    fn renew_object(&mut self, old: ObjectId, moving: &MoveEvent) -> ObjectId {
        let id = old.next_version();
        let timestamp = self.state.next_timestamp();
        self.may_have_strays |= self.state.object(old).kind != ObjectKind::Card;
        if let Some(object) = self.state.object_mut(old) {
            // A permanent keeps how its spell was cast; a spell that is being cast has no history.
            let cast = if object.zone == Zone::Stack && moving.to == Zone::Battlefield {
                object.cast
            } else {
                CastFacts::default()
            };
            let copy_of = if object.kind == ObjectKind::SpellCopy { object.copy_of } else { None };
            let mut fresh = crate::state::Object::new(id, object.kind, object.face, object.owner, moving.to);
            fresh.cast = cast;
            fresh.copy_of = moving.copy_of.or(copy_of);
            fresh.timestamp = timestamp;
            fresh.held_by = moving.held_by;
            if moving.held_by.is_some() && object.zone == Zone::Hand {
                fresh.flags |= ObjectFlag::FromHand.bit();
            }
            if moving.is_linked {
                fresh.flags |= ObjectFlag::Linked.bit();
            }
            if object.kind == ObjectKind::SpellCopy && moving.to == Zone::Battlefield {
                fresh.kind = ObjectKind::Token;
            }
            *object = fresh;
        }
        id
    }

    pub(super) fn settle_on_battlefield(&mut self, id: ObjectId, controller: PlayerId, moving: &MoveEvent) {
        let timestamp = self.state.next_timestamp();
        let turn = self.state.turn;
        if let Some(object) = self.state.object_mut(id) {
            object.controller = controller;
            object.last_controller = controller;
            object.tapped = moving.tapped;
            object.attached_to = moving.attach;
            object.timestamp = timestamp;
            object.controlled_since = turn;
            object.entered_turn = turn;
            object.chosen = moving.chosen;
            for (kind, amount) in &moving.counters {
                object.add_counters(*kind, *amount);
            }
            if moving.keywords.contains(&Keyword::Haste) {
                object.flags |= ObjectFlag::Haste.bit();
            }
            match object.cast.way {
                crate::state::CastWay::Evoke => object.flags |= ObjectFlag::Evoked.bit(),
                crate::state::CastWay::Dash => object.flags |= ObjectFlag::Dashed.bit(),
                _ => {}
            }
        }
        if let Some(defender) = moving.attacking {
            self.state.combat.attackers.push(crate::state::Attacker {
                object: id,
                defender,
                blocked: false,
                blockers: SmallVec::new(),
            });
        }
        self.touch();
    }
}

fn insert_into_library(library: &mut Vec<ObjectId>, id: ObjectId, position: LibraryPosition) {
    match position {
        LibraryPosition::Top => library.push(id),
        LibraryPosition::Bottom => library.insert(0, id),
        LibraryPosition::Below(above) => {
            let place = library.len().saturating_sub(usize::from(above));
            library.insert(place, id);
        }
    }
}

fn copies_spell(instruction: &Instruction) -> bool {
    match &instruction.effect {
        Effect::CopySpell { .. } => true,
        Effect::May { then, .. } | Effect::MayPay { then, .. } | Effect::If { then, .. } => {
            then.iter().any(copies_spell)
        }
        _ => false,
    }
}
