//! What a session is opened with, and what a turn of it is given from outside.

use crate::commitments::Draft;
use crate::compose::PromptExtra;
use crate::debug::debug_fields;
use crate::project_context::ProjectContext;
use crate::servitors::Servitors;
use crate::trace::Listener;
use marvin_base::run_record::VerificationRecord;
use marvin_memory::index::{Document, Kind};
use marvin_model::record::ReplayClient;
use marvin_tools::Approver;
use marvin_tools::turbotime::Selection;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// `--non-interactive`: coding tools, no chat log.
    Unattended,
    /// A prompt from a person: assistant tools, the conversation continues from the chat log.
    Attended,
}

pub struct SessionOptions {
    pub project: ProjectContext,
    pub manner: Manner,
    /// Where to record exchanges.
    pub record: Option<PathBuf>,
    pub response_schema: Option<Value>,
    pub listener: Listener,
    pub cancel: CancellationToken,
    /// A recorded run to play in place of a model.
    pub replay: Option<Replay>,
    /// Commitments that must hold before its answer counts.
    pub commitments: Vec<Draft>,
    /// Servitors that existed before the session.
    pub servitors: Option<Arc<Servitors>>,
    /// TURBOTIME: goals are framed and planned, with the tools that the person switched on.
    pub turbotime: Option<Selection>,
    /// The person who is asked where the gate does not decide alone.
    pub approver: Option<Arc<dyn Approver>>,
}

/// A recorded run: replies in place of a model, and state that may have changed since.
#[derive(Debug)]
pub struct Replay {
    pub tape: Arc<ReplayClient>,
    /// The day on which it was made.
    pub date: String,
    /// Whether a person had asked: then the conversation before it is taken from the recording.
    pub attended: bool,
    /// Results of the verifications of its answers.
    pub verifications: Vec<VerificationRecord>,
    /// Commitments that its prompt listed, one per line.
    pub promised: Vec<String>,
    /// Skills that its prompt listed, one per line.
    pub skills: Vec<String>,
}

debug_fields!(SessionOptions, project);

/// Documents of a higher layer that a turn can find, such as guidance of packs.
#[derive(Debug, Clone)]
pub struct Offer {
    pub kind: Kind,
    /// Signature of the documents: while it is the same, the index has them.
    pub stamp: String,
    pub documents: Vec<Document>,
}

/// Additions of a higher layer to a session.
#[derive(Debug, Clone, Default)]
pub struct ExtraContext {
    /// Texts for the prompts.
    pub guidance: Vec<PromptExtra>,
    /// Documents for the memory index.
    pub offered: Vec<Offer>,
}
