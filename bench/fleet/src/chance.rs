//! Random numbers that depend on a seed alone.

/// A generator of random numbers (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Chance(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// True in so many of a hundred cases.
    pub(crate) fn happens(&mut self, percent: u64) -> bool {
        self.number() % 100 < percent
    }

    /// A time with an exponential distribution.
    pub(crate) fn time(&mut self, mean: u64) -> u64 {
        // 53 bits: as many as a double has.
        let unit = ((self.number() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        (-unit.ln() * mean as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_with_the_right_mean() {
        let mut chance = Chance::new(7);
        let mut again = Chance::new(7);
        let times: Vec<u64> = (0..20_000).map(|_| chance.time(1_000)).collect();
        assert!(times.iter().all(|time| *time == again.time(1_000)));
        let mean = times.iter().sum::<u64>() / 20_000;
        assert!((950..1_050).contains(&mean), "{mean}");
        let hits = (0..20_000).filter(|_| chance.happens(5)).count();
        assert!((900..1_100).contains(&hits), "{hits}");
    }
}
