//! The gate's last layer, with a model behind it.
//!
//! One question at a time. What is sent is redacted, and the command stands in it as a JSON text, marked as data. A late, broken
//! or misshapen answer is no answer; the gate then leaves the question a question. Money is counted twice: against a cap of
//! its own, and in the run's ledger, so that `--max-cost` holds for it too.

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
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The role by which scripts and prices know these requests.
pub const ROLE: &str = "Evaluator";
/// The instructions.
const PROMPT: &str = include_str!("../prompts/evaluator.md");
/// Answers that are kept.
const MAX_CACHED_OPINIONS: usize = 512;
/// How long it is not asked again after it could not answer.
const FAILED: Duration = Duration::from_secs(60);
/// Bytes of a command that is sent; a longer one is a person's to read.
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
    kept: BTreeMap<String, (Instant, Result<Opinion, String>)>,
}

impl std::fmt::Debug for ModelEvaluator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelEvaluator")
            .field("model", &self.client.model())
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}

/// The layers of a run: with a model where the settings ask for one. The second value says why there is none although
/// they do.
#[must_use]
pub fn layers(
    ground: &ProjectContext,
    cost: &Arc<CostLedger>,
    prices: &Arc<Prices>,
    script_state: PathBuf,
    cancel: &CancellationToken,
) -> (Layers, Option<String>) {
    let layers = ground.layers();
    let terms = terms(ground);
    // A program that judges a command is not itself judged by another one, which would judge the next.
    if !terms.enabled || ground.settings.on(&table::SECURITY_EVAL) {
        return (layers, None);
    }
    match client(ground, script_state) {
        Ok(client) => {
            let evaluator = ModelEvaluator {
                client,
                prices: prices.clone(),
                cost: cost.clone(),
                terms,
                keep: Duration::from_secs(60 * ground.settings.count(&table::GATE_EVALUATOR_CACHE) as u64),
                redactor: ground.redactor.clone(),
                log: ground.layout.security().join("agent-evaluations.jsonl"),
                cancel: cancel.clone(),
                state: Mutex::default(),
            };
            (layers.asking(Arc::new(evaluator)), None)
        }
        Err(error) => (layers, Some(format!("no model judges commands (gate.evaluator): {error}"))),
    }
}

/// Do the settings ask for a model that judges commands, here?
#[must_use]
pub fn is_wanted(ground: &ProjectContext) -> bool {
    terms(ground).enabled && !ground.settings.on(&table::SECURITY_EVAL)
}

/// The layers with a model, for commands that no run of ours asks for. What it costs is kept beside what it says.
///
/// # Errors
/// When the ledger of costs or the prices cannot be read.
pub fn for_hooks(
    ground: &ProjectContext,
    cancel: &CancellationToken,
) -> Result<(Layers, Option<String>), crate::session::SessionError> {
    let directory = ground.layout.security();
    let durability = Durability::Turn;
    let limit = ground.settings.amount(&table::MAX_COST).map(price::nanos);
    let ledger = directory.join("evaluator-cost.jsonl");
    let cost = Arc::new(CostLedger::open(&ledger, &[], limit, durability, ground.redactor.clone())?);
    let prices = Arc::new(Prices::load(Some(&ground.layout.prices()))?);
    Ok(layers(ground, &cost, &prices, directory.join("evaluator-script.json"), cancel))
}

/// The terms: the settings, the person's `config.json` where they say nothing, and the project's where it is stricter.
fn terms(ground: &ProjectContext) -> Terms {
    let settings = &ground.settings;
    let said =
        |setting: &Setting| settings.value(setting).is_some_and(|value| value.origin != Origin::Default);
    let set = Terms {
        enabled: settings.on(&table::GATE_EVALUATOR),
        timeout_ms: u64::try_from(settings.whole(&table::GATE_EVALUATOR_TIMEOUT)).unwrap_or(0),
        cost_usd: settings.amount(&table::GATE_EVALUATOR_COST).unwrap_or(0.0),
        confidence: settings.amount(&table::GATE_EVALUATOR_CONFIDENCE).unwrap_or(1.0),
    };
    let read = |directory: PathBuf, links| files::read_text(&directory.join("config.json"), 64 * 1024, links);
    let mut terms = set;
    if let Ok(text) = read(ground.layout.user_security(), Links::Follow) {
        let own = set.after(&text, true);
        let choose = |setting, own, set| if said(setting) { set } else { own };
        terms = Terms {
            enabled: if said(&table::GATE_EVALUATOR) { set.enabled } else { own.enabled },
            timeout_ms: if said(&table::GATE_EVALUATOR_TIMEOUT) { set.timeout_ms } else { own.timeout_ms },
            cost_usd: choose(&table::GATE_EVALUATOR_COST, own.cost_usd, set.cost_usd),
            confidence: choose(&table::GATE_EVALUATOR_CONFIDENCE, own.confidence, set.confidence),
        };
    }
    match read(ground.layout.rules(), Links::Refuse) {
        Ok(text) if ground.layout.record().is_some() => terms.after(&text, false),
        _ => terms,
    }
}

fn client(ground: &ProjectContext, script_state: PathBuf) -> Result<Arc<dyn ModelClient>, ModelError> {
    let own = |settings: Settings, to: &'static Setting, from: &Setting| match ground.settings.given(from) {
        Some(value) => settings.with(to, value).unwrap_or(settings),
        None => settings,
    };
    let mut settings = Settings::clone(&ground.settings);
    if ground.settings.given(&table::GATE_EVALUATOR_PROVIDER).is_some() {
        // Another provider has other models.
        settings = settings.with(&table::MODEL, "").unwrap_or(settings);
    }
    settings = own(settings, &table::PROVIDER, &table::GATE_EVALUATOR_PROVIDER);
    settings = own(settings, &table::MODEL, &table::GATE_EVALUATOR_MODEL);
    // A second try would only be later.
    settings = settings.with(&table::RETRIES, "0").unwrap_or(settings);
    choose::client(&Choice {
        settings: &settings,
        environment: &ground.environment.clone().with("MARVIN_SECURITY_EVAL", "1"),
        layout: &ground.layout,
        workspace: ground.workspace.as_deref().map_or(ground.directory.as_path(), Workspace::root),
        script_state: Some(script_state),
    })
}

impl Evaluator for ModelEvaluator {
    fn evaluate<'a>(&'a self, question: &'a Question) -> OpinionFuture<'a> {
        Box::pin(self.answer(question))
    }

    fn threshold(&self) -> f64 {
        self.terms.confidence
    }
}

impl ModelEvaluator {
    async fn answer(&self, question: &Question) -> Result<Opinion, String> {
        // Held until the answer is there: one question at a time, so that the cap is never passed by two at once.
        let mut state = self.state.lock().await;
        let key = signature::hash(&json!([
            question.command.split_whitespace().collect::<Vec<_>>(),
            question.commands,
            question.directory,
            self.client.provider(),
            self.client.model(),
        ]));
        let now = Instant::now();
        let (keep, failed) = (self.keep, FAILED.min(self.keep));
        state.kept.retain(|_, (since, answer)| {
            now.saturating_duration_since(*since) < if answer.is_ok() { keep } else { failed }
        });
        if let Some((_, answer)) = state.kept.get(&key) {
            return answer.clone().map(|opinion| Opinion { cached: true, duration_ms: 0, ..opinion });
        }
        if question.command.len() > MAX_COMMAND_BYTES {
            return Err(format!("the command is longer than {MAX_COMMAND_BYTES} bytes"));
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

    /// May another question be paid for?
    fn may_spend(&self, spent: u64) -> Result<(), String> {
        let (provider, model) = (self.client.provider(), self.client.model());
        if provider != "claude" && !self.prices.knows(provider, model) {
            return Err(format!(
                "no price is known for `{model}` of `{provider}`, so its cost cannot be capped"
            ));
        }
        if spent >= price::nanos(self.terms.cost_usd) {
            return Err(format!("its answers may cost {} USD in one run, and have", self.terms.cost_usd));
        }
        match self.cost.is_spent() {
            Ok(false) => Ok(()),
            Ok(true) => Err("the budget of the run is spent".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Asks the model. The second value is what it cost, also when nothing came of it.
    async fn send(&self, question: &Question) -> (Result<Opinion, String>, Option<u64>) {
        let mut data = json!({ "untrusted_data": question });
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
                return (Err(error.to_string()), cost.flatten());
            }
            Err(_) => {
                cancel.cancel();
                // It was read, whatever became of the answer.
                let cost = self.record(Usage::estimate(&request, 0), &Reply::default());
                return (Err(format!("no answer within {} ms", timeout.as_millis())), cost);
            }
        };
        let cost = self.record(reply.usage, &reply);
        let answer = if reply.calls.is_empty() {
            read_answer(&reply.text)
        } else {
            Err("it asked for tools, and has none".to_string())
        };
        (answer, cost)
    }

    /// Writes an answer into the run's ledger of costs.
    fn record(&self, usage: Usage, reply: &Reply) -> Option<u64> {
        let (provider, model) = (self.client.provider(), self.client.model());
        let reply = Reply { usage, cost: reply.cost, ..Reply::default() };
        let cost = self.prices.reply_cost(provider, model, &reply);
        // Where the ledger cannot be written the run itself stops at its next word.
        self.cost.record(provider, model, usage, cost).ok();
        cost
    }

    fn write_down(
        &self,
        question: &Question,
        answer: &Result<Opinion, String>,
        cost: Option<u64>,
        duration_ms: u64,
    ) {
        let opinion = answer.as_ref().ok();
        let entry = json!({
            "timestamp": clock::now_stamp(),
            "command": question.command,
            "description": question.reason,
            "decision": opinion.map_or("ask", |opinion| opinion.decision.word()),
            "reasoning": opinion.map_or_else(|| answer.as_ref().err().cloned(), |o| Some(o.reasoning.clone())),
            "confidence": opinion.map(|opinion| opinion.confidence),
            "investigated": opinion.map(|opinion| opinion.investigated.clone()).unwrap_or_default(),
            "costUsd": cost.map(dollars),
            "durationMs": duration_ms,
            "numTurns": 1,
            "evaluator": "agent",
            "model": self.client.model(),
        });
        if self.log.is_symlink() {
            return;
        }
        // The decision itself is in the log of decisions; this is what the model said besides.
        if let Ok(mut ledger) =
            Ledger::open_shared_chained(&self.log, Durability::Turn, self.redactor.clone())
        {
            ledger.append(&entry).ok();
        }
    }
}
