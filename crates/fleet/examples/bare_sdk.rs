//! A workflow on the bare SDK of Temporal, for `cargo xtask bench fleet`.
//!
//! It has the shape of a run of Marvin, a chain or a fan, and an activity for each step that does the same work: it starts
//! `marvin attempt`, which starts the command of the step in the sandbox. What it lacks is what Marvin adds: the machine with
//! dependencies, retries and budget, ends in the store, orders and replies in the history, heartbeats, locks by key. With `--nothing`, the activity
//! does nothing.
//!
//! It starts a worker and a workflow, waits for its end, and prints the id of the workflow; figures come from its history.

use anyhow::{Context, bail};
use clap::{Parser, ValueEnum};
use marvin_flow::machine::VERSION;
use marvin_flow::remote::attempt::AttemptRequest;
use marvin_flow::remote::{RemoteEffect, RemoteRun};
use marvin_flow::spec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, Url, WorkflowGetResultOptions, WorkflowStartOptions,
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use temporalio_sdk::runtime::PollerBehavior;
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, SlotSupplier, TunerHolder};
use temporalio_sdk::{
    ActivityOptions, ApplicationFailure, Runtime, Worker, WorkerOptions, WorkflowContext, WorkflowResult,
};
use temporalio_workflow::workflows::join_all;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

const STEP_TIMEOUT: Duration = Duration::from_secs(60);
/// As workers of Marvin have.
const WORKFLOW_SLOTS: usize = 16;

#[derive(Debug, Clone, Parser)]
struct Options {
    /// HOST:PORT of the server
    #[arg(long)]
    address: String,
    /// The id of the workflow, and its task queue
    #[arg(long)]
    id: String,
    #[arg(long, value_enum)]
    shape: Shape,
    #[arg(long)]
    steps: u32,
    #[arg(long)]
    slots: usize,
    #[arg(long)]
    pollers: usize,
    /// The program `marvin`
    #[arg(long)]
    program: PathBuf,
    /// The directory of the steps
    #[arg(long)]
    directory: PathBuf,
    /// Do nothing in a step
    #[arg(long)]
    nothing: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize, Deserialize)]
enum Shape {
    Chain,
    Fan,
}

/// The input of the workflow.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Input {
    shape: Shape,
    steps: u32,
}

#[workflow]
#[derive(Debug, Default)]
struct BareRun;

#[workflow_methods]
impl BareRun {
    #[run(name = "bare_run")]
    async fn run(ctx: &mut WorkflowContext<Self>, input: Input) -> WorkflowResult<u32> {
        let ctx = &*ctx;
        let step = |number: u32| {
            let options = ActivityOptions::with_start_to_close_timeout(STEP_TIMEOUT).build();
            ctx.execute_activity(Steps::step, number, options)
        };
        match input.shape {
            Shape::Chain => {
                for number in 0..input.steps {
                    step(number).await?;
                }
            }
            Shape::Fan => {
                for end in join_all((0..input.steps).map(step)).await {
                    end?;
                }
            }
        }
        Ok(input.steps)
    }
}

/// What the activity needs.
struct Steps {
    options: Options,
    /// The order of one step; each has a key of its own.
    request: AttemptRequest,
}

#[activities]
impl Steps {
    #[activity(name = "step")]
    async fn step(self: Arc<Self>, _ctx: ActivityContext, number: u32) -> Result<u32, ActivityError> {
        if !self.options.nothing {
            self.attempt(number).await.map_err(|error| {
                ActivityError::Application(Box::new(ApplicationFailure::new(format!("{error:#}"))))
            })?;
        }
        Ok(number)
    }
}

impl Steps {
    /// Makes the attempt in a child process, as a worker of Marvin does.
    async fn attempt(&self, number: u32) -> anyhow::Result<()> {
        let mut request = self.request.clone();
        // Of its own in every run, too: what has an end under its key is not done again.
        let run = self.options.id.replace('-', "");
        request.order.ticket.key = format!("{}{run}n{number}", request.order.ticket.key);
        let mut line = serde_json::to_vec(&request)?;
        line.push(b'\n');
        let mut child = Command::new(&self.options.program)
            .args(["attempt", "--watch"])
            .current_dir(&self.options.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut stdin = child.stdin.take().context("the child has no stdin")?;
        stdin.write_all(&line).await?;
        stdin.flush().await?;
        // Its stdin stays open until it has ended: the end of stdin cancels the attempt.
        let output = child.wait_with_output().await?;
        drop(stdin);
        let reply: serde_json::Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let status = reply.pointer("/end/attempt/status");
        if status.and_then(serde_json::Value::as_str) != Some("SUCCESS") {
            bail!("the step failed: {reply}");
        }
        Ok(())
    }
}

/// What this program prints.
#[derive(Debug, Serialize)]
struct ShapeReport<'a> {
    id: &'a str,
    steps: u32,
}

/// A workflow of one step `true`.
const DOCUMENT: &str = r#"{"workflow_id": "bench", "goal": "bench", "steps": [
    {"id": "step", "worker": "Command", "writes": false, "repeatable": true, "inputs": {"command": "true"}}
]}"#;

/// The order of a step `true`, as the workflow code of Marvin gives it to a worker.
fn request(run_id: &str) -> anyhow::Result<AttemptRequest> {
    let workflow = Arc::new(spec::from_text(DOCUMENT, "bench.json")?);
    let effects = RemoteRun::new(workflow.clone(), run_id, 1).on(Vec::new());
    let Some(RemoteEffect::Attempt(order)) = effects.into_iter().next() else {
        bail!("the workflow begins without an attempt");
    };
    let step = workflow.steps.first().context("the workflow has a step")?;
    let workflow = workflow.single_step(step);
    let run_id = run_id.to_string();
    Ok(AttemptRequest { version: VERSION, run_id, workflow, order: *order, merge: None, allowance: None })
}

async fn connect(address: &str) -> anyhow::Result<Client> {
    let connection =
        Connection::connect(ConnectionOptions::new(Url::parse(&format!("http://{address}"))?).build());
    Ok(Client::new(connection.await?, ClientOptions::new("default").build())?)
}

fn worker(runtime: &Runtime, client: &Client, options: &Options) -> anyhow::Result<Worker> {
    let slots = |number: usize| SlotSupplier::FixedSize(FixedSizeSlotSupplier::new(number));
    let tuner = TunerHolder::builder()
        .workflow_task_slot_supplier(slots(WORKFLOW_SLOTS))
        .activity_task_slot_supplier(slots(options.slots))
        .local_activity_task_slot_supplier(slots(1))
        .nexus_task_slot_supplier(slots(1))
        .build();
    let pollers = PollerBehavior::SimpleMaximum(options.pollers);
    let steps = Steps { options: options.clone(), request: request("run_20260101_000000_bench")? };
    let worker = WorkerOptions::new(&options.id)
        .register_activities(steps)
        .tuner(tuner)
        .activity_task_poller_behavior(pollers)
        .workflow_task_poller_behavior(pollers)
        .register_workflow::<BareRun>()?
        .build();
    Worker::new(runtime, client.clone(), worker).map_err(|error| anyhow::anyhow!("{error}"))
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the id is its output")]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let runtime = Runtime::from_current_tokio(temporalio_sdk::runtime::RuntimeOptions::default())?;
    let client = connect(&options.address).await?;
    let mut worker = worker(&runtime, &client, &options)?;
    let stop = worker.shutdown_handle();
    let run = async {
        let start = WorkflowStartOptions::new(&options.id, &options.id).build();
        let input = Input { shape: options.shape, steps: options.steps };
        let handle = client.start_workflow(BareRun::run, input, start).await?;
        let steps = handle.get_result(WorkflowGetResultOptions::default()).await;
        stop();
        anyhow::Ok(steps?)
    };
    let (worked, steps) = tokio::join!(worker.run(), run);
    worked.map_err(|error| anyhow::anyhow!("{error}"))?;
    println!("{}", serde_json::to_string(&ShapeReport { id: &options.id, steps: steps? })?);
    Ok(())
}
