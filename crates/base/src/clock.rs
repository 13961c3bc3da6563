//! The one clock. Everything that stamps a record asks here, so that a replay can be given another time.

use jiff::Timestamp;

#[must_use]
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this is the clock module")]
    Timestamp::now()
}

/// A moment as records write it: UTC, milliseconds, ending in `Z`.
#[must_use]
pub fn stamp(moment: Timestamp) -> String {
    format!("{moment:.3}")
}

/// The present moment as records write it.
#[must_use]
pub fn now_stamp() -> String {
    stamp(now())
}

/// A moment in milliseconds since 1970, as records write it; one that cannot be is the beginning of time.
#[must_use]
pub fn stamp_of(milliseconds: i64) -> String {
    stamp(Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// The id of this boot and the milliseconds since it, with the time that the machine slept; none where the system does not
/// tell.
#[must_use]
pub fn boot_time() -> Option<(String, i64)> {
    #[cfg(target_os = "linux")]
    {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Some((id.trim().to_string(), time.tv_sec * 1000 + time.tv_nsec / 1_000_000))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_utc_with_milliseconds() {
        let moment: Timestamp = "2026-02-03T04:05:06.789123Z".parse().unwrap();
        assert_eq!(stamp(moment), "2026-02-03T04:05:06.789Z");
    }
}
