//! Codex and Claude Code themselves, with a scripted model on this machine.

use crate::namespace::CLIENTS;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Codex,
    Claude,
}

impl Program {
    /// Its path among the installed programs.
    pub fn path(self) -> PathBuf {
        let path = match self {
            Program::Codex => "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
            Program::Claude => "@anthropic-ai/claude-code-linux-x64/claude",
        };
        Path::new(&std::env::var(CLIENTS).unwrap()).join("node_modules").join(path)
    }

    pub fn word(self) -> &'static str {
        match self {
            Program::Claude => "claude",
            Program::Codex => "codex",
        }
    }
}

/// A configuration of Codex with the model at this address.
pub fn codex_config(address: &str) -> String {
    include_str!("codex.toml").replace("ADDRESS", address)
}

/// Variables that both programs need in this home: keys of the scripted model, no retries, nothing from the network.
pub fn variables(home: &Path) -> Vec<(&'static str, String)> {
    let own = [
        ("HOME", home.display().to_string()),
        ("TERM", "dumb".into()),
        ("SHELL", "/bin/bash".into()),
        ("CODEX_HOME", home.join(".codex").display().to_string()),
        ("TEST_KEY", "sk-test".into()),
        ("ANTHROPIC_API_KEY", "sk-test".into()),
        ("CLAUDE_CODE_MAX_RETRIES", "0".into()),
    ];
    let quiet = [
        "DISABLE_TELEMETRY",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL",
    ];
    own.into_iter().chain(quiet.map(|name| (name, "1".to_string()))).collect()
}
