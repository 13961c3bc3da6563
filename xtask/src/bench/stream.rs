//! `stream`: a reply of 1 MB in 20,000 chunks, shown by Marvin, against copying the same socket to
//! the same kind of pipe.
//!
//! The time from the first byte on the pipe to the last is compared: the cost of the stream, not of
//! the start of the process or of closing the record, which do not grow with it (`start` measures
//! those). The whole time and the CPU time are reported, too.

use super::timing::{Run, compile, median, round, wait};
use crate::script::ScriptEntry;
use crate::tools;
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 15;
const CHUNKS: usize = 20_000;
const BYTES: usize = 1_000_000;
const TARGET_RATIO: f64 = 1.10;

/// The reference: sends the same request to the same server and copies the socket to stdout, piece
/// by piece, without parsing it.
const READER: &str = r##"
use std::io::{Read, Write};
use std::os::fd::AsFd;
fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_default();
    let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"go"}]}"#;
    let mut socket = std::net::TcpStream::connect(&address)?;
    socket.set_nodelay(true)?;
    write!(socket, "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
        connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
    let mut out = std::fs::File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = socket.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        out.write_all(&buffer[..read])?;
    }
}
"##;

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    what: String,
    reference: Side,
    marvin: Side,
    ratio: f64,
    target_ratio: f64,
    whole_ratio: f64,
    ok: bool,
}

#[derive(Serialize)]
struct Side {
    what: &'static str,
    stream_ms: f64,
    whole_ms: f64,
    cpu_ms: f64,
}

impl Side {
    fn new(what: &'static str, runs: &[TimedRun]) -> Self {
        Side {
            what,
            stream_ms: round(median(runs.iter().map(|run| run.stream_ms))),
            whole_ms: round(median(runs.iter().map(|run| run.run.wall))),
            cpu_ms: round(median(runs.iter().map(|run| run.run.cpu))),
        }
    }
}

/// The line that `marvin model-server` prints when it is ready.
#[derive(Deserialize)]
struct ServerAddress {
    address: String,
}

pub(super) fn run() -> anyhow::Result<Value> {
    let marvin = tools::release()?;
    let directory = tempfile::tempdir()?;
    let script = directory.path().join("script.jsonl");
    let text: String = "The quick brown fox jumps over the lazy dog. ".chars().cycle().take(BYTES).collect();
    let entry = ScriptEntry { chunks: Some(CHUNKS), repeat: true, ..ScriptEntry::with_text(&text) };
    std::fs::write(&script, entry.to_line()?)?;
    let mut server = Command::new(&marvin)
        .args(["model-server", "--script"])
        .arg(&script)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let result = tools::read_json_line(&mut server)
        .and_then(|server: ServerAddress| measure_both(&marvin, &server.address, directory.path()));
    tools::kill(server);
    let (copies, turns) = result?;
    let copies = Side::new("copy the same socket to a pipe", &copies);
    let turns = Side::new("marvin --non-interactive --provider openai", &turns);
    let ratio = turns.stream_ms / copies.stream_ms;
    Ok(serde_json::to_value(Report {
        bench: "stream",
        what: format!("{BYTES} bytes in {CHUNKS} chunks, {ROUNDS} runs each, taking turns"),
        ratio: round(ratio),
        target_ratio: TARGET_RATIO,
        whole_ratio: round(turns.whole_ms / copies.whole_ms),
        ok: ratio <= TARGET_RATIO,
        reference: copies,
        marvin: turns,
    })?)
}

/// One run, and the time of its output from the first byte to the last.
struct TimedRun {
    run: Run,
    stream_ms: f64,
}

fn measure_both(
    marvin: &Path,
    address: &str,
    directory: &Path,
) -> anyhow::Result<(Vec<TimedRun>, Vec<TimedRun>)> {
    let address = address.trim_start_matches("http://");
    let reader = compile(directory, "reader", READER)?;
    let work = directory.join("work");
    std::fs::create_dir(&work)?;
    let (mut copies, mut turns) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut copy = Command::new(&reader);
        copies.push(measure(copy.arg(address))?);
        let mut turn = Command::new(marvin);
        turn.args(["--non-interactive", "--prompt", "go", "--provider", "openai"])
            .current_dir(&work)
            .env("HOME", directory)
            .env("OPENAI_BASE_URL", format!("http://{address}/v1"))
            .env("OPENAI_API_KEY", "none");
        turns.push(measure(&mut turn)?);
    }
    Ok((copies, turns))
}

/// Runs a program whose output is drained, and checks that it is complete.
fn measure(command: &mut Command) -> anyhow::Result<TimedRun> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let mut total = 0;
    let (mut first, mut last) = (None, started);
    if let Some(mut stdout) = child.stdout.take() {
        let mut buffer = vec![0; 256 * 1024];
        while let Ok(read) = stdout.read(&mut buffer) {
            if read == 0 {
                break;
            }
            total += read;
            last = Instant::now();
            first.get_or_insert(last);
        }
    }
    let run = wait(&child, started)?;
    let stream_ms = last.duration_since(first.unwrap_or(started)).as_secs_f64() * 1000.0;
    if total < BYTES {
        bail!("only {total} of {BYTES} bytes arrived");
    }
    Ok(TimedRun { run, stream_ms })
}
