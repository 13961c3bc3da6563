//! The terminal UI through a real pseudo-terminal: from the start of the process to its first
//! frame, beside an empty full-screen program; from a key to the screen with 5,000 messages, and on
//! the board of a game of Magic; and CPU use while it is idle.

use super::super::timing::{median, percentile, round};
use crate::tools;
use anyhow::{Context, bail};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde::Serialize;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const STARTS: usize = 40;
const KEYS: usize = 500;
const BOARD_KEYS: usize = 200;
const MESSAGES: usize = 5_000;
const IDLE_TIME: Duration = Duration::from_secs(5);
const TARGET_FIRST_MS: f64 = 30.0;
const TARGET_KEY_MS: f64 = 16.0;
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(60);

/// A message of `chat_log.json`.
#[derive(Serialize)]
struct LoggedMessage {
    role: &'static str,
    text: String,
    time: &'static str,
}

pub(super) fn run() -> anyhow::Result<Value> {
    let marvin = match std::env::var_os("MARVIN_BENCH_PROGRAM") {
        Some(program) => program.into(),
        None => tools::release()?,
    };
    let empty = tools::build_release("marvin-bench-terminal")?;
    let directory = tempfile::tempdir()?;
    let log: Vec<LoggedMessage> = (0..MESSAGES)
        .map(|n| LoggedMessage {
            role: if n % 2 == 0 { "you" } else { "assistant" },
            text: format!("message {n}: {}", "some words ".repeat(20)),
            time: "12:00",
        })
        .collect();
    let profile = directory.path().join(".config/marvin/profiles/default");
    std::fs::create_dir_all(&profile)?;
    std::fs::write(profile.join("chat_log.json"), serde_json::to_string(&log)?)?;
    let (mut empties, mut firsts) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        empties.push(first_frame(&empty, directory.path())?);
        firsts.push(first_frame(&marvin, directory.path())?);
    }
    let mut screen = Screen::start(&marvin, directory.path())?;
    screen.wait_for("session resumed")?;
    screen.wait_until_quiet(Duration::from_millis(500))?;
    let mut keys = Vec::new();
    for number in 0..KEYS {
        // Every key is another letter, so that its output cannot be that of an earlier key.
        let letter = char::from(b'a' + u8::try_from(number % 26).unwrap_or(0));
        let began = Instant::now();
        screen.press(&letter.to_string())?;
        screen.wait_for(&letter.to_string())?;
        keys.push(began.elapsed().as_secs_f64() * 1000.0);
        if number % 60 == 59 {
            screen.press("\u{15}")?;
            screen.wait_until_quiet(Duration::from_millis(60))?;
        }
    }
    screen.wait_until_quiet(Duration::from_millis(500))?;
    let before = screen.ticks()?;
    std::thread::sleep(IDLE_TIME);
    let idle = screen.ticks()? - before;
    drop(screen);
    let board = board_keys(&marvin, directory.path())?;
    let board_p99 = percentile(&board, 99);
    let p99 = percentile(&keys, 99);
    let first = median(firsts.into_iter());
    let reference = round(median(empties.into_iter()));
    Ok(json!({
        "reference": {"what": "an empty program with a screen of its own", "median_ms": reference},
        "first_frame": {"median_ms": round(first), "target_ms": TARGET_FIRST_MS, "runs": STARTS},
        "key": {
            "messages": MESSAGES, "median_ms": round(median(keys.iter().copied())), "p99_ms": round(p99),
            "target_p99_ms": TARGET_KEY_MS, "keys": KEYS,
        },
        "board_key": {
            "median_ms": round(median(board.iter().copied())), "p99_ms": round(board_p99),
            "target_p99_ms": TARGET_KEY_MS, "keys": BOARD_KEYS,
        },
        "idle": {"seconds": IDLE_TIME.as_secs(), "ticks": idle},
        "ok": first <= TARGET_FIRST_MS && p99 <= TARGET_KEY_MS && board_p99 <= TARGET_KEY_MS && idle == 0,
    }))
}

/// Milliseconds from a key to the screen on the board, where the help over it is opened.
fn board_keys(marvin: &Path, home: &Path) -> anyhow::Result<Vec<f64>> {
    let mut screen = Screen::start_with(marvin, home, &["mtg", "play", "--seed", "3"])?;
    screen.wait_for("library")?;
    let mut times = Vec::new();
    for _ in 0..BOARD_KEYS {
        screen.wait_until_quiet(Duration::from_millis(40))?;
        let began = Instant::now();
        screen.press("?")?;
        screen.wait_for("Signs of cards")?;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        screen.press("?")?;
    }
    Ok(times)
}

/// Milliseconds from the start of a program to its first frame.
fn first_frame(program: &Path, home: &Path) -> anyhow::Result<f64> {
    let began = Instant::now();
    let mut screen = Screen::start(program, home)?;
    screen.wait_for("starting")?;
    Ok(began.elapsed().as_secs_f64() * 1000.0)
}

/// A program in a pseudo-terminal.
struct Screen {
    child: Child,
    master: File,
    output: Vec<u8>,
}

impl Screen {
    fn start(program: &Path, home: &Path) -> anyhow::Result<Screen> {
        Screen::start_with(program, home, &[])
    }

    fn start_with(program: &Path, home: &Path, arguments: &[&str]) -> anyhow::Result<Screen> {
        let open_master = || {
            let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
            grantpt(&master)?;
            unlockpt(&master)?;
            tcsetwinsize(&master, Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 })?;
            let name = ptsname(&master, Vec::new())?;
            Ok::<_, rustix::io::Errno>((master, name))
        };
        let (master, name) = open_master().context("cannot open a pseudo-terminal")?;
        let path = name.to_str()?;
        let open = || OpenOptions::new().read(true).write(true).open(path);
        let child = Command::new(program)
            .args(arguments)
            .env_clear()
            .env("HOME", home)
            .env("TERM", "xterm-256color")
            .env("PATH", "/usr/bin:/bin")
            .current_dir(home)
            .stdin(open()?)
            .stdout(open()?)
            .stderr(open()?)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Screen { child, master: File::from(master), output: Vec::new() })
    }

    /// Reads what the program writes within this time; false when it writes nothing.
    fn read(&mut self, within: Duration) -> anyhow::Result<bool> {
        let timeout = Timespec::try_from(within)?;
        let mut waits = [PollFd::new(&self.master, PollFlags::IN)];
        if rustix::event::poll(&mut waits, Some(&timeout))? == 0 {
            return Ok(false);
        }
        let mut buffer = [0; 64 * 1024];
        let read = self.master.read(&mut buffer).context("the program ended")?;
        self.output.extend_from_slice(buffer.get(..read).unwrap_or_default());
        Ok(true)
    }

    /// Reads until the program has written this text.
    fn wait_for(&mut self, text: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            if self.output.windows(text.len()).any(|window| window == text.as_bytes()) {
                self.output.clear();
                return Ok(());
            }
            if !self.read(OUTPUT_TIMEOUT)? || began.elapsed() > OUTPUT_TIMEOUT {
                bail!("`{text}` was not written: {}", String::from_utf8_lossy(&self.output));
            }
        }
    }

    /// Reads until the program writes nothing for this time.
    fn wait_until_quiet(&mut self, time: Duration) -> anyhow::Result<()> {
        while self.read(time)? {}
        self.output.clear();
        Ok(())
    }

    fn press(&mut self, keys: &str) -> anyhow::Result<()> {
        Ok(self.master.write_all(keys.as_bytes())?)
    }

    /// CPU time that it has used, in ticks of a hundredth of a second.
    fn ticks(&self) -> anyhow::Result<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let field = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        Ok(field(11) + field(12))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).ok();
    }
}
