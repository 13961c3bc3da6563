//! Alarms and timers, and reminders of the calendar: kept on disk, rung once, delivered to every open Marvin, to the
//! desktop and to ntfy.
//!
//! `store.rs` holds what waits and what rang; `time.rs` when something is due; `deliver.rs` brings it to the person;
//! `schedule.rs` does so while no front end is open, `watch.rs` while one is.

mod deliver;
mod error;
mod reminders;
mod schedule;
mod store;
mod time;
mod tool;
mod watch;

pub use deliver::{Deliverer, Pass, ring_line};
pub use error::AlarmError;
pub use reminders::Reminders;
pub use schedule::{Scheduler, ensure_scheduler, run_scheduler};
pub use store::{Alarm, AlarmState, AlarmStore, Delivery, Ring, RingKind, Timer, describe_timer};
pub use time::{BootTime, DueTime, Moment, Stamp};
pub(crate) use tool::tools;
pub use tool::{alarm_lines, timer_lines};
pub use watch::RingWatcher;
