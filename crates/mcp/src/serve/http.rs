//! Serving over HTTP on this machine: any number of clients that know the token.
//!
//! Three checks keep others out: only loopback is listened on; `Host` and `Origin` must be this server's, which prevents DNS
//! rebinding by a page in a browser; and every request carries the token, as `Authorization: Bearer …` or, for clients that
//! accept only a URL, as its last part: `/mcp/TOKEN`.

use super::{Handler, MAX_MESSAGE_BYTES};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use marvin_base::token::TokenHash;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const PATH: &str = "/mcp";
/// Timeout of a request's head, and of an idle connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_HEADERS: usize = 64;
const MAX_CONNECTIONS: usize = 256;
/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time for open responses to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    cancel: CancellationToken,
    handler: Handler,
    task: tokio::task::JoinHandle<()>,
}

/// Starts to serve on a loopback address.
///
/// # Errors
/// When the address is another one, or cannot be bound.
pub async fn serve_http(
    handler: Handler,
    address: SocketAddr,
    token: &str,
    cancel: &CancellationToken,
) -> std::io::Result<HttpServer> {
    if !address.ip().is_loopback() {
        let why = "only addresses of this machine are served";
        return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, why));
    }
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let cancel = cancel.child_token();
    let port = address.port();
    let config = StreamableHttpServerConfig::default()
        .with_cancellation_token(cancel.clone())
        .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
        .with_allowed_origins(["localhost", "127.0.0.1", "[::1]"].map(|host| format!("http://{host}:{port}")))
        .enforce_origin_validation();
    let clients = handler.clone();
    let service = StreamableHttpService::new(
        move || Ok(clients.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let router = Router::new()
        .route_service(PATH, service.clone())
        .route_service(&format!("{PATH}/{{token}}"), service)
        .layer(middleware::from_fn_with_state(TokenHash::new(token), admit));
    let stop = cancel.clone();
    let task = tokio::spawn(async move {
        accept(listener, router, stop).await;
    });
    Ok(HttpServer { address, cancel, handler, task })
}

/// Accepts connections until `stop`. One whose request takes too long is closed (S12).
async fn accept(listener: TcpListener, router: Router, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let connections = TaskTracker::new();
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            taken = listener.accept() => match taken {
                Ok((stream, _)) => stream,
                // Mostly too many open files, so it tries again.
                Err(_) => {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        // A connection above the limit is closed at once.
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let (router, stop) = (router.clone(), stop.clone());
        connections.spawn(async move {
            serve_connection(stream, router, stop).await;
            drop(place);
        });
    }
    connections.close();
    connections.wait().await;
}

async fn serve_connection(stream: TcpStream, router: Router, stop: CancellationToken) {
    stream.set_nodelay(true).ok();
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_headers(MAX_HEADERS);
    let service = TowerToHyperService::new(router);
    let served = builder.serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    // Errors of one connection are its own.
    tokio::select! {
        ended = served.as_mut() => { ended.ok(); }
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            tokio::time::timeout(SHUTDOWN_TIMEOUT, served).await.ok();
        }
    }
}

impl HttpServer {
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Ends every session and call, and closes the record.
    ///
    /// # Errors
    /// When the record cannot be closed.
    pub async fn stop(self) -> Result<(), marvin_agent::SessionError> {
        self.cancel.cancel();
        let ended = self.handler.end().await;
        let abort = self.task.abort_handle();
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, self.task).await.is_err() {
            abort.abort();
        }
        ended
    }
}

/// Admits a request that carries the token.
async fn admit(State(key): State<TokenHash>, request: Request, next: Next) -> Response {
    let bearer = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let named = request.uri().path().strip_prefix(PATH).and_then(|rest| rest.strip_prefix('/'));
    if bearer.is_some_and(|given| key.fits_bearer(given)) || named.is_some_and(|given| key.fits(given)) {
        return next.run(request).await;
    }
    let why = "the token is missing or wrong: send `Authorization: Bearer TOKEN`; `marvin mcp --http` prints it when it starts\n";
    let mut response = (StatusCode::UNAUTHORIZED, why).into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
