//! The terminal: set up when the front end starts, restored whatever happens; and the thread that reads from it.

use crate::input::Parser;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io::{PipeReader, PipeWriter, Write, pipe, stdout};
use std::sync::Once;
use std::thread::JoinHandle;

/// How long the rest of a sequence may take, in nanoseconds.
const MOMENT: i64 = 30_000_000;

/// A terminal that is ours for as long as this lives.
#[derive(Debug)]
pub(crate) struct TerminalGuard;

impl TerminalGuard {
    /// Takes the terminal. A panic of this thread gives it back before anything is said; what breaks elsewhere is told as an event,
    /// and the front end continues.
    pub(crate) fn new() -> std::io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let (before, own) = (std::panic::take_hook(), std::thread::current().id());
            std::panic::set_hook(Box::new(move |panic| {
                if std::thread::current().id() == own {
                    give_back();
                    before(panic);
                }
            }));
        });
        enable_raw_mode()?;
        let taken = TerminalGuard;
        execute!(stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)?;
        Ok(taken)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back; twice does no harm.
fn give_back() {
    // If this fails, the terminal is gone.
    execute!(stdout(), DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, cursor::Show).ok();
    disable_raw_mode().ok();
}

/// Asks the terminal to put a text on the clipboard.
pub(crate) fn copy(text: &str) -> std::io::Result<()> {
    let mut out = stdout().lock();
    write!(out, "\u{1b}]52;c;{}\u{7}", base64(text.as_bytes()))?;
    out.flush()
}

/// Writes sequences to the terminal, at a place of the screen; the cursor stays where it was.
pub(crate) fn write_at(row: u16, column: u16, sequence: &str) -> std::io::Result<()> {
    let mut out = stdout().lock();
    write!(out, "\u{1b}7\u{1b}[{row};{column}H{sequence}\u{1b}8")?;
    out.flush()
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |value: u32| DIGITS.get((value & 63) as usize).copied().map_or('=', char::from);
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let value = byte(0) << 16 | byte(1) << 8 | byte(2);
        text.push(digit(value >> 18));
        text.push(digit(value >> 12));
        text.push(if three.len() > 1 { digit(value >> 6) } else { '=' });
        text.push(if three.len() > 2 { digit(value) } else { '=' });
    }
    text
}

/// The thread that reads what is typed. It waits without waking up, and ends when it is told to.
#[derive(Debug)]
pub(crate) struct Reader {
    wake: PipeWriter,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts reading; `on_event` receives every event, and `None` when the terminal is gone.
    pub(crate) fn start(on_event: impl Fn(Option<Event>) -> bool + Send + 'static) -> std::io::Result<Self> {
        let (woken, wake) = pipe()?;
        let thread =
            std::thread::Builder::new().name("keys".into()).spawn(move || listen(&woken, &on_event))?;
        Ok(Reader { wake, thread: Some(thread) })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.wake.write_all(b".").is_ok()
            && let Some(thread) = self.thread.take()
        {
            thread.join().ok();
        }
    }
}

fn listen(woken: &PipeReader, on_event: &dyn Fn(Option<Event>) -> bool) {
    let stdin = std::io::stdin();
    let mut parser = Parser::default();
    let mut buffer = [0; 4096];
    loop {
        let mut waits = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
        // What may be a key or the beginning of more is a key when nothing follows.
        let moment = parser.waits().then_some(Timespec { tv_sec: 0, tv_nsec: MOMENT });
        let ready = rustix::event::poll(&mut waits, moment.as_ref());
        let [keys, wake] = waits;
        let events = match ready {
            Err(rustix::io::Errno::INTR) => continue,
            Ok(0) => parser.settle(),
            Ok(_) if !wake.revents().is_empty() => return,
            Ok(_) if keys.revents().contains(PollFlags::IN) => match rustix::io::read(&stdin, &mut buffer) {
                Ok(read) if read > 0 => parser.feed(buffer.get(..read).unwrap_or_default()),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
                // The terminal is gone.
                _ => {
                    on_event(None);
                    return;
                }
            },
            _ => {
                on_event(None);
                return;
            }
        };
        for event in events {
            if !on_event(Some(event)) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_is_the_usual_one() {
        for (text, wanted) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("\u{ff}ÿ?", "w7/Dvz8=")]
        {
            assert_eq!(super::base64(text.as_bytes()), wanted);
        }
    }
}
