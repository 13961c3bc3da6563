//! The keeper: a process between this one and a program, which sees to it that nothing of the program's is left behind.
//!
//! It is forked just before the program is, and it is a *subreaper*: whatever the program starts, in whatever session or
//! group, becomes the keeper's child when its own parent ends. So when the program has ended, the keeper's children are
//! exactly what it left behind; they get a moment to end by themselves and are then ended, and theirs after them, until
//! there are none. Each run has its own keeper, so runs at the same time do not touch each other. When this process dies,
//! however it dies, the kernel tells the keeper, which then ends everything too.
//!
//! The keeper never runs another program. It is a fork of a process with threads, so it makes system calls only and
//! allocates nothing; it holds no files open.
//!
//! Limits: a process that changed its user (`sudo`) cannot be ended. An uncontained program can kill its own keeper with
//! `SIGKILL`; a contained one cannot signal outside its box (Linux 6.12 and newer). On a kernel without
//! `/proc/PID/task/TID/children` only the program's process group is ended.

use rustix::process::Signal;
use std::os::unix::process::CommandExt;

/// Tells the keeper to ask the program's process group to end.
pub(super) const ASK: Signal = Signal::TERM;
/// Tells the keeper to end everything now.
pub(super) const END: Signal = Signal::INT;

/// How long what a program left behind may go on writing, in milliseconds.
const DRAIN: i64 = 300;
/// How often, and at which distance in nanoseconds, what is left is ended before the keeper gives up.
const ROUNDS: usize = 1000;
const DISTANCE: i64 = 2_000_000;

/// Puts a keeper between this process and the command.
#[expect(
    unsafe_code,
    reason = "pre_exec runs between fork and exec; the closure makes system calls only and allocates nothing"
)]
pub(super) fn keep(command: &mut std::process::Command) {
    let parent = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: only async-signal-safe calls are made on both sides of the fork, and no memory is allocated. The keeper's
    // side never returns, so nothing of the standard library runs twice.
    unsafe {
        command.pre_exec(move || {
            let watched = watched();
            libc::sigprocmask(libc::SIG_BLOCK, &raw const watched, std::ptr::null_mut());
            if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_PDEATHSIG, END.as_raw() as libc::c_ulong, 0, 0, 0) != 0
            {
                return Err(std::io::Error::last_os_error());
            }
            // The parent may have died before the line above took effect.
            if libc::getppid() != parent {
                return Err(std::io::Error::from_raw_os_error(libc::ECANCELED));
            }
            let keeper = libc::getpid();
            match libc::fork() {
                -1 => Err(std::io::Error::last_os_error()),
                0 => begin(keeper, &watched),
                program => watch(program, &watched),
            }
        });
    }
}

/// The signals that the keeper waits for.
#[expect(unsafe_code, reason = "a signal set can only be made by libc")]
fn watched() -> libc::sigset_t {
    // SAFETY: a zeroed set is a valid argument of sigemptyset, which makes it a valid set.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGCHLD, ASK.as_raw(), END.as_raw()] {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

/// The program's side: a process group of its own, ended with its keeper, signals as they should be.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn begin(keeper: i32, watched: &libc::sigset_t) -> std::io::Result<()> {
    // SAFETY: plain system calls; the set is valid.
    unsafe {
        libc::setpgid(0, 0);
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0, 0, 0) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        if libc::getppid() != keeper {
            return Err(std::io::Error::from_raw_os_error(libc::ECANCELED));
        }
        libc::sigprocmask(libc::SIG_UNBLOCK, watched, std::ptr::null_mut());
    }
    Ok(())
}

/// The keeper's side: waits for the program, then for what it left behind, and ends as the program ended.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn watch(program: i32, watched: &libc::sigset_t) -> ! {
    // SAFETY: plain system calls on numbers and on memory of this function.
    unsafe {
        // Both sides do this, since either may be first. The keeper leaves the terminal's group: Ctrl-C is not for it.
        libc::setpgid(program, program);
        libc::setpgid(0, 0);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        // Pipes of this and of other runs must not be held open; nor must the one that tells of a successful start.
        if libc::syscall(libc::SYS_close_range, 0u32, u32::MAX, 0u32) != 0 {
            for handle in 0..4096 {
                libc::close(handle);
            }
        }
        libc::prctl(libc::PR_SET_NAME, c"marvin-keeper".as_ptr(), 0, 0, 0);
        let mut ended: Option<i32> = None;
        let mut deadline = i64::MAX;
        let mut rounds = 0;
        loop {
            loop {
                let mut status = 0;
                match libc::waitpid(-1, &raw mut status, libc::WNOHANG) {
                    0 => break,
                    // Nobody is left.
                    -1 => leave(ended),
                    found if found == program => {
                        ended = Some(status);
                        deadline = deadline.min(now().saturating_add(DRAIN));
                    }
                    _ => {}
                }
            }
            let rest = deadline.saturating_sub(now());
            if rest <= 0 {
                if rounds == ROUNDS {
                    leave(ended);
                }
                rounds += 1;
                if ended.is_none() {
                    libc::kill(-program, libc::SIGKILL);
                }
                end_children();
                let pause = libc::timespec { tv_sec: 0, tv_nsec: DISTANCE };
                libc::nanosleep(&raw const pause, std::ptr::null_mut());
                continue;
            }
            let rest = rest.min(3_600_000);
            let timeout = libc::timespec { tv_sec: rest / 1000, tv_nsec: (rest % 1000) * 1_000_000 };
            let signal = libc::sigtimedwait(watched, std::ptr::null_mut(), &raw const timeout);
            if signal == END.as_raw() {
                deadline = 0;
            } else if signal == ASK.as_raw() && ended.is_none() {
                // Until the program is waited for, its number cannot become somebody else's.
                libc::kill(-program, libc::SIGTERM);
            }
        }
    }
}

/// Milliseconds of a clock that only goes forward.
#[expect(unsafe_code, reason = "the standard library's clock is not documented as safe after a fork")]
fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000 + 1
}

/// Ends every child of this process; theirs become its children.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn end_children() {
    let mut text = [0u8; 4096];
    // SAFETY: the buffer is ours, and as long as is said.
    let read = unsafe {
        let file = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let read = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        read
    };
    let mut number = 0i32;
    for byte in text.iter().take(usize::try_from(read).unwrap_or(0)) {
        if byte.is_ascii_digit() {
            number = number.saturating_mul(10).saturating_add(i32::from(byte - b'0'));
        } else {
            // A number that is cut off at the end of the buffer is not followed by a space, and waits for the next round.
            if number > 1 {
                // SAFETY: a plain system call; a child that was not waited for keeps its number.
                unsafe { libc::kill(number, libc::SIGKILL) };
            }
            number = 0;
        }
    }
}

/// Ends as the program ended.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn leave(status: Option<i32>) -> ! {
    let status = status.unwrap_or(0x0100);
    // SAFETY: plain system calls on numbers and on memory of this function.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::signal(signal, libc::SIG_DFL);
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
            libc::kill(libc::getpid(), signal);
            libc::_exit(128 + signal);
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}
