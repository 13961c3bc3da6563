//! The HTTP server of a worker's metrics: `GET /metrics`, and `GET /ready` for what supervises the worker.
//!
//! It has no access control, and nothing that needs some.

use super::Metrics;
use crate::FleetError;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

const MAX_CONNECTIONS: usize = 16;
/// Time for the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for a connection, so that idle ones do not keep others out.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause after a connection could not be accepted.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

const TEXT_FORMAT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// A running server; it ends with its value.
#[derive(Debug)]
pub(crate) struct MetricsServer {
    address: SocketAddr,
    _task: AbortOnDropHandle<()>,
}

impl MetricsServer {
    /// Serves the metrics at an address.
    pub(crate) async fn start(address: SocketAddr, metrics: Metrics) -> Result<Self, FleetError> {
        let refuse = |error: std::io::Error| FleetError::Setting {
            key: "fleet.metrics",
            reason: format!("cannot listen on {address}: {error}"),
        };
        let listener = TcpListener::bind(address).await.map_err(refuse)?;
        let address = listener.local_addr().map_err(refuse)?;
        let task = AbortOnDropHandle::new(tokio::spawn(accept(listener, metrics)));
        Ok(MetricsServer { address, _task: task })
    }

    /// The address that it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(listener: TcpListener, metrics: Metrics) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file handles, most likely: others must end first.
            tokio::time::sleep(RETRY_PAUSE).await;
            continue;
        };
        let metrics = metrics.clone();
        tokio::spawn(async move {
            // Errors of one connection are its own.
            tokio::time::timeout(CONNECTION_TIMEOUT, serve(stream, metrics)).await.ok();
            drop(place);
        });
    }
}

async fn serve(stream: TcpStream, metrics: Metrics) -> hyper::Result<()> {
    let service = service_fn(move |request: Request<Incoming>| {
        let response = answer(&request, &metrics);
        async move { Ok::<_, Infallible>(response) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    builder.serve_connection(TokioIo::new(stream), service).await
}

fn answer(request: &Request<Incoming>, metrics: &Metrics) -> Response<Full<Bytes>> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let (status, kind, text) = match request.uri().path() {
        _ if !is_read => (StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET is served\n".into()),
        "/metrics" => (StatusCode::OK, TEXT_FORMAT, metrics.text()),
        "/ready" if metrics.is_draining() => (StatusCode::SERVICE_UNAVAILABLE, PLAIN, "draining\n".into()),
        "/ready" => (StatusCode::OK, PLAIN, "ready\n".into()),
        _ => (StatusCode::NOT_FOUND, PLAIN, "the paths are /metrics and /ready\n".into()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    async fn request(address: SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn metrics_and_readiness_are_served() {
        let metrics = Metrics::new(3);
        let server = MetricsServer::start("127.0.0.1:0".parse().unwrap(), metrics.clone()).await.unwrap();
        let answer = request(server.address(), "GET /metrics").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("text/plain; version=0.0.4"), "{answer}");
        assert!(answer.contains("\nmarvin_worker_slots 3\n"), "{answer}");
        assert!(request(server.address(), "GET /ready").await.starts_with("HTTP/1.1 200 "));
        metrics.drain();
        assert!(request(server.address(), "GET /ready").await.starts_with("HTTP/1.1 503 "));
        assert!(request(server.address(), "GET /").await.starts_with("HTTP/1.1 404 "));
        assert!(request(server.address(), "POST /metrics").await.starts_with("HTTP/1.1 405 "));
        let error = MetricsServer::start(server.address(), metrics).await.unwrap_err();
        assert!(error.to_string().contains("cannot listen on"), "{error}");
    }
}
