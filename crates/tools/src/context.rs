//! What a tool knows of the world it is called in.

use crate::approval::Approver;
use crate::result::ToolError;
use marvin_base::layout::Layout;
use marvin_base::open_dir::OpenDir;
use marvin_base::redact::Redactor;
use marvin_base::settings::Settings;
use marvin_gate::{Access, Context, Duty, Grant, JudgedCommand, Layers, Permit, Workspace};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The surroundings of a call. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    /// Every setting.
    pub settings: Arc<Settings>,
    /// Where things live.
    pub layout: Layout,
    /// The workspace, if there is one.
    pub workspace: Option<Arc<Workspace>>,
    /// What this agent may write.
    pub access: Access,
    /// The ticket that this process works on.
    pub duty: Arc<Duty>,
    /// Whether this is coding mode (notes then stay in the project).
    pub coding: bool,
    /// Whether somebody can be asked.
    pub attended: bool,
    /// Ends running tools.
    pub cancel: CancellationToken,
    /// Keeps secrets out of the tool log.
    pub redactor: Arc<Redactor>,
    /// The gate's lists of rules, what it learned, and its log.
    pub layers: Arc<Layers>,
    /// Where results that are too large for a conversation are kept.
    pub artifacts: Option<OpenDir>,
    /// What the session cost so far; the argument says whether to include the lifetime figures.
    pub usage: Arc<dyn Fn(bool) -> Value + Send + Sync>,
    /// The document of the agent that calls, where it has one.
    pub agent: Option<Arc<str>>,
    /// Told how far a long call is, where somebody wants to know.
    pub progress: Option<ProgressSink>,
    /// The person who is asked where the gate does not decide alone; `attended` says whether there is one.
    pub approver: Option<Arc<dyn Approver>>,
    /// What a person opened of the sandbox for this call.
    pub grant: Option<Arc<Grant>>,
    /// The lines that the gate let this call run.
    pub permit: Permit,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// How much is done; it only grows.
    pub done: u64,
    /// How much there is to do, where that is known.
    pub total: Option<u64>,
    /// What was just done, in a few words.
    pub message: String,
}

/// Whoever is told of steps.
pub type ProgressSink = Arc<dyn Fn(Step) + Send + Sync>;

impl fmt::Debug for ToolContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ToolContext")
            .field("workspace", &self.workspace)
            .field("access", &self.access)
            .field("coding", &self.coding)
            .field("attended", &self.attended)
            .finish_non_exhaustive()
    }
}

impl ToolContext {
    /// The workspace.
    ///
    /// # Errors
    /// When there is none.
    pub fn workspace(&self) -> Result<&Workspace, ToolError> {
        self.workspace.as_deref().ok_or_else(|| {
            ToolError::Failed("there is no working directory; start with --working-dir PATH".into())
        })
    }

    /// The command for a line that the gate let this call run.
    ///
    /// # Errors
    /// When it was not judged, or is another line than the judged one.
    pub fn judged(&self, line: &str) -> Result<JudgedCommand, ToolError> {
        self.permit
            .command(line)
            .ok_or_else(|| ToolError::Failed("the command changed after it was judged; call again".into()))
    }

    /// Says how far a call is.
    pub fn step(&self, done: u64, total: Option<u64>, message: &str) {
        if let Some(progress) = &self.progress {
            progress(Step { done, total, message: self.redactor.text(message).into_owned() });
        }
    }

    /// The circumstances as the gate wants them.
    #[must_use]
    pub fn gate(&self) -> Context<'_> {
        Context {
            workspace: self.workspace.as_deref(),
            home: self.layout.home(),
            access: &self.access,
            attended: self.attended,
            may_execute: self.access.executes(),
            duty: &self.duty,
            settings: &self.settings,
            redactor: &self.redactor,
            layers: &self.layers,
        }
    }

    /// The ticket that the work belongs to: the one that this agent made for it, else the one that it was started for.
    #[must_use]
    pub fn ticket_id(&self) -> Option<String> {
        self.duty.current().or_else(|| self.duty.parent().map(str::to_string))
    }
}
