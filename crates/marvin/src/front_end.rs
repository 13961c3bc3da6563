//! The non-interactive front ends: raw text, one result object, one event per line.
//!
//! They show what the trace holds and decide nothing.

use crate::output;
use clap::ValueEnum;
use marvin_agent::Notice;
use marvin_agent::trace::Listener;
use marvin_base::redact::{Redactor, Scope, StreamRedactor};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Text is buffered up to this size while more of it has already arrived.
const MAX_BUFFERED_BYTES: usize = 8 * 1024;

/// Time between two lines about the progress of a slow model.
const READING_INTERVAL: Duration = Duration::from_secs(10);

/// The content of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Raw text, as it arrives
    Text,
    /// One result object
    Json,
    /// One event per line, the last being the result
    StreamJson,
}

/// The state of the reader of standard output.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    gone: AtomicBool,
}

impl Reader {
    /// Whether standard output could not be written.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

/// The listener for an output format. A closed pipe cancels the run, whose output would be lost.
pub(crate) fn listener(
    format: OutputFormat,
    redactor: Arc<Redactor>,
    schema: bool,
    reader: Arc<Reader>,
    cancel: CancellationToken,
) -> Listener {
    let mut front_end = NonInteractiveFrontEnd {
        format,
        // The answer goes to the caller: only certain secrets are redacted.
        stream: StreamRedactor::with_scope(redactor.clone(), Scope::Caller),
        redactor,
        pending: String::new(),
        at_line_start: true,
        schema,
        item: String::new(),
        reading: None,
        reader,
        cancel,
    };
    Box::new(move |notice| front_end.show(&notice))
}

/// A part of a message that is still arriving.
#[derive(Serialize)]
struct ItemUpdate<'a> {
    r#type: &'a str,
    item: ItemPart<'a>,
}

#[derive(Serialize)]
struct ItemPart<'a> {
    id: &'a str,
    r#type: &'a str,
    /// Why the parts before this one are void.
    #[serde(skip_serializing_if = "Option::is_none")]
    restarted: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<&'a str>,
}

struct NonInteractiveFrontEnd {
    format: OutputFormat,
    stream: StreamRedactor,
    redactor: Arc<Redactor>,
    pending: String,
    at_line_start: bool,
    schema: bool,
    item: String,
    /// When the progress of a slow model was told last.
    reading: Option<Instant>,
    reader: Arc<Reader>,
    cancel: CancellationToken,
}

impl NonInteractiveFrontEnd {
    fn show(&mut self, notice: &Notice<'_>) {
        match notice {
            Notice::Piece { item, text } => {
                if self.item != *item {
                    self.end_item();
                    if self.format == OutputFormat::Text && !self.item.is_empty() {
                        self.start_line();
                    }
                    self.item = (*item).to_string();
                }
                if self.format != OutputFormat::Json {
                    self.stream.push(text);
                    if self.stream.held() >= MAX_BUFFERED_BYTES {
                        self.flow();
                    }
                }
            }
            Notice::Reading { done, total } if self.format == OutputFormat::Text => {
                if self.reading.is_none_or(|told| told.elapsed() >= READING_INTERVAL) {
                    self.reading = Some(Instant::now());
                    output::talk(&format!("marvin: the model has read {done} of {total} tokens"));
                }
            }
            Notice::Reading { .. } => {}
            Notice::Idle => self.flow(),
            Notice::Restart { item, reason } => {
                self.end_item();
                let reason = self.redactor.text(reason).into_owned();
                match self.format {
                    OutputFormat::Text => self.start_line(),
                    // A program that joins parts must know that those before this line are void.
                    OutputFormat::StreamJson => self.write_update(item, Some(&reason), None),
                    OutputFormat::Json => {}
                }
                output::talk(&format!("marvin: the answer is not complete ({reason}); asking again"));
            }
            Notice::Event(event) => {
                self.end_item();
                self.event(event);
            }
        }
    }

    /// Shows what was held back of the item that just ended.
    fn end_item(&mut self) {
        self.stream.finish(&mut self.pending);
        self.flush();
    }

    /// Shows what may be shown of the item that is arriving.
    fn flow(&mut self) {
        self.stream.drain(&mut self.pending);
        self.flush();
    }

    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.pending);
        match self.format {
            OutputFormat::Text => {
                self.at_line_start = text.ends_with('\n');
                self.write(&text);
            }
            OutputFormat::StreamJson => {
                let item = std::mem::take(&mut self.item);
                self.write_update(&item, None, Some(&text));
                self.item = item;
            }
            OutputFormat::Json => {}
        }
        self.pending = text;
        self.pending.clear();
    }

    fn event(&mut self, event: &Value) {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        match self.format {
            OutputFormat::StreamJson => self.write(&format!("{event}\n")),
            OutputFormat::Json if kind == "result" => self.write(&format!("{event}\n")),
            OutputFormat::Text if kind == "tools.started" => {
                let names: Vec<&str> = event
                    .get("tools")
                    .and_then(Value::as_array)
                    .map(|tools| tools.iter().filter_map(Value::as_str).collect())
                    .unwrap_or_default();
                self.start_line();
                let names: Vec<String> = names.iter().map(|name| plain_name(name)).collect();
                self.write(&format!("  🔧 {}\n", names.join(", ")));
            }
            OutputFormat::Text if kind == "result" => {
                if self.schema
                    && let Some(text) = event.get("text").and_then(Value::as_str)
                {
                    self.write(text);
                    self.at_line_start = text.is_empty();
                }
                self.start_line();
                warn_of_tampering(event);
            }
            OutputFormat::Json if kind == "notice" && is_tampering(event) => {
                output::talk(&format!("warning: {}", notice_text(event)));
            }
            OutputFormat::Text if kind == "notice" => {
                let word = if is_tampering(event) { "warning" } else { "note" };
                output::talk(&format!("{word}: {}", notice_text(event)));
            }
            OutputFormat::Text if kind == "memory.proposed" => {
                let waiting = waiting(event);
                if waiting > 0 {
                    self.start_line();
                    output::talk(&format!(
                        "note: {waiting} to remember, if you agree: marvin memory pending"
                    ));
                }
            }
            OutputFormat::Text | OutputFormat::Json => {}
        }
    }

    fn write_update(&mut self, id: &str, restarted: Option<&str>, delta: Option<&str>) {
        let item = ItemPart { id, r#type: "message", restarted, delta };
        if let Ok(event) = serde_json::to_string(&ItemUpdate { r#type: "item.updated", item }) {
            self.write(&format!("{event}\n"));
        }
    }

    fn start_line(&mut self) {
        if !self.at_line_start {
            self.write("\n");
        }
        self.at_line_start = true;
    }

    fn write(&mut self, text: &str) {
        if self.reader.is_gone() {
            return;
        }
        let written =
            if self.format == OutputFormat::Text { output::raw(text) } else { output::json_line(text) };
        if let Err(failure) = written {
            self.reader.gone.store(true, Ordering::Relaxed);
            output::error(&failure.to_string());
            self.cancel.cancel();
        }
    }
}

fn notice_text(event: &Value) -> String {
    output::visible(event.get("text").and_then(Value::as_str).unwrap_or_default())
}

fn is_tampering(event: &Value) -> bool {
    event.get("kind").and_then(Value::as_str) == Some(marvin_base::trace_event::NoticeKind::Tampering.word())
}

/// Repeats at the end which protected files commands changed.
fn warn_of_tampering(result: &Value) {
    let paths = result.get("tampered").and_then(Value::as_array);
    let paths: Vec<&str> = paths.into_iter().flatten().filter_map(Value::as_str).collect();
    if !paths.is_empty() {
        let list = output::visible(&paths.join(", "));
        output::talk(&format!("warning: changed by commands of this run, look before you use them: {list}"));
    }
}

/// The number of memory candidates of an event that wait for a person.
fn waiting(event: &Value) -> usize {
    let pending = |outcome: &Value| outcome.get("status").and_then(Value::as_str) == Some("pending");
    let waits = |one: &&Value| {
        one.get("outcome").and_then(Value::as_array).is_some_and(|all| all.iter().any(pending))
    };
    event.get("candidates").and_then(Value::as_array).into_iter().flatten().filter(waits).count()
}

/// A tool's name as a model wrote it, on one line and without control characters.
fn plain_name(name: &str) -> String {
    let safe: String = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    marvin_base::truncate::line(&safe, 80)
}
