//! The one question: may this happen?

use crate::access::Access;
use crate::agent;
use crate::command::CommandContext;
use crate::effects::Grounds;
use crate::layers::{self, Layers};
use crate::network::{Guard, Service};
use crate::path::{self, WorkspacePath};
use crate::refusal::{Refusal, RefusalKind};
use crate::secrets;
use crate::steering;
use crate::ticket::{self, Duty};
use crate::verdict::{Decision, Verdict};
use crate::workspace::Workspace;
use marvin_base::redact::Redactor;
use marvin_base::settings::{Settings, table};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The things that a tool touches, as it declares them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Touches {
    /// Reads files of the workspace.
    pub reads: bool,
    /// Writes files of the workspace.
    pub writes: bool,
    /// Writes beside them: notes, tickets, downloads.
    pub stores: bool,
    /// It stores tickets and nothing else.
    pub tickets: bool,
    /// Runs programs.
    pub executes: bool,
    /// Reaches the network.
    pub network: bool,
}

impl Touches {
    /// Touches nothing outside the conversation.
    pub const NOTHING: Touches = Touches {
        reads: false,
        writes: false,
        stores: false,
        tickets: false,
        executes: false,
        network: false,
    };
    /// Reads files.
    pub const READS: Touches = Touches { reads: true, ..Touches::NOTHING };
    /// Reads and writes files.
    pub const WRITES: Touches = Touches { writes: true, ..Touches::READS };
    /// Reads, and writes beside the workspace's files.
    pub const STORES: Touches = Touches { stores: true, ..Touches::READS };
    /// Reads and changes tickets.
    pub const TICKETS: Touches = Touches { tickets: true, ..Touches::STORES };
    /// Runs programs, which may read and write.
    pub const EXECUTES: Touches = Touches { executes: true, ..Touches::WRITES };
    /// Reaches the network.
    pub const NETWORK: Touches = Touches { network: true, ..Touches::NOTHING };

    /// Changes nothing: calls of such tools may run side by side.
    #[must_use]
    pub const fn changes_nothing(self) -> bool {
        !(self.writes || self.stores || self.executes)
    }
}

/// Something that is about to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    /// A shell command.
    Command {
        /// The line as the shell would get it.
        line: String,
    },
    /// Packages are installed by a command that reaches the network and may run their code.
    Install {
        /// The line as the shell would get it.
        line: String,
        /// The person's setting about installing.
        setting: Decision,
    },
    /// A file or directory of the workspace is read.
    Read {
        /// The path as the model wrote it.
        path: String,
    },
    /// A file of the workspace is written.
    Write {
        /// The path as the model wrote it.
        path: String,
    },
    /// A ticket is made.
    Ticket {
        /// The ticket that it is to be a child of; one that means the agent's own duty is spelled like it.
        parent: Option<String>,
    },
    /// A ticket that exists is changed: its status, what it depends on, its links, its notes.
    TicketChange {
        /// The ticket as the model named it.
        id: String,
    },
    /// Something is fetched from the network.
    Request {
        /// The address as the model wrote it.
        url: String,
        /// The service that the tool stands for, if it stands for one.
        service: Option<Service>,
    },
    /// Services are told where the person is or what they own.
    Share {
        /// The services, by the names that people know.
        services: Vec<&'static str>,
        /// What they are told, such as "where you are".
        what: &'static str,
        /// What the person's setting, and earlier answers of theirs about these services, say.
        setting: Decision,
    },
    /// Python is run by a program of the person, outside the sandbox.
    Code {
        code: String,
        /// The program, by the name that people know.
        program: &'static str,
        /// The person's setting about it.
        setting: Decision,
    },
    /// The conversation works in another directory from now on.
    WorkingDirectory {
        /// The path as the model wrote it.
        path: String,
    },
    /// Another agent is started, to work for this one.
    SubAgent {
        /// Its write access.
        access: Access,
        /// The directory of the workspace that it works in; none: the workspace.
        directory: Option<String>,
    },
    /// A tool is called.
    Tool {
        /// Its name.
        name: String,
        /// The things that it touches.
        touches: Touches,
    },
}

/// In which circumstances.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The workspace, if there is one.
    pub workspace: Option<&'a Workspace>,
    /// The person's home directory.
    pub home: &'a Path,
    /// The agent's write access.
    pub access: &'a Access,
    /// Whether a person can be asked.
    pub attended: bool,
    /// Whether programs may be run at all.
    pub may_execute: bool,
    /// The ticket that the agent works on.
    pub duty: &'a Duty,
    /// Every setting; the lists of hosts are among them.
    pub settings: &'a Settings,
    /// Knows the secrets.
    pub redactor: &'a Redactor,
    /// The lists of rules, what was learned, and the log of decisions.
    pub layers: &'a Layers,
}

/// May this happen, now that it is about to? As [`judge`], but a model may be asked about a command that is a question,
/// and the decision on a command is written down.
pub async fn decide(intent: &Intent, context: &Context<'_>) -> Verdict {
    let (Intent::Command { line } | Intent::Install { line, .. }) = intent else {
        return judge(intent, context);
    };
    let verdict = match (grounds(context), intent) {
        (Err(verdict), _) => verdict,
        (Ok((workspace, home)), Intent::Install { setting, .. }) => {
            let place = place(&workspace, &home);
            let mut ruling = context.layers.rule(line, place, finding(line, place, context));
            ruling.verdict = judge_install(ruling.verdict, *setting);
            context.layers.record(line, &ruling);
            ruling.verdict
        }
        (Ok((workspace, home)), _) => {
            let place = place(&workspace, &home);
            context.layers.decide(line, place, finding(line, place, context)).await.verdict
        }
    };
    verdict.settle(context.attended)
}

/// May this happen? The verdict is settled: it is [`crate::Decision::Ask`] only where a person can be asked.
#[must_use]
pub fn judge(intent: &Intent, context: &Context<'_>) -> Verdict {
    let verdict = match intent {
        Intent::Command { line } => judge_command(line, context),
        Intent::Install { line, setting } => judge_install(judge_command(line, context), *setting),
        Intent::Read { path } => judge_path(path, context, false),
        Intent::Write { path } => judge_path(path, context, true),
        Intent::Ticket { parent } => ticket::judge_ticket(parent.as_deref(), context.duty, context.access),
        Intent::TicketChange { id } => ticket::judge_change(id, context.duty, context.access),
        Intent::Request { url, service } => match Guard::new(context.settings, context.redactor) {
            Ok(guard) => guard.judge(url, *service),
            Err(refusal) => refusal.verdict(),
        },
        Intent::Share { services, what, setting } => judge_share(services, what, *setting),
        Intent::Code { code, program, setting } => judge_code(code, program, *setting, context),
        Intent::WorkingDirectory { path } => Verdict::ask(
            "workspace.change",
            format!("agents would read and write in `{path}` from now on"),
            "Say in your answer which directory is needed and why; the person starts Marvin there, or agrees.",
        ),
        Intent::SubAgent { access, directory } => agent::judge(access, directory.as_deref(), context),
        Intent::Tool { name, touches } => judge_tool(name, *touches, context),
    };
    verdict.settle(context.attended)
}

fn judge_command(line: &str, context: &Context<'_>) -> Verdict {
    match grounds(context) {
        Err(verdict) => verdict,
        Ok((workspace, home)) => {
            let place = place(&workspace, &home);
            context.layers.rule(line, place, finding(line, place, context)).verdict
        }
    }
}

/// Workspace and home of an agent that may run commands.
fn grounds(context: &Context<'_>) -> Result<(String, String), Verdict> {
    if !context.may_execute {
        return Err(Verdict::deny(
            "command.not-granted",
            "this agent may not run commands",
            "Use the file tools, or report what should be run.",
        ));
    }
    if !context.access.executes() {
        return Err(Verdict::deny(
            "command.access",
            "an agent that may not write everywhere may not run commands",
            "Use the file tools, or report what should be run.",
        ));
    }
    let Some(workspace) = context.workspace else { return Err(no_workspace().verdict()) };
    Ok((workspace.root().display().to_string(), context.home.display().to_string()))
}

fn place<'a>(workspace: &'a str, home: &'a str) -> layers::Place<'a> {
    layers::Place { directory: workspace, grounds: Grounds { workspace, home } }
}

/// The finding of the judge.
fn finding(line: &str, place: layers::Place<'_>, context: &Context<'_>) -> crate::effects::Judgement {
    let where_to =
        CommandContext { workspace: place.grounds.workspace.into(), home: place.grounds.home.into() };
    context.layers.finding(line, &where_to)
}

fn judge_install(as_command: Verdict, setting: Decision) -> Verdict {
    // Whatever the setting says, an agent that may run nothing installs nothing, and what destroys is refused.
    let reason = "installing packages reaches the network, and brings in the code of others";
    match setting {
        _ if as_command.decision == Decision::Deny => as_command,
        Decision::Allow => {
            Verdict::allow("install.granted", "the person's settings allow installing packages")
        }
        Decision::Ask => {
            Verdict::ask("install.ask", reason, "Say which packages are needed and why, or do without them.")
        }
        Decision::Deny => Verdict::deny(
            "install.denied",
            format!("{reason}, and the person's settings (sandbox.install) forbid it"),
            "Do without them, or say which packages are needed and why.",
        ),
    }
}

/// The verdict on Python for a program that is not in the sandbox: what would be refused as a command is refused here too, and
/// the rest is the person's decision.
fn judge_code(code: &str, program: &str, setting: Decision, context: &Context<'_>) -> Verdict {
    if !context.may_execute || !context.access.executes() {
        return Verdict::deny(
            "code.not-granted",
            "this agent may not run programs",
            "Use the other tools, or report what should be done.",
        );
    }
    let home = context.home.display().to_string();
    let workspace = context.workspace.map_or_else(|| home.clone(), |it| it.root().display().to_string());
    let line = format!("python3 -c '{}'", code.replace('\'', "'\\''"));
    let place = place(&workspace, &home);
    let as_command = context.layers.rule(&line, place, finding(&line, place, context)).verdict;
    let reason = format!("{program} would run this code with the person's rights, outside the sandbox");
    match setting {
        _ if as_command.decision == Decision::Deny => as_command,
        Decision::Allow => Verdict::allow("code.granted", "the person's settings allow this code"),
        Decision::Ask => {
            Verdict::ask("code.ask", reason, "Use the other tools, or say what the code is for.")
        }
        Decision::Deny => Verdict::deny(
            "code.denied",
            format!("{reason}, and their settings forbid it"),
            "Use the other tools, or say what should be done.",
        ),
    }
}

fn judge_share(services: &[&str], what: &str, setting: Decision) -> Verdict {
    let reason = format!("this tells {} {what}", services.join(" and "));
    match setting {
        Decision::Allow => {
            Verdict::allow("privacy.agreed", format!("{reason}, and the person agreed to that"))
        }
        Decision::Ask => Verdict::ask(
            "privacy.ask",
            format!("{reason}; a yes holds from now on"),
            "Work without it, or tell the person: the setting tools.private decides.",
        ),
        Decision::Deny => Verdict::deny(
            "privacy.denied",
            format!("{reason}, and the person's settings (tools.private) forbid it"),
            "Work without it, or ask the person for what is needed.",
        ),
    }
}

fn judge_path(text: &str, context: &Context<'_>, write: bool) -> Verdict {
    let Some(workspace) = context.workspace else { return no_workspace().verdict() };
    let checked = workspace.path(text).and_then(|path| {
        let real = write.then(|| context.access.may_write(&path).and_then(|()| workspace.writable(&path)));
        Ok((path, real.transpose()?))
    });
    match checked {
        Ok((path, None)) if secrets::is_closed(workspace, &path, &granted(context)) => Verdict::ask(
            "path.secret",
            format!("`{path}` may hold secrets"),
            "Look at an example file (such as `.env.example`) instead, or ask the person for what is needed; the person \
             opens a file with the setting secrets.granted.",
        ),
        // A list of files that names it is a person's decision already.
        Ok((path, Some(real))) if context.access.executes() => {
            judge_steering(&path, &real, workspace, context).unwrap_or_else(|| {
                Verdict::allow("path.inside", "the path lies inside the working directory")
            })
        }
        Ok(_) => Verdict::allow("path.inside", "the path lies inside the working directory"),
        Err(refusal) => workspace.explain(refusal).verdict(),
    }
}

/// The files of secrets that the person opened.
fn granted(context: &Context<'_>) -> secrets::GrantedFiles {
    secrets::GrantedFiles::from_settings(context.settings)
}

/// The verdict on writing a file that instructs agents or runs by itself, by its name or by where it leads.
fn judge_steering(
    path: &WorkspacePath,
    resolved: &Path,
    workspace: &Workspace,
    context: &Context<'_>,
) -> Option<Verdict> {
    let is_granted = is_granted_instruction(path, resolved, context);
    let real: Vec<&str> = resolved.iter().filter_map(|part| part.to_str()).collect();
    let given: Vec<&str> = path.as_str().split('/').collect();
    if is_granted && path::is_instruction(&given) {
        return None;
    }
    if path::is_instruction(&real) || path::is_instruction(&given) {
        return Some(Verdict::ask(
            "path.instructions",
            format!("`{path}` tells agents what to do, and a person decides what agents are told"),
            "Say in your answer what should stand there and why.",
        ));
    }
    let row = steering::find(&real).into_iter().chain(steering::find(&given)).max_by_key(|row| row.verdict);
    let Some(row) = row else {
        return judge_configured(path, &workspace.root().join(resolved), workspace);
    };
    let reason = format!("`{path}` steers {}, and a person decides that", row.steers);
    let how_to_fix = "Say in your answer what should stand there and why.";
    Some(match row.verdict {
        Decision::Deny => Verdict::deny("path.steers", reason, how_to_fix),
        Decision::Allow | Decision::Ask => Verdict::ask("path.steers", reason, how_to_fix),
    })
}

/// Asks about a file that git's own configuration names as a hook or as settings.
fn judge_configured(path: &WorkspacePath, real: &Path, workspace: &Workspace) -> Option<Verdict> {
    steering::configured(workspace.root()).iter().any(|place| real.starts_with(place)).then(|| {
        Verdict::ask(
            "path.steers",
            format!("`{path}` steers git (hooks and settings that its configuration names), and a person decides that"),
            "Say in your answer what should stand there and why.",
        )
    })
}

/// Whether the person named this file for this agent. A link to it is not what was named.
fn is_granted_instruction(path: &WorkspacePath, real: &Path, context: &Context<'_>) -> bool {
    let granted = context.settings.list(&table::GRANTED_INSTRUCTIONS);
    real == path.as_path() && granted.iter().any(|entry| Path::new(entry) == path.as_path())
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
        access if !access.offers(touches) => deny(access.describe()),
        _ if touches.executes && !context.may_execute => deny("it may not run programs"),
        access => ticket::judge_tool(name, touches, context.duty, access)
            .unwrap_or_else(|| Verdict::allow("tool.offered", "the tool is offered to this agent")),
    }
}

fn no_workspace() -> Refusal {
    Refusal::new(
        RefusalKind::Workspace,
        "no working directory is set",
        "Start with --working-dir PATH, or set one in the session.",
    )
}
