//! Costs (118).

use super::{Amount, CounterKind, Filter};
use crate::card::{Color, ManaCost};
use serde::{Deserialize, Serialize};

/// Mana and other actions to pay.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Cost {
    #[serde(default, skip_serializing_if = "ManaCost::is_empty")]
    pub mana: ManaCost,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<CostPart>,
    /// "Spend only black mana on X."
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_color: Option<Color>,
}

impl Cost {
    #[must_use]
    pub fn mana(mana: ManaCost) -> Self {
        Self { mana, ..Self::default() }
    }

    /// The cost `{T}` alone.
    #[must_use]
    pub fn tap() -> Self {
        Self { parts: vec![CostPart::Tap], ..Self::default() }
    }

    /// Whether it is the cost of a loyalty ability (606.1).
    #[must_use]
    pub fn is_loyalty(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, CostPart::Loyalty(_)))
    }

    #[must_use]
    pub fn is_free(&self) -> bool {
        self.mana.is_empty() && self.parts.is_empty()
    }
}

/// Part of a cost other than mana. `This` in filters is the source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostPart {
    /// `{T}`.
    Tap,
    /// `{Q}`.
    Untap,
    PayLife(Amount),
    SacrificeThis,
    Sacrifice {
        filter: Filter,
        count: Amount,
    },
    /// "You may sacrifice any number of": those that the payment names, none without.
    SacrificeAny(Filter),
    DiscardThis,
    Discard {
        filter: Filter,
        count: Amount,
        random: bool,
    },
    DiscardHand,
    /// Exile the source from where it is.
    ExileThis,
    ExileFromGraveyard {
        filter: Filter,
        count: Amount,
    },
    ExileFromHand {
        filter: Filter,
        count: Amount,
    },
    ExilePermanent {
        filter: Filter,
        count: Amount,
    },
    ReturnThisToHand,
    ReturnToHand {
        filter: Filter,
        count: Amount,
    },
    TapPermanents {
        filter: Filter,
        count: Amount,
    },
    /// Tap creatures with total power of at least this much (702.122a).
    TapPower(u8),
    RemoveCounters {
        kind: CounterKind,
        count: Amount,
    },
    /// From among permanents that match.
    RemoveCountersFrom {
        filter: Filter,
        kind: CounterKind,
        count: Amount,
    },
    PutCounters {
        kind: CounterKind,
        count: Amount,
    },
    /// Loyalty cost; negative removes counters. `X` loyalty is `LoyaltyX`.
    Loyalty(i8),
    LoyaltyX,
    Mill(Amount),
    Reveal {
        filter: Filter,
        count: Amount,
    },
    PayEnergy(Amount),
    /// Mana in the amount of an expression ("pay {X}, where X is"; "{2} for each").
    GenericMana(Amount),
}
