//! Which services can be asked: keys, addresses, and, if wanted, whether they answer.

use super::error::{Failure, ServiceError};
use super::request::Request;
use super::table::{ROWS, ServiceRow, spotify_client_advice};
use crate::context::ToolContext;
use marvin_base::settings::table;
use marvin_gate::network::Service;
use serde::Serialize;

/// A service as `marvin tools check` shows it.
#[derive(Debug, Clone, Serialize)]
pub struct ServiceStatus {
    /// The name that people know.
    pub service: &'static str,
    /// Its base URL.
    pub url: String,
    pub key: KeyStatus,
    pub state: ServiceState,
    /// Why it cannot be used, with a hint; empty where it can.
    pub reason: String,
}

/// Whether a service has the key that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyStatus {
    /// The service takes no key.
    NotUsed,
    Set,
    /// The service works without one, at a lower rate.
    Optional,
    Missing,
}

/// Whether a service can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceState {
    /// Nothing is missing; it was not asked.
    Configured,
    /// It answered.
    Answers,
    /// It was asked and did not answer as it should.
    Fails,
    /// A key or a client id is missing, or the base URL is wrong.
    Unusable,
}

/// The state of every service; with `live` each that needs no sign-in is asked once, without its cache.
pub async fn check(context: &ToolContext, live: bool) -> Vec<ServiceStatus> {
    let mut all = Vec::new();
    for row in &ROWS {
        all.push(check_service(row, context, live).await);
    }
    all
}

async fn check_service(row: &'static ServiceRow, context: &ToolContext, live: bool) -> ServiceStatus {
    let key = match &row.key {
        None => KeyStatus::NotUsed,
        Some(key) if key.find(&context.settings, &context.layout).is_some() => KeyStatus::Set,
        Some(key) if key.is_needed => KeyStatus::Missing,
        Some(_) => KeyStatus::Optional,
    };
    let url = context.settings.text(row.service.setting()).to_string();
    let status = |state, reason| ServiceStatus { service: row.name, url: url.clone(), key, state, reason };
    let failed = |error: ServiceError| {
        let advice = match &error.kind {
            // The gate's own advice is for an agent.
            Failure::Gate(_) => {
                format!("name its host in {} of your config.toml", table::WEB_ORG_ALLOWLIST.key)
            }
            _ => error.hint.for_person().to_string(),
        };
        let reason = format!("{}; {advice}", error.kind);
        let is_unusable = matches!(error.kind, Failure::NoKey | Failure::BadUrl(_));
        status(if is_unusable { ServiceState::Unusable } else { ServiceState::Fails }, reason)
    };
    let (path, query) = row.probe.split_once('?').unwrap_or((row.probe, ""));
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let pairs: Vec<(&str, &str)> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
    let request = match Request::new(row.service, &segments, &pairs, context) {
        Ok(request) => request,
        Err(error) => return failed(error),
    };
    let is_spotify = matches!(row.service, Service::Spotify | Service::SpotifyAccounts);
    if is_spotify && context.settings.given(&table::SPOTIFY_CLIENT).is_none() {
        let reason = format!("no client id is set; {}", spotify_client_advice(&context.settings));
        return status(ServiceState::Unusable, reason);
    }
    if !live || row.probe.is_empty() {
        return status(ServiceState::Configured, String::new());
    }
    match request.send(context).await {
        Ok(_) => status(ServiceState::Answers, String::new()),
        Err(error) => failed(error),
    }
}
