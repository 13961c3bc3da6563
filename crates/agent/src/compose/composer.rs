//! The composer: reads the state that a system message is made of.

use super::{Coding, PromptExtra, PromptInputs, SystemPrompt, access_sentence};
use crate::commitments::{PROJECT, Status, Store};
use crate::history::History;
use crate::profile::{self, Profile};
use crate::project_context::ProjectContext;
use crate::roles::Role;
use crate::skills::SkillSource;
use marvin_base::layout::Layout;
use marvin_base::settings::table;
use marvin_base::{clock, truncate};
use marvin_gate::{Access, Workspace};
use marvin_model::ToolSpec;
use marvin_tools::ToolContext;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Commitments that a prompt lists; there are rarely more than ten.
const MAX_LISTED_COMMITMENTS: usize = 100;

/// Description of the state that a system message is made of. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Composer {
    pub layout: Layout,
    pub workspace: Option<Arc<Workspace>>,
    pub profile: String,
    /// Earlier messages, shortened.
    pub history: Vec<String>,
    /// Present while coding.
    pub coding: Option<Coding>,
    /// The day of the run.
    pub date: String,
    pub role: Role,
    pub step: Option<String>,
    /// Whether another agent gave it the work, and reads its questions.
    pub has_parent: bool,
    /// Whether a person reads its answers and can be asked.
    pub attended: bool,
    /// Names of its tools.
    pub tools: BTreeSet<String>,
    /// The documents with its commitments.
    pub documents: Vec<String>,
    /// Commitments as a recorded run was told them; none: they are read.
    pub recorded: Option<Vec<String>>,
    pub skills: SkillSource,
    /// Additions of higher layers.
    pub extras: Vec<PromptExtra>,
    /// Bytes that the message may have; 0: no limit.
    pub budget: usize,
}

/// Status of a commitment, as a prompt lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub id: String,
    /// The commitment on one line.
    pub line: String,
    pub status: Status,
    /// Why it does not hold, on one line.
    pub reason: String,
}

impl Composer {
    /// Composer of an agent of this role with these tools that would begin now, without additions.
    #[must_use]
    pub fn here(project: &ProjectContext, tools: &[ToolSpec], role: Role, step: Option<&str>) -> Self {
        let settings = &project.settings;
        let layout = project.layout.clone();
        let profile = profile::active(&layout, settings.given(&table::PROFILE));
        let log = History::read(&layout.chat_log(&profile));
        let coding = project.coding.then(|| {
            Coding::new(
                project.workspace.as_deref(),
                access_sentence(&Access::from_settings(settings), &project.duty),
            )
        });
        Composer {
            layout,
            workspace: project.workspace.clone(),
            profile,
            history: log.map(|log| log.compact_lines()).unwrap_or_default(),
            coding,
            date: day(clock::now()),
            role,
            step: step.map(str::to_string),
            has_parent: settings.whole(&table::DEPTH) > 0,
            attended: role == Role::Chat,
            tools: tool_names(tools),
            documents: vec![PROJECT.to_string()],
            recorded: None,
            skills: SkillSource::Registry(project.skills.clone()),
            extras: Vec::new(),
            budget: budget(settings.count(&table::CONTEXT_COMPACT)),
        }
    }

    /// Composer of an agent that works in a project without a conversation: a servitor, or a step.
    pub(crate) fn of_agent(
        project: &ProjectContext,
        context: &ToolContext,
        tools: BTreeSet<String>,
        role: Role,
        step: &str,
    ) -> Self {
        let access = access_sentence(&context.access, &context.duty);
        Composer {
            layout: project.layout.clone(),
            workspace: project.workspace.clone(),
            profile: String::new(),
            history: Vec::new(),
            coding: Some(Coding::new(project.workspace.as_deref(), access)),
            date: String::new(),
            role,
            step: Some(step.to_string()),
            has_parent: false,
            attended: false,
            tools,
            documents: Vec::new(),
            recorded: None,
            skills: SkillSource::Registry(project.skills.clone()),
            extras: Vec::new(),
            budget: 0,
        }
    }

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
        state.attended = self.attended;
        state.tools.clone_from(&self.tools);
        state.skills = self.skills.lines(self.role, &self.tools);
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

    /// Commitments of this agent with their current status.
    #[must_use]
    pub fn standing(&self) -> Vec<Standing> {
        if self.coding.is_none() {
            return Vec::new();
        }
        self.documents.iter().flat_map(|document| standing(&self.layout, document)).collect()
    }
}

/// Names of the tools of an agent.
pub(crate) fn tool_names(specs: &[ToolSpec]) -> BTreeSet<String> {
    specs.iter().map(|spec| spec.name.clone()).collect()
}

/// Day in the form that prompts use.
#[must_use]
pub fn day(moment: jiff::Timestamp) -> String {
    moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%A, %Y-%m-%d").to_string()
}

/// Bytes that a system message may have: half of what fits before a conversation is compacted.
#[must_use]
pub fn budget(compact_tokens: usize) -> usize {
    compact_tokens.saturating_mul(4) / 2
}

/// Commitments of a document. One that cannot be read is reported by the verification, not here.
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
