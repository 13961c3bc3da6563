//! System calls that a contained program cannot make.

use super::super::{Level, SandboxError};
use super::landlock;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;

/// Numbers of the kernel for which C libraries have different types.
const PRIO_PROCESS: u64 = 0;
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541C;

/// The kinds of sockets that a program may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Connected pairs only: a socket that can be connected reaches agents and buses of the person.
    Pairs,
    /// Pairs, and streams of the Internet, TCP and nothing else: what they may do is left to Landlock, which knows ports.
    Stream,
    /// The same, and Unix sockets.
    StreamAndUnix,
    /// Unix and Internet sockets, and those that ask the kernel about the network; no others (raw devices, virtual machines).
    Internet,
}

/// Everything, as filters that are entered one after the other.
pub(super) fn filters(sockets: Sockets, level: Level) -> Result<[BpfProgram; 3], SandboxError> {
    Ok([refusals(sockets, level)?, missing_calls(level)?, unsupported_calls()?])
}

/// System calls that are refused whatever their arguments.
const REFUSED: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_lookup_dcookie,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_kcmp,
    libc::SYS_process_madvise,
    libc::SYS_vhangup,
    libc::SYS_mount_setattr,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Ways to memory and queues that are shared with processes outside; in namespaces they are the program's own.
const SHARED_IPC: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls that act on the process named by their first argument, where 0 is the caller. Outside namespaces that process may be
/// another program of the person's.
const ON_PROCESSES: &[i64] = &[
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// Calls that signal the process or group named by their first argument.
const SIGNALS: &[i64] =
    &[libc::SYS_kill, libc::SYS_tkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo];

/// Calls that give a file its mode, with the position of the mode among their arguments. `fchmodat2` has the same number on every
/// architecture.
const MODES: &[(i64, u8)] =
    &[(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (452, 2), (libc::SYS_mknodat, 2)];
/// The same calls where the architecture has their old forms.
#[cfg(target_arch = "x86_64")]
const OLD_MODES: &[(i64, u8)] = &[(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OLD_MODES: &[(i64, u8)] = &[];
/// Calls that open files, with the position of their flags; the mode follows, and counts where a file may be made.
#[cfg(target_arch = "x86_64")]
const OPENING: &[(i64, u8)] = &[(libc::SYS_open, 1), (libc::SYS_openat, 2)];
#[cfg(not(target_arch = "x86_64"))]
const OPENING: &[(i64, u8)] = &[(libc::SYS_openat, 2)];

/// Modes by which a program runs with the rights of its file's owner or group: a file of the workspace outlives the sandbox.
fn identity_modes() -> Result<BTreeMap<i64, Vec<SeccompRule>>, SandboxError> {
    let has = |argument: u8, bits: u32| condition(argument, SeccompCmpOp::MaskedEq(bits.into()), bits.into());
    let modes = [libc::S_ISUID, libc::S_ISGID];
    let mut rules = BTreeMap::new();
    for (call, mode) in MODES.iter().chain(OLD_MODES) {
        let refused = modes.iter().map(|bit| rule(vec![has(*mode, *bit)?]));
        rules.insert(*call, refused.collect::<Result<_, _>>()?);
    }
    // `O_TMPFILE` has a bit of its own beside that of `O_DIRECTORY`.
    let making = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY].map(i32::unsigned_abs);
    for (call, flags) in OPENING {
        let refused = making.iter().flat_map(|flag| modes.iter().map(move |bit| (*flag, *bit)));
        let refused = refused.map(|(flag, bit)| rule(vec![has(*flags, flag)?, has(*flags + 1, bit)?]));
        rules.insert(*call, refused.collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

/// The main filter: what matches fails with `EPERM`, the rest goes through.
fn refusals(sockets: Sockets, level: Level) -> Result<BpfProgram, SandboxError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let families: &[i32] = match sockets {
        Sockets::Pairs => &[],
        Sockets::Stream => &[libc::AF_INET, libc::AF_INET6],
        Sockets::StreamAndUnix => &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6],
        Sockets::Internet => &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
    };
    // Without a family that may be used, every call is refused.
    let mut of_socket = Vec::new();
    if !families.is_empty() {
        let other =
            families.iter().map(|family| condition(0, SeccompCmpOp::Ne, family.unsigned_abs().into()));
        of_socket.push(rule(other.collect::<Result<_, _>>()?)?);
    }
    if matches!(sockets, Sockets::Stream | Sockets::StreamAndUnix) {
        of_socket.extend(no_streams()?);
    }
    rules.insert(libc::SYS_socket, of_socket);
    // Limits of other processes: a limit on its processor time kills the keeper.
    rules.insert(libc::SYS_prlimit64, vec![rule(vec![condition(0, SeccompCmpOp::Ne, 0)?])?]);
    if level == Level::Landlock {
        rules.extend(SHARED_IPC.iter().map(|call| (*call, Vec::new())));
        for call in ON_PROCESSES {
            rules.insert(*call, vec![rule(vec![condition(0, SeccompCmpOp::Ne, 0)?])?]);
        }
        // By process, by group and by user: only its own process.
        let not_itself = [condition(0, SeccompCmpOp::Ne, PRIO_PROCESS)?, condition(1, SeccompCmpOp::Ne, 0)?];
        let not_itself =
            not_itself.into_iter().map(|wrong| rule(vec![wrong])).collect::<Result<Vec<_>, _>>()?;
        rules.insert(libc::SYS_setpriority, not_itself);
        rules.insert(libc::SYS_ioprio_set, vec![rule(vec![condition(1, SeccompCmpOp::Ne, 0)?])?]);
        if landlock::version() < landlock::SIGNALS_ABI {
            for call in SIGNALS {
                rules.insert(*call, vec![rule(vec![condition(0, SeccompCmpOp::Ne, 0)?])?]);
            }
        }
    }
    let namespace = u64::from(libc::CLONE_NEWUSER.unsigned_abs());
    let new_user = condition(0, SeccompCmpOp::MaskedEq(namespace), namespace)?;
    rules.insert(libc::SYS_clone, vec![rule(vec![new_user])?]);
    let keystrokes = [TIOCSTI, TIOCLINUX]
        .into_iter()
        .map(|request| rule(vec![condition(1, SeccompCmpOp::Eq, request)?]))
        .collect::<Result<Vec<_>, _>>()?;
    rules.insert(libc::SYS_ioctl, keystrokes);
    rules.extend(identity_modes()?);
    compile(rules, libc::EPERM)
}

/// Sockets of the Internet that are no TCP: of another kind than a stream, or of another protocol (MPTCP, SCTP).
fn no_streams() -> Result<Vec<SeccompRule>, SandboxError> {
    const KIND: u64 = 0xf;
    let mut rules = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let family = || condition(0, SeccompCmpOp::Eq, family.unsigned_abs().into());
        let stream = u64::from(libc::SOCK_STREAM.unsigned_abs());
        for kind in (0..=KIND).filter(|kind| *kind != stream) {
            rules.push(rule(vec![family()?, condition(1, SeccompCmpOp::MaskedEq(KIND), kind)?])?);
        }
        let other = |protocol: i32| condition(2, SeccompCmpOp::Ne, protocol.unsigned_abs().into());
        rules.push(rule(vec![family()?, other(0)?, other(libc::IPPROTO_TCP)?])?);
    }
    Ok(rules)
}

/// `clone3` and `openat2` hide flags and modes behind a pointer; told that they do not exist, programs fall back to `clone` and
/// `openat`.
fn missing_calls(level: Level) -> Result<BpfProgram, SandboxError> {
    let mut rules = BTreeMap::from([libc::SYS_clone3, libc::SYS_openat2].map(|call| (call, Vec::new())));
    if level == Level::Landlock {
        // Handles on processes: programs fall back to what was there before them.
        let handles = [libc::SYS_pidfd_open, libc::SYS_pidfd_getfd, libc::SYS_pidfd_send_signal];
        rules.extend(handles.map(|call| (call, Vec::new())));
    }
    compile(rules, libc::ENOSYS)
}

/// Extended attributes (and access lists, which are such) are not guarded by Landlock; told that the file system does not
/// know them, programs do without.
fn unsupported_calls() -> Result<BpfProgram, SandboxError> {
    /// `setxattrat` and `removexattrat`, the same on every architecture.
    const NEW: [i64; 2] = [463, 466];
    let old = [
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
    ];
    compile(old.into_iter().chain(NEW).map(|call| (call, Vec::new())).collect(), libc::EOPNOTSUPP)
}

fn compile(mut rules: BTreeMap<i64, Vec<SeccompRule>>, error: i32) -> Result<BpfProgram, SandboxError> {
    // The x32 variant of x86-64 numbers the same calls with this bit set.
    if cfg!(target_arch = "x86_64") {
        let doubled: Vec<_> = rules.iter().map(|(call, rules)| (call | 0x4000_0000, rules.clone())).collect();
        rules.extend(doubled);
    }
    let wrong = |error: seccompiler::BackendError| SandboxError::Rules(error.to_string());
    let architecture = std::env::consts::ARCH.try_into().map_err(wrong)?;
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(error.unsigned_abs()), architecture)
        .and_then(TryInto::try_into)
        .map_err(wrong)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, SandboxError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .map_err(|error| SandboxError::Rules(error.to_string()))
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, SandboxError> {
    SeccompRule::new(conditions).map_err(|error| SandboxError::Rules(error.to_string()))
}
