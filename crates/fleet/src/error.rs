//! Errors of runs on many machines.

use marvin_store::StoreError;

/// Why something on many machines cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A setting is missing or invalid.
    #[error("cannot use the setting {key}: {reason}")]
    Setting { key: &'static str, reason: String },
    #[error("cannot connect to the Temporal server {address}: {reason}")]
    Connect { address: String, reason: String },
    #[error("cannot {verb} on the Temporal server: {reason}")]
    Request { verb: &'static str, reason: String },
    /// The server does not know the run, or not any more.
    #[error("the Temporal server does not know the run {id}")]
    Unknown { id: String },
    /// The history of a run is not one of Marvin's.
    #[error("cannot read the history of the run: {0}")]
    History(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A workflow with a secret would keep it in the history.
    #[error("cannot start the run: its workflow contains a secret, which would be in the server's history")]
    Secret,
    #[error(transparent)]
    Workspace(#[from] crate::workspace::WorkspaceError),
    /// The server was not told of the search attributes that runs carry.
    #[error("cannot start the run: the Temporal server does not know the search attributes {}", .missing.join(", "))]
    SearchAttributes { missing: Vec<&'static str> },
    #[error("cannot use the key in MARVIN_FLEET_KEY: it does not have 64 hexadecimal digits")]
    Key,
    #[error("cannot run a worker: {0}")]
    Worker(String),
}

impl FleetError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            FleetError::Setting { key: "fleet.store", .. } => {
                Some("give a directory, or s3://BUCKET/PREFIX: marvin config fleet.store=…")
            }
            FleetError::Connect { .. } => {
                Some("`marvin fleet up` starts a server for trying it on this machine")
            }
            FleetError::Unknown { .. } => {
                Some("a server deletes histories after the retention time of the namespace")
            }
            FleetError::Secret => {
                Some("name the variable in the command, and set it in the environment of the workers")
            }
            FleetError::SearchAttributes { .. } => Some(
                "temporal operator search-attribute create --type Keyword --name NAME, or set fleet.search_attributes=false",
            ),
            FleetError::Setting { key: "fleet.metrics", .. } => {
                Some("give another address, or none: marvin config fleet.metrics=…")
            }
            FleetError::Store(error) => error.hint(),
            FleetError::Key => {
                Some("make one with `openssl rand -hex 32`; clients and workers need the same")
            }
            FleetError::Setting { .. }
            | FleetError::Request { .. }
            | FleetError::History(_)
            | FleetError::Workspace(_)
            | FleetError::Worker(_) => None,
        }
    }
}
