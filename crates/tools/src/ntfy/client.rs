//! The protocol of ntfy: publishing to a topic, and reading it as a stream of JSON lines.

use super::error::NtfyError;
use marvin_base::settings::{Settings, table};
use reqwest::header::{AUTHORIZATION, HeaderMap, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response};
use serde::Deserialize;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// A stream that is silent for longer is dead: the server sends a sign of life every 45 seconds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes of one line of a stream; ntfy's own limit for a message is 4096.
const MAX_LINE_BYTES: usize = 256 * 1024;
/// Bytes of all messages that one poll reads.
const MAX_POLL_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of a published message; a longer one would become an attachment.
const MAX_MESSAGE_BYTES: usize = 4_000;
/// The longest pause that a server is believed to want.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// A line of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Message {
    #[serde(default)]
    pub id: String,
    /// Seconds since 1970.
    #[serde(default)]
    pub time: i64,
    /// `message`, or `open`, `keepalive`, `poll_request`.
    pub event: String,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub message: String,
    /// The id that its publisher gave it.
    #[serde(default)]
    pub sequence_id: String,
}

/// A message that is to be published.
#[derive(Debug, Clone, Copy, Default)]
pub struct Publication<'a> {
    pub topic: &'a str,
    pub title: &'a str,
    pub message: &'a str,
    /// An id under which a repeated message replaces the first; empty: none.
    pub id: &'a str,
}

/// Checks the name of a topic.
///
/// # Errors
/// When ntfy would not take it.
pub fn check_topic(topic: &str) -> Result<&str, NtfyError> {
    let topic = topic.trim();
    let usable = !topic.is_empty()
        && topic.len() <= 64
        && topic.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if usable { Ok(topic) } else { Err(NtfyError::Topic(marvin_base::truncate::line(topic, 80))) }
}

/// Publishes a message to a topic of the server that the settings name.
///
/// # Errors
/// When the topic is invalid, or the server cannot be reached or refuses.
pub async fn publish(settings: &Settings, topic: &str, title: &str, message: &str) -> Result<(), NtfyError> {
    let server = Server::from_settings(settings)?;
    server.publish(&Publication { topic, title, message, id: "" }).await
}

/// A server of push notifications.
#[derive(Debug, Clone)]
pub struct Server {
    base: String,
    token: Option<String>,
    client: Client,
}

impl Server {
    /// The server of `notify.url`.
    ///
    /// # Errors
    /// When its address cannot be used.
    pub fn from_settings(settings: &Settings) -> Result<Self, NtfyError> {
        let base = settings.text(&table::NTFY_URL).trim_end_matches('/').to_string();
        let client = marvin_model::wire::web_client(&base, CONNECT_TIMEOUT)
            .map_err(|error| NtfyError::Address(error.to_string()))?;
        let token = settings.given(&table::NTFY_TOKEN).filter(|token| !token.is_empty()).map(str::to_string);
        Ok(Server { base, token, client })
    }

    /// The address of a topic.
    #[must_use]
    pub fn address(&self, topic: &str) -> String {
        format!("{}/{topic}", self.base)
    }

    /// The server of a topic's address; the token is for the server of the settings only.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub fn of_topic(&self, address: &str, topic: &str) -> Result<Self, NtfyError> {
        let base = address.trim_end_matches('/');
        let base = base.strip_suffix(topic).unwrap_or(base).trim_end_matches('/');
        if base == self.base || base.is_empty() {
            return Ok(self.clone());
        }
        let client = marvin_model::wire::web_client(base, CONNECT_TIMEOUT)
            .map_err(|error| NtfyError::Address(error.to_string()))?;
        Ok(Server { base: base.to_string(), token: None, client })
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, NtfyError> {
        let request = match &self.token {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        };
        let response =
            request.send().await.map_err(|error| self.unreachable(&error.without_url().to_string()))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let (server, wait) = (self.base.clone(), wanted_pause(response.headers()));
        Err(NtfyError::Status { server, status: status.as_u16(), wait })
    }

    pub(super) fn unreachable(&self, reason: &str) -> NtfyError {
        NtfyError::Unreachable { server: self.base.clone(), reason: reason.to_string() }
    }

    /// Publishes a message.
    ///
    /// # Errors
    /// When the topic is invalid, or the server cannot be reached or refuses.
    pub async fn publish(&self, publication: &Publication<'_>) -> Result<(), NtfyError> {
        let topic = check_topic(publication.topic)?;
        let message = marvin_base::truncate::head_whole(publication.message, MAX_MESSAGE_BYTES);
        let mut request = self.client.post(self.address(topic)).timeout(REQUEST_TIMEOUT);
        if !publication.title.trim().is_empty() {
            request = request.header("Title", header_text(publication.title));
        }
        if !publication.id.is_empty() {
            request = request.header("X-Sequence-ID", publication.id);
        }
        self.send(request.body(message)).await.map(|_| ())
    }

    /// Messages of a topic that the server still has, since an id or a time.
    ///
    /// # Errors
    /// When the server cannot be reached, refuses, or answers with something else.
    pub async fn poll(&self, topic: &str, since: &str) -> Result<Vec<Message>, NtfyError> {
        let mut url = self.stream_url(topic, since)?;
        url.query_pairs_mut().append_pair("poll", "1");
        let response = self.send(self.client.get(url).timeout(REQUEST_TIMEOUT)).await?;
        let mut lines = Lines::new(&self.base, response, MalformedLinePolicy::Fail);
        let mut found = Vec::new();
        while let Some(message) = lines.next().await? {
            if lines.read > MAX_POLL_BYTES {
                return Err(lines.malformed(format!("more than {MAX_POLL_BYTES} bytes")));
            }
            found.extend((message.event == "message").then_some(message));
        }
        Ok(found)
    }

    /// Opens the stream of a topic since an id or a time.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn open_stream(&self, topic: &str, since: &str) -> Result<Lines, NtfyError> {
        let url = self.stream_url(topic, since)?;
        let response = tokio::time::timeout(REQUEST_TIMEOUT, self.send(self.client.get(url))).await;
        let response = response.map_err(|_| self.unreachable("it does not answer"))?;
        Ok(Lines::new(&self.base, response?, MalformedLinePolicy::Skip))
    }

    fn stream_url(&self, topic: &str, since: &str) -> Result<reqwest::Url, NtfyError> {
        let topic = check_topic(topic)?;
        let mut url = reqwest::Url::parse(&format!("{}/json", self.address(topic)))
            .map_err(|error| NtfyError::Address(error.to_string()))?;
        url.query_pairs_mut().append_pair("since", since);
        Ok(url)
    }
}

/// Text as a header can carry it (RFC 2047), on one line.
fn header_text(text: &str) -> String {
    let text: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    if text.is_ascii() {
        return text;
    }
    let encoded: String = text
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
            byte => format!("={byte:02X}"),
        })
        .collect();
    format!("=?UTF-8?Q?{encoded}?=")
}

/// The pause that the server asks for.
fn wanted_pause(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_WAIT))
}

/// Treatment of a line that is not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MalformedLinePolicy {
    Fail,
    Skip,
}

/// Lines of a stream, as they come.
#[derive(Debug)]
pub struct Lines {
    /// Base URL of the server.
    server: String,
    response: Response,
    buffer: Vec<u8>,
    /// Bytes read so far.
    read: usize,
    malformed_lines: MalformedLinePolicy,
    /// Whether the log has a note of a skipped line.
    is_noted: bool,
}

impl Lines {
    fn new(server: &str, response: Response, malformed_lines: MalformedLinePolicy) -> Self {
        let (server, buffer) = (server.to_string(), Vec::new());
        Lines { server, response, buffer, read: 0, malformed_lines, is_noted: false }
    }

    fn malformed(&self, reason: String) -> NtfyError {
        NtfyError::Answer { server: self.server.clone(), reason }
    }

    fn interrupted(&self, reason: &str) -> NtfyError {
        NtfyError::Unreachable { server: self.server.clone(), reason: reason.to_string() }
    }

    /// The next line; none at the end.
    ///
    /// # Errors
    /// When the connection breaks, is silent for long, or carries something else.
    pub async fn next(&mut self) -> Result<Option<Message>, NtfyError> {
        loop {
            while let Some(end) = memchr::memchr(b'\n', &self.buffer) {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if let Some(message) = self.parse(&line)? {
                    return Ok(Some(message));
                }
            }
            if self.buffer.len() > MAX_LINE_BYTES {
                return Err(self.malformed(format!("a line of more than {MAX_LINE_BYTES} bytes")));
            }
            let chunk = tokio::time::timeout(IDLE_TIMEOUT, self.response.chunk()).await;
            let chunk = chunk.map_err(|_| self.interrupted("the stream is silent"))?;
            match chunk.map_err(|error| self.interrupted(&error.without_url().to_string()))? {
                Some(bytes) => {
                    self.read += bytes.len();
                    self.buffer.extend_from_slice(&bytes);
                }
                None => {
                    let rest = std::mem::take(&mut self.buffer);
                    return self.parse(&rest);
                }
            }
        }
    }

    /// A line; none where it is blank or skipped.
    fn parse(&mut self, line: &[u8]) -> Result<Option<Message>, NtfyError> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        match serde_json::from_slice(line) {
            Ok(message) => Ok(Some(message)),
            Err(error) if self.malformed_lines == MalformedLinePolicy::Fail => {
                Err(self.malformed(error.to_string()))
            }
            Err(error) => {
                // A line that the server sends in every stream would otherwise hide all that follow it.
                if !self.is_noted {
                    self.is_noted = true;
                    tracing::warn!(%error, server = self.server, "skipped lines of ntfy that are not messages");
                }
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_carry_any_text() {
        assert_eq!(header_text("Tea is ready"), "Tea is ready");
        assert_eq!(header_text("Müsli\r\nX-Evil: 1"), "=?UTF-8?Q?M=C3=BCsli=20=20X=2DEvil=3A=201?=");
        assert_eq!(header_text("a\r\nb"), "a  b");
    }

    #[test]
    fn topics_are_checked() {
        assert_eq!(check_topic(" my-topic_1 ").unwrap(), "my-topic_1");
        for topic in ["", "a/b", "a b", "ä", &"x".repeat(65), "../x", "a?b"] {
            assert!(check_topic(topic).is_err(), "{topic}");
        }
    }
}
