//! Installing packages: `install_packages`, by the project's own package manager.
//!
//! This is the one tool that runs a program with a network. A person is asked (`sandbox.install`), names of packages are
//! names and nothing else ([`names`]), and code of packages is not run where the manager can avoid it: no install scripts,
//! no source distributions. The sandbox is otherwise the same as for every command.

mod manager;
mod names;

pub use manager::Manager;

use super::contained::{PrivateTempDir, contained, seconds};
use super::run::OutputText;
use crate::context::ToolContext;
use crate::result::{Confidence, Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use manager::{Plan, plan};
use marvin_base::environment::Environment;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::{Decision, Intent, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Timeout in seconds when neither the call nor the setting gives more.
const MIN_TIMEOUT_SECONDS: u64 = 600;

#[derive(Debug, Clone, Copy)]
pub struct InstallPackages;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstallInput {
    /// Names of packages, with a version where it matters (`requests`, `requests==2.32.0`, `left-pad@1.3.0`).
    #[serde(default)]
    packages: Vec<String>,
    /// Only needed for development.
    #[serde(default)]
    dev: bool,
    /// For which part of a project that has several; auto finds it from the project's files.
    #[serde(default)]
    ecosystem: Ecosystem,
    /// Seconds after which it is ended (600).
    timeout: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ecosystem {
    /// Detected from the project's files.
    #[default]
    Auto,
    Python,
    Node,
    Rust,
    Go,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct InstallData {
    manager: Manager,
    packages: Vec<String>,
    dev: bool,
    command: String,
    exit_code: Option<i32>,
    timed_out: bool,
    network: bool,
    /// The sandbox that it had.
    sandbox: &'static str,
    /// Protected files that it changed: git's configuration and hooks, the record, the tickets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tampered: Vec<String>,
}

#[async_trait]
impl Tool for InstallPackages {
    type Input = InstallInput;
    type Data = InstallData;
    const NAME: &'static str = "install_packages";
    const DESCRIPTION: &'static str = "Install packages with the project's own package manager (uv or pip, npm, pnpm, yarn, \
        bun, cargo, go), which also writes them into the project's list of dependencies. A person is asked first.";
    const EXAMPLE: &'static str = r#"{"packages": ["requests"], "dev": false}"#;
    const TOUCHES: Touches = Touches { network: true, stores: true, ..Touches::EXECUTES };

    fn intents(input: &InstallInput, context: &ToolContext) -> Vec<Intent> {
        let setting = match context.settings.text(&table::SANDBOX_INSTALL) {
            "allow" => Decision::Allow,
            "deny" => Decision::Deny,
            _ => Decision::Ask,
        };
        // Without a plan nothing is run, and the call returns the error.
        plan(input, context)
            .map(|plan| vec![Intent::Install { line: plan.line, setting }])
            .unwrap_or_default()
    }

    async fn call(
        &self,
        input: InstallInput,
        context: &ToolContext,
    ) -> Result<Output<InstallData>, ToolError> {
        let Plan { manager, line, notes } = plan(&input, context)?;
        let private = PrivateTempDir::new()?;
        let mut policy = private.policy(context)?;
        policy.network = true;
        let mut child = context.judged(&line)?;
        child.set.extend(index_variables(context));
        manager.prepare(&mut child, &mut policy, private.path(), context)?;
        child.deadline = seconds(input.timeout, context);
        if input.timeout.is_none() {
            child.deadline = child.deadline.max(Duration::from_secs(MIN_TIMEOUT_SECONDS));
        }
        let done = contained(child, policy, context).await?;
        let output = OutputText::from_run(&done);
        let error = done.error();
        let shown = truncate::line(&context.redactor.text(&line), 100);
        let summary = format!("`{shown}`: {}", error.as_deref().unwrap_or("installed"));
        let mut text = output.text;
        for note in notes {
            text.push_str(&format!("\n{note}"));
        }
        let data = InstallData {
            manager,
            packages: input.packages,
            dev: input.dev,
            command: line,
            exit_code: done.code(),
            timed_out: done.timed_out(),
            network: true,
            sandbox: done.sandbox,
            tampered: done.tampered,
        };
        let confidence = if output.whole.is_some() { Confidence::Summarized } else { Confidence::Verbatim };
        Ok(Output { error, confidence, whole: output.whole, ..Output::new(summary, text, data) })
    }
}

/// Variables that name the index or the proxy that packages come from, where they hold no credential.
fn index_variables(context: &ToolContext) -> BTreeMap<String, String> {
    const PREFIXES: [&str; 12] = [
        "pip_",
        "uv_",
        "npm_config_",
        "yarn_",
        "cargo_net_",
        "cargo_registries_",
        "goproxy",
        "gosumdb",
        "gonosumdb",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    ];
    let environment = Environment::of_process();
    let is_plain = |name: &str, value: &str| {
        let name = name.to_ascii_lowercase();
        PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            && !context.redactor.finds(&format!("{name}={value}"))
    };
    let chosen = environment.iter().filter(|(name, value)| is_plain(name, value));
    chosen.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}
