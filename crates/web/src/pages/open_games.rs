//! Games that the server has open, by their ids.

use crate::answer::{Answer, Refusal, json};
use axum::http::StatusCode;
use marvin_agent::ProjectContext;
use marvin_table::{
    GameRow, GameSetup, OpponentKind, Table, TableContext, TableError, TableHost, list_decks,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Games that are open at the same time.
const MAX_OPEN_GAMES: usize = 32;

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

#[derive(Serialize)]
struct StartedGame {
    game: String,
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

/// Games that this server has open.
#[derive(Debug, Default)]
pub(crate) struct OpenGames {
    /// Read when the first game is asked for.
    context: Mutex<Option<TableContext>>,
    games: Mutex<BTreeMap<String, Arc<TableHost>>>,
}

/// Refusal of a table, with its hint.
pub(super) fn refusal(error: &TableError) -> Refusal {
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
