//! Command lines: any line is judged in bounded time, the same way twice, and never allowed in
//! doubt.

use marvin_gate::Decision;
use marvin_gate::effects::{Grounds, Judgement, judge};
use std::time::Duration;

/// Limit for any line, even under a sanitizer. CPU time, so that a busy machine does not cause
/// findings; `tests/bounds.rs` of the gate has a lower limit for an optimised build.
const MAX_JUDGE_CPU_TIME: Duration = Duration::from_secs(1);

/// Judges the input as a command line.
pub fn command(data: &[u8]) {
    let line = String::from_utf8_lossy(data);
    let grounds = Grounds { workspace: "/home/me/project", home: "/home/me" };
    let (judged, first) = timed(&line, grounds);
    let (again, second) = timed(&line, grounds);
    // The faster of two: other work of the machine may disturb one.
    let taken = first.min(second);
    assert!(taken < MAX_JUDGE_CPU_TIME, "judging took {taken:?}");
    let verdict = &judged.verdict;
    assert!(!verdict.rule.is_empty() && !verdict.reason.is_empty(), "{verdict:?}");
    if !judged.doubts.is_empty() {
        assert_ne!(verdict.decision, Decision::Allow, "allowed in doubt: {:?}", judged.doubts);
    }
    let strictest = judged.segments.iter().map(|segment| segment.verdict.decision).max();
    assert!(strictest.is_none_or(|strictest| strictest <= verdict.decision), "{verdict:?}");
    assert_eq!(&again.verdict, verdict, "the same line is judged differently");
    assert_eq!(again.segments.len(), judged.segments.len());
    // A dangerous command stays dangerous after any line that can be parsed.
    if judged.doubts.is_empty() && line.len() < 2_000 && !line.contains("<<") {
        let followed = judge(&format!("{line}\nrm -rf /"), grounds.workspace, grounds);
        assert_ne!(followed.verdict.decision, Decision::Allow, "the line after it is ignored");
    }
}

fn timed(line: &str, grounds: Grounds<'_>) -> (Judgement, Duration) {
    let started = cpu_time();
    let judged = judge(line, grounds.workspace, grounds);
    (judged, cpu_time().saturating_sub(started))
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
