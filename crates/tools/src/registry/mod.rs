//! The tools on offer, and the one way to call them.
//!
//! [`Toolbox::call`] does, in this order: find the tool (or the nearest name), parse the arguments (or show a correct
//! call), let the gate judge every intent, run the tool so that a panic is an error, and log the call where the settings
//! ask for it. Whatever happens, the model gets a sentence it can act on, and the record gets the verdict.

mod aliases;
mod arguments;
mod families;

pub use aliases::canonical_name;
pub use families::Mode;

use crate::approval::{self, ApprovalAnswer, Question};
use crate::context::ToolContext;
use crate::result::{Confidence, ToolError, ToolResult};
use crate::service::consent;
use crate::tool::{DynTool, PreparedCall};
use crate::{artifact, log, turbotime};
use arguments::Slot;
use futures_util::FutureExt;
use marvin_base::settings::nearest_of;
use marvin_base::truncate;
use marvin_gate::effects::Grounds;
use marvin_gate::layers::{Place, learn};
use marvin_gate::{Access, Decision, Grant, Intent, JudgedCall, Touches, Verdict, judge, secrets};
use marvin_model::{Arguments, ToolSpec};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The rule that refuses an unknown tool, or arguments that do not fit a tool.
pub const MISUNDERSTOOD: &str = "tool.arguments";

/// Outcome of a call that was made, or refused.
#[derive(Debug, Clone)]
pub struct CallOutcome {
    /// The tool by its own name; as the model wrote it when it is unknown.
    pub tool: String,
    pub verdict: Verdict,
    pub result: ToolResult,
    /// A note for the person: why the call could not be logged, or its whole result not be kept.
    pub notice: Option<String>,
}

/// Files of a workspace, each with the hash of its bytes; empty for a missing one.
pub type FileHashes = BTreeMap<String, String>;

/// The largest file whose bytes are hashed before a call writes it.
const MAX_HASHED_BYTES: u64 = 16 << 20;

/// The tools on offer to one agent.
pub struct Toolbox {
    slots: BTreeMap<String, Slot>,
    /// Tools of the mode that the access forbids, with the reason.
    forbidden: BTreeMap<String, &'static str>,
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
        let mut toolbox = Toolbox { slots: BTreeMap::new(), forbidden: BTreeMap::new() };
        toolbox.add_offered(families::tools_for_mode(mode), access);
        toolbox
    }

    /// Adds the services of an assistant to the tools of a coding agent, less those that the access forbids.
    pub fn add_assistant_tools(&mut self, access: &Access) {
        self.add_offered(families::assistant_tools(), access);
    }

    fn add_offered(&mut self, tools: Vec<Arc<dyn DynTool>>, access: &Access) {
        let reason = match access {
            Access::Readonly => "this agent may only read",
            Access::WritableFiles(_) => "this agent may change only the files of its list",
            Access::Full | Access::Scoped(_) => "this agent has no right to it",
        };
        for tool in tools {
            if access.offers(tool.touches()) {
                self.add(tool);
            } else {
                self.forbidden.insert(tool.name().to_string(), reason);
            }
        }
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

    /// The specifications that a model gets, in a stable order.
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
        self.slot(name).ok().map(|slot| &*slot.schema)
    }

    /// The tool of this name or alias.
    ///
    /// # Errors
    /// A sentence with the nearest name and all names.
    pub fn find(&self, name: &str) -> Result<&Arc<dyn DynTool>, ToolError> {
        self.slot(name).map(|slot| &slot.tool)
    }

    fn slot(&self, name: &str) -> Result<&Slot, ToolError> {
        let name = name.trim();
        let switched = turbotime::find(name);
        let found = self.slots.get(name).or_else(|| self.slots.get(switched?));
        let canonical = aliases::canonical_name(name);
        found.or_else(|| self.slots.get(canonical)).ok_or_else(|| {
            if let Some(tool) = switched {
                return ToolError::Usage(format!(
                    "{} `{tool}` works only where the person switched it on for this session.",
                    turbotime::NOT_ENABLED
                ));
            }
            if let Some(reason) = self.forbidden.get(canonical) {
                return ToolError::Usage(format!(
                    "`{canonical}` is not available: {reason}. The tools are: {}.",
                    self.names().join(", ")
                ));
            }
            let near = nearest_of(canonical, self.slots.keys().map(String::as_str))
                .map(|near| format!(" Did you mean `{near}`?"))
                .unwrap_or_default();
            ToolError::Usage(format!(
                "no such tool: `{}`.{near} The tools are: {}.",
                // A model may put anything into a name; half of a secret would not be recognised later.
                truncate::line(&truncate::head_whole(name, 80), 120),
                self.names().join(", ")
            ))
        })
    }

    /// The verdict on a call, without making it. Calls that cannot be parsed are denied.
    #[must_use]
    pub fn judge(&self, name: &str, arguments: &Arguments, context: &ToolContext) -> Verdict {
        let arguments = &*aliases::with_implied(name, arguments);
        let prepared =
            self.slot(name).and_then(|slot| Ok((slot, arguments::prepare(slot, arguments, context)?)));
        match prepared {
            Ok((slot, prepared)) => judge_all(slot, &prepared, context),
            Err(error) => misunderstood(&error, context),
        }
    }

    /// The files that a call writes, each with the hash of its bytes now, empty for a missing one; none for a call that does
    /// anything else, cannot be parsed, or writes a file that cannot be read.
    #[must_use]
    pub fn files_to_write(
        &self,
        name: &str,
        arguments: &Arguments,
        context: &ToolContext,
    ) -> Option<FileHashes> {
        let slot = self.slot(name).ok()?;
        if slot.tool.touches() != Touches::WRITES {
            return None;
        }
        let workspace = context.workspace.as_deref()?;
        let prepared = arguments::prepare(slot, &aliases::with_implied(name, arguments), context).ok()?;
        let written = prepared.intents.iter().filter_map(|intent| match intent {
            Intent::Write { path } => Some(path),
            _ => None,
        });
        written
            .map(|path| {
                let file = workspace.path(path).ok()?;
                if !workspace.exists(&file) {
                    return Some((path.clone(), String::new()));
                }
                let bytes = workspace.read_bytes(&file, MAX_HASHED_BYTES).ok()?;
                Some((path.clone(), marvin_base::signature::hash_bytes(&bytes)))
            })
            .collect()
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
        let arguments = &*aliases::with_implied(name, arguments);
        let mut granted = false;
        let mut outcome = match self.slot(name) {
            Err(error) => refused(name, &error, context),
            Ok(slot) => match arguments::prepare(slot, arguments, context) {
                Err(error) => refused(slot.tool.name(), &error, context),
                Ok(prepared) => {
                    let (tool, touches) = (slot.tool.name(), slot.tool.touches());
                    let call = JudgedCall::decide(tool, touches, &prepared.intents, &context.gate()).await;
                    let mut verdict = call.verdict().clone();
                    context.duty.heard(&verdict);
                    let is_question = verdict.decision == Decision::Ask;
                    let mut answered = approved && is_question;
                    let grant =
                        if is_question { needed_grant(&prepared.intents, context) } else { Grant::default() };
                    if !answered && is_question {
                        (verdict, answered) =
                            ask_person(slot, &prepared.intents, arguments, verdict, &grant, context).await;
                    }
                    let (result, notice) = if let Some(permit) = call.permit(answered) {
                        granted = reads_granted(&prepared.intents, answered, context);
                        let mut opened = Box::new(ToolContext { permit, ..context.clone() });
                        if answered {
                            consent::remember(&prepared.intents, context);
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
        outcome.result.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(
            tool = outcome.tool,
            decision = outcome.verdict.decision.word(),
            rule = outcome.verdict.rule,
            ok = outcome.result.ok,
            ms = outcome.result.elapsed_ms,
            agent = context.agent.as_deref(),
            "tool call"
        );
        let unwritten = context.layers.log().and_then(marvin_gate::layers::Log::take_failure);
        // The log redacts for itself, before it cuts.
        let unlogged = log::append(&outcome.tool, arguments, &outcome.result, context);
        let sandboxed = outcome.result.data.get("sandbox").is_some();
        let level = sandboxed.then(|| crate::command::level_notice(context)).flatten();
        outcome.notice = [outcome.notice.take(), unlogged, unwritten, level]
            .into_iter()
            .flatten()
            .reduce(|a, b| format!("{a}; {b}"));
        outcome.result.redact(&context.redactor, granted);
        outcome
    }
}

/// Whether a person opened the secret files that this call reads: by an answer now, or by the setting.
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

/// The verdict on the tool itself: whether it is offered.
fn judge_tool(slot: &Slot, context: &ToolContext) -> Verdict {
    let tool = Intent::Tool { name: slot.tool.name().to_string(), touches: slot.tool.touches() };
    judge(&tool, &context.gate())
}

fn judge_all(slot: &Slot, prepared: &PreparedCall, context: &ToolContext) -> Verdict {
    let offered = judge_tool(slot, context);
    if !offered.is_allowed() {
        return offered;
    }
    let verdicts = prepared.intents.iter().map(|intent| judge(intent, &context.gate()));
    // A verdict on an intent says more than that the tool is offered.
    verdicts.reduce(Verdict::strictest).unwrap_or(offered)
}

/// Asks the person, if there is one, about a call that the gate does not decide alone; returns whether they said yes. What
/// was judged is what then runs.
async fn ask_person(
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
            Intent::Code { code, .. } => Some(code.as_str()),
            _ => None,
        })
        .collect();
    let what = if lines.is_empty() { format!("{:#}", arguments.to_value()) } else { lines.join("\n") };
    let mut what = context.redactor.text(&what).into_owned();
    if !grant.is_empty() {
        what.push_str(&format!("\n(a yes opens for this command only: {})", grant.describe()));
    }
    let question = Question::new(slot.tool.name(), &what, context.agent.as_deref(), &verdict);
    let answer = tokio::select! {
        answer = approver.ask(question) => answer,
        () = context.cancel.cancelled() => ApprovalAnswer::No("it was interrupted before the person answered".into()),
    };
    let yes = answer == ApprovalAnswer::Yes;
    (approval::verdict_after(verdict, &answer), yes)
}

/// Permissions beyond the sandbox that the commands of a call need.
fn needed_grant(intents: &[Intent], context: &ToolContext) -> Grant {
    let Some(workspace) = context.workspace.as_deref() else { return Grant::default() };
    let home = context.layout.home();
    let (directory, home_text) = (workspace.root().display().to_string(), home.display().to_string());
    let place = Place { directory: &directory, grounds: Grounds { workspace: &directory, home: &home_text } };
    let mut all = Grant::default();
    for intent in intents {
        let Intent::Command { line } = intent else { continue };
        let judgement = context.layers.judge(line, place).judgement;
        let Grant { network, write, steering, read } = Grant::needed_by(&judgement, workspace.root(), home);
        all.network |= network;
        all.write.extend(write);
        all.steering.extend(steering);
        all.read.extend(read);
    }
    all
}

/// Notes what a person approved, so that they can make a rule of it later. Nothing is learned by this.
fn suggest(intents: &[Intent], context: &ToolContext) {
    let Some(workspace) = context.workspace.as_deref() else { return };
    let (directory, home) =
        (workspace.root().display().to_string(), context.layout.home().display().to_string());
    let place = Place { directory: &directory, grounds: Grounds { workspace: &directory, home: &home } };
    for intent in intents {
        let Intent::Command { line } = intent else { continue };
        // Most approved commands cannot be learned, which is not an error.
        if let Ok(rules) = context.layers.learnable(line, place) {
            learn::suggest(&context.layout.security(), line, "approval", &rules, &context.redactor).ok();
        }
    }
}

fn misunderstood(error: &ToolError, context: &ToolContext) -> Verdict {
    // Redacted before it is cut: half of a secret is not recognised.
    let reason = truncate::line(&context.redactor.text(&error.to_string()), 300);
    Verdict::deny(MISUNDERSTOOD, reason, "Send the call again in the correct form.")
}

fn refused(tool: &str, error: &ToolError, context: &ToolContext) -> CallOutcome {
    CallOutcome {
        tool: tool.to_string(),
        verdict: misunderstood(error, context),
        result: ToolResult::failed(error.to_string(), 0),
        notice: None,
    }
}

/// Runs the tool so that a panic is an error and does not end the process.
async fn start(
    tool: &dyn DynTool,
    prepared: PreparedCall,
    context: &ToolContext,
) -> (ToolResult, Option<String>) {
    // What the tool held is dropped with it; shared state handles a panic itself.
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
        Ok(Err(ToolError::Usage(error))) => failed(arguments::with_example(tool, &error).to_string()),
        Ok(Err(ToolError::Refused(refusal))) => failed(match context.workspace.as_deref() {
            Some(workspace) => workspace.explain(refusal).to_string(),
            None => refusal.to_string(),
        }),
        Ok(Err(error)) => {
            let nothing_to_do = matches!(error, ToolError::NothingToDo(_));
            (ToolResult { nothing_to_do, ..ToolResult::failed(error.to_string(), 0) }, None)
        }
        Err(_) => failed(format!(
            "{} failed internally; this is a fault of the tool, not of the call. Try another way.",
            tool.name()
        )),
    }
}
