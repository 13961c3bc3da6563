//! Environment variables that make one daemon differ from another.

use marvin_base::settings::{Kind, Scope, Setting, table};

/// Prefixes of environment variables that belong to one session.
const SESSION_VARIABLES: [&str; 4] = ["CLAUDE_", "CLAUDECODE", "CODEX_", "AI_AGENT"];

/// Variables that say where settings and state are, of clients too: a daemon has those of its hooks.
const PLACES: [&str; 7] = [
    "HOME",
    "MARVIN_HOME",
    "XDG_CONFIG_HOME",
    "MARVIN_STATE_DIR",
    "XDG_STATE_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
];

/// The names of the variables that determine a daemon's settings, one per line. Keys of providers do not affect verdicts.
static OF_DAEMON: [u8; length(Owner::Daemon)] = join(Owner::Daemon);

/// The names of the variables by which one process tells another something, one per line.
static OF_PROCESS: [u8; length(Owner::Process)] = join(Owner::Process);

/// What a variable belongs to.
#[derive(Clone, Copy)]
enum Owner {
    Daemon,
    Process,
}

impl Owner {
    const fn has(self, row: &Setting) -> bool {
        let is_of_process = matches!(row.scope, Scope::Process);
        match self {
            Owner::Daemon => !is_of_process && !matches!(row.kind, Kind::Secret),
            Owner::Process => is_of_process,
        }
    }
}

const fn length(owner: Owner) -> usize {
    // The line break before the first name.
    let mut length = 1;
    let mut rows = table::TABLE;
    while let [row, rest @ ..] = rows {
        let mut names = if owner.has(row) { row.variables } else { &[] };
        while let [name, others @ ..] = names {
            length += name.len() + 1;
            names = others;
        }
        rows = rest;
    }
    length
}

/// The names, made when this is compiled: the table itself has thousands of addresses, which every start of a hook would
/// have to relocate.
const fn join<const LENGTH: usize>(owner: Owner) -> [u8; LENGTH] {
    let mut joined = [b'\n'; LENGTH];
    let (_, mut rest_of_joined) = joined.split_at_mut(1);
    let mut rows = table::TABLE;
    while let [row, rest @ ..] = rows {
        let mut names = if owner.has(row) { row.variables } else { &[] };
        while let [name, others @ ..] = names {
            let (place, further) = rest_of_joined.split_at_mut(name.len());
            place.copy_from_slice(name.as_bytes());
            (_, rest_of_joined) = further.split_at_mut(1);
            names = others;
        }
        rows = rest;
    }
    joined
}

fn has_line(lines: &[u8], name: &str) -> bool {
    !name.is_empty() && lines.split(|byte| *byte == b'\n').any(|line| line == name.as_bytes())
}

/// Whether an environment variable determines a daemon's settings.
#[must_use]
pub fn is_variable(name: &str) -> bool {
    PLACES.contains(&name) || (has_line(&OF_DAEMON, name) && !belongs_to_session(name))
}

/// Whether a variable belongs to one session or to one process.
#[must_use]
pub fn belongs_to_session(name: &str) -> bool {
    !PLACES.contains(&name) && (is_of_session(name) || has_line(&OF_PROCESS, name))
}

fn is_of_session(name: &str) -> bool {
    SESSION_VARIABLES.iter().any(|own| name.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_daemon_are_known_one_by_one() {
        let names = table::TABLE.iter().flat_map(|row| row.variables);
        assert!(names.filter(|name| is_variable(name)).count() > 50);
        for name in [
            "HOME",
            "XDG_STATE_HOME",
            "MARVIN_SANDBOX",
            "MARVIN_SANDBOX_READABLE",
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
        ] {
            assert!(is_variable(name), "{name}");
        }
        for other in ["CLAUDE_PROJECT_DIR", "CODEX_SANDBOX", "ANTHROPIC_API_KEY", "PATH", "TMPDIR", ""] {
            assert!(!is_variable(other), "{other}");
        }
    }
}
