//! Commands that decide: they need a person, and the decision is recorded before it takes effect. docs/deciding.md lists them.

use crate::failure::Failure;
use marvin_base::environment::Environment;
use marvin_base::person::decisions::DecisionError;
use marvin_base::person::{self, DecisionChannel, Person, Refusal};

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure { exit: refusal.exit(), ..Failure::failed(refusal.to_string()) }
    }
}

impl From<DecisionError> for Failure {
    fn from(error: DecisionError) -> Self {
        Failure::failed(format!("nothing was decided: {error}"))
    }
}

/// The person for whom this command line speaks.
pub(super) fn person(reviewer: Option<&str>) -> Result<Person, Failure> {
    Ok(Person::identify(&Environment::of_process(), DecisionChannel::Command, reviewer)?)
}

/// Finds the person and records what they decide; what follows may take effect.
pub(super) fn decide(command: &str, subject: &str) -> Result<Person, Failure> {
    let person = person(None)?;
    person.record(command, subject)?;
    Ok(person)
}

/// Refuses agents where the command decides nothing, but an agent has its own tool for it, with its own rights.
pub(super) fn refuse_agents() -> Result<(), Failure> {
    Ok(person::refuse_agents(&Environment::of_process())?)
}
