//! The budget of a run: what attempts may spend is lent to them, and the sum never exceeds the limit.
//!
//! An attempt that needs a model waits until something can be lent to it. Attempts that wait together share what is free. Of an
//! attempt without an end, everything that was lent counts as spent.

use crate::task::{AttemptTask, TaskId};
use std::collections::BTreeMap;

/// The part of the limit below which it is waited for what others return.
const MIN_SHARE: u64 = 1_000;

/// The account of a run, in nano-dollars.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    limit: Option<u64>,
    spent: u64,
    lent: BTreeMap<TaskId, u64>,
    waiting: BTreeMap<TaskId, Box<AttemptTask>>,
}

impl Budget {
    pub(crate) fn new(limit: Option<u64>, spent: u64) -> Self {
        Budget { limit, spent, ..Budget::default() }
    }

    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }

    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.limit = Some(limit);
    }

    /// Whether an attempt needs a model, so that something must be lent to it.
    pub(crate) fn concerns(&self, task: &AttemptTask) -> bool {
        self.limit.is_some() && task.needs_model()
    }

    pub(crate) fn wait(&mut self, id: TaskId, task: Box<AttemptTask>) {
        self.waiting.insert(id, task);
    }

    /// Takes the attempts that wait.
    pub(crate) fn take_waiting(&mut self) -> Vec<TaskId> {
        std::mem::take(&mut self.waiting).into_keys().collect()
    }

    /// Takes back what was lent; `cost` is what was spent of it, if that is known.
    pub(crate) fn take_back(&mut self, id: TaskId, cost: Option<u64>) {
        let lent = self.lent.remove(&id);
        self.spent = self.spent.saturating_add(cost.or(lent).unwrap_or(0));
    }

    /// Attempts that can begin now, with what is lent to them.
    pub(crate) fn lend(&mut self) -> Vec<(TaskId, Box<AttemptTask>)> {
        let Some(limit) = self.limit else { return Vec::new() };
        let lent: u64 = self.lent.values().fold(0, |sum, one| sum.saturating_add(*one));
        let free = limit.saturating_sub(self.spent).saturating_sub(lent);
        if self.waiting.is_empty() || (free <= limit / MIN_SHARE && !self.lent.is_empty()) {
            return Vec::new();
        }
        let share = free / u64::try_from(self.waiting.len()).unwrap_or(u64::MAX).max(1);
        let mut begun = Vec::new();
        for (id, mut task) in std::mem::take(&mut self.waiting) {
            task.request.allowance = Some(share);
            self.lent.insert(id, share);
            begun.push((id, task));
        }
        begun
    }
}

/// What the delivery with this number, from 1, may spend of an allowance: three quarters of what earlier ones left.
pub(crate) fn delivery_share(allowance: u64, delivery: u32) -> u64 {
    let left = allowance.checked_shr(2 * delivery.saturating_sub(1)).unwrap_or(0);
    left - left / 4
}

/// What deliveries before this one may have spent.
pub(crate) fn earlier_shares(allowance: u64, delivery: u32) -> u64 {
    (1..delivery.min(64)).fold(0, |sum, number| sum.saturating_add(delivery_share(allowance, number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_of_one_attempt_stay_within_its_allowance() {
        for allowance in [0, 1, 3, 4, 7, 1_000, 999_999_999, u64::MAX] {
            for delivery in 1..80 {
                let sum =
                    earlier_shares(allowance, delivery).checked_add(delivery_share(allowance, delivery));
                assert!(sum.is_some_and(|sum| sum <= allowance), "{allowance} {delivery} {sum:?}");
            }
        }
    }
}
