//! Tools for servitors: summon, dismiss, list, message and wait.
//!
//! The context names the caller (`agent`): a servitor may manage those below it, and an agent that speaks for a person all of
//! them.

use super::registry::{self, Requester, Summons};
use super::scheduler::{ServitorScheduler, Servitors};
use super::servitor::{Budget, Servitor, access_of, access_word};
use super::tool_host::WAIT;
use crate::commitments::tools::Keeper;
use crate::commitments::{Draft, Source};
use crate::error::RegistryError;
use crate::project_context::ProjectContext;
use async_trait::async_trait;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::{Access, Touches};
use marvin_model::price;
use marvin_tools::{DynTool, NoInput, Output, Tool, ToolContext, ToolError, Toolbox};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Seconds of a wait, by default and at most.
const DEFAULT_WAIT_SECS: u64 = 300;
const MAX_WAIT_SECS: u64 = 86_400;
/// Interval of progress reports while waiting; clients give up on calls that report nothing for long.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

#[must_use]
pub fn all(servitors: &Weak<Servitors>) -> Vec<Arc<dyn DynTool>> {
    let handle = Handle(servitors.clone());
    vec![
        Arc::new(SummonServitor(handle.clone())),
        Arc::new(DismissServitor(handle.clone())),
        Arc::new(ListServitors(handle.clone())),
        Arc::new(MessageServitor(handle.clone())),
        Arc::new(WaitForServitor(handle)),
    ]
}

/// Adds the tools for servitors and commitments that this access offers. Sub-agents and sessions without a project get none.
pub fn add_tools(
    toolbox: &mut Toolbox,
    project: &Arc<ProjectContext>,
    servitors: &Arc<Servitors>,
    access: &Access,
) {
    if !project.coding || project.workspace.is_none() || project.settings.whole(&table::DEPTH) > 0 {
        return;
    }
    let keeper = Keeper::new(project.clone(), None, Source::Agent);
    let all = all(&Arc::downgrade(servitors)).into_iter().chain(keeper.tools());
    for tool in all.filter(|tool| access.offers(tool.touches())) {
        toolbox.add(tool);
    }
}

/// The way to the servitors of a session.
#[derive(Debug, Clone)]
struct Handle(Weak<Servitors>);

impl Handle {
    fn servitors(&self) -> Result<Arc<Servitors>, ToolError> {
        self.0.upgrade().ok_or_else(|| ToolError::Failed("the session of these servitors has ended".into()))
    }

    fn scheduler(&self) -> Result<Arc<ServitorScheduler>, ToolError> {
        Ok(self.servitors()?.open()?)
    }
}

impl From<RegistryError> for ToolError {
    fn from(error: RegistryError) -> Self {
        ToolError::Failed(error.to_string())
    }
}

/// The caller, and its name for others.
fn caller(scheduler: &ServitorScheduler, context: &ToolContext) -> (Requester, String) {
    let servitor = context.agent.as_deref().and_then(|id| scheduler.registry.find(id).ok());
    match servitor {
        Some(servitor) => (Requester::Servitor(servitor.id), servitor.name),
        None => (Requester::Coordinator, scheduler.registry.coordinator().to_string()),
    }
}

/// A servitor as a fact.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServitorFact {
    /// Its id.
    id: String,
    /// Its name.
    name: String,
    /// idle, working, waiting, verifying, done or failed.
    state: &'static str,
    /// Why, where that is worth a word.
    reason: String,
    /// Who summoned it.
    parent: String,
    /// What it is to do, shortened.
    assignment: String,
    /// What it may write.
    access: String,
    /// What it said last, shortened; a claim, not a fact.
    answer: String,
}

impl From<&Servitor> for ServitorFact {
    fn from(servitor: &Servitor) -> Self {
        ServitorFact {
            id: servitor.id.clone(),
            name: servitor.name.clone(),
            state: servitor.state.word(),
            reason: truncate::head(&servitor.reason, 1_000),
            parent: servitor.parent.clone(),
            assignment: truncate::head(&servitor.assignment, 500),
            access: access_word(&servitor.access),
            answer: truncate::head(&servitor.answer, 4_000),
        }
    }
}

#[derive(Debug, Clone)]
pub struct SummonServitor(Handle);

/// What is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummonInput {
    /// What it is to do; without one it waits for word.
    #[serde(default)]
    assignment: Option<String>,
    /// Its name; else one is found.
    #[serde(default)]
    name: Option<String>,
    /// The tier of its model.
    #[serde(default)]
    tier: Option<String>,
    /// US dollars that it may spend, its own servitors included.
    #[serde(default)]
    budget_usd: Option<f64>,
    /// Tool rounds that it may have, its own servitors included.
    #[serde(default)]
    budget_rounds: Option<u64>,
    /// What it may write: `full`, `readonly`, or `files: a.txt, b.txt`; never more than you may.
    #[serde(default)]
    access: Option<String>,
    /// The only tools that it may use; never more than you may.
    #[serde(default)]
    tools: Option<Vec<String>>,
    /// What must hold before it is done, each `KIND:ASSERTION`, for example `shell:pytest -q`.
    #[serde(default)]
    commitments: Vec<String>,
    /// Files or directories that the commitments judge by and that must stay as they are.
    #[serde(default)]
    oracles: Vec<String>,
}

#[async_trait]
impl Tool for SummonServitor {
    type Input = SummonInput;
    type Data = ServitorFact;
    const NAME: &'static str = "summon_servitor";
    const DESCRIPTION: &'static str = "Summon a servitor: an agent that works on an assignment beside you, at once. Give it \
        commitments that prove its work. You hear from it when it is done, failed or needs an answer.";
    const EXAMPLE: &'static str = r#"{"assignment": "Write the parser in src/parse.py", "commitments": ["shell:pytest -q tests/parse"]}"#;
    const TOUCHES: Touches = Touches::STORES;

    async fn call(
        &self,
        input: SummonInput,
        context: &ToolContext,
    ) -> Result<Output<ServitorFact>, ToolError> {
        let scheduler = self.0.scheduler()?;
        let (by, _) = caller(&scheduler, context);
        let summons = Summons {
            assignment: input.assignment.unwrap_or_default(),
            name: input.name,
            tier: input.tier,
            budget: Budget { nanos: input.budget_usd.map(price::nanos), rounds: input.budget_rounds },
            access: input.access.as_deref().map(access_of),
            tools: input.tools,
            commitments: Draft::all(&input.commitments, &input.oracles)
                .map_err(|error| ToolError::Usage(error.to_string()))?,
        };
        let servitor = scheduler.summon(&by, &summons)?;
        Ok(Output::line(
            format!("Summoned {} (id: {})", servitor.name, servitor.id),
            ServitorFact::from(&servitor),
        ))
    }
}

/// Dismisses a servitor.
#[derive(Debug, Clone)]
pub struct DismissServitor(Handle);

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DismissInput {
    /// Its id or name.
    id: String,
}

/// Who is gone.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DismissalReport {
    /// The ids: the servitor and all below it.
    dismissed: Vec<String>,
}

#[async_trait]
impl Tool for DismissServitor {
    type Input = DismissInput;
    type Data = DismissalReport;
    const NAME: &'static str = "dismiss_servitor";
    const DESCRIPTION: &'static str = "Dismiss a servitor that you summoned, and all below it. Its work is interrupted; its document stays.";
    const EXAMPLE: &'static str = r#"{"id": "vega"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("name", "id"), ("servitor", "id")];
    const TOUCHES: Touches = Touches::STORES;

    async fn call(
        &self,
        input: DismissInput,
        context: &ToolContext,
    ) -> Result<Output<DismissalReport>, ToolError> {
        let scheduler = self.0.scheduler()?;
        let (by, _) = caller(&scheduler, context);
        let dismissed = scheduler.dismiss(&by, &input.id)?;
        Ok(Output::line(format!("Dismissed {}", dismissed.join(", ")), DismissalReport { dismissed }))
    }
}

/// Shows who there is.
#[derive(Debug, Clone)]
pub struct ListServitors(Handle);

/// Who there is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServitorList {
    /// Every servitor that was not dismissed.
    servitors: Vec<ServitorFact>,
}

#[async_trait]
impl Tool for ListServitors {
    type Input = NoInput;
    type Data = ServitorList;
    const NAME: &'static str = "list_servitors";
    const DESCRIPTION: &'static str = "Show the servitors of this project and how each of them stands.";
    const EXAMPLE: &'static str = "{}";
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, _: NoInput, _: &ToolContext) -> Result<Output<ServitorList>, ToolError> {
        let servitors = self.0.servitors()?;
        let opened = servitors.opened();
        let living = match &opened {
            Some(scheduler) => scheduler.registry.living(),
            None => {
                let (servitors, _) = registry::list(servitors.project())?;
                servitors.into_iter().filter(|servitor| !servitor.dismissed).collect()
            }
        };
        let elsewhere = opened.is_none() && registry::is_held(servitors.project());
        let is_interrupted = |servitor: &Servitor| {
            let here = opened.as_ref().is_some_and(|scheduler| scheduler.is_running(&servitor.id));
            servitor.state.is_active() && !here && !elsewhere
        };
        let row = |servitor: &Servitor| {
            let mut line = format!("{} (id: {}) {}", servitor.name, servitor.id, servitor.state.word());
            if is_interrupted(servitor) {
                line.push_str(
                    ", interrupted: no process runs it (send it a message, or run `marvin servitors run`)",
                );
            }
            if !servitor.reason.is_empty() {
                line.push_str(&format!(": {}", truncate::line(&servitor.reason, 120)));
            }
            line
        };
        let text = match living.as_slice() {
            [] => "No servitors.".to_string(),
            some => some.iter().map(row).collect::<Vec<_>>().join("\n"),
        };
        let servitors = living.iter().map(ServitorFact::from).collect();
        Ok(Output::new(format!("{} servitors", living.len()), text, ServitorList { servitors }))
    }
}

/// Sends word.
#[derive(Debug, Clone)]
pub struct MessageServitor(Handle);

/// To whom, and what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageInput {
    /// Its id or name.
    id: String,
    /// What it is told.
    message: String,
}

#[async_trait]
impl Tool for MessageServitor {
    type Input = MessageInput;
    type Data = ServitorFact;
    const NAME: &'static str = "message_servitor";
    const DESCRIPTION: &'static str = "Send word to a servitor: an answer, news, or something to do. One that waits, is idle or \
        failed begins to work again.";
    const EXAMPLE: &'static str = r#"{"id": "vega", "message": "Yes, use the second format."}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("name", "id"), ("servitor", "id"), ("text", "message")];
    const TOUCHES: Touches = Touches::STORES;

    async fn call(
        &self,
        input: MessageInput,
        context: &ToolContext,
    ) -> Result<Output<ServitorFact>, ToolError> {
        let scheduler = self.0.scheduler()?;
        let (_, from) = caller(&scheduler, context);
        let servitor = scheduler.message(&input.id, &from, &input.message)?;
        Ok(Output::line(
            format!("Told {} (id: {})", servitor.name, servitor.id),
            ServitorFact::from(&servitor),
        ))
    }
}

/// Reports the state of a servitor to a waiting caller: at once, at every change, and at intervals.
async fn tell(scheduler: &ServitorScheduler, id: &str, context: &ToolContext) -> Infallible {
    let mut watch = scheduler.registry.watch();
    let mut pulse = tokio::time::interval(PROGRESS_INTERVAL);
    let (mut reported, mut step) = (None, 0);
    loop {
        let due = tokio::select! {
            _ = watch.changed() => false,
            _ = pulse.tick() => true,
        };
        watch.borrow_and_update();
        if let Some(servitor) = scheduler.registry.get(id)
            && (due || reported != Some(servitor.state))
        {
            reported = Some(servitor.state);
            step += 1;
            context.step(step, None, &format!("{} (id: {id}) is {}", servitor.name, servitor.state.word()));
        }
    }
}

#[derive(Debug, Clone)]
pub struct WaitForServitor(Handle);

/// For whom, and how long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitInput {
    /// Its id or name.
    id: String,
    /// Seconds to wait at most; 300 unless said.
    #[serde(default)]
    timeout_s: Option<u64>,
}

/// How it stands.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WaitReport {
    /// The servitor.
    servitor: ServitorFact,
    /// Whether the time was up before it stopped working.
    timed_out: bool,
}

#[async_trait]
impl Tool for WaitForServitor {
    type Input = WaitInput;
    type Data = WaitReport;
    const NAME: &'static str = WAIT;
    const DESCRIPTION: &'static str = "Wait until a servitor is done, failed or waits for an answer, or until the time is up; tells how it stands.";
    const EXAMPLE: &'static str = r#"{"id": "vega", "timeout_s": 600}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("name", "id"), ("servitor", "id"), ("timeout", "timeout_s")];
    const TOUCHES: Touches = Touches::NOTHING;

    async fn call(&self, input: WaitInput, context: &ToolContext) -> Result<Output<WaitReport>, ToolError> {
        let scheduler = self.0.scheduler()?;
        let id = scheduler.registry.find(&input.id)?.id;
        if context.agent.as_deref().is_some_and(|caller| scheduler.registry.is_below(caller, &id)) {
            return Err(ToolError::Usage(format!(
                "{id} is you, or summoned you: it would wait for you as well."
            )));
        }
        let seconds = input.timeout_s.unwrap_or(DEFAULT_WAIT_SECS).min(MAX_WAIT_SECS);
        let wait = scheduler.wait_for(&id, Duration::from_secs(seconds), &context.cancel);
        let ended = tokio::select! {
            biased;
            ended = wait => ended?,
            never = tell(&scheduler, &id, context) => match never {},
        };
        let servitor = &ended.servitor;
        let mut text = format!("{} (id: {}) {}", servitor.name, servitor.id, servitor.state.sentence());
        if ended.late && context.cancel.is_cancelled() {
            return Err(ToolError::Failed(format!("{text}; the wait for it was interrupted")));
        }
        if ended.late {
            text.push_str(&format!(" after {seconds} s"));
        } else if servitor.dismissed {
            text = format!("{} (id: {}) was dismissed", servitor.name, servitor.id);
        } else if servitor.state.is_active() {
            text = format!(
                "{} (id: {}) was interrupted and no process runs it\n  hint: send it a message, or run `marvin servitors run`",
                servitor.name, servitor.id
            );
        }
        for part in [&servitor.reason, &servitor.answer].into_iter().filter(|part| !part.is_empty()) {
            text.push_str(&format!("\n{}", truncate::head(part, 4_000)));
        }
        let summary = truncate::line(&text, 160);
        Ok(Output::new(
            summary,
            text,
            WaitReport { servitor: ServitorFact::from(servitor), timed_out: ended.late },
        ))
    }
}
