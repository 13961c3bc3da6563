//! Abilities as plain data: what the compiler of rules text writes and the engine executes.
//!
//! There is one [`Selector`] for objects and players, one [`Amount`] for numbers, one [`Filter`] for
//! "which ones", and one way to refer to results: an [`Instruction`] may bind what it did to a slot,
//! and later instructions name the slot ("that creature", "those cards", "that much"). A mechanic is
//! written with these parts; no card has a variant of its own. Keywords whose rules the engine knows are
//! [`Keyword`] (without a parameter) and [`KeywordAbility`] (with one).
//!
//! Limits: no split, adventure or double-faced cards; no abilities that change the text of another.

mod amount;
mod cost;
mod effect;
mod event;
mod keyword;
mod replacement;
mod selector;
mod statics;

pub use amount::{Amount, Comparison, Condition, TurnStatistic};
pub use cost::{Cost, CostPart};
pub use effect::{
    ChoiceKind, Destination, Duration, Effect, Instruction, LibraryPosition, ManaOutput, ManaUse,
    PlayPermission, RestOfCards, TokenSpec,
};
pub use event::{EventPattern, EventRole, TurnStep};
pub use keyword::{Keyword, KeywordAbility, KeywordSet};
pub use replacement::{Replacement, ReplacementAction, ReplacementPattern};
pub use selector::{Filter, ObjectMark, Selector, Slot};
pub use statics::{Change, CostChange, CostChangeAmount, PlayerRule, Restriction, StaticAbility};

use crate::card::Color;
use serde::{Deserialize, Serialize};

/// Zone of the game (400.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    Library,
    Hand,
    Battlefield,
    Graveyard,
    Stack,
    Exile,
    Command,
}

/// Kind of counter (122.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CounterKind {
    PlusOne,
    MinusOne,
    Loyalty,
    Poison,
    Energy,
    Experience,
    Charge,
    Time,
    Age,
    Fade,
    Quest,
    Lore,
    Level,
    Study,
    Page,
    Verse,
    Oil,
    Stun,
    Shield,
    Bounty,
    Bribery,
    Blood,
    Feather,
    Growth,
    Spore,
    Storage,
    Mining,
    Gold,
    Treasure,
    Arrow,
    Brick,
    Doom,
    Eyeball,
    Flood,
    Fuse,
    Ki,
    Plague,
    Wish,
    Hour,
    Flying,
    FirstStrike,
    Deathtouch,
    Lifelink,
    Trample,
    Vigilance,
    Menace,
    Reach,
    Hexproof,
    Indestructible,
    Intervention,
}

/// Ability of a card, token or emblem.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ability {
    /// What an instant or sorcery does as it resolves (113.3a).
    Spell(Body),
    Activated(Box<ActivatedAbility>),
    Triggered(Box<TriggeredAbility>),
    /// Continuous effect of a static ability (113.3d).
    Static(Box<StaticAbility>),
    /// Rule that holds for players while the object is in play.
    PlayerRule {
        who: Selector,
        rule: PlayerRule,
        condition: Option<Condition>,
    },
    /// Power or toughness (or colours, types) of this object in every zone (604.3): a static ability
    /// whose selector is `This`; applied in layer 7a, 4 or 5.
    Characteristic(Vec<Change>),
    Replacement(Box<Replacement>),
    Keyword(Keyword),
    KeywordAbility(Box<KeywordAbility>),
    /// "As an additional cost to cast this spell" (601.2b, 601.2f). More than one entry: the player
    /// chooses one of them.
    AdditionalCost(Vec<Cost>),
    /// "You may [cost] rather than pay this spell's mana cost."
    AlternativeCost {
        cost: Cost,
        condition: Option<Condition>,
    },
    /// Costs of casting: of this spell (from every zone) or, while on the battlefield, of others.
    CostChange(Box<CostChange>),
    /// "Cast this spell only ..." or "This spell can't be countered" and the like.
    CastRestriction(Condition),
    /// "Spend only black mana on X."
    XColor(Color),
    CantBeCountered,
    /// "If this card is in your opening hand, you may begin the game with it on the battlefield" (103.6a).
    BeginsInPlay,
}

/// Targets, instructions and modes of a spell or ability.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Body {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetSpec>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Instruction>,
    /// With modes, the targets of chosen modes follow those of the body, in the order of the modes.
    /// A mode's own slots count from 0: `Target(0)` inside a mode is the mode's first target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<Modes>,
}

/// "Choose one —" (700.2).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Modes {
    pub min: u8,
    pub max: u8,
    /// "You may choose the same mode more than once."
    #[serde(default)]
    pub repeat: bool,
    pub choices: Vec<Mode>,
}

/// One bullet of a modal spell or ability.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Mode {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetSpec>,
    pub effects: Vec<Instruction>,
}

/// One instance of the word "target" (115.1).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TargetSpec {
    /// Which objects and players; a player matches only filters that name players
    /// (`Filter::Player`, `Filter::Opponent`, `Filter::Is`).
    pub filter: Filter,
    #[serde(default = "TargetSpec::battlefield")]
    pub zone: Zone,
    #[serde(default = "TargetSpec::one")]
    pub min: u8,
    /// `Amount` for "X target creatures"; the minimum is then `min` or, with `exact`, the maximum.
    #[serde(default = "TargetSpec::one_amount")]
    pub max: Amount,
    #[serde(default)]
    pub exact: bool,
    /// "Divided as you choose among" the targets (601.2d): the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub divided: Option<Amount>,
    /// "Another target": not the same as a target of these earlier slots (115.3 allows it otherwise).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distinct_from: Vec<Slot>,
}

impl TargetSpec {
    fn battlefield() -> Zone {
        Zone::Battlefield
    }

    fn one() -> u8 {
        1
    }

    fn one_amount() -> Amount {
        Amount::Fixed(1)
    }

    /// Exactly one target on the battlefield (or a player).
    #[must_use]
    pub fn single(filter: Filter) -> Self {
        Self {
            filter,
            zone: Zone::Battlefield,
            min: 1,
            max: Amount::Fixed(1),
            exact: false,
            divided: None,
            distinct_from: Vec::new(),
        }
    }
}

/// Activated ability (602).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ActivatedAbility {
    pub cost: Cost,
    pub body: Body,
    /// "Activate only as a sorcery"; loyalty abilities always.
    #[serde(default)]
    pub sorcery_speed: bool,
    /// "Activate only if/during".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// "Activate only once each turn": the number of times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_turn: Option<u8>,
    /// Zone from which it is activated.
    #[serde(default = "TargetSpec::battlefield")]
    pub zone: Zone,
    /// "Any player may activate this ability."
    #[serde(default)]
    pub any_player: bool,
    /// Printed text, to name the ability ("Equip {1}", "+1").
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

impl ActivatedAbility {
    /// Whether the ability is a mana ability (605.1a): no target, no loyalty cost, could add mana.
    #[must_use]
    pub fn is_mana_ability(&self) -> bool {
        self.body.targets.is_empty()
            && self.body.modes.is_none()
            && !self.cost.is_loyalty()
            && self
                .body
                .effects
                .iter()
                .any(|instruction| matches!(instruction.effect, Effect::AddMana { .. }))
    }
}

impl TriggeredAbility {
    /// Whether the ability is a triggered mana ability (605.1b): no target, triggers when a permanent is
    /// tapped for mana, adds mana and does nothing else.
    #[must_use]
    pub fn is_mana_ability(&self) -> bool {
        let is_tapping = |event: &EventPattern| matches!(event, EventPattern::TappedForMana { .. });
        let adds_mana = |instruction: &Instruction| matches!(instruction.effect, Effect::AddMana { .. });
        !self.events.is_empty()
            && self.events.iter().all(is_tapping)
            && self.body.targets.is_empty()
            && self.body.modes.is_none()
            && !self.body.effects.is_empty()
            && self.body.effects.iter().all(adds_mana)
    }
}

/// Triggered ability (603).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TriggeredAbility {
    /// It triggers on any of these.
    pub events: Vec<EventPattern>,
    /// "One or more ...": once for all events that happen at the same time.
    #[serde(default)]
    pub batch: bool,
    /// Intervening "if" (603.4): checked on triggering and again on resolution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    pub body: Body,
    /// "This ability triggers only once each turn."
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_turn: Option<u8>,
    /// Zone in which it works; `None` is the battlefield (and the look back from there).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<Zone>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}
