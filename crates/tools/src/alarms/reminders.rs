//! Reminders of the events in the calendars of all profiles.
//!
//! They are computed from the calendars each time, so that events that another program adds, moves or deletes are treated
//! alike. Which of them rang is kept, by event, time and minutes. Events of whole days have no reminder.

use super::store::{AlarmState, RingKind};
use super::time::{Moment, spoken_duration};
use crate::calendar::{CalendarFile, Occurrence, occurrences};
use jiff::{SignedDuration, Timestamp};
use marvin_base::layout::Layout;
use marvin_base::settings::{Settings, table};
use std::collections::BTreeMap;

/// A reminder that comes late is still worth it for this long after the event began.
const LATE: SignedDuration = SignedDuration::from_hours(12);
/// How long it is kept that a reminder rang.
const REMINDER_RETENTION: SignedDuration = SignedDuration::from_hours(48);
/// How far ahead the next reminder is looked for.
const HORIZON: SignedDuration = SignedDuration::from_hours(400 * 24);
/// Minutes of the earliest reminder.
const MAX_MINUTES: i64 = 7 * 24 * 60;

/// The calendars of all profiles, and when to remind.
#[derive(Debug, Clone)]
pub struct Reminders {
    calendars: Vec<(String, CalendarFile)>,
    /// Minutes before an event, the most first.
    minutes: Vec<i64>,
}

/// A reminder of one event.
#[derive(Debug, Clone)]
struct Reminder {
    key: String,
    at: Timestamp,
    occurrence: Occurrence,
}

impl Reminders {
    /// The calendars of the person; `calendar.reminders` says when.
    #[must_use]
    pub fn new(layout: &Layout, settings: &Settings) -> Self {
        let mut minutes: Vec<i64> = settings
            .text(&table::CALENDAR_REMINDERS)
            .split(',')
            .filter_map(|number| number.trim().parse().ok())
            .filter(|minutes| (0..=MAX_MINUTES).contains(minutes))
            .collect();
        minutes.sort_unstable_by(|a, b| b.cmp(a));
        minutes.dedup();
        let profiles = std::fs::read_dir(layout.profiles()).into_iter().flatten();
        let mut calendars: Vec<(String, CalendarFile)> = profiles
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .map(|name| (name.clone(), layout.calendar(&name)))
            .filter(|(_, path)| path.is_file())
            .map(|(name, path)| (name, CalendarFile::new(path)))
            .collect();
        calendars.sort_by(|(a, _), (b, _)| a.cmp(b));
        Reminders { calendars, minutes }
    }

    /// Reminders due in a span of time, in order. A calendar that cannot be read has none.
    fn between(&self, from: Timestamp, to: Timestamp, now: &Moment) -> Vec<Reminder> {
        let mut found = Vec::new();
        let Some(most) = self.minutes.first() else { return found };
        let ahead = SignedDuration::from_mins(*most);
        for (profile, calendar) in &self.calendars {
            let Ok(events) = calendar.events() else { continue };
            let end = to.saturating_add(ahead).unwrap_or(to);
            for occurrence in occurrences(&events, from, end, &now.zone) {
                if occurrence.all_day {
                    continue;
                }
                let start = occurrence.start.timestamp();
                let created =
                    events.iter().find(|event| event.uid == occurrence.uid).and_then(|event| event.created);
                for minutes in &self.minutes {
                    let at = start.saturating_sub(SignedDuration::from_mins(*minutes)).unwrap_or(start);
                    // The person who adds an event knows of it then.
                    if at >= from && at <= to && created.is_none_or(|created| at >= created) {
                        let key = format!("{profile}/{}/{}/{minutes}", occurrence.uid, start.as_second());
                        found.push(Reminder { key, at, occurrence: occurrence.clone() });
                    }
                }
            }
        }
        found.sort_by_key(|reminder| reminder.at);
        found
    }

    /// Turns reminders that are due into rings; of several of one event only the last rings.
    pub(super) fn ring_due(&self, state: &mut AlarmState, now: &Moment) {
        let first = *state.reminders_from.get_or_insert(now.timestamp);
        state
            .reminded
            .retain(|_, start| start.saturating_add(REMINDER_RETENTION).is_ok_and(|end| end > now.timestamp));
        let from = now.timestamp.saturating_sub(LATE).unwrap_or(first).max(first);
        // Events that have begun are found by their start, reminders by a time before it.
        let widest = SignedDuration::from_mins(self.minutes.first().copied().unwrap_or(0));
        let from = from.saturating_sub(widest).unwrap_or(from).max(first);
        let due = self.between(from, now.timestamp, now);
        let mut last: BTreeMap<(String, Timestamp), &Reminder> = BTreeMap::new();
        for reminder in &due {
            let start = reminder.occurrence.start.timestamp();
            if state.reminded.contains_key(&reminder.key) {
                continue;
            }
            if start.saturating_add(LATE).is_ok_and(|end| end > now.timestamp) {
                last.insert((reminder.occurrence.uid.clone(), start), reminder);
            }
        }
        let ringing: Vec<(String, Reminder)> =
            last.values().map(|reminder| (reminder.key.clone(), (*reminder).clone())).collect();
        for reminder in &due {
            state.reminded.insert(reminder.key.clone(), reminder.occurrence.start.timestamp());
        }
        for (key, reminder) in ringing {
            let message = message(&reminder.occurrence, now);
            let title = reminder.occurrence.title.trim();
            let title = if title.is_empty() { "(no title)" } else { title };
            state.ring(&key, RingKind::Reminder, title, &message, reminder.at, now);
        }
    }

    /// The next moment at which a reminder is due.
    #[must_use]
    pub fn next_due(&self, now: &Moment) -> Option<Timestamp> {
        let far = now.timestamp.saturating_add(HORIZON).unwrap_or(Timestamp::MAX);
        let after = now.timestamp.saturating_add(SignedDuration::from_millis(1)).unwrap_or(now.timestamp);
        self.between(after, far, now).first().map(|reminder| reminder.at)
    }
}

/// `in 30m, at 15:00 (Main St)`.
fn message(occurrence: &Occurrence, now: &Moment) -> String {
    let start = occurrence.start.timestamp();
    let left = start.duration_since(now.timestamp);
    let clock = occurrence.start.strftime("%H:%M");
    let when = match left.is_positive() {
        // Half a minute of delay is not worth a word.
        true => format!("in {}, at {clock}", spoken_duration(left.round_to_minutes())),
        false => format!("began at {clock}, {} ago", spoken_duration(-left)),
    };
    let location = occurrence.location.trim();
    if location.is_empty() { when } else { format!("{when} ({location})") }
}

/// Rounding of what a person is told.
trait RoundToMinutes {
    fn round_to_minutes(self) -> Self;
}

impl RoundToMinutes for SignedDuration {
    fn round_to_minutes(self) -> Self {
        SignedDuration::from_mins((self.as_secs() + 30) / 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alarms::time::testing::moment;
    use crate::calendar::Draft;
    use marvin_base::environment::Environment;

    fn reminders(home: &std::path::Path) -> (Layout, Reminders) {
        let environment = Environment::from_iter([("HOME", home.to_str().unwrap())]);
        let layout = Layout::new(&environment, None);
        let reminders = Reminders::new(&layout, &Settings::defaults().unwrap());
        (layout, reminders)
    }

    fn add(layout: &Layout, start: &str, now: &Moment) -> CalendarFile {
        let file = CalendarFile::new(layout.calendar("default"));
        let draft = Draft::new("Dentist", start, "", &now.zone).unwrap();
        file.add(&draft, now.timestamp).unwrap();
        file
    }

    #[test]
    fn an_hour_and_half_an_hour_before_once_each() {
        let home = tempfile::tempdir().unwrap();
        let now = moment("2026-11-17T08:00:00Z", "a", 0);
        let (layout, _) = reminders(home.path());
        add(&layout, "2026-11-17T11:00", &now);
        let (_, reminders) = reminders(home.path());
        let mut state = AlarmState::default();
        let mut ring = |at: &str| {
            reminders.ring_due(&mut state, &moment(at, "a", 0));
            state.rings.iter().map(|ring| ring.message.clone()).collect::<Vec<_>>()
        };
        assert_eq!(ring("2026-11-17T08:00:00Z"), [""; 0]);
        assert_eq!(reminders.next_due(&now).unwrap().to_string(), "2026-11-17T09:00:00Z");
        assert_eq!(ring("2026-11-17T09:00:01Z"), ["in 1h, at 11:00"]);
        assert_eq!(ring("2026-11-17T09:00:02Z").len(), 1);
        assert_eq!(ring("2026-11-17T08:30:00Z").len(), 1, "the clock was set back");
        assert_eq!(ring("2026-11-17T09:30:00Z"), ["in 1h, at 11:00", "in 30m, at 11:00"]);
        assert_eq!(ring("2026-11-17T10:30:00Z").len(), 2);
        assert_eq!(reminders.next_due(&moment("2026-11-17T09:30:00Z", "a", 0)), None);
    }

    #[test]
    fn after_a_sleep_one_reminder_is_enough() {
        let home = tempfile::tempdir().unwrap();
        let now = moment("2026-11-17T08:00:00Z", "a", 0);
        let (layout, _) = reminders(home.path());
        add(&layout, "2026-11-17T11:00", &now);
        let (_, reminders) = reminders(home.path());
        let mut state = AlarmState::default();
        reminders.ring_due(&mut state, &now);
        reminders.ring_due(&mut state, &moment("2026-11-17T10:20:00Z", "a", 0));
        assert_eq!(state.rings.len(), 1);
        assert_eq!(state.rings[0].message, "began at 11:00, 20m ago");
        reminders.ring_due(&mut state, &moment("2026-11-17T10:21:00Z", "a", 0));
        assert_eq!(state.rings.len(), 1);
    }

    #[test]
    fn an_event_that_was_just_added_is_known() {
        let home = tempfile::tempdir().unwrap();
        let (layout, first) = reminders(home.path());
        let mut state = AlarmState::default();
        first.ring_due(&mut state, &moment("2026-11-17T08:00:00Z", "a", 0));
        let now = moment("2026-11-17T09:15:00Z", "a", 0);
        add(&layout, "2026-11-17T11:00", &now);
        let (_, reminders) = reminders(home.path());
        reminders.ring_due(&mut state, &now);
        assert_eq!(state.rings.len(), 0, "45 minutes before");
        reminders.ring_due(&mut state, &moment("2026-11-17T09:30:00Z", "a", 0));
        assert_eq!(state.rings.len(), 1);
    }
}
