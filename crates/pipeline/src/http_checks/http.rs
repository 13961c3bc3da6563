//! A minimal HTTP/1.0 client for services on this machine: one request, one response.

use super::check::missing;
use marvin_base::truncate;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_RESPONSE_BYTES: u64 = 16 * 1024 * 1024;

/// Why a request has no valid response.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("{0}")]
    Invalid(String),
    #[error("no response within {0} s")]
    Timeout(u64),
    #[error("the headers of the response have no end")]
    Headers,
    #[error("the response is not HTTP")]
    NotHttp,
    #[error("the response is not valid chunked encoding")]
    Chunked,
    #[error(transparent)]
    Io(#[from] std::io::Error),
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

    fn parse(bytes: &[u8]) -> Result<Self, HttpError> {
        let split = bytes.windows(4).position(|window| window == b"\r\n\r\n").ok_or(HttpError::Headers)?;
        let (head, rest) = bytes.split_at(split);
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n");
        let status =
            lines.next().and_then(|line| line.strip_prefix("HTTP/")?.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or(HttpError::NotHttp)?;
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim().to_lowercase(), value.trim().to_string()))
        };
        let headers: BTreeMap<String, String> = lines.filter_map(header).collect();
        let body = rest.get(4..).unwrap_or_default().to_vec();
        if headers.get("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return Ok(Response { status, headers, body: unchunked(&body).ok_or(HttpError::Chunked)? });
        }
        Ok(Response { status, headers, body })
    }
}

fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n")?;
        let line = std::str::from_utf8(rest.get(..end)?).ok()?;
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        rest = rest.get(end + 2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size.checked_add(2)?..)?;
    }
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

    async fn exchange(&self, port: u16) -> Result<Response, HttpError> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let (body, kind) = match &self.body {
            Value::Null => (String::new(), None),
            Value::String(text) => (text.clone(), None),
            other => (other.to_string(), Some("application/json")),
        };
        let mut head = format!(
            "{} {} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n",
            self.method, self.path
        );
        let own = self.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"));
        if let (Some(kind), false) = (kind, own) {
            head.push_str(&format!("Content-Type: {kind}\r\n"));
        }
        if !matches!(self.body, Value::Null) || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH") {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let whole = format!("{head}\r\n{body}");
        stream.write_all(whole.as_bytes()).await?;
        let mut bytes = Vec::new();
        // Some servers reset the connection early: the received bytes count.
        let read = stream.take(MAX_RESPONSE_BYTES).read_to_end(&mut bytes).await;
        match read {
            Err(error) if bytes.is_empty() => Err(error.into()),
            _ => Response::parse(&bytes),
        }
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

    #[test]
    fn responses_are_parsed_and_compared() {
        let response =
            Response::parse(b"HTTP/1.0 200 OK\r\nContent-Type: text/HTML; x\r\n\r\n{\"a\": {\"b\": 1}}")
                .unwrap();
        assert!(response.is_html());
        let mut request = Request::get("/");
        request.json = BTreeMap::from([("/a/b".to_string(), json!(1))]);
        assert_eq!(request.problem(&response), None);
        request.json = BTreeMap::from([("/a/c".to_string(), json!(1))]);
        assert!(request.problem(&response).unwrap().contains("missing"));
        request.status = 404;
        assert!(request.problem(&response).unwrap().contains("404 was expected"));
        let chunked =
            Response::parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
                .unwrap();
        assert_eq!(chunked.text(), "abc");
    }

    #[test]
    fn invalid_responses_are_refused() {
        for bytes in [
            &b""[..],
            b"hello",
            b"HTTP/1.0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        ] {
            assert!(Response::parse(bytes).is_err(), "{bytes:?}");
        }
    }
}
