//! The plain front end: a line is a prompt or a command, and the answer follows as it arrives.
//!
//! Nothing moves the cursor, so that it works for screen readers and in pipes: answers on standard output, messages on
//! standard error, no colours.

use super::{OpenConversation, editor, open};
use crate::commands::turn::{self, TurnArguments};
use crate::commands::welcome;
use crate::failure::Failure;
use crate::output;
use crate::runtime::runtime;
use marvin_agent::chat::{Answer, Approval, Chat, Event, InputHistory, Reply, arm_alarms};
use marvin_base::{Exit, truncate};
use marvin_tui::picture::picture_of_event;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};
use serde_json::Value;
use std::io::BufRead;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

/// A line longer than this is not a prompt.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// Runs the conversation until the input ends or the person quits.
pub(super) fn run(arguments: &TurnArguments, at_terminal: bool) -> Result<Exit, Failure> {
    // Empty input gets the welcome instead of a conversation.
    let mut first = None;
    if !at_terminal {
        first = piped()?;
        if first.is_none() {
            return welcome::run(arguments);
        }
    }
    let context = turn::context(arguments, false)?;
    let runtime = runtime()?;
    let OpenConversation { chat, servers, problem } =
        runtime.block_on(open(arguments, context, at_terminal))?;
    let mut plain = PlainFrontEnd {
        lines: Lines::new(at_terminal, &chat)?,
        chat,
        runtime,
        at_terminal,
        exit: Exit::Success,
        seen: 0,
    };
    plain.greet();
    if let Some(problem) = problem {
        output::talk(&problem);
    }
    let ended = plain.live(first);
    let PlainFrontEnd { chat, runtime, exit, .. } = plain;
    runtime.block_on(arm_alarms(&chat.project()));
    runtime.block_on(servers.end());
    ended.map(|()| exit)
}

/// The next line of piped input that is not blank; none at the end.
fn piped() -> Result<Option<String>, Failure> {
    let mut input = std::io::Read::take(std::io::stdin().lock(), MAX_LINE_BYTES);
    loop {
        let mut bytes = Vec::new();
        let read = input.read_until(b'\n', &mut bytes);
        let read =
            read.map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))?;
        if read == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&bytes).trim_end().to_string();
        if !line.is_empty() {
            return Ok(Some(line));
        }
    }
}

/// The source of lines.
enum Lines {
    Terminal(Box<Editor<Words, DefaultHistory>>, InputHistory),
    Piped,
}

/// Completion of commands and names by the conversation.
struct Words(Chat);

impl Completer for Words {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let completion = self.0.complete(line, at);
        Ok((completion.start, completion.candidates))
    }
}

impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}

impl Lines {
    fn new(at_terminal: bool, chat: &Chat) -> Result<Self, Failure> {
        if !at_terminal {
            return Ok(Lines::Piped);
        }
        let cannot = |error: ReadlineError| Failure::failed(format!("the terminal cannot be used: {error}"));
        let mut editor: Editor<Words, DefaultHistory> =
            Editor::with_config(Config::default()).map_err(cannot)?;
        editor.set_helper(Some(Words(chat.clone())));
        let typed = InputHistory::read(&chat.project().layout.typed(&chat.status().profile));
        for line in typed.lines() {
            editor.add_history_entry(line).map_err(cannot)?;
        }
        Ok(Lines::Terminal(Box::new(editor), typed))
    }

    /// The next line; none when there are no more. `begin` is the text to edit.
    fn next(&mut self, prompt: &str, begin: &str) -> Result<Option<String>, Failure> {
        let (editor, _) = match self {
            Lines::Piped => return piped(),
            Lines::Terminal(editor, typed) => (editor, typed),
        };
        let mut whole = String::new();
        loop {
            let line = if whole.is_empty() {
                editor.readline_with_initial(prompt, (begin, ""))
            } else {
                editor.readline("… ")
            };
            match line {
                Ok(line) => match line.strip_suffix('\\') {
                    Some(line) => whole.push_str(&format!("{line}\n")),
                    None => {
                        whole.push_str(&line);
                        return Ok(Some(whole));
                    }
                },
                Err(ReadlineError::Interrupted) => {
                    whole.clear();
                    output::talk("(Ctrl+D or `quit` leaves)");
                }
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(Failure::failed(format!("the terminal cannot be read: {error}"))),
            }
        }
    }

    /// The answer to a question; none where no person can give one.
    fn answer(&mut self, question: &str) -> Option<String> {
        match self {
            Lines::Piped => None,
            Lines::Terminal(editor, _) => editor.readline(question).ok(),
        }
    }

    fn keep(&mut self, line: &str) {
        if let Lines::Terminal(editor, typed) = self {
            editor.add_history_entry(line).ok();
            if let Err(error) = typed.add(line) {
                output::talk(&format!("what you type cannot be kept: {error}"));
            }
        }
    }
}

struct PlainFrontEnd {
    chat: Chat,
    runtime: Runtime,
    lines: Lines,
    at_terminal: bool,
    exit: Exit,
    /// Number of the last event that was looked at.
    seen: u64,
}

impl PlainFrontEnd {
    fn greet(&self) {
        let status = self.chat.status();
        if self.at_terminal {
            output::talk(&format!(
                "Marvin {}: {} {} answers, profile {}, {}. `/help` lists commands, `quit` leaves.",
                env!("CARGO_PKG_VERSION"),
                status.provider,
                status.model,
                status.profile,
                marvin_base::printable::count(status.messages, "message")
            ));
        }
        for approval in self.chat.approvals() {
            if approval.id.starts_with("turn:") {
                output::talk(&format!("{}\n  {}", approval.title, output::visible(&approval.text)));
                output::talk("  `/yes` resumes it, `/no` closes it");
            }
        }
        let waiting = self.chat.approvals().iter().filter(|one| !one.id.starts_with("turn:")).count();
        match waiting {
            0 => {}
            1 => output::talk("1 thing waits for you; `/approvals` shows it"),
            more => output::talk(&format!("{more} things wait for you; `/approvals` shows them")),
        }
    }

    fn live(&mut self, first: Option<String>) -> Result<(), Failure> {
        let (mut next, mut begin) = (first, String::new());
        loop {
            let line = match next.take() {
                Some(line) => Some(line),
                None => {
                    self.show_notifications();
                    let shell = self.chat.status().mode == "shell";
                    self.read_line(if shell { "$ " } else { "> " }, &std::mem::take(&mut begin))?
                }
            };
            let Some(line) = line else { return Ok(()) };
            if line.trim().is_empty() {
                continue;
            }
            self.lines.keep(&line);
            self.show_notifications();
            let after = self.seen;
            match self.runtime.block_on(self.chat.command(&line)) {
                Some(Reply::Quit) => return Ok(()),
                Some(Reply::Text(text) | Reply::Ran(text) | Reply::Panel(_, text)) => {
                    output::line(&self.shown(&text))?;
                }
                Some(Reply::Changed(text) | Reply::Again(text)) => output::talk(&text),
                Some(Reply::Wrong(text)) => {
                    self.exit = Exit::Failed;
                    output::error(&output::visible(&text));
                }
                Some(Reply::Input(text)) => {
                    output::talk("undone: the last prompt is back in the input");
                    begin = text;
                }
                Some(Reply::Speech(text)) => {
                    output::talk("the recording is in the input: change it, or send it");
                    begin = text;
                }
                Some(Reply::Returned(text)) => {
                    output::talk("interrupted: the prompt that waited is back in the input");
                    begin = text;
                }
                Some(Reply::Edit { what, path }) => self.edit(&what, &path),
                Some(Reply::Voice(seconds)) => {
                    let begun = || output::talk(&format!("speak: {seconds} seconds"));
                    match self.runtime.block_on(self.chat.listen(seconds, begun)) {
                        Ok(text) => begin = text,
                        Err(error) => output::error(&error.to_string()),
                    }
                }
                Some(Reply::Sent(_)) => {}
                None => {
                    if let Err(refusal) = self.chat.send(&line) {
                        self.exit = Exit::Failed;
                        output::error(&refusal.to_string());
                    }
                }
            }
            self.follow(after)?;
            if self.chat.is_leaving() {
                return Ok(());
            }
        }
    }

    /// Reads a line in a thread of its own, so that alarms and topics are followed meanwhile.
    fn read_line(&mut self, prompt: &str, begin: &str) -> Result<Option<String>, Failure> {
        let (done, ended) = tokio::sync::oneshot::channel();
        let (lines, runtime) = (&mut self.lines, &self.runtime);
        std::thread::scope(|scope| {
            let reading = scope.spawn(move || {
                let line = lines.next(prompt, begin);
                done.send(()).ok();
                line
            });
            runtime.block_on(ended).ok();
            reading.join().unwrap_or_else(|_| Err(Failure::failed("the input cannot be read")))
        })
    }

    /// Shows what came from outside of the conversation since the last event that was looked at: alarms, messages of topics.
    fn show_notifications(&mut self) {
        let mut events = self.chat.events(Some(self.seen));
        for event in events.ready(usize::MAX) {
            self.seen = event.seq;
            let text = |key: &str| event.data.get(key).and_then(Value::as_str);
            if let ("notice", Some(_), Some(text)) = (event.kind.as_str(), text("source"), text("text")) {
                output::talk(&format!("* {text}"));
            }
        }
    }

    /// Text without control characters on a terminal, and unchanged for a program.
    fn shown(&self, text: &str) -> String {
        if self.at_terminal { output::visible(text) } else { text.to_string() }
    }

    fn edit(&self, what: &str, path: &std::path::Path) {
        if !self.at_terminal {
            output::talk(&format!("{what}: {}", path.display()));
            return;
        }
        let command = editor(&self.chat.project().environment);
        let mut words = command.split_whitespace();
        let Some(program) = words.next() else { return };
        if let Err(error) = std::process::Command::new(program).args(words).arg(path).status() {
            output::error(&format!("`{command}` cannot be started: {error}\n  hint: set EDITOR"));
        }
    }

    /// Shows events until the answer is complete.
    fn follow(&mut self, after: u64) -> Result<(), Failure> {
        let mut events = self.chat.events(Some(after));
        let mut answer = AnswerWriter { at_line_start: true };
        let handle = self.runtime.handle().clone();
        let mut interrupt = {
            let _entered = handle.enter();
            signal(SignalKind::interrupt()).ok()
        };
        loop {
            let mut some = events.ready(1_024);
            if some.is_empty() {
                if !self.chat.status().busy {
                    return answer.start_line();
                }
                let chat = &self.chat;
                some = self.runtime.block_on(async {
                    tokio::select! {
                        some = events.some(1_024) => some,
                        () = pressed(interrupt.as_mut()) => {
                            chat.cancel();
                            Vec::new()
                        }
                    }
                });
            }
            for event in &some {
                self.seen = event.seq;
                self.show(event, &mut answer)?;
            }
        }
    }

    fn show(&mut self, event: &Event, answer: &mut AnswerWriter) -> Result<(), Failure> {
        let text = |path: &str| event.data.pointer(path).and_then(Value::as_str).unwrap_or_default();
        match event.kind.as_str() {
            "item.updated" => answer.piece(text("/item/delta"))?,
            "item.completed" if text("/item/type") == "message" => answer.start_line()?,
            "item.started" if text("/item/type") == "tool_call" => {
                answer.start_line()?;
                let arguments =
                    event.data.pointer("/item/arguments").map(ToString::to_string).unwrap_or_default();
                let line = format!("  {} {}", text("/item/name"), truncate::line(&arguments, 160));
                output::talk(&output::visible(&line));
            }
            "item.completed" if text("/item/type") == "tool_call" => {
                output::talk(&output::visible(&describe_end(&event.data)));
                output::picture(|| picture_of_event(&event.kind, &event.data));
            }
            "notice" if text("/kind") == marvin_base::trace_event::NoticeKind::Tampering.word() => {
                output::talk(&format!("warning: {}", output::visible(text("/text"))));
            }
            "notice" if !text("/source").is_empty() => {
                answer.start_line()?;
                output::talk(&format!("* {}", text("/text")));
            }
            "notice" => output::talk(&format!("note: {}", output::visible(text("/text")))),
            "message" if text("/role") == "system" => {
                self.exit = Exit::Failed;
                answer.start_line()?;
                output::error(&output::visible(text("/text")));
            }
            "result" => self.exit = if text("/status") == "success" { Exit::Success } else { Exit::Failed },
            "approval.asked" => {
                answer.start_line()?;
                let asked = self.chat.approvals().into_iter().find(|approval| approval.id == text("/id"));
                if let Some(asked) = asked {
                    self.ask(&asked);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Asks the person for an approval; everything but a yes is a no.
    fn ask(&mut self, approval: &Approval) {
        output::talk(&format!(
            "{}\n    {}",
            approval.title,
            output::visible(&approval.text).replace('\n', "\n    ")
        ));
        output::talk(&format!("  {}", output::visible(&approval.why)));
        let reply = self.lines.answer("y: yes; n: no; or say why not: ").unwrap_or_default();
        let answer = match reply.trim().to_lowercase().as_str() {
            "y" | "yes" => Answer::Yes,
            "" | "n" | "no" => Answer::No,
            _ => Answer::Edit(reply),
        };
        if let Err(error) = self.chat.answer(&approval.id, &answer) {
            output::error(&error.to_string());
        }
    }
}

/// The end of a tool call in a line: the verdict, or why a call that was allowed failed.
fn describe_end(data: &Value) -> String {
    let text = |path: &str| data.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let is_ok = data.pointer("/item/ok").and_then(Value::as_bool) == Some(true);
    let decision = text("/item/verdict/decision");
    let error = [text("/item/result/error"), text("/item/why")].into_iter().find(|error| !error.is_empty());
    match error.and_then(|error| error.lines().next()) {
        Some(error) if !is_ok && decision == "allow" => format!("  failed: {}", truncate::line(error, 160)),
        _ => {
            let word = if is_ok { "done" } else { "not done" };
            format!("  {word}; {decision}: {}", truncate::line(text("/item/verdict/reason"), 160))
        }
    }
}

async fn pressed(interrupt: Option<&mut tokio::signal::unix::Signal>) {
    match interrupt {
        Some(interrupt) => {
            interrupt.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Writes the answer to standard output.
struct AnswerWriter {
    at_line_start: bool,
}

impl AnswerWriter {
    fn piece(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        self.at_line_start = text.ends_with('\n');
        output::raw(text)
    }

    fn start_line(&mut self) -> Result<(), Failure> {
        if !self.at_line_start {
            output::raw("\n")?;
        }
        self.at_line_start = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_that_was_allowed_and_failed_says_why() {
        let end = |ok: bool, decision: &str, error: Option<&str>| {
            let verdict = json!({"decision": decision, "reason": "the tool is offered to this agent"});
            describe_end(&json!({"item": {"ok": ok, "verdict": verdict, "result": {"error": error}}}))
        };
        assert_eq!(end(true, "allow", None), "  done; allow: the tool is offered to this agent");
        assert_eq!(
            end(false, "allow", Some("cannot read a.txt: it does not exist\n  hint: list the directory")),
            "  failed: cannot read a.txt: it does not exist"
        );
        assert_eq!(
            end(false, "deny", Some("refused")),
            "  not done; deny: the tool is offered to this agent"
        );
    }
}
