//! Exit codes: one list for the whole program, documented in `docs/exit-codes.md` and in `marvin help`.

use std::process::ExitCode;

/// How a command ended, as the operating system is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// The work is done.
    Success = 0,
    /// The work failed.
    Failed = 1,
    /// The command line, a setting or an input file was wrong.
    Usage = 2,
    /// A commitment failed or could not run.
    NotVerified = 3,
    /// A person is needed.
    Blocked = 4,
    /// The gate refused.
    Refused = 5,
    /// The budget is spent.
    Budget = 6,
    /// Interrupted by a signal.
    Interrupted = 130,
}

impl Exit {
    /// Every code, in order.
    pub const ALL: [Exit; 8] = [
        Exit::Success,
        Exit::Failed,
        Exit::Usage,
        Exit::NotVerified,
        Exit::Blocked,
        Exit::Refused,
        Exit::Budget,
        Exit::Interrupted,
    ];

    /// The number that the operating system sees.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// One line for help and docs.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "success",
            Exit::Failed => "the work failed",
            Exit::Usage => "usage: a flag, a setting or an input was wrong",
            Exit::NotVerified => "not verified: a commitment failed or could not run",
            Exit::Blocked => "blocked: a person is needed",
            Exit::Refused => "refused by the gate",
            Exit::Budget => "budget spent",
            Exit::Interrupted => "interrupted",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
