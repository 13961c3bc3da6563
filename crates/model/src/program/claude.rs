//! Claude Code, driven as a program: `claude --print …`, prompt on standard input, one JSON object on standard output.
//!
//! That object wraps the answer: its text (`result`), whether it is one at all (`is_error`; `subtype` says "success" even
//! for a refused request), tokens, and what the vendor charges.
//!
//! In this mode Claude Code takes a project's settings on trust: hooks, key helpers and MCP servers that a project brings
//! would run, uncontained and without a verdict of the gate. So it reads the person's own settings only (`--setting-sources user`) and
//! only those MCP servers that the further arguments name (`--strict-mcp-config`, `--mcp-config`). A person who trusts
//! their projects says so with a `--setting-sources` of their own. The price: a project's `CLAUDE.md`, skills and
//! sub-agents are not read either; what Marvin itself reads of a project is in the prompt.
//!
//! Limits: Claude Code repeats a broken request by itself, and when a stream is cut it asks once more without streaming;
//! neither shows here. A tool that it was not permitted to use does not fail the call.

use super::{Fault, Launch, Vendor, answer, complaint, estimate, how_it_ended, prompt, quote};
use crate::client::{Event, ModelClient, ModelError, Reply, Request, Sink, Usage};
use async_trait::async_trait;
use marvin_base::atomic;
use marvin_base::child::{Ending, Outcome};
use marvin_base::environment::Environment;
use marvin_base::settings::{Settings, table};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

static VENDOR: Vendor = Vendor {
    provider: "claude",
    title: "Claude Code",
    install: "npm install --global @anthropic-ai/claude-code",
    program: &table::CLAUDE_CLI,
    timeout: &table::CLAUDE_TIMEOUT,
};

/// The settings that Claude Code is handed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaudeSettings {
    /// A file of the person's.
    File(PathBuf),
    /// JSON text, which goes to a private file for the time of the call.
    Json(String),
}

/// How Claude Code is started.
#[derive(Debug, Clone)]
pub struct ClaudeOptions {
    /// Program, workspace, environment, depth and deadline.
    pub launch: Launch,
    /// The model it is told to use; its own choice when absent.
    pub model: Option<String>,
    /// The settings it is handed, if any.
    pub settings: Option<ClaudeSettings>,
    /// Whether its own tools run without asking.
    pub skip_permissions: bool,
    /// Further arguments, which come last.
    pub extra: Vec<String>,
}

impl ClaudeOptions {
    /// The options as the settings say; `model_override` wins over the model of the settings, and a settings file wins
    /// over settings given as JSON.
    ///
    /// # Errors
    /// When the further arguments cannot be split as a shell would.
    pub fn from_settings(
        settings: &Settings,
        workspace: &Path,
        environment: &Environment,
        model_override: Option<&str>,
    ) -> Result<Self, ModelError> {
        let arguments = settings.text(&table::CLAUDE_ARGS);
        let extra = shlex::split(arguments).ok_or_else(|| {
            let name = super::setting_name(&table::CLAUDE_ARGS);
            VENDOR.error(Fault::Exception, format!("the setting {name} has an open quote: {arguments}"))
        })?;
        Ok(ClaudeOptions {
            launch: Launch::from_settings(&VENDOR, settings, workspace, environment)?,
            model: model_override.or(settings.given(&table::CLAUDE_MODEL)).map(String::from),
            settings: claude_settings(settings),
            skip_permissions: settings.on(&table::CLAUDE_SKIP_PERMISSIONS),
            extra,
        })
    }

    fn arguments(&self, settings: Option<&Path>) -> Vec<OsString> {
        let mut list: Vec<OsString> =
            ["--print", "--input-format", "text", "--output-format", "json"].map(OsString::from).into();
        if let Some(model) = &self.model {
            list.extend(["--model", model].map(OsString::from));
        }
        if let Some(path) = settings {
            list.extend(["--settings".into(), path.into()]);
        }
        if !self.says("--setting-sources") {
            list.extend(["--setting-sources", "user"].map(OsString::from));
        }
        if !self.says("--strict-mcp-config") {
            list.push("--strict-mcp-config".into());
        }
        if self.skip_permissions {
            list.push("--dangerously-skip-permissions".into());
        }
        list.extend(self.extra.iter().map(OsString::from));
        list
    }

    /// Is this flag among the further arguments, with its value behind it or attached?
    fn says(&self, flag: &str) -> bool {
        self.extra.iter().any(|argument| {
            argument.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    }

    fn permissions(&self) -> &'static str {
        if self.skip_permissions {
            "Your own tools run without asking, so take care."
        } else {
            "Your own tools run only where your settings allow them; no person can be asked, so the others fail."
        }
    }
}

fn claude_settings(settings: &Settings) -> Option<ClaudeSettings> {
    if let Some(path) = settings.given(&table::CLAUDE_SETTINGS_PATH) {
        // The program runs in the workspace; a relative path is meant from where Marvin was started.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        return Some(ClaudeSettings::File(path));
    }
    settings.given(&table::CLAUDE_SETTINGS_JSON).map(|json| ClaudeSettings::Json(json.to_string()))
}

/// The object that Claude Code prints. Only what matters here is looked at, so that a new or an odd field harms nothing.
#[derive(Debug)]
struct ClaudeOutput(Map<String, Value>);

impl ClaudeOutput {
    /// Reads what was printed. With `--verbose` among the further arguments that is a list, whose last entry is meant.
    fn read(text: &str) -> Result<Self, answer::AnswerError> {
        match serde_json::from_str(text.trim()) {
            Ok(Value::Object(map)) => Ok(ClaudeOutput(map)),
            Ok(Value::Array(mut list)) => match list.pop() {
                Some(Value::Object(map)) if map.get("type").is_some_and(|kind| kind == "result") => {
                    Ok(ClaudeOutput(map))
                }
                _ => Err(answer::AnswerError::NotAnObject),
            },
            Ok(_) => Err(answer::AnswerError::NotAnObject),
            Err(_) => Err(answer::AnswerError::NotJson),
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    }

    fn is_error(&self) -> bool {
        self.0.get("is_error").and_then(Value::as_bool).unwrap_or(false)
    }

    /// Its message about a failure.
    fn complaint(&self) -> Option<String> {
        let errors = || {
            let list = self.0.get("errors")?.as_array().filter(|list| !list.is_empty())?;
            let text = |error: &Value| error.as_str().map_or_else(|| error.to_string(), String::from);
            Some(list.iter().map(text).collect::<Vec<_>>().join("; "))
        };
        let result = self.text("result").map(String::from);
        result.or_else(errors).or_else(|| self.text("subtype").map(String::from))
    }

    /// Does it say what was spent?
    fn says_usage(&self) -> bool {
        self.0.get("usage").is_some_and(Value::is_object)
    }

    fn usage(&self) -> Usage {
        let tokens = |key: &str| {
            self.0.get("usage").and_then(|usage| usage.get(key)).and_then(Value::as_u64).unwrap_or_default()
        };
        let cached = tokens("cache_read_input_tokens");
        Usage {
            input: tokens("input_tokens") + tokens("cache_creation_input_tokens") + cached,
            output: tokens("output_tokens"),
            cached,
        }
    }

    /// The cost in nano-dollars.
    fn cost(&self) -> Option<u64> {
        let dollars = self.0.get("total_cost_usd")?.as_f64().filter(|dollars| *dollars >= 0.0)?;
        Some((dollars * 1e9).round() as u64)
    }

    /// The model that wrote most, the first of equals. Claude Code also asks small models for small things.
    fn model(&self) -> Option<&str> {
        let written = |usage: &Value| usage.get("outputTokens").and_then(Value::as_u64).unwrap_or_default();
        let models = self.0.get("modelUsage")?.as_object()?.iter();
        // `max_by_key` gives the last of equals.
        models.rev().max_by_key(|(_, usage)| written(usage)).map(|(name, _)| name.as_str())
    }
}

#[derive(Debug)]
pub struct ClaudeProgram {
    options: ClaudeOptions,
}

impl ClaudeProgram {
    #[must_use]
    pub fn new(options: ClaudeOptions) -> Self {
        ClaudeProgram { options }
    }

    /// A client as the settings say; see [`ClaudeOptions::from_settings`].
    ///
    /// # Errors
    /// As [`ClaudeOptions::from_settings`].
    pub fn from_settings(
        settings: &Settings,
        workspace: &Path,
        environment: &Environment,
        model_override: Option<&str>,
    ) -> Result<Self, ModelError> {
        Ok(Self::new(ClaudeOptions::from_settings(settings, workspace, environment, model_override)?))
    }

    /// How it is started.
    #[must_use]
    pub fn options(&self) -> &ClaudeOptions {
        &self.options
    }
}

/// Parses what Claude Code printed.
fn understand(outcome: &Outcome) -> Result<(ClaudeOutput, String), ModelError> {
    let stdout = outcome.stdout.text();
    let printed = ClaudeOutput::read(&stdout);
    let failed = outcome.ending != Ending::Exited(0);
    if failed || printed.as_ref().is_ok_and(ClaudeOutput::is_error) {
        let own = printed.ok().and_then(|printed| printed.complaint());
        let words = own.map_or_else(|| complaint(outcome), |text| quote(&text));
        let fault = if failed { Fault::NonzeroExit } else { Fault::Exception };
        let ending = how_it_ended(outcome.ending);
        return Err(VENDOR.error(fault, format!("Claude Code {ending}: {words}")));
    }
    let printed = printed.map_err(|reason| VENDOR.unfit(reason, &stdout))?;
    let answer = printed.text("result").unwrap_or_default().to_string();
    Ok((printed, answer))
}

/// Tokens of a failed call: as Claude Code reports them, else an estimate.
fn spent(prompt: &str, outcome: &Outcome) -> Usage {
    let stdout = outcome.stdout.text();
    match ClaudeOutput::read(&stdout) {
        Ok(printed) if printed.says_usage() => printed.usage(),
        _ => Usage { input: estimate(prompt), output: estimate(&stdout), cached: 0 },
    }
}

#[async_trait]
impl ModelClient for ClaudeProgram {
    fn provider(&self) -> &str {
        VENDOR.provider
    }

    fn model(&self) -> &str {
        self.options.model.as_deref().unwrap_or("default")
    }

    fn native_tools(&self) -> bool {
        false
    }

    fn repeatable(&self) -> bool {
        false
    }

    async fn send(
        &self,
        request: &Request,
        sink: &mut Sink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let options = &self.options;
        let launch = &options.launch;
        let prompt = prompt::render(&launch.context(options.permissions().into()), request);
        // Held until the program has ended: the settings file lives in it.
        let mut directory = None;
        let settings = match &options.settings {
            None => None,
            Some(ClaudeSettings::File(path)) => Some(path.clone()),
            Some(ClaudeSettings::Json(json)) => {
                let directory = directory.insert(launch.private_directory(&VENDOR)?);
                let path = directory.path().join("settings.json");
                atomic::replace_private(&path, json.as_bytes())
                    .map_err(|error| VENDOR.error(Fault::Exception, error.to_string()))?;
                Some(path)
            }
        };
        let child = launch.child(options.arguments(settings.as_deref()), &prompt);
        let outcome = launch.run(&VENDOR, child, cancel).await?;
        let (printed, answer) =
            understand(&outcome).map_err(|error| error.costing(spent(&prompt, &outcome)))?;
        let object = answer::object(&answer)
            .map_err(|reason| VENDOR.unfit(reason, &answer).costing(spent(&prompt, &outcome)))?;
        let text = Value::Object(object).to_string();
        sink(Event::Text(&text));
        Ok(Reply {
            usage: printed.usage(),
            model: printed.model().or(options.model.as_deref()).unwrap_or_default().to_string(),
            cost: printed.cost(),
            text,
            ..Reply::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tokens_cost_and_model_are_read() {
        let printed = ClaudeOutput::read(
            &json!({
                "type": "result", "subtype": "success", "is_error": false, "result": "{}",
                "total_cost_usd": 0.012_345_678_9,
                "usage": {"input_tokens": 3, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 500,
                          "output_tokens": 7, "service_tier": "standard"},
                "modelUsage": {"small": {"outputTokens": 2}, "large": {"outputTokens": 5}, "other": {"outputTokens": 5}},
            })
            .to_string(),
        )
        .unwrap();
        assert_eq!(printed.usage(), Usage { input: 543, output: 7, cached: 500 });
        assert_eq!(printed.cost(), Some(12_345_679));
        assert_eq!(printed.model(), Some("large"));
    }

    #[test]
    fn the_reason_of_a_failure_is_found_wherever_it_stands() {
        let complaint = |value: Value| ClaudeOutput::read(&value.to_string()).unwrap().complaint();
        assert_eq!(
            complaint(json!({"result": "API Error: 429", "is_error": true})).as_deref(),
            Some("API Error: 429")
        );
        assert_eq!(complaint(json!({"errors": ["a", {"b": 1}]})).as_deref(), Some("a; {\"b\":1}"));
        assert_eq!(complaint(json!({"subtype": "error_max_turns"})).as_deref(), Some("error_max_turns"));
    }

    #[test]
    fn a_list_of_events_is_understood_and_rubbish_is_not() {
        assert!(ClaudeOutput::read(r#"[{"type":"system"},{"type":"result","result":"a"}]"#).is_ok());
        assert_eq!(ClaudeOutput::read("[1]").unwrap_err(), answer::AnswerError::NotAnObject);
        let odd = r#"{"is_error":null,"usage":null,"errors":null,"modelUsage":[],"total_cost_usd":"-"}"#;
        let odd = ClaudeOutput::read(odd).unwrap();
        assert_eq!(
            (odd.is_error(), odd.usage(), odd.cost(), odd.model()),
            (false, Usage::default(), None, None)
        );
        assert_eq!(ClaudeOutput::read("7").unwrap_err(), answer::AnswerError::NotAnObject);
        assert_eq!(ClaudeOutput::read("Hello").unwrap_err(), answer::AnswerError::NotJson);
    }
}
