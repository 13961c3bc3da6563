//! Names that are unique enough: run ids, item ids, request ids.

use jiff::{Timestamp, tz::TimeZone};
use uuid::Uuid;

/// `run_YYYYMMDD_HHMMSS_<4 hex>` in UTC.
#[must_use]
pub fn run_id(started: Timestamp) -> String {
    let moment = started.to_zoned(TimeZone::UTC);
    format!("run_{}_{}", moment.strftime("%Y%m%d_%H%M%S"), short(4))
}

/// `n` random lower-case hexadecimal digits, at most 32.
#[must_use]
pub fn short(n: usize) -> String {
    let mut text = Uuid::new_v4().simple().to_string();
    text.truncate(n.min(32));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_have_the_documented_shape() {
        let id = run_id("2026-02-03T04:05:06Z".parse().unwrap());
        assert!(id.starts_with("run_20260203_040506_"), "{id}");
        assert_eq!(id.len(), "run_20260203_040506_abcd".len());
    }
}
