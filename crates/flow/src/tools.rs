//! Workflows as tools for other programs: check, run, resume, and get the status.
//!
//! A run has a thread of its own and continues while no call waits for it. When the process ends, its runs are stopped and can be
//! resumed. Decisions of people are left to people: no tool approves or answers.

use crate::drive::drive;
use crate::engine::{self, Options, Run, check_steps};
use crate::record::StepStatus;
use crate::spec::{self, SpecError, Workflow};
use crate::view::{self, View};
use crate::workers;
use async_trait::async_trait;
use marvin_agent::ProjectContext;
use marvin_agent::trace::{Listener, Notice};
use marvin_base::run_record;
use marvin_base::{ids, truncate};
use marvin_gate::{Intent, Touches};
use marvin_tools::{DynTool, Output, Tool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Seconds that a call waits for a run by default. Some clients time out after a minute.
const DEFAULT_WAIT_SECS: u64 = 50;
const MAX_WAIT_SECS: u64 = 86_400;
/// Steps and problems that an answer lists.
const MAX_LISTED_ITEMS: usize = 50;
const MAX_CONCURRENT_RUNS: usize = 16;

/// The runs that this process works on.
#[derive(Debug)]
pub struct Workflows {
    project: Arc<ProjectContext>,
    cancel: CancellationToken,
    active: Mutex<BTreeMap<String, ActiveRun>>,
}

#[derive(Debug, Clone)]
struct ActiveRun {
    cancel: CancellationToken,
    progress: watch::Receiver<RunProgress>,
}

/// The progress of a run.
#[derive(Debug, Clone, Default)]
struct RunProgress {
    completed: u64,
    steps: u64,
    last_event: String,
    /// Set when the run has ended, with an error if it could not be completed.
    ended: Option<Result<(), String>>,
}

impl Workflows {
    #[must_use]
    pub fn new(project: Arc<ProjectContext>) -> Arc<Self> {
        Arc::new(Workflows { project, cancel: CancellationToken::new(), active: Mutex::default() })
    }

    #[must_use]
    pub fn tools(self: &Arc<Self>) -> Vec<Arc<dyn DynTool>> {
        vec![
            Arc::new(WorkflowCheck),
            Arc::new(WorkflowRun(self.clone())),
            Arc::new(WorkflowStatus(self.clone())),
        ]
    }

    /// Stops every run and waits for them until the timeout.
    pub async fn end(&self, timeout: Duration) {
        self.cancel.cancel();
        let active: Vec<ActiveRun> = self.active().values().cloned().collect();
        let all = async {
            for mut run in active {
                run.progress.wait_for(|progress| progress.ended.is_some()).await.ok();
            }
        };
        tokio::time::timeout(timeout, all).await.ok();
    }

    fn active(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, ActiveRun>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts or resumes a run and returns its id.
    fn start(self: &Arc<Self>, source: RunSource) -> Result<String, ToolError> {
        let mut active = self.active();
        active.retain(|_, run| run.progress.borrow().ended.is_none());
        if active.len() >= MAX_CONCURRENT_RUNS {
            return Err(ToolError::Failed(format!(
                "{MAX_CONCURRENT_RUNS} runs are active already; wait for one with workflow_status"
            )));
        }
        if self.cancel.is_cancelled() {
            return Err(ToolError::Failed("this process is about to end".into()));
        }
        let (sender, progress) = watch::channel(RunProgress::default());
        let sender = Arc::new(sender);
        let options = Options { concurrency: 0, sync: None, listener: listener(&sender) };
        let failed = |error: engine::EngineError| ToolError::Failed(error.to_string());
        let run = match source {
            RunSource::New(workflow) => Run::begin(&self.project, *workflow, options).map_err(failed)?,
            RunSource::Existing(path) => Run::resume(&self.project, &path, options).map_err(failed)?,
        };
        let id = run.directory().id().to_string();
        let cancel = self.cancel.child_token();
        active.insert(id.clone(), ActiveRun { cancel: cancel.clone(), progress });
        let project = self.project.clone();
        let started = std::thread::Builder::new().name("workflow".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let ended = match runtime {
                Ok(runtime) => {
                    let ended = runtime.block_on(drive(&project, run, None, cancel));
                    ended.map(|_| ()).map_err(|error| error.to_string())
                }
                Err(error) => Err(format!("cannot start: {error}")),
            };
            sender.send_modify(|progress| progress.ended = Some(ended));
        });
        if let Err(error) = started {
            active.remove(&id);
            return Err(ToolError::Failed(format!("cannot start a thread: {error}")));
        }
        Ok(id)
    }

    /// The directory of a workflow run of this project: the named one, or the newest.
    fn find(&self, name: Option<&str>) -> Result<PathBuf, ToolError> {
        let place = self.project.layout.runs();
        let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
            let newest = run_record::list(&place).into_iter().find(|path| view::is_workflow(path));
            return newest.ok_or_else(|| ToolError::Failed("this project has no workflow run".into()));
        };
        // Only an id, never a path, so that runs of other projects are out of reach.
        let path = ids::run_started(name).map(|_| place.join(name));
        path.filter(|path| view::is_workflow(path)).ok_or_else(|| {
            let known: Vec<String> = run_record::list(&place)
                .iter()
                .filter(|path| view::is_workflow(path))
                .take(5)
                .filter_map(|path| Some(path.file_name()?.to_str()?.to_string()))
                .collect();
            ToolError::Failed(format!(
                "this project has no workflow run `{}` (the newest: {})",
                truncate::line(name, 80),
                if known.is_empty() { "none".to_string() } else { known.join(", ") }
            ))
        })
    }

    /// Waits until a run ends or the time is up, reporting its progress; then returns its status.
    async fn wait(
        &self,
        id: &str,
        seconds: u64,
        stops: bool,
        context: &ToolContext,
    ) -> Result<Output<Standing>, ToolError> {
        let active = self.active().get(id).cloned();
        if let Some(mut run) = active {
            let until = tokio::time::sleep(Duration::from_secs(seconds.min(MAX_WAIT_SECS)));
            let mut until = std::pin::pin!(until);
            loop {
                let progress = run.progress.borrow_and_update().clone();
                if progress.steps > 0 {
                    context.step(progress.completed, Some(progress.steps), &progress.last_event);
                }
                match progress.ended {
                    Some(Ok(())) => break,
                    Some(Err(error)) => return Err(ToolError::Failed(error)),
                    None => {}
                }
                tokio::select! {
                    changed = run.progress.changed() => if changed.is_err() { break },
                    () = &mut until => break,
                    () = context.cancel.cancelled() => {
                        if stops {
                            run.cancel.cancel();
                            run.progress.wait_for(|progress| progress.ended.is_some()).await.ok();
                        }
                        return Err(ToolError::Failed(format!("the wait for {id} was cancelled")));
                    }
                }
            }
        }
        let path = self.find(Some(id))?;
        let redactor = self.project.redactor.clone();
        let view = tokio::task::spawn_blocking(move || View::read(&path, &redactor)).await;
        let view = view.map_err(|error| ToolError::Failed(error.to_string()))?;
        let view = view.map_err(|error| ToolError::Failed(error.to_string()))?;
        Ok(Standing::from_view(&view).into_output())
    }
}

/// A new workflow, or the directory of a run to resume.
enum RunSource {
    New(Box<Workflow>),
    Existing(PathBuf),
}

/// Turns events of a run into its progress.
fn listener(sender: &Arc<watch::Sender<RunProgress>>) -> Listener {
    let sender = sender.clone();
    Box::new(move |notice: Notice<'_>| {
        let Notice::Event(event) = notice else { return };
        let word = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |key: &str| event.get(key).and_then(Value::as_u64).unwrap_or(0);
        let kind = word("type");
        sender.send_modify(|progress| {
            match kind {
                "workflow.started" | "workflow.resumed" => progress.steps = number("steps"),
                "steps.succeeded" | "workflow.terminated" => progress.completed += number("count"),
                "step.succeeded" | "step.partial" => progress.completed += 1,
                _ => {}
            }
            if kind.starts_with("step.") {
                progress.last_event = format!("{}: {}", word("step_id"), kind.trim_start_matches("step."));
            }
        });
    })
}

/// The status of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Standing {
    /// The run id.
    run: String,
    /// The workflow id.
    workflow: String,
    /// RUNNING, SUCCEEDED, PARTIAL, FAILED, BLOCKED, STOPPED or BROKEN_OFF.
    status: String,
    /// The number of steps by status.
    counts: BTreeMap<String, usize>,
    /// Steps, at most 50, those that are not done first.
    steps: Vec<StepFact>,
    /// The outputs of at most 50 steps.
    outputs: Map<String, Value>,
}

/// The status of a step.
#[derive(Debug, Serialize, JsonSchema)]
struct StepFact {
    /// The step id.
    id: String,
    /// The worker that does it.
    worker: String,
    /// The status.
    status: String,
    /// The number of attempts that were begun.
    attempts: usize,
    /// The error, or the question to a person.
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
    /// What a person is needed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<String>,
}

impl Standing {
    fn from_view(view: &View) -> Self {
        let mut steps: Vec<&view::StepView> = view.steps.iter().collect();
        steps.sort_by_key(|step| step.status.is_complete());
        let fact = |step: &&view::StepView| StepFact {
            id: step.step_id.clone(),
            worker: step.worker.clone(),
            status: step.status.word().to_string(),
            attempts: step.attempts,
            detail: truncate::head(&step.detail, 500),
            needs: step.blocked.clone().filter(|_| step.status == StepStatus::Blocked),
        };
        let outputs = view.state.pointer("/state/steps").and_then(Value::as_object);
        let outputs = outputs.map(|steps| {
            let given = steps.iter().filter_map(|(id, step)| {
                let outputs = step
                    .get("outputs")
                    .filter(|outputs| outputs.as_object().is_some_and(|all| !all.is_empty()))?;
                Some((id.clone(), outputs.clone()))
            });
            given.take(MAX_LISTED_ITEMS).collect()
        });
        Standing {
            run: view.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            workflow: view.workflow_id.clone(),
            status: view.status(),
            counts: view.counts.iter().map(|(word, count)| ((*word).to_string(), *count)).collect(),
            steps: steps.iter().take(MAX_LISTED_ITEMS).map(fact).collect(),
            outputs: outputs.unwrap_or_default(),
        }
    }

    fn into_output(self) -> Output<Standing> {
        let counts: Vec<String> =
            self.counts.iter().map(|(word, count)| format!("{count} {}", word.to_lowercase())).collect();
        let head = format!("{} {} ({})", self.run, self.status, counts.join(", "));
        let mut text = head.clone();
        for step in self.steps.iter().filter(|step| !step.detail.is_empty()) {
            text.push_str(&format!("\n{}: {}: {}", step.id, step.status.to_lowercase(), step.detail));
        }
        text.push_str(match self.status.as_str() {
            "RUNNING" => "\nIt still runs; ask again with workflow_status.",
            "BLOCKED" => "\nA person is needed: `marvin inspect-run` shows what for, `marvin workflow approve|answer|settle` decides; then resume it with workflow_run and this run.",
            "STOPPED" | "BROKEN_OFF" => "\nResume it with workflow_run and this run.",
            _ => "",
        });
        Output::new(head, text, self)
    }
}

/// A workflow, as a file or as an object.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckInput {
    /// A file in the working directory, JSON or YAML.
    #[serde(default)]
    file: Option<String>,
    /// Or the workflow itself.
    #[serde(default)]
    workflow: Option<Map<String, Value>>,
}

/// Reads a workflow and checks that its workers exist; the inner error lists its problems.
fn read(
    file: Option<&str>,
    given: Option<Map<String, Value>>,
    context: &ToolContext,
) -> Result<Result<Workflow, Vec<String>>, ToolError> {
    let (text, name) = match (file, given) {
        (Some(file), None) => {
            let workspace = context.workspace()?;
            let path = workspace.path(file)?;
            (workspace.read_to_string(&path, spec::MAX_SPEC_BYTES)?, path.to_string())
        }
        (None, Some(workflow)) => (Value::Object(workflow).to_string(), "the workflow".to_string()),
        _ => return Err(ToolError::Usage("Give either `file` or `workflow`.".into())),
    };
    let lines =
        |error: &SpecError| error.to_string().lines().map(str::to_string).take(MAX_LISTED_ITEMS).collect();
    let workflow = match spec::from_text(&text, &name) {
        Ok(workflow) => workflow,
        Err(error) => return Ok(Err(lines(&error))),
    };
    let root = context.workspace.as_deref().map_or(Path::new("/"), |workspace| workspace.root());
    match check_steps(&workflow, &workers::names(), root, context.layout.home()) {
        Ok(()) => Ok(Ok(workflow)),
        Err(error) => Ok(Err(vec![error.to_string()])),
    }
}

fn reads(file: Option<&String>) -> Vec<Intent> {
    file.map(|path| Intent::Read { path: path.clone() }).into_iter().collect()
}

/// Checks a workflow.
#[derive(Debug, Clone)]
pub struct WorkflowCheck;

/// The result of a check.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckReport {
    /// Whether it can be run.
    ok: bool,
    /// The workflow id.
    workflow: String,
    /// The number of steps.
    steps: usize,
    /// The problems, with step and line.
    problems: Vec<String>,
}

#[async_trait]
impl Tool for WorkflowCheck {
    type Input = CheckInput;
    type Data = CheckReport;
    const NAME: &'static str = "workflow_check";
    const DESCRIPTION: &'static str = "Check a workflow, in a file or given as an object, without running it: every problem with its step and line.";
    const EXAMPLE: &'static str = r#"{"file": "release.yaml"}"#;
    const TOUCHES: Touches = Touches::READS;

    fn intents(input: &CheckInput, _context: &ToolContext) -> Vec<Intent> {
        reads(input.file.as_ref())
    }

    async fn call(&self, input: CheckInput, context: &ToolContext) -> Result<Output<CheckReport>, ToolError> {
        Ok(match read(input.file.as_deref(), input.workflow, context)? {
            Ok(workflow) => Output::line(
                format!("{} is sound, {} steps", workflow.workflow_id, workflow.steps.len()),
                CheckReport {
                    ok: true,
                    steps: workflow.steps.len(),
                    workflow: workflow.workflow_id,
                    problems: Vec::new(),
                },
            ),
            Err(problems) => Output::new(
                "the workflow cannot be run",
                problems.join("\n"),
                CheckReport { ok: false, workflow: String::new(), steps: 0, problems },
            ),
        })
    }
}

/// Runs or resumes a workflow.
#[derive(Debug, Clone)]
pub struct WorkflowRun(Arc<Workflows>);

/// A workflow to run, or a run to resume.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunInput {
    /// A file in the working directory, JSON or YAML.
    #[serde(default)]
    file: Option<String>,
    /// Or the workflow itself.
    #[serde(default)]
    workflow: Option<Map<String, Value>>,
    /// Or a run to resume, by its id.
    #[serde(default)]
    run: Option<String>,
    /// Seconds to wait for its end, 50 by default. It continues afterwards.
    #[serde(default)]
    wait_s: Option<u64>,
}

#[async_trait]
impl Tool for WorkflowRun {
    type Input = RunInput;
    type Data = Standing;
    const NAME: &'static str = "workflow_run";
    const DESCRIPTION: &'static str = "Run a workflow from a file or an object, or resume a run that stopped, and wait for its end for a \
         while. Each of its commands is judged, each attempt recorded; a step for a person waits for a person.";
    const EXAMPLE: &'static str = r#"{"file": "release.yaml", "wait_s": 50}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("path", "file"), ("run_id", "run"), ("timeout_s", "wait_s")];
    const TOUCHES: Touches = Touches::EXECUTES;

    fn intents(input: &RunInput, _context: &ToolContext) -> Vec<Intent> {
        reads(input.file.as_ref())
    }

    async fn call(&self, input: RunInput, context: &ToolContext) -> Result<Output<Standing>, ToolError> {
        let source = match (&input.run, &input.file, &input.workflow) {
            (Some(run), None, None) => RunSource::Existing(self.0.find(Some(run))?),
            (None, ..) => match read(input.file.as_deref(), input.workflow, context)? {
                Ok(workflow) => RunSource::New(Box::new(workflow)),
                Err(problems) => return Err(ToolError::Failed(problems.join("\n"))),
            },
            _ => return Err(ToolError::Usage("Give one of `file`, `workflow` and `run`.".into())),
        };
        let id = self.0.start(source)?;
        self.0.wait(&id, input.wait_s.unwrap_or(DEFAULT_WAIT_SECS), true, context).await
    }
}

/// Gives the status of a run.
#[derive(Debug, Clone)]
pub struct WorkflowStatus(Arc<Workflows>);

/// The run to report on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusInput {
    /// The run id; the newest run of this project by default.
    #[serde(default)]
    run: Option<String>,
    /// Seconds to wait for its end if this server runs it; 0 by default.
    #[serde(default)]
    wait_s: Option<u64>,
}

#[async_trait]
impl Tool for WorkflowStatus {
    type Input = StatusInput;
    type Data = Standing;
    const NAME: &'static str = "workflow_status";
    const DESCRIPTION: &'static str = "The status of a workflow run: its steps, what failed and why, what waits for a person; optionally after waiting for its end.";
    const EXAMPLE: &'static str = r#"{"run": "run_20260102_030405_a1b2", "wait_s": 30}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("run_id", "run"), ("timeout_s", "wait_s")];
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, input: StatusInput, context: &ToolContext) -> Result<Output<Standing>, ToolError> {
        let path = self.0.find(input.run.as_deref())?;
        let id = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.0.wait(&id, input.wait_s.unwrap_or(0), false, context).await
    }
}
