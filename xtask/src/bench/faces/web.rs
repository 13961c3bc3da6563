//! The browser face: 500 readers of one conversation hear every event in order, and the first load is small.

use crate::tools;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Readers at the same time.
const READERS: usize = 500;
/// Pieces in which the answer comes.
const PIECES: usize = 200;
/// Bytes of the first load, at most.
const MAX_FIRST_LOAD_BYTES: usize = 150 * 1024;

/// Measures, and says whether the targets hold.
pub(crate) fn run() -> Result<Value, String> {
    let program = tools::release()?;
    let world = tempfile::tempdir().map_err(|error| error.to_string())?;
    let text: String = (0..PIECES).map(|number| format!("word{number} ")).collect();
    let script = world.path().join("script.jsonl");
    let entry = json!({"reply": {"text": text}, "chunks": PIECES});
    std::fs::write(&script, format!("{entry}\n")).map_err(|error| error.to_string())?;
    let mut server = Server::start(&program, world.path(), &script)?;
    let measured = server.measure(&text);
    server.child.kill().ok();
    server.child.wait().ok();
    measured
}

struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Server {
    fn start(
        program: &std::path::Path,
        directory: &std::path::Path,
        script: &std::path::Path,
    ) -> Result<Self, String> {
        let mut child = Command::new(program)
            .args(["chat-ui", "--port", "0", "--json", "--script"])
            .arg(script)
            .current_dir(directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", directory)
            .env("MARVIN_PROVIDER", "mock")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        let ready: Value = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
        let text = |key: &str| ready.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
        let address = text("url").trim_start_matches("http://").to_string();
        Ok(Server { child, address, token: text("token") })
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Result<TcpStream, String> {
        let failed = |error: std::io::Error| format!("{method} {path}: {error}");
        let mut stream = TcpStream::connect(&self.address).map_err(failed)?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).map_err(failed)?;
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n{length}\r\n{body}",
            self.address, self.token
        );
        stream.write_all(head.as_bytes()).map_err(failed)?;
        Ok(stream)
    }

    /// The body of an answer.
    fn body(&self, path: &str) -> Result<String, String> {
        let mut said = String::new();
        self.ask("GET", path, "")?.read_to_string(&mut said).map_err(|error| format!("{path}: {error}"))?;
        let (head, body) = said.split_once("\r\n\r\n").unwrap_or_default();
        if head.starts_with("HTTP/1.1 200") { Ok(body.to_string()) } else { Err(format!("{path}: {head}")) }
    }

    /// What a browser loads before anything is clicked: the page, its style and icon, and its modules with what they import.
    fn first_load(&self) -> Result<usize, String> {
        let page = self.body("/")?;
        let mut bytes = page.len();
        let (mut seen, mut open) = (BTreeSet::new(), Vec::new());
        for part in page.split("/assets/").skip(1) {
            open.extend(part.split('"').next().map(str::to_string));
        }
        while let Some(name) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let text = self.body(&format!("/assets/{name}"))?;
            bytes += text.len();
            for part in text.split("from \"./").skip(1) {
                open.extend(part.split('"').next().map(str::to_string));
            }
        }
        Ok(bytes)
    }

    fn measure(&mut self, text: &str) -> Result<Value, String> {
        let bytes = self.first_load()?;
        let readers: Vec<TcpStream> =
            (0..READERS).map(|_| self.ask("GET", "/api/events?after=0", "")).collect::<Result<_, _>>()?;
        // All of them are connected before anything is said.
        let mut heard: Vec<BufReader<TcpStream>> = Vec::new();
        for reader in readers {
            let mut reader = BufReader::new(reader);
            let mut line = String::new();
            while !line.starts_with("retry:") {
                line.clear();
                if reader.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                    return Err("a stream ended before it began".into());
                }
            }
            heard.push(reader);
        }
        let begun = Instant::now();
        let mut asked = self.ask("POST", "/api/send", &json!({"message": "count"}).to_string())?;
        let threads: Vec<_> =
            heard.into_iter().map(|reader| std::thread::spawn(move || listen(reader))).collect();
        let mut said = String::new();
        asked.read_to_string(&mut said).map_err(|error| error.to_string())?;
        let answered = begun.elapsed();
        let mut whole = 0;
        let mut events = BTreeSet::new();
        for thread in threads {
            let (count, ordered, joined) = thread.join().map_err(|_| "a reader broke")??;
            events.insert(count);
            whole += usize::from(ordered && joined == text);
        }
        let all = begun.elapsed();
        let alike = events.len() == 1;
        Ok(json!({
            "readers": READERS, "readers_with_every_event_in_order": whole, "events": events,
            "answered_ms": answered.as_millis() as u64, "last_reader_ms": all.as_millis() as u64,
            "first_load_bytes": bytes, "ok": whole == READERS && alike && bytes <= MAX_FIRST_LOAD_BYTES,
        }))
    }
}

/// Reads a stream up to the answer: how many events, whether their numbers follow each other, and the pieces put together.
fn listen(mut reader: BufReader<TcpStream>) -> Result<(u64, bool, String), String> {
    let (mut last, mut ordered, mut text, mut line) = (0, true, String::new(), String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
            return Err(format!("the stream ended after event {last}"));
        }
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let event: Value = serde_json::from_str(data).map_err(|error| error.to_string())?;
        let seq = event.get("seq").and_then(Value::as_u64).unwrap_or_default();
        ordered &= seq == last + 1;
        last = seq;
        let data = event.get("data").unwrap_or(&Value::Null);
        text.push_str(
            data.get("item").and_then(|item| item.get("delta")).and_then(Value::as_str).unwrap_or_default(),
        );
        if data.get("role").and_then(Value::as_str) == Some("assistant") {
            return Ok((last, ordered, text));
        }
    }
}
