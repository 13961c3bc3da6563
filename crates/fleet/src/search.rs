//! Runs as the server finds them: search attributes, and the list of all runs.
//!
//! A server refuses attributes that it was not told of, so runs carry them only if the setting says so. Without them, runs are
//! found by their ids. Attributes are not encrypted: they hold names and a status, no values of a run.

use crate::FleetError;
use crate::client::FleetClient;
use marvin_base::run_record::RunStatus;
use serde::Serialize;
use temporalio_client::NamespacedClient;
use temporalio_client::grpc::{OperatorService, WorkflowService};
use temporalio_client::tonic::IntoRequest;
use temporalio_common::protos::temporal::api::enums::v1::WorkflowExecutionStatus;
use temporalio_common::protos::temporal::api::operatorservice::v1::ListSearchAttributesRequest;
use temporalio_common::protos::temporal::api::workflow::v1::WorkflowExecutionInfo;
use temporalio_common::protos::temporal::api::workflowservice::v1::ListWorkflowExecutionsRequest;
use temporalio_common::search_attributes::{SearchAttributeKey, SearchAttributeUpdate, SearchAttributes};

const PROJECT_NAME: &str = "MarvinProject";
const WORKFLOW_NAME: &str = "MarvinWorkflow";
const STATUS_NAME: &str = "MarvinStatus";
/// The names of all attributes. Their type is Keyword.
pub const ATTRIBUTES: [&str; 3] = [PROJECT_NAME, WORKFLOW_NAME, STATUS_NAME];
const PROJECT: SearchAttributeKey<String> = SearchAttributeKey::keyword(PROJECT_NAME);
const WORKFLOW: SearchAttributeKey<String> = SearchAttributeKey::keyword(WORKFLOW_NAME);
const STATUS: SearchAttributeKey<String> = SearchAttributeKey::keyword(STATUS_NAME);

/// The first part of all ids of runs on a server.
const ID_PREFIX: &str = "marvin";
const PAGE_SIZE: i32 = 200;
/// Runs that are listed.
const MAX_LISTED_RUNS: usize = 1_000;

/// The id of a run on the server.
#[must_use]
pub fn server_id(project: &str, run_id: &str) -> String {
    format!("{ID_PREFIX}/{project}/{run_id}")
}

/// The attributes of a run that begins.
pub(crate) fn first_attributes(project: &str, workflow: &str) -> SearchAttributes {
    SearchAttributes::new([
        PROJECT.value_set(project.to_string()),
        WORKFLOW.value_set(workflow.to_string()),
        status(RunStatus::Running),
    ])
}

/// The change of the status.
pub(crate) fn status(status: RunStatus) -> SearchAttributeUpdate {
    STATUS.value_set(status.word().to_string())
}

/// A run as the server lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedRun {
    pub run_id: String,
    pub project: String,
    /// The name of its workflow, if it carries search attributes.
    pub workflow_id: Option<String>,
    /// The status of the run if it carries search attributes, else that of its workflow code on the server.
    pub status: String,
    /// The id on the server.
    pub id: String,
}

impl ListedRun {
    /// Reads what the server says; none if the workflow is not one of Marvin's.
    fn read(info: WorkflowExecutionInfo) -> Option<Self> {
        let id = info.execution?.workflow_id;
        let mut parts = id.splitn(3, '/');
        let (Some(ID_PREFIX), Some(project), Some(run_id)) = (parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        let (project, run_id) = (project.to_string(), run_id.to_string());
        let attributes = SearchAttributes::from_proto(&info.search_attributes.unwrap_or_default());
        let closing = WorkflowExecutionStatus::try_from(info.status).ok();
        let status = match closing {
            // Marvin's status does not change any more then.
            Some(WorkflowExecutionStatus::Terminated) => "terminated".into(),
            Some(WorkflowExecutionStatus::Canceled) => "cancelled".into(),
            Some(WorkflowExecutionStatus::TimedOut) => "timed_out".into(),
            Some(WorkflowExecutionStatus::Failed) => "failed".into(),
            Some(WorkflowExecutionStatus::Completed) => {
                attributes.get(&STATUS).unwrap_or_else(|| "completed".into())
            }
            _ => attributes.get(&STATUS).unwrap_or_else(|| "running".into()),
        };
        let workflow_id = attributes.get(&WORKFLOW);
        Some(ListedRun { run_id, project, workflow_id, status, id })
    }
}

impl FleetClient {
    /// The runs that the server has, newest first; of one project, or of all.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub async fn list(&self, project: Option<&str>) -> Result<Vec<ListedRun>, FleetError> {
        let prefix = match project {
            Some(project) => server_id(project, ""),
            None => format!("{ID_PREFIX}/"),
        };
        let query = format!("WorkflowId STARTS_WITH '{prefix}' AND ExecutionStatus != 'ContinuedAsNew'");
        let (mut runs, mut page): (Vec<ListedRun>, Vec<u8>) = Default::default();
        loop {
            let request = ListWorkflowExecutionsRequest {
                namespace: self.client.namespace(),
                page_size: PAGE_SIZE,
                next_page_token: page,
                query: query.clone(),
            };
            let mut client = self.client.clone();
            let listed = WorkflowService::list_workflow_executions(&mut client, request.into_request()).await;
            let listed = listed.map_err(|status| request_error("list the runs", &status))?.into_inner();
            runs.extend(listed.executions.into_iter().filter_map(ListedRun::read));
            page = listed.next_page_token;
            if page.is_empty() || runs.len() >= MAX_LISTED_RUNS {
                runs.truncate(MAX_LISTED_RUNS);
                return Ok(runs);
            }
        }
    }

    /// Checks that the server knows the search attributes, if runs carry them.
    ///
    /// # Errors
    /// When it does not. A server that does not say which it knows is not asked further: it may still accept the run.
    pub async fn check_attributes(&self) -> Result<(), FleetError> {
        if !self.config().search_attributes {
            return Ok(());
        }
        match self.missing_attributes().await {
            Ok(missing) if !missing.is_empty() => Err(FleetError::SearchAttributes { missing }),
            _ => Ok(()),
        }
    }

    /// The search attributes that the server does not know.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub async fn missing_attributes(&self) -> Result<Vec<&'static str>, FleetError> {
        let request = ListSearchAttributesRequest { namespace: self.client.namespace() };
        let mut client = self.client.clone();
        let known = OperatorService::list_search_attributes(&mut client, request.into_request()).await;
        let known = known.map_err(|status| request_error("list the search attributes", &status))?;
        let known = known.into_inner().custom_attributes;
        Ok(ATTRIBUTES.into_iter().filter(|name| !known.contains_key(*name)).collect())
    }
}

fn request_error(verb: &'static str, status: &temporalio_client::tonic::Status) -> FleetError {
    FleetError::Request { verb, reason: status.message().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use temporalio_common::protos::temporal::api::common::v1::WorkflowExecution;

    fn info(
        id: &str,
        status: WorkflowExecutionStatus,
        attributes: SearchAttributes,
    ) -> WorkflowExecutionInfo {
        let execution = WorkflowExecution { workflow_id: id.into(), run_id: "r".into() };
        let mut info = WorkflowExecutionInfo { execution: Some(execution), ..Default::default() };
        info.set_status(status);
        info.search_attributes = Some(attributes.into_proto());
        info
    }

    #[test]
    fn a_run_is_listed_with_its_attributes_and_without() {
        let (attributes, none) = (first_attributes("p", "build"), SearchAttributes::default());
        let id = server_id("p", "run_1");
        let running = WorkflowExecutionStatus::Running;
        let with = ListedRun::read(info(&id, running, attributes.clone())).unwrap();
        assert_eq!(
            (with.project.as_str(), with.run_id.as_str(), with.status.as_str()),
            ("p", "run_1", "running")
        );
        assert_eq!(with.workflow_id.as_deref(), Some("build"));
        let terminated = info(&id, WorkflowExecutionStatus::Terminated, attributes);
        assert_eq!(ListedRun::read(terminated).unwrap().status, "terminated");
        let without = ListedRun::read(info(&id, WorkflowExecutionStatus::Completed, none.clone())).unwrap();
        assert_eq!((without.status.as_str(), without.workflow_id), ("completed", None));
        assert_eq!(ListedRun::read(info("other/p/run_1", running, none)), None);
    }
}
