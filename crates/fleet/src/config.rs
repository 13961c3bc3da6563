//! The settings `fleet.*`, checked.

use crate::FleetError;
use marvin_base::environment::Environment;
use marvin_base::run_record::FleetRecord;
use marvin_base::settings::{Settings, table};
use marvin_flow::machine;
use marvin_store::Address;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use temporalio_client::{ClientTlsOptions, TlsOptions};

/// The variable with the API key of the server.
const API_KEY: &str = "TEMPORAL_API_KEY";

/// Server, store and limits of a fleet.
#[derive(Clone)]
pub struct FleetConfig {
    /// `HOST:PORT`.
    pub address: String,
    pub namespace: String,
    pub store: Address,
    pub slots: usize,
    pub pollers: usize,
    pub heartbeat: Duration,
    /// Time for attempts of a worker that is asked to end.
    pub drain: Duration,
    /// Whether the workspace is a commit with changes in the store, not a directory that all workers see.
    pub clones: bool,
    /// Workers of steps that have a queue of their own.
    pub roles: Vec<String>,
    /// Whether runs carry search attributes.
    pub search_attributes: bool,
    /// Where a worker serves its metrics.
    pub metrics: Option<SocketAddr>,
    queue: String,
    pub(crate) tls: Option<TlsOptions>,
    pub(crate) api_key: Option<String>,
}

// The key must not reach a log.
impl std::fmt::Debug for FleetConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("FleetConfig");
        shown.field("address", &self.address).field("namespace", &self.namespace).field("store", &self.store);
        shown.field("queue", &self.queue).field("slots", &self.slots).finish_non_exhaustive()
    }
}

impl FleetConfig {
    /// Reads the settings; keys are read from the environment only.
    ///
    /// # Errors
    /// When the store is not set, or a file of TLS cannot be read.
    pub fn read(settings: &Settings, environment: &Environment) -> Result<Self, FleetError> {
        let store = settings.text(&table::FLEET_STORE);
        if store.is_empty() {
            let reason = "it is not set, and machines share outputs and ends of attempts there".into();
            return Err(FleetError::Setting { key: table::FLEET_STORE.key, reason });
        }
        let slots = match settings.count(&table::FLEET_SLOTS) {
            0 => std::thread::available_parallelism().map_or(2, usize::from),
            slots => slots,
        };
        let address = settings.text(&table::FLEET_ADDRESS).to_string();
        Ok(FleetConfig {
            tls: tls(settings, &address)?,
            address,
            namespace: settings.text(&table::FLEET_NAMESPACE).to_string(),
            store: store.parse()?,
            slots,
            pollers: settings.count(&table::FLEET_POLLERS),
            heartbeat: settings.seconds(&table::FLEET_HEARTBEAT),
            drain: settings.seconds(&table::FLEET_DRAIN),
            clones: settings.text(&table::FLEET_WORKSPACE) == "git",
            roles: settings.list(&table::FLEET_ROLES),
            search_attributes: settings.on(&table::FLEET_SEARCH_ATTRIBUTES),
            metrics: metrics_address(settings)?,
            queue: settings.text(&table::FLEET_QUEUE).to_string(),
            api_key: environment.get(API_KEY).map(str::to_string),
        })
    }

    /// The same for the server of a recorded run.
    #[must_use]
    pub fn at(self, record: &FleetRecord) -> Self {
        FleetConfig { address: record.address.clone(), namespace: record.namespace.clone(), ..self }
    }

    /// The same with another queue.
    #[must_use]
    pub fn with_queue(mut self, queue: Option<&str>) -> Self {
        if let Some(queue) = queue {
            self.queue = queue.to_string();
        }
        self
    }

    /// The task queue. It names the version of the machine, so that a run stays with workers that know its rules.
    #[must_use]
    pub fn queue(&self) -> String {
        format!("{}/v{}", self.queue, machine::VERSION)
    }
}

/// The task queue of a worker of steps that has its own.
#[must_use]
pub(crate) fn role_queue(queue: &str, role: &str) -> String {
    format!("{queue}/{role}")
}

fn metrics_address(settings: &Settings) -> Result<Option<SocketAddr>, FleetError> {
    let parse = |text: &str| {
        text.parse().map_err(|_| FleetError::Setting {
            key: table::FLEET_METRICS.key,
            reason: format!("`{text}` is not ADDRESS:PORT, such as 127.0.0.1:9464"),
        })
    };
    settings.given(&table::FLEET_METRICS).map(parse).transpose()
}

fn tls(settings: &Settings, address: &str) -> Result<Option<TlsOptions>, FleetError> {
    let is_on = match settings.text(&table::FLEET_TLS) {
        "on" => true,
        "off" => false,
        _ => !is_loopback(address),
    };
    if !is_on {
        return Ok(None);
    }
    let file = |setting: &'static marvin_base::settings::Setting| -> Result<Option<Vec<u8>>, FleetError> {
        let path = settings.text(setting);
        if path.is_empty() {
            return Ok(None);
        }
        let read = std::fs::read(Path::new(path));
        let wrap = |error: std::io::Error| FleetError::Setting {
            key: setting.key,
            reason: format!("cannot read {path}: {error}"),
        };
        read.map(Some).map_err(wrap)
    };
    let client = match (file(&table::FLEET_TLS_CERT)?, file(&table::FLEET_TLS_KEY)?) {
        (Some(client_cert), Some(client_private_key)) => {
            let options = ClientTlsOptions::builder().client_cert(client_cert);
            Some(options.client_private_key(client_private_key).build())
        }
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            let reason = "a client certificate needs fleet.tls_cert and fleet.tls_key".into();
            return Err(FleetError::Setting { key: table::FLEET_TLS_CERT.key, reason });
        }
    };
    let options = TlsOptions::builder()
        .maybe_server_root_ca_cert(file(&table::FLEET_TLS_CA)?)
        .maybe_client_tls_options(client);
    Ok(Some(options.build()))
}

/// Whether `HOST:PORT` is on this machine.
fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_machine_needs_tls() {
        for (address, loopback) in [
            ("127.0.0.1:7233", true),
            ("localhost:7233", true),
            ("[::1]:7233", true),
            ("10.0.0.1:7233", false),
            ("localhost.example.org:7233", false),
        ] {
            assert_eq!(is_loopback(address), loopback, "{address}");
        }
    }

    #[test]
    fn a_fleet_without_a_store_is_refused() {
        let error = FleetConfig::read(&Settings::defaults().unwrap(), &Environment::default()).unwrap_err();
        assert!(matches!(error, FleetError::Setting { key: "fleet.store", .. }), "{error}");
    }
}
