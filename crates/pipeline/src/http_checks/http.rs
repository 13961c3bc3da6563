//! Requests to services on this machine, on hyper: one connection, one request, one response.
//!
//! Not on reqwest, whose addresses are normalised: `/static/../../etc/passwd` must reach the service as the plan has it. Proxies
//! are not used, redirects not followed, and bodies not decoded.

use super::check::missing;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper_util::rt::TokioIo;
use marvin_base::truncate;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error as _;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// The timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// What is behind it is not read.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;
/// Characters that a request line cannot contain; a browser escapes them too.
const NOT_IN_PATHS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Why a request has no valid response.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("{0}")]
    Invalid(String),
    #[error("no response within {0} s")]
    Timeout(u64),
    #[error("{}", whole_reason(.0))]
    Http(#[from] hyper::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The error with its cause, which hyper's own text leaves out.
fn whole_reason(error: &hyper::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// A request and the expected response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The name in reports.
    #[serde(default)]
    pub name: String,
    #[serde(default = "get")]
    pub method: String,
    /// With the query.
    pub path: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body: text as it is, anything else as JSON.
    #[serde(default)]
    pub body: Value,
    /// The expected status.
    #[serde(default = "fine")]
    pub status: u16,
    /// Texts that the response must contain.
    #[serde(default)]
    pub contains: Vec<String>,
    /// Expected values in a JSON response, by JSON Pointer.
    #[serde(default)]
    pub json: BTreeMap<String, Value>,
}

fn get() -> String {
    "GET".into()
}

fn fine() -> u16 {
    200
}

/// An HTTP response.
#[derive(Debug, Clone, Default)]
pub struct Response {
    pub status: u16,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Response {
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The media type, without parameters.
    #[must_use]
    pub fn media_type(&self) -> String {
        let kind = self.headers.get("content-type").map(String::as_str).unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim().to_lowercase()
    }

    #[must_use]
    pub fn is_html(&self) -> bool {
        self.media_type() == "text/html"
    }

    async fn read(response: hyper::Response<Incoming>) -> Result<Self, HttpError> {
        let (head, mut rest) = response.into_parts();
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).trim().to_string();
        let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        let mut body = Vec::new();
        while let Some(frame) = rest.frame().await {
            match frame.map(hyper::body::Frame::into_data) {
                Ok(Ok(data)) => body.extend_from_slice(&data),
                Ok(Err(_trailers)) => {}
                // Some servers reset the connection early: the received bytes count.
                Err(error) if is_reset(&error) && !body.is_empty() => break,
                Err(error) => return Err(error.into()),
            }
            if body.len() >= MAX_BODY_BYTES {
                body.truncate(MAX_BODY_BYTES);
                break;
            }
        }
        Ok(Response { status: head.status.as_u16(), headers, body })
    }
}

fn is_reset(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::ConnectionReset)
}

impl Request {
    /// A GET request for a path.
    #[must_use]
    pub fn get(path: &str) -> Self {
        Request {
            name: String::new(),
            method: get(),
            path: path.to_string(),
            headers: BTreeMap::new(),
            body: Value::Null,
            status: fine(),
            contains: Vec::new(),
            json: BTreeMap::new(),
        }
    }

    /// The name in reports.
    #[must_use]
    pub fn title(&self) -> String {
        let what = format!("{} {}", self.method, self.path);
        truncate::line(if self.name.is_empty() { &what } else { &self.name }, 100)
    }

    /// Why the request is invalid.
    pub(super) fn invalid(&self) -> Option<String> {
        let plain = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if !plain(&self.method) {
            return Some(format!("`{}` is not an HTTP method", truncate::line(&self.method, 20)));
        }
        let odd =
            self.headers.iter().find(|(name, value)| !plain(name) || value.chars().any(char::is_control));
        odd.map(|(name, _)| format!("`{}` is not a valid header", truncate::line(name, 40)))
    }

    /// Sends the request to a port of this machine.
    ///
    /// # Errors
    /// When the request is invalid, or no valid response arrives in time.
    pub async fn send(&self, port: u16) -> Result<Response, HttpError> {
        if let Some(problem) = self.invalid() {
            return Err(HttpError::Invalid(problem));
        }
        let exchange = tokio::time::timeout(REQUEST_TIMEOUT, self.exchange(port));
        exchange.await.unwrap_or_else(|_| Err(HttpError::Timeout(REQUEST_TIMEOUT.as_secs())))
    }

    /// The request as it is sent.
    fn build(&self, port: u16) -> Result<hyper::Request<Full<Bytes>>, hyper::http::Error> {
        let (body, kind) = match &self.body {
            Value::Null => (String::new(), None),
            Value::String(text) => (text.clone(), None),
            other => (other.to_string(), Some(HeaderValue::from_static("application/json"))),
        };
        let path = utf8_percent_encode(&self.path, NOT_IN_PATHS).to_string();
        let mut request = hyper::Request::builder()
            .method(self.method.as_str())
            .uri(path)
            .body(Full::new(Bytes::from(body)))?;
        let headers = request.headers_mut();
        headers.insert(HOST, HeaderValue::try_from(format!("127.0.0.1:{port}"))?);
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        headers.extend(kind.map(|kind| (CONTENT_TYPE, kind)));
        for (name, value) in &self.headers {
            headers.insert(HeaderName::try_from(name)?, HeaderValue::from_bytes(value.as_bytes())?);
        }
        Ok(request)
    }

    async fn exchange(&self, port: u16) -> Result<Response, HttpError> {
        let request = self.build(port).map_err(|error| HttpError::Invalid(error.to_string()))?;
        let stream = TokioIo::new(TcpStream::connect(("127.0.0.1", port)).await?);
        // Services that agents write may compare names of headers as they are usually written.
        let mut client = hyper::client::conn::http1::Builder::new();
        let (mut sender, connection) = client.title_case_headers(true).handshake(stream).await?;
        let mut connections = JoinSet::new();
        connections.spawn(connection);
        Response::read(sender.send_request(request).await?).await
    }

    /// What is wrong with a response.
    #[must_use]
    pub fn problem(&self, response: &Response) -> Option<String> {
        let text = response.text();
        if response.status != self.status {
            let shown = truncate::middle(text.trim(), 400);
            return Some(format!(
                "the status is {}, and {} was expected; the response: {shown}",
                response.status, self.status
            ));
        }
        if let Some(problem) = missing(&self.contains, &text) {
            return Some(problem);
        }
        if self.json.is_empty() {
            return None;
        }
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            return Some(format!("the response is not JSON: {}", truncate::middle(text.trim(), 400)));
        };
        self.json.iter().find_map(|(pointer, wanted)| {
            let found = value.pointer(pointer);
            (found != Some(wanted)).then(|| {
                let found = found.map_or_else(|| "missing".to_string(), Value::to_string);
                format!("`{pointer}` is {}, and {wanted} was expected", truncate::line(&found, 200))
            })
        })
    }
}

/// A free port of this machine.
pub(super) fn free_port() -> Option<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).ok()?;
    listener.local_addr().ok().map(|address| address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Sends a request to a service that answers with these bytes, and returns what the service got.
    async fn exchange(request: &Request, answer: &[u8]) -> (String, Result<Response, HttpError>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let service = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut got = Vec::new();
            while !got.windows(4).any(|window| window == b"\r\n\r\n") {
                let mut bytes = [0; 4096];
                let count = stream.read(&mut bytes).await.unwrap();
                got.extend_from_slice(&bytes[..count]);
            }
            stream.write_all(answer).await.unwrap();
            String::from_utf8(got).unwrap()
        };
        tokio::join!(service, request.send(port))
    }

    #[tokio::test]
    async fn responses_are_read_and_compared() {
        let mut request = Request::get("/");
        let answer = b"HTTP/1.0 200 OK\r\nContent-Type: text/HTML; x\r\n\r\n{\"a\": {\"b\": 1}}";
        let response = exchange(&request, answer).await.1.unwrap();
        assert!(response.is_html());
        request.json = BTreeMap::from([("/a/b".to_string(), json!(1))]);
        assert_eq!(request.problem(&response), None);
        request.json = BTreeMap::from([("/a/c".to_string(), json!(1))]);
        assert!(request.problem(&response).unwrap().contains("missing"));
        request.status = 404;
        assert!(request.problem(&response).unwrap().contains("404 was expected"));
        let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        assert_eq!(exchange(&request, answer).await.1.unwrap().text(), "abc");
    }

    #[tokio::test]
    async fn invalid_responses_are_refused() {
        for answer in [
            &b""[..],
            b"hello",
            b"HTTP/1.0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        ] {
            let response = exchange(&Request::get("/"), answer).await.1;
            assert!(response.is_err(), "{}", String::from_utf8_lossy(answer));
        }
    }

    #[tokio::test]
    async fn a_request_arrives_as_the_plan_has_it() {
        let mut request = Request::get("/static/../%2e%2e/etc?q=<b>&x=\u{e4}");
        request.method = "PUT".into();
        request.headers = BTreeMap::from([("x-key".to_string(), "v".to_string())]);
        request.body = json!({"a": 1});
        let (got, response) = exchange(&request, b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n").await;
        assert_eq!(response.unwrap().status, 302);
        assert!(got.starts_with("PUT /static/../%2e%2e/etc?q=%3Cb%3E&x=%C3%A4 HTTP/1.1\r\n"), "{got}");
        for line in ["X-Key: v", "Content-Type: application/json", "Content-Length: 7", "Connection: close"] {
            assert!(got.contains(&format!("{line}\r\n")), "{line}: {got}");
        }
    }

    #[tokio::test]
    async fn an_endless_body_is_read_up_to_the_limit() {
        let mut answer = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        answer.resize(MAX_BODY_BYTES + 100_000, b'x');
        let response = tokio::time::timeout(Duration::from_secs(15), async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let service = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                // The client leaves first, so the end of the body may not be taken.
                while stream.write_all(&answer).await.is_ok() {}
            };
            let request = Request::get("/");
            tokio::join!(service, request.send(port)).1
        });
        assert_eq!(response.await.unwrap().unwrap().body.len(), MAX_BODY_BYTES);
    }
}
