//! Models behind an agent program: Codex and Claude Code.
//!
//! Such a program is an agent of its own: it gets one prompt on standard input, may run its own tools in the workspace,
//! and says one last thing. Marvin holds it to the worker contract: that last thing is exactly one JSON object, which asks
//! for Marvin's tools or ends the step ([`answer`]). The whole conversation goes into each prompt ([`prompt`]); no session
//! of the program is ever resumed, so the same request gives the same prompt.
//!
//! A program started from here knows that it was delegated to and how deep (`TOKIMON_DELEGATED`, `TOKIMON_DELEGATION_DEPTH`
//! and their `MARVIN_` twins), so that an agent which starts Marvin again does not recurse without end.
//!
//! Limits: a failed call is never repeated, because the program's own tools may have run by then. The child gets the
//! environment that the client was made with; variables that are not UTF-8 are not in it. What the program's tools do in
//! the workspace is bounded by the program's sandbox, not by Marvin's gate.

pub mod answer;
mod claude;
mod codex;
pub mod guard;
pub mod prompt;

pub use claude::{ClaudeOptions, ClaudeProgram, ClaudeSettings};
pub use codex::{CodexOptions, CodexProgram};

use crate::client::{Failure, ModelError, Usage, tokens};
use marvin_base::child::{self, Child, ChildError, Ending, GIT_VARIABLES, Outcome};
use marvin_base::environment::Environment;
use marvin_base::settings::{Setting, Settings, table};
use marvin_base::truncate;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Bytes kept of each output stream. An answer is a few kilobytes; one of megabytes is a mistake, and says so.
const MAX_KEPT_OUTPUT_BYTES: usize = 8 * 1024 * 1024;
/// Characters of a program's own words that an error repeats.
const QUOTE: usize = 600;

/// Facts of a program for error messages.
#[derive(Debug)]
struct Vendor {
    /// The provider's name, as signatures spell it.
    provider: &'static str,
    /// The program's name, as a person knows it.
    title: &'static str,
    /// How to get it.
    install: &'static str,
    /// Which program is started.
    program: &'static Setting,
    /// How long it may take.
    timeout: &'static Setting,
}

/// The ways in which a program fails, as signatures name them.
#[derive(Debug, Clone, Copy)]
enum Fault {
    CliMissing,
    Timeout,
    Exception,
    NonzeroExit,
    InvalidJson,
    NonObject,
}

impl Vendor {
    fn error(&self, fault: Fault, message: impl Into<String>) -> ModelError {
        let (failure, kind) = match fault {
            Fault::CliMissing => (Failure::Missing, "cli-missing"),
            Fault::Timeout => (Failure::Timeout, "timeout"),
            Fault::Exception => (Failure::Program, "exception"),
            Fault::NonzeroExit => (Failure::Program, "nonzero-exit"),
            Fault::InvalidJson => (Failure::Garbage, "invalid-json"),
            Fault::NonObject => (Failure::Garbage, "non-object"),
        };
        let provider = self.provider;
        ModelError::new(provider, failure, message).signed(format!("llm-{provider}-{kind}"))
    }

    fn unfit(&self, reason: answer::AnswerError, text: &str) -> ModelError {
        let fault = match reason {
            answer::AnswerError::NotJson => Fault::InvalidJson,
            answer::AnswerError::NotAnObject => Fault::NonObject,
        };
        let quoted = match text.trim() {
            "" => "nothing".to_string(),
            text => quote(text),
        };
        self.error(
            fault,
            format!("{} was to answer one JSON object; {reason}. It said: {quoted}", self.title),
        )
    }
}

/// Options that both programs share.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program; looked for on `PATH` when it has no slash.
    pub program: String,
    /// The directory it works in.
    pub workspace: PathBuf,
    /// The environment it gets, before the delegation variables.
    pub environment: Environment,
    /// How many agent programs stand above the one to be started, itself included; 1 for the first.
    pub delegation_depth: usize,
    /// How long one call may take.
    pub deadline: Duration,
}

impl Launch {
    fn from_settings(
        vendor: &Vendor,
        settings: &Settings,
        workspace: &Path,
        environment: &Environment,
    ) -> Result<Self, ModelError> {
        let workspace = std::path::absolute(workspace).map_err(|error| {
            vendor.error(
                Fault::Exception,
                format!("the workspace {} has no path: {error}", workspace.display()),
            )
        })?;
        Ok(Launch {
            program: settings.text(vendor.program).to_string(),
            workspace,
            environment: environment.clone(),
            delegation_depth: settings.count(&table::DELEGATION_DEPTH) + 1,
            deadline: settings.seconds(vendor.timeout),
        })
    }

    /// The shell that the person uses, by name.
    fn shell(&self) -> String {
        let path = self.environment.get("SHELL").unwrap_or("/bin/sh");
        Path::new(path).file_name().map_or_else(|| "sh".into(), |name| name.to_string_lossy().into_owned())
    }

    fn context(&self, permissions: String) -> prompt::Context {
        prompt::Context {
            permissions,
            directory: self.workspace.display().to_string(),
            shell: self.shell(),
            delegation_depth: self.delegation_depth,
        }
    }

    /// A directory that only this user can read and that is gone when the call is over.
    fn private_directory(&self, vendor: &Vendor) -> Result<tempfile::TempDir, ModelError> {
        use std::os::unix::fs::PermissionsExt;
        let parent = self.environment.get("TMPDIR").unwrap_or("/tmp");
        tempfile::Builder::new()
            .prefix("marvin-")
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir_in(parent)
            .map_err(|error| {
                vendor.error(
                    Fault::Exception,
                    format!("cannot make a directory in {parent}: {error}; set TMPDIR"),
                )
            })
    }

    fn child(&self, arguments: Vec<OsString>, prompt: &str) -> Child {
        let mut child = Child::new(&self.program).args(arguments);
        child.directory = Some(self.workspace.clone());
        child.inherit = false;
        child.set = self
            .environment
            .iter()
            .filter(|(name, _)| !GIT_VARIABLES.contains(name))
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        for prefix in ["TOKIMON", "MARVIN"] {
            child.set.insert(format!("{prefix}_DELEGATED"), "1".into());
            child.set.insert(format!("{prefix}_DELEGATION_DEPTH"), self.delegation_depth.to_string());
        }
        child.input = prompt.as_bytes().to_vec();
        child.deadline = self.deadline;
        child.keep = MAX_KEPT_OUTPUT_BYTES;
        child
    }

    /// Runs the program to its own end; a late, cancelled or missing one is an error already.
    async fn run(
        &self,
        vendor: &Vendor,
        child: Child,
        cancel: &CancellationToken,
    ) -> Result<Outcome, ModelError> {
        if !self.workspace.is_dir() {
            let workspace = self.workspace.display();
            return Err(
                vendor.error(Fault::Exception, format!("the workspace {workspace} is not a directory"))
            );
        }
        let title = vendor.title;
        // The program was told everything; what it made of it stays unknown.
        let spent = Usage { input: estimate(&String::from_utf8_lossy(&child.input)), ..Usage::default() };
        let outcome = child::run(child, cancel).await.map_err(|error| match error {
            ChildError::Missing(program) => vendor.error(
                Fault::CliMissing,
                format!(
                    "the program `{program}` is not there; install {title} ({}) or set {}",
                    vendor.install,
                    setting_name(vendor.program)
                ),
            ),
            other @ ChildError::Start { .. } => vendor.error(Fault::Exception, other.to_string()),
        })?;
        match outcome.ending {
            Ending::Exited(_) | Ending::Signalled(_) | Ending::Crowded => Ok(outcome),
            Ending::Late => Err(vendor
                .error(
                    Fault::Timeout,
                    format!(
                        "{title} gave no answer within {} s and was ended; {} allows more",
                        self.deadline.as_secs_f64(),
                        setting_name(vendor.timeout)
                    ),
                )
                .costing(spent)),
            Ending::Cancelled => Err(ModelError::new(
                vendor.provider,
                Failure::Cancelled,
                format!("cancelled; {title} was ended"),
            )
            .costing(spent)),
        }
    }
}

/// A setting as a person can set it: its key, and the variable that the seeds know it by.
fn setting_name(setting: &Setting) -> String {
    match setting.variables.last() {
        Some(variable) => format!("{} ({variable})", setting.key),
        None => setting.key.to_string(),
    }
}

/// The words of a program that failed: what it wrote to standard error, else to standard output.
fn complaint(outcome: &Outcome) -> String {
    let (errors, output) = (outcome.stderr.text(), outcome.stdout.text());
    match (errors.trim(), output.trim()) {
        ("", "") => "it said nothing".into(),
        ("", output) => quote(output),
        (errors, _) => quote(errors),
    }
}

fn how_it_ended(ending: Ending) -> String {
    match ending {
        Ending::Exited(code) => format!("ended with code {code}"),
        Ending::Signalled(signal) => format!("was ended by signal {signal}"),
        Ending::Late | Ending::Cancelled | Ending::Crowded => "was ended".into(),
    }
}

/// A bounded quotation. Programs put their reason last, so the end is kept as well as the beginning.
fn quote(text: &str) -> String {
    truncate::middle(text.trim(), QUOTE)
}

/// A guess at the tokens of a text, for programs that do not say.
fn estimate(text: &str) -> u64 {
    tokens(text.chars().count())
}

#[cfg(test)]
mod tests;
