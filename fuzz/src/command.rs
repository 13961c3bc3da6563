//! Command lines: whatever comes, it is judged in bounded time, the same way twice, and never allowed unread.

use marvin_gate::Decision;
use marvin_gate::effects::{Grounds, Judgement, judge};
use std::time::Duration;

/// No line may take longer, also under a sanitizer. It is time of the processor, so that a busy machine makes no findings;
/// `tests/bounds.rs` of the gate holds an optimised build to less.
const MAX_JUDGE_CPU_TIME: Duration = Duration::from_secs(1);

/// Takes bytes as a command line, and has it judged.
pub fn command(data: &[u8]) {
    let line = String::from_utf8_lossy(data);
    let grounds = Grounds { workspace: "/home/me/project", home: "/home/me" };
    let (judged, first) = timed(&line, grounds);
    let (again, second) = timed(&line, grounds);
    // The faster of two: what a machine does besides is not the line's.
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
    // What is dangerous stays so behind anything that can be read.
    if judged.doubts.is_empty() && line.len() < 2_000 && !line.contains("<<") {
        let behind = judge(&format!("{line}\nrm -rf /"), grounds.workspace, grounds);
        assert_ne!(behind.verdict.decision, Decision::Allow, "a line behind it is not seen");
    }
}

fn timed(line: &str, grounds: Grounds<'_>) -> (Judgement, Duration) {
    let started = processor_time();
    let judged = judge(line, grounds.workspace, grounds);
    (judged, processor_time().saturating_sub(started))
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
