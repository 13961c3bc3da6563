//! Where the state of a prompt lies, and how it is read anew.

use super::{Coding, PromptExtra, PromptInputs, SystemPrompt, access_sentence};
use crate::commitments::{PROJECT, Status, Store};
use crate::history::History;
use crate::profile::{self, Profile};
use crate::project_context::ProjectContext;
use crate::roles::Role;
use marvin_base::layout::Layout;
use marvin_base::settings::table;
use marvin_base::{clock, truncate};
use marvin_gate::{Access, Workspace};
use std::sync::Arc;

/// Commitments that a prompt lists; there are rarely more than ten.
const MAX_LISTED_COMMITMENTS: usize = 100;

/// Everything that says which state a prompt is made of. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Composer {
    /// The directories.
    pub layout: Layout,
    /// The workspace, if there is one.
    pub workspace: Option<Arc<Workspace>>,
    /// The profile.
    pub profile: String,
    /// What was said before, shortened.
    pub history: Vec<String>,
    /// Present while coding.
    pub coding: Option<Coding>,
    /// The day of the run.
    pub date: String,
    /// What the agent is there for.
    pub role: Role,
    /// The step of a workflow.
    pub step: Option<String>,
    /// Whether another agent gave it the work.
    pub has_parent: bool,
    /// The documents with its commitments.
    pub documents: Vec<String>,
    /// What a recorded run was told of its commitments; else they are read.
    pub recorded: Option<Vec<String>>,
    /// What others bring.
    pub extras: Vec<PromptExtra>,
    /// Bytes that the message may have; 0: no bound.
    pub budget: usize,
}

/// How a commitment stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its name.
    pub id: String,
    /// What it says, on one line.
    pub line: String,
    /// How it stands.
    pub status: Status,
    /// Why, where it does not hold; on one line.
    pub reason: String,
}

impl Composer {
    /// What an agent of this role would be told here, if it began now and nobody brought anything.
    #[must_use]
    pub fn here(ground: &ProjectContext, role: Role, step: Option<&str>) -> Self {
        let settings = &ground.settings;
        let layout = ground.layout.clone();
        let profile = profile::active(&layout, settings.given(&table::PROFILE));
        let log = History::read(&layout.chat_log(&profile));
        let coding = ground.coding.then(|| {
            Coding::new(
                ground.workspace.as_deref(),
                access_sentence(&Access::from_settings(settings), &ground.duty),
            )
        });
        Composer {
            layout,
            workspace: ground.workspace.clone(),
            profile,
            history: log.map(|log| log.compact_lines()).unwrap_or_default(),
            coding,
            date: day(clock::now()),
            role,
            step: step.map(str::to_string),
            has_parent: settings.whole(&table::DEPTH) > 0,
            documents: vec![PROJECT.to_string()],
            recorded: None,
            extras: Vec::new(),
            budget: budget(settings.count(&table::CONTEXT_COMPACT)),
        }
    }

    /// The state as it is now.
    #[must_use]
    pub fn state(&self) -> PromptInputs {
        let profile = Profile::read(&self.layout, &self.profile);
        let coding = self.coding.clone();
        let workspace = self.workspace.as_deref();
        let mut state =
            PromptInputs::read(&self.layout, workspace, &profile, &self.history, coding, &self.date);
        state.role = self.role;
        state.step.clone_from(&self.step);
        state.has_parent = self.has_parent;
        state.extras.clone_from(&self.extras);
        state.budget = self.budget;
        state.commitments = match &self.recorded {
            Some(lines) => lines.clone(),
            None => self.standing().into_iter().map(|standing| standing.line).collect(),
        };
        state
    }

    /// The system message as it is now.
    #[must_use]
    pub fn compose(&self) -> SystemPrompt {
        self.state().compose()
    }

    /// The commitments of this agent, as they stand now.
    #[must_use]
    pub fn standing(&self) -> Vec<Standing> {
        if self.coding.is_none() {
            return Vec::new();
        }
        self.documents.iter().flat_map(|document| standing(&self.layout, document)).collect()
    }
}

/// The day, as agents are told it.
#[must_use]
pub fn day(moment: jiff::Timestamp) -> String {
    moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%A, %Y-%m-%d").to_string()
}

/// Bytes that a system message may have: half of what fits before a conversation is rebuilt.
#[must_use]
pub fn budget(compact_tokens: usize) -> usize {
    compact_tokens.saturating_mul(4) / 2
}

/// The commitments of a document. What cannot be read is told when it is verified, not here.
#[must_use]
pub fn standing(layout: &Layout, document: &str) -> Vec<Standing> {
    let read = Store::from_layout(layout).and_then(|store| store.read(document).ok());
    let Some(document) = read else { return Vec::new() };
    let line = |commitment: &crate::commitments::Commitment| {
        let mut line = format!("{}: {}", commitment.id, truncate::line(&commitment.whole(), 300));
        if !commitment.description.trim().is_empty() {
            line.push_str(&format!(" ({})", truncate::line(&commitment.description, 200)));
        }
        line
    };
    document
        .commitments
        .iter()
        .take(MAX_LISTED_COMMITMENTS)
        .map(|commitment| Standing {
            id: commitment.id.clone(),
            line: line(commitment),
            status: commitment.status,
            reason: truncate::line(commitment.reason.as_deref().unwrap_or_default(), 300),
        })
        .collect()
}
