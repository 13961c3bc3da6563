//! One turn: compose, send, understand, judge and act, feed back, until there is nothing to feed back or a bound is met.

use crate::compaction::{self, Window};
use crate::host::{Called, ToolHost};
use crate::outcome::{Outcome, Status};
use crate::progress::{Progress, Watch, noted};
use crate::protocol::{Feedback, ReplyProtocol, Understood, WorkerStatus, unfenced};
use crate::trace::{Notice, Trace};
use marvin_base::held::Held;
use marvin_base::ledger::{Durability, Ledger, LedgerError};
use marvin_base::redact::Redactor;
use marvin_base::signature;
use marvin_model::cost::CostLedger;
use marvin_model::price::{Prices, dollars};
use marvin_model::{Event, Failure, Message, ModelClient, ModelError, Reply, Request, ToolCall, Usage};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// How often an answer that does not fit the wanted schema is sent back.
const SCHEMA_TRIES: usize = 2;

/// Where a turn must end at the latest.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Tool rounds.
    pub rounds: usize,
    /// Repetitions without progress.
    pub no_progress: usize,
    /// The model's window.
    pub window: Window,
}

/// Everything a turn needs. It owns nothing that outlives it.
#[derive(Clone)]
pub struct Turn {
    /// The model.
    pub client: Arc<dyn ModelClient>,
    /// How to talk to it.
    pub protocol: Arc<dyn ReplyProtocol>,
    /// The tools.
    pub tools: Arc<dyn ToolHost>,
    /// The record.
    pub trace: Arc<Trace>,
    /// What it costs.
    pub cost: Arc<CostLedger>,
    /// The prices.
    pub prices: Arc<Prices>,
    /// What must not be written.
    pub redactor: Arc<Redactor>,
    /// The bounds.
    pub bounds: Bounds,
    /// Ends the turn at once.
    pub cancel: CancellationToken,
    /// Set when `cancel` was the deadline's doing.
    pub late: CancellationToken,
    /// The workspace, for the no-progress rule.
    pub workspace: Option<PathBuf>,
    /// Where conversations are kept before they are shortened.
    pub logs: Held,
    /// The role that asks.
    pub role: String,
    /// The step that asks.
    pub step: Option<String>,
    /// The schema that the answer must have.
    pub response_schema: Option<Value>,
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("role", &self.role).field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

/// Why the loop cannot go on: the record failed, or the turn is over.
enum Halt {
    Record(LedgerError),
    Over(Box<Outcome>),
}

impl From<LedgerError> for Halt {
    fn from(error: LedgerError) -> Self {
        Halt::Record(error)
    }
}

/// What changes while a turn runs.
struct Course {
    messages: Vec<Message>,
    watch: Watch,
    rounds: usize,
    acted: usize,
    exhausted: bool,
    calls: usize,
    empty: usize,
    schema_failures: usize,
    backups: usize,
}

impl Turn {
    /// Runs the turn over a conversation that ends in what the person said.
    ///
    /// # Errors
    /// Only when the record cannot be written: then nothing further is done.
    pub async fn run(&self, messages: Vec<Message>) -> Result<Outcome, LedgerError> {
        let mut course = Course {
            messages,
            watch: Watch::new(self.bounds.no_progress),
            rounds: 0,
            acted: 0,
            exhausted: false,
            calls: 0,
            empty: 0,
            schema_failures: 0,
            backups: 0,
        };
        loop {
            match self.round(&mut course).await {
                Ok(()) => {}
                Err(Halt::Over(outcome)) => return Ok(*outcome),
                Err(Halt::Record(error)) => return Err(error),
            }
        }
    }

    /// One request and what follows from it. Returns when there is something to feed back.
    async fn round(&self, course: &mut Course) -> Result<(), Halt> {
        self.check_bounds(course)?;
        self.shorten(course)?;
        course.rounds += 1;
        // Once the rounds are used up there is only a last word; after an empty reply there may only be an answer.
        let last = course.exhausted;
        let request = Request {
            messages: course.messages.clone(),
            tools: self.tools.specs(),
            answer_only: last || course.empty > 0,
            response_schema: self.response_schema.clone(),
            role: self.role.clone(),
            step: self.step.clone(),
        };
        let (item, reply) = self.send(course, self.protocol.prepare(request)).await?;
        let mut understood = self.protocol.understand(&reply);
        distinct_ids(&mut understood.calls, &course.messages);
        self.show(&item, &understood)?;
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
                self.exhaust(course, &reply, understood.calls);
                return Ok(());
            }
            return self.act(course, &reply, understood.calls).await;
        }
        if understood.message.trim().is_empty() && understood.status.is_none() {
            course.empty += 1;
            if course.empty > 1 {
                let error = "the model answered with nothing, twice".to_string();
                return self.over(course, Status::Failed, "empty_reply", Some(error));
            }
            return Ok(());
        }
        self.finish(course, &reply, understood)
    }

    fn check_bounds(&self, course: &Course) -> Result<(), Halt> {
        if self.late.is_cancelled() {
            return self.over(course, Status::Failed, "deadline", Some("the deadline passed".into()));
        }
        if self.cancel.is_cancelled() {
            return self.over(course, Status::Interrupted, "interrupted", Some("interrupted".into()));
        }
        if self.cost.is_spent()? {
            let limit = dollars(self.cost.limit().unwrap_or(0));
            let error = format!("the budget of {limit} USD is spent; raise it with --max-cost");
            return self.over(course, Status::Budget, "max_cost", Some(error));
        }
        Ok(())
    }

    /// Rebuilds the conversation when it grows too long, after writing it down whole.
    fn shorten(&self, course: &mut Course) -> Result<(), Halt> {
        let before = compaction::total(&course.messages);
        if before < self.bounds.window.compact {
            return Ok(());
        }
        course.backups += 1;
        let name = format!("context-backup-{}.jsonl", course.backups);
        let path = self.logs.path().join(&name);
        let place = self.logs.place().join(&name);
        let mut backup = Ledger::open(&place, Durability::Turn, self.redactor.clone())?;
        for message in &course.messages {
            backup.append(message)?;
        }
        backup.sync()?;
        course.messages = compaction::compact(&course.messages, self.bounds.window);
        let after = compaction::total(&course.messages);
        self.trace.event(
            "context.compacted",
            json!({"tokens_before": before, "tokens_after": after, "backup": path.display().to_string()}),
        )?;
        Ok(())
    }

    async fn send(&self, course: &Course, request: Request) -> Result<(String, Reply), Halt> {
        let item = self.trace.next_item();
        self.trace.event(
            "item.started",
            json!({"item": {
                "id": item, "type": "model_call", "round": course.rounds, "provider": self.client.provider(),
                "model": self.client.model(), "protocol": self.protocol.name(), "role": self.role, "step": self.step,
                "messages": request.messages.len(), "tools": request.tools.len(),
                "request_signature": signature::of(&request),
            }}),
        )?;
        let streams = self.protocol.streams() && self.response_schema.is_none();
        let message = message_item(&item);
        // An attempt that broke off cost something too; when that was the last of the budget, no other is made.
        let stop = self.cancel.child_token();
        let mut recorded = Ok(());
        let mut sink = |event: Event<'_>| match event {
            Event::Text(text) if streams => self.trace.tell(Notice::Piece { item: &message, text }),
            Event::Restart { reason, spent, .. } => {
                self.trace.tell(Notice::Restart { item: &message, reason });
                if recorded.is_ok() {
                    recorded = self.record_broken(spent);
                }
                if !matches!(self.cost.is_spent(), Ok(false)) {
                    stop.cancel();
                }
            }
            Event::Idle => self.trace.tell(Notice::Idle),
            Event::Text(_) | Event::Reasoning(_) => {}
        };
        let result = self.client.send(&request, &mut sink, &stop).await;
        recorded?;
        match result {
            Ok(reply) => {
                let model = if reply.model.is_empty() { self.client.model() } else { &reply.model };
                // A vendor may answer under a name that the table does not have; then the name that was asked for counts.
                let priced = |model: &str| self.prices.of(self.client.provider(), model, &reply);
                let cost = priced(model).or_else(|| priced(self.client.model()));
                self.cost.record(self.client.provider(), model, reply.usage, cost)?;
                self.trace.event(
                    "item.completed",
                    json!({"item": {
                        "id": item, "type": "model_call", "model": model, "usage": reply.usage,
                        "cost_usd": cost.map(dollars), "text": self.trace.within(&json!(reply.text), 4_000),
                        "calls": reply.calls.iter().map(|call| &call.name).collect::<Vec<_>>(),
                    }}),
                )?;
                if cost.is_none() && self.cost.limit().is_some() {
                    let error = format!("no price is known for `{model}`, so the budget cannot be kept");
                    self.over(course, Status::Budget, "unpriced", Some(error))?;
                }
                Ok((item, reply))
            }
            Err(error) => {
                self.record_broken(error.spent())?;
                self.trace.event(
                    "item.completed",
                    json!({"item": {
                        "id": item, "type": "model_call", "error": error.to_string(),
                        "failure_signature": error.signature, "usage": error.spent(),
                    }}),
                )?;
                if error.failure == Failure::Cancelled && !self.cancel.is_cancelled() {
                    self.check_bounds(course)?;
                }
                Err(self.model_failed(course, &error))
            }
        }
    }

    /// Writes down what a reply cost that never became whole.
    fn record_broken(&self, spent: Option<Usage>) -> Result<(), LedgerError> {
        let Some(usage) = spent else { return Ok(()) };
        let (provider, model) = (self.client.provider(), self.client.model());
        let cost = self.prices.of(provider, model, &Reply { usage, ..Reply::default() });
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
    fn show(&self, item: &str, understood: &Understood) -> Result<(), Halt> {
        if understood.message.is_empty() {
            return Ok(());
        }
        let message = message_item(item);
        if !self.protocol.streams() && self.response_schema.is_none() {
            self.trace.tell(Notice::Piece { item: &message, text: &understood.message });
        }
        self.trace.event(
            "item.completed",
            json!({"item": {"id": message, "type": "message", "text": understood.message}}),
        )?;
        Ok(())
    }

    /// Runs calls: those that only look, together; others one after the other, in the order they were asked for.
    async fn act(&self, course: &mut Course, reply: &Reply, calls: Vec<ToolCall>) -> Result<(), Halt> {
        course.empty = 0;
        course.acted += 1;
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        self.trace.event("tools.started", json!({"round": course.rounds, "tools": names}))?;
        let looks_only = |call: &ToolCall| self.tools.touches(&call.name).changes_nothing();
        let parallel = calls.iter().all(looks_only);
        let mut results: Vec<Called> = Vec::with_capacity(calls.len());
        let mut items = Vec::with_capacity(calls.len());
        if parallel {
            for call in &calls {
                items.push(call_started(&self.trace, call)?);
            }
            results = futures_util::future::join_all(calls.iter().map(|call| self.tools.call(call))).await;
        } else {
            for call in &calls {
                if self.cancel.is_cancelled() {
                    break;
                }
                items.push(call_started(&self.trace, call)?);
                results.push(self.tools.call(call).await);
            }
        }
        let mut feedback = Vec::with_capacity(calls.len());
        let mut stuck = None;
        let mut used = compaction::total(&course.messages) + reply.text.len() / 4;
        for ((call, called), item) in calls.into_iter().zip(results).zip(items) {
            course.calls += 1;
            // A name that a model made up is not counted: it could be anything, and the count is kept for ever.
            if self.tools.knows(&called.tool) {
                self.cost.count_call(&called.tool);
            }
            let progress = called.progress.unwrap_or_else(|| {
                let touches = self.tools.touches(&call.name);
                course.watch.note(&call, touches, (&called.text, called.ok), self.workspace.as_deref())
            });
            call_completed(&self.trace, &item, &call, &called, times(progress))?;
            if let Some(text) = &called.notice {
                self.trace.event("notice", json!({ "text": text }))?;
            }
            let mut text = compaction::fit(called.text, used, self.bounds.window);
            match progress {
                Progress::Made => {}
                Progress::Repeated(times) => text = noted(text, times),
                Progress::Stuck(times) => stuck = Some((call.name.clone(), times)),
            }
            used += text.len() / 4;
            feedback.push(Feedback { call, ok: called.ok, text });
        }
        course.messages.extend(self.protocol.feed_back(reply, &feedback));
        if let Some((tool, times)) = stuck {
            let error = format!(
                "no progress: `{tool}` was called {times} times with the same arguments and the same result while nothing changed"
            );
            return self.over(course, Status::Failed, "no_progress", Some(error));
        }
        self.trace.sync()?;
        Ok(())
    }

    /// Answers calls that come after the last round: they are not made, and one last word may follow.
    fn exhaust(&self, course: &mut Course, reply: &Reply, calls: Vec<ToolCall>) {
        course.exhausted = true;
        let text = "not run: the tool rounds of this turn are used up; say what is done and what is not";
        let refuse = |call| Feedback { call, ok: false, text: text.to_string() };
        let feedback: Vec<Feedback> = calls.into_iter().map(refuse).collect();
        course.messages.extend(self.protocol.feed_back(reply, &feedback));
    }

    /// Returns a reply to the model with a sentence on what was wrong with it.
    fn send_back(
        &self,
        course: &mut Course,
        reply: &Reply,
        sentence: &str,
        failure: &str,
    ) -> Result<(), Halt> {
        course.schema_failures += 1;
        if course.schema_failures > SCHEMA_TRIES {
            let mut outcome =
                self.outcome(course, Status::Failed, "invalid_reply", Some(sentence.to_string()));
            outcome.failure_signature = Some(failure.to_string());
            return Err(Halt::Over(Box::new(outcome)));
        }
        course.messages.push(Message::assistant(reply.text.clone()));
        course.messages.push(Message::user(sentence));
        Ok(())
    }

    fn finish(&self, course: &mut Course, reply: &Reply, understood: Understood) -> Result<(), Halt> {
        let mut text = understood.message;
        if let Some(schema) = &self.response_schema {
            match fits(schema, &reply.text) {
                Ok(answer) => text = answer,
                Err(problem) => {
                    let sentence = format!(
                        "Your answer does not fit the wanted schema: {problem}. Answer with one JSON value that does, and nothing else."
                    );
                    return self.send_back(course, reply, &sentence, "output-schema");
                }
            }
        }
        let (status, reason) = match understood.status {
            None | Some(WorkerStatus::Success) => (Status::Success, "answered"),
            Some(WorkerStatus::Failure) => (Status::Failed, "worker_failure"),
            Some(WorkerStatus::Blocked) => (Status::Blocked, "worker_blocked"),
            Some(WorkerStatus::Partial) => (Status::Partial, "worker_partial"),
        };
        let mut outcome = self.outcome(course, status, reason, None);
        outcome.text = text;
        outcome.data = understood.data;
        outcome.failure_signature = understood.failure_signature;
        Err(Halt::Over(Box::new(outcome)))
    }

    fn over(
        &self,
        course: &Course,
        status: Status,
        reason: &'static str,
        error: Option<String>,
    ) -> Result<(), Halt> {
        Err(Halt::Over(Box::new(self.outcome(course, status, reason, error))))
    }

    fn outcome(
        &self,
        course: &Course,
        status: Status,
        reason: &'static str,
        error: Option<String>,
    ) -> Outcome {
        let failure_signature = error.as_ref().map(|_| reason.replace('_', "-"));
        Outcome {
            status,
            reason,
            text: String::new(),
            error,
            failure_signature,
            data: Map::new(),
            rounds: course.rounds,
            calls: course.calls,
        }
    }
}

/// The item of the message that a model call gives: its pieces and the whole carry the same id.
fn message_item(model_call: &str) -> String {
    format!("{model_call}_message")
}

/// How often a call has been seen without progress.
fn times(progress: Progress) -> usize {
    match progress {
        Progress::Made => 0,
        Progress::Repeated(times) | Progress::Stuck(times) => times,
    }
}

/// Records that a call is about to be made; gives its item.
pub(crate) fn call_started(trace: &Trace, call: &ToolCall) -> Result<String, LedgerError> {
    let item = trace.next_item();
    trace.event(
        "item.started",
        json!({"item": {
            "id": item, "type": "tool_call", "name": call.name,
            "arguments": trace.within(&call.arguments.to_value(), 2_000),
            "call_signature": signature::of(&json!([call.name, call.arguments])),
        }}),
    )?;
    Ok(item)
}

/// Records what came of a call.
pub(crate) fn call_completed(
    trace: &Trace,
    item: &str,
    call: &ToolCall,
    called: &Called,
    repeated: usize,
) -> Result<(), LedgerError> {
    trace.event(
        "item.completed",
        json!({"item": {
            "id": item, "type": "tool_call", "name": call.name, "tool": called.tool, "ok": called.ok,
            "verdict": called.verdict, "result": trace.within(&called.record, 4_000),
            "repeated": repeated,
        }}),
    )
}

/// Gives calls ids that no earlier call of the conversation has.
fn distinct_ids(calls: &mut [ToolCall], messages: &[Message]) {
    let mut seen: std::collections::BTreeSet<String> = messages
        .iter()
        .filter_map(|message| match message {
            Message::Assistant { tool_calls, .. } => Some(tool_calls.iter().map(|call| call.id.clone())),
            _ => None,
        })
        .flatten()
        .collect();
    for call in calls {
        let wanted = if call.id.is_empty() { "call".to_string() } else { call.id.clone() };
        let mut id = wanted.clone();
        let mut n = 1;
        while !seen.insert(id.clone()) {
            n += 1;
            id = format!("{wanted}_{n}");
        }
        call.id = id;
    }
}

/// The answer as canonical JSON text if it fits the schema, else what is wrong.
fn fits(schema: &Value, text: &str) -> Result<String, String> {
    let value: Value =
        serde_json::from_str(unfenced(text)).map_err(|error| format!("it is not JSON ({error})"))?;
    let validator = jsonschema::validator_for(schema).map_err(|error| error.to_string())?;
    match validator.iter_errors(&value).next() {
        None => Ok(value.to_string()),
        Some(error) => Err(format!("{error} at `{}`", error.instance_path())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_held_against_the_schema() {
        let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        assert_eq!(fits(&schema, "```json\n{\"n\": 1}\n```").unwrap(), r#"{"n":1}"#);
        assert!(fits(&schema, "{}").unwrap_err().contains("required"));
        assert!(fits(&schema, "n is 1").unwrap_err().contains("not JSON"));
    }

    #[test]
    fn ids_become_distinct() {
        let call = |id: &str| ToolCall {
            id: id.into(),
            name: "t".into(),
            arguments: marvin_model::Arguments::from_text(""),
            opaque: None,
        };
        let earlier =
            vec![Message::Assistant { content: String::new(), tool_calls: vec![call("a")], opaque: None }];
        let mut calls = vec![call("a"), call("a"), call("")];
        distinct_ids(&mut calls, &earlier);
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a_2", "a_3", "call"]);
    }
}
