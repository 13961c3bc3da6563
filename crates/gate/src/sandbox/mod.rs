//! The box around commands: what the operating system guards, whatever the judge of texts thought.
//!
//! A contained child may write in the workspace, in its private temporary folder and in a few devices; it may read and
//! execute everywhere but in the places of credentials that the policy hides; it has no network. Landlock guards the files (and TCP), a seccomp filter refuses sockets that are
//! not Unix sockets (Landlock knows nothing of UDP), and with them the ways out: tracing others, mounting, new
//! namespaces, kernel modules, io_uring, injecting keystrokes. It has no capabilities, even as root, and the environment of
//! this process is closed to it. Everything is prepared before the fork; between fork and
//! exec the child makes only system calls. Where the kernel cannot do it, [`contain`] fails: nothing runs half contained.
//! On request [`bubblewrap`] does the same with a view of the file system of its own.
//!
//! Limits: Landlock takes lists of what is allowed, so hiding a place means allowing everything around it: the folders on
//! the way (`/`, `/home`, the home folder) cannot be listed, and what appears in them after the start cannot be read.
//! Secrets elsewhere stay readable (without a network to send them), and `.git` and the record inside the workspace stay
//! writable for programs: rights on a folder hold for all below it, so that whoever may make new files in the workspace
//! may write in `.git` too. [`GUARDED`] names what to look at before and after; bubblewrap closes it. Landlock does not guard modes, owners and times: a child can `chmod`, `chgrp` and `touch -d`
//! files outside the workspace that its user owns (their contents stay as they are; builds need these calls). Unix sockets that lie in the
//! file system (a container daemon's) can be connected to on kernels before Landlock's ninth version. `/dev/shm` is
//! shared with everybody who may use it.

pub mod bubblewrap;
mod seccomp;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, Scope,
};
use seccomp::Sockets;
use seccompiler::BpfProgram;
use serde::Serialize;
use std::collections::BTreeSet;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The newest Landlock that is asked for; older kernels give what they have, down to [`LEAST_ABI`].
const NEWEST_ABI: ABI = ABI::V9;
/// Before its third version Landlock cannot keep a child from truncating files elsewhere.
const LEAST_ABI: i32 = 3;
/// What [`contain`] reports and records say.
pub const LANDLOCK: &str = "landlock+seccomp";

/// Devices that programs write to without harm.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm"];

/// Entries of one folder that get a rule of their own; what comes after them cannot be read.
const MOST_ENTRIES: usize = 4096;

/// What this machine can do, for `marvin doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Support {
    /// `landlock` or `none`.
    pub kind: &'static str,
    /// The kernel's Landlock version; 0 when it has none.
    pub abi: i32,
    /// Whether Landlock itself refuses TCP (seccomp refuses it in any case).
    pub tcp: bool,
    /// One sentence for a person.
    pub note: String,
}

/// What a contained child may do.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The folder it works in, writable unless `readonly`.
    pub workspace: PathBuf,
    /// Whether it may only read in the workspace.
    pub readonly: bool,
    /// Its private temporary folder, writable; `TMPDIR` points there.
    pub temporary: PathBuf,
    /// Further writable folders and files.
    pub writable: Vec<PathBuf>,
    /// Places that it cannot read (see [`crate::secrets::places`]); writable folders inside them are open all the same.
    pub hidden: Vec<PathBuf>,
    /// Whether it may reach the network.
    pub network: bool,
    /// The one port that it may listen on, without a network otherwise: it can answer and call nobody. A program that listens
    /// without naming a port gets one that the kernel draws, which Landlock does not see.
    pub listen: Option<u16>,
}

impl Policy {
    /// Nothing writable may hold the workspace, or a place that is hidden: the box would have no walls.
    pub(crate) fn check(&self) -> Result<(), SandboxError> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let workspace = real(&self.workspace);
        for folder in self.writable.iter().map(|folder| real(folder)) {
            let holds = |place: &Path| *place != folder && place.starts_with(&folder);
            if holds(&workspace) || folder.parent().is_none() || self.hidden.iter().any(|place| holds(place))
            {
                return Err(SandboxError::Rules(format!(
                    "{} holds what must stay closed, so it is not opened for writing",
                    folder.display()
                )));
            }
        }
        Ok(())
    }

    /// The usual policy: workspace and temporary folder writable, no network.
    pub fn new(workspace: impl Into<PathBuf>, temporary: impl Into<PathBuf>) -> Self {
        Policy {
            workspace: workspace.into(),
            readonly: false,
            temporary: temporary.into(),
            writable: Vec::new(),
            hidden: Vec::new(),
            network: false,
            listen: None,
        }
    }
}

/// Why a child cannot be contained. It must then not run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel lacks Landlock, or has too old a version.
    #[error(
        "this kernel cannot contain commands (Landlock version {abi}, needed: {LEAST_ABI}); use Linux 6.2 or newer with \
         Landlock on, or set sandbox.commands = \"off\" in the person's config.toml to run commands uncontained"
    )]
    Unavailable {
        /// What the kernel has.
        abi: i32,
    },
    /// Bubblewrap was asked for and cannot be had.
    #[error(
        "commands are to run in bubblewrap (sandbox.commands = \"bubblewrap\"), which does not work here: {0}; mend that, or \
         set sandbox.commands = \"auto\" in the person's config.toml"
    )]
    Bubblewrap(String),
    /// A rule could not be made.
    #[error("commands cannot be contained: {0}")]
    Rules(String),
}

/// What this machine can do.
#[must_use]
pub fn available() -> Support {
    let abi = landlock_version();
    if abi < LEAST_ABI {
        let note =
            format!("Landlock version {abi}; commands need version {LEAST_ABI} (Linux 6.2) and are refused");
        return Support { kind: "none", abi, tcp: false, note };
    }
    let note =
        format!("Landlock version {abi} and seccomp: commands write only in the workspace, no network");
    Support { kind: "landlock", abi, tcp: abi >= 4, note }
}

/// What contains commands when `sandbox.commands` says this: `landlock`, `bubblewrap`, `off`, or `none` where it cannot be had.
#[must_use]
pub fn chosen(setting: &str) -> &'static str {
    match setting {
        "off" => "off",
        "bubblewrap" if bubblewrap::ready().is_ok() => "bubblewrap",
        "bubblewrap" => "none",
        _ => available().kind,
    }
}

/// Arranges that `command` runs contained, and says by what.
///
/// # Errors
/// When the kernel cannot do it, or a folder of the policy cannot be opened.
pub fn contain(command: &mut Command, policy: &Policy) -> Result<&'static str, SandboxError> {
    policy.check()?;
    let abi = landlock_version();
    if abi < LEAST_ABI {
        return Err(SandboxError::Unavailable { abi });
    }
    // A contained child has the same user: what this process knows must not be read from outside it.
    static HIDDEN: OnceLock<Result<(), String>> = OnceLock::new();
    HIDDEN
        .get_or_init(|| marvin_base::child::hide_environment().map_err(|error| error.to_string()))
        .clone()
        .map_err(SandboxError::Rules)?;
    let rules = ruleset(policy)?;
    // Before its fourth version Landlock knows nothing of ports.
    if policy.listen.is_some() && abi < 4 {
        return Err(SandboxError::Rules(format!("Landlock version {abi} cannot open one port and no other")));
    }
    let filters = seccomp::filters(match policy.listen {
        _ if policy.network => Sockets::Internet,
        Some(_) => Sockets::Stream,
        None => Sockets::Unix,
    })?;
    for name in ["TMPDIR", "TMP", "TEMP"] {
        command.env(name, &policy.temporary);
    }
    enter_before_exec(command, rules, filters, kept_capabilities(&policy.workspace));
    Ok(LANDLOCK)
}

/// The Landlock rules, as a handle that the child only has to enter.
fn ruleset(policy: &Policy) -> Result<OwnedFd, SandboxError> {
    let wrong = |error: landlock::RulesetError| SandboxError::Rules(error.to_string());
    let all = AccessFs::from_all(NEWEST_ABI);
    let mut ruleset =
        Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(all).map_err(wrong)?;
    if !policy.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST_ABI)).map_err(wrong)?;
    }
    let ruleset = ruleset.scope(Scope::from_all(NEWEST_ABI)).map_err(wrong)?;
    let read = AccessFs::from_read(NEWEST_ABI);
    // Everything in its own folders, but no devices: they would reach the machine's memory and disks.
    let own = all & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    let mut created = ruleset.create().map_err(wrong)?;
    if let (Some(port), false) = (policy.listen, policy.network) {
        created = created.add_rule(NetPort::new(port, AccessNet::BindTcp)).map_err(wrong)?;
    }
    for place in readable(&policy.hidden) {
        let rights = if place.is_dir() { read } else { read & AccessFs::from_file(NEWEST_ABI) };
        // What vanished since it was listed needs no rule.
        let Ok(handle) = open(&place) else { continue };
        created = created.add_rule(PathBeneath::new(handle, rights)).map_err(wrong)?;
    }
    let in_workspace = if policy.readonly { read } else { own };
    created = created.add_rule(PathBeneath::new(open(&policy.workspace)?, in_workspace)).map_err(wrong)?;
    for folder in [&policy.temporary].into_iter().chain(&policy.writable) {
        let rights = if folder.is_dir() { own } else { AccessFs::from_file(NEWEST_ABI) };
        created = created.add_rule(PathBeneath::new(open(folder)?, rights)).map_err(wrong)?;
    }
    for device in DEVICES.map(Path::new).into_iter().filter(|device| device.exists()) {
        let rights = if device.is_dir() { own } else { AccessFs::from_file(NEWEST_ABI) };
        created = created.add_rule(PathBeneath::new(open(device)?, rights)).map_err(wrong)?;
    }
    Option::<OwnedFd>::from(created).ok_or(SandboxError::Unavailable { abi: 0 })
}

/// Everything but the hidden places, as few folders and files as say it. A folder on the way to a hidden place is given
/// by its entries, so it cannot be listed itself. Links are left out: what they lead to has its own place.
fn readable(hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut all: BTreeSet<PathBuf> = BTreeSet::new();
    for place in hidden.iter().filter(|place| place.is_absolute()) {
        // A hidden place may be a link, or lie behind one.
        all.extend(place.canonicalize());
        all.insert(place.clone());
    }
    let mut readable = Vec::new();
    let mut waiting = vec![PathBuf::from("/")];
    while let Some(place) = waiting.pop() {
        if all.contains(&place) {
            continue;
        }
        if !all.iter().any(|hidden| hidden.starts_with(&place)) {
            readable.push(place);
            continue;
        }
        for entry in std::fs::read_dir(&place).into_iter().flatten().flatten().take(MOST_ENTRIES) {
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                waiting.push(entry.path());
            }
        }
    }
    readable
}

fn open(path: &Path) -> Result<PathFd, SandboxError> {
    PathFd::new(path).map_err(|error| SandboxError::Rules(format!("{}: {error}", path.display())))
}

/// What a program in the workspace has no business to change: what git runs by itself, the record, the tickets. Relative.
pub const GUARDED: [&str; 10] = [
    ".git/config",
    ".git/config.worktree",
    ".git/hooks",
    ".marvin",
    ".marvin/security/denylist.json",
    ".marvin/security/allowlist.json",
    ".marvin/security/learned.jsonl",
    ".marvin/security/programs.toml",
    ".marvin/security/config.json",
    ".tickets",
];

/// The capabilities that the child keeps: none; only where root works in somebody else's folder (a container with a
/// mounted project) the one that lets it write there.
fn kept_capabilities(workspace: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    const DAC_OVERRIDE: u64 = 1 << 1;
    let foreign = std::fs::metadata(workspace).is_ok_and(|facts| facts.uid() != 0);
    if rustix::process::geteuid().is_root() && foreign { DAC_OVERRIDE } else { 0 }
}

/// What `capset` takes: version and process, then two halves of the three sets.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    process: i32,
}

#[repr(C)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up every capability but `keep`, for the programs that follow too. Makes system calls only.
#[expect(unsafe_code, reason = "libc has no safe form of these calls; they read only what is handed to them")]
fn drop_capabilities(keep: u64) -> std::io::Result<()> {
    const VERSION_3: u32 = 0x2008_0522;
    let header = CapabilityHeader { version: VERSION_3, process: 0 };
    let half = |bits: u64| {
        let bits = u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
        CapabilitySets { effective: bits, permitted: bits, inheritable: 0 }
    };
    let sets = [half(keep), half(keep >> 32)];
    // SAFETY: the numbers are passed by value, and the structures have the layout that the kernel documents.
    unsafe {
        for capability in (0..64u64).filter(|capability| keep & (1 << capability) == 0) {
            // Fails past the last capability, and where there is none to drop: then there is nothing to lose either.
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        if libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Lets the child enter what was prepared, after the fork and before the exec.
#[expect(
    unsafe_code,
    reason = "pre_exec runs between fork and exec; the closure makes system calls only and allocates nothing"
)]
fn enter_before_exec(command: &mut Command, rules: OwnedFd, filters: [BpfProgram; 3], keep: u64) {
    // SAFETY: the closure owns what it uses, makes only async-signal-safe system calls, and allocates no memory.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            if libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            drop_capabilities(keep)?;
            for filter in &filters {
                if seccompiler::apply_filter(filter).is_err() {
                    return Err(std::io::Error::from_raw_os_error(libc::EPERM));
                }
            }
            Ok(())
        });
    }
}

/// The kernel's Landlock version, 0 when it has none.
#[expect(
    unsafe_code,
    reason = "the crate does not tell the version; the call reads nothing and changes nothing"
)]
fn landlock_version() -> i32 {
    const VERSION: u32 = 1;
    // SAFETY: with a null pointer, size zero and this flag the call only returns a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, VERSION) };
    i32::try_from(version).unwrap_or(0).max(0)
}
