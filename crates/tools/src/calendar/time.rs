//! Times of events: days, times of a zone, and floating times.

use super::content::ContentLine;
use super::error::CalendarError;
use super::zones::Zones;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// A time of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum EventTime {
    /// A whole day.
    Day(Date),
    /// The same time on the clock, wherever the reader is.
    Floating(DateTime),
    /// A time of a zone.
    InZone(DateTime, TimeZone),
}

impl EventTime {
    #[must_use]
    pub fn is_day(&self) -> bool {
        matches!(self, EventTime::Day(_))
    }

    /// The time on the clock of its zone.
    #[must_use]
    pub fn civil(&self) -> DateTime {
        match self {
            EventTime::Day(date) => date.to_datetime(Time::midnight()),
            EventTime::Floating(civil) | EventTime::InZone(civil, _) => *civil,
        }
    }

    /// The same kind of time at another moment.
    #[must_use]
    pub fn with_civil(&self, civil: DateTime) -> EventTime {
        match self {
            EventTime::Day(_) => EventTime::Day(civil.date()),
            EventTime::Floating(_) => EventTime::Floating(civil),
            EventTime::InZone(_, zone) => EventTime::InZone(civil, zone.clone()),
        }
    }

    /// The moment for a reader in the zone `local`. A time that the clocks skip is an hour later, one that they repeat the
    /// first of both.
    #[must_use]
    pub fn instant(&self, local: &TimeZone) -> Timestamp {
        let zone = match self {
            EventTime::InZone(_, zone) => zone,
            EventTime::Day(_) | EventTime::Floating(_) => local,
        };
        zone.to_timestamp(self.civil()).unwrap_or(Timestamp::MAX)
    }

    /// The time on the clocks of `local`.
    #[must_use]
    pub fn local(&self, local: &TimeZone) -> Zoned {
        self.instant(local).to_zoned(local.clone())
    }

    /// Parses the value of a property such as DTSTART. A zone that cannot be found is the reader's own.
    #[must_use]
    pub fn from_line(line: &ContentLine, zones: &Zones) -> Option<EventTime> {
        EventTime::from_value(line.value.trim(), line.parameter("TZID"), zones)
    }

    /// Parses one value of a property with this zone.
    #[must_use]
    pub fn from_value(value: &str, zone: Option<&str>, zones: &Zones) -> Option<EventTime> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let (date, time) =
            value.split_once(['T', 't']).map_or((value, None), |(date, time)| (date, Some(time)));
        if date.len() != 8 || !digits(date) {
            return None;
        }
        let date = Date::strptime("%Y%m%d", date).ok()?;
        let Some(time) = time else { return Some(EventTime::Day(date)) };
        let (time, utc) = time.strip_suffix(['Z', 'z']).map_or((time, false), |time| (time, true));
        if time.len() != 6 || !digits(time) {
            return None;
        }
        // A leap second is the one before.
        let time = if time.ends_with("60") { format!("{}59", time.get(..4)?) } else { time.to_string() };
        let civil = date.to_datetime(Time::strptime("%H%M%S", &time).ok()?);
        Some(match zone.and_then(|name| zones.find(name)) {
            _ if utc => EventTime::InZone(civil, TimeZone::UTC),
            Some(zone) => EventTime::InZone(civil, zone),
            None => EventTime::Floating(civil),
        })
    }

    /// Parses what a person or a model writes: a day, or a time in ISO 8601 with or without a zone. Without one it is a
    /// time of `local`.
    ///
    /// # Errors
    /// When it is neither.
    pub fn parse(text: &str, local: &TimeZone) -> Result<EventTime, CalendarError> {
        let trimmed = text.trim();
        // What the library says of a word such as `tomorrow` does not help a person.
        let wrong = |_: jiff::Error| {
            let reason = match unknown_zone(trimmed) {
                Some(zone) => format!("the time zone `{zone}` is not known"),
                None => "it is not a day or time that exists".to_string(),
            };
            let forms = "write `2026-11-20`, `2026-11-20T15:00` or `2026-11-20T15:00[Europe/Berlin]`";
            CalendarError::Time { text: trimmed.to_string(), reason: format!("{reason}; {forms}") }
        };
        if trimmed.len() <= 10 && !trimmed.contains(':') {
            return trimmed.parse().map(EventTime::Day).map_err(wrong);
        }
        // A zone that does not exist must not become the reader's own.
        if trimmed.contains('[') {
            let zoned: Zoned = trimmed.parse().map_err(wrong)?;
            return Ok(EventTime::InZone(zoned.datetime(), zoned.time_zone().clone()));
        }
        if let Ok(moment) = trimmed.parse::<Timestamp>() {
            return Ok(EventTime::InZone(TimeZone::UTC.to_datetime(moment), TimeZone::UTC));
        }
        let civil: DateTime = trimmed.parse().map_err(wrong)?;
        Ok(EventTime::InZone(civil, local.clone()))
    }

    /// The property with this time.
    #[must_use]
    pub fn to_line(&self, name: &str) -> ContentLine {
        let written = |civil: &DateTime| civil.strftime("%Y%m%dT%H%M%S").to_string();
        match self {
            EventTime::Day(date) => {
                ContentLine::new(name, &[("VALUE", "DATE")], &date.strftime("%Y%m%d").to_string())
            }
            EventTime::Floating(civil) => ContentLine::new(name, &[], &written(civil)),
            EventTime::InZone(civil, zone) => match self.zone_name() {
                Some(zone) => ContentLine::new(name, &[("TZID", zone)], &written(civil)),
                None => {
                    let utc = TimeZone::UTC.to_datetime(self.instant(zone));
                    ContentLine::new(name, &[], &format!("{}Z", written(&utc)))
                }
            },
        }
    }

    /// The name of its zone, where that is another than UTC.
    #[must_use]
    pub fn zone_name(&self) -> Option<&str> {
        match self {
            EventTime::InZone(_, zone) => zone.iana_name().filter(|name| !is_utc(name)),
            EventTime::Day(_) | EventTime::Floating(_) => None,
        }
    }
}

/// The zone in the brackets of a time, if the database of zones does not have it.
fn unknown_zone(text: &str) -> Option<&str> {
    let (zone, _) = text.split_once('[')?.1.split_once(']')?;
    let zone = zone.trim_start_matches('!');
    let is_name = zone.starts_with(|letter: char| letter.is_ascii_alphabetic());
    (is_name && TimeZone::get(zone).is_err()).then_some(zone)
}

fn is_utc(name: &str) -> bool {
    matches!(
        name,
        "UTC"
            | "Etc/UTC"
            | "Etc/UCT"
            | "UCT"
            | "Zulu"
            | "Etc/Zulu"
            | "Universal"
            | "Etc/Universal"
            | "GMT"
            | "Etc/GMT"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin() -> TimeZone {
        TimeZone::get("Europe/Berlin").unwrap()
    }

    #[test]
    fn times_of_a_person_become_properties() {
        for (text, line) in [
            ("2026-11-20", "DTSTART;VALUE=DATE:20261120"),
            ("2026-11-20T15:00", "DTSTART;TZID=Europe/Berlin:20261120T150000"),
            ("2026-11-20 15:00:30", "DTSTART;TZID=Europe/Berlin:20261120T150030"),
            ("2026-11-20T15:00Z", "DTSTART:20261120T150000Z"),
            ("2026-11-20T15:00-05:00", "DTSTART:20261120T200000Z"),
            ("2026-11-20T15:00[America/New_York]", "DTSTART;TZID=America/New_York:20261120T150000"),
        ] {
            let time = EventTime::parse(text, &berlin()).unwrap();
            let shown = time.to_line("DTSTART");
            let parameters: String =
                shown.parameters.iter().map(|(key, value)| format!(";{key}={value}")).collect();
            assert_eq!(format!("DTSTART{parameters}:{}", shown.value), line, "{text}");
            assert_eq!(
                EventTime::from_line(&shown, &Zones::default()).unwrap().instant(&berlin()),
                time.instant(&berlin())
            );
        }
        let wrong = ["", "tomorrow", "15:00", "2026-13-01", "2026-11-20T25:00", "2026-02-30"];
        let wrong_zones = ["2026-11-20T15:00[Mars/Olympus]", "2026-11-20T15:00-05:00[Europe/Berlin]"];
        for text in wrong.into_iter().chain(wrong_zones) {
            let error = EventTime::parse(text, &berlin()).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains("write `2026-11-20`"), "{text}: {error}");
            let names_zone = error.to_string().contains("the time zone `Mars/Olympus` is not known");
            assert_eq!(names_zone, text.contains("Mars"), "{text}: {error}");
        }
    }

    #[test]
    fn clock_changes_keep_the_time_on_the_clock() {
        let at = |text: &str| EventTime::parse(text, &berlin()).unwrap().instant(&berlin()).to_string();
        assert_eq!(at("2026-10-24T09:00"), "2026-10-24T07:00:00Z");
        assert_eq!(at("2026-10-26T09:00"), "2026-10-26T08:00:00Z");
        assert_eq!(at("2026-03-29T02:30"), "2026-03-29T01:30:00Z", "skipped by the clocks");
        assert_eq!(at("2026-10-25T02:30"), "2026-10-25T00:30:00Z", "twice on the clocks");
    }

    #[test]
    fn odd_values_are_not_times() {
        for value in [
            "",
            "T",
            "20261120T",
            "2026112",
            "20261120T1500",
            "20261120T150000ZZ",
            "é0261120",
            "20261120Té0000",
        ] {
            assert_eq!(EventTime::from_value(value, None, &Zones::default()), None, "{value}");
        }
        assert!(EventTime::from_value("20161231T235960Z", None, &Zones::default()).is_some());
    }
}
