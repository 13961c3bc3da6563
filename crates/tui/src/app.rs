//! State of the front end: the shown content and the position of the person in it. It decides nothing; requests of the person leave it as
//! an [`Effect`].

use crate::editor::Editor;
use crate::panel::Panel;
use crate::theme::Theme;
use crate::transcript::{Call, Content, Tone, Transcript};
use marvin_agent::chat::{
    Answer, Approval, Completion, Event, InputHistory, Kind, Message, Reply, RunRow, ServitorRow, Status,
};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A question that just appeared is not answered by a key that was meant for something else.
const CALM: Duration = Duration::from_millis(500);

/// Effect of an input outside of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A line was sent: a command or a prompt.
    Line(String),
    /// Interrupt the running turn.
    Cancel,
    /// Answer what waits.
    Answer(String, Answer),
    /// Open a file in the person's editor.
    Edit(PathBuf),
    /// Show a panel: look up what it shows.
    Look(&'static str),
    Voice(u64),
    Copy(String),
    Quit,
}

/// A search in what was typed.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pub(crate) words: String,
    pub(crate) at: usize,
    pub(crate) failed: bool,
}

/// Candidates for the word at the cursor.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) completion: Completion,
    pub(crate) at: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct App {
    pub(crate) theme: Theme,
    pub(crate) transcript: Transcript,
    pub(crate) editor: Editor,
    pub(crate) status: Option<Status>,
    /// Tokens of the prompt that the model has read, of how many.
    pub(crate) reading: Option<(u64, u64)>,
    pub(crate) approvals: Vec<Approval>,
    /// The first question that asks for attention, and since when it does.
    asked: Option<(String, Instant)>,
    pub(crate) panel: Option<Panel>,
    pub(crate) search: Option<Search>,
    pub(crate) choice: Option<Choice>,
    /// The question that is answered by what is typed.
    pub(crate) answering: Option<String>,
    /// Said once, at the bottom, until the next key.
    pub(crate) flash: Option<String>,
    pub(crate) typed: InputHistory,
    /// Which of the typed lines is shown, and what was there before.
    recalled: Option<(usize, String)>,
    /// The first block of the running turn, and its question.
    turn: Option<usize>,
    pub(crate) commands: usize,
    pub(crate) quitting: bool,
    /// How large the transcript was when it was last drawn.
    pub(crate) size: (usize, usize),
    last_interrupt: Option<Instant>,
}

impl App {
    pub(crate) fn new(theme: Theme) -> Self {
        App {
            theme,
            transcript: Transcript::new(),
            editor: Editor::default(),
            status: None,
            reading: None,
            approvals: Vec::new(),
            asked: None,
            panel: None,
            search: None,
            choice: None,
            answering: None,
            flash: None,
            typed: InputHistory::default(),
            recalled: None,
            turn: None,
            commands: 0,
            quitting: false,
            size: (80, 20),
            last_interrupt: None,
        }
    }

    /// Shows a conversation from its beginning.
    pub(crate) fn show(&mut self, messages: &[Arc<Message>], welcome: &str) {
        self.transcript.clear();
        self.turn = None;
        for message in messages {
            self.transcript.push(Content::Said(message.clone()));
        }
        if messages.is_empty() {
            self.transcript.push(Content::Note(welcome.to_string(), Tone::Plain));
        } else {
            let text =
                format!("session resumed: {}", marvin_base::printable::count(messages.len(), "message"));
            self.transcript.push(Content::Note(text, Tone::Quiet));
        }
        self.transcript.go_to_end();
    }

    /// How the conversation stands now.
    pub(crate) fn stands(&mut self, status: Status, approvals: Vec<Approval>) {
        if !status.busy {
            self.turn = None;
        }
        self.status = Some(status);
        self.approvals = approvals;
        let first = self.question().map(|approval| approval.id.clone());
        if self.asked.as_ref().map(|(id, _)| id) != first.as_ref() {
            self.asked = first.map(|id| (id, Instant::now()));
        }
        if let Some(Panel::Approvals { at, .. }) = &mut self.panel {
            *at = (*at).min(self.approvals.len().saturating_sub(1));
        }
    }

    pub(crate) fn busy(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.busy)
    }

    /// The question that is shown above the input: a call that waits, or a turn that was interrupted.
    pub(crate) fn question(&self) -> Option<&Approval> {
        let urgent =
            |approval: &&Approval| approval.kind == Kind::Command || approval.id.starts_with("turn:");
        self.approvals.iter().find(urgent).filter(|_| self.answering.is_none())
    }

    /// Whether a key answers the question above the input.
    pub(crate) fn may_answer(&self) -> bool {
        self.editor.is_empty() && self.asked.as_ref().is_some_and(|(_, since)| since.elapsed() >= CALM)
    }

    /// For how long a key does not answer it yet.
    pub(crate) fn calm_left(&self) -> Option<Duration> {
        self.asked.as_ref().and_then(|(_, since)| CALM.checked_sub(since.elapsed()))
    }

    /// Applies an event; true when the status of the conversation must be asked for again.
    pub(crate) fn event(&mut self, event: &Event) -> bool {
        let data = &event.data;
        let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
        match event.kind.as_str() {
            "turn.started" => {
                let message = Message {
                    number: 0,
                    role: "you".into(),
                    text: text("prompt").into(),
                    time: String::new(),
                    run: None,
                };
                self.turn = Some(self.transcript.push(Content::Said(Arc::new(message))));
                self.transcript.go_to_end();
            }
            "item.started" | "item.updated" | "item.completed" => {
                self.reading = None;
                self.item(&event.kind, data.get("item").unwrap_or(&Value::Null));
            }
            "message" => self.message(data),
            // From outside of the conversation: an alarm, a message of a topic.
            "notice" if !text("source").is_empty() => self.note(text("text"), Tone::Plain),
            "notice" => self.note(text("text"), Tone::Quiet),
            // A tool of the turn ended the conversation.
            "leave" => self.quitting = true,
            "verification.completed" | "verification.checked" => {
                let what = data.pointer("/commitment/assertion").and_then(Value::as_str);
                let how = data.pointer("/commitment/status").and_then(Value::as_str);
                if let (Some(what), Some(how)) = (what, how) {
                    self.note(&format!("{how}: {what}"), Tone::Quiet);
                }
            }
            "servitor.summoned" => self.note(&format!("{}: summoned", text("name")), Tone::Quiet),
            "servitor.dismissed" => self.note(&format!("{}: dismissed", text("name")), Tone::Quiet),
            "servitor.state" => {
                let why = match text("reason") {
                    "" => String::new(),
                    reason => format!(" ({reason})"),
                };
                self.note(&format!("{}: {}{why}", text("name"), text("to")), Tone::Quiet);
            }
            "model.reading" => {
                let number = |key: &str| data.get(key).and_then(Value::as_u64);
                self.reading = number("done").zip(number("total"));
            }
            "status" | "approval.asked" | "approval.answered" | "waiting" | "queued" | "gap" => return true,
            _ => {}
        }
        false
    }

    pub(crate) fn note(&mut self, text: &str, tone: Tone) {
        if !text.trim().is_empty() {
            self.transcript.push(Content::Note(text.trim_end().to_string(), tone));
        }
    }

    fn item(&mut self, kind: &str, item: &Value) {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let from = self.turn.unwrap_or(0);
        match (kind, text("type")) {
            ("item.started", "tool_call") => {
                self.transcript.push(Content::Call(Call {
                    item: text("id").to_string(),
                    name: text("name").to_string(),
                    arguments: item.get("arguments").cloned().unwrap_or_default(),
                    ended: None,
                    open: false,
                }));
            }
            ("item.completed", "tool_call") => {
                let id = text("id");
                let found = self
                    .transcript
                    .find(from, |content| matches!(content, Content::Call(call) if call.item == id));
                if let Some(at) = found {
                    self.transcript.call(at, |call| call.ended = Some(item.clone()));
                }
            }
            (_, "message") => {
                let id = text("id");
                let found = self
                    .transcript
                    .find(from, |content| matches!(content, Content::Arriving(item, _) if item == id));
                match (found, kind) {
                    (Some(at), "item.completed") => {
                        let same = matches!(self.transcript.content(at), Some(Content::Arriving(_, shown)) if shown == text("text"));
                        if !same {
                            self.transcript
                                .put(at, Content::Arriving(id.to_string(), text("text").to_string()));
                        }
                    }
                    (Some(at), _) if item.get("restarted").is_some() => {
                        self.transcript.put(at, Content::Arriving(id.to_string(), String::new()));
                    }
                    (Some(at), _) => self.transcript.append(at, text("delta")),
                    (None, "item.completed") => {
                        self.transcript.push(Content::Arriving(id.to_string(), text("text").to_string()));
                    }
                    (None, _) if item.get("restarted").is_none() => {
                        self.transcript.push(Content::Arriving(id.to_string(), text("delta").to_string()));
                    }
                    (None, _) => {}
                }
            }
            _ => {}
        }
    }

    /// Replaces a text that was shown while it arrived by the stored message.
    fn message(&mut self, data: &Value) {
        let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
        let number = data.get("number").and_then(Value::as_u64).unwrap_or(0);
        let message = Arc::new(Message {
            number,
            role: text("role"),
            text: text("text"),
            time: text("time"),
            run: None,
        });
        let from = self.turn;
        let place = match (message.role.as_str(), from) {
            ("you", Some(at)) => matches!(self.transcript.content(at), Some(Content::Said(_))).then_some(at),
            ("assistant", Some(from)) => {
                let same = |content: &Content| matches!(content, Content::Arriving(_, shown) if shown.trim() == message.text.trim());
                self.transcript.find(from, same)
            }
            _ => None,
        };
        match place {
            // Where something came after it, it stays where it was said.
            Some(at) => self.transcript.put(at, Content::Said(message)),
            None => {
                self.transcript.push(Content::Said(message));
            }
        }
    }

    /// Shows the reply to a line.
    pub(crate) fn reply(&mut self, reply: Reply) -> Vec<Effect> {
        match reply {
            Reply::Text(text) => self.note(&text, Tone::Plain),
            Reply::Changed(text) => self.flash = Some(text),
            Reply::Wrong(text) => self.note(&text, Tone::Bad),
            Reply::Sent(_) | Reply::Ran(_) => {}
            Reply::Edit { path, .. } => return vec![Effect::Edit(path)],
            Reply::Again(text) => {
                self.flash = Some(text);
                return vec![Effect::Look("messages")];
            }
            Reply::Input(text) => {
                self.editor.set(&text);
                self.flash = Some("undone: the last prompt is back in the input".into());
                return vec![Effect::Look("messages")];
            }
            Reply::Speech(text) => {
                self.editor.insert(&text);
                self.flash = Some("the recording is in the input: change it, or send it".into());
            }
            Reply::Returned(text) => self.take_back(&text),
            Reply::Panel("help", _) => self.panel = Some(Panel::help()),
            Reply::Panel(name, _) => return vec![Effect::Look(name)],
            Reply::Voice(seconds) => return vec![Effect::Voice(seconds)],
            Reply::Quit => return vec![Effect::Quit],
        }
        Vec::new()
    }

    /// Puts a prompt that waited back into the input, before what is typed there.
    pub(crate) fn take_back(&mut self, text: &str) {
        let typed = self.editor.take();
        let whole = if typed.trim().is_empty() { text.to_string() } else { format!("{text}\n{typed}") };
        self.editor.set(&whole);
        self.flash = Some("interrupted: the prompt that waited is back in the input".into());
    }

    pub(crate) fn show_servitors(&mut self, rows: Vec<ServitorRow>) {
        self.panel = Some(Panel::Servitors { rows, scroll: 0 });
    }

    pub(crate) fn show_runs(&mut self, rows: Vec<RunRow>) {
        self.panel = Some(Panel::Runs { rows, scroll: 0 });
    }

    pub(crate) fn send(&mut self) -> Vec<Effect> {
        if let Some(id) = self.answering.take() {
            let text = self.editor.take();
            if text.trim().is_empty() {
                return Vec::new();
            }
            return vec![Effect::Answer(id, Answer::Edit(text))];
        }
        if self.editor.text().trim().is_empty() {
            return Vec::new();
        }
        let line = self.editor.take();
        self.recalled = None;
        if self.typed.add(&line).is_err() {
            self.flash =
                Some("what you type cannot be kept; the directory of the profile is not writable".into());
        }
        self.transcript.go_to_end();
        vec![Effect::Line(line)]
    }

    /// A line up in what is typed; from the first, to what was typed before.
    pub(crate) fn up(&mut self) {
        if !self.editor.up() {
            self.recall(true);
        }
    }

    /// A line down; from the last, to what was typed after.
    pub(crate) fn down(&mut self) {
        if !self.editor.down() {
            self.recall(false);
        }
    }

    /// Calls back the line before; or the one after.
    fn recall(&mut self, back: bool) {
        let lines = self.typed.lines();
        let (at, draft) = match self.recalled.take() {
            Some((at, draft)) => (at, draft),
            None => (lines.len(), self.editor.text().to_string()),
        };
        let next = if back { at.checked_sub(1) } else { Some(at + 1) };
        match next {
            Some(next) if next < lines.len() => {
                let line = lines.get(next).cloned().unwrap_or_default();
                self.editor.set(&line);
                self.recalled = Some((next, draft));
            }
            Some(_) => self.editor.set(&draft),
            None => self.recalled = Some((at, draft)),
        }
    }

    /// Looks for the words of the search, from the newest line below `below` on.
    pub(crate) fn look_up(&mut self, below: usize) {
        let Some(search) = &mut self.search else { return };
        match self.typed.search(&search.words, below) {
            Some((at, line)) => {
                search.at = at;
                search.failed = false;
                let line = line.to_string();
                self.editor.set(&line);
            }
            None => search.failed = true,
        }
    }

    /// Breaks off what runs; else clears what is typed; twice in a row leaves.
    pub(crate) fn interrupt(&mut self) -> Vec<Effect> {
        if self.busy() {
            self.flash = Some("breaking off …".into());
            return vec![Effect::Cancel];
        }
        if !self.editor.is_empty() {
            self.editor.take();
            return Vec::new();
        }
        let again = self.last_interrupt.is_some_and(|last| last.elapsed() < Duration::from_secs(2));
        self.last_interrupt = Some(Instant::now());
        if again {
            return vec![Effect::Quit];
        }
        self.flash = Some("Ctrl+C once more, or Ctrl+D, to leave".into());
        Vec::new()
    }

    /// Takes a completion: one candidate is put in, several are shown.
    pub(crate) fn complete(&mut self, completion: Completion) {
        match completion.candidates.as_slice() {
            [] => self.flash = Some("nothing begins like this".into()),
            [one] => {
                let end = if one.ends_with('/') { "" } else { " " };
                self.editor.replace(completion.start, &format!("{one}{end}"));
                self.choice = None;
            }
            [first, rest @ ..] => {
                let common = rest.iter().fold(first.as_str(), |common, other| {
                    let same = common.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
                    let end = same.last().map_or(0, |((at, char), _)| at + char.len_utf8());
                    common.get(..end).unwrap_or_default()
                });
                let typed = self.editor.cursor().saturating_sub(completion.start);
                if common.len() > typed {
                    self.editor.replace(completion.start, common);
                }
                self.choice = Some(Choice { completion, at: None });
            }
        }
    }

    /// The next candidate, or the one before.
    pub(crate) fn choose(&mut self, back: bool) {
        let Some(choice) = &mut self.choice else { return };
        let count = choice.completion.candidates.len();
        let at = match (choice.at, back) {
            (None, false) => 0,
            (None, true) => count.saturating_sub(1),
            (Some(at), false) => (at + 1) % count.max(1),
            (Some(at), true) => at.checked_sub(1).unwrap_or(count.saturating_sub(1)),
        };
        choice.at = Some(at);
        if let Some(text) = choice.completion.candidates.get(at) {
            let (start, text) = (choice.completion.start, text.clone());
            self.editor.replace(start, &text);
        }
    }

    /// The last answer, byte for byte.
    pub(crate) fn last_answer(&self) -> Option<String> {
        let is_answer =
            |content: &Content| matches!(content, Content::Said(message) if message.role == "assistant");
        match self.transcript.content(self.transcript.find(0, is_answer)?) {
            Some(Content::Said(message)) => Some(message.text.clone()),
            _ => None,
        }
    }
}
