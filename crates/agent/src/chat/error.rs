//! Reasons why a prompt or an answer was not taken.

/// Why a prompt was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is nothing to answer")]
    Empty,
    #[error("one prompt is being answered and one waits\n  hint: wait, or interrupt the first")]
    Full,
    #[error(
        "the budget of {0} USD for this conversation is spent\n  hint: start again with a higher --max-cost"
    )]
    Spent(String),
}

/// Why an answer to a question did not count.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("nothing waits under the name `{0}`; it may have been answered, or it timed out")]
    NotWaiting(String),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Failed(String),
}
