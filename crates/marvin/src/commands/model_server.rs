//! `marvin model-server`: a script as a model over HTTP, on this machine only.

use crate::arguments::parse_address;
use crate::failure::Failure;
use crate::output;
use crate::runtime::{cancel_on_signal, runtime};
use clap::Args;
use marvin_base::Exit;
use marvin_model::script::{Script, ScriptError};
use marvin_model::server::ModelServer;
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Serve a script as a model over HTTP (OpenAI chat and responses, Anthropic, Gemini, Ollama)
#[derive(Debug, Args)]
#[command(
    after_help = "Prints {\"address\":\"http://127.0.0.1:PORT\"} and serves until it is interrupted.\n\nExamples:\n  marvin model-server --script hello.jsonl\n  OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=x marvin --provider openai hello"
)]
pub(crate) struct ModelServerArguments {
    /// The script (JSONL)
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// The address to listen on; only this machine. Port 0: any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = parse_address)]
    listen: SocketAddr,
    /// Accepted for symmetry: the address is always printed as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Ready {
    address: String,
}

/// Serves until it is interrupted.
pub(crate) fn run(arguments: &ModelServerArguments) -> Result<Exit, Failure> {
    let script = Script::load(&arguments.script, None).map_err(|error| match error {
        ScriptError::Unreadable { .. } => Failure::usage(error).hint("name a script (docs/models.md)"),
        _ => Failure::usage(error),
    })?;
    let address = arguments.listen;
    if !address.ip().is_loopback() {
        return Err(Failure::refused(format!(
            "--listen {address}: a scripted model answers every client, so it listens only on this machine"
        ))
        .hint(format!("use 127.0.0.1:{}", address.port())));
    }
    runtime()?.block_on(async {
        let cancel = cancel_on_signal();
        let server = ModelServer::start(script, address)
            .map_err(|error| Failure::failed(format!("cannot listen on {address}: {error}")))?;
        output::json_object(&Ready { address: format!("http://{}", server.address()) })?;
        cancel.cancelled().await;
        server.stop().await;
        Ok(Exit::Success)
    })
}
