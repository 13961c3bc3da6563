//! What a spell or ability knows while it is announced and resolves.

use crate::ability::{CounterKind, TurnStep, Zone};
use crate::card::Color;
use crate::ids::{Entity, ObjectId, PlayerId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Kind of an event that happened, for triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    ZoneChange,
    Damage,
    Attack,
    Block,
    Blocked,
    Unblocked,
    Cast,
    Copy,
    Activation,
    LandPlayed,
    Draw,
    Discard,
    Cycle,
    LifeGained,
    LifeLost,
    Sacrifice,
    Tapped,
    Untapped,
    TappedForMana,
    Counters,
    LastCounter,
    Target,
    Attachment,
    StepBegan,
    Scry,
    Surveil,
    Search,
    Shuffle,
    TokenCreated,
    Marked,
    PlayerLost,
    Fight,
    Mill,
    ControlChange,
    /// Reflexive trigger, or a state that became true.
    State,
}

impl EventKind {
    /// Bit of the same number as [`trigger_bit`](crate::characteristics::trigger_bit).
    #[must_use]
    pub fn bit(self) -> u64 {
        let number = match self {
            Self::ZoneChange => 0,
            Self::Damage => 1,
            Self::Attack => 2,
            Self::Block | Self::Blocked | Self::Unblocked => 3,
            Self::Cast => 4,
            Self::Copy => 5,
            Self::Activation => 6,
            Self::LandPlayed => 7,
            Self::Draw => 8,
            Self::Discard | Self::Cycle => 9,
            Self::LifeGained => 10,
            Self::LifeLost => 11,
            Self::Sacrifice => 12,
            Self::Tapped => 13,
            Self::Untapped => 14,
            Self::TappedForMana => 15,
            Self::Counters => 16,
            Self::LastCounter => 17,
            Self::Target => 18,
            Self::Attachment => 19,
            Self::StepBegan => 20,
            Self::Scry | Self::Surveil => 21,
            Self::Search | Self::Shuffle => 22,
            Self::TokenCreated => 23,
            Self::Marked => 24,
            Self::PlayerLost => 25,
            Self::Fight => 26,
            Self::Mill => 27,
            Self::ControlChange => 28,
            Self::State => 29,
        };
        1 << number
    }
}

/// Event that happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EventRecord {
    pub kind: EventKind,
    pub subject: Option<Entity>,
    /// The object that the subject became by changing zones.
    pub became: Option<ObjectId>,
    pub other: Option<Entity>,
    pub player: Option<PlayerId>,
    pub amount: i32,
    pub from: Option<Zone>,
    pub to: Option<Zone>,
    pub combat: bool,
    pub step: Option<TurnStep>,
    pub counter: Option<CounterKind>,
    /// Controller of the spell or ability that caused it.
    pub cause: Option<PlayerId>,
}

impl EventRecord {
    #[must_use]
    pub fn new(kind: EventKind) -> Self {
        Self {
            kind,
            subject: None,
            became: None,
            other: None,
            player: None,
            amount: 0,
            from: None,
            to: None,
            combat: false,
            step: None,
            counter: None,
            cause: None,
        }
    }

    /// Whether the event is that this spell was cast.
    #[must_use]
    pub fn is_cast_of(&self, spell: ObjectId) -> bool {
        self.kind == EventKind::Cast && self.subject == Some(Entity::Object(spell))
    }

    #[must_use]
    pub fn subject(mut self, subject: impl Into<Entity>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    #[must_use]
    pub fn other(mut self, other: impl Into<Entity>) -> Self {
        self.other = Some(other.into());
        self
    }

    #[must_use]
    pub fn player(mut self, player: PlayerId) -> Self {
        self.player = Some(player);
        self
    }

    #[must_use]
    pub fn amount(mut self, amount: i32) -> Self {
        self.amount = amount;
        self
    }
}

/// Targets chosen for one slot, with the division if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct TargetChoice {
    pub entities: SmallVec<[Entity; 1]>,
    #[serde(default, skip_serializing_if = "SmallVec::is_empty")]
    pub division: SmallVec<[i32; 1]>,
}

/// Result of an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Binding {
    pub entities: SmallVec<[Entity; 2]>,
    pub amount: i32,
}

/// Source, controller and everything bound so far.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Context {
    pub source: ObjectId,
    pub controller: PlayerId,
    pub x: i32,
    pub kicked: u8,
    pub targets: SmallVec<[TargetChoice; 1]>,
    /// First target slot of the mode being executed.
    pub target_base: u8,
    pub bindings: SmallVec<[Binding; 1]>,
    pub event: Option<Box<EventRecord>>,
    pub iterated: Option<Entity>,
    pub paid: SmallVec<[ObjectId; 2]>,
    pub accepted: bool,
    pub color: Option<Color>,
}

impl Context {
    #[must_use]
    pub fn new(source: ObjectId, controller: PlayerId) -> Self {
        Self {
            source,
            controller,
            x: 0,
            kicked: 0,
            targets: SmallVec::new(),
            target_base: 0,
            bindings: SmallVec::new(),
            event: None,
            iterated: None,
            paid: SmallVec::new(),
            accepted: false,
            color: None,
        }
    }

    #[must_use]
    pub fn binding(&self, slot: u8) -> Option<&Binding> {
        self.bindings.get(usize::from(slot))
    }

    pub fn bind(&mut self, slot: u8, binding: Binding) {
        let slot = usize::from(slot);
        while self.bindings.len() <= slot {
            self.bindings.push(Binding::default());
        }
        if let Some(place) = self.bindings.get_mut(slot) {
            *place = binding;
        }
    }

    #[must_use]
    pub fn target(&self, slot: u8) -> Option<&TargetChoice> {
        self.targets.get(usize::from(slot) + usize::from(self.target_base))
    }
}
