//! Running a shell command.
//!
//! The gate has judged the line before this tool is called.

use super::caches;
use super::contained::{ContainedRun, PrivateTempDir, contained, seconds};
use super::sandbox_hint;
use crate::context::ToolContext;
use crate::result::{Confidence, Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_base::atomic::{self, WriteError};
use marvin_base::child::Ending;
use marvin_base::files::{self, Links};
use marvin_base::truncate;
use marvin_gate::{Intent, JudgedCommand, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Bytes of each stream that the model sees: the beginning and the end, where the failures are.
const MAX_STREAM_BYTES: usize = 9_000;

#[derive(Debug, Clone, Copy)]
pub struct RunCommand;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandInput {
    /// The command line, for bash.
    command: String,
    /// Seconds after which it is ended.
    timeout: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CommandData {
    command: String,
    exit_code: Option<i32>,
    timed_out: bool,
    /// The sandbox that it had.
    sandbox: &'static str,
    /// Protected files that it changed: git's configuration and hooks, the record, the tickets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tampered: Vec<String>,
}

#[async_trait]
impl Tool for RunCommand {
    type Input = CommandInput;
    type Data = CommandData;
    const NAME: &'static str = "run_command";
    const DESCRIPTION: &'static str = "Run a shell command in the working directory: reading, git, builds and tests. \
        It has no network and can write only there. Files are made with create_file, not with redirections.";
    const EXAMPLE: &'static str = r#"{"command": "cargo test 2>&1 | tail -40", "timeout": 120}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("cmd", "command"), ("timeout_s", "timeout")];
    const TOUCHES: Touches = Touches::EXECUTES;

    fn intents(input: &CommandInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Command { line: input.command.clone() }]
    }

    async fn call(
        &self,
        input: CommandInput,
        context: &ToolContext,
    ) -> Result<Output<CommandData>, ToolError> {
        if input.command.trim().is_empty() {
            return Err(ToolError::Usage("run_command needs `command`: the line to run.".into()));
        }
        let private = PrivateTempDir::new()?;
        let mut child = context.judged(&input.command)?;
        child.deadline = seconds(input.timeout, context);
        let done = contained(child, private.policy(context)?, context).await?;
        let mut output = describe(&input, &done);
        // Redacted before it is cut: half of a secret is not recognised.
        let command = truncate::line(&context.redactor.text(&input.command), 80);
        output.summary = format!("`{command}`: {}", output.error.as_deref().unwrap_or("done"));
        Ok(output)
    }
}

/// Outcome of a line that Marvin ran for itself.
#[derive(Debug)]
pub struct LineOutcome {
    pub ending: Ending,
    /// Its failure, unless it exited with 0.
    pub error: Option<String>,
    /// Its output, within bounds.
    pub text: String,
    /// The sandbox that it had.
    pub sandbox: &'static str,
    /// Protected files that it changed: git's configuration and hooks, the record, the tickets.
    pub tampered: Vec<String>,
}

impl LineOutcome {
    fn new(done: ContainedRun, text: String) -> Self {
        LineOutcome {
            ending: done.outcome.ending,
            error: done.error(),
            text,
            sandbox: done.sandbox,
            tampered: done.tampered,
        }
    }
}

/// Runs a line that verifies something as [`RunCommand`] runs one, with caches that nothing could be planted in.
///
/// # Errors
/// When it cannot be started or contained.
pub async fn run_verification_line(
    mut command: JudgedCommand,
    deadline: Duration,
    context: &ToolContext,
) -> Result<LineOutcome, ToolError> {
    let private = PrivateTempDir::new()?;
    command.deadline = deadline;
    let line_caches = caches::of_line(private.path());
    command.set.extend(caches::private(private.path()).into_iter().chain(line_caches));
    let done = contained(command, private.policy(context)?, context).await?;
    let text = OutputText::from_run(&done).text;
    Ok(LineOutcome::new(done, text))
}

/// Files for the output and exit code of a line, so that they survive the process that started it.
#[derive(Debug, Clone)]
pub struct OutputFiles {
    /// The directory, and the beginning of the names of the files in it.
    pub place: PathBuf,
    /// Variables for the line.
    pub variables: BTreeMap<String, String>,
}

/// Bytes of each output file that are read.
const MAX_OUTPUT_FILE_BYTES: u64 = 1024 * 1024;

impl OutputFiles {
    fn file(&self, ending: &str) -> PathBuf {
        let mut name = self.place.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    }

    /// The exit code of the line, if it has ended.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        files::read_text(&self.file(".code"), 32, Links::Refuse).ok()?.trim().parse().ok()
    }

    /// The output of the line so far, on one of its streams (`.out`, `.err`).
    #[must_use]
    pub fn output(&self, ending: &str) -> String {
        let bytes = files::read(&self.file(ending), MAX_OUTPUT_FILE_BYTES, Links::Refuse).unwrap_or_default();
        visible(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Replaces the output of the line by redacted text.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&self, ending: &str, text: &str) -> Result<(), WriteError> {
        atomic::replace_private(&self.file(ending), text.as_bytes())
    }

    /// Removes the files of an earlier attempt.
    fn clear(&self) {
        for ending in [".code", ".code.part", ".out", ".err"] {
            std::fs::remove_file(self.file(ending)).ok();
        }
    }
}

/// Runs a line as [`RunCommand`] does, with output and exit code in files, which the line itself cannot reach.
///
/// # Errors
/// When it cannot be started or sandboxed.
pub async fn run_kept(
    mut command: JudgedCommand,
    deadline: Duration,
    files: &OutputFiles,
    context: &ToolContext,
) -> Result<(LineOutcome, String, String), ToolError> {
    let private = PrivateTempDir::new()?;
    files.clear();
    command.output_files = Some((files.file(".out"), files.file(".err")));
    command.status_file = Some(files.file(".code"));
    command.deadline = deadline;
    command.set.extend(files.variables.clone());
    let done = contained(command, private.policy(context)?, context).await?;
    Ok((LineOutcome::new(done, String::new()), files.output(".out"), files.output(".err")))
}

fn describe(input: &CommandInput, done: &ContainedRun) -> Output<CommandData> {
    let output = OutputText::from_run(done);
    let data = CommandData {
        command: input.command.clone(),
        exit_code: done.code(),
        timed_out: done.timed_out(),
        sandbox: done.sandbox,
        tampered: done.tampered.clone(),
    };
    let confidence = if output.whole.is_some() { Confidence::Summarized } else { Confidence::Verbatim };
    let error = done.error();
    Output { error, confidence, whole: output.whole, ..Output::new(String::new(), output.text, data) }
}

/// The output of a program for the model: both streams within bounds, and the ending.
#[derive(Debug)]
pub(crate) struct OutputText {
    pub(crate) text: String,
    /// The whole output, where that is more.
    pub(crate) whole: Option<String>,
}

impl OutputText {
    pub(crate) fn from_run(done: &ContainedRun) -> OutputText {
        OutputText::from_run_with_stdout(done.outcome.stdout.text(), done)
    }

    /// The same with another text in place of the standard output.
    pub(crate) fn from_run_with_stdout(stdout: String, done: &ContainedRun) -> OutputText {
        let outcome = &done.outcome;
        let (stdout, stderr) = (visible(stdout), visible(outcome.stderr.text()));
        let dropped = outcome.stdout.dropped + outcome.stderr.dropped;
        let cut = stdout.len() > MAX_STREAM_BYTES || stderr.len() > MAX_STREAM_BYTES || dropped > 0;
        let mut text = truncate::middle_whole(&stdout, MAX_STREAM_BYTES);
        let mut part = |piece: &str| {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(piece);
        };
        if !stderr.trim().is_empty() {
            part(&format!("STDERR:\n{}", truncate::middle_whole(&stderr, MAX_STREAM_BYTES)));
        }
        match done.code() {
            Some(code) => part(&format!("[exit code: {code}]")),
            None => part(&format!("[{}]", done.error().as_deref().unwrap_or("ended"))),
        }
        if !done.tampered.is_empty() {
            part(&done.warning());
        }
        if done.code() != Some(0)
            && let Some(hint) = sandbox_hint::hint(done.sandbox, &stderr)
                .or_else(|| sandbox_hint::hint(done.sandbox, &stdout))
        {
            part(&hint);
        }
        let whole =
            cut.then(|| if stderr.is_empty() { stdout } else { format!("{stdout}\nSTDERR:\n{stderr}") });
        OutputText { text, whole }
    }
}

/// Replaces zero bytes by a visible sign: they would end the text in C strings.
fn visible(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{2400}") } else { text }
}
