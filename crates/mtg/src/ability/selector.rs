//! Which objects and players: references, sets and predicates.

use super::{Amount, Comparison, CounterKind, EventRole, Keyword, Zone};
use crate::card::{CardType, Color, Subtype, Supertype};
use serde::{Deserialize, Serialize};

/// Number of a target or of a bound result.
pub type Slot = u8;

/// Objects and players, in the order in which they are affected.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selector {
    /// Source of the ability ("this creature"); for a spell, the spell.
    This,
    /// Controller of the ability.
    You,
    EachPlayer,
    EachOpponent,
    ActivePlayer,
    /// Player whom the attacking `This` (or event subject) attacks, or whose planeswalker.
    DefendingPlayer,
    /// Legal targets chosen for a slot.
    Target(Slot),
    /// Result of an earlier instruction.
    Binding(Slot),
    /// Part of the event that triggered the ability, or of the one being replaced.
    Event(EventRole),
    /// Current element of the innermost `ForEach`.
    Iterated,
    /// What `This` (an Aura or Equipment) is attached to.
    Attached,
    /// Player, card or object chosen as the source entered ("the chosen player").
    ChosenPlayer,
    /// Cards that a linked ability of the source exiled (607.2a).
    Linked,
    /// What paid a cost: sacrificed, discarded or exiled objects, in the order of payment.
    Paid,
    Controller(Box<Selector>),
    Owner(Box<Selector>),
    /// Every object in the zone that matches.
    All {
        zone: Zone,
        filter: Filter,
    },
    TopOfLibrary {
        who: Box<Selector>,
        count: Amount,
    },
    Union(Vec<Selector>),
    /// Those of `from` that match.
    Matching {
        from: Box<Selector>,
        filter: Filter,
    },
    /// Chosen on resolution by `chooser` (without "target"): from `min` to `max` of `from`.
    Choice {
        from: Box<Selector>,
        min: Amount,
        max: Amount,
        chooser: Box<Selector>,
    },
    /// Chosen at random.
    Random {
        from: Box<Selector>,
        count: Amount,
    },
    /// Those of `from` with the greatest or least of an amount (`Iterated` in `by` is the candidate).
    Extreme {
        from: Box<Selector>,
        by: Box<Amount>,
        greatest: bool,
    },
}

impl Selector {
    /// Every permanent that matches.
    #[must_use]
    pub fn permanents(filter: Filter) -> Self {
        Self::All { zone: Zone::Battlefield, filter }
    }
}

/// Predicate on an object or player, seen from the ability's source and controller.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// Any object (not a player).
    Any,
    All(Vec<Filter>),
    AnyOf(Vec<Filter>),
    Not(Box<Filter>),
    /// Any player.
    Player,
    /// A player who is an opponent of the ability's controller.
    Opponent,
    Type(CardType),
    Supertype(Supertype),
    Subtype(Subtype),
    Color(Color),
    Colorless,
    Multicolored,
    Monocolored,
    Permanent,
    Spell,
    /// An activated or triggered ability on the stack.
    AbilityOnStack,
    Token,
    Card,
    Named(String),
    /// Same name as one of these objects.
    SameNameAs(Box<Selector>),
    Keyword(Keyword),
    /// Has at least one ability ("creature with no abilities" is the negation).
    HasAbility,
    /// Controlled by one of these players. Outside the battlefield and stack it is the owner.
    Controller(Box<Selector>),
    Owner(Box<Selector>),
    Power(Comparison, Box<Amount>),
    Toughness(Comparison, Box<Amount>),
    ManaValue(Comparison, Box<Amount>),
    Counters(Option<CounterKind>, Comparison, Box<Amount>),
    Tapped,
    Untapped,
    Attacking,
    AttackingPlayer(Box<Selector>),
    Blocking,
    Blocked,
    Unblocked,
    /// Blocking one of these, or blocked by one of these.
    BlockingOrBlockedBy(Box<Selector>),
    BlockingAny(Box<Selector>),
    Enchanted,
    Equipped,
    /// Is attached to one of these.
    AttachedTo(Box<Selector>),
    /// Is the source.
    This,
    /// Is not the source ("another", "other").
    Other,
    /// Is one of these objects or players.
    Is(Box<Selector>),
    /// Object in this zone (for selectors that mix zones).
    InZone(Zone),
    EnteredThisTurn,
    /// Put into this zone from the battlefield this turn.
    DiedThisTurn,
    AttackedThisTurn,
    BlockedThisTurn,
    DealtDamageThisTurn,
    /// Was dealt damage this turn by one of these.
    DealtDamageThisTurnBy(Box<Selector>),
    /// Dealt damage to one of these players this turn.
    DealtDamageThisTurnTo(Box<Selector>),
    SummoningSick,
    /// Came under its controller's control since the beginning of the controller's last upkeep (702.30a).
    SinceLastUpkeep,
    /// Has the colour or the creature type chosen for the source.
    ChosenColor,
    ChosenType,
    /// Shares a creature type (a colour) with one of these.
    SharesCreatureType(Box<Selector>),
    SharesColor(Box<Selector>),
    /// Spell or ability with a target that matches.
    HasTarget(Box<Filter>),
    /// Spell or ability whose only target matches.
    OnlyTarget(Box<Filter>),
    Marked(ObjectMark),
    /// Cast (not put) by its controller, from this zone if given.
    CastFrom(Option<Zone>),
    Kicked,
    Historic,
    Outlaw,
    Party,
    FaceDown,
}

impl Filter {
    /// Where the object is that a cost exiles: a spell is on the stack.
    #[must_use]
    pub fn exile_zone(&self) -> Zone {
        match self {
            Self::Spell => Zone::Stack,
            Self::All(parts) if parts.contains(&Self::Spell) => Zone::Stack,
            _ => Zone::Battlefield,
        }
    }

    #[must_use]
    pub fn creature() -> Self {
        Self::Type(CardType::Creature)
    }

    /// Controlled by the ability's controller.
    #[must_use]
    pub fn yours() -> Self {
        Self::Controller(Box::new(Selector::You))
    }

    #[must_use]
    pub fn opponents() -> Self {
        Self::Controller(Box::new(Selector::EachOpponent))
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::All(mut parts) => {
                parts.push(other);
                Self::All(parts)
            }
            Self::Any => other,
            first => Self::All(vec![first, other]),
        }
    }

    #[must_use]
    pub fn negate(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// "Any target" (115.4): a creature, planeswalker, battle or player.
    #[must_use]
    pub fn any_target() -> Self {
        Self::AnyOf(vec![
            Self::Player,
            Self::Type(CardType::Creature),
            Self::Type(CardType::Planeswalker),
            Self::Type(CardType::Battle),
        ])
    }
}

/// Designation of a permanent that is not a characteristic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectMark {
    Renowned,
    Monstrous,
    Evoked,
    Unearthed,
    Goaded,
    Suspected,
    Dashed,
}
