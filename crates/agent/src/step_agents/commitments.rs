//! What a step promises: written down in a document of the store while an attempt is made, and part of the run after that.
//!
//! The ids of its commitments come from what they say, so that the same failure has the same name at every attempt and in
//! every run.

use super::file_name;
use super::job::figures;
use crate::commitments::{self, ChangeError, Commitment, Document, Draft, Store, TURN};
use crate::project_context::ProjectContext;
use crate::verification::{VerificationResult, Verifier};
use marvin_base::run::RunDirectory;
use marvin_base::{atomic, clock, signature};
use marvin_tools::command::TestSeal;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// What a step promises.
#[derive(Debug)]
pub struct StepCommitments {
    ground: Arc<ProjectContext>,
    document: String,
    commitments: Vec<Commitment>,
}

/// Seals of steps, by run, step and commitment: every attempt is judged by what steered the tests before the first.
static FIRST_SEALS: Mutex<BTreeMap<String, TestSeal>> = Mutex::new(BTreeMap::new());

fn first_seal(run: &RunDirectory, key: &str, commitment: &Commitment) -> Option<TestSeal> {
    let seal = commitment.seal.clone()?;
    let mut seals = FIRST_SEALS.lock().unwrap_or_else(PoisonError::into_inner);
    Some(seals.entry(format!("{} {key} {}", run.id(), commitment.id)).or_insert(seal).clone())
}

impl StepCommitments {
    /// Writes down what an attempt promises; none when that is nothing. One that was written down before is taken as it is.
    ///
    /// # Errors
    /// When one of them cannot fail, is not understood, or cannot be written.
    pub fn make(
        ground: &Arc<ProjectContext>,
        run: &RunDirectory,
        key: &str,
        texts: &[String],
    ) -> Result<Option<Self>, ChangeError> {
        if texts.is_empty() {
            return Ok(None);
        }
        let drafts = Draft::all(texts, &[])
            .map_err(|why| ChangeError::Usage(format!("this commitment is refused: {why}")))?;
        let mut promised: Vec<Commitment> = Vec::new();
        for draft in &drafts {
            let mut commitment = commitments::examine(ground, draft)?.commitment;
            let name = signature::hash(&(commitment.kind, &commitment.assertion));
            commitment.id = format!("c-{}", name.get(..6).unwrap_or_default());
            commitment.seal = first_seal(run, key, &commitment);
            if !promised.iter().any(|known| known.id == commitment.id) {
                promised.push(commitment);
            }
        }
        let tail = signature::hash_bytes(format!("{} {key}", run.id()).as_bytes());
        let id =
            format!("{TURN}{}-{}", run.id().trim_start_matches("run_"), tail.get(..8).unwrap_or_default());
        let before = Store::from_layout(&ground.layout).and_then(|store| store.read(&id).ok());
        // One that was written down by a process that is gone has the seal of the first attempt.
        for commitment in &mut promised {
            let known = before
                .as_ref()
                .and_then(|document| document.commitments.iter().find(|one| one.id == commitment.id));
            if let Some(known) = known.filter(|known| known.is_same_promise(commitment)) {
                commitment.seal.clone_from(&known.seal);
            }
        }
        if before.is_none() {
            let mut document = Document::new(&id, &id, "", &clock::now_stamp());
            document.set("mode", "turn");
            document.set("state", "working");
            document.commitments.clone_from(&promised);
            commitments::create(ground, &document)?;
        }
        Ok(Some(StepCommitments { ground: ground.clone(), document: id, commitments: promised }))
    }

    /// The document.
    #[must_use]
    pub fn document(&self) -> &str {
        &self.document
    }

    /// How a claim of it is proved.
    #[must_use]
    pub fn proof(&self, rounds: usize) -> Verifier {
        Verifier::documents(
            self.ground.clone(),
            Some((&self.document, self.commitments.clone())),
            false,
            rounds,
        )
    }

    /// Verifies everything, once.
    pub async fn verify(&self, cancel: &CancellationToken) -> VerificationResult {
        self.proof(0).verify(true, cancel, &mut |_| {}).await
    }

    /// The ids of what did not hold, and the tests that passed and failed.
    #[must_use]
    pub fn figures(proved: &VerificationResult) -> (Option<(u64, u64)>, Vec<String>) {
        figures(proved)
    }

    /// Moves the document into the run.
    ///
    /// # Errors
    /// When it cannot be written there.
    pub fn settle(&self, run: &RunDirectory) -> Result<(), ChangeError> {
        let Some(store) = Store::from_layout(&self.ground.layout) else { return Ok(()) };
        // Somebody may have taken it away; the verification said so.
        let Ok(text) = store.remove(&self.document) else { return Ok(()) };
        let name = format!("{}.md", file_name(&self.document));
        atomic::replace(&run.logs().place().join(name), text.as_bytes())
            .map_err(|error| ChangeError::Usage(error.to_string()))
    }
}
