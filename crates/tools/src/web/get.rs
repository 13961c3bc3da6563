//! HTTP requests of tools: judged, pinned to checked addresses, bounded.
//!
//! For every hop the gate judges the host, the name is resolved once, each of its addresses is checked, and the connection
//! is made to one of these and to nothing else. Proxies of the environment are not used: a proxy would resolve the name
//! again, elsewhere. The body is read in pieces, counted after decompression, up to a bound of bytes and of time.

use super::secrets::{Needles, headers_for};
use crate::context::ToolContext;
use crate::result::ToolError;
use marvin_base::environment::Environment;
use marvin_gate::network::{Destination, Guard, Host, Service, system_lookup};
use marvin_gate::{Decision, Refusal, RefusalKind};
use marvin_model::wire::web_builder;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::{Client, Response, Url};
use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

const MAX_REDIRECTS: usize = 5;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A request with its bounds.
#[derive(Debug)]
pub(crate) struct FetchRequest<'a> {
    pub(crate) url: &'a str,
    /// The service that the tool stands for.
    pub(crate) service: Option<Service>,
    /// Value of the `Accept` header.
    pub(crate) accept: &'static str,
    /// Headers for the service, and only for it; their values are secret.
    pub(crate) secret_headers: Vec<(HeaderName, String)>,
    /// Parameters of the query for the service, and only for it; their values are secret.
    pub(crate) secret_query: Vec<(&'static str, String)>,
    /// Body of a POST; none: a GET.
    pub(crate) body: Option<Body>,
    /// Bytes of the body at most, after decompression.
    pub(crate) limit: u64,
    /// Time for the whole request.
    pub(crate) deadline: Duration,
}

/// Body of a POST, which is not sent again after a redirect.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub(crate) content_type: &'static str,
    pub(crate) bytes: Vec<u8>,
}

impl<'a> FetchRequest<'a> {
    /// A public page.
    pub(crate) fn page(url: &'a str, limit: u64, deadline: Duration) -> Self {
        FetchRequest {
            url,
            service: None,
            accept: "*/*",
            secret_headers: Vec::new(),
            secret_query: Vec::new(),
            body: None,
            limit,
            deadline,
        }
    }
}

/// A response whose body was not read yet.
pub(crate) struct Answer {
    /// The URL after redirects.
    pub(crate) url: String,
    pub(crate) status: u16,
    /// The status in words.
    pub(crate) reason: &'static str,
    pub(crate) content_type: String,
    /// The pause that the server asks for.
    pub(crate) retry_after: Option<Duration>,
    /// The size that the server announced.
    pub(crate) announced: Option<u64>,
    response: Response,
    needles: Needles,
    /// Received bytes that may begin a secret whose end is still to come.
    held: Vec<u8>,
    handed: u64,
    limit: u64,
    deadline: Instant,
    allowed: Duration,
    cancel: CancellationToken,
    ended: bool,
    /// Whether the body was longer than the bound.
    pub(crate) truncated: bool,
}

/// A response with its body.
#[derive(Debug)]
pub(crate) struct Page {
    /// The URL after redirects.
    pub(crate) url: String,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    /// Whether the body was longer than the bound.
    pub(crate) truncated: bool,
    pub(crate) bytes: Vec<u8>,
    /// The pause that the server asks for.
    pub(crate) retry_after: Option<Duration>,
    /// The server's error, from its status.
    pub(crate) error: Option<String>,
}

/// Fetches a page with its body.
///
/// # Errors
/// When the gate refuses, or the request fails.
pub(crate) async fn page(wanted: FetchRequest<'_>, context: &ToolContext) -> Result<Page, ToolError> {
    let mut answer = open(wanted, context).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = answer.next().await? {
        bytes.extend_from_slice(&piece);
    }
    let error = answer.error();
    let Answer { url, status, content_type, truncated, retry_after, .. } = answer;
    Ok(Page { url, status, content_type, truncated, bytes, retry_after, error })
}

/// Sends the request, follows redirects, and returns the response before its body.
///
/// # Errors
/// When the gate refuses, or the request fails.
pub(crate) async fn open(wanted: FetchRequest<'_>, context: &ToolContext) -> Result<Answer, ToolError> {
    let guard = Guard::new(&context.settings, &context.redactor)?;
    let deadline = Instant::now() + wanted.deadline;
    let first = Destination::understand(wanted.url)?;
    // It was judged before the tool was called, and a person may have approved it: only a denial counts.
    let verdict = guard.judge(wanted.url, wanted.service);
    if verdict.decision == Decision::Deny {
        return Err(ToolError::Refused(Refusal::new(
            RefusalKind::Allowlist,
            verdict.reason,
            verdict.how_to_fix,
        )));
    }
    let mut needles = Needles::default();
    let work = async {
        let mut to = first.clone();
        for hop in 0..=MAX_REDIRECTS {
            let response = send(&guard, &wanted, &first, &to, context, &mut needles).await?;
            let location = response.headers().get(LOCATION).filter(|_| response.status().is_redirection());
            let Some(location) = location else { return Ok((to, response)) };
            let location = needles.clean(&String::from_utf8_lossy(location.as_bytes()));
            if wanted.body.is_some() {
                return Err(ToolError::Refused(Refusal::new(
                    RefusalKind::Redirect,
                    format!(
                        "{} leads elsewhere, and what is sent is not sent to another address",
                        to.place()
                    ),
                    "Tell the person: the base URL of the service may be wrong.",
                )));
            }
            if hop < MAX_REDIRECTS {
                to = guard.redirect(&first, &to, &location, wanted.service)?;
            }
        }
        Err(ToolError::Refused(Refusal::new(
            RefusalKind::Redirect,
            format!("{} redirects more than {MAX_REDIRECTS} times", first.place()),
            "Try another address of the same page.",
        )))
    };
    let outcome = tokio::select! {
        () = context.cancel.cancelled() => return Err(cancelled()),
        outcome = timeout_at(deadline, work) => outcome,
    };
    let (to, response) = match outcome {
        Err(_) => return Err(late(&first.place(), wanted.deadline)),
        Ok(result) => result.map_err(|error| clean(error, &needles))?,
    };
    let header = |name| response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let content_type =
        needles.clean(&header(CONTENT_TYPE).unwrap_or_default().replace(char::is_control, " "));
    Ok(Answer {
        url: needles.clean(to.url().as_str()),
        status: response.status().as_u16(),
        reason: response.status().canonical_reason().unwrap_or("no reason"),
        content_type: content_type.chars().take(200).collect(),
        retry_after: header(RETRY_AFTER).and_then(|text| pause(&text)),
        announced: header(CONTENT_LENGTH).and_then(|length| length.trim().parse().ok()),
        response,
        needles,
        held: Vec::new(),
        handed: 0,
        limit: wanted.limit,
        deadline,
        allowed: wanted.deadline,
        cancel: context.cancel.clone(),
        ended: false,
        truncated: false,
    })
}

/// One hop: resolve, check, connect to a checked address, send.
async fn send(
    guard: &Guard<'_>,
    wanted: &FetchRequest<'_>,
    first: &Destination,
    to: &Destination,
    context: &ToolContext,
    needles: &mut Needles,
) -> Result<Response, ToolError> {
    let addresses = resolve(guard, to, wanted.service).await?;
    let mut headers = headers_for(to, &context.settings, &Environment::of_process(), needles)?;
    headers.insert(ACCEPT, HeaderValue::from_static(wanted.accept));
    // Only for the origin of the operator's own setting, not for redirects to others.
    if to.same_origin(first) {
        add_secret_headers(wanted, &mut headers, needles)?;
    }
    let failed = |error: &reqwest::Error| {
        ToolError::Failed(format!("{} cannot be reached: {}", to.place(), causes(error)))
    };
    let client = client(to, &addresses).map_err(|error| failed(&error))?;
    let mut url = to.url().clone();
    if to.same_origin(first) && !wanted.secret_query.is_empty() {
        add_secret_query(&mut url, &wanted.secret_query);
    }
    let request = match &wanted.body {
        None => client.get(url),
        Some(body) => client.post(url).header(CONTENT_TYPE, body.content_type).body(body.bytes.clone()),
    };
    let response = request.headers(headers).send().await.map_err(|error| failed(&error))?;
    // The client is pinned to these addresses; the peer is checked anyway.
    match response.remote_addr() {
        Some(peer)
            if !addresses.iter().any(|address| address.ip().to_canonical() == peer.ip().to_canonical()) =>
        {
            Err(ToolError::Refused(Refusal::new(
                RefusalKind::Address,
                format!("{} was answered by {}, which was not checked", to.place(), peer.ip()),
                "Tell the person: this must not happen.",
            )))
        }
        _ => Ok(response),
    }
}

/// Adds the secret parameters. A redirect that repeats the query repeats them too, blacked out: those are dropped.
fn add_secret_query(url: &mut Url, secrets: &[(&'static str, String)]) {
    let is_secret = |name: &str| secrets.iter().any(|(secret, _)| *secret == name);
    if url.query_pairs().any(|(name, _)| is_secret(&name)) {
        let others: Vec<(String, String)> = url
            .query_pairs()
            .filter(|(name, _)| !is_secret(name))
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        url.query_pairs_mut().clear().extend_pairs(others);
    }
    url.query_pairs_mut().extend_pairs(secrets);
}

fn add_secret_headers(
    wanted: &FetchRequest<'_>,
    headers: &mut HeaderMap,
    needles: &mut Needles,
) -> Result<(), ToolError> {
    for (_, text) in &wanted.secret_query {
        needles.add(text);
    }
    for (name, text) in &wanted.secret_headers {
        needles.add(text);
        text.split_ascii_whitespace().skip(1).for_each(|word| needles.add(word));
        let mut value: HeaderValue =
            text.parse().map_err(|_| ToolError::Failed(format!("the header `{name}` cannot be sent")))?;
        value.set_sensitive(true);
        headers.insert(name.clone(), value);
    }
    Ok(())
}

/// Resolves a host name, in a thread of its own: the system's DNS lookup cannot be cancelled.
pub(crate) async fn resolve(
    guard: &Guard<'_>,
    to: &Destination,
    service: Option<Service>,
) -> Result<Vec<SocketAddr>, ToolError> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    match to.host() {
        Host::Address(_) => drop(sender),
        Host::Name(name) => {
            let (name, port) = (name.clone(), to.port());
            let lookup = move || {
                // The request may have been dropped.
                sender.send(system_lookup(&name, port)).ok();
            };
            std::thread::Builder::new()
                .name("lookup".into())
                .spawn(lookup)
                .map_err(|error| ToolError::Failed(format!("cannot look a host name up: {error}")))?;
        }
    }
    let found = receiver.await.unwrap_or_else(|_| Ok(Vec::new()));
    let addresses = guard.resolve(to, service, &move |_, _| match &found {
        Ok(addresses) => Ok(addresses.clone()),
        Err(error) => Err(std::io::Error::new(error.kind(), error.to_string())),
    })?;
    Ok(addresses)
}

/// Knows one host and its checked addresses, and nothing else.
struct PinnedResolver {
    host: String,
    addresses: Vec<SocketAddr>,
}

impl Resolve for PinnedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let known = name.as_str().eq_ignore_ascii_case(&self.host);
        let addresses: Vec<SocketAddr> = if known { self.addresses.clone() } else { Vec::new() };
        Box::pin(async move {
            match addresses.is_empty() {
                true => Err("this name was not checked".into()),
                false => Ok(Box::new(addresses.into_iter()) as Addrs),
            }
        })
    }
}

/// A client for one host, which connects only to these addresses.
fn client(to: &Destination, addresses: &[SocketAddr]) -> Result<Client, reqwest::Error> {
    let pinned = PinnedResolver { host: to.host().to_string(), addresses: addresses.to_vec() };
    web_builder(!to.is_https(), CONNECT_TIMEOUT)
        .no_proxy()
        .referer(false)
        .pool_max_idle_per_host(0)
        .dns_resolver(Arc::new(pinned))
        .build()
}

impl Answer {
    /// The next piece of the body, with every secret blacked out; `None` at its end, or at the bound.
    ///
    /// # Errors
    /// On a timeout, a cancelled run, or a lost connection.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, ToolError> {
        loop {
            let room = usize::try_from(self.limit.saturating_sub(self.handed)).unwrap_or(usize::MAX);
            // Enough is held back that a secret is always seen whole.
            let keep = if self.ended { 0 } else { self.needles.longest().saturating_sub(1) };
            let ready = self.held.len().saturating_sub(keep);
            if self.held.len() > room && ready >= room {
                self.truncated = true;
                self.ended = true;
                self.held.truncate(room);
            }
            if ready > 0 || self.ended {
                let rest = self.held.split_off(ready.min(self.held.len()));
                let piece = std::mem::replace(&mut self.held, rest);
                if self.truncated {
                    self.held.clear();
                }
                self.handed += piece.len() as u64;
                return Ok(Some(piece).filter(|piece| !piece.is_empty()));
            }
            let chunk = tokio::select! {
                () = self.cancel.cancelled() => return Err(cancelled()),
                chunk = timeout_at(self.deadline, self.response.chunk()) => chunk,
            };
            match chunk {
                Err(_) => return Err(late(&self.url, self.allowed)),
                Ok(Err(error)) => {
                    let cause = self.needles.clean(&causes(&error));
                    return Err(ToolError::Failed(format!(
                        "the connection to {} was lost: {cause}",
                        self.url
                    )));
                }
                Ok(Ok(None)) => self.ended = true,
                Ok(Ok(Some(bytes))) => {
                    self.held.extend_from_slice(&bytes);
                    self.needles.black_out(&mut self.held);
                }
            }
        }
    }

    /// The server's error, from its status.
    pub(crate) fn error(&self) -> Option<String> {
        (self.status >= 400).then(|| format!("{} answered {} {}", self.url, self.status, self.reason))
    }
}

/// The pause of a `Retry-After` header: in seconds, or until a date; a date in the past means now.
fn pause(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let moment =
        jiff::fmt::rfc2822::DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok()?;
    Some(Duration::try_from(moment.duration_since(marvin_base::clock::now())).unwrap_or_default())
}

fn cancelled() -> ToolError {
    ToolError::Failed("cancelled".into())
}

fn late(place: &str, allowed: Duration) -> ToolError {
    ToolError::Failed(format!(
        "{place} was not done after {} s, so it was given up. Ask for more time, or for less.",
        allowed.as_secs()
    ))
}

fn clean(error: ToolError, needles: &Needles) -> ToolError {
    match error {
        ToolError::Usage(text) => ToolError::Usage(needles.clean(&text)),
        ToolError::Failed(text) => ToolError::Failed(needles.clean(&text)),
        ToolError::NothingToDo(text) => ToolError::NothingToDo(needles.clean(&text)),
        ToolError::Refused(refusal) => ToolError::Refused(Refusal::new(
            refusal.kind,
            needles.clean(&refusal.reason),
            needles.clean(&refusal.how_to_fix),
        )),
    }
}

/// The innermost causes of a failure, without the address.
fn causes(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
        cause = error.source();
    }
    if texts.is_empty() { "the request failed".into() } else { texts.join(": ") }
}
