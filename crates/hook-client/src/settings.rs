//! Environment variables that make one daemon differ from another.

use marvin_base::settings::{Kind, Scope, table};

/// Prefixes of environment variables that belong to one session.
const SESSION_VARIABLES: [&str; 4] = ["CLAUDE_", "CLAUDECODE", "CODEX_", "AI_AGENT"];

/// Environment variables that determine a daemon's settings, without keys of providers, which do not affect verdicts.
pub(crate) fn variables() -> impl Iterator<Item = &'static str> {
    let rows = table::TABLE.iter().filter(|row| row.scope != Scope::Process && row.kind != Kind::Secret);
    let named = rows.flat_map(|row| row.variables.iter().copied());
    let places = ["HOME", "MARVIN_HOME", "XDG_CONFIG_HOME", "MARVIN_STATE_DIR", "XDG_STATE_HOME"];
    named.filter(|name| !belongs_to_session(name)).chain(places)
}

/// Whether a variable belongs to one session or to one process.
#[must_use]
pub fn belongs_to_session(name: &str) -> bool {
    let process = table::TABLE
        .iter()
        .any(|setting| setting.scope == Scope::Process && setting.variables.contains(&name));
    process || SESSION_VARIABLES.iter().any(|own| name.starts_with(own))
}
