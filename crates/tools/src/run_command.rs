//! Running a shell command: judged first, contained always (unless the person switched that off).
//!
//! The verdict comes from the registry, which puts the line to the gate before this tool is called. Here the command gets
//! its bounds: the workspace as its folder, a deadline, closed input, no keys of the shell in its environment, a private
//! temporary folder, and the operating system's box.

use crate::context::ToolContext;
use crate::result::{Confidence, Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_base::child::{self, Child, Ending};
use marvin_base::environment::Environment;
use marvin_base::redact;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::containment::{self, Policy};
use marvin_gate::{Intent, Touches, secrets};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of each stream that the model gets to see; the beginning and the end, where the failures stand.
const STREAM: usize = 9_000;
/// Variables that would make bash run or find something else than the line says.
const SHELL_VARIABLES: [&str; 5] = ["BASH_ENV", "ENV", "CDPATH", "SHELLOPTS", "BASHOPTS"];
/// The longest that a call may ask for.
const LONGEST: u64 = 86_400;

/// Runs a shell command in the workspace.
#[derive(Debug, Clone, Copy)]
pub struct RunCommand;

/// What to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandInput {
    /// The command line, for bash.
    command: String,
    /// Seconds after which it is ended.
    timeout: Option<u64>,
}

#[async_trait]
impl Tool for RunCommand {
    type Input = CommandInput;
    const NAME: &'static str = "run_command";
    const DESCRIPTION: &'static str = "Run a shell command in the working directory: reading, git, builds and tests. \
        It has no network and can write only there. Files are made with create_file, not with redirections.";
    const EXAMPLE: &'static str = r#"{"command": "cargo test 2>&1 | tail -40", "timeout": 120}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("cmd", "command"), ("timeout_s", "timeout")];

    fn touches() -> Touches {
        Touches::EXECUTES
    }

    fn intents(input: &CommandInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Command { line: input.command.clone() }]
    }

    async fn call(&self, input: CommandInput, context: &ToolContext) -> Result<Output, ToolError> {
        if input.command.trim().is_empty() {
            return Err(ToolError::Usage("run_command needs `command`: the line to run.".into()));
        }
        let workspace = context.workspace()?;
        let temporary = tempfile::Builder::new()
            .prefix("marvin-")
            .tempdir()
            .map_err(|error| ToolError::Failed(format!("cannot make a temporary folder: {error}")))?;
        let mut child = Child::new("bash").args(["-o", "pipefail", "-c", &input.command]);
        child.folder = Some(workspace.root().to_path_buf());
        child.deadline = match input.timeout {
            Some(seconds) => Duration::from_secs(seconds.clamp(1, LONGEST)),
            None => context.settings.seconds(&table::COMMAND_TIMEOUT),
        };
        let environment = Environment::of_process();
        let secrets = environment.iter().map(|(name, _)| name).filter(|name| redact::is_secret_name(name));
        child.remove = secrets.chain(SHELL_VARIABLES).map(str::to_string).collect();
        let mut policy = Policy::new(workspace.root(), temporary.path());
        policy.hidden = secrets::places(context.layout.home());
        let sandbox = contain(&mut child, policy, context)?;
        let deadline = child.deadline;
        let outcome =
            child::run(child, &context.cancel).await.map_err(|error| ToolError::Failed(error.to_string()))?;
        let mut output = describe(&input, &outcome, sandbox, deadline);
        // Redacted before it is cut: half of a secret is not recognised.
        let command = truncate::line(&context.redactor.text(&input.command), 80);
        output.summary = format!("`{command}`: {}", output.error.as_deref().unwrap_or("done"));
        Ok(output)
    }
}

/// Puts the child into the box that the settings ask for, and says which.
fn contain(child: &mut Child, policy: Policy, context: &ToolContext) -> Result<&'static str, ToolError> {
    if context.settings.text(&table::CONTAINMENT) == "off" {
        return Ok("off");
    }
    let available = containment::available();
    if available.kind == "none" {
        return Err(ToolError::Failed(format!("commands cannot be contained here: {}", available.note)));
    }
    child.prepare = Some(Arc::new(move |command| {
        containment::contain(command, &policy).map(|_| ()).map_err(std::io::Error::other)
    }));
    Ok(containment::LANDLOCK)
}

fn describe(input: &CommandInput, outcome: &child::Outcome, sandbox: &str, deadline: Duration) -> Output {
    let (stdout, stderr) = (outcome.stdout.text(), outcome.stderr.text());
    let cut =
        stdout.len() > STREAM || stderr.len() > STREAM || outcome.stdout.dropped + outcome.stderr.dropped > 0;
    let mut text = truncate::middle_whole(&stdout, STREAM);
    let mut part = |piece: &str| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(piece);
    };
    if !stderr.trim().is_empty() {
        part(&format!("STDERR:\n{}", truncate::middle_whole(&stderr, STREAM)));
    }
    let (code, error) = match outcome.ending {
        Ending::Exited(0) => (Some(0), None),
        Ending::Exited(code) => (Some(code), Some(format!("exit code {code}"))),
        Ending::Signalled(signal) => (None, Some(format!("ended by signal {signal}"))),
        Ending::Late => (None, Some(format!("not done after {} s, so it was ended", deadline.as_secs()))),
        Ending::Cancelled => (None, Some("cancelled".to_string())),
    };
    match (code, &error) {
        (Some(code), _) => part(&format!("[exit code: {code}]")),
        (None, error) => part(&format!("[{}]", error.as_deref().unwrap_or("ended"))),
    }
    let data = json!({
        "command": input.command,
        "exit_code": code,
        "timed_out": outcome.ending == Ending::Late,
        "sandbox": sandbox,
    });
    let confidence = if cut { Confidence::Summarized } else { Confidence::Verbatim };
    Output { error, confidence, ..Output::new(String::new(), text, data) }
}
