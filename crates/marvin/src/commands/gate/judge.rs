//! `marvin gate judge`: a verdict for every line of standard input.

use super::scene::{Scene, SceneArguments};
use crate::failure::Failure;
use crate::output;
use clap::Args;
use marvin_base::Exit;
use marvin_gate::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};

/// Bytes of a line. A longer one is not a command for a shell.
const MAX_LINE_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes that are buffered before they are written.
const BUFFER_BYTES: usize = 64 * 1024;

/// Judge commands from standard input, one JSON object per line
#[derive(Debug, Args)]
#[command(
    after_help = "Reads {\"id\", \"command\"} per line and writes {\"id\", \"verdict\", \"rule\", \"reason\"} per line, in the same order, as soon as it can.\nA line that is not such an object is answered by {\"id\": null, \"error\"}; the exit code is then 1 at the end.\nNothing is run, nothing that a command names is opened, and no model is asked.\n\nExamples:\n  echo '{\"id\": 1, \"command\": \"git push --force\"}' | marvin gate judge\n  marvin gate judge --working-dir ~/src/app < commands.jsonl > verdicts.jsonl"
)]
pub(crate) struct JudgeArguments {
    #[command(flatten)]
    scene: SceneArguments,
    /// Accepted for symmetry: input and output are always JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct JudgeRequest {
    #[serde(default)]
    id: Value,
    command: String,
}

#[derive(Serialize)]
struct Judgement<'a> {
    id: Value,
    verdict: &'a str,
    rule: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct UnreadableLine {
    id: Option<u64>,
    error: String,
}

/// Judges lines until there are no more.
pub(super) fn run(arguments: &JudgeArguments) -> Result<Exit, Failure> {
    let scene = arguments.scene.scene()?;
    let mut input = BufReader::with_capacity(BUFFER_BYTES, std::io::stdin().lock());
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
            let request = match serde_json::from_slice(&line) {
                _ if !whole => Err("it is too long".to_string()),
                request => {
                    request.map_err(|error| format!("it is not an object with id and command: {error}"))
                }
            };
            let answer = match request {
                Ok(request) => judge(request, &scene),
                Err(reason) => {
                    bad = true;
                    let error = format!("line {number}: {reason}");
                    serde_json::to_string(&UnreadableLine { id: None, error })
                }
            };
            answers.push_str(&answer.map_err(Failure::failed)?);
            answers.push('\n');
        }
        // Answers are written before more input is waited for.
        if input.buffer().is_empty() || answers.len() >= BUFFER_BYTES {
            output::json_line(&answers)?;
            answers.clear();
        }
    }
    output::json_line(&answers)?;
    Ok(if bad { Exit::Failed } else { Exit::Success })
}

fn judge(request: JudgeRequest, scene: &Scene) -> serde_json::Result<String> {
    let place = scene.place();
    let look = scene.layers.look(&request.command, place);
    let Verdict { decision, rule, reason, .. } = scene.layers.rule(&request.command, place, look).verdict;
    let verdict = decision.word();
    serde_json::to_string(&Judgement { id: request.id, verdict, rule: &rule, reason: &reason })
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
