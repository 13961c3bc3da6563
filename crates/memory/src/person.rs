//! The person who decides what is remembered: never an agent. [`marvin_base::person`] tells them apart.

use crate::error::MemoryError;
pub use marvin_base::person::{DecisionChannel, Person, Refusal};

impl From<Refusal> for MemoryError {
    fn from(refusal: Refusal) -> Self {
        match &refusal {
            Refusal::Nameless => MemoryError::Asked(refusal.to_string()),
            Refusal::Agent(_) | Refusal::Undecided(_) => MemoryError::Refused(refusal.to_string()),
        }
    }
}

/// Records a decision in the person's state directory before it takes effect.
pub(crate) fn record(person: &Person, command: &str, subject: &str) -> Result<(), MemoryError> {
    person.record(command, subject).map_err(|error| MemoryError::Refused(error.to_string()))
}
