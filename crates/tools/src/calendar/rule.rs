//! Recurrence rules (RRULE): parsing, occurrences, and how a person says them.
//!
//! Limits: rules by hour, week number or day of the year, and those more often than daily, are refused; an event with such a
//! rule is shown at its first time only, with its rule. (The crate `rrule` would bring a second library for time and a copy of
//! the time zone database.)

use super::error::CalendarError;
use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};
use std::str::FromStr;

/// Periods (days, weeks, months, years) of one rule that are looked at.
const MAX_PERIODS: u32 = 50_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frequency {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// A recurrence rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    pub frequency: Frequency,
    pub interval: u32,
    pub count: Option<u32>,
    /// The last time, as the rule writes it.
    pub until: Option<String>,
    /// Weekdays; with a number the nth of its month or year.
    pub weekdays: Vec<(Option<i8>, Weekday)>,
    /// Days of the month; negative ones count from its end.
    pub month_days: Vec<i8>,
    pub months: Vec<i8>,
    /// Which of the days of a period; negative ones count from the end.
    pub positions: Vec<i16>,
    pub week_start: Weekday,
}

/// The two letters of a weekday in rules.
#[must_use]
pub(super) fn weekday_name(weekday: Weekday) -> &'static str {
    match weekday {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}

/// The day of a time as rules write it.
fn written_day(text: &str) -> Option<Date> {
    Date::strptime("%Y%m%d", text.get(..8)?).ok()
}

fn parse_weekday(text: &str) -> Option<Weekday> {
    let all = [
        Weekday::Monday,
        Weekday::Tuesday,
        Weekday::Wednesday,
        Weekday::Thursday,
        Weekday::Friday,
        Weekday::Saturday,
        Weekday::Sunday,
    ];
    all.into_iter().find(|weekday| weekday_name(*weekday).eq_ignore_ascii_case(text))
}

/// `2MO`, `-1FR`, `SU`.
fn parse_nth_weekday(text: &str) -> Option<(Option<i8>, Weekday)> {
    let text = text.trim();
    let (number, name) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let nth = match number {
        "" => None,
        number => Some(number.parse::<i8>().ok().filter(|nth| *nth != 0)?),
    };
    Some((nth, parse_weekday(name)?))
}

fn parse_numbers<T: FromStr>(value: &str) -> Option<Vec<T>> {
    value.split(',').map(|number| number.trim().parse().ok()).collect()
}

impl FromStr for Rule {
    type Err = CalendarError;

    fn from_str(text: &str) -> Result<Self, CalendarError> {
        let wrong = |reason: String| CalendarError::Rule { rule: text.to_string(), reason };
        let mut rule = Rule {
            frequency: Frequency::Daily,
            interval: 1,
            count: None,
            until: None,
            weekdays: Vec::new(),
            month_days: Vec::new(),
            months: Vec::new(),
            positions: Vec::new(),
            week_start: Weekday::Monday,
        };
        let mut has_frequency = false;
        for part in text.trim().split(';').filter(|part| !part.trim().is_empty()) {
            let (key, value) =
                part.split_once('=').ok_or_else(|| wrong(format!("`{part}` is not KEY=VALUE")))?;
            let (key, value) = (key.trim().to_ascii_uppercase(), value.trim().to_ascii_uppercase());
            let fits = match key.as_str() {
                "FREQ" => parse_frequency(&value).map(|frequency| {
                    has_frequency = true;
                    rule.frequency = frequency;
                }),
                "INTERVAL" => value.parse().ok().filter(|n| *n > 0).map(|n| rule.interval = n),
                "COUNT" => value.parse().ok().map(|n| rule.count = Some(n)),
                "UNTIL" => written_day(&value).map(|_| rule.until = Some(value.clone())),
                "BYDAY" => value
                    .split(',')
                    .map(parse_nth_weekday)
                    .collect::<Option<_>>()
                    .map(|days| rule.weekdays = days),
                "BYMONTHDAY" => parse_numbers(&value).map(|days| rule.month_days = days),
                "BYMONTH" => parse_numbers(&value)
                    .filter(|months: &Vec<i8>| months.iter().all(|month| (1..=12).contains(month)))
                    .map(|months| rule.months = months),
                "BYSETPOS" => parse_numbers(&value).map(|positions| rule.positions = positions),
                "WKST" => parse_weekday(&value).map(|weekday| rule.week_start = weekday),
                _ => None,
            };
            fits.ok_or_else(|| wrong(format!("`{key}={value}` is not supported")))?;
        }
        if has_frequency { Ok(rule) } else { Err(wrong("FREQ is missing".into())) }
    }
}

fn parse_frequency(text: &str) -> Option<Frequency> {
    Some(match text {
        "DAILY" => Frequency::Daily,
        "WEEKLY" => Frequency::Weekly,
        "MONTHLY" => Frequency::Monthly,
        "YEARLY" => Frequency::Yearly,
        _ => return None,
    })
}

impl Rule {
    /// Days on which an event that starts on `start` recurs, from `from` to `to` (both included). `until` is the last day.
    #[must_use]
    pub fn days(&self, start: Date, until: Option<Date>, from: Date, to: Date) -> Vec<Date> {
        let mut found = Vec::new();
        let mut counted = 0_u32;
        // With a count every day has to be counted; without one the time before `from` is skipped.
        let first = if self.count.is_none() { self.periods_before(start, from) } else { 0 };
        let last = until.map_or(to, |until| until.min(to));
        for period in first..first.saturating_add(MAX_PERIODS) {
            let Some((begin, mut days)) = self.period(start, period) else { break };
            if begin > last {
                break;
            }
            days.retain(|day| *day >= start);
            for day in days {
                counted += 1;
                if day > last || self.count.is_some_and(|count| counted > count) {
                    return found;
                }
                if day >= from {
                    found.push(day);
                }
            }
        }
        found
    }

    fn step(&self, periods: u32) -> Option<Span> {
        let number = i64::from(periods.checked_mul(self.interval)?);
        Some(match self.frequency {
            Frequency::Daily => Span::new().try_days(number).ok()?,
            Frequency::Weekly => Span::new().try_weeks(number).ok()?,
            Frequency::Monthly => Span::new().try_months(number).ok()?,
            Frequency::Yearly => Span::new().try_years(number).ok()?,
        })
    }

    /// Periods that surely lie before `from`.
    fn periods_before(&self, start: Date, from: Date) -> u32 {
        let days = (from - start).get_days().max(0).unsigned_abs();
        let length = match self.frequency {
            Frequency::Daily => 1,
            Frequency::Weekly => 7,
            Frequency::Monthly => 31,
            Frequency::Yearly => 366,
        };
        (days / length / self.interval.max(1)).saturating_sub(1)
    }

    /// First day of a period and the days of it that the rule names.
    fn period(&self, start: Date, number: u32) -> Option<(Date, Vec<Date>)> {
        let step = self.step(number)?;
        let (begin, mut days) = match self.frequency {
            Frequency::Daily => {
                let day = start.checked_add(step).ok()?;
                (day, vec![day])
            }
            Frequency::Weekly => {
                let back = i64::from(self.week_start.until(start.weekday()));
                let begin = start.checked_sub(back.days()).ok()?.checked_add(step).ok()?;
                let days = (0..7).filter_map(|n: i64| begin.checked_add(n.days()).ok());
                let wanted = |day: &Date| match self.weekdays.as_slice() {
                    [] => day.weekday() == start.weekday(),
                    some => some.iter().any(|(_, weekday)| *weekday == day.weekday()),
                };
                (begin, days.filter(wanted).collect())
            }
            Frequency::Monthly => {
                let begin = start.first_of_month().checked_add(step).ok()?;
                (begin, self.days_of_month(begin, start))
            }
            Frequency::Yearly => {
                let begin = start.first_of_year().checked_add(step).ok()?;
                (begin, self.days_of_year(begin, start))
            }
        };
        days.retain(|day| self.months.is_empty() || self.months.contains(&day.month()));
        if self.frequency == Frequency::Daily {
            days.retain(|day| {
                let on = |(_, weekday): &(Option<i8>, Weekday)| *weekday == day.weekday();
                (self.weekdays.is_empty() || self.weekdays.iter().any(on))
                    && (self.month_days.is_empty() || self.is_month_day(*day))
            });
        }
        days.sort_unstable();
        days.dedup();
        if !self.positions.is_empty() {
            let length = days.len();
            let picked = self.positions.iter().filter_map(|position| {
                let index = usize::from(position.unsigned_abs());
                let index = if *position > 0 { index.checked_sub(1)? } else { length.checked_sub(index)? };
                days.get(index).copied()
            });
            let mut picked: Vec<Date> = picked.collect();
            picked.sort_unstable();
            picked.dedup();
            days = picked;
        }
        Some((begin, days))
    }

    fn is_month_day(&self, day: Date) -> bool {
        self.month_days
            .iter()
            .any(|wanted| *wanted == day.day() || *wanted == day.day() - day.days_in_month() - 1)
    }

    fn days_of_month(&self, first: Date, start: Date) -> Vec<Date> {
        let all =
            (1..=first.days_in_month()).filter_map(|day| Date::new(first.year(), first.month(), day).ok());
        if self.weekdays.is_empty() && self.month_days.is_empty() {
            return all.filter(|day| day.day() == start.day()).collect();
        }
        let nth_fits = |day: &Date, nth: Option<i8>| match nth {
            None => true,
            Some(nth) if nth > 0 => (day.day() - 1) / 7 + 1 == nth,
            Some(nth) => (day.days_in_month() - day.day()) / 7 + 1 == -nth,
        };
        all.filter(|day| self.month_days.is_empty() || self.is_month_day(*day))
            .filter(|day| {
                let on =
                    |(nth, weekday): &(Option<i8>, Weekday)| *weekday == day.weekday() && nth_fits(day, *nth);
                self.weekdays.is_empty() || self.weekdays.iter().any(on)
            })
            .collect()
    }

    fn days_of_year(&self, first: Date, start: Date) -> Vec<Date> {
        let month = |month: i8| Date::new(first.year(), month, 1).ok();
        match (self.months.as_slice(), self.weekdays.is_empty() && self.month_days.is_empty()) {
            ([], true) => Date::new(first.year(), start.month(), start.day()).into_iter().collect(),
            // Weekdays without months are counted in the year.
            ([], false) if self.month_days.is_empty() => self.weekdays_of_year(first),
            ([], false) => {
                (1..=12).filter_map(month).flat_map(|first| self.days_of_month(first, start)).collect()
            }
            (months, _) => months
                .iter()
                .copied()
                .filter_map(month)
                .flat_map(|first| self.days_of_month(first, start))
                .collect(),
        }
    }

    fn weekdays_of_year(&self, first: Date) -> Vec<Date> {
        let length = first.days_in_year();
        let all = (1..=length)
            .filter_map(|number| Some((number, first.checked_add(i64::from(number - 1).days()).ok()?)));
        let fits = |number: i16, day: Date| {
            self.weekdays.iter().any(|(nth, weekday)| {
                *weekday == day.weekday()
                    && match nth {
                        None => true,
                        Some(nth) if *nth > 0 => (number - 1) / 7 + 1 == i16::from(*nth),
                        Some(nth) => (length - number) / 7 + 1 == -i16::from(*nth),
                    }
            })
        };
        all.filter(|(number, day)| fits(*number, *day)).map(|(_, day)| day).collect()
    }

    /// The rule in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let unit = match self.frequency {
            Frequency::Daily => "day",
            Frequency::Weekly => "week",
            Frequency::Monthly => "month",
            Frequency::Yearly => "year",
        };
        let mut text = match self.interval {
            1 => format!("every {unit}"),
            interval => format!("every {interval} {unit}s"),
        };
        let mut days: Vec<String> = self
            .weekdays
            .iter()
            .map(|(nth, weekday)| {
                let name = format!("{weekday:?}");
                match nth {
                    None => name,
                    Some(-1) => format!("the last {name}"),
                    Some(nth) => format!("the {} {name}", ordinal(i32::from(*nth))),
                }
            })
            .collect();
        days.extend(self.month_days.iter().map(|day| match day {
            -1 => "the last day".to_string(),
            day => format!("the {}", ordinal(i32::from(*day))),
        }));
        if !days.is_empty() {
            text.push_str(&format!(" on {}", days.join(", ")));
        }
        if !self.months.is_empty() {
            let names: Vec<&str> = self.months.iter().map(|month| month_name(*month)).collect();
            text.push_str(&format!(" in {}", names.join(", ")));
        }
        if let Some(count) = self.count {
            text.push_str(&format!(", {count} times"));
        }
        if let Some(until) = &self.until {
            let day = written_day(until).map_or(until.clone(), |day| day.to_string());
            text.push_str(&format!(", until {day}"));
        }
        text
    }
}

fn ordinal(number: i32) -> String {
    let suffix = match (number.abs() % 100, number.abs() % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    if number < 0 { format!("{}{suffix} last", -number) } else { format!("{number}{suffix}") }
}

/// The English name of a month.
#[must_use]
pub(super) fn month_name(month: i8) -> &'static str {
    let names = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    usize::try_from(month - 1).ok().and_then(|index| names.get(index)).copied().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Date {
        text.parse().unwrap()
    }

    fn days(rule: &str, start: &str, from: &str, to: &str) -> String {
        let rule: Rule = rule.parse().unwrap();
        let until = rule.until.as_deref().and_then(written_day);
        let days = rule.days(date(start), until, date(from), date(to));
        days.iter().map(|day| day.strftime("%m-%d").to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rules_give_their_days() {
        let year = ("2026-01-01", "2026-12-31");
        for (rule, start, from, to, expected) in [
            ("FREQ=DAILY;COUNT=3", "2026-01-30", year.0, year.1, "01-30 01-31 02-01"),
            ("FREQ=DAILY;INTERVAL=10", "2020-01-01", "2026-01-01", "2026-01-20", "01-09 01-19"),
            ("FREQ=WEEKLY;BYDAY=MO,WE", "2026-11-18", "2026-11-01", "2026-11-30", "11-18 11-23 11-25 11-30"),
            ("FREQ=WEEKLY;INTERVAL=2", "2026-11-03", "2026-11-01", "2026-11-30", "11-03 11-17"),
            ("FREQ=WEEKLY;UNTIL=20261112T000000Z", "2026-11-03", "2026-11-01", "2026-11-30", "11-03 11-10"),
            ("FREQ=MONTHLY", "2026-01-31", "2026-01-01", "2026-06-30", "01-31 03-31 05-31"),
            ("FREQ=MONTHLY;BYDAY=-1FR", "2026-01-30", "2026-01-01", "2026-03-31", "01-30 02-27 03-27"),
            ("FREQ=MONTHLY;BYMONTHDAY=-1", "2026-01-31", "2026-01-01", "2026-03-31", "01-31 02-28 03-31"),
            (
                "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
                "2026-01-30",
                "2026-01-01",
                "2026-03-31",
                "01-30 02-27 03-31",
            ),
            ("FREQ=YEARLY", "1990-11-17", "2026-01-01", "2026-12-31", "11-17"),
            ("FREQ=YEARLY", "2024-02-29", "2026-01-01", "2026-12-31", ""),
            ("FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU", "2020-03-29", "2026-01-01", "2026-12-31", "03-29"),
            ("FREQ=YEARLY;BYDAY=20MO", "1997-05-19", "1997-01-01", "1997-12-31", "05-19"),
            (
                "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR",
                "1998-02-13",
                "1998-01-01",
                "1998-12-31",
                "02-13 03-13 11-13",
            ),
            ("FREQ=DAILY;BYDAY=SA,SU;COUNT=3", "2026-11-16", year.0, year.1, "11-21 11-22 11-28"),
        ] {
            assert_eq!(days(rule, start, from, to), expected, "{rule} from {start}");
        }
    }

    #[test]
    fn rules_are_said_in_words() {
        for (rule, words) in [
            ("FREQ=DAILY", "every day"),
            ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE", "every 2 weeks on Monday, Wednesday"),
            ("FREQ=MONTHLY;BYDAY=-1FR;COUNT=5", "every month on the last Friday, 5 times"),
            ("FREQ=MONTHLY;BYMONTHDAY=2,-2", "every month on the 2nd, the 2nd last"),
            ("FREQ=YEARLY;BYMONTH=3;UNTIL=20301231", "every year in March, until 2030-12-31"),
        ] {
            assert_eq!(rule.parse::<Rule>().unwrap().describe(), words);
        }
    }

    #[test]
    fn rules_that_are_not_supported_are_refused() {
        for rule in [
            "",
            "FREQ=HOURLY",
            "FREQ=DAILY;BYHOUR=3",
            "FREQ=WEEKLY;BYDAY=XX",
            "FREQ=DAILY;INTERVAL=0",
            "FREQ=YEARLY;BYMONTH=13",
            "COUNT=3",
            "x",
            "FREQ=DAILY;BYDAY=é",
        ] {
            assert!(rule.parse::<Rule>().is_err(), "{rule}");
        }
        let never: Rule = "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;COUNT=1".parse().unwrap();
        assert_eq!(never.days(date("2026-01-01"), None, date("2026-01-01"), date("9999-12-31")), []);
    }
}
