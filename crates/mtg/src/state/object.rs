//! Objects of a game: cards, tokens, copies, and the facts that each remembers.

use crate::ability::{CounterKind, Zone};
use crate::card::{Color, Subtype};
use crate::ids::{AbilityRef, Entity, FaceId, ObjectId, PlayerId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// What an object is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    Card,
    Token,
    SpellCopy,
    /// Activated or triggered ability on the stack.
    Ability,
    Emblem,
    /// Free slot: a token that ceased to exist, an ability that left the stack.
    Gone,
}

/// How a spell was cast; kept by the permanent it becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct CastFacts {
    pub x: i32,
    pub kicked: u8,
    pub from: Option<Zone>,
    pub way: CastWay,
    pub buyback: bool,
    /// Bits of the colours of mana spent.
    pub colors_spent: u8,
}

/// Cost for which a spell is cast (118.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CastWay {
    #[default]
    Normal,
    Flashback,
    Alternative,
    Evoke,
    Dash,
    Escape,
    Surge,
    Spectacle,
    Overload,
    Madness,
    Retrace,
    JumpStart,
    /// Without paying its mana cost.
    Free,
}

impl CastWay {
    /// Whether the card is exiled instead of going anywhere else from the stack (702.34a, 702.133a).
    #[must_use]
    pub fn exiles(self) -> bool {
        matches!(self, Self::Flashback | Self::JumpStart)
    }
}

/// What was chosen for a permanent as it entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct ChosenValues {
    pub color: Option<Color>,
    pub subtype: Option<Subtype>,
    pub player: Option<PlayerId>,
    pub number: i32,
}

/// Object in a zone, or a free slot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Object {
    pub id: ObjectId,
    pub kind: ObjectKind,
    pub face: FaceId,
    /// Face whose copiable values the object has (707.2).
    pub copy_of: Option<FaceId>,
    pub owner: PlayerId,
    /// Controller before continuous effects of layer 2.
    pub controller: PlayerId,
    /// Controller when control was last looked at, to notice changes (302.6, 506.4).
    pub last_controller: PlayerId,
    pub zone: Zone,
    pub tapped: bool,
    /// Turn since whose beginning the controller has it; larger than the current turn's number means
    /// that it came under control during this turn (302.6).
    pub controlled_since: u32,
    pub entered_turn: u32,
    pub damage: i32,
    pub deathtouched: bool,
    pub counters: SmallVec<[(CounterKind, i32); 2]>,
    pub attached_to: Option<Entity>,
    pub timestamp: u32,
    /// Bits of `ObjectMark` and of what it did this turn; see [`ObjectFlag`].
    pub flags: u16,
    pub chosen: ChosenValues,
    pub cast: CastFacts,
    /// How often abilities were activated (or limited triggers triggered) this turn.
    pub uses: SmallVec<[(AbilityRef, u8); 1]>,
    pub damaged_by: SmallVec<[ObjectId; 1]>,
    /// Object whose leaving brings this exiled card back (610.3).
    pub held_by: Option<ObjectId>,
}

/// Bit of [`Object::flags`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFlag {
    Renowned,
    Monstrous,
    Evoked,
    Unearthed,
    Goaded,
    Suspected,
    Attacked,
    Blocked,
    LoyaltyUsed,
    Died,
    Revealed,
    Haste,
    Dashed,
    /// Exiled by a linked ability: it stays when what exiled it leaves.
    Linked,
    /// Exiled from a hand until something leaves: it returns there (610.3).
    FromHand,
}

impl ObjectFlag {
    #[must_use]
    pub const fn bit(self) -> u16 {
        1 << self as u16
    }

    /// Flags that end with the turn.
    pub const TURN: u16 =
        Self::Attacked.bit() | Self::Blocked.bit() | Self::LoyaltyUsed.bit() | Self::Died.bit();
}

impl Object {
    #[must_use]
    pub fn new(id: ObjectId, kind: ObjectKind, face: FaceId, owner: PlayerId, zone: Zone) -> Self {
        Self {
            id,
            kind,
            face,
            copy_of: None,
            owner,
            controller: owner,
            last_controller: owner,
            zone,
            tapped: false,
            controlled_since: 0,
            entered_turn: 0,
            damage: 0,
            deathtouched: false,
            counters: SmallVec::new(),
            attached_to: None,
            timestamp: 0,
            flags: 0,
            chosen: ChosenValues::default(),
            cast: CastFacts::default(),
            uses: SmallVec::new(),
            damaged_by: SmallVec::new(),
            held_by: None,
        }
    }

    #[must_use]
    pub fn counter(&self, kind: CounterKind) -> i32 {
        self.counters.iter().find(|entry| entry.0 == kind).map_or(0, |entry| entry.1)
    }

    pub(crate) fn add_counters(&mut self, kind: CounterKind, amount: i32) {
        if let Some(entry) = self.counters.iter_mut().find(|entry| entry.0 == kind) {
            entry.1 += amount;
        } else {
            self.counters.push((kind, amount));
        }
        self.counters.retain(|entry| entry.1 > 0);
    }

    #[must_use]
    pub fn has_flag(&self, flag: ObjectFlag) -> bool {
        self.flags & flag.bit() != 0
    }

    /// Face whose characteristics the object has.
    #[must_use]
    pub fn shown_face(&self) -> FaceId {
        self.copy_of.unwrap_or(self.face)
    }

    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.kind == ObjectKind::Gone
    }
}
