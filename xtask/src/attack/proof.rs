//! Cheats at the verification of tests: the cases of `bench honesty` (`crates/marvin/tests/honesty/cheats.json`). The control of
//! each is the honest fix of the same project, which must be accepted.

use super::{Arena, Trial};
use crate::bench::honesty::{controls, played};

/// Plays every cheat, and the honest fix of every project.
pub(crate) fn run(arena: &Arena) -> Result<Vec<Trial>, String> {
    let controls = controls(&arena.marvin)?;
    let played = played(&arena.marvin, "cheats", arena.every)?;
    for skipped in &played.skipped {
        crate::say(&format!("  skipped {skipped}"));
    }
    let trial = |verdict: &crate::bench::honesty::Verdict| {
        let project = controls.iter().filter(|(name, _)| verdict.name.starts_with(name.as_str()));
        let control = project.max_by_key(|(name, _)| name.len()).is_some_and(|(_, accepted)| *accepted);
        let note = format!("exit {}, expected {}", verdict.exit, verdict.expected);
        Trial { id: verdict.name.clone(), level: "", held: !verdict.accepted(), control, note }
    };
    Ok(played.verdicts.iter().map(trial).collect())
}
