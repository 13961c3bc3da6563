//! Workflows as tools for other programs: check one, run it or go on with it, and see how it stands.
//!
//! A run goes on in a thread of its own while nobody waits for it, and is stopped, to be resumed, when the process ends. What a
//! person must say to a step is left to people: no tool approves or answers.

use crate::drive::drive;
use crate::engine::{self, Options, Run, check_workers};
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
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Seconds that a call waits for a run, unless it says otherwise, and at most. Some clients give up on a call after a minute.
const USUAL: u64 = 50;
const MAX_WAIT_SECS: u64 = 86_400;
/// Steps and lines that are told; the rest is counted.
const MAX_LISTED_ITEMS: usize = 50;
/// Runs at a time.
const MAX_CONCURRENT_RUNS: usize = 16;

/// The runs that this process works on.
#[derive(Debug)]
pub struct Workflows {
    ground: Arc<ProjectContext>,
    cancel: CancellationToken,
    going: Mutex<BTreeMap<String, ActiveRun>>,
}

/// One of them.
#[derive(Debug, Clone)]
struct ActiveRun {
    cancel: CancellationToken,
    news: watch::Receiver<News>,
}

/// How far it is.
#[derive(Debug, Clone, Default)]
struct News {
    over: u64,
    all: u64,
    last: String,
    /// The run ended; with a reason where it did not go to its end.
    ended: Option<Result<(), String>>,
}

impl Workflows {
    /// Runs on this ground, until [`Workflows::end`].
    #[must_use]
    pub fn new(ground: Arc<ProjectContext>) -> Arc<Self> {
        Arc::new(Workflows { ground, cancel: CancellationToken::new(), going: Mutex::default() })
    }

    /// The tools.
    #[must_use]
    pub fn tools(self: &Arc<Self>) -> Vec<Arc<dyn DynTool>> {
        vec![
            Arc::new(WorkflowCheck),
            Arc::new(WorkflowRun(self.clone())),
            Arc::new(WorkflowStatus(self.clone())),
        ]
    }

    /// Stops every run, and waits for them for so long at most.
    pub async fn end(&self, longest: Duration) {
        self.cancel.cancel();
        let going: Vec<ActiveRun> = self.going().values().cloned().collect();
        let all = async {
            for mut one in going {
                one.news.wait_for(|news| news.ended.is_some()).await.ok();
            }
        };
        tokio::time::timeout(longest, all).await.ok();
    }

    fn going(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, ActiveRun>> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a run, new or taken up, and gives its id.
    fn start(self: &Arc<Self>, what: RunSource) -> Result<String, ToolError> {
        let mut going = self.going();
        going.retain(|_, one| one.news.borrow().ended.is_none());
        if going.len() >= MAX_CONCURRENT_RUNS {
            return Err(ToolError::Failed(format!(
                "{MAX_CONCURRENT_RUNS} runs go on already; wait for one with workflow_status"
            )));
        }
        if self.cancel.is_cancelled() {
            return Err(ToolError::Failed("this process is about to end".into()));
        }
        let (teller, news) = watch::channel(News::default());
        let teller = Arc::new(teller);
        let options = Options { concurrency: 0, sync: None, listener: listener(&teller) };
        let failed = |error: engine::EngineError| ToolError::Failed(error.to_string());
        let run = match what {
            RunSource::New(workflow) => Run::begin(&self.ground, *workflow, options).map_err(failed)?,
            RunSource::Old(path) => Run::resume(&self.ground, &path, options).map_err(failed)?,
        };
        let id = run.directory().id().to_string();
        let cancel = self.cancel.child_token();
        going.insert(id.clone(), ActiveRun { cancel: cancel.clone(), news });
        let ground = self.ground.clone();
        let told = teller.clone();
        let started = std::thread::Builder::new().name("workflow".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let ended = match runtime {
                Ok(runtime) => {
                    let ended = runtime.block_on(drive(&ground, run, None, cancel));
                    ended.map(|_| ()).map_err(|error| error.to_string())
                }
                Err(error) => Err(format!("cannot start: {error}")),
            };
            told.send_modify(|news| news.ended = Some(ended));
        });
        if let Err(error) = started {
            going.remove(&id);
            return Err(ToolError::Failed(format!("cannot start a thread: {error}")));
        }
        Ok(id)
    }

    /// The directory of a run of this project: the one that is named, else the newest of a workflow.
    fn find(&self, name: Option<&str>) -> Result<PathBuf, ToolError> {
        let place = self.ground.layout.runs();
        let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
            let newest = run_record::list(&place).into_iter().find(|path| view::is_workflow(path));
            return newest.ok_or_else(|| ToolError::Failed("there is no run of a workflow here".into()));
        };
        // A name, never a path: what lies elsewhere is somebody else's.
        let path = ids::run_started(name).map(|_| place.join(name));
        path.filter(|path| view::is_workflow(path)).ok_or_else(|| {
            let known: Vec<String> = run_record::list(&place)
                .iter()
                .filter(|path| view::is_workflow(path))
                .take(5)
                .filter_map(|path| Some(path.file_name()?.to_str()?.to_string()))
                .collect();
            ToolError::Failed(format!(
                "there is no run `{}` of a workflow here (the newest: {})",
                truncate::line(name, 80),
                if known.is_empty() { "none".to_string() } else { known.join(", ") }
            ))
        })
    }

    /// Waits until a run is over or the time is up, telling how far it is; then says how it stands.
    async fn wait(
        &self,
        id: &str,
        seconds: u64,
        stops: bool,
        context: &ToolContext,
    ) -> Result<Output<Standing>, ToolError> {
        let going = self.going().get(id).cloned();
        if let Some(mut one) = going {
            let until = tokio::time::sleep(Duration::from_secs(seconds.min(MAX_WAIT_SECS)));
            let mut until = std::pin::pin!(until);
            loop {
                let news = one.news.borrow_and_update().clone();
                if news.all > 0 {
                    context.step(news.over, Some(news.all), &news.last);
                }
                match news.ended {
                    Some(Ok(())) => break,
                    Some(Err(why)) => return Err(ToolError::Failed(why)),
                    None => {}
                }
                tokio::select! {
                    changed = one.news.changed() => if changed.is_err() { break },
                    () = &mut until => break,
                    () = context.cancel.cancelled() => {
                        if stops {
                            one.cancel.cancel();
                            one.news.wait_for(|news| news.ended.is_some()).await.ok();
                        }
                        return Err(ToolError::Failed(format!("the wait for {id} was broken off")));
                    }
                }
            }
        }
        let path = self.find(Some(id))?;
        let redactor = self.ground.redactor.clone();
        let view = tokio::task::spawn_blocking(move || View::read(&path, &redactor)).await;
        let view = view.map_err(|error| ToolError::Failed(error.to_string()))?;
        let view = view.map_err(|error| ToolError::Failed(error.to_string()))?;
        Ok(Standing::from_view(&view).told())
    }
}

/// What is run.
enum RunSource {
    New(Box<Workflow>),
    Old(PathBuf),
}

/// Whoever passes on how far a run is.
fn listener(teller: &Arc<watch::Sender<News>>) -> Listener {
    let teller = teller.clone();
    Box::new(move |notice: Notice<'_>| {
        let Notice::Event(event) = notice else { return };
        let word = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |key: &str| event.get(key).and_then(Value::as_u64).unwrap_or(0);
        let kind = word("type");
        teller.send_modify(|news| {
            match kind {
                "workflow.started" | "workflow.resumed" => news.all = number("steps"),
                "steps.succeeded" | "workflow.terminated" => news.over += number("count"),
                "step.succeeded" | "step.partial" => news.over += 1,
                _ => {}
            }
            if kind.starts_with("step.") {
                news.last = format!("{}: {}", word("step_id"), kind.trim_start_matches("step."));
            }
        });
    })
}

/// How a run stands.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Standing {
    /// The run.
    run: String,
    /// Its workflow.
    workflow: String,
    /// RUNNING, SUCCEEDED, PARTIAL, FAILED, BLOCKED, STOPPED or BROKEN_OFF.
    status: String,
    /// How many steps stand where.
    counts: BTreeMap<String, usize>,
    /// Steps, at most 50, those that are not done first.
    steps: Vec<StepFact>,
    /// What steps gave, of at most 50.
    outputs: Map<String, Value>,
}

/// One step.
#[derive(Debug, Serialize, JsonSchema)]
struct StepFact {
    /// Its id.
    id: String,
    /// Who does it.
    worker: String,
    /// Where it stands.
    status: String,
    /// Attempts that are over.
    attempts: usize,
    /// What went wrong, or what is asked.
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
    /// What a person is needed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<String>,
}

impl Standing {
    fn from_view(view: &View) -> Self {
        let mut steps: Vec<&view::StepView> = view.steps.iter().collect();
        steps.sort_by_key(|step| step.status.lets_go_on());
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

    fn told(self) -> Output<Standing> {
        let counts: Vec<String> =
            self.counts.iter().map(|(word, count)| format!("{count} {}", word.to_lowercase())).collect();
        let head = format!("{} {} ({})", self.run, self.status, counts.join(", "));
        let mut text = head.clone();
        for step in self.steps.iter().filter(|step| !step.detail.is_empty()) {
            text.push_str(&format!("\n{}: {}: {}", step.id, step.status.to_lowercase(), step.detail));
        }
        text.push_str(match self.status.as_str() {
            "RUNNING" => "\nIt goes on; ask again with workflow_status.",
            "BLOCKED" => "\nA person is needed: `marvin inspect-run` shows what for, `marvin workflow approve|answer|settle` says it; then go on with workflow_run and this run.",
            "STOPPED" | "BROKEN_OFF" => "\nGo on with workflow_run and this run.",
            _ => "",
        });
        Output::new(head, text, self)
    }
}

/// A workflow, in one of two ways.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckInput {
    /// A file of the working directory, JSON or YAML.
    #[serde(default)]
    file: Option<String>,
    /// Or the workflow itself.
    #[serde(default)]
    workflow: Option<Map<String, Value>>,
}

/// Reads a workflow and looks whether everybody is there who is to do its steps.
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
    match check_workers(&workflow, &workers::names()) {
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

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckReport {
    /// Whether it can be run.
    ok: bool,
    /// Its name.
    workflow: String,
    /// How many steps it has.
    steps: usize,
    /// What is wrong, with step and line.
    problems: Vec<String>,
}

#[async_trait]
impl Tool for WorkflowCheck {
    type Input = CheckInput;
    type Data = CheckReport;
    const NAME: &'static str = "workflow_check";
    const DESCRIPTION: &'static str = "Check a workflow, in a file or given as an object, without running it: every mistake with its step and line.";
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

/// Runs a workflow.
#[derive(Debug, Clone)]
pub struct WorkflowRun(Arc<Workflows>);

/// What is run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunInput {
    /// A file of the working directory, JSON or YAML.
    #[serde(default)]
    file: Option<String>,
    /// Or the workflow itself.
    #[serde(default)]
    workflow: Option<Map<String, Value>>,
    /// Or a run to go on with, by its id.
    #[serde(default)]
    run: Option<String>,
    /// Seconds to wait for its end; 50 unless said. It goes on afterwards.
    #[serde(default)]
    wait_s: Option<u64>,
}

#[async_trait]
impl Tool for WorkflowRun {
    type Input = RunInput;
    type Data = Standing;
    const NAME: &'static str = "workflow_run";
    const DESCRIPTION: &'static str = "Run a workflow from a file or an object, or go on with a run that stopped, and wait for its end for a \
         while. Each command of it is judged, each attempt recorded; a person's step waits for a person.";
    const EXAMPLE: &'static str = r#"{"file": "release.yaml", "wait_s": 50}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("path", "file"), ("run_id", "run"), ("timeout_s", "wait_s")];
    const TOUCHES: Touches = Touches::EXECUTES;

    fn intents(input: &RunInput, _context: &ToolContext) -> Vec<Intent> {
        reads(input.file.as_ref())
    }

    async fn call(&self, input: RunInput, context: &ToolContext) -> Result<Output<Standing>, ToolError> {
        let what = match (&input.run, &input.file, &input.workflow) {
            (Some(run), None, None) => RunSource::Old(self.0.find(Some(run))?),
            (None, ..) => match read(input.file.as_deref(), input.workflow, context)? {
                Ok(workflow) => RunSource::New(Box::new(workflow)),
                Err(problems) => return Err(ToolError::Failed(problems.join("\n"))),
            },
            _ => return Err(ToolError::Usage("Give one of `file`, `workflow` and `run`.".into())),
        };
        let id = self.0.start(what)?;
        self.0.wait(&id, input.wait_s.unwrap_or(USUAL), true, context).await
    }
}

/// Says how a run stands.
#[derive(Debug, Clone)]
pub struct WorkflowStatus(Arc<Workflows>);

/// Which run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusInput {
    /// The run, by its id; the newest of this project unless said.
    #[serde(default)]
    run: Option<String>,
    /// Seconds to wait for its end, where this server runs it; 0 unless said.
    #[serde(default)]
    wait_s: Option<u64>,
}

#[async_trait]
impl Tool for WorkflowStatus {
    type Input = StatusInput;
    type Data = Standing;
    const NAME: &'static str = "workflow_status";
    const DESCRIPTION: &'static str = "How a run of a workflow stands: its steps, what failed and why, what waits for a person; optionally after waiting for its end.";
    const EXAMPLE: &'static str = r#"{"run": "run_20260102_030405_a1b2", "wait_s": 30}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("run_id", "run"), ("timeout_s", "wait_s")];
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, input: StatusInput, context: &ToolContext) -> Result<Output<Standing>, ToolError> {
        let path = self.0.find(input.run.as_deref())?;
        let id = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.0.wait(&id, input.wait_s.unwrap_or(0), false, context).await
    }
}
