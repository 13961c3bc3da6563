//! The terminal's face through a real pseudo-terminal: from the start of the process to its first frame, beside an empty program
//! with a screen of its own; from a key to the screen with 5,000 messages; and what it uses while nobody does anything.

use super::super::timing::{median, round};
use crate::tools;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const STARTS: usize = 40;
const KEYS: usize = 500;
const MESSAGES: usize = 5_000;
const IDLE: Duration = Duration::from_secs(5);
const TARGET_FIRST_MS: f64 = 30.0;
const TARGET_KEY_MS: f64 = 16.0;
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(60);

/// Measures.
pub(super) fn run() -> Result<Value, String> {
    let marvin = match std::env::var_os("MARVIN_BENCH_PROGRAM") {
        Some(program) => program.into(),
        None => tools::release()?,
    };
    tools::run(tools::cargo().args([
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "marvin-bench-face",
    ]))?;
    let empty = tools::target().join("release/marvin-bench-face");
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let log: Vec<Value> = (0..MESSAGES)
        .map(|n| json!({"role": if n % 2 == 0 { "you" } else { "assistant" }, "text": format!("message {n}: {}", "some words ".repeat(20)), "time": "12:00"}))
        .collect();
    let profile = directory.path().join(".config/marvin/profiles/default");
    std::fs::create_dir_all(&profile).map_err(|error| error.to_string())?;
    std::fs::write(profile.join("chat_log.json"), json!(log).to_string())
        .map_err(|error| error.to_string())?;
    let (mut empties, mut firsts) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        empties.push(first_frame(&empty, directory.path())?);
        firsts.push(first_frame(&marvin, directory.path())?);
    }
    let mut screen = Screen::start(&marvin, directory.path())?;
    screen.until("session resumed")?;
    screen.quiet(Duration::from_millis(500))?;
    let mut keys = Vec::new();
    for number in 0..KEYS {
        // Every key is another letter, so that what comes is the answer to it.
        let letter = char::from(b'a' + u8::try_from(number % 26).unwrap_or(0));
        let began = Instant::now();
        screen.press(&letter.to_string())?;
        screen.until(&letter.to_string())?;
        keys.push(began.elapsed().as_secs_f64() * 1000.0);
        if number % 60 == 59 {
            screen.press("\u{15}")?;
            screen.quiet(Duration::from_millis(60))?;
        }
    }
    screen.quiet(Duration::from_millis(500))?;
    let before = screen.ticks()?;
    std::thread::sleep(IDLE);
    let idle = screen.ticks()? - before;
    keys.sort_by(f64::total_cmp);
    let p99 = keys.get(keys.len() * 99 / 100).copied().unwrap_or(f64::MAX);
    let first = median(firsts.iter().copied());
    Ok(json!({
        "reference": {"what": "an empty program with a screen of its own", "median_ms": round(median(empties.iter().copied()))},
        "first_frame": {"median_ms": round(first), "target_ms": TARGET_FIRST_MS, "runs": STARTS},
        "key": {"messages": MESSAGES, "median_ms": round(median(keys.iter().copied())), "p99_ms": round(p99), "target_p99_ms": TARGET_KEY_MS, "keys": KEYS},
        "idle": {"seconds": IDLE.as_secs(), "ticks": idle},
        "ok": first <= TARGET_FIRST_MS && p99 <= TARGET_KEY_MS && idle == 0,
    }))
}

fn first_frame(program: &Path, home: &Path) -> Result<f64, String> {
    let began = Instant::now();
    let mut screen = Screen::start(program, home)?;
    screen.until("starting")?;
    Ok(began.elapsed().as_secs_f64() * 1000.0)
}

/// A program in a pseudo-terminal.
struct Screen {
    child: Child,
    master: File,
    heard: Vec<u8>,
}

impl Screen {
    fn start(program: &Path, home: &Path) -> Result<Screen, String> {
        let failed = |error: rustix::io::Errno| format!("no pseudo-terminal: {error}");
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).map_err(failed)?;
        grantpt(&master).and_then(|()| unlockpt(&master)).map_err(failed)?;
        let size = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).map_err(failed)?;
        let name = ptsname(&master, Vec::new()).map_err(failed)?;
        let path = name.to_str().map_err(|error| error.to_string())?;
        let open = || OpenOptions::new().read(true).write(true).open(path).map_err(|error| error.to_string());
        let child = Command::new(program)
            .env_clear()
            .env("HOME", home)
            .env("TERM", "xterm-256color")
            .env("PATH", "/usr/bin:/bin")
            .current_dir(home)
            .stdin(open()?)
            .stdout(open()?)
            .stderr(open()?)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        Ok(Screen { child, master: File::from(master), heard: Vec::new() })
    }

    /// Reads what comes within this time; false when nothing does.
    fn read(&mut self, within: Duration) -> Result<bool, String> {
        let timeout = Timespec::try_from(within).map_err(|error| error.to_string())?;
        let mut waits = [PollFd::new(&self.master, PollFlags::IN)];
        if rustix::event::poll(&mut waits, Some(&timeout)).map_err(|error| error.to_string())? == 0 {
            return Ok(false);
        }
        let mut buffer = [0; 64 * 1024];
        let read = self.master.read(&mut buffer).map_err(|error| format!("the program ended: {error}"))?;
        self.heard.extend_from_slice(buffer.get(..read).unwrap_or_default());
        Ok(true)
    }

    /// Reads until this has come.
    fn until(&mut self, text: &str) -> Result<(), String> {
        let began = Instant::now();
        loop {
            if self.heard.windows(text.len()).any(|window| window == text.as_bytes()) {
                self.heard.clear();
                return Ok(());
            }
            if !self.read(OUTPUT_TIMEOUT)? || began.elapsed() > OUTPUT_TIMEOUT {
                return Err(format!("`{text}` never came: {}", String::from_utf8_lossy(&self.heard)));
            }
        }
    }

    /// Reads until nothing comes for so long.
    fn quiet(&mut self, long: Duration) -> Result<(), String> {
        while self.read(long)? {}
        self.heard.clear();
        Ok(())
    }

    fn press(&mut self, keys: &str) -> Result<(), String> {
        self.master.write_all(keys.as_bytes()).map_err(|error| error.to_string())
    }

    /// What it has used of the processor, in ticks of a hundredth of a second.
    fn ticks(&self) -> Result<u64, String> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))
            .map_err(|error| error.to_string())?;
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let field = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        Ok(field(11) + field(12))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
