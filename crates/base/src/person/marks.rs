//! Environment variables that only a process below an agent has.
//!
//! An agent can start a program without them, so their absence proves nothing; their presence, in this process or at the start
//! of an ancestor, is enough to refuse.

/// Variables that count whatever their value is.
const MARKS: [&str; 20] = [
    "MARVIN_RUN",
    "MARVIN_TICKET",
    "MARVIN_COST_LEDGER",
    "MARVIN_LINEAGE",
    "MARVIN_SCRIPT_STATE",
    "MARVIN_SUBAGENT_LOG",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_PROJECT_DIR",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "QWEN_CODE",
    "OPENCODE",
    "CURSOR_AGENT",
    "CURSOR_TRACE_ID",
    "GOOSE_TERMINAL",
    "COPILOT_CLI",
    "AI_AGENT",
];
/// Variables that count unless they are switched off.
const SWITCHES: [&str; 5] = [
    "MARVIN_DEPTH",
    "MARVIN_DELEGATED",
    "TOKIMON_DELEGATED",
    "MARVIN_DELEGATION_DEPTH",
    "TOKIMON_DELEGATION_DEPTH",
];

/// Whether this variable is an agent's mark.
pub(super) fn is_mark(name: &str, value: &str) -> bool {
    let is_on = !matches!(value.trim(), "" | "0" | "false" | "off" | "no");
    (MARKS.contains(&name) && !value.is_empty()) || (SWITCHES.contains(&name) && is_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_can_be_off_and_marks_cannot() {
        assert!(is_mark("CLAUDECODE", "1") && is_mark("CLAUDECODE", "0") && is_mark("MARVIN_DEPTH", "1"));
        assert!(
            !is_mark("MARVIN_DEPTH", "0")
                && !is_mark("MARVIN_DELEGATED", "false")
                && !is_mark("USER", "claude")
        );
        assert!(!is_mark("CLAUDECODE", ""));
    }
}
