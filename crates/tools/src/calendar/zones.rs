//! Time zones of a file: by their names, and by the VTIMEZONE components that come with it.
//!
//! A zone with a name of the IANA database is taken from there, since the rules in files are often old. Other names
//! (`W. Europe Standard Time`, `Customized Time Zone`) are known only by their component, of which the last rule for
//! standard and for daylight saving time is used.

use super::content::{ContentLine, Document};
use super::rule::{Frequency, Rule, weekday_name};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan, Zoned};
use std::collections::BTreeMap;

/// Years for which a derived rule is compared with the zone's real changes.
const CHECKED_YEARS: i16 = 5;

/// Zones of a file by their names.
#[derive(Debug, Clone, Default)]
pub struct Zones {
    defined: BTreeMap<String, TimeZone>,
}

impl Zones {
    #[must_use]
    pub fn from_document(document: &Document) -> Self {
        let mut defined = BTreeMap::new();
        for component in document.components().iter().filter(|component| component.kind == "VTIMEZONE") {
            let value = |name: &str| {
                document.properties(component).find(|line| line.name == name).map(|line| line.value.trim())
            };
            let Some(name) = value("TZID") else { continue };
            let known = value("X-LIC-LOCATION").and_then(by_name);
            if let Some(zone) = known.or_else(|| from_observances(document.lines(&component.lines))) {
                defined.insert(name.to_string(), zone);
            }
        }
        Zones { defined }
    }

    /// The zone of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TimeZone> {
        by_name(name).or_else(|| self.defined.get(name).cloned())
    }
}

/// A zone of the database; some programs write a path in front of its name.
fn by_name(name: &str) -> Option<TimeZone> {
    let name = name.trim();
    if let Ok(zone) = TimeZone::get(name) {
        return Some(zone);
    }
    let parts: Vec<&str> = name.split('/').collect();
    [3, 2].into_iter().filter(|count| *count < parts.len()).find_map(|count| {
        let tail = parts.get(parts.len() - count..)?.join("/");
        TimeZone::get(&tail).ok()
    })
}

/// STANDARD or DAYLIGHT of a VTIMEZONE.
#[derive(Debug, Default)]
struct Observance {
    daylight: bool,
    offset: Option<i32>,
    start: String,
    rule: Option<String>,
}

/// The zone that a VTIMEZONE describes, as a POSIX rule.
fn from_observances(lines: &[ContentLine]) -> Option<TimeZone> {
    let mut all: Vec<Observance> = Vec::new();
    for line in lines {
        let value = line.value.trim();
        match line.name.as_str() {
            "BEGIN" if !value.eq_ignore_ascii_case("VTIMEZONE") => {
                all.push(Observance {
                    daylight: value.eq_ignore_ascii_case("DAYLIGHT"),
                    ..Observance::default()
                });
            }
            "TZOFFSETTO" => all.last_mut()?.offset = parse_offset(value),
            "DTSTART" if !all.is_empty() => all.last_mut()?.start = value.to_string(),
            "RRULE" => all.last_mut()?.rule = Some(value.to_string()),
            _ => {}
        }
    }
    let last = |daylight: bool| {
        all.iter()
            .filter(|one| one.daylight == daylight && one.offset.is_some())
            .max_by_key(|one| one.start.clone())
    };
    let standard = last(false).or_else(|| last(true))?;
    let offset = Offset::from_seconds(standard.offset?).ok()?;
    let Some(daylight) = last(true).filter(|one| one.rule.is_some() && standard.rule.is_some()) else {
        return Some(TimeZone::fixed(offset));
    };
    // POSIX counts offsets westwards.
    let written = |seconds: i32| {
        let (sign, seconds) = (if seconds > 0 { "-" } else { "" }, seconds.abs());
        format!("{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    };
    let text = format!(
        "<STD>{}<DST>{},{},{}",
        written(standard.offset?),
        written(daylight.offset?),
        posix_change(daylight)?,
        posix_change(standard)?
    );
    TimeZone::posix(&text).ok()
}

/// `+HHMM[SS]` in seconds.
fn parse_offset(text: &str) -> Option<i32> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let part = |range: std::ops::Range<usize>| digits.get(range)?.parse::<i32>().ok();
    let seconds = if digits.len() >= 6 { part(4..6)? } else { 0 };
    Some(sign * (part(0..2)? * 3600 + part(2..4)? * 60 + seconds))
}

/// When an observance begins each year, as POSIX writes it.
fn posix_change(observance: &Observance) -> Option<String> {
    let rule: Rule = observance.rule.as_deref()?.parse().ok()?;
    let ([month], [(Some(nth), weekday)]) = (rule.months.as_slice(), rule.weekdays.as_slice()) else {
        return None;
    };
    if rule.frequency != Frequency::Yearly {
        return None;
    }
    let week = if *nth == -1 { 5 } else { (*nth).clamp(1, 4) };
    let time = observance.start.split_once('T')?.1;
    let part = |range: std::ops::Range<usize>| time.get(range)?.parse::<u8>().ok();
    let day = weekday.to_sunday_zero_offset();
    Some(format!("M{month}.{week}.{day}/{}:{:02}:{:02}", part(0..2)?, part(2..4)?, part(4..6)?))
}

/// The lines of a VTIMEZONE for a zone of the database, from the changes around this moment on.
#[must_use]
pub(super) fn describe_zone(zone: &TimeZone, from: Timestamp) -> Vec<ContentLine> {
    let Some(name) = zone.iana_name() else { return Vec::new() };
    let line = |name: &str, value: &str| ContentLine::new(name, &[], value);
    let mut lines = vec![line("BEGIN", "VTIMEZONE"), line("TZID", name)];
    let year_before =
        from.to_zoned(TimeZone::UTC).checked_sub(1.year()).map_or(from, |moment| moment.timestamp());
    let until = from.to_zoned(TimeZone::UTC).checked_add(i32::from(CHECKED_YEARS).years());
    let until = until.map_or(from, |moment| moment.timestamp());
    let changes: Vec<Change> = zone
        .following(year_before)
        .take_while(|change| change.timestamp() < until)
        .map(|change| {
            Change::new(
                zone,
                change.timestamp(),
                change.offset(),
                change.dst().is_dst(),
                change.abbreviation(),
            )
        })
        .collect();
    if changes.is_empty() {
        let info = zone.to_offset_info(from);
        let start = Change::new(zone, year_before, info.offset(), false, info.abbreviation());
        lines.extend(start.lines(None));
    }
    for daylight in [false, true] {
        let same: Vec<&Change> = changes.iter().filter(|change| change.daylight == daylight).collect();
        match (same.first(), common_rule(&same)) {
            (Some(first), Some(rule)) => lines.extend(first.lines(Some(&rule))),
            _ => same.iter().for_each(|change| lines.extend(change.lines(None))),
        }
    }
    lines.push(line("END", "VTIMEZONE"));
    lines
}

/// A change of the clocks.
#[derive(Debug)]
struct Change {
    /// The time on the clocks before the change.
    at: Zoned,
    before: Offset,
    after: Offset,
    daylight: bool,
    abbreviation: String,
}

impl Change {
    fn new(zone: &TimeZone, at: Timestamp, after: Offset, daylight: bool, abbreviation: &str) -> Self {
        let before = zone.to_offset(at.saturating_sub(jiff::SignedDuration::from_secs(1)).unwrap_or(at));
        Change {
            at: at.to_zoned(TimeZone::fixed(before)),
            before,
            after,
            daylight,
            abbreviation: abbreviation.to_string(),
        }
    }

    fn lines(&self, rule: Option<&str>) -> Vec<ContentLine> {
        let kind = if self.daylight { "DAYLIGHT" } else { "STANDARD" };
        let line = |name: &str, value: &str| ContentLine::new(name, &[], value);
        let mut lines = vec![
            line("BEGIN", kind),
            line("DTSTART", &self.at.strftime("%Y%m%dT%H%M%S").to_string()),
            line("TZOFFSETFROM", &written_offset(self.before)),
            line("TZOFFSETTO", &written_offset(self.after)),
            ContentLine::text("TZNAME", &self.abbreviation),
        ];
        lines.extend(rule.map(|rule| line("RRULE", rule)));
        lines.push(line("END", kind));
        lines
    }
}

/// The yearly rule that gives exactly these changes, if there is one.
fn common_rule(changes: &[&Change]) -> Option<String> {
    let first = changes.first()?;
    if changes.len() < 2 {
        return None;
    }
    let (month, weekday) = (first.at.month(), first.at.weekday());
    let nth = |change: &Change| (change.at.day() - 1) / 7 + 1;
    let is_last = |change: &Change| change.at.day() + 7 > change.at.days_in_month();
    let alike = changes.iter().all(|change| {
        change.at.month() == month
            && change.at.weekday() == weekday
            && change.at.time() == first.at.time()
            && (change.before, change.after) == (first.before, first.after)
    });
    let yearly = changes.windows(2).all(|pair| matches!(pair, [a, b] if b.at.year() - a.at.year() == 1));
    let ordinal = if changes.iter().all(|change| is_last(change)) {
        -1
    } else if changes.iter().all(|change| nth(change) == nth(first)) {
        nth(first)
    } else {
        return None;
    };
    let day = weekday_name(weekday);
    (alike && yearly).then(|| format!("FREQ=YEARLY;BYMONTH={month};BYDAY={ordinal}{day}"))
}

fn written_offset(offset: Offset) -> String {
    let seconds = offset.seconds();
    let (sign, seconds) = (if seconds < 0 { '-' } else { '+' }, seconds.abs());
    let rest = if seconds % 60 == 0 { String::new() } else { format!("{:02}", seconds % 60) };
    format!("{sign}{:02}{:02}{rest}", seconds / 3600, seconds / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::time::EventTime;

    fn calendar(lines: Vec<ContentLine>) -> Document {
        let mut document = Document::empty();
        document.append(lines);
        Document::parse(&document.bytes(), "x").unwrap()
    }

    #[test]
    fn described_zones_are_read_back_as_the_same() {
        let from: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
        for name in ["Europe/Berlin", "America/New_York", "Australia/Sydney", "Asia/Kolkata", "Asia/Tokyo"] {
            let zone = TimeZone::get(name).unwrap();
            let document = calendar(describe_zone(&zone, from));
            let read = from_observances(document.lines(&document.components()[0].lines)).unwrap();
            for month in 1..=36_i32 {
                let moment = (from.to_zoned(TimeZone::UTC) + month.months()).timestamp();
                assert_eq!(read.to_offset(moment), zone.to_offset(moment), "{name} {moment}");
            }
        }
    }

    #[test]
    fn names_of_other_programs_are_found() {
        let foreign = "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:W. Europe Standard Time\nBEGIN:STANDARD\nDTSTART:16010101T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nRRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10\nEND:STANDARD\nBEGIN:DAYLIGHT\nDTSTART:16010101T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nRRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3\nEND:DAYLIGHT\nEND:VTIMEZONE\nEND:VCALENDAR\n";
        let zones = Zones::from_document(&Document::parse(foreign.as_bytes(), "x").unwrap());
        let at = |value: &str, zone: &str| {
            EventTime::from_value(value, Some(zone), &zones).unwrap().instant(&TimeZone::UTC).to_string()
        };
        assert_eq!(at("20260701T120000", "W. Europe Standard Time"), "2026-07-01T10:00:00Z");
        assert_eq!(at("20261201T120000", "W. Europe Standard Time"), "2026-12-01T11:00:00Z");
        assert_eq!(
            at("20261201T120000", "/freeassociation.sourceforge.net/Europe/Berlin"),
            "2026-12-01T11:00:00Z"
        );
        assert_eq!(at("20261201T120000", "/x/America/Argentina/Ushuaia"), "2026-12-01T15:00:00Z");
        assert_eq!(at("20261201T120000", "Nowhere"), "2026-12-01T12:00:00Z", "the reader's own");
    }
}
