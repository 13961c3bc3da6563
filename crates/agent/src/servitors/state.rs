//! What a servitor can be, and what may become of it.

use serde::{Deserialize, Serialize};

/// What a servitor is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServitorState {
    /// It has nothing to do.
    Idle,
    /// It works on its assignment.
    Working,
    /// It needs something from somebody else.
    Waiting,
    /// It claims to be done, and that is being verified.
    Verifying,
    /// It is done, and everything that was promised holds.
    Done,
    /// It gave up, or what it claims does not hold.
    Failed,
}

/// Every change that is allowed; there is no other.
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
    // Whoever sends word to one that failed gives it something new to work with.
    (ServitorState::Failed, ServitorState::Working),
    // Given up by whoever summoned it.
    (ServitorState::Idle, ServitorState::Failed),
];

impl ServitorState {
    /// Every state.
    pub const ALL: [ServitorState; 6] = [
        ServitorState::Idle,
        ServitorState::Working,
        ServitorState::Waiting,
        ServitorState::Verifying,
        ServitorState::Done,
        ServitorState::Failed,
    ];

    /// As it is written.
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

    /// The state of this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<ServitorState> {
        ServitorState::ALL.into_iter().find(|state| state.word() == word)
    }

    /// May it become that?
    #[must_use]
    pub fn may_become(self, next: ServitorState) -> bool {
        TABLE.contains(&(self, next))
    }

    /// Does it go on by itself?
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, ServitorState::Working | ServitorState::Verifying)
    }

    /// Is its work over?
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, ServitorState::Done | ServitorState::Failed)
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
