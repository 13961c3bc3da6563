//! The board of a game of Magic in the terminal.
//!
//! Thin: it shows what the table gives and sends what the person wants; rules, legal answers and texts are
//! the table's. The game runs on a thread of its own, so that a key never waits for a player that thinks.

mod app;
mod chips;
mod form;
mod keys;
mod overlay;
#[cfg(test)]
mod tests;
mod view;

use crate::terminal::{Reader, TerminalGuard};
use crate::theme::Theme;
use crate::{Options, TerminalError};
use app::{BoardApp, Intent};
use crossterm::event::Event as Key;
use marvin_table::{CardText, NextGame, PlayerId, Snapshot, Summary, Table, TableError, TableHost};
use overlay::Overlay;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Messages that are taken before the next frame.
const MAX_MESSAGES_PER_FRAME: usize = 256;

enum BoardMessage {
    Key(Key),
    Resized,
    /// The terminal is gone, or the program is asked to end.
    End,
    Snapshot(Box<Snapshot>),
    Refused(String),
    CardText(CardText),
    Note {
        title: &'static str,
        text: String,
    },
    /// The game cannot be driven.
    Failed(String),
}

/// A game that the person left.
#[derive(Debug)]
pub struct FinishedGame {
    pub summary: Summary,
    /// The next game of the match, unless that is decided or the game is not over.
    pub next: Option<NextGame>,
}

/// Shows a game until the person leaves.
///
/// # Errors
/// When the terminal cannot be used, or the records of the game cannot be written.
pub fn play(options: &Options, table: Table, seat: PlayerId) -> Result<FinishedGame, TerminalError> {
    let (tell, messages) = channel();
    let (jobs, orders) = unbounded_channel();
    let taken = TerminalGuard::new()?;
    let mut screen = Terminal::new(CrosstermBackend::new(std::io::stdout()))?;
    let mut app = BoardApp::new(Theme::choose(options.no_color));
    screen.draw(|frame| view::draw(&mut app, frame))?;
    let service = {
        let tell = tell.clone();
        std::thread::Builder::new().name("table".into()).spawn(move || serve(table, seat, &tell, orders))?
    };
    let reader = {
        let tell = tell.clone();
        Reader::start(move |key| tell.send(key.map_or(BoardMessage::End, BoardMessage::Key)).is_ok())?
    };
    let ended = live(&mut app, &mut screen, &messages, &jobs);
    jobs.send(Intent::Leave).ok();
    drop(reader);
    drop(screen);
    drop(taken);
    let closed = service.join().map_err(|_| TerminalError::Panicked)?;
    ended?;
    closed.map_err(|error| TerminalError::Chat(error.to_string()))
}

/// Receives messages and draws until the person leaves.
fn live(
    app: &mut BoardApp,
    screen: &mut Terminal<CrosstermBackend<std::io::Stdout>>,
    messages: &Receiver<BoardMessage>,
    jobs: &UnboundedSender<Intent>,
) -> Result<(), TerminalError> {
    while let Ok(first) = messages.recv() {
        for message in std::iter::once(first).chain(messages.try_iter().take(MAX_MESSAGES_PER_FRAME)) {
            for intent in hear(app, message)? {
                match intent {
                    Intent::Leave => return Ok(()),
                    Intent::Redraw => redraw(screen),
                    other => {
                        jobs.send(other).ok();
                    }
                }
            }
            if app.is_leaving {
                return Ok(());
            }
        }
        screen.draw(|frame| view::draw(app, frame)).map_err(TerminalError::Gone)?;
    }
    Ok(())
}

/// Everything is drawn again with the next frame.
fn redraw(screen: &mut Terminal<CrosstermBackend<std::io::Stdout>>) {
    if let Ok(size) = screen.size() {
        screen.resize(Rect::new(0, 0, size.width, size.height)).ok();
    }
}

fn hear(app: &mut BoardApp, message: BoardMessage) -> Result<Vec<Intent>, TerminalError> {
    match message {
        BoardMessage::Key(key) => return Ok(keys::input(app, &key)),
        BoardMessage::Resized => {}
        BoardMessage::End => app.is_leaving = true,
        BoardMessage::Snapshot(snapshot) => {
            app.show(*snapshot);
            return Ok(app.ask_text());
        }
        BoardMessage::Refused(reason) => app.refuse(reason),
        BoardMessage::CardText(text) => app.take_text(text),
        BoardMessage::Note { title, text } => {
            app.flash = None;
            app.overlay = Some(Overlay::Note { title, text, scroll: 0 });
        }
        BoardMessage::Failed(error) => return Err(TerminalError::Chat(error)),
    }
    Ok(Vec::new())
}

/// The thread of the game: drives it, sends its states to the front end, and carries out intents.
fn serve(
    table: Table,
    seat: PlayerId,
    tell: &Sender<BoardMessage>,
    mut orders: UnboundedReceiver<Intent>,
) -> Result<FinishedGame, TableError> {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tell.send(BoardMessage::Failed(format!("cannot start the game: {error}"))).ok();
            let mut table = table;
            return table.close().map(|summary| FinishedGame { summary, next: None });
        }
    };
    let finished = runtime.block_on(async {
        listen_to_signals(tell);
        let host = Arc::new(TableHost::start(table));
        let mut changes = host.changes();
        let mut since = 0;
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    None | Some(Intent::Leave) => break,
                    Some(intent) => carry_out(&host, seat, intent, tell),
                },
                changed = changes.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    changes.borrow_and_update();
                    let mut snapshot = host.snapshot(seat, since);
                    if snapshot.log_length < since {
                        // Answers were taken back: the log is shown from its beginning.
                        snapshot = host.snapshot(seat, 0);
                    }
                    since = snapshot.log_length;
                    tell.send(BoardMessage::Snapshot(Box::new(snapshot))).ok();
                }
            }
        }
        let summary = host.close()?;
        let is_match = host.with(|table| table.setup().best_of > 1 && table.outcome().is_some());
        // A match that is decided has no next game.
        let next = if is_match { host.with(Table::plan_next_game).ok() } else { None };
        Ok(FinishedGame { summary, next })
    });
    // A search that still runs is not waited for.
    runtime.shutdown_background();
    finished
}

fn carry_out(host: &Arc<TableHost>, seat: PlayerId, intent: Intent, tell: &Sender<BoardMessage>) {
    let result = match intent {
        Intent::Answer { number, answer } => host.answer(seat, number, &answer),
        Intent::Yield(until) => {
            host.yield_until(seat, until);
            Ok(())
        }
        Intent::Concede => host.concede(seat),
        Intent::Undo => host.undo(seat),
        Intent::Stops(stops) => host.set_stops(seat, stops),
        Intent::CardText(name) => {
            if let Some(text) = host.with(|table| table.card_text(&name)) {
                tell.send(BoardMessage::CardText(text)).ok();
            }
            Ok(())
        }
        Intent::WhyNot(name) => {
            note(" Why not? ", host.why_not(seat, &name), tell);
            Ok(())
        }
        Intent::Hint(level) => {
            let (host, tell) = (host.clone(), tell.clone());
            tokio::task::spawn_blocking(move || note(" Hint ", host.hint(seat, level), &tell));
            Ok(())
        }
        Intent::Discuss(text) => {
            let (host, tell) = (host.clone(), tell.clone());
            tokio::spawn(async move { note(" Answer ", host.talk(seat, &text).await, &tell) });
            Ok(())
        }
        Intent::Redraw | Intent::Leave => Ok(()),
    };
    if let Err(error) = result {
        tell.send(BoardMessage::Refused(with_hint(&error))).ok();
    }
}

fn with_hint(error: &TableError) -> String {
    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{error}{hint}")
}

/// Shows a text of the table, or why there is none.
fn note(title: &'static str, text: Result<String, TableError>, tell: &Sender<BoardMessage>) {
    let message = match text {
        Ok(text) => BoardMessage::Note { title, text },
        Err(error) => BoardMessage::Refused(with_hint(&error)),
    };
    tell.send(message).ok();
}

fn listen_to_signals(tell: &Sender<BoardMessage>) {
    for (kind, ends) in [
        (SignalKind::window_change(), false),
        (SignalKind::terminate(), true),
        (SignalKind::hangup(), true),
        (SignalKind::interrupt(), true),
    ] {
        let Ok(mut signal) = signal(kind) else { continue };
        let tell = tell.clone();
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                if tell.send(if ends { BoardMessage::End } else { BoardMessage::Resized }).is_err() {
                    break;
                }
            }
        });
    }
}
