//! Continuous effects by layer (613), restrictions, rules for players, changes of costs.

use super::{Ability, Amount, Condition, Cost, Filter, Keyword, Selector, Zone};
use crate::card::{CardType, Color, ColorSet, ManaCost, Subtype, Supertype};
use crate::ids::FaceId;
use serde::{Deserialize, Serialize};

/// Continuous effect of a static ability.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StaticAbility {
    /// Objects affected; usually `Selector::All` on the battlefield, `This` or `Attached`.
    pub affected: Selector,
    pub changes: Vec<Change>,
    /// "As long as".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// Zone from which it works; `None` is the battlefield.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<Zone>,
}

/// Change of an object's characteristics or of the rules for it. The layer follows from the variant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Layer 1: copiable values of another object.
    CopyOf {
        of: Selector,
        except: Vec<Change>,
    },
    /// Layer 2.
    Control(Selector),
    /// Layer 4.
    AddTypes(Vec<CardType>),
    RemoveTypes(Vec<CardType>),
    /// Only these card types remain.
    SetTypes(Vec<CardType>),
    AddSubtypes(Vec<Subtype>),
    /// Replaces subtypes of the same kind: creature types by creature types (205.1a).
    SetSubtypes(Vec<Subtype>),
    RemoveSubtypes(Vec<Subtype>),
    /// Becomes these basic land types and loses its other land types and abilities (305.7).
    SetLandTypes(Vec<Subtype>),
    AllCreatureTypes,
    AddSupertype(Supertype),
    RemoveSupertype(Supertype),
    /// The creature type chosen for the source.
    AddChosenType,
    /// Layer 5.
    SetColors(ColorSet),
    AddColors(ColorSet),
    SetChosenColor,
    /// Layer 6.
    AddKeyword(Keyword),
    RemoveKeyword(Keyword),
    AddAbility(Box<Ability>),
    LoseAllAbilities,
    /// Protection from the colour chosen for the source or on resolution.
    ProtectionFromChosenColor,
    /// Layer 7a: characteristic-defining power and toughness.
    DefinePower(Amount),
    DefineToughness(Amount),
    /// Layer 7b.
    SetPower(Amount),
    SetToughness(Amount),
    /// Layer 7c.
    Modify {
        power: Amount,
        toughness: Amount,
    },
    /// Layer 7d.
    SwitchPowerToughness,
    /// Name (layer 3 in effect; used by copies with exceptions).
    SetName(String),
    Restriction(Restriction),
    /// Only as an exception of a copy (702.128a).
    NoManaCost,
    /// Only as an exception of a copy: it also has the ability that resolves.
    KeepThisAbility,
    /// Layer 1, only in effects that have begun: copiable values that are fixed (707.2c).
    ShowFace(FaceId),
    /// Layer 1b: a 2/2 creature without name, text, subtypes and mana cost (708.2).
    TurnFaceDown,
    /// Only in effects that have begun: the face of such a creature.
    ShowFaceDown(FaceId),
    /// Layer 4: only the creature type chosen for the source.
    SetChosenType,
}

/// What an object cannot or must do.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restriction {
    CantAttack,
    CantBlock,
    /// Cannot attack players or planeswalkers that match (the filter of a player holds for their
    /// planeswalkers too).
    CantAttackDefender(Filter),
    CantAttackAlone,
    CantBlockAlone,
    CantBeBlocked,
    CantBeBlockedBy(Filter),
    CantBeBlockedExceptBy(Filter),
    /// At least this many blockers.
    MinBlockers(u8),
    MaxBlockers(u8),
    CanBlockOnly(Filter),
    CantBlockThat(Filter),
    /// Additional creatures it can block; 255 is any number.
    BlocksAdditional(u8),
    MustAttack,
    MustBlock,
    /// All creatures able to block it do so.
    MustBeBlockedByAll,
    /// At least one creature blocks it if able.
    MustBeBlocked,
    /// The attack costs this for each attacker with this restriction.
    AttackCost(Cost),
    AttacksDespiteDefender,
    BlocksAsFlying,
    DoesntUntap,
    DoesntUntapNext,
    CantBeTargeted(Filter),
    CantBeCountered,
    CantBeSacrificed,
    CantBeRegenerated,
    CantHaveCounters,
    CantActivate,
    /// Combat damage by toughness.
    DamageByToughness,
    /// Assigns combat damage as though it were not blocked.
    DamageAsUnblocked,
    DealsNoCombatDamage,
    AttacksAsThoughHaste,
    CantTransform,
    CantBeEnchanted,
    CantBeEquipped,
    EntersTapped,
    CantLeaveCombat,
    LegendRuleOff,
    /// Damage that the object deals cannot be prevented (615.12).
    DamageCantBePrevented,
}

/// Rule for players.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlayerRule {
    AdditionalLands(u8),
    NoMaximumHandSize,
    MaximumHandSize(Amount),
    CantGainLife,
    CantLoseLife,
    CantLose,
    CantWin,
    CantCast(Filter),
    CantActivate(Filter),
    CantDrawMoreThan(u8),
    MaxSpellsPerTurn(u8),
    Hexproof,
    Shroud,
    Protection(Filter),
    /// Spells that match may be cast as though they had flash.
    Flash(Filter),
    /// Cards that match may be played from this zone (top card only for the library).
    PlayFrom {
        zone: Zone,
        filter: Filter,
    },
    /// Looks at, or everyone sees, the top card of the library.
    SeeTopCard {
        revealed: bool,
    },
    SkipStep(super::TurnStep),
    /// Mana of these permanents does not empty, or counts as any colour.
    SpendManaAsAnyColor,
    KeepMana(Color),
    DamageCantBePrevented,
    CantSearch,
    /// Creatures entering do not cause abilities to trigger.
    NoEnterTriggers,
    /// Abilities of the player's permanents that trigger because such an object enters trigger once more.
    ExtraEnterTriggers(Filter),
    /// No more creatures than this can attack, or block, each combat.
    MaxAttackers(u8),
    MaxBlockers(u8),
    /// No more creatures than this can attack the player each combat.
    MaxAttackersHere(u8),
    /// Damage from sources that match would be dealt as life loss and so on.
    HandRevealed,
    /// Whatever matches is restricted, also what enters later (611.2c).
    Restricts(Filter, Restriction),
    /// The player does not lose for having 0 or less life.
    LivesWithoutLife,
    /// All damage is dealt to the player as though its source had infect.
    DamageAsInfect,
}

/// Change of the cost of spells or abilities (601.2f).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CostChange {
    /// Spells, seen from the source; `Filter::This` for its own cost.
    pub spells: Filter,
    /// Whose spells.
    pub who: Filter,
    pub change: CostChangeAmount,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// The change is for activated abilities of matching sources instead of spells.
    #[serde(default)]
    pub abilities: bool,
}

/// How much more or less.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostChangeAmount {
    More(Amount),
    Less(Amount),
    MoreMana(ManaCost),
    LessMana(ManaCost),
    /// The spell costs nothing.
    Free,
}
