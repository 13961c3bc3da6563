//! New processes, asked about before they begin: the kernel holds a program's `fork` until its keeper has answered.
//!
//! This is a seccomp filter with a listener. The program installs it on itself and hands the listener to the keeper; as long
//! as the keeper does not answer, nothing of the program's can become more. So a fork bomb cannot outrun its keeper,
//! however busy the machine is. Everything here runs between fork and exec, or in the keeper: system calls only.
//!
//! Limits: Linux 5.5 and newer, on x86-64 and 64-bit ARM, and one listener at a time: a program that has one cannot
//! get a second, and the outer one counts for both. A signal that reaches a program in the moment between its question and the
//! keeper's look at it ends the call (`EINTR`) where the program does not restart its calls after signals (`dash` says
//! "Cannot fork"). The kernel offers no way around that; Linux 6.6 and newer make the moment short by waking the keeper on the
//! CPU of the program.

use std::mem::size_of;

/// How long the keeper waits for the listener, in milliseconds.
const LISTENER_TIMEOUT_MS: i32 = 5000;

const SET_MODE_FILTER: libc::c_ulong = 1;
const NEW_LISTENER: libc::c_ulong = 1 << 3;
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;
const RECEIVE: u64 = 0xC050_2100;
const SEND: u64 = 0xC018_2101;
const SET_FLAGS: u64 = 0x4008_2104;
const SYNC_WAKE_UP: u64 = 1;
const CONTINUE: u32 = 1;
const ASK: u32 = 0x7FC0_0000;
const ALLOW: u32 = 0x7FFF_0000;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: u32 = 0;

/// Calls that begin a process or a thread. Where a call does not exist, its number is one of the others.
#[cfg(target_arch = "x86_64")]
const CALLS: [i64; 4] = [libc::SYS_clone, libc::SYS_clone3, libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const CALLS: [i64; 4] = [libc::SYS_clone, libc::SYS_clone3, libc::SYS_clone, libc::SYS_clone3];

#[repr(C)]
struct Question {
    id: u64,
    process: u32,
    flags: u32,
    data: [u64; 8],
}

#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// The program's side: from here on its keeper is asked. The listener, or the news that there is none, goes through the
/// socket. A program that gains no rights by what it runs (`sudo`) is the price.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn ask(socket: i32) {
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: u16::try_from(code).unwrap_or(0),
        jt,
        jf,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let number = |at: usize| CALLS.get(at).and_then(|call| u32::try_from(*call).ok()).unwrap_or(0);
    let mut filter = [
        step(load, 0, 0, 4),
        step(equal, 0, 6, ARCHITECTURE),
        step(load, 0, 0, 0),
        // The x32 variant of x86-64 numbers the same calls with this bit set.
        step(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, !0x4000_0000),
        step(equal, 4, 0, number(0)),
        step(equal, 3, 0, number(1)),
        step(equal, 2, 0, number(2)),
        step(equal, 1, 0, number(3)),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, ALLOW),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, ASK),
    ];
    let length = u16::try_from(filter.len()).unwrap_or(0);
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    // SAFETY: the filter outlives the calls, which read it only.
    let listener = unsafe {
        let install = |flags: libc::c_ulong| {
            libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &raw const program)
        };
        if ARCHITECTURE == 0 || libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            -1
        } else {
            match install(NEW_LISTENER | WAIT_KILLABLE) {
                -1 => install(NEW_LISTENER),
                listener => listener,
            }
        }
    };
    hand_over(socket, i32::try_from(listener).unwrap_or(-1));
}

/// Room for one handle beside a message, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Room([u8; 64]);

/// Sends a handle, or a message without one.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn hand_over(socket: i32, handle: i32) {
    let mut byte = [b'l'];
    let mut piece = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut room = Room([0; 64]);
    // SAFETY: a zeroed message is a valid one; everything that it points to is ours and outlives the call.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        if handle >= 0 {
            let size = u32::try_from(size_of::<i32>()).unwrap_or(4);
            message.msg_control = room.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(size) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            if !header.is_null() {
                (*header).cmsg_level = libc::SOL_SOCKET;
                (*header).cmsg_type = libc::SCM_RIGHTS;
                (*header).cmsg_len = libc::CMSG_LEN(size) as _;
                libc::CMSG_DATA(header).cast::<i32>().write_unaligned(handle);
            }
        }
        libc::sendmsg(socket, &raw const message, 0);
    }
}

/// The keeper's side: the listener, if there is one.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn receive(socket: i32) -> Option<i32> {
    let mut byte = [0u8];
    let mut piece = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut room = Room([0; 64]);
    // SAFETY: as above.
    unsafe {
        let mut ready = libc::pollfd { fd: socket, events: libc::POLLIN, revents: 0 };
        if libc::poll(&raw mut ready, 1, LISTENER_TIMEOUT_MS) != 1 {
            return None;
        }
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = room.0.as_mut_ptr().cast();
        message.msg_controllen = room.0.len() as _;
        if libc::recvmsg(socket, &raw mut message, libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC) < 1 {
            return None;
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return None;
        }
        let listener = libc::CMSG_DATA(header).cast::<i32>().read_unaligned();
        if listener < 0 {
            return None;
        }
        // Older kernels refuse it, and wake the keeper as they wake any process.
        libc::ioctl(listener, SET_FLAGS as _, SYNC_WAKE_UP);
        Some(listener)
    }
}

/// Waits for a question, a signal (through `signals`) or the end of the time. The question is answered later.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn wait(listener: i32, signals: i32, milliseconds: i64) -> ForkEvent {
    let watch = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut both = [watch(listener), watch(signals)];
    let timeout = i32::try_from(milliseconds).unwrap_or(i32::MAX);
    // SAFETY: the structures are ours, and zero is a valid value of the question.
    unsafe {
        libc::poll(both.as_mut_ptr(), 2, timeout);
        let [of_listener, _] = both;
        if of_listener.revents & libc::POLLIN != 0 {
            let mut question = Question { id: 0, process: 0, flags: 0, data: [0; 8] };
            // It fails when the process that asked has ended meanwhile.
            if libc::ioctl(listener, RECEIVE as _, &raw mut question) == 0 {
                return ForkEvent::Question(question.id);
            }
        } else if of_listener.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0 {
            return ForkEvent::NoneLeft;
        }
    }
    ForkEvent::Nothing
}

/// The result of waiting.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ForkEvent {
    /// The program wants to start a process or a thread.
    Question(u64),
    /// No process is left that could ask.
    NoneLeft,
    /// A signal, or nothing.
    Nothing,
}

/// Lets a process begin.
#[expect(unsafe_code, reason = "a system call without a safe form that allocates nothing")]
pub(super) fn allow(listener: i32, id: u64) {
    let mut answer = Answer { id, value: 0, error: 0, flags: CONTINUE };
    // SAFETY: the structure is ours. It fails when the process that asked has ended meanwhile.
    unsafe { libc::ioctl(listener, SEND as _, &raw mut answer) };
}
