//! The model player: a question in text, an answer in JSON, and the heuristic player where there is none.
//!
//! The model is told the board of its own seat and the options by id, nothing else. A reply that is not
//! an answer to the question is told once why, with the question again; then the heuristic player
//! decides, and the journal says so. Conceding is not among the options. Whatever a reply says, it
//! can only choose among them.

mod prompt;
mod reply;

pub(crate) use prompt::{GamePrompt, TalkRole};

use crate::error::TableError;
use marvin_base::settings::table;
use marvin_model::choose::{self, Choice};
use marvin_model::price::{self, Prices};
use marvin_model::{Event, Failure, Message, ModelClient, Request};
use marvin_mtg::decision::{Answer, Refusal};
use marvin_mtg::players::{GamePlayer, HeuristicPlayer, Observation};
use reply::{ReplyProblem, read_reply};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Bytes of a reply after which it is cut off: an answer is short.
const MAX_REPLY_BYTES: usize = 64 * 1024;

/// Requests for one question: the first, and one with the error.
const MAX_ATTEMPTS: u32 = 2;

/// Characters of a reply that are repeated to the model with its error.
const MAX_QUOTED_CHARS: usize = 600;

/// Characters of talk that are shown.
pub(crate) const MAX_TALK_CHARS: usize = 2_000;

/// Role that asks, for scripts and prices.
const ROLE: &str = "MtgPlayer";

/// Model with what it may use in one game.
#[derive(Clone)]
pub struct GameModel {
    pub client: Arc<dyn ModelClient>,
    pub prices: Arc<Prices>,
    pub limits: ModelLimits,
}

impl std::fmt::Debug for GameModel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("GameModel")
            .field("provider", &self.client.provider())
            .field("model", &self.client.model())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// What a model may use in one game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelLimits {
    pub max_tokens: u64,
    /// Nano-dollars; `None` has no limit.
    pub max_cost: Option<u64>,
}

/// Result of one request to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallResult {
    Accepted,
    /// The reply has no answer of the right shape.
    Schema,
    /// The answer is not legal.
    Illegal,
    /// The reply was cut off because it was too long.
    TooLong,
    /// The provider failed.
    Failed,
    /// Talk without an answer.
    Talk,
}

/// Request to the model: a line of `model.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCall {
    pub decision: u32,
    pub attempt: u32,
    pub result: CallResult,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Nano-dollars, where the price is known.
    #[serde(default)]
    pub cost: Option<u64>,
    /// Why the reply was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Figures of the model in one game.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFigures {
    /// Questions that the model was asked.
    pub questions: usize,
    pub calls: usize,
    pub illegal: usize,
    pub schema_retries: usize,
    /// Questions that the heuristic player decided.
    pub fallbacks: usize,
    pub failures: usize,
    pub tokens: u64,
    /// Nano-dollars.
    pub cost: u64,
    /// Whether the game came to its end.
    pub completed: bool,
}

impl ModelFigures {
    pub(crate) fn of_calls(calls: &[ModelCall], fallbacks: usize, completed: bool) -> Self {
        let count = |result: CallResult| calls.iter().filter(|call| call.result == result).count();
        Self {
            questions: calls
                .iter()
                .filter(|call| call.attempt == 1 && call.result != CallResult::Talk)
                .count(),
            calls: calls.len(),
            illegal: count(CallResult::Illegal),
            schema_retries: count(CallResult::Schema) + count(CallResult::TooLong),
            fallbacks,
            failures: count(CallResult::Failed),
            tokens: calls.iter().map(|call| call.input_tokens + call.output_tokens).sum(),
            cost: calls.iter().filter_map(|call| call.cost).sum(),
            completed,
        }
    }
}

impl std::fmt::Display for ModelFigures {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rate = |count: usize| {
            let of = self.questions.max(1);
            let tenths = count * 1000 / of;
            format!("{}.{} %", tenths / 10, tenths % 10)
        };
        write!(
            formatter,
            "model: {} questions, {} calls, illegal {}, schema retries {}, decided by the heuristic player {}, {} tokens, ${:.4}",
            self.questions,
            self.calls,
            rate(self.illegal),
            rate(self.schema_retries),
            rate(self.fallbacks),
            self.tokens,
            price::dollars(self.cost)
        )
    }
}

impl GameModel {
    /// The model that the settings name for games: `mtg.url`, `mtg.key` and `mtg.model`, else the usual
    /// provider; with `mtg.remote` off, the local one.
    ///
    /// # Errors
    /// A provider that is not set up.
    pub fn choose(project: &marvin_agent::ProjectContext) -> Result<Self, TableError> {
        let wrong = |error: &dyn std::fmt::Display| TableError::Model(error.to_string());
        let own = project.settings.as_ref();
        let (url, key) = (own.given(&table::MTG_URL), own.given(&table::MTG_KEY));
        let mut settings = own.clone();
        let mut set = |setting, value: &str| -> Result<(), TableError> {
            settings = settings.with(setting, value).map_err(|error| wrong(&error))?;
            Ok(())
        };
        if !own.on(&table::MTG_REMOTE) {
            set(&table::PROVIDER, "local")?;
        } else if url.is_some() || key.is_some() {
            let key = key.or_else(|| own.given(&table::OPENAI_KEY)).unwrap_or_default();
            let url = url.unwrap_or_else(|| own.text(&table::OPENAI_URL));
            // The local provider speaks the same format and works without a key.
            let (provider, url_key, key_key) = if key.is_empty() {
                ("local", &table::LOCAL_URL, &table::LOCAL_KEY)
            } else {
                ("openai", &table::OPENAI_URL, &table::OPENAI_KEY)
            };
            set(&table::PROVIDER, provider)?;
            set(url_key, url)?;
            if !key.is_empty() {
                set(key_key, key)?;
            }
        }
        if let Some(model) = own.given(&table::MTG_MODEL) {
            set(&table::MODEL, model)?;
        }
        let prices = Prices::load(Some(&project.layout.prices())).map_err(|error| wrong(&error))?;
        let choice = Choice {
            settings: &settings,
            environment: &project.environment,
            layout: &project.layout,
            workspace: &project.directory,
            script_state: None,
        };
        if choose::is_builtin(&settings, &project.layout) {
            return Err(TableError::Model("no provider has a key".to_owned()));
        }
        let client = choose::client(&choice).map_err(|error| wrong(&error))?;
        let limits = ModelLimits {
            max_tokens: u64::try_from(own.whole(&table::MTG_MAX_TOKENS)).unwrap_or(u64::MAX),
            max_cost: own.amount(&table::MTG_MAX_COST).map(price::nanos),
        };
        Ok(Self { client, prices: Arc::new(prices), limits })
    }

    /// Sends one request. A reply that grows too long is cut off.
    async fn send(&self, messages: &[Message]) -> (ModelCall, Option<String>) {
        let request = Request { messages: messages.to_vec(), role: ROLE.to_owned(), ..Request::default() };
        let cancel = CancellationToken::new();
        let mut received = 0_usize;
        let stop = cancel.clone();
        let mut sink = |event: Event<'_>| {
            match event {
                Event::Text(text) | Event::Reasoning(text) => received += text.len(),
                Event::Restart { .. } | Event::Fallback { .. } => received = 0,
                _ => {}
            }
            if received > MAX_REPLY_BYTES {
                stop.cancel();
            }
        };
        let result = self.client.send(&request, &mut sink, &cancel).await;
        let call = |result, usage: marvin_model::Usage, cost, problem| ModelCall {
            decision: 0,
            attempt: 0,
            result,
            input_tokens: usage.input,
            output_tokens: usage.output,
            cost,
            problem,
        };
        match result {
            Ok(reply) if reply.text.len() > MAX_REPLY_BYTES => {
                let cost = self.prices.reply_cost(self.client.provider(), self.client.model(), &reply);
                (call(CallResult::TooLong, reply.usage, cost, None), None)
            }
            Ok(reply) => {
                let cost = self.prices.reply_cost(self.client.provider(), self.client.model(), &reply);
                (call(CallResult::Accepted, reply.usage, cost, None), Some(reply.text))
            }
            Err(error) => {
                let cut = error.failure == Failure::Cancelled && cancel.is_cancelled();
                let result = if cut { CallResult::TooLong } else { CallResult::Failed };
                let usage = error.spent().unwrap_or_default();
                (call(result, usage, None, Some(error.to_string())), None)
            }
        }
    }
}

/// Answer of a model seat, with its requests.
#[derive(Debug)]
pub(crate) struct ModelAnswer {
    pub answer: Answer,
    /// Whether the heuristic player decided.
    pub fallback: bool,
    pub calls: Vec<ModelCall>,
    /// Public remark of the model.
    pub remark: Option<String>,
}

/// Work of a model seat.
#[derive(Debug)]
pub(crate) struct ModelMind {
    pub model: GameModel,
    pub prompt: GamePrompt,
    /// What was used in this game before.
    pub spent: ModelFigures,
}

impl ModelMind {
    fn is_spent(&self, calls: &[ModelCall]) -> bool {
        let now = ModelFigures::of_calls(calls, 0, false);
        let limits = self.model.limits;
        self.spent.tokens + now.tokens >= limits.max_tokens
            || limits.max_cost.is_some_and(|limit| self.spent.cost + now.cost >= limit)
    }

    /// Asks the model, tells it one error, and lets the heuristic player decide after that.
    pub(crate) async fn answer(&self, observation: &Observation) -> ModelAnswer {
        let mut messages = self.prompt.messages();
        let mut calls: Vec<ModelCall> = Vec::new();
        let number = observation.decision().map_or(0, |decision| decision.number);
        for attempt in 1..=MAX_ATTEMPTS {
            if self.is_spent(&calls) {
                break;
            }
            let (mut call, text) = self.model.send(&messages).await;
            call.decision = number;
            call.attempt = attempt;
            let Some(text) = text else {
                let failed = call.result == CallResult::Failed;
                calls.push(call);
                if failed {
                    // The client has repeated it already.
                    break;
                }
                messages.push(Message::user(self.prompt.error_text(&ReplyProblem::TooLong.to_string())));
                continue;
            };
            match take_answer(observation, &text) {
                Ok((answer, remark)) => {
                    calls.push(call);
                    return ModelAnswer { answer, fallback: false, calls, remark };
                }
                Err(problem) => {
                    call.result = problem.result();
                    call.problem = Some(problem.to_string());
                    calls.push(call);
                    let quoted: String = text.chars().take(MAX_QUOTED_CHARS).collect();
                    messages.push(Message::assistant(quoted));
                    messages.push(Message::user(self.prompt.error_text(&problem.to_string())));
                }
            }
        }
        ModelAnswer { answer: HeuristicPlayer.answer(observation), fallback: true, calls, remark: None }
    }
}

/// Why a reply is not an answer.
#[derive(Debug, thiserror::Error)]
enum AnswerProblem {
    #[error(transparent)]
    Reply(#[from] ReplyProblem),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl AnswerProblem {
    fn result(&self) -> CallResult {
        match self {
            Self::Reply(_) => CallResult::Schema,
            Self::Refused(_) => CallResult::Illegal,
        }
    }
}

fn take_answer(observation: &Observation, text: &str) -> Result<(Answer, Option<String>), AnswerProblem> {
    let reply = read_reply(text)?;
    let engine = observation.engine();
    let answer = engine.read_compact(observation.player(), &reply.answer)?;
    if let Some(decision) = observation.decision() {
        engine.check_answer(decision, &answer)?;
    }
    Ok((answer, reply.remark))
}

/// A question of a person to the model, which does not act on it.
#[derive(Debug)]
pub struct Talk {
    pub(crate) model: GameModel,
    pub(crate) messages: Vec<Message>,
    pub(crate) question: String,
    pub(crate) decision: u32,
}

/// Reply to a talk.
#[derive(Debug)]
pub struct TalkResult {
    pub(crate) question: String,
    /// What the model said, bounded.
    pub text: String,
    pub(crate) call: ModelCall,
}

impl Talk {
    /// Asks the model.
    pub async fn run(self) -> TalkResult {
        let (mut call, text) = self.model.send(&self.messages).await;
        call.decision = self.decision;
        call.attempt = 1;
        let text = match (text, call.result) {
            (Some(text), _) => {
                call.result = CallResult::Talk;
                text.trim().chars().take(MAX_TALK_CHARS).collect()
            }
            (None, CallResult::TooLong) => "(the reply was too long)".to_owned(),
            (None, _) => format!("(no reply: {})", call.problem.clone().unwrap_or_default()),
        };
        TalkResult { question: self.question, text, call }
    }
}
