//! Environment variables that make one daemon differ from another.

use marvin_base::settings::{Kind, Scope, table};

/// Prefixes of environment variables that belong to one session.
const SESSION_VARIABLES: [&str; 4] = ["CLAUDE_", "CLAUDECODE", "CODEX_", "AI_AGENT"];

/// Variables that say where settings and state are: a daemon has those of its hooks.
const PLACES: [&str; 5] = ["HOME", "MARVIN_HOME", "XDG_CONFIG_HOME", "MARVIN_STATE_DIR", "XDG_STATE_HOME"];

/// Environment variables that determine a daemon's settings, without keys of providers, which do not affect verdicts.
pub fn variables() -> impl Iterator<Item = &'static str> {
    // A hook asks for all of them each time, so the table is not searched for each.
    let process: Vec<&str> = of_process().collect();
    let rows = table::TABLE.iter().filter(|row| row.scope != Scope::Process && row.kind != Kind::Secret);
    let named = rows.flat_map(|row| row.variables.iter().copied());
    named.filter(move |name| !process.contains(name) && !is_of_session(name)).chain(PLACES)
}

/// Whether a variable is one of them.
#[must_use]
pub fn is_variable(name: &str) -> bool {
    PLACES.contains(&name) || (!is_of_session(name) && variables().any(|own| own == name))
}

/// Whether a variable belongs to one session or to one process.
#[must_use]
pub fn belongs_to_session(name: &str) -> bool {
    !PLACES.contains(&name) && (is_of_session(name) || of_process().any(|own| own == name))
}

fn of_process() -> impl Iterator<Item = &'static str> {
    let rows = table::TABLE.iter().filter(|row| row.scope == Scope::Process);
    rows.flat_map(|row| row.variables.iter().copied())
}

fn is_of_session(name: &str) -> bool {
    SESSION_VARIABLES.iter().any(|own| name.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_daemon_are_known_one_by_one() {
        assert!(variables().count() > 50);
        assert!(variables().all(is_variable));
        for other in ["CLAUDE_PROJECT_DIR", "CODEX_HOME", "ANTHROPIC_API_KEY", "PATH", "TMPDIR", ""] {
            assert!(!is_variable(other), "{other}");
        }
    }
}
