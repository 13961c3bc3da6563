//! Driver of a game: the other players think in the background, and front ends look at the game, answer,
//! and are told when something has changed.
//!
//! The table is locked only for as long as one call of it takes; no caller waits for a thought. A thought
//! that is overtaken by the game (a concession, an answer taken back) is dropped.

use crate::board::Board;
use crate::error::TableError;
use crate::log::LogLine;
use crate::question::Question;
use crate::step::Step;
use crate::stops::YieldUntil;
use crate::table::Table;
use marvin_mtg::ids::PlayerId;
use marvin_mtg::surface::{CompactAnswer, Stops};
use serde::Serialize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// State of a game as one seat sees it at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// Number of the change that it shows.
    pub version: u64,
    pub board: Board,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// Lines of the log from the number that was asked for.
    pub log: Vec<LogLine>,
    /// Number of lines of the whole log; it shrinks when answers are taken back.
    pub log_length: usize,
    pub warnings: Vec<String>,
    pub stops: Stops,
    /// Whether another player is thinking.
    pub is_thinking: bool,
    pub is_training: bool,
    /// Why the game cannot continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Snapshot {
    /// A table as it stands, while no player is thinking.
    #[must_use]
    pub fn new(table: &Table, seat: PlayerId, since: usize) -> Self {
        let length = table.log_length();
        Self {
            version: 0,
            board: table.board(seat),
            question: table.question(seat),
            log: table.log(seat, since.min(length)),
            log_length: length,
            warnings: if table.setup().tutor { warning_texts(table, seat) } else { Vec::new() },
            stops: table.stops(seat).clone(),
            is_thinking: false,
            is_training: table.setup().training,
            failure: None,
        }
    }
}

fn warning_texts(table: &Table, seat: PlayerId) -> Vec<String> {
    table.warnings(seat).into_iter().map(|warning| warning.text).collect()
}

/// Game with its driver, which ends with it.
#[derive(Debug)]
pub struct TableHost {
    shared: Arc<DrivenGame>,
    driver: JoinHandle<()>,
}

#[derive(Debug)]
struct DrivenGame {
    state: Mutex<HostState>,
    /// Number of the last change.
    version: watch::Sender<u64>,
    /// The driver has something to do.
    wake: Notify,
}

#[derive(Debug)]
struct HostState {
    table: Table,
    is_thinking: bool,
    failure: Option<String>,
}

impl DrivenGame {
    fn lock(&self) -> MutexGuard<'_, HostState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self) {
        self.version.send_modify(|version| *version += 1);
    }
}

impl Drop for TableHost {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl TableHost {
    /// Starts to drive a game. Must be called inside a runtime.
    #[must_use]
    pub fn start(table: Table) -> Self {
        let state = HostState { table, is_thinking: false, failure: None };
        let shared = Arc::new(DrivenGame {
            state: Mutex::new(state),
            version: watch::channel(0).0,
            wake: Notify::new(),
        });
        let driver = tokio::spawn(drive(shared.clone()));
        Self { shared, driver }
    }

    /// Numbers of changes, as they happen.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.version.subscribe()
    }

    /// Looks at the table, or does something that changes no game.
    pub fn with<T>(&self, look: impl FnOnce(&Table) -> T) -> T {
        look(&self.shared.lock().table)
    }

    /// The game as a seat sees it, with the lines of the log from a number on.
    #[must_use]
    pub fn snapshot(&self, seat: PlayerId, since: usize) -> Snapshot {
        let state = self.shared.lock();
        Snapshot {
            version: *self.shared.version.borrow(),
            is_thinking: state.is_thinking,
            failure: state.failure.clone(),
            ..Snapshot::new(&state.table, seat, since)
        }
    }

    /// Changes the table and lets the driver look at it again.
    fn change(&self, change: impl FnOnce(&mut Table) -> Result<(), TableError>) -> Result<(), TableError> {
        let result = change(&mut self.shared.lock().table);
        if result.is_ok() {
            self.shared.announce();
            self.shared.wake.notify_one();
        }
        result
    }

    /// Answers the open question of a seat.
    ///
    /// # Errors
    /// See [`Table::answer`].
    pub fn answer(&self, seat: PlayerId, number: u32, answer: &CompactAnswer) -> Result<(), TableError> {
        self.change(|table| table.answer(seat, number, answer))
    }

    /// Lets a seat pass by itself from now on.
    pub fn yield_until(&self, seat: PlayerId, until: YieldUntil) {
        let mut state = self.shared.lock();
        let is_asked = state.table.question(seat).is_some();
        state.table.yield_until(seat, until);
        drop(state);
        // A thought of the other player is not disturbed.
        if is_asked {
            self.shared.wake.notify_one();
        }
    }

    /// Gives the game up for a seat.
    ///
    /// # Errors
    /// See [`Table::concede`].
    pub fn concede(&self, seat: PlayerId) -> Result<(), TableError> {
        self.change(|table| table.concede(seat))
    }

    /// Takes back the last answer of a seat.
    ///
    /// # Errors
    /// See [`Table::undo`].
    pub fn undo(&self, seat: PlayerId) -> Result<(), TableError> {
        self.change(|table| table.undo(seat))
    }

    /// Changes where a seat is asked.
    ///
    /// # Errors
    /// See [`Table::set_stops`].
    pub fn set_stops(&self, seat: PlayerId, stops: Stops) -> Result<(), TableError> {
        let result = self.shared.lock().table.set_stops(seat, stops);
        if result.is_ok() {
            self.shared.announce();
        }
        result
    }

    /// A hint to the open question of a seat. It searches: other calls wait for it.
    ///
    /// # Errors
    /// See [`Table::hint`].
    pub fn hint(&self, seat: PlayerId, level: u8) -> Result<String, TableError> {
        self.shared.lock().table.hint(seat, level).map(|hint| hint.to_string())
    }

    /// Why a card cannot be used now, by its id or a part of its name.
    ///
    /// # Errors
    /// Records that cannot be written.
    pub fn why_not(&self, seat: PlayerId, text: &str) -> Result<String, TableError> {
        self.shared.lock().table.why_not_text(seat, text)
    }

    /// Asks the model something, which it answers without acting.
    ///
    /// # Errors
    /// See [`Table::talk`] and [`Table::finish_talk`].
    pub async fn talk(&self, seat: PlayerId, text: &str) -> Result<String, TableError> {
        let talk = self.shared.lock().table.talk(seat, text)?;
        let result = talk.run().await;
        self.shared.lock().table.finish_talk(seat, result)
    }

    /// Ends the driver and writes the summary of the game.
    ///
    /// # Errors
    /// See [`Table::close`].
    pub fn close(&self) -> Result<crate::summary::Summary, TableError> {
        self.driver.abort();
        self.shared.lock().table.close()
    }
}

/// Makes steps until a person must answer, and continues when the table has changed.
async fn drive(shared: Arc<DrivenGame>) {
    loop {
        let step = shared.lock().table.next_step();
        let result = match step {
            Ok(Step::Think(thought)) => {
                shared.lock().is_thinking = true;
                shared.announce();
                let thought = tokio::select! {
                    result = thought.run() => Some(result),
                    () = shared.wake.notified() => None,
                };
                let mut state = shared.lock();
                state.is_thinking = false;
                // The game has moved on: the next step is another one.
                thought.map_or(Ok(true), |result| state.table.finish_step(result).map(|_| true))
            }
            Ok(Step::Person(_) | Step::Over(_)) => Ok(false),
            Err(error) => Err(error),
        };
        match result {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => shared.lock().failure = Some(error.to_string()),
        }
        shared.announce();
        shared.wake.notified().await;
    }
}
