//! Changes of the game as events: proposed, replaced, committed, then seen by triggers.

mod movement;

use crate::ability::{
    Ability, CounterKind, Keyword, KeywordAbility, LibraryPosition, PlayerRule, TurnStatistic, Zone,
};
use crate::card::CardType;
use crate::characteristics::AbilityClass;
use crate::context::{EventKind, EventRecord};
use crate::engine::{Flow, MTGEngine};
use crate::ids::{Entity, FaceId, ObjectId, PlayerId};
use crate::state::{ChosenValues, ObjectKind};
use smallvec::SmallVec;

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
        /// By an effect, not by lethal damage.
        by_effect: bool,
    },
    /// A destruction was replaced (701.19a).
    Regenerate {
        object: ObjectId,
    },
    /// More than one card only if a replacement effect says so.
    Draw {
        player: PlayerId,
        amount: i32,
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
        if self.state.battlefield.len() < BLESSED_PERMANENTS
            || !self.projection().keywords.contains(Keyword::Ascend)
        {
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
            self.touch_circumstances();
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
            Event::Draw { player, amount } => {
                for _ in 0..amount {
                    self.commit_draw(player, records);
                }
            }
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
                    self.touch_circumstances();
                    records.push(EventRecord::new(EventKind::Tapped).subject(object));
                }
            }
            Event::Untap { object } => {
                if let Some(own) = self.state.object_mut(object)
                    && own.tapped
                {
                    own.tapped = false;
                    self.touch_circumstances();
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
        self.touch_circumstances();
        records.push(EventRecord::new(EventKind::LifeGained).subject(player).player(player).amount(amount));
    }

    pub(crate) fn commit_loss(&mut self, player: PlayerId, amount: i32, records: &mut Vec<EventRecord>) {
        if amount <= 0 || self.has_rule(player, |rule| *rule == PlayerRule::CantLoseLife) {
            return;
        }
        self.state.player_mut(player).life -= amount;
        self.count(player, TurnStatistic::LifeLost, amount);
        self.touch_circumstances();
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
                if !poisons && !self.has_rule(player, |rule| *rule == PlayerRule::DamageAsInfect) {
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
        self.touch_circumstances();
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
}
