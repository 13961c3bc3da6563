//! `marvin gate judge`: a line in, a line out.

use super::Scene;
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};

/// Bytes of a line. A longer one is not a command for a shell.
const MAX_LINE_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes that are gathered before they are written.
const GATHERED: usize = 64 * 1024;

#[derive(Deserialize)]
struct JudgeRequest {
    #[serde(default)]
    id: Value,
    command: String,
}

/// Judges lines until there are no more.
pub(super) fn run(scene: &Scene) -> Result<Exit, Failure> {
    let mut input = BufReader::with_capacity(GATHERED, std::io::stdin().lock());
    let mut answers = String::new();
    let (mut line, mut number, mut bad) = (Vec::new(), 0u64, false);
    loop {
        line.clear();
        let read = input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        let read = read.map_err(|error| Failure::failed(format!("cannot read standard input: {error}")))?;
        if read == 0 {
            break;
        }
        number += 1;
        let whole = line.last() == Some(&b'\n') || (read as u64) < MAX_LINE_BYTES;
        if !whole {
            skip(&mut input)?;
        }
        if !(whole && line.trim_ascii().is_empty()) {
            let answer = if whole { answer(&line, scene) } else { Err("it is too long".to_string()) };
            let answer = answer.unwrap_or_else(|why| {
                bad = true;
                json!({"id": null, "error": format!("line {number}: {why}")})
            });
            answers.push_str(&answer.to_string());
            answers.push('\n');
        }
        // What is answered is sent off before more is waited for.
        if input.buffer().is_empty() || answers.len() >= GATHERED {
            output::json_line(&answers)?;
            answers.clear();
        }
    }
    output::json_line(&answers)?;
    Ok(if bad { Exit::Failed } else { Exit::Success })
}

fn answer(line: &[u8], scene: &Scene) -> Result<Value, String> {
    let asked: JudgeRequest = serde_json::from_slice(line)
        .map_err(|error| format!("it is not an object with id and command: {error}"))?;
    let verdict = scene.layers.judge(&asked.command, scene.place()).verdict;
    Ok(json!({
        "id": asked.id,
        "verdict": verdict.decision.word(),
        "rule": verdict.rule,
        "reason": verdict.reason,
    }))
}

/// Reads on to the end of a line that is too long.
fn skip(input: &mut impl BufRead) -> Result<(), Failure> {
    loop {
        let buffer = input.fill_buf();
        let buffer =
            buffer.map_err(|error| Failure::failed(format!("cannot read standard input: {error}")))?;
        let (used, done) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if done {
            return Ok(());
        }
    }
}
