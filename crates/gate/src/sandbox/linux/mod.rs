//! The sandbox of Linux: namespaces, Landlock and seccomp.

mod capabilities;
mod landlock;
mod mounts;
mod seccomp;
mod view;

use super::{Level, Policy, SandboxError, Support};
use landlock::OpenPort;
use marvin_base::child::{Child, Namespaces};
use marvin_base::environment::Environment;
use seccomp::Sockets;
use seccompiler::BpfProgram;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use view::View;

/// Tries the levels out.
pub(super) fn support() -> Support {
    let abi = landlock::version();
    if abi < landlock::MIN_ABI {
        let why = format!("Landlock version {abi} is too old");
        return Support { level: None, landlock: abi, namespaces: Some(why) };
    }
    let (level, namespaces) = match try_namespaces() {
        Ok(()) => (Level::Namespaces, None),
        Err(why) => (Level::Landlock, Some(why)),
    };
    tracing::info!(level = level.word(), landlock = abi, namespaces, "sandbox tried out");
    Support { level: Some(level), landlock: abi, namespaces }
}

/// The reason why no level can be had.
pub(super) fn unavailable(support: &Support) -> SandboxError {
    SandboxError::Unavailable { abi: support.landlock, needed: landlock::MIN_ABI }
}

/// What a level leaves open.
pub(super) fn missing(level: Level) -> Vec<&'static str> {
    if level == Level::Namespaces {
        return Vec::new();
    }
    let mut missing = vec![
        "commands have no loopback network: tests that start servers fail",
        "commands cannot use Unix sockets in the file system, System V IPC or /dev/shm",
        "commands can write steering files of the workspace (.git/config, hooks); changes are undone afterwards and reported",
        "commands can read .env files of the workspace",
        "commands see the names and arguments of other processes in /proc",
        "commands can change modes and times of files that you own",
    ];
    if landlock::version() < landlock::SIGNALS_ABI {
        missing
            .push("commands can send no signals but to their own group, since this kernel cannot scope them");
    }
    missing
}

/// Puts a child into a level of the sandbox, and gives its word.
pub(super) fn enter_level(
    child: &mut Child,
    policy: Policy,
    level: Level,
) -> Result<&'static str, SandboxError> {
    let policy = policy.resolved()?;
    // Before its fourth version Landlock knows nothing of ports.
    if OpenPort::from_policy(&policy).is_some() && landlock::version() < 4 {
        let abi = landlock::version();
        return Err(SandboxError::Rules(format!("Landlock version {abi} cannot open one port and no other")));
    }
    // A sandboxed child has the same user: what this process knows must not be read from outside it.
    static HIDDEN: OnceLock<Result<(), String>> = OnceLock::new();
    HIDDEN
        .get_or_init(|| marvin_base::child::hide_environment().map_err(|error| error.to_string()))
        .clone()
        .map_err(SandboxError::Rules)?;
    let mut environment = Environment::of_process();
    if let Some(path) = child.set.get("PATH") {
        environment = environment.with("PATH", path.as_str());
    }
    let view = View::new(&policy, &environment);
    for name in ["TMPDIR", "TMP", "TEMP"] {
        child.set.insert(name.to_string(), policy.temporary.to_string_lossy().into_owned());
    }
    child.own_session = true;
    child.limits.hard = true;
    let keep = capabilities::kept(&policy.workspace);
    let rules = match level {
        Level::Namespaces => {
            let directory = child.directory_in(&policy.workspace);
            // What this process talks to must be on the machine's own loopback.
            let port = OpenPort::from_policy(&policy);
            let own_network = !policy.network && port.is_none();
            let plan = mounts::Plan::new(&view, &directory, own_network)
                .map_err(|error| SandboxError::Rules(error.to_string()))?;
            let plan = Arc::new(plan);
            let mut flags =
                libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
            if own_network {
                flags |= libc::CLONE_NEWNET;
            }
            child.namespaces = Some(Namespaces { flags, setup: Arc::new(move || plan.carry_out()) });
            // From this version on Landlock keeps abstract sockets of other programs out of reach.
            let has_unix = policy.unix_sockets && landlock::version() >= landlock::SIGNALS_ABI;
            let sockets = match port {
                None => Sockets::Internet,
                Some(_) if has_unix => Sockets::StreamAndUnix,
                Some(_) => Sockets::Stream,
            };
            let filters = seccomp::filters(sockets, Level::Namespaces)?;
            let rules = Arc::new(landlock::Inner::new(&view, port));
            Rules { filters, keep, enter: Arc::new(move || rules.enter()) }
        }
        Level::Landlock => {
            let sockets = match OpenPort::from_policy(&policy) {
                _ if policy.network => Sockets::Internet,
                Some(_) => Sockets::Stream,
                None => Sockets::Pairs,
            };
            let filters = seccomp::filters(sockets, Level::Landlock)?;
            let rules = Arc::new(landlock::ruleset(&policy, &view)?);
            Rules { filters, keep, enter: Arc::new(move || restrict(&rules)) }
        }
    };
    child.prepare = Some(Arc::new(move |command| {
        enter_before_exec(command, rules.clone());
        Ok(())
    }));
    Ok(level.word())
}

/// The rules that the child enters right before exec.
#[derive(Clone)]
struct Rules {
    filters: [BpfProgram; 3],
    keep: u64,
    enter: Arc<dyn Fn() -> std::io::Result<()> + Send + Sync>,
}

/// Enters Landlock rules that were made before the fork.
#[expect(unsafe_code, reason = "a system call without a safe form that allocates nothing")]
fn restrict(rules: &std::os::fd::OwnedFd) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: a plain system call.
    if unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

/// Lets the child enter what was prepared, after the fork and before the exec.
#[expect(
    unsafe_code,
    reason = "pre_exec runs between fork and exec; the closure makes system calls only and allocates nothing"
)]
fn enter_before_exec(command: &mut Command, rules: Rules) {
    // SAFETY: the closure owns what it uses, makes only async-signal-safe system calls, and allocates no memory.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            (rules.enter)()?;
            capabilities::drop_all_but(rules.keep)?;
            for filter in &rules.filters {
                if seccompiler::apply_filter(filter).is_err() {
                    return Err(std::io::Error::from_raw_os_error(libc::EPERM));
                }
            }
            Ok(())
        });
    }
}

/// Whether namespaces hold on this machine what they promise, tried with a real program.
fn try_namespaces() -> Result<(), String> {
    let said = |error: std::io::Error| format!("cannot try it out: {error}");
    let made = tempfile::Builder::new().prefix("marvin-probe-").tempdir().map_err(said)?;
    let directory = made.path().canonicalize().map_err(said)?;
    let [workspace, temporary] = ["work", "temporary"].map(|name| directory.join(name));
    for place in [&workspace, &temporary] {
        std::fs::create_dir(place).map_err(said)?;
    }
    let outside = directory.join("outside");
    std::fs::write(&outside, "x").map_err(said)?;
    let script = "echo a > a && ! test -e \"$1\" && test $$ -lt 9 && test ! -w /usr && echo holds";
    let mut child = Child::new("/bin/sh").args(["-c", script, "sh"]).args([outside]);
    child.directory = Some(workspace.clone());
    child.inherit = false;
    // A search path that holds the temporary directory would show the file outside, rightly.
    child.set.insert("PATH".to_string(), "/usr/bin:/bin".to_string());
    enter_level(&mut child, Policy::new(&workspace, &temporary), Level::Namespaces)
        .map_err(|error| error.to_string())?;
    let output = marvin_base::child::run_blocking(&child)
        .map_err(|error| format!("the system refuses namespaces to this user: {error}"))?;
    if output.stdout == b"holds\n" && workspace.join("a").exists() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "a program inside sees more than it should: {}",
        complaint.lines().next().unwrap_or("no reason given")
    ))
}
