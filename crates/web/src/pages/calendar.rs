//! A month of the person's calendar.

use crate::answer::{Answer, Refusal, json};
use jiff::tz::TimeZone;
use marvin_agent::ProjectContext;
use marvin_base::settings::table;
use marvin_base::{clock, profile};
use marvin_tools::calendar::{CalendarFile, EventRow, MAX_LISTED_EVENTS, view_month};
use serde::Serialize;

#[derive(Serialize)]
struct Month {
    year: i64,
    /// 1 to 12.
    month: i64,
    /// The present day, in ISO 8601.
    today: String,
    /// Every time of every event, in order.
    events: Vec<EventRow>,
    /// Number of further ones.
    left_out: usize,
}

/// A month and what takes place in it; 0 is the present month or year.
pub(super) fn show(context: &ProjectContext, month: u64, year: u64) -> Answer {
    let now = clock::now();
    let today = now.to_zoned(TimeZone::system()).date();
    let number = |given: u64, usual: i64| match i64::try_from(given) {
        Ok(0) | Err(_) => usual,
        Ok(given) => given,
    };
    let (year, month) = (number(year, today.year().into()), number(month, today.month().into()));
    let name = profile::active(&context.layout, context.settings.given(&table::PROFILE));
    let file = CalendarFile::new(context.layout.calendar(&name));
    let (_, found) =
        view_month(&file, month, year, now).map_err(|error| Refusal::broken(error.to_string()))?;
    json(&Month {
        year,
        month,
        today: today.to_string(),
        events: found.iter().take(MAX_LISTED_EVENTS).map(EventRow::from).collect(),
        left_out: found.len().saturating_sub(MAX_LISTED_EVENTS),
    })
}
