//! Locks by key: one attempt per key in a process.
//!
//! After a partition heals, a worker may hold several deliveries of one attempt at the same time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Locks by key.
#[derive(Debug, Default)]
pub(crate) struct KeyLocks {
    locks: Mutex<BTreeMap<String, Weak<AsyncMutex<()>>>>,
}

impl KeyLocks {
    /// Waits until no other task holds the lock of this key.
    pub(crate) async fn lock(&self, key: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| lock.strong_count() > 0);
            let held = locks.get(key).and_then(Weak::upgrade);
            held.unwrap_or_else(|| {
                let lock = Arc::new(AsyncMutex::new(()));
                locks.insert(key.to_string(), Arc::downgrade(&lock));
                lock
            })
        };
        lock.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn tasks_with_one_key_take_turns() {
        let locks = Arc::new(KeyLocks::default());
        let inside = Arc::new(AtomicUsize::new(0));
        let tasks = (0..16).map(|number| {
            let (locks, inside) = (locks.clone(), inside.clone());
            tokio::spawn(async move {
                let _guard = locks.lock(if number % 2 == 0 { "a" } else { "b" }).await;
                let others = inside.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                others
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            assert!(task.await.unwrap() < 2, "more tasks than keys were inside");
        }
    }
}
