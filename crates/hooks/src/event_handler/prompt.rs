//! Handling of prompts and of finished tool calls.

use super::{EventHandler, normal, tests_seen};
use crate::answer::Answer;
use crate::event::{Call, Client, Deed, Event, Input};
use crate::guidance::{self, Guidance, Kind};
use crate::lessons::record::GuidanceRecord;
use crate::packs::RecentGuidance;
use crate::session::{ActivityFacts, Session};
use marvin_base::trace_event::{HookCallResult, HookPrompt, TraceEvent};
use marvin_base::{clock, ids};
use marvin_gate::effects::{Act, SegmentJudgement};
use marvin_gate::layers::{Clearance, learn};
use std::time::Instant;

const MAX_PROMPT_FILES: usize = 3;
const MAX_RECORDED_PROMPT_CHARS: usize = 2_000;

impl EventHandler {
    /// Handles a prompt: a correction takes effect at once.
    pub(super) fn prompted(&self, input: &Input, session: &mut Session) -> Answer {
        let own = input.agent.is_none() && !guidance::is_synthetic(&input.prompt);
        if own {
            (session.sent_back, session.paused, session.worked) = (0, 0, false);
        }
        let guidance = if own {
            guidance::classify(&input.prompt, &self.packs(), session.hooks.last_injection.is_some())
        } else {
            // The prompt of a sub-agent comes from an agent, not from a person.
            None
        };
        let prompt = HookPrompt {
            agent_id: input.agent.clone(),
            person: own,
            prompt: session.short(&input.prompt),
            guidance: guidance.as_ref().map(|guidance| guidance.kind.word().to_string()),
            category: guidance.as_ref().and_then(|guidance| guidance.category.clone()),
        };
        session.record(&TraceEvent::HookUserPromptSubmit(prompt)).ok();
        let mut texts = Vec::new();
        if own && is_status_question(&input.prompt) {
            texts.push(self.state(session));
        }
        if let Some(guidance) = guidance.filter(|guidance| guidance.kind.is_kept()) {
            texts.extend(self.record_guidance(&guidance, input, session));
        }
        let files: Vec<String> = if own { self.named(&input.prompt, input) } else { Vec::new() };
        texts.extend(files.iter().filter_map(|file| self.inject_for_file(file, input, session)));
        if texts.is_empty() { Answer::Nothing } else { Answer::Context(texts.join("\n")) }
    }

    /// Records guidance, and returns the knowledge of the packs about it.
    fn record_guidance(&self, guidance: &Guidance, input: &Input, session: &mut Session) -> Option<String> {
        let now = clock::now();
        let words: String = input.prompt.chars().take(MAX_RECORDED_PROMPT_CHARS).collect();
        let clean = self.context.redactor.text(&words).into_owned();
        let injected = session.hooks.last_injection.as_ref().map(|last| last.packs.clone());
        let (file, tool) = session.last.clone().unzip();
        let category = guidance.category.clone().or_else(|| self.most_relevant_pack(file.as_deref()?));
        let line = GuidanceRecord {
            id: format!("g_{}_{}", now.as_millisecond(), ids::base36(6)),
            timestamp: now,
            run_id: session.run_id().to_string(),
            kind: guidance.kind.word().to_string(),
            content: clean.clone(),
            category: category.clone(),
            confidence: guidance.confidence,
            preceding_tool: tool,
            preceding_file: file,
            preceding_injections: injected,
        };
        session.append("guidance.jsonl", &line).ok();
        let category = category.as_deref();
        if guidance.kind == Kind::Correction {
            session.hooks.correction_count += 1;
            session.correct(category, &clean, now);
        } else {
            session.directions.extend(category.map(str::to_string));
            session.correct(None, &clean, now);
        }
        session.activity("capture", &ActivityFacts::Guidance { kind: guidance.kind.word(), category });
        category.and_then(|category| self.inject_for_category(category, input, session))
    }

    /// The pack that a correction without a subject is about: the only most relevant one for the file that was changed last.
    /// Two packs with the same score say nothing about it.
    fn most_relevant_pack(&self, file: &str) -> Option<String> {
        match self.packs().score(file, &RecentGuidance::default()).as_slice() {
            [best, next, ..] if best.score == next.score => None,
            [best, ..] => Some(best.pack.name().to_string()),
            [] => None,
        }
    }

    /// The project's files that a prompt names.
    fn named(&self, prompt: &str, input: &Input) -> Vec<String> {
        let words = prompt.split(|char: char| char.is_whitespace() || "`'\"(),;:<>[]".contains(char));
        let root = self.root(input).unwrap_or_else(|| self.project.clone());
        let mut files: Vec<String> = words
            .take(400)
            .filter(|word| word.contains('.') && word.len() > 2 && word.len() < 300 && !word.contains("//"))
            .map(|word| word.trim_end_matches('.'))
            .filter_map(|word| self.relative(word, input))
            .filter(|file| normal(&root.join(file)).is_file())
            .collect();
        files.dedup();
        files.truncate(MAX_PROMPT_FILES);
        files
    }

    /// Records a finished tool call; an approved command may become a suggested rule.
    pub(super) fn used(&self, event: Event, input: &Input, session: &mut Session) -> Answer {
        let call = input.call.clone().unwrap_or_default();
        let ok = event == Event::PostToolUse;
        session.count_call();
        let file = match call.deed() {
            Deed::Read(path) | Deed::Search(path) | Deed::Write(path) => self.relative(path, input),
            Deed::Patch(text) => super::permission::patched(text)
                .and_then(|files| files.first().and_then(|path| self.relative(path, input))),
            _ => None,
        };
        let tested = self.tested(&call, ok, input, session);
        // A call that failed may have changed something before.
        let changed = self.may_change(&call, input);
        session.worked |= changed;
        let output = input.response.as_deref().or(input.error.as_deref());
        let result = HookCallResult {
            tool: call.tool.clone(),
            tool_use_id: call.id.clone(),
            agent_id: input.agent.clone(),
            file: file.clone(),
            success: ok,
            sequence: session.record.tool_call_count,
            input_summary: session.short(&call.summary()),
            output_summary: output.map(|text| session.short(text)),
            duration_ms: input.duration_ms,
            tested,
            changed: changed.then_some(true),
        };
        let (event, kind) = match ok {
            true => (TraceEvent::HookPostToolUse(result), "tool_call"),
            false => (TraceEvent::HookPostToolUseFailure(result), "tool_failure"),
        };
        session.record(&event).ok();
        session.activity(kind, &ActivityFacts::Call { tool: &call.tool, file: file.as_deref() });
        if let (Deed::Command(line), true) = (call.deed(), ok) {
            self.learn(line, input, session);
        }
        Answer::Nothing
    }

    fn tested(&self, call: &Call, ok: bool, input: &Input, session: &mut Session) -> Option<bool> {
        let tested = match call.deed() {
            Deed::Write(_) | Deed::Patch(_) => false,
            // A command in the background has not ended yet.
            Deed::Command(line) if tests_seen::is_test(line) && session.client() == Client::Claude => {
                ok && !call.has("run_in_background")
            }
            Deed::Command(line) if session.tested && self.writes(line, input) => false,
            _ => return None,
        };
        session.tested = tested;
        Some(tested)
    }

    /// Whether a call may have changed something: anything but files that are read and commands that are known to be
    /// harmless.
    fn may_change(&self, call: &Call, input: &Input) -> bool {
        match call.deed() {
            Deed::Read(_) | Deed::Search(_) => false,
            Deed::Write(_) | Deed::Patch(_) | Deed::Foreign(_) | Deed::Unreadable => true,
            Deed::Other => !call.is_reading_tool(),
            Deed::Command(line) => {
                let place = self.place_of(input);
                let judgement = self.layers.look(line, place.as_place());
                let ruling = self.layers.rule(line, place.as_place(), judgement);
                !ruling.judgement.segments.iter().all(SegmentJudgement::only_reads)
                    && self.layers.clearance(line, place.as_place(), &ruling) != Clearance::Harmless
            }
        }
    }

    /// Whether a line changes files of the project.
    fn writes(&self, line: &str, input: &Input) -> bool {
        let place = self.place_of(input);
        let changes = |act: Act| matches!(act, Act::Write | Act::Change | Act::Delete | Act::DeleteTree);
        let judgement = self.layers.look(line, place.as_place());
        judgement
            .segments
            .iter()
            .flat_map(|segment| &segment.effects)
            .any(|effect| changes(effect.act) && effect.place == marvin_gate::effects::Place::Inside)
    }

    /// Suggests a rule for a command that was asked about and then ran, which a person must have approved.
    fn learn(&self, line: &str, input: &Input, session: &mut Session) {
        let id = session.id.clone();
        // In other modes the client does not ask a person.
        let asked = session.pending.answered(&id, line, Instant::now());
        if !asked || !matches!(input.mode.as_str(), "default" | "acceptEdits") {
            return;
        }
        let place = self.place_of(input);
        let Ok(rules) = self.layers.learnable(line, place.as_place()) else { return };
        let security = self.context.layout.security();
        if let Ok(suggestion) = learn::suggest(&security, line, &id, &rules, &self.context.redactor) {
            session.record(&TraceEvent::HookSuggestion { suggestion }).ok();
        }
    }

    fn state(&self, session: &Session) -> String {
        let packs: Vec<String> = self.packs().all().iter().map(|pack| pack.name().to_string()).collect();
        format!(
            "Marvin: run {}, packs: {}, {} tool calls, {} corrections. Details: `marvin inspect-run {}`.",
            session.run_id(),
            if packs.is_empty() { "none".into() } else { packs.join(", ") },
            session.record.tool_call_count.unwrap_or_default(),
            session.hooks.correction_count,
            session.run_id()
        )
    }
}

fn is_status_question(prompt: &str) -> bool {
    let words: Vec<String> = prompt.split_whitespace().take(3).map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(|word| word.trim_start_matches('/')).collect();
    matches!(words.as_slice(), ["marvin" | "marvel", "status" | "info" | "health"])
}
