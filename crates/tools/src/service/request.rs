//! One request to a service: cache, slot, send, repeat, parse.
//!
//! The key is added when the request is sent, to the origin of the base URL and to nothing else, so that neither the gate's
//! record nor the cache nor an error holds it. Text of an answer is cleaned before it is parsed into types.

use super::cache::Cache;
use super::error::{Credential, Failure, Hint, ServiceError};
use super::pace::Pace;
use super::table::{KeyPlace, ServiceRow, find};
use super::text;
use crate::context::ToolContext;
use crate::result::ToolError;
use crate::web::get::{self, Body, FetchRequest, Page};
use crate::web::secrets::may_carry_secrets;
use marvin_base::settings::{Origin, table};
use marvin_gate::network::{Destination, Service};
use marvin_gate::{Intent, RefusalKind};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// Bytes of one reply.
const MAX_RESPONSE_BYTES: u64 = 4_000_000;
/// Pause before the first repetition; each further one doubles it.
const FIRST_BACKOFF: Duration = Duration::from_millis(250);
/// Pause after a refusal for too many requests that names none.
const UNNAMED_PAUSE: Duration = Duration::from_secs(2);
/// Names of fields in which services put their error messages.
const MESSAGE_FIELDS: [&str; 8] =
    ["message", "error_message", "error_description", "Error", "error", "detail", "reason", "title"];

/// A request that was not sent yet.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) row: &'static ServiceRow,
    url: Url,
    accept: &'static str,
    body: Option<Body>,
    /// Age up to which a cached reply is good.
    keep: Duration,
    /// An OAuth token.
    token: Option<String>,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Reply<T> {
    pub(crate) data: T,
    /// Age of the answer, if it comes from the cache.
    pub(crate) age: Option<Duration>,
}

impl Request {
    /// A request below the base URL of a service.
    ///
    /// # Errors
    /// When the base URL cannot be used, or a key is needed and none is set.
    pub(crate) fn new(
        service: Service,
        segments: &[&str],
        query: &[(&str, &str)],
        context: &ToolContext,
    ) -> Result<Self, ServiceError> {
        let row = find(service).ok_or_else(|| ServiceError {
            service: "the service",
            kind: Failure::BadUrl("it has no row in the table of services".into()),
            hint: Hint::default(),
        })?;
        let request = Request {
            row,
            url: base_url(row, context)?,
            accept: "application/json",
            body: None,
            keep: row.keep,
            token: None,
        };
        request.check_key(context)?;
        Ok(request.below(segments, query))
    }

    fn below(mut self, segments: &[&str], query: &[(&str, &str)]) -> Self {
        if let Ok(mut path) = self.url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        let given: Vec<&(&str, &str)> = query.iter().filter(|(_, value)| !value.is_empty()).collect();
        if !given.is_empty() {
            self.url.query_pairs_mut().extend_pairs(given);
        }
        self
    }

    /// Says that the answer is of this media type.
    pub(crate) fn accept(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    /// A POST with a body of JSON. Its answer is not cached.
    pub(crate) fn post_json(mut self, body: &impl Serialize) -> Result<Self, ServiceError> {
        let bytes = serde_json::to_vec(body)
            .map_err(|error| self.failed(Failure::Malformed(error.to_string()), ""))?;
        self.body = Some(Body { content_type: "application/json", bytes });
        Ok(self)
    }

    /// A POST with the fields of a form. Its answer is not cached.
    pub(crate) fn post_form(mut self, fields: &[(&str, &str)]) -> Self {
        let text = reqwest::Url::parse_with_params("http://form/", fields);
        let text = text.ok().and_then(|url| url.query().map(str::to_string)).unwrap_or_default();
        self.body =
            Some(Body { content_type: "application/x-www-form-urlencoded", bytes: text.into_bytes() });
        self
    }

    /// Sends an OAuth token. The answer is about the person and is not cached.
    pub(crate) fn with_token(mut self, token: String) -> Self {
        self.token = Some(token);
        self.keep = Duration::ZERO;
        self
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The intent of the request.
    pub(crate) fn intent(&self) -> Intent {
        Intent::Request { url: self.url.to_string(), service: Some(self.row.service) }
    }

    pub(crate) fn failed(&self, kind: Failure, hint: impl Into<Hint>) -> ServiceError {
        ServiceError { service: self.row.name, kind, hint: hint.into() }
    }

    fn check_key(&self, context: &ToolContext) -> Result<(), ServiceError> {
        let Some(key) = self.row.key.as_ref().filter(|key| key.is_needed) else { return Ok(()) };
        if key.find(&context.settings, &context.layout).is_some() {
            return Ok(());
        }
        let variable = key.setting.variables.first().copied().unwrap_or_default();
        let hint = format!(
            "get a key at {} and set {} in config.toml, or {variable}, or write it to ~/.ssh/{}",
            key.page, key.setting.key, key.file
        );
        Err(self.failed(Failure::NoKey, Hint::person(hint)))
    }

    /// Sends the request and parses the answer as JSON.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        context: &ToolContext,
    ) -> Result<Reply<T>, ServiceError> {
        self.ask_with(context, |bytes| {
            let not_json = |error: serde_json::Error| {
                format!("not JSON at line {}, column {}", error.line(), error.column())
            };
            let mut value: Value = serde_json::from_slice(bytes).map_err(not_json)?;
            text::clean_value(&mut value);
            // Types of fields would also be read from a list of values.
            let is_record = match &value {
                Value::Object(_) => true,
                Value::Array(items) => items.iter().all(Value::is_object),
                _ => false,
            };
            if !is_record {
                return Err("neither an object nor a list of objects".to_string());
            }
            // The parser's message names Marvin's own types and quotes the service's text.
            serde_json::from_value(value).map_err(|error| {
                let reason = error.to_string();
                tracing::debug!(
                    reason = reason.split('"').next(),
                    service = self.row.name,
                    "malformed answer"
                );
                "it has another form than documented".to_string()
            })
        })
        .await
    }

    /// Sends the request and parses the answer in another way.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn ask_with<T, E: std::fmt::Display>(
        &self,
        context: &ToolContext,
        parse: impl Fn(&[u8]) -> Result<T, E>,
    ) -> Result<Reply<T>, ServiceError> {
        let cache = self.cache(context);
        if let Some((text, age)) = cache.as_ref().and_then(|it| it.get_with_age::<String>(self.url.as_str()))
            && let Ok(data) = parse(text.as_bytes())
        {
            return Ok(Reply { data, age: Some(age) });
        }
        let page = self.send(context).await?;
        let data = parse(&page.bytes).map_err(|error| {
            let reason = marvin_base::truncate::line(&text::clean(&error.to_string()), 200);
            self.failed(Failure::Malformed(reason), "try later, or work without it")
        })?;
        if let (Some(cache), Ok(text)) = (cache, String::from_utf8(page.bytes)) {
            cache.put(self.url.as_str(), &text);
        }
        Ok(Reply { data, age: None })
    }

    fn cache(&self, context: &ToolContext) -> Option<Cache> {
        let is_kept = context.settings.on(&table::SERVICES_CACHE)
            && self.body.is_none()
            && self.token.is_none()
            && !self.keep.is_zero();
        let directory = context.layout.services_cache().join(self.row.directory).join("replies");
        is_kept.then(|| Cache::new(directory, i64::try_from(self.keep.as_secs()).unwrap_or(i64::MAX)))
    }

    /// Sends until there is an answer, the attempts are used up, or the service wants a longer pause than a call may wait.
    pub(crate) async fn send(&self, context: &ToolContext) -> Result<Page, ServiceError> {
        let pace = Pace::new(&context.layout.services_cache().join(self.row.directory));
        let most = context.settings.seconds(&table::SERVICES_WAIT);
        let attempts = context.settings.count(&table::SERVICES_RETRIES) + 1;
        let mut backoff = FIRST_BACKOFF;
        let mut last = self.failed(Failure::Cancelled, "");
        for attempt in 1..=attempts {
            let wait = pace.take(self.pause(context), most).map_err(|wait| self.limited(wait))?;
            self.wait(wait, context).await?;
            let failure = match self.send_once(context).await {
                Ok(page) if page.status < 400 => {
                    if page.truncated {
                        return Err(self.failed(
                            Failure::TooLarge(MAX_RESPONSE_BYTES),
                            Hint {
                                caller: "ask for less".into(),
                                person: format!("check {}", self.row.service.setting().key),
                            },
                        ));
                    }
                    return Ok(page);
                }
                Ok(page) => self.refusal(&page, context),
                Err(error) => error,
            };
            // What changes something at the service is sent again only where the service says that it did nothing.
            let may_repeat = match failure.kind {
                Failure::Limited(pause) => {
                    pace.hold(pause);
                    pause <= most
                }
                Failure::Trouble(_) | Failure::Unreachable(_) => self.body.is_none(),
                _ => false,
            };
            let is_limited = matches!(failure.kind, Failure::Limited(_));
            last = failure;
            if !may_repeat || attempt == attempts {
                break;
            }
            if !is_limited {
                self.wait(backoff, context).await?;
                backoff *= 2;
            }
        }
        Err(last)
    }

    /// Keeps every process from asking the service for this long.
    pub(crate) fn hold(&self, pause: Duration, context: &ToolContext) {
        Pace::new(&context.layout.services_cache().join(self.row.directory)).hold(pause);
    }

    /// The pause between requests: none for an instance of the person's own.
    fn pause(&self, context: &ToolContext) -> Duration {
        let value = context.settings.value(self.row.service.setting());
        let is_default = value.is_none_or(|value| value.origin == Origin::Default);
        if is_default { self.row.pause } else { Duration::ZERO }
    }

    async fn wait(&self, wait: Duration, context: &ToolContext) -> Result<(), ServiceError> {
        if wait.is_zero() {
            return Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => Ok(()),
            () = context.cancel.cancelled() => Err(self.failed(Failure::Cancelled, "")),
        }
    }

    async fn send_once(&self, context: &ToolContext) -> Result<Page, ServiceError> {
        let (mut secret_headers, mut secret_query) = (Vec::new(), Vec::new());
        let key =
            self.row.key.as_ref().and_then(|key| Some((key, key.find(&context.settings, &context.layout)?)));
        if let Some((key, text)) = key {
            match key.place {
                KeyPlace::Header(name) => secret_headers.push((HeaderName::from_static(name), text)),
                KeyPlace::Query(name) => secret_query.push((name, text)),
            }
        }
        if let Some(token) = &self.token {
            secret_headers.push((AUTHORIZATION, format!("Bearer {token}")));
        }
        let has_secret = !secret_headers.is_empty() || !secret_query.is_empty();
        if has_secret && !Destination::understand(self.url.as_str()).is_ok_and(|to| may_carry_secrets(&to)) {
            let setting = self.row.service.setting().key;
            return Err(self.failed(
                Failure::BadUrl("a key is sent only over https".into()),
                Hint::person(format!("use an address of https for {setting}")),
            ));
        }
        let deadline = context.settings.seconds(&table::SERVICES_TIMEOUT);
        let wanted = FetchRequest {
            service: Some(self.row.service),
            accept: self.accept,
            secret_headers,
            secret_query,
            body: self.body.clone(),
            ..FetchRequest::page(self.url.as_str(), MAX_RESPONSE_BYTES, deadline)
        };
        get::page(wanted, context).await.map_err(|error| match error {
            _ if context.cancel.is_cancelled() => self.failed(Failure::Cancelled, ""),
            // The gate resolves names. A failure is a matter of the network, not of a rule.
            ToolError::Refused(refusal) if refusal.kind == RefusalKind::Unresolved => {
                self.unreachable(refusal.reason)
            }
            ToolError::Refused(refusal) => self.failed(Failure::Gate(refusal.reason), refusal.how_to_fix),
            other => self.unreachable(other.to_string()),
        })
    }

    fn unreachable(&self, reason: String) -> ServiceError {
        let hint = Hint {
            caller: "try later, or work without it".into(),
            person: format!("check the network and {}", self.row.service.setting().key),
        };
        self.failed(Failure::Unreachable(reason), hint)
    }

    fn limited(&self, pause: Duration) -> ServiceError {
        let until = marvin_base::clock::now()
            .checked_add(pause)
            .map(|moment| moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string())
            .unwrap_or_default();
        self.failed(Failure::Limited(pause), format!("ask again after {until}, or work without it"))
    }

    /// The failure for an error status.
    fn refusal(&self, page: &Page, context: &ToolContext) -> ServiceError {
        match page.status {
            429 => self.limited(page.retry_after.unwrap_or(UNNAMED_PAUSE)),
            503 if page.retry_after.is_some() => self.limited(page.retry_after.unwrap_or_default()),
            status @ 500.. => self.failed(Failure::Trouble(status), "try later, or work without it"),
            status @ (401 | 403) => {
                let (credential, hint): (Credential, Hint) = match (&self.row.key, &self.token) {
                    (_, Some(_)) => (Credential::Token, "sign in again with spotify_auth".into()),
                    (Some(key), None) if key.find(&context.settings, &context.layout).is_some() => {
                        (Credential::Key, Hint::person(format!("check {}", key.setting.key)))
                    }
                    (Some(key), None) => {
                        (Credential::NoKey, Hint::person(format!("set {}", key.setting.key)))
                    }
                    (None, None) => (Credential::NotUsed, "try later, or work without it".into()),
                };
                let message = message(&page.bytes).map(|it| format!("; it says: {it:?}")).unwrap_or_default();
                self.failed(Failure::Forbidden { credential, status, message }, hint)
            }
            404 | 410 => self.failed(Failure::NotFound, "check the name or the number"),
            status => {
                let message = message(&page.bytes).unwrap_or_default();
                self.failed(Failure::Refused { status, message }, "check the arguments")
            }
        }
    }
}

/// The service's own words about an error.
fn message(bytes: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let text = MESSAGE_FIELDS.iter().find_map(|name| match value.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Object(inner) => Some(inner.get("message")?.as_str()?.to_string()),
        _ => None,
    })?;
    Some(marvin_base::truncate::line(&text::clean(&text), 200))
}

/// The base URL of a service.
fn base_url(row: &'static ServiceRow, context: &ToolContext) -> Result<Url, ServiceError> {
    let setting = row.service.setting();
    let wrong = |reason: String| ServiceError {
        service: row.name,
        kind: Failure::BadUrl(reason),
        hint: Hint::person(format!("set {} to an address such as {}", setting.key, setting.default)),
    };
    let url = Url::parse(context.settings.text(setting).trim()).map_err(|error| wrong(error.to_string()))?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.query().is_none();
    if is_web { Ok(url) } else { Err(wrong("it is not the address of a directory on the web".into())) }
}
