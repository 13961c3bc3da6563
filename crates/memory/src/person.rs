//! Who may decide: a person, never an agent.
//!
//! A person sits at a terminal, or names themselves (`--reviewer NAME`) from outside of every agent. A process that an agent
//! started has marks of it in its environment; there nobody can decide, whatever the command line says. The gate denies
//! these commands to agents besides, and a contained program cannot write to the folder in which decisions are sealed.

use crate::error::MemoryError;
use marvin_base::environment::Environment;

/// Variables that only a process below an agent has.
const MARKS: [&str; 11] = [
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
    "CODEX_THREAD_ID",
];
/// Variables that count when they are neither 0 nor false.
const SWITCHES: [&str; 5] = [
    "MARVIN_DEPTH",
    "MARVIN_DELEGATED",
    "TOKIMON_DELEGATED",
    "MARVIN_DELEGATION_DEPTH",
    "TOKIMON_DELEGATION_DEPTH",
];

/// Somebody who may decide. There is no other way to get one than [`Person::found`].
#[derive(Debug, Clone)]
pub struct Person {
    name: String,
}

impl Person {
    /// The person who asks, if it is one.
    ///
    /// # Errors
    /// When an agent asks, or nobody says who it is.
    pub fn found(
        environment: &Environment,
        terminal: bool,
        reviewer: Option<&str>,
    ) -> Result<Self, MemoryError> {
        let on = |name: &&str| {
            environment.get(name).is_some_and(|value| !matches!(value.trim(), "0" | "false" | "off" | "no"))
        };
        let mark = MARKS
            .iter()
            .find(|name| environment.get(name).is_some())
            .or(SWITCHES.iter().find(|name| on(name)));
        if let Some(mark) = mark {
            return Err(MemoryError::Refused(format!(
                "what is remembered is decided by a person, not by an agent (this process belongs to one: {mark} is set)\n  hint: say in your answer what should be remembered; a person decides with `marvin memory pending`"
            )));
        }
        let name = match reviewer.map(str::trim) {
            Some("") => {
                return Err(MemoryError::Asked(
                    "--reviewer: say who decides, for example --reviewer ann".into(),
                ));
            }
            Some(name) => name,
            None if terminal => environment.get("USER").or(environment.get("LOGNAME")).unwrap_or("person"),
            None => {
                return Err(MemoryError::Refused(
                    "nobody is at the terminal to decide\n  hint: run it in a terminal, or say who decides with --reviewer NAME".into(),
                ));
            }
        };
        let name = marvin_base::truncate::line(name, 80);
        Ok(Person { name })
    }

    /// Who it is.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_nobody_whatever_it_says() {
        let plain =
            Environment::from_iter([("USER", "ann"), ("MARVIN_DEPTH", "0"), ("MARVIN_DELEGATED", "false")]);
        assert_eq!(Person::found(&plain, true, None).unwrap().name(), "ann");
        assert_eq!(Person::found(&plain, false, Some("bo")).unwrap().name(), "bo");
        assert!(Person::found(&plain, false, None).is_err());
        assert!(Person::found(&plain, false, Some(" ")).is_err());
        for (name, value) in
            [("MARVIN_DEPTH", "1"), ("MARVIN_TICKET", "t1"), ("CLAUDECODE", "1"), ("MARVIN_RUN", "x")]
        {
            let agent = plain.clone().with(name, value);
            let error = Person::found(&agent, true, Some("ann")).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
