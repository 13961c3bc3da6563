//! A Temporal server, a store, and workers.

use crate::network::{Network, enter};
use crate::support::{Marvin, PROGRAM_TIMEOUT, World};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Seconds without a sign of life after which an attempt counts as lost.
pub(crate) const HEARTBEAT_S: &str = "2";
const LONG_HEARTBEAT_S: &str = "120";

/// The program `temporal`; none where it is not installed.
pub(crate) fn program() -> Option<PathBuf> {
    let program = std::env::var_os("MARVIN_TEST_TEMPORAL").map(PathBuf::from);
    if program.is_none() {
        marvin_testing::skip("run through `cargo xtask fleet-test`, which installs the Temporal server");
    }
    program
}

/// A server with its data in a file, and a store.
pub(crate) struct Fleet {
    program: PathBuf,
    directory: tempfile::TempDir,
    port: u16,
    server: Option<Child>,
    /// Settings of the server.
    dynamic: Vec<String>,
    /// Namespaces of the server and of workers, if they do not share the network of the test.
    network: Option<Network>,
    heartbeat_s: &'static str,
}

impl Fleet {
    /// Starts a server; none where it is not installed.
    pub(crate) fn start() -> Option<Self> {
        Fleet::start_in(None, HEARTBEAT_S, &[])
    }

    /// The same for runs in which no worker is lost: a busy machine does not make one seem so.
    pub(crate) fn start_without_losses(dynamic: &[&str]) -> Option<Self> {
        Fleet::start_in(None, LONG_HEARTBEAT_S, dynamic)
    }

    /// Starts a server in a network; none where it is not installed.
    pub(crate) fn start_in(
        network: Option<Network>,
        heartbeat_s: &'static str,
        dynamic: &[&str],
    ) -> Option<Self> {
        let program = program()?;
        let directory = tempfile::Builder::new().prefix("marvin-fleet-").tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let unthrottled = "history.transferProcessorMaxPollRPS=1000";
        let dynamic = dynamic.iter().chain([&unthrottled]).map(ToString::to_string).collect();
        let mut fleet = Fleet { program, directory, port, server: None, dynamic, network, heartbeat_s };
        fleet.start_server();
        Some(fleet)
    }

    pub(crate) fn start_server(&mut self) {
        let log = File::create(self.directory.path().join("server.log")).unwrap();
        let mut command = Command::new(&self.program);
        // In a namespace of its own, it is reached by all of its links.
        let address = if self.network.is_some() { "0.0.0.0" } else { "127.0.0.1" };
        command.args(["server", "start-dev", "--ip", address, "--headless", "--log-level", "error"]);
        command.args(["--port", &self.port.to_string()]);
        command.args(["--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL"]);
        command.args(self.dynamic.iter().flat_map(|setting| ["--dynamic-config-value", setting]));
        command.arg("--db-filename").arg(self.directory.path().join("server.sqlite"));
        if let Some(network) = &self.network {
            enter(&mut command, network.server());
        }
        let log = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.server = Some(log.spawn().unwrap());
        let health = || {
            let mut health = self.temporal(["operator", "cluster", "health"]);
            let done = health.stderr(Stdio::null()).output().unwrap();
            String::from_utf8_lossy(&done.stdout).contains("SERVING")
        };
        let listens = || self.network.is_some() || TcpStream::connect(("127.0.0.1", self.port)).is_ok();
        wait_until("the server answers", || listens() && health());
    }

    /// Kills the server; its data stay.
    pub(crate) fn kill_server(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        server.kill().unwrap();
        server.wait().unwrap();
    }

    /// The program `temporal` for this server.
    pub(crate) fn temporal<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).args(["--address", &self.address()]);
        command.env("HOME", self.directory.path());
        if let Some(network) = &self.network {
            enter(&mut command, network.server());
        }
        command
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn network(&self) -> Option<&Network> {
        self.network.as_ref()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    /// Gives a program the settings of this fleet; `queue` separates tests of one server.
    pub(crate) fn settings(&self, program: Marvin, queue: &str) -> Marvin {
        let program = program
            .env("MARVIN_FLEET_ADDRESS", self.address())
            .env("MARVIN_FLEET_STORE", self.store())
            .env("MARVIN_FLEET_QUEUE", queue)
            .env("MARVIN_FLEET_HEARTBEAT_S", self.heartbeat_s)
            .env("MARVIN_FLEET_DRAIN_S", "5");
        match &self.network {
            Some(network) => program.prepare(|command| enter(command, network.server())),
            None => program,
        }
    }

    /// The same for a worker in the namespace with this number.
    pub(crate) fn worker_settings(&self, program: Marvin, queue: &str, number: usize) -> Marvin {
        let program = self.settings(program, queue);
        let Some(network) = &self.network else { return program };
        let address = format!("{}:{}", network.server_address(number), self.port);
        program
            .env("MARVIN_FLEET_ADDRESS", address)
            .env("MARVIN_FLEET_TLS", "off")
            .prepare(|command| enter(command, network.worker(number)))
    }

    /// Starts a worker in the project of a world.
    pub(crate) fn worker(&self, world: &World, queue: &str) -> FleetWorker {
        self.start_worker(world, self.settings(world.marvin(["worker", "--slots", "4"]), queue))
    }

    /// Starts a worker that was prepared.
    pub(crate) fn start_worker(&self, world: &World, worker: Marvin) -> FleetWorker {
        let mut command = worker.into_command();
        let log = world.root().join("worker.log");
        let file = File::options().create(true).append(true).open(&log).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        FleetWorker { child: command.spawn().unwrap(), log }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.kill_server();
    }
}

/// A worker. Dropping it kills it.
pub(crate) struct FleetWorker {
    child: Child,
    log: PathBuf,
}

impl FleetWorker {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn wait_until_ready(&self) {
        wait_until("the worker is ready", || self.log().contains("ready, takes steps"));
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits for its end, and returns its exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let mut status = None;
        wait_until("the worker ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.and_then(|status| status.code())
    }
}

impl Drop for FleetWorker {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Waits for a condition.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PROGRAM_TIMEOUT;
    while !holds() {
        assert!(Instant::now() < until, "{what}: not within {} s", PROGRAM_TIMEOUT.as_secs());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The lines of a file that steps of a workflow append to.
pub(crate) fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
}
