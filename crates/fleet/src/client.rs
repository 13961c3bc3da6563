//! The client: starts runs, signals them, and reads their histories.

use crate::codec::BlobCodec;
use crate::fold::{Closing, HistoryFold};
use crate::search;
use crate::task::{RunInput, RunSignal};
use crate::workflow::MarvinRun;
use crate::{FleetConfig, FleetError};
use marvin_base::environment::Environment;
use marvin_flow::spec::Workflow;
use marvin_store::Store;
use std::time::Duration;
use temporalio_client::errors::{WorkflowInteractionError, WorkflowStartError};
use temporalio_client::grpc::WorkflowService;
use temporalio_client::tonic::{Code, IntoRequest};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, NamespacedClient, Url, WorkflowDescribeOptions,
    WorkflowExecutionInfo, WorkflowHandle, WorkflowIdConflictPolicy, WorkflowIdReusePolicy,
    WorkflowSignalOptions, WorkflowStartOptions,
};
use temporalio_common::data_converters::{
    DataConverter, DefaultFailureConverter, MultiArgs2, PayloadConverter,
};
use temporalio_common::protos::temporal::api::common::v1::WorkflowExecution;
use temporalio_common::protos::temporal::api::workflowservice::v1::GetWorkflowExecutionHistoryRequest;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for one task of the workflow code; its steps have their own.
const TASK_TIMEOUT_S: u64 = 10;
/// Steps of a workflow that a task may take one second longer for.
const STEPS_PER_SECOND: usize = 2_000;
const MAX_TASK_TIMEOUT_S: u64 = 120;

type RunHandle = WorkflowHandle<Client, MarvinRun>;

/// A connection to the server and the store of a fleet.
#[derive(Clone)]
pub struct FleetClient {
    pub(crate) client: Client,
    config: FleetConfig,
    store: Store,
    codec: BlobCodec,
}

impl std::fmt::Debug for FleetClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FleetClient").field("config", &self.config).finish_non_exhaustive()
    }
}

impl FleetClient {
    /// Connects to the server, and opens the store.
    ///
    /// # Errors
    /// When the server cannot be reached, or the store does not keep conditional writes.
    pub async fn connect(config: FleetConfig, environment: &Environment) -> Result<Self, FleetError> {
        let store = Store::open(config.store.clone(), environment).await?;
        let refuse = |reason: String| FleetError::Connect { address: config.address.clone(), reason };
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let url = Url::parse(&format!("{scheme}://{}", config.address))
            .map_err(|error| refuse(error.to_string()))?;
        let options = ConnectionOptions::new(url)
            .identity(identity())
            .connect_timeout(CONNECT_TIMEOUT)
            .maybe_tls_options(config.tls.clone())
            .maybe_api_key(config.api_key.clone())
            .build();
        let connecting = tokio::time::timeout(CONNECT_TIMEOUT, Connection::connect(options));
        let connection = match connecting.await {
            Ok(connected) => connected.map_err(|error| refuse(error.to_string()))?,
            Err(_) => return Err(refuse(format!("no answer within {} s", CONNECT_TIMEOUT.as_secs()))),
        };
        let codec = BlobCodec::new(store.clone(), environment)?;
        let failures = DefaultFailureConverter::default();
        let converter = DataConverter::new(PayloadConverter::default(), failures, codec.clone());
        let options = ClientOptions::new(config.namespace.clone()).data_converter(converter).build();
        let client = Client::new(connection, options).map_err(|error| refuse(error.to_string()))?;
        Ok(FleetClient { client, config, store, codec })
    }

    #[must_use]
    pub fn config(&self) -> &FleetConfig {
        &self.config
    }

    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Starts a run under an id that no other run ever had; returns the id of its first execution.
    ///
    /// # Errors
    /// When the server refuses it.
    pub async fn start(
        &self,
        project: &str,
        id: &str,
        input: RunInput,
        workflow: &Workflow,
    ) -> Result<String, FleetError> {
        let attributes =
            input.search_attributes.then(|| search::first_attributes(project, &workflow.workflow_id));
        let steps = workflow.steps.len();
        let more = u64::try_from(steps / STEPS_PER_SECOND).unwrap_or(MAX_TASK_TIMEOUT_S);
        let timeout = Duration::from_secs((TASK_TIMEOUT_S + more).min(MAX_TASK_TIMEOUT_S));
        let options = WorkflowStartOptions::new(self.config.queue(), id)
            .id_conflict_policy(WorkflowIdConflictPolicy::Fail)
            .id_reuse_policy(WorkflowIdReusePolicy::RejectDuplicate)
            .task_timeout(timeout)
            .maybe_search_attributes(attributes)
            .build();
        let document = serde_json::value::to_raw_value(&workflow.to_json());
        let input = MultiArgs2(input, document.map_err(|error| request("start the run", error))?);
        let handle = match self.client.start_workflow(MarvinRun::run, input, options).await {
            Ok(handle) => handle,
            // The answer to an earlier request of this process was lost.
            Err(WorkflowStartError::AlreadyStarted { run_id: Some(run_id), .. }) => return Ok(run_id),
            Err(error) => return Err(request("start the run", error)),
        };
        Ok(handle.run_id().unwrap_or_default().to_string())
    }

    /// Sends a signal, which the server keeps until a worker takes it.
    ///
    /// # Errors
    /// When the server does not know the run, or the run is over.
    pub async fn signal(&self, id: &str, signal: RunSignal) -> Result<(), FleetError> {
        let (handle, options) = (self.handle(id, None), WorkflowSignalOptions::default());
        let sent = handle.signal(MarvinRun::take_signal, signal, options).await;
        sent.map_err(|error| interaction("signal the run", id, error))
    }

    fn handle(&self, id: &str, execution: Option<String>) -> RunHandle {
        let info = WorkflowExecutionInfo::builder().namespace(self.config.namespace.clone()).workflow_id(id);
        WorkflowHandle::new(self.client.clone(), info.maybe_run_id(execution).build())
    }

    /// A reader of the history of a run.
    #[must_use]
    pub fn reader(&self, id: &str, first_execution: &str) -> HistoryReader {
        HistoryReader {
            client: self.clone(),
            id: id.to_string(),
            execution: first_execution.to_string(),
            page: Vec::new(),
            fold: HistoryFold::new(self.codec.clone()),
        }
    }
}

/// A reader of the history of a run, across all executions of its workflow code.
#[derive(Debug)]
pub struct HistoryReader {
    client: FleetClient,
    id: String,
    execution: String,
    /// Where the next page begins.
    page: Vec<u8>,
    fold: HistoryFold,
}

impl HistoryReader {
    #[must_use]
    pub fn fold(&self) -> &HistoryFold {
        &self.fold
    }

    /// Reads everything that the server has.
    ///
    /// # Errors
    /// When the server cannot be asked, or a payload cannot be read.
    pub async fn read(&mut self) -> Result<(), FleetError> {
        loop {
            let is_last = self.read_page(false).await?;
            if is_last && !self.follow() {
                self.page.clear();
                return Ok(());
            }
        }
    }

    /// Waits for further events, and takes them. The server answers without events after some seconds.
    ///
    /// # Errors
    /// When the server cannot be asked, or a payload cannot be read.
    pub async fn wait(&mut self) -> Result<(), FleetError> {
        let is_last = self.read_page(true).await?;
        if is_last {
            self.follow();
        }
        Ok(())
    }

    /// Whether the server has no event that was not read.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub async fn is_current(&self) -> Result<bool, FleetError> {
        let handle = self.client.handle(&self.id, Some(self.execution.clone()));
        let described = handle.describe(WorkflowDescribeOptions::default()).await;
        let described = described.map_err(|error| interaction("describe the run", &self.id, error))?;
        let read = usize::try_from(self.fold.last_event()).unwrap_or(0);
        Ok(described.history_length() <= read)
    }

    /// Goes to the next execution, if there is one.
    fn follow(&mut self) -> bool {
        let Some(Closing::Continued(next)) = self.fold.closing() else { return false };
        self.execution = next.clone();
        self.page.clear();
        self.fold.next_execution();
        true
    }

    async fn read_page(&mut self, wait: bool) -> Result<bool, FleetError> {
        let page = GetWorkflowExecutionHistoryRequest {
            namespace: self.client.client.namespace(),
            execution: Some(WorkflowExecution {
                workflow_id: self.id.clone(),
                run_id: self.execution.clone(),
            }),
            next_page_token: self.page.clone(),
            wait_new_event: wait,
            ..GetWorkflowExecutionHistoryRequest::default()
        };
        let mut client = self.client.client.clone();
        let answer = WorkflowService::get_workflow_execution_history(&mut client, page.into_request()).await;
        let answer = match answer {
            Ok(answer) => answer.into_inner(),
            Err(status) if status.code() == Code::NotFound => {
                return Err(FleetError::Unknown { id: self.id.clone() });
            }
            Err(status) => {
                // A server that was restarted may not know the page.
                self.page.clear();
                return Err(request("read the history", status.message()));
            }
        };
        for event in answer.history.map(|history| history.events).unwrap_or_default() {
            self.fold.take(event).await?;
        }
        self.page = answer.next_page_token;
        Ok(self.page.is_empty())
    }
}

/// The name of this process for the server.
fn identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("marvin {} {}@{host}", env!("CARGO_PKG_VERSION"), std::process::id())
}

fn request(verb: &'static str, error: impl std::fmt::Display) -> FleetError {
    FleetError::Request { verb, reason: error.to_string() }
}

fn interaction(verb: &'static str, id: &str, error: WorkflowInteractionError) -> FleetError {
    match error {
        WorkflowInteractionError::NotFound(_) => FleetError::Unknown { id: id.to_string() },
        other => request(verb, other),
    }
}
