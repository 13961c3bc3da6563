//! The two tools that start sub-agents.

use super::launcher::Launcher;
use super::model::ModelChoice;
use super::order::Order;
use super::report::SubAgentReport;
use crate::roles::Role;
use async_trait::async_trait;
use marvin_base::settings::table;
use marvin_gate::{Access, Intent, Touches};
use marvin_tools::tickets::{Store, Ticket, TicketError};
use marvin_tools::{Output, Tool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The longest prompt: what an unattended run takes.
const MAX_PROMPT_BYTES: usize = 16 * 1024 * 1024;
const MAX_LIST_ITEMS: usize = 200;

/// Starts an agent that works on a ticket.
#[derive(Debug, Clone)]
pub struct LaunchAgent {
    pub(super) launcher: Option<Arc<Launcher>>,
}

/// What the agent is to do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaunchInput {
    /// The ticket that it works on. It must exist, must not be closed, and must not wait for others.
    ticket_id: String,
    /// The whole task. The agent knows nothing of this conversation.
    prompt: String,
    /// Which model it uses.
    #[serde(default)]
    model: ModelChoice,
    /// What it is there for: Implementer, Debugger, Reviewer, TestWriter, TestTriager, Planner, SkillBuilder or Coder.
    #[serde(default)]
    role: Option<String>,
    /// The directory that it works in, inside the working directory, with tickets of its own. Default: the working directory.
    #[serde(default)]
    working_dir: Option<String>,
    /// It may look at everything and change nothing.
    #[serde(default)]
    readonly: bool,
    /// The only files that it may write, if not all.
    #[serde(default)]
    writable_files: Vec<String>,
    /// What must hold when it says that it is done, each as KIND:ASSERTION, such as "shell:cargo test".
    #[serde(default)]
    commitments: Vec<String>,
    /// It builds the task in phases: documents, reviews, tests first, code, proofs.
    #[serde(default)]
    design_first: bool,
    /// The same: the tests of the phases are written from the design.
    #[serde(default)]
    tdd: bool,
    /// Seconds that it may take.
    #[serde(default)]
    timeout_s: Option<u64>,
    /// US dollars that it may spend.
    #[serde(default)]
    max_cost: Option<f64>,
}

impl LaunchInput {
    fn access(&self) -> Access {
        match (self.readonly, self.writable_files.is_empty()) {
            (true, _) => Access::Readonly,
            (false, true) => Access::Full,
            (false, false) => Access::writable(self.writable_files.iter().cloned()),
        }
    }

    fn order(&self, context: &ToolContext) -> Result<Order, ToolError> {
        let usage = |text: String| Err(ToolError::Usage(text));
        let role = match self.role.as_deref() {
            None => Role::Implementer,
            Some(name) => Role::find(name).map_err(|error| ToolError::Usage(error.to_string()))?,
        };
        if matches!(role, Role::Chat | Role::Evaluator | Role::Coordinator | Role::Servitor) {
            return usage(format!("{} is not a role for a sub-agent", role.name()));
        }
        let in_phases = self.design_first || self.tdd;
        let narrowed = self.readonly || !self.writable_files.is_empty() || !self.commitments.is_empty();
        if in_phases && (narrowed || self.role.is_some() || self.model != ModelChoice::Auto) {
            return usage(
                "`design_first` and `tdd` start agents of their own with their own roles, models, rights and checks: leave out \
                 `role`, `model`, `readonly`, `writable_files` and `commitments`"
                    .into(),
            );
        }
        if self.writable_files.iter().any(|file| file.contains(',') || file.trim().is_empty()) {
            return usage("`writable_files` are names of files, without commas".into());
        }
        if self.writable_files.len() > MAX_LIST_ITEMS || self.commitments.len() > MAX_LIST_ITEMS {
            return usage(format!("at most {MAX_LIST_ITEMS} files and {MAX_LIST_ITEMS} commitments"));
        }
        if self.max_cost.is_some_and(|cost| !cost.is_finite() || cost < 0.0) {
            return usage("`max_cost` is a number of US dollars, 0 or more".into());
        }
        Ok(Order {
            role,
            prompt: prompt(&self.prompt)?,
            directory: directory(self.working_dir.as_deref(), context)?,
            access: self.access(),
            ticket: Some(self.ticket_id.trim().to_string()),
            model: self.model,
            commitments: self.commitments.clone(),
            in_phases,
            deadline: deadline(self.timeout_s, &table::AGENT_TIMEOUT, context),
            budget: self.max_cost,
        })
    }
}

#[async_trait]
impl Tool for LaunchAgent {
    type Input = LaunchInput;
    type Data = SubAgentReport;
    const NAME: &'static str = "launch_agent";
    const DESCRIPTION: &'static str = "Start a sub-agent in a process of its own to work on a ticket, and wait for its result. \
        It gets the prompt and nothing of this conversation, may do at most what you may do, and shares your budget. \
        Give it commitments: what it says is a claim, what the shell verifies is a fact. \
        When it comes back with questions, launch it again with its task and the answers.";
    const EXAMPLE: &'static str = r#"{"ticket_id": "app-1a2b", "prompt": "Make `src/parse.rs` accept empty input. The test `empty_input` must pass.", "commitments": ["tests_pass:cargo empty_input"]}"#;
    const TOUCHES: Touches = Touches::EXECUTES;

    fn intents(input: &LaunchInput, _context: &ToolContext) -> Vec<Intent> {
        vec![
            Intent::SubAgent { access: input.access(), directory: input.working_dir.clone() },
            Intent::TicketChange { id: input.ticket_id.clone() },
        ]
    }

    async fn call(
        &self,
        input: LaunchInput,
        context: &ToolContext,
    ) -> Result<Output<SubAgentReport>, ToolError> {
        let launcher = self.launcher.as_ref().ok_or_else(cannot_launch)?;
        let mut order = input.order(context)?;
        let tickets = Tickets::open(&order, context)?;
        order.ticket = Some(tickets.id.clone());
        tickets.start()?;
        let launched = launcher.run(&order, context).await?;
        let note = if launched.succeeded() { tickets.close(context) } else { None };
        Ok(output(launched, note))
    }
}

/// Starts an agent that only looks.
#[derive(Debug, Clone)]
pub struct LaunchResearchAgent {
    pub(super) launcher: Option<Arc<Launcher>>,
}

/// What is to be found out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResearchInput {
    /// The question, with everything that the agent must know to answer it.
    query: String,
    /// Which model it uses.
    #[serde(default)]
    model: ModelChoice,
    /// Seconds that it may take.
    #[serde(default)]
    timeout_s: Option<u64>,
    /// US dollars that it may spend.
    #[serde(default)]
    max_cost: Option<f64>,
}

#[async_trait]
impl Tool for LaunchResearchAgent {
    type Input = ResearchInput;
    type Data = SubAgentReport;
    const NAME: &'static str = "launch_research_agent";
    const DESCRIPTION: &'static str = "Start a sub-agent that answers a question by looking: it reads, searches and browses, and \
        changes nothing. Several in one reply look side by side. It gets the query and nothing of this conversation.";
    const EXAMPLE: &'static str = r#"{"query": "Where in this project are user names checked, and by which rules? Give file and line."}"#;
    const TOUCHES: Touches = Touches { network: true, ..Touches::READS };

    fn intents(_input: &ResearchInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::SubAgent { access: Access::Readonly, directory: None }]
    }

    async fn call(
        &self,
        input: ResearchInput,
        context: &ToolContext,
    ) -> Result<Output<SubAgentReport>, ToolError> {
        let launcher = self.launcher.as_ref().ok_or_else(cannot_launch)?;
        let order = Order {
            role: Role::Research,
            prompt: prompt(&input.query)?,
            directory: directory(None, context)?,
            access: Access::Readonly,
            ticket: None,
            model: input.model,
            commitments: Vec::new(),
            in_phases: false,
            deadline: deadline(input.timeout_s, &table::RESEARCH_TIMEOUT, context),
            budget: input.max_cost.filter(|cost| cost.is_finite()),
        };
        Ok(output(launcher.run(&order, context).await?, None))
    }
}

fn cannot_launch() -> ToolError {
    ToolError::Failed("no run is open that could start a sub-agent".into())
}

fn prompt(text: &str) -> Result<String, ToolError> {
    if text.trim().is_empty() {
        return Err(ToolError::Usage("the task is empty".into()));
    }
    if text.len() > MAX_PROMPT_BYTES {
        return Err(ToolError::Usage(format!("the task is longer than {MAX_PROMPT_BYTES} bytes")));
    }
    Ok(text.to_string())
}

/// The directory, with links resolved.
fn directory(inside: Option<&str>, context: &ToolContext) -> Result<PathBuf, ToolError> {
    let workspace = context.workspace()?;
    let Some(inside) = inside else { return Ok(workspace.root().to_path_buf()) };
    let path = workspace.path(inside)?;
    Ok(workspace.root().join(workspace.resolve(&path)?))
}

fn deadline(
    asked: Option<u64>,
    setting: &'static marvin_base::settings::Setting,
    context: &ToolContext,
) -> Duration {
    let most = context.settings.seconds(setting);
    // A call may ask for less than the person allows, never for more.
    asked.map_or(most, |seconds| Duration::from_secs(seconds.max(1)).min(most))
}

fn output(launched: SubAgentReport, note: Option<String>) -> Output<SubAgentReport> {
    let mut text = launched.text();
    if let Some(note) = note {
        text.push_str(&format!("\n{note}"));
    }
    let error = (!launched.succeeded()).then(|| launched.error.clone().unwrap_or_default());
    Output { error, ..Output::new(launched.summary(), text, launched) }
}

/// The ticket that a sub-agent works on.
struct Tickets {
    store: Store,
    id: String,
    /// Tickets below it before the sub-agent began.
    children: BTreeSet<String>,
}

impl Tickets {
    fn open(order: &Order, context: &ToolContext) -> Result<Tickets, ToolError> {
        let given = order.ticket.as_deref().unwrap_or_default();
        let workspace = marvin_gate::Workspace::open(&order.directory, context.layout.home())?;
        let store = Store::of_workspace(&workspace, false).map_err(failed)?;
        let id = store.resolve(given).map_err(failed)?;
        let shelf = store.shelf().map_err(failed)?;
        let status = |id: &str| shelf.tickets.get(id).map(|ticket| ticket.status().to_string());
        if status(&id).as_deref() == Some("closed") {
            return Err(ToolError::Failed(format!(
                "the ticket {id} is closed; open it again, or make another"
            )));
        }
        let deps = shelf.tickets.get(&id).map(|ticket| ticket.list("deps")).unwrap_or_default();
        let waits: Vec<String> =
            deps.into_iter().filter(|dep| status(dep).is_some_and(|status| status != "closed")).collect();
        if waits.is_empty() {
            let children = below(&store, &id).into_iter().collect();
            return Ok(Tickets { store, id, children });
        }
        Err(ToolError::Failed(format!(
            "the ticket {id} waits for others: {}. Work on those first, or take the dependency away.",
            waits.join(", ")
        )))
    }

    fn start(&self) -> Result<(), ToolError> {
        self.store.set_status(&self.id, "in_progress").map(|_| ()).map_err(failed)
    }

    /// Closes the ticket of work that is done, and those that the sub-agent made below it; never the one that this agent
    /// itself works on.
    fn close(&self, context: &ToolContext) -> Option<String> {
        for made in below(&self.store, &self.id).iter().filter(|child| !self.children.contains(*child)) {
            // One that cannot be closed stays open, where the person sees it.
            self.store.set_status(made, "closed").ok();
        }
        let own = [context.duty.current(), context.duty.parent().map(str::to_string)];
        if own.iter().flatten().any(|own| *own == self.id) {
            return None;
        }
        Some(match self.store.set_status(&self.id, "closed") {
            Ok(_) => format!("The ticket {} is closed.", self.id),
            Err(error) => format!("The ticket {} could not be closed: {error}", self.id),
        })
    }
}

/// Open tickets whose parent is this one.
fn below(store: &Store, parent: &str) -> Vec<String> {
    let Ok(shelf) = store.shelf() else { return Vec::new() };
    let is_open_child = |ticket: &Ticket| ticket.value("parent") == parent && ticket.status() != "closed";
    shelf.tickets.iter().filter(|(_, ticket)| is_open_child(ticket)).map(|(id, _)| id.clone()).collect()
}

fn failed(error: TicketError) -> ToolError {
    match error {
        TicketError::Refused(refusal) => ToolError::Refused(refusal),
        TicketError::Usage(text) | TicketError::NotFound(text) | TicketError::Failed(text) => {
            ToolError::Failed(text)
        }
    }
}
