//! States of a servitor, and the changes that are allowed.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServitorState {
    Idle,
    Working,
    /// It needs an answer.
    Waiting,
    /// It claims to be done, and that is being verified.
    Verifying,
    /// It is done, and its commitments hold.
    Done,
    /// It gave up, or what it claims does not hold.
    Failed,
}

/// All changes that are allowed.
const TABLE: [(ServitorState, ServitorState); 11] = [
    (ServitorState::Idle, ServitorState::Working),
    (ServitorState::Working, ServitorState::Waiting),
    (ServitorState::Working, ServitorState::Verifying),
    (ServitorState::Working, ServitorState::Failed),
    (ServitorState::Waiting, ServitorState::Working),
    (ServitorState::Waiting, ServitorState::Failed),
    (ServitorState::Verifying, ServitorState::Done),
    (ServitorState::Verifying, ServitorState::Working),
    (ServitorState::Verifying, ServitorState::Failed),
    // A message gives a failed servitor something new to work with.
    (ServitorState::Failed, ServitorState::Working),
    // Given up by its parent.
    (ServitorState::Idle, ServitorState::Failed),
];

impl ServitorState {
    pub const ALL: [ServitorState; 6] = [
        ServitorState::Idle,
        ServitorState::Working,
        ServitorState::Waiting,
        ServitorState::Verifying,
        ServitorState::Done,
        ServitorState::Failed,
    ];

    /// Word in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ServitorState::Idle => "idle",
            ServitorState::Working => "working",
            ServitorState::Waiting => "waiting",
            ServitorState::Verifying => "verifying",
            ServitorState::Done => "done",
            ServitorState::Failed => "failed",
        }
    }

    #[must_use]
    pub fn from_word(word: &str) -> Option<ServitorState> {
        ServitorState::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Whether a change is allowed.
    #[must_use]
    pub fn may_become(self, next: ServitorState) -> bool {
        TABLE.contains(&(self, next))
    }

    /// Whether it runs by itself.
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, ServitorState::Working | ServitorState::Verifying)
    }

    /// Whether its work is over.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, ServitorState::Done | ServitorState::Failed)
    }

    /// Predicate of a sentence for its parent.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            ServitorState::Done => "is done, and all its commitments hold",
            ServitorState::Failed => "failed",
            ServitorState::Waiting => "waits for an answer",
            ServitorState::Idle => "has nothing to do",
            ServitorState::Working | ServitorState::Verifying => "is at work",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn done_is_reached_only_through_verification_and_is_the_end() {
        for state in ServitorState::ALL {
            assert_eq!(state.may_become(ServitorState::Done), state == ServitorState::Verifying, "{state:?}");
            assert!(!ServitorState::Done.may_become(state), "{state:?}");
            assert!(!state.may_become(state), "{state:?}");
            assert_eq!(ServitorState::from_word(state.word()), Some(state));
        }
        assert_eq!(ServitorState::from_word("gone"), None);
    }
}
