//! Decisions of a person: who decides, recorded before it takes effect. docs/deciding.md lists the commands.

use crate::failure::Failure;
use marvin_base::environment::Environment;
use marvin_base::person::decisions::DecisionError;
use marvin_base::person::{self, DecisionChannel, Person, Refusal};

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure::new(refusal.exit(), refusal)
    }
}

impl From<DecisionError> for Failure {
    fn from(error: DecisionError) -> Self {
        Failure::failed(format!("nothing was decided: {error}"))
    }
}

/// The person who runs this command.
pub(crate) fn person(reviewer: Option<&str>) -> Result<Person, Failure> {
    Ok(Person::identify(&Environment::of_process(), DecisionChannel::Command, reviewer)?)
}

/// Identifies the person and records the decision, so that it may take effect.
pub(crate) fn decide(command: &str, subject: &str) -> Result<Person, Failure> {
    let person = person(None)?;
    person.record(command, subject)?;
    Ok(person)
}

/// Refuses agents where the command decides nothing, but an agent has its own tool for it, with its own rights.
pub(crate) fn refuse_agents() -> Result<(), Failure> {
    Ok(person::refuse_agents(&Environment::of_process())?)
}
