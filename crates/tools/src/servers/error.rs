//! Errors of MCP servers.

use marvin_base::atomic::WriteError;
use std::path::PathBuf;

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("`{0}` is in your own settings, so it is trusted already")]
    AlreadyTrusted(String),
    /// The list of trust cannot be written.
    #[error(transparent)]
    Trust(#[from] WriteError),
    #[error("{0}")]
    Definition(String),
    #[error("the variable {0} is not set")]
    UnsetVariable(String),
    #[error("cannot start {what}: {reason}{}", hint.map(|hint| format!("\n  hint: {hint}")).unwrap_or_default())]
    Start { what: String, reason: &'static str, hint: Option<&'static str> },
    #[error("cannot create a directory in {}: {source}", parent.display())]
    Directory { parent: PathBuf, source: std::io::Error },
}
