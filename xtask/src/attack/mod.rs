//! `cargo xtask attack [GROUP …] [--sample N] [--binary PATH]`: attacks on the built binary, each
//! with a control.
//!
//! An attack *holds* when Marvin stopped it. Its control is the closest harmless action, or the
//! same attack without the defence; it must succeed, otherwise the attack proves nothing. Cases are
//! data in `attacks/GROUP.toml`; the code that runs the cases of a group is a module beside this
//! one. `--sample N` takes every Nth case of each group, always the same ones. `--binary PATH`
//! attacks a debug build that exists, for example as another user.

mod authority;
mod case;
mod clients;
mod env_files;
mod escapes;
mod fixture;
mod gate_lines;
mod ordinary_shell;
mod person;
mod proof;
mod pty;
mod sandbox;
mod secrets;
mod servers;
mod steering;

use crate::output::say;
use crate::tools;
use anyhow::{Context, bail};
use case::{AttackOptions, Trial};
use std::path::PathBuf;

type Run = fn(&AttackOptions) -> anyhow::Result<Vec<Trial>>;

/// The groups, in the order in which they run.
const GROUPS: &[(&str, Run)] = &[
    ("gate_lines", gate_lines::run),
    ("ordinary_shell", ordinary_shell::run),
    ("sandbox", sandbox::run),
    ("authority", authority::run),
    ("proof", proof::run),
    ("person", person::run),
    ("escapes", escapes::run),
    ("clients", clients::run),
    ("steering", steering::run),
    ("servers", servers::run),
    ("secrets", secrets::run),
    ("env_files", env_files::run),
];

/// Runs the named groups, or all, and prints one line per group and per failed trial.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let (mut every, mut binary) = (1, None);
    let mut named = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--sample" => {
                let number = rest.next().and_then(|number| number.parse().ok());
                every = number.context("--sample needs a number, for example --sample 10")?;
            }
            "--binary" => binary = Some(PathBuf::from(*rest.next().context("--binary needs a path")?)),
            group if GROUPS.iter().any(|(name, _)| *name == group) => named.push(group),
            other => {
                let names: Vec<&str> = GROUPS.iter().map(|(name, _)| *name).collect();
                bail!("unknown group `{other}`; the groups are: {}", names.join(", "));
            }
        }
    }
    let options = AttackOptions { marvin: binary.map_or_else(tools::debug, Ok)?, every };
    let (mut attacks, mut through, mut void) = (0, 0, 0);
    for (name, run) in GROUPS.iter().filter(|(name, _)| named.is_empty() || named.contains(name)) {
        let trials = run(&options)?;
        let open = trials.iter().filter(|trial| !trial.held).count();
        let broken = trials.iter().filter(|trial| !trial.control).count();
        say(format_args!(
            "{name}: {} attacks, {open} through, {broken} with a broken control",
            trials.len()
        ))?;
        for trial in trials.iter().filter(|trial| !trial.held || !trial.control) {
            let what = if trial.held { "broken control" } else { "THROUGH" };
            say(format_args!("  {what} {} {}: {}", trial.id, trial.level, trial.note))?;
        }
        attacks += trials.len();
        through += open;
        void += broken;
    }
    say(format_args!("{attacks} attacks, {through} through, {void} with a broken control"))?;
    if through > 0 || void > 0 {
        bail!("not every attack was stopped");
    }
    Ok(())
}
