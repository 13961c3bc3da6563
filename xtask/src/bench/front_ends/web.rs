//! The browser UI: 500 readers of one conversation receive every event in order, and the first load
//! is small.

use crate::chat_ui::{ChatUi, ServerAddress};
use crate::script::ScriptEntry;
use crate::tools;
use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Readers at the same time.
const READERS: usize = 500;
/// Pieces in which the answer is streamed.
const PIECES: usize = 200;
const MAX_FIRST_LOAD_BYTES: usize = 150 * 1024;

#[derive(Serialize)]
pub(super) struct Report {
    readers: usize,
    readers_with_every_event_in_order: usize,
    events: BTreeSet<u64>,
    answered_ms: u64,
    last_reader_ms: u64,
    first_load_bytes: usize,
    pub(super) ok: bool,
}

/// The body of `/api/send`.
#[derive(Serialize)]
struct Message {
    message: &'static str,
}

/// An event of `/api/events`.
#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    data: Value,
}

/// What one reader received up to the end of the answer.
struct ReceivedStream {
    events: u64,
    is_ordered: bool,
    text: String,
}

pub(super) fn run() -> anyhow::Result<Report> {
    let program = tools::release()?;
    let directory = tempfile::tempdir()?;
    let text: String = (0..PIECES).map(|number| format!("word{number} ")).collect();
    let script = directory.path().join("script.jsonl");
    let entry = ScriptEntry { chunks: Some(PIECES), ..ScriptEntry::with_text(&text) };
    std::fs::write(&script, entry.to_line()?)?;
    let server = ChatUi::start(&program, directory.path(), directory.path(), Some(&script))?;
    Client { address: &server.address }.measure(&text)
}

struct Client<'a> {
    address: &'a ServerAddress,
}

impl Client<'_> {
    /// Sends a request and returns the stream of its response.
    fn send(&self, method: &str, path: &str, body: &str) -> anyhow::Result<TcpStream> {
        let host = self.address.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).with_context(|| format!("cannot connect to {host}"))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n{length}\r\n{body}",
            self.address.token
        );
        stream.write_all(head.as_bytes())?;
        Ok(stream)
    }

    /// The body of a response.
    fn get(&self, path: &str) -> anyhow::Result<String> {
        let mut response = String::new();
        self.send("GET", path, "")?.read_to_string(&mut response).with_context(|| path.to_string())?;
        let (head, body) = response.split_once("\r\n\r\n").unwrap_or_default();
        if !head.starts_with("HTTP/1.1 200") {
            bail!("{path}: {head}");
        }
        Ok(body.to_string())
    }

    /// Bytes that a browser loads before any click: the page, its style and icon, and its modules
    /// with their imports.
    fn first_load(&self) -> anyhow::Result<usize> {
        let page = self.get("/")?;
        let mut bytes = page.len();
        let (mut seen, mut open) = (BTreeSet::new(), Vec::new());
        for part in page.split("/assets/").skip(1) {
            open.extend(part.split('"').next().map(str::to_string));
        }
        while let Some(name) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let text = self.get(&format!("/assets/{name}"))?;
            bytes += text.len();
            for part in text.split("from \"./").skip(1) {
                open.extend(part.split('"').next().map(str::to_string));
            }
        }
        Ok(bytes)
    }

    fn measure(&self, text: &str) -> anyhow::Result<Report> {
        let first_load_bytes = self.first_load()?;
        let streams: Vec<TcpStream> =
            (0..READERS).map(|_| self.send("GET", "/api/events?after=0", "")).collect::<Result<_, _>>()?;
        // All of them are connected before the message is sent.
        let mut readers = Vec::new();
        for stream in streams {
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            while !line.starts_with("retry:") {
                line.clear();
                if reader.read_line(&mut line)? == 0 {
                    bail!("a stream ended before it began");
                }
            }
            readers.push(reader);
        }
        let started = Instant::now();
        let message = serde_json::to_string(&Message { message: "count" })?;
        let mut response = self.send("POST", "/api/send", &message)?;
        let threads: Vec<_> =
            readers.into_iter().map(|reader| std::thread::spawn(move || receive(reader))).collect();
        response.read_to_string(&mut String::new())?;
        let answered = started.elapsed();
        let mut whole = 0;
        let mut events = BTreeSet::new();
        for thread in threads {
            let received = thread.join().map_err(|_| anyhow!("the thread of a reader panicked"))??;
            events.insert(received.events);
            whole += usize::from(received.is_ordered && received.text == text);
        }
        let all = started.elapsed();
        Ok(Report {
            readers: READERS,
            readers_with_every_event_in_order: whole,
            answered_ms: answered.as_millis() as u64,
            last_reader_ms: all.as_millis() as u64,
            first_load_bytes,
            ok: whole == READERS && events.len() == 1 && first_load_bytes <= MAX_FIRST_LOAD_BYTES,
            events,
        })
    }
}

/// Reads a stream up to the end of the answer.
fn receive(mut reader: BufReader<TcpStream>) -> anyhow::Result<ReceivedStream> {
    let mut received = ReceivedStream { events: 0, is_ordered: true, text: String::new() };
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            bail!("the stream ended after event {}", received.events);
        }
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let event: Event = serde_json::from_str(data).context("cannot parse an event")?;
        received.is_ordered &= event.seq == received.events + 1;
        received.events = event.seq;
        let text = |pointer: &str| event.data.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        received.text.push_str(text("/item/delta"));
        if text("/role") == "assistant" {
            return Ok(received);
        }
    }
}
