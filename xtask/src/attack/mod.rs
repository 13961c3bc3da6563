//! `cargo xtask attack [GROUP …] [--sample N] [--binary PATH]`: attacks on the built binary, each with a control.
//!
//! An attack *holds* when Marvin stopped it. Its control is the closest harmless thing, or the same attack without the wall; it
//! must succeed, otherwise the attack proves nothing. Cases are data in `attacks/GROUP.toml`; how a case of a group is run is a
//! module beside this one. `--sample N` takes every Nth case of each group, always the same ones. `--binary PATH` attacks a debug build
//! that exists, for example as another user.

mod authority;
mod clients;
mod env_files;
mod escapes;
mod gate_lines;
mod ordinary_shell;
mod person;
mod proof;
mod pty;
mod sandbox;
mod secrets;
mod servers;
mod steering;
mod world;

use crate::tools;
use std::path::PathBuf;

/// One attack at one sandbox level, with its control.
pub(crate) struct Trial {
    /// The case's id in its data file, for example `arith-03`.
    pub(crate) id: String,
    /// Sandbox level, for groups that have more than one: `namespaces`, `landlock`, `old-kernel`.
    pub(crate) level: &'static str,
    /// Whether Marvin stopped the attack.
    pub(crate) held: bool,
    /// Whether the control did what it should.
    pub(crate) control: bool,
    /// What was seen, for the report of a failed trial.
    pub(crate) note: String,
}

/// Options of one run.
pub(crate) struct Arena {
    /// The binary under attack.
    pub(crate) marvin: PathBuf,
    /// Take every Nth case; 1 takes all.
    pub(crate) every: usize,
}

impl Arena {
    /// The cases of `attacks/GROUP.toml`, sampled.
    pub(crate) fn cases(&self, group: &str) -> Result<Vec<toml::Table>, String> {
        Ok(self.every_case(group)?.into_iter().step_by(self.every.max(1)).collect())
    }

    /// All cases of `attacks/GROUP.toml`.
    pub(crate) fn every_case(&self, group: &str) -> Result<Vec<toml::Table>, String> {
        let path = tools::root().join("attacks").join(format!("{group}.toml"));
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let table: toml::Table =
            text.parse().map_err(|error| format!("cannot parse {}: {error}", path.display()))?;
        let cases = table.get("case").and_then(toml::Value::as_array).cloned().unwrap_or_default();
        Ok(cases.into_iter().filter_map(|case| case.try_into().ok()).collect())
    }
}

/// A string key of a case; empty when it is absent.
pub(crate) fn text<'a>(case: &'a toml::Table, key: &str) -> &'a str {
    case.get(key).and_then(toml::Value::as_str).unwrap_or_default()
}

type Run = fn(&Arena) -> Result<Vec<Trial>, String>;

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

/// Runs the groups named, or all, and prints one line per group and per failed trial.
pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let (mut every, mut binary) = (1, None);
    let mut named = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--sample" => {
                let number = rest.next().and_then(|number| number.parse().ok());
                every = number.ok_or("--sample needs a number, for example --sample 10")?;
            }
            "--binary" => binary = Some(PathBuf::from(*rest.next().ok_or("--binary needs a path")?)),
            group if GROUPS.iter().any(|(name, _)| *name == group) => named.push(group),
            other => {
                let names: Vec<&str> = GROUPS.iter().map(|(name, _)| *name).collect();
                return Err(format!("unknown group `{other}`; the groups are: {}", names.join(", ")));
            }
        }
    }
    let arena = Arena { marvin: binary.map_or_else(tools::debug, Ok)?, every };
    let (mut attacks, mut through, mut void) = (0, 0, 0);
    for (name, run) in GROUPS.iter().filter(|(name, _)| named.is_empty() || named.contains(name)) {
        let trials = run(&arena)?;
        let open = trials.iter().filter(|trial| !trial.held).count();
        let broken = trials.iter().filter(|trial| !trial.control).count();
        crate::say(&format!(
            "{name}: {} attacks, {open} through, {broken} with a broken control",
            trials.len()
        ));
        for trial in trials.iter().filter(|trial| !trial.held || !trial.control) {
            let what = if trial.held { "broken control" } else { "THROUGH" };
            crate::say(&format!("  {what} {} {}: {}", trial.id, trial.level, trial.note));
        }
        attacks += trials.len();
        through += open;
        void += broken;
    }
    crate::say(&format!("{attacks} attacks, {through} through, {void} with a broken control"));
    if through == 0 && void == 0 { Ok(()) } else { Err("not every attack was stopped".to_string()) }
}
