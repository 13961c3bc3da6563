//! Every target for a moment, always with the same inputs. `cargo xtask fuzz` runs longer.

use marvin_fuzz::{TARGETS, mutate};
use std::time::{Duration, Instant};

#[test]
fn every_target_for_a_moment() {
    for (name, target, seeds) in TARGETS {
        for seed in 1..=2 {
            // A fixed number of inputs, so that the same ones are tried everywhere; the clock only
            // guards slow machines.
            let until = Instant::now() + Duration::from_secs(5);
            let tried = mutate::run(target, seeds, seed, |tried, _| tried < 300 && Instant::now() < until);
            assert!(tried > seeds.len() as u64, "{name}: {tried}");
        }
    }
}
