//! Runs that other machines carry out, and the worker.

use super::{FleetCheck, ServerRun, WorkerArguments};
use crate::commands::workflow::progress::Progress;
use crate::failure::Failure;
use crate::output;
use crate::project::{context, current_directory};
use crate::runtime::{cancel_on_signal, runtime};
use marvin_agent::ProjectContext;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::person::DecidedBy;
use marvin_base::run_record::{FleetRecord, RunRecord, RunStatus};
use marvin_base::settings::table;
use marvin_fleet::attach::{self, AttachError, FollowResult, RunLimits};
use marvin_fleet::client::{FleetClient, HistoryReader};
use marvin_fleet::driver::RunDriver;
use marvin_fleet::search::ListedRun;
use marvin_fleet::task::{RunInput, RunSignal};
use marvin_fleet::worker::{self, ReadyWorker, WorkerSetup};
use marvin_fleet::workspace::Repository;
use marvin_fleet::{FleetConfig, FleetError};
use marvin_flow::engine::{self, Options, Outcome, PersonDecision, Run};
use marvin_flow::spec::Workflow;
use marvin_model::price;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long attempts may take to end once their run is stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(120);

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Self {
        let hint = error.hint();
        let failure = match error {
            FleetError::Setting { .. } => Failure::usage(error),
            FleetError::Secret => Failure::refused(error),
            _ => Failure::failed(error),
        };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<AttachError> for Failure {
    fn from(error: AttachError) -> Self {
        match error {
            AttachError::Fleet(error) => error.into(),
            AttachError::Engine(error) => error.into(),
            AttachError::Refused(_) | AttachError::ClosedOutside(_) => Failure::failed(error),
        }
    }
}

/// Serves queues until a signal.
pub(crate) fn serve(arguments: &WorkerArguments) -> Result<Exit, Failure> {
    let project = Arc::new(context(arguments.working_dir.as_deref(), true, Vec::new())?);
    let environment = Environment::of_process();
    let mut config =
        FleetConfig::read(&project.settings, &environment)?.with_queue(arguments.queue.as_deref());
    if let Some(slots) = arguments.slots {
        config.slots = slots as usize;
    }
    let here = current_directory()?;
    let setup = WorkerSetup {
        roles: arguments.roles.clone(),
        directory: arguments.working_dir.as_deref().map_or_else(|| here.clone(), |path| here.join(path)),
        program: std::env::current_exe()
            .map_err(|error| Failure::failed(format!("cannot find this program: {error}")))?,
        config,
    };
    let ready = |worker: &ReadyWorker| {
        let metrics = worker.metrics.map(|address| format!("; metrics: http://{address}/metrics"));
        let queues = worker.queues.join(", ");
        output::talk(&format!("ready, takes steps from {queues}{}", metrics.unwrap_or_default()));
    };
    // Unlike elsewhere, more than one thread: the children are not tied to the thread that starts them.
    let threads = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    threads
        .block_on(async { worker::serve(setup, project, &environment, cancel_on_signal(), ready).await })?;
    Ok(Exit::Success)
}

/// Starts a run, and follows it unless it is to be detached.
pub(crate) async fn begin(
    project: &ProjectContext,
    workflow: Workflow,
    options: Options,
    detach: bool,
    cancel: CancellationToken,
    progress: &Progress,
) -> Result<Option<Outcome>, Failure> {
    let environment = Environment::of_process();
    let config = FleetConfig::read(&project.settings, &environment)?;
    let slots = if options.concurrency > 0 { options.concurrency } else { MAX_ATTEMPTS };
    let limits = RunLimits { slots, cost: cost_limit(project) };
    let client = FleetClient::connect(config, &environment).await?;
    // Before a directory is made for it.
    client.check_attributes().await?;
    attach::run_input(&client, "", &workflow, limits, None, &project.redactor)?;
    let workspace = match client.config().clones {
        true => Some(repository(project, &client).current().await.map_err(FleetError::from)?),
        false => None,
    };
    let mut run = Run::begin(project, workflow, options)?;
    let run_id = run.directory().id().to_string();
    let input = attach::run_input(&client, &run_id, run.workflow(), limits, workspace, &project.redactor)?;
    run.announce()?;
    attach::start(&client, &mut run, &project_name(project), input).await?;
    let path = run.directory().path().to_path_buf();
    if detach {
        return Ok(detached(&path));
    }
    let Some(record) = run.fleet().cloned() else { return Ok(None) };
    let mut reader = client.reader(&record.id, &record.first_history);
    let followed = attach::follow(&mut reader, run, cancel).await;
    progress.end();
    let outcome = outcome(followed?, &path);
    take_changes(project, &client, &reader, &path).await?;
    Ok(outcome)
}

/// Attempts of a run at a time, unless it is asked for: workers limit themselves.
const MAX_ATTEMPTS: usize = 1_000;

/// Continues a run that was stopped, and follows it.
pub(crate) async fn resume(
    project: &ProjectContext,
    path: &Path,
    record: &FleetRecord,
    options: Options,
    cancel: CancellationToken,
    progress: &Progress,
) -> Result<Option<Outcome>, Failure> {
    let client = connect(project, record).await?;
    let run = Run::resume(project, path, options)?;
    let mut reader = client.reader(&record.id, &record.first_history);
    reader.read().await.map_err(Failure::from)?;
    let is_open = reader.fold().closing().is_none();
    let limit = cost_limit(project);
    let needs_signal =
        |driver: &RunDriver| driver.machine().state().stopping || driver.input().limit != limit;
    if is_open && reader.fold().driver().is_some_and(needs_signal) {
        client.signal(&record.id, RunSignal::Resume { limit }).await?;
    }
    let followed = attach::follow(&mut reader, run, cancel).await;
    progress.end();
    let outcome = outcome(followed?, path);
    take_changes(project, &client, &reader, path).await?;
    Ok(outcome)
}

/// The clone of this machine.
fn repository(project: &ProjectContext, client: &FleetClient) -> Repository {
    Repository::new(project.directory.clone(), client.store().clone())
}

/// Applies what the steps of a run changed to the workspace of this machine, each change once.
async fn take_changes(
    project: &ProjectContext,
    client: &FleetClient,
    reader: &HistoryReader,
    path: &Path,
) -> Result<(), Failure> {
    let Some(RunInput { workspace: Some(state), .. }) = reader.fold().driver().map(RunDriver::input) else {
        return Ok(());
    };
    let note = path.join(APPLIED_FILE);
    let read = std::fs::read_to_string(&note).ok().and_then(|text| text.trim().parse().ok());
    // What was not committed when the run began is there.
    let applied: usize = read.unwrap_or(reader.fold().first_changes());
    let repository = repository(project, client);
    for (number, change) in state.changes.iter().enumerate().skip(applied) {
        if let Err(error) = repository.apply(std::slice::from_ref(change)).await {
            let text = format!(
                "cannot apply change {change} of the run to {}: {error}",
                project.directory.display()
            );
            return Err(
                Failure::failed(text).hint("undo what was changed here since the run began, and resume it")
            );
        }
        let write = std::fs::write(&note, (number + 1).to_string());
        write.map_err(|error| Failure::failed(format!("cannot write {}: {error}", note.display())))?;
    }
    Ok(())
}

/// The file in the copy of a run with the number of changes that its workspace has.
const APPLIED_FILE: &str = "applied_changes";

/// The budget of a run in nano-dollars.
fn cost_limit(project: &ProjectContext) -> Option<u64> {
    project.settings.amount(&table::MAX_COST).map(price::nanos)
}

fn outcome(followed: FollowResult, path: &Path) -> Option<Outcome> {
    match followed {
        FollowResult::Ended(outcome) => Some(*outcome),
        FollowResult::Detached => detached(path),
    }
}

/// Says that a run continues without this process.
fn detached(path: &Path) -> Option<Outcome> {
    let path = path.display();
    output::talk(&format!(
        "the run continues on its workers: {path}\n  hint: marvin inspect-run --run-path {path}\n  hint: marvin stop-run --run-path {path}"
    ));
    None
}

async fn connect(project: &ProjectContext, record: &FleetRecord) -> Result<FleetClient, Failure> {
    let environment = Environment::of_process();
    let config = FleetConfig::read(&project.settings, &environment)?.at(record);
    Ok(FleetClient::connect(config, &environment).await?)
}

/// The context of the project that a run belongs to.
fn context_of(path: &Path) -> Result<ProjectContext, Failure> {
    let project = Layout::new(&Environment::of_process(), None).project_of_run(path);
    context(project.as_deref(), true, Vec::new())
}

/// Stops a run.
pub(crate) fn stop(path: &Path, record: &FleetRecord) -> Result<(), Failure> {
    let project = context_of(path)?;
    let stopped = runtime()?.block_on(async {
        let client = connect(&project, record).await?;
        Ok::<bool, Failure>(attach::stop(&client, record, STOP_TIMEOUT).await?)
    })?;
    if !stopped {
        let text =
            format!("the attempts of {} did not end within {} s", path.display(), STOP_TIMEOUT.as_secs());
        return Err(Failure::failed(text).hint("they end when their workers hear of it; nothing else begins"));
    }
    refresh(path, record)
}

/// Gives a run the decision of a person.
pub(crate) fn decide(
    path: &Path,
    record: &FleetRecord,
    step: &str,
    decision: &PersonDecision,
    by: &DecidedBy,
) -> Result<(), Failure> {
    refresh(path, record)?;
    let (step, mut decision) = engine::check_decision(path, step, decision, by)?;
    let project = context_of(path)?;
    project.redactor.value(&mut decision);
    runtime()?.block_on(async {
        let client = connect(&project, record).await?;
        client.signal(&record.id, RunSignal::Decide { step, decision }).await.map_err(Failure::from)
    })
}

/// Brings the copy of a run up to date, unless another process follows it.
pub(crate) fn refresh(path: &Path, record: &FleetRecord) -> Result<(), Failure> {
    let status = RunRecord::read(path).ok().and_then(|record| record.status);
    let may_change = matches!(
        status,
        None | Some(RunStatus::Running | RunStatus::Blocked | RunStatus::Stopped | RunStatus::Failed)
    );
    if !may_change || engine::holder(path).is_some() {
        return Ok(());
    }
    let project = context_of(path)?;
    let options = Options { concurrency: 0, sync: None, listener: Box::new(|_| {}) };
    runtime()?.block_on(async {
        let client = connect(&project, record).await?;
        let mut reader = client.reader(&record.id, &record.first_history);
        let run = Run::resume(&project, path, options)?;
        attach::refresh(&mut reader, run).await?;
        Ok(())
    })
}

/// The name of a project in the ids of its runs.
fn project_name(project: &ProjectContext) -> String {
    let name = project.directory.file_name().map(|name| name.to_string_lossy().into_owned());
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    name.unwrap_or_default().chars().map(plain).take(60).collect()
}

/// The runs of a project that the server has, whichever client started them; without a project, those of all.
pub(crate) fn list(working_dir: Option<&Path>, all: bool) -> Result<Vec<ServerRun>, Failure> {
    let project = context(working_dir, true, Vec::new())?;
    let environment = Environment::of_process();
    let config = FleetConfig::read(&project.settings, &environment)?;
    let name = project_name(&project);
    let listed = runtime()?.block_on(async {
        let client = FleetClient::connect(config, &environment).await?;
        client.list((!all).then_some(name.as_str())).await
    });
    Ok(listed?.into_iter().map(ServerRun::from).collect())
}

impl From<ListedRun> for ServerRun {
    fn from(run: ListedRun) -> Self {
        let ListedRun { run_id, project, workflow_id, status, id } = run;
        ServerRun { run_id, project, workflow_id, status: status.to_uppercase(), id }
    }
}

/// Checks of the server and the store, if a store is set.
pub(crate) fn check(project: &ProjectContext) -> Vec<FleetCheck> {
    let environment = Environment::of_process();
    let Ok(config) = FleetConfig::read(&project.settings, &environment) else { return Vec::new() };
    let (address, store) = (config.address.clone(), config.store.to_string());
    let Ok(runtime) = runtime() else { return Vec::new() };
    runtime.block_on(async {
        match FleetClient::connect(config, &environment).await {
            Ok(client) => {
                let answers = FleetCheck::ok(format!("the Temporal server {address} answers"));
                let keeps = FleetCheck::ok(format!("the store {store} keeps conditional writes"));
                [answers, keeps].into_iter().chain(check_attributes(&client).await).collect()
            }
            Err(error) => {
                let fix = error.hint().unwrap_or("start the server, or change the settings fleet.*");
                vec![FleetCheck::problem(error.to_string(), fix)]
            }
        }
    })
}

/// Whether the server knows the search attributes, if runs carry them.
async fn check_attributes(client: &FleetClient) -> Option<FleetCheck> {
    if !client.config().search_attributes {
        return None;
    }
    Some(match client.missing_attributes().await {
        Ok(missing) if missing.is_empty() => {
            FleetCheck::ok("the server knows the search attributes of runs".into())
        }
        Ok(missing) => {
            let error = FleetError::SearchAttributes { missing };
            let fix = error.hint().unwrap_or_default();
            FleetCheck::problem(error.to_string(), fix)
        }
        Err(error) => FleetCheck::problem(error.to_string(), "set fleet.search_attributes=false"),
    })
}
