//! Decides whether a process speaks for a person.
//!
//! Commands that decide (approve, trust, forget …) need a [`Person`], and [`Person::identify`] is the way to get one. It
//! decides by facts that the process cannot choose: its ancestors, its terminal, its namespaces ([`process`], [`ancestry`]), and a
//! key in the person's state directory that a sandbox cannot read ([`decisions`]). An undecidable case is refused, with a hint how
//! a person can do it.
//!
//! Limits: a hostile program of the same user outside of every sandbox can write the person's files directly, or type into the
//! person's own terminal. docs/deciding.md says what remains.

mod ancestry;
pub mod decisions;
mod known;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod marks;
pub mod process;
mod settings;
#[cfg(test)]
mod tests;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;

use crate::environment::Environment;
use crate::exit::Exit;
use ancestry::Rules;
pub use decisions::DecidedBy;
use process::{Process, ProcessTable};
use std::path::PathBuf;

/// Characters of a name that are kept.
const MAX_NAME_CHARS: usize = 80;
/// Name of the variable by which debug builds are told the terminal of a test.
#[cfg(debug_assertions)]
const TEST_TERMINAL: &str = "MARVIN_TEST_TERMINAL";

/// How a decision reaches this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionChannel {
    /// A command line that decides by itself.
    Command,
    /// Keys that are typed into this process, which holds the terminal.
    Screen,
    /// Requests that carry the token of the page, which this process made.
    Page,
}

impl DecisionChannel {
    fn word(self) -> &'static str {
        match self {
            DecisionChannel::Command => "command",
            DecisionChannel::Screen => "screen",
            DecisionChannel::Page => "page",
        }
    }
}

/// Reasons why a process does not speak for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "cannot decide for a person: this process belongs to an agent ({0})\n  hint: say in your answer what should be decided; a person decides in a terminal of their own"
    )]
    Agent(String),
    #[error(
        "cannot tell whether a person decides: {0}\n  hint: run it yourself from a shell in a terminal, or in `marvin`; for your own scripts set person.unattended in your config.toml (docs/deciding.md)"
    )]
    Undecided(String),
    #[error("--reviewer: say who decides, for example --reviewer ann")]
    Nameless,
}

impl Refusal {
    /// The exit code of a command that was refused.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Refusal::Agent(_) => Exit::Refused,
            Refusal::Undecided(_) => Exit::Blocked,
            Refusal::Nameless => Exit::Usage,
        }
    }
}

/// Proof that a person decides.
#[derive(Debug, Clone)]
pub struct Person {
    by: DecidedBy,
    state: PathBuf,
}

impl Person {
    /// The person for whom this process speaks.
    ///
    /// # Errors
    /// When an agent asks, when it cannot be told who asks, or when the key of the state directory cannot be used.
    pub fn identify(
        environment: &Environment,
        via: DecisionChannel,
        reviewer: Option<&str>,
    ) -> Result<Self, Refusal> {
        Person::judge(&ProcessTable::of_system(), environment, via, reviewer)
    }

    /// As [`Person::identify`], over a given table.
    ///
    /// # Errors
    /// As there.
    pub fn judge(
        table: &ProcessTable,
        environment: &Environment,
        via: DecisionChannel,
        reviewer: Option<&str>,
    ) -> Result<Self, Refusal> {
        refuse_marks(environment)?;
        let this = own_row(table)?;
        let own = settings::read(environment)?;
        let rules = rules(environment, own.terminals);
        let (found, unattended) = match ancestry::require_terminal(table, this.pid, via, &rules) {
            Ok(terminal) => (terminal.shown(), None),
            Err(Refusal::Undecided(why)) => match own.unattended {
                Some(name) => {
                    ancestry::require_ancestry(table, &rules)?;
                    ("person.unattended".to_string(), Some(name))
                }
                None => return Err(Refusal::Undecided(why)),
            },
            Err(refusal) => return Err(refusal),
        };
        let name = match reviewer.map(str::trim) {
            Some("") => return Err(Refusal::Nameless),
            Some(name) => name.to_string(),
            None => unattended.clone().unwrap_or_else(|| user_name(environment)),
        };
        let state = decisions::state_dir(environment)
            .ok_or_else(|| Refusal::Undecided("the state directory is unknown: HOME is not set".into()))?;
        decisions::Key::load_or_create(&state).map_err(|error| {
            Refusal::Undecided(format!("the key of the state directory cannot be used: {error}"))
        })?;
        let via = if unattended.is_some() { "unattended" } else { via.word() };
        let by = DecidedBy {
            name: crate::truncate::line(&crate::printable::visible(&name), MAX_NAME_CHARS),
            uid: this.users[0],
            tty: terminal_name(this),
            pid: this.pid,
            exe: this.exe.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
            terminal: found,
            via: via.to_string(),
        };
        Ok(Person { by, state })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.by.name
    }

    /// Name, terminal and process of the one who decides, for a record.
    #[must_use]
    pub fn decided_by(&self) -> &DecidedBy {
        &self.by
    }

    /// Appends a decision to the state directory's `decisions.jsonl`, before it takes effect.
    ///
    /// # Errors
    /// When it cannot be written; then it must not take effect.
    pub fn record(&self, command: &str, subject: &str) -> Result<(), decisions::DecisionError> {
        decisions::append(&self.state, &self.by, command, subject)
    }
}

/// Refuses processes of agents only: for commands that decide nothing, but that an agent has its own way for.
///
/// # Errors
/// When an agent or a sandboxed program asks, or where the system's process table is not read.
pub fn refuse_agents(environment: &Environment) -> Result<(), Refusal> {
    refuse_marks(environment)?;
    let table = ProcessTable::of_system();
    let this = own_row(&table)?;
    match ancestry::refuse_agents(&table, this.pid, &rules(environment, Vec::new())) {
        Err(refusal @ Refusal::Agent(_)) => Err(refusal),
        _ => Ok(()),
    }
}

/// The row of this process. A system whose table is not read has none, so nothing can be told of its ancestors.
fn own_row(table: &ProcessTable) -> Result<&Process, Refusal> {
    table.this().ok_or_else(|| {
        Refusal::Undecided("its own process cannot be seen in the system's process table".into())
    })
}

fn refuse_marks(environment: &Environment) -> Result<(), Refusal> {
    match environment.iter().find(|(name, value)| marks::is_mark(name, value)) {
        Some((mark, _)) => Err(Refusal::Agent(format!("{mark} is set"))),
        None => Ok(()),
    }
}

fn rules(environment: &Environment, terminals: Vec<String>) -> Rules {
    let tty = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty");
    Rules { terminals, test_terminal: test_terminal(environment), tty_opens: tty.is_ok() }
}

/// The program that counts as the terminal of a test. Release builds have none.
#[cfg(debug_assertions)]
fn test_terminal(environment: &Environment) -> Option<PathBuf> {
    environment.get(TEST_TERMINAL).map(PathBuf::from)
}

#[cfg(not(debug_assertions))]
fn test_terminal(_: &Environment) -> Option<PathBuf> {
    None
}

fn user_name(environment: &Environment) -> String {
    let user = rustix::process::getuid().as_raw();
    let known = settings::user_row(user).map(|row| row.name);
    let variable = environment.get("USER").or(environment.get("LOGNAME")).map(str::to_string);
    // Tests have people of their own.
    let name = if cfg!(debug_assertions) { variable.or(known) } else { known.or(variable) };
    name.unwrap_or_else(|| "person".to_string())
}

/// The path of a controlling terminal, from its device number.
fn terminal_name(process: &Process) -> Option<String> {
    let device = u32::try_from(process.terminal).ok().filter(|device| *device != 0)?;
    let major = (device >> 8) & 0xfff;
    let minor = (device & 0xff) | ((device >> 12) & 0xf_ff00);
    Some(match major {
        4 => format!("/dev/tty{minor}"),
        136..=143 => format!("/dev/pts/{}", (major - 136) * 256 + minor),
        _ => format!("{major}:{minor}"),
    })
}

/// People for tests, through the same judgement, over a table that models a terminal.
#[cfg(debug_assertions)]
#[doc(hidden)]
pub mod testing {
    use super::{DecisionChannel, Environment, Person, Process, ProcessTable, Refusal};
    use std::path::{Path, PathBuf};

    /// The rows of a shell in a terminal window with `marvin` in the foreground.
    #[must_use]
    pub fn window() -> Vec<Process> {
        let program = |path: &str| {
            (Some(PathBuf::from(path)), Path::new(path).file_name().map(|n| n.to_string_lossy().into_owned()))
        };
        let row = |pid: i32, parent: i32, session: i32, path: &str| {
            let (exe, name) = program(path);
            let at_terminal = pid >= 30;
            Process {
                pid,
                parent,
                group: pid,
                session,
                started: u64::from(pid.unsigned_abs()),
                exe,
                name: name.unwrap_or_default().chars().take(15).collect(),
                exe_id: Some((1, u64::from(pid.unsigned_abs()))),
                exe_is_system: true,
                arguments: vec![path.to_string()],
                users: if pid < 10 { [0; 4] } else { [1000; 4] },
                pid_namespaces: 1,
                terminal: if at_terminal { 0x8803 } else { 0 },
                foreground: if at_terminal { 40 } else { -1 },
                ..Process::default()
            }
        };
        vec![
            row(1, 0, 1, "/usr/lib/systemd/systemd"),
            row(10, 1, 10, "/usr/lib/systemd/systemd"),
            row(20, 10, 20, "/usr/libexec/gnome-terminal-server"),
            row(30, 20, 30, "/usr/bin/bash"),
            row(40, 30, 30, "/usr/local/bin/marvin"),
        ]
    }

    /// A person of this name in front of that window, whose state directory is below `home`.
    ///
    /// # Errors
    /// As for [`Person::judge`].
    pub fn person(name: &str, home: &Path) -> Result<Person, Refusal> {
        let environment = Environment::from_iter([("HOME", home.display().to_string())]);
        Person::judge(
            &ProcessTable::of_rows(40, window(), &[]),
            &environment,
            DecisionChannel::Screen,
            Some(name),
        )
    }
}
