//! A month of the calendar as text: its weeks, and below them its events.

use super::event::{Occurrence, occurrence_line};
use super::rule::month_name;
use jiff::civil::Date;
use std::collections::BTreeSet;

/// Width of a day.
const CELL: usize = 5;

/// The month that `first` begins. Days with events have a `*`, and `today` is in brackets.
#[must_use]
pub(super) fn month_text(first: Date, today: Date, occurrences: &[Occurrence]) -> String {
    let last = first.last_of_month();
    let mut busy: BTreeSet<Date> = BTreeSet::new();
    for occurrence in occurrences {
        let (from, to) = occurrence.days();
        busy.extend(from.max(first).series(jiff::ToSpan::day(1)).take_while(|day| *day <= to.min(last)));
    }
    let title = format!("{} {}", month_name(first.month()), first.year());
    let mut text = format!("{title:^width$}\n", width = 7 * CELL).trim_end().to_string();
    text.push('\n');
    text.push_str(
        &["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].map(|day| format!("{day:>4} ")).concat(),
    );
    let lead = usize::try_from(first.weekday().to_monday_zero_offset()).unwrap_or(0);
    let mut line = " ".repeat(lead * CELL);
    let mut lines: Vec<String> = Vec::new();
    for day in first.series(jiff::ToSpan::day(1)).take_while(|day| *day <= last) {
        let mark = if busy.contains(&day) { "*" } else { " " };
        line.push_str(&match day == today {
            true => format!("{:>4}{mark}", format!("[{}]", day.day())),
            false => format!("{:>3}{mark} ", day.day()),
        });
        if day.weekday() == jiff::civil::Weekday::Sunday || day == last {
            lines.push(std::mem::take(&mut line));
        }
    }
    for line in lines {
        text = text.trim_end().to_string();
        text.push('\n');
        text.push_str(&line);
    }
    text = text.trim_end().to_string();
    text.push_str("\n\n");
    match occurrences {
        [] => text.push_str("No events in this month."),
        some => text.push_str(&some.iter().map(occurrence_line).collect::<Vec<_>>().join("\n")),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::content::Document;
    use crate::calendar::event::{events, occurrences};
    use jiff::tz::TimeZone;

    #[test]
    fn a_month_shows_its_weeks_and_events() {
        let text = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\nSUMMARY:Fair\nDTSTART;VALUE=DATE:20261128\nDTEND;VALUE=DATE:20261202\nEND:VEVENT\nBEGIN:VEVENT\nUID:b\nSUMMARY:Dentist\nLOCATION:Main St\nDTSTART:20261117T090000Z\nEND:VEVENT\nEND:VCALENDAR\n";
        let document = Document::parse(text.as_bytes(), "x").unwrap();
        let date = |text: &str| text.parse::<Date>().unwrap();
        let moment = |text: &str| date(text).to_zoned(TimeZone::UTC).unwrap().timestamp();
        let found =
            occurrences(&events(&document), moment("2026-11-01"), moment("2026-12-01"), &TimeZone::UTC);
        let shown = month_text(date("2026-11-01"), date("2026-11-17"), &found);
        let expected = [
            "           November 2026",
            " Mon  Tue  Wed  Thu  Fri  Sat  Sun",
            "                                1",
            "  2    3    4    5    6    7    8",
            "  9   10   11   12   13   14   15",
            " 16  [17]* 18   19   20   21   22",
            " 23   24   25   26   27   28*  29*",
            " 30*",
            "",
            "2026-11-17 09:00–09:00  Dentist (Main St)",
            "2026-11-28 to 2026-12-01 all day  Fair",
        ];
        assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
        let empty = month_text(date("2027-02-01"), date("2026-11-17"), &[]);
        assert!(empty.ends_with(" 22   23   24   25   26   27   28\n\nNo events in this month."), "{empty}");
    }
}
