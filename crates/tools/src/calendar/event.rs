//! Events of a calendar, their occurrences, and the lines of new ones.

use super::content::{Component, ContentLine, Document, unescape};
use super::error::CalendarError;
use super::rule::Rule;
use super::time::EventTime;
use super::zones::Zones;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};
use std::collections::BTreeSet;

/// Dates that EXDATE and RDATE of one event may list.
const MAX_LISTED_DATES: usize = 10_000;

/// An event as the file describes it.
#[derive(Debug, Clone)]
pub struct Event {
    pub uid: String,
    pub title: String,
    pub location: String,
    pub description: String,
    /// Whether it was cancelled.
    pub cancelled: bool,
    pub start: EventTime,
    /// The end is not part of the event.
    pub end: EventTime,
    /// RRULE as it stands in the file.
    pub rule: Option<String>,
    /// Times that are left out.
    excluded: Vec<EventTime>,
    /// Times that are added.
    added: Vec<EventTime>,
    /// The occurrence of another event of the same uid that this one replaces.
    pub replaces: Option<EventTime>,
    /// When it was added.
    pub created: Option<Timestamp>,
}

/// One time at which an event takes place.
#[derive(Debug, Clone)]
pub struct Occurrence {
    pub uid: String,
    pub title: String,
    pub location: String,
    pub description: String,
    pub start: Zoned,
    pub end: Zoned,
    pub all_day: bool,
    /// How it recurs, in words; empty where it does not.
    pub recurrence: String,
}

impl Occurrence {
    /// Days on which it takes place, in order.
    #[must_use]
    pub fn days(&self) -> (Date, Date) {
        // An event that ends at midnight does not take place on the day that begins then.
        let last = self.end.checked_sub(SignedDuration::from_nanos(1)).unwrap_or_else(|_| self.end.clone());
        (self.start.date(), last.date().max(self.start.date()))
    }
}

impl Event {
    /// Parses a VEVENT; none: it has no start that can be understood.
    #[must_use]
    pub fn from_component(document: &Document, component: &Component, zones: &Zones) -> Option<Event> {
        let line = |name: &str| document.properties(component).find(|line| line.name == name);
        let text = |name: &str| line(name).map(|line| unescape(&line.value)).unwrap_or_default();
        let times = |name: &str| -> Vec<EventTime> {
            document
                .properties(component)
                .filter(|line| line.name == name)
                .flat_map(|line| {
                    // A period is known by its start.
                    line.value.split(',').filter_map(|value| {
                        let start = value.split('/').next().unwrap_or_default().trim();
                        EventTime::from_value(start, line.parameter("TZID"), zones)
                    })
                })
                .take(MAX_LISTED_DATES)
                .collect()
        };
        let start = EventTime::from_line(line("DTSTART")?, zones)?;
        let end = line("DTEND").and_then(|line| EventTime::from_line(line, zones));
        let end = end.filter(|end| end.civil() >= start.civil() || !same_zone(end, &start));
        let end = end
            .or_else(|| after(&start, line("DURATION")?.value.trim()))
            .unwrap_or_else(|| usual_end(&start));
        Some(Event {
            uid: line("UID").map(|line| line.value.trim().to_string()).unwrap_or_default(),
            title: text("SUMMARY"),
            location: text("LOCATION"),
            description: text("DESCRIPTION"),
            cancelled: text("STATUS").eq_ignore_ascii_case("CANCELLED"),
            rule: line("RRULE").map(|line| line.value.trim().to_string()),
            excluded: times("EXDATE"),
            added: times("RDATE"),
            replaces: line("RECURRENCE-ID").and_then(|line| EventTime::from_line(line, zones)),
            created: line("CREATED")
                .or_else(|| line("DTSTAMP"))
                .and_then(|line| EventTime::from_line(line, zones))
                .map(|time| time.instant(&TimeZone::UTC)),
            start,
            end,
        })
    }

    /// How it recurs, in words; a rule that is not supported, as it is written.
    #[must_use]
    pub fn recurrence(&self) -> String {
        match &self.rule {
            Some(rule) => rule.parse::<Rule>().map_or_else(|_| rule.clone(), |rule| rule.describe()),
            None if !self.added.is_empty() => format!("on {} further days", self.added.len()),
            None => String::new(),
        }
    }

    /// Times of this event that overlap the time from `from` to `to`. `replaced` are times that other events replace.
    fn starts(
        &self,
        from: Timestamp,
        to: Timestamp,
        replaced: &BTreeSet<Timestamp>,
        local: &TimeZone,
    ) -> Vec<EventTime> {
        let length = self.end.instant(local).duration_since(self.start.instant(local));
        let day = |moment: Timestamp, shift: i64| {
            let date = moment.to_zoned(local.clone()).date();
            date.checked_add(shift.days()).unwrap_or(date)
        };
        // Days of another zone differ from those of the reader by at most one.
        let first = day(from.saturating_sub(length).unwrap_or(from), -2);
        let (last, civil) = (day(to, 2), self.start.civil());
        let mut starts = vec![self.start.clone()];
        if let Some(rule) = self.rule.as_deref().and_then(|rule| rule.parse::<Rule>().ok()) {
            let until =
                rule.until.as_deref().and_then(|until| EventTime::from_value(until, None, &Zones::default()));
            let until_day = until.as_ref().map(|until| until.civil().date());
            // A moment of UTC may be on another day here; the exact comparison follows.
            let last_day = until_day.and_then(|day| day.checked_add(1.day()).ok());
            let days = rule.days(civil.date(), last_day, first, last);
            let times = days.into_iter().map(|day| self.start.with_civil(day.to_datetime(civil.time())));
            starts.extend(times.filter(|time| match &until {
                None => true,
                Some(until) if until.is_day() || self.start.is_day() => {
                    time.civil().date() <= until.civil().date()
                }
                Some(until) => time.instant(local) <= until.instant(local),
            }));
        }
        starts.extend(self.added.iter().cloned());
        let excluded: BTreeSet<Timestamp> = self.excluded.iter().map(|time| time.instant(local)).collect();
        let excluded_days: BTreeSet<Date> =
            self.excluded.iter().filter(|time| time.is_day()).map(|time| time.civil().date()).collect();
        starts.sort_by_key(|time| time.instant(local));
        starts.dedup_by_key(|time| time.instant(local));
        starts.retain(|time| {
            let start = time.instant(local);
            let end = start.saturating_add(length).unwrap_or(Timestamp::MAX);
            let overlaps = start < to && (end > from || start >= from);
            let is_out = excluded.contains(&start) || excluded_days.contains(&time.civil().date());
            overlaps && !is_out && !(self.replaces.is_none() && replaced.contains(&start))
        });
        starts
    }

    fn occurrence(&self, start: &EventTime, local: &TimeZone) -> Occurrence {
        // The difference on the clock, so that an hour stays an hour of the clock over a change of it.
        let end = match same_zone(&self.start, &self.end) {
            true => {
                let length = self.end.civil().duration_since(self.start.civil());
                let civil = start.civil().saturating_add(length);
                start.with_civil(civil).local(local)
            }
            false => {
                let length = self.end.instant(local).duration_since(self.start.instant(local));
                start.local(local).saturating_add(length)
            }
        };
        Occurrence {
            uid: self.uid.clone(),
            title: self.title.clone(),
            location: self.location.clone(),
            description: self.description.clone(),
            start: start.local(local),
            end,
            all_day: self.start.is_day(),
            recurrence: self.recurrence(),
        }
    }

    /// One line for a list of candidates.
    #[must_use]
    pub fn line(&self, local: &TimeZone) -> String {
        let occurrence = self.occurrence(&self.start, local);
        format!("- {} (uid {})", occurrence_line(&occurrence), self.uid)
    }
}

/// `2026-11-20 15:00–16:00  Title (place; every week)`.
#[must_use]
pub fn occurrence_line(occurrence: &Occurrence) -> String {
    let (first, last) = occurrence.days();
    let (start, end) = (&occurrence.start, &occurrence.end);
    let when = match (occurrence.all_day, first == last) {
        (true, true) => format!("{first} all day"),
        (true, false) => format!("{first} to {last} all day"),
        (false, true) => format!("{first} {}–{}", start.strftime("%H:%M"), end.strftime("%H:%M")),
        (false, false) => {
            format!("{first} {} to {} {}", start.strftime("%H:%M"), end.date(), end.strftime("%H:%M"))
        }
    };
    let title = if occurrence.title.trim().is_empty() { "(no title)" } else { occurrence.title.trim() };
    let notes: Vec<&str> = [occurrence.location.trim(), &occurrence.recurrence]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
    format!("{when}  {}{}", title.replace('\n', " "), notes.replace('\n', " "))
}

fn same_zone(a: &EventTime, b: &EventTime) -> bool {
    match (a, b) {
        (EventTime::InZone(_, a), EventTime::InZone(_, b)) => a == b,
        (EventTime::Day(_), EventTime::Day(_)) | (EventTime::Floating(_), EventTime::Floating(_)) => true,
        _ => false,
    }
}

/// The end of an event without one: a day is a whole day, a time is a moment.
fn usual_end(start: &EventTime) -> EventTime {
    match start {
        EventTime::Day(date) => EventTime::Day(date.tomorrow().unwrap_or(*date)),
        other => other.clone(),
    }
}

/// The time after a duration such as `PT1H30M`.
fn after(start: &EventTime, duration: &str) -> Option<EventTime> {
    let span: jiff::Span = duration.parse().ok()?;
    Some(start.with_civil(start.civil().checked_add(span).ok()?))
}

/// Every event of a file.
#[must_use]
pub(super) fn events(document: &Document) -> Vec<Event> {
    let zones = Zones::from_document(document);
    let components = document.components();
    let events = components.iter().filter(|component| component.kind == "VEVENT");
    events.filter_map(|component| Event::from_component(document, component, &zones)).collect()
}

/// What takes place between two moments, in order; cancelled events do not.
#[must_use]
pub fn occurrences(events: &[Event], from: Timestamp, to: Timestamp, local: &TimeZone) -> Vec<Occurrence> {
    let mut found = Vec::new();
    for event in events {
        let replaced: BTreeSet<Timestamp> = events
            .iter()
            .filter(|other| event.rule.is_some() && other.uid == event.uid)
            .filter_map(|other| Some(other.replaces.as_ref()?.instant(local)))
            .collect();
        if event.cancelled {
            continue;
        }
        let starts = event.starts(from, to, &replaced, local);
        found.extend(starts.iter().map(|start| event.occurrence(start, local)));
    }
    found.sort_by(|a, b| {
        (a.start.timestamp(), !a.all_day, &a.title).cmp(&(b.start.timestamp(), !b.all_day, &b.title))
    });
    found
}

/// An event that is to be added.
#[derive(Debug, Clone)]
pub struct Draft {
    pub title: String,
    pub start: EventTime,
    pub end: EventTime,
    pub location: String,
    pub description: String,
    pub rule: Option<String>,
}

impl Draft {
    /// Checks what a person or a model says about an event. Without an end it takes an hour, or a day; the end of whole
    /// days is the last of them.
    ///
    /// # Errors
    /// When a time or the rule cannot be understood, or the end is before the start.
    pub fn new(title: &str, start: &str, end: &str, local: &TimeZone) -> Result<Draft, CalendarError> {
        if title.trim().is_empty() {
            return Err(CalendarError::NoTitle);
        }
        let given = (start.trim().to_string(), end.trim().to_string());
        let start = EventTime::parse(start, local)?;
        let end = match (end.trim(), &start) {
            ("", EventTime::Day(_)) => usual_end(&start),
            ("", start) => an_hour_after(start, local),
            (end, _) => match (EventTime::parse(end, local)?, &start) {
                (EventTime::Day(last), EventTime::Day(first)) if last >= *first => {
                    EventTime::Day(last.tomorrow().unwrap_or(last))
                }
                (EventTime::Day(_), EventTime::Day(_)) => return Err(CalendarError::EndsEarly),
                (EventTime::Day(_), _) => {
                    return Err(CalendarError::MixedTimes { day: given.1, time: given.0 });
                }
                (_, EventTime::Day(_)) => {
                    return Err(CalendarError::MixedTimes { day: given.0, time: given.1 });
                }
                (end, _) => end,
            },
        };
        if end.instant(local) < start.instant(local) {
            return Err(CalendarError::EndsEarly);
        }
        let title = title.trim().to_string();
        Ok(Draft { title, start, end, location: String::new(), description: String::new(), rule: None })
    }

    /// The lines of the event.
    #[must_use]
    pub fn lines(&self, uid: &str, now: Timestamp) -> Vec<ContentLine> {
        let line = |name: &str, value: &str| ContentLine::new(name, &[], value);
        let stamp = now.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut lines = vec![
            line("BEGIN", "VEVENT"),
            line("UID", uid),
            line("DTSTAMP", &stamp),
            line("CREATED", &stamp),
            self.start.to_line("DTSTART"),
            self.end.to_line("DTEND"),
            ContentLine::text("SUMMARY", &self.title),
        ];
        lines.extend(self.rule.as_deref().map(|rule| line("RRULE", rule)));
        for (name, text) in [("LOCATION", &self.location), ("DESCRIPTION", &self.description)] {
            if !text.trim().is_empty() {
                lines.push(ContentLine::text(name, text));
            }
        }
        lines.push(line("END", "VEVENT"));
        lines
    }
}

/// The time an hour after another. Of an hour that the clocks repeat, only UTC can name the second.
fn an_hour_after(start: &EventTime, local: &TimeZone) -> EventTime {
    let moment = start.instant(local).saturating_add(SignedDuration::from_hours(1)).unwrap_or(Timestamp::MAX);
    let zone = match start {
        EventTime::InZone(_, zone) => zone,
        EventTime::Day(_) | EventTime::Floating(_) => local,
    };
    let end = start.with_civil(zone.to_datetime(moment));
    if end.instant(local) == moment {
        end
    } else {
        EventTime::InZone(TimeZone::UTC.to_datetime(moment), TimeZone::UTC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin() -> TimeZone {
        TimeZone::get("Europe/Berlin").unwrap()
    }

    fn agenda(body: &str, from: &str, to: &str) -> Vec<String> {
        let text = format!("BEGIN:VCALENDAR\nVERSION:2.0\n{body}\nEND:VCALENDAR\n");
        let document = Document::parse(text.as_bytes(), "x").unwrap();
        let moment = |text: &str| text.parse::<Date>().unwrap().to_zoned(berlin()).unwrap().timestamp();
        let found = occurrences(&events(&document), moment(from), moment(to), &berlin());
        found.iter().map(occurrence_line).collect()
    }

    fn event(lines: &str) -> String {
        format!("BEGIN:VEVENT\nUID:a\n{lines}\nEND:VEVENT")
    }

    #[test]
    fn a_series_follows_the_clock_over_daylight_saving() {
        let weekly = event(
            "SUMMARY:Choir\nDTSTART;TZID=Europe/Berlin:20261020T190000\nDTEND;TZID=Europe/Berlin:20261020T203000\nRRULE:FREQ=WEEKLY;COUNT=3",
        );
        assert_eq!(
            agenda(&weekly, "2026-10-01", "2026-12-01"),
            [
                "2026-10-20 19:00–20:30  Choir (every week, 3 times)",
                "2026-10-27 19:00–20:30  Choir (every week, 3 times)",
                "2026-11-03 19:00–20:30  Choir (every week, 3 times)"
            ]
        );
        let abroad = weekly.replace("Europe/Berlin", "America/New_York");
        let hours: Vec<String> = agenda(&abroad, "2026-10-01", "2026-12-01")
            .iter()
            .map(|line| line.chars().take(16).collect::<String>())
            .collect();
        assert_eq!(
            hours,
            ["2026-10-21 01:00", "2026-10-28 00:00", "2026-11-04 01:00"],
            "the zones change on different days"
        );
    }

    #[test]
    fn days_exceptions_and_replaced_occurrences() {
        assert_eq!(
            agenda(
                &event("SUMMARY:Fair\nDTSTART;VALUE=DATE:20261120\nDTEND;VALUE=DATE:20261123"),
                "2026-11-22",
                "2026-11-23"
            ),
            ["2026-11-20 to 2026-11-22 all day  Fair"]
        );
        assert_eq!(
            agenda(
                &event("SUMMARY:Fair\nDTSTART;VALUE=DATE:20261120\nDTEND;VALUE=DATE:20261123"),
                "2026-11-23",
                "2026-11-24"
            ),
            [""; 0]
        );
        let series = event(
            "SUMMARY:S\nDTSTART:20261101T100000Z\nDURATION:PT30M\nRRULE:FREQ=DAILY;UNTIL=20261105T100000Z\nEXDATE:20261102T100000Z,20261103T100000Z\nRDATE:20261110T100000Z",
        );
        let moved = "\nBEGIN:VEVENT\nUID:a\nSUMMARY:Moved\nRECURRENCE-ID:20261104T100000Z\nDTSTART:20261104T150000Z\nDTEND:20261104T160000Z\nEND:VEVENT\nBEGIN:VEVENT\nUID:b\nSTATUS:CANCELLED\nSUMMARY:No\nDTSTART:20261101T100000Z\nEND:VEVENT";
        let recurs = "(every day, until 2026-11-05)";
        assert_eq!(
            agenda(&format!("{series}{moved}"), "2026-11-01", "2026-12-01"),
            [
                format!("2026-11-01 11:00–11:30  S {recurs}"),
                "2026-11-04 16:00–17:00  Moved".to_string(),
                format!("2026-11-05 11:00–11:30  S {recurs}"),
                format!("2026-11-10 11:00–11:30  S {recurs}"),
            ]
        );
        let odd = event("SUMMARY:Odd\nDTSTART:20261101T100000Z\nRRULE:FREQ=HOURLY");
        assert_eq!(agenda(&odd, "2026-11-01", "2026-12-01"), ["2026-11-01 11:00–11:00  Odd (FREQ=HOURLY)"]);
    }

    #[test]
    fn drafts_are_checked() {
        let end = |start: &str, end: &str| {
            Draft::new("x", start, end, &berlin()).map(|draft| draft.end.to_line("E").value)
        };
        assert_eq!(end("2026-11-20T15:00", "").unwrap(), "20261120T160000");
        assert_eq!(end("2027-03-28T02:30", "").unwrap(), "20270328T043000", "the clocks skip its start");
        assert_eq!(end("2026-10-25T02:30", "").unwrap(), "20261025T013000Z", "the clocks repeat its start");
        assert_eq!(end("2026-10-25T01:30", "").unwrap(), "20261025T023000", "the first of both");
        assert_eq!(end("2026-11-20", "").unwrap(), "20261121");
        assert_eq!(end("2026-11-20", "2026-11-22").unwrap(), "20261123", "the last day is given");
        for (start, last) in [("2026-11-20T15:00", "2026-11-20T14:00"), ("2026-11-20", "2026-11-19")] {
            assert!(matches!(end(start, last), Err(CalendarError::EndsEarly)), "{start} {last}");
        }
        for (start, last) in [("2026-11-20", "2026-11-20T14:00"), ("2026-11-20T15:00", "2026-11-20")] {
            let error = end(start, last).unwrap_err();
            assert!(error.hint().is_some_and(|hint| hint.contains("both as days")), "{error}");
            assert!(error.to_string().contains("`2026-11-20` is a whole day, and `2026-11-20T"), "{error}");
        }
        assert!(matches!(Draft::new("  ", "2026-11-20", "", &berlin()), Err(CalendarError::NoTitle)));
    }
}
