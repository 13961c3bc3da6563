//! The hint of an error: what to do about it, on a line of its own.

use std::fmt::{self, Display};

/// A hint as the end of an error's text; nothing without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HintLine<T>(pub Option<T>);

impl<T: Display> Display for HintLine<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}
