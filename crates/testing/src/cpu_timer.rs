//! The time that a test itself computes, which other processes do not lengthen.

use std::time::Duration;

/// Measures the CPU time of a thread.
#[derive(Debug)]
pub struct CpuTimer {
    began: Duration,
}

impl CpuTimer {
    /// Begins with the calling thread.
    #[must_use]
    pub fn start() -> Self {
        CpuTimer { began: thread_time() }
    }

    /// CPU time of the calling thread since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        thread_time().saturating_sub(self.began)
    }
}

fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
