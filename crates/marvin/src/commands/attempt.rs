//! `marvin attempt`: one attempt at a step of a workflow, for a worker. It reads the order from stdin and prints the end.
//!
//! The order is the first line. A worker keeps stdin open (`--watch`); when it ends, the worker is gone, and the attempt is
//! cancelled.

use crate::failure::Failure;
use crate::runtime::{cancel_on_signal, runtime, start_mcp_servers};
use crate::{output, project};
use clap::Args;
use marvin_base::Exit;
use marvin_base::settings::table;
use marvin_flow::remote::attempt::AttemptRequest;
use marvin_model::price::dollars;
use std::io::{BufRead, Read};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Bytes of an order.
const MAX_ORDER_BYTES: u64 = 16 * 1024 * 1024;

/// Make one attempt at a step, for a worker
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "Reads the order from standard input, one line of JSON, and prints the end as JSON. `marvin worker` runs it.\n\nExample:\n  marvin attempt < order.json"
)]
pub(crate) struct AttemptArguments {
    /// Cancel the attempt when standard input ends
    #[arg(long)]
    watch: bool,
}

pub(crate) fn run(arguments: &AttemptArguments) -> Result<Exit, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .take(MAX_ORDER_BYTES)
        .read_line(&mut line)
        .map_err(|error| Failure::usage(format!("cannot read the order: {error}")))?;
    let request: AttemptRequest = serde_json::from_str(&line).map_err(|error| {
        Failure::usage(format!("cannot read the order: {error}")).hint("`marvin worker` gives it")
    })?;
    let allowance = request.allowance.map(|nanos| (table::MAX_COST.key, dollars(nanos).to_string()));
    let mut context = project::context(None, true, allowance.into_iter().collect())?;
    let reply = runtime()?.block_on(async {
        let cancel = cancel_on_signal();
        if arguments.watch {
            watch_stdin(cancel.clone());
        }
        let servers = match request.needs_model() {
            true => Some(start_mcp_servers(&mut context, &cancel).await),
            false => None,
        };
        let reply = request.carry_out(&Arc::new(context), cancel).await;
        if let Some(servers) = servers {
            servers.end().await;
        }
        reply
    })?;
    output::json(&reply)
}

/// Cancels the attempt when stdin ends.
fn watch_stdin(cancel: CancellationToken) {
    std::thread::spawn(move || {
        let mut rest = [0; 64];
        while std::io::stdin().lock().read(&mut rest).is_ok_and(|count| count > 0) {}
        cancel.cancel();
    });
}
