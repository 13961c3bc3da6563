//! Commitments: work is done when commands outside the agent say so.
//!
//! A [`Commitment`] is in the frontmatter of a [`document::Document`] under `.marvin/agents/`: the project's own in
//! `project.md`, an agent's in its document. It is refused when it is added if it cannot fail ([`assertion`]). Every claim
//! that work is done verifies all of them again from scratch ([`verify()`]), outside the agent's session, judged by the
//! gate and in the sandbox; work is done only when all pass. What was promised is also written to a ledger
//! ([`seal`]), so that a document that was edited by hand to promise less is detected. A document is closed when its work is
//! over; closed ones and those of single turns (`turn-…`) do not apply to the project.
//!
//! Limits: an assertion proves what it says and no more; what a script does inside cannot be seen. A process that can write the
//! whole directory, outside the sandbox and past the gate, can forge both the document and the ledger.

pub mod assertion;
mod beginning;
mod change;
mod check;
pub mod commitment;
pub mod document;
pub mod error;
mod oracle;
mod report;
mod seal;
pub mod store;
mod test_command;
pub mod tools;
mod verify;

pub use assertion::Assertion;
pub use beginning::TurnBaseline;
pub use change::{
    AddedCommitment, Draft, VettedCommitment, add, all, close, create, drop_one, examine, find, rehash,
};
pub use check::Tests;
pub use commitment::{Commitment, Kind, Oracle, Source, Status};
pub use document::Document;
pub use error::{ChangeError, InvalidCommitment, StoreError};
pub use report::{CommitmentResult, Notice, Report};
pub use store::{PROJECT, Store, TURN};
pub use verify::{verify, verify_documents};

use marvin_base::layout::Layout;
use marvin_tools::command::{Runner, TestsInput};

/// The tests that a shell line runs; a line without a known runner is run as it is.
#[must_use]
pub fn tests_of_line(line: &str) -> TestsInput {
    let known = test_command::test_command(line);
    let (runner, args, command) =
        known.unwrap_or_else(|| (Runner::Command, Vec::new(), Some(line.to_string())));
    TestsInput { runner, args, command, timeout: None }
}

/// Whether a commitment is verified by running tests.
#[must_use]
pub fn runs_tests(commitment: &Commitment) -> bool {
    Assertion::parse(commitment.kind, &commitment.assertion)
        .is_ok_and(|assertion| check::tests_input(&assertion, commitment.timeout_s).is_some())
}

/// Whether a document has commitments. Cheap enough for every end of a turn. One that cannot be read counts: the
/// verification says what is wrong with it.
#[must_use]
pub fn promises(layout: &Layout, document: &str) -> bool {
    let Some(store) = Store::from_layout(layout) else { return false };
    match store.read(document) {
        Ok(found) if !found.commitments.is_empty() => true,
        Ok(_) | Err(StoreError::Missing(_)) => {
            !seal::read_of(&store, document).is_ok_and(|seals| seals.promises.is_empty())
        }
        Err(_) => true,
    }
}
