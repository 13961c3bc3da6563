//! Tools with which another program plays and teaches: `mtg_new_game` to `mtg_journal`.
//!
//! The program has the seat of the person, sees only its own board, and can do only what a question offers.

use crate::cards::find_shipped_deck;
use crate::context::TableContext;
use crate::error::TableError;
use crate::render::OptionStyle;
use crate::setup::{GameSetup, SeatKind, random_seed};
use crate::step::Step;
use crate::table::Table;
use async_trait::async_trait;
use marvin_agent::ProjectContext;
use marvin_gate::Touches;
use marvin_mtg::ids::PlayerId;
use marvin_mtg::surface::CompactAnswer;
use marvin_tools::{DynTool, Output, Tool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::{Mutex, MutexGuard};

/// Names of the tools.
pub const GAME_TOOLS: [&str; 6] =
    ["mtg_new_game", "mtg_view", "mtg_actions", "mtg_submit", "mtg_hint", "mtg_journal"];

/// Seat of the program.
const SEAT: PlayerId = PlayerId(0);

/// Log lines that a call shows.
const MAX_LOG_LINES: usize = 60;

/// The game that the tools play.
#[derive(Debug)]
struct GameHandle {
    project: Arc<ProjectContext>,
    open: Mutex<Option<Table>>,
}

/// The tools for a project; they share one game at a time.
#[must_use]
pub fn tools(project: &Arc<ProjectContext>) -> Vec<Arc<dyn DynTool>> {
    let handle = Arc::new(GameHandle { project: project.clone(), open: Mutex::default() });
    vec![
        Arc::new(NewGame(handle.clone())),
        Arc::new(View(handle.clone())),
        Arc::new(Actions(handle.clone())),
        Arc::new(Submit(handle.clone())),
        Arc::new(GiveHint(handle.clone())),
        Arc::new(ReadJournal(handle)),
    ]
}

#[expect(clippy::needless_pass_by_value, reason = "it is the last use of every error")]
fn failed(error: TableError) -> ToolError {
    let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    match error {
        TableError::Refused(_) => ToolError::Failed(error.to_string()),
        _ if error.is_usage() => ToolError::Usage(format!("{error}{hint}")),
        _ => ToolError::Failed(format!("{error}{hint}")),
    }
}

impl GameHandle {
    /// The open game; the newest that is not over if none is open in this process.
    async fn game(&self) -> Result<MutexGuard<'_, Option<Table>>, ToolError> {
        let mut open = self.open.lock().await;
        if open.is_none() {
            let context = TableContext::of_project(&self.project).map_err(failed)?;
            *open = Some(Table::resume_latest(&context).map_err(failed)?);
        }
        Ok(open)
    }
}

/// State of a game after a call.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GameStatus {
    /// The id of the game.
    game: String,
    /// Number of the question that is open for you.
    question: Option<u32>,
    over: bool,
    /// Seat that won: you are 0.
    winner: Option<u8>,
}

fn status(table: &Table) -> GameStatus {
    GameStatus {
        game: table.id().to_owned(),
        question: table.question(SEAT).map(|question| question.number),
        over: table.outcome().is_some(),
        winner: table.outcome().and_then(|outcome| outcome.winner).map(|seat| seat.0),
    }
}

/// Plays on and shows what happened, with the next question.
async fn proceed(table: &mut Table, since: usize) -> Result<String, TableError> {
    let step = table.play_on().await?;
    let log = table.log(SEAT, since);
    let skipped = log.len().saturating_sub(MAX_LOG_LINES);
    let mut text: String = log.iter().skip(skipped).map(|line| format!("{}\n", line.text)).collect();
    if let Step::Over(_) = step {
        text.push_str(&table.close()?.to_string());
    } else {
        text.push_str(&format!("\n{}", table.board(SEAT).to_text(OptionStyle::Ids)));
        if let Some(question) = table.question(SEAT) {
            text.push_str(&format!(
                "\n\nQuestion {}: {}",
                question.number,
                question.to_text(OptionStyle::Ids)
            ));
        }
    }
    Ok(text)
}

fn output(table: &Table, text: String) -> Output<GameStatus> {
    let status = status(table);
    let summary = match (status.over, status.question) {
        (true, _) => "the game is over".to_owned(),
        (false, Some(number)) => format!("question {number} is open"),
        (false, None) => "no question is open for you".to_owned(),
    };
    Output::new(summary, text, status)
}

/// Starts a game.
#[derive(Debug, Clone)]
struct NewGame(Arc<GameHandle>);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewGameInput {
    /// Id of your deck, for example boundless_elves.
    #[serde(default)]
    deck: Option<String>,
    /// Id of the other deck.
    #[serde(default)]
    against: Option<String>,
    /// Who plays the other deck: random, heuristic, mcts or model; heuristic unless said.
    #[serde(default)]
    opponent: Option<String>,
    /// The seed; random unless said.
    #[serde(default)]
    seed: Option<u64>,
    /// Whether answers may be taken back by a person later.
    #[serde(default)]
    training: bool,
}

impl NewGameInput {
    fn setup(&self) -> Result<GameSetup, ToolError> {
        let deck = self.deck.as_deref().unwrap_or("boundless_elves");
        let against = self.against.as_deref().unwrap_or("dark_sacrifice");
        let word = self.opponent.as_deref().unwrap_or("heuristic");
        let opponent = SeatKind::find(word).filter(|kind| *kind != SeatKind::Person).ok_or_else(|| {
            ToolError::Usage(format!("Unknown opponent `{word}`; one of random, heuristic, mcts, model."))
        })?;
        let decks = [find_shipped_deck(deck).map_err(failed)?, find_shipped_deck(against).map_err(failed)?];
        let seed = self.seed.unwrap_or_else(random_seed);
        let training = self.training;
        Ok(GameSetup { training, ..GameSetup::new(decks, [SeatKind::Person, opponent], seed) })
    }
}

#[async_trait]
impl Tool for NewGame {
    type Input = NewGameInput;
    type Data = GameStatus;
    const NAME: &'static str = "mtg_new_game";
    const DESCRIPTION: &'static str = "Start a game of Magic: The Gathering against another player. Returns the board of your seat and the first question with its options by id; answer it with mtg_submit. An earlier game stays resumable.";
    const EXAMPLE: &'static str =
        r#"{"deck": "boundless_elves", "against": "dark_sacrifice", "opponent": "heuristic"}"#;
    const TOUCHES: Touches = Touches::STORES;

    async fn call(
        &self,
        input: NewGameInput,
        _context: &ToolContext,
    ) -> Result<Output<GameStatus>, ToolError> {
        let setup = input.setup()?;
        let mut open = self.0.open.lock().await;
        let context = TableContext::of_project(&self.0.project).map_err(failed)?;
        let mut table = Table::create(&context, setup).map_err(failed)?;
        let text = proceed(&mut table, 0).await.map_err(failed)?;
        let shown = output(&table, text);
        *open = Some(table);
        Ok(shown)
    }
}

/// Input of a tool that only looks.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LookInput {}

/// Shows the board.
#[derive(Debug, Clone)]
struct View(Arc<GameHandle>);

#[async_trait]
impl Tool for View {
    type Input = LookInput;
    type Data = GameStatus;
    const NAME: &'static str = "mtg_view";
    const DESCRIPTION: &'static str =
        "Show the board of the open game of Magic as your seat sees it, with the ids of cards.";
    const EXAMPLE: &'static str = "{}";
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, _input: LookInput, _context: &ToolContext) -> Result<Output<GameStatus>, ToolError> {
        let open = self.0.game().await?;
        let Some(table) = open.as_ref() else { return Err(failed(TableError::NoOpenGame)) };
        Ok(output(table, table.board(SEAT).to_text(OptionStyle::Ids)))
    }
}

/// Shows the question.
#[derive(Debug, Clone)]
struct Actions(Arc<GameHandle>);

#[async_trait]
impl Tool for Actions {
    type Input = LookInput;
    type Data = GameStatus;
    const NAME: &'static str = "mtg_actions";
    const DESCRIPTION: &'static str =
        "Show the question that is open for you in the game of Magic, and every legal answer by id.";
    const EXAMPLE: &'static str = "{}";
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, _input: LookInput, _context: &ToolContext) -> Result<Output<GameStatus>, ToolError> {
        let mut open = self.0.game().await?;
        let Some(table) = open.as_mut() else { return Err(failed(TableError::NoOpenGame)) };
        // A game that was resumed may wait for the other player first.
        table.play_on().await.map_err(failed)?;
        let text = match table.question(SEAT) {
            Some(question) => format!("Question {}: {}", question.number, question.to_text(OptionStyle::Ids)),
            None => "No question is open for you.".to_owned(),
        };
        Ok(output(table, text))
    }
}

/// Answers the question.
#[derive(Debug, Clone)]
struct Submit(Arc<GameHandle>);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubmitInput {
    /// Number of the question that is answered.
    question: u32,
    /// Id of an action, for questions about actions.
    #[serde(default)]
    action: Option<String>,
    /// Ids of options, for questions with options.
    #[serde(default)]
    options: Option<Vec<String>>,
    /// Pairs of creature and what it attacks; empty to attack with nothing.
    #[serde(default)]
    attackers: Option<Vec<[String; 2]>>,
    /// Pairs of blocker and attacker; empty to block with nothing.
    #[serde(default)]
    blockers: Option<Vec<[String; 2]>>,
    /// One amount for each option, for divisions.
    #[serde(default)]
    amounts: Option<Vec<i32>>,
}

impl SubmitInput {
    fn answer(&self) -> Result<CompactAnswer, ToolError> {
        let pairs = |pairs: &[[String; 2]]| {
            pairs.iter().map(|[one, two]| (one.clone(), two.clone())).collect::<Vec<_>>()
        };
        let given = [
            self.action.clone().map(CompactAnswer::Action),
            self.options.clone().map(CompactAnswer::Options),
            self.attackers.as_deref().map(|list| CompactAnswer::Attackers(pairs(list))),
            self.blockers.as_deref().map(|list| CompactAnswer::Blockers(pairs(list))),
            self.amounts.clone().map(CompactAnswer::Amounts),
        ];
        let mut given = given.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(answer), None) => Ok(answer),
            _ => Err(ToolError::Usage(
                "Give exactly one of action, options, attackers, blockers, amounts.".to_owned(),
            )),
        }
    }
}

#[async_trait]
impl Tool for Submit {
    type Input = SubmitInput;
    type Data = GameStatus;
    const NAME: &'static str = "mtg_submit";
    const DESCRIPTION: &'static str = "Answer the open question of the game of Magic by ids. An answer that breaks a rule changes nothing and says why. Returns what happened, the board, and the next question.";
    const EXAMPLE: &'static str = r#"{"question": 12, "action": "a0"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("number", "question")];
    const TOUCHES: Touches = Touches::STORES;

    async fn call(
        &self,
        input: SubmitInput,
        _context: &ToolContext,
    ) -> Result<Output<GameStatus>, ToolError> {
        let answer = input.answer()?;
        let mut open = self.0.game().await?;
        let Some(table) = open.as_mut() else { return Err(failed(TableError::NoOpenGame)) };
        let since = table.log_length();
        table.answer(SEAT, input.question, &answer).map_err(failed)?;
        let text = proceed(table, since).await.map_err(failed)?;
        Ok(output(table, text))
    }
}

/// Gives a hint.
#[derive(Debug, Clone)]
struct GiveHint(Arc<GameHandle>);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HintInput {
    /// 1: what matters; 2: candidate lines; 3: the best line with the evidence of a search.
    #[serde(default)]
    level: Option<u8>,
    /// A card that cannot be used, to ask why not.
    #[serde(default)]
    why_not: Option<String>,
}

#[async_trait]
impl Tool for GiveHint {
    type Input = HintInput;
    type Data = GameStatus;
    const NAME: &'static str = "mtg_hint";
    const DESCRIPTION: &'static str = "A hint for the open question of the game of Magic, graded from 1 to 3, found from what your seat may know; or the reason why a card cannot be used now.";
    const EXAMPLE: &'static str = r#"{"level": 2}"#;
    const TOUCHES: Touches = Touches::STORES;

    async fn call(&self, input: HintInput, _context: &ToolContext) -> Result<Output<GameStatus>, ToolError> {
        let open = self.0.game().await?;
        let Some(table) = open.as_ref() else { return Err(failed(TableError::NoOpenGame)) };
        let text = match &input.why_not {
            Some(card) => {
                let lines = table.why_not(SEAT, card);
                lines.iter().map(|line| format!("{}: {}\n", line.action, line.reason)).collect()
            }
            None => table.hint(SEAT, input.level.unwrap_or(1)).map_err(failed)?.to_string(),
        };
        Ok(output(table, text))
    }
}

/// Reads the log.
#[derive(Debug, Clone)]
struct ReadJournal(Arc<GameHandle>);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JournalInput {
    /// Number of the first line; the last lines unless said.
    #[serde(default)]
    since: Option<usize>,
}

#[async_trait]
impl Tool for ReadJournal {
    type Input = JournalInput;
    type Data = GameStatus;
    const NAME: &'static str = "mtg_journal";
    const DESCRIPTION: &'static str =
        "What happened in the game of Magic, one line per event, without what your seat may not know.";
    const EXAMPLE: &'static str = r#"{"since": 0}"#;
    const TOUCHES: Touches = Touches::READS;

    async fn call(
        &self,
        input: JournalInput,
        _context: &ToolContext,
    ) -> Result<Output<GameStatus>, ToolError> {
        let open = self.0.game().await?;
        let Some(table) = open.as_ref() else { return Err(failed(TableError::NoOpenGame)) };
        let since = input.since.unwrap_or_else(|| table.log_length().saturating_sub(MAX_LOG_LINES));
        let lines = table.log(SEAT, since).into_iter().take(MAX_LOG_LINES * 4);
        let text: String = lines.map(|line| format!("{} {}\n", line.number, line.text)).collect();
        Ok(output(table, text))
    }
}
