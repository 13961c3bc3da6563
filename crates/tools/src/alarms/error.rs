//! Failures of alarms and timers.

use marvin_base::atomic::WriteError;

#[derive(Debug, thiserror::Error)]
pub enum AlarmError {
    #[error("cannot understand the time `{text}`: {reason}")]
    Time { text: String, reason: &'static str },
    #[error("cannot set an alarm for {at}: that is in the past")]
    Past { at: String },
    #[error("cannot set an alarm without a message")]
    NoMessage,
    #[error("cannot use the name `{0}`: a name is 1 to 100 printable characters")]
    Name(String),
    #[error("cannot find an alarm with the label `{label}`. Alarms: {known}")]
    NoAlarm { label: String, known: String },
    #[error("cannot find a timer with the name `{name}`. Timers: {known}")]
    NoTimer { name: String, known: String },
    #[error("cannot start the timer `{name}`: one of this name runs ({status})")]
    TimerRuns { name: String, status: String },
    #[error("cannot keep more than {0} of them: cancel some first")]
    TooMany(usize),
    #[error("cannot {doing} {path}: {source}{}", marvin_base::atomic::hint(.source))]
    Io {
        doing: &'static str,
        path: String,
        #[source]
        source: std::io::Error,
    },
    /// The file is left as it is.
    #[error("cannot read {path}: {reason}")]
    Damaged { path: String, reason: String },
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl AlarmError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        let is_damaged = matches!(self, AlarmError::Damaged { .. });
        is_damaged.then_some("correct the file, or move it away to begin without alarms; it was not changed")
    }

    /// Whether other arguments would have helped.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            AlarmError::Time { .. } | AlarmError::Past { .. } | AlarmError::NoMessage | AlarmError::Name(_)
        )
    }
}
