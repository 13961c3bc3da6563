//! Questions to players and their answers.

use crate::action::Action;
use crate::card::{Color, Subtype};
use crate::ids::{Entity, ObjectId, PlayerId};
use serde::{Deserialize, Serialize};

/// What a question is about. The name in JSON is the kind that clients match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// The player has priority; the answer is an action.
    Priority,
    PlayOrDraw,
    Mulligan,
    Bottom,
    DeclareAttackers,
    DeclareBlockers,
    DamageAssignment,
    TriggerOrder,
    TriggerModes,
    TriggerTargets,
    /// "You may".
    May,
    /// Ward and other "unless they pay".
    PayWard,
    PayCost,
    Discard,
    Sacrifice,
    Choose,
    ChooseOption,
    Color,
    CreatureType,
    BasicLandType,
    Player,
    Number,
    Search,
    LookAtTop,
    /// Which cards go to the bottom; the rest stays on top.
    Scry,
    ScryOrder,
    Surveil,
    OrderCards,
    LegendRule,
    ReplacementOrder,
    Copy,
    NewTargets,
    Explore,
    CastNow,
    Division,
}

/// One thing that can be answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choosable {
    Entity(Entity),
    Label(OptionLabel),
    Color(Color),
    Subtype(Subtype),
    Number(i32),
    /// Several targets at once are chosen slot by slot; this is a mode or trigger by its position.
    Index(u8),
}

/// Options that are words; they say what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionLabel {
    Keep,
    Mulligan,
    PlayFirst,
    DrawFirst,
    Accept,
    Decline,
    Pay,
    DoNotPay,
}

/// Question to a player.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Decision {
    pub number: u32,
    pub player: PlayerId,
    pub kind: DecisionKind,
    /// Source of the question.
    pub source: Option<ObjectId>,
    pub options: Vec<Choosable>,
    pub min: u32,
    pub max: u32,
    /// Total to divide, for divisions.
    pub total: i32,
    /// For trigger order: the triggers by source; for damage: the attacker.
    pub subjects: Vec<ObjectId>,
    /// Least amounts for each option of a division.
    pub minimums: Vec<i32>,
}

impl Decision {
    #[must_use]
    pub fn new(player: PlayerId, kind: DecisionKind) -> Self {
        Self {
            number: 0,
            player,
            kind,
            source: None,
            options: Vec::new(),
            min: 1,
            max: 1,
            total: 0,
            subjects: Vec::new(),
            minimums: Vec::new(),
        }
    }

    #[must_use]
    pub fn source(mut self, source: ObjectId) -> Self {
        self.source = Some(source);
        self
    }

    #[must_use]
    pub fn range(mut self, min: usize, max: usize) -> Self {
        self.min = u32::try_from(min).unwrap_or(u32::MAX);
        self.max = u32::try_from(max).unwrap_or(u32::MAX);
        self
    }

    #[must_use]
    pub fn entities(mut self, entities: impl IntoIterator<Item = Entity>) -> Self {
        self.options = entities.into_iter().map(Choosable::Entity).collect();
        self
    }

    #[must_use]
    pub fn labels(mut self, labels: &[OptionLabel]) -> Self {
        self.options = labels.iter().map(|label| Choosable::Label(*label)).collect();
        self
    }
}

/// Answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What to do with priority.
    Action(Box<Action>),
    /// Positions of options; for orders a permutation, first is first.
    Options(Vec<u32>),
    /// Attackers with what they attack.
    Attack(Vec<(ObjectId, Entity)>),
    /// Blockers with the attackers they block.
    Block(Vec<(ObjectId, ObjectId)>),
    /// Amount for each option, by position.
    Division(Vec<i32>),
}

/// Answer that breaks a rule; the state is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot accept answer: {reason}")]
pub struct Refusal {
    /// Number of the rule that refuses it, if it is one.
    pub rule: Option<&'static str>,
    pub reason: RefusalReason,
}

impl Refusal {
    #[must_use]
    pub fn new(rule: &'static str, reason: RefusalReason) -> Self {
        Self { rule: Some(rule), reason }
    }
}

impl From<RefusalReason> for Refusal {
    fn from(reason: RefusalReason) -> Self {
        Self { rule: None, reason }
    }
}

/// Condition that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefusalReason {
    #[error("the game is over")]
    GameOver,
    #[error("no question is open")]
    NothingAsked,
    #[error("the question is for the other player")]
    OtherPlayer,
    #[error("the question has changed; its number is {0} now")]
    OldDecision(u32),
    #[error("the answer is of another kind than the question")]
    WrongKind,
    #[error("option {0} does not exist")]
    NoSuchOption(u32),
    #[error("the question has no id `{0}`")]
    UnknownId(String),
    #[error("option {0} is chosen twice")]
    Repeated(u32),
    #[error("{got} chosen, but {min} to {max} are needed")]
    WrongCount { got: usize, min: u32, max: u32 },
    #[error("the amounts add up to {got}, not to {want}")]
    WrongTotal { got: i32, want: i32 },
    #[error("the amount for option {0} is too small")]
    TooSmall(usize),
    #[error("the object is not there any more")]
    NoSuchObject,
    #[error("the card is not in a zone from which it can be played")]
    WrongZone,
    #[error("the card is not a land")]
    NotLand,
    #[error("it needs a main phase of your own with an empty stack")]
    SorceryTiming,
    #[error("all land plays of this turn are used")]
    NoLandPlays,
    #[error("the mana cost cannot be paid")]
    CannotPayMana,
    #[error("a cost cannot be paid: {0}")]
    CannotPay(CostProblem),
    #[error("a target is needed in slot {0}, and no legal one was given")]
    NeedsTarget(usize),
    #[error("the target in slot {0} is not legal")]
    IllegalTarget(usize),
    #[error("wrong number of targets in slot {0}")]
    TargetCount(usize),
    #[error("the division in slot {0} is not legal")]
    IllegalDivision(usize),
    #[error("the chosen modes are not legal")]
    IllegalModes,
    #[error("the ability does not exist or cannot be activated from there")]
    NoSuchAbility,
    #[error("the ability has been activated as often as it may this turn")]
    UsedUp,
    #[error("it was repeated so often this turn that it is a loop, which must end")]
    Loop,
    #[error("an effect forbids it")]
    Forbidden,
    #[error("a condition of the card does not hold")]
    ConditionFails,
    #[error("the permanent is tapped")]
    AlreadyTapped,
    #[error("the creature came under your control this turn")]
    SummoningSick,
    #[error("the creature cannot attack")]
    CannotAttack,
    #[error("the creature cannot attack alone")]
    CannotAttackAlone,
    #[error("this cannot be attacked")]
    IllegalDefender,
    #[error("the creature cannot block")]
    CannotBlock,
    #[error("the creature cannot block alone")]
    CannotBlockAlone,
    #[error("the blocker cannot block this attacker")]
    CannotBlockThat,
    #[error("the number of blockers is not allowed for this attacker")]
    BlockerCount,
    #[error("more requirements to attack or block could be obeyed")]
    RequirementIgnored,
    #[error("the cast option is not available")]
    NoSuchWay,
}

/// Part of a cost that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CostProblem {
    #[error("tap")]
    Tap,
    #[error("untap")]
    Untap,
    #[error("life")]
    Life,
    #[error("objects to sacrifice")]
    Sacrifice,
    #[error("cards to discard")]
    Discard,
    #[error("cards to exile")]
    Exile,
    #[error("permanents to return")]
    Return,
    #[error("permanents to tap")]
    TapPermanents,
    #[error("counters to remove")]
    Counters,
    #[error("loyalty")]
    Loyalty,
    #[error("cards to mill")]
    Mill,
    #[error("cards to reveal")]
    Reveal,
    #[error("energy")]
    Energy,
}
