//! Verbs: what a spell or ability does, instruction by instruction.

use super::{
    Ability, Amount, Body, Change, Condition, Cost, CounterKind, Filter, ObjectMark, PlayerRule, Replacement,
    Selector, Slot, TriggeredAbility, TurnStep, Zone,
};
use crate::card::{CardFace, ManaKind};
use serde::{Deserialize, Serialize};

/// One instruction. `bind` keeps what it affected (objects in their new zones, or players) and the
/// amount that really happened for later instructions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instruction {
    pub effect: Effect,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bind: Option<Slot>,
}

impl From<Effect> for Instruction {
    fn from(effect: Effect) -> Self {
        Self { effect, bind: None }
    }
}

impl Effect {
    /// The instruction that binds its result to a slot.
    #[must_use]
    pub fn bind(self, slot: Slot) -> Instruction {
        Instruction { effect: self, bind: Some(slot) }
    }
}

/// Verb with its objects.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    // Control flow.
    If {
        condition: Condition,
        then: Vec<Instruction>,
        otherwise: Vec<Instruction>,
    },
    /// `who` may have the instructions happen.
    May {
        who: Selector,
        then: Vec<Instruction>,
        otherwise: Vec<Instruction>,
    },
    /// `who` may pay; "unless" has its instructions in `otherwise`.
    MayPay {
        who: Selector,
        cost: Cost,
        then: Vec<Instruction>,
        otherwise: Vec<Instruction>,
    },
    /// The instructions once for each; `Selector::Iterated` is the current one.
    ForEach {
        over: Selector,
        then: Vec<Instruction>,
    },
    Repeat {
        times: Amount,
        then: Vec<Instruction>,
    },
    /// The instructions as long as the condition holds, which is checked before each time.
    While {
        condition: Condition,
        then: Vec<Instruction>,
    },
    /// Choice on resolution between sets of instructions (not modes: nothing is announced).
    ChooseOne {
        who: Selector,
        options: Vec<Vec<Instruction>>,
    },
    /// Binds objects without doing anything to them: a choice on resolution, "those creatures".
    Select {
        what: Selector,
    },
    /// Binds a number.
    Compute {
        amount: Amount,
    },

    // Damage and life.
    DealDamage {
        source: Selector,
        amount: Amount,
        to: Selector,
    },
    /// Damage divided as announced for the target slot.
    DealDividedDamage {
        source: Selector,
        slot: Slot,
    },
    GainLife {
        who: Selector,
        amount: Amount,
    },
    LoseLife {
        who: Selector,
        amount: Amount,
    },
    SetLife {
        who: Selector,
        amount: Amount,
    },
    ExchangeLife {
        first: Selector,
        second: Selector,
    },
    /// Each object of the first deals damage equal to its power to the other and back (701.14).
    Fight {
        first: Selector,
        second: Selector,
    },

    // Cards.
    Draw {
        who: Selector,
        amount: Amount,
    },
    /// The player chooses; with `random`, chance does. `chooser` if another player chooses.
    Discard {
        who: Selector,
        amount: Amount,
        filter: Filter,
        random: bool,
        chooser: Option<Selector>,
    },
    DiscardHand {
        who: Selector,
    },
    DiscardCards {
        what: Selector,
    },
    Mill {
        who: Selector,
        amount: Amount,
    },
    Scry {
        who: Selector,
        amount: Amount,
    },
    Surveil {
        who: Selector,
        amount: Amount,
    },
    /// `who` looks at the top cards, takes `min..=max` that match to `to`, the rest goes to `rest`.
    LookAtTop {
        who: Selector,
        amount: Amount,
        reveal: bool,
        filter: Filter,
        min: Amount,
        max: Amount,
        to: Destination,
        rest: RestOfCards,
    },
    /// Reveals from the top until a card matches; it goes to `to`, the others to `rest`.
    RevealUntil {
        who: Selector,
        filter: Filter,
        to: Destination,
        rest: RestOfCards,
    },
    /// Searches the library of `library` (`who` chooses), moves and shuffles (701.19).
    Search {
        who: Selector,
        library: Selector,
        filter: Filter,
        min: Amount,
        max: Amount,
        reveal: bool,
        to: Destination,
        /// Shuffle first, then put on top.
        shuffle_before: bool,
    },
    Shuffle {
        who: Selector,
    },
    /// Shuffles objects into their owners' libraries.
    ShuffleInto {
        what: Selector,
    },
    Reveal {
        what: Selector,
    },
    RevealHand {
        who: Selector,
    },
    LookAtHand {
        who: Selector,
    },

    // Permanents.
    Destroy {
        what: Selector,
        regenerate: bool,
    },
    Exile {
        what: Selector,
    },
    /// Exile until the source leaves the battlefield (610.3).
    ExileUntilLeaves {
        what: Selector,
    },
    /// Exile with a link to the source, whose other ability names "the exiled card" (607.2a).
    ExileLinked {
        what: Selector,
    },
    /// Moves objects ("return to hand", "put onto the battlefield").
    Move {
        what: Selector,
        to: Destination,
    },
    /// Players choose and sacrifice.
    Sacrifice {
        who: Selector,
        filter: Filter,
        amount: Amount,
    },
    SacrificeObjects {
        what: Selector,
    },
    Tap {
        what: Selector,
    },
    Untap {
        what: Selector,
    },
    PutCounters {
        what: Selector,
        kind: CounterKind,
        amount: Amount,
    },
    RemoveCounters {
        what: Selector,
        kind: Option<CounterKind>,
        amount: Amount,
    },
    MoveCounters {
        from: Selector,
        to: Selector,
        kind: Option<CounterKind>,
        amount: Amount,
    },
    Proliferate {
        who: Selector,
    },
    /// `+1/+1` counters on creatures divided as announced for the target slot.
    PutDividedCounters {
        kind: CounterKind,
        slot: Slot,
    },
    CreateToken {
        who: Selector,
        token: Box<TokenSpec>,
        amount: Amount,
    },
    CopyToken {
        who: Selector,
        of: Selector,
        amount: Amount,
        except: Vec<Change>,
        tapped: bool,
    },
    Attach {
        what: Selector,
        to: Selector,
    },
    Unattach {
        what: Selector,
    },
    RemoveFromCombat {
        what: Selector,
    },
    Regenerate {
        what: Selector,
    },
    Mark {
        what: Selector,
        mark: ObjectMark,
    },
    Transform {
        what: Selector,
    },
    /// Reveals the top card: a land goes to hand, otherwise a counter and a choice (701.44).
    Explore {
        what: Selector,
    },
    Goad {
        what: Selector,
    },

    // Spells.
    Counter {
        what: Selector,
        to: Option<Destination>,
    },
    CopySpell {
        what: Selector,
        amount: Amount,
        new_targets: bool,
    },
    /// New targets; with `must`, others than before where there are some (115.7a).
    ChangeTargets {
        what: Selector,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        must: bool,
    },
    /// `who` may cast the cards, without paying if `free`, now; for `cost` rather than the mana cost.
    CastNow {
        who: Selector,
        what: Selector,
        free: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Box<Cost>>,
    },
    AllowPlay {
        who: Selector,
        what: Selector,
        permission: PlayPermission,
        until: Duration,
    },

    // Continuous effects.
    /// The affected objects are fixed on resolution (611.2c).
    Continuous {
        affected: Selector,
        changes: Vec<Change>,
        until: Duration,
    },
    PlayerRule {
        who: Selector,
        rule: PlayerRule,
        until: Duration,
    },
    AddReplacement {
        replacement: Box<Replacement>,
        until: Duration,
    },
    /// Trigger that waits (603.7); with `once`, for one event.
    DelayedTrigger {
        trigger: Box<TriggeredAbility>,
        once: bool,
        until: Duration,
    },
    /// "When you do" (603.12).
    ReflexiveTrigger {
        body: Box<Body>,
    },
    Emblem {
        who: Selector,
        abilities: Vec<Ability>,
    },
    Choose {
        who: Selector,
        kind: ChoiceKind,
    },

    // Mana, turns, the game.
    AddMana {
        who: Selector,
        mana: ManaOutput,
        /// What the mana may be spent on; `None` is anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<ManaUse>,
    },
    ExtraTurn {
        who: Selector,
    },
    ExtraCombat {
        with_main: bool,
    },
    SkipNext {
        who: Selector,
        step: TurnStep,
    },
    EndTurn,
    WinGame {
        who: Selector,
    },
    LoseGame {
        who: Selector,
    },
    DrawGame,
    FlipCoin {
        who: Selector,
        win: Vec<Instruction>,
        lose: Vec<Instruction>,
    },
    RollDie {
        sides: u8,
    },
}

/// Where an object goes and how.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Destination {
    pub zone: Zone,
    #[serde(default)]
    pub position: LibraryPosition,
    /// Under whose control; `None` is the owner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Selector>,
    #[serde(default)]
    pub tapped: bool,
    #[serde(default)]
    pub attacking: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<(CounterKind, Amount)>,
    /// Enters attached to this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached_to: Option<Selector>,
}

impl Destination {
    #[must_use]
    pub fn zone(zone: Zone) -> Self {
        Self {
            zone,
            position: LibraryPosition::Top,
            controller: None,
            tapped: false,
            attacking: false,
            counters: Vec::new(),
            attached_to: None,
        }
    }

    /// The battlefield under the control of the ability's controller.
    #[must_use]
    pub fn battlefield() -> Self {
        Self { controller: Some(Selector::You), ..Self::zone(Zone::Battlefield) }
    }
}

/// Place in a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LibraryPosition {
    #[default]
    Top,
    Bottom,
    /// Number of cards above it.
    Below(u8),
}

/// What happens to cards that were looked at and not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestOfCards {
    BottomRandom,
    BottomAnyOrder,
    TopAnyOrder,
    Graveyard,
    Hand,
    Exile,
    Shuffle,
}

/// How long an effect lasts (611.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duration {
    EndOfTurn,
    EndOfCombat,
    YourNextTurn,
    /// Until the end of the controller's next turn.
    EndOfYourNextTurn,
    /// During the next turn of the player whom a rule affects, and not before.
    TheirNextTurn,
    /// During the affected controller's next untap step ("doesn't untap during its next untap step").
    NextUntap,
    /// As long as the source is on the battlefield.
    WhileSource,
    /// As long as the ability's controller controls the source.
    WhileYouControlSource,
    WhileSourceTapped,
    Forever,
}

/// What a choice on resolution or on entering is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceKind {
    Color,
    CreatureType,
    BasicLandType,
    CardName,
    Player,
    Opponent,
    Number { min: u8, max: u8 },
    CardType,
}

/// Mana that an ability adds (106).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ManaOutput {
    Fixed(Vec<ManaKind>),
    /// One of these, as often as the amount.
    OneOf {
        kinds: Vec<ManaKind>,
        amount: Amount,
    },
    /// One mana of any colour each; with `same`, all of one colour.
    AnyColor {
        amount: Amount,
        same: bool,
    },
    /// Combination in any colours of these kinds.
    Combination {
        kinds: Vec<ManaKind>,
        amount: Amount,
    },
    ChosenColor(Amount),
    /// Any type or colour that these lands could produce.
    LikeLands {
        filter: Filter,
        color_only: bool,
    },
    /// A colour among these permanents.
    ColorAmong(Selector),
}

/// What restricted mana may be spent on (106.6): spells, abilities of sources, or both.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct ManaUse {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spells: Option<Filter>,
    /// Sources whose abilities may be activated with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abilities: Option<Filter>,
}

/// Conditions of playing a card that an effect allows to play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlayPermission {
    Normal,
    Free,
    AnyMana,
    /// As with flashback for its mana cost (702.34a).
    Flashback,
}

/// Token to create (111).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TokenSpec {
    pub face: CardFace,
    /// Power and toughness "X/X, where X is"; overrides the face.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Amount>,
    #[serde(default)]
    pub tapped: bool,
    #[serde(default)]
    pub attacking: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<(CounterKind, Amount)>,
    /// Sacrificed or exiled later: a delayed trigger is created by an instruction, not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached_to: Option<Selector>,
}
