//! Answers that cost chances to win: severity, skill, and the better answer.

use marvin_mtg::action::Action;
use marvin_mtg::decision::{Answer, DecisionKind};
use serde::{Deserialize, Serialize};

/// Losses in percent from which an answer is an inaccuracy, a mistake or a blunder.
const SEVERITY_PERCENTS: [(Severity, u32); 3] =
    [(Severity::Blunder, 25), (Severity::Mistake, 12), (Severity::Inaccuracy, 5)];

/// How much an answer cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Inaccuracy,
    Mistake,
    Blunder,
}

impl Severity {
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Inaccuracy => "inaccuracy",
            Self::Mistake => "mistake",
            Self::Blunder => "blunder",
        }
    }

    pub(crate) fn of_loss(loss_percent: u32) -> Option<Self> {
        SEVERITY_PERCENTS.iter().find(|(_, least)| loss_percent >= *least).map(|(severity, _)| *severity)
    }
}

/// Skill that a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Skill {
    Mulligan,
    LandDrop,
    Casting,
    Attacking,
    Blocking,
    Choosing,
}

impl Skill {
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Mulligan => "mulligan",
            Self::LandDrop => "land_drop",
            Self::Casting => "casting",
            Self::Attacking => "attacking",
            Self::Blocking => "blocking",
            Self::Choosing => "choosing",
        }
    }

    /// Rule to read about it.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::Mulligan => "103.5",
            Self::LandDrop => "305.2",
            Self::Casting => "601.2",
            Self::Attacking => "508.1",
            Self::Blocking => "509.1",
            Self::Choosing => "608.2",
        }
    }

    pub(crate) fn of_answer(kind: DecisionKind, better: &Answer) -> Self {
        match kind {
            DecisionKind::Mulligan | DecisionKind::Bottom => Self::Mulligan,
            DecisionKind::DeclareAttackers => Self::Attacking,
            DecisionKind::DeclareBlockers => Self::Blocking,
            DecisionKind::Priority => match better {
                Answer::Action(action) if matches!(**action, Action::PlayLand { .. }) => Self::LandDrop,
                _ => Self::Casting,
            },
            _ => Self::Choosing,
        }
    }
}

/// Answer that cost chances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurningPoint {
    pub turn: u32,
    /// Line of the journal, counted from 1 with the header.
    pub line: usize,
    pub severity: Severity,
    pub skill: Skill,
    pub chosen: String,
    pub better: String,
    /// Chances to win in percent after the chosen and after the better answer.
    pub chosen_percent: u32,
    pub better_percent: u32,
    /// Games that were played out after the better answer.
    pub rollouts: usize,
    /// Number of the rule to read.
    pub rule: String,
}

/// Turn that changed the chances most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyTurn {
    pub turn: u32,
    pub before_percent: u32,
    pub after_percent: u32,
}
