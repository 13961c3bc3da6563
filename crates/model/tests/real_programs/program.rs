//! The agent programs, and Codex's configuration for the scripted model.

use crate::namespace::CLIENTS;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    Codex,
    Claude,
}

impl Program {
    /// The program's path.
    pub(crate) fn path(self) -> PathBuf {
        let path = match self {
            Program::Codex => "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
            Program::Claude => "@anthropic-ai/claude-code-linux-x64/claude",
        };
        Path::new(&std::env::var(CLIENTS).unwrap()).join("node_modules").join(path)
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Program::Claude => "claude",
            Program::Codex => "codex",
        }
    }
}

/// A Codex configuration with the model at this address.
pub(crate) fn codex_config(address: &str) -> String {
    include_str!("codex.toml").replace("ADDRESS", address)
}
