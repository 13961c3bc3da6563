//! Severity of an act at a place.

use super::place::Place;
use crate::verdict::{Decision, Verdict};
use serde::Serialize;

/// What a command does to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// Looks at names, sizes and dates.
    List,
    /// Reads what stands there.
    Read,
    /// Makes it, or writes over it.
    Write,
    /// Changes it where it is.
    Change,
    /// Deletes one thing.
    Delete,
    /// Deletes a directory with all that is in it.
    DeleteTree,
    /// Makes it executable.
    MakeExecutable,
    /// Changes who may do what with it.
    Permission,
    /// The same for a directory with all that is in it.
    PermissionTree,
    /// Runs it.
    Run,
    /// Makes an empty directory.
    MakeDirectory,
    /// Sends something to another machine.
    Send,
    /// Takes something from another machine.
    Receive,
    /// Stops or changes processes.
    Process,
    /// Starts, stops or changes services, or makes something run later.
    Service,
    /// Changes users, or what they may do.
    User,
    /// Installs, removes or publishes packages.
    Package,
    /// Changes commits or references of a repository.
    History,
    /// Works on data of a database.
    Database,
    /// Changes containers, clusters or clouds.
    Remote,
    /// Changes the machine: disks, kernel, network, firewall.
    Machine,
}

impl Act {
    /// The act as a word of a rule's name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Act::List => "list",
            Act::Read => "read",
            Act::Write => "write",
            Act::Change => "change",
            Act::Delete | Act::DeleteTree => "delete",
            Act::MakeExecutable | Act::Permission | Act::PermissionTree => "permission",
            Act::Run => "run",
            Act::MakeDirectory => "folder",
            Act::Send => "send",
            Act::Receive => "receive",
            Act::Process => "process",
            Act::Service => "service",
            Act::User => "user",
            Act::Package => "package",
            Act::History => "history",
            Act::Database => "database",
            Act::Remote => "remote",
            Act::Machine => "machine",
        }
    }

    /// The act in a sentence: "… would X".
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Act::List => "look at",
            Act::Read => "read",
            Act::Write => "write",
            Act::Change => "change",
            Act::Delete => "delete",
            Act::DeleteTree => "delete everything in",
            Act::MakeExecutable => "make executable",
            Act::Permission | Act::PermissionTree => "change permissions of",
            Act::Run => "run",
            Act::MakeDirectory => "make the directory",
            Act::Send => "send to",
            Act::Receive => "fetch from",
            Act::Process => "stop or change processes of",
            Act::Service => "change services of",
            Act::User => "change users of",
            Act::Package => "change packages of",
            Act::History => "change commits of",
            Act::Database => "change data of",
            Act::Remote => "change, on other machines,",
            Act::Machine => "change the machine by",
        }
    }

    /// The act that findings of a rule are about, where the rule says it.
    pub(crate) fn of_rule(rule: &str) -> Option<Act> {
        let kind = rule.split('.').next().unwrap_or(rule);
        Some(match kind {
            "send" | "transfer" | "tunnel" | "reverse-shell" => Act::Send,
            "fetch" | "network" | "ssh" => Act::Receive,
            "process" => Act::Process,
            "service" | "schedule" | "defence" => Act::Service,
            "user" | "root" => Act::User,
            "package" => Act::Package,
            "git" => Act::History,
            "database" => Act::Database,
            "cloud" | "cluster" | "container" | "infrastructure" | "forge" | "fleet" => Act::Remote,
            "machine" | "mount" | "storage" | "kernel" | "firewall" => Act::Machine,
            "code" | "run" | "shell" => Act::Run,
            _ => return None,
        })
    }
}

impl Place {
    /// The place in a sentence.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Place::Sink => "a device that swallows everything",
            Place::Temporary => "a temporary place",
            Place::Regenerable => "something that a build makes again",
            Place::Inside => "a file of the workspace",
            Place::Outside => "something outside the workspace",
            Place::InHome => "something in the home directory",
            Place::Unknown => "something that cannot be known from the line",
            Place::ProjectSecret => "secrets of the project",
            Place::Instructions => "what agents are told",
            Place::History => "a shell's history",
            Place::System => "a file of the system",
            Place::Workspace => "the whole workspace",
            Place::Above => "a directory above the workspace",
            Place::Repository => "git's own files",
            Place::Record => "the record, the tickets or the directory of the hooks' daemon",
            Place::State => "the records of every project",
            Place::Log => "logs of the system",
            Place::StartUp => "what is run or trusted without being asked for",
            Place::Secret => "credentials",
            Place::Home => "the whole home directory",
            Place::Vital => "what the system depends on",
            Place::Device => "a disk or a device",
            Place::Network => "a connection to another machine",
            Place::Root => "the whole file system",
        }
    }
}

/// The decision on an act at a place.
#[must_use]
pub fn weigh(act: Act, place: Place) -> Decision {
    use Decision::{Allow, Ask, Deny};
    use Place as P;
    match act {
        Act::List => Allow,
        Act::Read => match place {
            P::Secret | P::History => Deny,
            P::ProjectSecret | P::State | P::Device | P::Network => Ask,
            _ => Allow,
        },
        Act::Write | Act::Change => match place {
            P::Sink | P::Temporary | P::Regenerable | P::Inside | P::Workspace => Allow,
            P::Outside
            | P::InHome
            | P::Unknown
            | P::ProjectSecret
            | P::Instructions
            | P::System
            | P::Above
            | P::Home
            | P::Network => Ask,
            _ => Deny,
        },
        Act::Delete => match place {
            P::Sink | P::Temporary | P::Regenerable => Allow,
            P::Inside
            | P::Outside
            | P::InHome
            | P::Unknown
            | P::ProjectSecret
            | P::Instructions
            | P::System => Ask,
            _ => Deny,
        },
        Act::DeleteTree => match place {
            P::Sink | P::Temporary | P::Regenerable => Allow,
            P::Inside | P::Outside | P::Unknown | P::ProjectSecret | P::Instructions => Ask,
            _ => Deny,
        },
        Act::MakeExecutable => match place {
            P::Inside | P::Regenerable => Allow,
            P::StartUp | P::Vital | P::Root | P::Device => Deny,
            _ => Ask,
        },
        Act::Permission | Act::PermissionTree => match place {
            P::Vital | P::Root | P::Device => Deny,
            P::System | P::Home | P::StartUp if act == Act::PermissionTree => Deny,
            _ => Ask,
        },
        Act::MakeDirectory => match place {
            P::StartUp
            | P::Vital
            | P::System
            | P::Repository
            | P::Record
            | P::State
            | P::Secret
            | P::Network => Ask,
            P::Device | P::Root => Deny,
            _ => Allow,
        },
        Act::Send
        | Act::Receive
        | Act::Process
        | Act::Service
        | Act::User
        | Act::Package
        | Act::History
        | Act::Database
        | Act::Remote
        | Act::Machine => Ask,
        Act::Run => match place {
            P::Inside | P::Regenerable | P::System | P::Vital => Allow,
            P::Network | P::Device => Deny,
            _ => Ask,
        },
    }
}

/// The beginning of the names of rules that stand for catastrophes.
pub(super) const CATASTROPHE: &str = "catastrophe.";

/// Does the verdict's rule stand for a catastrophe, which no rule of a person lifts?
#[must_use]
pub fn is_catastrophe(verdict: &Verdict) -> bool {
    verdict.decision == Decision::Deny && verdict.rule.starts_with(CATASTROPHE)
}

/// Is the act at this place a catastrophe?
fn is_catastrophic(act: Act, place: Place) -> bool {
    use Place as P;
    match act {
        Act::Delete | Act::DeleteTree => {
            matches!(
                place,
                P::Root
                    | P::Home
                    | P::Device
                    | P::Record
                    | P::State
                    | P::Repository
                    | P::Vital
                    | P::Workspace
                    | P::Above
            )
        }
        Act::Write | Act::Change | Act::Permission | Act::PermissionTree => {
            matches!(place, P::Root | P::Home | P::Device | P::Record | P::State | P::Repository)
        }
        _ => false,
    }
}

/// The finding on an act at a place.
#[must_use]
pub fn find(act: Act, place: Place, target: &str) -> Verdict {
    let decision = weigh(act, place);
    if decision == Decision::Allow {
        return Verdict::allow("effect", "what it does stays in the workspace, or can be made again");
    }
    let reason = format!("it would {} {}: `{target}`", act.verb(), place.describe());
    let hint = match (act, place) {
        (Act::Read, Place::Secret | Place::ProjectSecret) => {
            "Work without the secret: read an example of the file (`.env.example`), or ask the person for what is needed."
        }
        (Act::Delete | Act::DeleteTree, _) => {
            "Name what is to be deleted, inside the workspace, or leave it."
        }
        (Act::Write | Act::Change, _) => {
            "Write inside the workspace, or say in your answer what should be written there."
        }
        _ => "Do it inside the workspace, or say in your answer what should be done.",
    };
    let rule = match (act, place) {
        (Act::Read, Place::Secret | Place::ProjectSecret | Place::History) => "effect.secret".to_string(),
        _ => format!("effect.{}", act.word()),
    };
    match decision {
        Decision::Deny if is_catastrophic(act, place) => {
            Verdict::deny(format!("{CATASTROPHE}{}", act.word()), reason, hint)
        }
        Decision::Deny => Verdict::deny(rule, reason, hint),
        Decision::Allow | Decision::Ask => Verdict::ask(rule, reason, hint),
    }
}
