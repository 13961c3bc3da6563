//! The server: accepts a bounded number of connections, gives each a time to say what it wants, and ends with its caller.

use crate::answer::Refusal;
use crate::guard::{self, Guard};
use crate::pages::PageHandler;
use crate::routes::{self, RouteMatch};
use crate::seats::SeatHandler;
use crate::session::Sessions;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use marvin_agent::ProjectContext;
use marvin_agent::chat::Chat;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Connections at the same time; further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 1_024;
/// How long a connection may take to send the head of a request, or to think of one.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long the body of a request may take.
const BODY_TIME: Duration = Duration::from_secs(10);
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;
/// Headers of a request, and bytes of all of them.
const MAX_HEADERS: usize = 64;
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// How long open answers may take to end.
pub(crate) const LAST: Duration = Duration::from_secs(3);

/// Parts and address of the server.
pub struct Setup {
    /// Settings, directories and workspace.
    pub project: Arc<ProjectContext>,
    pub chat: Chat,
    /// The token that requests must carry.
    pub token: String,
    /// Address to listen on; port 0 picks a free one.
    pub address: SocketAddr,
    /// Whether an address beyond this machine was asked for by name.
    pub beyond: bool,
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Setup").field("address", &self.address).finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "{0} can be reached from other machines: anyone with the link can read everything here and run commands\n  \
         hint: leave out --host to serve this machine only, or say --expose when that is what you want"
    )]
    Beyond(SocketAddr),
    #[error("port {0} is in use\n  hint: another `marvin chat-ui` may be running; --port 0 picks a free one")]
    InUse(u16),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
}

#[derive(Debug)]
pub struct WebServer {
    address: SocketAddr,
    sessions: Arc<Sessions>,
    cancel: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

/// Starts to serve, until `cancel`. Must be called inside of a runtime.
///
/// # Errors
/// When the address may not or cannot be listened on.
pub async fn serve(setup: Setup, cancel: &CancellationToken) -> Result<WebServer, StartError> {
    let asked = setup.address;
    if !asked.ip().is_loopback() && !setup.beyond {
        return Err(StartError::Beyond(asked));
    }
    let (listener, address) = listen(asked).await?;
    let cancel = cancel.child_token();
    let sessions = Arc::new(Sessions::new(&setup.token));
    let pages = PageHandler::new(setup.project, setup.chat, sessions.clone(), cancel.clone());
    let door = Arc::new(Door {
        guard: Guard::new(address, &[&setup.token]),
        pages: Pages::Project(Box::new(pages)),
    });
    let task = tokio::spawn(accept(listener, door, cancel.clone()));
    Ok(WebServer { address, sessions, cancel, task })
}

pub(crate) async fn listen(asked: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let listener = TcpListener::bind(asked).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => StartError::InUse(asked.port()),
        _ => StartError::Listen(asked, error),
    })?;
    let address = listener.local_addr().map_err(|error| StartError::Listen(asked, error))?;
    Ok((listener, address))
}

impl WebServer {
    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A link for a person that works once. Browsers do not send the part behind `#` to any server.
    #[must_use]
    pub fn link(&self) -> String {
        format!("http://{}/#code={}", self.address, self.sessions.issue())
    }

    /// Waits until a link was opened.
    pub async fn opened(&self) {
        self.sessions.opened().await;
    }

    /// Ends open answers and connections.
    pub async fn stop(self) {
        self.cancel.cancel();
        let abort = self.task.abort_handle();
        if tokio::time::timeout(LAST, self.task).await.is_err() {
            abort.abort();
        }
    }
}

/// The guard, and the pages behind it.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) guard: Guard,
    pub(crate) pages: Pages,
}

/// What a server has to show.
#[derive(Debug)]
pub(crate) enum Pages {
    /// Everything of a project, for the person who started the server.
    Project(Box<PageHandler>),
    /// One game, for the two people who play it.
    Seats(SeatHandler),
}

pub(crate) async fn accept(listener: TcpListener, door: Arc<Door>, cancel: CancellationToken) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let connections = TaskTracker::new();
    loop {
        let stream = tokio::select! {
            () = cancel.cancelled() => break,
            accepted = listener.accept() => accepted.map(|(stream, _)| stream),
        };
        let Ok(stream) = stream else {
            // Out of file handles, most likely: others must end first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let place = tokio::select! {
            () = cancel.cancelled() => break,
            place = places.clone().acquire_owned() => place,
        };
        let Ok(place) = place else { break };
        let (door, cancel) = (door.clone(), cancel.clone());
        connections.spawn(async move {
            connection(stream, door, cancel).await;
            drop(place);
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn connection(stream: TcpStream, door: Arc<Door>, cancel: CancellationToken) {
    // Without it the kernel would hold small events back until earlier ones are acknowledged.
    stream.set_nodelay(true).ok();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let door = door.clone();
        async move { Ok::<Response, Infallible>(door.answer(request.map(Body::new)).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES);
    let served = builder.serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    // Errors of one connection are its own.
    tokio::select! {
        ended = served.as_mut() => { ended.ok(); }
        () = cancel.cancelled() => {
            served.as_mut().graceful_shutdown();
            tokio::time::timeout(LAST, served).await.ok();
        }
    }
}

impl Door {
    async fn answer(&self, request: Request) -> Response {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let mut response = match self.ask(request).await {
            Ok(response) => response,
            Err(refusal) => refusal.response(),
        };
        tracing::info!(%method, path = uri.path(), status = response.status().as_u16(), "web request");
        guard::seal(&mut response);
        response
    }

    async fn ask(&self, request: Request) -> Result<Response, Refusal> {
        let (parts, body) = request.into_parts();
        let found = routes::find(&parts.method, parts.uri.path());
        let open = found.as_ref().is_ok_and(|found| found.route.open);
        let caller = self.guard.admit(&parts.uri, &parts.headers, open)?;
        let RouteMatch { route, part } = found?;
        let body = read_body(&parts.method, &parts.headers, body).await?;
        let query = parts.uri.query().unwrap_or_default();
        match &self.pages {
            Pages::Project(pages) => pages.answer(route.act, part, query, &parts.headers, &body).await,
            Pages::Seats(pages) => pages.answer(route.act, caller, &part, query, &body).await,
        }
    }
}

/// The body of a request, within its size and its time.
async fn read_body(method: &Method, headers: &HeaderMap, body: Body) -> Result<Bytes, Refusal> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let length: Option<u64> = length.and_then(|text| text.parse().ok());
    if method == Method::GET {
        if length.is_some_and(|length| length > 0) || headers.contains_key(header::TRANSFER_ENCODING) {
            return Err(closing(Refusal::bad("a GET request has no body")));
        }
        return Ok(Bytes::new());
    }
    let too_large = || {
        let why = format!("the body is larger than {MAX_BODY_BYTES} bytes");
        closing(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why))
    };
    if length.is_some_and(|length| length > MAX_BODY_BYTES as u64) {
        return Err(too_large());
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let why = "the body must be JSON\n  hint: send `Content-Type: application/json`";
        return Err(closing(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why)));
    }
    match tokio::time::timeout(BODY_TIME, axum::body::to_bytes(body, MAX_BODY_BYTES)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(closing(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"))),
    }
}

/// What is left of the request is not read: the connection ends with the answer.
fn closing(refusal: Refusal) -> Refusal {
    refusal.with(header::CONNECTION, HeaderValue::from_static("close"))
}
