//! Where calls go: to the real tools, or to a recording of them.

use crate::progress::{Progress, unnoted};
use async_trait::async_trait;
use marvin_gate::{Touches, Verdict};
use marvin_model::{ToolCall, ToolSpec};
use marvin_tools::{ToolContext, Toolbox};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What came of a call.
#[derive(Debug, Clone)]
pub struct ToolCallResult {
    /// The tool's canonical name.
    pub tool: String,
    /// The gate's word.
    pub verdict: Verdict,
    /// Whether it succeeded.
    pub ok: bool,
    /// What the model reads.
    pub text: String,
    /// What the record keeps: summary, data, error, elapsed time, source and confidence.
    pub record: Value,
    /// What a person should know besides, such as a tool log that could not be written.
    pub notice: Option<String>,
    /// What the shell had said of its repetition, in a recording; else it is found out.
    pub progress: Option<Progress>,
}

impl ToolCallResult {
    /// What it changed and should not have: git's configuration and hooks, the project's rules, the record.
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

/// Takes calls.
#[async_trait]
pub trait ToolHost: Send + Sync {
    /// The tools on offer, in a stable order.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Whether there is a tool of this name.
    fn knows(&self, name: &str) -> bool;

    /// What a tool touches; nothing for one that is not there.
    fn touches(&self, name: &str) -> Touches;

    /// Whether calls of a tool change something, as the account of the work tells it.
    fn changes(&self, name: &str) -> bool {
        !self.touches(name).changes_nothing()
    }

    /// Makes a call.
    async fn call(&self, call: &ToolCall) -> ToolCallResult;
}

/// The real tools.
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

    async fn call(&self, call: &ToolCall) -> ToolCallResult {
        self.toolbox.call(&call.name, &call.arguments, &self.context).await.into()
    }
}

/// Tools that answer what they answered when the run was recorded; nothing is touched.
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
        ToolCallResult {
            tool: call.name.clone(),
            verdict: Verdict::allow("replay", "taken from the recording; nothing runs"),
            ok,
            record: json!({"ok": ok, "summary": marvin_base::truncate::line(&text, 200), "source": "recording"}),
            text,
            notice: None,
            progress: Some(progress),
        }
    }
}
