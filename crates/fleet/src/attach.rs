//! Runs as a person sees them: started, followed, looked at, stopped and decided from a client.
//!
//! The client has a copy of the run in a run directory, with the same files as a run on one machine. The server's history is the
//! truth: the copy is brought up to date from it.

use crate::FleetError;
use crate::client::{FleetClient, HistoryReader};
use crate::fold::Closing;
use crate::search;
use crate::task::{RunInput, RunSignal};
use crate::workspace::WorkspaceState;
use marvin_base::redact::Redactor;
use marvin_base::run_record::FleetRecord;
use marvin_flow::engine::{EngineError, Outcome, Run};
use marvin_flow::machine::VERSION;
use marvin_flow::spec::Workflow;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The pause before the server is asked for further events: those of a fast run are read together.
const READ_PAUSE: Duration = Duration::from_millis(200);
/// The pause before the server is asked again that did not answer.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Why a run cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The workflow code refused the run.
    #[error("the run failed on the server: {0}")]
    Refused(String),
    /// A program other than Marvin closed it on the server.
    #[error("the run was {0} on the server, not by Marvin")]
    ClosedOutside(&'static str),
}

/// How following a run ended.
#[derive(Debug)]
pub enum FollowResult {
    /// Nothing follows without a person.
    Ended(Box<Outcome>),
    /// The run continues; this client does not watch it any more.
    Detached,
}

/// Limits of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    /// The most attempts at a time.
    pub slots: usize,
    /// Nano-dollars that models may cost.
    pub cost: Option<u64>,
}

/// The input of a new run.
///
/// # Errors
/// When the workflow contains a secret, which would stay in the server's history.
pub fn run_input(
    client: &FleetClient,
    run_id: &str,
    workflow: &Workflow,
    limits: RunLimits,
    workspace: Option<WorkspaceState>,
    redactor: &Redactor,
) -> Result<RunInput, FleetError> {
    if redactor.finds(&workflow.to_json().to_string()) {
        return Err(FleetError::Secret);
    }
    let config = client.config();
    Ok(RunInput {
        version: VERSION,
        run_id: run_id.to_string(),
        slots: limits.slots,
        heartbeat_s: config.heartbeat.as_secs(),
        roles: config.roles.clone(),
        limit: limits.cost,
        workspace,
        search_attributes: config.search_attributes,
        state: None,
    })
}

/// Starts a run whose copy was created, and notes in the copy where it is.
///
/// # Errors
/// When the server refuses it, or the copy cannot be written.
pub async fn start(
    client: &FleetClient,
    run: &mut Run,
    project: &str,
    input: RunInput,
) -> Result<(), AttachError> {
    let config = client.config();
    let id = search::server_id(project, &input.run_id);
    let mut record = FleetRecord {
        address: config.address.clone(),
        namespace: config.namespace.clone(),
        id,
        first_history: String::new(),
    };
    // First, so that the run can be found even if this process dies here.
    run.set_fleet(record.clone())?;
    record.first_history = client.start(project, &record.id, input, run.workflow()).await?;
    run.set_fleet(record)?;
    Ok(())
}

/// Follows a run until nothing follows without a person, or until `cancel`.
///
/// # Errors
/// When the history or the copy cannot be used. A server that is away for a while is waited for.
pub async fn follow(
    reader: &mut HistoryReader,
    mut run: Run,
    cancel: CancellationToken,
) -> Result<FollowResult, AttachError> {
    let began = Instant::now();
    reader.read().await?;
    loop {
        run.append(reader.fold().transitions())?;
        if is_settled(reader).await? {
            return close(reader, run, began).map(|outcome| FollowResult::Ended(Box::new(outcome)));
        }
        let waited = tokio::select! {
            waited = reader.wait() => waited,
            () = cancel.cancelled() => return Ok(FollowResult::Detached),
        };
        let pause = match waited {
            Err(FleetError::Request { .. }) => RETRY_PAUSE,
            other => other.map(|()| READ_PAUSE)?,
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = cancel.cancelled() => return Ok(FollowResult::Detached),
        }
    }
}

/// Brings the copy of a run up to date; returns the outcome if nothing follows without a person.
///
/// # Errors
/// When the history or the copy cannot be used.
pub async fn refresh(reader: &mut HistoryReader, mut run: Run) -> Result<Option<Outcome>, AttachError> {
    let began = Instant::now();
    reader.read().await?;
    run.append(reader.fold().transitions())?;
    if is_settled(reader).await? {
        return close(reader, run, began).map(Some);
    }
    Ok(None)
}

/// Stops a run, and waits until its attempts have ended.
///
/// # Errors
/// When the server cannot be asked.
pub async fn stop(client: &FleetClient, record: &FleetRecord, timeout: Duration) -> Result<bool, FleetError> {
    client.signal(&record.id, RunSignal::Stop).await?;
    let mut reader = client.reader(&record.id, &record.first_history);
    let stopped = async {
        reader.read().await?;
        while !(reader.fold().is_idle() || reader.fold().closing().is_some()) {
            reader.wait().await?;
        }
        Ok::<(), FleetError>(())
    };
    match tokio::time::timeout(timeout, stopped).await {
        Ok(ended) => ended.map(|()| true),
        Err(_) => Ok(false),
    }
}

/// Whether the run is over or waits, as far as the server knows.
async fn is_settled(reader: &HistoryReader) -> Result<bool, FleetError> {
    if reader.fold().closing().is_some() {
        return Ok(true);
    }
    Ok(reader.fold().is_idle() && reader.is_current().await?)
}

fn close(reader: &HistoryReader, run: Run, began: Instant) -> Result<Outcome, AttachError> {
    let Some(driver) = reader.fold().driver() else {
        return Err(FleetError::History("it has no beginning".into()).into());
    };
    let outcome = run.close(driver.machine(), began)?;
    match reader.fold().closing() {
        Some(Closing::Failed(reason)) => Err(AttachError::Refused(reason.clone())),
        Some(Closing::Outside(how)) => Err(AttachError::ClosedOutside(how)),
        Some(Closing::Completed | Closing::Continued(_)) | None => Ok(outcome),
    }
}
