//! The one question: may this happen?

use crate::access::Access;
use crate::command::{self, CommandContext};
use crate::path;
use crate::refusal::{Refusal, RefusalKind};
use crate::secrets;
use crate::verdict::Verdict;
use crate::workspace::Workspace;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a tool touches, as it declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Touches {
    /// Reads files of the workspace.
    pub reads: bool,
    /// Writes files of the workspace.
    pub writes: bool,
    /// Runs programs.
    pub executes: bool,
    /// Reaches the network.
    pub network: bool,
}

impl Touches {
    /// Touches nothing outside the conversation.
    pub const NOTHING: Touches = Touches { reads: false, writes: false, executes: false, network: false };
    /// Reads files.
    pub const READS: Touches = Touches { reads: true, ..Touches::NOTHING };
    /// Reads and writes files.
    pub const WRITES: Touches = Touches { reads: true, writes: true, ..Touches::NOTHING };
    /// Runs programs, which may read and write.
    pub const EXECUTES: Touches = Touches { reads: true, writes: true, executes: true, network: false };
}

/// Something that is about to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    /// A shell command.
    Command {
        /// The line as the shell would get it.
        line: String,
    },
    /// A file or folder of the workspace is read.
    Read {
        /// The path as the model wrote it.
        path: String,
    },
    /// A file of the workspace is written.
    Write {
        /// The path as the model wrote it.
        path: String,
    },
    /// A tool is called.
    Tool {
        /// Its name.
        name: String,
        /// What it touches.
        touches: Touches,
    },
}

/// In which circumstances.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The workspace, if there is one.
    pub workspace: Option<&'a Workspace>,
    /// The person's home folder.
    pub home: &'a Path,
    /// What the agent may write.
    pub access: &'a Access,
    /// Whether somebody can be asked.
    pub attended: bool,
    /// Whether programs may be run at all.
    pub may_execute: bool,
}

/// May this happen? The verdict is settled: it is [`crate::Decision::Ask`] only where somebody can be asked.
#[must_use]
pub fn judge(intent: &Intent, context: &Context<'_>) -> Verdict {
    let verdict = match intent {
        Intent::Command { line } => judge_command(line, context),
        Intent::Read { path } => judge_path(path, context, false),
        Intent::Write { path } => judge_path(path, context, true),
        Intent::Tool { name, touches } => judge_tool(name, *touches, context),
    };
    verdict.settle(context.attended)
}

fn judge_command(line: &str, context: &Context<'_>) -> Verdict {
    if !context.may_execute {
        return Verdict::deny(
            "command.not-granted",
            "this agent may not run commands",
            "Use the file tools, or report what should be run.",
        );
    }
    if *context.access != Access::Full {
        return Verdict::deny(
            "command.access",
            "an agent that may not write everywhere may not run commands",
            "Use the file tools, or report what should be run.",
        );
    }
    let Some(workspace) = context.workspace else { return no_workspace().verdict() };
    let place =
        CommandContext { workspace: workspace.root().to_path_buf(), home: context.home.to_path_buf() };
    command::judge_command(line, &place).verdict
}

fn judge_path(path: &str, context: &Context<'_>, write: bool) -> Verdict {
    let Some(workspace) = context.workspace else { return no_workspace().verdict() };
    let checked = workspace.path(path).and_then(|path| {
        if write {
            context.access.may_write(&path)?;
            workspace.writable(&path)?;
        }
        Ok(())
    });
    match checked {
        Ok(()) if !write && is_secret(path, workspace) => Verdict::ask(
            "path.secret",
            format!("`{path}` may hold secrets"),
            "Look at an example file (such as `.env.example`) instead, or ask the person for what is needed.",
        ),
        // A list of files that names it is a person's decision already.
        Ok(()) if write && *context.access == Access::Full && is_instruction(path, workspace) => {
            Verdict::ask(
                "path.instructions",
                format!("`{path}` tells agents what to do, and a person decides what agents are told"),
                "Say in your answer what should stand there and why.",
            )
        }
        Ok(()) => Verdict::allow("path.inside", "the path lies inside the working directory"),
        Err(refusal) => refusal.verdict(),
    }
}

/// Is this a file of secrets by its name, or by the name of what it leads to?
fn is_secret(path: &str, workspace: &Workspace) -> bool {
    let Ok(path) = workspace.path(path) else { return false };
    let real = workspace.resolve(&path).unwrap_or_default();
    let real = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let named = secrets::is_project_secret(path.name()) || secrets::is_project_secret(&real);
    // A folder of such a name is listed like any other.
    named && !workspace.metadata(&path).is_ok_and(|facts| facts.is_dir())
}

/// Do agents take instructions from this file, or from what it leads to?
fn is_instruction(path: &str, workspace: &Workspace) -> bool {
    let Ok(path) = workspace.path(path) else { return false };
    let real = workspace.resolve(&path).unwrap_or_default();
    let real: Vec<&str> = real.iter().filter_map(|part| part.to_str()).collect();
    path::is_instruction(&real) || path::is_instruction(&path.as_str().split('/').collect::<Vec<_>>())
}

fn judge_tool(name: &str, touches: Touches, context: &Context<'_>) -> Verdict {
    let deny = |reason: &str| {
        Verdict::deny(
            "tool.access",
            format!("`{name}` is not offered to this agent: {reason}"),
            "Use the tools that are offered, or report what should be done.",
        )
    };
    match context.access {
        Access::Readonly if touches.writes || touches.executes => deny("it is read-only"),
        Access::WritableFiles(_) if touches.executes => deny("it may write only some files and run nothing"),
        _ if touches.executes && !context.may_execute => deny("it may not run programs"),
        _ => Verdict::allow("tool.offered", "the tool is offered to this agent"),
    }
}

fn no_workspace() -> Refusal {
    Refusal::new(
        RefusalKind::Workspace,
        "there is no working directory",
        "Start with --working-dir PATH, or set one in the session.",
    )
}
