//! Lists of what takes place, for the tools and for the command line.

use super::error::CalendarError;
use super::event::{Occurrence, occurrence_line, occurrences};
use super::month::month_text;
use super::store::CalendarFile;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use marvin_base::printable::count;
use schemars::JsonSchema;
use serde::Serialize;

/// Events that a list shows.
pub const MAX_LISTED_EVENTS: usize = 200;
/// Days that a list may look ahead.
const MAX_DAYS: i64 = 3660;

/// One time of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EventRow {
    pub uid: String,
    pub title: String,
    /// Start in ISO 8601 with its offset; a day for events of whole days.
    pub start: String,
    /// End in the same form, exclusive.
    pub end: String,
    pub all_day: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub location: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How it recurs, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub recurrence: String,
}

impl From<&Occurrence> for EventRow {
    fn from(occurrence: &Occurrence) -> Self {
        let time = |zoned: &jiff::Zoned| match occurrence.all_day {
            true => zoned.date().to_string(),
            false => zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        };
        EventRow {
            uid: occurrence.uid.clone(),
            title: occurrence.title.clone(),
            start: time(&occurrence.start),
            end: time(&occurrence.end),
            all_day: occurrence.all_day,
            location: occurrence.location.clone(),
            description: occurrence.description.clone(),
            recurrence: occurrence.recurrence.clone(),
        }
    }
}

/// What takes place in the next days.
///
/// # Errors
/// When the calendar cannot be read, or the number of days is out of bounds.
pub fn upcoming(file: &CalendarFile, days: i64, now: Timestamp) -> Result<Vec<Occurrence>, CalendarError> {
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(CalendarError::Days { days, most: MAX_DAYS });
    }
    let local = TimeZone::system();
    let to = now.to_zoned(local.clone()).saturating_add(days.days()).timestamp();
    Ok(occurrences(&file.events()?, now, to, &local))
}

/// A list of occurrences with their uids.
#[must_use]
pub fn list_text(found: &[Occurrence], days: i64) -> String {
    let days = usize::try_from(days).unwrap_or(1);
    let mut lines: Vec<String> = Vec::new();
    for occurrence in found.iter().take(MAX_LISTED_EVENTS) {
        lines.push(format!("{}  [uid {}]", occurrence_line(occurrence), occurrence.uid));
    }
    match found.len().saturating_sub(MAX_LISTED_EVENTS) {
        0 => {}
        more => lines.push(format!("… {more} more")),
    }
    if lines.is_empty() { format!("No events in the next {}.", count(days, "day")) } else { lines.join("\n") }
}

/// A month and what takes place in it; 0 is the present month or year.
///
/// # Errors
/// When the month does not exist, or the calendar cannot be read.
pub fn view_month(
    file: &CalendarFile,
    month: i64,
    year: i64,
    now: Timestamp,
) -> Result<(String, Vec<Occurrence>), CalendarError> {
    let local = TimeZone::system();
    let today = now.to_zoned(local.clone()).date();
    let wrong = || CalendarError::Time {
        text: format!("{year}-{month}"),
        reason: "month is 1 to 12, year 1 to 9998".into(),
    };
    let number = |given: i64, usual: i16| {
        if given == 0 { Ok(usual) } else { i16::try_from(given).map_err(|_| wrong()) }
    };
    let year = number(year, today.year())?;
    let month = i8::try_from(number(month, i16::from(today.month()))?).map_err(|_| wrong())?;
    if !(1..=9998).contains(&year) {
        return Err(wrong());
    }
    let first = Date::new(year, month, 1).map_err(|_| wrong())?;
    let moment = |date: Date| local.to_timestamp(date.to_datetime(jiff::civil::Time::midnight()));
    let next = first.checked_add(1.month()).map_err(|_| wrong())?;
    let (from, to) = (moment(first).map_err(|_| wrong())?, moment(next).map_err(|_| wrong())?);
    let found = occurrences(&file.events()?, from, to, &local);
    Ok((month_text(first, today, &found), found))
}
