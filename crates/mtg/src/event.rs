//! Changes of the game as events: proposed, replaced, committed, then seen by triggers.

use crate::ability::{
    Ability, Body, Cost, CounterKind, Destination, Effect, Filter, Keyword, KeywordAbility, LibraryPosition,
    PlayerRule, Selector, TriggeredAbility, TurnStatistic, Zone,
};
use crate::card::CardType;
use crate::characteristics::AbilityClass;
use crate::context::{EventKind, EventRecord};
use crate::engine::{Flow, MTGEngine};
use crate::faces::find_keyword_ability;
use crate::ids::{Entity, FaceId, ObjectId, PlayerId};
use crate::state::{CastFacts, ChosenValues, ObjectFlag, ObjectKind, PendingTrigger, Snapshot};
use smallvec::SmallVec;
use std::sync::Arc;

/// Permanents that a player must control for the city's blessing.
const BLESSED_PERMANENTS: usize = 10;

/// Why an object moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MoveCause {
    Other,
    Destroy,
    Sacrifice,
    Discard,
    Cycle,
    /// Discarded into exile.
    Madness,
    Mill,
    Draw,
    PlayLand,
    StateBased,
}

/// Change of zones.
#[derive(Debug, Clone)]
pub(crate) struct MoveEvent {
    pub object: ObjectId,
    pub to: Zone,
    pub position: LibraryPosition,
    pub controller: Option<PlayerId>,
    pub tapped: bool,
    pub counters: SmallVec<[(CounterKind, i32); 2]>,
    pub attach: Option<Entity>,
    pub attacking: Option<Entity>,
    pub copy_of: Option<FaceId>,
    pub chosen: ChosenValues,
    pub keywords: SmallVec<[Keyword; 1]>,
    pub cause: MoveCause,
    pub held_by: Option<ObjectId>,
    /// Whether `held_by` is a link only, and does not bring the card back.
    pub is_linked: bool,
    /// Controller of the spell or ability that moves it.
    pub by: Option<PlayerId>,
}

impl MoveEvent {
    pub(crate) fn new(object: ObjectId, to: Zone) -> Self {
        Self {
            object,
            to,
            position: LibraryPosition::Top,
            controller: None,
            tapped: false,
            counters: SmallVec::new(),
            attach: None,
            attacking: None,
            copy_of: None,
            chosen: ChosenValues::default(),
            keywords: SmallVec::new(),
            cause: MoveCause::Other,
            held_by: None,
            is_linked: false,
            by: None,
        }
    }

    pub(crate) fn cause(mut self, cause: MoveCause) -> Self {
        self.cause = cause;
        self
    }
}

/// Proposed change.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Move(MoveEvent),
    Damage {
        source: ObjectId,
        to: Entity,
        amount: i32,
        combat: bool,
    },
    Destroy {
        object: ObjectId,
        regenerate: bool,
    },
    /// A destruction was replaced (701.19a).
    Regenerate {
        object: ObjectId,
    },
    Draw {
        player: PlayerId,
    },
    GainLife {
        player: PlayerId,
        amount: i32,
    },
    LoseLife {
        player: PlayerId,
        amount: i32,
    },
    Counters {
        on: Entity,
        kind: CounterKind,
        amount: i32,
    },
    Tokens {
        player: PlayerId,
        face: FaceId,
        amount: i32,
        model: MoveEvent,
    },
    Tap {
        object: ObjectId,
    },
    Untap {
        object: ObjectId,
    },
}

impl MTGEngine {
    /// Proposes events that happen at the same time, applies replacement effects, commits them and
    /// lets abilities trigger. Returns what really happened.
    pub(crate) fn apply(&mut self, events: Vec<Event>) -> Flow<Vec<EventRecord>> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let events = self.replace_events(events)?;
        let before = self.shared_projection();
        let records = self.commit_all(events);
        self.grant_blessings();
        self.collect_triggers(&before, &records);
        Ok(records)
    }

    /// Ascend of permanents: who controls ten permanents gets the city's blessing for good (702.131b).
    pub(crate) fn grant_blessings(&mut self) {
        if self.state.battlefield.len() < BLESSED_PERMANENTS {
            return;
        }
        for player in PlayerId::BOTH {
            let view = self.view();
            let own = |id: &&ObjectId| view.controller(**id) == player;
            let mut permanents = self.state.battlefield.iter().filter(own);
            if !self.state.player(player).has_blessing
                && permanents.any(|id| view.has_keyword(*id, Keyword::Ascend))
            {
                self.bless(player);
            }
        }
    }

    /// Gives the city's blessing to a player who controls ten permanents (702.131c).
    pub(crate) fn bless(&mut self, player: PlayerId) {
        let permanents = self.state.battlefield.iter().filter(|id| self.view().controller(**id) == player);
        if permanents.count() >= BLESSED_PERMANENTS {
            self.state.player_mut(player).has_blessing = true;
            self.touch();
        }
    }

    /// Commits events that were settled.
    pub(crate) fn commit_all(&mut self, events: Vec<Event>) -> Vec<EventRecord> {
        let mut records = Vec::with_capacity(events.len());
        // Objects that leave together see each other leave: what is last known is taken first.
        for event in &events {
            if let Event::Move(moving) = event {
                self.take_snapshot(moving.object);
            }
        }
        for event in events {
            self.commit(event, &mut records);
        }
        records
    }

    fn commit(&mut self, event: Event, records: &mut Vec<EventRecord>) {
        match event {
            Event::Move(moving) => {
                self.commit_move(&moving, records);
            }
            Event::Damage { source, to, amount, combat } => {
                self.commit_damage(source, to, amount, combat, records);
            }
            Event::Destroy { .. } => {}
            Event::Regenerate { object } => {
                if let Some(own) = self.state.object_mut(object) {
                    own.tapped = true;
                    own.damage = 0;
                    own.deathtouched = false;
                }
                self.leave_combat(object);
            }
            Event::Draw { player } => self.commit_draw(player, records),
            Event::GainLife { player, amount } => self.commit_gain(player, amount, records),
            Event::LoseLife { player, amount } => self.commit_loss(player, amount, records),
            Event::Counters { on, kind, amount } => self.commit_counters(on, kind, amount, records),
            Event::Tokens { player, face, amount, model } => {
                for _ in 0..amount.min(1000) {
                    self.commit_token(player, face, &model, records);
                }
            }
            Event::Tap { object } => {
                if let Some(own) = self.state.object_mut(object)
                    && !own.tapped
                {
                    own.tapped = true;
                    self.touch();
                    records.push(EventRecord::new(EventKind::Tapped).subject(object));
                }
            }
            Event::Untap { object } => {
                if let Some(own) = self.state.object_mut(object)
                    && own.tapped
                {
                    own.tapped = false;
                    self.touch();
                    records.push(EventRecord::new(EventKind::Untapped).subject(object));
                }
            }
        }
    }

    fn commit_draw(&mut self, player: PlayerId, records: &mut Vec<EventRecord>) {
        let Some(card) = self.state.player(player).library.last().copied() else {
            self.state.player_mut(player).drew_from_empty = true;
            return;
        };
        let id = self.commit_move(&MoveEvent::new(card, Zone::Hand).cause(MoveCause::Draw), records);
        self.count(player, TurnStatistic::CardsDrawn, 1);
        let drawn = crate::eval::statistic(&self.state, player, TurnStatistic::CardsDrawn);
        let mut record = EventRecord::new(EventKind::Draw).player(player).amount(drawn);
        record.subject = id.map(Entity::Object);
        records.push(record);
    }

    pub(crate) fn has_rule(&self, player: PlayerId, wanted: impl Fn(&PlayerRule) -> bool) -> bool {
        self.projection().rules.iter().any(|(who, rule, _)| *who == player && wanted(rule))
    }

    pub(crate) fn commit_gain(&mut self, player: PlayerId, amount: i32, records: &mut Vec<EventRecord>) {
        if amount <= 0 || self.has_rule(player, |rule| *rule == PlayerRule::CantGainLife) {
            return;
        }
        self.state.player_mut(player).life += amount;
        self.count(player, TurnStatistic::LifeGained, amount);
        self.touch();
        records.push(EventRecord::new(EventKind::LifeGained).subject(player).player(player).amount(amount));
    }

    pub(crate) fn commit_loss(&mut self, player: PlayerId, amount: i32, records: &mut Vec<EventRecord>) {
        if amount <= 0 || self.has_rule(player, |rule| *rule == PlayerRule::CantLoseLife) {
            return;
        }
        self.state.player_mut(player).life -= amount;
        self.count(player, TurnStatistic::LifeLost, amount);
        self.touch();
        records.push(EventRecord::new(EventKind::LifeLost).subject(player).player(player).amount(amount));
    }

    fn commit_counters(
        &mut self,
        on: Entity,
        kind: CounterKind,
        amount: i32,
        records: &mut Vec<EventRecord>,
    ) {
        if amount <= 0 {
            return;
        }
        match on {
            Entity::Player(player) => {
                let counters = &mut self.state.player_mut(player).counters;
                if let Some(entry) = counters.iter_mut().find(|entry| entry.0 == kind) {
                    entry.1 += amount;
                } else {
                    counters.push((kind, amount));
                }
            }
            Entity::Object(id) => {
                let Some(object) = self.state.object_mut(id) else { return };
                object.add_counters(kind, amount);
            }
        }
        self.touch();
        let mut record = EventRecord::new(EventKind::Counters).subject(on).amount(amount);
        record.counter = Some(kind);
        records.push(record);
    }

    /// Damage is dealt (120.3); counters and life that it results in are events of their own.
    fn commit_damage(
        &mut self,
        source: ObjectId,
        to: Entity,
        amount: i32,
        combat: bool,
        records: &mut Vec<EventRecord>,
    ) {
        if amount <= 0 {
            return;
        }
        let own = self.view().characteristics(source).clone();
        let poisons = own.has(Keyword::Infect);
        let withers = poisons || own.has(Keyword::Wither);
        let hurt = match to {
            Entity::Player(player) => {
                if !poisons {
                    self.commit_loss(player, amount, records);
                }
                self.count(player, TurnStatistic::DamageTaken, amount);
                let sources = &mut self.state.player_mut(player).damaged_by;
                if !sources.contains(&source) {
                    sources.push(source);
                }
                player
            }
            Entity::Object(id) => {
                self.damage_object(id, source, amount, withers, own.has(Keyword::Deathtouch));
                self.view().controller(id)
            }
        };
        let mut record =
            EventRecord::new(EventKind::Damage).subject(to).other(source).player(hurt).amount(amount);
        record.combat = combat;
        records.push(record);
    }

    fn damage_object(
        &mut self,
        id: ObjectId,
        source: ObjectId,
        amount: i32,
        withers: bool,
        deathtouch: bool,
    ) {
        let types = self.view().characteristics(id).types;
        if types.contains(CardType::Planeswalker)
            && let Some(object) = self.state.object_mut(id)
        {
            let loyalty = object.counter(CounterKind::Loyalty);
            object.add_counters(CounterKind::Loyalty, -amount.min(loyalty));
        }
        if types.contains(CardType::Creature)
            && !withers
            && let Some(object) = self.state.object_mut(id)
        {
            object.damage += amount;
        }
        if let Some(object) = self.state.object_mut(id) {
            object.deathtouched |= deathtouch;
            if !object.damaged_by.contains(&source) {
                object.damaged_by.push(source);
            }
        }
        self.touch();
    }

    pub(crate) fn toxic(&self, source: ObjectId) -> i32 {
        let own = self.view().characteristics(source);
        if !own.has_class(AbilityClass::Protection) {
            return 0;
        }
        let toxic = |ability: &Ability| match ability {
            Ability::KeywordAbility(keyword) => match **keyword {
                KeywordAbility::Toxic(number) => i32::from(number),
                _ => 0,
            },
            _ => 0,
        };
        own.abilities.iter().filter_map(|reference| self.ability(*reference)).map(toxic).sum()
    }

    fn commit_token(
        &mut self,
        player: PlayerId,
        face: FaceId,
        model: &MoveEvent,
        records: &mut Vec<EventRecord>,
    ) {
        let id = self.state.add_object(ObjectKind::Token, face, player, Zone::Battlefield);
        self.state.battlefield.push(id);
        self.settle_on_battlefield(id, player, model);
        let mut record = EventRecord::new(EventKind::ZoneChange).subject(id).player(player);
        record.to = Some(Zone::Battlefield);
        record.became = Some(id);
        records.push(record);
        records.push(EventRecord::new(EventKind::TokenCreated).subject(id).player(player));
    }

    pub(crate) fn count(&mut self, player: PlayerId, which: TurnStatistic, amount: i32) {
        if let Some(value) = self.state.player_mut(player).statistics.get_mut(which as usize) {
            *value += amount;
        }
    }

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

    fn remove_from_zone(&mut self, id: ObjectId) {
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
        self.touch();
    }

    /// Moves an object; it becomes a new one (400.7). Returns its new id.
    pub(crate) fn commit_move(
        &mut self,
        moving: &MoveEvent,
        records: &mut Vec<EventRecord>,
    ) -> Option<ObjectId> {
        let old = moving.object;
        if !self.state.exists(old) {
            return None;
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
        self.touch();
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

    fn settle_on_battlefield(&mut self, id: ObjectId, controller: PlayerId, moving: &MoveEvent) {
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
