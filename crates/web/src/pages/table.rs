//! Games of Magic: the list, one game as a seat sees it, its orders and questions, and the stream of its changes.
//!
//! Games are opened when they are asked for and stay open; the table decides everything.

use super::open_games::refusal;
use super::{MAX_SAFE_INTEGER, Query, stream};
use crate::answer::{Answer, Refusal, json, within};
use axum::response::Response;
use marvin_table::{CompactAnswer, GameRow, PlayerId, Stops, Table, TableHost, YieldUntil};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Characters of a question to the opponent or about a card.
const MAX_QUESTION_CHARS: usize = 2_000;

/// List of the one game that a server of two seats has.
#[derive(Debug, Serialize)]
pub(crate) struct OneGame {
    games: [GameRow; 1],
    decks: [(); 0],
}

impl OneGame {
    pub(crate) fn new(table: &Table) -> Self {
        Self { games: [table.row()], decks: [] }
    }
}

#[derive(Serialize)]
struct OkResponse {
    ok: bool,
}

#[derive(Serialize)]
struct AnswerText {
    text: String,
}

/// Body that changes a game.
#[derive(Debug, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum TableOrder {
    Answer { number: u32, answer: CompactAnswer },
    Yield { until: YieldUntil },
    Stops { stops: Stops },
    Concede {},
    Undo {},
}

/// Body that asks something without a change of the game.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum TableQuestion {
    Hint { level: u8 },
    WhyNot { text: String },
    Talk { text: String },
}

/// Seat that a page without a seat of its own looks from: the person's.
pub(super) fn usual_seat(host: &TableHost) -> PlayerId {
    host.with(Table::person).unwrap_or(PlayerId(0))
}

/// The game as a seat sees it.
pub(crate) fn show(host: &TableHost, seat: PlayerId, query: &Query) -> Answer {
    let since = query.number("since", 0, 0, MAX_SAFE_INTEGER)?;
    json(&host.snapshot(seat, usize::try_from(since).unwrap_or(usize::MAX)))
}

/// The text of a card.
pub(crate) fn card(host: &TableHost, query: &Query) -> Answer {
    let name = query.text("name").ok_or_else(|| Refusal::bad("say which card: ?name=…"))?;
    let text = host.with(|table| table.card_text(&name));
    json(&text.ok_or_else(|| Refusal::absent(format!("no card is called `{name}`")))?)
}

/// Carries out an order.
pub(crate) fn order(host: &TableHost, seat: PlayerId, order: TableOrder) -> Answer {
    let result = match order {
        TableOrder::Answer { number, answer } => host.answer(seat, number, &answer),
        TableOrder::Yield { until } => {
            host.yield_until(seat, until);
            Ok(())
        }
        TableOrder::Stops { stops } => host.set_stops(seat, stops),
        TableOrder::Concede {} => host.concede(seat),
        TableOrder::Undo {} => host.undo(seat),
    };
    result.map_err(|error| refusal(&error))?;
    json(&OkResponse { ok: true })
}

/// Answers a question about the game, which it does not change.
pub(crate) async fn ask(host: Arc<TableHost>, seat: PlayerId, question: TableQuestion) -> Answer {
    let text = match question {
        TableQuestion::WhyNot { text } => {
            within(&text, MAX_QUESTION_CHARS)?;
            host.why_not(seat, &text)
        }
        TableQuestion::Hint { level } => {
            let search = tokio::task::spawn_blocking(move || host.hint(seat, level)).await;
            search.map_err(|error| Refusal::broken(format!("cannot find a hint: {error}")))?
        }
        TableQuestion::Talk { text } => {
            within(&text, MAX_QUESTION_CHARS)?;
            host.talk(seat, &text).await
        }
    };
    json(&AnswerText { text: text.map_err(|error| refusal(&error))? })
}

/// A stream of the numbers of changes.
pub(crate) fn events(
    host: &TableHost,
    streams: &Arc<Semaphore>,
    cancel: &CancellationToken,
) -> Result<Response, Refusal> {
    stream::changes(host.changes(), streams, cancel)
}
