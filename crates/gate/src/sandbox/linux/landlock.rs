//! Landlock: which files a program may open, whatever mounts it has.
//!
//! In namespaces the rules are made after the mounts, by system calls alone ([`Inner`]): everything that is there may be
//! read, the writable places written. Without namespaces they are the only wall around files ([`ruleset`]): what the
//! [`View`] shows is allowed, and everything else refused.
//!
//! Limits: Landlock knows no exceptions inside an allowed directory. Without namespaces protected files of the workspace can be
//! written and its `.env` files read; [`super::missing`] says so.

use super::super::{Policy, SandboxError};
use super::view::View;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The newest Landlock that is asked for; older kernels give what they have, down to [`MIN_ABI`].
const NEWEST_ABI: ABI = ABI::V9;
/// Before its third version Landlock cannot keep a child from truncating files elsewhere.
pub(super) const MIN_ABI: i32 = 3;
/// From this version on signals to processes outside are refused.
pub(super) const SIGNALS_ABI: i32 = 6;

/// Devices that programs write to without harm.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Files of the running system that can be read.
const RUNNING_SYSTEM: [&str; 2] = ["/proc", "/dev/fd"];
/// Entries of one directory that get a rule of their own; what comes after them cannot be read.
const MAX_ENTRIES: usize = 4096;

/// The kernel's Landlock version, 0 when it has none.
#[expect(
    unsafe_code,
    reason = "the crate does not tell the version; the call reads nothing and changes nothing"
)]
pub(super) fn version() -> i32 {
    const VERSION: u32 = 1;
    // SAFETY: with a null pointer, size zero and this flag the call only returns a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, VERSION) };
    i32::try_from(version).unwrap_or(0).max(0)
}

/// Rights in a directory of the program's own: everything but devices, which would reach the machine's memory and disks,
/// and connecting to sockets that it did not make itself.
fn own_rights() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEWEST_ABI) & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::ResolveUnix)
}

fn wrong(error: &landlock::RulesetError) -> SandboxError {
    SandboxError::Rules(error.to_string())
}

/// The one port that a program without a network may use, and what for.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenPort {
    port: u16,
    right: AccessNet,
}

impl OpenPort {
    pub(super) fn from_policy(policy: &Policy) -> Option<Self> {
        if policy.network {
            return None;
        }
        let listen = policy.listen.map(|port| OpenPort { port, right: AccessNet::BindTcp });
        listen.or_else(|| policy.connect.map(|port| OpenPort { port, right: AccessNet::ConnectTcp }))
    }
}

/// The rules of a sandbox without namespaces, as a handle that the child only has to enter.
pub(super) fn ruleset(policy: &Policy, view: &View) -> Result<OwnedFd, SandboxError> {
    let all = AccessFs::from_all(NEWEST_ABI);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .map_err(|error| wrong(&error))?;
    if !policy.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST_ABI)).map_err(|error| wrong(&error))?;
    }
    let ruleset = ruleset.scope(Scope::from_all(NEWEST_ABI)).map_err(|error| wrong(&error))?;
    let read = AccessFs::from_read(NEWEST_ABI);
    let mut created = ruleset.create().map_err(|error| wrong(&error))?;
    if let Some(OpenPort { port, right }) = OpenPort::from_policy(policy) {
        created = created.add_rule(NetPort::new(port, right)).map_err(|error| wrong(&error))?;
    }
    let shown = view.readable.iter().cloned().chain(RUNNING_SYSTEM.map(PathBuf::from));
    for place in shown.flat_map(|root| without(&root, &view.closed)) {
        // What vanished since it was listed needs no rule.
        created = allow(created, &place, read, false)?;
    }
    for place in &view.writable {
        created = allow(created, place, own_rights(), true)?;
    }
    if policy.readonly {
        // Closed files are secret, their names are not: without them `git status` misses what lies beside.
        created = allow(created, &policy.workspace, AccessFs::ReadDir.into(), false)?;
    }
    for device in DEVICES {
        created = allow(created, Path::new(device), AccessFs::from_file(NEWEST_ABI), false)?;
    }
    Option::<OwnedFd>::from(created).ok_or(SandboxError::Unavailable { abi: 0, needed: MIN_ABI })
}

fn allow(
    created: RulesetCreated,
    place: &Path,
    rights: BitFlags<AccessFs>,
    needed: bool,
) -> Result<RulesetCreated, SandboxError> {
    match PathFd::new(place) {
        Ok(handle) => {
            let rights = if place.is_dir() { rights } else { rights & AccessFs::from_file(NEWEST_ABI) };
            created.add_rule(PathBeneath::new(handle, rights)).map_err(|error| wrong(&error))
        }
        Err(error) if needed => Err(SandboxError::Rules(format!("{}: {error}", place.display()))),
        Err(_) => Ok(created),
    }
}

/// A directory without closed places, as few directories and files as say it. A directory on the way to a closed place is
/// given by its entries, so these rules do not let it be listed itself. Links are left out: what they lead to has its own
/// place.
fn without(root: &Path, closed: &[PathBuf]) -> Vec<PathBuf> {
    let mut readable = Vec::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(place) = waiting.pop() {
        if closed.contains(&place) {
            continue;
        }
        if !closed.iter().any(|closed| closed.starts_with(&place)) {
            readable.push(place);
            continue;
        }
        for entry in std::fs::read_dir(&place).into_iter().flatten().flatten().take(MAX_ENTRIES) {
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                waiting.push(entry.path());
            }
        }
    }
    readable
}

/// Rules that are made inside the namespaces, after the mounts.
#[derive(Debug)]
pub(super) struct Inner {
    handled: RulesetAttributes,
    size: usize,
    rules: Vec<(CString, u64)>,
    port: Option<PortRule>,
}

/// `struct landlock_ruleset_attr` of the kernel.
#[repr(C)]
#[derive(Debug)]
struct RulesetAttributes {
    files: u64,
    network: u64,
    scopes: u64,
}

/// `struct landlock_path_beneath_attr` of the kernel.
#[repr(C, packed)]
struct PathRule {
    rights: u64,
    directory: i32,
}

/// `struct landlock_net_port_attr` of the kernel.
#[repr(C)]
#[derive(Debug)]
struct PortRule {
    rights: u64,
    port: u64,
}

impl Inner {
    /// The rules of a view: everything may be read, the writable places written. With an open port, TCP can do nothing but use that
    /// port.
    pub(super) fn new(view: &View, port: Option<OpenPort>) -> Self {
        let abi = version();
        // What each version added, in the order of the kernel's bits.
        let known: u64 = match abi {
            ..=2 => 0x3fff,
            3..=4 => 0x7fff,
            5..=8 => 0xffff,
            9.. => 0x1_ffff,
        };
        let read = AccessFs::from_read(ABI::V1).bits();
        let write = (own_rights().bits() | BitFlags::from(AccessFs::IoctlDev).bits()) & known;
        let file = AccessFs::from_file(NEWEST_ABI).bits() & known;
        let c_path = |path: &Path| CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        let mut rules = vec![(c"/".to_owned(), read)];
        for place in ["/tmp", "/var/tmp", "/dev/shm", "/dev/pts"] {
            rules.push((c_path(Path::new(place)), write));
        }
        rules.extend(DEVICES.map(|device| (c_path(Path::new(device)), file)));
        for place in &view.writable {
            rules.push((c_path(place), if place.is_dir() { write } else { file }));
        }
        let scopes = if abi >= SIGNALS_ABI { 3 } else { 0 };
        let size = match abi {
            ..=3 => 8,
            4..=5 => 16,
            6.. => 24,
        };
        let network = if port.is_some() { AccessNet::from_all(ABI::V4).bits() } else { 0 };
        let port = port.map(|OpenPort { port, right }| PortRule {
            rights: BitFlags::from(right).bits(),
            port: port.into(),
        });
        Inner { handled: RulesetAttributes { files: known, network, scopes }, size, rules, port }
    }

    /// Makes and enters the rules. System calls only.
    #[expect(unsafe_code, reason = "landlock has no safe form that allocates nothing")]
    pub(super) fn enter(&self) -> std::io::Result<()> {
        const PATH_BENEATH: u32 = 1;
        const NET_PORT: u32 = 2;
        let error = std::io::Error::last_os_error;
        // SAFETY: the structures have the layout that the kernel documents, and every path ends with a zero byte.
        unsafe {
            let rules =
                libc::syscall(libc::SYS_landlock_create_ruleset, &raw const self.handled, self.size, 0u32);
            if rules < 0 {
                return Err(error());
            }
            for (path, rights) in &self.rules {
                let directory = libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
                if directory < 0 {
                    // A device that the machine does not have.
                    continue;
                }
                let rule = PathRule { rights: *rights, directory };
                let added =
                    libc::syscall(libc::SYS_landlock_add_rule, rules, PATH_BENEATH, &raw const rule, 0u32);
                let added = if added < 0 { Err(error()) } else { Ok(()) };
                libc::close(directory);
                added?;
            }
            if let Some(rule) = &self.port
                && libc::syscall(libc::SYS_landlock_add_rule, rules, NET_PORT, &raw const *rule, 0u32) < 0
            {
                return Err(error());
            }
            if libc::syscall(libc::SYS_landlock_restrict_self, rules, 0u32) < 0 {
                return Err(error());
            }
        }
        Ok(())
    }
}
