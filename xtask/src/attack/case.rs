//! Cases and trials: the data of an attack, and its result.

use crate::tools;
use anyhow::Context;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// One attack at one sandbox level, with its control.
#[derive(Default)]
pub(super) struct Trial {
    /// The case's id in its data file, for example `arith-03`.
    pub(super) id: String,
    /// Sandbox level, for groups that have more than one: `namespaces`, `landlock`, `old-kernel`.
    pub(super) level: &'static str,
    /// Whether Marvin stopped the attack.
    pub(super) held: bool,
    /// Whether the control did what it should.
    pub(super) control: bool,
    /// What was seen, for the report of a failed trial.
    pub(super) note: String,
}

pub(super) struct AttackOptions {
    /// The binary under attack.
    pub(super) marvin: PathBuf,
    /// Take every Nth case; 1 takes all.
    pub(super) every: usize,
}

#[derive(Deserialize)]
struct CaseFile<T> {
    case: Vec<T>,
}

impl AttackOptions {
    /// The cases of `attacks/GROUP.toml`, sampled.
    pub(super) fn load_cases<T: DeserializeOwned>(&self, group: &str) -> anyhow::Result<Vec<T>> {
        Ok(load_all_cases(group)?.into_iter().step_by(self.every.max(1)).collect())
    }
}

/// All cases of `attacks/GROUP.toml`.
pub(super) fn load_all_cases<T: DeserializeOwned>(group: &str) -> anyhow::Result<Vec<T>> {
    let path = tools::root().join("attacks").join(format!("{group}.toml"));
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let file: CaseFile<T> =
        toml::from_str(&text).with_context(|| format!("cannot parse {}", path.display()))?;
    Ok(file.case)
}
