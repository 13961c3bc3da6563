//! One turn: compose, send, parse, judge and act, feed back, until there is nothing to feed back or a limit is reached; then
//! verify.

mod calls;
mod compact;
mod ending;
mod noted;
mod reply;

pub(crate) use calls::{call_completed, call_started};

use crate::account::Account;
use crate::compaction::Window;
use crate::compose::Composer;
use crate::debug::debug_fields;
use crate::outcome::{Outcome, Status};
use crate::progress::Watch;
use crate::protocol::{ParsedReply, ReplyProtocol};
use crate::stages::{Sieve, Stages};
use crate::tool_host::ToolHost;
use crate::trace::{Notice, Trace};
use crate::turn_journal::TurnJournal;
use crate::verification::{VerificationResult, Verifier};
use marvin_base::ledger::LedgerError;
use marvin_base::open_dir::OpenDir;
use marvin_base::redact::Redactor;
use marvin_base::signature;
use marvin_base::trace_event::{Item, ModelCallItem, TraceEvent};
use marvin_model::cost::CostLedger;
use marvin_model::price::{Prices, dollars};
use marvin_model::{Event, Failure, Message, ModelClient, ModelError, Reply, Request, ToolCall, Usage};
use reply::distinct_ids;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// How often an answer that does not fit the wanted schema is sent back.
const SCHEMA_TRIES: usize = 2;

#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub rounds: usize,
    pub no_progress: usize,
    pub window: Window,
}

/// Everything that a turn needs.
#[derive(Clone)]
pub struct Turn {
    pub client: Arc<dyn ModelClient>,
    pub protocol: Arc<dyn ReplyProtocol>,
    pub tools: Arc<dyn ToolHost>,
    pub trace: Arc<Trace>,
    pub cost: Arc<CostLedger>,
    pub prices: Arc<Prices>,
    pub redactor: Arc<Redactor>,
    pub bounds: Bounds,
    /// Ends the turn at once.
    pub cancel: CancellationToken,
    /// Set when the deadline caused `cancel`.
    pub late: CancellationToken,
    /// The workspace, for the no-progress rule.
    pub workspace: Option<PathBuf>,
    /// Where conversations are stored before compaction.
    pub logs: OpenDir,
    pub role: String,
    pub step: Option<String>,
    /// The schema that the answer must have.
    pub response_schema: Option<Value>,
    /// Composes the system message again at compaction; none: it stays as it is.
    pub composer: Option<Arc<Composer>>,
    /// Verifier of its answer; without one the answer is taken as it is.
    pub proof: Option<Arc<Verifier>>,
    /// Journal of an agent that outlives the turn.
    pub journal: Option<Arc<dyn TurnJournal>>,
    /// The stages of a person's turn; none: the model only acts and answers.
    pub stages: Option<Arc<Stages>>,
}

/// Start of a turn.
#[derive(Debug, Default)]
pub struct Start {
    /// The conversation, its system message first.
    pub messages: Vec<Message>,
    /// Number of its first messages: rules, earlier messages, the task.
    pub opening: usize,
    /// Account of earlier work.
    pub account: Account,
    /// A reply whose calls were not all made.
    pub pending: Option<(Reply, Vec<ToolCall>)>,
    /// A claim that is still to be judged.
    pub claim: Option<Reply>,
    /// Tool rounds that it had.
    pub acted: usize,
    /// Claims that did not hold.
    pub sent_back: usize,
}

debug_fields!(Turn, role, bounds);

/// Why the loop ends: the record failed, or the turn is over.
enum Halt {
    Record(LedgerError),
    Over(Box<Outcome>),
}

struct ReceivedReply {
    item: String,
    reply: Reply,
    /// Bytes of its text that were shown while it arrived; none where no stage held anything back.
    shown_bytes: Option<usize>,
}

impl From<LedgerError> for Halt {
    fn from(error: LedgerError) -> Self {
        Halt::Record(error)
    }
}

/// State of a running turn.
#[derive(Default)]
struct Course {
    messages: Vec<Message>,
    /// Number of its first messages: rules, earlier messages, the task.
    opening: usize,
    account: Account,
    watch: Watch,
    rounds: usize,
    acted: usize,
    exhausted: bool,
    calls: usize,
    empty: usize,
    schema_failures: usize,
    backups: usize,
    proved: Vec<VerificationResult>,
    /// Claims that did not hold before this process.
    sent_back: usize,
    /// Whether a call was made that changes something.
    changed: bool,
    /// Replies that were notes and nothing else.
    noted: usize,
    /// Tools that the last request offered, where not all of them are offered, and those that it was the first to offer.
    offered: usize,
    new_tools: Vec<String>,
    /// Skills that were loaded.
    skills: BTreeSet<String>,
}

impl Turn {
    /// Runs the turn over a conversation that ends with the prompt.
    ///
    /// # Errors
    /// Only when the record cannot be written: then nothing further is done.
    pub async fn run(&self, messages: Vec<Message>) -> Result<Outcome, LedgerError> {
        self.continue_with(messages, Account::default()).await
    }

    /// As [`Turn::run`], for work of which something is done already.
    ///
    /// # Errors
    /// Only when the record cannot be written: then nothing further is done.
    pub async fn continue_with(
        &self,
        messages: Vec<Message>,
        account: Account,
    ) -> Result<Outcome, LedgerError> {
        let (opening, acted) = (messages.len(), account.rounds());
        self.resume(Start { messages, opening, account, acted, ..Start::default() }).await
    }

    /// Continues where an earlier process ended: calls without a result first, then a claim that was not judged.
    ///
    /// # Errors
    /// Only when the record cannot be written: then nothing further is done.
    pub async fn resume(&self, start: Start) -> Result<Outcome, LedgerError> {
        let mut course = self.course(start.messages, start.opening, start.account);
        (course.acted, course.sent_back) = (start.acted, start.sent_back);
        let mut next = match (start.pending, start.claim) {
            (Some((reply, calls)), _) => self.act(&mut course, &reply, calls, true).await,
            (None, Some(reply)) => {
                let understood = self.protocol.understand(&reply);
                self.finish(&mut course, &reply, understood).await
            }
            (None, None) => Ok(()),
        };
        loop {
            match next {
                Ok(()) => next = self.round(&mut course).await,
                Err(Halt::Over(outcome)) => {
                    self.record_skills(&course, &outcome)?;
                    return Ok(*outcome);
                }
                Err(Halt::Record(error)) => return Err(error),
            }
        }
    }

    fn course(&self, messages: Vec<Message>, opening: usize, account: Account) -> Course {
        let watch = Watch::new(self.bounds.no_progress);
        Course { opening, messages, account, watch, ..Course::default() }
    }

    /// One request and what follows from it. Returns when there is something to feed back.
    async fn round(&self, course: &mut Course) -> Result<(), Halt> {
        self.check_bounds(course)?;
        if let Some(word) = self.journal.as_ref().map(|journal| journal.inbox()).transpose()?.flatten() {
            course.messages.push(word);
        }
        self.compact(course)?;
        course.rounds += 1;
        // Before the request is made: a thousand agents may wait here.
        let place = match &self.journal {
            Some(journal) => journal.place().await,
            None => None,
        };
        self.check_bounds(course)?;
        // Once the rounds are used up only a last reply follows; after an empty reply only an answer is allowed.
        let last = course.exhausted;
        let mut request = Request {
            messages: course.messages.clone(),
            tools: self.tools.offer(&course.messages),
            answer_only: last || course.empty > 0,
            response_schema: self.response_schema.clone(),
            role: self.role.clone(),
            step: self.step.clone(),
        };
        if request.tools.len() < self.tools.specs().len() {
            // Tools are only ever added, behind the others.
            let new = request.tools.iter().skip(course.offered);
            course.new_tools = new.map(|spec| spec.name.clone()).collect();
            course.offered = request.tools.len();
        }
        if let Some(stages) = &self.stages {
            stages.prepare(&mut request);
        }
        let ReceivedReply { item, mut reply, shown_bytes } =
            self.send(course, self.protocol.prepare(request)).await?;
        drop(place);
        let mut understood = self.protocol.understand(&reply);
        let notes = self.stages.as_ref().and_then(|stages| stages.sort(&mut reply, &mut understood));
        distinct_ids(&mut understood.calls, &course.messages);
        self.show(course, &item, &understood, shown_bytes)?;
        if last {
            let error = format!("the work did not end within {} tool round(s)", self.bounds.rounds);
            let mut outcome = self.outcome(course, Status::Failed, "max_rounds", Some(error));
            outcome.text = understood.message;
            return Err(Halt::Over(Box::new(outcome)));
        }
        if let Some((failure, sentence)) = &understood.invalid {
            return self.send_back(course, &reply, sentence, failure);
        }
        if !understood.calls.is_empty() && understood.status.is_none() {
            if course.acted >= self.bounds.rounds {
                return self.exhaust(course, &reply, understood.calls);
            }
            self.act(course, &reply, understood.calls, false).await?;
            return self.after_notes(course, notes.as_ref());
        }
        if let Some(notes) = notes.filter(|notes| notes.thought || notes.speech.trim().is_empty()) {
            return self.noted(course, &reply, &notes);
        }
        if understood.message.trim().is_empty() && understood.status.is_none() {
            course.empty += 1;
            if course.empty > 1 {
                let error = "the model answered with nothing, twice".to_string();
                return self.over(course, Status::Failed, "empty_reply", Some(error));
            }
            return Ok(());
        }
        self.finish(course, &reply, understood).await
    }

    fn check_bounds(&self, course: &Course) -> Result<(), Halt> {
        if self.late.is_cancelled() {
            return self.over(course, Status::Failed, "deadline", Some("the deadline passed".into()));
        }
        if self.cancel.is_cancelled() {
            return self.over(course, Status::Interrupted, "interrupted", Some("interrupted".into()));
        }
        if let Some(error) = self.journal.as_ref().and_then(|journal| journal.spent()) {
            return self.over(course, Status::Budget, "max_cost", Some(error));
        }
        if self.cost.is_spent()? {
            let limit = dollars(self.cost.limit().unwrap_or(0));
            let error = format!("the budget of {limit} USD is spent; raise it with --max-cost");
            return self.over(course, Status::Budget, "max_cost", Some(error));
        }
        Ok(())
    }

    async fn send(&self, course: &mut Course, request: Request) -> Result<ReceivedReply, Halt> {
        let item = self.trace.next_item();
        self.trace.event(TraceEvent::ItemStarted {
            item: Item::ModelCall(Box::new(ModelCallItem {
                id: item.clone(),
                round: Some(course.rounds),
                provider: Some(self.client.provider().to_string()),
                model: Some(self.client.model().to_string()),
                protocol: Some(self.protocol.name().to_string()),
                role: Some(self.role.clone()),
                step: request.step.clone(),
                messages: Some(request.messages.len()),
                tools: Some(request.tools.len()),
                new_tools: std::mem::take(&mut course.new_tools),
                request_signature: Some(signature::hash(&request)),
                ..ModelCallItem::default()
            })),
        })?;
        let streams = self.protocol.streams() && self.response_schema.is_none();
        let message = message_item(&item);
        // An interrupted attempt costs something too; when that was the last of the budget, no other is made.
        let stop = self.cancel.child_token();
        let mut recorded = Ok(());
        let mut sieve = self.stages.as_ref().map(|_| Sieve::default());
        let mut sink = |event: Event<'_>| match event {
            Event::Text(text) if streams => {
                let text = sieve.as_mut().map_or(text, |sieve| sieve.take(text));
                if !text.is_empty() {
                    self.trace.tell(Notice::Piece { item: &message, text });
                }
            }
            Event::Restart { reason, spent, .. } => {
                sieve = sieve.as_ref().map(|_| Sieve::default());
                self.trace.tell(Notice::Restart { item: &message, reason });
                if recorded.is_ok() {
                    recorded = self.record_broken(spent);
                }
                if !matches!(self.cost.is_spent(), Ok(false)) {
                    stop.cancel();
                }
            }
            Event::Fallback { reason, to, spent } => {
                sieve = sieve.as_ref().map(|_| Sieve::default());
                let text = format!("{reason}; {to} answers for the rest of this turn");
                self.trace.tell(Notice::Restart { item: &message, reason: &text });
                if recorded.is_ok() {
                    recorded = self.record_broken(spent).and_then(|()| self.trace.notice(&text));
                }
            }
            Event::Reading { done, total } => self.trace.tell(Notice::Reading { done, total }),
            Event::Idle => self.trace.tell(Notice::Idle),
            Event::Text(_) | Event::Reasoning(_) => {}
        };
        let result = self.client.send(&request, &mut sink, &stop).await;
        recorded?;
        match result {
            Ok(reply) => {
                self.record_reply(course, &item, &reply)?;
                let shown_bytes = sieve.filter(|_| streams).map(|sieve| sieve.shown_bytes());
                Ok(ReceivedReply { item, reply, shown_bytes })
            }
            Err(error) => {
                self.record_broken(error.spent())?;
                self.trace.event(TraceEvent::ItemCompleted {
                    item: Item::ModelCall(Box::new(ModelCallItem {
                        id: item,
                        error: Some(error.to_string()),
                        failure_signature: Some(error.signature.clone()),
                        usage: error.spent().and_then(|usage| serde_json::to_value(usage).ok()),
                        ..ModelCallItem::default()
                    })),
                })?;
                if error.failure == Failure::Cancelled && !self.cancel.is_cancelled() {
                    self.check_bounds(course)?;
                }
                Err(self.model_failed(course, &error))
            }
        }
    }

    /// Records a reply and its cost.
    fn record_reply(&self, course: &mut Course, item: &str, reply: &Reply) -> Result<(), Halt> {
        let model = if reply.model.is_empty() { self.client.model() } else { &reply.model };
        // A vendor may answer under a name that the table does not have; then the name that was asked for counts.
        let provider = if reply.provider.is_empty() { self.client.provider() } else { &reply.provider };
        let priced = |model: &str| self.prices.reply_cost(provider, model, reply);
        let cost = priced(model).or_else(|| priced(self.client.model()));
        self.cost.record(provider, model, reply.usage, cost)?;
        if let (Some(journal), Some(nanos)) = (&self.journal, cost) {
            journal.spend(nanos)?;
        }
        self.trace.event(TraceEvent::ItemCompleted {
            item: Item::ModelCall(Box::new(ModelCallItem {
                id: item.to_string(),
                provider: (!reply.provider.is_empty()).then(|| provider.to_string()),
                model: Some(model.to_string()),
                usage: serde_json::to_value(reply.usage).ok(),
                cost_usd: cost.map(dollars),
                text: Some(self.trace.within_text(&reply.text, 4_000)),
                calls: Some(reply.calls.iter().map(|call| call.name.clone()).collect()),
                ..ModelCallItem::default()
            })),
        })?;
        if cost.is_none() && self.cost.limit().is_some() {
            let error = format!("no price is known for `{model}`, so the budget cannot be kept");
            self.over(course, Status::Budget, "unpriced", Some(error))?;
        }
        Ok(())
    }

    /// Records the cost of an incomplete reply.
    fn record_broken(&self, spent: Option<Usage>) -> Result<(), LedgerError> {
        let Some(usage) = spent else { return Ok(()) };
        let (provider, model) = (self.client.provider(), self.client.model());
        let cost = self.prices.reply_cost(provider, model, &Reply { usage, ..Reply::default() });
        self.cost.record(provider, model, usage, cost)
    }

    fn model_failed(&self, course: &Course, error: &ModelError) -> Halt {
        let (status, reason) = match error.failure {
            _ if self.late.is_cancelled() => (Status::Failed, "deadline"),
            Failure::Cancelled => (Status::Interrupted, "interrupted"),
            _ if error.signature == "mock-empty" => (Status::Partial, "mock_empty"),
            _ if error.signature == marvin_model::mock::NOT_UNDERSTOOD => (Status::Partial, "not_understood"),
            _ => (Status::Failed, "model_error"),
        };
        let text = if reason == "deadline" { "the deadline passed".into() } else { error.to_string() };
        let mut outcome = self.outcome(course, status, reason, Some(text));
        outcome.failure_signature = Some(error.signature.clone());
        Halt::Over(Box::new(outcome))
    }

    /// Shows the message of a reply whose text was not shown while it arrived, and records it.
    fn show(
        &self,
        course: &mut Course,
        item: &str,
        understood: &ParsedReply,
        shown_bytes: Option<usize>,
    ) -> Result<(), Halt> {
        if understood.message.is_empty() {
            return Ok(());
        }
        let message = message_item(item);
        let rest = match shown_bytes {
            Some(shown_bytes) => understood.message.get(shown_bytes..).unwrap_or_default(),
            None if self.protocol.streams() || self.response_schema.is_some() => "",
            None => &understood.message,
        };
        if !rest.is_empty() {
            self.trace.tell(Notice::Piece { item: &message, text: rest });
        }
        let item = Item::Message { id: message, text: understood.message.clone() };
        self.record_event(course, TraceEvent::ItemCompleted { item })
    }

    /// Adds messages to the conversation.
    fn feed(&self, course: &mut Course, messages: Vec<Message>) -> Result<(), LedgerError> {
        if let Some(journal) = &self.journal {
            journal.fed(&messages)?;
        }
        course.messages.extend(messages);
        Ok(())
    }

    /// Writes an event and adds it to the account.
    fn record_event(&self, course: &mut Course, event: TraceEvent) -> Result<(), Halt> {
        let event = self.trace.record(event)?;
        course.account.note(&event, &|tool| self.tools.changes(tool));
        Ok(())
    }
}

/// The item of the message that a model call gives: its pieces and the whole carry the same id.
fn message_item(model_call: &str) -> String {
    format!("{model_call}_message")
}
