//! Characteristics of an object at one moment (109.3), as the layers compute them.

use crate::ability::{Ability, EventPattern, Filter, Keyword, KeywordAbility, KeywordSet, Restriction};
use crate::card::{CardFace, CardType, ColorSet, Subtype, SubtypeKind, SupertypeSet, TypeSet};
use crate::faces::land_mana;
use crate::ids::{AbilityRef, FaceId, ObjectId, PlayerId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Restriction without a parameter, as a bit of [`Characteristics::rules`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleFlag {
    CantAttack,
    CantBlock,
    CantAttackAlone,
    CantBlockAlone,
    CantBeBlocked,
    MustAttack,
    MustBlock,
    MustBeBlockedByAll,
    MustBeBlocked,
    AttacksDespiteDefender,
    DoesntUntap,
    CantBeCountered,
    CantBeSacrificed,
    CantBeRegenerated,
    CantHaveCounters,
    CantActivate,
    DamageByToughness,
    DamageAsUnblocked,
    DealsNoCombatDamage,
    AttacksAsThoughHaste,
    CantBeEnchanted,
    CantBeEquipped,
    BlocksAsFlying,
    LegendRuleOff,
    DamageCantBePrevented,
}

impl RuleFlag {
    #[must_use]
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Where a restriction with a parameter is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestrictionRef {
    /// Static ability of a permanent: source, face, ability, change.
    Static(ObjectId, FaceId, u8, u8),
    /// Resolved effect: number of the effect, change.
    Effect(u32, u8),
}

/// Characteristics and controller of an object.
#[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Characteristics {
    /// Face whose name and mana cost the object has.
    pub face: FaceId,
    pub controller: PlayerId,
    pub colors: ColorSet,
    pub types: TypeSet,
    pub supertypes: SupertypeSet,
    pub subtypes: SmallVec<[Subtype; 4]>,
    pub all_creature_types: bool,
    pub power: i32,
    pub toughness: i32,
    pub keywords: KeywordSet,
    pub abilities: SmallVec<[AbilityRef; 6]>,
    pub restrictions: SmallVec<[RestrictionRef; 2]>,
    /// Bits of [`RuleFlag`].
    pub rules: u32,
    /// Bits of [`trigger_bit`] of its triggered abilities.
    pub triggers: u64,
    /// Which kinds of ability it has; bits of [`AbilityClass`].
    pub classes: u16,
}

impl Clone for Characteristics {
    // A derived clone would copy the lists element by element; every projection copies one of these
    // for each permanent.
    fn clone(&self) -> Self {
        Self {
            subtypes: SmallVec::from_slice(&self.subtypes),
            abilities: SmallVec::from_slice(&self.abilities),
            restrictions: SmallVec::from_slice(&self.restrictions),
            ..*self
        }
    }
}

/// Kind of ability, to skip objects without one quickly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbilityClass {
    Mana,
    Activated,
    Static,
    Replacement,
    PlayerRule,
    CostChange,
    Protection,
    Characteristic,
}

impl AbilityClass {
    #[must_use]
    pub const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl Characteristics {
    /// Printed characteristics without abilities.
    #[must_use]
    pub fn from_face(id: FaceId, face: &CardFace, controller: PlayerId) -> Self {
        let mut own = Self {
            face: id,
            controller,
            colors: face.colors,
            types: face.types,
            supertypes: face.supertypes,
            subtypes: face.subtypes.iter().copied().collect(),
            all_creature_types: false,
            power: face.power.unwrap_or(0),
            toughness: face.toughness.unwrap_or(0),
            keywords: KeywordSet::EMPTY,
            abilities: SmallVec::new(),
            restrictions: SmallVec::new(),
            rules: 0,
            triggers: 0,
            classes: 0,
        };
        own.add_land_abilities();
        own
    }

    /// Mana abilities of basic land types (305.6).
    pub(crate) fn add_land_abilities(&mut self) {
        if self.types.contains(CardType::Land) {
            for subtype in &self.subtypes {
                if let Some(color) = land_mana(*subtype) {
                    self.abilities.push(AbilityRef::Land(color));
                    self.classes |= AbilityClass::Mana.bit();
                }
            }
        }
    }

    /// Keeps the summary bits up to date with a new ability.
    pub(crate) fn note_ability(&mut self, ability: &Ability) {
        match ability {
            Ability::Keyword(keyword) => self.note_keyword(*keyword),
            Ability::Activated(activated) => {
                let class =
                    if activated.is_mana_ability() { AbilityClass::Mana } else { AbilityClass::Activated };
                self.classes |= class.bit();
            }
            Ability::Triggered(triggered) => {
                for pattern in &triggered.events {
                    self.triggers |= trigger_bit(pattern);
                }
            }
            Ability::Static(_) => self.classes |= AbilityClass::Static.bit(),
            Ability::Replacement(_) => self.classes |= AbilityClass::Replacement.bit(),
            Ability::PlayerRule { .. } => self.classes |= AbilityClass::PlayerRule.bit(),
            Ability::CostChange(_) => self.classes |= AbilityClass::CostChange.bit(),
            Ability::Characteristic(_) => self.classes |= AbilityClass::Characteristic.bit(),
            Ability::KeywordAbility(keyword) => {
                if matches!(
                    **keyword,
                    KeywordAbility::Protection(_)
                        | KeywordAbility::HexproofFrom(_)
                        | KeywordAbility::Landwalk(_)
                        | KeywordAbility::Toxic(_)
                        | KeywordAbility::Absorb(_)
                ) {
                    self.classes |= AbilityClass::Protection.bit();
                }
            }
            _ => {}
        }
    }

    fn note_keyword(&mut self, keyword: Keyword) {
        self.keywords.insert(keyword);
        match keyword {
            Keyword::Changeling => self.all_creature_types = true,
            Keyword::Devoid => self.colors = ColorSet::EMPTY,
            _ => {}
        }
    }

    pub(crate) fn clear_abilities(&mut self) {
        self.abilities.clear();
        self.keywords = KeywordSet::EMPTY;
        self.triggers = 0;
        self.classes = 0;
    }

    #[must_use]
    pub fn has(&self, keyword: Keyword) -> bool {
        self.keywords.contains(keyword)
    }

    #[must_use]
    pub fn is(&self, card_type: CardType) -> bool {
        self.types.contains(card_type)
    }

    #[must_use]
    pub fn is_creature(&self) -> bool {
        self.types.contains(CardType::Creature)
    }

    #[must_use]
    pub fn has_subtype(&self, subtype: Subtype) -> bool {
        self.subtypes.contains(&subtype)
            || (self.all_creature_types && subtype.kind() == SubtypeKind::Creature)
    }

    #[must_use]
    pub fn has_class(&self, class: AbilityClass) -> bool {
        self.classes & class.bit() != 0
    }

    #[must_use]
    pub fn has_rule(&self, rule: RuleFlag) -> bool {
        self.rules & rule.bit() != 0
    }
}

/// Bit of a restriction that has no parameter.
#[must_use]
pub fn rule_flag(restriction: &Restriction) -> Option<RuleFlag> {
    Some(match restriction {
        Restriction::CantAttack => RuleFlag::CantAttack,
        Restriction::CantBlock => RuleFlag::CantBlock,
        Restriction::CantAttackAlone => RuleFlag::CantAttackAlone,
        Restriction::CantBlockAlone => RuleFlag::CantBlockAlone,
        Restriction::CantBeBlocked => RuleFlag::CantBeBlocked,
        Restriction::MustAttack => RuleFlag::MustAttack,
        Restriction::MustBlock => RuleFlag::MustBlock,
        Restriction::MustBeBlockedByAll => RuleFlag::MustBeBlockedByAll,
        Restriction::MustBeBlocked => RuleFlag::MustBeBlocked,
        Restriction::AttacksDespiteDefender => RuleFlag::AttacksDespiteDefender,
        Restriction::DoesntUntap | Restriction::DoesntUntapNext => RuleFlag::DoesntUntap,
        Restriction::CantBeCountered => RuleFlag::CantBeCountered,
        Restriction::CantBeSacrificed => RuleFlag::CantBeSacrificed,
        Restriction::CantBeRegenerated => RuleFlag::CantBeRegenerated,
        Restriction::CantHaveCounters => RuleFlag::CantHaveCounters,
        Restriction::CantActivate => RuleFlag::CantActivate,
        Restriction::DamageByToughness => RuleFlag::DamageByToughness,
        Restriction::DamageAsUnblocked => RuleFlag::DamageAsUnblocked,
        Restriction::DealsNoCombatDamage => RuleFlag::DealsNoCombatDamage,
        Restriction::AttacksAsThoughHaste => RuleFlag::AttacksAsThoughHaste,
        Restriction::CantBeEnchanted => RuleFlag::CantBeEnchanted,
        Restriction::CantBeEquipped => RuleFlag::CantBeEquipped,
        Restriction::BlocksAsFlying => RuleFlag::BlocksAsFlying,
        Restriction::LegendRuleOff => RuleFlag::LegendRuleOff,
        Restriction::DamageCantBePrevented => RuleFlag::DamageCantBePrevented,
        _ => return None,
    })
}

/// Bit of the kind of event that a pattern waits for.
#[must_use]
pub fn trigger_bit(pattern: &EventPattern) -> u64 {
    let number = match pattern {
        EventPattern::ZoneChange { .. } => 0,
        EventPattern::Damage { .. } => 1,
        EventPattern::Attacks { .. } | EventPattern::AttacksWith { .. } => 2,
        EventPattern::Blocks { .. }
        | EventPattern::BecomesBlocked { .. }
        | EventPattern::AttacksUnblocked { .. } => 3,
        EventPattern::Cast { .. } | EventPattern::CastThis => 4,
        EventPattern::CopySpell { .. } => 5,
        EventPattern::Activates { .. } => 6,
        EventPattern::PlayLand { .. } => 7,
        EventPattern::Draw { .. } => 8,
        EventPattern::Discard { .. }
        | EventPattern::DiscardedByOpponent { .. }
        | EventPattern::Cycle { .. } => 9,
        EventPattern::GainLife { .. } => 10,
        EventPattern::LoseLife { .. } => 11,
        EventPattern::Sacrifice { .. } => 12,
        EventPattern::Tapped { .. } => 13,
        EventPattern::Untapped { .. } => 14,
        EventPattern::TappedForMana { .. } => 15,
        EventPattern::CountersPut { .. } | EventPattern::Chapter(_) => 16,
        EventPattern::LastCounterRemoved { .. } => 17,
        EventPattern::BecomesTarget { .. } => 18,
        EventPattern::Attached { .. } => 19,
        EventPattern::Step { .. } => 20,
        EventPattern::Scry { .. } | EventPattern::Surveil { .. } => 21,
        EventPattern::Search { .. } | EventPattern::Shuffle { .. } => 22,
        EventPattern::TokenCreated { .. } => 23,
        EventPattern::Transforms { .. } | EventPattern::BecomesMarked { .. } => 24,
        EventPattern::PlayerLoses { .. } => 25,
        EventPattern::Fights { .. } => 26,
        EventPattern::Mill { .. } => 27,
        EventPattern::ControlChanges { .. } => 28,
        EventPattern::State(_) => 29,
    };
    1 << number
}

/// Whether a filter names players at all.
#[must_use]
pub fn names_players(filter: &Filter) -> bool {
    match filter {
        Filter::Player | Filter::Opponent | Filter::Is(_) => true,
        Filter::All(parts) | Filter::AnyOf(parts) => parts.iter().any(names_players),
        Filter::Not(part) => names_players(part),
        _ => false,
    }
}
