//! Work that the engine still has to do, as data.
//!
//! A task that needs an answer is put back with the answers so far and runs again from its
//! beginning: it asks all its questions before it changes anything.

use crate::ability::{Cost, Instruction, TurnStep};
use crate::action::Action;
use crate::context::Context;
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::state::PendingTrigger;
use serde::{Deserialize, Serialize};

/// Unit of work on the task stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Choice of who plays first (103.1), by this player.
    ChooseStart(PlayerId),
    Mulligan,
    /// Cards to put on the bottom, by player.
    Bottom(PlayerId, u8),
    StartFirstTurn,
    /// A card of the opening hand that may begin the game on the battlefield (103.6a).
    BeginInPlay(ObjectId, PlayerId),
    BeginTurn(PlayerId),
    BeginStep(TurnStep),
    DeclareAttackers,
    DeclareBlockers,
    CombatDamage {
        first: bool,
    },
    CleanupDiscard,
    /// State-based actions, triggers, then priority.
    Priority,
    EndStep,
    PutTrigger(Box<PendingTrigger>),
    ResolveTop,
    Frame(Box<Frame>),
    /// The spell or ability leaves the stack after its instructions.
    FinishResolution(ObjectId),
    /// A spell or ability whose choices are asked (601.2).
    Announce(PlayerId, Box<Action>),
    /// A land is played: it enters under the player's control.
    Enter(ObjectId, PlayerId),
    /// A player may cast a card now, as part of a resolution.
    CastNow {
        player: PlayerId,
        card: ObjectId,
        free: bool,
        /// Paid rather than the mana cost.
        #[serde(default)]
        cost: Option<Box<Cost>>,
    },
}

/// Instructions of a resolution that are still to be followed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    pub context: Context,
    /// The next one is the last of the list.
    pub queue: Vec<Operation>,
}

/// Step of a resolution.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Run(Box<Instruction>),
    SetIterated(Option<Entity>),
    SetTargetBase(u8),
}
