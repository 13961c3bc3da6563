//! A pseudo-terminal for attacks: this program is the window, and what runs in it is the leader of a session of its own.

use super::Arena;
use rustix::pty::OpenptFlags;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time that one command has.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of output that are kept.
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
    /// Starts words in a terminal, with this environment and nothing else. `setsid --ctty` makes the terminal the controlling one and
    /// then executes the words in its own process.
    pub(super) fn open(
        words: &[&str],
        directory: &Path,
        variables: &[(&str, &str)],
    ) -> Result<Window, String> {
        let failed = |what: &str| format!("cannot {what} a terminal");
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .map_err(|error| format!("{}: {error}", failed("open")))?;
        rustix::pty::grantpt(&master).map_err(|error| format!("{}: {error}", failed("use")))?;
        rustix::pty::unlockpt(&master).map_err(|error| format!("{}: {error}", failed("unlock")))?;
        let name = rustix::pty::ptsname(&master, Vec::new())
            .map_err(|error| format!("{}: {error}", failed("name")))?;
        let path = Path::new(name.to_str().map_err(|error| error.to_string())?).to_path_buf();
        let slave = || {
            std::fs::OpenOptions::new().read(true).write(true).open(&path).map_err(|error| error.to_string())
        };
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).args(words).current_dir(directory).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(variables.iter().copied());
        command.stdin(Stdio::from(slave()?)).stdout(Stdio::from(slave()?)).stderr(Stdio::from(slave()?));
        let child = command.spawn().map_err(|error| format!("cannot start setsid: {error}"))?;
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

/// Runs words in a terminal whose window is this program, as a person with this home directory would.
pub(super) fn run_as_person(
    words: &[&str],
    directory: &Path,
    home: &Path,
    temporary: &Path,
) -> Result<TerminalOutput, String> {
    let window = std::env::current_exe().map_err(|error| error.to_string())?;
    let [home, temporary, window] = [home, temporary, &window].map(|path| path.display().to_string());
    let variables = [("HOME", home.as_str()), ("TMPDIR", &temporary), ("MARVIN_TEST_TERMINAL", &window)];
    Ok(Window::open(words, directory, &variables)?.wait())
}

/// Reads until nobody has the terminal open any more.
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

/// A home and a project for one case.
pub(super) struct Scene {
    root: tempfile::TempDir,
    marvin: String,
}

impl Scene {
    pub(super) fn new(arena: &Arena) -> Result<Scene, String> {
        let root =
            tempfile::Builder::new().prefix("marvin-attack-").tempdir().map_err(|error| error.to_string())?;
        for name in ["home", "project", "tmp", "bin"] {
            std::fs::create_dir(root.path().join(name)).map_err(|error| error.to_string())?;
        }
        Ok(Scene { root, marvin: arena.marvin.display().to_string() })
    }

    pub(super) fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.path(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
        }
        std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    /// The variables of a person in this home, whose window is this program.
    pub(super) fn variables(&self) -> Result<Vec<(String, String)>, String> {
        let window = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(vec![
            ("HOME".into(), self.text("home")),
            ("TMPDIR".into(), self.text("tmp")),
            ("LANG".into(), "C.UTF-8".into()),
            ("TERM".into(), "xterm".into()),
            ("USER".into(), "ann".into()),
            ("MARVIN_TEST_TERMINAL".into(), window.display().to_string()),
        ])
    }

    /// Runs words of Marvin in a terminal.
    pub(super) fn marvin(&self, words: &[&str]) -> Result<TerminalOutput, String> {
        let all: Vec<&str> = std::iter::once(self.marvin.as_str()).chain(words.iter().copied()).collect();
        self.run(&all)
    }

    /// Runs words in a terminal.
    pub(super) fn run(&self, words: &[&str]) -> Result<TerminalOutput, String> {
        let variables = self.variables()?;
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        Ok(Window::open(words, &self.path("project"), &variables)?.wait())
    }

    /// Runs words of Marvin in a pipe and gives what they print as JSON.
    pub(super) fn json(&self, words: &[&str]) -> Result<serde_json::Value, String> {
        let output = Command::new(&self.marvin)
            .args(words)
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(self.variables()?)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(text.trim())
            .map_err(|error| format!("{words:?}: {error}: {text}{}", String::from_utf8_lossy(&output.stderr)))
    }
}
