//! Who answers, and what it may cost: the same flags for every command that may need a model.

use clap::Args;
use std::path::PathBuf;

/// The model of a command.
#[derive(Debug, Args)]
pub(crate) struct ModelArguments {
    /// The provider (default: the first with a key, else the built-in mock)
    #[arg(long, visible_alias = "llm", value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// A script for the mock provider (JSONL)
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Stop everything when this many US dollars are spent (exit code 6)
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<String>,
}

impl ModelArguments {
    /// As settings.
    pub(crate) fn flags(&self) -> Vec<(&'static str, String)> {
        let flags = [
            ("model.provider", self.provider.clone()),
            ("model.name", self.model.clone()),
            ("model.script", self.script.as_ref().map(|path| path.display().to_string())),
            ("limits.cost_usd", self.max_cost.clone()),
        ];
        flags.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}
