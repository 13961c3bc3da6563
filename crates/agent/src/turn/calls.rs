//! Tool calls of a reply: made, recorded, fed back.

use super::{Course, Halt, Turn};
use crate::compaction;
use crate::outcome::Status;
use crate::progress::{Progress, noted};
use crate::protocol::Feedback;
use crate::skills::LoadSkill;
use crate::tool_host::ToolCallResult;
use crate::trace::Trace;
use crate::turn_journal::PriorCall;
use marvin_base::ledger::LedgerError;
use marvin_base::signature;
use marvin_base::trace_event::{Item, ToolCallItem, TraceEvent};
use marvin_gate::Verdict;
use marvin_model::{Reply, ToolCall};
use marvin_tools::{FileHashes, Tool};

impl Turn {
    /// Makes calls: read-only ones together, others one after the other in their order. `again`: an earlier process recorded the
    /// reply.
    pub(super) async fn act(
        &self,
        course: &mut Course,
        reply: &Reply,
        calls: Vec<ToolCall>,
        again: bool,
    ) -> Result<(), Halt> {
        course.empty = 0;
        if !again {
            course.acted += 1;
            if let Some(journal) = &self.journal {
                journal.replied(reply, &calls)?;
            }
        }
        let tools = calls.iter().map(|call| call.name.clone()).collect();
        self.record_event(course, TraceEvent::ToolsStarted { round: course.rounds, tools })?;
        let looks_only = |call: &ToolCall| self.tools.touches(&call.name).changes_nothing();
        let parallel = calls.iter().all(looks_only);
        let mut results: Vec<ToolCallResult> = Vec::with_capacity(calls.len());
        let mut items = Vec::with_capacity(calls.len());
        if parallel {
            for call in &calls {
                items.push(self.call_started(course, call)?);
            }
            let made = futures_util::future::join_all(calls.iter().map(|call| self.make(call))).await;
            for called in made {
                results.push(called?);
            }
        } else {
            for call in &calls {
                if self.cancel.is_cancelled() {
                    break;
                }
                items.push(self.call_started(course, call)?);
                results.push(self.make(call).await?);
            }
        }
        let keeps = self.journal.as_ref().is_some_and(|journal| journal.keeps());
        if keeps && (results.len() < calls.len() || self.cancel.is_cancelled()) {
            // The process that resumes this turn makes the rest.
            return self.check_bounds(course);
        }
        let mut feedback = Vec::with_capacity(calls.len());
        let mut stuck = None;
        let mut used = compaction::total(&course.messages) + reply.text.len() / 4;
        for ((call, called), item) in calls.into_iter().zip(results).zip(items) {
            course.calls += 1;
            course.changed |= self.tools.changes(&called.tool);
            // A name that a model made up is not counted: it could be anything, and the count is kept for ever.
            if self.tools.knows(&called.tool) {
                self.cost.count_call(&called.tool);
            }
            let progress = called.progress.unwrap_or_else(|| {
                let touches = self.tools.touches(&call.name);
                course.watch.note(&call, touches, (&called.text, called.ok), self.workspace.as_deref())
            });
            self.record_event(course, completed(&self.trace, &item, &call, &called, times(progress)))?;
            self.trace.tampering(&called.tool, Some(&item), &called.tampered())?;
            if called.tool == LoadSkill::NAME
                && let Some(name) = called.record.pointer("/data/name").filter(|_| called.ok)
            {
                course.skills.extend(name.as_str().map(str::to_string));
            }
            if let Some(text) = &called.notice {
                self.trace.notice(text)?;
            }
            if let Some(stages) = &self.stages {
                stages.add_tool_result(&called.text);
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
        self.feed(course, self.protocol.feed_back(reply, &feedback))?;
        if let Some((tool, times)) = stuck {
            let error = format!(
                "no progress: `{tool}` was called {times} times with the same arguments and the same result while nothing changed"
            );
            return self.over(course, Status::Failed, "no_progress", Some(error));
        }
        self.trace.sync()?;
        Ok(())
    }

    /// Makes a call, unless its result is known.
    async fn make(&self, call: &ToolCall) -> Result<ToolCallResult, LedgerError> {
        let Some(journal) = &self.journal else { return Ok(self.tools.call(call).await) };
        match journal.known(call) {
            PriorCall::Ended(ok, text) => return Ok(remembered(call, ok, text)),
            PriorCall::Begun(ref before) if self.can_repeat(call, before.as_ref()) => {}
            PriorCall::Begun(_) => {
                let text = "interrupted: the shell ended while this call ran, and it is unknown whether it happened. \
                            It was not made again. Look at what it should have done before you do it once more.";
                journal.ended(call, false, text)?;
                return Ok(remembered(call, false, text.to_string()));
            }
            PriorCall::New => {}
        }
        journal.begun(call, self.tools.files_to_write(call))?;
        let called = self.tools.call(call).await;
        // The result of a cancelled call is not reliable; it counts as interrupted.
        if !self.cancel.is_cancelled() {
            journal.ended(call, called.ok, &called.text)?;
        }
        Ok(called)
    }

    /// Whether a call that was cut off can be made again: it changes nothing, or no file that it writes has changed since.
    fn can_repeat(&self, call: &ToolCall, before: Option<&FileHashes>) -> bool {
        let touches = self.tools.touches(&call.name);
        let only_reads = self.tools.knows(&call.name) && touches.changes_nothing() && !touches.network;
        only_reads || (before.is_some() && before == self.tools.files_to_write(call).as_ref())
    }

    fn call_started(&self, course: &mut Course, call: &ToolCall) -> Result<String, Halt> {
        let (item, event) = started(&self.trace, call);
        self.record_event(course, event)?;
        Ok(item)
    }

    /// Refuses calls after the last round; one last reply may follow.
    pub(super) fn exhaust(
        &self,
        course: &mut Course,
        reply: &Reply,
        calls: Vec<ToolCall>,
    ) -> Result<(), Halt> {
        course.exhausted = true;
        let text = "not run: the tool rounds of this turn are used up; say what is done and what is not";
        let refuse = |call| Feedback { call, ok: false, text: text.to_string() };
        let feedback: Vec<Feedback> = calls.into_iter().map(refuse).collect();
        self.feed(course, self.protocol.feed_back(reply, &feedback))?;
        Ok(())
    }
}

/// Recorded result of a call; nothing runs.
fn remembered(call: &ToolCall, ok: bool, text: String) -> ToolCallResult {
    let verdict = Verdict::allow("record", "taken from the record; nothing runs");
    ToolCallResult {
        progress: Some(Progress::Made),
        ..ToolCallResult::not_run(call, verdict, ok, text, Some("record"))
    }
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
    let (item, event) = started(trace, call);
    trace.event(event)?;
    Ok(item)
}

fn started(trace: &Trace, call: &ToolCall) -> (String, TraceEvent) {
    let id = trace.next_item();
    let item = ToolCallItem {
        id: id.clone(),
        name: call.name.clone(),
        tool_call_id: Some(call.id.clone()),
        arguments: Some(trace.within(&call.arguments.to_value(), 2_000)),
        call_signature: Some(signature::hash(&(&call.name, &call.arguments))),
        ..ToolCallItem::default()
    };
    (id, TraceEvent::ItemStarted { item: Item::ToolCall(Box::new(item)) })
}

/// Records the result of a call.
pub(crate) fn call_completed(
    trace: &Trace,
    item: &str,
    call: &ToolCall,
    called: &ToolCallResult,
    repeated: usize,
) -> Result<(), LedgerError> {
    trace.event(completed(trace, item, call, called, repeated))?;
    trace.tampering(&called.tool, Some(item), &called.tampered())
}

fn completed(
    trace: &Trace,
    item: &str,
    call: &ToolCall,
    called: &ToolCallResult,
    repeated: usize,
) -> TraceEvent {
    let item = ToolCallItem {
        id: item.to_string(),
        name: call.name.clone(),
        tool: Some(called.tool.clone()),
        ok: Some(called.ok),
        verdict: serde_json::to_value(&called.verdict).ok(),
        result: Some(trace.within(&called.record, 4_000)),
        repeated: Some(repeated),
        // The model's view of a failure, for the account of the work.
        why: (!called.ok).then(|| trace.within_text(&called.text, 300)),
        ..ToolCallItem::default()
    };
    TraceEvent::ItemCompleted { item: Item::ToolCall(Box::new(item)) }
}
