//! After a person's turn: candidates for memory, a trace, the conversation state, and the turn itself are stored.
//!
//! The line of the turn is written before the state; the next process completes a turn without its end
//! (`marvin_memory::open_turns`). Nothing here can undo a turn: errors become notices.

use super::Session;
use super::before_turn::Recollection;
use crate::outcome::{Outcome, Status};
use crate::stages::{Notes, Thought};
use marvin_base::layout::Layout;
use marvin_base::run::RunDirectory;
use marvin_base::trace_event::TraceEvent;
use marvin_base::{clock, ledger};
use marvin_memory::memory::CandidateOrigin;
use marvin_memory::open_turns::{PartialTurn, TurnStart};
use marvin_memory::proposal::{Origin, TurnSources};
use marvin_memory::stm::Trace;
use marvin_memory::turns::{CallEntry, CallOutput, CandidateEntry, CandidateOutcome, Turn, TurnEntry};
use marvin_memory::{Candidate, MemoryError};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Tool calls that a turn's record names, and names in a trace.
const MAX_RECORDED_CALLS: usize = 50;
const MAX_TRACE_NAMES: usize = 10;

impl Session {
    /// The new conversation state that the model gave in its notes; none where it gave none, or the turn failed.
    pub(super) fn account(&self, outcome: &Outcome) -> Option<String> {
        let stages = self.turn.stages.as_ref().filter(|_| outcome.status == Status::Success)?;
        stages.so_far().state
    }

    /// Stores the turn, and a trace of one that succeeded.
    pub(super) fn keep(
        &self,
        recollection: &mut Recollection,
        prompt: &str,
        outcome: &Outcome,
        account: Option<&str>,
    ) {
        if let Err(error) = self.kept(recollection, prompt, outcome, account) {
            self.notice(&format!("the turn was not kept in memory: {error}"));
        }
    }

    fn kept(
        &self,
        recollection: &mut Recollection,
        prompt: &str,
        outcome: &Outcome,
        account: Option<&str>,
    ) -> Result<(), MemoryError> {
        // Redacted before anything is cut: a part of a secret no longer looks like one.
        let (prompt, answer) = (&self.redacted(prompt), self.redacted(&outcome.text));
        let thought = self.turn.stages.as_ref().map(|stages| stages.so_far()).unwrap_or_default();
        let calls =
            calls(&ledger::read(&self.run.trace()).map(|contents| contents.entries).unwrap_or_default());
        let names = calls.iter().filter_map(|call| call.tool_name.as_ref()?.as_str().map(str::to_string));
        let trace = Trace {
            intent: prompt.clone(),
            resolution: answer.clone(),
            open_questions: questions(&answer),
            tools_used: names.collect(),
            entities: names_in(prompt),
        };
        let went_wrong = outcome.status != Status::Success;
        let Recollection { stm, session_id, turn_number, .. } = recollection;
        let written = stm.write(&trace, session_id, *turn_number, went_wrong)?;
        recollection.entries.push(TurnEntry::trace(written));
        let proposed = self.propose(recollection, prompt, &thought, went_wrong)?;
        if !proposed.is_empty() {
            let candidates = proposed.iter().map(as_value).collect();
            self.trace.event(TraceEvent::MemoryProposed { candidates }).ok();
        }
        if !thought.problems.is_empty() {
            recollection.entries.push(TurnEntry::Think { status: "error", error: thought.problems });
        }
        let turn = Turn {
            ts_utc: clock::now_stamp(),
            session_id: recollection.session_id.clone(),
            turn_number: recollection.turn_number,
            user_input: prompt.clone(),
            final_output: answer,
            think: self.redacted(&thought.think),
            tools: as_entries(calls).chain(recollection.entries.iter().cloned()).collect(),
            memory_candidates: proposed,
            state_before: recollection.state.clone(),
            state_after: recollection.state.clone(),
            error: went_wrong.then(|| outcome.error.clone().unwrap_or_else(|| outcome.reason.to_string())),
        };
        let before = recollection.state.clone();
        let account = account.map(|account| self.redacted(crate::protocol::unfenced(account)));
        let after = recollection.memory.finish(turn, account.as_deref(), recollection.open.take())?;
        if after != before {
            let (before, after) = (as_value(&before), as_value(&after));
            self.trace.event(TraceEvent::StateCommitted { before, after }).ok();
        }
        Ok(())
    }

    /// Proposes the candidates of the model and frequently used traces. A turn that failed proposes none of the model's.
    fn propose(
        &self,
        recollection: &mut Recollection,
        prompt: &str,
        thought: &Thought,
        went_wrong: bool,
    ) -> Result<Vec<CandidateEntry>, MemoryError> {
        let mut proposed = Vec::new();
        let tool_results: Vec<String> = thought.tool_results.iter().map(|text| self.redacted(text)).collect();
        let Recollection { memory, stm, session_id, turn_number, known_texts, .. } = recollection;
        let from = CandidateOrigin {
            session_id: Some(session_id),
            turn_number: Some(*turn_number),
            sources: TurnSources { person: prompt, tools: &tool_results, injected: known_texts },
        };
        for value in &thought.candidates {
            let outcome = match Candidate::read(value, &self.redactor) {
                Err(problem) => {
                    let problem = problem.to_string().lines().next().unwrap_or_default().to_string();
                    vec![CandidateOutcome::skipped(problem)]
                }
                Ok(_) if went_wrong => vec![CandidateOutcome::skipped("the turn went wrong")],
                Ok(candidate) => {
                    let outcomes = memory.propose(vec![candidate.clone()], Origin::Think, &from)?;
                    let source = from.sources.source_of(&candidate).word();
                    let with_source = |outcome| CandidateOutcome::new(outcome, Some(source));
                    outcomes.into_iter().map(with_source).collect()
                }
            };
            let candidate = self.trace.within(value, 2_000);
            proposed.push(CandidateEntry { candidate, origin: Origin::Think.word(), outcome });
        }
        for (_, candidate) in stm.promote(clock::now())? {
            let outcomes = memory.propose(vec![candidate.clone()], Origin::StmPromotion, &from)?;
            let outcome = outcomes.into_iter().map(|outcome| CandidateOutcome::new(outcome, None)).collect();
            let origin = Origin::StmPromotion.word();
            proposed.push(CandidateEntry { candidate: as_value(&candidate), origin, outcome });
        }
        Ok(proposed)
    }

    pub(super) fn notice(&self, text: &str) {
        // A broken record is reported by the next write to it.
        self.trace.notice(text).ok();
    }
}

fn as_value(record: &impl Serialize) -> Value {
    serde_json::to_value(record).unwrap_or_default()
}

fn as_entries(calls: Vec<CallEntry>) -> impl Iterator<Item = TurnEntry> {
    calls.into_iter().map(|call| TurnEntry::Call(Box::new(call)))
}

/// What the record of a run contains of a turn whose process died.
pub(super) fn known_of(layout: &Layout, begun: &TurnStart) -> PartialTurn {
    let Ok(run) = RunDirectory::open(&layout.runs(), &begun.session_id) else {
        return PartialTurn::default();
    };
    let events = ledger::read(&run.trace()).map(|contents| contents.entries).unwrap_or_default();
    let text = |event: &Value, kind: &str| {
        let item = event.get("item").filter(|item| has_type(item, kind))?;
        Some(item.get("text")?.as_str()?.to_string())
    };
    let notes = |event: &Value| Some(Notes::read(&text(event, "model_call")?, false)?.whole);
    let think: Vec<String> = events.iter().filter_map(notes).collect();
    let output = events.iter().rev().find_map(|event| text(event, "message")).unwrap_or_default();
    PartialTurn { think: think.join("\n\n"), tools: as_entries(calls(&events)).collect(), output }
}

fn has_type(item: &Value, kind: &str) -> bool {
    item.get("type").and_then(Value::as_str) == Some(kind)
}

/// Tool calls among the events of a run.
fn calls(events: &[Value]) -> Vec<CallEntry> {
    let mut arguments: BTreeMap<String, Value> = BTreeMap::new();
    let mut calls = Vec::new();
    for event in events {
        let Some(item) = event.get("item").filter(|item| has_type(item, "tool_call")) else { continue };
        let id = item.get("id").and_then(Value::as_str).unwrap_or_default().to_string();
        match event.get("type").and_then(Value::as_str) {
            Some("item.started") => {
                arguments.insert(id, item.get("arguments").cloned().unwrap_or_default());
            }
            Some("item.completed") if calls.len() < MAX_RECORDED_CALLS => {
                let ok = item.get("ok").and_then(Value::as_bool) == Some(true);
                let status = if ok { "ok" } else { "error" };
                let result = item.get("result");
                let of =
                    |key: &str| result.and_then(|result| result.get(key)).filter(|value| !value.is_null());
                let fact = |key: &str| of("data").and_then(|data| data.get(key)).cloned();
                calls.push(CallEntry {
                    tool_name: item.get("tool").or(item.get("name")).cloned(),
                    args: arguments.remove(&id),
                    status,
                    output: CallOutput {
                        status,
                        source: "tool_output",
                        confidence: of("confidence").cloned().unwrap_or_else(|| "verbatim".into()),
                        provider: fact("provider"),
                        cache: fact("cache"),
                        data: result.cloned(),
                        error: of("error").cloned(),
                    },
                    error: item.get("why").cloned(),
                    result_ref: of("artifact").and_then(|artifact| artifact.get("path")).cloned(),
                });
            }
            _ => {}
        }
    }
    calls
}

/// Questions in an answer.
fn questions(text: &str) -> Vec<String> {
    let sentences = text.split_inclusive(['?', '.', '!', '\n']).map(str::trim);
    sentences.filter(|sentence| sentence.ends_with('?')).take(3).map(str::to_string).collect()
}

/// Words that look like names of files or identifiers.
fn names_in(text: &str) -> Vec<String> {
    let trimmed = text.split_whitespace().map(|word| word.trim_matches(|char: char| !char.is_alphanumeric()));
    let named = |word: &&str| {
        word.len() > 3 && (word.contains(['/', '_', '.']) || !marvin_memory::words::parts(word).is_empty())
    };
    trimmed.filter(named).take(MAX_TRACE_NAMES).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_and_questions() {
        assert_eq!(
            super::names_in("look at src/main.rs, please, and parseHeader. ok e.g"),
            ["src/main.rs", "parseHeader"]
        );
        assert_eq!(super::questions("Done. Shall I go on? Yes!\nWhy?"), ["Shall I go on?", "Why?"]);
    }
}
