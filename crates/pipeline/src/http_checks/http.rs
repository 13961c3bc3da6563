//! A request over a real connection to this machine, as small as it can be: HTTP/1.0, one answer, closed.

use super::missing;
use marvin_base::truncate;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long one request may take.
const DEADLINE: Duration = Duration::from_secs(20);
/// Bytes of an answer.
const MAX_RESPONSE_BYTES: u64 = 16 * 1024 * 1024;

/// A request, and what the answer must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What it shows.
    #[serde(default)]
    pub name: String,
    /// The method.
    #[serde(default = "get")]
    pub method: String,
    /// The path, with its query.
    pub path: String,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What is sent: text as it is, anything else as JSON.
    #[serde(default)]
    pub body: Value,
    /// The status of the answer.
    #[serde(default = "fine")]
    pub status: u16,
    /// Texts that the answer must hold.
    #[serde(default)]
    pub contains: Vec<String>,
    /// Values that the answer must have as JSON, by pointers.
    #[serde(default)]
    pub json: BTreeMap<String, Value>,
}

fn get() -> String {
    "GET".into()
}

fn fine() -> u16 {
    200
}

/// What came back.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Headers, by their names in small letters.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The kind of its content, without parameters.
    #[must_use]
    pub fn kind(&self) -> String {
        let kind = self.headers.get("content-type").map(String::as_str).unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim().to_lowercase()
    }

    /// Is it a page?
    #[must_use]
    pub fn is_html(&self) -> bool {
        self.kind() == "text/html"
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let split = bytes
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .ok_or("the answer has no end of its headers")?;
        let (head, rest) = bytes.split_at(split);
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n");
        let status =
            lines.next().and_then(|line| line.strip_prefix("HTTP/")?.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or("the answer is no HTTP")?;
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim().to_lowercase(), value.trim().to_string()))
        };
        let headers: BTreeMap<String, String> = lines.filter_map(header).collect();
        let body = rest.get(4..).unwrap_or_default().to_vec();
        if headers.get("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return Ok(Answer {
                status,
                headers,
                body: unchunked(&body).ok_or("the answer is not chunked as it says")?,
            });
        }
        Ok(Answer { status, headers, body })
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
    /// A plain request for a path.
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

    /// What it is called in reports.
    #[must_use]
    pub fn title(&self) -> String {
        let what = format!("{} {}", self.method, self.path);
        truncate::line(if self.name.is_empty() { &what } else { &self.name }, 100)
    }

    /// Why it cannot be sent.
    pub(super) fn unusable(&self) -> Option<String> {
        let plain = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if !plain(&self.method) {
            return Some(format!("`{}` is no method", truncate::line(&self.method, 20)));
        }
        let odd =
            self.headers.iter().find(|(name, value)| !plain(name) || value.chars().any(char::is_control));
        odd.map(|(name, _)| format!("`{}` is no header", truncate::line(name, 40)))
    }

    /// Sends it to a port of this machine.
    pub async fn send(&self, port: u16) -> Result<Answer, String> {
        if let Some(why) = self.unusable() {
            return Err(why);
        }
        tokio::time::timeout(DEADLINE, self.exchange(port))
            .await
            .map_err(|_| format!("no answer within {} s", DEADLINE.as_secs()))?
    }

    async fn exchange(&self, port: u16) -> Result<Answer, String> {
        let said = |error: std::io::Error| error.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(said)?;
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
        stream.write_all(whole.as_bytes()).await.map_err(said)?;
        let mut bytes = Vec::new();
        // Some servers close before all was read of them: what came counts.
        let read = stream.take(MAX_RESPONSE_BYTES).read_to_end(&mut bytes).await;
        match read {
            Err(error) if bytes.is_empty() => Err(said(error)),
            _ => Answer::parse(&bytes),
        }
    }

    /// What is wrong with an answer.
    #[must_use]
    pub fn problem(&self, answer: &Answer) -> Option<String> {
        let text = answer.text();
        if answer.status != self.status {
            let shown = truncate::middle(text.trim(), 400);
            return Some(format!(
                "the status is {}, and {} was expected; the answer: {shown}",
                answer.status, self.status
            ));
        }
        if let Some(problem) = missing(&self.contains, &text) {
            return Some(problem);
        }
        if self.json.is_empty() {
            return None;
        }
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            return Some(format!("the answer is no JSON: {}", truncate::middle(text.trim(), 400)));
        };
        self.json.iter().find_map(|(pointer, wanted)| {
            let found = value.pointer(pointer);
            (found != Some(wanted)).then(|| {
                let found = found.map_or_else(|| "not there".to_string(), Value::to_string);
                format!("`{pointer}` is {}, and {wanted} was expected", truncate::line(&found, 200))
            })
        })
    }
}

/// A port of this machine that nobody uses now.
pub(super) fn free_port() -> Option<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).ok()?;
    listener.local_addr().ok().map(|address| address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_read_and_compared() {
        let answer =
            Answer::parse(b"HTTP/1.0 200 OK\r\nContent-Type: text/HTML; x\r\n\r\n{\"a\": {\"b\": 1}}")
                .unwrap();
        assert!(answer.is_html());
        let mut request = Request::get("/");
        request.json = BTreeMap::from([("/a/b".to_string(), json!(1))]);
        assert_eq!(request.problem(&answer), None);
        request.json = BTreeMap::from([("/a/c".to_string(), json!(1))]);
        assert!(request.problem(&answer).unwrap().contains("not there"));
        request.status = 404;
        assert!(request.problem(&answer).unwrap().contains("404 was expected"));
        let chunked =
            Answer::parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
                .unwrap();
        assert_eq!(chunked.text(), "abc");
    }

    #[test]
    fn nonsense_is_no_answer() {
        for bytes in [
            &b""[..],
            b"hello",
            b"HTTP/1.0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        ] {
            assert!(Answer::parse(bytes).is_err(), "{bytes:?}");
        }
    }
}
