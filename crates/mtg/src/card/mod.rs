//! Printed characteristics of cards and tokens.
//!
//! A [`CardFace`] is immutable and shared: the state of a game refers to it by an index. What a
//! permanent looks like at the moment is the business of the layers, not of this module.

mod mana;
mod subtype;
mod types;

pub(crate) use types::named_set;

pub use mana::{Color, ColorSet, ManaCost, ManaCostError, ManaKind, ManaSymbol};
pub use subtype::{Subtype, SubtypeKind};
pub use types::{CardType, Supertype, SupertypeSet, TypeSet};

use crate::ability::Ability;
use serde::{Deserialize, Serialize};

/// Name, cost, types, numbers and abilities of one card or token.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct CardFace {
    pub name: String,
    /// `None` for a card without a mana cost (a land, a token): it cannot be cast for mana (202.1b).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mana_cost: Option<ManaCost>,
    /// Colours from the mana cost or the colour indicator.
    #[serde(default, skip_serializing_if = "ColorSet::is_empty")]
    pub colors: ColorSet,
    #[serde(default, skip_serializing_if = "SupertypeSet::is_empty")]
    pub supertypes: SupertypeSet,
    pub types: TypeSet,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtypes: Vec<Subtype>,
    /// Printed power. A `*` is 0 here and has an [`Ability::Characteristic`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toughness: Option<i32>,
    /// Loyalty with which a planeswalker enters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loyalty: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abilities: Vec<Ability>,
    /// Rules text, for display only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

impl CardFace {
    /// Characteristics of a face-down permanent (708.2a).
    #[must_use]
    pub fn face_down() -> Self {
        Self {
            types: TypeSet::from_members(&[CardType::Creature]),
            power: Some(2),
            toughness: Some(2),
            ..Self::default()
        }
    }

    /// Mana value (202.3).
    #[must_use]
    pub fn mana_value(&self) -> u32 {
        self.mana_cost.as_ref().map_or(0, ManaCost::mana_value)
    }

    #[must_use]
    pub fn has_type(&self, card_type: CardType) -> bool {
        self.types.contains(card_type)
    }

    #[must_use]
    pub fn has_subtype(&self, subtype: Subtype) -> bool {
        self.subtypes.contains(&subtype)
    }

    /// Whether the card becomes a permanent when it resolves (110.4).
    #[must_use]
    pub fn is_permanent_card(&self) -> bool {
        self.types.intersects(TypeSet::PERMANENT)
    }

    /// The type line as printed, like `Legendary Creature — Elf Druid`.
    #[must_use]
    pub fn type_line(&self) -> String {
        let mut line = String::new();
        for supertype in self.supertypes.iter() {
            line.push_str(supertype.name());
            line.push(' ');
        }
        let types: Vec<&str> = self.types.iter().map(CardType::name).collect();
        line.push_str(&types.join(" "));
        if !self.subtypes.is_empty() {
            let subtypes: Vec<&str> = self.subtypes.iter().map(|subtype| subtype.name()).collect();
            line.push_str(" — ");
            line.push_str(&subtypes.join(" "));
        }
        line
    }
}
