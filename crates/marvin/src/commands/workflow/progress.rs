//! The progress of a workflow: a few lines that are redrawn on a terminal, elsewhere one line per change.

use crate::output;
use marvin_agent::trace::{Listener, Notice};
use marvin_base::printable::count;
use marvin_base::truncate;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Running steps that are shown at a time.
const MAX_DISPLAYED_STEPS: usize = 8;
/// The time between two redraws.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// The columns of the terminal.
pub(super) fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(std::io::stderr()))
        .map_or(100, |size| usize::from(size.ws_col))
        .max(40)
}

/// The state of the display.
#[derive(Debug, Default)]
struct Board {
    all: u64,
    over: u64,
    running: BTreeMap<String, (Instant, String)>,
    drawn: usize,
    last: Option<Instant>,
    live: bool,
}

/// A handle that ends the display.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    board: Arc<Mutex<Board>>,
}

impl Progress {
    /// Removes the lines that are redrawn.
    pub(crate) fn end(&self) {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        board.wipe();
    }
}

/// A listener that displays events, and the handle of the display.
pub(crate) fn listener() -> (Listener, Progress) {
    let live = std::io::stderr().is_terminal();
    let board = Arc::new(Mutex::new(Board { live, ..Board::default() }));
    let shown = board.clone();
    let listener = Box::new(move |notice: Notice<'_>| {
        let Notice::Event(event) = notice else { return };
        let mut board = shown.lock().unwrap_or_else(PoisonError::into_inner);
        board.update(event);
    });
    (listener, Progress { board })
}

impl Board {
    fn update(&mut self, event: &Value) {
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |key: &str| event.get(key).and_then(Value::as_u64).unwrap_or(0);
        let step = text("step_id").to_string();
        let line = match text("type") {
            "workflow.started" | "workflow.resumed" => {
                self.all = number("steps");
                let word = text("type").trim_start_matches("workflow.");
                let steps = count(self.all, "step");
                Some(format!("{}: {word}, {steps}", text("workflow_id")))
            }
            "steps.succeeded" => {
                self.over += number("count");
                None
            }
            "workflow.terminated" => {
                self.over += number("count");
                Some(format!("{}: the rest is skipped: {}", text("triggered_by"), text("reason")))
            }
            "step.started" => {
                let attempt = number("attempt");
                let how = if attempt > 1 {
                    format!(" (attempt {attempt}, {})", text("strategy_id"))
                } else {
                    String::new()
                };
                let what = format!("{}{how}", text("worker"));
                self.running.insert(step.clone(), (Instant::now(), what.clone()));
                (!self.live).then(|| format!("{step}: started, {what}"))
            }
            "step.succeeded" | "step.partial" => {
                self.over += 1;
                self.running.remove(&step);
                let status = text("type").trim_start_matches("step.");
                Some(format!("{step}: {status}"))
            }
            "step.failed" | "step.blocked" | "step.retry" => {
                self.running.remove(&step);
                let word = match text("type") {
                    "step.failed" => "failed",
                    "step.blocked" => "waits for a person",
                    _ => "will be tried again",
                };
                let why = [text("error"), text("reason")]
                    .into_iter()
                    .find(|why| !why.is_empty())
                    .unwrap_or_default();
                Some(format!("{step}: {word}: {}", truncate::line(why, 160)))
            }
            _ => return,
        };
        self.wipe();
        if let Some(line) = line {
            output::talk(&output::visible(&line));
        }
        self.draw();
    }

    fn wipe(&mut self) {
        if self.live && self.drawn > 0 {
            write!(std::io::stderr(), "\x1b[{}A\x1b[J", self.drawn).ok();
            self.drawn = 0;
        }
    }

    fn draw(&mut self) {
        let due = self.last.is_none_or(|last| last.elapsed() >= REDRAW_INTERVAL);
        if !self.live || (self.running.is_empty() && !due) {
            return;
        }
        self.last = Some(Instant::now());
        let width = width().saturating_sub(1);
        let mut lines: Vec<String> = self
            .running
            .iter()
            .take(MAX_DISPLAYED_STEPS)
            .map(|(step, (since, what))| format!("  · {step}  {what}  {} s", since.elapsed().as_secs()))
            .collect();
        if let Some(more) = self.running.len().checked_sub(MAX_DISPLAYED_STEPS).filter(|more| *more > 0) {
            lines.push(format!("  · and {more} more"));
        }
        lines.push(format!("  {} of {} steps over", self.over, self.all));
        for line in &lines {
            output::talk(&truncate::line(&output::visible(line), width));
        }
        self.drawn = lines.len();
    }
}
