//! The budget of a run: what attempts may spend is lent to them, and the sum never exceeds the limit.
//!
//! An attempt that needs a model waits until enough can be lent to it. Attempts that wait together share what is free, but none
//! gets less than attempts are known to need: each may exceed its part by the call that spends the rest, so that many small
//! parts would exceed the limit many times. Of an attempt without an end, everything that was lent counts as spent.

use crate::task::{AttemptTask, TaskId};
use std::collections::BTreeMap;

/// Attempts that begin before one has ended, when it is not known what they cost.
const FIRST_ATTEMPTS: u64 = 4;
/// The smallest share of an attempt is this part of the limit.
const MIN_SHARE: u64 = 1_000;

/// The account of a run, in nano-dollars.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    limit: Option<u64>,
    spent: u64,
    /// The highest cost of an attempt that has ended.
    highest_cost: Option<u64>,
    lent: BTreeMap<TaskId, u64>,
    waiting: BTreeMap<TaskId, Box<AttemptTask>>,
}

impl Budget {
    pub(crate) fn new(limit: Option<u64>, spent: u64, highest_cost: Option<u64>) -> Self {
        Budget { limit, spent, highest_cost, ..Budget::default() }
    }

    pub(crate) fn highest_cost(&self) -> Option<u64> {
        self.highest_cost
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
        if lent.is_some() {
            self.highest_cost = self.highest_cost.max(cost);
        }
        self.spent = self.spent.saturating_add(cost.or(lent).unwrap_or(0));
    }

    /// Attempts that can begin now, with what is lent to them.
    pub(crate) fn lend(&mut self) -> Vec<(TaskId, Box<AttemptTask>)> {
        let (count, share) = self.shares(self.waiting.len());
        let mut begun = Vec::new();
        while begun.len() < count {
            let Some((id, mut task)) = self.waiting.pop_first() else { break };
            task.request.allowance = Some(share);
            self.lent.insert(id, share);
            begun.push((id, task));
        }
        begun
    }

    /// How many of the attempts that wait can begin now, and the share of each.
    fn shares(&self, waiting: usize) -> (usize, u64) {
        let Some(limit) = self.limit else { return (0, 0) };
        let lent: u64 = self.lent.values().fold(0, |sum, one| sum.saturating_add(*one));
        let free = limit.saturating_sub(self.spent).saturating_sub(lent);
        let needed = self.needed_share(limit);
        if waiting == 0 || (free < needed && !self.lent.is_empty()) {
            return (0, 0);
        }
        let even = free / u64::try_from(waiting).unwrap_or(u64::MAX);
        // The last one gets what is left. With nothing left all begin, and end without a call.
        let share = even.max(needed.min(free));
        let count = free.checked_div(share).and_then(|count| usize::try_from(count).ok());
        (count.unwrap_or(waiting).min(waiting), share)
    }

    /// What an attempt needs: twice what one has cost at most.
    fn needed_share(&self, limit: u64) -> u64 {
        let most = limit / FIRST_ATTEMPTS;
        self.highest_cost.map_or(most, |cost| cost.saturating_mul(2).clamp(limit / MIN_SHARE, most).max(1))
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
    use crate::task::TaskKind;

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

    /// Makes all attempts of a run at once as far as they can begin; returns what they cost, and how many began at most at once.
    fn run(limit: u64, mut waiting: usize, calls: u64, price: u64) -> (u64, usize) {
        let mut budget = Budget::new(Some(limit), 0, None);
        let mut widest = 0;
        while waiting > 0 {
            let (count, share) = budget.shares(waiting);
            assert!(count > 0, "an attempt begins where none is under way");
            widest = widest.max(count);
            waiting -= count;
            let id = |step| TaskId { step, kind: TaskKind::Attempt, attempt: 1 };
            let steps = 0..u32::try_from(count).unwrap();
            for step in steps.clone() {
                budget.lent.insert(id(step), share);
            }
            for step in steps {
                // A call is made as long as something is left of the first delivery's part.
                let mut cost = 0;
                while cost < delivery_share(share, 1) && cost < calls * price {
                    cost += price;
                }
                budget.take_back(id(step), Some(cost));
            }
        }
        (budget.spent(), widest)
    }

    #[test]
    fn many_attempts_do_not_each_exceed_a_small_share() {
        let limit = 1_000_000_000;
        for (calls, price) in [(1, 1), (1, 50_000_000), (1, 240_000_000), (10, 50_000_000), (40, 1_000_000)] {
            for waiting in [1, 3, 40, 2_000] {
                let (spent, _) = run(limit, waiting, calls, price);
                assert!(spent < limit + price, "{waiting} attempts of {calls} calls at {price}: {spent}");
            }
        }
        // A call that costs more than the first shares is made by four at most.
        assert_eq!(run(limit, 500, 1, 400_000_000).0, 1_600_000_000);
    }

    #[test]
    fn attempts_that_cost_little_are_not_held_back() {
        let (spent, widest) = run(1_000_000_000, 2_000, 1, 10_000);
        assert_eq!(spent, 2_000 * 10_000);
        assert!(widest > 900, "{widest}");
    }
}
