//! Listens to what a person says, and after a tool was used.

use super::{EventHandler, normal, tests_seen};
use crate::answer::Answer;
use crate::event::{Call, Client, Deed, Event, Input};
use crate::guidance::{self, Guidance, Kind};
use crate::session::Session;
use marvin_base::{clock, ids};
use marvin_gate::effects::Act;
use marvin_gate::layers::learn;
use serde_json::json;
use std::time::Instant;

/// Files named in a prompt that are looked at.
const MAX_PROMPT_FILES: usize = 3;
/// Characters of what was said, in the record.
const MAX_RECORDED_PROMPT_CHARS: usize = 2_000;

impl EventHandler {
    /// Somebody said something: a correction counts at once.
    pub(super) fn prompted(&self, input: &Input, session: &mut Session) -> Answer {
        let own = input.agent.is_none() && !guidance::is_synthetic(&input.prompt);
        if own {
            (session.sent_back, session.paused) = (0, 0);
        }
        let heard = if own {
            guidance::classify(&input.prompt, &self.packs(), session.hooks.last_injection.is_some())
        } else {
            // What an agent tells its sub-agent is no person's word.
            None
        };
        let facts = json!({
            "agent_id": input.agent, "person": own, "prompt": session.short(&input.prompt),
            "guidance": heard.as_ref().map(|heard| heard.kind.word()),
            "category": heard.as_ref().and_then(|heard| heard.category.clone()),
        });
        session.record(Event::UserPromptSubmit.kebab(), facts).ok();
        let mut texts = Vec::new();
        if own && is_question_of_state(&input.prompt) {
            texts.push(self.state(session));
        }
        if let Some(heard) = heard.filter(|heard| matches!(heard.kind, Kind::Correction | Kind::Direction)) {
            texts.extend(self.heard(&heard, input, session));
        }
        let files: Vec<String> = if own { self.named(&input.prompt, input) } else { Vec::new() };
        texts.extend(files.iter().filter_map(|file| self.tell_of_file(file, input, session)));
        if texts.is_empty() { Answer::Nothing } else { Answer::Context(texts.join("\n")) }
    }

    /// Keeps what was heard, and tells what the packs know of it.
    fn heard(&self, heard: &Guidance, input: &Input, session: &mut Session) -> Option<String> {
        let now = clock::now();
        let words: String = input.prompt.chars().take(MAX_RECORDED_PROMPT_CHARS).collect();
        let clean = self.ground.redactor.text(&words).into_owned();
        let injected = session.hooks.last_injection.as_ref().map(|last| last["packs"].clone());
        let (file, tool) = session.last.clone().unzip();
        // What is corrected without a subject is taken to be about what was told last.
        let told_last = || injected.as_ref()?.get(0)?.as_str().map(str::to_string);
        let category = heard.category.clone().or_else(told_last);
        let line = json!({
            "id": format!("g_{}_{}", now.as_millisecond(), ids::base36(6)),
            "timestamp": clock::stamp(now), "run_id": session.run_id(), "type": heard.kind.word(),
            "content": clean, "category": category, "confidence": heard.confidence,
            "preceding_tool": tool, "preceding_file": file, "preceding_injections": injected,
        });
        session.append("guidance.jsonl", &line).ok();
        let category = category.as_deref();
        if heard.kind == Kind::Correction {
            session.hooks.correction_count += 1;
            session.correct(category, &clean, now);
        } else {
            session.correct(None, &clean, now);
        }
        session.activity("capture", &json!({"type": heard.kind.word(), "category": category}));
        category.and_then(|category| self.tell_of_category(category, input, session))
    }

    /// Files of the project that a prompt names.
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

    /// A tool was used: outcomes are kept, and approvals may become suggestions.
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
        let facts = json!({
            "tool": call.tool, "tool_use_id": call.id, "agent_id": input.agent, "file": file, "success": ok,
            "sequence": session.record.tool_call_count,
            "input_summary": session.short(&call.summary()),
            "output_summary": input.response.as_deref().or(input.error.as_deref()).map(|text| session.short(text)),
            "duration_ms": input.duration_ms, "tested": tested,
        });
        session.record(event.kebab(), facts).ok();
        let kind = if ok { "tool_call" } else { "tool_failure" };
        let data = json!({"tool": call.tool, "file": file});
        session.activity(kind, &data);
        if let (Deed::Command(line), true) = (call.deed(), ok) {
            self.learn(line, input, session);
        }
        Answer::Nothing
    }

    fn tested(&self, call: &Call, ok: bool, input: &Input, session: &mut Session) -> Option<bool> {
        let tested = match call.deed() {
            Deed::Write(_) | Deed::Patch(_) => false,
            // What goes on in the background has not ended yet.
            Deed::Command(line) if tests_seen::is_test(line) && session.client() == Client::Claude => {
                ok && !call.has("run_in_background")
            }
            Deed::Command(line) if session.tested && self.writes(line, input) => false,
            _ => return None,
        };
        session.tested = tested;
        Some(tested)
    }

    /// Does a line change files of the project?
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

    /// A command that was asked about and ran was approved by a person: a rule can be suggested, and the person decides.
    fn learn(&self, line: &str, input: &Input, session: &mut Session) {
        let id = session.id.clone();
        // Where nobody is asked, nobody approved.
        let asked = session.pending.answered(&id, line, Instant::now());
        if !asked || !matches!(input.mode.as_str(), "default" | "acceptEdits") {
            return;
        }
        let place = self.place_of(input);
        let Ok(rules) = self.layers.learnable(line, place.as_place()) else { return };
        let security = self.ground.layout.security();
        if let Ok(suggestion) = learn::suggest(&security, line, &id, &rules, &self.ground.redactor) {
            session.record("suggestion", json!({"suggestion": suggestion})).ok();
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

/// Does somebody ask how Marvin is?
fn is_question_of_state(prompt: &str) -> bool {
    let words: Vec<String> = prompt.split_whitespace().take(3).map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(|word| word.trim_start_matches('/')).collect();
    matches!(words.as_slice(), ["marvin" | "marvel", "status" | "info" | "health"])
}
