//! `prompt`: model calls, tokens and tools of a plain question, before the person's own words, in a
//! conversation and in coding. Tokens are bytes of the request divided by four. A server of our own
//! takes the requests, so that exactly what is sent is counted.

use crate::tools;
use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

const QUESTION: &str = "how far away is the moon?";
const ANSWER: &str = "About 384,400 km.";
const TARGET_CHAT_TOKENS: usize = 1_500;
const TARGET_CODING_TOKENS: usize = 3_600;

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    chat: TurnFigures,
    target_chat_tokens: usize,
    coding: TurnFigures,
    target_coding_tokens: usize,
    target_calls: usize,
    ok: bool,
}

/// Figures of one turn; the input without the person's own words.
#[derive(Serialize)]
struct TurnFigures {
    calls: usize,
    input_tokens: usize,
    system_tokens: usize,
    output_tokens: usize,
    tools: usize,
}

pub(super) fn run() -> anyhow::Result<Value> {
    let marvin = tools::release()?;
    let place = tempfile::tempdir()?;
    let work = place.path().join("work");
    std::fs::create_dir(&work)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (sender, requests) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if let Ok(Some(body)) = answer(stream)
                && sender.send(body).is_err()
            {
                return;
            }
        }
    });
    let ask = |words: &[&str]| -> anyhow::Result<TurnFigures> {
        let status = Command::new(&marvin)
            .args(["--provider", "openai"])
            .args(words)
            .arg(QUESTION)
            .current_dir(&work)
            .env_clear()
            .env("HOME", place.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("MARVIN_OPENAI_URL", format!("http://{address}/v1"))
            .env("OPENAI_API_KEY", "k")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if !status.success() {
            bail!("the question {words:?} ended with {status}");
        }
        let bodies: Vec<Value> = requests.try_iter().collect();
        let first = bodies.first().context("no request arrived")?;
        let system: usize = first["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|message| message["role"] == "system")
            .map(|message| message["content"].as_str().unwrap_or_default().len())
            .sum();
        let schemas = first["tools"].to_string().len();
        Ok(TurnFigures {
            calls: bodies.len(),
            input_tokens: (system + schemas) / 4,
            system_tokens: system / 4,
            output_tokens: ANSWER.len() / 4,
            tools: first["tools"].as_array().map_or(0, Vec::len),
        })
    };
    let (chat, coding) = (ask(&[])?, ask(&["--working-dir", "."])?);
    let holds = |figures: &TurnFigures, target: usize| figures.calls == 1 && figures.input_tokens <= target;
    let ok = holds(&chat, TARGET_CHAT_TOKENS) && holds(&coding, TARGET_CODING_TOKENS);
    Ok(serde_json::to_value(Report {
        bench: "prompt",
        chat,
        target_chat_tokens: TARGET_CHAT_TOKENS,
        coding,
        target_coding_tokens: TARGET_CODING_TOKENS,
        target_calls: 1,
        ok,
    })?)
}

/// Reads one request and answers it; gives its body where it has one.
fn answer(mut stream: TcpStream) -> anyhow::Result<Option<Value>> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        let header = line.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let delta = format!(r#"{{"content": "{ANSWER}"}}"#);
    let event = format!(r#"{{"choices": [{{"index": 0, "delta": {delta}, "finish_reason": "stop"}}]}}"#);
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {event}\n\ndata: [DONE]\n\n"
    )?;
    Ok(serde_json::from_slice(&body).ok())
}
