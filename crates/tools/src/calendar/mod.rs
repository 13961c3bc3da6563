//! The person's calendar: `calendar.ics` of the active profile (RFC 5545), which other programs may read and write too.
//!
//! Times keep their zones, days are days, and recurring events are shown at each of their times. What Marvin does not
//! understand stays in the file as it is (`content.rs`).

mod content;
mod error;
mod event;
mod listing;
mod month;
mod rule;
mod store;
mod time;
mod zones;

pub use error::CalendarError;
pub use event::{Draft, Occurrence, occurrence_line, occurrences};
pub use listing::{EventRow, MAX_LISTED_EVENTS, list_text, upcoming, view_month};
pub use rule::Rule;
pub use store::{CalendarFile, ImportCount};
