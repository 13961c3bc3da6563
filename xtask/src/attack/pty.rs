//! A pseudo-terminal for attacks: this program is the window, and the command in it is the leader
//! of a session of its own.

use super::fixture::write_file;
use crate::tools;
use anyhow::Context;
use rustix::pty::OpenptFlags;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const COMMAND_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

/// A command in a terminal, and the window's side of it.
pub(super) struct Window {
    child: Child,
    reader: std::thread::JoinHandle<Vec<u8>>,
}

/// What a command wrote to its terminal, and its exit code.
pub(super) struct TerminalOutput {
    pub(super) text: Vec<u8>,
    pub(super) code: Option<i32>,
}

impl Window {
    /// Starts words in a terminal, with this environment and nothing else. `setsid --ctty` makes
    /// the terminal the controlling one and then executes the words in its own process.
    pub(super) fn open(
        words: &[&str],
        directory: &Path,
        variables: &[(&str, &str)],
    ) -> anyhow::Result<Window> {
        let open = || {
            let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
            let master = rustix::pty::openpt(flags)?;
            rustix::pty::grantpt(&master)?;
            rustix::pty::unlockpt(&master)?;
            let name = rustix::pty::ptsname(&master, Vec::new())?;
            Ok::<_, rustix::io::Errno>((master, name))
        };
        let (master, name) = open().context("cannot open a pseudo-terminal")?;
        let path = name.to_str()?;
        let slave = || std::fs::OpenOptions::new().read(true).write(true).open(path);
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).args(words).current_dir(directory).env_clear();
        command.env("PATH", tools::search_path());
        command.envs(variables.iter().copied());
        command.stdin(Stdio::from(slave()?)).stdout(Stdio::from(slave()?)).stderr(Stdio::from(slave()?));
        let child = command.spawn().context("cannot start setsid")?;
        drop(command);
        let reader = std::thread::spawn(move || drain(master));
        Ok(Window { child, reader })
    }

    /// Waits for the end.
    pub(super) fn wait(mut self) -> TerminalOutput {
        let until = Instant::now() + COMMAND_TIMEOUT;
        let code = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status.code(),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(3)),
                _ => {
                    self.child.kill().ok();
                    self.child.wait().ok();
                    break None;
                }
            }
        };
        TerminalOutput { text: self.reader.join().unwrap_or_default(), code }
    }
}

/// Runs words in a terminal whose window is this program, as a user with this home directory would.
pub(super) fn run_as_person(
    words: &[&str],
    directory: &Path,
    home: &Path,
    temporary: &Path,
) -> anyhow::Result<TerminalOutput> {
    let window = std::env::current_exe()?;
    let [home, temporary, window] = [home, temporary, &window].map(|path| path.display().to_string());
    let variables = [("HOME", home.as_str()), ("TMPDIR", &temporary), ("MARVIN_TEST_TERMINAL", &window)];
    Ok(Window::open(words, directory, &variables)?.wait())
}

/// Reads until no process has the terminal open.
fn drain(master: OwnedFd) -> Vec<u8> {
    let mut file = std::fs::File::from(master);
    let mut seen = Vec::new();
    let mut block = [0; 4096];
    while let Ok(read @ 1..) = file.read(&mut block) {
        seen.extend_from_slice(block.get(..read).unwrap_or_default());
        if seen.len() > MAX_OUTPUT_BYTES {
            break;
        }
    }
    seen
}

/// A home directory and a project for one case, with Marvin in a terminal.
pub(super) struct TerminalFixture {
    root: tempfile::TempDir,
    marvin: String,
}

impl TerminalFixture {
    pub(super) fn new(marvin: &Path) -> anyhow::Result<Self> {
        let root = tempfile::Builder::new().prefix("marvin-attack-").tempdir()?;
        for name in ["home", "project", "tmp", "bin"] {
            std::fs::create_dir(root.path().join(name))?;
        }
        Ok(TerminalFixture { root, marvin: marvin.display().to_string() })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A path as text.
    pub(super) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes a file and its directories; a file that starts with `#!` is made executable.
    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        write_file(&self.path(name), text)
    }

    /// Environment variables of a user in this home directory, whose window is this program.
    pub(super) fn variables(&self) -> anyhow::Result<Vec<(String, String)>> {
        let window = std::env::current_exe()?;
        Ok(vec![
            ("HOME".into(), self.text("home")),
            ("TMPDIR".into(), self.text("tmp")),
            ("LANG".into(), "C.UTF-8".into()),
            ("TERM".into(), "xterm".into()),
            ("USER".into(), "ann".into()),
            ("MARVIN_TEST_TERMINAL".into(), window.display().to_string()),
        ])
    }

    /// Runs Marvin in a terminal.
    pub(super) fn marvin(&self, words: &[&str]) -> anyhow::Result<TerminalOutput> {
        let all: Vec<&str> = std::iter::once(self.marvin.as_str()).chain(words.iter().copied()).collect();
        self.run(&all)
    }

    /// Runs words in a terminal.
    pub(super) fn run(&self, words: &[&str]) -> anyhow::Result<TerminalOutput> {
        let variables = self.variables()?;
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        Ok(Window::open(words, &self.path("project"), &variables)?.wait())
    }

    /// Runs Marvin without a terminal and parses the JSON that it prints.
    pub(super) fn json(&self, words: &[&str]) -> anyhow::Result<serde_json::Value> {
        let output = Command::new(&self.marvin)
            .args(words)
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", tools::search_path())
            .envs(self.variables()?)
            .stdin(Stdio::null())
            .output()?;
        serde_json::from_slice(&output.stdout).with_context(|| {
            format!("cannot parse the output of {words:?}: {}", String::from_utf8_lossy(&output.stderr))
        })
    }
}
