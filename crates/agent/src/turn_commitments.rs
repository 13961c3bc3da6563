//! The promises of one turn: given with it, kept in a document of the store while it runs, and part of its run after that.

use crate::commitments::{self, ChangeError, Commitment, Document, Draft, Store, TURN, VettedCommitment};
use crate::project_context::ProjectContext;
use crate::verification::Verifier;
use marvin_base::atomic;
use marvin_base::clock;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::VerificationRecord;
use marvin_base::settings::table;
use std::sync::Arc;

/// What a turn promised.
#[derive(Debug)]
pub(crate) struct TurnCommitments {
    ground: Arc<ProjectContext>,
    document: String,
    commitments: Vec<Commitment>,
    /// Whether the turn was begun before, by a process that is gone.
    is_resumed: bool,
}

/// Looks at what is to be promised; nothing is written.
pub(crate) fn examine(
    ground: &ProjectContext,
    drafts: &[Draft],
) -> Result<Vec<VettedCommitment>, ChangeError> {
    if !drafts.is_empty() && ground.workspace.is_none() {
        return Err(ChangeError::Usage(
            "--commitment: there is no project here\n  hint: cd to its directory, or name it with --working-dir"
                .into(),
        ));
    }
    drafts.iter().map(|draft| commitments::examine(ground, draft)).collect()
}

/// Writes down what a run promises; its agent may add to it. A run that is taken up again has it written down already.
pub(crate) fn make(
    ground: &Arc<ProjectContext>,
    run: &RunDirectory,
    examined: &[VettedCommitment],
) -> Result<TurnCommitments, ChangeError> {
    let id = format!("{TURN}{}", run.id().trim_start_matches("run_"));
    let before = Store::from_layout(&ground.layout).and_then(|store| store.read(&id).ok());
    let mut all: Vec<Commitment> = before.map(|document| document.commitments).unwrap_or_default();
    if !all.is_empty() || examined.is_empty() {
        let is_resumed = !all.is_empty();
        return Ok(TurnCommitments { ground: ground.clone(), document: id, commitments: all, is_resumed });
    }
    let mut document = Document::new(&id, &id, "", &clock::now_stamp());
    document.set("mode", "turn");
    document.set("state", "working");
    for one in examined {
        if !all.iter().any(|known| known.definition() == one.commitment.definition()) {
            all.push(one.commitment.clone());
        }
    }
    document.commitments.clone_from(&all);
    commitments::create(ground, &document)?;
    Ok(TurnCommitments { ground: ground.clone(), document: id, commitments: all, is_resumed: false })
}

/// How a session's answers are proved: by what its turn promised, and where it works unattended on a project, by what must
/// hold there. A sub-agent does a part of the work, which is not what must hold in the end.
pub(crate) fn proof(
    ground: &Arc<ProjectContext>,
    promised: Option<&TurnCommitments>,
    unattended: bool,
    replay: Option<&[VerificationRecord]>,
) -> Option<Arc<Verifier>> {
    let rounds = ground.settings.count(&table::VERIFY_ROUNDS);
    if let Some(kept) = replay {
        return (!kept.is_empty()).then(|| Arc::new(Verifier::recording(kept, rounds)));
    }
    let alone = ground.settings.whole(&table::DEPTH) == 0;
    let project = unattended && alone && ground.coding && ground.workspace.is_some();
    if promised.is_none() && !project {
        return None;
    }
    let own = promised.map(|promised| (promised.document.as_str(), promised.commitments.clone()));
    let proof = Verifier::documents(ground.clone(), own, project, rounds);
    // The project as it is now is the beginning only of a turn that begins now.
    let is_resumed = promised.is_some_and(|promised| promised.is_resumed);
    Some(Arc::new(if is_resumed { proof } else { proof.beginning_now() }))
}

impl TurnCommitments {
    /// The document.
    pub(crate) fn document(&self) -> &str {
        &self.document
    }

    /// Moves the document into the run.
    pub(crate) fn settle(self, run: &RunDirectory) -> Result<(), ChangeError> {
        let Some(store) = Store::from_layout(&self.ground.layout) else { return Ok(()) };
        // Somebody may have taken it away; the result says so.
        let Ok(text) = store.remove(&self.document) else { return Ok(()) };
        atomic::replace(&run.path().join("agent.md"), text.as_bytes())
            .map_err(|error| ChangeError::Usage(error.to_string()))
    }
}
