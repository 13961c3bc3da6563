//! State-based actions (704): all from one projection, at the same time, until nothing happens.

use crate::ability::{CounterKind, Keyword, PlayerRule, Zone};
use crate::card::{CardType, Subtype, Supertype};
use crate::characteristics::RuleFlag;
use crate::context::{EventKind, EventRecord};
use crate::decision::{Decision, DecisionKind};
use crate::engine::{Flow, MTGEngine};
use crate::event::{Event, MoveCause, MoveEvent};
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::state::{EndReason, ObjectFlag, ObjectKind, Outcome};

/// Poison counters that lose the game (704.5c).
const LETHAL_POISON: i32 = 10;

impl MTGEngine {
    /// Performs state-based actions once; true if something happened.
    pub(crate) fn check_state_based(&mut self) -> Flow<bool> {
        if self.check_players() {
            return Ok(true);
        }
        let mut events: Vec<Event> = Vec::new();
        let mut loose: Vec<ObjectId> = Vec::new();
        let mut pairs: Vec<(ObjectId, i32)> = Vec::new();
        for id in &self.state.battlefield {
            self.check_permanent(*id, &mut events, &mut loose, &mut pairs);
        }
        let mut doomed = self.check_legends()?;
        doomed.extend(self.older_worlds());
        for id in doomed {
            let moving = MoveEvent::new(id, Zone::Graveyard).cause(MoveCause::StateBased);
            events.push(Event::Move(moving));
        }
        for card in self.state.exile.iter().copied() {
            let object = self.state.object(card);
            if !object.has_flag(ObjectFlag::Linked)
                && object.held_by.is_some_and(|holder| !self.state.is_on_battlefield(holder))
            {
                // "Until this leaves the battlefield" (610.3).
                let zone = if object.has_flag(ObjectFlag::FromHand) { Zone::Hand } else { Zone::Battlefield };
                events.push(Event::Move(MoveEvent::new(card, zone)));
            }
        }
        let had_events = !events.is_empty();
        self.apply(events)?;
        self.forget_deathtouch();
        let ceased = self.remove_tokens();
        for id in &loose {
            if let Some(object) = self.state.object_mut(*id) {
                object.attached_to = None;
            }
        }
        for (id, amount) in &pairs {
            if let Some(object) = self.state.object_mut(*id) {
                object.add_counters(CounterKind::PlusOne, -amount);
                object.add_counters(CounterKind::MinusOne, -amount);
            }
        }
        if !loose.is_empty() || !pairs.is_empty() {
            self.touch();
        }
        Ok(had_events || ceased || !loose.is_empty() || !pairs.is_empty())
    }

    /// Damage with deathtouch counts until state-based actions have been checked (704.5h).
    fn forget_deathtouch(&mut self) {
        let touched = |id: &ObjectId| self.state.object(*id).deathtouched;
        let touched: Vec<ObjectId> = self.state.battlefield.iter().copied().filter(touched).collect();
        for id in touched {
            if let Some(object) = self.state.object_mut(id) {
                object.deathtouched = false;
            }
        }
    }

    fn check_players(&mut self) -> bool {
        let mut lost = [None, None];
        for (player, place) in PlayerId::BOTH.into_iter().zip(&mut lost) {
            let own = self.state.player(player);
            let lives_on = || self.has_rule(player, |rule| *rule == PlayerRule::LivesWithoutLife);
            let reason = if own.life <= 0 && !lives_on() {
                Some(EndReason::Life)
            } else if own.counter(CounterKind::Poison) >= LETHAL_POISON {
                Some(EndReason::Poison)
            } else if own.drew_from_empty {
                Some(EndReason::EmptyLibrary)
            } else {
                None
            };
            self.state.player_mut(player).drew_from_empty = false;
            if reason.is_some() && !self.has_rule(player, |rule| *rule == PlayerRule::CantLose) {
                *place = reason;
            }
        }
        let outcome = match lost {
            [None, None] => return false,
            // Both lose at once: a draw (104.4a).
            [Some(reason), Some(_)] => Outcome { winner: None, reason },
            [Some(reason), None] => Outcome { winner: Some(PlayerId(1)), reason },
            [None, Some(reason)] => Outcome { winner: Some(PlayerId(0)), reason },
        };
        self.state.outcome = Some(outcome);
        true
    }

    fn check_permanent(
        &self,
        id: ObjectId,
        events: &mut Vec<Event>,
        loose: &mut Vec<ObjectId>,
        pairs: &mut Vec<(ObjectId, i32)>,
    ) {
        let own = self.view().characteristics(id);
        let object = self.state.object(id);
        let buried =
            |id: ObjectId| Event::Move(MoveEvent::new(id, Zone::Graveyard).cause(MoveCause::StateBased));
        let plus = object.counter(CounterKind::PlusOne);
        let minus = object.counter(CounterKind::MinusOne);
        if plus > 0 && minus > 0 {
            pairs.push((id, plus.min(minus)));
        }
        if own.is_creature() {
            if own.toughness <= 0 {
                events.push(buried(id));
                return;
            }
            let lethal = object.damage >= own.toughness || object.deathtouched;
            if lethal && !own.has(Keyword::Indestructible) {
                events.push(Event::Destroy { object: id, regenerate: true, by_effect: false });
                return;
            }
        }
        if own.is(CardType::Planeswalker) && object.counter(CounterKind::Loyalty) == 0 {
            events.push(buried(id));
            return;
        }
        if self.is_saga_over(id) {
            let moving = MoveEvent::new(id, Zone::Graveyard).cause(MoveCause::Sacrifice);
            events.push(Event::Move(moving));
            return;
        }
        if Subtype::aura().is_some_and(|aura| own.has_subtype(aura)) {
            let legal = object.attached_to.is_some_and(|host| {
                self.can_enchant(id, host, own.controller)
                    && host.object().is_none_or(|host| self.state.is_on_battlefield(host))
            });
            if !legal {
                events.push(buried(id));
            }
        } else if let Some(host) = object.attached_to {
            let legal = matches!(host, Entity::Object(host) if self.can_equip(id, host));
            if !legal {
                loose.push(id);
            }
        }
    }

    /// The world rule: only the newest world permanent stays (704.5k).
    fn older_worlds(&self) -> Vec<ObjectId> {
        if !self.projection().supertypes.contains(Supertype::World) {
            return Vec::new();
        }
        let is_world = |id: &ObjectId| self.view().characteristics(*id).supertypes.contains(Supertype::World);
        let age = |id: &ObjectId| self.state.object(*id).timestamp;
        let mut worlds: Vec<ObjectId> = self.state.battlefield.iter().copied().filter(is_world).collect();
        worlds.sort_by_key(age);
        worlds.pop();
        worlds
    }

    /// The legend rule: the controller keeps one of each name (704.5j).
    fn check_legends(&mut self) -> Flow<Vec<ObjectId>> {
        if !self.projection().supertypes.contains(Supertype::Legendary) {
            return Ok(Vec::new());
        }
        let legends: Vec<ObjectId> = self
            .state
            .battlefield
            .iter()
            .copied()
            .filter(|id| {
                let own = self.view().characteristics(*id);
                own.supertypes.contains(Supertype::Legendary) && !own.has_rule(RuleFlag::LegendRuleOff)
            })
            .collect();
        let mut doomed = Vec::new();
        for player in self.state.turn_order() {
            let mut own: Vec<ObjectId> =
                legends.iter().copied().filter(|id| self.view().controller(*id) == player).collect();
            while let Some(first) = own.first().copied() {
                let name = self.view().name(first).to_string();
                let same: Vec<ObjectId> =
                    own.iter().copied().filter(|id| self.view().name(*id) == name).collect();
                own.retain(|id| !same.contains(id));
                if same.len() < 2 {
                    continue;
                }
                let decision = Decision::new(player, DecisionKind::LegendRule)
                    .entities(same.iter().copied().map(Entity::Object));
                let kept = self.choose_objects(decision)?;
                doomed.extend(same.into_iter().filter(|id| !kept.contains(id)));
            }
        }
        Ok(doomed)
    }

    /// Tokens and copies outside their zones cease to exist (704.5d, 704.5e).
    fn remove_tokens(&mut self) -> bool {
        if !std::mem::take(&mut self.may_have_strays) {
            return false;
        }
        let gone: Vec<ObjectId> = self
            .state
            .objects
            .iter()
            .filter(|object| match object.kind {
                ObjectKind::Token => object.zone != Zone::Battlefield,
                ObjectKind::SpellCopy => object.zone != Zone::Stack && object.zone != Zone::Battlefield,
                _ => false,
            })
            .map(|object| object.id)
            .collect();
        for id in &gone {
            for player in PlayerId::BOTH {
                let own = self.state.player_mut(player);
                own.library.retain(|other| other != id);
                own.hand.retain(|other| other != id);
                own.graveyard.retain(|other| other != id);
            }
            self.state.exile.retain(|other| other != id);
            if let Some(object) = self.state.object_mut(*id) {
                object.kind = ObjectKind::Gone;
            }
        }
        if !gone.is_empty() {
            self.touch();
        }
        !gone.is_empty()
    }

    /// Abilities that trigger on a state trigger once while it lasts (603.8).
    pub(crate) fn check_state_triggers(&mut self) {
        let record = EventRecord::new(EventKind::State);
        if self.projection().triggers & EventKind::State.bit() == 0 {
            return;
        }
        let waiting: Vec<(ObjectId, crate::ids::AbilityRef)> = self
            .state
            .triggers
            .iter()
            .map(|trigger| (trigger.source, trigger.ability))
            .chain(self.state.stack.iter().filter_map(|item| Some((item.context.source, item.ability?))))
            .collect();
        let before = self.shared_projection();
        let known = self.state.triggers.len();
        self.collect_triggers(&before, &[record]);
        let fresh = self.state.triggers.split_off(known);
        let new = fresh.into_iter().filter(|trigger| !waiting.contains(&(trigger.source, trigger.ability)));
        self.state.triggers.extend(new);
    }
}
