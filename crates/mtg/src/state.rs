//! State of a game as plain data: it can be cloned, written, compared and hashed at any moment.
//!
//! Nothing here knows a rule. A choice in the middle of something is a [`Task`] on the task stack
//! with the answers given so far; it holds neither closures nor references.

mod object;

pub use object::{CastFacts, CastWay, ChosenValues, Object, ObjectFlag, ObjectKind};

use crate::ability::{Ability, CounterKind, Duration, ManaUse, PlayerRule, Replacement, TurnStep, Zone};
use crate::card::ManaKind;
use crate::characteristics::{AbilityClass, Characteristics};
use crate::context::{Context, EventRecord};
use crate::decision::{Answer, Decision};
use crate::faces::FaceTable;
use crate::ids::{AbilityRef, Entity, FaceId, ObjectId, PlayerId};
use crate::rng::{RandomStream, StableHasher};
use crate::task::Task;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

/// What happened to a player during the turn; index of [`TurnStatistic`](crate::ability::TurnStatistic).
pub type TurnStatistics = [i32; 14];

/// Player of the game.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Player {
    pub life: i32,
    pub counters: SmallVec<[(CounterKind, i32); 2]>,
    /// White, blue, black, red, green, colourless.
    pub mana: [u16; 6],
    /// The top card is the last one.
    pub library: Vec<ObjectId>,
    pub hand: Vec<ObjectId>,
    pub graveyard: Vec<ObjectId>,
    pub statistics: TurnStatistics,
    pub mulligans: u8,
    pub kept: bool,
    /// Tried to draw from an empty library since state-based actions were last checked.
    pub drew_from_empty: bool,
    pub lost: bool,
    /// Steps to skip.
    pub skips: SmallVec<[TurnStep; 1]>,
    /// Statistics of the turn before.
    #[serde(default)]
    pub last_statistics: TurnStatistics,
    /// What dealt damage to the player this turn.
    #[serde(default)]
    pub damaged_by: SmallVec<[ObjectId; 1]>,
    /// Mana in the pool that may not be spent on everything.
    #[serde(default)]
    pub restricted_mana: SmallVec<[RestrictedMana; 1]>,
    /// Number of the player's latest turn, and of the one before it; 0 if there was none.
    #[serde(default)]
    pub latest_turn: u32,
    #[serde(default)]
    pub turn_before: u32,
    /// Whether the player has the city's blessing (702.131d).
    #[serde(default)]
    pub has_blessing: bool,
}

/// One mana in a pool with what it may be spent on (106.6).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RestrictedMana {
    pub kind: ManaKind,
    pub only: ManaUse,
}

/// Life total at the beginning of a game (103.4).
pub const STARTING_LIFE: i32 = 20;

impl Default for Player {
    fn default() -> Self {
        Self {
            life: STARTING_LIFE,
            counters: SmallVec::new(),
            mana: [0; 6],
            library: Vec::new(),
            hand: Vec::new(),
            graveyard: Vec::new(),
            statistics: [0; 14],
            mulligans: 0,
            kept: false,
            drew_from_empty: false,
            lost: false,
            skips: SmallVec::new(),
            last_statistics: [0; 14],
            damaged_by: SmallVec::new(),
            restricted_mana: SmallVec::new(),
            latest_turn: 0,
            turn_before: 0,
            has_blessing: false,
        }
    }
}

impl Player {
    #[must_use]
    pub fn counter(&self, kind: CounterKind) -> i32 {
        self.counters.iter().find(|entry| entry.0 == kind).map_or(0, |entry| entry.1)
    }
}

/// Spell or ability on the stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StackItem {
    /// The spell, or the object that stands for the ability.
    pub object: ObjectId,
    /// `None` for a spell.
    pub ability: Option<AbilityRef>,
    pub modes: SmallVec<[u8; 2]>,
    pub context: Context,
}

/// Continuous effect of a resolved spell or ability (611.2).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContinuousEffect {
    pub number: u32,
    pub timestamp: u32,
    pub source: ObjectId,
    pub controller: PlayerId,
    pub affected: Vec<ObjectId>,
    /// Amounts and players are constants by now.
    pub changes: Arc<Vec<crate::ability::Change>>,
    /// Abilities that the changes grant, by position of the change.
    pub grants: SmallVec<[(u8, u16); 1]>,
    pub until: Until,
}

/// End of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Until {
    pub duration: Duration,
    pub turn: u32,
}

/// Rule for a player by a resolved effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RuleEffect {
    pub player: PlayerId,
    pub controller: PlayerId,
    pub source: ObjectId,
    pub rule: PlayerRule,
    pub until: Until,
}

impl RuleEffect {
    /// Whether the rule holds now: one for a player's next turn waits for it.
    #[must_use]
    pub fn is_active(&self, state: &GameState) -> bool {
        self.until.duration != Duration::TheirNextTurn
            || (state.active == self.player && state.turn > self.until.turn)
    }
}

/// Card that an effect allows a player to play.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlayGrant {
    pub player: PlayerId,
    pub card: ObjectId,
    pub permission: crate::ability::PlayPermission,
    pub controller: PlayerId,
    pub until: Until,
}

/// Replacement or prevention effect of a resolved effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ShieldEffect {
    pub number: u32,
    pub context: Context,
    pub replacement: Arc<Replacement>,
    /// What is left of "prevent the next N" or of the number of uses.
    pub left: Option<i32>,
    pub until: Until,
}

/// Triggered ability that waits for its event (603.7).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DelayedTrigger {
    pub ability: AbilityRef,
    pub context: Context,
    pub once: bool,
    pub until: Until,
    /// Does not trigger on events before this number of the event counter.
    pub created: u32,
}

/// Triggered ability that has triggered and is not on the stack yet (603.3).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PendingTrigger {
    pub ability: AbilityRef,
    pub source: ObjectId,
    pub controller: PlayerId,
    pub event: EventRecord,
    /// Bindings that a delayed trigger brings along.
    pub context: Option<Box<Context>>,
}

/// Last known information of an object that left the battlefield or the stack (608.2h).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Snapshot {
    pub object: Object,
    pub characteristics: Characteristics,
    pub turn: u32,
    pub attacking: bool,
    pub blocking: bool,
}

/// Attacking creature (508).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attacker {
    pub object: ObjectId,
    pub defender: Entity,
    /// Stays blocked when the blockers leave (509.1h).
    pub blocked: bool,
    pub blockers: SmallVec<[ObjectId; 2]>,
}

/// Combat phase.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Combat {
    pub attackers: Vec<Attacker>,
    /// Creatures that dealt damage in the first-strike step (702.7b).
    pub first_strikers: SmallVec<[ObjectId; 4]>,
    pub attackers_declared: bool,
    pub blockers_declared: bool,
}

/// How a game ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    Life,
    EmptyLibrary,
    Poison,
    Concession,
    Effect,
    /// Mandatory loop (104.4b), found by the guard.
    Loop,
    /// Limit of turns or decisions of the caller.
    Limit,
}

/// Result of a game; `winner` is `None` for a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Outcome {
    pub winner: Option<PlayerId>,
    pub reason: EndReason,
}

/// Whole state of a game.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GameState {
    pub faces: FaceTable,
    /// Abilities that no face has: granted, delayed, reflexive.
    pub abilities: Arc<Vec<Ability>>,
    /// Shared between copies of the state until one of them changes.
    pub objects: Vec<Arc<Object>>,
    pub players: [Player; 2],
    pub battlefield: Vec<ObjectId>,
    pub exile: Vec<ObjectId>,
    pub command: Vec<ObjectId>,
    pub stack: Vec<StackItem>,
    pub turn: u32,
    pub active: PlayerId,
    pub step: TurnStep,
    pub priority: PlayerId,
    /// Players who passed in succession.
    pub passes: u8,
    pub combat: Combat,
    pub effects: Vec<ContinuousEffect>,
    pub rules: Vec<RuleEffect>,
    pub shields: Vec<ShieldEffect>,
    pub grants: Vec<PlayGrant>,
    pub delayed: Vec<DelayedTrigger>,
    pub triggers: Vec<PendingTrigger>,
    pub snapshots: Vec<(ObjectId, Arc<Snapshot>)>,
    pub extra_turns: Vec<PlayerId>,
    /// Steps that are inserted after the current phase, last first.
    pub extra_steps: Vec<TurnStep>,
    pub tasks: Vec<Task>,
    /// Answers for the task on top, in the order of its questions.
    pub answers: Vec<Answer>,
    pub pending: Option<Decision>,
    pub decisions: u32,
    pub outcome: Option<Outcome>,
    pub random: RandomStream,
    pub timestamp: u32,
    /// Events in a row without a choice of a player, for the loop guard.
    pub quiet_steps: u32,
    pub starting_player: PlayerId,
}

/// Object that stale ids resolve to.
static NO_OBJECT: LazyLock<Object> = LazyLock::new(|| {
    Object::new(ObjectId::NONE, ObjectKind::Gone, FaceId(u16::MAX), PlayerId(0), Zone::Command)
});

impl GameState {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            faces: FaceTable::default(),
            abilities: Arc::default(),
            objects: Vec::new(),
            players: [Player::default(), Player::default()],
            battlefield: Vec::new(),
            exile: Vec::new(),
            command: Vec::new(),
            stack: Vec::new(),
            turn: 0,
            active: PlayerId(0),
            step: TurnStep::Untap,
            priority: PlayerId(0),
            passes: 0,
            combat: Combat::default(),
            effects: Vec::new(),
            rules: Vec::new(),
            shields: Vec::new(),
            grants: Vec::new(),
            delayed: Vec::new(),
            triggers: Vec::new(),
            snapshots: Vec::new(),
            extra_turns: Vec::new(),
            extra_steps: Vec::new(),
            tasks: Vec::new(),
            answers: Vec::new(),
            pending: None,
            decisions: 0,
            outcome: None,
            random: RandomStream::new(seed),
            timestamp: 0,
            quiet_steps: 0,
            starting_player: PlayerId(0),
        }
    }

    #[must_use]
    pub fn player(&self, player: PlayerId) -> &Player {
        let [first, second] = &self.players;
        if player.0 == 0 { first } else { second }
    }

    pub fn player_mut(&mut self, player: PlayerId) -> &mut Player {
        let [first, second] = &mut self.players;
        if player.0 == 0 { first } else { second }
    }

    /// The object with this id; a free slot if it has changed zones since or never existed.
    #[must_use]
    pub fn object(&self, id: ObjectId) -> &Object {
        match self.objects.get(id.slot()) {
            Some(object) if object.id == id => object,
            _ => &NO_OBJECT,
        }
    }

    /// The card that had this id until its last move, if it is still in a zone. What an effect
    /// moved out of a graveyard or hand is known by what it is now (400.7j).
    pub(crate) fn moved_card(&self, id: ObjectId) -> Option<&Object> {
        let object = self.objects.get(id.slot())?;
        (object.id == id.next_version() && object.kind == ObjectKind::Card).then_some(&**object)
    }

    pub fn object_mut(&mut self, id: ObjectId) -> Option<&mut Object> {
        self.objects.get_mut(id.slot()).filter(|object| object.id == id).map(Arc::make_mut)
    }

    #[must_use]
    pub fn exists(&self, id: ObjectId) -> bool {
        !self.object(id).is_gone()
    }

    #[must_use]
    pub fn is_on_battlefield(&self, id: ObjectId) -> bool {
        let object = self.object(id);
        object.zone == Zone::Battlefield && !object.is_gone()
    }

    /// The object that now has the slot of an older id.
    #[must_use]
    pub fn successor(&self, id: ObjectId) -> Option<ObjectId> {
        self.objects.get(id.slot()).filter(|object| !object.is_gone()).map(|object| object.id)
    }

    #[must_use]
    pub fn snapshot(&self, id: ObjectId) -> Option<&Snapshot> {
        self.snapshots.iter().rev().find(|entry| entry.0 == id).map(|entry| &*entry.1)
    }

    /// Objects of a zone, in its order; of both players for zones that each has.
    #[must_use]
    pub fn zone_objects(&self, zone: Zone) -> SmallVec<[ObjectId; 16]> {
        let [first, second] = &self.players;
        match zone {
            Zone::Battlefield => self.battlefield.iter().copied().collect(),
            Zone::Exile => self.exile.iter().copied().collect(),
            Zone::Command => self.command.iter().copied().collect(),
            Zone::Stack => self.stack.iter().map(|item| item.object).collect(),
            Zone::Hand => first.hand.iter().chain(&second.hand).copied().collect(),
            Zone::Graveyard => first.graveyard.iter().chain(&second.graveyard).copied().collect(),
            Zone::Library => first.library.iter().chain(&second.library).copied().collect(),
        }
    }

    pub fn next_timestamp(&mut self) -> u32 {
        self.timestamp += 1;
        self.timestamp
    }

    /// Players in turn order, the active player first (101.4).
    #[must_use]
    pub fn turn_order(&self) -> [PlayerId; 2] {
        [self.active, self.active.opponent()]
    }

    #[must_use]
    pub fn attacker(&self, id: ObjectId) -> Option<&Attacker> {
        self.combat.attackers.iter().find(|attacker| attacker.object == id)
    }

    #[must_use]
    pub fn is_blocking(&self, id: ObjectId) -> bool {
        self.combat.attackers.iter().any(|attacker| attacker.blockers.contains(&id))
    }

    /// Adds an ability that no face has.
    pub fn keep_ability(&mut self, ability: &Ability) -> AbilityRef {
        if let Some(position) = self.abilities.iter().position(|known| known == ability) {
            return AbilityRef::Loose(u16::try_from(position).unwrap_or(u16::MAX));
        }
        let position = u16::try_from(self.abilities.len()).unwrap_or(u16::MAX);
        Arc::make_mut(&mut self.abilities).push(ability.clone());
        AbilityRef::Loose(position)
    }

    /// Whether the face of an object has a static ability.
    #[must_use]
    pub(crate) fn has_static_face(&self, id: ObjectId) -> bool {
        let face = self.faces.get(self.object(id).shown_face());
        face.is_some_and(|face| face.base.has_class(AbilityClass::Static))
    }

    /// Allocates an object, reusing a free slot.
    pub fn add_object(&mut self, kind: ObjectKind, face: FaceId, owner: PlayerId, zone: Zone) -> ObjectId {
        if kind != ObjectKind::Card
            && let Some(free) = self.objects.iter_mut().find(|object| object.is_gone())
        {
            let id = free.id.next_version();
            *free = Arc::new(Object::new(id, kind, face, owner, zone));
            return id;
        }
        let id = ObjectId::new(u16::try_from(self.objects.len()).unwrap_or(u16::MAX), 0);
        self.objects.push(Arc::new(Object::new(id, kind, face, owner, zone)));
        id
    }

    /// Stable 64-bit hash of the whole state.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hasher = StableHasher::default();
        self.hash(&mut hasher);
        hasher.finish()
    }
}
