//! The environment of one test: a home, a project, and the program started with a clean environment.

use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A program that takes this long does not end, however busy the machine is.
pub(crate) const PROGRAM_TIMEOUT: Duration = Duration::from_secs(300);

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_marvin");
pub(crate) const HOOK_PROGRAM: &str = env!("CARGO_BIN_EXE_marvin-hook");

/// A home and a project in a temporary directory.
pub(crate) struct World {
    root: tempfile::TempDir,
    scripts: AtomicU32,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new().prefix("marvin-it-").tempdir().unwrap();
        for name in ["home", "project", "tmp"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        World { root, scripts: AtomicU32::new(0) }
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(crate) fn user(&self) -> PathBuf {
        self.home().join(".config/marvin")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// The project's directory in the state directory.
    pub(crate) fn state(&self) -> PathBuf {
        self.state_of(&self.project())
    }

    /// The state of another project of the same user.
    pub(crate) fn state_of(&self, project: &Path) -> PathBuf {
        let home = self.home().display().to_string();
        let environment = marvin_base::environment::Environment::from_iter([("HOME", home)]);
        marvin_base::layout::Layout::new(&environment, Some(project)).project_state()
    }

    /// Writes a file of the project's state.
    pub(crate) fn write_state(&self, name: &str, text: &str) -> PathBuf {
        put(&self.state().join(name), text)
    }

    /// Writes a ledger of the project's state, with its hash chain.
    pub(crate) fn write_ledger(&self, name: &str, text: &str) -> PathBuf {
        let path = self.write_state(name, text);
        marvin_base::ledger::chain::adopt(&path).unwrap();
        path
    }

    pub(crate) fn read_state(&self, name: &str) -> String {
        fs::read_to_string(self.state().join(name)).unwrap()
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        put(&self.project().join(name), text)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project().join(name)).unwrap()
    }

    /// Writes a script next to the project and returns its path.
    pub(crate) fn script(&self, entries: &[Value]) -> String {
        let number = self.scripts.fetch_add(1, Ordering::Relaxed);
        let text: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        put(&self.root().join(format!("script-{number}.jsonl")), &text).display().to_string()
    }

    /// The program, to be started in the project.
    pub(crate) fn marvin<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Marvin {
        self.start_program(PROGRAM, arguments)
    }

    /// One of our programs, or a copy of one.
    pub(crate) fn start_program<S: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Marvin {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.project());
        self.bare(&mut command);
        Marvin { command, input: None, terminal: None }
    }

    /// The program as a person starts it: at a terminal whose window is this test.
    pub(crate) fn person<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Marvin {
        self.marvin(arguments).at_terminal()
    }

    /// Replaces the environment of a command.
    pub(crate) fn bare(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("TMPDIR", self.root().join("tmp"))
            .env("LANG", "C.UTF-8");
    }

    /// `--non-interactive --prompt go` with a script and further arguments.
    pub(crate) fn play(&self, script: &[Value], more: &[&str]) -> Marvin {
        let script = self.script(script);
        let mut arguments = vec!["--non-interactive", "--prompt", "go", "--script", &script];
        arguments.extend(more);
        self.marvin(arguments)
    }

    /// A scripted model over HTTP.
    pub(crate) fn server(&self, script: &[Value]) -> Server {
        let script = self.script(script);
        Server::start(self.marvin(["model-server", "--script", &script]))
    }

    /// The directories of all runs of the project, oldest first.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        runs_below(&self.state().join("runs"))
    }

    /// The only run of the project.
    pub(crate) fn run(&self) -> PathBuf {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    /// The trace of the only run.
    pub(crate) fn trace(&self) -> Vec<Value> {
        ledger(&self.run().join("trace.jsonl"))
    }

    /// `run.json` of the only run.
    pub(crate) fn facts(&self) -> Value {
        json_file(&self.run().join("run.json"))
    }
}

/// Run directories below a `runs` directory, oldest first.
pub(crate) fn runs_below(runs: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(runs) else { return Vec::new() };
    let mut runs: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    // Symlinks from sessions to their runs are in the same directory.
    runs.retain(|path| !path.ends_with("sessions"));
    runs.sort();
    runs
}

/// Entries of an undamaged ledger.
pub(crate) fn ledger(path: &Path) -> Vec<Value> {
    let contents = marvin_base::ledger::read(path).unwrap();
    assert!(contents.damaged.is_empty(), "{}: {:?}", path.display(), contents.damaged);
    assert_eq!(contents.torn_bytes, 0, "{}", path.display());
    contents.entries
}

pub(crate) fn json_file(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()))
}

/// Writes a file, creating its directories.
pub(crate) fn put(path: &Path, text: &str) -> PathBuf {
    marvin_testing::write(path, text);
    path.to_path_buf()
}

/// Every file below a directory.
pub(crate) fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_path_buf()];
    while let Some(next) = directories.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                // A symlink to a directory is neither a file nor followed.
                true if path.is_symlink() => {}
                true => directories.push(path),
                false => files.push(path),
            }
        }
    }
    files.sort();
    files
}

/// A script entry that replies with a text.
pub(crate) fn say(text: &str) -> Value {
    json!({"reply": {"text": text}})
}

/// A script entry that calls one tool.
pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    let mut entry = json!({"reply": {"tool_calls": [{"name": tool}]}});
    entry["reply"]["tool_calls"][0]["arguments"] = arguments;
    entry
}

/// The program before its start.
pub(crate) struct Marvin {
    command: Command,
    input: Option<Vec<u8>>,
    terminal: Option<OwnedFd>,
}

impl Marvin {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Gives it its own session and controlling terminal. Debug builds accept the program that `MARVIN_TEST_TERMINAL` names, this
    /// test, as the window of that terminal; its standard streams stay unchanged.
    #[expect(unsafe_code, reason = "a terminal becomes the controlling one between fork and exec")]
    pub(crate) fn at_terminal(mut self) -> Self {
        use std::os::unix::process::CommandExt;
        let (mut master, mut slave) = (-1, -1);
        let none = std::ptr::null_mut();
        // SAFETY: both places are written before they are read; nothing else is passed.
        let opened =
            unsafe { libc::openpty(&raw mut master, &raw mut slave, none, none.cast(), none.cast()) };
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: the call above opened both, and nothing else owns them.
        let (master, slave) = unsafe { (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        for end in [&master, &slave] {
            rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC).unwrap();
        }
        self.command.env("MARVIN_TEST_TERMINAL", std::env::current_exe().unwrap());
        let begin = move || {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(&slave)?;
            Ok(())
        };
        // SAFETY: two system calls, which are safe after a fork.
        unsafe { self.command.pre_exec(begin) };
        self.terminal = Some(master);
        self
    }

    /// Changes the command that is started.
    #[allow(dead_code, reason = "only tests of a fleet need it")]
    pub(crate) fn prepare(mut self, change: impl FnOnce(&mut Command)) -> Self {
        change(&mut self.command);
        self
    }

    pub(crate) fn directory(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// Starts it and leaves its streams to the caller.
    pub(crate) fn start(mut self) -> RunningProgram {
        self.command.stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if let Some(input) = self.input {
            let mut stdin = child.stdin.take().unwrap();
            // A program that does not read all of its input closes its end.
            std::thread::spawn(move || stdin.write_all(&input).ok());
        }
        let stdout = Some(BufReader::new(child.stdout.take().unwrap()));
        let stderr = Some(gather(child.stderr.take().unwrap()));
        RunningProgram { child, stdout, stderr, _terminal: self.terminal }
    }

    /// Starts it with stdin open, for a conversation.
    pub(crate) fn converse(mut self) -> (RunningProgram, ChildStdin) {
        self.command.stdin(Stdio::piped());
        let mut child = self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = Some(BufReader::new(child.stdout.take().unwrap()));
        let stderr = Some(gather(child.stderr.take().unwrap()));
        (RunningProgram { child, stdout, stderr, _terminal: self.terminal }, stdin)
    }

    /// The command itself, to be started in another way.
    pub(crate) fn into_command(self) -> Command {
        // The terminal must outlive the process, whose end is not seen here.
        std::mem::forget(self.terminal);
        self.command
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> ProgramOutput {
        self.start().end()
    }
}

fn gather(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).ok();
        bytes
    })
}

/// The running program. Dropping it kills it.
pub(crate) struct RunningProgram {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    /// The window of its terminal, closed when dropped.
    _terminal: Option<OwnedFd>,
}

impl RunningProgram {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line of stdout, without its line break; `None` at the end.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        (read > 0).then(|| line.trim_end_matches('\n').to_string())
    }

    /// Reads lines until one contains `text`.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        loop {
            let line = self.line().unwrap_or_else(|| panic!("the output ended before `{text}`"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Whether it has not ended.
    #[allow(dead_code, reason = "only tests of a fleet need it")]
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Closes the reading end of stdout.
    pub(crate) fn close_stdout(&mut self) {
        self.stdout = None;
    }

    /// Waits for the end and collects the rest of the streams.
    pub(crate) fn end(mut self) -> ProgramOutput {
        let rest = self.stdout.take().map(gather);
        let status = wait(&mut self.child, PROGRAM_TIMEOUT);
        let stdout = rest.map(|rest| rest.join().unwrap()).unwrap_or_default();
        let stderr = self.stderr.take().unwrap().join().unwrap();
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        let status = status.unwrap_or_else(|| {
            panic!(
                "the program did not end within {PROGRAM_TIMEOUT:?}\n{}\n{stderr}",
                String::from_utf8_lossy(&stdout)
            )
        });
        ProgramOutput { code: status.code(), signal: status.signal(), stdout, stderr }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Waits for a child; kills it at the timeout.
fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if Instant::now() > until {
            child.kill().ok();
            child.wait().ok();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until a condition holds; fails at the timeout.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PROGRAM_TIMEOUT;
    while !holds() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Output and exit status of a finished program.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl ProgramOutput {
    /// Fails unless the program exited with this code.
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!((self.code, self.signal), (Some(code), None), "{}", self.whole());
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// Both streams and the exit status, for messages.
    pub(crate) fn whole(&self) -> String {
        format!("stdout:\n{}\nstderr:\n{}", String::from_utf8_lossy(&self.stdout), self.stderr)
    }

    /// Stdout as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// Stdout as one JSON value on one line.
    pub(crate) fn json(&self) -> Value {
        let text = self.text();
        assert_eq!(text.matches('\n').count(), 1, "{}", self.whole());
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Stdout as one JSON value per line.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The object of the last line of stderr, which must be the cost, with exactly its four keys.
    pub(crate) fn cost(&self) -> Value {
        let last = self.stderr.lines().last().unwrap_or_default();
        let cost = last.strip_prefix("MARVIN_COST:");
        let cost = cost.unwrap_or_else(|| panic!("the last line is not the cost: {}", self.whole()));
        let cost: Value = serde_json::from_str(cost).unwrap();
        let keys: Vec<&String> = cost.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["session_cost", "llm_turns", "model_turns", "model_cost"]);
        assert_eq!(self.stderr.matches("MARVIN_COST:").count(), 1, "{}", self.stderr);
        cost
    }

    /// The error message: everything on stderr except the cost.
    pub(crate) fn message(&self) -> String {
        let messages = self.stderr.lines().filter(|line| line.starts_with("marvin: ")).count();
        assert_eq!(messages, 1, "not exactly one message\n{}", self.whole());
        let aside = |line: &&str| line.starts_with("MARVIN_COST:") || line.starts_with("note: ");
        let lines = self.stderr.lines().filter(|line| !aside(line));
        let text = lines.collect::<Vec<_>>().join("\n");
        assert!(text.starts_with("marvin: "), "{}", self.whole());
        text
    }

    /// Fails if stderr has anything except the cost.
    pub(crate) fn quiet(self) -> Self {
        let talk: Vec<&str> = self.stderr.lines().filter(|line| !line.starts_with("MARVIN_COST:")).collect();
        assert!(talk.is_empty(), "{}", self.whole());
        self
    }
}

/// A running `marvin model-server`. Dropping it kills it.
pub(crate) struct Server {
    running: RunningProgram,
    address: String,
}

impl Server {
    fn start(marvin: Marvin) -> Self {
        let mut running = marvin.start();
        let line = running.line().expect("the server prints its address");
        let value: Value = serde_json::from_str(&line).unwrap();
        Server { running, address: value["address"].as_str().unwrap().to_string() }
    }

    /// `http://127.0.0.1:PORT`
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// `127.0.0.1:PORT`
    pub(crate) fn socket(&self) -> &str {
        self.address.strip_prefix("http://").unwrap()
    }

    /// Stops it by a signal.
    pub(crate) fn stop(self) -> ProgramOutput {
        self.running.signal(rustix::process::Signal::TERM);
        self.running.end()
    }
}

/// Whether commands can be run here at all: the tool accepts a command, and the system can sandbox it.
pub(crate) fn commands_run(world: &World) -> bool {
    let schema = world.marvin(["tools", "schema", "run_command"]).run();
    if !schema.text().contains("\"command\"") {
        marvin_testing::skip("run_command takes no command");
        return false;
    }
    let doctor: Value = world.marvin(["doctor", "--json"]).run().json();
    let contained = doctor["checks"]
        .as_array()
        .unwrap()
        .iter()
        .any(|check| check["name"] == "sandbox" && check["state"] == "ok");
    if !contained {
        marvin_testing::skip("this system cannot contain commands");
    }
    contained
}
