//! The worker: it takes tasks of runs from the server until it is asked to end.

use crate::activities::Activities;
use crate::client::FleetClient;
use crate::config::role_queue;
use crate::metrics::{Metrics, MetricsServer};
use crate::wave::MarvinWave;
use crate::workflow::MarvinRun;
use crate::{FleetConfig, FleetError};
use futures::future::join_all;
use marvin_agent::ProjectContext;
use marvin_base::environment::Environment;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use temporalio_sdk::runtime::PollerBehavior;
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, SlotSupplier, TunerHolder};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use tokio_util::sync::CancellationToken;

/// Tasks of workflow code at a time.
const WORKFLOW_SLOTS: usize = 16;
/// Executions of workflow code that stay in memory.
const CACHED_RUNS: usize = 100;

/// Options of a worker.
#[derive(Debug)]
pub struct WorkerSetup {
    pub config: FleetConfig,
    /// Workers of steps whose queues it serves; none: the common queue, with workflow code.
    pub roles: Vec<String>,
    /// The directory that attempts begin in.
    pub directory: PathBuf,
    /// This program.
    pub program: PathBuf,
}

/// A worker that takes tasks.
#[derive(Debug)]
pub struct ReadyWorker {
    pub queues: Vec<String>,
    /// Where it serves its metrics, if it does.
    pub metrics: Option<SocketAddr>,
}

/// Serves the queues until `cancel`; then no task is taken any more, and those that run may end.
///
/// `ready` is called when the server and the store answer.
///
/// # Errors
/// When the server or the store cannot be used.
pub async fn serve(
    setup: WorkerSetup,
    project: Arc<ProjectContext>,
    environment: &Environment,
    cancel: CancellationToken,
    ready: impl FnOnce(&ReadyWorker),
) -> Result<(), FleetError> {
    let WorkerSetup { config, roles, directory, program } = setup;
    let client = FleetClient::connect(config.clone(), environment).await?;
    let runtime = Runtime::from_current_tokio(temporalio_sdk::runtime::RuntimeOptions::default())
        .map_err(|error| FleetError::Worker(error.to_string()))?;
    let metrics = Metrics::new(config.slots);
    let server = match config.metrics {
        Some(address) => Some(MetricsServer::start(address, metrics.clone()).await?),
        None => None,
    };
    let activities = Activities::new(project, client.store().clone(), program, directory, metrics.clone());
    let queues: Vec<String> = match roles.is_empty() {
        true => vec![config.queue()],
        false => roles.iter().map(|role| role_queue(&config.queue(), role)).collect(),
    };
    let mut workers = Vec::new();
    for queue in &queues {
        workers.push(worker(&runtime, &client, &config, queue, roles.is_empty(), &activities)?);
    }
    let stops: Vec<_> = workers.iter().map(Worker::shutdown_handle).collect();
    ready(&ReadyWorker { queues, metrics: server.as_ref().map(MetricsServer::address) });
    let watch = async {
        cancel.cancelled().await;
        metrics.drain();
        stops.iter().for_each(|stop| stop());
        // The workers end by themselves.
        std::future::pending::<()>().await;
    };
    let all = join_all(workers.iter_mut().map(Worker::run));
    tokio::select! {
        ended = all => ended.into_iter().try_for_each(|one| one.map_err(|error| FleetError::Worker(error.to_string()))),
        () = watch => Ok(()),
    }
}

fn worker(
    runtime: &Runtime,
    client: &FleetClient,
    config: &FleetConfig,
    queue: &str,
    is_common: bool,
    activities: &Activities,
) -> Result<Worker, FleetError> {
    let refuse = |reason: String| FleetError::Worker(reason);
    let slots = |number: usize| SlotSupplier::FixedSize(FixedSizeSlotSupplier::new(number));
    let tuner = TunerHolder::builder()
        .workflow_task_slot_supplier(slots(WORKFLOW_SLOTS))
        .activity_task_slot_supplier(slots(config.slots))
        .local_activity_task_slot_supplier(slots(1))
        .nexus_task_slot_supplier(slots(1))
        .build();
    // Deliveries go to the requests that a lost worker left open, so there are few.
    let pollers = PollerBehavior::SimpleMaximum(config.pollers);
    let options = WorkerOptions::new(queue)
        .register_activities(activities.clone())
        .max_cached_workflows(CACHED_RUNS)
        .tuner(tuner)
        .activity_task_poller_behavior(pollers)
        .workflow_task_poller_behavior(pollers)
        .graceful_shutdown_period(config.drain);
    let options = match is_common {
        true => options
            .register_workflow::<MarvinRun>()
            .and_then(|options| options.register_workflow::<MarvinWave>())
            .map_err(|error| refuse(error.to_string()))?
            .build(),
        false => options.build(),
    };
    Worker::new(runtime, client.client.clone(), options).map_err(|error| refuse(error.to_string()))
}
