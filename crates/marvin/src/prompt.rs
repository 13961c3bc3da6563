//! The prompt of an unattended run: from a flag, a file or standard input.
//!
//! Waiting for it counts against the deadline, and an interrupt ends it.

use crate::failure::Failure;
use crate::runtime::{cancel_on_signal, runtime};
use marvin_base::Exit;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::time::Duration;

/// A prompt longer than this is refused: no model takes it.
const MAX_PROMPT_BYTES: u64 = 16 * 1024 * 1024;

const HINT: &str = "give --prompt TEXT, --prompt-file PATH, or pipe it in";

/// Reads the prompt; a `deadline` of zero means that there is none.
pub(crate) fn read(prompt: Option<&str>, file: Option<&Path>, deadline: Duration) -> Result<String, Failure> {
    let (source, prompt) = match (prompt, file) {
        (Some(prompt), _) => ("--prompt".to_string(), prompt.to_string()),
        (None, Some(path)) => {
            let name = format!("--prompt-file {}", path.display());
            let (path, file_name) = (path.to_path_buf(), name.clone());
            let read = move || {
                let file = std::fs::File::open(&path).map_err(|error| {
                    Failure::usage(format!("cannot read {file_name}: {error}")).hint(HINT)
                })?;
                text(&file_name, file)
            };
            let prompt = wait_for(&name, deadline, read)?;
            (name, prompt)
        }
        (None, None) if std::io::stdin().is_terminal() => {
            return Err(Failure::usage("--non-interactive needs a prompt").hint(HINT));
        }
        (None, None) => {
            let name = "standard input".to_string();
            let prompt = wait_for(&name, deadline, || text("standard input", std::io::stdin()))?;
            (name, prompt)
        }
    };
    if prompt.trim().is_empty() {
        return Err(Failure::usage(format!("the prompt ({source}) is empty")).hint(HINT));
    }
    Ok(prompt)
}

/// Runs a read that may never return on a thread of its own, which then ends with the program.
fn wait_for(
    name: &str,
    deadline: Duration,
    read: impl FnOnce() -> Result<String, Failure> + Send + 'static,
) -> Result<String, Failure> {
    runtime()?.block_on(async {
        let cancel = cancel_on_signal();
        let (done, text) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || done.send(read()));
        let late = async {
            match deadline {
                Duration::ZERO => std::future::pending().await,
                deadline => tokio::time::sleep(deadline).await,
            }
        };
        tokio::select! {
            text = text => text.map_err(|_| Failure::failed(format!("cannot read {name}")))?,
            () = late => Err(Failure::failed(format!("the deadline passed while waiting for the prompt ({name})"))),
            () = cancel.cancelled() => {
                Err(Failure::new(Exit::Interrupted, "interrupted before there was a prompt"))
            }
        }
    })
}

fn text(name: &str, source: impl Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    source
        .take(MAX_PROMPT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")).hint(HINT))?;
    if bytes.len() as u64 > MAX_PROMPT_BYTES {
        return Err(Failure::usage(format!("{name} is longer than {} MB", MAX_PROMPT_BYTES / 1024 / 1024)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!("{name} is not UTF-8 text (the first wrong byte is number {})", at + 1))
    })
}
