//! Codex, driven as a program: `codex … exec … -`, prompt on standard input, last message in a file.
//!
//! A project may bring MCP servers and rules that let commands out of the sandbox (`.codex/`). Codex uses them in a project
//! that it trusts, and as soon as it may write there it trusts every project by itself, for good. So it is told to trust
//! none for the time of a call; a person who wants that otherwise says so with a `projects` of their own among the
//! further settings.
//!
//! Limits: with `--output-last-message` Codex does not say what a call cost, so tokens are estimated (four characters a
//! token, of the prompt and the answer; what Codex's own tools read is not in it) and the cost is left open.

use super::{Fault, Launch, Vendor, answer, complaint, estimate, guard, how_it_ended, prompt, quote};
use crate::client::{Event, ModelClient, ModelError, Reply, Request, Sink, Usage};
use async_trait::async_trait;
use marvin_base::child::{Ending, Outcome};
use marvin_base::environment::Environment;
use marvin_base::settings::{Settings, table};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::Path;
use tokio_util::sync::CancellationToken;

static VENDOR: Vendor = Vendor {
    provider: "codex",
    title: "Codex",
    install: "npm install --global @openai/codex",
    program: &table::CODEX_CLI,
    timeout: &table::CODEX_TIMEOUT,
};

/// How Codex is started.
#[derive(Debug, Clone)]
pub struct CodexOptions {
    /// Program, workspace, environment, depth and deadline.
    pub launch: Launch,
    /// The model it is told to use; its own choice when absent.
    pub model: Option<String>,
    /// The profile it is told to use.
    pub profile: Option<String>,
    /// The sandbox of its own commands.
    pub sandbox: String,
    pub approval: String,
    /// Whether it may search the web.
    pub search: bool,
    /// Further settings, as key and value in Codex's own notation.
    pub config: Vec<(String, String)>,
    /// Whether its ripgrep is kept out of generated directories.
    pub ripgrep_guard: bool,
    /// The longest line that its ripgrep prints whole; 0: no limit.
    pub ripgrep_max_columns: usize,
}

impl CodexOptions {
    /// The options as the settings say; `model_override` wins over the model of the settings.
    ///
    /// # Errors
    /// When the further settings for Codex hold something that Codex has no notation for.
    pub fn from_settings(
        settings: &Settings,
        workspace: &Path,
        environment: &Environment,
        model_override: Option<&str>,
    ) -> Result<Self, ModelError> {
        Ok(CodexOptions {
            launch: Launch::from_settings(&VENDOR, settings, workspace, environment)?,
            model: model_override.or(settings.given(&table::CODEX_MODEL)).map(String::from),
            profile: settings.given(&table::CODEX_PROFILE).map(String::from),
            sandbox: settings.text(&table::CODEX_SANDBOX).to_string(),
            approval: settings.text(&table::CODEX_APPROVAL).to_string(),
            search: settings.on(&table::CODEX_SEARCH),
            config: config(settings.given(&table::CODEX_CONFIG))?,
            ripgrep_guard: settings.on(&table::CODEX_RIPGREP_GUARD),
            ripgrep_max_columns: settings.count(&table::CODEX_RIPGREP_COLUMNS),
        })
    }

    fn arguments(&self, last_message: &Path) -> Vec<OsString> {
        let mut list: Vec<OsString> = Vec::new();
        if self.search {
            list.push("--search".into());
        }
        list.extend(["--sandbox", &self.sandbox, "--ask-for-approval", &self.approval].map(OsString::from));
        list.extend(["--cd".into(), self.launch.workspace.clone().into()]);
        for (flag, value) in [("--model", &self.model), ("--profile", &self.profile)] {
            if let Some(value) = value {
                list.extend([flag, value].map(OsString::from));
            }
        }
        if !self.config.iter().any(|(key, _)| key == "projects" || key.starts_with("projects.")) {
            list.extend(["--config".into(), distrust(&self.launch.workspace).into()]);
        }
        for (key, value) in &self.config {
            list.extend(["--config".into(), format!("{key}={value}").into()]);
        }
        list.extend(["exec", "--skip-git-repo-check", "--output-last-message"].map(OsString::from));
        list.extend([last_message.into(), "-".into()]);
        list
    }

    fn permissions(&self) -> String {
        let sandbox = match self.sandbox.as_str() {
            "read-only" => "files can be read, nothing can be written, and the network is off",
            "workspace-write" => "files can be written in the working directory only, and the network is off",
            "danger-full-access" => "nothing is contained, so take care",
            _ => "see your own settings for what it allows",
        };
        let approval = match self.approval.as_str() {
            "never" => "no person is asked, and what the sandbox forbids fails",
            _ => "no person can answer, so what would have to be asked fails",
        };
        let search = if self.search { "may" } else { "may not" };
        format!(
            "Your own commands run in the sandbox `{}`: {sandbox}.\n\
             The approval policy is `{}`: {approval}.\n\
             You {search} search the web.",
            self.sandbox, self.approval
        )
    }
}

/// The setting by which Codex trusts neither the workspace nor a directory around it, whatever it was told before.
fn distrust(workspace: &Path) -> String {
    let real = workspace.canonicalize().ok();
    let directories = [Some(workspace), real.as_deref()].into_iter().flatten().flat_map(Path::ancestors);
    let level = Value::Object(Map::from_iter([("trust_level".to_string(), "untrusted".into())]));
    let projects: Map<String, Value> =
        directories.map(|directory| (directory.display().to_string(), level.clone())).collect();
    format!("projects={}", notation(&Value::Object(projects)).unwrap_or_default())
}

/// The further settings in Codex's notation. Codex reads values as TOML, in which JSON's texts, numbers, switches and
/// lists mean the same; an object becomes an inline table, and `null` has no counterpart.
fn config(json: Option<&str>) -> Result<Vec<(String, String)>, ModelError> {
    let wrong = |reason: String| {
        VENDOR.error(
            Fault::Exception,
            format!("the setting {} {reason}", super::setting_name(&table::CODEX_CONFIG)),
        )
    };
    let Some(json) = json else { return Ok(Vec::new()) };
    let map: Map<String, Value> =
        serde_json::from_str(json).map_err(|error| wrong(format!("is not a JSON object: {error}")))?;
    map.into_iter()
        .map(|(key, value)| {
            let text = notation(&value).ok_or_else(|| {
                wrong(format!("gives `{key}` a value with null in it, which Codex has no notation for"))
            })?;
            Ok((key, text))
        })
        .collect()
}

fn notation(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.to_string()),
        Value::Array(list) => {
            let entries: Option<Vec<String>> = list.iter().map(notation).collect();
            Some(format!("[{}]", entries?.join(",")))
        }
        Value::Object(map) => {
            let entries: Option<Vec<String>> = map
                .iter()
                .map(|(key, value)| Some(format!("{}={}", Value::from(key.as_str()), notation(value)?)))
                .collect();
            Some(format!("{{{}}}", entries?.join(",")))
        }
    }
}

/// The reason that Codex gives for a failure. It repeats the whole prompt on standard error before it comes to the reason, which
/// it puts last and begins with `ERROR:`; what it says before it has begun (a wrong flag) is short.
fn reason(outcome: &Outcome) -> String {
    let text = outcome.stderr.text();
    match text.trim_end().rsplit_once("\nERROR: ") {
        Some((_, reason)) => quote(reason),
        None => complaint(outcome),
    }
}

#[derive(Debug)]
pub struct CodexProgram {
    options: CodexOptions,
}

impl CodexProgram {
    #[must_use]
    pub fn new(options: CodexOptions) -> Self {
        CodexProgram { options }
    }

    /// A client as the settings say; see [`CodexOptions::from_settings`].
    ///
    /// # Errors
    /// As [`CodexOptions::from_settings`].
    pub fn from_settings(
        settings: &Settings,
        workspace: &Path,
        environment: &Environment,
        model_override: Option<&str>,
    ) -> Result<Self, ModelError> {
        Ok(Self::new(CodexOptions::from_settings(settings, workspace, environment, model_override)?))
    }

    /// How it is started.
    #[must_use]
    pub fn options(&self) -> &CodexOptions {
        &self.options
    }
}

#[async_trait]
impl ModelClient for CodexProgram {
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
        let prompt = prompt::render(&launch.context(options.permissions()), request);
        let directory = launch.private_directory(&VENDOR)?;
        let last_message = directory.path().join("last-message.txt");
        let mut child = launch.child(options.arguments(&last_message), &prompt);
        if options.ripgrep_guard && launch.workspace.is_dir() {
            let path = guard::write(&launch.workspace, &launch.environment, options.ripgrep_max_columns)
                .map_err(|error| {
                    let switch = super::setting_name(&table::CODEX_RIPGREP_GUARD);
                    VENDOR.error(
                        Fault::Exception,
                        format!("the ripgrep guard: {error}; {switch} = false does without"),
                    )
                })?;
            child.set.insert(guard::VARIABLE.into(), path.display().to_string());
        }
        let outcome = launch.run(&VENDOR, child, cancel).await?;
        // A missing file means an empty last message, which does not parse as JSON.
        let bytes = std::fs::read(&last_message).unwrap_or_default();
        let answer_text = String::from_utf8_lossy(&bytes);
        let usage = Usage { input: estimate(&prompt), output: estimate(&answer_text), cached: 0 };
        if outcome.ending != Ending::Exited(0) {
            let message = format!("Codex {}: {}", how_it_ended(outcome.ending), reason(&outcome));
            return Err(VENDOR.error(Fault::NonzeroExit, message).costing(usage));
        }
        let object = answer::object(&answer_text)
            .map_err(|reason| VENDOR.unfit(reason, &answer_text).costing(usage))?;
        let text = Value::Object(object).to_string();
        sink(Event::Text(&text));
        Ok(Reply { usage, model: options.model.clone().unwrap_or_default(), text, ..Reply::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_written_as_codex_reads_them() {
        let values = json!({
            "model_reasoning_effort": "high", "a.b": 1.5, "on": true, "list": ["a \"b\"", 1],
            "table": {"x y": {"z": false}},
        });
        let pairs = config(Some(&values.to_string())).unwrap();
        let shown: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(
            shown,
            [
                r#"model_reasoning_effort="high""#,
                "a.b=1.5",
                "on=true",
                r#"list=["a \"b\"",1]"#,
                r#"table={"x y"={"z"=false}}"#
            ]
        );
        for (key, value) in &pairs {
            let read: toml::Table = toml::from_str(&format!("v = {value}")).unwrap();
            assert_eq!(serde_json::to_value(&read["v"]).unwrap(), values[key.as_str()], "{value}");
        }
        assert!(config(Some(r#"{"a":[null]}"#)).unwrap_err().message.contains("TOKIMON_CODEX_CONFIG_JSON"));
    }
}
