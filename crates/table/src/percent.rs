//! Chances in percent.

/// A chance as a whole number of percent.
pub(crate) fn percent(chance: f64) -> u32 {
    let bounded = (chance * 100.0).round().clamp(0.0, 100.0);
    (0..=100u32).find(|value| f64::from(*value) >= bounded).unwrap_or(100)
}
