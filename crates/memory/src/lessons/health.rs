//! Health figures of what agents are told: lessons, and skills.
//!
//! The utility is the share of uses without a complaint, with less weight for older uses:
//!
//! `new = (old · w + uses − complaints) / (w + uses)`, `w = max(1, count) · max(0.5, 1 − days / 90)`
//!
//! (what was never used weighs like one use, so that one lucky session does not make it the best)

/// Uses from which the utility says something.
pub const FREQUENT_USES: u64 = 5;
/// With [`FREQUENT_USES`] and less than this it does not help.
pub const USELESS_UTILITY: f64 = 0.3;
/// The utility of what was never used.
pub const UNKNOWN_UTILITY: f64 = 0.5;

/// The utility after `fresh` uses with `complaints`, `days` after the last of the `count` uses before.
#[must_use]
pub fn utility(old: Option<f64>, count: u64, days: f64, fresh: u64, complaints: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of uses are small")]
    let (count, fresh) = (count as f64, fresh as f64);
    let weight = count.max(1.0) * (1.0 - days / 90.0).max(0.5);
    let utility = (old.unwrap_or(UNKNOWN_UTILITY) * weight + fresh - complaints) / (weight + fresh);
    (utility.clamp(0.0, 1.0) * 1000.0).round() / 1000.0
}

/// Whether it was used often and does not help.
#[must_use]
pub fn is_useless(uses: u64, utility: Option<f64>) -> bool {
    uses >= FREQUENT_USES && utility.unwrap_or(UNKNOWN_UTILITY) < USELESS_UTILITY
}
