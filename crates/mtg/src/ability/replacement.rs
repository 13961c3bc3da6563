//! Replacement and prevention effects (614, 615).

use super::{
    Amount, ChoiceKind, Condition, Cost, CounterKind, Destination, Filter, Instruction, Selector, Zone,
};
use crate::ability::Change;
use serde::{Deserialize, Serialize};

/// "If [event] would happen, [something else] instead", or "as this enters".
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Replacement {
    pub pattern: ReplacementPattern,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    pub action: ReplacementAction,
    /// "You may": the affected object's controller or the affected player decides.
    #[serde(default)]
    pub optional: bool,
    /// For shields: how often (`Some(1)` is "the next time"). `None` has no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u8>,
}

/// Events that can be replaced.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplacementPattern {
    /// An object enters the battlefield; `Filter::This` for the own "enters tapped".
    Enters {
        what: Filter,
    },
    ZoneChange {
        what: Filter,
        from: Option<Zone>,
        to: Option<Zone>,
    },
    Damage {
        source: Filter,
        to: Filter,
        combat: Option<bool>,
    },
    Draw {
        who: Filter,
    },
    GainLife {
        who: Filter,
    },
    LoseLife {
        who: Filter,
    },
    Counters {
        what: Filter,
        kind: Option<CounterKind>,
    },
    Tokens {
        who: Filter,
    },
    Destroy {
        what: Filter,
    },
    Discard {
        who: Filter,
        what: Filter,
    },
    Untap {
        what: Filter,
    },
    Step {
        step: super::TurnStep,
        whose: Filter,
    },
    Mana {
        source: Filter,
    },
    Lose {
        who: Filter,
    },
    Win {
        who: Filter,
    },
}

/// What happens instead or additionally.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplacementAction {
    EnterTapped,
    EnterWithCounters {
        kind: CounterKind,
        amount: Amount,
    },
    /// As a copy of an object that the controller chooses (707.9).
    EnterAsCopy {
        of: Selector,
        except: Vec<Change>,
    },
    /// "As this enters, choose a colour": remembered on the permanent.
    EnterChoosing(ChoiceKind),
    /// The controller pays the cost or the inner action applies ("you may pay 2 life. If you don't, it enters tapped").
    EnterUnlessPaid {
        cost: Cost,
        action: Box<ReplacementAction>,
    },
    EnterWithKeyword(super::Keyword),
    /// The controller may sacrifice any number that match; so many counters for each (702.82a).
    EnterSacrificing {
        filter: Filter,
        kind: CounterKind,
        each: u8,
    },
    /// The controller chooses one ("with your choice of").
    Choice(Vec<ReplacementAction>),
    /// Under the control of this player.
    EnterUnder(Selector),
    /// To another zone ("exile it instead").
    MoveTo(Destination),
    /// Prevent all, or so much each time.
    Prevent(Option<Amount>),
    /// Prevent so much in total: the shield shrinks (615.7).
    PreventNext(Amount),
    Multiply(u8),
    Add(Amount),
    SetAmount(Amount),
    /// All but this much is prevented or reduced ("reduces it to 1").
    ReduceTo(Amount),
    RedirectDamage(Selector),
    /// The event does not happen (614.10).
    Skip,
    /// The event does not happen; these instructions are followed.
    Instead(Vec<Instruction>),
    /// The event happens, and these instructions are followed as part of it.
    Also(Vec<Instruction>),
    Regenerate,
    /// Several together.
    Several(Vec<ReplacementAction>),
}
