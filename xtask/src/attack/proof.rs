//! Cheats at the verification of tests: the cases of `bench honesty`
//! (`crates/marvin/tests/honesty/cheats.json`). The control of each is the honest fix of the same
//! project, which must be accepted.

use super::case::{AttackOptions, Trial};
use crate::bench::honesty::{Verdict, play_controls, play_suite};
use crate::output::say;

/// Plays every cheat, and the honest fix of every project.
pub(super) fn run(options: &AttackOptions) -> anyhow::Result<Vec<Trial>> {
    let controls = play_controls(&options.marvin)?;
    let suite = play_suite(&options.marvin, "cheats", options.every)?;
    for skipped in &suite.skipped {
        say(format_args!("  skipped {skipped}"))?;
    }
    let trial = |verdict: &Verdict| {
        let project = controls.iter().filter(|(name, _)| verdict.name.starts_with(name.as_str()));
        let control = project.max_by_key(|(name, _)| name.len()).is_some_and(|(_, accepted)| *accepted);
        let note = format!("exit {}, expected {}", verdict.exit, verdict.expected);
        Trial { id: verdict.name.clone(), held: !verdict.accepted(), control, note, ..Trial::default() }
    };
    Ok(suite.verdicts.iter().map(trial).collect())
}
