//! The context of a tool call.

use crate::approval::Approver;
use crate::result::ToolError;
use marvin_base::layout::Layout;
use marvin_base::open_dir::OpenDir;
use marvin_base::redact::Redactor;
use marvin_base::settings::Settings;
use marvin_gate::effects::Grounds;
use marvin_gate::layers::Place;
use marvin_gate::layers::learn::{Candidate, LearnError};
use marvin_gate::{Access, Context, Duty, Grant, JudgedCommand, Layers, Permit, Workspace};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Settings, workspace, rights and sinks of a call. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    pub settings: Arc<Settings>,
    pub layout: Layout,
    pub workspace: Option<Arc<Workspace>>,
    /// Write permissions of this agent.
    pub access: Access,
    /// The ticket that this process works on.
    pub duty: Arc<Duty>,
    /// Whether this is coding mode (notes then stay in the project).
    pub coding: bool,
    /// Whether a person can be asked.
    pub attended: bool,
    /// Ends running tools.
    pub cancel: CancellationToken,
    /// Keeps secrets out of the tool log.
    pub redactor: Arc<Redactor>,
    /// The gate's lists of rules, what it learned, and its log.
    pub layers: Arc<Layers>,
    /// The directory of results that are too large for a conversation.
    pub artifacts: Option<OpenDir>,
    /// Cost of the session so far; the argument says whether to include the lifetime figures.
    pub usage: Arc<dyn Fn(bool) -> Value + Send + Sync>,
    /// The document of the agent that calls, where it has one.
    pub agent: Option<Arc<str>>,
    /// Receives the progress of a long call.
    pub progress: Option<ProgressSink>,
    /// Asks the person where the gate does not decide alone; `attended` says whether there is one.
    pub approver: Option<Arc<dyn Approver>>,
    /// Sandbox permissions that a person granted for this call.
    pub grant: Option<Arc<Grant>>,
    /// Lines that the gate lets this call run.
    pub permit: Permit,
}

fn no_workspace() -> ToolError {
    ToolError::Failed("no working directory is set; start with --working-dir PATH".into())
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Amount done; it only grows.
    pub done: u64,
    /// Amount to do, where that is known.
    pub total: Option<u64>,
    /// The last action, in a few words.
    pub message: String,
}

/// Receiver of [`Step`]s.
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
        self.workspace.as_deref().ok_or_else(no_workspace)
    }

    /// The workspace, for another thread.
    ///
    /// # Errors
    /// When there is none.
    pub fn shared_workspace(&self) -> Result<Arc<Workspace>, ToolError> {
        self.workspace.clone().ok_or_else(no_workspace)
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

    /// Reports the progress of a call.
    pub fn step(&self, done: u64, total: Option<u64>, message: &str) {
        if let Some(progress) = &self.progress {
            progress(Step { done, total, message: self.redactor.text(message).into_owned() });
        }
    }

    /// The gate's view of this context.
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

    /// The rules by which a person could allow a line always.
    ///
    /// # Errors
    /// When no rule can allow it.
    pub fn learnable(&self, line: &str) -> Result<Vec<Candidate>, LearnError> {
        let home = self.layout.home().display().to_string();
        let root = self.workspace.as_ref().map(|workspace| workspace.root().display().to_string());
        let root = root.unwrap_or_default();
        let place = Place { directory: &root, grounds: Grounds { workspace: &root, home: &home } };
        self.layers.learnable(line, place)
    }

    /// The ticket of the work: the one that this agent made for it, else the one that it was started for.
    #[must_use]
    pub fn ticket_id(&self) -> Option<String> {
        self.duty.current().or_else(|| self.duty.parent().map(str::to_string))
    }
}
