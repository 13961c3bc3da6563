//! A running `marvin chat-ui`, and a minimal HTTP client that can also send malformed requests.

use crate::support::{Marvin, RunningProgram, World};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub(super) struct WebFrontEnd {
    pub(super) running: RunningProgram,
    /// `127.0.0.1:PORT`
    pub(super) address: String,
    pub(super) url: String,
    pub(super) link: String,
    pub(super) token: String,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON body; panics unless the status is 200.
    #[track_caller]
    pub(super) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        self.json()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let named = |line: &&str| line.split(':').next().is_some_and(|key| key.eq_ignore_ascii_case(name));
        self.head.lines().find(named).and_then(|line| line.split_once(": ")).map(|(_, value)| value)
    }
}

impl WebFrontEnd {
    pub(super) fn start(world: &World, script: &[Value]) -> WebFrontEnd {
        WebFrontEnd::start_with(world, script, |marvin| marvin)
    }

    pub(super) fn start_with(
        world: &World,
        script: &[Value],
        with: impl FnOnce(Marvin) -> Marvin,
    ) -> WebFrontEnd {
        let script = world.script(script);
        let marvin = world
            .person(["chat-ui", "--port", "0", "--json", "--script", &script])
            .env("MARVIN_PROVIDER", "mock");
        WebFrontEnd::from_program(with(marvin))
    }

    /// Starts `chat-ui --port 0 --json` with whatever else the program was given.
    pub(super) fn from_program(marvin: Marvin) -> WebFrontEnd {
        let mut running = marvin.start();
        let line = running.line().unwrap_or_else(|| panic!("it ended before it was ready"));
        let ready: Value = serde_json::from_str(&line).unwrap();
        let text = |key: &str| ready[key].as_str().unwrap().to_string();
        let (url, token, link) = (text("url"), text("token"), text("link"));
        let address = url.trim_start_matches("http://").to_string();
        WebFrontEnd { running, address, url, link, token }
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes as they are; `None` when the connection was closed without an answer.
    pub(super) fn raw(&self, bytes: &[u8]) -> Option<Answer> {
        let mut stream = self.connect();
        stream.write_all(bytes).ok();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        read(&answer)
    }

    /// A request with these headers besides the usual ones, and no token.
    pub(super) fn bare(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        for header in headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        if method != "GET" {
            head.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
        }
        let bytes = [head.as_bytes(), b"\r\n", body].concat();
        self.raw(&bytes).unwrap_or_else(|| panic!("no answer to {method} {path}"))
    }

    pub(super) fn open(&self, method: &str, path: &str) -> Answer {
        self.bare(method, path, &[], b"")
    }

    pub(super) fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token)
    }

    pub(super) fn send(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let bearer = self.bearer();
        let all: Vec<&str> = std::iter::once(bearer.as_str()).chain(headers.iter().copied()).collect();
        self.bare(method, path, &all, body)
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub(super) fn post(&self, path: &str, value: &Value) -> Answer {
        self.send("POST", path, &[], value.to_string().as_bytes())
    }

    pub(super) fn stream(&self, path: &str) -> Stream {
        let mut stream = self.connect();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n", self.address, self.bearer());
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains(" 200 "), "{line}");
        Stream(reader)
    }
}

/// A stream of events.
pub(super) struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Every event up to and including the first that matches.
    pub(super) fn until(mut self, is: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut found = Vec::new();
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended: {found:?}");
            if let Some(data) = line.strip_prefix("data: ") {
                let event: Value = serde_json::from_str(data).unwrap();
                let last = is(&event);
                found.push(event);
                if last {
                    return found;
                }
            }
        }
    }
}

/// Parses an answer; a chunked body is joined.
fn read(bytes: &[u8]) -> Option<Answer> {
    let at = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut body = bytes[at + 4..].to_vec();
    if head.to_lowercase().contains("transfer-encoding: chunked") {
        let mut rest = body.as_slice();
        let mut whole = Vec::new();
        while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
            let Ok(size) = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?.trim(), 16) else {
                break;
            };
            if size == 0 {
                break;
            }
            whole.extend_from_slice(rest.get(end + 2..end + 2 + size)?);
            rest = rest.get(end + 4 + size..)?;
        }
        body = whole;
    }
    Some(Answer { status, head, body })
}
