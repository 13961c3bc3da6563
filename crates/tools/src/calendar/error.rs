//! Failures of the calendar.

use marvin_base::atomic::WriteError;

#[derive(Debug, thiserror::Error)]
pub enum CalendarError {
    /// The file is not what RFC 5545 describes; it is left as it is.
    #[error("cannot read the calendar {path}: line {line}: {reason}")]
    Damaged { path: String, line: usize, reason: &'static str },
    #[error("cannot {doing} {path}: {source}{}", marvin_base::atomic::hint(.source))]
    Io {
        doing: &'static str,
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Another program writes the file again and again.
    #[error("cannot change {path}: another program keeps changing it")]
    Busy { path: String },
    #[error("cannot understand the time `{text}`: {reason}")]
    Time { text: String, reason: String },
    #[error("cannot list the events of {days} days: it must be 1 to {most} days")]
    Days { days: i64, most: i64 },
    #[error("cannot understand the recurrence rule `{rule}`: {reason}")]
    Rule { rule: String, reason: String },
    #[error("cannot add the event: it ends before it starts")]
    EndsEarly,
    /// `day` and `time` are what was given for them.
    #[error("cannot add the event: `{day}` is a whole day, and `{time}` is a time")]
    MixedTimes { day: String, time: String },
    #[error("cannot add the event: it has no title")]
    NoTitle,
    #[error("cannot remove an event without its uid or a part of its title")]
    Nothing,
    #[error("cannot find an event with {what}")]
    NotFound { what: String },
    /// The title fits several events; `matches` describes each.
    #[error("cannot remove: {} events match `{title}`. Which one? Give its uid:\n{}", .matches.len(), .matches.join("\n"))]
    Ambiguous { title: String, matches: Vec<String> },
}

impl CalendarError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            CalendarError::Damaged { .. } => {
                "correct this line, or put another copy of the file in its place; it was not changed"
            }
            CalendarError::Rule { .. } => {
                "write a rule of RFC 5545: `FREQ=DAILY`, `FREQ=WEEKLY;COUNT=4` or `FREQ=MONTHLY;BYDAY=1MO`"
            }
            CalendarError::NotFound { .. } => "`marvin calendar list` shows the events with their uids",
            CalendarError::MixedTimes { .. } => "give start and end both as days, or both as times",
            _ => return None,
        })
    }

    /// Whether other arguments would have helped.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            CalendarError::Time { .. }
                | CalendarError::Days { .. }
                | CalendarError::Rule { .. }
                | CalendarError::EndsEarly
                | CalendarError::MixedTimes { .. }
                | CalendarError::NoTitle
                | CalendarError::Nothing
        )
    }
}
