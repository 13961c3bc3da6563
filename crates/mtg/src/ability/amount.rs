//! Numbers and conditions, evaluated when an ability resolves or while a static ability applies.

use super::{CounterKind, Filter, Selector, Slot, TurnStep, Zone};
use crate::card::Color;
use serde::{Deserialize, Serialize};

/// Number expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    Fixed(i32),
    /// Value chosen for `{X}` of this spell or ability; of a permanent, of the spell it was.
    X,
    /// Number of objects and players.
    Count(Box<Selector>),
    /// Sum over the objects.
    Power(Box<Selector>),
    Toughness(Box<Selector>),
    ManaValue(Box<Selector>),
    Counters(Box<Selector>, Option<CounterKind>),
    GreatestPower(Box<Selector>),
    GreatestToughness(Box<Selector>),
    GreatestManaValue(Box<Selector>),
    Life(Box<Selector>),
    HandSize(Box<Selector>),
    /// Number bound by an earlier instruction: damage dealt, life lost, cards drawn.
    Binding(Slot),
    /// Amount of the event that triggered the ability, or of the one being replaced.
    Event,
    Sum(Vec<Amount>),
    /// First minus second.
    Difference(Box<Amount>, Box<Amount>),
    Times(Box<Amount>, i32),
    Half {
        of: Box<Amount>,
        round_up: bool,
    },
    Smallest(Vec<Amount>),
    Greatest(Vec<Amount>),
    /// Colours among the objects (0 to 5).
    ColorsAmong(Box<Selector>),
    /// Basic land types among lands the players control.
    Domain(Box<Selector>),
    /// Mana symbols of the colours among permanents the players control (700.5).
    Devotion(Box<Selector>, Vec<Color>),
    CardTypesAmong(Box<Selector>),
    /// Statistic of the current turn.
    ThisTurn(TurnStatistic, Box<Selector>),
    /// Statistic of the turn before the current one.
    LastTurn(TurnStatistic, Box<Selector>),
    /// Life with which each player begins the game (103.4).
    StartingLife,
    /// Colours of mana spent on the spell (of a permanent, on the spell it was).
    ColorsSpent,
    /// How many times the spell was kicked.
    KickerCount,
    If(Box<Condition>, Box<Amount>, Box<Amount>),
    /// Spells that were cast this turn before the one of the event (702.40a).
    SpellsBefore,
    /// Rounded down; 0 if the divisor is 0.
    Divided {
        of: Box<Amount>,
        by: Box<Amount>,
    },
}

/// What a player did during the current turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatistic {
    LifeGained,
    LifeLost,
    CardsDrawn,
    SpellsCast,
    CreatureSpellsCast,
    NoncreatureSpellsCast,
    InstantsAndSorceriesCast,
    LandsPlayed,
    CreaturesDied,
    /// Creatures with which the player attacked.
    Attackers,
    DamageTaken,
    PermanentsSacrificed,
    CardsDiscarded,
    PermanentsLeft,
}

/// How two numbers compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Comparison {
    #[must_use]
    pub fn holds(self, left: i32, right: i32) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::More => left > right,
            Self::AtLeast => left >= right,
        }
    }
}

/// Boolean expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Compare(Amount, Comparison, Amount),
    /// At least one object or player is selected.
    Exists(Selector),
    /// At least one is selected and all of them match.
    Matches(Selector, Filter),
    /// It is the turn of one of these players.
    TurnOf(Selector),
    During(TurnStep),
    /// "Before attackers are declared" and the like.
    BeforeStep(TurnStep),
    DuringCombat,
    /// The spell was kicked (the permanent's spell was).
    Kicked,
    /// `This` was cast, not put onto the battlefield.
    WasCast,
    CastFrom(Zone),
    /// At least this many colours or one of the colours of mana was spent on the spell.
    ManaSpent(Color),
    /// The creature dealt damage, attacked and so on by statistics: `Compare` with `ThisTurn`.
    CoinWon,
    /// The previous "may" or optional cost was taken ("if you do").
    Accepted,
    /// One of these players has the city's blessing (702.131).
    CityBlessing(Selector),
    /// Two of the objects have a card type in common.
    ShareCardType(Selector),
    /// One of two kickers was paid, by its place.
    KickedWith(u8),
}
