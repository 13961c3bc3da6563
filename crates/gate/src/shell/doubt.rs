//! Doubts: the reasons why it is not certain what a line does.

use std::fmt;

/// Something in a line that keeps it from being certain. A doubt on which a decision depends is a variant of its own; the
/// wording of the others is only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// A script was decoded before it is run.
    EncodedScript,
    /// The two parsers see different commands.
    ParsersDisagree,
    /// Another reason, as the object of "the line holds …".
    Other(&'static str),
}

impl From<&'static str> for Doubt {
    fn from(wording: &'static str) -> Self {
        Doubt::Other(wording)
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Doubt::EncodedScript => "a script that was encoded",
            Doubt::ParsersDisagree => "something that two parsers of shell understand differently",
            Doubt::Other(wording) => wording,
        })
    }
}
