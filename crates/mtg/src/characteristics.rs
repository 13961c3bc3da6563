//! Characteristics of an object at one moment (109.3), as the layers compute them.

use crate::ability::{Ability, EventPattern, Filter, Keyword, KeywordAbility, KeywordSet, Restriction};
use crate::card::{CardFace, CardType, ColorSet, Subtype, SubtypeKind, SupertypeSet, TypeSet};
use crate::faces::land_mana;
use crate::ids::{AbilityRef, FaceId, ObjectId, PlayerId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Restriction without a parameter, as a bit of [`Characteristics::rules`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum RuleFlag {
    CantAttack = 1,
    CantBlock = 1 << 1,
    CantAttackAlone = 1 << 2,
    CantBlockAlone = 1 << 3,
    CantBeBlocked = 1 << 4,
    MustAttack = 1 << 5,
    MustBlock = 1 << 6,
    MustBeBlockedByAll = 1 << 7,
    MustBeBlocked = 1 << 8,
    AttacksDespiteDefender = 1 << 9,
    DoesntUntap = 1 << 10,
    CantBeCountered = 1 << 11,
    CantBeSacrificed = 1 << 12,
    CantBeRegenerated = 1 << 13,
    CantHaveCounters = 1 << 14,
    CantActivate = 1 << 15,
    DamageByToughness = 1 << 16,
    DamageAsUnblocked = 1 << 17,
    DealsNoCombatDamage = 1 << 18,
    AttacksAsThoughHaste = 1 << 19,
    CantBeEnchanted = 1 << 20,
    CantBeEquipped = 1 << 21,
    BlocksAsFlying = 1 << 22,
    LegendRuleOff = 1 << 23,
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
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// Kind of ability, to skip objects without one quickly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum AbilityClass {
    Mana = 1,
    Activated = 1 << 1,
    Static = 1 << 2,
    Replacement = 1 << 3,
    PlayerRule = 1 << 4,
    CostChange = 1 << 5,
    Protection = 1 << 6,
    Characteristic = 1 << 7,
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
                    self.classes |= AbilityClass::Mana as u16;
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
                self.classes |= class as u16;
            }
            Ability::Triggered(triggered) => {
                for pattern in &triggered.events {
                    self.triggers |= trigger_bit(pattern);
                }
            }
            Ability::Static(_) => self.classes |= AbilityClass::Static as u16,
            Ability::Replacement(_) => self.classes |= AbilityClass::Replacement as u16,
            Ability::PlayerRule { .. } => self.classes |= AbilityClass::PlayerRule as u16,
            Ability::CostChange(_) => self.classes |= AbilityClass::CostChange as u16,
            Ability::Characteristic(_) => self.classes |= AbilityClass::Characteristic as u16,
            Ability::KeywordAbility(keyword) => {
                if matches!(
                    **keyword,
                    KeywordAbility::Protection(_)
                        | KeywordAbility::HexproofFrom(_)
                        | KeywordAbility::Landwalk(_)
                        | KeywordAbility::Toxic(_)
                        | KeywordAbility::Absorb(_)
                ) {
                    self.classes |= AbilityClass::Protection as u16;
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
        self.classes & class as u16 != 0
    }

    #[must_use]
    pub fn has_rule(&self, rule: RuleFlag) -> bool {
        self.rules & rule as u32 != 0
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
        EventPattern::CountersPut { .. } => 16,
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
