//! What a servitor can be, and what may become of it.

use serde::{Deserialize, Serialize};

/// What a servitor is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
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
const TABLE: [(State, State); 11] = [
    (State::Idle, State::Working),
    (State::Working, State::Waiting),
    (State::Working, State::Verifying),
    (State::Working, State::Failed),
    (State::Waiting, State::Working),
    (State::Waiting, State::Failed),
    (State::Verifying, State::Done),
    (State::Verifying, State::Working),
    (State::Verifying, State::Failed),
    // Whoever sends word to one that failed gives it something new to work with.
    (State::Failed, State::Working),
    // Given up by whoever summoned it.
    (State::Idle, State::Failed),
];

impl State {
    /// Every state.
    pub const ALL: [State; 6] =
        [State::Idle, State::Working, State::Waiting, State::Verifying, State::Done, State::Failed];

    /// As it is written.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Working => "working",
            State::Waiting => "waiting",
            State::Verifying => "verifying",
            State::Done => "done",
            State::Failed => "failed",
        }
    }

    /// The state of this word.
    #[must_use]
    pub fn of(word: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.word() == word)
    }

    /// May it become that?
    #[must_use]
    pub fn may_become(self, next: State) -> bool {
        TABLE.contains(&(self, next))
    }

    /// Does it go on by itself?
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, State::Working | State::Verifying)
    }

    /// Is its work over?
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, State::Done | State::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn done_is_reached_only_through_verification_and_is_the_end() {
        for state in State::ALL {
            assert_eq!(state.may_become(State::Done), state == State::Verifying, "{state:?}");
            assert!(!State::Done.may_become(state), "{state:?}");
            assert!(!state.may_become(state), "{state:?}");
            assert_eq!(State::of(state.word()), Some(state));
        }
        assert_eq!(State::of("gone"), None);
    }
}
