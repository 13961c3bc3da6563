//! Identities of players, objects, faces and abilities inside one game.

use crate::ability::Keyword;
use serde::{Deserialize, Serialize};

/// Seat of a player: 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlayerId(pub u8);

impl PlayerId {
    pub const BOTH: [Self; 2] = [Self(0), Self(1)];

    #[must_use]
    pub fn opponent(self) -> Self {
        Self(1 - self.0.min(1))
    }
}

/// Identity of an object. It changes with every change of zones (400.7): the low half is the slot in
/// the state, the high half counts the objects that this slot has held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// Id that no object has.
    pub const NONE: Self = Self(u32::MAX);

    #[must_use]
    pub fn new(slot: u16, version: u16) -> Self {
        Self(u32::from(version) << 16 | u32::from(slot))
    }

    #[must_use]
    pub fn slot(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    #[must_use]
    pub fn next_version(self) -> Self {
        Self(self.0.wrapping_add(1 << 16))
    }
}

/// Object or player.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entity {
    Player(PlayerId),
    Object(ObjectId),
}

impl Entity {
    #[must_use]
    pub fn object(self) -> Option<ObjectId> {
        if let Self::Object(id) = self { Some(id) } else { None }
    }

    #[must_use]
    pub fn player(self) -> Option<PlayerId> {
        if let Self::Player(id) = self { Some(id) } else { None }
    }
}

impl From<ObjectId> for Entity {
    fn from(id: ObjectId) -> Self {
        Self::Object(id)
    }
}

impl From<PlayerId> for Entity {
    fn from(id: PlayerId) -> Self {
        Self::Player(id)
    }
}

/// Index of a face in the table of the game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FaceId(pub u16);

/// Where an ability of an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbilityRef {
    /// Ability of a face (printed, or expanded from a keyword).
    Face(FaceId, u8),
    /// Ability that a static ability of a face grants: ability and change.
    Grant(FaceId, u8, u8),
    /// Ability kept by the game: granted by a resolved effect, delayed, reflexive.
    Loose(u16),
    /// Mana ability of a basic land type, by colour (305.6).
    Land(u8),
    /// Ability behind a keyword that an effect grants.
    Keyword(Keyword, u8),
    /// Protection from a colour that was chosen, by its place.
    Protection(u8),
}
