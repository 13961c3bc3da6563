//! The HTTP side of every wire: one client, one way to wait, one map from statuses to failures.

use super::address::{endpoint, is_loopback};
use super::errors::{Fault, body_message, transient_status};
use super::lines::Lines;
use super::reader::{Progress, Reader};
use super::{WireKind, calls, new_reader, outgoing};
use crate::client::{Event, Failure, ModelClient, ModelError, Reply, Request, Sink};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt;
use marvin_base::clock;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, Response, StatusCode, Url, redirect};
use std::error::Error as _;
use std::fmt;
use std::str::FromStr;
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// An error body is read up to this size.
const MAX_ERROR_BODY_BYTES: usize = 64 << 10;

/// A reply may be this long on the wire. The longest that a vendor allows is some hundred thousand tokens, each in an event
/// of a few hundred bytes; what is longer comes from a broken server, and would fill the memory.
const MAX_REPLY_BYTES: usize = 64 << 20;

/// Address, wire and limits of a model behind HTTP.
#[derive(Clone)]
pub struct HttpOptions {
    /// The provider's name, as in `provider.<name>.key`.
    pub provider: String,
    /// The format that the endpoint speaks.
    pub wire: WireKind,
    /// The base address; the wire's path is appended where it is missing.
    pub url: String,
    /// The key, if the endpoint wants one.
    pub key: Option<String>,
    pub model: String,
    pub headers: Vec<(String, String)>,
    /// How long connecting may take.
    pub connect: Duration,
    /// How long the first piece of the answer may take. A local model reads the whole prompt in this time.
    pub first: Duration,
    /// How long the answer may be silent between any two pieces. Signs of life (comments, pings) do not count as pieces.
    pub idle: Duration,
    /// How long a request and its reply may take in all.
    pub total: Duration,
    /// Tokens of context that an Ollama server is asked for.
    pub context: Option<u64>,
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the key nor the values of headers: both may be secrets.
        formatter
            .debug_struct("HttpOptions")
            .field("provider", &self.provider)
            .field("wire", &self.wire)
            .field("model", &self.model)
            .field("key", &self.key.as_ref().map(|_| "[hidden]"))
            .finish_non_exhaustive()
    }
}

/// A model behind an HTTP endpoint.
pub struct HttpModel {
    options: HttpOptions,
    endpoint: Url,
    headers: HeaderMap,
    client: Client,
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the endpoint either: an address may hold a password.
        formatter.debug_struct("HttpModel").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Key and address of one request, where keys are exchanged for short-lived ones.
#[derive(Clone, Copy)]
pub(super) struct Access<'a> {
    /// The key to use.
    pub(super) key: Option<&'a str>,
    /// The base address, where it is not the configured one.
    pub(super) url: Option<&'a str>,
}

impl HttpModel {
    /// A client for one model. Nothing is sent yet.
    ///
    /// # Errors
    /// [`Failure::Missing`] when the address or a header cannot be used.
    pub fn new(options: HttpOptions) -> Result<Self, ModelError> {
        HttpModel::with_address(options, None)
    }

    /// The same, where the HTTP client is used for another address as well.
    pub(super) fn with_address(options: HttpOptions, other: Option<&str>) -> Result<Self, ModelError> {
        let other = other
            .map(Url::parse)
            .transpose()
            .map_err(|error| missing(&options.provider, &format!("an address cannot be used: {error}")))?;
        let endpoint = endpoint(&options.provider, options.wire, &options.url, &options.model)?;
        let mut headers = HeaderMap::new();
        for (name, value) in &options.headers {
            let (Ok(name), Ok(mut value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) else {
                return Err(missing(&options.provider, &format!("the header `{name}` cannot be sent")));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let addresses: Vec<&Url> = std::iter::once(&endpoint).chain(&other).collect();
        let client = client(&addresses, options.connect).map_err(|error| {
            missing(&options.provider, &format!("cannot set up HTTP: {}", causes(&error)))
        })?;
        Ok(HttpModel { options, endpoint, headers, client })
    }

    /// The provider, the model and so on that it was made with.
    pub(super) fn options(&self) -> &HttpOptions {
        &self.options
    }

    /// The HTTP client, for requests beside the conversation.
    pub(super) fn http(&self) -> &Client {
        &self.client
    }

    /// Like [`ModelClient::send`], with another key or address.
    pub(super) async fn send_with(
        &self,
        access: Access<'_>,
        request: &Request,
        sink: &mut Sink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let mut reader = None;
        let reply = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(self.error(Failure::Cancelled, "stopped while the model was answering")),
            () = tokio::time::sleep(self.options.total) => Err(self.late()),
            reply = self.exchange(access, request, sink, &mut reader) => reply,
        };
        reply.map_err(|error| ModelError {
            // There is a reader once the server has accepted the request; from then on it is paid for.
            spent: reader.map(|reader| Box::new(reader.draft().spent(request))),
            ..without_key(error, access.key)
        })
    }

    async fn exchange(
        &self,
        access: Access<'_>,
        request: &Request,
        sink: &mut Sink<'_>,
        reading: &mut Option<Box<dyn Reader>>,
    ) -> Result<Reply, ModelError> {
        let deadline = Instant::now() + self.options.first;
        let response = self.post(access, request, deadline).await?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let reader = reading.insert(new_reader(self.options.wire));
        let mut reply = self.read(response, sink, reader, deadline).await?;
        calls::number(&mut reply.calls, &request.messages);
        Ok(reply)
    }

    /// Sends the request; its answer must begin before the deadline.
    async fn post(
        &self,
        access: Access<'_>,
        request: &Request,
        deadline: Instant,
    ) -> Result<Response, ModelError> {
        let endpoint = match access.url {
            Some(url) => endpoint(&self.options.provider, self.options.wire, url, &self.options.model)?,
            None => self.endpoint.clone(),
        };
        let HttpOptions { wire, model, context, .. } = &self.options;
        let body = outgoing(*wire, model, *context, is_loopback(&endpoint), request)
            .map_err(|error| self.error(Failure::Missing, &format!("cannot make the request: {error}")))?;
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("text/event-stream, application/x-ndjson, application/json"),
        );
        self.authorize(&mut headers, access.key)?;
        if is_loopback(&endpoint) {
            // A model server on this machine may match its script by role and step. No vendor is told of them.
            label(&mut headers, "x-marvin-role", &request.role);
            label(&mut headers, "x-marvin-step", request.step.as_deref().unwrap_or_default());
        }
        let sending = self.client.post(endpoint).headers(headers).body(body).send();
        match tokio::time::timeout_at(deadline, sending).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.not_sent(&error)),
            Err(_) => Err(self.no_first_piece()),
        }
    }

    fn authorize(&self, headers: &mut HeaderMap, key: Option<&str>) -> Result<(), ModelError> {
        if self.options.wire == WireKind::Anthropic {
            headers
                .entry(HeaderName::from_static("anthropic-version"))
                .or_insert(HeaderValue::from_static("2023-06-01"));
        }
        let Some(key) = key.map(str::trim).filter(|key| !key.is_empty()) else { return Ok(()) };
        let (name, text) = match self.options.wire {
            WireKind::OpenAi | WireKind::Ollama => (AUTHORIZATION, format!("Bearer {key}")),
            WireKind::Anthropic => (HeaderName::from_static("x-api-key"), key.to_string()),
            WireKind::Gemini => (HeaderName::from_static("x-goog-api-key"), key.to_string()),
        };
        let mut value: HeaderValue = text.parse().map_err(|_| {
            let provider = &self.options.provider;
            missing(
                provider,
                &format!("the key holds characters that cannot be sent; correct `provider.{provider}.key`"),
            )
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }

    async fn read(
        &self,
        mut response: Response,
        sink: &mut Sink<'_>,
        reader: &mut Box<dyn Reader>,
        first: Instant,
    ) -> Result<Reply, ModelError> {
        let fault = |fault: Fault| fault.into_error(&self.options.provider, self.options.wire.label());
        let mut lines = Lines::default();
        let mut length = 0usize;
        // The time of the last piece; none before the first.
        let mut last_piece: Option<Instant> = None;
        let late = |last_piece: Option<Instant>| match last_piece {
            Some(_) => self.silent(),
            None => self.no_first_piece(),
        };
        loop {
            let deadline = last_piece.map_or(first, |last_piece| last_piece + self.options.idle);
            let chunk = match next_at_hand(&mut response).await {
                Some(chunk) => Ok(chunk),
                None => {
                    sink(Event::Idle);
                    tokio::time::timeout_at(deadline, response.chunk()).await
                }
            };
            let mut meant = false;
            let mut each = |line: &[u8]| {
                let progress = reader.line(line, sink)?;
                meant |= progress != Progress::Nothing;
                Ok(progress != Progress::Done)
            };
            match chunk {
                Ok(Ok(Some(bytes))) => {
                    length = length.saturating_add(bytes.len());
                    if length > MAX_REPLY_BYTES {
                        return Err(self.too_long());
                    }
                    if !lines.feed(&bytes, &mut each).map_err(fault)? {
                        break;
                    }
                }
                Ok(Ok(None)) => {
                    lines.finish(&mut each).map_err(fault)?;
                    break;
                }
                // A broken connection is judged like an ended one, by whether the terminal marker has come; but the
                // line that it cut in two says nothing.
                Ok(Err(_)) => break,
                Err(_) => return Err(late(last_piece)),
            }
            let now = Instant::now();
            if meant {
                last_piece = Some(now);
            } else if now >= deadline {
                return Err(late(last_piece));
            }
        }
        reader.finish().map_err(fault)
    }

    /// A status that is not success, as the error it means.
    async fn refused(&self, mut response: Response) -> ModelError {
        let status = response.status();
        let wait = retry_after(response.headers());
        let mut body = Vec::new();
        while body.len() < MAX_ERROR_BODY_BYTES {
            match tokio::time::timeout(self.options.idle, response.chunk()).await {
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                _ => break,
            }
        }
        let message = body_message(&body);
        let provider = &self.options.provider;
        let (failure, message) = if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let hint = format!("check `provider.{provider}.key`");
            (Failure::Rejected, format!("the server does not accept the key ({status}): {message}; {hint}"))
        } else if transient_status(status.as_u16()) {
            (Failure::Unavailable, format!("the server cannot answer now ({status}): {message}"))
        } else if status.is_redirection() {
            (Failure::Rejected, format!("the server redirects ({status}); correct `provider.{provider}.url`"))
        } else {
            (Failure::Rejected, format!("the server refuses the request ({status}): {message}"))
        };
        ModelError { retry_after: wait, ..self.error(failure, &message) }
    }

    fn not_sent(&self, error: &reqwest::Error) -> ModelError {
        let port = self.endpoint.port().map(|port| format!(":{port}")).unwrap_or_default();
        let address = format!("{}{port}", self.endpoint.host_str().unwrap_or_default());
        let provider = &self.options.provider;
        if error.is_timeout() {
            let seconds = self.options.connect.as_secs_f32();
            let message =
                format!("no connection to {address} within {seconds} s; check `provider.{provider}.url`");
            return self.error(Failure::Timeout, &message);
        }
        if error.is_connect() {
            let why = causes(error);
            let message = format!("cannot connect to {address}: {why}; check `provider.{provider}.url`");
            return self.error(Failure::Disconnected, &message);
        }
        if error.is_builder() {
            return self.error(Failure::Missing, &format!("cannot make the request: {}", causes(error)));
        }
        self.error(Failure::Disconnected, &format!("the connection to {address} broke: {}", causes(error)))
    }

    fn silent(&self) -> ModelError {
        let seconds = self.options.idle.as_secs_f32();
        self.error(
            Failure::Timeout,
            &format!("nothing came for {seconds} s; `limits.idle_s` sets how long to wait"),
        )
    }

    fn no_first_piece(&self) -> ModelError {
        let seconds = self.options.first.as_secs_f32();
        let message =
            format!("the answer did not begin within {seconds} s; `limits.first_token_s` allows more");
        self.error(Failure::Slow, &message)
    }

    fn late(&self) -> ModelError {
        let seconds = self.options.total.as_secs_f32();
        let message = format!("the reply was not whole after {seconds} s; `limits.request_s` allows more");
        self.error(Failure::Slow, &message)
    }

    fn too_long(&self) -> ModelError {
        let size = MAX_REPLY_BYTES >> 20;
        self.error(Failure::Garbage, &format!("the reply is larger than {size} MB, which no model writes"))
    }

    fn error(&self, failure: Failure, message: &str) -> ModelError {
        ModelError::new(&self.options.provider, failure, message)
    }
}

#[async_trait]
impl ModelClient for HttpModel {
    fn provider(&self) -> &str {
        &self.options.provider
    }

    fn model(&self) -> &str {
        &self.options.model
    }

    async fn send(
        &self,
        request: &Request,
        sink: &mut Sink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let access = Access { key: self.options.key.as_deref(), url: None };
        self.send_with(access, request, sink, cancel).await
    }
}

/// The next piece of the body, if it has arrived. The connection is a task of its own that hands over one piece at a
/// time, so it is let run once before the answer is no.
async fn next_at_hand(response: &mut Response) -> Option<Result<Option<Bytes>, reqwest::Error>> {
    if let Some(chunk) = response.chunk().now_or_never() {
        return Some(chunk);
    }
    let mut waited = false;
    std::future::poll_fn(|context| {
        if waited {
            return Poll::Ready(());
        }
        waited = true;
        // Behind the connection in the queue, not behind the system's events as `yield_now` would be.
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    response.chunk().now_or_never()
}

/// Failure to make a client for an address. It does not name the address, which may hold a secret.
#[derive(Debug, thiserror::Error)]
pub enum WebClientError {
    #[error("{0}")]
    Address(<Url as FromStr>::Err),
    #[error(transparent)]
    Client(reqwest::Error),
}

impl From<WebClientError> for String {
    fn from(error: WebClientError) -> Self {
        error.to_string()
    }
}

/// A client for one address, with the same care as a model's: no redirects, no proxy to this machine.
///
/// # Errors
/// When the address cannot be used.
pub fn web_client(url: &str, connect: Duration) -> Result<Client, WebClientError> {
    let url = Url::parse(url).map_err(WebClientError::Address)?;
    client(&[&url], connect).map_err(|error| WebClientError::Client(error.without_url()))
}

/// The beginning of every HTTP client: redirects are the caller's affair. The one place where the crypto provider is
/// chosen. `plain` says that there will be no TLS.
pub fn web_builder(plain: bool, connect: Duration) -> ClientBuilder {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // The error says that another thread was faster, with the same provider.
        rustls::crypto::ring::default_provider().install_default().ok();
    }
    let builder = Client::builder()
        .connect_timeout(connect)
        .tcp_nodelay(true)
        .user_agent(concat!("marvin/", env!("CARGO_PKG_VERSION")))
        // A redirect would carry the key to an address that is not configured.
        .redirect(redirect::Policy::none());
    // Without TLS the system's certificates, which take a while to load, are not needed.
    if plain { builder.tls_certs_only([]) } else { builder }
}

fn client(addresses: &[&Url], connect: Duration) -> Result<Client, reqwest::Error> {
    let plain = addresses.iter().all(|address| address.scheme() == "http");
    let mut builder = web_builder(plain, connect);
    if addresses.iter().all(|address| is_loopback(address)) {
        builder = builder.no_proxy();
    }
    builder.build()
}

fn label(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = value.parse::<HeaderValue>()
        && !value.is_empty()
    {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// How long the server asks us to wait: in seconds, or until a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let moment =
        jiff::fmt::rfc2822::DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok()?;
    // A date in the past means now.
    Some(Duration::try_from(moment.duration_since(clock::now())).unwrap_or_default())
}

pub(super) fn missing(provider: &str, message: &str) -> ModelError {
    ModelError::new(provider, Failure::Missing, message)
}

/// An error with its causes, without the address, which may hold a secret.
pub(super) fn causes(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        cause = error.source();
    }
    if text.is_empty() { "no reason given".into() } else { text }
}

/// Vendors quote wrong keys in their errors; ours must not be shown.
pub(super) fn without_key(mut error: ModelError, key: Option<&str>) -> ModelError {
    if let Some(key) = key.filter(|key| !key.is_empty()) {
        error.message = error.message.replace(key, "[key]");
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(wire: WireKind, url: &str, model: &str) -> HttpOptions {
        HttpOptions {
            provider: "p".into(),
            wire,
            url: url.into(),
            key: Some("sk-secret".into()),
            model: model.into(),
            headers: vec![("x-other".into(), "hidden-too".into())],
            connect: Duration::from_secs(1),
            first: Duration::from_secs(1),
            idle: Duration::from_secs(1),
            total: Duration::from_secs(1),
            context: None,
        }
    }

    #[test]
    fn a_wrong_address_names_its_setting() {
        for url in ["", "api.example.com", "ftp://x", "file:///x"] {
            let error = HttpModel::new(options(WireKind::OpenAi, url, "m")).unwrap_err();
            assert_eq!(error.failure, Failure::Missing);
            assert!(error.message.contains("provider.p.url"), "{error}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let model = HttpModel::new(options(WireKind::OpenAi, "http://127.0.0.1:1", "m")).unwrap();
        let shown = format!("{model:?}");
        assert!(!shown.contains("sk-secret") && !shown.contains("hidden-too"), "{shown}");
        let error = without_key(missing("p", "Incorrect key sk-secret"), Some("sk-secret"));
        assert_eq!(error.message, "Incorrect key [key]");
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let wait = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        assert!(wait("Sun, 06 Nov 2094 08:49:37 GMT").unwrap() > Duration::from_secs(1000));
        assert_eq!(wait("soon"), None);
        assert_eq!(wait("-3"), None);
    }
}
