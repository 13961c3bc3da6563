//! Delivery of what rang, to the desktop and to ntfy.
//!
//! One process at a time delivers. Each way is noted when it is done; after a crash in between, the server of ntfy is asked
//! whether it has the message before it is sent again, and the desktop gets a notification with the same tag, which replaces
//! the first.

use super::error::AlarmError;
use super::reminders::Reminders;
use super::store::{AlarmStore, Delivery, Ring, RingKind};
use super::time::Moment;
use crate::ntfy::{Publication, Server};
use jiff::{SignedDuration, Timestamp};
use marvin_base::child::{self, Child, Ending};
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::printable;
use marvin_base::settings::{Settings, table};
use marvin_base::truncate;
use marvin_model::choose;
use std::fs::File;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const DESKTOP_TIMEOUT: Duration = Duration::from_secs(10);
/// The lock of the process that delivers.
const DELIVER_LOCK: &str = "deliver.lock";
/// How often it is looked whether another process still delivers.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);
/// How long a message that does not get through is tried.
const GIVE_UP: SignedDuration = SignedDuration::from_hours(24);
/// The first pause after a failure, and the longest.
const FIRST_PAUSE_SECONDS: i64 = 15;
const MAX_PAUSE_SECONDS: i64 = 1800;
/// An alarm that rings later than this says when it was due.
const LATE: SignedDuration = SignedDuration::from_secs(60);

/// Programs that show a notification, in order of preference. TITLE, BODY and TAG are replaced.
const DESKTOP: [(&str, &[&str]); 3] = [
    (
        "notify-send",
        &[
            "--app-name=Marvin",
            "--urgency=critical",
            "--hint=string:x-canonical-private-synchronous:TAG",
            "--",
            "TITLE",
            "BODY",
        ],
    ),
    (
        "gdbus",
        &[
            "call",
            "--session",
            "--dest=org.freedesktop.Notifications",
            "--object-path=/org/freedesktop/Notifications",
            "--method=org.freedesktop.Notifications.Notify",
            // The last value would be taken for an option.
            "--",
            "Marvin",
            "0",
            "",
            "'TITLE'",
            "'BODY'",
            "[]",
            "{'x-canonical-private-synchronous': <'TAG'>, 'urgency': <byte 2>}",
            "-1",
        ],
    ),
    (
        "osascript",
        &[
            "-e",
            "on run argv",
            "-e",
            "display notification (item 2 of argv) with title (item 1 of argv)",
            "-e",
            "end run",
            "TITLE",
            "BODY",
        ],
    ),
];

/// Everything that delivering needs.
#[derive(Debug, Clone)]
pub struct Deliverer {
    store: AlarmStore,
    reminders: Reminders,
    settings: Settings,
    environment: Environment,
}

/// What a pass did, and when the next is needed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pass {
    /// Whether something rang.
    pub rang: bool,
    /// The next moment at which something is due or tried again.
    pub next: Option<Timestamp>,
}

impl Deliverer {
    #[must_use]
    pub fn new(layout: &Layout, settings: &Settings, environment: &Environment) -> Self {
        Deliverer {
            store: AlarmStore::new(layout.alarms()),
            reminders: Reminders::new(layout, settings),
            settings: settings.clone(),
            environment: environment.clone(),
        }
    }

    #[must_use]
    pub fn store(&self) -> &AlarmStore {
        &self.store
    }

    /// The next moment at which something is due or tried again; none: nothing waits.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn next_due(&self, now: &Moment) -> Result<Option<Timestamp>, AlarmError> {
        let state = self.store.read()?;
        let retries =
            state.rings.iter().flat_map(|ring| [&ring.desktop, &ring.ntfy]).filter_map(|way| match way {
                Delivery::Pending { next, .. } => Some(next.unwrap_or(now.timestamp)),
                _ => None,
            });
        let due = [state.next_due(now), self.reminders.next_due(now), retries.min()];
        Ok(due.into_iter().flatten().min())
    }

    /// Turns what is due into rings, without delivering them.
    ///
    /// # Errors
    /// When the state cannot be read or written.
    pub fn ring_due(&self, now: &Moment) -> Result<bool, AlarmError> {
        self.store.update(|state| {
            let before = state.last_ring;
            state.ring_due(now);
            self.reminders.ring_due(state, now);
            Ok(state.last_ring > before)
        })
    }

    /// Rings what is due, and delivers what rang.
    ///
    /// # Errors
    /// When the state cannot be read or written.
    pub async fn pass(&self, now: &Moment) -> Result<Pass, AlarmError> {
        let rang = self.ring_due(now)?;
        let _delivering = self.start_delivering().await?;
        self.deliver(now).await?;
        Ok(Pass { rang, next: self.next_due(now)? })
    }

    /// The same, but what rang is left to another process that delivers at the moment.
    ///
    /// # Errors
    /// As [`Deliverer::pass`].
    pub async fn pass_unless_busy(&self, now: &Moment) -> Result<Pass, AlarmError> {
        let rang = self.ring_due(now)?;
        if let Some(_delivering) = self.store.try_lock(DELIVER_LOCK)? {
            self.deliver(now).await?;
        }
        Ok(Pass { rang, next: self.next_due(now)? })
    }

    /// Delivers what rang. The lock is held.
    async fn deliver(&self, now: &Moment) -> Result<(), AlarmError> {
        for ring in self.store.read()?.rings {
            if is_ready(&ring.desktop, now) {
                self.begin(ring.number, |ring| &mut ring.desktop)?;
                let outcome = self.show_on_desktop(&ring).await;
                self.settle(&ring, outcome, now, |ring| &mut ring.desktop)?;
            }
            if is_ready(&ring.ntfy, now) {
                let repeated = matches!(ring.ntfy, Delivery::Pending { attempts, .. } if attempts > 0);
                self.begin(ring.number, |ring| &mut ring.ntfy)?;
                let outcome = self.push(&ring, repeated).await;
                self.settle(&ring, outcome, now, |ring| &mut ring.ntfy)?;
            }
        }
        Ok(())
    }

    /// Waits for other processes that deliver.
    async fn start_delivering(&self) -> Result<File, AlarmError> {
        loop {
            if let Some(lock) = self.store.try_lock(DELIVER_LOCK)? {
                return Ok(lock);
            }
            tokio::time::sleep(LOCK_INTERVAL).await;
        }
    }

    /// Notes that an attempt begins.
    fn begin(&self, number: u64, way: impl Fn(&mut Ring) -> &mut Delivery) -> Result<(), AlarmError> {
        self.store.update(|state| {
            if let Some(ring) = state.rings.iter_mut().find(|ring| ring.number == number)
                && let Delivery::Pending { attempts, .. } = way(ring)
            {
                *attempts = attempts.saturating_add(1);
            }
            Ok(())
        })
    }

    /// Notes how an attempt ended.
    fn settle(
        &self,
        ring: &Ring,
        outcome: Attempt,
        now: &Moment,
        way: impl Fn(&mut Ring) -> &mut Delivery,
    ) -> Result<(), AlarmError> {
        let is_old = now.timestamp.duration_since(ring.rang) > GIVE_UP;
        self.store.update(|state| {
            let Some(ring) = state.rings.iter_mut().find(|other| other.number == ring.number) else {
                return Ok(());
            };
            let delivery = way(ring);
            let attempts = if let Delivery::Pending { attempts, .. } = delivery { *attempts } else { 1 };
            *delivery = match outcome {
                Attempt::Done => Delivery::Done,
                Attempt::Absent => Delivery::Absent,
                Attempt::Failed { reason, passing: true, wait } if !is_old => {
                    tracing::info!(reason, "an alarm is delivered later");
                    let doubled = FIRST_PAUSE_SECONDS.saturating_mul(1 << attempts.saturating_sub(1).min(10));
                    let pause = doubled.min(MAX_PAUSE_SECONDS).max(wait);
                    let next = now.timestamp.saturating_add(SignedDuration::from_secs(pause)).ok();
                    Delivery::Pending { attempts, next }
                }
                Attempt::Failed { reason, .. } => Delivery::Failed { reason },
            };
            Ok(())
        })
    }

    async fn show_on_desktop(&self, ring: &Ring) -> Attempt {
        let has_session = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| self.environment.get(name).is_some());
        let found = DESKTOP
            .iter()
            .find_map(|(name, words)| Some((*name, choose::find_program(name, &self.environment)?, *words)));
        let Some((name, program, words)) = found.filter(|(name, ..)| has_session || *name == "osascript")
        else {
            return Attempt::Absent;
        };
        let (title, body) = texts(ring);
        let tag = format!("marvin-{}", ring.number);
        // gdbus parses its arguments as values.
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n");
        let put = |word: &&str| match *word {
            "TITLE" => title.clone(),
            "BODY" => body.clone(),
            "'TITLE'" => format!("'{}'", quoted(&title)),
            "'BODY'" => format!("'{}'", quoted(&body)),
            word => word.replace("TAG", &tag),
        };
        let mut shown = Child::new(&program).args(words.iter().map(put));
        shown.deadline = DESKTOP_TIMEOUT;
        match child::run(shown, &CancellationToken::new()).await {
            Ok(outcome) if matches!(outcome.ending, Ending::Exited(0)) => Attempt::Done,
            // No one is logged in, or no program shows notifications: waiting does not help.
            Ok(outcome) => {
                Attempt::failed(format!("{name}: {}", truncate::line(&outcome.stderr.text(), 300)), false)
            }
            Err(error) => Attempt::failed(format!("{name} cannot be started: {error}"), false),
        }
    }

    async fn push(&self, ring: &Ring, repeated: bool) -> Attempt {
        let topic = self.settings.text(&table::ALARMS_TOPIC).trim();
        if topic.is_empty() {
            return Attempt::Absent;
        }
        let server = match Server::from_settings(&self.settings) {
            Ok(server) => server,
            Err(error) => return Attempt::failed(error.to_string(), false),
        };
        let (title, message) = texts(ring);
        let id = format!(
            "marvin-{}",
            ring.id.chars().filter(char::is_ascii_alphanumeric).take(40).collect::<String>()
        );
        if repeated {
            // It may have arrived although this process, or one before it, was not told so. All that the server has: its
            // clock may be another one.
            let rang = ring.rang.as_second().saturating_sub(60);
            match server.poll(topic, "all").await {
                Ok(messages) => {
                    let same = |other: &crate::ntfy::Message| {
                        let is_new = other.sequence_id.is_empty() && other.time >= rang;
                        other.sequence_id == id || is_new && other.title == title && other.message == message
                    };
                    if messages.iter().any(same) {
                        return Attempt::Done;
                    }
                }
                Err(error) => return Attempt::from_ntfy(&error),
            }
        }
        match server.publish(&Publication { topic, title: &title, message: &message, id: &id }).await {
            Ok(()) => Attempt::Done,
            Err(error) => Attempt::from_ntfy(&error),
        }
    }
}

/// How an attempt ended.
#[derive(Debug)]
enum Attempt {
    Done,
    Absent,
    /// `passing`: it may succeed later, after `wait` seconds at least.
    Failed {
        reason: String,
        passing: bool,
        wait: i64,
    },
}

impl Attempt {
    fn failed(reason: String, passing: bool) -> Self {
        Attempt::Failed { reason, passing, wait: 0 }
    }

    fn from_ntfy(error: &crate::ntfy::NtfyError) -> Self {
        let wait = match error {
            crate::ntfy::NtfyError::Status { wait: Some(wait), .. } => {
                i64::try_from(wait.as_secs()).unwrap_or(0)
            }
            _ => 0,
        };
        Attempt::Failed { reason: error.to_string(), passing: error.is_passing(), wait }
    }
}

fn is_ready(delivery: &Delivery, now: &Moment) -> bool {
    match delivery {
        Delivery::Pending { next, .. } => next.is_none_or(|next| next <= now.timestamp),
        _ => false,
    }
}

/// Title and text of a notification.
#[must_use]
pub(super) fn texts(ring: &Ring) -> (String, String) {
    let clean = |text: &str| printable::visible(text).into_owned();
    let kind = match ring.kind {
        RingKind::Alarm => "Alarm",
        RingKind::Timer => "Timer",
        RingKind::Reminder => "Reminder",
    };
    let late = match ring.kind {
        RingKind::Reminder => String::new(),
        RingKind::Alarm | RingKind::Timer if ring.rang.duration_since(ring.due) > LATE => {
            let due = ring.due.to_zoned(jiff::tz::TimeZone::system());
            format!(" (it was due {})", due.strftime("%Y-%m-%d %H:%M"))
        }
        RingKind::Alarm | RingKind::Timer => String::new(),
    };
    (format!("{kind}: {}", clean(&ring.title)), format!("{}{late}", clean(&ring.message)))
}

/// One line about a ring that was not shown anywhere when it rang.
#[must_use]
pub(super) fn missed_line(ring: &Ring) -> String {
    let rang = ring.rang.to_zoned(jiff::tz::TimeZone::system());
    format!("{} (it rang {})", ring_line(ring), rang.strftime("%Y-%m-%d %H:%M"))
}

/// One line for a front end.
#[must_use]
pub fn ring_line(ring: &Ring) -> String {
    let (title, text) = texts(ring);
    format!("{title}: {}", text.replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::DESKTOP;

    /// Regression: gdbus took the time -1 for an option and showed its usage.
    #[test]
    fn no_value_of_a_notification_is_taken_for_an_option() {
        for (name, words) in DESKTOP.iter().filter(|(name, _)| *name != "osascript") {
            let options = words.iter().position(|word| *word == "--").unwrap();
            let values = words.iter().position(|word| word.contains("TITLE")).unwrap();
            assert!(options < values, "{name}");
        }
    }
}
