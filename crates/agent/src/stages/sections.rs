//! Parser of a model's notes, which consist of sections: a heading alone on its line, then lines.
//!
//! Well-formed parts count; others are recorded as problems, and nothing is guessed. Speech is the text before the first heading:
//! all that a person may see of such a reply.
//!
//! Limits: a heading is one of ours, alone on its line, perhaps with Markdown around it. Two of them (`TOOL REQUESTS`,
//! `MEMORY CANDIDATES`) and the line above a request belong to the shell anywhere; common words (`PLAN`) are headings only where
//! a text begins with them, or where one of the shell's own follows.

use marvin_model::{Arguments, ToolCall};
use serde_json::{Map, Value};

pub(super) const MAX_CANDIDATES: usize = marvin_memory::memory::MAX_CANDIDATES_PER_TURN;
/// Queries of the short-term memory.
const MAX_QUERIES: usize = 3;
/// Requests of one reply; with a framed goal fewer.
const MAX_REQUESTS: usize = 8;
const MAX_FRAMED_REQUESTS: usize = 2;
const MAX_PROBLEMS: usize = 8;
/// The line above a request.
const REQUEST: &str = "=== TOOL REQUEST ===";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heading {
    Situation,
    Plan,
    StmQuery,
    ToolRequests,
    MemoryCandidates,
    GoingOn,
    GoalCandidate,
    Constraints,
    Ambiguity,
    GoalModel,
}

const HEADINGS: [(&str, Heading); 10] = [
    ("SITUATION", Heading::Situation),
    ("PLAN", Heading::Plan),
    ("STM QUERY", Heading::StmQuery),
    ("TOOL REQUESTS", Heading::ToolRequests),
    ("MEMORY CANDIDATES", Heading::MemoryCandidates),
    ("GOING ON", Heading::GoingOn),
    ("GOAL CANDIDATE", Heading::GoalCandidate),
    ("CONSTRAINTS", Heading::Constraints),
    ("AMBIGUITY", Heading::Ambiguity),
    ("GOAL MODEL", Heading::GoalModel),
];

impl Heading {
    /// Whether only the shell uses this heading, and no answer does.
    fn is_ours(self) -> bool {
        !matches!(self, Heading::Situation | Heading::Plan | Heading::Constraints | Heading::Ambiguity)
    }

    /// Whether it is removed before the answer is requested.
    fn is_removed(self) -> bool {
        matches!(self, Heading::ToolRequests | Heading::MemoryCandidates | Heading::GoingOn)
    }

    /// Whether it holds thoughts, so that an answer is still to come.
    fn is_thought(self) -> bool {
        !self.is_removed() && self != Heading::StmQuery
    }
}

/// A parsed reply in sections.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Notes {
    /// Text before the sections, for the person.
    pub speech: String,
    /// The sections as they came.
    pub whole: String,
    pub sanitised: String,
    /// Whether it begins with thoughts, rather than with something added to an answer.
    pub thought: bool,
    /// Queries of the short-term memory.
    pub queries: Vec<String>,
    pub requests: Vec<ToolCall>,
    /// Candidates for memory, not checked yet.
    pub candidates: Vec<Value>,
    /// The new conversation state, as the model gave it.
    pub state: Option<String>,
    /// Parts that could not be parsed.
    pub problems: Vec<String>,
}

impl Notes {
    /// Reads a reply; none when it has no sections. `framed`: a goal is framed first, and fewer requests count.
    #[must_use]
    pub fn read(text: &str, framed: bool) -> Option<Notes> {
        let begin = beginning(text)?;
        let (speech, whole) = text.split_at_checked(begin)?;
        // The beginning of a fence around the sections does not count as speech.
        let spoken = |line: &str| !line.trim().is_empty() && !is_fence(line);
        let speech = if speech.lines().any(spoken) { speech.trim_end() } else { "" };
        let mut reader = Reader {
            framed,
            notes: Notes { speech: speech.into(), whole: whole.trim().into(), ..Notes::default() },
            ..Reader::default()
        };
        whole.lines().for_each(|line| reader.line(line));
        reader.close();
        let mut notes = reader.notes;
        notes.sanitised = notes.sanitised.trim().to_string();
        notes.problems.truncate(MAX_PROBLEMS);
        Some(notes)
    }
}

/// A line without the Markdown of a heading around it.
fn bare(line: &str) -> &str {
    line.trim().trim_matches(|char: char| matches!(char, '#' | '*' | '_' | ':' | ' ' | '\t'))
}

fn heading(line: &str) -> Option<Heading> {
    let line = bare(line);
    HEADINGS.iter().find(|(name, _)| *name == line).map(|(_, heading)| *heading)
}

/// Whether a line begins a part that is not for people.
pub(super) fn is_begun_by(line: &str) -> bool {
    heading(line).is_some() || line.trim() == REQUEST
}

/// Whether an incomplete line could become such a line.
pub(super) fn may_become(line: &str) -> bool {
    let (trimmed, start) = (line.trim(), bare(line));
    trimmed.is_empty()
        || REQUEST.starts_with(trimmed)
        || start.is_empty()
        || HEADINGS.iter().any(|(name, _)| name.starts_with(start))
}

pub(super) fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// Offset of the first section, if there is one.
fn beginning(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut first_line = true;
    let mut first_heading = None;
    for line in text.split_inclusive('\n') {
        let plain = line.trim();
        let ours = plain == REQUEST || heading(line).is_some_and(Heading::is_ours);
        if ours {
            return Some(first_heading.unwrap_or(at));
        }
        if heading(line).is_some() {
            if first_line && HEADINGS.iter().any(|(name, _)| *name == plain) {
                return Some(at);
            }
            first_heading.get_or_insert(at);
        }
        first_line &= plain.is_empty() || is_fence(line);
        at += line.len();
    }
    None
}

#[derive(Debug, Default)]
struct Reader {
    framed: bool,
    notes: Notes,
    section: Option<Heading>,
    seen: bool,
    /// The section said that there is nothing.
    none: bool,
    /// A request that is not closed yet.
    request: Option<Request>,
    /// A bullet that may continue.
    bullet: String,
}

#[derive(Debug, Default)]
struct Request {
    tool: Option<String>,
    arguments: Option<String>,
    in_arguments: bool,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if is_fence(line) {
            return;
        }
        if let Some(heading) = heading(line) {
            self.close();
            self.section = Some(heading);
            self.none = false;
            // What comes first says what the reply is: thoughts, or something added to an answer.
            self.notes.thought |= !self.seen && heading.is_thought();
            self.seen = true;
        } else if line.trim() == REQUEST {
            self.close();
            self.seen = true;
            self.section = Some(Heading::ToolRequests);
            self.request = Some(Request::default());
            return;
        } else if self.request.is_some() {
            self.requested(line);
            return;
        } else if is_other_heading(line) {
            self.close();
            self.section = None;
        } else if matches!(line.trim(), "- NONE" | "NONE" | "-NONE" | "* NONE") {
            self.close();
            self.none = true;
        } else {
            self.content(line);
        }
        if !self.section.is_some_and(Heading::is_removed) {
            self.notes.sanitised.push_str(line);
            self.notes.sanitised.push('\n');
        }
    }

    fn content(&mut self, line: &str) {
        if self.none || line.trim().is_empty() {
            return;
        }
        match self.section {
            Some(Heading::MemoryCandidates | Heading::GoalModel | Heading::GoingOn) => match bullet(line) {
                Some(text) => {
                    self.end_bullet();
                    self.bullet = text.to_string();
                }
                None => {
                    self.bullet.push('\n');
                    self.bullet.push_str(line);
                }
            },
            Some(Heading::StmQuery) => {
                let query = bullet(line).unwrap_or(line).trim();
                if self.notes.queries.len() < MAX_QUERIES {
                    self.notes.queries.push(query.to_string());
                } else {
                    self.problem(format!(
                        "STM QUERY has more than {MAX_QUERIES} lines; the rest was left out"
                    ));
                }
            }
            Some(Heading::ToolRequests) => {
                self.problem(format!("TOOL REQUESTS: `{}` stands outside of a request", short(line)));
            }
            _ => {}
        }
    }

    fn requested(&mut self, line: &str) {
        let Some(request) = &mut self.request else { return };
        let field = |name: &str| line.trim_start().strip_prefix(name).map(str::trim);
        if line.trim() == "STOP" {
            self.end_request(true);
        } else if let Some(tool) = field("TOOL:") {
            request.tool = Some(tool.to_string());
            request.in_arguments = false;
        } else if let Some(arguments) = field("ARGS:") {
            request.arguments = Some(arguments.to_string());
            request.in_arguments = true;
        } else if field("PURPOSE:").is_some() || field("EXPECTS:").is_some() {
            request.in_arguments = false;
        } else if let (true, Some(arguments)) = (request.in_arguments, &mut request.arguments) {
            arguments.push('\n');
            arguments.push_str(line);
        } else if !line.trim().is_empty() {
            let text = short(line);
            self.problem(format!("a tool request has a line that means nothing: `{text}`"));
        }
    }

    fn close(&mut self) {
        self.end_bullet();
        self.end_request(false);
    }

    fn end_request(&mut self, stopped: bool) {
        let Some(request) = self.request.take() else { return };
        let name = request.tool.filter(|tool| !tool.is_empty() && !tool.contains(char::is_whitespace));
        let arguments: Option<Map<String, Value>> =
            request.arguments.and_then(|text| serde_json::from_str(&text).ok());
        let most = if self.framed { MAX_FRAMED_REQUESTS } else { MAX_REQUESTS };
        match (name, arguments) {
            (Some(name), _) if !stopped => {
                self.problem(format!("the request of `{}` has no STOP", short(&name)));
            }
            (Some(name), None) => {
                self.problem(format!(
                    "the request of `{}` has no ARGS that are one JSON object",
                    short(&name)
                ));
            }
            (None, _) => self.problem("a tool request has no TOOL".into()),
            (Some(name), Some(_)) if self.notes.requests.len() >= most => {
                self.problem(format!("more than {most} tool requests; `{}` was left out", short(&name)));
            }
            (Some(name), Some(arguments)) => {
                let id = format!("think_{}", self.notes.requests.len() + 1);
                let arguments = Arguments::Object(arguments);
                self.notes.requests.push(ToolCall { id, name, arguments, opaque: None });
            }
        }
    }

    fn end_bullet(&mut self) {
        let text = std::mem::take(&mut self.bullet);
        if text.trim().is_empty() {
            return;
        }
        let object = serde_json::from_str::<Map<String, Value>>(text.trim());
        match (self.section, object) {
            (Some(Heading::GoalModel), Ok(goal)) => {
                if let Some(wrong) = wrong_goal(&goal) {
                    self.problem(format!("GOAL MODEL: {wrong}"));
                }
            }
            (Some(Heading::GoalModel), Err(error)) => {
                self.problem(format!("GOAL MODEL is not a JSON object ({error})"));
            }
            (Some(Heading::GoingOn), Ok(state)) => self.notes.state = Some(Value::Object(state).to_string()),
            (Some(Heading::GoingOn), Err(error)) => {
                // The memory keeps the old state then, with the person's question as open.
                self.notes.state = Some(text.trim().to_string());
                self.problem(format!("GOING ON is not a JSON object ({error})"));
            }
            (_, Err(error)) => self.problem(format!("a memory candidate is not a JSON object ({error})")),
            (_, Ok(_)) if self.notes.candidates.len() >= MAX_CANDIDATES => {
                self.problem(format!("more than {MAX_CANDIDATES} memory candidates; the rest was left out"));
            }
            (_, Ok(candidate)) => self.notes.candidates.push(Value::Object(candidate)),
        }
    }

    fn problem(&mut self, text: String) {
        if !self.notes.problems.contains(&text) {
            self.notes.problems.push(text);
        }
    }
}

/// First error of a goal.
fn wrong_goal(goal: &Map<String, Value>) -> Option<String> {
    for key in ["goal_id", "description", "origin", "status"] {
        if goal.get(key).and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
            return Some(format!("`{key}` is missing"));
        }
    }
    let origin = goal.get("origin").and_then(Value::as_str).unwrap_or_default();
    (!matches!(origin, "user" | "inferred" | "carried"))
        .then(|| "`origin` is one of user, inferred, carried".to_string())
}

/// Whether a line is an unknown heading: capitals alone on a line.
fn is_other_heading(line: &str) -> bool {
    let line = line.trim();
    line.len() > 2
        && line.chars().any(|char| char.is_ascii_uppercase())
        && line.chars().all(|char| char.is_ascii_uppercase() || matches!(char, ' ' | '_' | '/' | ':'))
        && line != "NONE"
}

fn bullet(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("- ")
        .or_else(|| line.strip_prefix("* "))
        .or_else(|| line.strip_prefix("-{").map(|_| line.trim_start_matches('-')))
}

fn short(text: &str) -> String {
    marvin_base::truncate::line(text, 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"SITUATION
- asks about the weather
- lives in Paris
PLAN
- look it up
STM QUERY
- weather paris
TOOL REQUESTS
=== TOOL REQUEST ===
TOOL: web_search
ARGS: {"query": "weather",
  "max_results": 3}
STOP
MEMORY CANDIDATES
- {"text": "Lives in Paris", "type": "fact", "source": "user_said", "why_store": "said so"}
"#;

    #[test]
    fn the_whole_form_is_understood() {
        let notes = Notes::read(WHOLE, false).unwrap();
        assert_eq!((notes.speech.as_str(), notes.thought), ("", true));
        assert_eq!(notes.queries, ["weather paris"]);
        assert_eq!(notes.requests[0].name, "web_search");
        assert_eq!(notes.requests[0].arguments.object().unwrap()["max_results"], 3);
        assert_eq!(notes.candidates[0]["text"], "Lives in Paris");
        assert!(notes.problems.is_empty(), "{:?}", notes.problems);
        assert!(notes.sanitised.starts_with("SITUATION\n- asks") && notes.sanitised.contains("STM QUERY"));
        for removed in ["TOOL", "web_search", "STOP", "MEMORY", "why_store"] {
            assert!(!notes.sanitised.contains(removed), "{removed}: {}", notes.sanitised);
        }
        let fenced = Notes::read(&format!("```text\n{WHOLE}```"), false).unwrap();
        assert_eq!(
            (fenced.speech.as_str(), fenced.requests, fenced.candidates),
            ("", notes.requests, notes.candidates)
        );
        let none = "SITUATION\n- x\nTOOL REQUESTS\n- NONE\nMEMORY CANDIDATES\n- NONE\n";
        let none = Notes::read(none, false).unwrap();
        assert!(none.requests.is_empty() && none.candidates.is_empty() && none.problems.is_empty());
    }

    #[test]
    fn an_answer_is_not_a_section() {
        for text in [
            "",
            "It is sunny.",
            "Here is the\nPLAN\n- one\n- two",
            "The plan:\n\nPLANNING\nx",
            "# PLAN\n1. one",
            "MEMORY CANDIDATES are things to remember.",
            "```\nlet PLAN = 1;\n```",
        ] {
            assert_eq!(Notes::read(text, false), None, "{text}");
        }
        let appended = Notes::read("It is sunny.\n\nMEMORY CANDIDATES\n- {\"text\": \"x\"}", false).unwrap();
        assert_eq!(
            (appended.speech.as_str(), appended.thought, appended.candidates.len()),
            ("It is sunny.", false, 1)
        );
        let before =
            Notes::read("Let me see.\n**SITUATION**\n- x\n### TOOL REQUESTS:\n- NONE", false).unwrap();
        assert_eq!((before.speech.as_str(), before.thought), ("Let me see.", true));
        assert_eq!(
            Notes::read("Well.\n=== TOOL REQUEST ===\nTOOL: x\nARGS: {}\nSTOP", false)
                .unwrap()
                .requests
                .len(),
            1
        );
    }

    #[test]
    fn malformed_sections_are_reported_and_not_guessed() {
        let text = r#"TOOL REQUESTS
stray
=== TOOL REQUEST ===
TOOL: a
ARGS: {"x": 1
STOP
=== TOOL REQUEST ===
ARGS: {}
STOP
=== TOOL REQUEST ===
TOOL: good
ARGS: {}
STOP
=== TOOL REQUEST ===
TOOL: open
ARGS: {}
MEMORY CANDIDATES
- not json
- ["x"]
- {"text": "one"}
- {"text":
   "two"}
- {"text": "three"}
WHATEVER
- {"text": "four"}
"#;
        let notes = Notes::read(text, false).unwrap();
        assert_eq!(notes.requests.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["good"]);
        assert_eq!(
            notes.candidates.iter().map(|one| one["text"].as_str().unwrap()).collect::<Vec<_>>(),
            ["one", "two"]
        );
        let problems = notes.problems.join("\n");
        for part in [
            "stray",
            "`a` has no ARGS",
            "no TOOL",
            "`open` has no STOP",
            "not a JSON object",
            "more than 2 memory",
        ] {
            assert!(problems.contains(part), "{part}: {problems}");
        }
    }

    #[test]
    fn a_framed_goal_is_checked() {
        let request = "=== TOOL REQUEST ===\nTOOL: t\nARGS: {}\nPURPOSE: p\nEXPECTS: e\nSTOP\n";
        let goal = r#"{"goal_id": "g1", "description": "d", "origin": "user", "priority": 1, "confidence": 0.8, "status": "active"}"#;
        let text = |goal: &str| {
            format!("GOAL CANDIDATE\n- d\nGOAL MODEL\n{goal}\nTOOL REQUESTS\n{}", request.repeat(3))
        };
        let good = Notes::read(&text(goal), true).unwrap();
        assert_eq!((good.requests.len(), good.problems.len()), (2, 1), "{:?}", good.problems);
        let bad = Notes::read(&text(&goal.replace("\"user\"", "\"god\"")), true).unwrap();
        assert!(bad.problems[0].contains("origin"), "{:?}", bad.problems);
        assert!(Notes::read(&text("nonsense"), true).unwrap().problems[0].contains("not a JSON object"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in "(?s).{0,300}", lines in proptest::collection::vec(
            "(SITUATION|PLAN|TOOL REQUESTS|MEMORY CANDIDATES|STM QUERY|=== TOOL REQUEST ===|TOOL: x|ARGS: \\{|ARGS: \\{\\}|STOP|- NONE|- \\{\"text\": 1\\}|```|[a-zé ]{0,9})", 0..30)) {
            drop(Notes::read(&text, false));
            let text = lines.join("\n");
            if let Some(notes) = Notes::read(&text, true) {
                proptest::prop_assert!(notes.requests.len() <= 2 && notes.candidates.len() <= 2 && notes.queries.len() <= 3);
                proptest::prop_assert!(!notes.speech.contains("TOOL REQUESTS\n") && !notes.speech.contains("MEMORY CANDIDATES"));
                proptest::prop_assert!(!notes.sanitised.contains("TOOL REQUEST") && !notes.sanitised.contains("MEMORY CANDIDATES"));
            }
        }
    }
}
