//! Evaluator: a model as the last layer of the gate.
//!
//! It answers one question at a time. Requests are redacted, and contain the command as JSON text, marked as data. A late
//! or malformed answer does not count, and the gate asks a person. Its cost is counted against a limit of its own and in the run's
//! ledger, so that `--max-cost` holds for it too.

use crate::error::SessionError;
use crate::project_context::ProjectContext;
use marvin_base::files::{self, Links};
use marvin_base::ledger::{Durability, Ledger};
use marvin_base::redact::Redactor;
use marvin_base::settings::{Origin, Setting, Settings, table};
use marvin_base::{clock, signature};
use marvin_gate::layers::evaluator::{
    Evaluator, Opinion, OpinionFuture, Question, Terms, read_answer, schema,
};
use marvin_gate::{Layers, Workspace};
use marvin_model::choose::{self, Choice};
use marvin_model::cost::CostLedger;
use marvin_model::price::{self, Prices, dollars};
use marvin_model::{Message, ModelClient, ModelError, Reply, Request, Usage};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Role of these requests in scripts and prices.
pub const ROLE: &str = "Evaluator";
const PROMPT: &str = include_str!("../prompts/evaluator.md");
const MAX_CACHED_OPINIONS: usize = 512;
const FAILURE_CACHE: Duration = Duration::from_secs(60);
/// Bytes of a command that is sent; a longer one is left to a person.
const MAX_COMMAND_BYTES: usize = 16 * 1024;

/// A model that judges commands.
pub struct ModelEvaluator {
    client: Arc<dyn ModelClient>,
    prices: Arc<Prices>,
    cost: Arc<CostLedger>,
    terms: Terms,
    keep: Duration,
    redactor: Arc<Redactor>,
    log: PathBuf,
    cancel: CancellationToken,
    state: Mutex<EvaluatorState>,
}

#[derive(Debug, Default)]
struct EvaluatorState {
    /// Nano-dollars.
    spent: u64,
    kept: BTreeMap<String, (Instant, Result<Opinion, EvaluatorError>)>,
}

/// The user message: the question, marked as data.
#[derive(Serialize)]
struct QuestionData<'a> {
    untrusted_data: &'a Question,
}

/// A line of `agent-evaluations.jsonl`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Evaluation<'a> {
    timestamp: String,
    command: &'a str,
    description: &'a str,
    decision: &'a str,
    reasoning: String,
    confidence: Option<f64>,
    investigated: Vec<String>,
    cost_usd: Option<f64>,
    duration_ms: u64,
    num_turns: u64,
    evaluator: &'static str,
    model: &'a str,
}

/// Why the evaluator gives no opinion.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum EvaluatorError {
    #[error("the command is longer than {MAX_COMMAND_BYTES} bytes")]
    TooLong,
    #[error("no price is known for `{model}` of `{provider}`, so its cost cannot be capped")]
    Unpriced { provider: String, model: String },
    #[error("its answers may cost {0} USD in one run, and have")]
    Spent(String),
    #[error("the budget of the run is spent")]
    RunSpent,
    #[error("no answer within {0} ms")]
    Late(u128),
    #[error("it asked for tools, and has none")]
    AskedForTools,
    #[error("{0}")]
    Failed(String),
}

impl std::fmt::Debug for ModelEvaluator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelEvaluator")
            .field("model", &self.client.model())
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}

/// Layers of a run: with a model where the settings ask for one. The second value says why it is missing although they do.
#[must_use]
pub fn layers(
    project: &ProjectContext,
    cost: &Arc<CostLedger>,
    prices: &Arc<Prices>,
    script_state: PathBuf,
    cancel: &CancellationToken,
) -> (Layers, Option<String>) {
    let layers = project.layers();
    let terms = terms(project);
    // A program that judges a command is not itself judged by another one, which would judge the next.
    if !terms.enabled || project.settings.on(&table::SECURITY_EVAL) {
        return (layers, None);
    }
    match client(project, script_state) {
        Ok(client) => {
            let evaluator = ModelEvaluator {
                client,
                prices: prices.clone(),
                cost: cost.clone(),
                terms,
                keep: Duration::from_secs(60 * project.settings.count(&table::GATE_EVALUATOR_CACHE) as u64),
                redactor: project.redactor.clone(),
                log: project.layout.security().join("agent-evaluations.jsonl"),
                cancel: cancel.clone(),
                state: Mutex::default(),
            };
            (layers.asking(Arc::new(evaluator)), None)
        }
        Err(error) => (layers, Some(format!("no model judges commands (gate.evaluator): {error}"))),
    }
}

/// Whether the settings ask for a model that judges commands.
#[must_use]
pub fn is_wanted(project: &ProjectContext) -> bool {
    terms(project).enabled && !project.settings.on(&table::SECURITY_EVAL)
}

/// Layers with a model, for commands of other programs' agents. Its cost is recorded beside its answers.
pub fn for_hooks(
    project: &ProjectContext,
    cancel: &CancellationToken,
) -> Result<(Layers, Option<String>), SessionError> {
    let directory = project.layout.security();
    let durability = Durability::Turn;
    let limit = project.settings.amount(&table::MAX_COST).map(price::nanos);
    let ledger = directory.join("evaluator-cost.jsonl");
    let cost = Arc::new(CostLedger::open(&ledger, &[], limit, durability, project.redactor.clone())?);
    let prices = Arc::new(Prices::load(Some(&project.layout.prices()))?);
    Ok(layers(project, &cost, &prices, directory.join("evaluator-script.json"), cancel))
}

/// Terms from the settings, the person's `config.json` where those say nothing, and the project's where it is stricter.
fn terms(project: &ProjectContext) -> Terms {
    let settings = &project.settings;
    let is_set =
        |setting: &Setting| settings.value(setting).is_some_and(|value| value.origin != Origin::Default);
    let set = Terms {
        enabled: settings.on(&table::GATE_EVALUATOR),
        timeout_ms: u64::try_from(settings.whole(&table::GATE_EVALUATOR_TIMEOUT)).unwrap_or(0),
        cost_usd: settings.amount(&table::GATE_EVALUATOR_COST).unwrap_or(0.0),
        confidence: settings.amount(&table::GATE_EVALUATOR_CONFIDENCE).unwrap_or(1.0),
    };
    let read = |directory: PathBuf, links| files::read_text(&directory.join("config.json"), 64 * 1024, links);
    let mut terms = set;
    if let Ok(text) = read(project.layout.user_security(), Links::Follow) {
        let own = set.after(&text, true);
        let choose = |setting, own, set| if is_set(setting) { set } else { own };
        terms = Terms {
            enabled: if is_set(&table::GATE_EVALUATOR) { set.enabled } else { own.enabled },
            timeout_ms: if is_set(&table::GATE_EVALUATOR_TIMEOUT) { set.timeout_ms } else { own.timeout_ms },
            cost_usd: choose(&table::GATE_EVALUATOR_COST, own.cost_usd, set.cost_usd),
            confidence: choose(&table::GATE_EVALUATOR_CONFIDENCE, own.confidence, set.confidence),
        };
    }
    match read(project.layout.rules(), Links::Refuse) {
        Ok(text) if project.layout.record().is_some() => terms.after(&text, false),
        _ => terms,
    }
}

fn client(project: &ProjectContext, script_state: PathBuf) -> Result<Arc<dyn ModelClient>, ModelError> {
    let own = |settings: Settings, to: &'static Setting, from: &Setting| match project.settings.given(from) {
        Some(value) => settings.with(to, value).unwrap_or(settings),
        None => settings,
    };
    let mut settings = Settings::clone(&project.settings);
    if project.settings.given(&table::GATE_EVALUATOR_PROVIDER).is_some() {
        // Another provider has other models.
        settings = settings.with(&table::MODEL, "").unwrap_or(settings);
    }
    settings = own(settings, &table::PROVIDER, &table::GATE_EVALUATOR_PROVIDER);
    settings = own(settings, &table::MODEL, &table::GATE_EVALUATOR_MODEL);
    // A second try would only be later.
    settings = settings.with(&table::RETRIES, "0").unwrap_or(settings);
    choose::client(&Choice {
        settings: &settings,
        environment: &project.environment.clone().with("MARVIN_SECURITY_EVAL", "1"),
        layout: &project.layout,
        workspace: project.workspace.as_deref().map_or(project.directory.as_path(), Workspace::root),
        script_state: Some(script_state),
    })
}

impl Evaluator for ModelEvaluator {
    fn evaluate<'a>(&'a self, question: &'a Question) -> OpinionFuture<'a> {
        Box::pin(async move { self.answer(question).await.map_err(|error| error.to_string()) })
    }

    fn threshold(&self) -> f64 {
        self.terms.confidence
    }
}

impl ModelEvaluator {
    async fn answer(&self, question: &Question) -> Result<Opinion, EvaluatorError> {
        // Held until the answer is there: one question at a time, so that the cap is never passed by two at once.
        let mut state = self.state.lock().await;
        let key = signature::hash(&(
            question.command.split_whitespace().collect::<Vec<_>>(),
            &question.commands,
            &question.directory,
            self.client.provider(),
            self.client.model(),
        ));
        let now = Instant::now();
        let (keep, failed) = (self.keep, FAILURE_CACHE.min(self.keep));
        state.kept.retain(|_, (since, answer)| {
            now.saturating_duration_since(*since) < if answer.is_ok() { keep } else { failed }
        });
        if let Some((_, answer)) = state.kept.get(&key) {
            return answer.clone().map(|opinion| Opinion { cached: true, duration_ms: 0, ..opinion });
        }
        if question.command.len() > MAX_COMMAND_BYTES {
            return Err(EvaluatorError::TooLong);
        }
        self.may_spend(state.spent)?;
        let started = Instant::now();
        let (answer, cost) = self.send(question).await;
        state.spent = state.spent.saturating_add(cost.unwrap_or(0));
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let answer = answer.map(|opinion| Opinion {
            model: self.client.model().to_string(),
            cost_usd: cost.map(dollars),
            duration_ms,
            ..opinion
        });
        self.write_down(question, &answer, cost, duration_ms);
        if state.kept.len() >= MAX_CACHED_OPINIONS
            && let Some(oldest) =
                state.kept.iter().min_by_key(|(_, (since, _))| *since).map(|(key, _)| key.clone())
        {
            state.kept.remove(&oldest);
        }
        state.kept.insert(key, (started, answer.clone()));
        answer
    }

    /// Refuses a question that cannot be paid for.
    fn may_spend(&self, spent: u64) -> Result<(), EvaluatorError> {
        let (provider, model) = (self.client.provider(), self.client.model());
        if provider != "claude" && !self.prices.knows(provider, model) {
            let (provider, model) = (provider.to_string(), model.to_string());
            return Err(EvaluatorError::Unpriced { provider, model });
        }
        if spent >= price::nanos(self.terms.cost_usd) {
            return Err(EvaluatorError::Spent(self.terms.cost_usd.to_string()));
        }
        match self.cost.is_spent() {
            Ok(false) => Ok(()),
            Ok(true) => Err(EvaluatorError::RunSpent),
            Err(error) => Err(EvaluatorError::Failed(error.to_string())),
        }
    }

    /// Asks the model. The second value is the cost, also of a failure.
    async fn send(&self, question: &Question) -> (Result<Opinion, EvaluatorError>, Option<u64>) {
        let mut data = serde_json::to_value(QuestionData { untrusted_data: question }).unwrap_or_default();
        self.redactor.value(&mut data);
        let request = Request {
            messages: vec![Message::system(PROMPT), Message::user(data.to_string())],
            response_schema: Some(schema()),
            role: ROLE.to_string(),
            ..Request::default()
        };
        let timeout = Duration::from_millis(self.terms.timeout_ms);
        let cancel = self.cancel.child_token();
        let mut sink = |_: marvin_model::Event<'_>| {};
        let sent = tokio::time::timeout(timeout, self.client.send(&request, &mut sink, &cancel)).await;
        let reply = match sent {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => {
                let cost = error.spent().map(|usage| self.record(usage, &Reply::default()));
                return (Err(EvaluatorError::Failed(error.to_string())), cost.flatten());
            }
            Err(_) => {
                cancel.cancel();
                // The request was read, so it costs something.
                let cost = self.record(Usage::estimate(&request, 0), &Reply::default());
                return (Err(EvaluatorError::Late(timeout.as_millis())), cost);
            }
        };
        let cost = self.record(reply.usage, &reply);
        let answer = if reply.calls.is_empty() {
            read_answer(&reply.text).map_err(|error| EvaluatorError::Failed(error.to_string()))
        } else {
            Err(EvaluatorError::AskedForTools)
        };
        (answer, cost)
    }

    /// Writes an answer into the run's ledger of costs.
    fn record(&self, usage: Usage, reply: &Reply) -> Option<u64> {
        let (provider, model) = (self.client.provider(), self.client.model());
        let reply = Reply { usage, cost: reply.cost, ..Reply::default() };
        let cost = self.prices.reply_cost(provider, model, &reply);
        // Where the ledger cannot be written, the run itself stops at its next request.
        self.cost.record(provider, model, usage, cost).ok();
        cost
    }

    fn write_down(
        &self,
        question: &Question,
        answer: &Result<Opinion, EvaluatorError>,
        cost: Option<u64>,
        duration_ms: u64,
    ) {
        let opinion = answer.as_ref().ok();
        let entry = Evaluation {
            timestamp: clock::now_stamp(),
            command: &question.command,
            description: &question.reason,
            decision: opinion.map_or("ask", |opinion| opinion.decision.word()),
            reasoning: match answer {
                Ok(opinion) => opinion.reasoning.clone(),
                Err(error) => error.to_string(),
            },
            confidence: opinion.map(|opinion| opinion.confidence),
            investigated: opinion.map(|opinion| opinion.investigated.clone()).unwrap_or_default(),
            cost_usd: cost.map(dollars),
            duration_ms,
            num_turns: 1,
            evaluator: "agent",
            model: self.client.model(),
        };
        if self.log.is_symlink() {
            return;
        }
        // The decision itself is in the log of decisions; this is the model's answer to it.
        if let Ok(mut ledger) =
            Ledger::open_shared_chained(&self.log, Durability::Turn, self.redactor.clone())
        {
            ledger.append(&entry).ok();
        }
    }
}
