//! `/mtg` in a conversation: one game at a time, line by line.

use crate::cards::find_shipped_deck;
use crate::context::TableContext;
use crate::error::TableError;
use crate::plain::PLAIN_HELP;
use crate::plain_session::{PlainSession, PlainText};
use crate::setup::{GameSetup, SeatKind, random_seed};
use crate::table::Table;
use async_trait::async_trait;
use marvin_agent::ProjectContext;
use marvin_agent::chat::{GameHost, GameReply};
use tokio::sync::Mutex;

/// Decks of a game that names none.
const DEFAULT_DECKS: [&str; 2] = ["boundless_elves", "dark_sacrifice"];

const CHAT_HELP: &str = "\
/mtg play [deck=DECK] [against=DECK] [opponent=random|heuristic|mcts|model] [seed=N] [tutor] [training]
/mtg resume [GAME]      continue a game
/mtg list               games of this project
/mtg LINE               an answer or a command of the game:";

/// Games of a conversation.
#[derive(Debug, Default)]
pub struct ChatGames {
    open: Mutex<Option<PlainSession>>,
}

#[async_trait]
impl GameHost for ChatGames {
    async fn run_line(&self, project: &ProjectContext, line: &str) -> GameReply {
        match self.run(project, line).await {
            Ok(text) => GameReply::Text(text),
            Err(error) => {
                let hint = error.hint().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
                GameReply::Refusal(format!("/mtg: {error}{hint}"))
            }
        }
    }
}

impl ChatGames {
    async fn run(&self, project: &ProjectContext, line: &str) -> Result<String, TableError> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let mut open = self.open.lock().await;
        match word {
            "play" => {
                let setup = read_setup(rest)?;
                let table = Table::create(&TableContext::of_project(project)?, setup)?;
                start(&mut open, table).await
            }
            "resume" => {
                // The game of this conversation is left first: its lock is its own.
                *open = None;
                let context = TableContext::of_project(project)?;
                let table = match rest.trim() {
                    "" => Table::resume_latest(&context)?,
                    id => Table::resume(&context, id)?,
                };
                start(&mut open, table).await
            }
            "list" => {
                let rows = Table::list(&TableContext::of_project(project)?)?;
                let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
                Ok(if lines.is_empty() { "no game was played here".to_owned() } else { lines.join("\n") })
            }
            "help" => Ok(format!("{CHAT_HELP}\n{PLAIN_HELP}")),
            _ => {
                let Some(session) = open.as_mut() else { return Err(TableError::NoOpenGame) };
                let PlainText { text, end } = session.run_line(line).await?;
                if end.is_some() {
                    *open = None;
                }
                Ok(text)
            }
        }
    }
}

async fn start(open: &mut Option<PlainSession>, table: Table) -> Result<String, TableError> {
    let mut session = PlainSession::new(table);
    let PlainText { text, end } = session.start().await?;
    *open = end.is_none().then_some(session);
    Ok(text)
}

/// Setup from `key=value` words.
fn read_setup(text: &str) -> Result<GameSetup, TableError> {
    let [mut deck, mut against] = DEFAULT_DECKS.map(str::to_owned);
    let mut opponent = SeatKind::Heuristic;
    let (mut seed, mut tutor, mut training) = (random_seed(), false, false);
    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "deck" => deck = value.to_owned(),
            "against" => against = value.to_owned(),
            "opponent" => {
                opponent =
                    SeatKind::find(value).ok_or_else(|| TableError::Option { word: word.to_owned() })?;
            }
            "seed" => {
                seed = value.parse().map_err(|_| TableError::Option { word: word.to_owned() })?;
            }
            "tutor" => tutor = true,
            "training" => training = true,
            _ => return Err(TableError::Option { word: word.to_owned() }),
        }
    }
    let decks = [find_shipped_deck(&deck)?, find_shipped_deck(&against)?];
    Ok(GameSetup { tutor, training, ..GameSetup::new(decks, [SeatKind::Person, opponent], seed) })
}
