//! Commitments of one turn: those of a session's turn, or of an attempt at a step of a workflow.
//!
//! They are in a document of the store while the turn runs, so that the agent can add to them and another process can
//! resume the turn, and become part of the run when it ends.
//!
//! The ids of a step's commitments follow from their text, so that the same failure has the same name at every attempt and
//! in every run.

use crate::commitments::{self, ChangeError, Commitment, Document, Draft, Store, TURN, VettedCommitment};
use crate::project_context::ProjectContext;
use crate::step_agents::file_name;
use crate::verification::{VerificationResult, Verifier};
use marvin_base::run::RunDirectory;
use marvin_base::run_record::VerificationRecord;
use marvin_base::settings::table;
use marvin_base::{atomic, clock, signature};
use marvin_tools::command::TestSeal;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Commitments of one turn, and their document.
#[derive(Debug)]
pub struct TurnCommitments {
    project: Arc<ProjectContext>,
    document: String,
    commitments: Vec<Commitment>,
    /// Whether an earlier process began the turn.
    is_resumed: bool,
    /// Name of the document among the logs of the run; none: it becomes the run's `agent.md`.
    log_name: Option<String>,
}

/// Seals of steps, by run, step and commitment: every attempt is judged by what steered the tests before the first.
static FIRST_SEALS: Mutex<BTreeMap<String, TestSeal>> = Mutex::new(BTreeMap::new());

fn first_seal(run: &RunDirectory, key: &str, commitment: &Commitment) -> Option<TestSeal> {
    let seal = commitment.seal.clone()?;
    let mut seals = FIRST_SEALS.lock().unwrap_or_else(PoisonError::into_inner);
    Some(seals.entry(format!("{} {key} {}", run.id(), commitment.id)).or_insert(seal).clone())
}

/// Vets the commitments that a turn is given; nothing is written.
pub(crate) fn examine(
    project: &ProjectContext,
    drafts: &[Draft],
) -> Result<Vec<VettedCommitment>, ChangeError> {
    if !drafts.is_empty() && project.workspace.is_none() {
        return Err(ChangeError::Usage(
            "--commitment: no project was found here\n  hint: cd to its directory, or name it with --working-dir"
                .into(),
        ));
    }
    drafts.iter().map(|draft| commitments::examine(project, draft)).collect()
}

/// Verifier of a session's answers: by the commitments of its turn and, where it works unattended on a project, by those of
/// the project. A sub-agent does a part of the work, so the project's are not its to prove.
pub(crate) fn verifier(
    project: &Arc<ProjectContext>,
    promised: Option<&TurnCommitments>,
    unattended: bool,
    replay: Option<&[VerificationRecord]>,
) -> Option<Arc<Verifier>> {
    let rounds = project.settings.count(&table::VERIFY_ROUNDS);
    if let Some(recorded) = replay {
        return (!recorded.is_empty()).then(|| Arc::new(Verifier::recording(recorded, rounds)));
    }
    let is_root = project.settings.whole(&table::DEPTH) == 0;
    let with_project = unattended && is_root && project.coding && project.workspace.is_some();
    if promised.is_none() && !with_project {
        return None;
    }
    let own = promised.map(|promised| (promised.document.as_str(), promised.commitments.clone()));
    let verifier = Verifier::documents(project.clone(), own, with_project, rounds);
    // The project as it is now is the baseline only of a turn that begins now.
    let is_resumed = promised.is_some_and(|promised| promised.is_resumed);
    Some(Arc::new(if is_resumed { verifier } else { verifier.beginning_now() }))
}

impl TurnCommitments {
    /// Writes down the commitments of a session's turn. A turn that is resumed has them written down already.
    pub(crate) fn of_turn(
        project: &Arc<ProjectContext>,
        run: &RunDirectory,
        vetted: &[VettedCommitment],
    ) -> Result<Self, ChangeError> {
        let id = format!("{TURN}{}", run.id().trim_start_matches("run_"));
        let mut all = written(project, &id).unwrap_or_default();
        let is_resumed = !all.is_empty();
        if !is_resumed {
            for one in vetted {
                if !all.iter().any(|known| known.definition() == one.commitment.definition()) {
                    all.push(one.commitment.clone());
                }
            }
            if !all.is_empty() {
                write(project, &id, &all)?;
            }
        }
        let project = project.clone();
        Ok(TurnCommitments { project, document: id, commitments: all, is_resumed, log_name: None })
    }

    /// Writes down the commitments of an attempt at a step, each `KIND:ASSERTION`; none where it has none. Those that an
    /// earlier process wrote down stay.
    ///
    /// # Errors
    /// When one of them cannot fail, is not understood, or cannot be written.
    pub fn of_step(
        project: &Arc<ProjectContext>,
        run: &RunDirectory,
        key: &str,
        texts: &[String],
    ) -> Result<Option<Self>, ChangeError> {
        if texts.is_empty() {
            return Ok(None);
        }
        let drafts = Draft::all(texts, &[])?;
        let mut promised: Vec<Commitment> = Vec::new();
        for draft in &drafts {
            let mut commitment = commitments::examine(project, draft)?.commitment;
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
        match written(project, &id) {
            // Written down by an earlier process, they have the seal of the first attempt.
            Some(before) => {
                for commitment in &mut promised {
                    let known = before.iter().find(|one| one.id == commitment.id);
                    if let Some(known) = known.filter(|known| known.is_same_promise(commitment)) {
                        commitment.seal.clone_from(&known.seal);
                    }
                }
            }
            None => write(project, &id, &promised)?,
        }
        Ok(Some(TurnCommitments {
            project: project.clone(),
            log_name: Some(format!("{}.md", file_name(&id))),
            document: id,
            commitments: promised,
            is_resumed: false,
        }))
    }

    /// Name of the document.
    #[must_use]
    pub fn document(&self) -> &str {
        &self.document
    }

    /// Verifier of these commitments alone.
    #[must_use]
    pub fn verifier(&self, rounds: usize) -> Verifier {
        let own = Some((self.document.as_str(), self.commitments.clone()));
        Verifier::documents(self.project.clone(), own, false, rounds)
    }

    /// Verifies all of them, once.
    pub async fn verify(&self, cancel: &CancellationToken) -> VerificationResult {
        self.verifier(0).verify(true, cancel, &mut |_| {}).await
    }

    /// Moves the document into the run.
    pub fn settle(&self, run: &RunDirectory) -> Result<(), ChangeError> {
        let Some(store) = Store::from_layout(&self.project.layout) else { return Ok(()) };
        // A document that was removed meanwhile is a problem that the verification reports.
        let Ok(text) = store.remove(&self.document) else { return Ok(()) };
        let file = match &self.log_name {
            Some(name) => run.logs().place().join(name),
            None => run.path().join("agent.md"),
        };
        atomic::replace(&file, text.as_bytes()).map_err(|error| ChangeError::Usage(error.to_string()))
    }
}

/// Commitments that an earlier process wrote down; none where the document is not there.
fn written(project: &ProjectContext, id: &str) -> Option<Vec<Commitment>> {
    let document = Store::from_layout(&project.layout)?.read(id).ok()?;
    Some(document.commitments)
}

fn write(project: &ProjectContext, id: &str, commitments: &[Commitment]) -> Result<(), ChangeError> {
    let mut document = Document::new(id, id, "", &clock::now_stamp());
    document.set("mode", "turn");
    document.set("state", "working");
    document.commitments = commitments.to_vec();
    commitments::create(project, &document)
}
