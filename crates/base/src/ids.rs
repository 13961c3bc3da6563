//! Names that are unique enough: run ids, item ids, request ids.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use uuid::Uuid;

/// The time that the last digit of a run id stands for: a 65,536th of a second.
pub const RUN_ID_STEP: SignedDuration = SignedDuration::from_nanos(1_000_000_000 / 65_536 + 1);

/// `run_YYYYMMDD_HHMMSS_<4 hex>` in UTC. The hexadecimal digits are the fraction of the second, so ids sort by time.
#[must_use]
pub fn run_id(started: Timestamp) -> String {
    let moment = started.to_zoned(TimeZone::UTC);
    let fraction = i64::from(moment.subsec_nanosecond()) * 65_536 / 1_000_000_000;
    format!("run_{}_{fraction:04x}", moment.strftime("%Y%m%d_%H%M%S"))
}

/// Start of the run with that id, if it is the id of a run.
#[must_use]
pub fn run_started(id: &str) -> Option<Timestamp> {
    let (moment, _) = id.strip_prefix("run_")?.rsplit_once('_')?;
    let moment = jiff::civil::DateTime::strptime("%Y%m%d_%H%M%S", moment).ok()?;
    moment.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

/// `n` random lower-case hexadecimal digits, at most 32.
#[must_use]
pub fn short(n: usize) -> String {
    let mut text = Uuid::new_v4().simple().to_string();
    text.truncate(n.min(32));
    text
}

/// A random UUID, as it is usually written.
#[must_use]
pub fn uuid() -> String {
    Uuid::new_v4().to_string()
}

/// `n` random lower-case letters and digits, at most 11.
#[must_use]
pub fn base36(n: usize) -> String {
    // The lower half of a random UUID: 62 random bits, more than eleven digits need.
    let (_, mut rest) = Uuid::new_v4().as_u64_pair();
    let mut digit = || {
        let value = u32::try_from(rest % 36).unwrap_or(0);
        rest /= 36;
        char::from_digit(value, 36).unwrap_or('0')
    };
    (0..n.min(11)).map(|_| digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base36_uses_every_digit() {
        let text: String = (0..400).map(|_| base36(4)).collect();
        assert_eq!(text.len(), 1600);
        for digit in ('0'..='9').chain('a'..='z') {
            assert!(text.contains(digit), "{digit}");
        }
    }

    #[test]
    fn run_ids_have_the_documented_shape() {
        let id = run_id("2026-02-03T04:05:06Z".parse().unwrap());
        assert!(id.starts_with("run_20260203_040506_"), "{id}");
        assert_eq!(id.len(), "run_20260203_040506_abcd".len());
    }

    #[test]
    fn b1_run_ids_of_one_second_sort_by_time() {
        let mut started: Timestamp = "2026-02-03T04:05:06Z".parse().unwrap();
        for _ in 0..70_000 {
            let before = run_id(started);
            started += RUN_ID_STEP;
            let after = run_id(started);
            assert!(before < after, "{before} {after}");
        }
    }
}
