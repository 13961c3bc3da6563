//! When an alarm is due: at a time on the clock, or after a duration.
//!
//! A time on the clock follows the clock: when daylight saving begins, when the clock is set, when the person travels. A
//! duration is counted by the time since the machine booted, which runs while it sleeps and which no change of the clock
//! touches; after a reboot only the clock is left to count by.

use super::error::AlarmError;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use marvin_base::clock;
use serde::{Deserialize, Serialize};

/// Seconds of the longest duration: a year.
const MAX_SECONDS: i64 = 366 * 24 * 3600;

/// The clocks at one moment.
#[derive(Debug, Clone)]
pub struct Moment {
    pub timestamp: Timestamp,
    pub zone: TimeZone,
    pub boot: Option<BootTime>,
}

/// The time since the machine booted, with the time that it slept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootTime {
    /// Which boot.
    pub id: String,
    pub milliseconds: i64,
}

impl Moment {
    #[must_use]
    pub fn now() -> Self {
        let boot = clock::boot_time().map(|(id, milliseconds)| BootTime { id, milliseconds });
        Moment { timestamp: clock::now(), zone: TimeZone::system(), boot }
    }

    /// The time on the clock.
    #[must_use]
    pub fn civil(&self) -> DateTime {
        self.zone.to_datetime(self.timestamp)
    }

    /// A moment of the past to count from.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        Stamp { timestamp: self.timestamp, boot: self.boot.clone() }
    }
}

/// A moment that durations are counted from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    pub timestamp: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<BootTime>,
}

impl Stamp {
    /// The time that has passed since.
    #[must_use]
    pub fn elapsed(&self, now: &Moment) -> SignedDuration {
        match (&self.boot, &now.boot) {
            (Some(then), Some(now)) if then.id == now.id => {
                SignedDuration::from_millis(now.milliseconds.saturating_sub(then.milliseconds))
            }
            _ => now.timestamp.duration_since(self.timestamp),
        }
    }
}

/// When something is due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum DueTime {
    /// When the clock shows this time.
    Clock { at: DateTime },
    /// This many seconds after a moment.
    After { from: Stamp, seconds: i64 },
}

impl DueTime {
    /// Parses `07:30`, `2026-11-20 15:00`, `30m`, `2h` or `1h30m`.
    ///
    /// # Errors
    /// When it is none of these, or in the past.
    pub fn parse(text: &str, now: &Moment) -> Result<DueTime, AlarmError> {
        let text = text.trim();
        let wrong = |reason| AlarmError::Time { text: text.to_string(), reason };
        if let Some(seconds) = parse_duration(text) {
            if !(1..=MAX_SECONDS).contains(&seconds) {
                return Err(wrong("a duration is between a second and a year"));
            }
            return Ok(DueTime::After { from: now.stamp(), seconds });
        }
        let forms = "write `07:30`, `2026-11-20 15:00`, `30m`, `2h` or `1h30m`";
        let clock = now.civil();
        if let Some(time) = parse_time(text) {
            let today = clock.date().to_datetime(time);
            // Today, or tomorrow where that time of today is over.
            let is_over = now.zone.to_timestamp(today).is_ok_and(|moment| moment <= now.timestamp);
            let at = if is_over { today.checked_add(1.day()).map_err(|_| wrong(forms))? } else { today };
            return Ok(DueTime::Clock { at });
        }
        let (date, time) = text.split_once([' ', 'T']).ok_or_else(|| wrong(forms))?;
        let date: jiff::civil::Date = date.parse().map_err(|_| wrong(forms))?;
        let at = date.to_datetime(parse_time(time.trim()).ok_or_else(|| wrong(forms))?);
        match now.zone.to_timestamp(at) {
            Ok(moment) if moment > now.timestamp => Ok(DueTime::Clock { at }),
            _ => Err(AlarmError::Past { at: at.strftime("%Y-%m-%d %H:%M").to_string() }),
        }
    }

    /// The moment, as far as can be told now.
    #[must_use]
    pub fn instant(&self, now: &Moment) -> Timestamp {
        match self {
            // A time that the clocks skip is due when they have skipped it.
            DueTime::Clock { at } => now.zone.to_timestamp(*at).unwrap_or(Timestamp::MAX),
            DueTime::After { from, seconds } => {
                let left = SignedDuration::from_secs(*seconds).saturating_sub(from.elapsed(now));
                now.timestamp.saturating_add(left).unwrap_or(Timestamp::MAX)
            }
        }
    }

    #[must_use]
    pub fn is_reached(&self, now: &Moment) -> bool {
        self.instant(now) <= now.timestamp
    }

    /// `2026-11-20 15:00 (in 2h 5m)`, or `overdue since 2026-11-20 15:00 (2h 5m)`.
    #[must_use]
    pub fn describe(&self, now: &Moment) -> String {
        let moment = self.instant(now);
        let clock = moment.to_zoned(now.zone.clone());
        // A duration is said to the second, and a time where its seconds were given.
        let is_whole_minute = matches!(self, DueTime::Clock { at } if at.second() == 0);
        let format = if is_whole_minute { "%Y-%m-%d %H:%M" } else { "%Y-%m-%d %H:%M:%S" };
        let (time, left) = (clock.strftime(format), moment.duration_since(now.timestamp));
        if left.is_negative() {
            return format!("overdue since {time} ({})", spoken_duration(left.abs()));
        }
        format!("{time} (in {})", spoken_duration(left))
    }
}

/// `07:30` or `7:30:15`.
fn parse_time(text: &str) -> Option<Time> {
    let mut parts = text.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next().unwrap_or("0"));
    let number = |text: &str| {
        let plain = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i8>().ok().filter(|_| plain)
    };
    if parts.next().is_some() {
        return None;
    }
    Time::new(number(hour)?, number(minute)?, number(second)?, 0).ok()
}

/// Seconds of `1h30m`; none: it is not a duration.
fn parse_duration(text: &str) -> Option<i64> {
    let mut seconds = 0_i64;
    let mut number = String::new();
    let mut units = "dhms".chars();
    if !text.starts_with(|char: char| char.is_ascii_digit()) {
        return None;
    }
    for char in text.chars().filter(|char| *char != ' ') {
        if char.is_ascii_digit() {
            number.push(char);
            continue;
        }
        let length = match char.to_ascii_lowercase() {
            'd' => 86_400,
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        // Each unit once, the larger first.
        units.find(|unit| *unit == char.to_ascii_lowercase())?;
        let count: i64 = std::mem::take(&mut number).parse().ok()?;
        seconds = seconds.saturating_add(count.saturating_mul(length));
    }
    number.is_empty().then_some(seconds)
}

/// `2d 3h`, `1h 30m`, `45s`.
#[must_use]
pub(super) fn spoken_duration(duration: SignedDuration) -> String {
    let total = duration.as_secs().max(0);
    let parts = [(total / 86_400, 'd'), (total / 3600 % 24, 'h'), (total / 60 % 60, 'm'), (total % 60, 's')];
    let first = parts.iter().position(|(number, _)| *number > 0).unwrap_or(3);
    // Two units are exact enough.
    let shown: Vec<String> = parts
        .iter()
        .skip(first)
        .take(2)
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number}{unit}"))
        .collect();
    if shown.is_empty() { "0s".to_string() } else { shown.join(" ") }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// The clocks of a machine in Berlin, as a test sets them.
    pub(crate) fn moment(timestamp: &str, boot: &str, milliseconds: i64) -> Moment {
        Moment {
            timestamp: timestamp.parse().unwrap(),
            zone: TimeZone::get("Europe/Berlin").unwrap(),
            boot: Some(BootTime { id: boot.to_string(), milliseconds }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::moment;
    use super::*;

    #[test]
    fn every_form_of_a_time_is_understood() {
        let now = moment("2026-11-17T14:00:00Z", "a", 0);
        let due = |text: &str| DueTime::parse(text, &now).map(|due| due.instant(&now).to_string());
        for (text, expected) in [
            ("15:30", "2026-11-17T14:30:00Z"),
            ("7:30", "2026-11-18T06:30:00Z"),
            ("15:00", "2026-11-18T14:00:00Z"),
            ("2026-12-24 18:00", "2026-12-24T17:00:00Z"),
            ("2026-12-24T18:00", "2026-12-24T17:00:00Z"),
            ("30m", "2026-11-17T14:30:00Z"),
            ("2h", "2026-11-17T16:00:00Z"),
            ("1h30m", "2026-11-17T15:30:00Z"),
            ("1h 30m", "2026-11-17T15:30:00Z"),
            ("1d", "2026-11-18T14:00:00Z"),
            ("45s", "2026-11-17T14:00:45Z"),
        ] {
            assert_eq!(due(text).unwrap(), expected, "{text}");
        }
        for text in [
            "",
            "soon",
            "25:00",
            "12:60",
            "1:2:3:4",
            "0m",
            "m",
            "30",
            "30x",
            "30m2h",
            "1h1h",
            "-5m",
            "99999999999999999999h",
            "999d",
            "2026-11-17",
            "2026-11-17 14:59",
            "é:00",
            "7:é0",
        ] {
            assert!(due(text).is_err(), "{text}: {:?}", due(text));
        }
    }

    #[test]
    fn a_time_on_the_clock_follows_daylight_saving() {
        // Clocks go back on 25 October and forward on 28 March.
        let evening = moment("2026-10-24T20:00:00Z", "a", 0);
        let due = DueTime::parse("07:00", &evening).unwrap();
        assert_eq!(due.instant(&evening).to_string(), "2026-10-25T06:00:00Z");
        let skipped = DueTime::Clock { at: "2027-03-28T02:30".parse().unwrap() };
        assert!(!skipped.is_reached(&moment("2027-03-28T00:59:59Z", "a", 0)));
        assert!(skipped.is_reached(&moment("2027-03-28T01:30:00Z", "a", 0)));
        let twice = DueTime::Clock { at: "2026-10-25T02:30".parse().unwrap() };
        assert_eq!(twice.instant(&evening).to_string(), "2026-10-25T00:30:00Z", "the first of both");
    }

    #[test]
    fn a_time_on_the_clock_follows_the_clock_and_the_traveller() {
        let now = moment("2026-11-17T14:00:00Z", "a", 0);
        let due = DueTime::parse("15:30", &now).unwrap();
        let set_forward = moment("2026-11-17T14:40:00Z", "a", 1_000);
        assert!(due.is_reached(&set_forward));
        let abroad = Moment { zone: TimeZone::get("America/New_York").unwrap(), ..set_forward };
        assert!(!due.is_reached(&abroad), "it is 9:40 there");
    }

    #[test]
    fn a_duration_ignores_the_clock_until_a_reboot() {
        let now = moment("2026-11-17T14:00:00Z", "a", 0);
        let due = DueTime::parse("30m", &now).unwrap();
        let minute = 60_000;
        assert!(
            !due.is_reached(&moment("2026-11-17T18:00:00Z", "a", 5 * minute)),
            "the clock was set forward"
        );
        assert!(due.is_reached(&moment("2026-11-17T10:00:00Z", "a", 30 * minute)), "the clock was set back");
        assert!(
            !due.is_reached(&moment("2026-11-17T14:29:59Z", "b", minute)),
            "after a reboot the clock counts"
        );
        assert!(due.is_reached(&moment("2026-11-17T14:30:00Z", "b", minute)));
        let late = moment("2026-11-17T18:00:00Z", "a", 5 * minute);
        assert_eq!(due.instant(&late).to_string(), "2026-11-17T18:25:00Z");
    }

    #[test]
    fn what_is_due_is_described() {
        let now = moment("2026-11-17T14:00:00Z", "a", 0);
        let late = moment("2026-11-17T16:05:00Z", "a", 0);
        let due = |text: &str| DueTime::parse(text, &now).unwrap();
        assert_eq!(due("15:30").describe(&now), "2026-11-17 15:30 (in 30m)");
        assert_eq!(due("15:30:15").describe(&now), "2026-11-17 15:30:15 (in 30m 15s)");
        assert_eq!(due("15:30").describe(&late), "overdue since 2026-11-17 15:30 (1h 35m)");
    }

    #[test]
    fn durations_are_spoken() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (90, "1m 30s"),
            (3600, "1h"),
            (5400, "1h 30m"),
            (90_061, "1d 1h"),
            (-5, "0s"),
        ] {
            assert_eq!(spoken_duration(SignedDuration::from_secs(seconds)), text);
        }
    }
}
