//! What rings while a front end is open.

use super::deliver::{Deliverer, missed_line, ring_line};
use super::error::AlarmError;
use super::store::AlarmStore;
use super::time::Moment;
use jiff::Timestamp;
use marvin_base::environment::Environment;
use marvin_base::file_stamp::FileStamp;
use marvin_base::layout::Layout;
use marvin_base::settings::Settings;
use std::path::PathBuf;

/// The rings that a front end has not shown yet. It also rings itself what is due, in case that no scheduler runs.
#[derive(Debug)]
pub struct RingWatcher {
    layout: Layout,
    store: AlarmStore,
    /// Number of the last ring that was shown.
    shown: u64,
    /// Earlier rings that were not shown: without an open Marvin, a desktop or a topic.
    missed: Vec<u64>,
    /// Facts of the files when they were read last.
    stamps: Option<Vec<Option<FileStamp>>>,
    next: Option<Timestamp>,
}

impl RingWatcher {
    /// Shows what rings from now on, and what was not shown before.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn new(layout: &Layout) -> Result<Self, AlarmError> {
        let store = AlarmStore::new(layout.alarms());
        let state = store.read()?;
        let missed = state.rings.iter().filter(|ring| !ring.is_delivered()).map(|ring| ring.number).collect();
        Ok(RingWatcher {
            layout: layout.clone(),
            store,
            shown: state.last_ring,
            missed,
            stamps: None,
            next: None,
        })
    }

    fn files(&self) -> Vec<PathBuf> {
        let profiles = std::fs::read_dir(self.layout.profiles()).into_iter().flatten();
        let names = profiles.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut all: Vec<PathBuf> = names.map(|name| self.layout.calendar(&name)).collect();
        all.sort();
        all.push(self.layout.alarms().join("alarms.json"));
        all
    }

    /// Rings what is due, and gives the lines that are to be shown. Reads nothing while nothing changed and nothing is due.
    ///
    /// # Errors
    /// When the state cannot be read or written.
    pub fn poll(
        &mut self,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Vec<String>, AlarmError> {
        let now = Moment::now();
        let stamps: Vec<Option<FileStamp>> =
            self.files().iter().map(|path| FileStamp::from_path(path)).collect();
        let same = self.stamps.as_ref().is_some_and(|old| {
            old.len() == stamps.len()
                && old.iter().zip(&stamps).all(|(old, new)| FileStamp::still(*old, *new))
        });
        if same && self.next.is_none_or(|next| next > now.timestamp) {
            return Ok(Vec::new());
        }
        let is_used = stamps.iter().any(Option::is_some);
        self.stamps = Some(stamps);
        if !is_used {
            return Ok(Vec::new());
        }
        let deliverer = Deliverer::new(&self.layout, settings, environment);
        deliverer.ring_due(&now)?;
        self.next = deliverer.next_due(&now)?;
        let state = self.store.read()?;
        let (mut lines, mut numbers) = (Vec::new(), Vec::new());
        for ring in &state.rings {
            if self.missed.contains(&ring.number) {
                lines.push(missed_line(ring));
            } else if ring.number > self.shown {
                lines.push(ring_line(ring));
            } else {
                continue;
            }
            numbers.push(ring.number);
        }
        if !numbers.is_empty() {
            self.store.update(|state| {
                let shown = state.rings.iter_mut().filter(|ring| numbers.contains(&ring.number));
                shown.for_each(|ring| ring.seen = true);
                Ok(())
            })?;
        }
        self.missed.clear();
        self.shown = self.shown.max(state.last_ring);
        Ok(lines)
    }

    /// Delivers what rang to the desktop and to ntfy, unless another process does. Waits for both.
    ///
    /// # Errors
    /// When the state cannot be read or written.
    pub async fn deliver(
        &mut self,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<(), AlarmError> {
        let now = Moment::now();
        if self.next.is_none_or(|next| next > now.timestamp) {
            return Ok(());
        }
        let deliverer = Deliverer::new(&self.layout, settings, environment);
        self.next = deliverer.pass_unless_busy(&now).await?.next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alarms::store::{Delivery, RingKind};

    /// Regression: what rang while no Marvin was open, on a machine without a desktop, was never shown.
    #[test]
    fn rings_that_were_not_shown_are_shown_by_the_next_marvin_once() {
        let directory = tempfile::tempdir().unwrap();
        let environment = Environment::from_iter([("HOME", directory.path().to_str().unwrap())]);
        let layout = Layout::new(&environment, None);
        let store = AlarmStore::new(layout.alarms());
        let now = Moment::now();
        store
            .update(|state| {
                state.ring("a", RingKind::Alarm, "tea", "Tea is ready", now.timestamp, &now);
                state.ring("b", RingKind::Alarm, "bread", "Bread is ready", now.timestamp, &now);
                for ring in &mut state.rings {
                    ring.desktop = if ring.id == "a" { Delivery::Absent } else { Delivery::Done };
                    ring.ntfy = Delivery::Absent;
                }
                Ok(())
            })
            .unwrap();
        let poll =
            || RingWatcher::new(&layout).unwrap().poll(&Settings::defaults().unwrap(), &environment).unwrap();
        let lines = poll();
        assert!(matches!(&lines[..], [line] if line.contains("Tea is ready (it rang ")), "{lines:?}");
        assert_eq!(poll(), Vec::<String>::new());
    }
}
