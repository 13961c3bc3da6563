//! `stream`: a reply of 1 MB in 20,000 chunks, shown by Marvin, against copying the same socket to the same kind of pipe.
//!
//! What is compared is the time from the first byte on the pipe to the last: the cost of the stream, not of the start of
//! the process or of closing the record, which do not grow with it (`start` measures those). The whole time and the
//! processor time are given beside it.

use super::timing::{Run, compile, median, round, wait};
use crate::tools;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 15;
const CHUNKS: usize = 20_000;
const BYTES: usize = 1_000_000;
const TARGET: f64 = 1.10;

/// The reference: asks the same server the same question and copies what comes from the socket to standard output, piece
/// by piece, understanding nothing of it.
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

/// Measures.
pub(crate) fn run() -> Result<Value, String> {
    let marvin = tools::release()?;
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let script = directory.path().join("script.jsonl");
    let text: String = "The quick brown fox jumps over the lazy dog. ".chars().cycle().take(BYTES).collect();
    let entry = json!({"reply": {"text": text}, "chunks": CHUNKS, "repeat": true});
    std::fs::write(&script, format!("{entry}\n")).map_err(|error| error.to_string())?;
    let (server, address) = serve(&marvin, &script)?;
    let result = measure_both(&marvin, &address, directory.path());
    stop(server);
    let (copies, turns) = result?;
    let flow = |runs: &[TimedRun]| median(runs.iter().map(|shown| shown.flow));
    let wall = |runs: &[TimedRun]| median(runs.iter().map(|shown| shown.run.wall));
    let cpu = |runs: &[TimedRun]| median(runs.iter().map(|shown| shown.run.cpu));
    let side = |what: &str, runs: &[TimedRun]| json!({"what": what, "stream_ms": round(flow(runs)), "whole_ms": round(wall(runs)), "cpu_ms": round(cpu(runs))});
    let ratio = flow(&turns) / flow(&copies);
    Ok(json!({
        "bench": "stream",
        "what": format!("{BYTES} bytes in {CHUNKS} chunks, {ROUNDS} runs each, taking turns"),
        "reference": side("copy the same socket to a pipe", &copies),
        "marvin": side("marvin --non-interactive --provider openai", &turns),
        "ratio": round(ratio), "target_ratio": TARGET, "whole_ratio": round(wall(&turns) / wall(&copies)),
        "ok": ratio <= TARGET,
    }))
}

/// One run, and how long its output took from the first byte to the last.
struct TimedRun {
    run: Run,
    flow: f64,
}

fn measure_both(
    marvin: &Path,
    address: &str,
    directory: &Path,
) -> Result<(Vec<TimedRun>, Vec<TimedRun>), String> {
    let reader = compile(directory, "reader", READER)?;
    let work = directory.join("work");
    std::fs::create_dir(&work).map_err(|error| error.to_string())?;
    let (mut copies, mut turns) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut copy = Command::new(&reader);
        copies.push(measure(copy.arg(address), BYTES)?);
        let mut turn = Command::new(marvin);
        turn.args(["--non-interactive", "--prompt", "go", "--provider", "openai"])
            .current_dir(&work)
            .env("HOME", directory)
            .env("OPENAI_BASE_URL", format!("http://{address}/v1"))
            .env("OPENAI_API_KEY", "none");
        turns.push(measure(&mut turn, BYTES)?);
    }
    Ok((copies, turns))
}

/// Runs a program whose output is drained, and makes sure that all of it came.
fn measure(command: &mut Command, least: usize) -> Result<TimedRun, String> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
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
    let flow = last.duration_since(first.unwrap_or(started)).as_secs_f64() * 1000.0;
    if total < least {
        Err(format!("only {total} of {least} bytes came"))
    } else {
        Ok(TimedRun { run, flow })
    }
}

fn serve(marvin: &Path, script: &Path) -> Result<(Child, String), String> {
    let mut server = Command::new(marvin)
        .args(["model-server", "--script"])
        .arg(script)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut line = String::new();
    if let Some(stdout) = server.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
    }
    let address = serde_json::from_str::<Value>(&line)
        .ok()
        .and_then(|value| Some(value.get("address")?.as_str()?.trim_start_matches("http://").to_string()));
    match address {
        Some(address) => Ok((server, address)),
        None => {
            stop(server);
            Err(format!("the model server did not say its address: {line}"))
        }
    }
}

fn stop(mut server: Child) {
    server.kill().ok();
    server.wait().ok();
}
