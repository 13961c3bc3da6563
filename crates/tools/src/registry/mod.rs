//! The tools on offer, and the one way to call them.
//!
//! [`Toolbox::call`] does, in this order: find the tool (or the nearest name), understand the arguments (or show a correct
//! call), put every intent to the gate, run the tool in a task of its own, and log the call where the settings ask for
//! it. Whatever happens, the model gets a sentence it can act on, and the record gets the verdict.

mod aliases;
mod arguments;
mod families;

pub use families::Mode;

use crate::approval::{self, ApprovalAnswer, Question};
use crate::context::ToolContext;
use crate::result::{Confidence, ToolError, ToolResult};
use crate::tool::{DynTool, PreparedCall};
use crate::{artifact, log, turbotime};
use arguments::Slot;
use futures_util::FutureExt;
use marvin_base::settings::nearest_of;
use marvin_base::truncate;
use marvin_gate::effects::Grounds;
use marvin_gate::layers::{Place, learn};
use marvin_gate::{Access, Decision, Grant, Intent, JudgedCall, Verdict, judge, secrets};
use marvin_model::{Arguments, ToolSpec};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The rule that refuses a call nobody could understand: no such tool, or arguments that do not fit it.
pub const MISUNDERSTOOD: &str = "tool.arguments";

/// A call that was made, or refused.
#[derive(Debug, Clone)]
pub struct CallOutcome {
    /// The tool, by its own name; as the model wrote it when there is none.
    pub tool: String,
    /// What the gate said.
    pub verdict: Verdict,
    /// What came of it.
    pub result: ToolResult,
    /// What a person should know besides: why the call could not be logged, or its whole result not be kept.
    pub notice: Option<String>,
}

/// The tools on offer to one agent.
pub struct Toolbox {
    slots: BTreeMap<String, Slot>,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Toolbox").field(&self.names()).finish()
    }
}

impl Toolbox {
    /// The tools of a mode, less those that the access forbids.
    #[must_use]
    pub fn new(mode: Mode, access: &Access) -> Self {
        let mut toolbox = Toolbox { slots: BTreeMap::new() };
        for tool in families::tools_for_mode(mode).into_iter().filter(|tool| access.offers(tool.touches())) {
            toolbox.add(tool);
        }
        toolbox
    }

    /// Adds a tool; one of the same name is replaced.
    pub fn add(&mut self, tool: Arc<dyn DynTool>) {
        let name = tool.name().to_string();
        self.slots.insert(name, Slot::new(tool));
    }

    /// Keeps only the tools of these names.
    pub fn keep(&mut self, names: &[String]) {
        self.slots.retain(|name, _| names.contains(name));
    }

    /// Names, in a stable order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.slots.keys().map(String::as_str).collect()
    }

    /// The tools as a model is told of them, in a stable order.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        let spec = |slot: &Slot| ToolSpec {
            // Vendors take no dots in names.
            name: slot.tool.name().replace('.', "_"),
            description: slot.tool.description().to_string(),
            parameters: slot.schema.clone(),
        };
        self.slots.values().map(spec).collect()
    }

    /// The schema of a tool's arguments.
    #[must_use]
    pub fn schema(&self, name: &str) -> Option<&Value> {
        self.slot(name).ok().map(|slot| &slot.schema)
    }

    /// The tool of this name or alias.
    ///
    /// # Errors
    /// A sentence with the nearest name and all names.
    pub fn find(&self, name: &str) -> Result<&Arc<dyn DynTool>, String> {
        self.slot(name).map(|slot| &slot.tool)
    }

    fn slot(&self, name: &str) -> Result<&Slot, String> {
        let name = name.trim();
        let switched = turbotime::find(name);
        let found = self.slots.get(name).or_else(|| self.slots.get(switched?));
        let canonical = aliases::canonical(name);
        found.or_else(|| self.slots.get(canonical)).ok_or_else(|| {
            if let Some(tool) = switched {
                return format!(
                    "{} `{tool}` works only where the person switched it on for this session.",
                    turbotime::NOT_ENABLED
                );
            }
            let near = nearest_of(canonical, self.slots.keys().map(String::as_str))
                .map(|near| format!(" Did you mean `{near}`?"))
                .unwrap_or_default();
            format!(
                "there is no tool `{}`.{near} The tools are: {}.",
                // A model may put anything into a name; half of a secret would not be recognised later.
                truncate::line(&truncate::head_whole(name, 80), 120),
                self.names().join(", ")
            )
        })
    }

    /// What the gate says about a call, without making it. Calls that cannot be understood are denied.
    #[must_use]
    pub fn judge(&self, name: &str, arguments: &Arguments, context: &ToolContext) -> Verdict {
        let arguments = &*aliases::settled(name, arguments);
        let prepared =
            self.slot(name).and_then(|slot| Ok((slot, arguments::prepare(slot, arguments, context)?)));
        match prepared {
            Ok((slot, prepared)) => verdict(slot, &prepared, context),
            Err(error) => misunderstood(&error, context),
        }
    }

    /// Makes a call. A verdict of ask means that it was not made; when a person agrees, use [`Toolbox::call_approved`].
    pub async fn call(&self, name: &str, arguments: &Arguments, context: &ToolContext) -> CallOutcome {
        self.call_with(name, arguments, context, false).await
    }

    /// Makes a call that a person approved: a verdict of ask no longer stops it, a denial does.
    pub async fn call_approved(
        &self,
        name: &str,
        arguments: &Arguments,
        context: &ToolContext,
    ) -> CallOutcome {
        self.call_with(name, arguments, context, true).await
    }

    async fn call_with(
        &self,
        name: &str,
        arguments: &Arguments,
        context: &ToolContext,
        approved: bool,
    ) -> CallOutcome {
        let started = Instant::now();
        let arguments = &*aliases::settled(name, arguments);
        let mut granted = false;
        let mut called = match self.slot(name) {
            Err(error) => refused(name, &error, context),
            Ok(slot) => match arguments::prepare(slot, arguments, context) {
                Err(error) => refused(slot.tool.name(), &error, context),
                Ok(prepared) => {
                    let (tool, touches) = (slot.tool.name(), slot.tool.touches());
                    let call = JudgedCall::decide(tool, touches, &prepared.intents, &context.gate()).await;
                    let mut verdict = call.verdict().clone();
                    context.duty.heard(&verdict);
                    let mut answered = approved && verdict.decision == Decision::Ask;
                    let grant = if verdict.decision == Decision::Ask {
                        needed(&prepared.intents, context)
                    } else {
                        Grant::default()
                    };
                    if !answered && verdict.decision == Decision::Ask {
                        (verdict, answered) =
                            asked(slot, &prepared.intents, arguments, verdict, &grant, context).await;
                    }
                    let (result, notice) = if let Some(permit) = call.permit(answered) {
                        granted = reads_granted(&prepared.intents, answered, context);
                        let mut opened = Box::new(ToolContext { permit, ..context.clone() });
                        if answered {
                            suggest(&prepared.intents, context);
                            opened.grant = Some(Arc::new(grant));
                        }
                        start(slot.tool.as_ref(), prepared, &opened).await
                    } else {
                        (ToolResult::failed(verdict.for_model(), 0), None)
                    };
                    CallOutcome { tool: slot.tool.name().to_string(), verdict, result, notice }
                }
            },
        };
        called.result.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let unwritten = context.layers.log().and_then(marvin_gate::layers::Log::take_failure);
        // The log redacts for itself, before it cuts.
        let unlogged = log::append(&called.tool, arguments, &called.result, context);
        let sandboxed = called.result.data.get("sandbox").is_some();
        let level = sandboxed.then(|| crate::command::level_notice(context)).flatten();
        called.notice = [called.notice.take(), unlogged, unwritten, level]
            .into_iter()
            .flatten()
            .reduce(|a, b| format!("{a}; {b}"));
        called.result.redact(&context.redactor, granted);
        called
    }
}

/// Whether a person opened the files of secrets that this call reads: by an answer now, or by the setting.
fn reads_granted(intents: &[Intent], answered: bool, context: &ToolContext) -> bool {
    let granted = secrets::GrantedFiles::from_settings(&context.settings);
    intents.iter().any(|intent| match intent {
        Intent::Read { path } => {
            let path = Path::new(path);
            secrets::is_env_file(path) && (answered || granted.has(path.strip_prefix("./").unwrap_or(path)))
        }
        _ => false,
    })
}

fn verdict(slot: &Slot, prepared: &PreparedCall, context: &ToolContext) -> Verdict {
    let circumstances = context.gate();
    let tool = Intent::Tool { name: slot.tool.name().to_string(), touches: slot.tool.touches() };
    let verdicts = prepared.intents.iter().map(|intent| judge(intent, &circumstances));
    // The first of the intents says more than that the tool is offered.
    match verdicts.reduce(Verdict::strictest) {
        None => judge(&tool, &circumstances),
        Some(strictest) => match judge(&tool, &circumstances) {
            offered if offered.is_allowed() => strictest,
            not_offered => not_offered,
        },
    }
}

/// Puts a call that the gate does not decide alone to the person, if there is one; gives whether they said yes. What was
/// judged is what then runs.
async fn asked(
    slot: &Slot,
    intents: &[Intent],
    arguments: &Arguments,
    verdict: Verdict,
    grant: &Grant,
    context: &ToolContext,
) -> (Verdict, bool) {
    let Some(approver) = &context.approver else { return (verdict, false) };
    let lines: Vec<&str> = intents
        .iter()
        .filter_map(|intent| match intent {
            Intent::Command { line } => Some(line.as_str()),
            _ => None,
        })
        .collect();
    let what = if lines.is_empty() { format!("{:#}", arguments.to_value()) } else { lines.join("\n") };
    let mut what = context.redactor.text(&what).into_owned();
    if !grant.is_empty() {
        what.push_str(&format!("\n(a yes opens for this command only: {})", grant.describe()));
    }
    let question = Question::new(slot.tool.name(), &what, context.agent.as_deref(), &verdict);
    let said = tokio::select! {
        said = approver.ask(question) => said,
        () = context.cancel.cancelled() => ApprovalAnswer::No("it was broken off before anybody answered".into()),
    };
    let yes = said == ApprovalAnswer::Yes;
    (approval::settled(verdict, &said), yes)
}

/// What the commands of a call need beyond the sandbox.
fn needed(intents: &[Intent], context: &ToolContext) -> Grant {
    let Some(workspace) = context.workspace.as_deref() else { return Grant::default() };
    let home = context.layout.home();
    let (directory, home_text) = (workspace.root().display().to_string(), home.display().to_string());
    let place = Place { directory: &directory, grounds: Grounds { workspace: &directory, home: &home_text } };
    let mut all = Grant::default();
    for intent in intents {
        let Intent::Command { line } = intent else { continue };
        let judgement = context.layers.judge(line, place).judgement;
        let Grant { network, write, read } = Grant::needed_by(&judgement, workspace.root(), home);
        all.network |= network;
        all.write.extend(write);
        all.read.extend(read);
    }
    all
}

/// Notes what a person approved, so that they may make a rule of it later. Nothing is learned by this.
fn suggest(intents: &[Intent], context: &ToolContext) {
    let Some(workspace) = context.workspace.as_deref() else { return };
    let (directory, home) =
        (workspace.root().display().to_string(), context.layout.home().display().to_string());
    let place = Place { directory: &directory, grounds: Grounds { workspace: &directory, home: &home } };
    for intent in intents {
        let Intent::Command { line } = intent else { continue };
        // Most of what is approved cannot be learned; that is no fault.
        if let Ok(rules) = context.layers.learnable(line, place) {
            learn::suggest(&context.layout.security(), line, "approval", &rules, &context.redactor).ok();
        }
    }
}

fn misunderstood(error: &str, context: &ToolContext) -> Verdict {
    // Redacted before it is cut: half of a secret is not recognised.
    let reason = truncate::line(&context.redactor.text(error), 300);
    Verdict::deny(MISUNDERSTOOD, reason, "Send the call again in the correct form.")
}

fn refused(tool: &str, error: &str, context: &ToolContext) -> CallOutcome {
    CallOutcome {
        tool: tool.to_string(),
        verdict: misunderstood(error, context),
        result: ToolResult::failed(error, 0),
        notice: None,
    }
}

/// Runs the tool so that a panic is an error and not the end.
async fn start(
    tool: &dyn DynTool,
    prepared: PreparedCall,
    context: &ToolContext,
) -> (ToolResult, Option<String>) {
    // What the tool held is dropped with it; what is shared says itself what holds after a panic.
    let running = AssertUnwindSafe((prepared.start)(context)).catch_unwind();
    let failed = |error: String| (ToolResult::failed(error, 0), None);
    match running.await {
        Ok(Ok(mut output)) => {
            let whole = output.whole.take();
            let mut result = ToolResult::from_output(output, 0);
            if whole.is_some() {
                result.confidence = Confidence::Summarized;
            }
            let notice = context.artifacts.as_ref().and_then(|directory| {
                let workspace = context.workspace.as_deref();
                artifact::keep(
                    &mut result,
                    whole.as_deref(),
                    directory,
                    tool.name(),
                    workspace,
                    &context.redactor,
                )
            });
            (result, notice)
        }
        Ok(Err(ToolError::Usage(error))) => failed(arguments::with_example(tool, &error)),
        Ok(Err(ToolError::Refused(refusal))) => failed(match context.workspace.as_deref() {
            Some(workspace) => workspace.explain(refusal).to_string(),
            None => refusal.to_string(),
        }),
        Ok(Err(error)) => failed(error.to_string()),
        Err(_) => failed(format!(
            "{} failed inside; this is a fault of the tool, not of the call. Try another way.",
            tool.name()
        )),
    }
}
