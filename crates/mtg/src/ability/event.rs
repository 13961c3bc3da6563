//! Events that abilities trigger on.

use super::{Condition, CounterKind, Filter, Zone};
use serde::{Deserialize, Serialize};

/// Step or phase of a turn (500.1), in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStep {
    Untap,
    Upkeep,
    Draw,
    Main1,
    BeginCombat,
    DeclareAttackers,
    DeclareBlockers,
    FirstStrikeDamage,
    CombatDamage,
    EndCombat,
    Main2,
    End,
    Cleanup,
}

/// Part of an event to which an ability refers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventRole {
    /// What the event happened to: the creature that entered, died, attacked, blocked, became tapped;
    /// the spell that was cast; the permanent or player that was dealt damage; the card drawn.
    Subject,
    /// The other side: source of damage, blocked or blocking creature, spell or ability that targets.
    Other,
    /// Player of the event: who drew, cast, gained life; whose step it is; for a zone change the
    /// controller before it; for damage the damaged player or the permanent's controller; for an
    /// attack the defending player.
    Player,
}

/// Pattern that an event must match. Filters are seen from the ability's source and controller.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventPattern {
    /// An object moves: `from` battlefield `to` graveyard is "dies". `what` is checked before the
    /// move when it leaves the battlefield (603.10a), otherwise after it.
    ZoneChange {
        what: Filter,
        from: Option<Zone>,
        to: Option<Zone>,
    },
    Damage {
        source: Filter,
        to: Filter,
        combat: Option<bool>,
    },
    /// Damage as seen by what receives it; same event, kept for the reading order of texts.
    Attacks {
        what: Filter,
        defender: Option<Filter>,
        alone: bool,
    },
    /// A player attacks with at least this many creatures that match.
    AttacksWith {
        who: Filter,
        what: Filter,
        at_least: u8,
    },
    Blocks {
        what: Filter,
        attacker: Filter,
    },
    BecomesBlocked {
        what: Filter,
        by: Option<Filter>,
    },
    AttacksUnblocked {
        what: Filter,
    },
    /// `who` casts a spell that matches.
    Cast {
        who: Filter,
        spell: Filter,
        from: Option<Zone>,
    },
    /// The source is cast ("when you cast this spell").
    CastThis,
    CopySpell {
        who: Filter,
        spell: Filter,
    },
    Activates {
        who: Filter,
        source: Filter,
    },
    PlayLand {
        who: Filter,
    },
    Draw {
        who: Filter,
        nth: Option<u8>,
    },
    Discard {
        who: Filter,
        what: Filter,
    },
    /// Discarded because of a spell or ability an opponent controls.
    DiscardedByOpponent {
        what: Filter,
    },
    Cycle {
        who: Filter,
        what: Filter,
    },
    GainLife {
        who: Filter,
    },
    LoseLife {
        who: Filter,
    },
    Sacrifice {
        who: Filter,
        what: Filter,
    },
    Tapped {
        what: Filter,
    },
    Untapped {
        what: Filter,
    },
    TappedForMana {
        what: Filter,
    },
    CountersPut {
        what: Filter,
        kind: Option<CounterKind>,
    },
    /// A counter is removed and it was the last one.
    LastCounterRemoved {
        what: Filter,
        kind: CounterKind,
    },
    BecomesTarget {
        what: Filter,
        by: Filter,
    },
    Attached {
        what: Filter,
        to: Filter,
    },
    /// Beginning of a step; `whose` filters the active player.
    Step {
        step: TurnStep,
        whose: Filter,
    },
    Scry {
        who: Filter,
    },
    Surveil {
        who: Filter,
    },
    Search {
        who: Filter,
    },
    Shuffle {
        who: Filter,
    },
    TokenCreated {
        who: Filter,
        what: Filter,
    },
    Transforms {
        what: Filter,
    },
    BecomesMarked {
        what: Filter,
        mark: super::ObjectMark,
    },
    PlayerLoses {
        who: Filter,
    },
    Fights {
        what: Filter,
    },
    Mill {
        who: Filter,
        what: Filter,
    },
    ControlChanges {
        what: Filter,
    },
    /// Lore counters of the source reach one of these chapters (714.2).
    Chapter(Vec<u8>),
    /// The condition becomes true (603.8, state trigger).
    State(Condition),
}
