//! A real terminal: tmux with its own socket, and the program in it.

use crate::support::{PROGRAM, PROGRAM_TIMEOUT, World};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Whether tmux is installed. Without it the tests print that they are skipped: `cargo xtask test` installs it.
pub(crate) fn is_there() -> bool {
    let there = Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success());
    if !there {
        marvin_testing::skip("tmux is not installed");
    }
    there
}

/// The path of the tmux program.
fn program() -> Option<PathBuf> {
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&directories).map(|path| path.join("tmux")).find(|path| path.is_file());
    found.and_then(|path| path.canonicalize().ok())
}

/// A terminal with the program in it; it ends with the test.
pub(crate) struct Screen {
    directory: PathBuf,
    raw: PathBuf,
}

impl Screen {
    /// Starts the program in a terminal of this size.
    pub(crate) fn start(world: &World, size: (u16, u16), arguments: &[&str]) -> Screen {
        Screen::start_with(world, size, arguments, &[])
    }

    pub(crate) fn start_with(
        world: &World,
        (width, height): (u16, u16),
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Screen {
        let directory = tempfile::Builder::new().prefix("mt").tempdir_in("/tmp").unwrap().keep();
        let screen = Screen { raw: directory.join("raw"), directory };
        let quote = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
        let mut line = format!(
            "exec env -i TERM=tmux-256color COLORTERM=truecolor LANG=C.UTF-8 USER=ann HOME={} PATH={} TMPDIR={}",
            quote(&world.home().display().to_string()),
            quote(&std::env::var("PATH").unwrap()),
            quote(&world.root().join("tmp").display().to_string()),
        );
        // This test's tmux server has no client, but counts as a person's window.
        if let Some(tmux) = program() {
            line.push_str(&format!(" MARVIN_TEST_TERMINAL={}", quote(&tmux.display().to_string())));
        }
        for (name, value) in variables {
            line.push_str(&format!(" {name}={}", quote(value)));
        }
        line.push_str(&format!(" {}", quote(PROGRAM)));
        for argument in arguments {
            line.push_str(&format!(" {}", quote(argument)));
        }
        // The program waits until its output is captured.
        let gate = screen.directory.join("go");
        let line =
            format!("while [ ! -e {} ]; do sleep 0.01; done; {line}", quote(&gate.display().to_string()));
        let (width, height) = (width.to_string(), height.to_string());
        let mut tmux = screen.command();
        tmux.args(["-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", &width, "-y", &height, &line]);
        tmux.args([";", "set", "-g", "remain-on-exit", "on", ";", "set", "-g", "set-clipboard", "on"]);
        tmux.args([";", "set", "-g", "allow-rename", "on", ";", "set", "-g", "escape-time", "0"]);
        let output = tmux.current_dir(world.project()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        screen.tmux(&[
            "pipe-pane",
            "-t",
            "t",
            &format!("cat > {}", quote(&screen.raw.display().to_string())),
        ]);
        fs::write(gate, "").unwrap();
        screen
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command
            .env_remove("TMUX")
            .env("TMUX_TMPDIR", &self.directory)
            .env("LANG", "C.UTF-8")
            .args(["-u", "-L", "m"]);
        command
    }

    pub(crate) fn tmux(&self, arguments: &[&str]) -> String {
        let output = self.command().args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The text on the screen.
    pub(crate) fn text(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "t"])
    }

    /// All bytes that the program wrote.
    pub(crate) fn raw(&self) -> Vec<u8> {
        fs::read(&self.raw).unwrap_or_default()
    }

    /// Waits until a text is on the screen; returns the screen.
    #[track_caller]
    pub(crate) fn wait(&self, wanted: &str) -> String {
        self.wait_until(wanted, |text| text.contains(wanted))
    }

    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, so: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let text = self.text();
            if so(&text) {
                // The capture may have hit the middle of a frame.
                std::thread::sleep(Duration::from_millis(60));
                let later = self.text();
                return if so(&later) { later } else { text };
            }
            assert!(began.elapsed() < PROGRAM_TIMEOUT, "`{what}` never came:\n{text}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Types a text literally.
    pub(crate) fn write(&self, text: &str) {
        self.tmux(&["send-keys", "-t", "t", "-l", text]);
    }

    /// Presses keys by their names.
    pub(crate) fn press(&self, keys: &[&str]) {
        let mut arguments = vec!["send-keys", "-t", "t"];
        arguments.extend(keys);
        self.tmux(&arguments);
    }

    pub(crate) fn send(&self, line: &str) {
        self.write(line);
        self.press(&["Enter"]);
    }

    pub(crate) fn resize(&self, width: u16, height: u16) {
        self.tmux(&["resize-window", "-t", "t", "-x", &width.to_string(), "-y", &height.to_string()]);
    }

    /// The process of the program.
    pub(crate) fn process(&self) -> i32 {
        self.tmux(&["display", "-p", "-t", "t", "#{pane_pid}"]).trim().parse().unwrap()
    }

    /// Waits for the end of the program; returns its exit code.
    #[track_caller]
    pub(crate) fn ended(&self) -> String {
        let began = Instant::now();
        loop {
            let dead = self.tmux(&["display", "-p", "-t", "t", "#{pane_dead} #{pane_dead_status}"]);
            if let Some(code) = dead.trim().strip_prefix("1 ") {
                return code.to_string();
            }
            assert!(began.elapsed() < PROGRAM_TIMEOUT, "it never ended:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(30));
            // Now and then a busy tmux misses the end of a child; a signal makes it check again.
            if began.elapsed() > Duration::from_secs(1) {
                let server = self.tmux(&["display", "-p", "#{pid}"]).trim().parse().ok();
                let server = server.and_then(rustix::process::Pid::from_raw).unwrap();
                rustix::process::kill_process(server, rustix::process::Signal::CHILD).unwrap();
            }
        }
    }

    /// Saves the screen with its colours for people to look at, below cargo's target directory.
    pub(crate) fn keep(&self, name: &str) {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screens");
        fs::create_dir_all(&directory).unwrap();
        let coloured = self.tmux(&["capture-pane", "-e", "-p", "-t", "t"]);
        fs::write(directory.join(format!("{name}.ans")), coloured).unwrap();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
        fs::remove_dir_all(&self.directory).ok();
    }
}
