//! Handling of a session's start, compaction, end, and of claims to be done.

use super::{EventHandler, Reply, lock};
use crate::answer::{self, Answer};
use crate::event::{Client, Event, Input};
use crate::lessons;
use crate::packs;
use crate::session::{ActivityFacts, Session};
use marvin_agent::commitments::{self, PROJECT, Report};
use marvin_agent::protocol::WorkerStatus;
use marvin_base::run_record::RunRecord;
use marvin_base::settings::table;
use marvin_base::trace_event::{HookAgent, HookVerification, TraceEvent};
use marvin_base::{atomic, clock, truncate};
use serde::Serialize;

impl EventHandler {
    /// Handles the start of a session, also after a resume or a compaction.
    pub(super) fn start_session(&self, input: &Input, session: &mut Session) -> Answer {
        session.record(&TraceEvent::HookSessionStart { source: input.source.clone() }).ok();
        session.record.ended_at = None;
        session.record.end_reason = None;
        {
            let packs = self.packs();
            let packs =
                || packs.all().iter().map(|pack| (pack.name().to_string(), pack.version().to_string()));
            session.hooks.active_packs = packs().map(|(name, _)| name).collect();
            session.hooks.pack_versions = packs().collect();
        }
        let mut text = format!(
            "Marvin watches this session (run {}). Commands are judged before they run; a refusal says what to do instead.",
            session.run_id()
        );
        if let Some(trouble) = self.trouble() {
            text.push_str(&format!("\nTell the person: {}", packs::clean_line(trouble)));
        }
        for problem in self.packs().problems().iter().take(3) {
            text.push_str(&format!(
                "\nTell the person that a pack is broken: {}",
                packs::clean_line(&problem.to_string())
            ));
        }
        if input.source == "compact" {
            text.push_str(&corrections(session));
        }
        if matches!(input.source.as_str(), "compact" | "clear" | "startup") {
            session.injected.clear();
        }
        if let Some(digest) = self.digest(input, session) {
            text.push('\n');
            text.push_str(&digest);
        }
        if input.source == "compact"
            && let Some((file, _)) = session.last.clone()
            && let Some(injection) = self.inject_for_file(&file, input, session)
        {
            text.push('\n');
            text.push_str(&injection);
        }
        session.flush();
        let context = truncate::head_whole(&text, answer::MAX_CONTEXT_CHARS);
        match self.reflection_hint(input, session) {
            Some(note) => Answer::ContextAndNote { context, note },
            None => Answer::Context(context),
        }
    }

    /// Tells the person, at the start of the next session, that the last one has guidance that could become lessons.
    fn reflection_hint(&self, input: &Input, session: &Session) -> Option<String> {
        if !matches!(input.source.as_str(), "startup" | "clear") {
            return None;
        }
        let runs = session.directory().parent()?;
        let count = lessons::reflect::count_in_last_session(runs, session.run_id(), &self.packs());
        let what = if count == 1 { "1 correction" } else { &format!("{count} corrections") };
        (count > 0).then(|| {
            format!("Marvin: {what} of your last session could become lessons; `marvin lessons reflect` shows them.")
        })
    }

    /// Handles the start of a sub-agent, which does not know the earlier injections.
    pub(super) fn start_subagent(&self, input: &Input, session: &mut Session) -> Answer {
        let agent = HookAgent { agent_id: input.agent.clone(), agent_type: input.agent_type.clone() };
        session.record(&TraceEvent::HookSubagentStart(agent)).ok();
        let (agent_id, agent_type) = (input.agent.as_deref(), input.agent_type.as_deref());
        session.activity("subagent_start", &ActivityFacts::Agent { agent_id, agent_type });
        let mut text = corrections(session);
        if let Some(digest) = self.digest(input, session) {
            text.push('\n');
            text.push_str(&digest);
        }
        if text.trim().is_empty() { Answer::Nothing } else { Answer::Context(text.trim().to_string()) }
    }

    /// Saves a snapshot before a compaction; afterwards all injections may be repeated.
    pub(super) fn before_compaction(&self, input: &Input, session: &mut Session) -> Answer {
        session.record(&TraceEvent::HookPreCompact { trigger: input.reason.clone() }).ok();
        session.activity("compaction", &ActivityFacts::Compaction { trigger: &input.reason });
        session.injected.clear();
        let snapshot = Snapshot {
            timestamp: clock::now_stamp(),
            trigger: &input.reason,
            facts: session.facts(),
            corrections: &session.words,
        };
        let mut snapshot = serde_json::to_value(snapshot).unwrap_or_default();
        self.context.redactor.value(&mut snapshot);
        atomic::replace(&session.snapshot(), format!("{snapshot:#}\n").as_bytes()).ok();
        session.flush();
        session.sync();
        let words = corrections(session);
        Answer::Context(format!(
            "Keep in the summary: the goal and what remains; what was decided and why; files that were changed; commands that were \
             refused and what was done instead; open questions.{words}"
        ))
    }

    /// Handles the end of a session: outcomes of its lessons are counted, once.
    pub(super) fn end_session(&self, input: &Input, session: &mut Session) -> Answer {
        session.record(&TraceEvent::HookSessionEnd { reason: input.reason.clone() }).ok();
        session.recount();
        session.record.ended_at = Some(clock::now_stamp());
        session.record.end_reason = Some(input.reason.clone());
        session.flush();
        session.sync();
        let settled = lessons::outcome::settle(session.directory(), &self.packs(), &self.context.redactor);
        if let Err(error) = settled {
            session.record(&TraceEvent::HookOutcome { error: error.to_string() }).ok();
        }
        Answer::Nothing
    }

    /// Whether the project's commitments must be verified now: after a turn that changed something or claims to be done,
    /// and after one that was sent back. A stop with tasks in the background is a pause, up to a limit.
    pub(super) fn needs_verification(&self, input: &Input, session: &mut Session) -> bool {
        if !commitments::promises(&self.context.layout, PROJECT) {
            return false;
        }
        let status = input.last_message.as_deref().and_then(WorkerStatus::of_last_line);
        if status != Some(WorkerStatus::Success) && !session.has_claim() {
            return false;
        }
        let bound = self.context.settings.count(&table::HOOKS_STOP_ROUNDS);
        let pauses = input.background_tasks > 0 && (session.paused as usize) < bound;
        session.paused = if pauses { session.paused + 1 } else { 0 };
        !pauses
    }

    /// Answers a claim to be done: sends the agent back to work up to a limit, then notifies the person.
    #[must_use]
    pub fn verified(&self, client: Client, id: &str, report: &Report) -> Reply {
        let bound = self.context.settings.count(&table::HOOKS_STOP_ROUNDS);
        let input = Input { session: id.to_string(), ..Input::default() };
        let not_verified =
            || Answer::Note(format!("Not verified: {}. `marvin verify` shows why.", report.summary()));
        let Ok(session) = self.session(client, &input) else {
            let answer = if report.verified() { Answer::Nothing } else { not_verified() };
            return Reply::Print(answer.print(client, Event::Stop));
        };
        let mut session = lock(&session);
        let done = report.verified();
        let back = !done && (session.sent_back as usize) < bound;
        session.sent_back = if done { 0 } else { session.sent_back + u32::from(back) };
        let facts =
            HookVerification { verified: done, sent_back: session.sent_back, summary: report.summary() };
        // Without a record the limit could not be counted, so the agent is not sent back.
        let recorded = session.record(&TraceEvent::HookVerified(facts.clone())).is_ok();
        session.record.verification = serde_json::to_value(facts).ok();
        session.flush();
        let answer = match (done, back && recorded) {
            (true, _) => Answer::Nothing,
            (false, true) => Answer::Continue(report.feedback(answer::MAX_CONTEXT_CHARS - 600)),
            (false, false) => not_verified(),
        };
        Reply::Print(answer.print(client, Event::Stop))
    }
}

/// A state of the session, saved before a compaction.
#[derive(Serialize)]
struct Snapshot<'a> {
    timestamp: String,
    trigger: &'a str,
    facts: RunRecord,
    corrections: &'a [String],
}

/// The person's corrections in this session.
fn corrections(session: &Session) -> String {
    if session.words.is_empty() {
        return String::new();
    }
    let mut text = "\nIn this session the person said:".to_string();
    for words in &session.words {
        text.push_str(&format!("\n- {}", packs::clean_line(words)));
    }
    text
}
