//! Actions of a player with priority.

use crate::context::TargetChoice;
use crate::ids::{AbilityRef, ObjectId};
use crate::state::CastWay;
use serde::{Deserialize, Serialize};

/// What a player does with priority.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Pass,
    PlayLand { card: ObjectId },
    Cast(CastAction),
    Activate(ActivateAction),
    Concede,
}

/// Announcement of a spell (601.2): everything is chosen before anything is paid.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CastAction {
    pub card: ObjectId,
    #[serde(default)]
    pub way: CastWay,
    #[serde(default)]
    pub modes: Vec<u8>,
    #[serde(default)]
    pub targets: Vec<TargetChoice>,
    #[serde(default)]
    pub x: u32,
    /// How many times kicked.
    #[serde(default)]
    pub kicked: u8,
    #[serde(default)]
    pub buyback: bool,
    /// Which of several additional costs.
    #[serde(default)]
    pub additional: u8,
    #[serde(default)]
    pub payment: Payment,
    /// The choices are asked one after the other; what else is given of them does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask: bool,
}

/// Announcement of an activated ability (602.2).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ActivateAction {
    pub source: ObjectId,
    pub ability: AbilityRef,
    #[serde(default)]
    pub modes: Vec<u8>,
    #[serde(default)]
    pub targets: Vec<TargetChoice>,
    #[serde(default)]
    pub x: u32,
    /// Position of the mana to add, for a mana ability with a choice.
    #[serde(default)]
    pub mana: u8,
    #[serde(default)]
    pub payment: Payment,
    /// The choices are asked one after the other; what else is given of them does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask: bool,
}

/// What pays costs that leave a choice. Empty lists are filled by the engine where there is one way.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Payment {
    /// Objects to sacrifice, discard, exile, tap or return, in the order of the cost's parts.
    #[serde(default)]
    pub objects: Vec<ObjectId>,
    /// Creatures tapped for convoke; `None` lets the payer decide.
    #[serde(default)]
    pub convoke: Option<Vec<ObjectId>>,
    /// Explicit plan: mana abilities to activate, with the position of the mana; `None` is automatic.
    #[serde(default)]
    pub mana: Option<Vec<(ObjectId, AbilityRef, u8)>>,
}
