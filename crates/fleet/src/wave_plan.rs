//! Which attempts begin together as a wave, and which are ended by it.
//!
//! A server closes a history at 51,200 events, and the end of one attempt is at least three. So attempts of a wide run are gathered
//! and begin as a child workflow with a history of its own; the history of the run has only the wave and its reports.
//! Only attempts that may be repeated are gathered: no person is to be asked about one that never began.

use crate::task::{AttemptDone, AttemptTask, TaskId, WaveReport};
use std::collections::{BTreeMap, BTreeSet};

/// The name of the signal that reports ends to the run.
pub(crate) const REPORT_SIGNAL: &str = "marvin_ends";

/// The id of a wave of a run. It does not begin like that of a run, which lists of runs look for.
pub(crate) fn id(run: &str, number: u32) -> String {
    format!("wave/{run}/{number}")
}

/// The number of a wave in its id.
pub(crate) fn number(id: &str) -> Option<u32> {
    id.rsplit_once('/')?.1.parse().ok()
}

/// The run in the id of a wave.
pub(crate) fn run_of(id: &str) -> &str {
    let run = id.rsplit_once('/').map_or(id, |(run, _)| run);
    run.strip_prefix("wave/").unwrap_or(run)
}

/// Attempts of a wave. Their events, at most six each, are fewer than a history may have before it should be continued.
pub(crate) const MAX_WAVE_TASKS: usize = 500;
/// Attempts that a wave is worth.
pub(crate) const MIN_WAVE_TASKS: usize = 100;
/// The weight of earlier attempts in the pace, against one for the last.
const PACE_WEIGHT: u64 = 7;

/// The waves of a run.
#[derive(Debug, Default)]
pub(crate) struct Waves {
    /// The number of the last wave.
    last: u32,
    /// Attempts without an end of each wave that is not closed.
    open: BTreeMap<u32, BTreeSet<TaskId>>,
    /// Attempts that the next wave begins with.
    gathered: BTreeMap<TaskId, Box<AttemptTask>>,
    pace_ms: Option<u64>,
}

/// Attempts that begin.
pub(crate) enum Beginning {
    Alone(TaskId, Box<AttemptTask>),
    Wave(u32, Vec<(TaskId, Box<AttemptTask>)>),
}

impl Waves {
    pub(crate) fn new(last: u32, pace_ms: Option<u64>) -> Self {
        Waves { last, pace_ms, ..Waves::default() }
    }

    pub(crate) fn last(&self) -> u32 {
        self.last
    }

    /// Milliseconds that an attempt takes lately.
    pub(crate) fn pace_ms(&self) -> Option<u64> {
        self.pace_ms
    }

    /// Whether every wave is closed.
    pub(crate) fn are_closed(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn gather(&mut self, id: TaskId, task: Box<AttemptTask>) {
        self.gathered.insert(id, task);
    }

    /// Notes the end of an attempt.
    pub(crate) fn end(&mut self, id: TaskId, done: Option<&AttemptDone>) {
        for tasks in self.open.values_mut() {
            tasks.remove(&id);
        }
        if let Some(took) = done.and_then(|done| done.took_ms) {
            let pace = self.pace_ms.unwrap_or(took);
            self.pace_ms = Some(pace.saturating_mul(PACE_WEIGHT).saturating_add(took) / (PACE_WEIGHT + 1));
        }
    }

    /// Closes a wave; returns its attempts without an end.
    pub(crate) fn close(&mut self, number: u32) -> BTreeSet<TaskId> {
        self.open.remove(&number).unwrap_or_default()
    }

    /// The number of attempts that were gathered and did not begin.
    pub(crate) fn gathered(&self) -> usize {
        self.gathered.len()
    }

    /// Takes the attempts that were gathered and did not begin.
    pub(crate) fn take_gathered(&mut self) -> Vec<TaskId> {
        std::mem::take(&mut self.gathered).into_keys().collect()
    }

    /// Attempts that begin now. `under_way` is the number of attempts that began before and have no end; with `more`, others
    /// wait for a slot, so that it is worth waiting for them as long as workers have enough to do.
    pub(crate) fn begin(&mut self, under_way: usize, more: bool) -> Vec<Beginning> {
        let count = self.gathered.len();
        if count < MIN_WAVE_TASKS && more && under_way >= MIN_WAVE_TASKS {
            return Vec::new();
        }
        let gathered = std::mem::take(&mut self.gathered);
        if count < MIN_WAVE_TASKS {
            return gathered.into_iter().map(|(id, task)| Beginning::Alone(id, task)).collect();
        }
        // Waves of the same size, each at least the half of the largest.
        let size = count.div_ceil(count.div_ceil(MAX_WAVE_TASKS));
        let mut waves = Vec::new();
        let mut gathered = gathered.into_iter();
        loop {
            let tasks: Vec<_> = gathered.by_ref().take(size).collect();
            if tasks.is_empty() {
                return waves;
            }
            self.last += 1;
            self.open.insert(self.last, tasks.iter().map(|(id, _)| *id).collect());
            waves.push(Beginning::Wave(self.last, tasks));
        }
    }
}

/// How a wave gives its attempts to workers, and reports their ends: without a clock and without I/O.
#[derive(Debug)]
pub(crate) struct WavePlan {
    /// Attempts by their place in the wave that no worker was given yet.
    waiting: std::ops::Range<usize>,
    /// Milliseconds that an attempt takes, if that is known.
    pace_ms: Option<u64>,
    unreported: Vec<WaveReport>,
}

/// Attempts that a wave begins with to learn how long they take.
const FIRST_TASKS: usize = 8;
/// Attempts of one delivery.
const MAX_BUNDLE_TASKS: usize = 8;
/// Time that a worker is to be busy with one delivery.
const BUNDLE_MS: u64 = 2_000;
/// Ends that are reported together.
const REPORT_TASKS: usize = 64;

impl WavePlan {
    pub(crate) fn new(tasks: usize, pace_ms: Option<u64>) -> Self {
        WavePlan { waiting: 0..tasks, pace_ms, unreported: Vec::new() }
    }

    /// Attempts by their place that begin now, and how many of them one delivery may have.
    pub(crate) fn begin(&mut self) -> (std::ops::Range<usize>, usize) {
        let Some(pace) = self.pace_ms else {
            // Only at first; the others follow when an attempt ended, or when it is waited for no longer.
            let until =
                if self.waiting.start == 0 { FIRST_TASKS.min(self.waiting.end) } else { self.waiting.start };
            return (self.take(until), 1);
        };
        let bundle = usize::try_from(BUNDLE_MS / pace.max(1)).unwrap_or(MAX_BUNDLE_TASKS);
        (self.take(self.waiting.end), bundle.clamp(1, MAX_BUNDLE_TASKS))
    }

    fn take(&mut self, until: usize) -> std::ops::Range<usize> {
        let begun = self.waiting.start..until;
        self.waiting.start = until;
        begun
    }

    /// Takes all attempts that no worker was given.
    pub(crate) fn cancel(&mut self) -> std::ops::Range<usize> {
        self.take(self.waiting.end)
    }

    pub(crate) fn end(&mut self, report: WaveReport) {
        let took = report.done.as_ref().and_then(|done| done.took_ms);
        self.pace_ms.get_or_insert(took.unwrap_or(BUNDLE_MS));
        self.unreported.push(report);
    }

    /// Whether the wave waits for a moment: to report what ended, or to begin what waits.
    pub(crate) fn needs_moment(&self, may_report: bool) -> bool {
        !self.waiting.is_empty() || (may_report && !self.unreported.is_empty())
    }

    /// A moment passed: what waits begins, and what ended is reported, if `may_report`.
    pub(crate) fn pass_moment(&mut self, may_report: bool) -> Vec<WaveReport> {
        // An attempt takes longer than that.
        self.pace_ms.get_or_insert(BUNDLE_MS);
        if may_report { std::mem::take(&mut self.unreported) } else { Vec::new() }
    }

    /// Ends that are to be reported, if there are enough of them.
    pub(crate) fn report(&mut self) -> Option<Vec<WaveReport>> {
        (self.unreported.len() >= REPORT_TASKS).then(|| std::mem::take(&mut self.unreported))
    }

    /// Ends that were not reported.
    pub(crate) fn rest(self) -> Vec<WaveReport> {
        self.unreported
    }

    /// Takes back a report that did not arrive.
    pub(crate) fn keep(&mut self, reports: Vec<WaveReport>) {
        self.unreported.extend(reports);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{TaskEnd, TaskKind};

    fn id(step: u32) -> TaskId {
        TaskId { step, kind: TaskKind::Attempt, attempt: 1 }
    }

    fn lost(step: u32) -> WaveReport {
        WaveReport::new(id(step), TaskEnd::Failed)
    }

    #[test]
    fn a_wave_learns_how_long_its_attempts_take_before_one_delivery_has_several() {
        let mut plan = WavePlan::new(300, None);
        assert_eq!(plan.begin(), (0..8, 1));
        assert_eq!(plan.begin(), (8..8, 1), "the first ones did not end");
        assert!(plan.needs_moment(true) && plan.needs_moment(false));
        plan.pace_ms = Some(500);
        assert_eq!(plan.begin(), (8..300, 4));
        assert!(!plan.needs_moment(true));
        for (pace, bundle) in [(0, 8), (1, 8), (250, 8), (1_000, 2), (2_001, 1), (u64::MAX, 1)] {
            assert_eq!(WavePlan::new(300, Some(pace)).begin(), (0..300, bundle), "{pace}");
        }
    }

    #[test]
    fn attempts_that_take_long_are_not_waited_for() {
        let mut plan = WavePlan::new(300, None);
        plan.begin();
        assert_eq!(plan.pass_moment(true), []);
        assert_eq!(plan.begin(), (8..300, 1));
    }

    #[test]
    fn ends_are_reported_together_and_none_is_forgotten() {
        let mut plan = WavePlan::new(100, Some(1));
        plan.begin();
        (0..63).for_each(|step| plan.end(lost(step)));
        assert_eq!(plan.report(), None);
        plan.end(lost(63));
        let reports = plan.report().unwrap();
        assert_eq!(reports.len(), 64);
        plan.end(lost(64));
        assert_eq!(plan.pass_moment(false), [], "a report is on its way");
        plan.keep(reports);
        assert_eq!(plan.rest().len(), 65);
    }

    #[test]
    fn what_was_not_begun_is_cancelled() {
        let mut plan = WavePlan::new(20, None);
        plan.begin();
        assert_eq!(plan.cancel(), 8..20);
        assert_eq!(plan.begin().0.len(), 0);
        assert!(!plan.needs_moment(true));
    }

    #[test]
    fn the_id_of_a_wave_names_its_run() {
        let id = super::id("marvin/project/run_1", 12);
        assert_eq!((number(&id), run_of(&id)), (Some(12), "marvin/project/run_1"));
        assert!(!id.starts_with("marvin/"));
    }
}
