//! Stages of a person's turn over the one loop: the model thinks where it needs to (notes in sections, requests), tools act,
//! it answers; then candidates are proposed and the state is committed. A model that can answer does so in its first reply,
//! and adds candidates and state below the answer: a plain question is one model call, and no turn asks for the state apart.
//!
//! [`Stages`] splits every reply of the turn: text before the first section is for the person, sections are for the shell. A
//! reply without sections is taken as it is, so that a model that only answers gives its answer at once.

mod sections;
mod sieve;

pub use sections::Notes;
pub use sieve::Sieve;

use crate::compose::render;
use crate::debug::debug_fields;
use crate::protocol::ParsedReply;
use marvin_base::truncate;
use marvin_model::{Message, Reply, Request};
use serde::Serialize;
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often a model may give notes and nothing else.
pub(crate) const MAX_NOTES_ONLY_REPLIES: usize = 2;
/// Characters of what was thought, and of one tool's result, that are kept for a turn's record.
const MAX_RECORDED_TEXT_BYTES: usize = 20_000;
/// Results of tools that are kept to compare candidates with.
const MAX_TOOL_RESULTS: usize = 100;

/// Values of the template `think.md`.
#[derive(Serialize)]
struct ThinkValues<'a> {
    json: bool,
    framed: bool,
    framing: &'a str,
    candidate: &'static str,
}

/// Values of the template `respond.md`.
#[derive(Serialize)]
struct RespondValues<'a> {
    found: &'a [String],
    problems: &'a [String],
    answer: bool,
    again: bool,
    json: bool,
}

/// Searches the short-term memory; one line per result.
pub type Recaller = Box<dyn Fn(&[String]) -> Vec<String> + Send + Sync>;

/// Notes and tool results of one turn.
#[derive(Debug, Clone, Default)]
pub struct Thought {
    /// The notes as they came; empty when the model only answered.
    pub think: String,
    /// Candidates for memory, not checked.
    pub candidates: Vec<Value>,
    /// The new conversation state, as the model gave it last.
    pub state: Option<String>,
    /// Parts that could not be parsed.
    pub problems: Vec<String>,
    /// Results of tools in this turn.
    pub tool_results: Vec<String>,
}

pub struct Stages {
    /// How a goal is framed and planned first; empty: it is not.
    framing: String,
    /// Whether replies are JSON objects, whose `notes` hold the sections.
    json: bool,
    recaller: Mutex<Option<Recaller>>,
    thought: Mutex<Thought>,
}

debug_fields!(Stages, json);

impl Stages {
    /// The stages of a turn. `framing`: what is said of goals and their tools; empty for an ordinary turn.
    #[must_use]
    pub fn new(json: bool, framing: String) -> Self {
        Stages { framing, json, recaller: Mutex::default(), thought: Mutex::default() }
    }

    /// Sets the search of the short-term memory.
    pub fn recall_by(&self, recaller: Recaller) {
        *self.recaller.lock().unwrap_or_else(PoisonError::into_inner) = Some(recaller);
    }

    fn thought(&self) -> MutexGuard<'_, Thought> {
        self.thought.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes and tool results so far.
    #[must_use]
    pub fn so_far(&self) -> Thought {
        self.thought().clone()
    }

    /// Whether the model gave notes in this turn.
    #[must_use]
    pub fn has_thought(&self) -> bool {
        !self.thought().think.is_empty()
    }

    /// Adds the contract of the stages and the current stage to a request.
    pub(crate) fn prepare(&self, request: &mut Request) {
        let facts = ThinkValues {
            json: self.json,
            framed: !self.framing.is_empty(),
            framing: &self.framing,
            candidate: marvin_memory::candidate::SHAPE,
        };
        let contract = render("think.md", include_str!("../../prompts/think.md"), &facts);
        match request.messages.first_mut() {
            Some(Message::System { content }) => {
                content.push_str("\n\n");
                content.push_str(contract.trim());
            }
            _ => request.messages.insert(0, Message::system(contract)),
        }
        let stage = if self.has_thought() { "respond" } else { "think" };
        request.step.get_or_insert_with(|| stage.to_string());
    }

    /// Splits a reply: leaves in it the text for the person and for the model, and gives the notes, if it has some.
    pub(crate) fn sort(&self, reply: &mut Reply, understood: &mut ParsedReply) -> Option<Notes> {
        let apart = match understood.data.get("notes") {
            Some(Value::String(_)) => match understood.data.remove("notes") {
                Some(Value::String(notes)) => Some(notes),
                _ => None,
            },
            _ => None,
        };
        let framed = !self.framing.is_empty();
        let notes = match apart {
            Some(apart) => {
                // An object that holds nothing else is shown whole by its protocol.
                let only = understood.message == reply.text;
                let speech = if only { String::new() } else { understood.message.clone() };
                let speech = Notes::read(&speech, framed).map_or(speech, |notes| notes.speech);
                Notes { speech, ..Notes::read(&apart, framed)? }
            }
            None => Notes::read(&understood.message, framed)?,
        };
        understood.message.clone_from(&notes.speech);
        let answers = !notes.speech.trim().is_empty() && !notes.thought;
        if !notes.requests.is_empty() || !answers {
            understood.status = None;
        }
        understood.calls.extend(notes.requests.iter().cloned());
        let parts = [notes.speech.trim(), &notes.sanitised].into_iter().filter(|part| !part.is_empty());
        reply.text = parts.collect::<Vec<_>>().join("\n\n");
        let mut thought = self.thought();
        if !thought.think.is_empty() {
            thought.think.push_str("\n\n");
        }
        thought.think.push_str(&truncate::middle(&notes.whole, MAX_RECORDED_TEXT_BYTES));
        let room = sections::MAX_CANDIDATES.saturating_sub(thought.candidates.len());
        thought.candidates.extend(notes.candidates.iter().take(room).cloned());
        thought.problems.extend(notes.problems.iter().cloned());
        if notes.state.is_some() {
            thought.state.clone_from(&notes.state);
        }
        drop(thought);
        Some(notes)
    }

    /// Notes the result of a tool.
    pub(crate) fn add_tool_result(&self, text: &str) {
        let mut thought = self.thought();
        if thought.tool_results.len() < MAX_TOOL_RESULTS {
            thought.tool_results.push(truncate::middle(text, MAX_RECORDED_TEXT_BYTES));
        }
    }

    /// Message to the model after its notes, besides the results of its tools; none when it would be empty.
    pub(crate) fn word(&self, notes: &Notes, only_notes: bool, again: bool) -> Option<String> {
        let recaller = self.recaller.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match recaller.as_ref() {
            Some(recall) if !notes.queries.is_empty() => recall(&notes.queries),
            _ => Vec::new(),
        };
        let facts = RespondValues {
            found: &found,
            problems: &notes.problems,
            answer: only_notes,
            again,
            json: self.json,
        };
        let word = render("respond.md", include_str!("../../prompts/respond.md"), &facts);
        let word = word.trim();
        (!word.is_empty()).then(|| word.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{JsonText, Native, ReplyProtocol};
    use serde_json::json;

    const NOTES: &str = "SITUATION\n- x\nTOOL REQUESTS\n- NONE\nMEMORY CANDIDATES\n- {\"text\": \"a\"}";

    fn sorted(
        stages: &Stages,
        protocol: &dyn ReplyProtocol,
        text: &str,
    ) -> (Reply, ParsedReply, Option<Notes>) {
        let mut reply = Reply { text: text.into(), ..Reply::default() };
        let mut understood = protocol.understand(&reply);
        let notes = stages.sort(&mut reply, &mut understood);
        (reply, understood, notes)
    }

    #[test]
    fn notes_are_taken_out_of_a_reply() {
        let stages = Stages::new(false, String::new());
        let (reply, understood, notes) = sorted(&stages, &Native, NOTES);
        assert_eq!((reply.text.as_str(), understood.message.as_str()), ("SITUATION\n- x", ""));
        assert!(notes.unwrap().thought && stages.has_thought());
        let (reply, understood, notes) = sorted(&stages, &Native, "It is sunny.");
        assert_eq!(
            (reply.text.as_str(), understood.message.as_str(), notes),
            ("It is sunny.", "It is sunny.", None)
        );
        let more = "MEMORY CANDIDATES\n- {\"text\": \"b\"}\n- {\"text\": \"c\"}";
        sorted(&stages, &Native, more);
        let texts: Vec<Value> = stages.so_far().candidates.iter().map(|one| one["text"].clone()).collect();
        assert_eq!(texts, ["a", "b"], "two a turn");
    }

    #[test]
    fn notes_come_in_objects_too() {
        let protocol = JsonText { render_tools: true };
        let stages = Stages::new(true, String::new());
        let only = json!({ "notes": NOTES }).to_string();
        let (reply, understood, notes) = sorted(&stages, &protocol, &only);
        assert_eq!(
            (reply.text.as_str(), understood.message.as_str(), understood.status),
            ("SITUATION\n- x", "", None)
        );
        assert_eq!(notes.unwrap().candidates.len(), 1);
        let end = json!({"status": "SUCCESS", "summary": "Sunny.", "notes": "MEMORY CANDIDATES\n- NONE"})
            .to_string();
        let (_, understood, notes) = sorted(&stages, &protocol, &end);
        assert_eq!(understood.message, "Sunny.");
        assert!(understood.status.is_some() && !notes.unwrap().thought);
        let (_, understood, _) =
            sorted(&stages, &protocol, &json!({"status": "SUCCESS", "summary": NOTES}).to_string());
        assert_eq!((understood.message.as_str(), understood.status), ("", None));
        let (_, understood, notes) = sorted(&stages, &protocol, r#"{"tool_calls": [{"name": "tree"}]}"#);
        assert_eq!((understood.calls.len(), notes), (1, None));
    }

    #[test]
    fn every_template_renders() {
        for (json, framing) in [(false, ""), (true, ""), (false, "Frame the goal."), (true, "Frame it.")] {
            let stages = Stages::new(json, framing.into());
            let mut request = Request { messages: vec![Message::system("Rules.")], ..Request::default() };
            stages.prepare(&mut request);
            let text = request.messages[0].content().to_string();
            assert!(
                text.starts_with("Rules.\n\n#") && !text.contains("failed:") && text.len() < 5_000,
                "{text}"
            );
            assert_eq!(request.step.as_deref(), Some("think"));
            insta::assert_snapshot!(format!("think_{json}_{}", framing.len()), text);
        }
        let stages = Stages::new(false, String::new());
        stages.recall_by(Box::new(|queries| queries.iter().map(|query| format!("found {query}")).collect()));
        let notes = Notes { queries: vec!["a".into()], problems: vec!["p".into()], ..Notes::default() };
        let word = stages.word(&notes, true, false).unwrap();
        assert!(word.contains("found a") && word.contains("- p") && word.contains("plain words"), "{word}");
        assert_eq!(stages.word(&Notes::default(), false, false), None);
    }
}
