//! `alarms.json`: alarms and timers that wait, and what rang.
//!
//! Every change is one replacement of the whole file under a lock, so that a process that is killed leaves the state before
//! or after. An alarm that is due becomes a ring in one such change: from then on it is shown by every open Marvin (which
//! remember the number of the last ring that they showed) and delivered to the desktop and to ntfy, each noted when it is done.

use super::error::AlarmError;
use super::time::{DueTime, Moment, Stamp};
use jiff::Timestamp;
use marvin_base::files::{self, Links};
use marvin_base::{atomic, ids};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const VERSION: u32 = 1;
const MAX_STORE_BYTES: u64 = 16 * 1024 * 1024;
/// Alarms or timers that may wait.
pub(super) const MAX_WAITING: usize = 500;
/// Rings that are kept for front ends.
const MAX_RINGS: usize = 200;
/// Characters of a name, and of a message.
const MAX_NAME_CHARS: usize = 100;
const MAX_MESSAGE_CHARS: usize = 2_000;

/// An alarm that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alarm {
    pub id: String,
    pub label: String,
    pub message: String,
    pub due: DueTime,
}

/// A timer, or a stopwatch where it has no duration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timer {
    pub id: String,
    pub name: String,
    pub from: Stamp,
    /// 0: a stopwatch.
    pub seconds: i64,
    /// Whether it rang.
    #[serde(default)]
    pub rang: bool,
}

impl Timer {
    #[must_use]
    pub fn due(&self) -> DueTime {
        DueTime::After { from: self.from.clone(), seconds: self.seconds }
    }

    #[must_use]
    pub fn waits(&self) -> bool {
        self.seconds > 0 && !self.rang
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RingKind {
    Alarm,
    Timer,
    Reminder,
}

/// How far a ring got on one way to the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Delivery {
    /// Still to be delivered; `attempts` were begun, and a next one waits for its time.
    Pending {
        #[serde(default)]
        attempts: u32,
        #[serde(default)]
        next: Option<Timestamp>,
    },
    Done,
    /// This machine does not have it, or it is not set up.
    Absent,
    Failed {
        reason: String,
    },
}

impl Delivery {
    pub const NEW: Delivery = Delivery::Pending { attempts: 0, next: None };

    #[must_use]
    pub fn is_pending(&self) -> bool {
        matches!(self, Delivery::Pending { .. })
    }
}

/// Something that was due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ring {
    /// Its number; it only grows, by one each.
    pub number: u64,
    /// The id of what rang.
    pub id: String,
    pub kind: RingKind,
    pub title: String,
    pub message: String,
    /// When it was due.
    pub due: Timestamp,
    /// When it rang.
    pub rang: Timestamp,
    pub desktop: Delivery,
    pub ntfy: Delivery,
    /// Whether an open Marvin showed it.
    #[serde(default = "seen_before")]
    pub seen: bool,
}

/// Files of earlier versions do not say; what they hold is old.
fn seen_before() -> bool {
    true
}

impl Ring {
    /// Whether it got to the person on some way.
    #[must_use]
    pub fn is_delivered(&self) -> bool {
        self.seen || self.desktop == Delivery::Done || self.ntfy == Delivery::Done
    }
}

/// Content of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlarmState {
    pub version: u32,
    #[serde(default)]
    pub alarms: Vec<Alarm>,
    #[serde(default)]
    pub timers: Vec<Timer>,
    /// Reminders of the calendar that rang, with the start of their events.
    #[serde(default)]
    pub reminded: BTreeMap<String, Timestamp>,
    /// Reminders due before this moment are not of interest.
    #[serde(default)]
    pub reminders_from: Option<Timestamp>,
    #[serde(default)]
    pub rings: Vec<Ring>,
    /// Number of the last ring.
    #[serde(default)]
    pub last_ring: u64,
}

impl Default for AlarmState {
    fn default() -> Self {
        AlarmState {
            version: VERSION,
            alarms: Vec::new(),
            timers: Vec::new(),
            reminded: BTreeMap::new(),
            reminders_from: None,
            rings: Vec::new(),
            last_ring: 0,
        }
    }
}

impl AlarmState {
    pub(super) fn ring(
        &mut self,
        id: &str,
        kind: RingKind,
        title: &str,
        message: &str,
        due: Timestamp,
        now: &Moment,
    ) {
        self.last_ring += 1;
        self.rings.push(Ring {
            number: self.last_ring,
            id: id.to_string(),
            kind,
            title: title.to_string(),
            message: message.to_string(),
            due,
            rang: now.timestamp,
            desktop: Delivery::NEW,
            ntfy: Delivery::NEW,
            seen: false,
        });
        let mut extra = self.rings.len().saturating_sub(MAX_RINGS);
        // What was not delivered yet stays.
        self.rings.retain(|ring| {
            let goes = extra > 0 && !ring.desktop.is_pending() && !ring.ntfy.is_pending();
            extra -= usize::from(goes);
            !goes
        });
    }

    /// Turns everything that is due into rings; tells whether something was.
    pub(super) fn ring_due(&mut self, now: &Moment) -> bool {
        let before = self.last_ring;
        let (due, waiting): (Vec<Alarm>, Vec<Alarm>) =
            std::mem::take(&mut self.alarms).into_iter().partition(|alarm| alarm.due.is_reached(now));
        self.alarms = waiting;
        for alarm in due {
            let moment = alarm.due.instant(now);
            self.ring(&alarm.id, RingKind::Alarm, &alarm.label, &alarm.message, moment, now);
        }
        let mut rang: Vec<Timer> = Vec::new();
        for timer in self.timers.iter_mut().filter(|timer| timer.waits() && timer.due().is_reached(now)) {
            timer.rang = true;
            rang.push(timer.clone());
        }
        for timer in rang {
            let length = super::time::spoken_duration(jiff::SignedDuration::from_secs(timer.seconds));
            let moment = timer.due().instant(now);
            self.ring(&timer.id, RingKind::Timer, &timer.name, &format!("{length} are over"), moment, now);
        }
        self.last_ring > before
    }

    /// The next moment at which an alarm or timer is due.
    #[must_use]
    pub fn next_due(&self, now: &Moment) -> Option<Timestamp> {
        let alarms = self.alarms.iter().map(|alarm| alarm.due.instant(now));
        let timers = self.timers.iter().filter(|timer| timer.waits()).map(|timer| timer.due().instant(now));
        alarms.chain(timers).min()
    }
}

/// The file and its lock.
#[derive(Debug, Clone)]
pub struct AlarmStore {
    directory: PathBuf,
}

impl AlarmStore {
    #[must_use]
    pub fn new(directory: PathBuf) -> Self {
        AlarmStore { directory }
    }

    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn path(&self) -> PathBuf {
        self.directory.join("alarms.json")
    }

    fn io(doing: &'static str, path: &Path, source: std::io::Error) -> AlarmError {
        AlarmError::Io { doing, path: path.display().to_string(), source }
    }

    /// The state; an empty one without a file.
    ///
    /// # Errors
    /// When the file cannot be read or understood.
    pub fn read(&self) -> Result<AlarmState, AlarmError> {
        let path = self.path();
        let damaged = |reason: String| AlarmError::Damaged { path: path.display().to_string(), reason };
        let text = match files::read_text(&path, MAX_STORE_BYTES, Links::Refuse) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(AlarmState::default()),
            Err(error) => return Err(Self::io("read", &path, error)),
        };
        let state: AlarmState = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if state.version != VERSION {
            return Err(damaged(format!("it has version {}, this program knows {VERSION}", state.version)));
        }
        Ok(state)
    }

    /// A lock of this directory, held until it is dropped.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn lock(&self, name: &str) -> Result<File, AlarmError> {
        let file = self.lock_file(name)?;
        file.lock().map_err(|error| Self::io("lock", &self.directory.join(name), error))?;
        Ok(file)
    }

    /// The same, without waiting; none: another process has it.
    ///
    /// # Errors
    /// As [`AlarmStore::lock`].
    pub fn try_lock(&self, name: &str) -> Result<Option<File>, AlarmError> {
        let file = self.lock_file(name)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => {
                Err(Self::io("lock", &self.directory.join(name), error))
            }
        }
    }

    fn lock_file(&self, name: &str) -> Result<File, AlarmError> {
        let path = self.directory.join(name);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)
            .map_err(|error| Self::io("create", &self.directory, error))?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        file.map_err(|error| Self::io("open", &path, error))
    }

    /// Changes the state, unless `change` fails.
    pub(super) fn update<T>(
        &self,
        change: impl FnOnce(&mut AlarmState) -> Result<T, AlarmError>,
    ) -> Result<T, AlarmError> {
        let _lock = self.lock("alarms.lock")?;
        let before = self.read()?;
        let mut state = before.clone();
        let result = change(&mut state)?;
        if state != before {
            let text = serde_json::to_string_pretty(&state).map_err(|error| AlarmError::Damaged {
                path: self.path().display().to_string(),
                reason: error.to_string(),
            })?;
            atomic::replace_private(&self.path(), format!("{text}\n").as_bytes())?;
        }
        Ok(result)
    }

    /// Sets an alarm. A label that another alarm has gets a number, so that neither is lost.
    ///
    /// # Errors
    /// When the time, the label or the message cannot be used.
    pub fn set_alarm(
        &self,
        time: &str,
        message: &str,
        label: &str,
        now: &Moment,
    ) -> Result<Alarm, AlarmError> {
        let due = DueTime::parse(time, now)?;
        let message = message.trim();
        if message.is_empty() {
            return Err(AlarmError::NoMessage);
        }
        let message: String = message.chars().take(MAX_MESSAGE_CHARS).collect();
        let label = checked_name(label)?;
        self.update(|state| {
            if state.alarms.len() >= MAX_WAITING {
                return Err(AlarmError::TooMany(MAX_WAITING));
            }
            let is_free = |label: &str| state.alarms.iter().all(|alarm| alarm.label != label);
            let numbered = (2..).map(|number: u32| format!("{label}-{number}"));
            let label = std::iter::once(label.clone()).chain(numbered).find(|label| is_free(label));
            let alarm = Alarm { id: ids::uuid(), label: label.unwrap_or_default(), message, due };
            state.alarms.push(alarm.clone());
            Ok(alarm)
        })
    }

    /// Cancels the alarm with this label.
    ///
    /// # Errors
    /// When there is none.
    pub fn cancel_alarm(&self, label: &str) -> Result<Alarm, AlarmError> {
        let label = label.trim();
        self.update(|state| match state.alarms.iter().position(|alarm| alarm.label == label) {
            Some(index) => Ok(state.alarms.remove(index)),
            None => Err(AlarmError::NoAlarm {
                label: label.to_string(),
                known: known(state.alarms.iter().map(|alarm| alarm.label.as_str())),
            }),
        })
    }

    /// Starts a timer, or a stopwatch (0 seconds). A timer of this name that rang is replaced.
    ///
    /// # Errors
    /// When one of this name runs.
    pub fn start_timer(&self, name: &str, seconds: i64, now: &Moment) -> Result<Timer, AlarmError> {
        let name = checked_name(name)?;
        if !(0..=366 * 86_400).contains(&seconds) {
            let text = seconds.to_string();
            return Err(AlarmError::Time { text, reason: "duration_seconds is 0 to a year" });
        }
        self.update(|state| {
            if let Some(runs) = state.timers.iter().find(|timer| timer.name == name && !timer.rang) {
                let status = describe_timer(runs, now);
                return Err(AlarmError::TimerRuns { name: name.clone(), status });
            }
            state.timers.retain(|timer| timer.name != name);
            if state.timers.len() >= MAX_WAITING {
                return Err(AlarmError::TooMany(MAX_WAITING));
            }
            let timer = Timer { id: ids::uuid(), name, from: now.stamp(), seconds, rang: false };
            state.timers.push(timer.clone());
            Ok(timer)
        })
    }

    /// The timers: all, or the one of this name.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn timers(&self, name: &str) -> Result<Vec<Timer>, AlarmError> {
        let (name, timers) = (name.trim(), self.read()?.timers);
        let found: Vec<Timer> =
            timers.iter().filter(|timer| name.is_empty() || timer.name == name).cloned().collect();
        if found.is_empty() && !name.is_empty() {
            return Err(no_timer(name, &timers));
        }
        Ok(found)
    }

    /// Stops a timer.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn stop_timer(&self, name: &str) -> Result<Timer, AlarmError> {
        let name = name.trim();
        self.update(|state| match state.timers.iter().position(|timer| timer.name == name) {
            Some(index) => Ok(state.timers.remove(index)),
            None => Err(no_timer(name, &state.timers)),
        })
    }
}

fn no_timer(name: &str, timers: &[Timer]) -> AlarmError {
    AlarmError::NoTimer {
        name: name.to_string(),
        known: known(timers.iter().map(|timer| timer.name.as_str())),
    }
}

fn known<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_string() } else { names.join(", ") }
}

fn checked_name(name: &str) -> Result<String, AlarmError> {
    let name = name.trim();
    let fits = !name.is_empty()
        && name.chars().count() <= MAX_NAME_CHARS
        && !name.chars().any(|char| marvin_base::printable::is_hidden(char) || char == '\n');
    if fits { Ok(name.to_string()) } else { Err(AlarmError::Name(marvin_base::truncate::line(name, 120))) }
}

/// How far a timer is.
#[must_use]
pub fn describe_timer(timer: &Timer, now: &Moment) -> String {
    let spoken = super::time::spoken_duration;
    let elapsed = timer.from.elapsed(now);
    match (timer.seconds, timer.due().is_reached(now)) {
        (0, _) => format!("stopwatch, {} so far", spoken(elapsed)),
        (_, true) => {
            let over = elapsed.saturating_sub(jiff::SignedDuration::from_secs(timer.seconds));
            format!("finished {} ago", spoken(over))
        }
        (_, false) => format!("{} left", spoken(timer.due().instant(now).duration_since(now.timestamp))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alarms::time::testing::moment;

    fn store() -> (tempfile::TempDir, AlarmStore) {
        let directory = tempfile::tempdir().unwrap();
        let store = AlarmStore::new(directory.path().join("alarms"));
        (directory, store)
    }

    #[test]
    fn alarms_are_set_listed_and_cancelled() {
        let (_directory, store) = store();
        let now = moment("2026-11-17T14:00:00Z", "a", 0);
        for (label, kept) in [("wake", "wake"), ("wake", "wake-2"), ("wake", "wake-3"), (" tea ", "tea")] {
            assert_eq!(store.set_alarm("16:00", "Up!", label, &now).unwrap().label, kept);
        }
        store.cancel_alarm("wake-2").unwrap();
        let error = store.cancel_alarm("nothing").unwrap_err().to_string();
        assert_eq!(error, "cannot find an alarm with the label `nothing`. Alarms: wake, wake-3, tea");
        for (time, message, label) in
            [("x", "m", "l"), ("16:00", " ", "l"), ("16:00", "m", ""), ("16:00", "m", "a\u{1b}b")]
        {
            assert!(store.set_alarm(time, message, label, &now).unwrap_err().is_usage());
        }
        assert_eq!(store.read().unwrap().alarms.len(), 3);
    }

    #[test]
    fn what_is_due_rings_once() {
        let (_directory, store) = store();
        let now = moment("2026-11-17T14:00:00Z", "a", 0);
        store.set_alarm("30m", "Tea", "tea", &now).unwrap();
        store.start_timer("eggs", 300, &now).unwrap();
        store.start_timer("run", 0, &now).unwrap();
        let ring = |at: &Moment| store.update(|state| Ok(state.ring_due(at))).unwrap();
        assert!(!ring(&now));
        let later = moment("2026-11-17T14:05:00Z", "a", 300_000);
        assert!(ring(&later) && !ring(&later));
        // The clock is set back: what rang does not ring again.
        assert!(!ring(&moment("2026-11-17T13:00:00Z", "a", 301_000)));
        let reboot = moment("2026-11-18T09:00:00Z", "b", 10_000);
        assert!(ring(&reboot), "late, but not lost");
        let rings = store.read().unwrap().rings;
        let shown: Vec<(u64, &str, &str)> =
            rings.iter().map(|ring| (ring.number, ring.title.as_str(), ring.message.as_str())).collect();
        assert_eq!(shown, [(1, "eggs", "5m are over"), (2, "tea", "Tea")]);
        assert_eq!(rings[1].due.to_string(), "2026-11-17T14:30:00Z");
    }

    #[test]
    fn timers_persist_and_say_how_far_they_are() {
        let (_directory, store) = store();
        let now = moment("2026-11-17T14:00:00Z", "a", 0);
        store.start_timer("eggs", 300, &now).unwrap();
        store.start_timer("run", 0, &now).unwrap();
        let later = moment("2026-11-17T14:04:00Z", "a", 240_000);
        let said: Vec<String> =
            store.timers("").unwrap().iter().map(|timer| describe_timer(timer, &later)).collect();
        assert_eq!(said, ["1m left", "stopwatch, 4m so far"]);
        assert!(store.start_timer("eggs", 5, &later).unwrap_err().to_string().contains("1m left"));
        let end = moment("2026-11-17T14:06:00Z", "b", 1);
        store.update(|state| Ok(state.ring_due(&end))).unwrap();
        assert_eq!(describe_timer(&store.timers("eggs").unwrap()[0], &end), "finished 1m ago");
        store.start_timer("eggs", 5, &end).unwrap();
        assert_eq!(store.stop_timer("run").unwrap().name, "run");
        assert!(store.stop_timer("run").is_err() && store.timers("run").is_err());
        assert!(store.start_timer("x", -1, &end).is_err());
    }

    #[test]
    fn a_file_of_another_version_or_torn_is_left() {
        let (_directory, store) = store();
        let now = moment("2026-11-17T14:00:00Z", "a", 0);
        store.start_timer("run", 0, &now).unwrap();
        for text in ["{\"version\": 2}", "{\"version\": 1, \"ala", ""] {
            std::fs::write(store.path(), text).unwrap();
            assert!(store.start_timer("x", 5, &now).is_err());
            assert_eq!(std::fs::read_to_string(store.path()).unwrap(), text);
        }
    }
}
