//! Rate limits of services, honoured by all processes of the person.
//!
//! A file per service holds the moment of the next free slot. A process takes a slot under the file's lock and then waits for it,
//! so that two processes never use the same one. A server that asks for a pause moves the slot for everybody.
//!
//! Limits: a process that dies after it took a slot leaves the slot unused; a clock that jumps back by more than an hour is
//! noticed, and the file is then ignored.

use marvin_base::files::{self, Links};
use marvin_base::{atomic, clock};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MAX_FILE_BYTES: u64 = 4 * 1024;
/// A slot further ahead than this is not believed.
const MAX_PAUSE: Duration = Duration::from_secs(24 * 3_600);

/// The slots of one service.
#[derive(Debug)]
pub(super) struct Pace {
    path: PathBuf,
}

/// The next free slot, in milliseconds since 1970.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Slots {
    next_ms: i64,
}

impl Pace {
    pub(super) fn new(directory: &Path) -> Self {
        Pace { path: directory.join("pace.json") }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Slots, i64) -> T) -> std::io::Result<T> {
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let lock = File::options().create(true).append(true).open(self.path.with_extension("lock"))?;
        lock.lock()?;
        let now = clock::now().as_millisecond();
        let text = files::read_text(&self.path, MAX_FILE_BYTES, Links::Refuse).unwrap_or_default();
        let mut slots: Slots = serde_json::from_str(&text).unwrap_or_default();
        if slots.next_ms.saturating_sub(now) > milliseconds(MAX_PAUSE) {
            slots.next_ms = now;
        }
        let result = change(&mut slots, now);
        atomic::replace_copy(&self.path, serde_json::to_string(&slots)?.as_bytes())
            .map_err(|error| error.source)?;
        Ok(result)
    }

    /// Takes the next slot: the wait until then, or, where that is longer than `most`, the wait as an error.
    ///
    /// # Errors
    /// The wait that would be needed; no slot is taken then. A file that cannot be written means no wait.
    pub(super) fn take(&self, pause: Duration, most: Duration) -> Result<Duration, Duration> {
        let taken = self.change(|slots, now| {
            let slot = slots.next_ms.max(now);
            let wait = Duration::from_millis(slot.saturating_sub(now).unsigned_abs());
            if wait > most {
                return Err(wait);
            }
            slots.next_ms = slot.saturating_add(milliseconds(pause));
            Ok(wait)
        });
        taken.unwrap_or(Ok(Duration::ZERO))
    }

    /// Notes that the server wants no request for this long.
    pub(super) fn hold(&self, pause: Duration) {
        // A note that cannot be written costs one more refusal.
        self.change(|slots, now| {
            slots.next_ms = slots.next_ms.max(now.saturating_add(milliseconds(pause.min(MAX_PAUSE))));
        })
        .ok();
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_once_and_pauses_hold_for_all() {
        let directory = tempfile::tempdir().unwrap();
        let pace = || Pace::new(&directory.path().join("x"));
        let (pause, most) = (Duration::from_millis(1_000), Duration::from_secs(60));
        let mut waits: Vec<Duration> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(|| pace().take(pause, most).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        waits.sort();
        for pair in waits.windows(2) {
            let gap = pair[1] - pair[0];
            assert!(gap > Duration::from_millis(500), "two took one slot: {waits:?}");
        }
        assert!(pace().take(pause, Duration::from_secs(1)).is_err(), "the wait is longer than allowed");
        pace().hold(Duration::from_secs(120));
        assert!(pace().take(pause, most).unwrap_err() > Duration::from_secs(100));
        std::fs::write(directory.path().join("x/pace.json"), r#"{"next_ms": 99999999999999}"#).unwrap();
        assert_eq!(pace().take(pause, most), Ok(Duration::ZERO), "a slot of another century is not believed");
        std::fs::write(directory.path().join("x/pace.json"), "{").unwrap();
        assert_eq!(pace().take(Duration::ZERO, most), Ok(Duration::ZERO));
    }
}
