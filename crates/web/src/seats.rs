//! A server for one game of two people: one link per seat, and nothing but this game behind it.
//!
//! Each seat has a token of its own, and a request acts for the seat of its token. The board that it gets
//! shows what that seat may see.

use crate::answer::{Refusal, json, json_response, typed};
use crate::assets;
use crate::guard::Guard;
use crate::pages::table::{self, OneGame};
use crate::pages::{Act, Code, Query, asset, health, read, session_token};
use crate::service::{Door, Pages, StartError, accept, listen};
use crate::session::Sessions;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use marvin_base::ids;
use marvin_table::{PlayerId, Summary, Table, TableError, TableHost};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Streams of changes at the same time.
const MAX_STREAMS: usize = 64;
/// Digits of a token.
const TOKEN_DIGITS: usize = 32;

/// Answers requests of both seats.
#[derive(Debug)]
pub(crate) struct SeatHandler {
    host: Arc<TableHost>,
    sessions: Arc<[Sessions; 2]>,
    streams: Arc<Semaphore>,
    cancel: CancellationToken,
}

/// A running server of one game.
#[derive(Debug)]
pub struct SeatServer {
    address: SocketAddr,
    host: Arc<TableHost>,
    sessions: Arc<[Sessions; 2]>,
    cancel: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

/// Starts to serve a game, until `cancel`, on this machine only. Must be called inside a runtime.
///
/// # Errors
/// When the address is another machine's to reach, or cannot be listened on.
pub async fn serve_seats(
    game: Table,
    asked: SocketAddr,
    cancel: &CancellationToken,
) -> Result<SeatServer, StartError> {
    if !asked.ip().is_loopback() {
        return Err(StartError::Beyond(asked));
    }
    let (listener, address) = listen(asked).await?;
    let tokens = [ids::short(TOKEN_DIGITS), ids::short(TOKEN_DIGITS)];
    let [one, two] = &tokens;
    let sessions = Arc::new([Sessions::new(one), Sessions::new(two)]);
    let host = Arc::new(TableHost::start(game));
    let cancel = cancel.child_token();
    let pages = SeatHandler {
        host: host.clone(),
        sessions: sessions.clone(),
        streams: Arc::new(Semaphore::new(MAX_STREAMS)),
        cancel: cancel.clone(),
    };
    let door = Door { guard: Guard::new(address, &[one, two]), pages: Pages::Seats(pages) };
    let task = tokio::spawn(accept(listener, Arc::new(door), cancel.clone()));
    Ok(SeatServer { address, host, sessions, cancel, task })
}

impl SeatServer {
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A link for the person of a seat, which works once.
    #[must_use]
    pub fn link(&self, seat: PlayerId) -> String {
        let [one, two] = &*self.sessions;
        let code = if seat == PlayerId(0) { one.issue() } else { two.issue() };
        format!("http://{}/#code={code}", self.address)
    }

    /// Waits until the link of a seat was opened.
    pub async fn opened(&self) -> PlayerId {
        let [one, two] = &*self.sessions;
        tokio::select! {
            () = one.opened() => PlayerId(0),
            () = two.opened() => PlayerId(1),
        }
    }

    /// Waits until the game is over.
    pub async fn over(&self) {
        let mut changes = self.host.changes();
        while self.host.with(Table::outcome).is_none() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Ends the server and writes the summary of the game.
    ///
    /// # Errors
    /// Records that cannot be written.
    pub async fn stop(self) -> Result<Summary, TableError> {
        self.cancel.cancel();
        let abort = self.task.abort_handle();
        if tokio::time::timeout(crate::service::LAST, self.task).await.is_err() {
            abort.abort();
        }
        self.host.close()
    }
}

impl SeatHandler {
    /// Answers a request of the seat whose token it carried; `part` stands for `{…}` in its path.
    pub(crate) async fn answer(
        &self,
        act: Act,
        caller: usize,
        part: &str,
        query: &str,
        body: &Bytes,
    ) -> Result<Response, Refusal> {
        let seat = PlayerId(u8::from(caller == 1));
        let query = Query::read(query);
        let value = match act {
            Act::Page => return Ok(assets::SEAT_PAGE.response()),
            Act::Asset => return asset(part),
            Act::Description => return Ok(typed(StatusCode::OK, "application/json", assets::DESCRIPTION)),
            Act::Health => health()?,
            Act::Session => {
                let Code { code } = read(body)?;
                let [one, two] = &*self.sessions;
                session_token(one.exchange(&code).or_else(|| two.exchange(&code)))?
            }
            Act::Games => json(&self.host.with(OneGame::new))?,
            Act::Game | Act::GameOrder | Act::GameCard | Act::GameQuestion | Act::GameEvents => {
                self.check_game(part)?;
                match act {
                    Act::GameEvents => return table::events(&self.host, &self.streams, &self.cancel),
                    Act::Game => table::show(&self.host, seat, &query)?,
                    Act::GameOrder => table::order(&self.host, seat, read(body)?)?,
                    Act::GameCard => table::card(&self.host, &query)?,
                    _ => table::ask(self.host.clone(), seat, read(body)?).await?,
                }
            }
            _ => return Err(Refusal::absent("this server has one game and nothing else")),
        };
        Ok(json_response(StatusCode::OK, &value))
    }

    fn check_game(&self, id: &str) -> Result<(), Refusal> {
        if self.host.with(|table| table.id() == id) {
            return Ok(());
        }
        Err(Refusal::absent(format!("game `{id}` is not served here")))
    }
}
