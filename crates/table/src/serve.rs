//! A game of two people over loopback: each seat is a connection that speaks lines.
//!
//! The first line of a connection is the token of its seat; every other line is an answer or a command, as
//! in a game in lines. Each side is sent its own board only. A connection that is lost can be made
//! again; the game waits.

use crate::error::TableError;
use crate::plain::PlainOutcome;
use crate::step::Step;
use crate::table::Table;
use marvin_base::{ids, printable};
use marvin_mtg::ids::PlayerId;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc, watch};

/// Bytes of a line from a connection.
const MAX_LINE_BYTES: u64 = 4_096;

/// Digits of a token.
const TOKEN_DIGITS: usize = 24;

/// Lines of a connection that wait.
const MAX_WAITING_LINES: usize = 16;

/// Server of one game.
#[derive(Debug)]
pub struct TableServer {
    listener: TcpListener,
    game: Arc<SharedGame>,
    tokens: [String; 2],
}

#[derive(Debug)]
struct SharedGame {
    table: Mutex<Table>,
    /// Number of changes; connections wait for the next one.
    changes: watch::Sender<u64>,
    over: watch::Sender<bool>,
}

impl TableServer {
    /// Listens on loopback, on a free port or the one that is named.
    ///
    /// # Errors
    /// A port that is taken.
    pub async fn bind(table: Table, port: u16) -> Result<Self, TableError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener =
            TcpListener::bind(address).await.map_err(|source| TableError::Listen { address, source })?;
        let game = SharedGame {
            table: Mutex::new(table),
            changes: watch::Sender::new(0),
            over: watch::Sender::new(false),
        };
        let tokens = [ids::short(TOKEN_DIGITS), ids::short(TOKEN_DIGITS)];
        Ok(Self { listener, game: Arc::new(game), tokens })
    }

    /// Address to connect to.
    ///
    /// # Errors
    /// A listener without an address.
    pub fn address(&self) -> Result<SocketAddr, TableError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        self.listener.local_addr().map_err(|source| TableError::Listen { address, source })
    }

    /// Tokens of the two seats.
    #[must_use]
    pub fn tokens(&self) -> &[String; 2] {
        &self.tokens
    }

    /// Serves connections until the game is over.
    ///
    /// # Errors
    /// Records that cannot be written.
    pub async fn run(self) -> Result<String, TableError> {
        self.game.table.lock().await.play_on().await?;
        let mut over = self.game.over.subscribe();
        let mut connections = tokio::task::JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    // A connection that fails while it is made is the client's concern.
                    let Ok((stream, _)) = accepted else { continue };
                    connections.spawn(serve_connection(stream, self.game.clone(), self.tokens.clone()));
                }
                _ = over.wait_for(|over| *over) => break,
            }
        }
        // Both sides are sent the end before the server ends.
        while connections.join_next().await.is_some() {}
        let summary = self.game.table.lock().await.close()?;
        Ok(summary.to_string())
    }
}

async fn serve_connection(stream: TcpStream, game: Arc<SharedGame>, tokens: [String; 2]) {
    let (reader, mut writer) = stream.into_split();
    let (sender, mut lines) = mpsc::channel(MAX_WAITING_LINES);
    let reading = tokio::spawn(read_lines(reader, sender));
    let token = lines.recv().await.unwrap_or_default();
    let seat = PlayerId::BOTH.into_iter().zip(&tokens).find(|(_, known)| **known == token.trim());
    let result = match seat {
        Some((seat, _)) => play_seat(seat, &game, &mut lines, &mut writer).await,
        None => writer.write_all(b"cannot join: the token is not known\n").await,
    };
    // A lost connection ends only itself; the seat can connect again.
    drop(result);
    reading.abort();
}

async fn read_lines(reader: OwnedReadHalf, sender: mpsc::Sender<String>) {
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        let read = (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await;
        let whole = line.last() == Some(&b'\n');
        match read {
            Ok(count) if count > 0 && whole => {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                if sender.send(text).await.is_err() {
                    return;
                }
            }
            // The end, or a line that is too long to be one.
            _ => return,
        }
    }
}

async fn play_seat(
    seat: PlayerId,
    game: &SharedGame,
    lines: &mut mpsc::Receiver<String>,
    writer: &mut OwnedWriteHalf,
) -> std::io::Result<()> {
    let mut changes = game.changes.subscribe();
    let mut shown = 0;
    loop {
        let (text, over) = {
            let table = game.table.lock().await;
            let events: Vec<String> = table.log(seat, shown).into_iter().map(|line| line.text).collect();
            shown = table.log_length();
            let asked = table.question(seat).is_some();
            let wait = if asked || table.outcome().is_some() { "" } else { "\n(the opponent is asked)" };
            (
                format!("{}\n\n{}{wait}\n", events.join("\n"), table.screen_text(seat)),
                table.outcome().is_some(),
            )
        };
        write_text(writer, &text).await?;
        if over {
            return Ok(());
        }
        // Lines are taken until something changes the game.
        loop {
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    break;
                }
                line = lines.recv() => {
                    let Some(line) = line else { return Ok(()) };
                    match run_line(seat, game, &line).await {
                        Ok(Some(text)) => write_text(writer, &format!("{text}\n")).await?,
                        Ok(None) => {}
                        Err(error) => write_text(writer, &format!("{error}\n")).await?,
                    }
                    if line.trim() == "quit" {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Carries out a line; text for this side only, or none if the game has changed for both.
async fn run_line(seat: PlayerId, game: &SharedGame, line: &str) -> Result<Option<String>, TableError> {
    let mut table = game.table.lock().await;
    match table.run_line(seat, line)? {
        PlainOutcome::Text(text) => Ok(Some(text)),
        PlainOutcome::Quit => Ok(Some("you left; connect again to continue".to_owned())),
        PlainOutcome::Ask(_) => Ok(Some("no model is at this table".to_owned())),
        PlainOutcome::Answered => {
            let over = matches!(table.play_on().await?, Step::Over(_));
            game.changes.send_modify(|count| *count += 1);
            if over {
                game.over.send_replace(true);
            }
            Ok(None)
        }
    }
}

/// Text of the other person must not control this one's terminal.
async fn write_text(writer: &mut OwnedWriteHalf, text: &str) -> std::io::Result<()> {
    writer.write_all(printable::visible(text).as_bytes()).await
}
