//! Layer 5: games of Magic between people, models and players without a model.
//!
//! A front end shows a [`Board`], asks a [`Question`], and hands back the answer; every decision about
//! the game is made here or in the rules engine. The whole life of a game:
//!
//! ```no_run
//! # async fn play(context: marvin_table::TableContext) -> Result<(), marvin_table::TableError> {
//! use marvin_table::{CompactAnswer, GameSetup, OpponentKind, PlayerId, Step, Table};
//! let setup = GameSetup::against("boundless_elves", "dark_sacrifice", OpponentKind::Heuristic)?;
//! let mut table = Table::create(&context, setup)?;
//! let seat = PlayerId(0);
//! loop {
//!     match table.next_step()? {
//!         // Another player is to answer: `run` may be awaited in another task while the front end
//!         // stays responsive; `finish_step` applies the result, or ignores it if the game has moved on.
//!         Step::Think(thought) => {
//!             let result = thought.run().await;
//!             table.finish_step(result)?;
//!         }
//!         Step::Person(_) => {
//!             let _board = table.board(seat);
//!             let Some(question) = table.question(seat) else { break };
//!             let answer = CompactAnswer::Action("a0".to_owned());
//!             // A refused answer changes nothing; the refusal says which rule or condition failed.
//!             table.answer(seat, question.number, &answer)?;
//!         }
//!         Step::Over(_) => break,
//!     }
//! }
//! let _summary = table.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! Ids of cards on the board (`c12`), of players (`p0`) and of actions (`a3`) are those of the engine's
//! compact form; they hold for one question. [`Table::step`] does one `next_step` with its thought.
//! [`Table::run_line`] carries out a line that a person typed, [`Table::hint`], [`Table::warnings`],
//! [`Table::why_not`] and [`Table::talk`] teach, and [`Board::to_text`] and [`Question::to_text`] are
//! the same in plain text.
//!
//! Each game has a directory `<memory>/mtg/<game id>` with `setup.json`, `journal.jsonl`,
//! `questions.jsonl`, `model.jsonl` and, at the end, `summary.json`. Every answer is appended to the
//! journal before the next question is asked, so a killed game is resumed at the same decision.

mod board;
mod cards;
mod chat_games;
mod close;
mod context;
mod error;
mod game_memory;
mod host;
mod labels;
mod lessons;
mod log;
mod match_play;
mod model_player;
mod percent;
mod plain;
mod plain_session;
mod question;
mod records;
mod render;
mod serve;
mod setup;
mod sideboard;
mod step;
mod stops;
mod summary;
mod table;
mod talk;
mod tools;
mod tournament;
mod turning_point;
mod tutor;
mod why_not;

pub use board::{Board, BoardCard, BoardPermanent, BoardSide, BoardStackItem};
pub use cards::{CardText, find_deck, find_shipped_deck, list_decks, load_pool};
pub use chat_games::ChatGames;
pub use context::TableContext;
pub use error::TableError;
pub use game_memory::{ApprovedLesson, GameMemory};
pub use host::{Snapshot, TableHost};
pub use log::{LogKind, LogLine};
pub use model_player::{CallResult, GameModel, ModelCall, ModelFigures, ModelLimits, Talk, TalkResult};
pub use plain::{LineError, LineProblem, PLAIN_HELP, PlainCommand, PlainOutcome, read_line};
pub use plain_session::{PlainSession, PlainText, SessionEnd};
pub use question::{AnswerForm, BlockerOption, ChoiceOption, Question};
pub use records::{GameRow, QuestionKind, QuestionRecord};
pub use render::OptionStyle;
pub use serve::TableServer;
pub use setup::{DeckChoice, GameSetup, MatchScore, OpponentKind, SeatKind, random_seed};
pub use sideboard::{NextGame, SIDEBOARD_HELP, SideboardOutcome, SideboardProblem};
pub use step::{Step, Thought, ThoughtResult};
pub use stops::YieldUntil;
pub use summary::Summary;
pub use table::Table;
pub use tools::{GAME_TOOLS, tools};
pub use tournament::{PairResult, RankedReport, Standing, TournamentReport, plot_standings};
pub use turning_point::{KeyTurn, Severity, Skill, TurningPoint};
pub use tutor::{CandidateLine, Hint, REVIEW_ITERATIONS, Review, Warning, WarningKind};
pub use why_not::WhyNot;

pub use marvin_mtg::ability::TurnStep;
pub use marvin_mtg::decision::{DecisionKind, Refusal};
pub use marvin_mtg::ids::PlayerId;
pub use marvin_mtg::journal::AnswerOrigin;
pub use marvin_mtg::state::{EndReason, Outcome};
pub use marvin_mtg::surface::{CompactAnswer, Stops};
