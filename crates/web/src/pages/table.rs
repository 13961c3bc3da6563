//! Games of Magic: the list, one game as a seat sees it, its orders and questions, and the stream of its changes.
//!
//! Games are opened when they are asked for and stay open; the table decides everything.

use super::{MAX_SAFE_INTEGER, Query, stream};
use crate::answer::{Answer, Refusal, json, within};
use axum::http::StatusCode;
use axum::response::Response;
use marvin_agent::ProjectContext;
use marvin_table::{
    CompactAnswer, GameRow, GameSetup, OpponentKind, PlayerId, Stops, Table, TableContext, TableError,
    TableHost, YieldUntil, list_decks,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Games that are open at the same time.
const MAX_OPEN_GAMES: usize = 32;
/// Characters of a question to the opponent or about a card.
const MAX_QUESTION_CHARS: usize = 2_000;

#[derive(Serialize)]
struct Lobby {
    games: Vec<GameRow>,
    decks: Vec<DeckRow>,
}

#[derive(Serialize)]
struct DeckRow {
    id: &'static str,
    name: &'static str,
}

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
struct StartedGame {
    game: String,
}

#[derive(Serialize)]
struct Accepted {
    ok: bool,
}

#[derive(Serialize)]
struct AnswerText {
    text: String,
}

/// Body that starts a game.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartGame {
    deck: String,
    against: String,
    opponent: OpponentKind,
    #[serde(default)]
    tutor: bool,
    #[serde(default)]
    training: bool,
    #[serde(default)]
    seed: Option<u64>,
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

/// Games that this server has open.
#[derive(Debug, Default)]
pub(crate) struct OpenGames {
    /// Read when the first game is asked for.
    context: Mutex<Option<TableContext>>,
    games: Mutex<BTreeMap<String, Arc<TableHost>>>,
}

/// Refusal of a table, with its hint.
fn refusal(error: &TableError) -> Refusal {
    let hint = error.hint().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
    let status = match error {
        TableError::UnknownGame { .. } => StatusCode::NOT_FOUND,
        TableError::Refused(_) | TableError::Busy { .. } | TableError::Undo(_) => StatusCode::CONFLICT,
        error if error.is_usage() => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Refusal::new(status, format!("{error}{hint}"))
}

impl OpenGames {
    fn context(&self, project: &ProjectContext) -> Result<TableContext, Refusal> {
        let mut context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*context {
            return Ok(known.clone());
        }
        let read = TableContext::of_project(project).map_err(|error| refusal(&error))?;
        *context = Some(read.clone());
        Ok(read)
    }

    /// Games with what is known of them, and the decks to start one with.
    pub(super) fn lobby(&self, project: &ProjectContext) -> Answer {
        let games = Table::list(&self.context(project)?).map_err(|error| refusal(&error))?;
        let decks = list_decks().map(|(id, name)| DeckRow { id, name }).collect();
        json(&Lobby { games, decks })
    }

    /// Opens a game under its id; a game that is open already stays as it is.
    fn keep(&self, table: Table) -> Result<Arc<TableHost>, Refusal> {
        let id = table.id().to_owned();
        let mut games = self.games.lock().unwrap_or_else(PoisonError::into_inner);
        if games.len() >= MAX_OPEN_GAMES {
            // The driver of a game that is over, or that no page follows, is not needed.
            games.retain(|_, host| Arc::strong_count(host) > 1);
        }
        if games.len() >= MAX_OPEN_GAMES {
            return Err(Refusal::conflict(format!(
                "cannot open game: {MAX_OPEN_GAMES} games are open already"
            )));
        }
        let host = games.entry(id).or_insert_with(|| Arc::new(TableHost::start(table)));
        Ok(host.clone())
    }

    pub(super) fn start(&self, project: &ProjectContext, order: &StartGame) -> Answer {
        if order.opponent == OpponentKind::Person {
            let why = "cannot start a game of two people here\n  hint: use `marvin mtg serve --browser`, which prints a link per seat";
            return Err(Refusal::bad(why));
        }
        let context = self.context(project)?;
        let mut setup = GameSetup::against(&order.deck, &order.against, order.opponent)
            .map_err(|error| refusal(&error))?;
        setup.tutor = order.tutor;
        setup.training = order.training;
        setup.seed = order.seed.unwrap_or(setup.seed);
        let table = Table::create(&context, setup).map_err(|error| refusal(&error))?;
        let game = table.id().to_owned();
        self.keep(table)?;
        json(&StartedGame { game })
    }

    /// An open game; one that is not open yet is opened.
    pub(super) fn find(&self, project: &ProjectContext, game: &str) -> Result<Arc<TableHost>, Refusal> {
        let known = self.games.lock().unwrap_or_else(PoisonError::into_inner).get(game).cloned();
        if let Some(host) = known {
            return Ok(host);
        }
        let context = self.context(project)?;
        self.keep(Table::resume(&context, game).map_err(|error| refusal(&error))?)
    }
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
    json(&Accepted { ok: true })
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
