//! The judgement over a process table: is a person asking, an agent, or can it not be decided?
//!
//! Every ancestor is looked at. One agent, sandbox or other Marvin process among them is enough to refuse. What is left must come
//! from a terminal that a person opened: the nearest known terminal program among the ancestors, a shell as its child that reads what is
//! typed, and this process in the foreground of it. A process that lost its ancestors (double fork) has no terminal program above it.
//!
//! Limits: a program of the same user that types into a person's own terminal (`tmux send-keys`, `xdotool`) leaves no trace in the
//! process table. See docs/deciding.md.

use super::known::{self, TerminalKind};
use super::process::{Process, ProcessTable};
use super::{DecisionChannel, Refusal};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Terminals inside of terminals that are followed.
const MAX_NESTING: usize = 4;

/// Programs that start a shell for another user.
const USER_CHANGERS: [&str; 3] = ["sudo", "su", "doas"];

/// Shells that read what a person types.
const SHELLS: [&str; 16] = [
    "bash", "zsh", "fish", "sh", "dash", "ash", "ksh", "mksh", "ksh93", "tcsh", "csh", "nu", "elvish",
    "xonsh", "pwsh", "busybox",
];

/// Options with which a shell still reads what is typed.
const SHELL_OPTIONS: [&str; 15] = [
    "-l",
    "-i",
    "-il",
    "-li",
    "--login",
    "--interactive",
    "--norc",
    "--noprofile",
    "--posix",
    "--no-config",
    "-f",
    "-o",
    "emacs",
    "vi",
    "-NoLogo",
];

/// The user namespace that the kernel begins with; its number is fixed.
const FIRST_USER_NAMESPACE: &str = "user:[4026531837]";

/// Inputs of the judgement besides the process table.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    /// Programs that the person's settings accept as terminals: file names, or paths.
    pub(super) terminals: Vec<String>,
    /// A program at which the line of ancestors ends, for tests; always none in release builds.
    pub(super) test_terminal: Option<PathBuf>,
    /// Whether `/dev/tty` could be opened.
    pub(super) tty_opens: bool,
}

fn undecided<T>(reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Undecided(reason.into()))
}

/// The ancestors of a process, itself first, up to the terminal of a test.
fn line<'a>(table: &'a ProcessTable, pid: i32, rules: &Rules) -> Result<(Vec<&'a Process>, bool), Refusal> {
    let test = rules.test_terminal.as_deref();
    let is_test = |process: &&Process| test.is_some() && process.exe.as_deref() == test;
    let cut = |line: Vec<&'a Process>| match line.iter().skip(1).position(is_test) {
        Some(at) => (line.into_iter().take(at + 2).collect(), true),
        None => (line, false),
    };
    match table.line(pid) {
        Some(line) => Ok(cut(line)),
        None => undecided("its ancestors cannot be followed to the first process"),
    }
}

/// Refuses where an ancestor is an agent, a sandbox, or a Marvin process; gives the line of ancestors.
pub(super) fn refuse_agents<'a>(
    table: &'a ProcessTable,
    pid: i32,
    rules: &Rules,
) -> Result<(Vec<&'a Process>, bool), Refusal> {
    if !known::is_loaded() {
        return undecided("the table of known programs cannot be read");
    }
    let marvin = table.this().and_then(|this| this.exe_id);
    let (line, is_test) = line(table, pid, rules)?;
    let judged = if is_test { line.len().saturating_sub(1) } else { line.len() };
    for (at, process) in line.iter().take(judged).enumerate() {
        if let Some(mark) = process.marks.first() {
            return Err(Refusal::Agent(format!("{} was started with {mark} set", process.shown())));
        }
        if process.pid_namespaces > 1 {
            return Err(Refusal::Agent(format!("{} runs in a PID namespace of its own", process.shown())));
        }
        if at == 0 {
            continue;
        }
        let own = marvin.is_some() && process.exe_id == marvin;
        if let Some(title) = known::find_agent(process).or(own.then_some("Marvin")) {
            return Err(Refusal::Agent(format!("{title} is an ancestor: {}", process.shown())));
        }
    }
    Ok((line, is_test))
}

/// Requires that a process speaks for a person at a terminal; gives the terminal program.
pub(super) fn require_terminal<'a>(
    table: &'a ProcessTable,
    pid: i32,
    via: DecisionChannel,
    rules: &Rules,
) -> Result<&'a Process, Refusal> {
    at_terminal(table, pid, via, rules, 0)
}

fn at_terminal<'a>(
    table: &'a ProcessTable,
    pid: i32,
    via: DecisionChannel,
    rules: &Rules,
    nesting: usize,
) -> Result<&'a Process, Refusal> {
    let (line, is_test) = refuse_agents(table, pid, rules)?;
    let Some(this) = line.first().copied() else { return undecided("it cannot be seen") };
    if this.terminal == 0 {
        return undecided("it has no controlling terminal");
    }
    if !is_test {
        require_first_user_namespace(this)?;
    }
    let last = line.len().saturating_sub(1);
    let kind = |(at, process): (usize, &&Process)| {
        let test = (is_test && at == last).then_some(TerminalKind::Named);
        test.or_else(|| terminal_kind(process, rules)).map(|kind| (at, kind))
    };
    let Some((at, kind)) = line.iter().enumerate().skip(1).find_map(kind) else {
        let top = line.iter().rev().find(|process| process.pid > 1).copied().unwrap_or(this);
        return undecided(format!(
            "its terminal does not come from a known terminal program, but from {}",
            top.shown()
        ));
    };
    let below = line.get(..at).unwrap_or_default();
    let Some(provider) = line.get(at).copied() else { return undecided("its terminal cannot be seen") };
    let same = |process: &&&Process| match (&process.namespaces, &this.namespaces) {
        (Some(one), Some(two)) => one != two,
        _ => false,
    };
    let is_sandboxed = line.iter().take(at + 1).find(same);
    if let Some(outside) = is_sandboxed.filter(|_| !is_test) {
        return Err(Refusal::Agent(format!(
            "it runs in a sandbox: {} is in other namespaces",
            outside.shown()
        )));
    }
    let leader = session_leader(below, provider, rules)?;
    let is_command = via == DecisionChannel::Command;
    if leader.pid == this.pid {
        if is_command && !is_test {
            return undecided(
                "it was started by the terminal itself and not from a shell in which a person types",
            );
        }
    } else if !is_interactive_shell(leader) {
        return undecided(format!("{} is not a shell in which a person types", leader.shown()));
    }
    if let Some(script) = script_of_own_session(below, leader) {
        return undecided(format!(
            "{} leads its session and is not a shell in which a person types",
            script.shown()
        ));
    }
    if is_command && this.foreground != this.group {
        return undecided("it is not in the foreground of its terminal");
    }
    if is_command && !rules.tty_opens {
        return undecided("its terminal cannot be opened");
    }
    match kind {
        TerminalKind::Login if provider.name.starts_with("sshd") || provider.name.starts_with("dropbear") => {
            require_remote(leader)?;
        }
        TerminalKind::Multiplexer => require_client(table, provider, rules, nesting)?,
        TerminalKind::Login | TerminalKind::Emulator | TerminalKind::Named => {}
    }
    Ok(provider)
}

/// Requires that the owners of files are the system's own: in another user namespace, files of the caller's belong to root and lie where
/// it put them, so that a terminal program proves nothing.
fn require_first_user_namespace(this: &Process) -> Result<(), Refusal> {
    match &this.namespaces {
        Some([_, _, user]) if user != FIRST_USER_NAMESPACE => {
            Err(Refusal::Agent("it runs in a user namespace of its own".into()))
        }
        _ => Ok(()),
    }
}

/// The kind of terminal program that a process is. The name of the process does not count, only the file that root installed; of a process of
/// root itself, which an ordinary user cannot start under another name, the name.
fn terminal_kind(process: &Process, rules: &Rules) -> Option<TerminalKind> {
    if let Some(path) = &process.exe {
        let name = process.exe_name()?;
        let listed = |entry: &String| {
            if entry.contains('/') { path.starts_with(Path::new(entry)) } else { *entry == name }
        };
        if rules.terminals.iter().any(listed) {
            return Some(TerminalKind::Named);
        }
        let kind = known::find_terminal(&name)?;
        let fits = process.exe_is_system && (kind != TerminalKind::Login || process.is_root());
        return fits.then_some(kind);
    }
    let kind = known::find_terminal(&process.name)?;
    (process.is_root() && kind == TerminalKind::Login).then_some(kind)
}

/// The first process of the session that the terminal program began: its leader, or the child of a login that leads it itself.
/// Between the two stand only further processes of a login.
fn session_leader<'a>(
    below: &[&'a Process],
    provider: &Process,
    rules: &Rules,
) -> Result<&'a Process, Refusal> {
    let mut logins = vec![provider.pid];
    for process in below.iter().rev() {
        let begins =
            process.pid == process.session || (provider.is_root() && logins.contains(&process.session));
        if begins && process.terminal != 0 && !is_login(process) {
            return Ok(process);
        }
        logins.push(process.pid);
        if !is_login(process) && terminal_kind(process, rules).is_none() {
            return undecided(format!("{} stands between it and its terminal", process.shown()));
        }
    }
    undecided("its terminal has no session")
}

/// The program that reads what is typed in a terminal that was opened below the person's own, unless it is a shell in which a person types or the
/// process itself: a script there proves nothing, since a program that replaced itself by it leaves no trace.
fn script_of_own_session<'a>(below: &[&'a Process], leader: &Process) -> Option<&'a Process> {
    let this = below.first().copied()?;
    if this.session == leader.session {
        return None;
    }
    let at = below.iter().position(|process| process.pid == this.session)?;
    let leads = below.get(at).copied()?;
    let changes_user =
        leads.exe_is_system && USER_CHANGERS.iter().any(|name| leads.exe_name().as_deref() == Some(*name));
    // `sudo -i` leads the session of the shell that it starts.
    let reads = if changes_user { below.get(at.checked_sub(1)?).copied()? } else { leads };
    (reads.pid != this.pid && !is_interactive_shell(reads)).then_some(reads)
}

fn is_login(process: &Process) -> bool {
    known::find_terminal(&process.name) == Some(TerminalKind::Login)
}

/// Whether a shell reads what is typed, and neither a command of its command line nor a file.
fn is_interactive_shell(process: &Process) -> bool {
    let exe = process.exe_name().unwrap_or_default();
    let name = exe.split('.').next().unwrap_or_default();
    let mut words = process.arguments.iter().skip(1).peekable();
    if !SHELLS.contains(&name) {
        return false;
    }
    while let Some(word) = words.next() {
        match word.as_str() {
            // Files of editors that mark prompts; a file that another user than root could write may hold a command.
            "--init-file" | "--rcfile" => {
                use std::os::unix::fs::MetadataExt;
                let facts = words.next().and_then(|file| std::fs::metadata(file).ok());
                if !facts.is_some_and(|facts| facts.uid() == 0 && facts.mode() & 0o022 == 0) {
                    return false;
                }
            }
            word if SHELL_OPTIONS.contains(&word) || SHELLS.contains(&word) => {}
            _ => return false,
        }
    }
    true
}

/// Requires that a login over the network came from another machine.
fn require_remote(leader: &Process) -> Result<(), Refusal> {
    let text = leader.ssh_connection.as_deref().unwrap_or_default();
    let addresses: Vec<IpAddr> = text.split(' ').step_by(2).filter_map(|word| word.parse().ok()).collect();
    match addresses.as_slice() {
        [from, to] if from.is_loopback() || from == to => {
            undecided("it was reached by ssh from this machine, which an agent could do as well")
        }
        [_, _] => Ok(()),
        _ => undecided("it was reached by ssh, and its shell does not say from where"),
    }
}

/// Requires a client of the multiplexer in a person's own terminal: who started the server cannot be known.
fn require_client(
    table: &ProcessTable,
    server: &Process,
    rules: &Rules,
    nesting: usize,
) -> Result<(), Refusal> {
    if nesting >= MAX_NESTING {
        return undecided("terminals are nested too deeply");
    }
    let client = |process: &&Process| {
        process.pid != server.pid && process.exe_id.is_some() && process.exe_id == server.exe_id
    };
    let mut clients = table.connected(server.pid).filter(client);
    if clients
        .any(|client| at_terminal(table, client.pid, DecisionChannel::Screen, rules, nesting + 1).is_ok())
    {
        return Ok(());
    }
    undecided(format!("{} has no client that is attached from a person's terminal", server.shown()))
}

/// Requires what can be required of a program that runs without a terminal: a session that is its own or an ancestor's, and no sandbox.
pub(super) fn require_ancestry(table: &ProcessTable, rules: &Rules) -> Result<(), Refusal> {
    let Some(this) = table.this() else { return undecided("it cannot be seen") };
    let (line, is_test) = refuse_agents(table, this.pid, rules)?;
    if !is_test && !line.iter().any(|process| process.pid == this.session) {
        return undecided("the program that began its session is not among its ancestors");
    }
    if !is_test {
        require_first_user_namespace(this)?;
    }
    let differs = |process: &&&Process| match (&process.namespaces, &this.namespaces) {
        (Some([_, pid, user]), Some([_, own_pid, own_user])) => pid != own_pid || user != own_user,
        _ => false,
    };
    match line.iter().find(differs) {
        Some(outside) => {
            Err(Refusal::Agent(format!("it runs in a sandbox: {} is in other namespaces", outside.shown())))
        }
        None => Ok(()),
    }
}
