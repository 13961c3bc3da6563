//! Tool hosts: the real tools, or a recording of their results.

use crate::progress::{Progress, unnoted};
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::{Touches, Verdict};
use marvin_model::{Message, ToolCall, ToolSpec};
use marvin_tools::{FileHashes, ToolContext, Toolbox};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct ToolCallResult {
    /// The tool's canonical name.
    pub tool: String,
    pub verdict: Verdict,
    pub ok: bool,
    /// Text for the model.
    pub text: String,
    /// Value for the record: summary, data, error, elapsed time, source and confidence.
    pub record: Value,
    /// Notice for the person, such as a tool log that could not be written.
    pub notice: Option<String>,
    /// Repetition according to a recording; else it is computed.
    pub progress: Option<Progress>,
}

/// Record of a call that did not run.
#[derive(Serialize)]
struct ShortRecord {
    ok: bool,
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
}

impl ToolCallResult {
    /// Result of a call that did not run: it was refused, or its result is known from `source`.
    pub(crate) fn not_run(
        call: &ToolCall,
        verdict: Verdict,
        ok: bool,
        text: String,
        source: Option<&'static str>,
    ) -> Self {
        let record = ShortRecord { ok, summary: truncate::line(&text, 200), source };
        ToolCallResult {
            tool: call.name.clone(),
            verdict,
            ok,
            text,
            record: serde_json::to_value(record).unwrap_or_default(),
            notice: None,
            progress: None,
        }
    }

    /// Protected files that it changed: git's configuration and hooks, the project's rules, the record.
    pub(crate) fn tampered(&self) -> Vec<String> {
        let paths = self.record.pointer("/data/tampered").and_then(Value::as_array);
        paths.into_iter().flatten().filter_map(|path| path.as_str().map(str::to_string)).collect()
    }
}

impl From<marvin_tools::CallOutcome> for ToolCallResult {
    fn from(called: marvin_tools::CallOutcome) -> Self {
        ToolCallResult {
            tool: called.tool,
            verdict: called.verdict,
            ok: called.result.ok,
            text: called.result.for_model(),
            record: serde_json::to_value(&called.result).unwrap_or(Value::Null),
            notice: called.notice,
            progress: None,
        }
    }
}

/// Host of tools: takes calls.
#[async_trait]
pub trait ToolHost: Send + Sync {
    /// Every tool of the agent, in a stable order.
    fn specs(&self) -> Vec<ToolSpec>;

    /// The tools that a request with these messages offers, in an order that only grows.
    fn offer(&self, _messages: &[Message]) -> Vec<ToolSpec> {
        self.specs()
    }

    fn knows(&self, name: &str) -> bool;

    /// What a tool touches; nothing for an unknown one.
    fn touches(&self, name: &str) -> Touches;

    /// Whether calls of a tool change something, for the account of the work.
    fn changes(&self, name: &str) -> bool {
        !self.touches(name).changes_nothing()
    }

    /// The files that a call writes, with their hashes now; none for a call that does anything else.
    fn files_to_write(&self, _call: &ToolCall) -> Option<FileHashes> {
        None
    }

    async fn call(&self, call: &ToolCall) -> ToolCallResult;
}

#[derive(Debug)]
pub struct LiveTools {
    toolbox: Arc<Toolbox>,
    context: ToolContext,
}

impl LiveTools {
    /// A toolbox and what its tools may know.
    #[must_use]
    pub fn new(toolbox: impl Into<Arc<Toolbox>>, context: ToolContext) -> Self {
        LiveTools { toolbox: toolbox.into(), context }
    }
}

#[async_trait]
impl ToolHost for LiveTools {
    fn specs(&self) -> Vec<ToolSpec> {
        self.toolbox.specs()
    }

    fn knows(&self, name: &str) -> bool {
        self.toolbox.find(name).is_ok()
    }

    fn touches(&self, name: &str) -> Touches {
        self.toolbox.find(name).map_or(Touches::NOTHING, |tool| tool.touches())
    }

    fn files_to_write(&self, call: &ToolCall) -> Option<FileHashes> {
        self.toolbox.files_to_write(&call.name, &call.arguments, &self.context)
    }

    async fn call(&self, call: &ToolCall) -> ToolCallResult {
        self.toolbox.call(&call.name, &call.arguments, &self.context).await.into()
    }
}

/// Tools that return their recorded results; nothing runs.
#[derive(Debug)]
pub struct RecordedTools {
    specs: Vec<ToolSpec>,
    changing: BTreeSet<String>,
    results: BTreeMap<String, (String, bool)>,
}

impl RecordedTools {
    /// The tools of a toolbox with recorded results, by call id.
    #[must_use]
    pub fn new(toolbox: &Toolbox, results: BTreeMap<String, (String, bool)>) -> Arc<Self> {
        let specs = toolbox.specs();
        let changes = |name: &str| toolbox.find(name).is_ok_and(|tool| !tool.touches().changes_nothing());
        let changing = specs.iter().map(|spec| spec.name.clone()).filter(|name| changes(name)).collect();
        Arc::new(RecordedTools { specs, changing, results })
    }
}

#[async_trait]
impl ToolHost for RecordedTools {
    fn specs(&self) -> Vec<ToolSpec> {
        self.specs.clone()
    }

    fn knows(&self, name: &str) -> bool {
        self.specs.iter().any(|spec| spec.name == name)
    }

    fn touches(&self, _: &str) -> Touches {
        Touches::EXECUTES
    }

    fn changes(&self, name: &str) -> bool {
        self.changing.contains(name)
    }

    async fn call(&self, call: &ToolCall) -> ToolCallResult {
        let (text, ok, progress) = match self.results.get(&call.id) {
            Some((text, ok)) => {
                let (text, progress) = unnoted(text);
                (text.to_string(), *ok, progress)
            }
            // The recorded run went no further: no result of this call ever reached the model.
            None => ("the recorded run ended at this call".to_string(), false, Progress::Stuck(0)),
        };
        let verdict = Verdict::allow("replay", "taken from the recording; nothing runs");
        ToolCallResult {
            progress: Some(progress),
            ..ToolCallResult::not_run(call, verdict, ok, text, Some("recording"))
        }
    }
}
